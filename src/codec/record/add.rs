//! Records that are tallies and nothing else, added as bytes.

use super::super::item::Cursor;
use super::layout::{MARKER, MAX_LEN, OPERATIONS};
use super::tally::{OrdinalTally, put_tallied, put_tally, take_tally};
use super::walk::{board_of, tally_bytes};

/// Adds two records of one board that have a tally in its short form and nothing else; `None` for others,
/// and where there are too many games.
pub(crate) fn add_tallied(one: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let ((board, mut parts), (other_board, others)) = (tallied(one)?, tallied(other)?);
    if board != other_board {
        return None;
    }
    for part in others {
        match parts.binary_search_by_key(&part.cell, |own| own.cell) {
            Ok(place) => parts[place].add(&part).ok()?,
            Err(place) => parts.insert(place, part),
        }
    }
    parts.iter_mut().for_each(OrdinalTally::sort);
    let mut record = Vec::with_capacity(one.len() + other.len());
    put_tallied(board, &mut record, |out| put_tally(&parts, out));
    (record.len() <= MAX_LEN).then_some(record)
}

/// The board and the tally of a record that has nothing else.
fn tallied(record: &[u8]) -> Option<(&[u8], Vec<OrdinalTally>)> {
    let (board, tally) = (board_of(record).ok()?, tally_bytes(record).ok()??);
    // Beside them the first byte, the opcode and the end.
    let is_all = record.len() == board.len() + tally.len() + 3;
    let has_form = record.first() == Some(&(MARKER | OPERATIONS));
    if !is_all || !has_form {
        return None;
    }
    Some((board, take_tally(&mut Cursor::new(tally)).ok()?))
}
