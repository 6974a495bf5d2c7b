//! The order of games that the PGN standard defines for files of games.

use super::write::{PgnFormatOptions, format};
use crate::model::Game;

/// Returns the sort key of a game. The byte order of the keys is the order of games in the PGN standard:
/// by date, event, site, round, White, Black, result, and last by movetext.
///
/// ```
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions, collation_key};
/// let text = b"[Round \"9\"]\n\n* [Round \"10\"]\n\n* [Round \"-\"]\n\n* [Round \"9.2\"]\n\n*";
/// let mut reader = GameReader::new(&text[..], PgnReadOptions::default());
/// let mut games = Vec::new();
/// while let Some(read) = reader.next_game()? {
///     games.extend(read.game.map(|game| (collation_key(game), game.tag("Round").map(str::to_owned))));
/// }
/// games.sort();
/// let rounds: Vec<_> = games.iter().filter_map(|(_, round)| round.as_deref()).collect();
/// assert_eq!(rounds, ["-", "9", "9.2", "10"]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn collation_key(game: &Game) -> Vec<u8> {
    let mut key = Vec::with_capacity(512);
    let tag = |name| game.tag(name).unwrap_or_default();
    for part in date_parts(tag("Date")) {
        key.extend_from_slice(&part.to_be_bytes());
    }
    put_text(tag("Event"), &mut key);
    put_text(tag("Site"), &mut key);
    put_round(tag("Round"), &mut key);
    put_text(tag("White"), &mut key);
    put_text(tag("Black"), &mut key);
    put_text(game.termination_marker(), &mut key);
    put_movetext(game, &mut key);
    key
}

/// Appends text and a zero byte, which sorts before all characters of text.
fn put_text(text: &str, key: &mut Vec<u8>) {
    key.extend_from_slice(text.as_bytes());
    key.push(0);
}

/// Year, month and day of a date; unknown parts are 0.
fn date_parts(date: &str) -> [u32; 3] {
    let mut parts = [0; 3];
    for (part, text) in parts.iter_mut().zip(date.split('.')) {
        *part = text.replace('?', "0").parse().unwrap_or(0);
    }
    parts
}

const UNKNOWN_ROUND: u8 = 0;
const NO_ROUND: u8 = 1;
const NUMBERED_ROUND: u8 = 2;
const OTHER_ROUND: u8 = 3;

/// Appends a round. `?` sorts first, then `-`, then round numbers, then everything else. Round
/// numbers such as `2.1` are compared part by part; the shorter number sorts first.
fn put_round(round: &str, key: &mut Vec<u8>) {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match round {
        "?" => key.push(UNKNOWN_ROUND),
        "-" => key.push(NO_ROUND),
        _ if round.split('.').all(is_number) => {
            key.push(NUMBERED_ROUND);
            for part in round.split('.') {
                let digits = part.trim_start_matches('0');
                // The number of digits comes first, because a number with more digits is larger. 0
                // ends the parts.
                key.extend_from_slice(&(digits.len() as u32 + 1).to_be_bytes());
                key.extend_from_slice(digits.as_bytes());
            }
            key.extend_from_slice(&0u32.to_be_bytes());
        }
        _ => {
            key.push(OTHER_ROUND);
            put_text(round, key);
        }
    }
}

fn put_movetext(game: &Game, key: &mut Vec<u8>) {
    let mut export = Vec::new();
    // Cannot fail: in UTF-8 the export format can express every game.
    if format(game, &PgnFormatOptions::default(), &mut export).is_ok() {
        let tags = export.windows(2).position(|pair| pair == b"\n\n").map_or(0, |place| place + 2);
        key.extend_from_slice(&export[tags..]);
    }
}

/// Name of the archive file for games of a date. It has the first `parts` parts of the date:
/// `YYYY.pgn`, `YYYYMM.pgn` or `YYYYMMDD.pgn`. A `?` becomes `0`.
///
/// ```
/// use epdb_chess::text::pgn::archive_name;
/// assert_eq!(archive_name("1992.11.??", 3), "19921100.pgn");
/// assert_eq!(archive_name("1992.11.??", 1), "1992.pgn");
/// ```
pub fn archive_name(date: &str, parts: usize) -> String {
    let [year, month, day] = date_parts(date);
    let all = format!("{year:04}{month:02}{day:02}");
    let length = all.len() - 2 * 3usize.saturating_sub(parts.clamp(1, 3));
    format!("{}.pgn", &all[..length])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use super::*;
    use crate::model::{GameBuilder, GameResult, SEVEN_TAG_ROSTER};

    #[test]
    fn vectors() {
        let rows = include_str!("../../../../tests/vectors/pgn_collation.tsv").lines().skip(1);
        let games: Vec<Vec<u8>> = rows
            .map(|row| {
                let fields: Vec<&str> = row.split('\t').collect();
                let [_, date, event, site, round, white, black, result] = fields[..] else {
                    panic!("{row}")
                };
                let mut builder = GameBuilder::new();
                let values = [event, site, date, round, white, black, result];
                for (name, value) in SEVEN_TAG_ROSTER.into_iter().zip(values) {
                    builder.set_tag(name, value).expect("a tag");
                }
                collation_key(builder.game())
            })
            .collect();
        assert_eq!(games.len(), 9);
        assert!(games.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn rounds_are_in_order() {
        let rounds = ["?", "-", "0", "1", "3.9", "3.10", "9", "9.2", "10", "100.1", "", "1a", "x"];
        let keys: Vec<Vec<u8>> = rounds
            .iter()
            .map(|round| {
                let mut key = Vec::new();
                put_round(round, &mut key);
                key
            })
            .collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
    }

    #[test]
    fn games_that_differ_in_moves_alone_have_different_keys() {
        let mut builder = GameBuilder::new();
        let empty = collation_key(builder.game());
        builder.set_result(GameResult::Unknown).expect("a result");
        assert_eq!(collation_key(builder.game()), empty);
        builder.add_comment("x").expect("a comment");
        assert_ne!(collation_key(builder.game()), empty);
    }
}
