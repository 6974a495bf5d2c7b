//! Arbitrary bytes, mangled lines, impossible boards, and lines made to be slow.

use epdb_chess::model::{Board, Castling, Color, EpdRecord, Opcode, Piece, Position, Role, Square};
use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::{
    CastlingForm, Format, FormatOptions, MateTargets, ParseOptions, Profile, ScoreView, fen, san,
};
use proptest::prelude::*;

use crate::{read, read_with, rows, unescape, write_with};

const PROFILES: [Profile; 3] = [Profile::Strict, Profile::Standard, Profile::Lenient];

/// Options that a line is read with, and what the tests must know of them.
struct Case {
    options: ParseOptions,
    profile: Profile,
    in_1994: bool,
}

fn all_options() -> Vec<Case> {
    let plain = |profile| Case { options: ParseOptions::new(profile), profile, in_1994: false };
    let mut all: Vec<Case> = PROFILES.into_iter().map(plain).collect();
    for profile in PROFILES {
        let options = ParseOptions {
            revision_1994: true,
            labels: true,
            score_view: Some(ScoreView::White),
            perft: true,
            mates: MateTargets::Ce,
            keep_moves: true,
            repair_moves: true,
            ..ParseOptions::new(profile)
        };
        all.push(Case { options, profile, in_1994: true });
    }
    all
}

/// Whatever is taken comes out as text that is taken again and does not change; what
/// strict takes is that text.
fn assert_stable(line: &[u8]) {
    for Case { options, profile, in_1994 } in all_options() {
        let (result, warnings) = read_with(line, &options);
        assert!(warnings.iter().all(|w| (1..=line.len() + 1).contains(&w.column)), "{warnings:?}");
        let record = match result {
            Ok(Line::Record(record)) => record,
            Ok(_) => continue,
            Err(error) => {
                assert!((1..=line.len() + 1).contains(&error.column), "{error}");
                assert!(warnings.is_empty());
                continue;
            }
        };
        let text = epdb_chess::format_epd(&record);
        if profile == Profile::Strict {
            assert_eq!(text, line);
        }
        // Values are written in the form of 1995, in which -32767 is checkmate. In 1994 it is an illegal
        // position, which is -32768 in 1995.
        if in_1994 && matches!(record.integer(Opcode::CE), Some(-32768 | -32767)) {
            continue;
        }
        let (again, _) = read_with(&text, &options);
        let Ok(Line::Record(again)) = again else {
            panic!("{}: {again:?}", String::from_utf8_lossy(&text))
        };
        assert_eq!(
            String::from_utf8_lossy(&epdb_chess::format_epd(&again)),
            String::from_utf8_lossy(&text)
        );
    }
}

/// Lines that have everything in them.
fn lines() -> Vec<Vec<u8>> {
    let vectors = rows(include_str!("../vectors/epd_normalise.tsv")).map(|row| unescape(row[1]));
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let found = [
        "0 1 ;D1 20 ;D2 400",
        "bm Nf3 +, e4!; c0 \"a\\\"b\\\" \"; id BK.01; v=-407; PV: e4 e5 Ng1-f3; ce +M3 dm 3",
        "- - bm #5; 00'40\" (G); pm e4 d4; acn 1,2; hmvc 3; hmvc 4; noop x \"\\\"; noop y;",
        "| 23 | 0.5",
        "[1.0]",
        ";20;400",
        "pv e4 c5 c3 \"x\" c7 y; tcri a@b \"Bob\"; ptp White \"A\"; ts 1995.11.26 23:59:59;",
    ];
    let found = found.map(|tail| format!("{start} {tail}").into_bytes());
    vectors.filter(|line| line.len() < 400).chain(found).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_bytes_are_read_without_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_stable(&line);
    }

    #[test]
    fn any_tail_is_read_without_panic(
        tail in prop::collection::vec(
            prop::sample::select(b" ;\"\\bmpvceidnoop0123456789#!?+-=,:xNKQ\t\0\xe9\xc3[|]".to_vec()),
            0..60,
        ),
    ) {
        let mut line = b"4k2r/8/8/8/8/8/4P3/4K2R w Kk - ".to_vec();
        line.extend(tail);
        assert_stable(&line);
    }

    #[test]
    fn mangled_lines_are_read_without_panic(
        mut line in prop::sample::select(lines()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0u8..5, any::<u8>()), 1..6),
        donor in prop::sample::select(lines()),
        cut in any::<prop::sample::Index>(),
    ) {
        for (place, kind, byte) in changes {
            if line.is_empty() {
                break;
            }
            let place = place.index(line.len());
            match kind {
                0 => line[place] = byte,
                1 => { line.remove(place); }
                2 => line.insert(place, b" ;\"\\,-+!#?"[usize::from(byte) % 10]),
                3 => {
                    let piece = &donor[cut.index(donor.len().max(1)).min(donor.len())..];
                    line.splice(place..place, piece.iter().copied().take(12));
                }
                _ => line.truncate(place),
            }
        }
        assert_stable(&line);
    }

    #[test]
    fn any_text_is_a_move_or_none(
        text in prop::collection::vec(
            prop::sample::select(b"abcdefgh12345678NBRQKOPx=+#-!?0o:()/ep.\xe2\x99\x94".to_vec()),
            0..12,
        ),
    ) {
        let record = fen::parse(b"r3k2r/1P6/8/3pP3/8/8/8/R3K2R w KQkq d6 0 1", Profile::Standard);
        let playable = epdb_chess::model::rules::Playable::new(record.unwrap().position()).unwrap();
        for profile in PROFILES {
            if let Ok(read) = san::parse(&playable, &text, profile) {
                assert!(playable.is_legal(read.mv));
                assert_eq!(read.san, san::format(&playable, read.mv));
                assert!(profile != Profile::Strict || read.san.as_bytes() == text);
            }
        }
    }

    /// Any board that can be expressed is written and read back, in every dialect.
    #[test]
    fn any_position_round_trips(
        pieces in prop::collection::vec((0u8..64, 0usize..6, any::<bool>()), 0..64),
        white in any::<bool>(),
        rights in any::<[bool; 4]>(),
        files in any::<[u8; 4]>(),
        target in prop::option::of(0u8..8),
    ) {
        let mut board = Board::EMPTY;
        for (square, role, color) in pieces {
            let color = if color { Color::White } else { Color::Black };
            let piece = Piece { color, role: Role::ALL[role] };
            board.put(Square::new(square).unwrap(), Some(piece));
        }
        let mut castling = Castling::NONE;
        for (index, (color, side)) in Color::ALL
            .into_iter()
            .flat_map(|color| epdb_chess::model::Side::ALL.map(|side| (color, side)))
            .enumerate()
        {
            let file = files[index] % 8;
            if rights[index] && epdb_chess::model::may_hold_right(&board, color, side, file) {
                castling.set(color, side, Some(file));
            }
        }
        let turn = if white { Color::White } else { Color::Black };
        let target = target.map(|file| Square::at(file, epdb_chess::model::en_passant_rank(turn)));
        let position = Position::new(board, turn, castling, target).unwrap();
        let record = EpdRecord::new(position);
        for castling in [CastlingForm::XFen, CastlingForm::Shredder] {
            let options = FormatOptions { castling, format: Format::Fen, ..Default::default() };
            let text = write_with(&record, &options);
            let back = fen::parse(text.as_bytes(), Profile::Standard).expect(&text);
            prop_assert_eq!(back.position(), &position);
        }
        let (strict, _) = read(&epdb_chess::format_epd(&record), Profile::Strict);
        prop_assert!(matches!(strict, Ok(Line::Record(_))));
    }
}

/// Lines of a mebibyte that are made to hurt take no more than time in proportion.
#[test]
fn hostile_lines_are_read_in_proportional_time() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - ";
    let size = 1 << 20;
    const POSITIONS: usize = 19;
    let fill = |part: &str| format!("{start}{}", part.repeat(size / part.len()));
    let numbered = |format: fn(usize) -> String| {
        let mut line = start.to_string();
        let mut number = 0;
        while line.len() < size {
            line.push_str(&format(number));
            number += 1;
        }
        line
    };
    let lines = [
        fill(";"),
        fill("\""),
        fill("\\\" "),
        fill("\"\\\" \" "),
        fill("1x;"),
        fill("- "),
        fill("bm e4;"),
        fill("bm bm "),
        fill("ce 1 "),
        fill("id "),
        format!("{start}bm e4 {}", "+ ".repeat(size / 2)),
        format!("{start}bm {}", ",".repeat(size)),
        format!("{start}pv {}", "Nf3 Nf6 Ng1 Ng8 ".repeat(size / 16)),
        format!("{start}bm {}", "e5 d5 ".repeat(size / 6)),
        format!("{start}{}", "x".repeat(size)),
        numbered(|n| format!("Z{n};")),
        numbered(|n| format!("Z{} {n};", n % 1000)),
        numbered(|n| format!("noop {n};")),
        numbered(|n| format!("Q{n} \"\\\" \"x;")),
        format!("{}{}", "1/".repeat(size / 2), " w - -"),
    ];
    // Quadratic work on any of these would take hours, not the second that all take together.
    for (index, line) in lines.iter().enumerate() {
        for Case { options, profile, .. } in all_options() {
            let mut warnings = Vec::new();
            let result = epd::parse_line(line.as_bytes(), &options, &mut warnings);
            if let Ok(Line::Record(record)) = &result {
                epd::format(record, &FormatOptions::default(), &mut Vec::new());
            }
            let refused = index >= POSITIONS || profile != Profile::Lenient;
            assert!(refused || result.is_ok(), "{index}: {result:?}");
        }
    }
}
