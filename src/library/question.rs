//! Parses positions to search for, one per line.

use epdb_chess::codec::identity;
use epdb_chess::codec::query::Query;
use epdb_chess::model::Position;
use epdb_chess::text::{Diagnostic, ParseOptions, PositionLine, Profile};

/// Parses a position as [`PositionLine`] does. `None` for a blank line or a comment.
///
/// # Errors
/// Errors of the parser.
pub fn parse(text: &[u8], options: &ParseOptions) -> Result<Option<Position>, Diagnostic> {
    Ok(PositionLine::parse(text, options)?.map(|line| *line.end()))
}

/// Parses a query as [`parse`] does, but faster for usual lines.
///
/// # Errors
/// Errors of the parser.
pub fn parse_query(text: &[u8], options: &ParseOptions) -> Result<Option<Query>, Diagnostic> {
    if options.profile == Profile::Lenient
        && let Some(identity) = identity::read_fields(text)
        && is_counters(&text[identity.len..])
    {
        return Ok(Some(identity.into()));
    }
    Ok(parse(text, options)?.map(|position| Query::from(&position)))
}

/// Whether the four fields are followed by nothing, or by blanks and digits.
fn is_counters(tail: &[u8]) -> bool {
    tail.len() <= 64 && tail.iter().all(|&byte| byte == b' ' || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    const PROFILES: [Profile; 3] = [Profile::Strict, Profile::Standard, Profile::Lenient];

    fn assert_same(line: &[u8]) {
        for profile in PROFILES {
            let options = ParseOptions::new(profile);
            let position = parse(line, &options);
            let expected = position.map(|position| position.as_ref().map(Query::from));
            assert_eq!(parse_query(line, &options), expected, "{}", line.escape_ascii());
        }
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn tails(
            fields in prop::sample::select(vec!["w KQkq -", "b KQkq -", "w HAha -", "b - e3", "w -"]),
            tail in prop_oneof!["[ 0-9]{0,30}", "[ 0-9;,|#\\[\\]bme4-]{0,12}", ".{0,8}"],
        ) {
            assert_same(format!("{START} {fields}{tail}").as_bytes());
        }

        #[test]
        fn changed_lines(place in 0..60usize, byte in any::<u8>(), tail in "( [0-9]{1,3}){0,3}") {
            let mut line = format!("{START} w KQkq - {tail}").into_bytes();
            if let Some(changed) = line.get_mut(place) {
                *changed = byte;
            }
            assert_same(&line);
        }
    }

    /// Files of other projects, if they are present.
    #[test]
    fn found_lines() {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
        let data = std::env::var("EPDB_SHARED_DATA").unwrap_or_else(|_| beside.to_owned());
        let mut folders = vec![std::path::Path::new(&data).join("epd")];
        if !folders[0].exists() {
            crate::skipped::skipped("no EPD among other people's files");
        }
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = std::fs::read(path).unwrap();
                    text.split(|&byte| byte == b'\n').take(500).for_each(assert_same);
                }
            }
        }
    }
}
