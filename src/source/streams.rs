//! Sources that a command opens more than once: for what a library says about itself, for its records, and for
//! the games that it keeps. The bytes of a stream come only once, so a stream stays open in between.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::address::{is_address, is_stream};
use super::collection::{CollectionFile, LayersFile};
use super::delta::DeltaPath;
use super::format::FileFormat;
use super::input::{self, Input};
use super::local::Local;
use epdb_chess::error::Result;

/// The streams and addresses that were opened with the same [`SourceOptions`]. A library among them
/// is copied or requested once. Clones share what they hold.
///
/// [`SourceOptions`]: super::SourceOptions
#[derive(Clone, Default)]
pub struct Streams(Arc<Mutex<HashMap<PathBuf, Held>>>);

/// A source that was opened, and cannot be opened in the same way again.
enum Held {
    /// A store or an archive, and the first bytes of its file.
    Library(Vec<u8>, Local),
    /// A base and its delta.
    Layers(LayersFile),
    /// A stream whose bytes were not read yet, except for those that show the format.
    Unread(Box<Input>),
    /// A stream whose bytes were passed on.
    Read,
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.held().keys()).finish()
    }
}

impl Streams {
    /// Opens a source for what it says about itself; `None` if it is neither a store, an archive nor a sharded
    /// archive. A file that is missing is reported when its records are read.
    ///
    /// # Errors
    /// The source cannot be opened. The error names it.
    pub fn library(&self, path: impl AsRef<Path>) -> Result<Option<CollectionFile>> {
        let path = path.as_ref();
        if let Some(pair) = DeltaPath::parse(path) {
            return self.layers(path, pair).map(CollectionFile::Layers).map(Some);
        }
        let is_stdin = path == Path::new("-");
        // Nobody types a library, and a terminal is opened with a message.
        let is_absent =
            if is_stdin { io::stdin().is_terminal() } else { !is_address(path) && !path.exists() };
        if is_absent {
            return Ok(None);
        }
        match self.held().get(path) {
            Some(Held::Library(head, local)) => return Ok(Some(library_of(head, local.clone()))),
            Some(_) => return Ok(None),
            None => {}
        }
        let (input, local) = self.open_first(path, None)?;
        if let Some(local) = local {
            return Ok(Some(library_of(&input.head, local)));
        }
        if let Some(format) = shown(path, &input.head)
            && format.is_indexed()
        {
            return CollectionFile::of_input(path, input, format);
        }
        // An address can be requested again, so only one connection stays open at a time.
        let has_unread = self.held().values().any(|held| matches!(held, Held::Unread(_)));
        if is_stream(path) || is_address(path) && !has_unread {
            self.hold(path, Held::Unread(Box::new(input)));
        }
        Ok(None)
    }

    /// The format of a source that is read later. If its bytes do not show it, `said` decides, and then the
    /// name.
    ///
    /// # Errors
    /// The source cannot be opened. The error names it.
    pub fn format(&self, path: &Path, said: Option<FileFormat>) -> Result<FileFormat> {
        if let Some(library) = self.library(path)? {
            return Ok(library.format());
        }
        let format = |input: &Input| FileFormat::from_source(input.name(path), &input.head, said);
        match self.held().get(path) {
            Some(Held::Unread(input)) => Ok(format(input)),
            _ => input::open(path, None).map(|input| format(&input)),
        }
    }

    /// A base and its delta, which are opened once.
    pub(super) fn layers(&self, path: &Path, pair: DeltaPath) -> Result<LayersFile> {
        if let Some(Held::Layers(layers)) = self.held().get(path) {
            return Ok(layers.clone());
        }
        let layers = LayersFile::new(path, pair)?;
        self.hold(path, Held::Layers(layers.clone()));
        Ok(layers)
    }

    /// Opens a source for its records. For a store or an archive that is not a plain file, also returns the
    /// opened file. `count` grows by the number of bytes that are read.
    pub(super) fn open(
        &self,
        path: &Path,
        count: Option<&Arc<AtomicU64>>,
    ) -> Result<(Input, Option<Local>)> {
        let held = self.held().remove(path);
        match held {
            Some(Held::Library(head, local)) => {
                self.hold(path, Held::Library(head.clone(), local.clone()));
                Ok((Input::of_start(head), Some(local)))
            }
            Some(Held::Unread(input)) => {
                self.hold(path, Held::Read);
                Ok((*input, None))
            }
            Some(Held::Read | Held::Layers(_)) | None => self.open_first(path, count),
        }
    }

    fn open_first(
        &self,
        path: &Path,
        count: Option<&Arc<AtomicU64>>,
    ) -> Result<(Input, Option<Local>)> {
        let mut input = input::open(path, count)?;
        let format = shown(path, &input.head);
        if input.is_file || !matches!(format, Some(FileFormat::Epdb | FileFormat::Epa)) {
            if is_stream(path) {
                self.hold(path, Held::Read);
            }
            return Ok((input, None));
        }
        let head = input.head.clone();
        let file = input.file.take();
        let local = Local::new(path, input)?;
        self.hold(path, Held::Library(head.clone(), local.clone()));
        Ok((Input { file, ..Input::of_start(head) }, Some(local)))
    }

    fn hold(&self, path: &Path, held: Held) {
        self.held().insert(path.to_path_buf(), held);
    }

    fn held(&self) -> MutexGuard<'_, HashMap<PathBuf, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The format that the first bytes of a source show. A name alone makes no library, because options may name
/// another format.
fn shown(path: &Path, head: &[u8]) -> Option<FileFormat> {
    FileFormat::from_bytes(head).filter(|it| *it == FileFormat::from_source(path, head, None))
}

/// A store or an archive, by its first bytes.
fn library_of(head: &[u8], local: Local) -> CollectionFile {
    match FileFormat::from_bytes(head) {
        Some(FileFormat::Epdb) => CollectionFile::Store(local),
        _ => CollectionFile::Archive(local),
    }
}
