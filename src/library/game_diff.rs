//! Differences between two collections of games.

use std::path::PathBuf;

use super::diff::{Change, DiffTally, Differences, Versions};
use super::ordered::{Origin, changed};
use super::same_game::export_format;
use epdb_chess::error::Result;
use epdb_chess::model::Game;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

/// The tags that are equal in two versions of the same game.
const PAIRING: [&str; 6] = ["White", "Black", "Date", "Round", "Event", "Site"];

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

impl Change<Game> {
    /// The tags that differ: first those of the old version, then those that only the new version
    /// has.
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

    /// The first ply of the main line, from 1, at which the moves differ or one version has ended;
    /// `None` if the main lines are equal.
    pub fn first_ply(&self) -> Option<usize> {
        let mut old = self.old.main_line();
        let mut new = self.new.main_line();
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
/// Games are equal if their PGN in export format is equal. Other games with the same players, date,
/// round, event and site are versions of one game; they are paired in the order of their text.
///
/// ```
/// use epdb_library::diff::Difference;
/// use epdb_library::game_diff::GameDiff;
/// use epdb_library::sets::Origin;
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let mut diff = GameDiff::new(std::env::temp_dir(), 1 << 20);
/// for (text, is_new) in [("1. e4 e5 *", false), ("1. e4 c5 *", true)] {
///     let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
///     let read = reader.next_game()?.expect("a game");
///     diff.add(read.game.expect("a good game"), Origin::default(), is_new)?;
/// }
/// let (mut differences, tally) = diff.finish()?;
/// assert_eq!(tally.changed, 1);
/// let Some(Difference::Changed(change)) = differences.next().transpose()? else { panic!() };
/// assert_eq!(change.first_ply(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GameDiff(Versions);

impl GameDiff {
    /// A comparison that uses about `memory_bytes` of memory, and temporary files in `directory`
    /// for the rest.
    pub fn new(directory: impl Into<PathBuf>, memory_bytes: usize) -> GameDiff {
        GameDiff(Versions::new(directory, memory_bytes))
    }

    /// Adds the next game of the old or the new collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, game: &Game, place: Origin, is_new: bool) -> Result<()> {
        let mut pairing = Vec::new();
        for name in PAIRING {
            pairing.extend_from_slice(game.tag(name).unwrap_or_default().as_bytes());
            pairing.push(0);
        }
        let text = export_format(game);
        self.0.add(pairing, &text, place, &text, is_new)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<(Differences<Game>, DiffTally)> {
        self.0.finish(read_game)
    }
}

/// Reads a game in export format.
fn read_game(text: &[u8]) -> Result<Game> {
    // There is no limit, because the text was written from a game, which may be long.
    let options = PgnReadOptions { limit: usize::MAX, ..Default::default() };
    let mut reader = GameReader::new(text, options);
    let read = reader.next_game()?.ok_or_else(changed)?;
    Ok(read.game.map_err(|_| changed())?.clone())
}
