//! Differences between the copies of a game that counts once.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ordered::{Grouped, GroupedEntry, changed};
use crate::same_game::{self, SameGame, SiteId};
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::tally_origin::{GameDigest, hash_of};
use epdb_chess::error::Result;
use epdb_chess::model::Game;

/// Numbers of duplicates that differ from the first copy, by the kind of difference.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct MergedGames {
    /// Duplicates with a different tag White, Black or Round.
    pub other_names: u64,
    /// Duplicates with a different id of a site or a collection, or with an id that the first copy
    /// lacks.
    pub other_ids: u64,
    /// Duplicates with different moves, date or result under the same id.
    pub other_moves: u64,
    /// Duplicates of games of an earlier import, which cannot be compared because the tags of those
    /// games are not kept.
    pub not_compared: u64,
}

/// Takes all games that count, and all duplicates.
#[derive(Debug)]
pub(super) struct Comparison(Sorter);

/// Hashes of the properties in which copies may differ. The hash of a property that cannot differ
/// is 0.
#[derive(Copy, Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Labels {
    names: [u8; 8],
    id: [u8; 8],
    moves: [u8; 8],
    /// 1 for a game that counts, 0 for a duplicate.
    counts: u8,
}

impl Labels {
    pub(super) fn new(game: &Game, same: SameGame, id: Option<&SiteId>) -> Labels {
        let names = ["White", "Black", "Round"].map(|name| game.tag(name));
        Labels {
            names: hash(&names),
            id: if same == SameGame::Auto { [0; 8] } else { hash(&id) },
            moves: if same_game::goes_by_id(same, id) {
                hash(&same_game::game_key(SameGame::Moves, game, id))
            } else {
                [0; 8]
            },
            counts: 0,
        }
    }
}

fn hash(value: &impl Hash) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish().to_le_bytes()
}

impl Comparison {
    /// A comparison that uses about `memory_bytes` of memory, and a temporary file for the rest.
    pub(super) fn new(directory: &Path, memory_bytes: usize) -> Comparison {
        Comparison(Sorter::new(directory, memory_bytes))
    }

    /// Adds a game. Copies are compared with the copy that has the smallest `order`, of equal ones
    /// with the first.
    pub(super) fn add(
        &mut self,
        game: &GameDigest,
        order: u32,
        labels: Labels,
        counts: bool,
    ) -> Result<()> {
        let key = [hash_of(game), &order.to_be_bytes()].concat();
        Ok(self.0.push(&key, Labels { counts: counts.into(), ..labels }.as_bytes())?)
    }

    /// Compares the copies of each game with the one that counts.
    pub(super) fn finish(self) -> Result<MergedGames> {
        compare(self.0.finish()?)
    }
}

fn compare(sorted: Sorted) -> Result<MergedGames> {
    let mut merged = MergedGames::default();
    let mut entries = Grouped::new(sorted, size_of::<u32>());
    let mut first: Option<Labels> = None;
    while let Some(GroupedEntry { begins, payload, .. }) = entries.next_entry()? {
        let labels = Labels::read_from_bytes(payload).map_err(|_| changed())?;
        match &first {
            Some(first) if !begins => merged.add(first, &labels),
            _ => {
                // A game whose first copy is missing was counted by an earlier import.
                merged.not_compared += u64::from(labels.counts == 0);
                first = Some(labels);
            }
        }
    }
    Ok(merged)
}

impl MergedGames {
    fn add(&mut self, first: &Labels, copy: &Labels) {
        if first.counts == 0 {
            self.not_compared += 1;
            return;
        }
        self.other_names += u64::from(first.names != copy.names);
        self.other_ids += u64::from(first.id != copy.id);
        self.other_moves += u64::from(first.moves != copy.moves);
    }
}
