//! Entries of the position index by pawn structure. The pawns of a game stay the same for several
//! moves. If a pawn structure occurs in few index blocks, it has entries for these blocks, and the
//! positions that have it need no entries.
// For 3.1 million positions of master games the index took 1.1 bytes a position, instead of 2.1
// with an entry for each position. A lookup decoded 0.1 blocks more.

use std::io;

use crate::archive::columns::{EN_PASSANT, RANK_ORDER, RANKS, Row};
use crate::archive::index_entries::{Entry, IndexEntries};
use crate::codec::key::NUMBERS;
use crate::spill::Sorter;
use crate::text::fields::place;

/// Maximum number of index blocks of a pawn structure that has entries instead of its positions.
const FEW_BLOCKS: usize = 2;

/// Codes of a white and a black pawn in rows, each with its kind in position keys.
const PAWNS: [(u32, u8); 2] = [(1, 1), (7, 0)];

/// The part of the position key that comes from pawns.
pub(super) fn pawn_key(row: &Row) -> u64 {
    let mut key = 0;
    for (&codes, rank) in row.0[RANKS..EN_PASSANT].iter().zip(RANK_ORDER) {
        for file in 0..8 {
            let code = codes >> (4 * file) & 15;
            for (_, kind) in PAWNS.into_iter().filter(|&(pawn, _)| pawn == code) {
                key ^= NUMBERS.pieces[place(8 * rank + file, kind)];
            }
        }
    }
    key
}

/// Makes the entries of the index from the keys of all records. It takes about twice
/// `memory_bytes`.
#[derive(Debug)]
pub(in crate::archive) struct PawnEntries {
    sorter: Sorter,
    memory_bytes: usize,
}

impl PawnEntries {
    pub(in crate::archive) fn new(memory_bytes: usize) -> PawnEntries {
        PawnEntries { sorter: Sorter::new(std::env::temp_dir(), memory_bytes), memory_bytes }
    }

    /// Adds a record: its position key, its row, and its index block.
    pub(in crate::archive) fn push(&mut self, key: u64, row: &Row, block: u32) -> io::Result<()> {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&pawn_key(row).to_be_bytes());
        bytes[8..12].copy_from_slice(&block.to_be_bytes());
        bytes[12..].copy_from_slice(&key.to_be_bytes());
        self.sorter.push(&bytes, &[])
    }

    /// Returns the entries, with their keys mapped by `cut`.
    pub(super) fn finish(self, cut: impl Fn(u64) -> u64) -> io::Result<IndexEntries> {
        let mut entries = IndexEntries::new(self.memory_bytes);
        let mut group = PawnGroup::default();
        let mut put = |(key, block)| entries.push((cut(key), block));
        let mut sorted = self.sorter.finish()?;
        while let Some((bytes, _)) = sorted.next_entry()? {
            let (pawns, rest) = bytes.split_at(8);
            let (block, key) = rest.split_at(4);
            let number =
                |bytes: &[u8]| bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte));
            group.push(number(pawns), (number(key), number(block) as u32), &mut put)?;
        }
        group.end(&mut put)?;
        Ok(entries)
    }
}

/// The records of a pawn structure, in order of their blocks.
#[derive(Default)]
struct PawnGroup {
    pawns: u64,
    /// The blocks in which the pawn structure occurs, at most one more than [`FEW_BLOCKS`].
    blocks: Vec<u32>,
    /// Entries of the positions, which are kept only while the blocks are few.
    waiting: Vec<Entry>,
}

impl PawnGroup {
    fn push(
        &mut self,
        pawns: u64,
        entry: Entry,
        put: &mut impl FnMut(Entry) -> io::Result<()>,
    ) -> io::Result<()> {
        if pawns != self.pawns {
            self.end(put)?;
            self.pawns = pawns;
        }
        if self.blocks.len() <= FEW_BLOCKS && self.blocks.last() != Some(&entry.1) {
            self.blocks.push(entry.1);
        }
        if self.blocks.len() <= FEW_BLOCKS {
            self.waiting.push(entry);
            return Ok(());
        }
        self.waiting.drain(..).try_for_each(&mut *put)?;
        put(entry)
    }

    /// Ends the group, so that the next one can begin.
    fn end(&mut self, put: &mut impl FnMut(Entry) -> io::Result<()>) -> io::Result<()> {
        if self.blocks.len() <= FEW_BLOCKS {
            self.blocks.iter().try_for_each(|&block| put((self.pawns, block)))?;
        }
        self.blocks.clear();
        self.waiting.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::codec::key::position_key;

    fn row(fen: &str) -> Row {
        Row::from_record(&crate::parse_epd(fen.as_bytes()).unwrap())
    }

    #[test]
    fn the_pawn_key_is_the_part_of_pawns_of_the_position_key() {
        let key = |fen: &str| position_key(crate::parse_epd(fen.as_bytes()).unwrap().position());
        let pawns = "8/p7/8/4P2p/8/8/P7/8 w - -";
        assert_eq!(pawn_key(&row(pawns)), key(pawns) ^ NUMBERS.white_to_move);
        assert_eq!(pawn_key(&row("k7/p7/8/4P2p/8/8/P7/6QK b - -")), pawn_key(&row(pawns)));
        assert_eq!(pawn_key(&row("k7/8/8/8/8/8/8/6QK b - -")), 0);
    }

    #[test]
    fn pawns_of_few_blocks_stand_for_their_positions() {
        let few = row("8/p7/8/8/8/8/P7/8 w - -");
        let many = row("8/8/8/8/8/8/P7/8 w - -");
        let mut entries = PawnEntries::new(1 << 20);
        for (key, row, block) in [
            (11, &few, 4),
            (12, &few, 4),
            (13, &few, 9),
            (21, &many, 4),
            (22, &many, 5),
            (21, &many, 6),
        ] {
            entries.push(key, row, block).unwrap();
        }
        let mut found = Vec::new();
        let entries = entries.finish(|key| key).unwrap();
        entries
            .finish(|entry| {
                found.push(entry);
                Ok::<(), io::Error>(())
            })
            .unwrap();
        let mut expected = [(pawn_key(&few), 4), (pawn_key(&few), 9), (21, 4), (21, 6), (22, 5)];
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
