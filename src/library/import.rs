//! Imports of sources into stores.
//!
//! An import that was interrupted resumes when it is started again with the same options, even if
//! the source has another name. A store whose records have tallies of games is a library. An import
//! into a library also adds the counted games to its ledger.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::delta::DeltaBase;
use super::tally::ledger::{self, Allowed, LedgerError, Unlike};
use super::tally::{GameOutcome, MergedGames, TallyBuilder, TallyCounts, TallyOptions, TallyOrder};
use epdb_base::new_file::NewFile;
use epdb_chess::codec::error::EncodeError;
use epdb_chess::codec::key::{board_key, record_key};
use epdb_chess::codec::record::{self, PlainRecord};
use epdb_chess::codec::tally_origin::{DeltaOrigin, GameDigest, TallyLedger, TallyOrigin};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::{Error, Place, Result};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::{Diagnostic, codes, lines};
use epdb_source::{Encode, Item, Source, Summary};
use epdb_store::{
    Checkpoint, ImportCounts, ImportInfo, ImportOptions, ImportReport, ImportState, Importer,
    OnDuplicate, Recognised, Same, Store, StoreError, StoreOptions, settings_of,
};

/// Imports sources into a store: their records, or the tallies of their games.
///
/// ```
/// use std::ops::ControlFlow;
/// use epdb_library::import::{ImportError, ImportJob, ImportTarget, Imported};
/// use epdb_source::{Source, SourceOptions};
/// use epdb_store::StoreOptions;
/// # let dir = tempfile::tempdir()?;
/// let mut target = ImportTarget::open(dir.path().join("book.epdb"), &StoreOptions::default())?;
/// let text = "8/8/8/4k3/8/1K6/8/8 b - - id \"a\";\nnot a position\n";
/// let source = Source::from_bytes("a.epd", text, &SourceOptions::default())?;
/// let (imported, _) = ImportJob::default().run(&mut target, source, &mut |progress| {
///     println!("{:?}, {} records committed", progress.item, progress.committed.stored);
///     Ok::<_, ImportError>(ControlFlow::Continue(()))
/// })?;
/// target.close()?;
/// assert!(matches!(imported, Imported::Records(report) if report.counts.stored == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct ImportJob {
    /// Options of the import. The digest of each source is added.
    pub options: ImportOptions,
    /// Differences between libraries that the import ignores.
    pub allowed: Allowed,
    /// The filter of the sources as text, because a filtered library counts as pruned.
    pub filter: Option<String>,
    /// The way games are counted; `None` imports records.
    pub counting: Option<GameCounting>,
    /// Whether a source is imported again that was imported with the same settings.
    pub again: bool,
    /// Whether positions of games may be added to a library as records.
    pub adds_positions: bool,
}

/// The store into which sources are imported.
#[derive(Debug)]
pub struct ImportTarget {
    store: Store,
    /// A new store that has no name yet.
    new: Option<NewFile>,
    options: StoreOptions,
    /// Whether a new store gets its name with the first commit.
    appears_early: bool,
}

impl ImportTarget {
    /// Opens a store, or creates it if there is none. A new store gets its name with the first commit.
    ///
    /// # Errors
    /// The store cannot be opened or created.
    pub fn open(path: impl AsRef<Path>, options: &StoreOptions) -> Result<ImportTarget> {
        let path = path.as_ref();
        if !path.try_exists()? {
            return Ok(ImportTarget {
                appears_early: true,
                ..ImportTarget::create(path, options)?
            });
        }
        let store = Store::open(path, options)?;
        Ok(ImportTarget { store, new: None, options: options.clone(), appears_early: true })
    }

    /// Creates a store, which appears when the import of a source is complete.
    ///
    /// # Errors
    /// The store cannot be created.
    pub fn create(path: impl AsRef<Path>, options: &StoreOptions) -> Result<ImportTarget> {
        let new = NewFile::create(path)?;
        let store = Store::create_in(&new, options)?;
        let options = options.clone();
        Ok(ImportTarget { store, new: Some(new), options, appears_early: false })
    }

    /// The store.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Closes the store.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn close(self) -> Result<()> {
        Ok(self.store.close()?)
    }
}

/// The result of an import of one source.
#[derive(Debug)]
pub enum Imported {
    /// The source was imported before with the same settings.
    Before(ImportInfo),
    /// Its records are in the store.
    Records(ImportReport),
    /// Its games were counted.
    Games(CountedGames),
}

/// The state of an import after an item of its source.
#[derive(Copy, Clone, Debug)]
pub struct ImportProgress<'p> {
    /// The item, which the import has just taken.
    pub item: &'p Item<'p>,
    /// An earlier import of the source.
    pub known: &'p Recognised,
    /// Counts of the committed records, including those of an interrupted import.
    pub committed: ImportCounts,
    /// Number of records that are on the disk and wait for the next commit.
    pub waiting: u64,
}

/// Receives the progress of an import. If it returns [`ControlFlow::Break`], the import is interrupted and
/// commits nothing more.
pub type OnProgress<'p, E> = dyn FnMut(ImportProgress<'_>) -> Result<ControlFlow<()>, E> + 'p;

/// The reason why a source cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The source and the store are libraries that must not be added.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Tallies would be lost: duplicates are neither kept nor merged, or only equal records count as
    /// duplicates.
    #[error("these options would leave out tallies of a library")]
    LeavesOutTallies,
    /// The source has positions, but the import counts games.
    #[error("{name}: positions are not games: expected .pgn or .pgc")]
    NotGames {
        /// The name of the source.
        name: String,
    },
    /// The store is a library, and the import would add positions of games as records.
    #[error("{store}: is a library, and the games of {name} would be added as positions")]
    GamesAsPositions {
        /// The name of the store.
        store: String,
        /// The name of the source.
        name: String,
    },
    /// Another import was interrupted, so the store may have only a part of its records.
    #[error("{store}: the import of {source_name} was interrupted: run it again first")]
    Interrupted {
        /// The name of the store.
        store: String,
        /// The name of the other source.
        source_name: String,
    },
    /// The store does not keep which games it counts, so a restart would count games twice.
    #[error(
        "{store}: the store has no digests of its games, so a restart would count the games of {source_name} twice"
    )]
    CountsTwice {
        /// The name of the store.
        store: String,
        /// The name of the source that was interrupted.
        source_name: String,
    },
    /// The store is a delta, and no base is given.
    #[error("{name}: is the delta of a library of {games} games: give that library as the base")]
    NoBase {
        /// The name of the store.
        name: String,
        /// Number of games of the base.
        games: u64,
    },
    /// Any other error.
    #[error(transparent)]
    Other(#[from] Error),
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> ImportError {
        ImportError::Other(error.into())
    }
}

impl ImportJob {
    /// Imports a source. After an interrupted import, imports only what the store lacks. The source is still read from
    /// its start, so that its diagnostics are complete.
    ///
    /// # Errors
    /// [`ImportError`], and errors of `progress`.
    pub fn run<E: From<Error> + From<ImportError>>(
        &self,
        target: &mut ImportTarget,
        mut source: Source,
        progress: &mut OnProgress<'_, E>,
    ) -> Result<(Imported, Summary), E> {
        self.refuse_positions(&target.store, &source)?;
        // With the digest of this source.
        let mut import = self.clone();
        let known = import.recognise(&target.store, &mut source)?;
        if !self.again
            && let Recognised::Imported(earlier) = &known
        {
            return Ok((Imported::Before(earlier.clone()), Summary::default()));
        }
        let ImportTarget { store, new, options, appears_early } = target;
        let mut publish = || match new.take() {
            Some(new) => Store::publish(new, options).map_err(ImportError::from),
            None => Ok(()),
        };
        let taken = &mut |item: &Item<'_>, OnDisk { committed, waiting }| {
            let flow = progress(ImportProgress { item, known: &known, committed, waiting })?;
            if *appears_early && committed.read + waiting > 0 {
                publish()?;
            }
            Ok::<_, E>(flow)
        };
        let done = match &self.counting {
            Some(counting) => import.games(store, source, counting.clone(), taken)?,
            None => import.records(store, source, taken)?,
        };
        publish()?;
        Ok(done)
    }

    fn refuse_positions(&self, store: &Store, source: &Source) -> Result<(), ImportError> {
        let is_record_of_game = self.counting.is_none() && source.format().is_of_games();
        if is_record_of_game && !self.adds_positions && store.reader()?.tally_origin()?.is_some() {
            let store = store_name(store);
            let name = source.name().to_string();
            return Err(ImportError::GamesAsPositions { store, name });
        }
        Ok(())
    }
}

/// Receives each item that an import has taken, with the records that are on the disk.
type Taken<'t, E> = dyn FnMut(&Item<'_>, OnDisk) -> Result<ControlFlow<()>, E> + 't;

/// The records of an import that survive if the process ends now.
struct OnDisk {
    committed: ImportCounts,
    /// Number of records that wait for the next commit.
    waiting: u64,
}

impl OnDisk {
    fn of(importer: &Importer<&Store>) -> OnDisk {
        OnDisk { committed: importer.committed(), waiting: importer.waiting() }
    }
}

impl ImportJob {
    /// Reads a file to its end, and finds out whether it was imported before. A source that can be
    /// read only once counts as new, and its records are committed whenever they fill the memory. The
    /// import keeps the digest of the file.
    fn recognise(&mut self, store: &Store, source: &mut Source) -> Result<Recognised> {
        let name = Arc::clone(source.name());
        let settings = &self.options.settings;
        let read = source.read_bytes_first(|bytes| store.recognise(&name, bytes, settings))?;
        let Some(read) = read else {
            // A later run cannot read the source again and continue.
            self.options.digest = None;
            self.options.commit_when_full = true;
            return Ok(Recognised::New);
        };
        let (known, digest) = read?;
        self.options.digest = Some(digest);
        self.options.commit_when_full = false;
        Ok(known)
    }

    fn records<E: From<Error> + From<ImportError>>(
        &self,
        store: &Store,
        source: Source,
        taken: &mut Taken<'_, E>,
    ) -> Result<(Imported, Summary), E> {
        let ledger = self.ledger_with(store, &source)?;
        let origin = store.reader().and_then(|reader| reader.tally_origin());
        let is_library = origin.map_err(ImportError::from)?.is_some();
        let adds = matches!(self.options.on_duplicate, OnDuplicate::Keep | OnDuplicate::Merge(_));
        if (is_library || ledger.is_some()) && !(adds && self.options.same == Same::Position) {
            return Err(ImportError::LeavesOutTallies.into());
        }
        let name = Arc::clone(source.name());
        let games = source.library();
        let importer = store.importer(&name, &self.options).map_err(ImportError::from)?;
        let mut records = Records {
            importer,
            place: Checkpoint::START,
            refuses_tallies: ledger.is_none() && !self.allowed.mixed && is_library,
            name,
            encoded: Vec::new(),
        };
        let source = source.encoded_as(Arc::new(KeyedRecords));
        let summary = source.read(&mut |item| {
            records.take(&item)?;
            taken(&item, OnDisk::of(&records.importer))
        })?;
        let Records { mut importer, place, .. } = records;
        if let Some(games) = games {
            games.opened()?.each_kept_game(&mut |_, game| Ok(importer.keep_game(game)?))?;
        }
        // The games are added to the ledger last, when all their tallies are in the store.
        if let Some((origin, new_games)) = ledger {
            importer.set_tally_origin(origin, new_games);
        }
        let report = importer.finish_at(place).map_err(ImportError::from)?;
        Ok((Imported::Records(report), summary))
    }

    /// The ledger that the store has after the import of the source; `None` for a source without a
    /// ledger.
    fn ledger_with(
        &self,
        store: &Store,
        source: &Source,
    ) -> Result<Option<AddedLedger>, ImportError> {
        let Some(library) = source.library() else { return Ok(None) };
        let ours = store.reader()?.tally_ledger()?;
        let known = ours.as_ref().and_then(|ours| ours.games.as_ref());
        let mut new_games = Vec::new();
        let mut shared = 0;
        let theirs = library.opened()?.each_game(&mut |game| {
            if known.is_some_and(|known| known.contains(game)) {
                shared += 1
            } else {
                new_games.push(*game)
            }
            Ok(())
        })?;
        let Some((mut theirs, mut has_games)) = theirs else { return Ok(None) };
        if let Some(filter) = &self.filter {
            theirs.pruned.get_or_insert_with(|| format!("--where {filter}"));
        }
        let Some(TallyLedger { origin: mut ours, games: known }) = ours else {
            if !is_only_import(store, source.name())? {
                if !self.allowed.mixed {
                    return Err(no_origin(store));
                }
                theirs.is_mixed = true;
                has_games = false;
            }
            return Ok(Some((theirs, has_games.then_some(new_games))));
        };
        has_games &= known.is_some();
        let added = ledger::add(&mut ours, theirs, has_games.then_some(shared), self.allowed);
        let name = source.name().to_string();
        added.map_err(|unlike| LedgerError::Unlike { name, unlike })?;
        Ok(Some((ours, has_games.then_some(new_games))))
    }

    /// Counts the games of a source into a store. After an interrupted import, counts only the
    /// games that the store lacks. Each commit holds the tallies of whole games, their digests, and
    /// the place in the source.
    fn games<E: From<Error> + From<ImportError>>(
        &self,
        store: &Store,
        source: Source,
        counting: GameCounting,
        taken: &mut Taken<'_, E>,
    ) -> Result<(Imported, Summary), E> {
        let GameCounting { options, settings, directory, memory_bytes, base } = counting;
        if let Some(base) = &base {
            self.check_base(base, &settings)?;
        }
        let truncates = settings.truncate_games;
        let mut ledger = self.ledger_of(store, &options, settings)?;
        ledger.origin.delta = delta_origin(store, &ledger, base.as_deref())?;
        let keeps_games = ledger.games.is_some();
        let name = Arc::clone(source.name());
        self.check_interrupted(store, &name, keeps_games)?;
        let mut builder = TallyBuilder::new(options, directory, memory_bytes)
            .max_memory_bytes(MAX_MEMORY)
            .with_base(base);
        if let Some(games) = ledger.games {
            builder = builder.with_games(games);
        }
        builder.begin_source(&name);
        let importer = store.importer(&name, &self.options).map_err(ImportError::from)?;
        let mut games = Games { builder, importer, origin: ledger.origin, keeps_games };
        let mut checkpoint = Checkpoint::START;
        let summary = source.read(&mut |item| {
            checkpoint.advance(item.raw());
            if games.importer.is_before_resume_point(checkpoint).map_err(ImportError::from)? {
                return taken(&item, OnDisk::of(&games.importer));
            }
            if let Item::Record { .. } = item {
                return Err(ImportError::NotGames { name: name.to_string() }.into());
            }
            let outcome = games.builder.take_item(&item, truncates)?;
            if let Some(GameOutcome::NotReplaced) = outcome
                && let Item::Game { place, raw, .. } = &item
            {
                let diagnostic = &not_replaced();
                for item in [
                    Item::Diagnostic { diagnostic, place },
                    Item::Rejected { raw, place, is_more: false, is_game: true },
                ] {
                    // If this stops the import, the next item does so too.
                    let _ = taken(&item, OnDisk::of(&games.importer))?;
                }
                return Ok(ControlFlow::Continue(()));
            }
            if games.builder.is_full() {
                games.collect()?;
                games.importer.commit_at(checkpoint).map_err(ImportError::from)?;
            }
            taken(&item, OnDisk::of(&games.importer))
        })?;
        games.collect()?;
        let Games { mut builder, importer, .. } = games;
        let counts = builder.counts();
        let merged = builder.take_merged_games()?;
        let records = importer.finish_at(checkpoint).map_err(ImportError::from)?.counts;
        Ok((Imported::Games(CountedGames { counts, merged, records }), summary))
    }

    /// The ledger (the list of counted games) to which the games are added.
    fn ledger_of(
        &self,
        store: &Store,
        options: &TallyOptions,
        settings: TallySettings,
    ) -> Result<TallyLedger, ImportError> {
        let can_tell_games = options.same_game.is_some();
        let Some(mut ledger) = store.reader()?.tally_ledger()? else {
            let is_empty = store.imports()?.is_empty();
            if !is_empty && !self.allowed.mixed {
                return Err(no_origin(store));
            }
            let is_mixed = !is_empty;
            let origin = TallyOrigin { settings, is_mixed, ..TallyOrigin::default() };
            let games = (is_empty && can_tell_games).then(Default::default);
            return Ok(TallyLedger { origin, games });
        };
        let unlike = |unlike| LedgerError::Unlike { name: store_name(store), unlike };
        let is_alike = ledger::check_settings(&ledger.origin, &settings);
        ledger.origin.is_mixed |= is_alike.is_err();
        if !self.allowed.mixed {
            is_alike.map_err(unlike)?;
        }
        if !can_tell_games || ledger.games.is_none() {
            if can_tell_games && !self.allowed.overlap {
                return Err(unlike(Unlike::NoDigests).into());
            }
            ledger.games = None;
        }
        Ok(ledger)
    }

    /// Refuses a base to which games that are counted with these settings cannot be added.
    fn check_base(&self, base: &DeltaBase, settings: &TallySettings) -> Result<(), ImportError> {
        let checked = ledger::check_settings(&base.origin, settings);
        let checked = if self.allowed.mixed { Ok(()) } else { checked };
        let checked = if base.has_games() { checked } else { checked.and(Err(Unlike::NoDigests)) };
        Ok(checked.map_err(|unlike| LedgerError::Unlike { name: base.name.clone(), unlike })?)
    }

    /// Returns an error if the store may have a part of another import. Also refuses to restart an import if
    /// its games cannot be distinguished from new games.
    fn check_interrupted(
        &self,
        store: &Store,
        name: &str,
        keeps_games: bool,
    ) -> Result<(), ImportError> {
        let imports = store.imports()?;
        let unfinished = imports.iter().filter(|import| import.state == ImportState::Unfinished);
        for ImportInfo { source, settings, .. } in unfinished {
            let store = store_name(store);
            let source_name = source.clone();
            let is_own = source == name && settings_of(settings).contains_key("--tally");
            if !is_own && !self.allowed.mixed {
                return Err(ImportError::Interrupted { store, source_name });
            }
            if !keeps_games && self.options.restart {
                return Err(ImportError::CountsTwice { store, source_name });
            }
        }
        Ok(())
    }
}

/// The games of a base and its delta, before games are counted into the delta; `None` for a store that
/// is not a delta.
fn delta_origin(
    store: &Store,
    ledger: &TallyLedger,
    base: Option<&DeltaBase>,
) -> Result<Option<DeltaOrigin>, ImportError> {
    let TallyLedger { origin, games } = ledger;
    let has_games = games.as_ref().is_none_or(|games| !games.is_empty());
    match base {
        Some(base) => Ok(Some(base.origin_of(origin, has_games, store.path())?)),
        None if has_games && let Some(delta) = origin.delta => {
            Err(ImportError::NoBase { name: store_name(store), games: delta.base.games })
        }
        None => Ok(None),
    }
}

fn store_name(store: &Store) -> String {
    store.path().display().to_string()
}

fn no_origin(store: &Store) -> ImportError {
    LedgerError::NoOrigin { name: store_name(store) }.into()
}

/// Whether a store has no import, or only an interrupted import of this source.
fn is_only_import(store: &Store, name: &str) -> Result<bool, ImportError> {
    let is_this =
        |import: &ImportInfo| import.source == name && import.state != ImportState::Finished;
    Ok(store.imports()?.iter().all(is_this))
}

/// The origin of the tallies after an import, and the digests of the games that the import adds;
/// `None` if the ledger has no digests.
type AddedLedger = (TallyOrigin, Option<Vec<GameDigest>>);

/// Records on their way into a store.
struct Records<'s> {
    importer: Importer<&'s Store>,
    /// The end of the bytes that were read.
    place: Checkpoint,
    refuses_tallies: bool,
    name: Arc<str>,
    encoded: Vec<u8>,
}

impl Records<'_> {
    fn take(&mut self, item: &Item<'_>) -> Result<(), ImportError> {
        match item {
            Item::Encoded { records, raw, .. } => {
                records.iter().zip(lines::split(raw)).try_for_each(|(record, line)| {
                    self.place.advance(line);
                    self.push(record)
                })
            }
            Item::Record { record, raw, game, .. } => {
                let mut encoded = std::mem::take(&mut self.encoded);
                encoded.clear();
                push_keyed(record, &mut encoded)?;
                // A record without bytes in the source, as in an archive, advances the place by the
                // length of its binary form.
                let has_own = !raw.is_empty() || game.is_some();
                self.place.advance(if has_own { raw } else { &encoded[KEY..] });
                let pushed = self.push(&encoded);
                self.encoded = encoded;
                pushed
            }
            Item::LeftOut { record: Some(record), raw: [], .. } => {
                self.encoded.clear();
                record::encode(record, &mut self.encoded).map_err(Error::from)?;
                self.place.advance(&self.encoded);
                self.pass()
            }
            item => {
                self.place.advance(item.raw());
                self.pass()
            }
        }
    }

    /// Passes over a part of the source that has no record.
    fn pass(&mut self) -> Result<(), ImportError> {
        self.importer.is_before_resume_point(self.place)?;
        Ok(())
    }

    /// Imports a record with its key, unless an interrupted import committed it.
    fn push(&mut self, keyed: &[u8]) -> Result<(), ImportError> {
        if self.importer.is_before_resume_point(self.place)? {
            return Ok(());
        }
        let (key, record) =
            keyed.split_first_chunk::<KEY>().ok_or(EncodeError::NoRecord).map_err(Error::from)?;
        if self.refuses_tallies && record::tally_bytes(record).map_err(Error::from)?.is_some() {
            return Err(LedgerError::NoOrigin { name: self.name.to_string() }.into());
        }
        Ok(self.importer.push_keyed(u64::from_le_bytes(*key), record, self.place)?)
    }
}

const KEY: usize = 8;

/// Encodes a record as the key of its position, followed by the record in binary form. The keys are computed
/// on all threads, because this is the slowest step of an import before a commit.
struct KeyedRecords;

impl Encode for KeyedRecords {
    fn encode(&self, record: &EpdRecord, _: &Place, out: &mut Vec<u8>) -> Result<()> {
        push_keyed(record, out)
    }

    fn encode_plain(&self, record: &PlainRecord<'_>, out: &mut Vec<u8>) -> bool {
        let Ok(key) = board_key(record.board) else { return false };
        out.extend_from_slice(&key.to_le_bytes());
        record::encode_plain(record, out);
        true
    }
}

fn push_keyed(record: &EpdRecord, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; KEY]);
    record::encode(record, out)?;
    let key = record_key(&out[start + KEY..])?;
    out[start..start + KEY].copy_from_slice(&key.to_le_bytes());
    Ok(())
}

/// Options of counting games into a store.
#[derive(Clone, Debug)]
pub struct GameCounting {
    /// The options of counting.
    pub options: TallyOptions,
    /// The settings that the library stores: all of its games must be counted with the same settings.
    pub settings: TallySettings,
    /// The folder of temporary files.
    pub directory: PathBuf,
    /// Approximate memory for counting, in bytes.
    pub memory_bytes: usize,
    /// The library to which the store is a delta. Games that it has are duplicates.
    pub base: Option<Arc<DeltaBase>>,
}

/// The games of a source that were counted into a store.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct CountedGames {
    /// Numbers of games by their outcome, and the number of positions. If several commits have a
    /// position, the position is counted once for each of them.
    pub counts: TallyCounts,
    /// Duplicates that differ from the game that was counted.
    pub merged: MergedGames,
    /// The records of positions that went into the store.
    pub records: ImportCounts,
}

/// The error of a finished game, of which the store counts a copy that is not.
fn not_replaced() -> Diagnostic {
    let message = "the library counts an unfinished or shorter copy of this finished game, and has \
                   no moves of it to subtract: build the library again from all files";
    Diagnostic::error(codes::E_PGN_COPY, 1, message)
}

/// Games on their way into a store.
struct Games<'s> {
    builder: TallyBuilder,
    importer: Importer<&'s Store>,
    origin: TallyOrigin,
    keeps_games: bool,
}

impl Games<'_> {
    /// Passes to the importer everything that was counted since the last call.
    fn collect(&mut self) -> Result<()> {
        let (sources, games) = self.builder.take_games()?;
        self.builder.know(&games);
        sources.into_iter().for_each(|source| self.origin.add_source(source));
        let change = self.builder.take_change();
        if let Some(delta) = &mut self.origin.delta {
            delta.both = delta.both.and(change);
        }
        let new_games = self.keeps_games.then(|| games.iter().collect());
        self.importer.set_tally_origin(self.origin.clone(), new_games);
        let importer = &mut self.importer;
        let mut collect = |key, record: &[u8]| Ok(importer.collect_keyed(key, record)?);
        // A delta is packed with its base later, and positions in the order of games pack best.
        let order = match self.origin.delta {
            Some(_) => TallyOrder::Games,
            None => TallyOrder::Key,
        };
        self.builder.drain(order, &mut |batch, _| batch.each_keyed(&mut collect))?;
        self.builder.drain_games(&mut |game| Ok(importer.collect_game(game)?))
    }
}

/// Maximum memory for the games that are counted between two commits, because a commit holds less
/// than 4 GiB.
const MAX_MEMORY: usize = 2 << 30;
