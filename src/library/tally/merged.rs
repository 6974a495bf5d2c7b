//! Differences between the copies of a game, of which a library counts one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::codec::tally_origin::{GameDigest, hash_of};
use crate::error::Result;
use crate::library::ordered::changed;
use crate::library::same_game::SameGame;
use crate::library::same_game::SiteId;
use crate::model::Game;
use crate::spill::{Sorted, Sorter};

/// Numbers of games that were counted before, by what they have otherwise than the copy that came first.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct MergedGames {
    /// Another White, Black or Round.
    pub other_names: u64,
    /// Another id of a site or a collection, or an id where the other has none.
    pub other_ids: u64,
    /// Other moves, another date or another result, under the same id.
    pub other_moves: u64,
    /// Games of which the first copy was counted by an earlier import: its tags are not kept.
    pub not_compared: u64,
}

/// Takes all games that are counted or were counted before.
#[derive(Debug)]
pub(super) struct Comparison(Sorter);

/// Hashes of what copies of a game may differ in. What cannot differ is 0.
#[derive(Copy, Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Labels {
    names: [u8; 8],
    id: [u8; 8],
    moves: [u8; 8],
    /// 1 for a game that counts, 0 for one that was counted before.
    counts: u8,
}

impl Labels {
    pub(super) fn new(game: &Game, same: SameGame, id: Option<&SiteId>) -> Labels {
        let names = ["White", "Black", "Round"].map(|name| game.tag(name));
        Labels {
            names: hash(&names),
            id: if same == SameGame::Auto { [0; 8] } else { hash(&id) },
            moves: if same.goes_by_id(id) { hash(&SameGame::Moves.key(game, id)) } else { [0; 8] },
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
    /// One that uses about so many bytes, and beyond them a temporary file.
    pub(super) fn new(directory: &Path, memory: usize) -> Comparison {
        Comparison(Sorter::new(directory, memory))
    }

    /// Takes a game.
    pub(super) fn add(&mut self, game: &GameDigest, labels: Labels, counts: bool) -> Result<()> {
        Ok(self.0.push(hash_of(game), Labels { counts: counts.into(), ..labels }.as_bytes())?)
    }

    /// Compares the copies of each game with the one that came first.
    pub(super) fn finish(self) -> Result<MergedGames> {
        compare(self.0.finish()?)
    }
}

fn compare(mut sorted: Sorted) -> Result<MergedGames> {
    let mut merged = MergedGames::default();
    let mut first: Option<(Vec<u8>, Labels)> = None;
    while let Some((game, labels)) = sorted.next_entry()? {
        let labels = Labels::read_from_bytes(labels).map_err(|_| changed())?;
        match &first {
            Some((known, first)) if known == game => merged.add(first, &labels),
            _ => {
                // A game whose first copy is not here was counted by an earlier import.
                merged.not_compared += u64::from(labels.counts == 0);
                first = Some((game.to_vec(), labels));
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
