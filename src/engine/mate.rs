//! Searches for a mate in a number of moves, and whether what is found is one.

use super::analysis::put_effort;
use super::error::{EngineError, EngineErrorKind};
use super::finished::Finished;
use super::info::{Bound, Info};
use super::moves::read_line;
use super::opcodes::{clear, put, put_integer};
use super::search::Moment;
use super::session::{Engine, Limits};
use crate::model::rules::Playable;
use crate::model::score::{Evaluation, MAX_MATE, mate_target, mates_in};
use crate::model::{EpdRecord, Opcode, Operand};
use crate::text::san;

/// In how many moves a mate is looked for, and what is written of it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MateOptions {
    /// The number of moves for records that do not say one.
    pub length: Option<u32>,
    /// Whether records may say one: their `dm`, or `#N` in their `bm`. Otherwise `length` is for all, and
    /// those that have a `dm` of no more moves are done already.
    pub of_record: bool,
    /// Whether `dm` becomes the mate that was found, otherwise the number that was looked for.
    pub writes_found: bool,
}

impl MateOptions {
    /// In how many moves a mate is looked for in this position; `None` when it is not.
    pub(super) fn length_for(&self, record: &EpdRecord) -> Option<u32> {
        let playable = Playable::new(record.position()).ok()?;
        let dm = record.integer(Opcode::DM);
        let length = match (self.of_record, dm) {
            (true, Some(dm)) => u32::try_from(dm).ok()?,
            (true, None) => target(record).or(self.length)?,
            (false, dm) => {
                self.length.filter(|length| dm.is_none_or(|dm| dm > (*length).into()))?
            }
        };
        ((1..=MAX_MATE).contains(&length) && playable.has_move()).then_some(length)
    }
}

/// The shortest mate that `bm` tells of.
fn target(record: &EpdRecord) -> Option<u32> {
    let moves = record.operands(Opcode::BM)?.iter().filter_map(|it| mate_target(&it.text()));
    moves.filter_map(|moves| u32::try_from(moves).ok()).min()
}

/// A line that ends in mate, or of which the engine says that it leads to one.
struct Mate {
    line: Vec<Operand>,
    /// The number of moves until mate, whatever the defence.
    moves: u32,
}

/// A search for a mate.
struct MateSearch {
    start: Playable,
    length: u32,
    found: Option<Mate>,
    /// A line that is legal and not long enough to show the mate that the engine tells of.
    told: Option<Mate>,
}

impl MateSearch {
    /// Takes a line of the engine; true when it is a mate in no more moves than were asked for.
    fn see(&mut self, info: &Info) -> bool {
        if let Some((mate, is_shown)) = self.mate(info).filter(|_| self.found.is_none()) {
            let place = if is_shown { &mut self.found } else { &mut self.told };
            *place = Some(mate);
        }
        self.found.is_some()
    }

    /// The mate that a line tells of, and whether its moves lead to it.
    fn mate(&self, info: &Info) -> Option<(Mate, bool)> {
        let Some((Evaluation::Mate(moves), Bound::Exact)) = info.score else { return None };
        let moves = u32::try_from(moves).ok().filter(|moves| *moves <= self.length)?;
        let line = read_line(&self.start, &info.pv);
        let is_shown = line.end.is_checkmate() && !line.moves.len().is_multiple_of(2);
        // Whoever mates at once needs no more moves, whatever the engine says.
        let moves = if is_shown && line.moves.len() == 1 { 1 } else { moves };
        let is_line = line.illegal.is_none() && line.moves.len() < 2 * moves as usize;
        (is_line && info.multipv == 1).then_some((Mate { line: line.moves, moves }, is_shown))
    }
}

/// Has an engine look for a mate, and gives the record back with what it found, otherwise as it was, but
/// for the time of a mate that was found before.
pub(super) fn search_mate(
    engine: &mut Engine,
    record: &EpdRecord,
    limits: &Limits,
    options: MateOptions,
) -> Result<Finished, EngineError> {
    let length = limits.mate.unwrap_or_default();
    let (found, effort) = find_mate(engine, record, limits)?;
    let mut record = record.clone();
    record.remove(Opcode::RUN_ERROR);
    record.remove(Opcode::ACMS);
    let Some(Mate { line, moves }) = found else { return Ok(Finished::of(record)) };
    clear(&mut record);
    let dm = if options.writes_found { moves } else { length };
    put_integer(&mut record, Opcode::DM, dm);
    if let Ok(ce) = mates_in(moves) {
        put_integer(&mut record, Opcode::CE, ce);
    }
    put(&mut record, Opcode::PM, line[..1].to_vec());
    put(&mut record, Opcode::PV, line);
    put_effort(&mut record, effort);
    Ok(Finished { found_mate: true, ..Finished::of(record) })
}

/// A mate in the number of moves that the limits say, and what it took.
fn find_mate(
    engine: &mut Engine,
    record: &EpdRecord,
    limits: &Limits,
) -> Result<(Option<Mate>, Moment), EngineError> {
    let start = Playable::new(record.position())
        .map_err(|_| EngineError::new(EngineErrorKind::NotPlayable))?;
    let length = limits.mate.unwrap_or_default();
    let mut search = MateSearch { start, length, found: None, told: None };
    let end = engine.search(record, limits, &mut |info, _| search.see(info))?.end;
    match search {
        MateSearch { found: None, told: Some(told), .. } => {
            show_mate(engine, record, limits, told, end)
        }
        MateSearch { found, .. } => Ok((found, end)),
    }
}

/// Has the engine go on from the end of a line until mate stands on the board, with what is left of
/// the effort.
fn show_mate(
    engine: &mut Engine,
    record: &EpdRecord,
    limits: &Limits,
    Mate { mut line, moves }: Mate,
    end: Moment,
) -> Result<(Option<Mate>, Moment), EngineError> {
    let mut record = after(record, &line);
    if !line.len().is_multiple_of(2)
        && let Some(reply) = record.as_ref().and_then(any_move)
    {
        record = record.and_then(|record| after(&record, std::slice::from_ref(&reply)));
        line.push(reply);
    }
    let left = moves.saturating_sub(line.len() as u32 / 2);
    let rest = rest_of(limits, end, left);
    let (Some(record), Some(limits)) = (record, rest.filter(|_| left > 0 && left < moves)) else {
        return Ok((None, end));
    };
    let (found, more) = find_mate(engine, &record, &limits)?;
    let nodes = end.nodes.saturating_add(more.nodes);
    let effort = Moment { nodes, time: end.time + more.time, ..end };
    Ok((found.map(|found| Mate { line: [line, found.line].concat(), moves }), effort))
}

/// The record behind moves, if there is a move to be made there.
fn after(record: &EpdRecord, line: &[Operand]) -> Option<EpdRecord> {
    let play = |record: EpdRecord, operand: &Operand| match operand {
        Operand::Move { mv, .. } => record.play(*mv),
        _ => None,
    };
    let record = line.iter().try_fold(record.clone(), play)?;
    Playable::new(record.position()).is_ok_and(|it| it.has_move()).then_some(record)
}

/// A defence: the mate was told of all of them.
fn any_move(record: &EpdRecord) -> Option<Operand> {
    let playable = Playable::new(record.position()).ok()?;
    let moves = playable.legal_moves().into_iter();
    let all = moves.map(|mv| Operand::Move { mv, san: san::format(&playable, mv) });
    all.min_by_key(Operand::text)
}

/// What of limits is left behind a search; `None` when nothing is.
fn rest_of(limits: &Limits, used: Moment, length: u32) -> Option<Limits> {
    let nodes = limits.nodes.map(|nodes| nodes.saturating_sub(used.nodes));
    let movetime = limits.movetime.map(|time| time.saturating_sub(used.time));
    let has_rest = nodes != Some(0) && movetime.is_none_or(|time| time.as_millis() > 0);
    has_rest.then_some(Limits { nodes, movetime, mate: Some(length), ..limits.clone() })
}
