//! What a record of a test suite answers, and whether that solves it.

use super::opcode::Opcode;
use super::record::{EpdRecord, Operand};
use super::score::{Score, mate_target};

/// What becomes of a problem.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// The answer is right.
    Solved,
    /// The answer is wrong, or there is none.
    Missed,
    /// The record has neither `bm` nor `am`: it is no problem.
    Unscored,
    /// A move of `bm` or `am` is not legal in the position, so nothing can be said.
    Defective,
}

/// The move that a record answers with: `pm`, else the first of `pv`, else `sm`.
pub fn answer(record: &EpdRecord) -> Option<&Operand> {
    [Opcode::PM, Opcode::PV, Opcode::SM]
        .into_iter()
        .find_map(|opcode| record.operands(opcode)?.first())
}

/// Whether the answer of a record is among its `bm` and not among its `am`.
///
/// A mate target in `bm`, `#5` or `#-5`, is met by `dm` or `ce` telling of a mate that is no
/// longer.
///
/// ```
/// use epdb::model::answer::{Verdict, verdict};
/// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
/// let record = epdb::parse_epd(format!("{start} bm Nf3 e4; pv e4 e5;").as_bytes())?;
/// assert_eq!(verdict(&record), Verdict::Solved);
/// # Ok::<(), epdb::text::Diagnostic>(())
/// ```
pub fn verdict(record: &EpdRecord) -> Verdict {
    let best = record.operands(Opcode::BM).unwrap_or_default();
    let avoid = record.operands(Opcode::AM).unwrap_or_default();
    if best.is_empty() && avoid.is_empty() {
        return Verdict::Unscored;
    }
    let defective = |operand: &Operand| match operand {
        Operand::Move { .. } => false,
        other => mate_target(&other.text()).is_none(),
    };
    if best.iter().chain(avoid).any(defective) {
        return Verdict::Defective;
    }
    let answer = answer(record);
    let hits = |operand: &Operand| {
        Some(operand) == answer
            || mate_target(&operand.text()).is_some_and(|moves| finds_mate(record, moves))
    };
    let right = best.is_empty() || best.iter().any(hits);
    let answered = answer.is_some() || best.iter().any(hits);
    if answered && right && !avoid.iter().any(hits) { Verdict::Solved } else { Verdict::Missed }
}

/// Whether `dm` or `ce` says that there is a mate in at most so many moves; negative: of being mated.
fn finds_mate(record: &EpdRecord, target: i32) -> bool {
    let score = record.integer(Opcode::CE).and_then(|ce| Score::from_ce(ce).ok());
    let by_score = match score {
        Some(Score::Mates(plies)) => Some(i128::from(plies.div_ceil(2))),
        Some(Score::Mated(plies)) => Some(-i128::from(plies.div_ceil(2))),
        _ => None,
    };
    let target = i128::from(target);
    [by_score, record.integer(Opcode::DM)]
        .into_iter()
        .flatten()
        .any(|moves| moves != 0 && moves.signum() == target.signum() && moves.abs() <= target.abs())
}
