//! Stores search results as operations of records.

use super::choices::Finished;
use super::error::{EngineError, EngineErrorKind};
use super::moves::{ParsedLine, read_line};
use super::opcodes::{clear, line_opcodes, put, put_integer, put_numbers};
use super::search::Elapsed;
use super::session::Answer;
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Opcode, Operand};

/// The `ce` of an illegal position.
const ILLEGAL: i32 = -32_768;
/// The `ce` of checkmate.
const CHECKMATED: i32 = -32_767;
/// The `ce` of stalemate.
const STALEMATED: i32 = 0;

/// The analysis of a position without legal moves; `None` for other positions.
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

/// Replaces earlier analysis in a record by the result of a search.
pub(super) fn analysis(record: &EpdRecord, answer: &Answer) -> Result<Finished, EngineError> {
    let start = Playable::new(record.position())
        .map_err(|_| EngineError::new(EngineErrorKind::NotPlayable))?;
    let mut finished = Finished::new(record.clone());
    finished.unreadable.clone_from(&answer.unreadable);
    let Finished { record, notes, .. } = &mut finished;
    clear(record);
    let mut line = read_line(&start, answer.words());
    note_cut(&line, notes);
    if line.moves.is_empty() {
        line.moves.push(answer.best.clone());
    }
    put(record, Opcode::PM, line.moves[..1].to_vec());
    put(record, Opcode::PV, line.moves);
    if let Some(ce) = answer.ce() {
        put_integer(record, Opcode::CE, ce);
    }
    put_effort(record, Elapsed { depth: answer.depth(), ..answer.end });
    put_further_lines(record, &start, answer, notes);
    Ok(finished)
}

/// Stores the lines from the second best on. A line is skipped if it has the same first move as an
/// earlier line.
fn put_further_lines(
    record: &mut EpdRecord,
    start: &Playable,
    answer: &Answer,
    notes: &mut Vec<String>,
) {
    if answer.ranks.len() < 2 {
        return;
    }
    let mut firsts = vec![answer.best.clone()];
    for info in &answer.ranks {
        let line = read_line(start, &info.pv);
        let first = line.moves.first();
        if first.is_some_and(|first| firsts.contains(first)) {
            continue;
        }
        note_cut(&line, notes);
        let Some(first) = first else { continue };
        firsts.push(first.clone());
        let Some((pv, ce)) = line_opcodes(firsts.len()) else { continue };
        put(record, pv, line.moves.iter().map(|it| Operand::token(it.text())).collect());
        if let Some(value) = info.ce() {
            put(record, ce, vec![Operand::token(value.to_string())]);
        }
    }
}

fn note_cut(line: &ParsedLine, notes: &mut Vec<String>) {
    if let Some(word) = &line.illegal {
        notes.push(format!(
            "the line of the engine ends before its move `{word}`, which is not legal"
        ));
    }
}

pub(super) fn put_effort(record: &mut EpdRecord, Elapsed { nodes, time, depth }: Elapsed) {
    if depth > 0 {
        put_numbers(record, Opcode::ACD, &[depth.into()]);
    }
    if nodes > 0 {
        put_integer(record, Opcode::ACN, nodes);
    }
    put_integer(record, Opcode::ACS, time.as_secs());
    put_numbers(record, Opcode::ACMS, &[time.as_millis() as u64]);
}
