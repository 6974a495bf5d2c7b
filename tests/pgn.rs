//! Games in PGN: read as they are found, written in export format (SPEC sections 9 and 11).
#![allow(clippy::unwrap_used, clippy::expect_used)]

use epdb::model::{Element, Game};
use epdb::text::Profile;
use epdb::text::pgn::{self, Charset, GameReader, PgnReadOptions, PgnWriteOptions};

/// What the reader makes of a text: for each game its export, or the code and place of its error.
fn normalise(text: &[u8], read: &PgnReadOptions, write: &PgnWriteOptions) -> Vec<String> {
    let mut reader = GameReader::new(text, read.clone());
    let mut games = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        games.push(match read.game {
            Ok(game) => {
                let mut out = Vec::new();
                pgn::write(game, write, &mut out).unwrap();
                pgn::from_latin1(&out)
            }
            Err(error) => {
                format!("{} {}:{}", error.diagnostic.code, error.line, error.diagnostic.column)
            }
        });
    }
    games
}

fn export(text: &[u8]) -> Vec<String> {
    let latin1 = PgnWriteOptions { charset: Charset::Latin1, ..PgnWriteOptions::default() };
    normalise(text, &PgnReadOptions::default(), &latin1)
}

/// The warning codes of a lenient reading, all games together.
fn warnings(text: &[u8]) -> Vec<&'static str> {
    let mut reader = GameReader::new(text, PgnReadOptions::default());
    let mut codes = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        codes.extend(read.warnings.iter().map(|warning| warning.diagnostic.code));
    }
    codes
}

/// The movetext of a game that is written in one line.
fn movetext(text: &[u8]) -> String {
    let games = export(text);
    assert_eq!(games.len(), 1, "{games:?}");
    let (_, movetext) = games[0].split_once("\n\n").unwrap_or(("", &games[0]));
    movetext.trim_end().to_owned()
}

/// Undoes the escapes of the vector files.
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next().unwrap() {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    out
}

/// PGN-22, PGN-40 to PGN-46, PGN-52.
#[test]
fn export_vectors() {
    let rows = include_str!("vectors/pgn_export.tsv").lines().skip(1);
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let exported = export(&unescape(fields[1]));
        assert_eq!(exported, [pgn::from_latin1(&unescape(fields[2]))], "{}", fields[0]);
        count += 1;
    }
    assert_eq!(count, 6);
}

/// PGN-50, PGN-51: what is in export format comes out as it went in, and the strict profile takes
/// it. The sample game of the standard is PGC-v02.
#[test]
fn export_format_is_a_fixed_point() {
    let rows = include_str!("vectors/pgc_games.tsv").lines().skip(1);
    let strict = PgnReadOptions {
        profile: Profile::Strict,
        charset: Some(Charset::Latin1),
        ..PgnReadOptions::default()
    };
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let text = unescape(fields[4]);
        assert_eq!(export(&text), [pgn::from_latin1(&text)], "{}", fields[0]);
        let mut reader = GameReader::new(&text[..], strict.clone());
        let read = reader.next_game().unwrap().unwrap();
        assert!(read.game.is_ok(), "{}: {:?}", fields[0], read.game);
        count += 1;
    }
    assert_eq!(count, 10);
}
