//! A collection of records that is open: a store, an archive, a sharded archive, or a base and its delta. A base
//! and its delta are searched and read as one: the records of a position are merged.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::fs::{self, File};
use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use elsa::sync::FrozenVec;

use super::address::is_stream;
use super::delta::{DeltaPath, is_folded, merged_records, name_of, other_base};
use super::format::FileFormat;
use super::input::{self, Input};
use super::local::Local;
use super::lookup::sealed::Sealed;
use super::lookup::{
    Lookup, Match, Matches, NumberedRecord, ReadRecords, VisitMatch, VisitOnThreads,
};
use super::manifest::{Manifest, YoungLayer, invalid};
use super::shards::{ArchiveFolder, ShardReader, ShardedArchive, each_game_of, each_kept_game_of};
use super::stored::{self, ReadStored, Stored, VisitStored};
use epdb_archive::{About, Archive, ArchiveWriter, PackOptions};
use epdb_base::new_file::{OfFile, SpooledFile, file_identity};
use epdb_chess::codec::kept_game;
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::codec::record;
use epdb_chess::codec::tally_origin::copy_rank_of;
use epdb_chess::codec::tally_origin::{GameDigest, GameDigests, GameSet, TallyLedger, TallyOrigin};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::{Error, ErrorKind, Result};
use epdb_chess::model::{EpdRecord, Game, GameId, Opcode, StandardOpcode};
use epdb_store::{Reader, Store};

/// Numbers of records and games of a store or an archive.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct LibraryCounts {
    /// Number of all records.
    pub records: u64,
    /// Games that are kept for the positions that list them.
    pub kept_games: u64,
}

/// The summary that a library of tallies (counts of games and results per position) stores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LibrarySummary {
    /// Origin of the tallies of the library.
    pub origin: TallyOrigin,
    /// Number of games whose digests the library has; `None` if it keeps no digests.
    pub digests: Option<u64>,
    /// Numbers of records and kept games of the library.
    pub counts: LibraryCounts,
}

/// A store, an archive, a sharded archive, or a base and its delta, which are not open yet.
#[derive(Clone, Debug)]
pub enum CollectionFile {
    /// A store.
    Store(Local),
    /// An archive.
    Archive(Local),
    /// A sharded archive without young layers.
    Shards(ShardedArchive),
    /// A base and its delta, or a sharded archive with young layers.
    Layers(LayersFile),
}

/// Memory for the lookups in a library that is opened for its ledger or its games, in bytes.
const MEMORY: usize = 64 << 20;
/// A base gets one of this number of parts of the memory for lookups. There are at most two deltas.
const BASE_PART: usize = 2;
/// A delta, or a young layer, gets one of this number of parts.
const DELTA_PART: usize = 4;

impl CollectionFile {
    /// The collection at a path or an address; `None` for any other source.
    ///
    /// # Errors
    /// The file cannot be read or copied, or is a damaged manifest.
    pub(super) fn at(path: &Path) -> Result<Option<CollectionFile>> {
        if let Some(pair) = DeltaPath::parse(path) {
            return Ok(Some(CollectionFile::Layers(LayersFile::new(path, pair)?)));
        }
        let input = input::open(path, None)?;
        let format = FileFormat::from_source(input.name(path), &input.head, None);
        CollectionFile::of_input(path, input, format)
    }

    /// The collection with these bytes; `None` for bytes of another format.
    pub(super) fn of_input(
        path: &Path,
        input: Input,
        format: FileFormat,
    ) -> Result<Option<CollectionFile>> {
        Ok(match format {
            FileFormat::Epdb => Some(CollectionFile::Store(Local::new(path, input)?)),
            FileFormat::Epa => Some(CollectionFile::Archive(Local::new(path, input)?)),
            FileFormat::Shards => {
                Some(CollectionFile::of_shards(ShardedArchive::new(path, input)?))
            }
            _ => None,
        })
    }

    /// A sharded archive, with the young layers that its manifest may list.
    pub(super) fn of_shards(shards: ShardedArchive) -> CollectionFile {
        if shards.manifest().young_layers().is_empty() {
            CollectionFile::Shards(shards)
        } else {
            CollectionFile::Layers(LayersFile::of_manifest(shards))
        }
    }

    fn of_base(pair: &DeltaPath) -> Result<CollectionFile> {
        CollectionFile::at(&pair.base)?.ok_or_else(|| {
            Error::new("the base of a delta is an archive, a sharded archive or a store")
                .in_source(name_of(&pair.base))
        })
    }

    /// The format; that of the base for a base and its delta.
    pub(super) const fn format(&self) -> FileFormat {
        match self {
            CollectionFile::Store(_) => FileFormat::Epdb,
            CollectionFile::Archive(_) => FileFormat::Epa,
            CollectionFile::Shards(_) => FileFormat::Shards,
            CollectionFile::Layers(layers) => layers.format(),
        }
    }

    /// Size in bytes of the file, of the manifest and all shards, or of a base and its delta.
    ///
    /// # Errors
    /// The base cannot be opened.
    pub fn bytes(&self) -> Result<u64> {
        Ok(match self {
            CollectionFile::Store(local) | CollectionFile::Archive(local) => local.size(),
            CollectionFile::Shards(shards) => shards.size() + shards.manifest().bytes(),
            CollectionFile::Layers(layers) => layers.bytes()?,
        })
    }

    /// The sharded archive, with or without young layers; `None` for another collection.
    pub const fn manifest(&self) -> Option<&ShardedArchive> {
        match self {
            CollectionFile::Shards(shards) => Some(shards),
            CollectionFile::Layers(layers) => layers.manifest(),
            CollectionFile::Store(_) | CollectionFile::Archive(_) => None,
        }
    }

    /// Opens the library. Lookups use about `memory_bytes`.
    ///
    /// # Errors
    /// The file cannot be opened or is damaged. The error names it.
    pub fn open(self, memory_bytes: usize) -> Result<Collection> {
        match self {
            CollectionFile::Store(local) => Collection::from_store(local, memory_bytes),
            CollectionFile::Archive(local) => {
                Ok(Collection::of_archive(local.archive()?, local, memory_bytes))
            }
            CollectionFile::Shards(shards) => Ok(Collection::from_shards(shards, memory_bytes)),
            CollectionFile::Layers(file) => {
                let layers = file.layers(memory_bytes)?;
                Ok(Collection::from_layers(file, layers, memory_bytes))
            }
        }
    }

    /// Opens the library for what is left of its records.
    pub(super) fn open_cut(self, memory_bytes: usize) -> Result<Collection> {
        match self {
            CollectionFile::Archive(local) => {
                Ok(Collection::of_archive(local.cut_archive()?, local, memory_bytes))
            }
            whole => whole.open(memory_bytes),
        }
    }

    /// Opens the library for its ledger or its games.
    ///
    /// # Errors
    /// The errors of [`CollectionFile::open`].
    pub fn opened(&self) -> Result<Collection> {
        self.clone().open(MEMORY)
    }
}

/// An open store, archive or sharded archive, or a base and its delta ([`DeltaPath`]); its errors
/// name the file.
///
/// ```
/// use epdb_chess::model::Position;
/// use epdb_source::{Lookup, Collection};
/// use epdb_store::{ImportOptions, Store, StoreOptions};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("book.epdb");
/// let store = Store::create(&path, &StoreOptions::default())?;
/// let mut import = store.importer("by hand", &ImportOptions::default())?;
/// import.push(&epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
/// import.finish()?;
/// store.close()?;
///
/// let book = Collection::open(&path, 64 << 20)?;
/// assert!(book.record(0)?.is_some());
/// assert_eq!(book.matches(&(&Position::START).into()).count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Collection {
    name: Arc<str>,
    opened: Opened,
}

pub(super) fn no_collection(path: &Path) -> Error {
    Error::new("neither a store nor an archive").in_source(name_of(path))
}

enum Opened {
    Store(Box<OfFile<OpenStore>>),
    Archive {
        archive: Box<Archive>,
        /// The file, which may be a temporary copy.
        local: Local,
    },
    Shards(ShardReader),
    Layers(Box<LayersReader>),
}

struct OpenStore {
    reader: Box<Reader>,
    /// Has the copy that the reader maps if the store was not closed.
    _store: Store,
    /// The file, which may be a temporary copy.
    local: Local,
    /// The games that the tallies count, if a game was searched.
    games: OnceLock<GameDigests>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collection").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Collection {
    /// Opens a store, an archive, the manifest of a sharded archive, or a base and its delta
    /// ([`DeltaPath`]); `-` is standard input. A store or an archive may be compressed. Lookups use
    /// about `memory_bytes`.
    ///
    /// # Errors
    /// The file cannot be opened, or is something else. The error names it.
    pub fn open(path: impl AsRef<Path>, memory_bytes: usize) -> Result<Collection> {
        let path = path.as_ref();
        CollectionFile::at(path)?.ok_or_else(|| no_collection(path))?.open(memory_bytes)
    }

    /// False if another process has written to a store since it was opened here: then
    /// [`Collection::renewed`] has more. A writer does not reuse the space of the state that is open, so
    /// a program that keeps a collection for long should renew it.
    pub fn is_current(&self) -> bool {
        match &self.opened {
            Opened::Store(store) => store.reader.is_current(),
            Opened::Archive { .. } | Opened::Shards(_) => true,
            Opened::Layers(layers) => {
                layers.current().parts.iter().all(|(_, part)| part.is_current())
            }
        }
    }

    /// Opens the same files in their current state. Both collections share a base that did not change.
    ///
    /// # Errors
    /// The errors of [`Collection::open`].
    pub fn renewed(&self, memory_bytes: usize) -> Result<Collection> {
        let Opened::Layers(layers) = &self.opened else { return self.reopened(memory_bytes) };
        let next = layers.file.open(memory_bytes, Some(layers.current()))?;
        Ok(Collection::from_layers(layers.file.clone(), Arc::new(next), memory_bytes))
    }

    /// Opens the same file again, also if it is a temporary one, without any lock that a thread may hold. In
    /// a forked process, use this instead of the lookup of the parent process: the threads that hold its
    /// locks are not there.
    ///
    /// # Errors
    /// The errors of [`Collection::open`].
    pub fn reopened(&self, memory_bytes: usize) -> Result<Collection> {
        match &self.opened {
            Opened::Store(store) => Collection::from_store(store.local.clone(), memory_bytes),
            Opened::Archive { local, .. } => {
                CollectionFile::Archive(local.clone()).open(memory_bytes)
            }
            Opened::Shards(_) | Opened::Layers(_) => Collection::open(&*self.name, memory_bytes),
        }
    }

    /// Builds an archive in a temporary file, which `write` fills. `name` is the name of the
    /// archive in errors.
    ///
    /// # Errors
    /// Errors of `write` and of the file.
    pub fn built(
        name: &str,
        options: PackOptions,
        memory_bytes: usize,
        write: impl FnOnce(&mut ArchiveWriter<BufWriter<&mut File>>) -> Result<()>,
    ) -> Result<Collection> {
        let folder = std::env::temp_dir();
        let file = SpooledFile::fill(&folder, |file| {
            let mut writer = ArchiveWriter::new(BufWriter::new(file), options)?;
            write(&mut writer)?;
            Ok::<(), Error>(writer.finish()?.flush()?)
        });
        let file = file.map_err(|error| no_room_in(&folder, error))?;
        CollectionFile::Archive(Local::temporary(name.to_string(), file)).open(memory_bytes)
    }

    /// A collection of an open archive. `name` is its name in errors.
    pub fn from_archive(name: &str, archive: Archive, memory_bytes: usize) -> Collection {
        Collection::of_archive(archive, Local::opened(name), memory_bytes)
    }

    /// Reads the manifest of a sharded archive whose shards are opened by `folder`. `name` is the name of the
    /// manifest in errors.
    ///
    /// # Errors
    /// The manifest is damaged.
    pub fn from_manifest(
        name: &str,
        manifest: &[u8],
        folder: Arc<dyn ArchiveFolder>,
        memory_bytes: usize,
    ) -> Result<Collection> {
        let shards = ShardedArchive::in_folder(name, manifest, folder)?;
        if shards.manifest().young_layers().is_empty() {
            return Ok(Collection::from_shards(shards, memory_bytes));
        }
        let layers = Arc::new(Layers::of_manifest(&shards, memory_bytes)?);
        // The folder cannot be asked again, so a program for browsers is built without the code that opens files.
        Ok(Collection::of_layers(LayersFile::of_manifest(shards), layers, memory_bytes, None))
    }

    fn from_store(local: Local, memory_bytes: usize) -> Result<Collection> {
        let store = local.store(memory_bytes)?;
        let reader = Box::new(store.reader().map_err(|error| local.failed(error))?);
        let name = local.name().into();
        let opened = OpenStore { reader, _store: store, local, games: OnceLock::new() };
        let opened = Opened::Store(Box::new(OfFile::new(opened)));
        Ok(Collection { name, opened })
    }

    fn of_archive(archive: Archive, local: Local, memory_bytes: usize) -> Collection {
        let archive = Box::new(archive.memory_bytes(memory_bytes / 2));
        let name = local.name().into();
        Collection { name, opened: Opened::Archive { archive, local } }
    }

    fn from_shards(shards: ShardedArchive, memory_bytes: usize) -> Collection {
        let name = Arc::clone(shards.name());
        Collection { name, opened: Opened::Shards(ShardReader::new(shards, memory_bytes / 2)) }
    }

    fn from_layers(file: LayersFile, first: Arc<Layers>, memory_bytes: usize) -> Collection {
        Collection::of_layers(file, first, memory_bytes, Some(LayersFile::open))
    }

    fn of_layers(
        file: LayersFile,
        first: Arc<Layers>,
        memory_bytes: usize,
        open_again: Option<OpenLayers>,
    ) -> Collection {
        let name = Arc::clone(file.name());
        let later = FrozenVec::new();
        let reader = LayersReader { file, memory_bytes, first, later, open_again };
        Collection { name, opened: Opened::Layers(Box::new(reader)) }
    }

    /// The origin of the tallies; `None` if the source is not a library.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn tally_origin(&self) -> Result<Option<TallyOrigin>> {
        Ok(self.origin_and_digests()?.map(|(origin, _)| origin))
    }

    /// Facts about the data, if the source is an archive or a sharded archive.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn about(&self) -> Result<About> {
        match &self.opened {
            Opened::Archive { archive, .. } => {
                archive.about().map_err(|error| self.named(error.into()))
            }
            Opened::Shards(shards) => Ok(shards.current().manifest().about()),
            // A delta is a store, and has none.
            Opened::Layers(layers) => layers
                .current()
                .parts
                .first()
                .map_or_else(|| Ok(About::default()), |(_, base)| base.about()),
            Opened::Store(_) => Ok(About::default()),
        }
    }

    /// The origin of the tallies, and the number of games whose digests the source has.
    fn origin_and_digests(&self) -> Result<Option<(TallyOrigin, Option<u64>)>> {
        let with_games = |origin: TallyOrigin| {
            let games = origin.games.map(|games| games.games);
            (origin, games)
        };
        let origin = match &self.opened {
            Opened::Store(store) => store.reader.tally_origin().map_err(Error::from),
            Opened::Archive { archive, .. } => archive.tally_origin().map_err(Error::from),
            Opened::Shards(shards) => {
                let shards = shards.current();
                let library = shards.manifest().library();
                return Ok(library.map(|library| with_games(library.origin.clone())));
            }
            Opened::Layers(layers) => {
                return Ok(layers.current().origin.clone().map(with_games));
            }
        };
        origin.map_err(|error| self.named(error))
    }

    /// The summary that a library of tallies (counts of results) stores; `None` for any other source. The records
    /// are not read.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn summary(&self) -> Result<Option<LibrarySummary>> {
        let Some((origin, digests)) = self.origin_and_digests()? else { return Ok(None) };
        Ok(Some(LibrarySummary { origin, digests, counts: self.counts()? }))
    }

    /// The numbers of records and of kept games.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn counts(&self) -> Result<LibraryCounts> {
        if let Opened::Layers(layers) = &self.opened {
            return layers.current().counts();
        }
        Ok(LibraryCounts { records: self.len(), kept_games: self.kept_game_count()? })
    }

    /// The origin of the tallies and the games that they count; `None` if the source is not a library.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn tally_ledger(&self) -> Result<Option<TallyLedger>> {
        match &self.opened {
            Opened::Store(store) => {
                store.reader.tally_ledger().map_err(|error| self.named(error.into()))
            }
            _ => TallyLedger::collect(|insert| self.each_game(insert)),
        }
    }

    /// Calls `visit` with the digest of each game that the tallies count, in no order. Only the digests of a
    /// store are kept in memory. Returns the origin of the tallies, and true if the source has digests.
    ///
    /// # Errors
    /// Damage, errors of the system, and errors of `visit`.
    pub fn each_game(
        &self,
        visit: &mut dyn FnMut(&GameDigest) -> Result<()>,
    ) -> Result<Option<(TallyOrigin, bool)>> {
        match &self.opened {
            Opened::Store(_) => {
                let Some(TallyLedger { origin, games }) = self.tally_ledger()? else {
                    return Ok(None);
                };
                games.iter().flat_map(GameDigests::iter).try_for_each(|game| visit(&game))?;
                Ok(Some((origin, games.is_some())))
            }
            Opened::Archive { archive, local } => {
                let failed = |error| local.failed(error).in_source(local.name());
                each_game_of(archive, failed, visit)
            }
            Opened::Shards(shards) => shards.current().archive().each_game(visit),
            Opened::Layers(layers) => layers.current().each_game(visit),
        }
    }

    /// The copy rank with which a game counts; `None` if the library does not count it.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn copy_rank(&self, game: &GameDigest) -> Result<Option<u32>> {
        let found = match &self.opened {
            Opened::Store(store) => {
                let known = match store.games.get() {
                    Some(known) => known,
                    None => {
                        let read = self.tally_ledger()?.and_then(|ledger| ledger.games);
                        store.games.get_or_init(|| read.unwrap_or_default())
                    }
                };
                return Ok(known.copy_rank(game));
            }
            Opened::Archive { archive, .. } => archive.counted_game(game).map_err(Error::from),
            Opened::Shards(shards) => {
                return Ok(shards.current().counted_game(game)?.as_ref().map(copy_rank_of));
            }
            Opened::Layers(layers) => return layers.current().copy_rank(game),
        };
        Ok(found.map_err(|error| self.named(error))?.as_ref().map(copy_rank_of))
    }

    /// Calls `visit` with each game that is kept for the positions that list it, in ascending order of ids.
    ///
    /// # Errors
    /// Damage, errors of the system, and errors of `visit`.
    pub fn each_kept_game(&self, visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>) -> Result<()> {
        match &self.opened {
            Opened::Store(store) => store.reader.each_kept_game(&mut |id, game| visit(id, game)),
            Opened::Archive { archive, local } => {
                let failed = |error| local.failed(error).in_source(local.name());
                each_kept_game_of(archive, failed, visit)
            }
            Opened::Shards(shards) => shards.current().each_kept_game(visit),
            Opened::Layers(layers) => layers.current().each_kept_game(visit),
        }
    }

    /// Passes on all records in their order. Damage is skipped and passed on, or an error.
    pub(super) fn each<E: From<Error>>(
        &self,
        options: ReadStored<'_>,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        match &self.opened {
            Opened::Store(store) => {
                stored::each_of_store(&store.reader, &store.local, options, visit)
            }
            Opened::Archive { archive, local } => {
                stored::each_of_archive(archive, local, options, visit)
            }
            Opened::Shards(shards) => {
                stored::each_of_shards(shards.current().archive(), options, visit)
            }
            Opened::Layers(layers) => layers.current().each(options.skips_damage, visit),
        }
    }

    /// A number above those of all records.
    fn end_of_numbers(&self) -> u64 {
        match &self.opened {
            Opened::Store(store) => store.reader.next_import_number(),
            _ => self.len(),
        }
    }

    /// The name of the source.
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The kept game with an id; `None` if it is not kept.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn kept_game(&self, id: GameId) -> Result<Option<Game>> {
        let Some(bytes) = self.kept_game_bytes(id)? else { return Ok(None) };
        match kept_game::decode(&bytes) {
            Some(game) => Ok(Some(game)),
            None => Err(self.named(Error::new(format!("damaged: kept game {id} is not a game")))),
        }
    }

    /// Receives together what reading these games and about the first `first` games needs, if the source is at an
    /// address. Errors are found again by [`Collection::kept_game`] and [`Collection::each_kept_game`].
    pub fn prefetch_games(&self, ids: &[GameId], first: u64) {
        match &self.opened {
            Opened::Store(_) => {}
            Opened::Archive { archive, .. } => drop(archive.prefetch_games(ids, first)),
            Opened::Shards(shards) => drop(shards.current().prefetch_games(ids, first)),
            Opened::Layers(layers) => {
                layers.current().parts.iter().for_each(|(_, part)| part.prefetch_games(ids, first));
            }
        }
    }

    fn kept_game_bytes(&self, id: GameId) -> Result<Option<Vec<u8>>> {
        let bytes = match &self.opened {
            Opened::Store(store) => store.reader.kept_game(id).map_err(Error::from),
            Opened::Archive { archive, .. } => archive.kept_game(id).map_err(Error::from),
            Opened::Shards(shards) => shards.current().kept_game(id),
            Opened::Layers(layers) => return kept_game_of(&layers.current().parts, id),
        };
        bytes.map_err(|error| self.named(error))
    }

    /// Number of records. For a base and its delta, this is the sum of both numbers, even if
    /// records of one position are merged.
    pub fn len(&self) -> u64 {
        match &self.opened {
            Opened::Store(store) => store.reader.len(),
            Opened::Archive { archive, .. } => archive.len(),
            Opened::Shards(shards) => shards.current().manifest().records(),
            Opened::Layers(layers) => {
                layers.current().parts.iter().map(|(_, part)| part.len()).sum()
            }
        }
    }

    /// Whether the source has no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a position is found without reading all records. False only for an archive without
    /// an index.
    pub fn has_index(&self) -> bool {
        match &self.opened {
            Opened::Store(_) | Opened::Shards(_) => true,
            Opened::Archive { archive, .. } => archive.has_index(),
            Opened::Layers(layers) => {
                layers.current().parts.iter().all(|(_, part)| part.has_index())
            }
        }
    }

    /// True if a lookup may send requests to another machine. Then it may take as long as the
    /// other machine does not answer.
    pub fn is_remote(&self) -> bool {
        match &self.opened {
            Opened::Store(_) => false,
            Opened::Archive { archive, .. } => archive.is_remote(),
            Opened::Shards(shards) => shards.current().archive().is_remote(),
            Opened::Layers(layers) => {
                layers.current().parts.iter().any(|(_, part)| part.is_remote())
            }
        }
    }

    /// Number of games that are kept. If a base and its delta keep the same game, this game counts
    /// twice.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn kept_game_count(&self) -> Result<u64> {
        let count = match &self.opened {
            Opened::Store(store) => store.reader.kept_game_count().map_err(Error::from),
            Opened::Archive { archive, .. } => archive.kept_game_count().map_err(Error::from),
            Opened::Shards(shards) => {
                Ok(shards.current().manifest().library().map_or(0, |library| library.kept_games))
            }
            Opened::Layers(layers) => {
                return layers.current().parts.iter().map(|(_, it)| it.kept_game_count()).sum();
            }
        };
        count.map_err(|error| self.named(error))
    }

    fn lookup(&self) -> &dyn Lookup {
        match &self.opened {
            Opened::Store(store) => &*store.reader,
            Opened::Archive { archive, .. } => &**archive,
            Opened::Shards(shards) => shards,
            Opened::Layers(layers) => layers.current(),
        }
    }

    /// Adds the name of the source to the error of a record that was found.
    pub fn named(&self, error: Error) -> Error {
        match &self.opened {
            Opened::Store(store) => store.local.failed(error),
            // The parts name themselves.
            Opened::Layers(_) => error,
            Opened::Archive { .. } | Opened::Shards(_) => error.in_source(Arc::clone(&self.name)),
        }
    }
}

/// Names the folder of a temporary file in the error of a full disk.
fn no_room_in(folder: &Path, error: Error) -> Error {
    let kind = error.kind();
    match kind {
        ErrorKind::Io(StorageFull | QuotaExceeded | FileTooLarge) => {
            let what = format!(
                "no room for a temporary file in {}: make room there or name another folder with TMPDIR",
                folder.display()
            );
            Error::new(what).because(error).with_kind(kind)
        }
        _ => error,
    }
}

impl Sealed for Collection {
    fn visit_on_threads(&self, queries: &[Query], visit: &VisitOnThreads<'_>) -> Result<()> {
        self.lookup().visit_on_threads(queries, visit).map_err(|error| self.named(error))
    }
}

impl Lookup for Collection {
    fn matches(&self, query: &Query) -> Matches<'_> {
        self.lookup().matches(query)
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        self.lookup().get_batch(queries, visit).map_err(|error| self.named(error))
    }

    fn prefetch(&self, queries: &[Query]) {
        self.lookup().prefetch(queries);
    }

    fn record(&self, number: u64) -> Result<Option<EpdRecord>> {
        self.lookup().record(number).map_err(|error| self.named(error))
    }

    fn part_of(&self, query: &Query) -> usize {
        self.lookup().part_of(query)
    }

    fn reads_all(&self) -> bool {
        self.lookup().reads_all()
    }

    fn open_part(&self, part: usize) -> Result<()> {
        self.lookup().open_part(part).map_err(|error| self.named(error))
    }

    fn read_again(&self) -> Result<bool> {
        match &self.opened {
            Opened::Layers(layers) => layers.read_again(),
            _ => self.lookup().read_again(),
        }
    }
}

/// Layers, opened when they are needed. Clones share what is open.
#[derive(Clone)]
pub struct LayersFile {
    named: LayersNamed,
    opened: Arc<OnceLock<Arc<Layers>>>,
}

/// The source that names the files of layers.
#[derive(Clone)]
enum LayersNamed {
    /// A base and its delta.
    Pair { name: Arc<str>, pair: DeltaPath, format: FileFormat },
    /// A manifest that lists young layers.
    Manifest(ShardedArchive),
}

impl fmt::Debug for LayersFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayersFile").field("name", self.name()).finish_non_exhaustive()
    }
}

impl LayersFile {
    pub(super) fn new(name: &Path, pair: DeltaPath) -> Result<LayersFile> {
        if is_stream(&pair.base) {
            let what = "the base of a delta is read more than once: name a file, not a pipe";
            return Err(Error::new(what).in_source(name_of(&pair.base)));
        }
        let format = CollectionFile::of_base(&pair)?.format();
        let named = LayersNamed::Pair { name: name_of(name).into(), pair, format };
        Ok(LayersFile { named, opened: Arc::default() })
    }

    fn of_manifest(shards: ShardedArchive) -> LayersFile {
        LayersFile { named: LayersNamed::Manifest(shards), opened: Arc::default() }
    }

    const fn name(&self) -> &Arc<str> {
        match &self.named {
            LayersNamed::Pair { name, .. } => name,
            LayersNamed::Manifest(shards) => shards.name(),
        }
    }

    pub(super) const fn format(&self) -> FileFormat {
        match &self.named {
            LayersNamed::Pair { format, .. } => *format,
            LayersNamed::Manifest(_) => FileFormat::Shards,
        }
    }

    /// The sharded archive whose manifest lists the layers; `None` for a base and its delta.
    pub const fn manifest(&self) -> Option<&ShardedArchive> {
        match &self.named {
            LayersNamed::Pair { .. } => None,
            LayersNamed::Manifest(shards) => Some(shards),
        }
    }

    fn bytes(&self) -> Result<u64> {
        match &self.named {
            LayersNamed::Manifest(shards) => Ok(shards.size() + shards.manifest().bytes()),
            LayersNamed::Pair { pair, .. } => {
                let deltas = pair.deltas().into_iter().filter_map(|file| fs::metadata(file).ok());
                let of_deltas: u64 = deltas.map(|found| found.len()).sum();
                Ok(CollectionFile::of_base(pair)?.bytes()? + of_deltas)
            }
        }
    }

    /// Opens the layers in one state, or returns what is open. Lookups use about `memory_bytes`.
    fn layers(&self, memory_bytes: usize) -> Result<Arc<Layers>> {
        if let Some(opened) = self.opened.get() {
            return Ok(Arc::clone(opened));
        }
        let layers = Arc::new(match &self.named {
            LayersNamed::Pair { .. } => self.open(memory_bytes, None)?,
            LayersNamed::Manifest(shards) => Layers::of_manifest(shards, memory_bytes)?,
        });
        Ok(Arc::clone(self.opened.get_or_init(|| layers)))
    }

    /// Opens the layers in their current state. A base that did not change is shared with an earlier state.
    fn open(&self, memory_bytes: usize, earlier: Option<&Layers>) -> Result<Layers> {
        match &self.named {
            LayersNamed::Pair { name, pair, .. } => Layers::open(pair, memory_bytes, name, earlier),
            LayersNamed::Manifest(shards) => {
                let next = shards.read_again()?;
                Layers::of_manifest(next.as_ref().unwrap_or(shards), memory_bytes)
            }
        }
    }
}

/// A base or a delta, with the number of its first record.
type Part = (u64, Arc<Collection>);

/// A base and its deltas, or the shards and the young layers of a manifest, all open.
struct Layers {
    /// The base, then the deltas.
    parts: Vec<Part>,
    /// The origin of both, if the parts are libraries. Then the records of a position are merged, as
    /// `shard merge` merges them.
    origin: Option<TallyOrigin>,
    /// The files from which both were opened.
    state: DeltaState,
}

impl Layers {
    /// Opens a base and its delta in one state, with the base of an earlier state if it did not change.
    fn open(
        pair: &DeltaPath,
        memory_bytes: usize,
        name: &Arc<str>,
        earlier: Option<&Layers>,
    ) -> Result<Layers> {
        for _ in 0..MAX_TRIES {
            let state = DeltaState::read(pair)?;
            state.refuse_repeated().map_err(|error| error.in_source(Arc::clone(name)))?;
            let base = earlier.and_then(|earlier| earlier.base_in(&state));
            let opened = Layers::open_parts(pair, memory_bytes, base);
            // Looked at before `opened`: if the files changed meanwhile, an error may come from that.
            if DeltaState::read(pair)? != state {
                continue;
            }
            let (base, mut deltas) = opened?;
            if state.is_folding() && is_part_of(&deltas[0], &base)? {
                deltas.remove(0);
            }
            return Layers::new(base, deltas, state);
        }
        Err(Error::new("changes too fast to be opened").in_source(Arc::clone(name)))
    }

    fn of_manifest(shards: &ShardedArchive, memory_bytes: usize) -> Result<Layers> {
        let manifest = shards.manifest();
        let open = |layer: &YoungLayer| {
            let archive = shards.open_young(layer)?;
            let name = name_of(&shards.path(&layer.file)).into_owned();
            Ok(Collection::from_archive(&name, archive, memory_bytes / DELTA_PART))
        };
        // Every layer is tried, even after an error: in a browser, the first opening only finds out which files
        // are missing, and they are then received together.
        let opened: Vec<Result<Collection>> = manifest.young_layers().iter().map(open).collect();
        let young = opened.into_iter().collect::<Result<_>>()?;
        let base = Arc::new(Collection::from_shards(shards.clone(), memory_bytes / BASE_PART));
        let state = DeltaState { base: Some(manifest.clone()), files: Vec::new() };
        Layers::new(base, young, state)
    }

    /// The base, if it is the same in a later state.
    fn base_in(&self, state: &DeltaState) -> Option<Arc<Collection>> {
        let (_, base) = self.parts.first()?;
        (self.state.has_base_of(state) && base.is_current()).then(|| Arc::clone(base))
    }

    /// Opens the base, unless it is open, and the deltas that there are.
    fn open_parts(
        pair: &DeltaPath,
        memory_bytes: usize,
        base: Option<Arc<Collection>>,
    ) -> Result<(Arc<Collection>, Vec<Collection>)> {
        let base = match base {
            Some(base) => base,
            None => Arc::new(CollectionFile::of_base(pair)?.open(memory_bytes / BASE_PART)?),
        };
        let files = pair.deltas().into_iter().filter(|delta| delta.exists());
        let delta = |file| Collection::from_store(Local::open(file)?, memory_bytes / DELTA_PART);
        Ok((base, files.map(delta).collect::<Result<_>>()?))
    }

    /// # Errors
    /// A delta has other settings than the base, was counted against another base, or only one of
    /// both is a library.
    fn new(base: Arc<Collection>, deltas: Vec<Collection>, state: DeltaState) -> Result<Layers> {
        let mut origin = base.tally_origin()?;
        let mut parts = vec![(0, Arc::clone(&base))];
        let mut first = base.end_of_numbers();
        for delta in deltas {
            let theirs = delta.tally_origin()?;
            // A delta without records and origin is new.
            if !delta.is_empty() || theirs.is_some() {
                add_origin(&mut origin, theirs, base.name())
                    .map_err(|error| error.in_source(Arc::clone(delta.name())))?;
            }
            let next = first + delta.end_of_numbers();
            parts.push((first, Arc::new(delta)));
            first = next;
        }
        Ok(Layers { parts, origin, state })
    }

    fn records(&self, query: &Query) -> MergedRecords<'_> {
        let parts = self.parts.iter().map(|part| (part, part.1.matches(query)));
        MergedRecords { layers: self, parts: parts.collect(), next: None }
    }

    const fn adds_tallies(&self) -> bool {
        self.origin.is_some()
    }

    /// Looks up positions in each part. Breaks if `visit` ends the lookup.
    fn get_some(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<ControlFlow<()>> {
        let mut answers: Vec<Answer> = vec![Answer::default(); queries.len()];
        for (first, part) in &self.parts {
            let open: Vec<usize> = (0..queries.len()).filter(|it| !answers[*it].is_full).collect();
            let own: Vec<Query> = open.iter().map(|place| queries[*place]).collect();
            let mut is_ended = false;
            part.get_batch(&own, &mut |nth, found| {
                let place = open[nth];
                let answer = &mut answers[place];
                let flow = if self.adds_tallies() {
                    match self.next_of(answer, found.numbered(*first)?)? {
                        Some((number, record)) => visit(place, Match::of_bytes(number, &record))?,
                        None => ControlFlow::Continue(()),
                    }
                } else {
                    visit(place, found.after(*first))?
                };
                answer.is_full = flow.is_break();
                is_ended = flow == ControlFlow::Break(SkipTo::End);
                Ok(flow)
            })?;
            if is_ended {
                return Ok(ControlFlow::Break(()));
            }
        }
        let waiting = answers.into_iter().enumerate().filter(|(_, answer)| !answer.is_full);
        for (place, answer) in waiting {
            let Some((number, record)) = answer.waiting else { continue };
            self.refuse_unmatched(&record)?;
            let found = Match::of_bytes(number, &record);
            if visit(place, found)? == ControlFlow::Break(SkipTo::End) {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes the next record of a position. Returns the record before it, unless both are merged.
    fn next_of(&self, answer: &mut Answer, next: NumberedRecord) -> Result<Option<NumberedRecord>> {
        let Some(last) = &mut answer.waiting else {
            answer.waiting = Some(next);
            return Ok(None);
        };
        let Some(next) = self.merge(last, next)? else { return Ok(None) };
        let finished = std::mem::replace(last, next);
        self.refuse_unmatched(&finished.1)?;
        Ok(Some(finished))
    }

    /// Refuses a record that takes off games which no record before it counts.
    fn refuse_unmatched(&self, record: &[u8]) -> Result<()> {
        let number = Opcode::TALLY_LESS.standard().map_or(0, StandardOpcode::number);
        // Only a record with this byte can have the operation. Most records need no decoding.
        if !record.contains(&number)
            || record::decode(record)?.0.operands(Opcode::TALLY_LESS).is_none()
        {
            return Ok(());
        }
        Err(self.unmatched())
    }

    fn unmatched(&self) -> Error {
        let delta = self.parts.last().map(|(_, delta)| Arc::clone(delta.name()));
        let what = "takes off games that its base does not count: damaged, or the delta of another library";
        delta.into_iter().fold(invalid(what), Error::in_source)
    }

    /// Merges a record into the previous record, or returns the record.
    fn merge(
        &self,
        last: &mut NumberedRecord,
        next: NumberedRecord,
    ) -> Result<Option<NumberedRecord>> {
        if self.adds_tallies()
            && let Some(merged) = merged_records(&last.1, &next.1)?
        {
            last.1 = merged;
            return Ok(None);
        }
        Ok(Some(next))
    }

    /// Passes on all records: those of the base, then those of each delta. Records that are merged have the place
    /// of the first of them.
    pub(super) fn each<E: From<Error>>(
        &self,
        skips_damage: bool,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let mut read = 0;
        for place in 0..self.parts.len() {
            if self.each_of_part(place, skips_damage, &mut read, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Passes on the records of a part that are not merged into those of the parts before it. `read` counts the
    /// records that were passed on.
    fn each_of_part<E: From<Error>>(
        &self,
        place: usize,
        skips_damage: bool,
        read: &mut u64,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let mut records = Vec::new();
        // A filter decides after the records of all parts are merged.
        let options = ReadStored { skips_damage, filter: None };
        let flow = self.parts[place].1.each(options, &mut |stored| match stored {
            Stored::Record { number, record, .. } => {
                records.push((number, record));
                if records.len() < READ_TOGETHER {
                    Ok(ControlFlow::Continue(()))
                } else {
                    self.pass_on(place, &mut records, read, visit)
                }
            }
            other => visit(other),
        })?;
        match flow {
            ControlFlow::Continue(()) => self.pass_on(place, &mut records, read, visit),
            ControlFlow::Break(()) => Ok(flow),
        }
    }

    /// Passes on some records of a part. `read` counts the records that were passed on.
    fn pass_on<E: From<Error>>(
        &self,
        place: usize,
        records: &mut Vec<(u64, EpdRecord)>,
        read: &mut u64,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let first = self.parts[place].0;
        let is_shared = self.shared(place, records)?;
        for ((number, record), is_shared) in records.drain(..).zip(is_shared) {
            let number = first + number;
            let record = if is_shared {
                match self.record_of(number, &record.position().into())? {
                    Some((own, merged)) if own == number => {
                        record::decode(&merged).map_err(Error::from)?.0
                    }
                    _ => continue,
                }
            } else if place > 0 && record.operands(Opcode::TALLY_LESS).is_some() {
                return Err(self.unmatched().into());
            } else {
                record
            };
            *read += 1;
            if visit(Stored::Record { number, nth: *read, record, raw: &[] })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether other parts have records of the positions of these records of a part, with which they are merged.
    fn shared(&self, place: usize, records: &[(u64, EpdRecord)]) -> Result<Vec<bool>> {
        let mut is_shared = vec![false; records.len()];
        if !self.adds_tallies() {
            return Ok(is_shared);
        }
        let queries: Vec<Query> =
            records.iter().map(|(_, record)| record.position().into()).collect();
        for (other, (_, part)) in self.parts.iter().enumerate() {
            if other != place {
                part.get_batch(&queries, &mut |nth, _| {
                    is_shared[nth] = true;
                    Ok(ControlFlow::Break(SkipTo::NextQuery))
                })?;
            }
        }
        Ok(is_shared)
    }

    /// The record of a position with a number, or the one before it, into which it is merged. A merged record has
    /// the number of its first record.
    fn record_of(&self, number: u64, query: &Query) -> Result<Option<NumberedRecord>> {
        let mut found = None;
        let mut records = self.records(query);
        while let Some(next) = records.next_record().transpose()? {
            if next.0 > number {
                break;
            }
            found = Some(next);
        }
        Ok(found)
    }

    /// The numbers of records and of kept games. Only the records of deltas are read.
    fn counts(&self) -> Result<LibraryCounts> {
        let Some(((_, base), deltas)) = self.parts.split_first() else {
            return Ok(LibraryCounts::default());
        };
        let LibraryCounts { mut records, mut kept_games } = base.counts()?;
        for place in 1..self.parts.len() {
            let skips_damage = false;
            let pass = &mut |_: Stored<'_>| Ok::<_, Error>(ControlFlow::Continue(()));
            // Only `records` counts here: `pass` never breaks.
            let _ = self.each_of_part(place, skips_damage, &mut records, pass)?;
        }
        for id in kept_ids(deltas)? {
            kept_games += u64::from(base.kept_game_bytes(id)?.is_none());
        }
        Ok(LibraryCounts { records, kept_games })
    }

    /// Calls `visit` with the digest of each game; see [`Collection::each_game`]. A game of several parts has its
    /// highest copy rank.
    fn each_game(
        &self,
        visit: &mut dyn FnMut(&GameDigest) -> Result<()>,
    ) -> Result<Option<(TallyOrigin, bool)>> {
        let Some(origin) = &self.origin else { return Ok(None) };
        let Some(((_, base), deltas)) = self.parts.split_first() else { return Ok(None) };
        let mut later = GameDigests::default();
        for (_, delta) in deltas {
            delta.each_game(&mut |game| {
                later.insert(*game);
                Ok(())
            })?;
        }
        let mut games = GameSet::default();
        let mut count_and_visit = |game: &GameDigest| {
            games.add(game);
            visit(game)
        };
        let base_ledger = base.each_game(&mut |game| {
            if later.contains(game) { Ok(()) } else { count_and_visit(game) }
        })?;
        later.iter().try_for_each(|game| count_and_visit(&game))?;
        let has_games = base_ledger.is_some_and(|(_, has_games)| has_games);
        if has_games && Some(games) != origin.games {
            let what = "the games of base and delta are not those that the delta was counted with";
            return Err(invalid(what).in_source(Arc::clone(base.name())));
        }
        Ok(Some((origin.clone(), has_games)))
    }

    /// The highest copy rank with which a part counts a game.
    fn copy_rank(&self, game: &GameDigest) -> Result<Option<u32>> {
        let mut ranks = self.parts.iter().map(|(_, part)| part.copy_rank(game));
        ranks.try_fold(None, |highest, rank| Ok(highest.max(rank?)))
    }

    /// Calls `visit` with each kept game, in ascending order of ids. The first part that has a game decides.
    fn each_kept_game(&self, visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>) -> Result<()> {
        let Some(((_, base), deltas)) = self.parts.split_first() else { return Ok(()) };
        let mut later = kept_ids(deltas)?;
        base.each_kept_game(&mut |id, game| {
            while let Some(&first) = later.first()
                && first <= id
            {
                later.remove(&first);
                if first < id {
                    visit_kept_game(deltas, first, visit)?;
                }
            }
            visit(id, game)
        })?;
        later.into_iter().try_for_each(|id| visit_kept_game(deltas, id, visit))
    }
}

/// The ids of the games that some parts keep.
fn kept_ids(parts: &[Part]) -> Result<BTreeSet<GameId>> {
    let mut ids = BTreeSet::new();
    for (_, part) in parts {
        part.each_kept_game(&mut |id, _| {
            ids.insert(id);
            Ok(())
        })?;
    }
    Ok(ids)
}

/// The kept game with an id, from the first part that has it.
fn kept_game_of(parts: &[Part], id: GameId) -> Result<Option<Vec<u8>>> {
    parts.iter().find_map(|(_, part)| part.kept_game_bytes(id).transpose()).transpose()
}

/// Calls `visit` with the kept game with an id, from the first part that has it.
fn visit_kept_game(
    parts: &[Part],
    id: GameId,
    visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>,
) -> Result<()> {
    match kept_game_of(parts, id)? {
        Some(game) => visit(id, &game),
        None => Ok(()),
    }
}

fn add_origin(
    origin: &mut Option<TallyOrigin>,
    theirs: Option<TallyOrigin>,
    base: &str,
) -> Result<()> {
    if settings_of(origin) != settings_of(&theirs) {
        let kind = |origin| match settings_of(origin) {
            Some(settings) => format!("is a library built with `{settings}`"),
            None => "is not a library".to_string(),
        };
        let message = format!("{}, and the base {base} {}", kind(&theirs), kind(origin));
        return Err(Error::new(message));
    }
    let (Some(origin), Some(theirs)) = (origin, theirs) else { return Ok(()) };
    let Some(delta) = theirs.delta else {
        return Err(Error::new(format!(
            "is a library of its own, not the delta of {base}: count its games into a new store by `epdb import \
             STORE GAMES --tally --base {base}`"
        )));
    };
    let base_games = origin.games.unwrap_or_default();
    if base_games != delta.base {
        return Err(other_base(delta.base, base_games));
    }
    origin.games = Some(delta.both);
    theirs.sources.into_iter().for_each(|it| origin.add_source(it));
    Ok(())
}

fn settings_of(origin: &Option<TallyOrigin>) -> Option<&TallySettings> {
    origin.as_ref().map(|origin| &origin.settings)
}

/// Number of records of a part that are read before their positions are looked up in the other parts.
const READ_TOGETHER: usize = 1024;

/// The state of the lookup of a position in a base and its delta.
#[derive(Clone, Default)]
struct Answer {
    /// The record that was read last. Later records may be merged into it.
    waiting: Option<NumberedRecord>,
    /// True if the caller has enough records.
    is_full: bool,
}

/// The records of a position in a base and its delta.
struct MergedRecords<'l> {
    layers: &'l Layers,
    /// The parts that were not read to their ends.
    parts: VecDeque<(&'l Part, Matches<'l>)>,
    /// The record that was read last and not returned yet.
    next: Option<NumberedRecord>,
}

impl ReadRecords for MergedRecords<'_> {
    fn next_record(&mut self) -> Option<Result<NumberedRecord>> {
        let merged = self.next_merged();
        if merged.is_err() {
            self.parts.clear();
        }
        merged.transpose()
    }
}

impl MergedRecords<'_> {
    fn next_merged(&mut self) -> Result<Option<NumberedRecord>> {
        let mut sum = self.next.take();
        while let Some(next) = self.read()? {
            let Some(last) = &mut sum else {
                sum = Some(next);
                continue;
            };
            self.next = self.layers.merge(last, next)?;
            if self.next.is_some() {
                break;
            }
        }
        if let Some((_, record)) = &sum
            && self.layers.adds_tallies()
        {
            self.layers.refuse_unmatched(record)?;
        }
        Ok(sum)
    }

    fn read(&mut self) -> Result<Option<NumberedRecord>> {
        while let Some(((first, part), matches)) = self.parts.front_mut() {
            if let Some(found) = matches.next_match() {
                let record = found.and_then(|found| found.numbered(*first));
                return record.map(Some).map_err(|error| part.named(error));
            }
            self.parts.pop_front();
        }
        Ok(None)
    }
}

/// Number of positions that are looked up together in a library and its delta.
const BATCH: usize = 256;

impl Sealed for Layers {
    /// On one thread, because a record may be merged with those of other parts.
    fn visit_on_threads(&self, queries: &[Query], visit: &VisitOnThreads<'_>) -> Result<()> {
        self.get_batch(queries, &mut |place, found| visit(place, found).map(ControlFlow::Continue))
    }
}

impl Lookup for Layers {
    fn matches(&self, query: &Query) -> Matches<'_> {
        Matches::read_by(self.records(query))
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        // The last record of each position waits for one to merge with.
        let batch = if self.adds_tallies() { BATCH } else { queries.len().max(1) };
        for (nth, queries) in queries.chunks(batch).enumerate() {
            let mut visit_one = |place, found: Match<'_>| visit(nth * batch + place, found);
            if self.get_some(queries, &mut visit_one)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn prefetch(&self, queries: &[Query]) {
        self.parts.iter().for_each(|(_, part)| part.prefetch(queries));
    }

    fn part_of(&self, query: &Query) -> usize {
        self.parts.first().map_or(0, |(_, base)| base.part_of(query))
    }

    fn open_part(&self, part: usize) -> Result<()> {
        match self.parts.first() {
            Some((_, base)) => base.open_part(part),
            None => Ok(()),
        }
    }

    fn record(&self, number: u64) -> Result<Option<EpdRecord>> {
        let is_before = |(first, _): &&Part| *first <= number;
        let Some((first, part)) = self.parts.iter().rfind(is_before) else { return Ok(None) };
        let Some(record) = part.record(number - first)? else { return Ok(None) };
        if !self.adds_tallies() {
            return Ok(Some(record));
        }
        match self.record_of(number, &record.position().into())? {
            Some((_, merged)) => Ok(Some(record::decode(&merged)?.0)),
            None => Ok(None),
        }
    }
}

/// Layers, which are opened again after a fold or when their manifest was replaced.
struct LayersReader {
    file: LayersFile,
    memory_bytes: usize,
    first: Arc<Layers>,
    /// The states that were opened later. All stay open, because lookups may read them.
    later: FrozenVec<Box<Layers>>,
    /// Opens the layers in their current state; `None` if they stay as they were opened.
    open_again: Option<OpenLayers>,
}

/// [`LayersFile::open`].
type OpenLayers = fn(&LayersFile, usize, Option<&Layers>) -> Result<Layers>;

impl LayersReader {
    fn current(&self) -> &Layers {
        let last = self.later.len().checked_sub(1);
        last.and_then(|last| self.later.get(last)).unwrap_or(&self.first)
    }

    /// Opens both again. Returns true if a file was replaced since they were opened.
    fn read_again(&self) -> Result<bool> {
        let Some(open_again) = self.open_again else { return Ok(false) };
        let next = open_again(&self.file, self.memory_bytes, Some(self.current()))?;
        if next.state == self.current().state {
            return Ok(false);
        }
        self.later.push(Box::new(next));
        Ok(true)
    }
}

/// Maximum number of attempts to open a base and its delta while a fold changes both.
const MAX_TRIES: usize = 20;

/// The files of a base and its delta, without the content of the deltas. Two equal states before and
/// after reading show that no fold went on meanwhile.
#[derive(PartialEq)]
struct DeltaState {
    base: Option<Manifest>,
    /// Identities of all files, which are those of the base and then those of
    /// [`DeltaPath::deltas`]; `None` for a file that is missing.
    files: Vec<Option<(u64, u64)>>,
}

impl DeltaState {
    fn read(pair: &DeltaPath) -> Result<DeltaState> {
        let base = CollectionFile::of_base(pair)?.manifest().map(|it| it.manifest().clone());
        let identity = |file: PathBuf| fs::metadata(file).ok().map(|found| file_identity(&found));
        Ok(DeltaState { base, files: pair.files().into_iter().map(identity).collect() })
    }

    fn has_base_of(&self, other: &DeltaState) -> bool {
        // The last two files are the deltas; see `DeltaPath::files`.
        let base_files = self.files.len().saturating_sub(2);
        self.base == other.base && self.files.get(..base_files) == other.files.get(..base_files)
    }

    /// True if a delta is being folded.
    fn is_folding(&self) -> bool {
        self.files.iter().rev().nth(1).is_some_and(Option::is_some)
    }

    /// Refuses a file that is named twice.
    fn refuse_repeated(&self) -> Result<()> {
        let mut files: Vec<_> = self.files.iter().flatten().collect();
        files.sort_unstable();
        if files.array_windows::<2>().any(|[one, next]| one == next) {
            Err(Error::new("names one file twice: its records would count twice"))
        } else {
            Ok(())
        }
    }
}

/// True if the base has the games of a delta that is being folded.
fn is_part_of(delta: &Collection, base: &Collection) -> Result<bool> {
    let Some(folding) = delta.tally_origin()?.and_then(|origin| origin.delta) else {
        return Ok(false);
    };
    let games = base.tally_origin()?.and_then(|origin| origin.games).unwrap_or_default();
    is_folded(games, folding).map_err(|error| error.in_source(Arc::clone(delta.name())))
}
