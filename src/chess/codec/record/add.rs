//! Records that have only tallies and lists of kept games. Such records are encoded, and added to
//! each other, without decoding them to values.

use std::cmp::Reverse;
use std::sync::LazyLock;

use super::super::item::Cursor;
use super::kept::{put_kept_games, take_kept_games};
use super::operands::{MARKER, MAX_LEN, NO_MORE_OPERATIONS, OPERATIONS};
use super::tally::{OrdinalTally, put_tally, take_tally};
use super::walk::{board_of, kept_games_bytes, tally_bytes};
use crate::codec::packed::PLAIN_MAX;
use crate::model::{GameCounts, KeptGames, MAX_GAMES, Opcode, StandardOpcode, TallyOverflow};

/// The number of the opcode `tally`, which is looked up only once.
static TALLY: LazyLock<u8> =
    LazyLock::new(|| Opcode::TALLY.standard().map_or(0, StandardOpcode::number));

static KEPT_GAMES: LazyLock<u8> =
    LazyLock::new(|| Opcode::KEPT_GAMES.standard().map_or(0, StandardOpcode::number));

/// Appends the record of a packed identity board whose only operation is `tally`. `put` appends the
/// operand, in its short form.
pub fn put_tallied(board: &[u8], out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    out.push(MARKER | OPERATIONS);
    out.extend_from_slice(board);
    out.push(*TALLY);
    put(out);
    out.push(NO_MORE_OPERATIONS);
}

/// Does the same as [`put_tallied`], for a board in plain form and a short operand. Board and
/// operand are followed by zeros in their buffers, and are given with their lengths. The record is
/// put together in one place and copied once.
#[inline]
pub fn put_tallied_short<const ROOM: usize>(
    (board, board_len): (&[u8; PLAIN_MAX], usize),
    (operand, operand_len): &([u8; ROOM], usize),
    out: &mut Vec<u8>,
) {
    const { assert!(1 + PLAIN_MAX + 1 + ROOM < SHORT) };
    let mut record = [NO_MORE_OPERATIONS; SHORT];
    record[0] = MARKER | OPERATIONS;
    record[1..][..PLAIN_MAX].copy_from_slice(board);
    let opcode = 1 + board_len.min(PLAIN_MAX);
    record[opcode] = *TALLY;
    record[opcode + 1..][..ROOM].copy_from_slice(operand);
    let end = opcode + 1 + operand_len.min(&ROOM);
    record[end] = NO_MORE_OPERATIONS;
    let start = out.len();
    out.extend_from_slice(&record);
    out.truncate(start + end + 1);
}

/// Size of the buffer for a short record.
const SHORT: usize = 64;

/// Does the same as [`put_tallied`], and also writes the operation `kept_games`.
pub fn put_tallied_games(
    board: &[u8],
    kept: &KeptGames,
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>),
) {
    out.push(MARKER | OPERATIONS);
    out.extend_from_slice(board);
    out.push(*KEPT_GAMES);
    put_kept_games(kept, out);
    out.push(*TALLY);
    put(out);
    out.push(NO_MORE_OPERATIONS);
}

impl OrdinalTally {
    /// Adds the games in which a move was played.
    ///
    /// # Errors
    /// [`TallyOverflow`] if the count of games would be above its maximum.
    pub fn add_move(&mut self, ordinal: u8, counts: &GameCounts) -> Result<(), TallyOverflow> {
        match self.moves.iter_mut().find(|(own, _)| *own == ordinal) {
            Some((_, own)) => *own = own.plus(counts)?,
            None => self.moves.push((ordinal, *counts)),
        }
        Ok(())
    }

    /// Adds the games of another part, even if its cell is different.
    ///
    /// # Errors
    /// [`TallyOverflow`] if a count of games would be above its maximum.
    pub fn add(&mut self, other: &OrdinalTally) -> Result<(), TallyOverflow> {
        let reached = self.reached.checked_add(other.reached);
        self.reached = reached.filter(|&reached| reached <= MAX_GAMES).ok_or(TallyOverflow)?;
        other.moves.iter().try_for_each(|(ordinal, counts)| self.add_move(*ordinal, counts))
    }

    /// Subtracts the games of another part; `None` if the other part has games that this part
    /// lacks.
    #[must_use]
    pub fn minus(&self, less: &OrdinalTally) -> Option<OrdinalTally> {
        let mut left = self.clone();
        left.reached = left.reached.checked_sub(less.reached)?;
        for (ordinal, counts) in &less.moves {
            let (_, own) = left.moves.iter_mut().find(|(own, _)| own == ordinal)?;
            *own = own.minus(counts)?;
        }
        left.moves.retain(|(_, counts)| counts.games() > 0);
        Some(left)
    }

    /// Sorts the moves: the most played first, and equally often played moves by ordinal.
    pub fn sort(&mut self) {
        self.moves.sort_by_key(|(ordinal, counts)| (Reverse(counts.games()), *ordinal));
    }
}

/// Adds two records of the same board. Each must have a tally and perhaps a list of kept games, in
/// their short forms, and nothing else. `None` for other records, and if a count of games would be
/// above its maximum.
pub fn add_tallied(one: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let Tallied { board, mut parts, kept } = tallied(one)?;
    let added = tallied(other)?;
    if board != added.board {
        return None;
    }
    for part in added.parts {
        match parts.binary_search_by_key(&part.cell, |own| own.cell) {
            Ok(place) => parts[place].add(&part).ok()?,
            Err(place) => parts.insert(place, part),
        }
    }
    parts.iter_mut().for_each(OrdinalTally::sort);
    let kept = match (kept, added.kept) {
        (Some(kept), Some(added)) => Some(kept.merged(&added)),
        (kept, added) => kept.or(added),
    };
    let mut record = Vec::with_capacity(one.len() + other.len());
    let put = |out: &mut Vec<u8>| put_tally(&parts, out);
    match kept {
        Some(kept) => put_tallied_games(board, &kept, &mut record, put),
        None => put_tallied(board, &mut record, put),
    }
    (record.len() <= MAX_LEN).then_some(record)
}

/// The parts of a record that has only a tally and perhaps a list of kept games.
struct Tallied<'a> {
    board: &'a [u8],
    parts: Vec<OrdinalTally>,
    kept: Option<KeptGames>,
}

fn tallied(record: &[u8]) -> Option<Tallied<'_>> {
    let board = board_of(record).ok()?;
    let tally = tally_bytes(record).ok()??;
    // Besides board and tally, a record has its first byte, the opcode and the end byte.
    let mut rest = record.len().checked_sub(board.len() + tally.len() + 3)?;
    let mut kept = None;
    if rest > 0 {
        let games = kept_games_bytes(record).ok()??;
        rest = rest.checked_sub(games.len() + 1)?;
        kept = Some(take_kept_games(&mut Cursor::new(games)).ok()?);
    }
    let has_other_parts = rest > 0 || record.first() != Some(&(MARKER | OPERATIONS));
    if has_other_parts {
        return None;
    }
    Some(Tallied { board, parts: take_tally(&mut Cursor::new(tally)).ok()?, kept })
}
