//! Extractors for query and path, with the server's own error messages.

use std::borrow::Cow;

use axum::extract::{self, FromRequestParts};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::answer::Refusal;

/// The query parameters.
pub(super) struct Query<T>(pub(super) T);

/// A part of the path.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query<T>, Refusal> {
        let words = joined(parts.uri.query().unwrap_or_default())?;
        let uri = format!("/?{words}").parse();
        let uri = uri.map_err(|_| Refusal::bad_request("the address cannot be read"))?;
        let read = extract::Query::try_from_uri(&uri);
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

/// The parameters of a query. Lists may be given value by value, as
/// `speeds[]=blitz&speeds[]=rapid`, and are joined with commas.
///
/// # Errors
/// A parameter has brackets with something between them.
fn joined(query: &str) -> Result<Cow<'_, str>, Refusal> {
    if !query.contains(['[', '%']) {
        return Ok(query.into());
    }
    let mut words: Vec<(String, String)> = Vec::new();
    for word in query.split('&') {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let plain = name.replace("%5B", "[").replace("%5b", "[");
        let plain = plain.replace("%5D", "]").replace("%5d", "]");
        let list = plain.strip_suffix("[]");
        if list.unwrap_or(&plain).contains('[') {
            let text = format!("bad request: {plain}: write NAME=A,B or NAME[]=A&NAME[]=B");
            return Err(Refusal::bad_request(text));
        }
        let earlier = list.and_then(|list| words.iter_mut().find(|(name, _)| name == list));
        match earlier {
            Some((_, values)) => *values = format!("{values},{value}"),
            None => words.push((list.unwrap_or(name).into(), value.into())),
        }
    }
    let words: Vec<String> = words.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(words.join("&").into())
}

/// A refusal with the library's message, without the prefix that ends with a colon.
fn refused(text: &str) -> Refusal {
    let reason = text.split_once(": ").map_or(text, |(_, reason)| reason);
    Refusal::bad_request(format!("the address cannot be read: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_may_be_given_value_by_value() {
        for (query, expected) in [
            ("fen=a%20b&speeds=blitz", "fen=a%20b&speeds=blitz"),
            ("speeds[]=blitz&since=2019&speeds%5B%5D=rapid", "speeds=blitz,rapid&since=2019"),
            ("ratings=1600&ratings[]=2000&a", "ratings=1600,2000&a="),
        ] {
            assert_eq!(joined(query).ok().as_deref(), Some(expected));
        }
        assert!(joined("speeds[0]=blitz").is_err());
        assert!(joined("speeds%5b1%5d=blitz").is_err());
    }
}
