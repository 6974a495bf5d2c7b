//! Lines that have only the fields of a position and cause no diagnostics. They are read without
//! building a record.

use super::item::Filter;
use epdb_chess::codec::identity::Identity;
use epdb_chess::codec::packed::{PackedBoard, PlainCodes};
use epdb_chess::codec::record::PlainRecord;
use epdb_chess::model::rules::{is_plainly_legal, legality};
use epdb_chess::model::{Castling, Counters, Position, Setup, Square};
use epdb_chess::simd::{InstructionSet, Kernel};

/// A record without operations: a line of four or six fields.
pub(super) struct PlainLine<'i> {
    /// The record. It has an en passant square only if the line has a square that is not part of
    /// the position's identity.
    pub(super) record: PlainRecord<'i>,
    /// Whether the line is the canonical text of its record.
    pub(super) is_canonical: bool,
    /// The answer of the filter.
    pub(super) judgement: Option<bool>,
}

impl<'i> PlainLine<'i> {
    /// Reads the rest of a line, after the fields of its identity (the fields by which positions
    /// are compared). Returns `None` if the lenient reader might have a diagnostic about the line.
    /// The caller must then use the lenient reader. Without a filter, the record is taken.
    // Inlined, because copying the parts would take longer than reading them.
    #[inline(always)]
    pub(super) fn read(
        line: &[u8],
        identity: &'i Identity,
        filter: Option<&dyn Filter>,
    ) -> Option<PlainLine<'i>> {
        let (fields, behind) = line.split_at(identity.len);
        // An identity is read from canonical fields only. So the rest of the line decides whether
        // the line is canonical.
        let (counters, is_canonical) = match behind {
            [] => (None, true),
            [b' ', text @ ..] => {
                let (counters, is_canonical) = read_counters(text)?;
                (Some(counters), is_canonical)
            }
            _ => return None,
        };
        let given = match fields {
            [.., b'-'] => None,
            [.., file, rank] => Some(Square::from_ascii(&[*file, *rank])?),
            _ => return None,
        };
        let glance = Glance { board: &identity.board, en_passant: given, filter };
        let Seen { has_double_step, judgement } = InstructionSet::fastest().run(glance)?;
        let en_passant = if has_double_step { None } else { given };
        let record = PlainRecord { board: identity.board.as_bytes(), en_passant, counters };
        Some(PlainLine { record, is_canonical, judgement })
    }
}

/// Returns the codes of a packed board in the plain form, which is known to be valid.
#[inline(always)]
fn codes_of(board: &PackedBoard) -> Option<PlainCodes> {
    let (occupied, codes) = board.as_plain()?.split_first_chunk()?;
    Some(PlainCodes::new(u64::from_le_bytes(*occupied), codes))
}

/// A check of a packed board and the en passant square of its line.
struct Glance<'b> {
    board: &'b PackedBoard,
    en_passant: Option<Square>,
    filter: Option<&'b dyn Filter>,
}

/// A legal position.
struct Seen {
    /// True if a pawn just made a double step.
    has_double_step: bool,
    /// The answer of the filter.
    judgement: Option<bool>,
}

impl Kernel for Glance<'_> {
    /// `None` if the board is not in the plain form, or if the position is not legal.
    type Output = Option<Seen>;

    #[inline(always)]
    fn run(self) -> Option<Seen> {
        let Glance { board, en_passant, filter } = self;
        let codes = codes_of(board)?;
        let setup = codes.setup();
        if !is_plainly_legal(&setup.board, setup.turn, en_passant) && !is_legal(&setup, en_passant)
        {
            return None;
        }
        let judgement = filter.map_or(Some(true), |filter| filter.judge(&setup));
        Some(Seen { has_double_step: codes.double_steps != 0, judgement })
    }
}

/// The full check whether a position is legal, for positions that the quick check does not accept. Castling
/// rights are left out, because they are known to be valid.
#[cold]
fn is_legal(setup: &Setup, en_passant: Option<Square>) -> bool {
    Position::new(setup.board, setup.turn, Castling::NONE, en_passant)
        .is_ok_and(|position| legality(&position).is_legal())
}

/// Reads two numbers of at most four digits, with one blank between them. The second number is at
/// least 1. The flag is true if they have no superfluous zeros.
#[inline(always)]
fn read_counters(text: &[u8]) -> Option<(Counters, bool)> {
    let blank = text.iter().take(5).position(|byte| *byte == b' ')?;
    let first = &text[..blank];
    let second = &text[blank + 1..];
    let halfmove_clock = read_number(first)?;
    let fullmove_number = read_number(second).filter(|number| *number > 0)?;
    let is_canonical = !matches!((first, second), ([b'0', _, ..], _) | (_, [b'0', ..]));
    Some((Counters { halfmove_clock, fullmove_number }, is_canonical))
}

/// Appends the record of a canonical line in binary form. The line has its LF, unlike the text that
/// [`Encode::encode_canonical`] gets. Returns true if the line is a record.
///
/// [`Encode::encode_canonical`]: super::Encode::encode_canonical
pub fn encode_canonical_line(line: &[u8], out: &mut Vec<u8>) -> bool {
    if let Some(text) = line.strip_suffix(b"\n")
        && let Some(identity) = &epdb_chess::codec::identity::read_board(text)
        && let Some(plain) = PlainLine::read(text, identity, None)
    {
        epdb_chess::codec::record::encode_plain(&plain.record, out);
        return true;
    }
    false
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

    use proptest::prelude::*;

    use super::*;
    use epdb_chess::codec::{identity, record};
    use epdb_chess::model::rules::Legality;
    use epdb_chess::model::{Board, Color, Piece, en_passant_rank};
    use epdb_chess::text::ParseOptions;
    use epdb_chess::text::epd::{Line, parse_line};

    /// The result equals the result of the text reader, if that reader has no warning about the
    /// line.
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
                let Some(identity) = identity::read_board(line.as_bytes()) else { continue };
                let Some(read) = PlainLine::read(line.as_bytes(), &identity, None) else {
                    continue;
                };
                let mut warnings = Vec::new();
                let options = ParseOptions::default();
                let Ok(Line::Record(record)) = parse_line(line.as_bytes(), &options, &mut warnings)
                else {
                    panic!("no record: {line}")
                };
                assert_eq!(warnings, [], "{line}");
                let setup = codes_of(&identity.board).unwrap().setup();
                assert_eq!(setup, Setup::from(record.position()), "{line}");
                let mut whole = Vec::new();
                let mut straight = Vec::new();
                record::encode(&record, &mut whole).unwrap();
                record::encode_plain(&read.record, &mut straight);
                assert_eq!(whole, straight, "{line}");
                let text = epdb_chess::format_epd(&record);
                assert_eq!(read.is_canonical, text == line.as_bytes(), "{line}");
                plain += 1;
            }
        }
        assert_eq!(plain, 42);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn what_is_plainly_legal_is_legal(
            kings in any::<[prop::sample::Index; 2]>(),
            pieces in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..16),
            turn in prop::sample::select(Color::ALL.to_vec()),
            file in prop::option::of(0..8_u8),
        ) {
            let mut board = Board::EMPTY;
            let square = |index: &prop::sample::Index| Square::new(index.index(64) as u8).unwrap();
            for (index, letter) in &pieces {
                board.put(square(index), Piece::from_letter(*letter.get(b"pPnNbBrRqQkK")));
            }
            for (index, letter) in kings.iter().zip(*b"kK") {
                board.put(square(index), Piece::from_letter(letter));
            }
            let target = file.map(|file| Square::at(file, en_passant_rank(turn)));
            if is_plainly_legal(&board, turn, target) {
                let position = Position::new(board, turn, Castling::NONE, target).unwrap();
                prop_assert_eq!(legality(&position), Legality::default());
            }
        }
    }

    #[test]
    fn usual_positions_are_plainly_legal() {
        for line in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
            "r1bq1rk1/ppp2ppp/5n2/2bp4/2NPP3/2P5/PP3PPP/RNBQK2R w KQ d6",
            "4k3/8/8/8/3pP3/8/8/4K3 b - e3",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -",
        ] {
            let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
            let position = record.position();
            let turn = position.turn();
            let target = position.en_passant();
            assert!(is_plainly_legal(position.board(), turn, target), "{line}");
        }
    }
}
