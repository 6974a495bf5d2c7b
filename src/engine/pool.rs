//! Several engines at work on one file, whose records come back in their order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use super::clock::Clock;
use super::error::EngineError;
use super::finished::Finished;
use super::journal::Journal;
use super::session::{Engine, Identity, Limits};
use super::spec::EngineSpec;
use super::task::Task;
use crate::error::{Error, Result, caught};
use crate::library::edit::stamp;
use crate::model::EpdRecord;

/// So many finished records may wait for an earlier one.
const MOST_WAITING: u64 = 1 << 16;
/// An engine that cannot be started so often in a row is given up.
const MOST_FAILED_STARTS: u32 = 3;

/// What is asked of which engine.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The engine.
    pub engine: EngineSpec,
    /// What is asked.
    pub task: Task,
    /// How much effort each record may take.
    pub limits: Limits,
    /// How long an engine may be silent.
    pub patience: Duration,
    /// How many of it work at once.
    pub concurrency: usize,
    /// The time by which it is judged.
    pub clock: Arc<dyn Clock>,
    /// Whether records that are changed get the time of that as `ts`.
    pub stamps: bool,
}

impl Plan {
    /// Starts the engine once, to see whether it can be started with these options and what it says
    /// of itself.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check(&self) -> Result<Identity, EngineError> {
        let engine = self.start()?;
        let identity = engine.identity().clone();
        engine.quit();
        Ok(identity)
    }

    fn start(&self) -> Result<Engine, EngineError> {
        Engine::start(&self.engine, self.patience, Arc::clone(&self.clock))
    }
}

/// A record on its way to an engine, or back.
struct Job<T> {
    number: u64,
    what: T,
}

/// Takes records that are done, in order, with their numbers from 0.
pub type Emit<'e, E> = dyn FnMut(u64, Finished) -> std::result::Result<(), E> + 'e;

/// Several processes of one engine. Each belongs to a thread of its own and is started when there is a
/// record for it; one that failed is ended, and started anew for the next record.
///
/// When a pool is dropped before [`Pool::finish`], the engines end with the searches that they are at.
#[derive(Debug)]
pub struct Pool {
    jobs: Sender<Job<EpdRecord>>,
    done: Receiver<Job<Result<Finished>>>,
    most_in_work: u64,
    /// Records that were given out, that came back, and that were emitted.
    given: u64,
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

    /// [`Pool::new`]; each finished record goes into the journal before it is handed on.
    pub(super) fn with_journal(plan: Plan, journal: Option<Journal>) -> (Pool, SharedJournal) {
        let (jobs, waiting_jobs) = channel();
        let (results, done) = channel();
        let most_in_work = 2 * plan.concurrency as u64;
        let journal = SharedJournal(Arc::new(Mutex::new(journal)));
        let (jobs_to_do, failed_starts) = (Mutex::new(waiting_jobs), AtomicU32::new(0));
        let journal_of_all = journal.clone();
        let shared = Shared { plan, jobs: jobs_to_do, journal: journal_of_all, failed_starts };
        let shared = Arc::new(shared);
        for _ in 0..shared.plan.concurrency {
            let (shared, results) = (Arc::clone(&shared), results.clone());
            thread::spawn(move || shared.work(&results));
        }
        let waiting = BTreeMap::new();
        let pool = Pool { jobs, done, most_in_work, given: 0, returned: 0, emitted: 0, waiting };
        (pool, journal)
    }

    /// Gives a record out, and hands on what is done.
    ///
    /// # Errors
    /// An engine cannot be started, or the journal not written, and what `emit` returns.
    pub fn push<E: From<Error>>(
        &mut self,
        record: EpdRecord,
        emit: &mut Emit<'_, E>,
    ) -> Result<(), E> {
        while self.in_work() >= self.most_in_work || self.given - self.emitted >= MOST_WAITING {
            self.receive(emit)?;
        }
        let number = self.given;
        self.given += 1;
        self.jobs.send(Job { number, what: record }).map_err(|_| gone())?;
        self.emit_ready(emit)
    }

    /// Takes a record that was done by an earlier run.
    ///
    /// # Errors
    /// What `emit` returns.
    pub fn push_finished<E: From<Error>>(
        &mut self,
        finished: Finished,
        emit: &mut Emit<'_, E>,
    ) -> Result<(), E> {
        self.waiting.insert(self.given, finished);
        self.given += 1;
        self.returned += 1;
        self.emit_ready(emit)
    }

    /// The number that the next record will have.
    pub const fn next_number(&self) -> u64 {
        self.given
    }

    /// Waits until all that were given out are done.
    ///
    /// # Errors
    /// As with [`Pool::push`].
    pub fn wait<E: From<Error>>(&mut self, emit: &mut Emit<'_, E>) -> Result<(), E> {
        while self.in_work() > 0 {
            self.receive(emit)?;
        }
        Ok(())
    }

    /// [`Pool::wait`], and lets the engines end.
    ///
    /// # Errors
    /// As with [`Pool::push`].
    pub fn finish<E: From<Error>>(mut self, emit: &mut Emit<'_, E>) -> Result<(), E> {
        self.wait(emit)?;
        let Pool { jobs, done, .. } = self;
        drop(jobs);
        // The threads end their engines before they close this.
        while done.recv().is_ok() {}
        Ok(())
    }

    const fn in_work(&self) -> u64 {
        self.given - self.returned
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

/// The journal of a pool, which is there until all threads are done with it.
#[derive(Clone, Debug)]
pub(super) struct SharedJournal(Arc<Mutex<Option<Journal>>>);

impl SharedJournal {
    fn add(&self, number: u64, record: &EpdRecord) -> Result<()> {
        let mut journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        journal.as_mut().map_or(Ok(()), |journal| journal.add(number, record))
    }

    /// The journal itself.
    pub(super) fn take(&self) -> Option<Journal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What the threads share.
struct Shared {
    plan: Plan,
    jobs: Mutex<Receiver<Job<EpdRecord>>>,
    journal: SharedJournal,
    /// How often in a row the engine could not be started.
    failed_starts: AtomicU32,
}

impl Shared {
    fn next_job(&self) -> Option<Job<EpdRecord>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }

    /// Does records until there are no more, with an engine that belongs to this thread.
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

    /// Does a record. An engine that fails is gone; only one that cannot be started any more ends the
    /// work.
    fn finish(&self, engine: &mut Option<Engine>, record: &EpdRecord) -> Result<Finished> {
        let Plan { task, limits, .. } = &self.plan;
        let mut is_started = true;
        let slot = &mut *engine;
        let found = task.run(record, limits, || match slot {
            Some(engine) => Ok(engine),
            none => {
                is_started = false;
                let engine = self.plan.start()?;
                is_started = true;
                self.failed_starts.store(0, Ordering::Relaxed);
                Ok(none.insert(engine))
            }
        });
        let stamped = |mut finished: Finished| {
            if self.plan.stamps && finished.record != *record {
                stamp(&mut finished.record, SystemTime::now());
            }
            finished
        };
        found.map(stamped).or_else(|error| {
            *engine = None;
            let failed_starts = match is_started {
                true => 0,
                false => self.failed_starts.fetch_add(1, Ordering::Relaxed) + 1,
            };
            match failed_starts < MOST_FAILED_STARTS {
                true => Ok(Task::failed(record, &error)),
                false => Err(Error::from(error).in_source(self.plan.engine.label.as_str())),
            }
        })
    }
}
