//! Copies of games in different slices. A list of games has the games of one slice. A list of
//! copies has the copies that count.
//!
//! The formats are those of `formats/notes/slices.md`.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::vec;

use super::facts::GameFacts;
use crate::same_game::{self, SameGame, SiteId};
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::tally_origin::{GameDigest, digest_of, hash_of};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{Game, GameResult, MAX_RATING};
use epdb_source::{MAX_SLICES, Slice};

const GAMES_MAGIC: [u8; 8] = *b"epdbgame";
const COPIES_MAGIC: [u8; 8] = *b"epdbcopy";
const VERSION: u32 = 1;
/// Maximum length of the settings, in bytes.
const MAX_SETTINGS: u32 = 1 << 20;
/// In a list of copies, the number in place of a copy rank for a game that does not count.
const DOES_NOT_COUNT: u32 = u32::MAX;

/// The slice that a list belongs to, and the options of counting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SliceOfGames {
    /// [`SlicePlan::id`](epdb_source::SlicePlan::id).
    pub plan: [u8; 32],
    /// Number of slices of the plan.
    pub slices: u32,
    /// The slice, counted from 0.
    pub slice: u32,
    /// The settings of counting, as in the origin of a library.
    pub settings: TallySettings,
}

impl SliceOfGames {
    /// The slice for lists of games that were counted with these settings.
    pub fn new(slice: &Slice, settings: TallySettings) -> SliceOfGames {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        SliceOfGames {
            plan: slice.plan().id(),
            slices: number(slice.plan().len()),
            slice: number(slice.number()),
            settings,
        }
    }
}

pub(super) fn digest(
    game: &Game,
    facts: &GameFacts,
    same: SameGame,
    id: Option<&SiteId>,
) -> GameDigest {
    let hash = blake3::hash(&same_game::game_key(same, game, id));
    let copy_rank =
        if same_game::goes_by_id(same, id) { rank_by_id(game, facts) } else { facts.copy_rank() };
    digest_of(hash.as_bytes(), copy_rank)
}

/// Flag in the copy rank of a game with the id of a site. The copies of such a game may have
/// different moves. The ranks of other games are smaller.
const BY_ID: u32 = 1 << 31;
/// Flag in such a rank: the game is finished.
const IS_FINISHED: u32 = 1 << 30;
/// The place of the number of plies in such a rank.
const PLIES_SHIFT: u32 = 16;
const MAX_PLIES: usize = (IS_FINISHED >> PLIES_SHIFT) as usize - 1;
/// The place of the number of known ratings in such a rank. The bits below order copies that are
/// equal so far, so that the order of the files does not matter.
const RATINGS_SHIFT: u32 = 14;
const _: () = assert!((MAX_RATING as u32) < BY_ID >> 17);

fn rank_by_id(game: &Game, facts: &GameFacts) -> u32 {
    let finished = if game.result() == GameResult::Unknown { 0 } else { IS_FINISHED };
    let plies = game.plies().take(MAX_PLIES).count() as u32;
    let ratings = facts.ratings.iter().flatten().count() as u32;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&same_game::game_key(SameGame::Moves, game, None));
    for name in ["WhiteElo", "BlackElo", "TimeControl"] {
        hasher.update(game.tag(name).unwrap_or_default().as_bytes());
        hasher.update(&[0]);
    }
    let hash = hasher.finalize();
    let hash = u16::from_be_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default());
    let low = u32::from(hash) & ((1 << RATINGS_SHIFT) - 1);
    BY_ID | finished | plies << PLIES_SHIFT | ratings << RATINGS_SHIFT | low
}

/// Whether a copy rank is that of a game with the id of a site.
pub(super) const fn is_by_id(copy_rank: u32) -> bool {
    copy_rank & BY_ID != 0
}

/// Whether a copy is finished, and another copy of the same game is unfinished or shorter.
pub(super) const fn is_lost(copy_rank: u32, other_rank: u32) -> bool {
    let is_better = copy_rank >> PLIES_SHIFT > other_rank >> PLIES_SHIFT;
    copy_rank & IS_FINISHED != 0 && is_by_id(other_rank) && is_better
}

/// Writes a list of the games of a slice.
pub struct GameList<W> {
    out: Checked<W>,
    games: u64,
}

impl<W> fmt::Debug for GameList<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GameList").field("games", &self.games).finish_non_exhaustive()
    }
}

impl<W: Write> GameList<W> {
    /// Begins a list.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, slice: &SliceOfGames) -> Result<GameList<W>> {
        let mut out = Checked::new(out);
        put_head(&GAMES_MAGIC, slice, &mut out)?;
        out.write_all(&slice.slice.to_le_bytes())?;
        Ok(GameList { out, games: 0 })
    }

    /// Adds a game by [`TallyOptions::digest_of_item`](super::TallyOptions::digest_of_item).
    ///
    /// # Errors
    /// Errors of the output.
    pub fn push(&mut self, digest: &GameDigest) -> Result<()> {
        self.games += 1;
        Ok(self.out.write_all(digest)?)
    }

    /// Ends the list. Returns the output and the number of games.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> Result<(W, u64)> {
        self.out.write_all(&self.games.to_le_bytes())?;
        Ok((self.out.finish()?, self.games))
    }
}

/// Counts of [`decide_copies`].
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct CopyCounts {
    /// Number of games.
    pub games: u64,
    /// Number of copies that do not count.
    pub copies: u64,
}

/// Decides which copies of games count, from the lists of all slices of a plan. Writes the decisions to
/// `out`. Of a game with the id of a site, the copy with the highest copy rank counts. Of another
/// game, the first copy counts, with the ratings of the most complete copy. Uses about `memory_bytes`, and temporary files in `directory`.
///
/// # Errors
/// A list cannot be read or is damaged; the lists are not those of all slices of one plan; a
/// temporary file cannot be written.
pub fn decide_copies<W: Write>(
    lists: &[PathBuf],
    directory: &Path,
    memory_bytes: usize,
    out: W,
) -> Result<(W, CopyCounts)> {
    let mut by_game = Sorter::new(directory, memory_bytes / 2);
    let mut all: Option<SliceOfGames> = None;
    let mut games: Vec<Option<u64>> = Vec::new();
    for path in lists {
        let mut list = ListReader::open(path, &GAMES_MAGIC)?;
        let slice = list.slice_of_games()?;
        let first = all.get_or_insert_with(|| slice.clone());
        list.refuse_other(&slice, first)?;
        games.resize(slice.slices as usize, None);
        let Some(count) = games.get_mut(slice.slice as usize) else {
            return Err(list.damaged("the number of its slice is too large"));
        };
        if count.is_some() {
            return Err(list.refused(&format!("slice {} is there already", slice.slice + 1)));
        }
        *count = Some(list.read_games(slice.slice, &mut by_game)?);
    }
    let Some(all) = all else { return Err(Error::new("no lists of games")) };
    let missing = (1..).zip(&games).filter(|(_, count)| count.is_none());
    let missing: Vec<String> = missing.map(|(slice, _)| slice.to_string()).collect();
    if !missing.is_empty() {
        return Err(Error::new(format!(
            "lists of games are missing: slices {} of {}",
            missing.join(", "),
            all.slices
        )));
    }
    let games: Vec<u64> = games.into_iter().flatten().collect();
    let mut by_slice = Sorter::new(directory, memory_bytes / 2);
    let mut decided = vec![0; games.len()];
    let copies = decide(by_game.finish()?, &mut |place, rank| {
        let slice = u32::from_be_bytes(place.first_chunk().copied().unwrap_or_default());
        if let Some(count) = decided.get_mut(slice as usize) {
            *count += 1;
        }
        Ok(by_slice.push(place, &rank.to_le_bytes())?)
    })?;
    let mut out = Checked::new(out);
    put_head(&COPIES_MAGIC, &all, &mut out)?;
    for (games, decided) in games.iter().zip(&decided) {
        out.write_all(&games.to_le_bytes())?;
        out.write_all(&u64::to_le_bytes(*decided))?;
    }
    let mut sorted = by_slice.finish()?;
    while let Some((place, rank)) = sorted.next_entry()? {
        let game = place.get(4..).unwrap_or_default().iter().rev().copied();
        out.write_all(&game.collect::<Vec<u8>>())?;
        out.write_all(rank)?;
    }
    Ok((out.finish()?, CopyCounts { games: games.iter().sum(), copies }))
}

/// Length of the place of a game in bytes: its slice and its number in the slice, big-endian.
const PLACE: usize = 4 + 8;

/// Decides which copy of each game counts. If the copy ranks are those of games with ids of sites, the
/// first copy with the highest copy rank counts. Otherwise the first copy counts. It gets the highest
/// copy rank ([`GameFacts::copy_rank`]) of all copies, even if its own is lower. Calls `except` for
/// each other copy, with its place and [`DOES_NOT_COUNT`]. Also calls `except` for each first copy that
/// has a lower copy rank than another copy, with its place and the highest copy rank. Returns the number
/// of copies that do not count.
fn decide(mut sorted: Sorted, except: &mut dyn FnMut(&[u8], u32) -> Result<()>) -> Result<u64> {
    let mut copies = 0;
    let mut first: Option<FirstCopy> = None;
    loop {
        let next = sorted.next_entry()?.map(|(key, rank)| {
            let (hash, place) = key.split_at(key.len().saturating_sub(PLACE));
            let rank = u32::from_le_bytes(rank.first_chunk().copied().unwrap_or_default());
            (hash, place, rank)
        });
        if let (Some(copy), Some((hash, place, rank))) = (&mut first, next)
            && copy.hash == hash
        {
            copies += 1;
            if is_by_id(rank) && rank > copy.rank {
                except(&copy.place, DOES_NOT_COUNT)?;
                copy.rank = rank;
                copy.best = rank;
                copy.place = place.to_vec();
            } else {
                copy.best = copy.best.max(rank);
                except(place, DOES_NOT_COUNT)?;
            }
            continue;
        }
        if let Some(copy) = first.take()
            && copy.best > copy.rank
        {
            except(&copy.place, copy.best)?;
        }
        let Some((hash, place, rank)) = next else { return Ok(copies) };
        first = Some(FirstCopy { hash: hash.to_vec(), place: place.to_vec(), rank, best: rank });
    }
}

/// The copy of a game that counts, of those that were seen.
struct FirstCopy {
    hash: Vec<u8>,
    place: Vec<u8>,
    rank: u32,
    /// The highest copy rank of all copies.
    best: u32,
}

/// The decisions for the games of a slice, in the order of the games.
#[derive(Clone, Debug)]
pub struct SliceCopies {
    games: u64,
    decided: u64,
    /// The games that do not count, and the games that count with the copy rank of another copy. For each
    /// game: its number, in ascending order, and [`DOES_NOT_COUNT`] or this copy rank.
    exceptions: Peekable<vec::IntoIter<(u64, u32)>>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum CopyDecision {
    /// The game counts. If another copy is more complete, the game counts with the copy rank of that copy.
    Counts(Option<u32>),
    /// Another copy counts.
    DoesNotCount,
}

impl SliceCopies {
    /// Reads the decisions for a slice.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or was made for another plan or with other settings.
    pub fn read(path: &Path, slice: &SliceOfGames) -> Result<SliceCopies> {
        let mut list = ListReader::open(path, &COPIES_MAGIC)?;
        let all = list.head(slice.slice)?;
        list.refuse_other(&all, slice)?;
        let mut counts = Vec::new();
        for _ in 0..all.slices {
            counts.push([list.int_8()?, list.int_8()?]);
        }
        let mut games = 0;
        let mut exceptions = Vec::new();
        for (nth, [all, decided]) in (0..).zip(counts) {
            for _ in 0..decided {
                let exception = (list.int_8()?, list.int_4()?);
                if nth == slice.slice {
                    exceptions.push(exception);
                }
            }
            if nth == slice.slice {
                games = all;
            }
        }
        list.finish()?;
        let exceptions = exceptions.into_iter().peekable();
        Ok(SliceCopies { games, decided: 0, exceptions })
    }

    pub(super) fn next_game(&mut self) -> CopyDecision {
        let number = self.decided;
        self.decided += 1;
        match self.exceptions.next_if(|(game, _)| *game == number) {
            None => CopyDecision::Counts(None),
            Some((_, DOES_NOT_COUNT)) => CopyDecision::DoesNotCount,
            Some((_, rank)) => CopyDecision::Counts(Some(rank)),
        }
    }

    /// Checks that the slice has the games for which the decisions were made.
    ///
    /// # Errors
    /// The slice has more or fewer games.
    pub(super) fn check(&self) -> Result<()> {
        // One decision was taken for each game that was read.
        let SliceCopies { games: listed, decided: read, .. } = self;
        if read == listed {
            return Ok(());
        }
        Err(Error::new(format!(
            "the slice has {read} games, and the list of copies is for {listed}: list its games again"
        )))
    }
}

fn put_head(magic: &[u8; 8], slice: &SliceOfGames, out: &mut impl Write) -> io::Result<()> {
    let SliceOfGames { plan, slices, slice: _, settings } = slice;
    out.write_all(magic)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(plan)?;
    out.write_all(&slices.to_le_bytes())?;
    let settings = settings.to_bytes();
    out.write_all(&(settings.len() as u32).to_le_bytes())?;
    out.write_all(&settings)
}

/// An output that ends with the CRC-32C of its bytes.
struct Checked<W> {
    out: W,
    checksum: u32,
}

impl<W: Write> Checked<W> {
    const fn new(out: W) -> Checked<W> {
        Checked { out, checksum: 0 }
    }

    fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.checksum.to_le_bytes())?;
        Ok(self.out)
    }
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.out.write(bytes)?;
        self.checksum = crc32c::crc32c_append(self.checksum, &bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads a list of games or of copies.
struct ListReader {
    name: String,
    input: BufReader<File>,
    /// Number of bytes that were not read.
    left: u64,
    checksum: u32,
}

impl ListReader {
    fn open(path: &Path, magic: &[u8; 8]) -> Result<ListReader> {
        let name = path.display().to_string();
        let failed = |error| Error::new(format!("cannot read {name}")).because(error);
        let file = File::open(path).map_err(failed)?;
        let left = file.metadata().map_err(failed)?.len();
        let mut list = ListReader { name, input: BufReader::new(file), left, checksum: 0 };
        let what = match *magic {
            GAMES_MAGIC => "a list of games, which `epdb shard games` writes",
            _ => "a list of copies, which `epdb shard copies` writes",
        };
        if list.bytes::<8>().ok() != Some(*magic) {
            return Err(list.refused(&format!("it is not {what}")));
        }
        match list.int_4()? {
            VERSION => Ok(list),
            version => Err(list.refused(&format!(
                "it has version {version}, and this program reads version {VERSION}"
            ))),
        }
    }

    fn refused(&self, why: &str) -> Error {
        Error::new(format!("{}: {why}", self.name))
    }

    fn damaged(&self, what: &str) -> Error {
        self.refused(&format!("damaged: {what}"))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| self.damaged("it is cut off"))?;
        let read = self.input.read_exact(bytes);
        read.map_err(|error| self.refused("cannot be read").because(error))?;
        self.checksum = crc32c::crc32c_append(self.checksum, bytes);
        Ok(())
    }

    fn bytes<const LEN: usize>(&mut self) -> Result<[u8; LEN]> {
        let mut bytes = [0; LEN];
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    fn int_4(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn int_8(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// The head of the list, for a slice.
    fn head(&mut self, slice: u32) -> Result<SliceOfGames> {
        let plan = self.bytes()?;
        let slices = self.int_4()?;
        if !(1..=MAX_SLICES).contains(&slices) {
            return Err(self.damaged(&format!("{slices} slices: 1 to {MAX_SLICES} are possible")));
        }
        let len = self.int_4()?;
        if len > MAX_SETTINGS {
            return Err(self.damaged("its settings are too long"));
        }
        let mut settings = vec![0; len as usize];
        self.read(&mut settings)?;
        let settings = TallySettings::from_bytes(&settings)
            .map_err(|_| self.damaged("its settings are not settings of counting"))?;
        Ok(SliceOfGames { plan, slices, slice, settings })
    }

    fn slice_of_games(&mut self) -> Result<SliceOfGames> {
        let head = self.head(0)?;
        Ok(SliceOfGames { slice: self.int_4()?, ..head })
    }

    /// Refuses a list of another plan or with other settings.
    fn refuse_other(&self, own: &SliceOfGames, wanted: &SliceOfGames) -> Result<()> {
        if (own.plan, own.slices) != (wanted.plan, wanted.slices) {
            return Err(self.refused("it was made with another plan of slices"));
        }
        if own.settings != wanted.settings {
            let own = &own.settings;
            let wanted = &wanted.settings;
            return Err(self.refused(&format!(
                "its games were listed with `{own}`, not `{wanted}`: give the same options to all commands"
            )));
        }
        Ok(())
    }

    /// Adds the games of a list to `sorter`. Returns their number.
    fn read_games(&mut self, slice: u32, sorter: &mut Sorter) -> Result<u64> {
        const DIGEST: u64 = size_of::<GameDigest>() as u64;
        const END: u64 = 8 + 4;
        let digests = self.left.saturating_sub(END);
        if !digests.is_multiple_of(DIGEST) {
            return Err(self.damaged("it is cut off"));
        }
        let count = digests / DIGEST;
        for number in 0..count {
            let digest: GameDigest = self.bytes()?;
            let hash = hash_of(&digest);
            let key = [hash, &slice.to_be_bytes(), &number.to_be_bytes()].concat();
            sorter.push(&key, &digest[hash.len()..])?;
        }
        if self.int_8()? != count {
            return Err(self.damaged("the number of its games is wrong"));
        }
        self.finish()?;
        Ok(count)
    }

    /// Checks the end of the list.
    fn finish(&mut self) -> Result<()> {
        let checksum = self.checksum;
        if self.int_4()? != checksum || self.left > 0 {
            return Err(self.damaged("its checksum is wrong"));
        }
        Ok(())
    }
}
