//! Union, intersection and difference of collections of games, in bounded memory.

use std::path::PathBuf;

use super::ordered::{Grouped, GroupedEntry, KeyedRecord, Ordered, Origin, Reorder};
use super::same_game::{self, SameGame};
use super::sets::{Chooser, Keep, OTHER, OWN};
use epdb_base::spill::Sorter;
use epdb_chess::error::Result;
use epdb_chess::model::Game;

/// The criterion for equal games.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum GamesBy {
    /// The games have the same main line from the same position.
    Moves,
    /// The games have the same main line from the same position, and the same tags White, Black,
    /// Date and Result, letter by letter. UTCDate replaces a Date without a year.
    #[default]
    Players,
    /// The games are equal in everything: tags, variations, comments and the rest.
    Exact,
}

impl GamesBy {
    /// Bytes for comparison: two games have the same bytes exactly if they are equal by this criterion.
    pub(super) fn key(self, game: &Game) -> Vec<u8> {
        match self {
            GamesBy::Moves => same_game::main_line(game),
            GamesBy::Players => same_game::game_key(SameGame::Players, game, None),
            GamesBy::Exact => same_game::game_key(SameGame::Exact, game, None),
        }
    }
}

/// Counts of a [`GameDedupe`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct GameTally {
    /// Games that were added.
    pub read: u64,
    /// Games that were dropped.
    pub duplicates: u64,
}

/// Drops duplicates of games; the first of equal games stays.
///
/// ```
/// use epdb_library::game_sets::{GameDedupe, GamesBy};
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let mut dedupe = GameDedupe::new(GamesBy::Moves, std::env::temp_dir(), 1 << 20);
/// let mut reader = GameReader::new(&b"1. e4 * 1. d4 * 1. e4 {again} *"[..], PgnReadOptions::default());
/// while let Some(read) = reader.next_game()? {
///     dedupe.add(read.game.expect("a good game"), read.raw)?;
/// }
/// let (mut games, tally) = dedupe.finish()?;
/// assert_eq!((tally.read, tally.duplicates), (3, 1));
/// assert_eq!(games.next_encoded()?.map(<[u8]>::trim_ascii), Some(&b"1. e4 *"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GameDedupe {
    by: GamesBy,
    directory: PathBuf,
    memory_bytes: usize,
    sorter: Sorter,
}

impl GameDedupe {
    /// A set that uses about `memory_bytes` of memory, and temporary files in `directory` for the
    /// rest.
    pub fn new(by: GamesBy, directory: impl Into<PathBuf>, memory_bytes: usize) -> GameDedupe {
        let directory = directory.into();
        let sorter = Sorter::new(&directory, memory_bytes / 2);
        GameDedupe { by, directory, memory_bytes, sorter }
    }

    /// Adds the next game. If the game stays in the set, the set later returns `bytes` for it.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, game: &Game, bytes: &[u8]) -> Result<()> {
        let order = self.sorter.len().to_be_bytes();
        Ok(self.sorter.push(&self.by.key(game), &[&order, bytes].concat())?)
    }

    /// The bytes of the games that stay, in the order of the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<(Ordered, GameTally)> {
        let read = self.sorter.len();
        let mut out = Reorder::new(&self.directory, self.memory_bytes / 2);
        let mut entries = Grouped::new(self.sorter.finish()?, 0);
        let mut duplicates = 0;
        while let Some(GroupedEntry { begins, payload, .. }) = entries.next_entry()? {
            if begins { out.push_payload(payload)? } else { duplicates += 1 }
        }
        Ok((out.finish()?, GameTally { read, duplicates }))
    }
}

/// Selects games of one collection, the *own* collection: those that other collections have, or those that
/// they lack. The games stay in their order.
///
/// ```
/// use epdb_library::game_sets::{GameSelection, GamesBy};
/// use epdb_library::sets::Keep;
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let mut difference = GameSelection::new(Keep::InNone, GamesBy::Moves, std::env::temp_dir(), 1 << 20);
/// let mut reader = GameReader::new(&b"1. e4 * 1. d4 * 1. e4 {again} *"[..], PgnReadOptions::default());
/// for _ in 0..2 {
///     let read = reader.next_game()?.expect("a game");
///     difference.add(read.game.expect("a good game"), read.raw)?;
/// }
/// difference.add_other(reader.next_game()?.and_then(|read| read.game.ok()).expect("a good game"))?;
/// let mut games = difference.finish()?;
/// assert_eq!(games.next_encoded()?.map(<[u8]>::trim_ascii), Some(&b"1. d4 *"[..]));
/// assert_eq!(games.next_encoded()?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GameSelection {
    keep: Keep,
    by: GamesBy,
    directory: PathBuf,
    memory_bytes: usize,
    sorter: Sorter,
    /// Number of games of the own collection.
    len: u64,
    others: u32,
}

impl GameSelection {
    /// A selection that uses about `memory_bytes` of memory, and temporary files in `directory` for
    /// the rest.
    pub fn new(
        keep: Keep,
        by: GamesBy,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> GameSelection {
        let directory = directory.into();
        let sorter = Sorter::new(&directory, memory_bytes / 2);
        GameSelection { keep, by, directory, memory_bytes, sorter, len: 0, others: 1 }
    }

    /// Adds the next game of the own collection. If the game is selected, the selection later returns
    /// `bytes` for it.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, game: &Game, bytes: &[u8]) -> Result<()> {
        let mut payload = Vec::new();
        KeyedRecord::join(self.len, &Origin::default().to_bytes(), bytes, &mut payload);
        self.len += 1;
        Ok(self.sorter.push(&self.key(game, OWN), &payload)?)
    }

    /// Adds a game of another collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add_other(&mut self, game: &Game) -> Result<()> {
        Ok(self.sorter.push(&self.key(game, OTHER), &self.others.to_be_bytes())?)
    }

    /// Begins a further collection for [`GameSelection::add_other`].
    pub const fn next_other(&mut self) {
        self.others += 1;
    }

    /// The key of a game. Its length comes first, so that no key is the beginning of another one.
    fn key(&self, game: &Game, side: u8) -> Vec<u8> {
        let key = self.by.key(game);
        [&(key.len() as u32).to_be_bytes(), &key[..], &[side]].concat()
    }

    /// The bytes of the selected games, in the order of the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<Ordered> {
        let out = Reorder::new(&self.directory, self.memory_bytes / 2);
        Chooser::new(self.keep, self.others).choose_sorted(self.sorter.finish()?, out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

    fn kept(by: GamesBy, memory_bytes: usize) -> Vec<usize> {
        let text = "[White \"a\"]\n\n1. e4 e5 *\n\n[White \"b\"]\n\n1. e4 e5 *\n\n\
                    [White \"a\"]\n\n1. e4 $1 e5 *\n\n[White \"a\"]\n\n1. e4 e5 *\n\n\
                    [White \"a\"]\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n\n1. e4 *\n\n\
                    [White \"a\"]\n\n1. e4 *\n\n";
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        let mut dedupe = GameDedupe::new(by, std::env::temp_dir(), memory_bytes);
        let mut number = 0;
        while let Some(read) = reader.next_game().unwrap() {
            dedupe.add(read.game.unwrap(), &[number]).unwrap();
            number += 1;
        }
        assert_eq!(number, 6);
        let (mut games, tally) = dedupe.finish().unwrap();
        let mut kept = Vec::new();
        while let Some(bytes) = games.next_encoded().unwrap() {
            kept.push(usize::from(bytes[0]));
        }
        assert_eq!((tally.read, kept.len() as u64 + tally.duplicates), (6, 6));
        kept
    }

    #[test]
    fn null_moves_tell_games_apart() {
        let keys = ["1. e4 *", "1. e4 -- *", "1. e4 -- 2. d4 *", "1. e4 d5 2. d4 *"].map(|text| {
            let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
            let read = reader.next_game().unwrap().unwrap();
            GamesBy::Moves.key(read.game.unwrap())
        });
        let different: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
    }

    #[test]
    fn the_first_of_the_same_games_stays() {
        for memory_bytes in [0, 1 << 20] {
            assert_eq!(kept(GamesBy::Moves, memory_bytes), [0, 4, 5]);
            assert_eq!(kept(GamesBy::Players, memory_bytes), [0, 1, 4, 5]);
            assert_eq!(kept(GamesBy::Exact, memory_bytes), [0, 1, 2, 4, 5]);
        }
    }
}
