//! Positions after moves.

use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{EpdRecord, Opcode, Operand, Operands, Operation};
use epdb_chess::text::{Profile, san};

/// The positions of a line of moves that are returned as records.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Stops {
    /// The position at the end.
    End,
    /// The position after each move, in playing order.
    Each,
}

/// The positions after the moves of a record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Played {
    /// The records after the moves.
    pub records: Vec<EpdRecord>,
    /// The moves that cannot be played, as they are written.
    pub illegal: Vec<Vec<u8>>,
}

/// Plays the moves of an operation. Returns the record after each move of a set, such as `bm`, or
/// the records at the stops of a line, such as `pv`. No records are returned if the record lacks
/// the operation, or if the operation has no moves. A line is played up to its first illegal move.
///
/// The new records have updated counters, in the same form as in the record, and the operations that `keep`
/// names. Other operations are dropped, because they are about the old position.
///
/// ```
/// use epdb_library::play::{Stops, after_operation};
/// use epdb_chess::model::Opcode;
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - fmvn 7; hmvc 4; pv e4 Kd7;")?;
/// let played = after_operation(&record, Opcode::PV, Stops::Each, &[]);
/// let lines: Vec<_> = played.records.iter().map(epdb_chess::format_epd).collect();
/// assert_eq!(lines[0], b"4k3/8/8/8/4P3/8/8/4K3 b - e3 fmvn 7; hmvc 0;");
/// assert_eq!(lines[1], b"8/3k4/8/8/4P3/8/8/4K3 w - - fmvn 8; hmvc 1;");
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn after_operation(
    record: &EpdRecord,
    opcode: Opcode,
    stops: Stops,
    keep: &[Opcode],
) -> Played {
    let operands = record.operands(opcode).unwrap_or_default();
    let is_line = opcode.standard().is_some_and(|entry| entry.operands == Operands::MoveLine);
    if is_line {
        return after_line(record, operands.iter().map(as_move), stops, keep);
    }
    let mut played = Played::default();
    for operand in operands {
        let one = after_line(record, [as_move(operand)], Stops::End, keep);
        played.records.extend(one.records);
        played.illegal.extend(one.illegal);
    }
    played
}

/// The records at the stops of a line whose moves are given as texts, such as `["e4", "c7c5"]`.
pub fn after_moves(
    record: &EpdRecord,
    moves: &[impl AsRef<[u8]>],
    stops: Stops,
    keep: &[Opcode],
) -> Played {
    after_line(
        record,
        moves.iter().map(|text| PlayedMove::Text(text.as_ref().to_vec())),
        stops,
        keep,
    )
}

enum PlayedMove {
    Legal(Move),
    Text(Vec<u8>),
}

fn as_move(operand: &Operand) -> PlayedMove {
    match operand {
        Operand::Move { mv, .. } => PlayedMove::Legal(*mv),
        other => PlayedMove::Text(other.text()),
    }
}

fn after_line(
    record: &EpdRecord,
    steps: impl IntoIterator<Item = PlayedMove>,
    stops: Stops,
    keep: &[Opcode],
) -> Played {
    let mut played = Played::default();
    let mut current = record.clone();
    let mut steps = steps.into_iter().peekable();
    while let Some(step) = steps.next() {
        match step.move_in(&current).and_then(|mv| current.play(mv)) {
            Some(next) => current = next,
            None => {
                played.illegal.push(step.text());
                return played;
            }
        }
        if stops == Stops::Each || steps.peek().is_none() {
            played.records.push(with_operations(&current, record, keep));
        }
    }
    played
}

impl PlayedMove {
    fn move_in(&self, record: &EpdRecord) -> Option<Move> {
        match self {
            PlayedMove::Legal(mv) => Some(*mv),
            PlayedMove::Text(text) => {
                let playable = Playable::new(record.position()).ok()?;
                san::parse(&playable, text, Profile::Lenient).ok().map(|read| read.mv)
            }
        }
    }

    fn text(self) -> Vec<u8> {
        match self {
            PlayedMove::Legal(mv) => format!("{}{}", mv.from, mv.to).into_bytes(),
            PlayedMove::Text(text) => text,
        }
    }
}

/// The record with operations of the record `from`; counters are not copied.
fn with_operations(record: &EpdRecord, from: &EpdRecord, keep: &[Opcode]) -> EpdRecord {
    let mut record = record.clone();
    for opcode in keep.iter().filter(|opcode| **opcode != Opcode::HMVC && **opcode != Opcode::FMVN)
    {
        if let Some(operands) = from.operands(*opcode) {
            record.set(Operation { opcode: *opcode, operands: operands.to_vec() });
        }
    }
    record
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn record(line: &str) -> EpdRecord {
        epdb_chess::parse_epd(line.as_bytes()).unwrap()
    }

    fn lines(played: &Played) -> Vec<String> {
        let text = |record| String::from_utf8(epdb_chess::format_epd(record)).unwrap();
        played.records.iter().map(text).collect()
    }

    fn opcode(name: &str) -> Opcode {
        Opcode::new(name.as_bytes()).unwrap()
    }

    #[test]
    fn each_best_move_leads_to_a_record_of_its_own() {
        let record = record("4k3/8/8/8/8/8/4P3/4K3 w - - bm e4 Kd1 Nf3; ce 5; id \"x\";");
        let played = after_operation(&record, opcode("bm"), Stops::End, &[opcode("id")]);
        let expected =
            ["4k3/8/8/8/8/8/4P3/3K4 b - - id \"x\";", "4k3/8/8/8/4P3/8/8/4K3 b - e3 id \"x\";"];
        assert_eq!(lines(&played), expected);
        assert_eq!(played.illegal, [b"Nf3"]);
        assert_eq!(after_operation(&record, opcode("pv"), Stops::End, &[]), Played::default());
    }

    #[test]
    fn fen_counters_advance_as_fields() {
        let start = record("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        let played = after_moves(&start, &["e4", "c7c5", "Nf3"], Stops::End, &[]);
        assert_eq!(
            lines(&played),
            ["rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2"]
        );
        let stopped = after_moves(&start, &["e4", "e4"], Stops::Each, &[]);
        assert_eq!((stopped.records.len(), stopped.illegal), (1, vec![b"e4".to_vec()]));
    }

    #[test]
    fn a_board_without_kings_has_no_moves() {
        let played = after_moves(&record("8/8/8/8/8/8/4P3/8 w - -"), &["e4"], Stops::End, &[]);
        assert_eq!((played.records, played.illegal), (vec![], vec![b"e4".to_vec()]));
    }
}
