//! Lines of nothing but fields of which nothing is to be said, read without a record in between.

use crate::codec::identity;
use crate::codec::packed::PackedBoard;
use crate::codec::record::PlainRecord;
use crate::model::rules::legality;
use crate::model::{Board, Castling, Color, Counters, Position, Square};

/// A record without operations, as a line of four or six fields says it.
pub(super) struct PlainLine {
    /// The packed identity board.
    board: PackedBoard,
    /// The en passant square of the line, where it is not part of the identity.
    en_passant: Option<Square>,
    counters: Option<Counters>,
}

impl PlainLine {
    /// Reads what the lenient reader would make a record of without a remark. `None` says nothing
    /// about the line.
    pub(super) fn read(line: &[u8]) -> Option<PlainLine> {
        let identity = identity::read_fields(line)?;
        let (fields, behind) = line.split_at(identity.len);
        let counters = match behind {
            [] => None,
            [b' ', text @ ..] => Some(read_counters(text)?),
            _ => return None,
        };
        let given = match fields {
            [.., b'-'] => None,
            [.., file, rank] => Some(Square::from_ascii(&[*file, *rank])?),
            _ => return None,
        };
        let (placement, in_identity) = placement_of(&identity.board)?;
        let position = placement.with_en_passant(given).ok()?;
        let en_passant = given.filter(|_| !in_identity);
        let plain = PlainLine { board: identity.board, en_passant, counters };
        legality(&position).is_legal().then_some(plain)
    }

    /// The record of the line.
    pub(super) fn parts(&self) -> PlainRecord<'_> {
        let PlainLine { board, en_passant, counters } = self;
        PlainRecord { board: board.as_bytes(), en_passant: *en_passant, counters: *counters }
    }
}

/// The position of a packed board of at most 32 pieces, without its rights, which no rule asks for,
/// and without its en passant square; and whether it has one. That the board is sound is known, so
/// that this is faster than decoding it.
fn placement_of(board: &PackedBoard) -> Option<(Position, bool)> {
    let (occupied, codes) = board.as_bytes().split_first_chunk()?;
    let occupied = u64::from_le_bytes(*occupied);
    let mut sets = [0; 16];
    for (nth, square) in Square::each(occupied).enumerate() {
        let code = codes.get(nth / 2)? >> (nth % 2 * 4) & 15;
        sets[usize::from(code)] |= square.bit();
    }
    // Codes from 12 on say more of a pawn, of rooks, and of the king that is to move.
    let [plain @ .., double_step, white_rooks, black_rooks, king_to_move] = sets;
    let [p, wp, n, wn, b, wb, r, wr, q, wq, k, wk] = plain;
    let turn = if king_to_move != 0 { Color::Black } else { Color::White };
    let [white_step, black_step] = match turn {
        Color::White => [0, double_step],
        Color::Black => [double_step, 0],
    };
    let white = [wp | white_step, wn, wb, wr | white_rooks, wq, wk];
    let black = [p | black_step, n, b, r | black_rooks, q, k | king_to_move];
    let mut all = [0; 12];
    all[..6].copy_from_slice(&white);
    all[6..].copy_from_slice(&black);
    let position = Position::new(Board::from_sets(&all), turn, Castling::NONE, None).ok()?;
    Some((position, double_step != 0))
}

/// Two numbers of at most four digits with one blank between them, the second from 1 on.
fn read_counters(text: &[u8]) -> Option<Counters> {
    let blank = text.iter().take(5).position(|byte| *byte == b' ')?;
    let halfmove_clock = read_number(&text[..blank])?;
    let fullmove_number = read_number(&text[blank + 1..]).filter(|number| *number > 0)?;
    Some(Counters { halfmove_clock, fullmove_number })
}

fn read_number(digits: &[u8]) -> Option<u32> {
    if !(1..=4).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| 10 * number + u32::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::codec::record;
    use crate::text::ParseOptions;
    use crate::text::epd::{Line, parse_line};

    /// What is read is what the text reader makes of the line, and it has nothing to say of it.
    #[test]
    fn a_plain_line_is_a_record_of_which_nothing_is_to_be_said() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
        let tails = [
            "",
            " ",
            " 0 1",
            " 12 3456",
            " 00 01",
            " 0 0",
            " 1",
            " 1 ",
            " 0  1",
            " 0 1 ",
            "  0 1",
            " 12345 1",
            " 0 12345",
            " 0 1;",
            " - -",
            " hmvc 1;",
            " -1 1",
            " 0 +1",
            ";",
            " 0 1 2",
            "\t0 1",
            " 9999 9999",
            " 256 70",
            " x 1",
            "0 1",
            " 1 x",
            " bm e4;",
        ];
        let positions = [
            start,
            "4k3/8/8/8/4P3/8/8/4K3 b - e3",
            "4k3/8/8/8/3pP3/8/8/4K3 b - e3",
            "4k3/8/8/3pP3/8/8/8/4K3 w - d6",
            "4k3/8/8/8/3pP3/8/4P3/4K3 b - e3",
            "4k3/8/8/8/3pP3/4N3/8/4K3 b - e3",
            "8/8/8/8/k2pP2R/8/8/4K3 b - e3",
            "4k3/8/8/8/8/8/8/4K3 b - e3",
            "4k3/8/8/8/4P3/8/8/4K3 b - e6",
            "4k3/8/8/8/8/8/8/4K3 w - -",
            "4k3/8/8/8/8/8/8/4KK2 w - -",
            "r3k2r/8/8/8/8/8/8/R3K2R b KQkq -",
            "4k3/4Q3/8/8/8/8/8/4K3 w - -",
            "r3k2r/8/8/8/8/8/8/R3K2R w QK -",
            "r3k2r/8/8/8/8/8/8/R3K2R w HAha -",
            "r3k2r/8/8/8/8/8/8/R3K2R W KQkq -",
            "4k3/8/8/8/8/8/8/4K3 w  - -",
            "44/8/8/8/8/8/8/8 w - -",
            "8/8/8/8/8/8/8/8 w - -",
            "P3k3/8/8/8/8/8/8/4K3 w - -",
        ];
        let mut plain = 0;
        for position in positions {
            for tail in tails {
                let line = format!("{position}{tail}");
                let Some(read) = PlainLine::read(line.as_bytes()) else { continue };
                let mut warnings = Vec::new();
                let options = ParseOptions::default();
                let Ok(Line::Record(record)) = parse_line(line.as_bytes(), &options, &mut warnings)
                else {
                    panic!("no record: {line}")
                };
                assert_eq!(warnings, [], "{line}");
                let (placement, _) = placement_of(&read.board).unwrap();
                assert_eq!(placement.board(), record.position().board(), "{line}");
                assert_eq!(placement.turn(), record.position().turn(), "{line}");
                let (mut whole, mut straight) = (Vec::new(), Vec::new());
                record::encode(&record, &mut whole).unwrap();
                record::encode_plain(&read.parts(), &mut straight);
                assert_eq!(whole, straight, "{line}");
                plain += 1;
            }
        }
        assert_eq!(plain, 42);
    }
}
