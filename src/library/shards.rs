//! Writing sharded archives: records become one archive for each range of locality keys.
//!
//! [`ShardBuilder`] sorts the records by these keys in bounded memory. With [`ShardOptions::add_tallies`], the
//! tallies of a position are added, so several libraries become one. The records of a shard stand in the order in
//! which they came, because the next record of a library is usually the next position of a game, which takes few
//! bytes after it. The bytes of the result do not depend on memory or threads.

use std::fs::{self, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::ordered::{Grouped, GroupedEntry, changed};
use super::tally::ledger::LedgerSum;
use epdb_archive::{About, Archive, ArchiveWriter, Level, PackOptions};
use epdb_base::new_file::NewFile;
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::key::locality_key;
use epdb_chess::codec::record;
use epdb_chess::codec::tally_origin::{GameDigest, GameDigests, TallyLedger, TallyOrigin};
use epdb_chess::codec::{kept_game, packed};
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::model::{EpdRecord, GameId};
use epdb_source::{
    Filter, GamesFile, Manifest, ObjectFolder, Shard, ShardList, ShardedArchive, ShardedLibrary,
    YoungLayer, merged_records, object_folder,
};

/// Name of the manifest in the folder of a sharded archive.
pub const MANIFEST: &str = "manifest.json";

/// The time after which no program reads the shards of an earlier manifest.
pub const GRACE: Duration = Duration::from_secs(24 * 3600);

/// Files of a folder that its manifest does not list.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Unlisted {
    /// Number of files that were removed.
    pub removed: u64,
    /// Size of these files in bytes.
    pub bytes: u64,
    /// Number of files that stay because they, or the manifest, are too new.
    pub kept: u64,
}

/// Removes the shards, lists and files of games that the manifest of a folder does not list. Readers of an earlier
/// manifest may need them, and a writer has not listed them yet; so a file stays until the manifest and the
/// file are older than `grace`.
///
/// # Errors
/// The folder has no manifest, the manifest or a list is damaged, or a file cannot be removed.
pub fn remove_unlisted(folder: &Path, grace: Duration) -> Result<Unlisted> {
    let place = folder.join(MANIFEST);
    let shards = ShardedArchive::at(&place)?;
    let is_old = |found: &Metadata| -> Result<bool> {
        Ok(found.modified()?.elapsed().is_ok_and(|age| age >= grace))
    };
    let is_replaced_long_ago = is_old(&fs::metadata(&place)?)?;
    let listed = shards.files()?;
    let mut unlisted = Unlisted::default();
    for file in fs::read_dir(folder)? {
        let file = file?;
        let name = file.file_name();
        let Some(name) = name.to_str().filter(|name| is_name_of_written_file(name)) else {
            continue;
        };
        if listed.contains(name) {
            continue;
        }
        let found = file.metadata()?;
        if !is_replaced_long_ago || !is_old(&found)? {
            unlisted.kept += 1;
            continue;
        }
        fs::remove_file(file.path())?;
        unlisted.removed += 1;
        unlisted.bytes += found.len();
    }
    Ok(unlisted)
}

/// True if a file is named like a shard, `3-of-8-`, like the games, `games-`, or like a young layer, `young-`: then
/// come sixteen digits of its hash, and `.epa`. A list is named `list-`, and then with such digits and `.json`.
fn is_name_of_written_file(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let Some((stem, ending)) = name.split_once('.') else { return false };
    let Some((kind, hash)) = stem.rsplit_once('-') else { return false };
    let is_shard =
        kind.split_once("-of-").is_some_and(|(one, all)| is_number(one) && is_number(all));
    let is_written = match ending {
        "epa" => is_shard || kind == "games" || kind == "young",
        "json" => kind == "list",
        _ => false,
    };
    is_written && hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Maximum number of shards in a manifest without lists. Such a manifest takes 150 kB.
const MAX_IN_MANIFEST: usize = 512;
/// Number of shards in a list, except for the last one. Such a list takes 56 kB, which one request receives, and the
/// manifest of 70,000 shards takes 111 kB.
const LIST: usize = 200;

/// Options for writing a sharded archive.
#[derive(Clone)]
pub struct ShardOptions {
    /// The number of shards, from 1 to [`MAX_SHARDS`](epdb_source::MAX_SHARDS). Fewer shards are written
    /// if too many records have the same locality key.
    pub shards: u32,
    /// The level of the shards.
    pub level: Level,
    /// The number of records in a block; see [`PackOptions::block_records`].
    pub block_records: Option<u32>,
    /// True if the records of a position are merged, with their tallies added. The merged record has the
    /// place of the first one. Otherwise all records stay.
    pub add_tallies: bool,
    /// True if the shards have about equally many bytes, false if they have about equally many records. A reader
    /// that receives whole shards waits for the largest of them: those of the opening have the most games.
    pub equal_bytes: bool,
    /// Facts about the data, which the manifest has.
    pub about: About,
    /// The young layers that the manifest lists. Their files are in the folder.
    pub young_layers: Vec<YoungLayer>,
    /// A filter of the records that are written, after tallies were added.
    pub filter: Option<Arc<dyn Filter>>,
    /// The approximate memory for sorting; the default is 256 MiB. Writing a shard takes up to 256 MiB
    /// more.
    pub memory_bytes: usize,
    /// The folder in object storage that is written instead of a folder on this machine; see
    /// [`ShardOptions::at_address`].
    pub objects: Option<Arc<dyn ObjectFolder>>,
}

impl std::fmt::Debug for ShardOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardOptions")
            .field("shards", &self.shards)
            .field("level", &self.level)
            .field("add_tallies", &self.add_tallies)
            .finish_non_exhaustive()
    }
}

impl ShardOptions {
    /// Options for this number of shards, of level default.
    pub fn new(shards: u32) -> ShardOptions {
        ShardOptions {
            shards,
            level: Level::Default,
            block_records: None,
            add_tallies: false,
            equal_bytes: false,
            about: About::default(),
            young_layers: Vec::new(),
            filter: None,
            memory_bytes: 256 << 20,
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

    /// Whether there is a manifest at the address of [`ShardOptions::at_address`].
    pub fn has_manifest(&self) -> bool {
        self.objects.as_ref().is_some_and(|objects| objects.has_manifest())
    }

    /// At level fast, the records are sorted for fast lookups. At level default they stay in order.
    fn pack(&self) -> PackOptions {
        // The memory decides where segments end, so it must be the same for all writers.
        PackOptions {
            level: self.level,
            sorted: self.level == Level::Fast,
            block_records: self.block_records,
            ..Default::default()
        }
    }
}

/// Takes records and games in any order, and writes them as a sharded archive.
///
/// ```
/// use epdb_library::shards::{ShardBuilder, ShardOptions};
/// use epdb_source::{Lookup, Collection};
/// # let folder = tempfile::tempdir()?;
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\";")?;
/// let mut builder = ShardBuilder::new(ShardOptions::new(4), folder.path());
/// builder.push(&record)?;
/// builder.finish(&folder.path().join("book"), None)?;
///
/// let book = Collection::open(folder.path().join("book/manifest.json"), 64 << 20)?;
/// let found = book.matches(&record.position().into()).next().transpose()?;
/// assert_eq!(found, Some((0, record)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardBuilder {
    options: ShardOptions,
    directory: PathBuf,
    /// The records by locality key, then by position if tallies are added, then by place.
    records: Sorter,
    /// Games that positions may list, by id.
    games: Sorter,
    key: Vec<u8>,
    bytes: Vec<u8>,
}

/// Number of bytes of a locality key, and of the place of a record.
const NUMBER: usize = 8;
/// The games use at most the memory divided by this number.
const GAMES_PART: usize = 8;
/// The records use at most the memory divided by this number.
const RECORDS_PART: usize = 2;
/// The records of one shard use at most the memory divided by this number.
const SHARD_PART: usize = 4;

impl ShardBuilder {
    /// A builder with its temporary files in `directory`.
    pub fn new(options: ShardOptions, directory: impl Into<PathBuf>) -> ShardBuilder {
        let directory = directory.into();
        let records = Sorter::new(&directory, options.memory_bytes / RECORDS_PART);
        let games = Sorter::new(&directory, options.memory_bytes / GAMES_PART);
        ShardBuilder { options, directory, records, games, key: Vec::new(), bytes: Vec::new() }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The temporary file cannot be created or written, or the record cannot be encoded.
    pub fn push(&mut self, record: &EpdRecord) -> Result<()> {
        self.bytes.clear();
        record::encode(record, &mut self.bytes)?;
        self.key.clear();
        self.key.extend_from_slice(&locality_key(record.position()).to_be_bytes());
        if self.options.add_tallies {
            let board = packed::encode(&record.position().identity());
            self.key.extend_from_slice(board.as_bytes());
        }
        self.key.extend_from_slice(&self.records.len().to_be_bytes());
        Ok(self.records.push(&self.key, &self.bytes)?)
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
    /// `ledger` has the settings and the counted games of the whole library. Returns the manifest. With
    /// [`ShardOptions::at_address`], the folder in object storage is written instead.
    ///
    /// # Errors
    /// A temporary file, a shard or the manifest cannot be written.
    pub fn finish(self, folder: &Path, ledger: Option<LedgerSum>) -> Result<Manifest> {
        if self.options.objects.is_some() {
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

    fn write(self, folder: &Path, ledger: Option<LedgerSum>) -> Result<Manifest> {
        let ShardBuilder { options, directory, records, games, .. } = self;
        let mut positions = Positions {
            entries: Grouped::new(records.finish()?, NUMBER),
            add_tallies: options.add_tallies,
            filter: options.filter.clone(),
            next: None,
        };
        // The ranges are known only when all records have been seen.
        let mut all = Sorter::new(&directory, options.memory_bytes / RECORDS_PART);
        let mut listed = Sorter::new(&directory, options.memory_bytes / GAMES_PART);
        let mut keys = KeySample::default();
        while let Some(PlacedRecord { key, place, record }) = positions.next_record()? {
            if !games.is_empty()
                && let Some(kept) = record::kept_games_of(&record)?
            {
                kept.games().iter().try_for_each(|game| listed.push(&game.id.0, &[]))?;
            }
            keys.push(key, if options.equal_bytes { record.len() as u64 } else { 1 });
            all.push(&[all.len(), key, place].map(u64::to_be_bytes).concat(), &record)?;
        }
        // Their memory is needed for the shards.
        drop(positions);
        let ranges = keys.ranges(options.shards.max(1));
        let writer = ShardsWriter { folder, options, ledger };
        let mut all = all.finish()?;
        all.next_entry()?;
        let mut shards = Vec::new();
        for (number, range) in (1..).zip(&ranges) {
            let name = format!("{number}-of-{}", ranges.len());
            let records =
                of_range(&mut all, range.1, &directory, writer.options.memory_bytes / SHARD_PART)?;
            shards.push(writer.shard(&name, *range, records)?);
        }
        writer.finish(Games::new(games, listed)?, shards)
    }
}

/// Takes the records with keys up to `last_key`, and brings them into the order in which they came.
fn of_range(
    all: &mut Sorted,
    last_key: u64,
    directory: &Path,
    memory_bytes: usize,
) -> Result<Sorted> {
    let mut records = Sorter::new(directory, memory_bytes);
    while let Some((numbers, record)) = all.current() {
        let numbers = numbers.get(NUMBER..).ok_or_else(changed)?;
        let (key, place) = numbers.split_at_checked(NUMBER).ok_or_else(changed)?;
        if number_of(key) > last_key {
            break;
        }
        records.push(place, record)?;
        all.next_entry()?;
    }
    Ok(records.finish()?)
}

fn number_of(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.first_chunk().copied().unwrap_or_default())
}

/// A record that is written, in its binary form.
struct PlacedRecord {
    key: u64,
    /// The place at which the record came, or the first of those that were merged into it.
    place: u64,
    record: Vec<u8>,
}

/// The records that are written, in the order of their keys.
struct Positions {
    entries: Grouped,
    add_tallies: bool,
    filter: Option<Arc<dyn Filter>>,
    /// The last record that was read, if it was not returned yet.
    next: Option<PlacedRecord>,
}

impl Positions {
    fn next_record(&mut self) -> Result<Option<PlacedRecord>> {
        loop {
            let Some(placed) = self.next_merged()? else { return Ok(None) };
            let Some(filter) = &self.filter else { return Ok(Some(placed)) };
            let place = Place::new("", At::Whole);
            if filter.takes(&record::decode(&placed.record)?.0, None, &place) {
                return Ok(Some(placed));
            }
        }
    }

    /// The next record, with the records of its position added if tallies are added.
    fn next_merged(&mut self) -> Result<Option<PlacedRecord>> {
        let mut sum = self.next.take();
        while let Some(entry) = self.entries.next_entry()? {
            let GroupedEntry { begins, group, suffix, payload } = entry;
            let next = || PlacedRecord {
                key: number_of(group),
                place: number_of(suffix),
                record: payload.to_vec(),
            };
            let Some(first) = &mut sum else {
                sum = Some(next());
                if self.add_tallies { continue } else { break }
            };
            let merged = if begins { None } else { merged_records(&first.record, payload)? };
            match merged {
                Some(both) => first.record = both,
                None => {
                    self.next = Some(next());
                    break;
                }
            }
        }
        Ok(sum)
    }
}

/// A sample of ascending keys at equal distances of their weights, which divides them into ranges.
#[derive(Default)]
struct KeySample {
    keys: Vec<u64>,
    /// The distance between two keys of the sample is two to this power.
    distance: u32,
    /// The sum of the weights so far.
    weight: u64,
}

impl KeySample {
    /// Maximum size of the sample.
    const MAX: usize = 1 << 20;

    fn push(&mut self, key: u64, weight: u64) {
        self.weight += weight;
        while (self.keys.len() as u64) << self.distance < self.weight {
            self.keys.push(key);
            if self.keys.len() == KeySample::MAX {
                let mut is_kept = false;
                self.keys.retain(|_| {
                    is_kept = !is_kept;
                    is_kept
                });
                self.distance += 1;
            }
        }
    }

    /// The lowest and the highest keys of up to `count` ranges of about the same weight. Records with one key are in
    /// one range.
    fn ranges(&self, count: u32) -> Vec<(u64, u64)> {
        let mut ranges = vec![(0, u64::MAX)];
        for number in 1..count as usize {
            let Some(&key) = self.keys.get(self.keys.len() * number / count as usize) else {
                break;
            };
            match ranges.last_mut() {
                Some((first, last)) if key > *first => *last = key - 1,
                _ => continue,
            }
            ranges.push((key, u64::MAX));
        }
        ranges
    }
}

/// The games that records list, in ascending order of ids.
struct Games {
    /// All games, and the ids that records list. Both ascend and may repeat.
    games: Sorted,
    listed: Sorted,
}

impl Games {
    fn new(games: Sorter, listed: Sorter) -> Result<Games> {
        Ok(Games { games: games.finish()?, listed: listed.finish()? })
    }

    /// Passes each game that is listed to `visit`, once. Returns their number.
    fn each(mut self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let mut count = 0;
        let mut last: Option<(GameId, Vec<u8>)> = None;
        while let Some((id, game)) = self.games.next_entry()? {
            let id = GameId(number_of(id).to_be_bytes());
            while self.listed.current().is_none_or(|(listed, _)| listed < &id.0[..]) {
                if self.listed.next_entry()?.is_none() {
                    return Ok(count);
                }
            }
            let is_listed = self.listed.current().is_some_and(|(listed, _)| listed == id.0);
            if !is_listed {
                continue;
            }
            if let Some((last_id, before)) = &last
                && *last_id == id
            {
                kept_game::check_same(id, [before, game]).map_err(Error::from_cause)?;
                continue;
            }
            visit(game)?;
            last = Some((id, game.to_vec()));
            count += 1;
        }
        Ok(count)
    }
}

/// Writes the files of a sharded archive.
struct ShardsWriter<'f> {
    folder: &'f Path,
    options: ShardOptions,
    /// The ledger of the whole library; `None` if the shards are not a library.
    ledger: Option<LedgerSum>,
}

impl ShardsWriter<'_> {
    /// Writes the records of a range.
    fn shard(
        &self,
        name: &str,
        (first_key, last_key): (u64, u64),
        mut records: Sorted,
    ) -> Result<Shard> {
        let mut writer = self.begin(name, self.options.pack())?;
        while let Some((_, record)) = records.next_entry()? {
            writer.push_encoded(record)?;
        }
        if let Some(LedgerSum { origin, .. }) = &self.ledger {
            writer.set_tally_ledger(ledger_of_shard(name, origin));
        }
        let records = writer.len();
        let GamesFile { file, bytes, blake3, footer } = self.end(name, writer)?;
        Ok(Shard { first_key, last_key, file, records, bytes, blake3, footer })
    }

    fn games(&mut self, games: Games) -> Result<Option<ShardedLibrary>> {
        let Some(LedgerSum { origin, games: counted, .. }) = self.ledger.take() else {
            return Ok(None);
        };
        let name = "games";
        let mut writer = self.begin(name, PackOptions::default())?;
        let digests = counted.is_some().then(GameDigests::default);
        writer.set_tally_ledger(TallyLedger { origin: origin.clone(), games: digests });
        if let Some(mut counted) = counted {
            counted.each(&mut |game: &GameDigest| Ok(writer.count_game(game)?))?;
        }
        let kept_games = games.each(&mut |game| Ok(writer.keep_game(game)?))?;
        let games = self.end(name, writer)?;
        Ok(Some(ShardedLibrary { origin, kept_games, games }))
    }

    fn begin(&self, name: &str, options: PackOptions) -> Result<ArchiveWriter<HashedFile>> {
        let file = HashedFile::create(&self.folder.join(format!("{name}.epa")))?;
        Ok(ArchiveWriter::new(file, options)?)
    }

    /// Completes a file, whose name then has the hash of its content.
    fn end(&self, name: &str, writer: ArchiveWriter<HashedFile>) -> Result<GamesFile> {
        let HashedFile { out, hash, bytes } = writer.finish()?;
        let blake3 = hash.finalize().to_hex();
        let file = format!("{name}-{}.epa", &blake3[..16]);
        let written = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        written.named_in_folder(&file).finish()?;
        let footer = Archive::open(self.folder.join(&file))?.fingerprint();
        self.store(&file)?;
        Ok(GamesFile { file, bytes, blake3: blake3.to_string(), footer })
    }

    fn list(&self, shards: &[Shard]) -> Result<ShardList> {
        let text = ShardList::text(shards);
        let list = ShardList::new(shards, &text);
        let mut file = NewFile::create(self.folder.join(&list.file))?;
        file.write_all(&text)?;
        file.finish()?;
        self.store(&list.file)?;
        Ok(list)
    }

    /// Moves a file from the folder into object storage, if the sharded archive is written there.
    fn store(&self, file: &str) -> Result<()> {
        if let Some(objects) = &self.options.objects {
            let place = self.folder.join(file);
            objects.store(file, &place)?;
            fs::remove_file(&place)?;
        }
        Ok(())
    }

    fn finish(mut self, games: Games, shards: Vec<Shard>) -> Result<Manifest> {
        let library = self.games(games)?;
        let ShardOptions { about, young_layers, .. } = &self.options;
        let manifest = if shards.len() > MAX_IN_MANIFEST {
            let lists = shards.chunks(LIST).map(|shards| self.list(shards));
            Manifest::of_lists(library, lists.collect::<Result<_>>()?)?
        } else {
            Manifest::new(library, shards)?
        };
        let mut manifest = manifest.with_about(about.clone());
        if !young_layers.is_empty() {
            manifest = manifest.with_young_layers(young_layers.clone())?;
        }
        let text = manifest.to_bytes();
        match &self.options.objects {
            Some(objects) => objects.publish(&text)?,
            None => {
                let mut file = NewFile::create(self.folder.join(MANIFEST))?;
                file.write_all(&text)?;
                file.finish()?;
            }
        }
        Ok(manifest)
    }
}

/// The ledger of a shard. A shard alone is not a complete library, so its ledger says that it is pruned.
fn ledger_of_shard(name: &str, origin: &TallyOrigin) -> TallyLedger {
    let pruned = Some(format!("shard {name}"));
    let origin = TallyOrigin { pruned, sources: Vec::new(), games: None, ..origin.clone() };
    TallyLedger { origin, games: None }
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

#[cfg(test)]
mod tests {
    use super::KeySample;

    #[test]
    fn ranges_have_equal_weights() {
        let mut keys = KeySample::default();
        // The first ten keys weigh as much as the other thousand.
        (0..10).for_each(|key| keys.push(key, 100));
        (10..1010).for_each(|key| keys.push(key, 1));
        assert_eq!(keys.ranges(4), [(0, 4), (5, 9), (10, 509), (510, u64::MAX)]);
        // A sample that is full is thinned out.
        let mut keys = KeySample::default();
        (0..100).for_each(|key| keys.push(key, KeySample::MAX as u64));
        assert!(keys.keys.len() < KeySample::MAX);
        assert_eq!(keys.ranges(2), [(0, 49), (50, u64::MAX)]);
    }
}
