//! The move with which a record answers a test position, and the verdict on that move.

use super::opcode::Opcode;
use super::record::{EpdRecord, Operand};
use super::rules::Playable;
use super::score::{Score, mate_target};

/// Verdict on a problem.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// The answer is right.
    Solved,
    /// The answer is wrong or missing.
    Missed,
    /// The record has neither `bm` nor `am`: it is not a test problem.
    Unscored,
    /// A move of `bm` or `am` is not legal in the position, so the answer cannot be judged.
    Defective,
}

/// The move that a record answers with: `pm`, else the first move of `pv`, else `sm`. `None` if the
/// record has `run_error`: its search failed, so these moves are from an earlier search.
pub fn answer(record: &EpdRecord) -> Option<&Operand> {
    if has_failed(record) {
        return None;
    }
    [Opcode::PM, Opcode::PV, Opcode::SM]
        .into_iter()
        .find_map(|opcode| record.operands(opcode)?.first())
}

/// Judges the answer of a record. A right answer is a move of `bm`, and is not a move of `am`.
///
/// A mate target in `bm`, such as `#5` or `#-5`, is met if [`finds_mate`] is true for its number.
///
/// ```
/// use epdb_chess::model::answer::{Verdict, verdict};
/// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
/// let record = epdb_chess::parse_epd(format!("{start} bm Nf3 e4; pv e4 e5;").as_bytes())?;
/// assert_eq!(verdict(&record), Verdict::Solved);
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn verdict(record: &EpdRecord) -> Verdict {
    let best = record.operands(Opcode::BM).unwrap_or_default();
    let avoid = record.operands(Opcode::AM).unwrap_or_default();
    if best.is_empty() && avoid.is_empty() {
        return Verdict::Unscored;
    }
    let is_defective = |operand: &Operand| match operand {
        Operand::Move { .. } => false,
        other => mate_target(&other.text()).is_none(),
    };
    if best.iter().chain(avoid).any(is_defective) {
        return Verdict::Defective;
    }
    let answer = answer(record);
    let hits = |operand: &Operand| {
        Some(operand) == answer
            || mate_target(&operand.text()).is_some_and(|moves| finds_mate(record, moves.into()))
    };
    // A mate that was found solves a problem without a move as the answer.
    let hits_best = best.iter().any(hits);
    let is_answered = answer.is_some() || hits_best;
    let is_right = (best.is_empty() || hits_best) && !avoid.iter().any(hits);
    if is_answered && is_right { Verdict::Solved } else { Verdict::Missed }
}

/// True if a record answers with a mate in at most `target` moves. If `target` is negative, the
/// mover is to be mated. The mate is found in `ce`, or on the board after the moves of `pv`. If
/// there is no `pv`, the board after `pm` counts. `dm` is no evidence, because it may be part of
/// the problem.
///
/// ```
/// use epdb_chess::model::answer::finds_mate;
/// let mate = |operations: &str| {
///     let line = format!("7k/8/6K1/8/8/8/8/R7 w - - {operations}");
///     epdb_chess::parse_epd(line.as_bytes()).map(|record| finds_mate(&record, 1))
/// };
/// assert!(mate("dm 1; pv Ra8#;")? && mate("ce 32766;")? && !mate("dm 1; pv Ra2;")?);
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn finds_mate(record: &EpdRecord, target: i128) -> bool {
    let is_near = |moves: i128| {
        moves != 0 && moves.signum() == target.signum() && moves.abs() <= target.abs()
    };
    !has_failed(record)
        && (mate_by_score(record).is_some_and(is_near) || mate_by_line(record).is_some_and(is_near))
}

fn has_failed(record: &EpdRecord) -> bool {
    record.operands(Opcode::RUN_ERROR).is_some()
}

fn mate_by_score(record: &EpdRecord) -> Option<i128> {
    match Score::from_ce(record.integer(Opcode::CE)?).ok()? {
        Score::Mates(plies) => Some(plies.div_ceil(2).into()),
        Score::Mated(plies) => Some(-i128::from(plies.div_ceil(2))),
        _ => None,
    }
}

/// Number of moves to mate in the line of a record; negative if the mover is mated.
fn mate_by_line(record: &EpdRecord) -> Option<i128> {
    let expected = record.operands(Opcode::PV).filter(|line| !line.is_empty());
    let line = expected.or_else(|| record.operands(Opcode::PM)?.get(..1))?;
    let mut position = Playable::new(record.position()).ok()?;
    for operand in line {
        let Operand::Move { mv, .. } = operand else { return None };
        if !position.is_legal(*mv) {
            return None;
        }
        position = position.after(*mv);
    }
    if !position.is_checkmate() {
        return None;
    }
    let moves = i128::try_from(line.len().div_ceil(2)).ok()?;
    let mover_mates = line.len() % 2 == 1;
    Some(if mover_mates { moves } else { -moves })
}
