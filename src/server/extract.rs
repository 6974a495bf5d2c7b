//! What a request says in its address, refused in the server's own words where it cannot be read.

use axum::extract::{self, FromRequestParts};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::answer::Refusal;

/// The words behind the question mark.
pub(super) struct Query<T>(pub(super) T);

/// A part of the path.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Refusal> {
        let read = extract::Query::from_request_parts(parts, state).await;
        let extract::Query(value) = read.map_err(|error| refused(&error.body_text()))?;
        Ok(Query(value))
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

/// Without what the library says of itself before a colon.
fn refused(text: &str) -> Refusal {
    let reason = text.split_once(": ").map_or(text, |(_, reason)| reason);
    Refusal::bad_request(format!("the address cannot be read: {reason}"))
}
