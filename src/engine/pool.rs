//! Runs several engines on one file and returns the records in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use super::choices::Finished;
use super::clock::Clock;
use super::error::{EngineError, EngineErrorKind};
use super::journal::Journal;
use super::session::{Engine, Identity, Limits};
use super::spec::EngineSpec;
use super::task::Task;
use epdb_chess::error::{Error, Result, caught};
use epdb_chess::model::EpdRecord;
use epdb_library::edit::stamp;

/// The maximum number of finished records that wait for an earlier one.
const MAX_WAITING: u64 = 1 << 16;
/// The number of failed starts in a row after which an engine is given up.
const MAX_FAILED_STARTS: u32 = 3;

/// An engine, its task and its limits.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The engine.
    pub engine: EngineSpec,
    /// The task for each record.
    pub task: Task,
    /// Limits of the search of a record.
    pub limits: Limits,
    /// Maximum time without output of an engine.
    pub timeout: Duration,
    /// Number of engine processes.
    pub concurrency: usize,
    /// The clock that measures the engines.
    pub clock: Arc<dyn Clock>,
    /// Whether changed records get the time of the change as `ts`.
    pub stamps: bool,
}

impl Plan {
    /// Starts the engine once to check its options, and returns its identity.
    ///
    /// # Errors
    /// The engine cannot be started.
    pub fn check(&self) -> Result<Identity, EngineError> {
        let engine = self.start()?;
        let identity = engine.identity().clone();
        engine.quit();
        Ok(identity)
    }

    fn start(&self) -> Result<Engine, EngineError> {
        Engine::start(&self.engine, self.timeout, Arc::clone(&self.clock))
    }
}

/// An engine has one record in work, and one that waits, so that it is never idle.
const JOBS_OF_ENGINE: u64 = 2;

/// A record on its way to an engine, or back.
struct Job<T> {
    number: u64,
    what: T,
}

/// Takes finished records in order, with their numbers from 0.
pub type Emit<'e, E> = dyn FnMut(u64, Finished) -> std::result::Result<(), E> + 'e;

/// Several processes of one engine. Each belongs to its own thread and is started for the first
/// record. An engine that failed is ended and started again for the next record.
///
/// If a pool is dropped before [`Pool::finish`], each engine ends after its current search.
#[derive(Debug)]
pub struct Pool {
    jobs: Sender<Job<EpdRecord>>,
    done: Receiver<Job<Result<Finished>>>,
    max_in_work: u64,
    /// Number of records that were sent to the engines.
    sent: u64,
    /// Number of records that came back from the engines.
    returned: u64,
    emitted: u64,
    waiting: BTreeMap<u64, Finished>,
}

impl<T> std::fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Job {}", self.number)
    }
}

impl Pool {
    /// Starts the threads.
    pub fn new(plan: Plan) -> Pool {
        Pool::with_journal(plan, None).0
    }

    /// Does the same as [`Pool::new`], with a journal to which each finished record is written
    /// before it is emitted.
    pub(super) fn with_journal(plan: Plan, journal: Option<Journal>) -> (Pool, SharedJournal) {
        let (jobs, jobs_to_do) = channel();
        let (results, done) = channel();
        let max_in_work = JOBS_OF_ENGINE * plan.concurrency as u64;
        let journal = SharedJournal(Arc::new(Mutex::new(journal)));
        let shared = Arc::new(Shared {
            plan,
            jobs_to_do: Mutex::new(jobs_to_do),
            journal: journal.clone(),
            failed_starts: AtomicU32::new(0),
        });
        for _ in 0..shared.plan.concurrency {
            let shared = Arc::clone(&shared);
            let results = results.clone();
            thread::spawn(move || shared.work(&results));
        }
        let waiting = BTreeMap::new();
        let pool = Pool { jobs, done, max_in_work, sent: 0, returned: 0, emitted: 0, waiting };
        (pool, journal)
    }

    /// Sends a record to the engines and emits finished records.
    ///
    /// # Errors
    /// An engine cannot be started, the journal cannot be written, or `emit` fails.
    pub fn push<E: From<Error>>(
        &mut self,
        record: EpdRecord,
        emit: &mut Emit<'_, E>,
    ) -> Result<(), E> {
        while self.in_work() >= self.max_in_work || self.sent - self.emitted >= MAX_WAITING {
            self.receive(emit)?;
        }
        let number = self.sent;
        self.sent += 1;
        if self.jobs.send(Job { number, what: record }).is_err() {
            // The threads have ended with an error, which is still to be received.
            return self.wait(emit).and(Err(gone().into()));
        }
        self.emit_ready(emit)
    }

    /// Adds a record that an earlier run finished.
    pub(crate) fn push_finished<E: From<Error>>(
        &mut self,
        finished: Finished,
        emit: &mut Emit<'_, E>,
    ) -> Result<(), E> {
        self.waiting.insert(self.sent, finished);
        self.sent += 1;
        self.returned += 1;
        self.emit_ready(emit)
    }

    pub(crate) const fn next_number(&self) -> u64 {
        self.sent
    }

    /// Waits until all records that were sent are finished.
    ///
    /// # Errors
    /// The errors of [`Pool::push`].
    pub fn wait<E: From<Error>>(&mut self, emit: &mut Emit<'_, E>) -> Result<(), E> {
        while self.in_work() > 0 {
            self.receive(emit)?;
        }
        Ok(())
    }

    /// Does the same as [`Pool::wait`], and then ends the engines.
    ///
    /// # Errors
    /// The errors of [`Pool::push`].
    pub fn finish<E: From<Error>>(mut self, emit: &mut Emit<'_, E>) -> Result<(), E> {
        self.wait(emit)?;
        let Pool { jobs, done, .. } = self;
        drop(jobs);
        // The threads end their engines before they close this channel.
        while done.recv().is_ok() {}
        Ok(())
    }

    const fn in_work(&self) -> u64 {
        self.sent - self.returned
    }

    fn receive<E: From<Error>>(&mut self, emit: &mut Emit<'_, E>) -> Result<(), E> {
        let Job { number, what } = self.done.recv().map_err(|_| gone())?;
        self.returned += 1;
        self.waiting.insert(number, what?);
        self.emit_ready(emit)
    }

    fn emit_ready<E: From<Error>>(&mut self, emit: &mut Emit<'_, E>) -> Result<(), E> {
        while let Ok(Job { number, what }) = self.done.try_recv() {
            self.returned += 1;
            self.waiting.insert(number, what?);
        }
        while let Some(finished) = self.waiting.remove(&self.emitted) {
            emit(self.emitted, finished)?;
            self.emitted += 1;
        }
        Ok(())
    }
}

fn gone() -> Error {
    Error::new("the threads of the engines have ended")
}

/// The journal of a pool, which lives until all threads have ended.
#[derive(Clone, Debug)]
pub(super) struct SharedJournal(Arc<Mutex<Option<Journal>>>);

impl SharedJournal {
    fn add(&self, number: u64, record: &EpdRecord) -> Result<()> {
        let mut journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *journal {
            Some(journal) => journal.add(number, record),
            None => Ok(()),
        }
    }

    pub(super) fn take(&self) -> Option<Journal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// State that the threads share.
struct Shared {
    plan: Plan,
    jobs_to_do: Mutex<Receiver<Job<EpdRecord>>>,
    journal: SharedJournal,
    /// Number of failed starts in a row.
    failed_starts: AtomicU32,
}

impl Shared {
    fn next_job(&self) -> Option<Job<EpdRecord>> {
        self.jobs_to_do.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }

    /// Processes records until there are no more, with an engine of this thread.
    fn work(&self, results: &Sender<Job<Result<Finished>>>) {
        let mut engine = None;
        while let Some(Job { number, what: record }) = self.next_job() {
            let finished = caught(|| {
                let finished = self.finish(&mut engine, &record)?;
                self.journal.add(number, &finished.record)?;
                Ok::<Finished, Error>(finished)
            });
            let is_end = finished.is_err();
            if results.send(Job { number, what: finished }).is_err() || is_end {
                return;
            }
        }
        if let Some(engine) = engine {
            engine.quit();
        }
    }

    /// Processes a record. An engine that fails is ended; the run fails only if the engine can no
    /// longer be started.
    fn finish(&self, engine: &mut Option<Engine>, record: &EpdRecord) -> Result<Finished> {
        let mut is_started = true;
        let had_engine = engine.is_some();
        let mut found = self.run_task(engine, record, &mut is_started);
        // An engine that ended after its last search has not seen this record.
        let ended =
            found.as_ref().is_err_and(|error| matches!(error.kind, EngineErrorKind::Ended(_)));
        if ended && had_engine && engine.as_ref().is_some_and(|engine| !engine.is_searching()) {
            *engine = None;
            found = self.run_task(engine, record, &mut is_started);
        }
        let error = match found {
            Ok(mut finished) => {
                if self.plan.stamps && finished.record != *record {
                    stamp(&mut finished.record, SystemTime::now());
                }
                return Ok(finished);
            }
            Err(error) => error,
        };
        *engine = None;
        let failed_starts =
            if is_started { 0 } else { self.failed_starts.fetch_add(1, Ordering::Relaxed) + 1 };
        if failed_starts < MAX_FAILED_STARTS {
            Ok(Task::failed(record, &error))
        } else {
            Err(Error::from(error).in_source(self.plan.engine.label.as_str()))
        }
    }

    /// Runs the task on a record, with an engine that is started if there is none. `is_started` is
    /// false if it could not be started.
    fn run_task(
        &self,
        engine: &mut Option<Engine>,
        record: &EpdRecord,
        is_started: &mut bool,
    ) -> Result<Finished, EngineError> {
        self.plan.task.run(record, &self.plan.limits, || match engine {
            Some(engine) => Ok(engine),
            none => {
                *is_started = false;
                let engine = self.plan.start()?;
                *is_started = true;
                self.failed_starts.store(0, Ordering::Relaxed);
                Ok(none.insert(engine))
            }
        })
    }
}
