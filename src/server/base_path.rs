//! The prefix of all paths.

use std::fmt;
use std::str::FromStr;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;

use epdb_chess::error::{Error, Result};

/// The prefix of all paths, such as `/explorer`; may be empty.
///
/// ```
/// use epdb_server::BasePath;
/// assert_eq!("/explorer/".parse::<BasePath>()?.to_string(), "/explorer");
/// assert_eq!("/".parse::<BasePath>()?, BasePath::default());
/// assert!("explorer".parse::<BasePath>().is_err());
/// # Ok::<(), epdb_chess::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BasePath(String);

impl BasePath {
    /// Whether there is no prefix.
    pub const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The routes below this prefix.
    pub(super) fn before<S: Clone + Send + Sync + 'static>(&self, routes: Router<S>) -> Router<S> {
        if self.is_root() {
            return routes;
        }
        let BasePath(path) = self;
        // The page has relative addresses, which need the slash.
        let inside = format!("{path}/");
        let to_inside = Redirect::permanent(&inside);
        Router::new().route(path, get(async || to_inside)).nest(&inside, routes)
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BasePath {
    type Err = Error;

    fn from_str(text: &str) -> Result<BasePath> {
        let path = text.trim_end_matches('/');
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        let is_name = |name: &str| !["", ".", ".."].contains(&name) && name.bytes().all(is_plain);
        let names = path.strip_prefix('/');
        if path.is_empty() || names.is_some_and(|names| names.split('/').all(is_name)) {
            return Ok(BasePath(path.to_string()));
        }
        Err(Error::new(format!(
            "`{text}` is not a path such as /explorer: it begins with a slash, and its names have letters, \
             digits, and - _ . ~"
        )))
    }
}
