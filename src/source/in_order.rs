//! Batches are read one after the other, processed on all threads, and passed to a visitor in
//! order.
//!
//! Batches are small, so that they fit into the caches. Several batches are in work at the same
//! time: each thread reads the next batch under a lock, and then processes it.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use rayon::Scope;

use epdb_base::threads::next_of;
use epdb_chess::error::{Error, Result, caught, locked};

/// Number of batches in work for each thread.
const BATCHES_A_THREAD: usize = 3;
/// Maximum number of batches in work on all threads.
const MAX_BATCHES: usize = 32;

/// A part of an input. Its memory is used again for later parts.
pub(super) trait Batch: Default + Send {
    /// The input of the batches.
    type Input: Send;

    /// Reads the next part of the input. Returns true if another batch may follow. If false, the
    /// batch has the reason.
    fn fill(&mut self, input: &mut Self::Input) -> bool;

    /// Sets the error of a thread that panicked as the reason why no batch follows.
    fn fail(&mut self, error: Error);
}

/// Reads batches until `take` breaks. `process` is called with each batch on any thread; `take` is
/// called with the processed batches in order.
pub(super) fn read_in_order<B: Batch, T, E: From<Error>>(
    input: &mut B::Input,
    process: &(dyn Fn(&mut B) + Sync),
    take: &mut dyn FnMut(&mut B) -> Result<ControlFlow<T>, E>,
) -> Result<T, E> {
    let reader = Mutex::new(Reader { input, count: 0, is_stopped: false });
    rayon::in_place_scope(|scope| {
        let end = take_all(&Work { reader: &reader, process }, scope, take);
        locked(&reader).is_stopped = true;
        end
    })
}

/// The input of the batches.
struct Reader<'i, I> {
    input: &'i mut I,
    /// Number of batches so far.
    count: usize,
    is_stopped: bool,
}

/// A batch, its number, and the channel to the visitor.
struct Job<B> {
    nth: usize,
    batch: B,
    done: Sender<Job<B>>,
}

struct Work<'s, 'i, B: Batch> {
    reader: &'s Mutex<Reader<'i, B::Input>>,
    process: &'s (dyn Fn(&mut B) + Sync),
}

impl<B: Batch> Work<'_, '_, B> {
    /// Reads and processes the next batch. Returns false if there is none.
    fn run(&self, job: &mut Job<B>) -> bool {
        let done = caught(|| {
            let is_filled = self.fill(job);
            if is_filled {
                (self.process)(&mut job.batch);
            }
            Ok::<bool, Error>(is_filled)
        });
        done.unwrap_or_else(|error| {
            locked(self.reader).is_stopped = true;
            job.batch.fail(error);
            true
        })
    }

    fn fill(&self, job: &mut Job<B>) -> bool {
        let mut reader = locked(self.reader);
        if reader.is_stopped {
            return false;
        }
        job.nth = reader.count;
        reader.count += 1;
        reader.is_stopped = !job.batch.fill(reader.input);
        true
    }
}

fn start<'s, B: Batch + 's>(work: &Work<'s, 's, B>, mut job: Job<B>, scope: &Scope<'s>) {
    let work = Work { reader: work.reader, process: work.process };
    scope.spawn(move |_| {
        if work.run(&mut job) {
            let done = job.done.clone();
            // The receiver is gone when the visitor stops.
            done.send(job).ok();
        }
    });
}

fn take_all<'s, B: Batch + 's, T, E: From<Error>>(
    work: &Work<'s, 's, B>,
    scope: &Scope<'s>,
    take: &mut dyn FnMut(&mut B) -> Result<ControlFlow<T>, E>,
) -> Result<T, E> {
    let (sender, done) = channel();
    let in_flight = (BATCHES_A_THREAD * rayon::current_num_threads()).min(MAX_BATCHES);
    for done in std::iter::repeat_n(sender, in_flight) {
        start(work, Job { nth: 0, batch: B::default(), done }, scope);
    }
    // Batches that are finished before their turn.
    let mut early: Vec<Job<B>> = Vec::new();
    let mut next = 0;
    loop {
        let mut job = match early.iter().position(|job| job.nth == next) {
            Some(place) => early.swap_remove(place),
            None => {
                let none_left = || Error::new("internal error: the threads that read have ended");
                next_of(&done).ok_or_else(none_left)?
            }
        };
        if job.nth != next {
            early.push(job);
            continue;
        }
        next += 1;
        match take(&mut job.batch)? {
            ControlFlow::Continue(()) => start(work, job, scope),
            ControlFlow::Break(end) => return Ok(end),
        }
    }
}
