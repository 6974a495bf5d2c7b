//! Inputs of functions: paths, folders, patterns, addresses, bytes, file objects, tables and slices.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epdb_chess::error::Error;
use epdb_library::named_files::{WILD, named_files, names_objects};
use epdb_source::{Inputs, is_address, set_storage_options, write_table};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use tempfile::{Builder, NamedTempFile, TempPath};

use crate::arrow_input::{ArrowInput, is_arrow};
use crate::errors::{OrRaise, RANDOM, TEMPORARY, invalid};
use crate::slices::Slice;

/// Bytes that are read from a file object at a time.
const CHUNK: usize = 1 << 20;
/// Files, or a slice of a plan. Bytes, file objects and tables are in temporary files, which are deleted with the
/// last clone.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) inputs: Inputs,
    temporary: Arc<Vec<TempPath>>,
}

impl Given {
    /// The files or the slice of a value. `on` is the column of positions of a table. `options` may have
    /// storage options, which from then on are those of the addresses among the files.
    pub(crate) fn new(
        value: &Bound<'_, PyAny>,
        on: Option<&str>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Given> {
        // No file of a slice is at an address.
        if let Ok(slice) = value.cast::<Slice>() {
            return Ok(Given::lasting(slice.get().0.clone()));
        }
        let storage = options.map(|it| it.get_item("storage_options")).transpose()?.flatten();
        let storage = storage.as_ref().map(|it| it.extract()).transpose()?.flatten();
        let mut files = Files { on, storage, paths: Vec::new(), temporary: Vec::new() };
        files.add(value)?;
        Ok(Given { inputs: files.paths.into(), temporary: Arc::new(files.temporary) })
    }

    /// Files of the user.
    pub(crate) fn lasting(inputs: impl Into<Inputs>) -> Given {
        Given { inputs: inputs.into(), temporary: Arc::default() }
    }

    /// The only file.
    pub(crate) fn file(&self, py: Python<'_>) -> PyResult<&Path> {
        match &self.inputs {
            Inputs::Files(files) if files.len() == 1 => Ok(&files[0]),
            _ => Err(invalid(py, "expected one file")),
        }
    }

    /// True if the files are those of the user, so that another process can read them.
    pub(crate) fn is_lasting(&self) -> bool {
        self.temporary.is_empty()
    }
}

/// Sets the options of an address, from the argument `storage_options` of a function. Other paths have none.
pub(crate) fn set_storage(
    py: Python<'_>,
    path: &Path,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let Some(options) = options.filter(|_| is_address(path)) else { return Ok(()) };
    let mut storage = BTreeMap::new();
    for (key, value) in options {
        let text = match value.extract::<bool>() {
            Ok(flag) => flag.to_string(),
            Err(_) => value.extract()?,
        };
        storage.insert(key.extract()?, text);
    }
    set_storage_options(path, &storage).or_raise(py)
}

struct Files<'a, 'py> {
    on: Option<&'a str>,
    storage: Option<Bound<'py, PyDict>>,
    paths: Vec<PathBuf>,
    temporary: Vec<TempPath>,
}

impl Files<'_, '_> {
    fn add(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        if value.is_instance_of::<PyString>() || value.hasattr(intern!(py, "__fspath__"))? {
            self.add_path(py, value.extract()?)
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            self.add_temporary(py, "bytes", |file| Ok(file.write_all(bytes.as_bytes())?))
        } else if is_arrow(value)? {
            let (schema, batches) = ArrowInput::new(value, self.on)?.into_batches();
            self.add_temporary(py, "table", |file| {
                let file = file.reopen()?;
                // The stream may be one of Python, which takes the lock of the interpreter itself.
                py.detach(|| write_table(file, schema, batches)).or_raise(py)
            })
        } else if value.hasattr(intern!(py, "read"))? {
            self.add_temporary(py, &name_of(value)?, |file| copy(value, file))
        } else {
            value.try_iter()?.try_for_each(|one| self.add(&one?))
        }
    }

    /// Adds a file, the files of a folder, or those that match a pattern such as `games/**/*.pgn`, also at an
    /// address.
    fn add_path(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        set_storage(py, &path, self.storage.as_ref())?;
        let is_pattern = path.as_os_str().as_encoded_bytes().iter().any(|it| WILD.contains(it));
        let names_files = path.is_dir() || is_pattern && !is_address(&path) && !path.is_file();
        if names_files || names_objects(&path) {
            self.paths.append(&mut named_files(&path).or_raise(py)?);
        } else {
            self.paths.push(path);
        }
        Ok(())
    }

    /// Adds a temporary file, which messages call `name`.
    fn add_temporary(
        &mut self,
        py: Python<'_>,
        name: &str,
        write: impl FnOnce(&mut NamedTempFile) -> PyResult<()>,
    ) -> PyResult<()> {
        let suffix = format!("-{name}");
        let file = Builder::new().prefix(TEMPORARY).rand_bytes(RANDOM).suffix(&suffix).tempfile();
        let made = file.map_err(|error| Error::new("cannot make a temporary file").because(error));
        let mut file = made.or_raise(py)?;
        write(&mut file)?;
        self.paths.push(file.path().to_path_buf());
        self.temporary.push(file.into_temp_path());
        Ok(())
    }
}

/// The name of a file object, without its folder.
fn name_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = value.getattr_opt(intern!(value.py(), "name"))?;
    let name = name.and_then(|name| name.extract::<PathBuf>().ok());
    let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    // `<stdin>` cannot be a part of the name of a file on each system.
    let name = name.filter(|name| !name.starts_with('<'));
    Ok(name.map_or_else(|| "file".to_string(), Cow::into_owned))
}

/// Copies a file object of bytes or of text. Afterwards it has its place again, so it can be read twice.
fn copy(value: &Bound<'_, PyAny>, file: &mut NamedTempFile) -> PyResult<()> {
    let place = value.call_method0("tell").ok();
    copy_rest(value, file)?;
    if let Some(place) = place {
        value.call_method1("seek", (place,))?;
    }
    Ok(())
}

fn copy_rest(value: &Bound<'_, PyAny>, file: &mut NamedTempFile) -> PyResult<()> {
    let read = value.getattr(intern!(value.py(), "read"))?;
    loop {
        let chunk = read.call1((CHUNK,))?;
        let bytes = match chunk.cast::<PyBytes>() {
            Ok(bytes) => bytes.clone(),
            Err(_) => chunk.call_method1(intern!(value.py(), "encode"), ("utf-8",))?.cast_into()?,
        };
        if bytes.as_bytes().is_empty() {
            return Ok(());
        }
        file.write_all(bytes.as_bytes())?;
    }
}
