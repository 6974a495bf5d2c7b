//! Work without the lock of the interpreter, on threads of this process.
//!
//! A forked process does not have the threads of its parent, so it starts its own threads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use epdb_chess::error::{Error, Result, panic_text};
use epdb_source::Inputs;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::OrRaise;

/// Time between two checks for signals and two calls of a progress callback.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// The process id, and its threads. The lock is taken only while the thread holds the lock of the
/// interpreter. So no thread holds the lock when the process is forked.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The threads that all work of this process shares. Work on them must not wait for Python.
pub(crate) fn shared_threads(py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match &*pool {
        Some((owner, threads)) if *owner == process => return Ok(Arc::clone(threads)),
        _ => {}
    }
    let threads = Arc::new(new_threads().or_raise(py)?);
    // The threads of the parent process cannot be ended here.
    std::mem::forget(pool.replace((process, Arc::clone(&threads))));
    Ok(threads)
}

/// Threads for work that may wait for Python, one per core.
pub(crate) fn new_threads() -> Result<ThreadPool> {
    let threads = ThreadPoolBuilder::new().thread_name(|number| format!("epdb-{number}"));
    threads.build().map_err(|error| Error::new("cannot start threads").because(error))
}

/// The state of a piece of work. The working threads share it with the thread that waits for them.
#[derive(Default)]
pub(crate) struct Ticker {
    is_cancelled: AtomicBool,
    /// Bytes that were read from files.
    pub(crate) bytes: Arc<AtomicU64>,
}

impl Ticker {
    /// Fails if the work was cancelled. Call this for every item.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            Err(Error::new("interrupted"))
        } else {
            Ok(())
        }
    }
}

/// The callback of some work, and the number of bytes that it will read.
pub(crate) struct Progress {
    pub(crate) callback: Option<Py<PyAny>>,
    pub(crate) total: Option<u64>,
}

impl Progress {
    /// A callback for work that reads files, or a slice, whose size is not known.
    pub(crate) fn new(callback: Option<Py<PyAny>>, inputs: &Inputs) -> Progress {
        let size = |path: &PathBuf| std::fs::metadata(path).ok().map(|facts| facts.len());
        let total = match inputs {
            Inputs::Files(paths) => paths.iter().map(size).sum(),
            Inputs::Slice(_) => None,
        };
        Progress { callback, total }
    }

    fn call(&self, py: Python<'_>, ticker: &Ticker) -> PyResult<()> {
        let Some(callback) = &self.callback else { return Ok(()) };
        callback.call1(py, (ticker.bytes.load(Ordering::Relaxed), self.total)).map(drop)
    }
}

/// Does work on the shared threads. The calling thread checks for signals and calls the callback in
/// the meantime; an exception cancels the work.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    work: impl FnOnce(&Ticker) -> Result<T> + Send,
) -> PyResult<T> {
    let threads = shared_threads(py)?;
    let ticker = Ticker::default();
    let (sender, done) = sync_channel(1);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let end = threads.install(|| work(&ticker));
            // The receiver waits until the work has ended.
            let _ = sender.send(end);
        });
        let mut done = done;
        let mut interruption = None;
        let end = loop {
            let (end, back) = py.detach(move || (done.recv_timeout(TICK), done));
            done = back;
            match end {
                Ok(end) => break Some(end),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) if interruption.is_none() => {
                    let checked = py.check_signals().and_then(|()| progress.call(py, &ticker));
                    if let Err(error) = checked {
                        interruption = Some(error);
                        ticker.is_cancelled.store(true, Ordering::Relaxed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let joined = worker.join();
        match (interruption, end, joined) {
            (Some(interruption), ..) => Err(interruption),
            (None, Some(end), _) => {
                let end = end.or_raise(py)?;
                progress.call(py, &ticker)?;
                Ok(end)
            }
            (None, None, Err(panic)) => Err(PyRuntimeError::new_err(format!(
                "internal error: a thread panicked: {}",
                panic_text(&*panic)
            ))),
            (None, None, Ok(())) => Err(PyRuntimeError::new_err("internal error: no result")),
        }
    })
}
