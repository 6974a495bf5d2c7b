//! Sharded archives: one archive for each range of locality keys, read and searched as one. The format is
//! `formats/shards.md`.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread;

use quick_cache::sync::Cache;

use super::address::{self, is_address, is_stream, without_query};
use super::delta::name_of;
use super::input::{self, Input};
use super::manifest::{
    GamesFile, MAX_BYTES, Manifest, Shard, ShardList, ShardedLibrary, YoungLayer, invalid,
};
use super::shard_lists::{NumberedShard, ShardLists};
use epdb_archive::{Archive, ArchiveError};
use epdb_chess::codec::key::locality_key;
use epdb_chess::codec::query::Query;
use epdb_chess::codec::tally_origin::{GameDigest, GameSet, TallyOrigin};
use epdb_chess::error::{Error, ErrorKind, Result};
use epdb_chess::model::GameId;

/// Minimum memory for reading a shard, in bytes. The models of a segment need less.
const SHARD_MEMORY: usize = 64 << 20;
/// Maximum number of shards of a sharded archive that stay open.
pub(super) const MAX_OPEN: usize = 64;

/// Opens the files that a manifest lists, if they are neither files of this machine nor at an address.
pub trait ArchiveFolder: fmt::Debug + Send + Sync {
    /// Opens an archive of `bytes` bytes.
    ///
    /// # Errors
    /// The archive cannot be opened.
    fn open(&self, file: &str, bytes: u64) -> Result<Archive>;

    /// Reads a list of shards of `bytes` bytes.
    ///
    /// # Errors
    /// The list cannot be read.
    fn read(&self, file: &str, bytes: u64) -> Result<Vec<u8>>;
}

/// A sharded archive: the manifest, and the folder with the shards.
#[derive(Clone, Debug)]
pub struct ShardedArchive {
    /// The path or the address of the manifest.
    path: PathBuf,
    /// The name of the manifest in messages.
    name: Arc<str>,
    folder: PathBuf,
    /// Opens the shards, if they are neither files nor at an address.
    opener: Option<Arc<dyn ArchiveFolder>>,
    /// Size of the manifest in bytes.
    size: u64,
    manifest: Arc<Manifest>,
    lists: Arc<ShardLists>,
}

impl ShardedArchive {
    /// Reads the manifest at a path or an address.
    ///
    /// # Errors
    /// The manifest cannot be read, or is damaged. The error names it.
    pub fn at(path: &Path) -> Result<ShardedArchive> {
        ShardedArchive::new(path, input::open(path, None)?)
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// The manifest cannot be read, is damaged, or is not a file.
    pub(super) fn new(path: &Path, input: Input) -> Result<ShardedArchive> {
        let name: Arc<str> = name_of(path).into();
        let named = |error: Error| error.in_source(Arc::clone(&name));
        if !input.is_file && !is_address(path) {
            let what = "a manifest is read from its folder, which has the shards: name the file";
            return Err(named(Error::new(what)));
        }
        let mut bytes = Vec::new();
        let read = input.bytes.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| named(error.into()))?;
        if bytes.len() as u64 > MAX_BYTES {
            let what = format!("a manifest has at most {MAX_BYTES} bytes");
            return Err(named(Error::new(what).with_kind(ErrorKind::LimitExceeded)));
        }
        let manifest = Manifest::from_bytes(&bytes).map_err(named)?;
        let folder = without_query(path).parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(ShardedArchive {
            path: path.to_path_buf(),
            name,
            folder,
            opener: None,
            size: bytes.len() as u64,
            lists: Arc::new(ShardLists::new(&manifest)),
            manifest: Arc::new(manifest),
        })
    }

    /// Reads a manifest whose shards are opened by `opener`.
    pub(super) fn in_folder(
        name: &str,
        manifest: &[u8],
        opener: Arc<dyn ArchiveFolder>,
    ) -> Result<ShardedArchive> {
        let read = Manifest::from_bytes(manifest).map_err(|error| error.in_source(name))?;
        Ok(ShardedArchive {
            path: PathBuf::from(name),
            name: name.into(),
            folder: PathBuf::new(),
            opener: Some(opener),
            size: manifest.len() as u64,
            lists: Arc::new(ShardLists::new(&read)),
            manifest: Arc::new(read),
        })
    }

    /// Reads the manifest again; `None` if it is still the same one.
    ///
    /// # Errors
    /// The manifest cannot be read, is damaged, or is not a manifest any more.
    pub(super) fn read_again(&self) -> Result<Option<ShardedArchive>> {
        if self.opener.is_some() {
            return Ok(None);
        }
        let shards = ShardedArchive::at(&self.path)?;
        Ok(Some(shards).filter(|shards| shards.manifest != self.manifest))
    }

    /// The name of the manifest in messages; see [`name_of`].
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// Path of a file that the manifest lists.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// The shards of each list, by ascending keys; all shards if the manifest has no lists.
    ///
    /// # Errors
    /// A list is missing or damaged, or is not the list that the manifest lists. The error names both.
    pub fn lists(&self) -> impl Iterator<Item = Result<Vec<&Shard>>> {
        (0..self.lists.len()).map(|list| {
            let shards = self.shards_of_list(list)?;
            Ok(shards.iter().map(|numbered| &numbered.shard).collect())
        })
    }

    /// All shards, by ascending keys.
    ///
    /// # Errors
    /// The errors of [`ShardedArchive::lists`].
    pub fn shards(&self) -> Result<Vec<&Shard>> {
        let lists = self.lists().collect::<Result<Vec<_>>>()?;
        Ok(lists.into_iter().flatten().collect())
    }

    /// The names of all files that the manifest and its lists name.
    ///
    /// # Errors
    /// The errors of [`ShardedArchive::lists`].
    pub fn files(&self) -> Result<BTreeSet<&str>> {
        let mut files: BTreeSet<&str> = self.manifest.files().collect();
        files.extend(self.shards()?.iter().map(|shard| shard.file.as_str()));
        Ok(files)
    }

    fn shards_of_list(&self, list: usize) -> Result<&[NumberedShard]> {
        self.lists.shards(list, || {
            let list = &self.manifest.lists()[list];
            self.read_list(list).map_err(|error| self.failed(&list.file, error))
        })
    }

    fn read_list(&self, list: &ShardList) -> Result<Vec<Shard>> {
        if let Some(folder) = &self.opener {
            return list.read(&folder.read(&list.file, list.bytes)?);
        }
        let path = self.path(&list.file);
        refuse_stream(&path)?;
        let mut text = Vec::new();
        input::open_bytes(&path)?.take(list.bytes + 1).read_to_end(&mut text)?;
        list.read(&text)
    }

    /// Opens a shard, and compares it with its entry in the manifest.
    ///
    /// # Errors
    /// The shard is missing or damaged, or is not the archive that the manifest lists. The error
    /// names both.
    pub fn open(&self, shard: &Shard) -> Result<Archive> {
        self.open_listed(&shard.file, shard.bytes, &|archive| shard.is(archive))
    }

    /// Opens a shard for what is left of it; see [`Archive::open_cut`]. Without an archive there is the reason why
    /// all records of the shard are lost.
    ///
    /// # Errors
    /// The shard cannot be read for another reason than damage.
    pub fn open_cut(&self, shard: &Shard) -> Result<std::result::Result<Archive, Error>> {
        let error = match self.open(shard) {
            Err(error) if error.kind() == ErrorKind::InvalidData => error,
            opened => return opened.map(Ok),
        };
        if self.is_remote() {
            return Ok(Err(error));
        }
        // A shard that is not damaged is one of another manifest.
        let left = Archive::open_cut(self.path(&shard.file)).ok().filter(Archive::is_cut);
        Ok(left.ok_or(error))
    }

    /// Opens the file of the games of a library; `None` if the shards are not a library.
    ///
    /// # Errors
    /// The errors of [`ShardedArchive::open`].
    pub fn open_games(&self) -> Result<Option<(&GamesFile, Archive)>> {
        let Some(ShardedLibrary { games, .. }) = self.manifest.library() else { return Ok(None) };
        let archive = self.open_listed(&games.file, games.bytes, &|archive| games.is(archive))?;
        Ok(Some((games, archive)))
    }

    /// Opens a young layer.
    ///
    /// # Errors
    /// The errors of [`ShardedArchive::open`].
    pub fn open_young(&self, layer: &YoungLayer) -> Result<Archive> {
        self.open_listed(&layer.file, layer.bytes, &|archive| layer.is(archive))
    }

    fn open_listed(
        &self,
        file: &str,
        bytes: u64,
        is_listed: &dyn Fn(&Archive) -> bool,
    ) -> Result<Archive> {
        let opened = match &self.opener {
            Some(folder) => folder.open(file, bytes),
            None => open_file(&self.path(file), bytes),
        };
        let archive = opened.map_err(|error| self.failed(file, error))?;
        if is_listed(&archive) {
            Ok(archive)
        } else {
            let what = "not the archive that the manifest lists: it was replaced or damaged";
            Err(self.failed(file, invalid(what)))
        }
    }

    /// True if opening a shard may send requests to another machine.
    pub(super) fn is_remote(&self) -> bool {
        self.opener.is_some() || is_address(&self.path)
    }

    /// Adds the names of the manifest and of a file that it lists to an error.
    pub fn failed(&self, file: &str, error: impl Into<Error>) -> Error {
        failed(&self.name, file, error)
    }

    /// Checks a shard: its size, its hash, every record, and that the keys of all records belong to its range.
    /// Reading uses about `memory_bytes`.
    ///
    /// # Errors
    /// The first fault. The error names the manifest and the shard.
    pub fn verify(&self, shard: &Shard, memory_bytes: usize) -> Result<()> {
        let archive = self.open(shard)?.memory_bytes(memory_bytes);
        self.verify_archive(shard, &archive).map_err(|error| self.failed(&shard.file, error))
    }

    fn verify_archive(&self, shard: &Shard, archive: &Archive) -> Result<()> {
        self.verify_file(&shard.file, &shard.blake3, archive)?;
        let mut number = 0;
        archive
            .each_record(0..archive.len(), |record| {
                let key = locality_key(record.position());
                if !(shard.first_key..=shard.last_key).contains(&key) {
                    return Err(invalid(format!(
                        "record {number} does not belong to the range of keys"
                    )));
                }
                number += 1;
                Ok(ControlFlow::Continue(()))
            })
            .map(drop)
    }

    /// Checks a young layer: its size, its hash and every record.
    ///
    /// # Errors
    /// The first fault. The error names the manifest and the file.
    pub fn verify_young(&self, layer: &YoungLayer, memory_bytes: usize) -> Result<()> {
        let archive = self.open_young(layer)?.memory_bytes(memory_bytes);
        self.verify_file(&layer.file, &layer.blake3, &archive)
            .map_err(|error| self.failed(&layer.file, error))
    }

    /// Checks the file of the games: its size, its hash and every game. The games must be those of the manifest.
    ///
    /// # Errors
    /// The first fault. The error names the manifest and the file.
    pub fn verify_games(&self, memory_bytes: usize) -> Result<()> {
        let Some(library) = self.manifest.library() else { return Ok(()) };
        let Some((games, archive)) = self.open_games()? else { return Ok(()) };
        self.verify_games_of(library, &archive.memory_bytes(memory_bytes))
            .map_err(|error| self.failed(&games.file, error))
    }

    fn verify_games_of(&self, library: &ShardedLibrary, archive: &Archive) -> Result<()> {
        self.verify_file(&library.games.file, &library.games.blake3, archive)?;
        let mut counted = GameSet::default();
        let read = archive.each_game::<Error>(&mut |game| {
            counted.add(game);
            Ok(())
        })?;
        if counted != library.origin.games.unwrap_or_default()
            || read.is_none_or(|(_, has_games)| has_games != library.origin.games.is_some())
        {
            return Err(invalid(other_digests(counted, library.origin.games)));
        }
        let mut kept = 0;
        archive.each_kept_game::<Error>(&mut |_, _| {
            kept += 1;
            Ok(())
        })?;
        if kept != library.kept_games {
            let listed = library.kept_games;
            return Err(invalid(format!(
                "keeps {kept} games, and the manifest says {listed}: write it again"
            )));
        }
        Ok(())
    }

    /// Compares the hash of a file and the settings of its tallies with the manifest, and checks its checksums.
    fn verify_file(&self, file: &str, blake3: &str, archive: &Archive) -> Result<()> {
        let mut hash = blake3::Hasher::new();
        hash.update_reader(input::open_bytes(&self.path(file))?)?;
        if hash.finalize().to_hex().as_str() != blake3 {
            return Err(invalid("the BLAKE3 hash differs from that of the manifest"));
        }
        archive.verify()?;
        let settings = archive.tally_origin()?.map(|(origin, _)| origin.settings);
        let listed = self.manifest.library().map(|library| &library.origin.settings);
        if settings.as_ref() == listed {
            Ok(())
        } else {
            Err(invalid("the settings of the tallies differ from those of the manifest"))
        }
    }

    /// Calls `visit` with the digest of each game that the tallies count, in ascending order. Returns the origin of
    /// the tallies, and true if there are digests. `None` if the shards are not a library.
    ///
    /// # Errors
    /// The file of the games cannot be opened, is damaged, or has other games than the manifest says; errors of
    /// `visit`.
    pub(super) fn each_game(
        &self,
        visit: &mut dyn FnMut(&GameDigest) -> Result<()>,
    ) -> Result<Option<(TallyOrigin, bool)>> {
        let Some(library) = self.manifest.library() else { return Ok(None) };
        let has_digests = library.origin.games.is_some();
        if has_digests && let Some((games, archive)) = self.open_games()? {
            let mut found = GameSet::default();
            each_game_of(&archive, |error| self.failed(&games.file, error), &mut |game| {
                found.add(game);
                visit(game)
            })?;
            if Some(found) != library.origin.games {
                let what = other_digests(found, library.origin.games);
                return Err(self.failed(&games.file, invalid(what)));
            }
        }
        Ok(Some((library.origin.clone(), has_digests)))
    }
}

/// Calls `visit` with each game that an archive keeps. `failed` adds the name of the archive to an error.
pub(super) fn each_kept_game_of(
    archive: &Archive,
    failed: impl Fn(ArchiveError) -> Error,
    visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>,
) -> Result<()> {
    let read = archive.each_kept_game(&mut |id, game| visit(id, game).map_err(VisitError::Visit));
    read.map_err(|error| error.named(failed))
}

/// The difference between the digests of the file of the games and those of the manifest.
fn other_digests(found: GameSet, listed: Option<GameSet>) -> String {
    let found = found.games;
    let listed = listed.map_or(0, |listed| listed.games);
    if found == listed {
        format!("the {found} digests are not those of the manifest")
    } else {
        format!("has {found} digests, not {listed}")
    }
}

/// Calls `visit` with the digest of each game that an archive counts. `failed` adds the name of the
/// archive to an error.
pub(super) fn each_game_of(
    archive: &Archive,
    failed: impl Fn(ArchiveError) -> Error,
    visit: &mut dyn FnMut(&GameDigest) -> Result<()>,
) -> Result<Option<(TallyOrigin, bool)>> {
    let read = archive.each_game(&mut |game| visit(game).map_err(VisitError::Visit));
    read.map_err(|error| error.named(failed))
}

pub(super) enum VisitError<E> {
    Archive(ArchiveError),
    Visit(E),
}

impl<E: From<Error>> VisitError<E> {
    /// The error; `failed` adds the name of the archive.
    pub(super) fn named(self, failed: impl Fn(ArchiveError) -> Error) -> E {
        match self {
            VisitError::Archive(error) => failed(error).into(),
            VisitError::Visit(error) => error,
        }
    }
}

impl<E> From<ArchiveError> for VisitError<E> {
    fn from(error: ArchiveError) -> VisitError<E> {
        VisitError::Archive(error)
    }
}

/// Refuses a pipe: opening it would wait for a writer.
fn refuse_stream(path: &Path) -> Result<()> {
    if is_stream(path) {
        return Err(invalid("it is a pipe or a device, not a file"));
    }
    Ok(())
}

/// Opens an archive of `bytes` bytes at a path or an address.
fn open_file(path: &Path, bytes: u64) -> Result<Archive> {
    refuse_stream(path)?;
    if is_address(path) { archive_at(path, bytes) } else { Ok(Archive::open(path)?) }
}

/// Opens the archive of `size` bytes at an address. An archive that cannot be read by ranges is copied.
fn archive_at(address: &Path, size: u64) -> Result<Archive> {
    if let Some(end) = address::archive_end(address, Some(size))?
        && let Some(ranges) = address::ranges(end, Vec::new())?
    {
        return Ok(Archive::from_ranges(ranges)?);
    }
    let mut bytes = input::open_bytes(address)?;
    // The copy is removed at once; its bytes stay until the archive is closed.
    let copy = input::spooled(address, |file| io::copy(&mut bytes, file).map(drop))?;
    Ok(Archive::open(copy.path())?)
}

/// Adds the names of a manifest and of a file that it lists to an error.
fn failed(manifest: &Arc<str>, file: &str, error: impl Into<Error>) -> Error {
    let error: Error = error.into();
    let mut what = format!("shard {file}");
    let mut kind = error.kind();
    if kind == ErrorKind::NotFound {
        what +=
            ": it is missing; if another command wrote the manifest meanwhile, run this one again";
        // Without one of its files, the sharded archive is damaged.
        kind = ErrorKind::InvalidData;
    }
    Error::new(what).because(error).with_kind(kind).in_source(Arc::clone(manifest))
}

/// A sharded archive that is open for lookups.
pub(crate) struct ShardReader {
    current: RwLock<Arc<OpenShards>>,
    /// Memory for lookups, in bytes.
    memory_bytes: usize,
}

impl ShardReader {
    /// Lookups use about `memory_bytes`, but for each open shard at least the memory that its archive
    /// needs.
    pub(super) fn new(shards: ShardedArchive, memory_bytes: usize) -> ShardReader {
        let current = RwLock::new(Arc::new(OpenShards::new(shards, memory_bytes)));
        ShardReader { current, memory_bytes }
    }

    /// The shards of the manifest that was read last. A caller uses them for a whole answer, so that
    /// it never mixes two manifests.
    pub(super) fn current(&self) -> Arc<OpenShards> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the manifest again. Returns true if it is another one, whose shards are searched from
    /// now on.
    pub(super) fn read_again(&self) -> Result<bool> {
        let before = self.current();
        let Some(shards) = before.shards.read_again()? else { return Ok(false) };
        // Records of young layers are merged by another reader: the caller has to open the manifest again.
        if !shards.manifest.young_layers().is_empty() {
            return Ok(false);
        }
        let next = Arc::new(OpenShards::new(shards, self.memory_bytes));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(true)
    }
}

pub(super) struct QueriesByShard {
    /// For each query, the index of its shard.
    shard_of: Vec<usize>,
    places: Vec<usize>,
}

impl QueriesByShard {
    /// # Errors
    /// The errors of [`ShardedArchive::lists`].
    pub(super) fn new(shards: &OpenShards, queries: &[Query]) -> Result<QueriesByShard> {
        shards.receive_lists(queries);
        // Every list is tried, even after an error: in a browser, the first attempt only finds out which lists are
        // missing, and they are then received together.
        let found: Vec<Result<usize>> =
            queries.iter().map(|query| shards.shard_of(query)).collect();
        let shard_of: Vec<usize> = found.into_iter().collect::<Result<_>>()?;
        let mut places: Vec<usize> = (0..queries.len()).collect();
        places.sort_by_key(|place| shard_of[*place]);
        Ok(QueriesByShard { shard_of, places })
    }

    /// The shards that have a position, each with the places of its queries.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, &[usize])> {
        let parts = self.places.chunk_by(|one, next| self.shard_of[*one] == self.shard_of[*next]);
        parts.map(|places| (self.shard_of[places[0]], places))
    }
}

/// The shards of one manifest. Each is opened when it is needed, and the ones that were used last
/// stay open.
pub(super) struct OpenShards {
    shards: ShardedArchive,
    opened: Cache<usize, Arc<OpenShard>>,
    games: OnceLock<Option<OpenShard>>,
    /// Memory for reading a shard, in bytes.
    memory_bytes: usize,
}

/// A shard, or the file of the games, that is open for lookups.
pub(super) struct OpenShard {
    pub(super) archive: Archive,
    /// Number of its first record among the records of all shards.
    pub(super) first: u64,
    manifest: Arc<str>,
    file: String,
}

impl OpenShard {
    /// Adds the names of the manifest and of the shard to an error.
    pub(super) fn failed(&self, error: impl Into<Error>) -> Error {
        failed(&self.manifest, &self.file, error)
    }
}

impl OpenShards {
    fn new(shards: ShardedArchive, memory_bytes: usize) -> OpenShards {
        let open = shards.manifest().shard_count().min(MAX_OPEN as u64) as usize;
        let memory_bytes = (memory_bytes / open).max(SHARD_MEMORY);
        let opened = Cache::new(MAX_OPEN);
        OpenShards { opened, games: OnceLock::new(), memory_bytes, shards }
    }

    pub(super) const fn archive(&self) -> &ShardedArchive {
        &self.shards
    }

    pub(super) fn manifest(&self) -> &Manifest {
        self.shards.manifest()
    }

    /// Finds a counted game; see [`Archive::counted_game`].
    pub(super) fn counted_game(&self, game: &GameDigest) -> Result<Option<GameDigest>> {
        self.of_games(|games| games.counted_game(game))
    }

    pub(super) fn kept_game(&self, id: GameId) -> Result<Option<Vec<u8>>> {
        self.of_games(|games| games.kept_game(id))
    }

    /// Receives these games and about the first `first` ones together, if the file of the games is at an address.
    pub(super) fn prefetch_games(&self, ids: &[GameId], first: u64) -> Result<()> {
        self.of_games(|games| games.prefetch_games(ids, first).map(Some)).map(drop)
    }

    /// Calls `visit` with each kept game, in ascending order of ids.
    pub(super) fn each_kept_game(
        &self,
        visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.manifest().library().is_none_or(|library| library.kept_games == 0) {
            return Ok(());
        }
        let Some(games) = self.games()? else { return Ok(()) };
        each_kept_game_of(&games.archive, |error| games.failed(error), visit)
    }

    /// Searches the file of the games.
    fn of_games<T>(
        &self,
        find: impl Fn(&Archive) -> std::result::Result<Option<T>, ArchiveError>,
    ) -> Result<Option<T>> {
        let Some(games) = self.games()? else { return Ok(None) };
        find(&games.archive).map_err(|error| games.failed(error))
    }

    /// The file of the games, which is opened when it is first needed. `None` if the shards are not a library.
    fn games(&self) -> Result<Option<&OpenShard>> {
        if let Some(games) = self.games.get() {
            return Ok(games.as_ref());
        }
        let opened = self.shards.open_games()?;
        let opened = opened.map(|(games, archive)| self.for_lookups(&games.file, archive, 0));
        Ok(self.games.get_or_init(|| opened).as_ref())
    }

    /// An archive that the manifest lists, for lookups. `first` is the number of its first record.
    fn for_lookups(&self, file: &str, archive: Archive, first: u64) -> OpenShard {
        let archive = archive.memory_bytes(self.memory_bytes);
        OpenShard { archive, first, manifest: Arc::clone(self.shards.name()), file: file.into() }
    }

    pub(super) fn shard_of(&self, query: &Query) -> Result<usize> {
        let key = query.locality_key();
        let list = self.shards.lists.list_of_key(key);
        let within = self.shards.shards_of_list(list)?;
        let place = within.partition_point(|numbered| numbered.shard.last_key < key);
        Ok(self.shards.lists.first_shard(list) + place)
    }

    /// Index of the shard that has a position, or of the first shard of its list if the list cannot be read.
    pub(super) fn part_of(&self, query: &Query) -> usize {
        self.shard_of(query).unwrap_or_else(|_| {
            let lists = &self.shards.lists;
            lists.first_shard(lists.list_of_key(query.locality_key()))
        })
    }

    pub(super) fn shard_of_record(&self, number: u64) -> Result<Arc<OpenShard>> {
        let lists = &self.shards.lists;
        let list = lists.list_of_record(number);
        let within = self.shards.shards_of_list(list)?;
        let place = within.partition_point(|numbered| numbered.first <= number).saturating_sub(1);
        self.get(lists.first_shard(list) + place)
    }

    /// If the shards are at an address, receives the lists that lookups of these queries need. Errors are found again
    /// when the lists are needed.
    fn receive_lists(&self, queries: &[Query]) {
        let lists = &self.shards.lists;
        let needed = queries.iter().map(|query| lists.list_of_key(query.locality_key()));
        let needed: BTreeSet<usize> = needed.filter(|list| !lists.is_read(*list)).collect();
        if needed.len() < 2 || !self.shards.is_remote() {
            return;
        }
        let needed: Vec<usize> = needed.into_iter().collect();
        for some in needed.chunks(MAX_OPEN) {
            self.side_by_side(some, |list| self.shards.shards_of_list(*list).ok());
        }
    }

    /// If the shards are at an address, opens these at the same time, each on a thread, and receives what
    /// lookups of their queries read. Returns the shards that were opened; errors are found again when the
    /// others are opened. `parts` are at most [`MAX_OPEN`] shards, each with the places of its queries.
    pub(super) fn prefetch(
        &self,
        parts: &[(usize, &[usize])],
        queries: &[Query],
    ) -> Vec<Option<Arc<OpenShard>>> {
        if !self.shards.is_remote() {
            return Vec::new();
        }
        let prefetch = |(shard, places): &(usize, &[usize])| {
            let queries: Vec<Query> = places.iter().map(|place| queries[*place]).collect();
            self.prefetch_one(*shard, &queries)
        };
        self.side_by_side(parts, prefetch)
    }

    /// Calls `receive` for each item on a thread of its own. An opener is called for one after the other.
    fn side_by_side<T: Sync, R: Send>(
        &self,
        items: &[T],
        receive: impl Fn(&T) -> Option<R> + Copy + Send,
    ) -> Vec<Option<R>> {
        if self.shards.opener.is_some() {
            return items.iter().map(receive).collect();
        }
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(items.len());
            for item in items {
                let thread = thread::Builder::new().spawn_scoped(scope, move || receive(item));
                threads.push(thread.ok());
            }
            threads.into_iter().map(|thread| thread?.join().ok()?).collect()
        })
    }

    fn prefetch_one(&self, shard: usize, queries: &[Query]) -> Option<Arc<OpenShard>> {
        let shard = self.get(shard).ok()?;
        shard.archive.prefetch(queries).ok();
        Some(shard)
    }

    pub(super) fn get(&self, index: usize) -> Result<Arc<OpenShard>> {
        self.opened.get_or_insert_with(&index, || {
            let list = self.shards.lists.list_of_shard(index);
            let place = index - self.shards.lists.first_shard(list);
            let within = self.shards.shards_of_list(list)?;
            let NumberedShard { shard, first } =
                within.get(place).ok_or_else(|| invalid("there is no such shard"))?;
            let archive = self.shards.open(shard)?;
            Ok(Arc::new(self.for_lookups(&shard.file, archive, *first)))
        })
    }
}
