//! Games of any size and shape: an answer or an error, in bounded memory, without recursion.

use std::io::{self, Read};

use epdb_chess::codec::pgc::{self, PgcEncodeOptions, PgcReader};
use epdb_chess::model::{MAX_TAGS, MAX_VARIATION_DEPTH};
use epdb_chess::text::Profile;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
use proptest::prelude::*;

const EXT: PgcEncodeOptions = PgcEncodeOptions::EXTENDED;

/// The results for the games of a stream: plies, or codes.
fn outcomes(input: impl Read, limit: usize) -> Vec<Result<usize, &'static str>> {
    let options = PgnReadOptions { limit, ..Default::default() };
    let mut reader = GameReader::new(input, options);
    let mut outcomes = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        outcomes.push(match read.game {
            Ok(game) => Ok(game.main_line().count()),
            Err(error) => Err(error.diagnostic.code),
        });
    }
    outcomes
}

fn all(input: &[u8]) -> Vec<Result<usize, &'static str>> {
    outcomes(input, usize::MAX)
}

#[test]
fn a_game_of_a_hundred_thousand_plies_goes_round() {
    let text = format!("{} *", "Nf3 Nf6 Ng1 Ng8 ".repeat(25_000));
    let game = super::read_game(text.as_bytes());
    assert_eq!(game.main_line().count(), 100_000);
    let mut bytes = Vec::new();
    pgc::encode(&game, &EXT, &mut bytes).unwrap();
    let mut reader = PgcReader::new(&bytes[..], usize::MAX);
    assert!(reader.next_game().unwrap().unwrap().game.unwrap() == &game);
}

#[test]
fn a_comment_of_a_hundred_megabytes_is_kept_or_refused() {
    let input = || {
        let comment = io::repeat(b'x').take(100 << 20);
        b"1. e4 {".chain(comment).chain(&b"} e5 *\n[Event \"next\"]\n\n1. d4 *"[..])
    };
    assert_eq!(outcomes(input(), 256 << 20), [Ok(2), Ok(1)]);
    assert_eq!(outcomes(input(), 1 << 20), [Err("E-PGN-SIZE"), Ok(1)]);
}

/// A game over the limit can be had whole all the same.
#[test]
fn a_game_over_the_limit_is_copied_byte_for_byte() {
    let long = format!("[Event \"long\"]\n\n1. e4 {{{}}} e5 *\n\n", "y".repeat(3 << 20));
    let text = format!("1. d4 *\n{long}[Event \"next\"]\n\n1. c4 *\n");
    let options = PgnReadOptions { limit: 1 << 20, ..Default::default() };
    let mut reader = GameReader::new(text.as_bytes(), options);
    assert!(reader.next_game().unwrap().unwrap().game.is_ok());
    let read = reader.next_game().unwrap().unwrap();
    assert_eq!((read.game.is_err(), read.raw), (true, &b""[..]));
    let mut copy = Vec::new();
    reader.copy_long_game(&mut copy).unwrap();
    assert!(copy == long.as_bytes());
    let read = reader.next_game().unwrap().unwrap();
    assert_eq!((read.line, read.game.unwrap().tag("Event")), (6, Some("next")));
    assert!(reader.next_game().unwrap().is_none());
}

#[test]
fn variations_of_any_depth_do_not_need_the_stack() {
    for (depth, wanted) in
        [(MAX_VARIATION_DEPTH, Ok(1)), (MAX_VARIATION_DEPTH + 1, Err("E-PGN-RAV"))]
    {
        let text = format!("e4 {}{} *", "(d4".repeat(depth), ")".repeat(depth));
        assert_eq!(all(text.as_bytes()), [wanted]);
    }
    // Left open, not closed, without moves.
    assert_eq!(all("e4 (d4 ".repeat(10_000).as_bytes()), [Ok(1)]);
    assert_eq!(all(format!("e4 {} *", "(d4".repeat(50_000)).as_bytes()), [Ok(1)]);
    assert_eq!(all(format!("e4 {} *", "(".repeat(60_000)).as_bytes()), [Ok(1)]);

    let mut bytes = b"\x05\x03\x01\x0d".to_vec();
    bytes.extend(b"\x08\x03\x01\x0b".repeat(200_000));
    let mut reader = PgcReader::new(&bytes[..], usize::MAX);
    let error = reader.next_game().unwrap().unwrap().game.unwrap_err();
    assert_eq!(
        (error.kind.code(), error.offset),
        ("E-PGC-RAVPLACE", 4 + 4 * MAX_VARIATION_DEPTH as u64)
    );
    assert!(reader.next_game().unwrap().is_none());
}

/// Together these take minutes if a symbol without an end is looked through again and again.
#[test]
fn a_symbol_of_any_length_takes_linear_time() {
    const SIZE: usize = 1 << 20;
    for piece in ["e4", "Nf3", "x", "0", "1-0", "--", "O-", "=", "e4+-"] {
        for start in ["", "[Event \"a\"]\n\n"] {
            let text = format!("{start}1. e4 {} *", piece.repeat(SIZE / piece.len()));
            assert!(!all(text.as_bytes()).is_empty(), "{piece}");
        }
    }
}

#[test]
fn many_tags_are_refused() {
    let tags = |count: usize| -> String {
        (0..count).rev().map(|number| format!("[T{number:07} \"\"]\n")).collect::<String>() + "*"
    };
    assert_eq!(all(tags(MAX_TAGS).as_bytes()), [Ok(0)]);
    assert_eq!(all(tags(300_000).as_bytes()), [Err("E-PGN-TAG")]);
}

/// Warnings cannot fill the memory: a game with more of them than any has is refused whole.
#[test]
fn many_repairs_are_refused() {
    let text = |count: usize| format!("e4 {} *\n\n1. d4 *", ")".repeat(count));
    assert_eq!(all(text(65_536).as_bytes()), [Ok(1), Ok(1)]);
    let text = text(65_537);
    let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
    let read = reader.next_game().unwrap().unwrap();
    assert_eq!(read.game.unwrap_err().diagnostic.code, "E-PGN-SIZE");
    assert!(text.as_bytes().starts_with(read.raw) && read.raw.len() > 65_536);
    assert!(reader.next_game().unwrap().unwrap().game.is_ok());
}

/// Places are right in whatever order they are asked for.
#[test]
fn places_are_counted_forward_and_back() {
    let text = b"1. d4 *  [A \"x\r\n[A\r\n \"x\r\n\n[B\r\"x\n1. e4 ) e5 *";
    let mut reader = GameReader::new(&text[..], PgnReadOptions::default());
    assert!(reader.next_game().unwrap().is_some());
    let read = reader.next_game().unwrap().unwrap();
    let places: Vec<_> = read.warnings.iter().map(|it| (it.line, it.diagnostic.column)).collect();
    let tags = [(1, 13), (1, 10), (3, 2), (2, 1), (2, 1), (6, 1), (5, 1)];
    assert_eq!(places, [&tags[..], &[(7, 7)]].concat());
}

/// Reads one byte at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
        out[0] = *first;
        self.0 = rest;
        Ok(1)
    }
}

/// Bytes of an earlier game in the buffer are not read as the end of the next game's comment.
#[test]
fn bytes_after_the_end_of_the_stream_are_not_read() {
    let text = format!("1. e4 ;{}\n*\n1. d4 {{{}", "}".repeat(600_000), "x".repeat(1000));
    let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
    let mut raw = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        raw.extend_from_slice(read.raw);
    }
    assert!(raw == text.as_bytes());
}

/// Pieces of which games are made, good and bad.
const PIECES: [&str; 53] = [
    "0-0 ",
    "1:0 ",
    "\u{a0}",
    "\u{2013}",
    "\u{2026}",
    "e4 ",
    "e5 ",
    "Nf3 ",
    "1. ",
    "1... ",
    "(",
    ")",
    "{",
    "}",
    ";",
    "\n",
    "\r\n",
    "%",
    "$1 ",
    "$256 ",
    "!",
    "??",
    "*",
    "1-0 ",
    "1/2-1/2 ",
    "[Event \"a\"]\n",
    "[Event \"b\"]\n",
    "[Result \"1-0\"]",
    "[",
    "]",
    "\"",
    "\\",
    "\0",
    "\u{feff}",
    "\u{e9}",
    "O-O ",
    "--",
    "<",
    "d4 d5 ",
    "(d4) ",
    "{x}",
    "[A \"",
    "[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]",
    "e.p. ",
    " ",
    ", ",
    "Qxf71-0 ",
    "e51-0 ",
    "[White \"\u{141}\"]\n",
    "\n\n",
    "Ke3 ",
    "[Variant \"Atomic\"]\n",
    "\u{6}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Whatever the bytes: every byte comes back, however they arrive; each good game survives text
    /// and bytes; the standard profile takes no more than the lenient one.
    #[test]
    fn any_pieces_are_read_without_loss(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..60),
    ) {
        let text = pieces.concat();
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        let mut raw = Vec::new();
        let mut games = Vec::new();
        while let Some(read) = reader.next_game().unwrap() {
            raw.extend_from_slice(read.raw);
            games.push(read.game.cloned());
        }
        prop_assert!(text.as_bytes().starts_with(&raw));

        let mut reader = GameReader::new(Slow(text.as_bytes()), PgnReadOptions::default());
        for game in &games {
            let read = reader.next_game().unwrap().unwrap();
            prop_assert_eq!(&read.game.cloned(), game);
        }
        prop_assert!(reader.next_game().unwrap().is_none());

        // Games that are cut lose no byte either, and what they became comes back.
        let cut = PgnReadOptions { truncate: Some(true), ..Default::default() };
        let mut reader = GameReader::new(text.as_bytes(), cut);
        let mut raw = Vec::new();
        while let Some(read) = reader.next_game().unwrap() {
            raw.extend_from_slice(read.raw);
            let Ok(game) = read.game else { continue };
            prop_assert_eq!(&super::read_game(&super::export(game, super::Charset::Utf8)), game);
        }
        prop_assert!(text.as_bytes().starts_with(&raw));

        // Comments end elsewhere there: `%` lines in them are escapes, and braces are not nested.
        let has_comment = text.contains('{');
        let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
        let mut reader = GameReader::new(text.as_bytes(), standard);
        if let (Some(read), Some(first)) = (reader.next_game().unwrap(), games.first()) {
            prop_assert!(has_comment || read.game.is_err() || read.game.ok() == first.as_ref().ok());
        }
        for game in games.iter().flatten() {
            let text = super::export(game, super::Charset::Utf8);
            prop_assert_eq!(&super::read_game(&text), game);
            let mut bytes = Vec::new();
            pgc::encode(game, &PgcEncodeOptions { escapes: true, ..EXT }, &mut bytes).unwrap();
            let mut reader = PgcReader::new(&bytes[..], usize::MAX);
            let read = reader.next_game().unwrap().unwrap();
            prop_assert!(read.has_checksum);
            prop_assert_eq!(read.game.unwrap(), game);
        }
    }

    #[test]
    fn any_records_are_read_without_panic(
        records in prop::collection::vec(
            prop::sample::select(vec![
                &b"\x00"[..], b"\x05", b"\x06", b"\x03\x01\x0d", b"\x03\x01\x0c", b"\x07\x01", b"\x08",
                b"\x09", b"\x0a\x01\x00x", b"\x0a\x08\x00pgcx:c:y", b"\x0a\x07\x00pgcx:s:",
                b"\x0a\x08\x00pgcx:+:z", b"\x02\x01A\x01b", b"\x04\x01\x00\x0b", b"\x03\x01\xff", b"\x0b",
            ]),
            0..40,
        ),
    ) {
        let bytes = records.concat();
        let mut reader = PgcReader::new(&bytes[..], 1 << 20);
        let mut games = Vec::new();
        while let Some(read) = reader.next_game().unwrap() {
            games.extend(read.game.ok().cloned());
        }
        for game in games {
            let mut canonical = Vec::new();
            pgc::encode(&game, &PgcEncodeOptions { escapes: true, ..EXT }, &mut canonical).unwrap();
            let mut reader = PgcReader::new(&canonical[..], usize::MAX);
            let mut again = Vec::new();
            let read = reader.next_game().unwrap().unwrap();
            pgc::encode(read.game.unwrap(), &PgcEncodeOptions { escapes: true, ..EXT }, &mut again).unwrap();
            prop_assert_eq!(again, canonical);
        }
    }
}
