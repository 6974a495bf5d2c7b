//! Extractors for query and path, with the server's own error messages.

use axum::extract::{self, FromRequestParts};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::answer::Refusal;
use epdb_explorer::parse_query;

pub(super) struct Query<T>(pub(super) T);

pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query<T>, Refusal> {
        Ok(Query(parse_query(parts.uri.query().unwrap_or_default())?))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Refusal> {
        let read = extract::Path::from_request_parts(parts, state).await;
        let extract::Path(value) = read.map_err(|error| refused(&error.body_text()))?;
        Ok(Path(value))
    }
}

/// A refusal with the library's message, without the prefix that ends with a colon.
fn refused(text: &str) -> Refusal {
    let reason = text.split_once(": ").map_or(text, |(_, reason)| reason);
    Refusal::bad_request(format!("the address cannot be read: {reason}"))
}
