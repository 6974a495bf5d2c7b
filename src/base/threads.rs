//! Work on the threads of the pool, and waiting for it.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::{process, thread};

use rayon::Yield;
use rayon::prelude::*;

/// Minimum number of items that a thread takes from a parallel iterator of a lookup: `items`, or all of them
/// if the lookup cannot share its work.
///
/// A thread of a pool shares with that pool. Any other thread shares with the global pool of rayon, which
/// belongs to the process that started it. A forked process has none of its threads and would wait for
/// them for ever, so a lookup there works alone.
pub fn at_least(items: usize) -> usize {
    if rayon::current_thread_index().is_some() || claim_global_pool() { items } else { usize::MAX }
}

/// Number of items that a thread takes at a time.
const ITEMS_OF_PART: usize = 1 << 12;

/// Passes the items of a lookup to `take`, some thousand at a time and with the index of the first of them, on all
/// threads if the work can be shared.
///
/// # Errors
/// The first error of `take`. After it, the other items are taken all the same.
pub fn each_part<T: Sync, E: Send>(
    items: &[T],
    take: impl Fn(usize, &[T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let parts = items.par_chunks(ITEMS_OF_PART).enumerate().with_min_len(at_least(1));
    let taken = parts.map(|(nth, items)| take(nth * ITEMS_OF_PART, items));
    taken.collect::<Vec<_>>().into_iter().collect()
}

/// Sorts items, on all threads if the work of a lookup can be shared.
pub fn sort<T: Ord + Send>(items: &mut [T]) {
    if at_least(1) == 1 {
        items.par_sort_unstable();
    } else {
        items.sort_unstable();
    }
}

/// Claims the global pool of rayon for this process; false if another process has it, or if the system has
/// no threads. Archives claim it when they are opened, before a lookup can start it.
pub fn claim_global_pool() -> bool {
    static OWNER: AtomicU32 = AtomicU32::new(0);
    if cfg!(target_family = "wasm") {
        return false;
    }
    let process = process::id();
    let no_owner = 0;
    match OWNER.compare_exchange(no_owner, process, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => true,
        Err(owner) => owner == process,
    }
}

/// Waits for the next value of a channel; `None` if no value can come any more. If the calling thread
/// belongs to the pool, it does other work of the pool while it waits, because the other threads may be
/// busy.
pub fn next_of<T>(values: &Receiver<T>) -> Option<T> {
    loop {
        match values.try_recv() {
            Ok(value) => return Some(value),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if rayon::yield_now() != Some(Yield::Executed) {
            return values.recv().ok();
        }
    }
}

/// Values that each thread makes ahead of the one that is taken.
const AHEAD: usize = 3;

/// Makes a value of each job on the threads of the pool, and passes the values on in the order of the jobs.
/// The calling thread takes them. A break ends the work.
pub fn make_in_order<J: Send, T: Send, E>(
    mut jobs: impl Iterator<Item = J>,
    make: impl Fn(J) -> T + Sync,
    mut take: impl FnMut(T) -> Result<ControlFlow<()>, E>,
) -> Result<ControlFlow<()>, E> {
    let cannot_share = at_least(1) > 1;
    if cannot_share || rayon::current_num_threads() == 1 {
        for job in jobs {
            if take(make(job))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    let make = &make;
    rayon::in_place_scope(|scope| {
        let mut waiting: VecDeque<Receiver<thread::Result<T>>> = VecDeque::new();
        let ahead = AHEAD * rayon::current_num_threads();
        loop {
            while waiting.len() < ahead
                && let Some(job) = jobs.next()
            {
                let (sender, made) = channel();
                scope.spawn(move |_| send_made(&sender, || make(job)));
                waiting.push_back(made);
            }
            let Some(first) = waiting.pop_front() else { return Ok(ControlFlow::Continue(())) };
            if take(value_of(&first))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    })
}

/// Makes a value, and sends it or the panic to the thread that waits. If none waits, it is not needed.
fn send_made<T>(sender: &Sender<thread::Result<T>>, make: impl FnOnce() -> T) {
    sender.send(catch_unwind(AssertUnwindSafe(make))).ok();
}

/// Waits for a value that another thread makes. If it panicked, the calling thread panics too.
fn value_of<T>(made: &Receiver<thread::Result<T>>) -> T {
    let ended = || Err(Box::new("the threads of the pool have ended") as _);
    next_of(made).unwrap_or_else(ended).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Work that a thread of the pool does while the calling thread goes on.
#[derive(Debug)]
pub struct Spawned<T>(Receiver<thread::Result<T>>);

impl<T: Send + 'static> Spawned<T> {
    /// Starts the work.
    pub fn new(work: impl FnOnce() -> T + Send + 'static) -> Spawned<T> {
        let (sender, result) = channel();
        rayon::spawn(move || send_made(&sender, work));
        Spawned(result)
    }

    /// Waits for the result. If the work panicked, the calling thread panics too.
    pub fn join(self) -> T {
        value_of(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A thread of the pool that waits does the work itself if no other thread can.
    #[test]
    fn a_pool_of_one_thread_does_not_wait_for_itself() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| Spawned::new(|| 6 * 7).join()), 42);
        assert_eq!(Spawned::new(|| "from outside").join(), "from outside");
    }

    /// The values come in the order of the jobs, with one thread and with several, until a break.
    #[test]
    fn values_come_in_order() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for last in [0, 1, 40, 99] {
                let mut taken = Vec::new();
                let take = |value| {
                    taken.push(value);
                    let flow = if value == 2 * last {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    };
                    Ok::<_, ()>(flow)
                };
                let end = pool.scope(|_| make_in_order(0..100, |job| 2 * job, take)).unwrap();
                assert_eq!(end, ControlFlow::Break(()));
                assert_eq!(taken, (0..=last).map(|job| 2 * job).collect::<Vec<i32>>());
            }
            let error = make_in_order(
                0..9,
                |job| job,
                |job| match job {
                    4 => Err("four"),
                    _ => Ok(ControlFlow::Continue(())),
                },
            );
            assert_eq!(error, Err("four"));
        }
    }

    #[test]
    fn a_panic_goes_on_in_the_thread_that_waits() {
        let work = Spawned::new(|| panic!("at move {}", 1));
        let panic = catch_unwind(AssertUnwindSafe(|| work.join())).unwrap_err();
        assert_eq!(epdb_chess::error::panic_text(&*panic), "at move 1");
    }
}
