//! A collection of records that is open: a store, an archive, a sharded archive, or a base and its delta.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

#[cfg(feature = "server")]
use super::address::is_address;
use super::binary::{self, VisitStored};
use super::item::{Summary, VisitItem};
use super::layers::{LayersFile, LayersReader};
use super::local::{Local, no_room_in};
use super::lookup::{Lookup, Matches, VisitMatch};
use super::open::Source;
use super::options::SourceOptions;
use super::shards::{ShardReader, ShardedArchive, each_game_of, each_kept_game_of};
use crate::archive::{Archive, ArchiveWriter, PackOptions};
use crate::codec::kept_game;
use crate::codec::query::Query;
#[cfg(feature = "library")]
use crate::codec::tally_origin::copy_rank_of;
use crate::codec::tally_origin::{GameDigest, GameDigests, TallyLedger, TallyOrigin};
use crate::error::{Error, Result};
use crate::model::{EpdRecord, Game, GameId};
use crate::new_file::SpooledFile;
use crate::store::{Reader, Store};

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
    /// A sharded archive.
    Shards(ShardedArchive),
    /// A base and its delta.
    Layers(LayersFile),
}

/// Memory for the lookups in a library that is opened for its ledger or its games, in bytes.
const MEMORY: usize = 64 << 20;
/// Memory for reading all records of an archive, in bytes.
const READ_MEMORY: usize = 512 << 20;

impl CollectionFile {
    /// Opens the library. Lookups use about `memory_bytes`.
    ///
    /// # Errors
    /// The file cannot be opened or is damaged. The error names it.
    pub fn open(self, memory_bytes: usize) -> Result<Collection> {
        match self {
            CollectionFile::Store(local) => Collection::from_store(local, memory_bytes),
            CollectionFile::Archive(local) => Collection::from_archive(local, memory_bytes),
            CollectionFile::Shards(shards) => Ok(Collection::from_shards(shards, memory_bytes)),
            CollectionFile::Layers(layers) => Collection::from_layers(layers, memory_bytes),
        }
    }

    /// Opens the library for its ledger or its games.
    ///
    /// # Errors
    /// The errors of [`CollectionFile::open`].
    pub fn opened(&self) -> Result<Collection> {
        self.clone().open(MEMORY)
    }

    pub(super) fn read<E: From<Error>>(
        self,
        options: &SourceOptions,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<Summary, E> {
        // The cache of a store is what it is given. An archive needs its models.
        let memory_bytes = match self {
            CollectionFile::Store(_) => options.memory_bytes,
            _ => options.memory_bytes.max(READ_MEMORY),
        };
        let library = self.open(memory_bytes)?;
        binary::read(&library, library.bytes(), options, visit)
    }
}

/// An open store, archive or sharded archive, or a base and its delta ([`DeltaPath`]); its errors
/// name the file.
///
/// ```
/// use epdb::model::Position;
/// use epdb::source::{Lookup, Collection};
/// use epdb::store::{ImportOptions, Store, StoreOptions};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("book.epdb");
/// let store = Store::create(&path, &StoreOptions::new())?;
/// let mut import = store.importer("by hand", &ImportOptions::new())?;
/// import.push(&epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
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

enum Opened {
    Store {
        reader: Box<Reader>,
        /// The reader needs the store to stay open.
        store: Store,
        /// The file, which may be a temporary copy.
        local: Local,
        /// The games that the tallies count, if a game was searched.
        games: OnceLock<GameDigests>,
    },
    Archive {
        archive: Box<Archive>,
        /// The file, which may be a temporary copy.
        local: Local,
    },
    Shards(ShardReader),
    Layers(Box<LayersReader>),
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
        Collection::new(Source::open(path, &SourceOptions::new())?, memory_bytes)
    }

    /// Does the same as [`Collection::open`], for a source that is already open.
    ///
    /// # Errors
    /// The errors of [`Collection::open`].
    pub fn new(source: Source, memory_bytes: usize) -> Result<Collection> {
        let name = Arc::clone(source.name());
        match source.into_collection() {
            Some(library) => library.open(memory_bytes),
            None => Err(Error::new("neither a store nor an archive").in_source(name)),
        }
    }

    /// Opens the same file again, also if it is a temporary one, without any lock that a thread may hold. In
    /// a forked process, use this instead of the lookup of the parent process: the threads that hold its
    /// locks are not there.
    ///
    /// # Errors
    /// The errors of [`Collection::open`].
    pub fn reopened(&self, memory_bytes: usize) -> Result<Collection> {
        match &self.opened {
            Opened::Store { local, .. } => Collection::from_store(local.clone(), memory_bytes),
            Opened::Archive { local, .. } => Collection::from_archive(local.clone(), memory_bytes),
            Opened::Shards(_) | Opened::Layers(_) => Collection::open(&*self.name, memory_bytes),
        }
    }

    /// Opens a copy of the last commit of a store, so that the store stays free for a writer.
    ///
    /// # Errors
    /// The store cannot be copied or opened.
    pub fn snapshot(path: impl AsRef<Path>, memory_bytes: usize) -> Result<Collection> {
        Collection::from_store(Local::snapshot(path)?, memory_bytes)
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
        Collection::from_archive(Local::temporary(name.to_string(), file), memory_bytes)
    }

    pub(super) fn from_store(local: Local, memory_bytes: usize) -> Result<Collection> {
        let store = local.store(memory_bytes)?;
        let reader = Box::new(store.reader().map_err(|error| local.failed(error))?);
        let name = local.name().into();
        let games = OnceLock::new();
        Ok(Collection { name, opened: Opened::Store { reader, store, local, games } })
    }

    pub(super) fn from_archive(local: Local, memory_bytes: usize) -> Result<Collection> {
        let archive = Box::new(local.archive()?.memory_bytes(memory_bytes / 2));
        let name = local.name().into();
        Ok(Collection { name, opened: Opened::Archive { archive, local } })
    }

    pub(super) fn from_shards(shards: ShardedArchive, memory_bytes: usize) -> Collection {
        let name = Arc::clone(shards.name());
        Collection { name, opened: Opened::Shards(ShardReader::new(shards, memory_bytes / 2)) }
    }

    pub(super) fn from_layers(layers: LayersFile, memory_bytes: usize) -> Result<Collection> {
        let reader = layers.reader(memory_bytes)?;
        let name = Arc::clone(reader.name());
        Ok(Collection { name, opened: Opened::Layers(Box::new(reader)) })
    }

    /// The origin of the tallies; `None` if the source is not a library.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn tally_origin(&self) -> Result<Option<TallyOrigin>> {
        Ok(self.origin_and_digests()?.map(|(origin, _)| origin))
    }

    /// The origin of the tallies, and the number of games whose digests the source has.
    fn origin_and_digests(&self) -> Result<Option<(TallyOrigin, Option<u64>)>> {
        let with_games = |origin: TallyOrigin| {
            let games = origin.games.map(|games| games.games);
            (origin, games)
        };
        let origin = match &self.opened {
            Opened::Store { store, .. } => store.tally_origin().map_err(Error::from),
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

    /// What a library of tallies (counts of results) says about itself; `None` for any other source. The records
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
            Opened::Store { store, .. } => {
                store.tally_ledger().map_err(|error| self.named(error.into()))
            }
            _ => TallyLedger::collect(|insert| self.each_game(insert)),
        }
    }

    /// Calls `visit` with the digest of each game that the tallies count, in no order. Only the digests of a
    /// store are kept in memory. Returns the origin of the tallies, and true if the source has digests.
    ///
    /// # Errors
    /// Damage, errors of the system, and errors of `visit`.
    pub(crate) fn each_game(
        &self,
        visit: &mut dyn FnMut(&GameDigest) -> Result<()>,
    ) -> Result<Option<(TallyOrigin, bool)>> {
        match &self.opened {
            Opened::Store { .. } => {
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
    #[cfg(feature = "library")]
    pub(crate) fn copy_rank(&self, game: &GameDigest) -> Result<Option<u32>> {
        let found = match &self.opened {
            Opened::Store { games, .. } => {
                let known = match games.get() {
                    Some(known) => known,
                    None => {
                        let read = self.tally_ledger()?.and_then(|ledger| ledger.games);
                        games.get_or_init(|| read.unwrap_or_default())
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
            Opened::Store { reader, .. } => reader.each_kept_game(&mut |id, game| visit(id, game)),
            Opened::Archive { archive, local } => {
                let failed = |error| local.failed(error).in_source(local.name());
                each_kept_game_of(archive, failed, visit)
            }
            Opened::Shards(shards) => shards.current().archive().each_kept_game(visit),
            Opened::Layers(layers) => layers.current().each_kept_game(visit),
        }
    }

    /// Passes on all records in their order. Damage is skipped and passed on, or an error.
    pub(super) fn each<E: From<Error>>(
        &self,
        skips_damage: bool,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        match &self.opened {
            Opened::Store { reader, local, .. } => binary::each_of_store(reader, local, visit),
            Opened::Archive { archive, local } => {
                binary::each_of_archive(archive, local, skips_damage, visit)
            }
            Opened::Shards(shards) => {
                binary::each_of_shards(shards.current().archive(), skips_damage, visit)
            }
            Opened::Layers(layers) => layers.current().each(skips_damage, visit),
        }
    }

    /// Size in bytes of the file, of the manifest and all shards, or of a base and its delta.
    pub fn bytes(&self) -> u64 {
        match &self.opened {
            Opened::Store { local, .. } | Opened::Archive { local, .. } => local.size(),
            Opened::Shards(shards) => {
                let shards = shards.current();
                shards.archive().size() + shards.manifest().bytes()
            }
            Opened::Layers(layers) => {
                layers.current().parts.iter().map(|(_, part)| part.bytes()).sum()
            }
        }
    }

    /// A number above those of all records.
    pub(super) fn end_of_numbers(&self) -> Result<u64> {
        match &self.opened {
            Opened::Store { reader, .. } => Ok(reader.stats()?.next_import_number),
            _ => Ok(self.len()),
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
        let no_game = || self.named(Error::new(format!("damaged: kept game {id} is not a game")));
        kept_game::decode(&bytes).map(Some).ok_or_else(no_game)
    }

    /// The kept game with an id, as it is stored.
    pub(super) fn kept_game_bytes(&self, id: GameId) -> Result<Option<Vec<u8>>> {
        let bytes = match &self.opened {
            Opened::Store { reader, .. } => reader.kept_game(id).map_err(Error::from),
            Opened::Archive { archive, .. } => archive.kept_game(id).map_err(Error::from),
            Opened::Shards(shards) => shards.current().kept_game(id),
            Opened::Layers(layers) => {
                let mut parts = layers.current().parts.iter();
                return parts
                    .find_map(|(_, part)| part.kept_game_bytes(id).transpose())
                    .transpose();
            }
        };
        bytes.map_err(|error| self.named(error))
    }

    /// Number of records. For a base and its delta, this is the sum of both numbers, even if
    /// records of one position are merged.
    pub fn len(&self) -> u64 {
        match &self.opened {
            Opened::Store { reader, .. } => reader.len(),
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
            Opened::Store { .. } | Opened::Shards(_) => true,
            Opened::Archive { archive, .. } => archive.has_index(),
            Opened::Layers(layers) => {
                layers.current().parts.iter().all(|(_, part)| part.has_index())
            }
        }
    }

    /// True if a lookup may send requests to another machine. Then it may take as long as the
    /// other machine does not answer.
    #[cfg(feature = "server")]
    pub(crate) fn is_remote(&self) -> bool {
        match &self.opened {
            Opened::Store { .. } => false,
            Opened::Archive { archive, .. } => archive.is_remote(),
            Opened::Shards(_) => is_address(Path::new(&*self.name)),
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
            Opened::Store { reader, .. } => reader.kept_game_count().map_err(Error::from),
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
            Opened::Store { reader, .. } => &**reader,
            Opened::Archive { archive, .. } => &**archive,
            Opened::Shards(shards) => shards,
            Opened::Layers(layers) => layers.current(),
        }
    }

    /// Adds the name of the source to the error of a record that was found.
    pub fn named(&self, error: Error) -> Error {
        match &self.opened {
            Opened::Store { local, .. } => local.failed(error),
            // The parts name themselves.
            Opened::Layers(_) => error,
            Opened::Archive { .. } | Opened::Shards(_) => error.in_source(Arc::clone(&self.name)),
        }
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
