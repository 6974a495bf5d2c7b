//! The direct conversion between text and packed identity boards, compared with the one through positions.

use epdb_chess::codec::identity::{self, Identity, InstructionSet};
use epdb_chess::codec::{key, packed};
use epdb_chess::model::Position;
use epdb_chess::text::{self, CastlingForm, EnPassantForm};
use proptest::prelude::*;

use crate::positions::{anything, fen, fields, playouts};
use crate::shared_data::shared_files;

/// The expected result of the direct conversion of a position, if it has one.
fn identity(position: &Position, len: usize) -> Identity {
    let board = packed::encode(&position.identity());
    Identity { board, key: key::position_key(position), len }
}

fn assert_read(position: &Position) {
    for shredder in [false, true] {
        let text = fields(position, shredder);
        let read = identity::read_fields(text.as_bytes());
        if let Some(read) = read {
            assert_eq!(read, identity(position, text.len()), "{text}");
        }
        for &set in InstructionSet::supported() {
            let read_so = identity::read_fields_with(set, text.as_bytes());
            assert_eq!(read_so, read, "{}: {text}", set.name());
            let board_alone = identity::read_board_with(set, text.as_bytes());
            let board = |read: Identity| (read.board, read.len);
            assert_eq!(board_alone.map(board), read.map(board), "{}: {text}", set.name());
        }
        for tail in [" ", " bm e4;", " 0 1"] {
            let line = format!("{text}{tail}");
            assert_eq!(identity::read_fields(line.as_bytes()), read, "{line}");
        }
        for tail in ["3", ";", "\t", "x"] {
            let line = format!("{text}{tail}");
            assert_eq!(identity::read_fields(line.as_bytes()), None, "{line}");
        }
    }
}

fn assert_written(position: &Position) {
    let mut text = b"before ".to_vec();
    identity::write_fields(packed::encode(position).as_bytes(), &mut text).expect("a packed board");
    let mut expected = b"before ".to_vec();
    text::fen::format_fields(position, CastlingForm::XFen, EnPassantForm::Keep, &mut expected);
    assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&expected));
    for &set in InstructionSet::supported() {
        let mut so = b"before ".to_vec();
        let board = packed::encode(position);
        identity::write_fields_with(set, board.as_bytes(), &mut so).expect("a packed board");
        assert_eq!(so, text, "{}", set.name());
    }
}

/// Whether the rights are those of the outermost rooks.
fn has_usual_rights(fields: &str) -> bool {
    let rights = fields.split(' ').nth(2);
    rights.is_some_and(|rights| rights.chars().all(|letter| "KQkq-".contains(letter)))
}

#[test]
fn usual_lines_are_read_straight() {
    for text in [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3",
        "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6",
        "8/8/8/KPp4r/8/8/8/4k3 w - c6",
        "r3k2r/8/8/8/8/8/8/R3K2R b Qk -",
        // Chess960: kings and rooks elsewhere, rooks inside of those of the rights.
        "1rbbnnkr/p1pp1ppp/8/1p2p3/1P2q3/5N2/P1PP1PPP/QRBB1NKR w KQkq -",
        "rkr5/8/8/8/8/8/8/5RKR b Kq -",
        "rrkrr3/8/8/8/8/8/8/3RRKRR b KQkq -",
        "rnbqk1r1/8/8/8/8/8/8/RNBQKBNR w KQkq -",
        "rnbqk1r1/8/8/8/2Pp4/8/8/1RN1K2R b KQkq c3",
        "K7/8/8/8/8/8/8/8 w - -",
        "k7/8/8/8/8/8/8/k7 b - -",
    ] {
        let position = fen(text);
        assert_eq!(
            identity::read_fields(text.as_bytes()),
            Some(identity(&position, text.len())),
            "{text}"
        );
    }
}

#[test]
fn unusual_lines_are_left_to_the_text_reader() {
    for text in [
        "",
        " ",
        "8/8/8/8/8/8/8/8 w - -",
        "8/8/8/8/8/8/8/K7 b - -",
        "rnbqkbnr/pppppppp/8/8/8/P7/PPPPPPPP/RNBQKBNR w KQkq -",
        "rnbqkbnr/pppppppp/44/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
        "rnbqkbnr/ppppppppp/7/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR/8 w KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR/ w KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNX w KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/9/PPPPPPPP/RNBQKBNR w KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/08/PPPPPPPP/RNBQKBNR w KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR W KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w QKkq -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KK -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w  KQkq -",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e3",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq nil",
        "4k3/8/8/8/8/8/8/4K3 w K -",
        "1rk5/8/8/8/8/8/8/2K1R3 w KQ -",
        "2kr4/8/8/8/8/8/8/4K3 b q -",
        "1rk5/7r/8/8/8/8/8/4K3 b kq -",
        "1rk4R/8/8/8/8/8/8/4K3 b kq -",
        "1r5r/2k5/8/8/8/8/8/4K3 b kq -",
        "r3k2r/8/8/8/8/8/8/R3KK1R w K -",
        "rnbqkbn1/pppppppp/7r/8/8/8/PPPPPPPP/RNBQKBNR w k -",
        "2BNK1RR/8/8/8/8/8/8/2BNK1RR w K -",
    ] {
        assert_eq!(identity::read_fields(text.as_bytes()), None, "{text}");
        assert_eq!(identity::read_fields(format!("{text} ").as_bytes()), None, "{text}");
    }
}

#[test]
fn rights_are_written_as_files_only_for_inner_rooks() {
    for (text, written) in [
        ("r3k2r/8/8/8/8/8/8/R3KR1R w F -", "r3k2r/8/8/8/8/8/8/R3KR1R w F -"),
        ("r3k2r/8/8/8/8/8/8/R3KR1R w HAha -", "r3k2r/8/8/8/8/8/8/R3KR1R w KQkq -"),
        ("rr2k2r/8/8/8/8/8/8/R3K2R b KQkb -", "rr2k2r/8/8/8/8/8/8/R3K2R b KQkb -"),
        ("1rk1r2R/8/8/8/8/8/8/r1RK2R1 b GCeb -", "1rk1r2R/8/8/8/8/8/8/r1RK2R1 b KQkq -"),
        ("8/8/8/8/8/8/8/1RRKRR2 w CE -", "8/8/8/8/8/8/8/1RRKRR2 w EC -"),
    ] {
        let position = fen(text);
        assert_written(&position);
        assert_eq!(fields(&position, false), written);
    }
}

#[test]
fn shared_books_are_read_and_written_straight() {
    let mut out = Vec::new();
    let books = shared_files("books").into_iter().map(|book| std::fs::read(book).unwrap());
    let lines = books
        .flat_map(|book| book.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>());
    for line in lines {
        let Some(read) = identity::read_fields(&line) else { continue };
        let text = std::str::from_utf8(&line[..read.len]).expect("ASCII");
        let position = fen(text);
        assert_eq!(read, identity(&position, text.len()));
        out.clear();
        identity::write_fields(read.board.as_bytes(), &mut out).expect("a packed board");
        assert_eq!(String::from_utf8_lossy(&out), fields(&position.identity(), false));
    }
}

proptest! {
    #[test]
    fn any_position(position in anything()) {
        assert_read(&position);
        assert_read(&position.identity());
        assert_written(&position);
        assert_written(&position.identity());
    }

    #[test]
    fn positions_of_games(positions in playouts()) {
        for position in positions {
            assert_read(&position);
            assert_written(&position);
            let text = fields(&position, false);
            let is_usual = has_usual_rights(&text);
            prop_assert_eq!(identity::read_fields(text.as_bytes()).is_some(), is_usual);
        }
    }

    #[test]
    fn changed_lines_are_refused_or_read_alike(
        positions in playouts(),
        place in any::<prop::sample::Index>(),
        byte in prop_oneof![any::<u8>(), prop::sample::select(b"pPkKrR12345678/ -wbqe36".to_vec())],
        insert in any::<bool>(),
    ) {
        let position = positions.last().unwrap();
        let mut line = fields(position, false).into_bytes();
        let place = place.index(line.len());
        if insert {
            line.insert(place, byte);
        } else {
            line[place] = byte;
        }
        if let Some(read) = identity::read_fields(&line) {
            let text = std::str::from_utf8(&line[..read.len]).unwrap();
            prop_assert_eq!(read, identity(&fen(text), text.len()));
        }
        // Whatever the way, the text reader's answer is given.
        if let Ok(record) = epdb_chess::parse_epd(&line) {
            let whole = identity(record.position(), 0);
            prop_assert_eq!(identity::parse_line(&line), Ok((whole.board, whole.key)));
        }
    }

    #[test]
    fn arbitrary_boards_are_written_as_they_are_decoded(
        board in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        assert_written_as_decoded(&board);
    }

    /// Changes of a few codes: most are other boards, the rest nothing that a writer writes.
    #[test]
    fn changed_boards_are_written_as_they_are_decoded(
        position in anything(),
        changes in prop::collection::vec((0..48usize, 0..16u8), 1..4),
    ) {
        let mut board = packed::encode(&position).as_bytes().to_vec();
        for (nibble, code) in changes {
            if let Some(byte) = board.get_mut(8 + nibble / 2) {
                let shift = nibble % 2 * 4;
                *byte = *byte & !(15 << shift) | code << shift;
            }
        }
        assert_written_as_decoded(&board);
    }
}

/// Text comes of exactly the bytes that are a packed board, whichever way it is made.
fn assert_written_as_decoded(board: &[u8]) {
    let expected = packed::decode(board).ok().map(|(position, _)| {
        let mut text = Vec::new();
        text::fen::format_fields(&position, CastlingForm::XFen, EnPassantForm::Keep, &mut text);
        String::from_utf8(text).unwrap()
    });
    for &set in InstructionSet::supported() {
        let mut text = Vec::new();
        let written = identity::write_fields_with(set, board, &mut text);
        let written = written.ok().map(|()| String::from_utf8(text).unwrap());
        assert_eq!(written, expected, "{}: {board:02x?}", set.name());
    }
}

/// Single codes of boards with rights, counted out: a king that waits beside one that moves, a right
/// without its king, of another colour, or beside a second king.
#[test]
fn every_code_of_a_board_is_written_as_it_is_decoded() {
    for line in [
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq -",
        "r3k2r/8/8/8/8/8/8/R3K2R b KQkq -",
        "1r2kr2/8/8/8/8/8/8/1R2KR2 b BFbf -",
        "4k3/8/8/8/3Pp3/8/8/4K3 b - d3",
        "kk1q1rk1/8/8/8/8/8/8/R3K2R w KQ -",
    ] {
        let board = packed::encode(&fen(line));
        let board = board.as_bytes();
        for pair in (0..2 * (board.len() - 8)).flat_map(|one| [(one, 0), (one, one + 1)]) {
            for codes in 0..=255u8 {
                let mut changed = board.to_vec();
                for (nibble, code) in [(pair.0, codes & 15), (pair.1, codes >> 4)] {
                    if let Some(byte) = changed.get_mut(8 + nibble / 2) {
                        let shift = nibble % 2 * 4;
                        *byte = *byte & !(15 << shift) | code << shift;
                    }
                }
                assert_written_as_decoded(&changed);
            }
        }
    }
}
