//! Lists of records that share a position, and of games that are equal.

use std::path::PathBuf;

use super::game_sets::GamesBy;
use super::near_games;
use super::ordered::{By, Origin, changed, push_key};
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::error::Result;
use epdb_chess::model::{EpdRecord, Game, Opcode};

/// One of several records that share a position, or of several equal games.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DuplicateItem {
    /// The place of the record or game.
    pub place: Origin,
    /// For a record its `id`, if there is one; for a game its players, date and result.
    pub label: Option<Vec<u8>>,
}

/// Lists the records that share a position, or equal games, in bounded memory.
///
/// ```
/// use epdb_library::duplicates::DuplicateFinder;
/// use epdb_library::sets::{By, Origin};
/// let mut finder = DuplicateFinder::new(By::Position, std::env::temp_dir(), 1 << 20);
/// for (line, id) in [(1, "a"), (2, "b")] {
///     let text = format!("8/8/8/4k3/8/1K6/8/8 b - - id \"{id}\";");
///     finder.add(&epdb_chess::parse_epd(text.as_bytes())?, Origin { source: 0, line })?;
/// }
/// let mut duplicates = finder.finish()?;
/// let group = duplicates.next().transpose()?.expect("one position");
/// assert_eq!(group.iter().map(|record| record.place.line).collect::<Vec<_>>(), [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DuplicateFinder {
    by: By,
    /// The number of plies of [`DuplicateFinder::near`].
    near: Option<usize>,
    directory: PathBuf,
    memory_bytes: usize,
    sorter: Sorter,
}

impl DuplicateFinder {
    /// A finder that uses about `memory_bytes` of memory, and temporary files in `directory` for
    /// the rest.
    pub fn new(by: By, directory: impl Into<PathBuf>, memory_bytes: usize) -> DuplicateFinder {
        let directory = directory.into();
        let sorter = Sorter::new(&directory, memory_bytes / 2);
        DuplicateFinder { by, near: None, directory, memory_bytes, sorter }
    }

    /// Finds games that are nearly equal: see [`near_games`]. The first `plies` of both games
    /// are the same, or one game has all moves of the other.
    #[must_use]
    pub fn near(self, plies: usize) -> DuplicateFinder {
        DuplicateFinder { near: Some(plies), ..self }
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, record: &EpdRecord, place: Origin) -> Result<()> {
        let mut key = Vec::new();
        push_key(self.by, record, &mut key)?;
        self.push(&key, record.text_of(Opcode::ID).as_deref(), place)
    }

    /// Adds the next game. `by` does not matter for games that are nearly equal.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add_game(&mut self, by: GamesBy, game: &Game, place: Origin) -> Result<()> {
        let [white, black, date, result] =
            ["White", "Black", "Date", "Result"].map(|name| game.tag(name).unwrap_or("?"));
        let label = format!("{white} - {black}, {date}, {result}");
        let key = if self.near.is_some() { near_games::key(game) } else { by.key(game) };
        self.push(&key, Some(label.as_bytes()), place)
    }

    fn push(&mut self, key: &[u8], label: Option<&[u8]>, place: Origin) -> Result<()> {
        let mut payload = place.to_bytes().to_vec();
        payload.push(u8::from(label.is_some()));
        payload.extend_from_slice(label.unwrap_or_default());
        Ok(self.sorter.push(key, &payload)?)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<Duplicates> {
        let mut out = Sorter::new(&self.directory, self.memory_bytes / 2);
        let mut entries = self.sorter.finish()?;
        let mut first_key = Vec::new();
        let mut first = Vec::new();
        let mut members = 0_u64;
        while let Some((key, payload)) = entries.next_entry()? {
            let is_member = match self.near {
                Some(plies) => near_games::are_near(&first_key, key, plies),
                None => first_key == key,
            };
            if members == 0 || !is_member {
                first_key.clear();
                first_key.extend_from_slice(key);
                first = payload.to_vec();
                members = 1;
                continue;
            }
            let place = first.get(..Origin::LEN).ok_or_else(changed)?;
            if members == 1 {
                out.push(&[place, &0_u64.to_be_bytes()].concat(), &first)?;
            }
            out.push(&[place, &members.to_be_bytes()].concat(), payload)?;
            members += 1;
        }
        Ok(Duplicates { sorted: out.finish()?, waiting: None })
    }
}

/// The groups of records that share a position, in the order of their first records. The records of
/// a group are in the order of the input.
#[derive(Debug)]
pub struct Duplicates {
    sorted: Sorted,
    /// The first record of the next group.
    waiting: Option<DuplicateItem>,
}

impl Iterator for Duplicates {
    type Item = Result<Vec<DuplicateItem>>;

    fn next(&mut self) -> Option<Result<Vec<DuplicateItem>>> {
        self.next_group().transpose()
    }
}

impl Duplicates {
    fn next_group(&mut self) -> Result<Option<Vec<DuplicateItem>>> {
        let mut group: Vec<_> = self.waiting.take().into_iter().collect();
        while let Some((key, payload)) = self.sorted.next_entry()? {
            let (place, rest) = payload.split_first_chunk().ok_or_else(changed)?;
            let (&has_label, label) = rest.split_first().ok_or_else(changed)?;
            let label = (has_label != 0).then(|| label.to_vec());
            let record = DuplicateItem { place: Origin::from_bytes(place), label };
            let is_first = key.ends_with(&0_u64.to_be_bytes());
            if is_first && !group.is_empty() {
                self.waiting = Some(record);
                break;
            }
            group.push(record);
        }
        Ok(if group.is_empty() { None } else { Some(group) })
    }
}
