//! Stores and archives as files. A store or archive is opened by its path. So if its bytes come from standard
//! input or from an address, they are first copied into a temporary file. An archive at an address is read by
//! ranges. A library is a store, an archive or a sharded archive that is read for its games or for the origin
//! of its tallies.

use std::fs::File;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::address::{self, is_address};
use super::delta::name_of;
use super::input::{self, Input};
#[cfg(feature = "library")]
use super::shards::ShardReader;
use super::shards::{ShardedArchive, VisitError, each_game_of};
use crate::archive::{Archive, ArchiveError, ReadRanges};
#[cfg(feature = "library")]
use crate::codec::tally_origin::copy_rank_of;
use crate::codec::tally_origin::{GameDigest, GameDigests, TallyLedger, TallyOrigin};
use crate::error::{Error, ErrorKind, Result};
use crate::model::GameId;
use crate::new_file::SpooledFile;
use crate::store::{self, Store, StoreError, StoreOptions};

/// A store or an archive with a path.
#[derive(Clone, Debug)]
pub struct Local {
    /// The name that the user gave.
    name: String,
    path: PathBuf,
    /// The temporary file, if `path` is the path of a copy.
    copy: Option<Arc<SpooledFile>>,
    /// Reads ranges of an archive, if the path is an address.
    ranges: Option<Arc<dyn ReadRanges>>,
}

impl Local {
    /// The file of a store or an archive.
    ///
    /// # Errors
    /// The input has to be copied, and copying fails.
    pub(super) fn new(path: &Path, mut input: Input) -> Result<Local> {
        let name = name_of(path).into_owned();
        let ranges = match input.has_ranges {
            true => address::ranges(path, mem::take(&mut input.head))?,
            false => None,
        };
        if input.is_file || ranges.is_some() {
            return Ok(Local { name, path: path.to_path_buf(), copy: None, ranges });
        }
        let mut closed = Ok(());
        let fill = |file: &mut File| {
            io::copy(&mut input.bytes, file)?;
            // If the writer of a store died, the copy is marked as open for writing. So the copy is
            // repaired.
            closed = store::close_copy(file, path);
            Ok(())
        };
        let copy = input::spooled(path, fill)?;
        closed?;
        Ok(Local::temporary(name, copy))
    }

    /// The store or archive at a path; `-` is standard input. A missing file is an error only when
    /// the store or archive is opened.
    ///
    /// # Errors
    /// The input has to be copied, and copying fails.
    pub fn open(path: impl AsRef<Path>) -> Result<Local> {
        let path = path.as_ref();
        let is_missing = path != Path::new("-") && !is_address(path) && !path.exists();
        if is_missing {
            let (name, path) = (name_of(path).into_owned(), path.to_path_buf());
            return Ok(Local { name, path, copy: None, ranges: None });
        }
        Local::new(path, input::open(path, None)?)
    }

    /// Copies the last commit of a store into a temporary file. The file is in the folder of the
    /// store or, if that fails, among the temporary files of the system. The store itself stays
    /// free for a writer.
    ///
    /// # Errors
    /// The store cannot be copied. The error names it.
    pub fn snapshot(path: impl AsRef<Path>) -> Result<Local> {
        let path = path.as_ref();
        let beside = path.parent().filter(|parent| *parent != Path::new(""));
        let copy = match store::copy_snapshot(path, beside.unwrap_or(Path::new("."))) {
            Err(StoreError::Io { .. }) => {
                let folder = std::env::temp_dir();
                let copy = store::copy_snapshot(path, &folder);
                copy.map_err(|error| no_room_in(&folder, error.into()))?
            }
            copy => copy?,
        };
        Ok(Local::temporary(name_of(path).into_owned(), copy))
    }

    /// A temporary file with the content of a file that the user named.
    pub(super) fn temporary(name: String, copy: SpooledFile) -> Local {
        let path = copy.path().to_path_buf();
        Local { name, path, copy: Some(Arc::new(copy)), ranges: None }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size in bytes of the file; 0 if it cannot be found out.
    pub(super) fn size(&self) -> u64 {
        match &self.ranges {
            Some(ranges) => ranges.size(),
            None => self.path.metadata().map_or(0, |found| found.len()),
        }
    }

    /// The name that the user gave.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the store for reading, in about `memory_bytes`.
    ///
    /// # Errors
    /// The store cannot be opened. The error names it.
    pub fn store(&self, memory_bytes: usize) -> Result<Store> {
        let options = StoreOptions::new().memory_bytes(memory_bytes);
        let opened = Store::open_read_only(&self.path, &options);
        opened.map_err(|error| match (error, &self.copy) {
            // No other process uses the copy, so a header that marks it as in use is wrong. A copy
            // cannot be repaired here.
            (StoreError::InUse { .. }, Some(_)) => {
                let what = "its length differs from the length in its header".to_string();
                let (path, place) = (PathBuf::from(&self.name), "the file".to_string());
                StoreError::Damaged { path, place, what }.into()
            }
            (error, _) => self.failed(error),
        })
    }

    /// Opens the archive.
    ///
    /// # Errors
    /// The archive cannot be opened. The error names it.
    pub fn archive(&self) -> Result<Archive> {
        let opened = match &self.ranges {
            Some(ranges) => Archive::from_ranges(Arc::clone(ranges)),
            None => Archive::open(&self.path),
        };
        opened.map_err(|error| Error::from(error).in_source(&*self.name))
    }

    /// Makes an error of the store or the archive. It names the user's file, not the copy.
    pub fn failed(&self, error: impl Into<Error>) -> Error {
        let error = error.into();
        match self.copy {
            None => error,
            Some(_) => {
                let path = self.path.display().to_string();
                Error::new(error.to_string().replace(&path, &self.name))
            }
        }
    }
}

/// Names the folder of a temporary file in the error of a full disk.
pub(super) fn no_room_in(folder: &Path, error: Error) -> Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
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

impl LibrarySummary {
    fn new(
        origin: Option<(TallyOrigin, Option<u64>)>,
        counts: Option<LibraryCounts>,
    ) -> Option<LibrarySummary> {
        let ((origin, digests), counts) = origin.zip(counts)?;
        Some(LibrarySummary { origin, digests, counts })
    }
}

/// A store, an archive or a sharded archive whose records are not read. It is opened for its games,
/// or for its ledger (the origin of its tallies).
#[derive(Clone, Debug)]
pub enum LibraryFile {
    /// A store.
    Store(Local),
    /// An archive.
    Archive(Local),
    /// A sharded archive.
    Shards(ShardedArchive),
}

/// The memory of a store that is opened for its ledger or its games, in bytes.
const MEMORY: usize = 1 << 20;

impl LibraryFile {
    /// The origin of the tallies and the games that they count; `None` if the file does not store
    /// them.
    ///
    /// # Errors
    /// The file cannot be opened or is damaged.
    pub(crate) fn tally_ledger(&self) -> Result<Option<TallyLedger>> {
        match self {
            LibraryFile::Store(local) => {
                let store = local.store(MEMORY)?;
                store.tally_ledger().map_err(|error| local.failed(error))
            }
            _ => TallyLedger::collect(|insert| self.each_game(insert)),
        }
    }

    /// Calls `visit` with the digest of each game that the tallies count, in no order. The digests
    /// are not kept in memory, except for those of a store. Returns the origin of the tallies, and
    /// true if the file has digests.
    ///
    /// # Errors
    /// The errors of [`LibraryFile::tally_ledger`], and errors of `visit`.
    pub(crate) fn each_game(
        &self,
        visit: &mut dyn FnMut(&GameDigest) -> Result<()>,
    ) -> Result<Option<(TallyOrigin, bool)>> {
        match self {
            LibraryFile::Store(_) => each_game_of_ledger(self.tally_ledger()?, visit),
            LibraryFile::Archive(local) => {
                let failed = |error| local.failed(error).in_source(local.name());
                each_game_of(&local.archive()?, failed, visit)
            }
            LibraryFile::Shards(shards) => shards.each_game(visit),
        }
    }

    /// Size of the file, or of the manifest and all shards, in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            LibraryFile::Store(local) | LibraryFile::Archive(local) => local.size(),
            LibraryFile::Shards(shards) => shards.size() + shards.manifest().bytes(),
        }
    }

    /// The summary that a library of tallies (counts of results) stores; `None` for any other file. The records
    /// are not read.
    ///
    /// # Errors
    /// The file cannot be opened or is damaged.
    pub fn summary(&self) -> Result<Option<LibrarySummary>> {
        Ok(match self {
            LibraryFile::Store(local) => {
                let store = local.store(MEMORY)?;
                let origin = store.tally_origin().map_err(|error| local.failed(error))?;
                let counts = origin.is_some().then(|| store_counts(local, &store)).transpose()?;
                LibrarySummary::new(origin, counts)
            }
            LibraryFile::Archive(local) => {
                let archive = local.archive()?;
                let origin = archive.tally_origin();
                let origin = origin.map_err(|error| local.failed(error).in_source(local.name()))?;
                let counts =
                    origin.is_some().then(|| archive_counts(local, &archive)).transpose()?;
                LibrarySummary::new(origin, counts)
            }
            LibraryFile::Shards(shards) => shards.manifest().library().map(|library| {
                let origin = library.origin.clone();
                let digests = origin.games.map(|games| games.games);
                LibrarySummary { origin, digests, counts: shard_counts(shards) }
            }),
        })
    }

    /// The numbers of records and of kept games.
    ///
    /// # Errors
    /// The errors of [`LibraryFile::summary`].
    pub fn counts(&self) -> Result<LibraryCounts> {
        match self {
            LibraryFile::Store(local) => store_counts(local, &local.store(MEMORY)?),
            LibraryFile::Archive(local) => archive_counts(local, &local.archive()?),
            LibraryFile::Shards(shards) => Ok(shard_counts(shards)),
        }
    }

    /// Calls `visit` with each game that is kept for the positions that list it, in ascending order
    /// of ids.
    ///
    /// # Errors
    /// The errors of [`LibraryFile::summary`]. Errors of `visit` are passed on.
    pub fn each_kept_game(&self, visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>) -> Result<()> {
        match self {
            LibraryFile::Store(local) => {
                let store = local.store(MEMORY)?;
                let reader = store.reader().map_err(|error| local.failed(error))?;
                reader.each_kept_game(&mut |id, game| visit(id, game))
            }
            LibraryFile::Archive(local) => {
                let failed = |error| local.failed(error).in_source(local.name());
                each_kept_game_of(&local.archive()?, failed, visit)
            }
            LibraryFile::Shards(shards) => {
                if shard_counts(shards).kept_games == 0 {
                    return Ok(());
                }
                let Some((games, archive)) = shards.open_games()? else { return Ok(()) };
                each_kept_game_of(&archive, |error| shards.failed(&games.file, error), visit)
            }
        }
    }
}

/// Finds games among those that a library counts. Only the games of a store are in memory.
#[cfg(feature = "library")]
pub(crate) enum GameFinder {
    Store(GameDigests),
    Archive(Local, Box<Archive>),
    Shards(ShardReader),
}

#[cfg(feature = "library")]
impl GameFinder {
    /// A finder of the games of a library; `None` if it does not say which games it counts.
    ///
    /// # Errors
    /// The file cannot be opened or is damaged.
    pub(crate) fn new(library: LibraryFile, memory_bytes: usize) -> Result<Option<GameFinder>> {
        Ok(match library {
            LibraryFile::Store(_) => {
                library.tally_ledger()?.and_then(|ledger| ledger.games).map(GameFinder::Store)
            }
            LibraryFile::Archive(local) => {
                let archive = Box::new(local.archive()?);
                Some(GameFinder::Archive(local, archive))
            }
            LibraryFile::Shards(shards) => {
                Some(GameFinder::Shards(ShardReader::new(shards, memory_bytes)))
            }
        })
    }

    /// The copy rank with which a game counts; `None` if the library does not count it.
    ///
    /// # Errors
    /// A file is damaged or cannot be read.
    pub(crate) fn copy_rank(&self, game: &GameDigest) -> Result<Option<u32>> {
        let found = match self {
            GameFinder::Store(games) => return Ok(games.copy_rank(game)),
            GameFinder::Archive(local, archive) => archive
                .counted_game(game)
                .map_err(|error| local.failed(error).in_source(local.name()))?,
            GameFinder::Shards(shards) => shards.current().counted_game(game)?,
        };
        Ok(found.map(|found| copy_rank_of(&found)))
    }
}

/// Calls `visit` with the digest of each game of a ledger.
fn each_game_of_ledger(
    ledger: Option<TallyLedger>,
    visit: &mut dyn FnMut(&GameDigest) -> Result<()>,
) -> Result<Option<(TallyOrigin, bool)>> {
    let Some(TallyLedger { origin, games }) = ledger else { return Ok(None) };
    games.iter().flat_map(GameDigests::iter).try_for_each(|game| visit(&game))?;
    Ok(Some((origin, games.is_some())))
}

/// Calls `visit` with each game that an archive keeps. `failed` adds the name of the archive to an error.
fn each_kept_game_of(
    archive: &Archive,
    failed: impl Fn(ArchiveError) -> Error,
    visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>,
) -> Result<()> {
    let read = archive.each_kept_game(&mut |id, game| visit(id, game).map_err(VisitError::Visit));
    read.map_err(|error| error.named(failed))
}

fn shard_counts(shards: &ShardedArchive) -> LibraryCounts {
    let manifest = shards.manifest();
    let kept_games = manifest.library().map_or(0, |library| library.kept_games);
    LibraryCounts { records: manifest.records(), kept_games }
}

fn store_counts(local: &Local, store: &Store) -> Result<LibraryCounts> {
    let reader = store.reader().map_err(|error| local.failed(error))?;
    let kept_games = reader.kept_game_count().map_err(|error| local.failed(error))?;
    Ok(LibraryCounts { records: reader.len(), kept_games })
}

fn archive_counts(local: &Local, archive: &Archive) -> Result<LibraryCounts> {
    let kept_games = archive.kept_game_count();
    let kept_games = kept_games.map_err(|error| local.failed(error).in_source(local.name()))?;
    Ok(LibraryCounts { records: archive.len(), kept_games })
}
