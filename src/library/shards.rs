//! Writing sharded archives: records in any order become one archive for each range of position
//! keys.
//!
//! [`ShardBuilder`] sorts the records by key in bounded memory. With [`ShardOptions::add_tallies`],
//! the tallies of a position are added, so several libraries become one. The bytes of the result
//! depend on the records, and not on memory, threads, or the order in which libraries were added.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ordered::{Grouped, GroupedEntry, changed};
use super::tally::ledger::LedgerSum;
use crate::archive::{Archive, ArchiveWriter, Level, PackOptions};
use crate::codec::key::board_key;
use crate::codec::record;
use crate::codec::tally_origin::{GameDigest, GameDigests, GameSet, TallyLedger, TallyOrigin};
use crate::codec::{kept_game, packed};
use crate::error::{At, Error, Place, Result};
use crate::model::{EpdRecord, GameId};
use crate::new_file::NewFile;
use crate::source::{
    Filter, Manifest, ObjectFolder, PlannedFile, Shard, ShardedLibrary, Streams, merged_records,
    object_folder,
};
use crate::spill::{Sorted, Sorter};

/// Name of the manifest in the folder of a sharded archive.
pub const MANIFEST: &str = "manifest.json";

/// Options for writing a sharded archive.
#[derive(Clone)]
pub struct ShardOptions {
    shards: u32,
    /// Number of the only shard that is written, from 0; `None` for all shards.
    part: Option<u32>,
    level: Level,
    block_records: Option<u32>,
    adds_tallies: bool,
    filter: Option<Arc<dyn Filter>>,
    memory_bytes: usize,
    /// The origin of shards that are written one by one.
    made: Option<PartOrigin>,
    /// The folder in object storage that is written instead of a folder on this machine.
    objects: Option<Arc<dyn ObjectFolder>>,
}

impl std::fmt::Debug for ShardOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardOptions")
            .field("shards", &self.shards)
            .field("level", &self.level)
            .field("adds_tallies", &self.adds_tallies)
            .finish_non_exhaustive()
    }
}

impl ShardOptions {
    /// Options for this number of shards, from 1 to
    /// [`MAX_SHARDS`](crate::source::MAX_SHARDS), of level default.
    pub fn new(shards: u32) -> ShardOptions {
        ShardOptions {
            shards: shards.max(1),
            part: None,
            level: Level::Default,
            block_records: None,
            adds_tallies: false,
            filter: None,
            memory_bytes: 256 << 20,
            made: None,
            objects: None,
        }
    }

    /// Writes to a folder in object storage, such as `s3://BUCKET/PREFIX`, with the cargo feature
    /// `remote`. Each shard is stored under a name that has the hash of its content. The manifest is stored
    /// last, and only if no other program has replaced it in the meantime.
    ///
    /// # Errors
    /// The address cannot be written or read.
    pub fn at_address(self, address: &Path) -> Result<ShardOptions> {
        let objects = object_folder(address, MANIFEST)?;
        Ok(ShardOptions { objects: Some(objects.into()), ..self })
    }

    /// True if a manifest at the address of [`ShardOptions::at_address`] would be replaced.
    pub fn replaces(&self) -> bool {
        self.objects.as_ref().is_some_and(|objects| objects.has_manifest())
    }

    /// Writes only the shard with this number, counted from 0. [`ShardBuilder::finish`] then writes
    /// an entry for [`complete`] instead of a manifest. So several machines can share the work: each machine
    /// reads the same records, but writes other shards.
    #[must_use]
    pub const fn part(mut self, number: Option<u32>) -> ShardOptions {
        self.part = number;
        self
    }

    /// Sets the files from which shards are written one by one, and everything else that decides which
    /// records they have, as text. [`complete`] compares both.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn made_from(self, files: &[PathBuf], settings: &str) -> Result<ShardOptions> {
        let files = files.iter().map(|file| PlannedFile::of_file(file));
        let files = files.collect::<Result<Vec<PlannedFile>>>()?;
        let block = self.block_records.map_or(String::new(), |block| format!(" --block {block}"));
        let settings = format!("--level {:?}{block} {settings}", self.level);
        Ok(ShardOptions { made: Some(PartOrigin { settings, files }), ..self })
    }

    /// The lowest and the highest key of the records that are written.
    pub fn keys(&self) -> (u64, u64) {
        self.part.map_or((0, u64::MAX), |part| Manifest::range(part, self.shards))
    }

    /// The numbers of the shards that are written.
    const fn numbers(&self) -> Range<u32> {
        match self.part {
            Some(part) => part..part + 1,
            None => 0..self.shards,
        }
    }

    /// Sets the level of the shards.
    #[must_use]
    pub const fn level(mut self, level: Level) -> ShardOptions {
        self.level = level;
        self
    }

    /// Sets the number of records in a block; see [`PackOptions::block_records`].
    #[must_use]
    pub const fn block_records(mut self, records: Option<u32>) -> ShardOptions {
        self.block_records = records;
        self
    }

    /// Sets whether the records of a position are merged, with their tallies added. Otherwise all
    /// records stay, and those of one position keep their order.
    #[must_use]
    pub const fn add_tallies(mut self, add: bool) -> ShardOptions {
        self.adds_tallies = add;
        self
    }

    /// Sets a filter of the records that are written, after tallies were added.
    #[must_use]
    pub fn filter(mut self, filter: Option<Arc<dyn Filter>>) -> ShardOptions {
        self.filter = filter;
        self
    }

    /// Sets the approximate memory for sorting; the default is 256 MiB. Writing a shard takes up to
    /// 256 MiB more.
    #[must_use]
    pub const fn memory_bytes(mut self, memory_bytes: usize) -> ShardOptions {
        self.memory_bytes = memory_bytes;
        self
    }

    /// At level fast, the records are sorted for fast lookups. At the other levels they are added in the
    /// order of their keys.
    fn pack(&self) -> PackOptions {
        // The memory decides where segments end, so it must be the same for all writers.
        PackOptions::new()
            .level(self.level)
            .sorted(self.level == Level::Fast)
            .block_records(self.block_records)
    }
}

/// Takes records and games in any order, and writes them as a sharded archive.
///
/// ```
/// use epdb::library::shards::{ShardBuilder, ShardOptions};
/// use epdb::source::{Lookup, OpenLookup};
/// # let folder = tempfile::tempdir()?;
/// let record = epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\";")?;
/// let mut builder = ShardBuilder::new(ShardOptions::new(4), folder.path());
/// builder.push(&record)?;
/// builder.finish(&folder.path().join("book"), None)?;
///
/// let book = OpenLookup::open(folder.path().join("book/manifest.json"), 64 << 20)?;
/// let found = book.matches(&record.position().into()).next().transpose()?;
/// assert_eq!(found, Some((0, record)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardBuilder {
    options: ShardOptions,
    directory: PathBuf,
    records: Sorter,
    /// Games that positions may list, by id.
    games: Sorter,
    bytes: Vec<u8>,
}

/// Number of bytes at the end of a key in the sorter that order the records of a position.
const SUFFIX: usize = 8;
/// The games use at most the memory divided by this number.
const GAMES_OF_MEMORY: usize = 8;

impl ShardBuilder {
    /// A builder with its temporary files in `directory`.
    pub fn new(options: ShardOptions, directory: impl Into<PathBuf>) -> ShardBuilder {
        let directory = directory.into();
        let records = Sorter::new(&directory, options.memory_bytes / 2);
        let games = Sorter::new(&directory, options.memory_bytes / GAMES_OF_MEMORY);
        ShardBuilder { options, directory, records, games, bytes: Vec::new() }
    }

    /// Adds a record, unless its key belongs to no shard that is written.
    ///
    /// # Errors
    /// The temporary file cannot be created or written, or the record cannot be encoded.
    pub fn push(&mut self, record: &EpdRecord) -> Result<()> {
        self.bytes.clear();
        record::encode(record, &mut self.bytes)?;
        let board = packed::encode(&record.position().identity());
        // The order in which libraries are added must not matter, so the records of a position are
        // ordered by their content.
        let suffix = match self.options.adds_tallies {
            true => first_eight(blake3::hash(&self.bytes).as_bytes()),
            false => self.records.len().to_be_bytes(),
        };
        let key = board_key(board.as_bytes())?;
        let (first, last) = self.options.keys();
        if !(first..=last).contains(&key) {
            return Ok(());
        }
        let key = key.to_be_bytes();
        Ok(self.records.push(&[&key[..], board.as_bytes(), &suffix].concat(), &self.bytes)?)
    }

    /// Adds a game that positions may list, as [`kept_game`] encodes it. It
    /// is written once, and only if a record that is written lists it.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn keep_game(&mut self, game: &[u8]) -> Result<()> {
        Ok(self.games.push(&kept_game::id_of(game).0, game)?)
    }

    /// Writes the shards and, after all of them, the manifest into a folder. The folder is created if needed.
    /// `ledger` has the settings and the counted games of the whole library. Returns the shards that were
    /// written. With [`ShardOptions::at_address`], the folder in object storage is written instead.
    ///
    /// # Errors
    /// A temporary file, a shard or the manifest cannot be written.
    pub fn finish(self, folder: &Path, ledger: Option<LedgerSum>) -> Result<Vec<Shard>> {
        if self.options.objects.is_some() {
            if self.options.part.is_some() {
                return Err(Error::new("shards are written one by one into a folder only"));
            }
            // A shard is stored and removed here before the next one is written.
            let folder = tempfile::tempdir_in(&self.directory)?;
            return self.write(folder.path(), ledger);
        }
        if !folder.is_dir() {
            fs::create_dir_all(folder).map_err(|error| {
                Error::new(format!("cannot create the folder {}", folder.display())).because(error)
            })?;
        }
        self.write(folder, ledger)
    }

    fn write(self, folder: &Path, ledger: Option<LedgerSum>) -> Result<Vec<Shard>> {
        let ShardBuilder { options, directory, records, games, .. } = self;
        let memory_bytes = options.memory_bytes;
        let mut positions = Positions {
            entries: Grouped::new(records.finish()?, SUFFIX),
            adds_tallies: options.adds_tallies,
            filter: options.filter.clone(),
            next: None,
        };
        let mut shards = ShardsWriter::new(folder, options, ledger);
        if games.is_empty() {
            while let Some(record) = positions.next_record()? {
                shards.push(&record, &mut Games::none())?;
            }
            return shards.finish(&mut Games::none());
        }
        // A shard has the games of a range of ids, which any position may list. So all records are
        // read once for their lists before the first shard is written.
        let mut all = Sorter::new(&directory, memory_bytes / 2);
        let mut listed = Sorter::new(&directory, memory_bytes / GAMES_OF_MEMORY);
        while let Some(record) = positions.next_record()? {
            if let Some(kept) = record::kept_games_of(&record)? {
                kept.games().iter().try_for_each(|game| listed.push(&game.id.0, &[]))?;
            }
            all.push(&all.len().to_be_bytes(), &record)?;
        }
        let mut games = Games::new(games, listed)?;
        let mut all = all.finish()?;
        while let Some((_, record)) = all.next_entry()? {
            shards.push(record, &mut games)?;
        }
        shards.finish(&mut games)
    }
}

fn first_eight(bytes: &[u8]) -> [u8; 8] {
    bytes.first_chunk().copied().unwrap_or_default()
}

/// The records that are written, in the order of their keys and boards.
struct Positions {
    entries: Grouped,
    adds_tallies: bool,
    filter: Option<Arc<dyn Filter>>,
    /// The last record that was read, if it was not returned yet.
    next: Option<Vec<u8>>,
}

impl Positions {
    fn next_record(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let Some(record) = self.next_merged()? else { return Ok(None) };
            let Some(filter) = &self.filter else { return Ok(Some(record)) };
            let place = Place::new("", At::Whole);
            if filter.takes(&record::decode(&record)?.0, None, &place) {
                return Ok(Some(record));
            }
        }
    }

    /// The next record, with the records of its position added if tallies are added.
    fn next_merged(&mut self) -> Result<Option<Vec<u8>>> {
        let mut sum = self.next.take();
        while let Some(GroupedEntry { begins, payload, .. }) = self.entries.next_entry()? {
            let Some(record) = &sum else {
                sum = Some(payload.to_vec());
                if self.adds_tallies { continue } else { break }
            };
            match merged_records(record, payload)?.filter(|_| !begins) {
                Some(both) => sum = Some(both),
                None => {
                    self.next = Some(payload.to_vec());
                    break;
                }
            }
        }
        Ok(sum)
    }
}

/// The games that records list, in ascending order of ids.
struct Games {
    /// All games, and the ids that records list. Both ascend and may repeat.
    games: Option<(Sorted, Sorted)>,
    /// The last game that was read, if it was not written yet.
    next: Option<(GameId, Vec<u8>)>,
    written: u64,
}

impl Games {
    const fn none() -> Games {
        Games { games: None, next: None, written: 0 }
    }

    fn new(games: Sorter, listed: Sorter) -> Result<Games> {
        let mut games = Games { games: Some((games.finish()?, listed.finish()?)), ..Games::none() };
        games.advance()?;
        Ok(games)
    }

    /// Reads the next game that is listed.
    fn advance(&mut self) -> Result<()> {
        let Some((games, listed)) = &mut self.games else { return Ok(()) };
        let last = self.next.take().map(|(id, _)| id);
        while let Some((id, game)) = games.next_entry()? {
            let id = GameId(first_eight(id));
            if last == Some(id) {
                continue;
            }
            while listed.current().is_none_or(|(listed, _)| first_eight(listed) < id.0) {
                if listed.next_entry()?.is_none() {
                    return Ok(());
                }
            }
            if listed.current().is_some_and(|(listed, _)| listed == id.0) {
                self.next = Some((id, game.to_vec()));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Passes the games whose ids, as numbers, are at most `last` to `visit`.
    fn up_to(&mut self, last: u64, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while let Some((_, game)) =
            self.next.as_ref().filter(|(id, _)| u64::from_be_bytes(id.0) <= last)
        {
            visit(game)?;
            self.written += 1;
            self.advance()?;
        }
        Ok(())
    }
}

/// Writes records in the order of their keys into the shards.
struct ShardsWriter<'f> {
    folder: &'f Path,
    options: ShardOptions,
    /// The ledger of the whole library; `None` if the shards are not a library.
    ledger: Option<LedgerSum>,
    done: Vec<Shard>,
    open: Option<ArchiveWriter<HashedFile>>,
}

impl<'f> ShardsWriter<'f> {
    fn new(folder: &'f Path, options: ShardOptions, ledger: Option<LedgerSum>) -> ShardsWriter<'f> {
        ShardsWriter { folder, options, ledger, done: Vec::new(), open: None }
    }

    /// Number of the shard that is written, from 0.
    const fn number(&self) -> u32 {
        self.options.numbers().start + self.done.len() as u32
    }

    fn range(&self) -> (u64, u64) {
        Manifest::range(self.number(), self.options.shards)
    }

    /// Name of the shard that is written, without the hash of its content.
    fn name(&self) -> String {
        name_of(self.number(), self.options.shards)
    }

    fn push(&mut self, bytes: &[u8], games: &mut Games) -> Result<()> {
        let (record, _) = record::decode(bytes)?;
        let key = crate::codec::key::position_key(record.position());
        while key > self.range().1 {
            self.end_shard(games)?;
        }
        Ok(self.writer()?.push(&record)?)
    }

    /// The writer of the current shard.
    fn writer(&mut self) -> Result<&mut ArchiveWriter<HashedFile>> {
        if self.open.is_none() {
            let place = self.folder.join(format!("{}.epa", self.name()));
            let file = HashedFile::create(&place)?;
            self.open = Some(ArchiveWriter::new(file, self.options.pack())?);
        }
        self.open.as_mut().ok_or_else(changed)
    }

    fn end_shard(&mut self, games: &mut Games) -> Result<()> {
        let ((first_key, last_key), name) = (self.range(), self.name());
        self.writer()?;
        let Some(mut writer) = self.open.take() else { return Ok(()) };
        if let Some(LedgerSum { origin, games }) = &mut self.ledger {
            writer.set_tally_ledger(ledger_of_shard(&name, origin, games.is_some()));
            let mut count = |game: &GameDigest| Ok(writer.count_game(game)?);
            games.iter_mut().try_for_each(|games| games.each((first_key, last_key), &mut count))?;
        }
        games.up_to(last_key, &mut |game| Ok(writer.keep_game(game)?))?;
        let (records, file) = (writer.len(), writer.finish()?);
        let HashedFile { out, hash, bytes } = file;
        let blake3 = hash.finalize().to_hex();
        let file = format!("{name}-{}.epa", &blake3[..16]);
        let written = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        written.named_in_folder(&file).finish()?;
        let place = self.folder.join(&file);
        let footer = Archive::open(&place)?.fingerprint();
        if let Some(objects) = &self.options.objects {
            objects.store(&file, &place)?;
            fs::remove_file(&place)?;
        }
        let blake3 = blake3.to_string();
        self.done.push(Shard { first_key, last_key, file, records, bytes, blake3, footer });
        Ok(())
    }

    /// Writes the remaining shards, and the manifest or the entry of the only shard.
    fn finish(mut self, games: &mut Games) -> Result<Vec<Shard>> {
        while self.number() < self.options.numbers().end {
            self.end_shard(games)?;
        }
        match (self.options.part, &self.done[..]) {
            (Some(part), [shard]) => {
                let place = self.folder.join(entry_name(part, self.options.shards));
                let entry = PartEntry { shard: shard.clone(), made: self.options.made.clone() };
                // Texts and numbers always have a form in JSON.
                write_file(&place, &serde_json::to_vec_pretty(&entry).unwrap_or_default())?;
            }
            _ => {
                let manifest = manifest(self.ledger, games.written, self.done.clone())?;
                match &self.options.objects {
                    Some(objects) => objects.publish(&manifest)?,
                    None => write_file(&self.folder.join(MANIFEST), &manifest)?,
                }
            }
        }
        Ok(self.done)
    }
}

/// The ledger of a shard, before its games are added. A shard alone is not a complete library, so its
/// ledger says that it is pruned.
fn ledger_of_shard(name: &str, origin: &TallyOrigin, has_games: bool) -> TallyLedger {
    let pruned = Some(format!("shard {name}"));
    let origin = TallyOrigin { pruned, sources: Vec::new(), ..origin.clone() };
    TallyLedger { origin, games: has_games.then(GameDigests::default) }
}

/// Name of a shard, without the hash of its content.
fn name_of(number: u32, shards: u32) -> String {
    format!("{}-of-{shards}", number + 1)
}

/// Name of the file with the entry of a shard that was written alone.
fn entry_name(number: u32, shards: u32) -> String {
    format!("{}.json", name_of(number, shards))
}

/// The files and settings from which shards are written one by one.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PartOrigin {
    settings: String,
    files: Vec<PlannedFile>,
}

impl PartOrigin {
    /// The difference between the files and settings of two shards; `None` if both are the same.
    /// `are_libraries` says that the order of the files means nothing.
    fn difference(&self, own: &PartOrigin, are_libraries: bool) -> Option<String> {
        if self.settings != own.settings {
            return Some(format!("with `{}`, not `{}`", self.settings, own.settings));
        }
        let name = |file: &PlannedFile| file.path.display().to_string();
        let is_in =
            |file: &PlannedFile, files: &[PlannedFile]| files.iter().any(|it| it.is_same(file));
        let missing = own.files.iter().find(|file| !is_in(file, &self.files));
        if let Some(missing) = missing {
            return Some(format!("without {}, or from another content of it", name(missing)));
        }
        let other = self.files.iter().find(|file| !is_in(file, &own.files));
        if let Some(other) = other {
            return Some(format!("from {} too", name(other)));
        }
        let mut pairs = self.files.iter().zip(&own.files);
        let is_same_order = are_libraries || pairs.all(|(one, other)| one.is_same(other));
        match is_same_order && self.files.len() == own.files.len() {
            true => None,
            false => Some("from the same files in another order".to_string()),
        }
    }
}

/// The entry of a shard that was written alone.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartEntry {
    shard: Shard,
    made: Option<PartOrigin>,
}

/// Writes the manifest of shards that were written one by one ([`ShardOptions::part`]) from the same records,
/// and removes their entries. `ledger` has the settings and the counted games of the whole library.
///
/// # Errors
/// An entry is missing or damaged; a shard differs from its entry, or was made from other files or with
/// other settings than `options` has; the games of the shards do not add up; or the manifest cannot be
/// written.
pub fn complete(
    folder: &Path,
    options: &ShardOptions,
    ledger: Option<LedgerSum>,
) -> Result<Vec<Shard>> {
    let shards = options.shards;
    let entries: Vec<PathBuf> =
        (0..shards).map(|number| folder.join(entry_name(number, shards))).collect();
    let mut done = Vec::new();
    let mut games = GameSet::default();
    for (number, place) in (0..).zip(&entries) {
        let PartEntry { shard, made } = read_entry(place, number, shards)?;
        let difference = match (&made, &options.made) {
            (Some(made), Some(own)) => made.difference(own, ledger.is_some()),
            _ => None,
        };
        if let Some(difference) = difference {
            return Err(in_file(
                Error::new(format!(
                    "shard {} was written {difference}: write all shards from the same files, with the same options",
                    number + 1
                )),
                place,
            ));
        }
        let file = folder.join(&shard.file);
        let opened = Archive::open(&file).map_err(Error::from);
        let archive = opened.map_err(|error| in_file(error, &file))?;
        let is_listed = shard.is(&archive)
            && (shard.first_key, shard.last_key) == Manifest::range(number, shards);
        if !is_listed {
            let what = "differs from its entry: write the shard again";
            return Err(in_file(Error::new(what), &file));
        }
        let origin = archive.tally_origin().map_err(|error| in_file(error.into(), &file))?;
        games = games.and(origin.and_then(|(origin, _)| origin.games).unwrap_or_default());
        done.push(shard);
    }
    let expected = ledger.as_ref().and_then(|ledger| ledger.origin.games).unwrap_or_default();
    if games != expected {
        let what = format!(
            "the shards count {} games, and the files {}: write all shards again",
            games.games, expected.games
        );
        return Err(in_file(Error::new(what), folder));
    }
    write_file(&folder.join(MANIFEST), &manifest(ledger, 0, done.clone())?)?;
    for entry in entries {
        fs::remove_file(&entry).map_err(|error| in_file(error.into(), &entry))?;
    }
    Ok(done)
}

fn read_entry(place: &Path, number: u32, shards: u32) -> Result<PartEntry> {
    let bytes = fs::read(place).map_err(|error| {
        let part = number + 1;
        let what = match error.kind() {
            io::ErrorKind::NotFound => format!(
                "shard {part} of {shards} is missing, or the manifest is complete already: write the \
                 shard by --part {part}"
            ),
            _ => "cannot be read".to_string(),
        };
        in_file(Error::new(what).because(error), place)
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        in_file(Error::new("not the entry of a shard: write the shard again").because(error), place)
    })
}

/// Refuses to write the shards of these files one by one if a library keeps games. A shard has the games
/// whose ids are in its range, but the records of any shard may list them.
///
/// # Errors
/// A library keeps games, or cannot be opened.
pub fn refuse_kept_games(files: &[PathBuf], streams: &Streams) -> Result<()> {
    for file in files {
        if let Some(library) = streams.library(file)?
            && library.counts()?.kept_games > 0
        {
            return Err(Error::new(format!(
                "{} keeps games, and all shards are needed to know which games positions list: write \
                 all shards by one command",
                file.display()
            )));
        }
    }
    Ok(())
}

fn in_file(error: Error, place: &Path) -> Error {
    error.in_source(place.display().to_string())
}

/// The text of the manifest.
fn manifest(ledger: Option<LedgerSum>, kept_games: u64, shards: Vec<Shard>) -> Result<Vec<u8>> {
    let library = ledger.map(|ledger| ShardedLibrary { origin: ledger.origin, kept_games });
    Ok(Manifest::new(library, shards)?.to_bytes())
}

fn write_file(place: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = NewFile::create(place)?;
    file.write_all(bytes)?;
    Ok(file.finish()?)
}

/// A file under construction, its hash and its size.
struct HashedFile {
    out: BufWriter<NewFile>,
    hash: blake3::Hasher,
    bytes: u64,
}

impl HashedFile {
    fn create(place: &Path) -> Result<HashedFile> {
        let out = BufWriter::with_capacity(1 << 18, NewFile::create(place)?);
        Ok(HashedFile { out, hash: blake3::Hasher::new(), bytes: 0 })
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
