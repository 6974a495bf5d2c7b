//! Records of files, one after the other.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use epdb::error::{Error, panic_text};
use epdb::model::EpdRecord;
use epdb::source::{Inputs, Item, OwnedItem, Sources};
use epdb::text::{Diagnostic, Severity};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors::{invalid, raised, rejected_class};
use crate::files::skips;
use crate::options::{ReadOptions, inputs};
use crate::record::Record;
use crate::work::{TICK, new_threads};

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

type Batch = Vec<Read>;

/// An iterator over the records of files.
#[pyclass(module = "epdb_chess", name = "Reader", frozen)]
pub(crate) struct Reader {
    state: Mutex<State>,
    skips: bool,
    /// Rejected lines and games that were passed over.
    rejected: Py<PyList>,
}

struct State {
    /// `None` after the end and in a closed reader.
    batches: Option<Receiver<Batch>>,
    batch: std::vec::IntoIter<Read>,
    is_closed: bool,
    /// The process whose threads read.
    process: u32,
}

/// Reads the records of files or of a slice: of any format that epdb reads, compressed or not.
///
/// The records of a game are its positions. With `on_error="skip"`, lines and games that cannot be read are
/// collected in `rejected`.
#[pyfunction]
#[pyo3(signature = (paths, *, on_error = "raise", **options))]
pub(crate) fn read(
    py: Python<'_>,
    #[pyo3(from_py_with = inputs)] paths: Inputs,
    on_error: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Reader> {
    let skips = skips(py, on_error)?;
    let options = ReadOptions::new(py, options)?.records();
    let (sender, batches) = sync_channel(BATCHES);
    start(Sources::new(paths, &options), sender);
    let state = State {
        batches: Some(batches),
        batch: Vec::new().into_iter(),
        is_closed: false,
        process: std::process::id(),
    };
    let reader = Reader { state: Mutex::new(state), skips, rejected: PyList::empty(py).unbind() };
    reader.check_start(py)?;
    Ok(reader)
}

/// Starts threads that read ahead, until the receiver is gone.
fn start(sources: Sources, sender: SyncSender<Batch>) {
    std::thread::spawn(move || {
        let mut batches = Batches { sender, batch: Vec::new(), reason: None };
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // These threads wait for Python, so they are not the shared ones.
            new_threads()?.install(|| sources.read(&mut |item| Ok(batches.take(item))))
        }));
        let end = read.unwrap_or_else(|panic| {
            let text = panic_text(&*panic);
            Err(Error::new(format!("internal error: a thread panicked: {text}")))
        });
        batches.batch.extend(end.err().map(Read::Failed));
        let _ = batches.send();
    });
}

/// Records on their way to Python.
struct Batches {
    sender: SyncSender<Batch>,
    batch: Batch,
    /// The reason, if the next item is a rejection.
    reason: Option<Diagnostic>,
}

impl Batches {
    fn take(&mut self, item: Item<'_>) -> ControlFlow<()> {
        match item {
            Item::Record { record, .. } => self.batch.push(Read::Record(record)),
            Item::Rejected { raw, place, is_more: false, .. } => {
                let (raw, diagnostic) = (raw.to_vec(), self.reason.take());
                let item =
                    OwnedItem::Rejected { raw: raw.clone(), place: place.clone(), diagnostic };
                if let Some(Err(error)) = item.into_record() {
                    self.batch.push(Read::Rejected(raw, error));
                }
            }
            Item::Rejected { raw, .. } => {
                // Further bytes of the same line.
                if let Some(Read::Rejected(bytes, _)) = self.batch.last_mut() {
                    bytes.extend_from_slice(raw);
                }
            }
            Item::Diagnostic { diagnostic, .. } if diagnostic.severity == Severity::Error => {
                self.reason = Some(diagnostic.clone());
            }
            Item::Waiting => return self.send(),
            _ => {}
        }
        match self.batch.len() < BATCH {
            true => ControlFlow::Continue(()),
            false => self.send(),
        }
    }

    fn send(&mut self) -> ControlFlow<()> {
        match self.sender.send(std::mem::take(&mut self.batch)) {
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
                Ok(batch) => {
                    state.batch = batch.into_iter();
                    state.batches = Some(batches).filter(|_| !state.is_closed);
                }
                Err(RecvTimeoutError::Timeout) => {
                    state.batches = Some(batches).filter(|_| !state.is_closed);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            drop(state);
            py.check_signals()?;
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
                next = self.state().batch.next();
            }
            match next {
                None => return Ok(None),
                Some(Read::Record(record)) => {
                    return Record::from(record).into_object(py).map(Some);
                }
                Some(Read::Failed(error)) => return Err(raised(py, &error)),
                Some(Read::Rejected(raw, error)) => {
                    let error = raised(py, &error);
                    if !self.skips {
                        return Err(error);
                    }
                    let raw = PyBytes::new(py, &raw);
                    let rejected = rejected_class(py)?.call1((raw, error.into_value(py)))?;
                    self.rejected.bind(py).append(rejected)?;
                }
            }
        }
    }

    /// Lines and games that were passed over.
    #[getter]
    fn rejected(&self, py: Python<'_>) -> Py<PyList> {
        self.rejected.clone_ref(py)
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
