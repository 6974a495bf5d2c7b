//! Records of files, one after the other.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use epdb_chess::error::{Error, panic_text};
use epdb_chess::model::EpdRecord;
use epdb_library::expression::Expression;
use epdb_source::{Item, ReadReport, Sources};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{invalid, raised};
use crate::files::skips;
use crate::inputs::Given;
use crate::options::ReadOptions;
use crate::record::Record;
use crate::report::{Warned, rejected, report_object, warn_of_filter};
use crate::work::{Progress, TICK, Ticker, new_threads};

/// Number of records in a batch, and of batches that may wait.
const BATCH: usize = 1024;
const BATCHES: usize = 4;

/// A record, or the bytes of a rejected line or game with the reason.
enum Read {
    Record(EpdRecord),
    Rejected(Vec<u8>, Error),
    /// The end of the reading.
    Failed(Error),
}

/// The items that were read since the last batch, and the report of all items so far.
#[derive(Default)]
struct Batch {
    read: Vec<Read>,
    report: ReadReport,
}

/// An iterator over the records of files.
#[pyclass(module = "epdb_chess", name = "Reader", frozen)]
pub(crate) struct Reader {
    state: Mutex<State>,
    skips: bool,
    /// Rejected lines and games that were passed over.
    rejected: Py<PyList>,
    progress: Progress,
    ticker: Ticker,
    /// Keeps temporary files.
    _given: Given,
}

struct State {
    /// `None` after the end and in a closed reader.
    batches: Option<Receiver<Batch>>,
    batch: std::vec::IntoIter<Read>,
    /// Number of records that were returned.
    rows: u64,
    /// The expression of `where`, until its warnings are issued.
    filter: Option<Expression>,
    report: ReadReport,
    warned: Warned,
    is_complete: bool,
    is_closed: bool,
    /// The process whose threads read.
    process: u32,
}

/// Reads the records of files or of a slice: of any format that epdb reads, compressed or not.
///
/// The records of a game are its positions. With `on_error="skip"`, lines and games that cannot be read are
/// collected in `rejected`. `paths` and `progress` are as in `scan`.
#[pyfunction]
#[pyo3(signature = (paths, *, on_error = "raise", progress = None, **options))]
pub(crate) fn read(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    on_error: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Reader> {
    let skips = skips(py, on_error)?;
    let paths = Given::new(paths, None, options)?;
    let options = ReadOptions::new(py, options)?;
    let (filter, mut options) = (options.filter.clone(), options.records());
    let (sender, batches) = sync_channel(BATCHES);
    let ticker = Ticker::default();
    options.bytes_read = Some(Arc::clone(&ticker.bytes));
    let progress = Progress::new(progress, &paths.inputs);
    start(Sources::new(paths.inputs.clone(), &options), sender);
    let state = State {
        batches: Some(batches),
        batch: Vec::new().into_iter(),
        rows: 0,
        filter,
        report: ReadReport::default(),
        warned: Warned::default(),
        is_complete: false,
        is_closed: false,
        process: std::process::id(),
    };
    let rejected = PyList::empty(py).unbind();
    let reader =
        Reader { state: Mutex::new(state), skips, rejected, progress, ticker, _given: paths };
    reader.check_start(py)?;
    reader.warn(py)?;
    Ok(reader)
}

/// Starts threads that read ahead, until the receiver is gone.
fn start(sources: Sources, sender: SyncSender<Batch>) {
    std::thread::spawn(move || {
        let mut batches = Batches { sender, batch: Batch::default() };
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // These threads wait for Python, so they are not the shared ones.
            new_threads()?.install(|| sources.read(&mut |item| Ok(batches.take(item))))
        }));
        let end = read.unwrap_or_else(|panic| {
            let text = panic_text(&*panic);
            Err(Error::new(format!("internal error: a thread panicked: {text}")))
        });
        match end {
            Ok(summary) => batches.batch.report.add_summary(&summary),
            Err(error) => batches.batch.read.push(Read::Failed(error)),
        }
        let _ = batches.send();
    });
}

/// Records on their way to Python.
struct Batches {
    sender: SyncSender<Batch>,
    batch: Batch,
}

impl Batches {
    fn take(&mut self, item: Item<'_>) -> ControlFlow<()> {
        let Batch { read, report } = &mut self.batch;
        let rejection = report.take(&item);
        match item {
            Item::Record { record, .. } => read.push(Read::Record(record)),
            Item::Rejected { raw, .. } => match (rejection, read.last_mut()) {
                (Some(error), _) => read.push(Read::Rejected(raw.to_vec(), error)),
                // Further bytes of the same line.
                (None, Some(Read::Rejected(bytes, _))) => bytes.extend_from_slice(raw),
                _ => {}
            },
            Item::Waiting => return self.send(),
            _ => {}
        }
        if self.batch.read.len() < BATCH { ControlFlow::Continue(()) } else { self.send() }
    }

    fn send(&mut self) -> ControlFlow<()> {
        let read = std::mem::take(&mut self.batch.read);
        match self.sender.send(Batch { read, report: self.batch.report.clone() }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

impl Reader {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises the error of a file that cannot be opened.
    fn check_start(&self, py: Python<'_>) -> PyResult<()> {
        self.fill(py)?;
        let mut state = self.state();
        match state.batch.as_slice() {
            [Read::Failed(_)] => match state.batch.next() {
                Some(Read::Failed(error)) => Err(raised(py, &error)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Issues warnings of Python. They may run Python, so the state is not locked meanwhile.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.state();
        if !state.warned.has_new(&state.report) {
            return Ok(());
        }
        let report = state.report.clone();
        let mut warned = std::mem::take(&mut state.warned);
        drop(state);
        let done = warned.warn(py, &report);
        self.state().warned = warned;
        done
    }

    /// Waits for a batch, unless there is one.
    fn fill(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let mut state = self.state();
            if state.batch.len() > 0 {
                return Ok(());
            }
            if state.process != std::process::id() && state.batches.is_some() {
                // The threads that read are in the parent process.
                std::mem::forget(state.batches.take());
                let text = "a reader cannot be used in a forked process: open the file there";
                return Err(PyRuntimeError::new_err(text));
            }
            // Another thread of Python waits for the next batch.
            let Some(batches) = state.batches.take() else { return Ok(()) };
            drop(state);
            let (batch, batches) = py.detach(move || (batches.recv_timeout(TICK), batches));
            let mut state = self.state();
            match batch {
                Ok(Batch { read, report }) => {
                    state.batch = read.into_iter();
                    state.report = report;
                    state.batches = Some(batches).filter(|_| !state.is_closed);
                }
                Err(RecvTimeoutError::Timeout) => {
                    state.batches = Some(batches).filter(|_| !state.is_closed);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    state.is_complete = !state.is_closed;
                    return Ok(());
                }
            }
            drop(state);
            py.check_signals()?;
            self.progress.call(py, &self.ticker)?;
        }
    }
}

#[pymethods]
impl Reader {
    fn __iter__(this: Py<Reader>) -> Py<Reader> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Record>>> {
        loop {
            if self.state().is_closed {
                return Err(invalid(py, "the reader is closed"));
            }
            let mut next = self.state().batch.next();
            if next.is_none() {
                self.fill(py)?;
                self.warn(py)?;
                next = self.state().batch.next();
            }
            match next {
                None => {
                    let mut state = self.state();
                    let (filter, report) = (state.filter.take(), state.report.clone());
                    drop(state);
                    warn_of_filter(py, filter.as_ref(), &report)?;
                    return Ok(None);
                }
                Some(Read::Record(record)) => {
                    self.state().rows += 1;
                    return Record::from(record).into_object(py).map(Some);
                }
                Some(Read::Failed(error)) => return Err(raised(py, &error)),
                Some(Read::Rejected(_, error)) if !self.skips => return Err(raised(py, &error)),
                Some(Read::Rejected(raw, error)) => {
                    self.rejected.bind(py).append(rejected(py, &raw, &error)?)?;
                }
            }
        }
    }

    /// Lines and games that were passed over.
    #[getter]
    fn rejected(&self, py: Python<'_>) -> Py<PyList> {
        self.rejected.clone_ref(py)
    }

    /// A report of the records that were read so far, and of everything that was left out. Reading goes on a
    /// little ahead of the records that were returned.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.state();
        let (rows, is_complete, report) = (state.rows, state.is_complete, state.report.clone());
        drop(state);
        report_object(py, rows, is_complete, &report)
    }

    /// Ends the reading.
    fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.batch = Vec::new().into_iter();
        let batches = state.batches.take();
        if state.process != std::process::id() {
            std::mem::forget(batches);
        }
    }

    fn __enter__(this: Py<Reader>) -> Py<Reader> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close();
    }
}
