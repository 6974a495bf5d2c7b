//! Test cases of other projects for FEN, X-FEN, Shredder-FEN, SAN and EPD.

use epdb_chess::model::rules::{Legality, Playable, en_passant_is_legal, legality};
use epdb_chess::model::{EpdRecord, Opcode, Operand};
use epdb_chess::text::{CastlingForm, EnPassantForm, Format, FormatOptions, Profile, fen, san};

use crate::{normalise, rows, write_with};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// Rows of other programs that epdb deliberately answers otherwise, each with the reason.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("fen_to_fen(castling=clean)", "1r2k3/8/8/8/8/8/8/R3KR2 w KQkq", "K is the rook on f1"),
    ("fen_to_fen(lenient)", "RNBQKBNR", "a placement alone is no position"),
    ("fen_valid(strict6)", "17/8/8/8", "standard merges digits, strict refuses the line"),
    ("fen+san_to_uci", "| 0-0+?!", "zeros, marks and suffixes are taken"),
    ("fen+san_to_uci", "| 0-0-0+?!", "zeros, marks and suffixes are taken"),
    ("epd_get:b", "foo", "no escapes"),
    ("epd_get:a", "foo", "no escapes; the apostrophe is tested among the lenient rows"),
    ("san_text_roundtrip", "--", "no null moves"),
    ("san_text_canonical", "Z0", "no null moves"),
];

/// Kinds that are not about the text layer: tested elsewhere, or about other formats.
const OTHER_KINDS: &[&str] = &[
    "chess960_index_to_fen",
    "pgn",
    "polyglot_book(lasker-trap.bin)",
    "polyglot_book(performance.bin)",
    "polyglot_key",
];

#[test]
fn every_row_of_peer_cases() {
    let text = include_str!("../vectors/peer_cases.tsv");
    let mut left_out = 0;
    for row in rows(text) {
        let [kind, input, expected, _] = row[..] else { panic!("{row:?}") };
        let is_left_out =
            |(name, part, _): &&(&str, &str, &str)| *name == kind && input.contains(part);
        if OTHER_KINDS.contains(&kind) {
            continue;
        }
        if LEFT_OUT.iter().any(|entry| is_left_out(&entry)) {
            left_out += 1;
            continue;
        }
        assert!(check(kind, input, expected), "{kind}\t{input}\t{expected}");
    }
    assert_eq!(left_out, LEFT_OUT.len(), "each reason is for one row");
}

#[test]
fn every_row_of_rampart() {
    for row in rows(include_str!("../vectors/peer_cases_rampart.tsv")) {
        assert!(check(row[0], row[1], row[2]), "{row:?}");
    }
}

fn check(kind: &str, input: &str, expected: &str) -> bool {
    match kind {
        "fen_roundtrip" | "fen_roundtrip(960,xfen)" | "fen_to_fen(ep=spec)" => {
            shown(&record(input), XFEN, KEEP) == expected
        }
        "fen_to_fen(ep=legal)" => shown(&record(input), XFEN, LEGAL) == expected,
        "fen_to_fen(lenient)" | "fen_to_fen(960,castling=clean)" => {
            shown(&lenient(input), XFEN, KEEP) == expected
        }
        "xfen_to_shredder" => shown(&record(input), CastlingForm::Shredder, KEEP) == expected,
        "shredder_to_xfen" => shown(&record(input), XFEN, KEEP) == expected,
        "fen_error" => {
            // A double blank is a run of blanks; the shifted fields are refused.
            fen::parse(input.as_bytes(), Profile::Standard).is_err()
        }
        "fen_valid(strict6)" => is_valid(input).to_string() == expected,
        "position_status" => status(input, expected),
        "epd_to_fen" => shown(&lenient(input), XFEN, KEEP) == expected,
        "epd_to_epd(ep=spec)" => normalise(input, Profile::Standard).0.as_deref() == Ok(expected),
        "epd_to_epd(ep=legal)" => {
            let options = FormatOptions { en_passant: LEGAL, ..Default::default() };
            write_with(&lenient(input), &options) == expected
        }
        "epd_canonical" => [Profile::Standard, Profile::Lenient]
            .into_iter()
            .all(|profile| normalise(input, profile).0.as_deref() == Ok(expected)),
        "epd_ops" | "epd_ops(perft)" => operations(input, expected),
        "epd_error_or_warn" => {
            let (result, warnings) = normalise(input, Profile::Lenient);
            let standard = normalise(input, Profile::Standard);
            result.is_err() || !warnings.is_empty() || standard.1.contains(&"W-EPD-FENFIELDS")
        }
        "moves_from_start_to_fen(ep=spec)" => play(START, input, XFEN, KEEP) == expected,
        "moves_from_start_to_fen(ep=legal)" => play(START, input, XFEN, LEGAL) == expected,
        "san_text_roundtrip" => input == expected && san_is_read(input),
        _ => match (kind, input.split_once(" | ")) {
            ("fen+san_to_fen(ep=spec)", Some((from, text))) => {
                play(from, text, XFEN, KEEP) == expected
            }
            ("fen+san_to_fen(ep=legal)", Some((from, text))) => {
                play(from, text, XFEN, LEGAL) == expected
            }
            ("fen+san_to_shredder(960)", Some((from, text))) => {
                play(from, text, CastlingForm::Shredder, KEEP) == expected
            }
            ("fen+san_to_uci", Some((from, text))) => san_to_uci(from, text, expected),
            ("fen+uci_to_san" | "fen+lan_to_san", Some((from, text))) => {
                let read = san::parse(&playable(from), text.as_bytes(), Profile::Lenient);
                read.is_ok_and(|read| read.san.to_string() == expected)
            }
            _ => match kind.strip_prefix("epd_get:") {
                Some(name) => got(input, name) == expected.split(" (").next().unwrap(),
                None => panic!("unknown kind {kind}"),
            },
        },
    }
}

const XFEN: CastlingForm = CastlingForm::XFen;
const KEEP: EnPassantForm = EnPassantForm::Keep;
const LEGAL: EnPassantForm = EnPassantForm::Legal;

fn record(text: &str) -> EpdRecord {
    fen::parse(text.as_bytes(), Profile::Standard).expect(text)
}

fn lenient(text: &str) -> EpdRecord {
    fen::parse(text.as_bytes(), Profile::Lenient).expect(text)
}

fn playable(text: &str) -> Playable {
    Playable::new(record(text).position()).expect(text)
}

fn shown(record: &EpdRecord, castling: CastlingForm, en_passant: EnPassantForm) -> String {
    let format = Format::Fen;
    write_with(record, &FormatOptions { format, castling, en_passant, ..Default::default() })
}

fn play(from: &str, moves: &str, castling: CastlingForm, en_passant: EnPassantForm) -> String {
    let mut record = record(from);
    for text in moves.split(' ') {
        let playable = Playable::new(record.position()).expect(from);
        let read = san::parse(&playable, text.as_bytes(), Profile::Standard).expect(text);
        record = record.play(read.mv).expect("legal");
    }
    shown(&record, castling, en_passant)
}

/// Valid for the peer: six fields, and a position without one of its flags.
fn is_valid(text: &str) -> bool {
    let Ok(record) = fen::parse(text.as_bytes(), Profile::Standard) else { return false };
    let flags = legality(record.position());
    let fatal = [
        Legality::NO_WHITE_KING,
        Legality::NO_BLACK_KING,
        Legality::TOO_MANY_KINGS,
        Legality::PAWN_ON_BACKRANK,
    ];
    !fatal.into_iter().any(|flag| flags.contains(flag))
}

fn status(text: &str, expected: &str) -> bool {
    let castling = fen::parse(text.as_bytes(), Profile::Standard);
    if expected == "bad castling rights" {
        return castling.is_err_and(|error| error.code == "E-FEN-CASTLE");
    }
    // Rights of one of two kings are refused by standard and dropped by lenient.
    let record = castling.unwrap_or_else(|_| lenient(text));
    let flags = legality(record.position());
    let legal_capture = en_passant_is_legal(record.position());
    match expected {
        "valid" | "valid as 960; bad castling rights as standard" => flags.is_legal(),
        "side not to move in check" => flags.contains(Legality::OPPOSITE_CHECK),
        "no kings" => {
            flags.contains(Legality::NO_WHITE_KING) && flags.contains(Legality::NO_BLACK_KING)
        }
        "too many kings" => flags.contains(Legality::TOO_MANY_KINGS),
        "too many checkers" | "impossible check" => flags.contains(Legality::IMPOSSIBLE_CHECK),
        "impossible check; ep pseudo-legal not legal" => {
            flags.contains(Legality::IMPOSSIBLE_CHECK) && !legal_capture
        }
        "invalid ep square" => !flags.is_legal(),
        "valid; ep capture illegal (horizontal pin)" => flags.is_legal() && !legal_capture,
        other if other.starts_with("ep capture legal") => legal_capture,
        other if other.starts_with("ep capture illegal") => !legal_capture,
        other => panic!("{other}"),
    }
}

fn san_to_uci(from: &str, text: &str, expected: &str) -> bool {
    let text = text.replace("\\n", "\n");
    let wanted = expected.split(" (").next().unwrap();
    let profile = if expected.contains("(lenient)") { Profile::Lenient } else { Profile::Standard };
    match san::parse(&playable(from), text.as_bytes(), profile) {
        Ok(read) => san::uci(&playable(from), read.mv) == wanted,
        Err(error) => match wanted {
            "error:illegal" | "error:IllegalMoveError" => error.code == "E-MOVE-ILLEGAL",
            "error:ambiguous" | "error:AmbiguousMoveError" => error.code == "E-MOVE-AMBIG",
            "error:invalid" => error.code == "E-MOVE-SYNTAX",
            _ => false,
        },
    }
}

/// The strict reader says SYNTAX to what cannot be canonical anywhere.
fn san_is_read(text: &str) -> bool {
    san::parse(&playable(START), text.as_bytes(), Profile::Strict)
        .map_or_else(|error| error.code != "E-MOVE-SYNTAX", |read| read.san.to_string() == text)
}

fn got(line: &str, name: &str) -> String {
    let record = lenient(line);
    String::from_utf8(record.text_of(name.parse().expect(name)).unwrap_or_default()).expect("UTF-8")
}

/// `D1=20 id="x" note=some value`.
fn operations(line: &str, expected: &str) -> bool {
    let record = lenient(line);
    let mut names = 0;
    let mut rest = expected.trim_end();
    while let Some((before, value)) = rest.rsplit_once('=') {
        let (others, name) = before.rsplit_once(' ').unwrap_or(("", before));
        let texts: Vec<String> = record
            .operands(Opcode::new(name.as_bytes()).expect(name))
            .expect(name)
            .iter()
            .map(|operand: &Operand| String::from_utf8(operand.text()).expect("UTF-8"))
            .collect();
        if texts.join(" ") != value.trim_matches('"') {
            return false;
        }
        names += 1;
        rest = others;
    }
    let bare = usize::from(rest.starts_with("noop"));
    names + bare == record.operations().len() - 2
}
