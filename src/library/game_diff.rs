//! Differences between two collections of games.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::diff::DiffTally;
use super::ordered::{Origin, changed};
use super::same_game::export_format;
use crate::error::Result;
use crate::model::Game;
use crate::spill::{Sorted, Sorter};
use crate::text::pgn::{GameReader, PgnReadOptions};

/// The tags by which an old game and a new one are versions of the same game.
const PAIRING: [&str; 6] = ["White", "Black", "Date", "Round", "Event", "Site"];

/// One difference.
#[derive(Clone, Debug)]
pub enum GameDifference {
    /// A game that only the old collection has.
    Removed(Origin, Game),
    /// A game that only the new collection has.
    Added(Origin, Game),
    /// Two versions of one game.
    Changed(Box<GameChange>),
}

/// Two versions of a game.
#[derive(Clone, Debug)]
pub struct GameChange {
    /// Place of the old version.
    pub old_place: Origin,
    /// Place of the new version.
    pub new_place: Origin,
    /// The old version.
    pub old: Game,
    /// The new version.
    pub new: Game,
}

/// A tag that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedTag {
    /// The name.
    pub name: String,
    /// The value in the old version, if it has the tag.
    pub old: Option<String>,
    /// The value in the new version, if it has the tag.
    pub new: Option<String>,
}

impl GameChange {
    /// The tags that differ, those of the old version first.
    pub fn tags(&self) -> Vec<ChangedTag> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.old.tags().chain(self.new.tags()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let value = |game: &Game, name| game.tag(name).map(str::to_string);
        let tags = names.into_iter().map(|name| ChangedTag {
            name: name.to_string(),
            old: value(&self.old, name),
            new: value(&self.new, name),
        });
        tags.filter(|tag| tag.old != tag.new).collect()
    }

    /// The first ply of the main line, from 1, whose move differs or that one version lacks; `None` if
    /// the main lines are equal.
    pub fn first_ply(&self) -> Option<usize> {
        let (mut old, mut new) = (self.old.main_line(), self.new.main_line());
        let mut ply = 0;
        loop {
            ply += 1;
            match (old.next(), new.next()) {
                (None, None) => return None,
                (one, other) if one != other => return Some(ply),
                _ => {}
            }
        }
    }
}

/// Compares two collections of games in bounded memory.
///
/// Games are equal if their PGN in export format is. Of the others, those with the same players, date,
/// round, event and site are versions of one game, paired in the order of their text.
///
/// ```
/// use epdb::library::game_diff::{GameDiff, GameDifference};
/// use epdb::library::sets::Origin;
/// use epdb::text::pgn::{GameReader, PgnReadOptions};
/// let mut diff = GameDiff::new(std::env::temp_dir(), 1 << 20);
/// for (text, is_new) in [("1. e4 e5 *", false), ("1. e4 c5 *", true)] {
///     let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
///     let read = reader.next_game()?.expect("a game");
///     diff.add(read.game.expect("a good game"), Origin::default(), is_new)?;
/// }
/// let (mut differences, tally) = diff.finish()?;
/// assert_eq!(tally.changed, 1);
/// let Some(GameDifference::Changed(change)) = differences.next().transpose()? else { panic!() };
/// assert_eq!(change.first_ply(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GameDiff {
    directory: PathBuf,
    memory_bytes: usize,
    sorter: Sorter,
}

/// Maximum number of games of one pairing that wait for their other version.
const WINDOW: usize = 1024;

/// A game without an equal one: whether it is new, its place, its text.
#[derive(Debug)]
struct Lone {
    is_new: bool,
    /// The number of the game in the input, and its place.
    place: [u8; PLACE],
    text: Vec<u8>,
}

const PLACE: usize = 8 + Origin::LEN;

impl GameDiff {
    /// A comparison that uses about `memory_bytes`, and beyond them temporary files in `directory`.
    pub fn new(directory: impl Into<PathBuf>, memory_bytes: usize) -> GameDiff {
        let directory = directory.into();
        let sorter = Sorter::new(&directory, memory_bytes / 2);
        GameDiff { directory, memory_bytes, sorter }
    }

    /// Adds the next game of the old or the new collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, game: &Game, place: Origin, is_new: bool) -> Result<()> {
        let mut key = Vec::with_capacity(1024);
        for name in PAIRING {
            key.extend_from_slice(game.tag(name).unwrap_or_default().as_bytes());
            key.push(0);
        }
        let pairing = (key.len() as u32).to_be_bytes();
        key.extend_from_slice(&export_format(game));
        let order = self.sorter.len().to_be_bytes();
        let payload = [&[u8::from(is_new)][..], &pairing, &order, &place.to_bytes()].concat();
        Ok(self.sorter.push(&key, &payload)?)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<(GameDifferences, DiffTally)> {
        let out = Sorter::new(&self.directory, self.memory_bytes / 2);
        let mut pairing = Pairing { out, tally: DiffTally::default(), waiting: VecDeque::new() };
        let mut sorted = self.sorter.finish()?;
        let mut equal: Vec<Lone> = Vec::new();
        let mut last = Vec::new();
        let mut last_pairing = 0;
        while let Some((key, payload)) = sorted.next_entry()? {
            let (&[is_new], rest) = payload.split_first_chunk().ok_or_else(changed)?;
            let (pairing_len, place) = rest.split_first_chunk().ok_or_else(changed)?;
            let pairing_len = u32::from_be_bytes(*pairing_len) as usize;
            let place = *place.first_chunk().ok_or_else(changed)?;
            if last != key {
                pairing.take(&mut equal)?;
                if last.get(..last_pairing) != key.get(..pairing_len) {
                    pairing.close()?;
                }
                last.clear();
                last.extend_from_slice(key);
                last_pairing = pairing_len;
            }
            let text = key.get(pairing_len..).ok_or_else(changed)?.to_vec();
            let lone = Lone { is_new: is_new != 0, place, text };
            // Equal games are paired at once, so only those of one collection wait.
            match equal.last() {
                Some(waiting) if waiting.is_new != lone.is_new => {
                    equal.pop();
                    pairing.tally.equal += 1;
                }
                _ if equal.len() < WINDOW => equal.push(lone),
                _ => pairing.alone(lone)?,
            }
        }
        pairing.take(&mut equal)?;
        pairing.close()?;
        Ok((GameDifferences(pairing.out.finish()?), pairing.tally))
    }
}

/// Pairs the games of one pairing that have no equal game.
struct Pairing {
    out: Sorter,
    tally: DiffTally,
    /// Games of one collection.
    waiting: VecDeque<Lone>,
}

impl Pairing {
    fn take(&mut self, games: &mut Vec<Lone>) -> Result<()> {
        for lone in games.drain(..) {
            let has_partner = self.waiting.front().is_some_and(|first| first.is_new != lone.is_new);
            if let Some(partner) = self.waiting.pop_front_if(|_| has_partner) {
                let (old, new) = if lone.is_new { (partner, lone) } else { (lone, partner) };
                self.tally.changed += 1;
                self.put(false, old.place, &[&old, &new])?;
                continue;
            }
            self.waiting.push_back(lone);
            if self.waiting.len() > WINDOW
                && let Some(first) = self.waiting.pop_front()
            {
                self.alone(first)?;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        std::mem::take(&mut self.waiting).into_iter().try_for_each(|lone| self.alone(lone))
    }

    fn alone(&mut self, lone: Lone) -> Result<()> {
        *(if lone.is_new { &mut self.tally.added } else { &mut self.tally.removed }) += 1;
        self.put(lone.is_new, lone.place, &[&lone])
    }

    /// The place of the first version, then each version after its length and place.
    fn put(&mut self, is_added: bool, place: [u8; PLACE], versions: &[&Lone]) -> Result<()> {
        let key = [&[u8::from(is_added)][..], &place[..8]].concat();
        let mut payload = Vec::new();
        for version in versions {
            payload.extend_from_slice(&(version.text.len() as u32).to_be_bytes());
            payload.extend_from_slice(&version.place[8..]);
            payload.extend_from_slice(&version.text);
        }
        Ok(self.out.push(&key, &payload)?)
    }
}

/// The differences: removed and changed games in the order of the old collection, then added ones in
/// the order of the new.
#[derive(Debug)]
pub struct GameDifferences(Sorted);

impl Iterator for GameDifferences {
    type Item = Result<GameDifference>;

    fn next(&mut self) -> Option<Result<GameDifference>> {
        let entry = self.0.next_entry().map_err(Into::into).transpose()?;
        Some(entry.and_then(|(key, payload)| {
            let is_added = key.first() == Some(&1);
            let mut rest = payload;
            let (place, game) = read_version(&mut rest)?;
            if rest.is_empty() {
                return Ok(match is_added {
                    true => GameDifference::Added(place, game),
                    false => GameDifference::Removed(place, game),
                });
            }
            let (new_place, new) = read_version(&mut rest)?;
            let (old_place, old) = (place, game);
            Ok(GameDifference::Changed(Box::new(GameChange { old_place, new_place, old, new })))
        }))
    }
}

/// Reads a version, and moves on to the next.
fn read_version(bytes: &mut &[u8]) -> Result<(Origin, Game)> {
    let (len, rest) = bytes.split_first_chunk().ok_or_else(changed)?;
    let (place, rest) = rest.split_first_chunk::<{ Origin::LEN }>().ok_or_else(changed)?;
    let len = u32::from_be_bytes(*len) as usize;
    let (text, rest) = rest.split_at_checked(len).ok_or_else(changed)?;
    *bytes = rest;
    // The text was written from a game, however long.
    let options = PgnReadOptions::default().limit(usize::MAX);
    let mut reader = GameReader::new(text, options);
    let read = reader.next_game()?.ok_or_else(changed)?;
    Ok((Origin::from_bytes(place), read.game.map_err(|_| changed())?.clone()))
}
