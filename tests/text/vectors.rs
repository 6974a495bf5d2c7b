//! The project's own vectors (tests/vectors, columns in their headings).

use std::collections::BTreeSet;

use epdb_chess::model::answer::{Verdict, verdict};
use epdb_chess::model::registers::{Register, Registers};
use epdb_chess::model::rules::{Playable, legality};
use epdb_chess::model::score::{self, Score};
use epdb_chess::text::epd::Line;
use epdb_chess::text::{CastlingForm, EnPassantForm, Format, FormatOptions, Profile, fen, san};

use crate::{profile, read, rows, unescape, write_with};

const EPD: &str = include_str!("../vectors/epd_normalise.tsv");
const FEN: &str = include_str!("../vectors/fen_convert.tsv");
const SAN: &str = include_str!("../vectors/san_lenient.tsv");
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// Output and diagnostics of every row.
#[test]
fn epd_normalise() {
    for row in rows(EPD) {
        let [id, input, expect, output, diagnostics, note] = row[..] else { panic!("{row:?}") };
        let (result, warnings) = read(&unescape(input), Profile::Standard);
        let codes: BTreeSet<&str> = warnings.iter().map(|warning| warning.code).collect();
        let wanted: BTreeSet<&str> = diagnostics.split(',').filter(|code| *code != "-").collect();
        assert_eq!(codes, wanted, "{id} {note}");
        match (expect, result) {
            ("SKIP", Ok(Line::Blank)) => {}
            ("OK", Ok(Line::Record(record))) => {
                let text = write_with(&record, &FormatOptions::default());
                assert_eq!(text.as_bytes(), unescape(output), "{id} {note}");
            }
            (_, Err(error)) => assert_eq!(expect, format!("ERR:{}", error.code), "{id} {note}"),
            (_, other) => panic!("{id} {note}: {other:?}"),
        }
    }
}

/// The canonical text is its own canonical text in every profile, without a warning that
/// is a repair; what standard takes lenient takes too.
#[test]
fn normal_form_is_idempotent() {
    let outputs = rows(EPD).filter(|row| row[2] == "OK").map(|row| unescape(row[3]));
    let fens = rows(FEN).filter(|row| row[1] == "OK").map(|row| unescape(row[0]));
    for text in outputs.chain(fens) {
        for profile in [Profile::Strict, Profile::Standard, Profile::Lenient] {
            let (result, warnings) = read(&text, profile);
            match result {
                Ok(Line::Record(record)) => {
                    assert_eq!(write_with(&record, &FormatOptions::default()).as_bytes(), text);
                }
                // The strict profile refuses records that break the rules between opcodes.
                Err(error) => {
                    assert!(profile == Profile::Strict && error.code.starts_with("W-CONS"));
                }
                other => panic!("{other:?}"),
            }
            assert!(warnings.iter().all(|warning| warning.repair.is_none()), "{warnings:?}");
        }
    }
    for row in rows(EPD).filter(|row| row[2] == "OK") {
        let (result, _) = read(&unescape(row[1]), Profile::Lenient);
        let Ok(Line::Record(record)) = result else { panic!("{row:?}") };
        let once = write_with(&record, &FormatOptions::default());
        let (again, _) = read(once.as_bytes(), Profile::Lenient);
        let Ok(Line::Record(again)) = again else { panic!("{row:?}") };
        assert_eq!(write_with(&again, &FormatOptions::default()), once);
    }
}

/// All three dialects and legality of every row.
#[test]
fn fen_convert() {
    for row in rows(FEN) {
        let (id, input, expect) = (row[0], unescape(row[1]), row[2]);
        let record = match fen::parse(&input, Profile::Standard) {
            Ok(record) => record,
            Err(error) => {
                assert_eq!(expect, format!("ERR:{}", error.code), "{id}");
                continue;
            }
        };
        assert_eq!(expect, "OK", "{id}");
        let as_fen = |castling, en_passant| {
            let options =
                FormatOptions { format: Format::Fen, castling, en_passant, ..Default::default() };
            write_with(&record, &options)
        };
        assert_eq!(as_fen(CastlingForm::XFen, EnPassantForm::Keep), row[3], "{id} FEN");
        assert_eq!(as_fen(CastlingForm::XFen, EnPassantForm::Legal), row[4], "{id} X-FEN");
        assert_eq!(as_fen(CastlingForm::Shredder, EnPassantForm::Keep), row[5], "{id} Shredder");
        assert_eq!(row[6] == "1", !record.position().is_chess960(), "{id} orthodox");
        assert_eq!(row[7] == "1", legality(record.position()).is_legal(), "{id} legal");
        for dialect in &row[3..6] {
            let same = fen::parse(dialect.as_bytes(), Profile::Standard).expect("a FEN");
            assert_eq!(same.position().identity(), record.position().identity(), "{id} {dialect}");
        }
    }
}

#[test]
fn san_lenient() {
    for row in rows(SAN) {
        let [id, level, _, position, input, expect, text, nags, uci, note] = row[..] else {
            panic!("{row:?}")
        };
        let record = fen::parse(position.as_bytes(), Profile::Standard).expect(id);
        let playable = Playable::new(record.position()).expect(id);
        match san::parse(&playable, &unescape(input), profile(level)) {
            Ok(read) => {
                assert_eq!(expect, "OK", "{id} {note}");
                assert_eq!(read.san.to_string(), text, "{id} {note}");
                assert_eq!(read.nag.map_or("-".into(), |nag| format!("${nag}")), nags, "{id}");
                assert_eq!(san::uci(&playable, read.mv), uci, "{id} {note}");
                assert_eq!(read.after.position(), playable.after(read.mv).position(), "{id}");
                assert_eq!(read.false_capture, note == "capture mark without capture", "{id}");
            }
            Err(error) => assert_eq!(expect, format!("ERR:{}", error.code), "{id} {note}"),
        }
    }
}

/// Every SAN of every list, in ASCII order, and each read back in all profiles.
#[test]
fn move_lists() {
    for row in rows(include_str!("../vectors/move_lists.tsv")) {
        let [id, _, _, position, count, list] = row[..] else { panic!("{row:?}") };
        let record = fen::parse(position.as_bytes(), Profile::Standard).expect(id);
        let playable = Playable::new(record.position()).expect(id);
        let moves = playable.legal_moves();
        assert_eq!(moves.len().to_string(), count, "{id}");
        let mut texts: Vec<String> =
            moves.iter().map(|&mv| san::format(&playable, mv).to_string()).collect();
        for (mv, text) in moves.iter().zip(&texts) {
            for profile in [Profile::Strict, Profile::Standard, Profile::Lenient] {
                let read = san::parse(&playable, text.as_bytes(), profile).expect(id);
                assert_eq!((read.mv, read.san.to_string()), (*mv, text.clone()), "{id}");
            }
            let uci = san::uci(&playable, *mv);
            let read = san::parse(&playable, uci.as_bytes(), Profile::Lenient).expect(id);
            assert_eq!(read.mv, *mv, "{id} {uci}");
        }
        texts.sort();
        assert_eq!(texts.join(" "), list, "{id}");
    }
}

#[test]
fn ce_mate() {
    let range =
        |text: Result<String, score::OutOfRange>| text.unwrap_or_else(|_| "ERR:E-EPD-RANGE".into());
    for row in rows(include_str!("../vectors/ce_mate.tsv")) {
        let (id, operation, input, output) = (row[0], row[1], row[2], row[3]);
        let value: i32 = input.parse().expect(id);
        let dash = |value: Option<u32>| value.map_or("-".into(), |value| value.to_string());
        let name = |score| match score {
            Score::Centipawns(_) => "cp",
            Score::Mates(_) => "mates",
            Score::Mated(_) => "mated",
            Score::Checkmated => "checkmated",
            Score::Illegal => "illegal",
        };
        let found = match operation {
            "dm_to_ce" => range(score::mates_in(value as u32).map(|ce| ce.to_string())),
            "mated_to_ce" => range(score::mated_in(value as u32).map(|ce| ce.to_string())),
            "classify" => range(Score::from_ce(value.into()).map(|score| {
                let (plies, moves) = (dash(score.plies()), dash(score.full_moves()));
                format!("{} plies={plies} fullmoves={moves}", name(score))
            })),
            "classify1994" => range(Score::from_ce_1994(value.into()).map(|s| name(s).into())),
            "child_to_parent" => {
                range(score::child_to_parent(value).map(|ce| ce.expect("propagates").to_string()))
            }
            other => panic!("{other}"),
        };
        assert_eq!(found, output, "{id}");
    }
}

#[test]
fn registers() {
    let mut registers = Registers::default();
    for row in rows(include_str!("../vectors/registers.tsv")) {
        let [id, _, step, operations, after] = row[..] else { panic!("{row:?}") };
        if step == "1" {
            registers = Registers::default();
        }
        let record = epdb_chess::parse_epd(format!("{START} {operations}").as_bytes()).expect(id);
        registers.apply(&record);
        let text = |bytes: &[u8]| format!("\"{}\"", String::from_utf8_lossy(bytes));
        let list = |letter: char, all: &[Register; 10]| {
            let set = all.iter().enumerate().filter_map(|(number, register)| {
                Some(format!("{letter}{number}={}", text(register.as_deref()?)))
            });
            set.collect::<Vec<_>>().join(" ")
        };
        let one = |register: &Register| register.as_deref().map_or("~".into(), text);
        let found = format!(
            "{} | {} | eco={} nic={}",
            list('c', &registers.comments),
            list('v', &registers.variations),
            one(&registers.eco),
            one(&registers.nic)
        );
        assert_eq!(found, after, "{id}");
    }
}

#[test]
fn solved() {
    for row in rows(include_str!("../vectors/solved.tsv")) {
        let [id, operations, answer, solved] = row[..] else { panic!("{row:?}") };
        for opcode in ["pm", "pv", "sm"] {
            let line = format!("{START} {operations} {opcode} {answer};");
            let record = epdb_chess::parse_epd(line.as_bytes()).expect(id);
            let wanted = match solved {
                "1" => Verdict::Solved,
                "0" => Verdict::Missed,
                _ => Verdict::Unscored,
            };
            assert_eq!(verdict(&record), wanted, "{id} {opcode}");
        }
    }
    let found = |operations: &str| {
        verdict(
            &epdb_chess::parse_epd(format!("{START} {operations}").as_bytes()).expect("a record"),
        )
    };
    assert_eq!(found("bm e4;"), Verdict::Missed);
    assert_eq!(found("am e4;"), Verdict::Missed);
    assert_eq!(found("bm e4; pv d4; sm e4;"), Verdict::Missed);
    assert_eq!(found("bm e5; pm e4;"), Verdict::Defective);
    assert_eq!(found("bm #3; pm e4; ce 32764;"), Verdict::Solved);
    assert_eq!(found("bm #3; pm e4; ce 32760;"), Verdict::Missed);
    assert_eq!(found("bm #-3; pm e4; ce -32763;"), Verdict::Solved);
    assert_eq!(found("bm #-3; pm e4; ce 32764;"), Verdict::Missed);
}
