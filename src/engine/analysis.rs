//! Searches as operations of records.

use super::error::{EngineError, EngineErrorKind};
use super::finished::Finished;
use super::info::Info;
use super::moves::{Line, read_line};
use super::opcodes::{clear, of_line, put, put_integer, put_numbers};
use super::search::Moment;
use super::session::Answer;
use crate::model::rules::Playable;
use crate::model::{EpdRecord, Opcode, Operand};

/// The `ce` of a position that is not legal, of a mover who is checkmated, and of stalemate.
const ILLEGAL: i32 = -32_768;
const CHECKMATED: i32 = -32_767;
const STALEMATED: i32 = 0;

/// The analysis of a position in which no move can be made; `None` for any other.
pub(super) fn without_moves(record: &EpdRecord) -> Option<EpdRecord> {
    let ce = match Playable::new(record.position()) {
        Err(_) => ILLEGAL,
        Ok(playable) if playable.has_move() => return None,
        Ok(playable) if playable.is_checkmate() => CHECKMATED,
        Ok(_) => STALEMATED,
    };
    let mut record = record.clone();
    clear(&mut record);
    put_integer(&mut record, Opcode::CE, ce);
    put(&mut record, Opcode::PV, Vec::new());
    Some(record)
}

/// The record with what a search came to in place of earlier analysis. A move without a score is enough
/// where none is needed.
pub(super) fn analysis(
    record: &EpdRecord,
    answer: &Answer,
    needs_score: bool,
) -> Result<Finished, EngineError> {
    let unreadable = |text: &str| EngineError::new(EngineErrorKind::Unreadable(text.into()));
    let start = Playable::new(record.position())
        .map_err(|_| EngineError::new(EngineErrorKind::NotPlayable))?;
    let mut finished = Finished::of(record.clone());
    let Finished { record, notes, .. } = &mut finished;
    clear(record);
    let (chosen, told) = (answer.chosen(), answer.told());
    if told.is_none() && needs_score {
        return Err(unreadable("the engine told no score"));
    }
    let mut line = read_line(&start, chosen.map_or(&[][..], |info| &info.pv));
    note_cut(&line, notes);
    if line.moves.is_empty() {
        line.moves.push(answer.best.clone());
    }
    put(record, Opcode::PM, line.moves[..1].to_vec());
    put(record, Opcode::PV, line.moves);
    if let Some(told) = told {
        put_integer(record, Opcode::CE, told.ce().unwrap_or_default());
    }
    let depth = told.and_then(|told| told.depth).unwrap_or(answer.end.depth);
    put_effort(record, Moment { depth, ..answer.end });
    for (place, (exact, bound)) in answer.lines.iter().enumerate().skip(1) {
        if let (Some(info), Some(opcodes)) = (exact.as_ref().or(bound.as_ref()), of_line(place + 1))
        {
            put_further(record, opcodes, &read_line(&start, &info.pv), info, notes);
        }
    }
    Ok(finished)
}

/// The line behind the best one, and so on.
fn put_further(
    record: &mut EpdRecord,
    (pv, ce): (Opcode, Opcode),
    line: &Line,
    info: &Info,
    notes: &mut Vec<String>,
) {
    note_cut(line, notes);
    if line.moves.is_empty() {
        return;
    }
    put(record, pv, line.moves.iter().map(|it| Operand::token(it.text())).collect());
    put(record, ce, vec![Operand::token(info.ce().unwrap_or_default().to_string())]);
}

fn note_cut(line: &Line, notes: &mut Vec<String>) {
    if let Some(word) = &line.illegal {
        notes.push(format!(
            "the line of the engine ends before its move `{word}`, which is not legal"
        ));
    }
}

/// How much was searched.
pub(super) fn put_effort(record: &mut EpdRecord, Moment { nodes, time, depth }: Moment) {
    if depth > 0 {
        put_numbers(record, Opcode::ACD, &[depth.into()]);
    }
    if nodes > 0 {
        put_integer(record, Opcode::ACN, nodes);
    }
    put_integer(record, Opcode::ACS, time.as_secs());
    put_numbers(record, Opcode::ACMS, &[time.as_millis() as u64]);
}
