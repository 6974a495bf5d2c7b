//! Searches for a mate in a number of moves and verifies the result.

use super::analysis::put_effort;
use super::choices::Finished;
use super::error::{EngineError, EngineErrorKind};
use super::info::{Bound, Info};
use super::moves::read_line;
use super::opcodes::{clear, put, put_integer};
use super::search::Elapsed;
use super::session::{Engine, Limits};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::score::{Evaluation, MAX_MATE, mate_target, mates_in};
use epdb_chess::model::{EpdRecord, Opcode, Operand};
use epdb_chess::text::san;

/// Options of a search for mates.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct MateOptions {
    /// The number of moves for records that do not state a number.
    pub length: Option<u32>,
    /// Whether records may state a number of moves: in `dm`, or as `#N` in `bm`. If false, a mate in `length`
    /// moves is searched in every record, except in records that already have a `dm` of at most `length`.
    pub of_record: bool,
    /// True if `dm` becomes the length of the found mate. If false, `dm` becomes the maximum length for which
    /// the mate was searched.
    pub writes_found: bool,
}

impl MateOptions {
    /// The number of moves for this position; `None` if no mate is searched.
    pub(super) fn length_for(&self, record: &EpdRecord) -> Option<u32> {
        let playable = Playable::new(record.position()).ok()?;
        let dm = record.integer(Opcode::DM);
        let length = if !self.of_record {
            self.length?
        } else if dm.is_some() {
            stated_length(record)?
        } else {
            stated_length(record).or(self.length)?
        };
        let is_known = !self.of_record && dm.is_some_and(|dm| dm <= length.into());
        if is_known {
            return None;
        }
        ((1..=MAX_MATE).contains(&length) && playable.has_move()).then_some(length)
    }
}

/// The numbers of moves of the mates that a record states, in `dm` or else as `#N` in `bm`. A mate against the side
/// to move has a negative number.
pub fn stated_mates(record: &EpdRecord) -> Vec<i128> {
    if let Some(dm) = record.integer(Opcode::DM) {
        return vec![dm];
    }
    let best = record.operands(Opcode::BM).unwrap_or_default().iter();
    best.filter_map(|it| mate_target(&it.text())).map(i128::from).collect()
}

/// The number of moves of the shortest mate that a record states.
fn stated_length(record: &EpdRecord) -> Option<u32> {
    stated_mates(record).into_iter().filter_map(|moves| u32::try_from(moves).ok()).min()
}

/// A note about a search that found another mate than the record states.
fn disagreement(stated: u32, found: Option<&Mate>) -> Option<String> {
    match found {
        None => Some(format!("no mate in {stated} was found")),
        Some(Mate { moves, .. }) if *moves < stated => {
            Some(format!("a mate in {moves} was found; the record states {stated}"))
        }
        Some(_) => None,
    }
}

/// A line that ends in mate, or that leads to a mate according to the engine.
struct Mate {
    line: Vec<Operand>,
    /// The maximum number of moves until mate, against any defence.
    moves: u32,
}

struct MateFound {
    mate: Option<Mate>,
    effort: Elapsed,
    unreadable: Option<String>,
}

struct MateSearch {
    start: Playable,
    length: u32,
    found: Option<Mate>,
    /// A legal line that is too short to show the mate that the engine claims.
    claimed: Option<Mate>,
}

impl MateSearch {
    /// Processes an `info` line; returns true if the line leads to a mate within the number of
    /// moves.
    fn see(&mut self, info: &Info) -> bool {
        if self.found.is_none()
            && let Some((mate, is_shown)) = self.mate(info)
        {
            let place = if is_shown { &mut self.found } else { &mut self.claimed };
            *place = Some(mate);
        }
        self.found.is_some()
    }

    /// The mate of a line, and whether its moves end in checkmate.
    fn mate(&self, info: &Info) -> Option<(Mate, bool)> {
        let Some((Evaluation::Mate(moves), Bound::Exact)) = info.score else { return None };
        let moves = u32::try_from(moves).ok().filter(|moves| *moves <= self.length)?;
        let line = read_line(&self.start, &info.pv);
        let is_shown = line.end.is_checkmate() && !line.moves.len().is_multiple_of(2);
        // A line of one move that mates is a mate in one, whatever the engine reports.
        let moves = if is_shown && line.moves.len() == 1 { 1 } else { moves };
        let is_line = line.illegal.is_none() && line.moves.len() < 2 * moves as usize;
        (is_line && info.multipv == 1).then_some((Mate { line: line.moves, moves }, is_shown))
    }
}

/// Searches for a mate. Returns the record with the mate, or unchanged if none was found.
pub(super) fn search_mate(
    engine: &mut Engine,
    record: &EpdRecord,
    limits: &Limits,
    options: MateOptions,
) -> Result<Finished, EngineError> {
    let length = limits.mate.unwrap_or_default();
    let MateFound { mate, effort, unreadable } = find_mate(engine, record, limits)?;
    let stated = if options.of_record { stated_length(record) } else { None };
    let notes = stated.and_then(|stated| disagreement(stated, mate.as_ref())).into_iter().collect();
    let mut record = record.clone();
    record.remove(Opcode::RUN_ERROR);
    let Some(Mate { line, moves }) = mate else {
        return Ok(Finished { notes, unreadable, ..Finished::new(record) });
    };
    clear(&mut record);
    let dm = if options.writes_found { moves } else { length };
    put_integer(&mut record, Opcode::DM, dm);
    // A `ce` with another number of moves would contradict `dm`.
    if dm == moves
        && let Ok(ce) = mates_in(moves)
    {
        put_integer(&mut record, Opcode::CE, ce);
    }
    put(&mut record, Opcode::PM, line[..1].to_vec());
    put(&mut record, Opcode::PV, line);
    put_effort(&mut record, effort);
    Ok(Finished { found_mate: true, notes, unreadable, ..Finished::new(record) })
}

/// Searches for a mate within the number of moves of the limits. Returns the mate, if any, and the
/// effort.
fn find_mate(
    engine: &mut Engine,
    record: &EpdRecord,
    limits: &Limits,
) -> Result<MateFound, EngineError> {
    let start = Playable::new(record.position())
        .map_err(|_| EngineError::new(EngineErrorKind::NotPlayable))?;
    let length = limits.mate.unwrap_or_default();
    let mut search = MateSearch { start, length, found: None, claimed: None };
    let answer = engine.search(record, limits, &mut |info, _| search.see(info))?;
    let MateSearch { found, claimed, .. } = search;
    let outcome = MateFound { mate: found, effort: answer.end, unreadable: answer.unreadable };
    match claimed {
        Some(claimed) if outcome.mate.is_none() => {
            show_mate(engine, record, limits, claimed, outcome)
        }
        _ => Ok(outcome),
    }
}

/// Continues the search from the end of a line until checkmate, with the remaining effort.
fn show_mate(
    engine: &mut Engine,
    record: &EpdRecord,
    limits: &Limits,
    Mate { mut line, moves }: Mate,
    before: MateFound,
) -> Result<MateFound, EngineError> {
    let mut record = after(record, &line);
    if !line.len().is_multiple_of(2)
        && let Some(reply) = record.as_ref().and_then(any_move)
    {
        record = record.and_then(|record| after(&record, std::slice::from_ref(&reply)));
        line.push(reply);
    }
    let left = moves.saturating_sub(line.len() as u32 / 2);
    let (Some(record), Some(limits)) = (record, rest_of(limits, before.effort, left)) else {
        return Ok(before);
    };
    if left == 0 || left >= moves {
        return Ok(before);
    }
    let MateFound { mate, effort: more, unreadable } = find_mate(engine, &record, &limits)?;
    let MateFound { effort: end, unreadable: earlier, .. } = before;
    let nodes = end.nodes.saturating_add(more.nodes);
    Ok(MateFound {
        mate: mate.map(|mate| Mate { line: [line, mate.line].concat(), moves }),
        effort: Elapsed { nodes, time: end.time + more.time, ..end },
        unreadable: earlier.or(unreadable),
    })
}

/// The record after the moves, if it has a legal move.
fn after(record: &EpdRecord, line: &[Operand]) -> Option<EpdRecord> {
    let play = |record: EpdRecord, operand: &Operand| match operand {
        Operand::Move { mv, .. } => record.play(*mv),
        _ => None,
    };
    let record = line.iter().try_fold(record.clone(), play)?;
    Playable::new(record.position()).is_ok_and(|it| it.has_move()).then_some(record)
}

/// A legal move of the defender. Any move is good enough, because the engine claims a mate against all moves.
fn any_move(record: &EpdRecord) -> Option<Operand> {
    let playable = Playable::new(record.position()).ok()?;
    let moves = playable.legal_moves().into_iter();
    let all = moves.map(|mv| Operand::Move { mv, san: san::format(&playable, mv) });
    all.min_by_key(Operand::text)
}

/// The limits that remain after a search; `None` if they are used up.
fn rest_of(limits: &Limits, used: Elapsed, length: u32) -> Option<Limits> {
    let nodes = limits.nodes.map(|nodes| nodes.saturating_sub(used.nodes));
    let movetime = limits.movetime.map(|time| time.saturating_sub(used.time));
    let clock = limits.clock.map(|clock| clock.after(used.time));
    let mut times = movetime.into_iter().chain(clock.map(|clock| clock.left[0]));
    let has_rest = nodes != Some(0) && times.all(|time| time.as_millis() > 0);
    has_rest.then_some(Limits { nodes, movetime, clock, mate: Some(length), ..limits.clone() })
}
