//! The queries of addresses.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use crate::Refusal;

/// Parses the parameters of a query, the part of an address after `?`.
///
/// # Errors
/// A parameter is given twice, or is not what `T` expects.
pub fn parse_query<T: DeserializeOwned>(query: &str) -> Result<T, Refusal> {
    serde_urlencoded::from_str(&joined(query)?)
        .map_err(|error| Refusal::bad_request(format!("the address cannot be read: {error}")))
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
