//! Records that are tallies and nothing else, added as bytes.

use super::super::item::Cursor;
use super::kept::take_kept_games;
use super::operands::{MARKER, MAX_LEN, OPERATIONS};
use super::tally::{OrdinalTally, put_tallied, put_tallied_games, put_tally, take_tally};
use super::walk::{board_of, kept_games_bytes, tally_bytes};
use crate::model::KeptGames;

/// Adds two records of one board that have a tally, and a list of kept games or none, in their short forms
/// and nothing else; `None` for others, and where there are too many games.
pub(crate) fn add_tallied(one: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let (Tallied { board, mut parts, kept }, other_record) = (tallied(one)?, tallied(other)?);
    if board != other_record.board {
        return None;
    }
    for part in other_record.parts {
        match parts.binary_search_by_key(&part.cell, |own| own.cell) {
            Ok(place) => parts[place].add(&part).ok()?,
            Err(place) => parts.insert(place, part),
        }
    }
    parts.iter_mut().for_each(OrdinalTally::sort);
    let mut record = Vec::with_capacity(one.len() + other.len());
    let put = |out: &mut Vec<u8>| put_tally(&parts, out);
    let kept = match (kept, other_record.kept) {
        (Some(one), Some(other)) => Some(one.merged(&other)),
        (one, other) => one.or(other),
    };
    match kept {
        Some(kept) => put_tallied_games(board, &kept, &mut record, put),
        None => put_tallied(board, &mut record, put),
    }
    (record.len() <= MAX_LEN).then_some(record)
}

/// A record that has nothing else.
struct Tallied<'a> {
    board: &'a [u8],
    parts: Vec<OrdinalTally>,
    kept: Option<KeptGames>,
}

fn tallied(record: &[u8]) -> Option<Tallied<'_>> {
    let (board, tally) = (board_of(record).ok()?, tally_bytes(record).ok()??);
    // Beside them the first byte, the opcode and the end.
    let mut rest = record.len().checked_sub(board.len() + tally.len() + 3)?;
    let mut kept = None;
    if rest > 0 {
        let games = kept_games_bytes(record).ok()??;
        rest = rest.checked_sub(games.len() + 1)?;
        kept = Some(take_kept_games(&mut Cursor::new(games)).ok()?);
    }
    let is_all = rest == 0;
    let has_form = record.first() == Some(&(MARKER | OPERATIONS));
    if !is_all || !has_form {
        return None;
    }
    Some(Tallied { board, parts: take_tally(&mut Cursor::new(tally)).ok()?, kept })
}
