//! Imports: records are pushed, collected in batches and committed.

use std::borrow::Borrow;
use std::fmt;
use std::io::{self, BufRead};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::batch::Batch;
use super::merge::merge;
use super::resolve::Resolver;
use super::{ImportConflict, ImportOptions, ImportReport};
use crate::codec::key::position_key;
use crate::codec::tally_origin::{GameDigest, TallyOrigin};
use crate::model::EpdRecord;
use crate::store::error::{StoreError, guarded};
use crate::store::journal::{self, Checkpoint, ImportCounts, ImportInfo, ImportState, Journal};
use crate::store::kept_games::NewGames;
use crate::store::ledger::LedgerChange;
use crate::store::open::Store;
use crate::store::schema::{self, Access, StoreHeader, begin_write, read_header};

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
    #[cfg(feature = "source")]
    pub(crate) fn into_importer(
        self,
        source: &str,
        options: &ImportOptions,
    ) -> Result<Importer<Store>> {
        Importer::begin(self, source, options)
    }
}

/// A running import. Pushed records are in the store once they are committed. A commit happens
/// whenever the memory for batches is full, and at the end. If an importer is dropped, its
/// uncommitted records are lost.
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
    conflicts: Vec<ImportConflict>,
    /// Number of merged records with two analyses.
    analyses: u64,
    /// Change of the tally ledger in the next commit. The ledger has the origin of tallies and the
    /// digests of the counted games.
    ledger: Option<LedgerChange>,
    /// Games for the next commit.
    games: NewGames,
    failed: bool,
}

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
        let (imports, meta) = guarded(path, || {
            let transaction = store.begin_read()?;
            let meta = read_header(&transaction, Access::Write)?.meta;
            Ok((journal::list(&transaction, &meta)?, meta))
        })?;
        let next_id = meta.imports;
        let fresh = ImportInfo {
            source: source.to_string(),
            digest: options.digest,
            duplicates: options.duplicates(),
            settings: options.settings.clone(),
            state: ImportState::Unfinished,
            place: Checkpoint::START,
            first_import_number: meta.next_import_number,
            counts: ImportCounts::default(),
        };
        let is_interrupted = |(id, info): &(u64, ImportInfo)| match info.state {
            ImportState::Unfinished => true,
            ImportState::Delivered => !store.delivered().contains(id),
            _ => false,
        };
        let is_this = |(_, info): &(u64, ImportInfo)| {
            info.source == source || (info.digest.is_some() && info.digest == options.digest)
        };
        let mut lines = (0..).zip(imports).collect::<Vec<_>>().into_iter().rev();
        let interrupted = lines.find(|line| is_this(line) && is_interrupted(line));
        let (id, info, pending, given_up) = match interrupted {
            None => (next_id, fresh, None, None),
            Some((id, _)) if options.restart => (next_id, fresh, None, Some(id)),
            Some((_, info)) if !info.has_same_settings(&fresh) => {
                return Err(StoreError::SettingsChanged {
                    path: path.clone(),
                    source_name: info.source.clone(),
                    line: info.place.line(),
                    found: info.settings_text(),
                });
            }
            Some((id, info)) => {
                let place = info.place;
                (id, ImportInfo { digest: options.digest, ..info }, Some(place), None)
            }
        };
        let batch = Batch::new(store.batch_bytes);
        let (options, conflicts) = (options.clone(), Vec::new());
        let (ledger, failed) = (None, false);
        Ok(Importer {
            store: owner,
            _running: running,
            options,
            id,
            info,
            pending,
            given_up,
            batch,
            conflicts,
            analyses: 0,
            ledger,
            games: NewGames::default(),
            failed,
        })
    }

    /// Outcome of the committed records, including those of earlier runs.
    pub const fn committed(&self) -> ImportCounts {
        self.info.counts
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

    /// Adds a record that ends at this place of its source. A full batch is committed. If the
    /// import is interrupted, it can be continued after the last committed record.
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
        self.settle(place)
    }

    /// Like [`Importer::push_from`], for a record in its binary form, with the key of its position
    /// ([`board_key`](crate::codec::key::board_key)). The bytes must be those that the codec wrote.
    #[cfg(feature = "source")]
    pub(crate) fn push_keyed(&mut self, key: u64, record: &[u8], place: Checkpoint) -> Result<()> {
        self.collect_keyed(key, record)?;
        self.settle(place)
    }

    /// True if an interrupted import has committed the part of the source that ends at this place.
    /// If the import stopped exactly at this place, this call resumes it.
    #[cfg(feature = "library")]
    pub(crate) fn is_before_resume_point(&mut self, place: Checkpoint) -> Result<bool> {
        let Some(earlier) = self.pending else { return Ok(false) };
        if place.offset() >= earlier.offset() {
            self.resume_at(place)?;
        }
        Ok(true)
    }

    /// Like [`Importer::push_keyed`], but never commits: [`Importer::commit_at`] commits the record
    /// together with others.
    #[cfg(feature = "source")]
    pub(crate) fn collect_keyed(&mut self, key: u64, record: &[u8]) -> Result<()> {
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
    /// game. The bytes are those that [`kept_game`](crate::codec::kept_game) encodes. A game may be
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
    pub(crate) fn collect_game(&mut self, game: &[u8]) -> Result<()> {
        self.check()?;
        self.games.push(game);
        Ok(())
    }

    /// Commits all collected records at once. `place` is the place in the source at which these
    /// records end.
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    #[cfg(feature = "library")]
    pub(crate) fn commit_at(&mut self, place: Checkpoint) -> Result<()> {
        self.check()?;
        self.info.place = place;
        self.commit(ImportState::Unfinished)
    }

    /// Sets the place of the source, and commits the batch if it is full.
    fn settle(&mut self, place: Checkpoint) -> Result<()> {
        self.info.place = place;
        let enough = self.options.commit_every.map_or(u64::MAX, NonZeroU64::get);
        if self.batch.is_full() || self.batch.len() as u64 >= enough {
            self.commit(ImportState::Unfinished)?;
        }
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
        match self.info.digest {
            // If the import is run again, the digest shows that it is complete.
            Some(_) => self.commit(ImportState::Finished)?,
            None => {
                self.commit(ImportState::Delivered)?;
                self.store.borrow().delivered().push(self.id);
            }
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

    fn commit(&mut self, state: ImportState) -> Result<()> {
        self.failed = true;
        let store: &Store = self.store.borrow();
        store.has_grown.store(true, Ordering::Release);
        let database = store.database()?;
        guarded(&store.shared.path, || {
            let transaction = begin_write(database)?;
            let mut table = transaction.open_table(schema::META)?;
            let mut header = StoreHeader::read(&table, Access::Write)?;
            let mut resolver = Resolver {
                on_duplicate: &self.options.on_duplicate,
                same: self.options.same,
                first_number: header.meta.next_import_number,
                counts: self.info.counts,
                conflicts: std::mem::take(&mut self.conflicts),
                analyses: self.analyses,
            };
            merge(
                &transaction,
                store.shared.key,
                &mut header,
                &mut self.batch,
                &mut resolver,
                state != ImportState::Unfinished,
            )?;
            self.info.counts = resolver.counts;
            self.conflicts = resolver.conflicts;
            self.analyses = resolver.analyses;
            self.info.state = state;
            let mut journal = Journal::open(&transaction, &mut header.meta)?;
            if let Some(id) = self.given_up {
                journal.set_state(id, ImportState::GivenUp)?;
            }
            journal.put(self.id, &self.info)?;
            drop(journal);
            if let Some(change) = self.ledger.clone() {
                change.write(&transaction, &mut table, &mut header.meta)?;
            }
            self.games.write(&transaction, &mut table)?;
            header.write(&mut table)?;
            drop(table);
            Ok(transaction.commit()?)
        })?;
        self.given_up = None;
        self.ledger = None;
        self.games.clear();
        self.batch.clear();
        self.failed = false;
        Ok(())
    }
}

#[cfg(feature = "source")]
impl Importer<Store> {
    /// Ends the import like [`Importer::finish`], and returns the store.
    ///
    /// # Errors
    /// The errors of [`Importer::push_from`].
    pub(crate) fn into_store(mut self) -> Result<Store> {
        self.complete(self.info.place)?;
        Ok(self.store)
    }
}
