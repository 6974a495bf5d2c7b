//! Requests of foreign pages (CORS).

use std::str::FromStr;
use std::time::Duration;

use axum::http::{HeaderValue, Method, Uri};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, ExposeHeaders};

use epdb_chess::error::{Error, Result};

/// Time for which browsers cache the permission.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The origin of a page: `https://lichess.org`, optionally with a port, or `*` for any.
///
/// ```
/// use epdb_server::Origin;
/// assert!("http://localhost:9663".parse::<Origin>().is_ok());
/// assert!("https://lichess.org/".parse::<Origin>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin(HeaderValue);

impl FromStr for Origin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Origin> {
        let value = HeaderValue::from_str(text);
        match value {
            Ok(value) if text == "*" || is_origin(text) => Ok(Origin(value)),
            _ => Err(Error::new(format!(
                "`{text}` is not an origin such as https://lichess.org (no path, no slash at the end), nor *"
            ))),
        }
    }
}

/// True if a text is an origin in lower case. Browsers send origins in lower case, and origins are
/// compared byte by byte.
fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return false };
    !authority.as_str().contains('@') && text == format!("{scheme}://{authority}").to_lowercase()
}

/// Whether pages of an origin may send requests.
pub(super) fn allows(origins: &[Origin], asking: &HeaderValue) -> bool {
    origins.iter().any(|Origin(origin)| origin == "*" || origin == asking)
}

/// The layer that grants permission to these origins.
pub(super) fn layer(origins: &[Origin]) -> CorsLayer {
    let origins: Vec<HeaderValue> = origins.iter().map(|Origin(value)| value.clone()).collect();
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins)
    };
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        // `*` would leave out Authorization, which clients of other explorers send.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(ExposeHeaders::any())
        .max_age(MAX_AGE)
}
