//! Imports: records are pushed, collected in batches and committed.

use std::borrow::Borrow;
use std::fmt;
use std::io::{self, BufRead};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::batch::Batch;
use super::merge::merge;
use super::resolve::Resolver;
use super::sorted::{RunRecords, SortedRecords, run_buffer_bytes};
use super::{AnalysisCounts, ImportConflict, ImportOptions, ImportReport};
use crate::error::{Result as Inner, StoreError, damaged, guarded};
use crate::journal::{self, Checkpoint, ImportCounts, ImportInfo, ImportState, Journal};
use crate::kept_games::NewGames;
use crate::ledger::LedgerChange;
use crate::open::Store;
use crate::runs::{self, RunFile, WaitingRuns};
use crate::schema::{self, Access, BLOCK_PAGE_BYTES, Meta, StoreHeader, begin_write, read_header};
use crate::settings;
use epdb_base::new_file::{folder_of, free_bytes};
use epdb_base::spill::BLOCK;
use epdb_chess::codec::key::position_key;
use epdb_chess::codec::tally_origin::{GameDigest, TallyOrigin};
use epdb_chess::model::EpdRecord;

type Result<T> = std::result::Result<T, StoreError>;

impl Store {
    /// Begins to import from a source. If an import of a source with this name was interrupted,
    /// continues that import; then call [`Importer::resume`] before you push the first record.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`]; [`StoreError::Busy`] while another import of this process runs;
    /// [`StoreError::SettingsChanged`] if the interrupted import had other options.
    pub fn importer(&self, source: &str, options: &ImportOptions) -> Result<Importer<&Store>> {
        Importer::begin(self, source, options)
    }

    /// Like [`Store::importer`], but the importer owns the store; [`Importer::into_store`] ends
    /// the import and returns the store.
    ///
    /// # Errors
    /// The errors of [`Store::importer`].
    pub fn into_importer(self, source: &str, options: &ImportOptions) -> Result<Importer<Store>> {
        Importer::begin(self, source, options)
    }
}

/// A running import. Pushed records are in the store once they are committed. A commit happens at the
/// end. Whenever the memory for batches is full, the batch is written as a sorted run to a file beside
/// the store, where it waits for the commit. If an importer is dropped, the records of its batch are
/// lost; the runs stay, and the same import continues after them.
pub struct Importer<S: Borrow<Store>> {
    store: S,
    /// Keeps other imports of the process out until the importer is dropped.
    _running: Running,
    options: ImportOptions,
    id: u64,
    info: ImportInfo,
    /// Place of an interrupted import that was not continued yet.
    pending: Option<Checkpoint>,
    /// The number of an interrupted import that is given up, because the option `restart` is set.
    /// The first commit marks it in the journal.
    given_up: Option<u64>,
    batch: Batch,
    /// The records that wait for the next commit; `None` if there are none.
    runs: Option<RunFile>,
    conflicts: Vec<ImportConflict>,
    analyses: AnalysisCounts,
    /// Change of the tally ledger in the next commit. The ledger has the origin of tallies and the
    /// digests of the counted games.
    ledger: Option<LedgerChange>,
    games: NewGames,
    failed: bool,
}

/// Number of runs that are merged together in any memory.
const MIN_RUNS: usize = 16;

/// Marks a store while an import runs.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl<S: Borrow<Store>> fmt::Debug for Importer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Importer")
            .field("id", &self.id)
            .field("options", &self.options)
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

impl<S: Borrow<Store>> Importer<S> {
    fn begin(owner: S, source: &str, options: &ImportOptions) -> Result<Importer<S>> {
        let store = owner.borrow();
        store.database()?;
        let path = &store.shared.path;
        if store.importing.swap(true, Ordering::Acquire) {
            let what = "another import of this process is running; finish it first";
            return Err(StoreError::Busy { path: path.clone(), what });
        }
        let running = Running(Arc::clone(&store.importing));
        Importer::begin_alone(owner, running, source, options)
    }

    /// Begins while no other import of this process runs.
    fn begin_alone(
        owner: S,
        running: Running,
        source: &str,
        options: &ImportOptions,
    ) -> Result<Importer<S>> {
        let store = owner.borrow();
        let path = &store.shared.path;
        let (imports, meta, waiting) = guarded(path, || {
            let transaction = store.begin_read()?;
            let meta = read_header(&transaction, Access::Write)?.meta;
            let waiting = WaitingRuns::read(&transaction, &meta)?;
            Ok((journal::list(&transaction, &meta)?, meta, waiting))
        })?;
        let mut id = meta.imports;
        let mut info = ImportInfo {
            source: source.to_string(),
            digest: options.digest,
            duplicates: options.duplicates(),
            settings: settings::text(&options.settings),
            state: ImportState::Unfinished,
            place: Checkpoint::START,
            first_import_number: meta.next_import_number,
            counts: ImportCounts::default(),
        };
        let line = match &waiting {
            Some(waiting) => Some(guarded(path, || waiting.line(&imports).cloned())?),
            None => None,
        };
        let interrupted = (0..).zip(imports).filter(|(id, earlier)| {
            let has_same_digest = earlier.digest.is_some() && earlier.digest == options.digest;
            let is_interrupted = match earlier.state {
                ImportState::Unfinished => true,
                ImportState::Delivered => !store.delivered().contains(id),
                ImportState::Finished | ImportState::GivenUp => false,
            };
            is_interrupted && (earlier.source == source || has_same_digest)
        });
        let interrupted = interrupted.last();
        // Only one import can have records that wait. Those of another one are merged first.
        if let (Some(waiting), Some(line)) = (&waiting, line)
            && interrupted.as_ref().is_none_or(|(id, _)| *id != waiting.import)
        {
            let running = merge_waiting(store, running, waiting, line)?;
            return Importer::begin_alone(owner, running, source, options);
        }
        let mut pending = None;
        let mut given_up = None;
        match interrupted {
            None => {}
            Some((earlier_id, _)) if options.restart => given_up = Some(earlier_id),
            Some((_, earlier)) if !earlier.has_same_settings(&info) => {
                return Err(StoreError::SettingsChanged {
                    path: path.clone(),
                    source_name: earlier.source.clone(),
                    line: earlier.place.line(),
                    found: earlier.difference(&info),
                });
            }
            Some((earlier_id, earlier)) => {
                id = earlier_id;
                pending = Some(earlier.place);
                info = ImportInfo { digest: options.digest, ..earlier };
            }
        }
        // An import that is given up gives up its runs too.
        let runs = match waiting {
            Some(waiting) if given_up.is_none() => Some(open_runs(store, &info.source, &waiting)?),
            _ => None,
        };
        let batch = Batch::new(store.batch_bytes);
        Ok(Importer {
            store: owner,
            _running: running,
            options: options.clone(),
            id,
            info,
            pending,
            given_up,
            batch,
            runs,
            conflicts: Vec::new(),
            analyses: AnalysisCounts::default(),
            ledger: None,
            games: NewGames::default(),
            failed: false,
        })
    }

    /// Outcome of the committed records, including those of earlier runs.
    pub const fn committed(&self) -> ImportCounts {
        self.info.counts
    }

    /// Number of records that wait for the next commit in a file beside the store.
    pub fn waiting(&self) -> u64 {
        self.runs.as_ref().map_or(0, RunFile::records)
    }

    /// Place of an interrupted import of this source, if any. [`Importer::resume`] continues it.
    pub fn resume_point(&self) -> Option<Checkpoint> {
        self.pending
    }

    /// Reads the part of the source that an earlier run consumed and checks that it is unchanged.
    /// Returns the place from which to continue. It is the start of the source if no earlier run
    /// was interrupted.
    ///
    /// # Errors
    /// [`StoreError::SourceChanged`] if the consumed part has changed; [`StoreError::Io`] if the
    /// source cannot be read.
    pub fn resume(&mut self, source: &mut impl BufRead) -> Result<Checkpoint> {
        let Some(goal) = self.pending else { return Ok(Checkpoint::START) };
        let mut place = Checkpoint::START;
        while place.offset() < goal.offset() {
            let chunk = match source.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(StoreError::Io { path: self.info.source.clone().into(), error });
                }
            };
            let left = usize::try_from(goal.offset() - place.offset()).unwrap_or(usize::MAX);
            let consumed = chunk.len().min(left);
            place.advance(&chunk[..consumed]);
            source.consume(consumed);
        }
        self.resume_at(place)?;
        Ok(place)
    }

    /// Continues from a place that the caller has reached by reading the source.
    ///
    /// # Errors
    /// [`StoreError::SourceChanged`] if `place` is not [`Importer::resume_point`].
    pub fn resume_at(&mut self, place: Checkpoint) -> Result<()> {
        match self.pending {
            Some(goal) if goal != place => Err(self.changed(goal)),
            _ => {
                self.pending = None;
                Ok(())
            }
        }
    }

    fn changed(&self, goal: Checkpoint) -> StoreError {
        StoreError::SourceChanged {
            path: self.store.borrow().shared.path.clone(),
            source_name: self.info.source.clone(),
            line: goal.line(),
        }
    }

    /// Adds a record without a place in its source. An import of such records cannot be continued.
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    pub fn push(&mut self, record: &EpdRecord) -> Result<()> {
        self.push_from(record, self.info.place)
    }

    /// Adds a record that ends at this place of its source. A full batch is written to the disk. If the
    /// import is interrupted, it can be continued after the last record of a full batch.
    ///
    /// # Errors
    /// [`StoreError::Encode`]; the importer is then unchanged. [`StoreError::Io`] and
    /// [`StoreError::Damaged`]; the store then has only the earlier commits.
    /// [`StoreError::SourceChanged`] if [`Importer::resume`] was not called.
    pub fn push_from(&mut self, record: &EpdRecord, place: Checkpoint) -> Result<()> {
        self.check()?;
        let shared = &self.store.borrow().shared;
        let key = (shared.key)(position_key(record.position()));
        self.batch.push(key, record).map_err(|error| shared.cannot_encode(error))?;
        self.commit_if_full(place)
    }

    /// Like [`Importer::push_from`], for a record in its binary form, with the key of its position
    /// ([`board_key`](epdb_chess::codec::key::board_key)). The bytes must be those that the codec wrote.
    pub fn push_keyed(&mut self, key: u64, record: &[u8], place: Checkpoint) -> Result<()> {
        self.collect_keyed(key, record)?;
        self.commit_if_full(place)
    }

    /// True if an interrupted import has committed the part of the source that ends at this place.
    /// If the import stopped exactly at this place, this call resumes it.
    pub fn is_before_resume_point(&mut self, place: Checkpoint) -> Result<bool> {
        let Some(earlier) = self.pending else { return Ok(false) };
        if place.offset() >= earlier.offset() {
            self.resume_at(place)?;
        }
        Ok(true)
    }

    /// Like [`Importer::push_keyed`], but never commits: [`Importer::commit_at`] commits the record
    /// together with others.
    pub fn collect_keyed(&mut self, key: u64, record: &[u8]) -> Result<()> {
        self.check()?;
        let shared = &self.store.borrow().shared;
        let pushed = self.batch.push_encoded((shared.key)(key), record);
        pushed.map_err(|error| shared.cannot_encode(error))
    }

    /// Sets the origin of the tallies; the next commit writes it. `new_games` are the digests of
    /// the games that the tallies now count in addition. `None` means that the store keeps no
    /// digests of games, or no longer keeps them.
    pub fn set_tally_origin(&mut self, origin: TallyOrigin, new_games: Option<Vec<GameDigest>>) {
        self.ledger = Some(LedgerChange { origin, new_games });
    }

    /// Adds a game that positions list in their operation `kept_games`. The next commit writes the
    /// game. The bytes are those that [`kept_game`](epdb_chess::codec::kept_game) encodes. A game may be
    /// added several times.
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    pub fn keep_game(&mut self, game: &[u8]) -> Result<()> {
        self.collect_game(game)?;
        if self.games.memory_used() > self.store.borrow().batch_bytes {
            self.commit(ImportState::Unfinished)?;
        }
        Ok(())
    }

    /// Like [`Importer::keep_game`], but never commits: [`Importer::commit_at`] commits the game
    /// together with others.
    pub fn collect_game(&mut self, game: &[u8]) -> Result<()> {
        self.check()?;
        self.games.push(game);
        Ok(())
    }

    /// Commits all collected records at once. `place` is the place in the source at which these
    /// records end.
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    pub fn commit_at(&mut self, place: Checkpoint) -> Result<()> {
        self.check()?;
        self.info.place = place;
        self.commit(ImportState::Unfinished)
    }

    /// Sets the place of the source. Then commits if enough records wait, or writes a full batch as a run.
    fn commit_if_full(&mut self, place: Checkpoint) -> Result<()> {
        self.info.place = place;
        let waiting = self.waiting() + self.batch.len() as u64;
        let enough = self.options.commit_every.map_or(runs::MAX_RECORDS, NonZeroU64::get);
        if waiting >= enough || (self.batch.is_full() && self.options.commit_when_full) {
            return self.commit(ImportState::Unfinished);
        }
        if self.batch.is_full() {
            self.write_waiting_run()?;
            // The buffers of more runs would not fit into memory.
            let max_runs = (run_buffer_bytes(self.merge_bytes()) / BLOCK).max(MIN_RUNS);
            if self.runs.as_ref().is_some_and(|runs| runs.runs.len() >= max_runs) {
                self.commit(ImportState::Unfinished)?;
            }
        }
        Ok(())
    }

    fn merge_bytes(&self) -> usize {
        self.store.borrow().batch_bytes / 2
    }

    /// Writes the batch as a run, and names it in the journal. The records then wait for the next commit.
    fn write_waiting_run(&mut self) -> Result<()> {
        self.failed = true;
        self.append_run()?;
        let store: &Store = self.store.borrow();
        let path = &store.shared.path;
        // Until a new store has its name, nothing of it outlives the process.
        if store.has_its_name()
            && let Some(runs) = &mut self.runs
        {
            let named = runs.set_name(path).and_then(|()| runs.sync());
            named.map_err(|error| StoreError::Io { path: path.clone(), error })?;
            let waiting = WaitingRuns { import: self.id, runs: runs.runs.clone() };
            let database = store.database()?;
            guarded(path, || {
                let transaction = begin_write(database)?;
                let mut table = transaction.open_table(schema::META)?;
                let mut header = StoreHeader::read(&table, Access::Write)?;
                self.info.state = ImportState::Unfinished;
                write_line(&transaction, &mut header, self.id, &self.info, self.given_up)?;
                waiting.write(&mut table, &mut header.meta)?;
                header.write(&mut table)?;
                drop(table);
                Ok(transaction.commit()?)
            })?;
            self.given_up = None;
        }
        self.failed = false;
        Ok(())
    }

    /// Appends the batch to the runs, and empties it.
    fn append_run(&mut self) -> Result<()> {
        let path = &self.store.borrow().shared.path;
        let io_error = |error| StoreError::Io { path: path.clone(), error };
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => self.runs.insert(RunFile::create(path).map_err(io_error)?),
        };
        let first = runs.records() as u32;
        let batch = &mut self.batch;
        runs.append(batch.len() as u64, |out| batch.write_run(first, out)).map_err(io_error)?;
        self.batch.clear();
        Ok(())
    }

    /// Commits the rest and ends the import. `place` is the end of the source; for a source without
    /// places use [`Importer::finish`].
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    pub fn finish_at(mut self, place: Checkpoint) -> Result<ImportReport> {
        self.complete(place)
    }

    fn complete(&mut self, place: Checkpoint) -> Result<ImportReport> {
        self.check()?;
        self.info.place = place;
        // If the import is run again, its digest shows that it is complete.
        if self.info.digest.is_some() {
            self.commit(ImportState::Finished)?;
        } else {
            self.commit(ImportState::Delivered)?;
            self.store.borrow().delivered().push(self.id);
        }
        let conflicts = std::mem::take(&mut self.conflicts);
        let ImportInfo { counts, first_import_number, .. } = self.info;
        Ok(ImportReport { counts, conflicts, analyses: self.analyses, first_import_number })
    }

    /// Commits the rest and ends the import after the last record.
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    pub fn finish(self) -> Result<ImportReport> {
        let place = self.info.place;
        self.finish_at(place)
    }

    /// Commits the records that were pushed so far.
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    pub fn flush(&mut self) -> Result<()> {
        self.check()?;
        self.commit(ImportState::Unfinished)
    }

    fn check(&self) -> Result<()> {
        if let Some(goal) = self.pending {
            return Err(self.changed(goal));
        }
        if self.failed {
            let what = "the import failed; run it again";
            return Err(StoreError::Busy { path: self.store.borrow().shared.path.clone(), what });
        }
        Ok(())
    }

    /// Merges everything that waits, and the batch, into the blocks.
    fn commit(&mut self, state: ImportState) -> Result<()> {
        // Stays true after an error: parts of this value have been taken then.
        self.failed = true;
        if self.runs.is_some() && self.batch.len() > 0 {
            self.append_run()?;
        }
        let memory_bytes = self.merge_bytes();
        let store: &Store = self.store.borrow();
        store.has_grown.store(true, Ordering::Release);
        let database = store.database()?;
        let path = &store.shared.path;
        guarded(path, || {
            let mut incoming = match &mut self.runs {
                None => SortedRecords::from_batch(&mut self.batch),
                Some(runs) => {
                    // A merge takes the memory of the batch.
                    self.batch = Batch::new(0);
                    let checked = runs.checked();
                    let (file, ranges) = checked
                        .map_err(|error| runs::cannot_read(path, &self.info.source, error))?;
                    let records = runs.records();
                    let bytes = runs.record_bytes();
                    let records = RunRecords::new(file, &ranges, records, bytes, memory_bytes)?;
                    SortedRecords::Runs(Box::new(records))
                }
            };
            let transaction = begin_write(database)?;
            let mut table = transaction.open_table(schema::META)?;
            let mut header = StoreHeader::read(&table, Access::Write)?;
            if let SortedRecords::Runs(_) = incoming {
                check_space(path, &header.meta, &incoming)?;
            }
            let mut resolver = Resolver {
                on_duplicate: &self.options.on_duplicate,
                same: self.options.same,
                first_number: header.meta.next_import_number,
                counts: self.info.counts,
                conflicts: std::mem::take(&mut self.conflicts),
                analyses: self.analyses,
            };
            let is_last = state != ImportState::Unfinished;
            let key = store.shared.key;
            merge(&transaction, key, &mut header, &mut incoming, &mut resolver, is_last)?;
            self.info.counts = resolver.counts;
            self.conflicts = resolver.conflicts;
            self.analyses = resolver.analyses;
            self.info.state = state;
            write_line(&transaction, &mut header, self.id, &self.info, self.given_up)?;
            WaitingRuns::remove(&mut table, &mut header.meta)?;
            if let Some(change) = self.ledger.clone() {
                change.write(&transaction, &mut table, &mut header.meta)?;
            }
            self.games.write(&transaction, &mut table)?;
            header.write(&mut table)?;
            drop(table);
            Ok(transaction.commit()?)
        })?;
        if self.given_up.take().is_some() && self.runs.is_none() {
            // The runs that the import gave up.
            runs::remove_stale(path);
        }
        self.ledger = None;
        self.games.clear();
        match self.runs.take() {
            None => self.batch.clear(),
            Some(runs) => {
                runs.remove();
                self.batch = Batch::new(self.store.borrow().batch_bytes);
            }
        }
        self.failed = false;
        Ok(())
    }
}

/// Refuses a merge of runs if the disk has no room for the new blocks beside the old ones.
fn check_space(store: &Path, meta: &Meta, incoming: &SortedRecords) -> Inner<()> {
    // A record has a number, a fingerprint and a length, and a page is nine tenths full.
    let added = (incoming.record_bytes() + 8 * incoming.len()) / 8 * 9;
    let changed = incoming.len().saturating_mul(BLOCK_PAGE_BYTES as u64).min(meta.block_bytes);
    let needed = added.saturating_add(changed);
    let folder = folder_of(store);
    let Some(free) = free_bytes(&folder) else { return Ok(()) };
    if free >= needed {
        return Ok(());
    }
    let what = format!(
        "the merge of {} records that wait needs {needed} bytes, and {} has {free} bytes left; make \
         room there and run the same command again",
        incoming.len(),
        folder.display()
    );
    let error = io::Error::new(io::ErrorKind::StorageFull, what);
    Err(StoreError::Io { path: store.to_path_buf(), error }.into())
}

/// Writes the line of an import in the journal, and marks the import that it gives up.
fn write_line(
    transaction: &redb::WriteTransaction,
    header: &mut StoreHeader,
    id: u64,
    info: &ImportInfo,
    given_up: Option<u64>,
) -> Inner<()> {
    let mut journal = Journal::open(transaction, &mut header.meta)?;
    if let Some(given_up) = given_up {
        journal.set_state(given_up, ImportState::GivenUp)?;
    }
    journal.put(id, info)
}

fn open_runs(store: &Store, source_name: &str, waiting: &WaitingRuns) -> Result<RunFile> {
    let path = &store.shared.path;
    let opened = RunFile::open(path, waiting);
    opened.map_err(|error| runs::cannot_read(path, source_name, error))
}

/// Merges what waits of another import, by the rules of that import, which stays unfinished.
fn merge_waiting(
    store: &Store,
    running: Running,
    waiting: &WaitingRuns,
    info: ImportInfo,
) -> Result<Running> {
    let path = &store.shared.path;
    let Some(options) = ImportOptions::from_duplicates(&info.duplicates) else {
        let place = format!("import {}", waiting.import);
        return Err(damaged(place, "its treatment of duplicates is unknown").into_error(path));
    };
    let mut importer = Importer {
        store,
        _running: running,
        options,
        id: waiting.import,
        pending: None,
        given_up: None,
        batch: Batch::new(0),
        runs: Some(open_runs(store, &info.source, waiting)?),
        info,
        conflicts: Vec::new(),
        analyses: AnalysisCounts::default(),
        ledger: None,
        games: NewGames::default(),
        failed: false,
    };
    importer.commit(ImportState::Unfinished)?;
    Ok(importer._running)
}

impl Importer<Store> {
    /// Ends the import like [`Importer::finish`], and returns the store.
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    pub fn into_store(mut self) -> Result<Store> {
        self.complete(self.info.place)?;
        Ok(self.store)
    }
}
