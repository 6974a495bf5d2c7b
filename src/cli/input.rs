//! The bytes of a source, decompressed: a file, standard input, a pipe. Stores and archives are
//! opened by their path, so what comes another way is first copied into a temporary file.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::archive::Archive;
use crate::new_file::SpooledFile;
use crate::store::{Store, StoreOptions};

use super::file_format::{Compression, FileFormat, Foreign};
use super::message::note;
use super::progress::Progress;
use super::read_ahead::{ReadAhead, Ready};
use super::utf16;

/// An opened input.
pub(crate) struct Input {
    /// The bytes, decompressed.
    pub(crate) bytes: Box<dyn Read + Send>,
    /// The first of them, which `bytes` gives all the same.
    pub(crate) start: Vec<u8>,
    /// Whether there is more, where that may have to be waited for.
    pub(crate) ready: Option<Ready>,
    /// Whether the path can be opened again and has the same bytes then.
    pub(crate) is_file: bool,
    /// The encoding that the bytes were in, if they are read as UTF-8 now.
    pub(crate) encoding: Option<&'static str>,
}

/// Opens a file, or standard input for `-`. Text in UTF-16 is given in UTF-8.
///
/// # Errors
/// When it cannot be read, or has a format that nothing here reads, with its name.
pub(crate) fn open(path: &Path, progress: &Progress) -> anyhow::Result<Input> {
    let input = decompressed(path, progress)?;
    if let Some(foreign) = Foreign::of_bytes(&input.start) {
        return Err(foreign.refused(path));
    }
    let is_text = FileFormat::of_name(path) != Some(FileFormat::Pgc);
    let Some(encoding) = utf16::of_bytes(&input.start).filter(|_| is_text) else {
        return Ok(input);
    };
    let failed = || format!("cannot read {}", path.display());
    let text = utf16::Transcoder::new(input.bytes, encoding);
    let (start, bytes) = peek(Box::new(text)).with_context(failed)?;
    let encoding = Some(encoding.name());
    Ok(Input { bytes, start, ready: None, encoding, is_file: input.is_file })
}

fn decompressed(path: &Path, progress: &Progress) -> anyhow::Result<Input> {
    let failed = || format!("cannot read {}", path.display());
    let (bytes, is_file): (Box<dyn Read + Send>, bool) = if path == Path::new("-") {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            note!("epdb: reading positions from standard input; end with {END_OF_INPUT}");
        }
        (Box::new(stdin), is_stdin_a_file())
    } else {
        let file = File::open(path).with_context(failed)?;
        let found = file.metadata().with_context(failed)?;
        anyhow::ensure!(!found.is_dir(), "{} is a folder", path.display());
        (Box::new(progress.count(file)), found.is_file())
    };
    let (bytes, ready): (Box<dyn Read + Send>, _) = if is_file {
        (bytes, None)
    } else {
        let ahead = ReadAhead::new(bytes);
        let ready = ahead.ready();
        (Box::new(ahead), Some(ready))
    };
    let is_file = is_file && path != Path::new("-");
    let (start, bytes) = peek(bytes).with_context(failed)?;
    let decoded = match Compression::of_bytes(&start) {
        Compression::None => return Ok(Input { bytes, start, ready, is_file, encoding: None }),
        Compression::Gzip => Decoded::boxed(flate2::read::MultiGzDecoder::new(bytes), "gzip"),
        Compression::Zstd => {
            Decoded::boxed(zstd::Decoder::new(bytes).with_context(failed)?, "zstd")
        }
    };
    let (start, bytes) = peek(decoded).with_context(failed)?;
    Ok(Input { bytes, start, ready: None, is_file: false, encoding: None })
}

#[cfg(windows)]
const END_OF_INPUT: &str = "Ctrl-Z and Enter";
#[cfg(not(windows))]
const END_OF_INPUT: &str = "Ctrl-D";

/// Whether standard input is a file, for which nobody has to be waited.
#[cfg(unix)]
fn is_stdin_a_file() -> bool {
    use std::os::fd::AsFd;
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    stdin.and_then(|stdin| stdin.metadata()).is_ok_and(|found| found.is_file())
}

#[cfg(not(unix))]
fn is_stdin_a_file() -> bool {
    false
}

/// How many bytes tell the format of an input.
const TELLING: usize = 16;

/// The most white space that is passed over to find them.
const MOST_WHITE_SPACE: usize = 64 * 1024;

/// The first bytes of an input, white space before them included, and the whole input all the same.
fn peek(mut input: Box<dyn Read + Send>) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut start = Vec::new();
    loop {
        let wanted = TELLING - start.trim_ascii_start().len();
        let count = input.by_ref().take(wanted as u64).read_to_end(&mut start)?;
        let is_enough = start.trim_ascii_start().len() == TELLING;
        if count == 0 || is_enough || start.len() > MOST_WHITE_SPACE {
            break;
        }
    }
    Ok((start.clone(), Box::new(io::Cursor::new(start).chain(input))))
}

/// A decoder whose errors say of which format the damage is.
struct Decoded<R> {
    decoder: R,
    format: &'static str,
}

impl<R: Read + Send + 'static> Decoded<R> {
    fn boxed(decoder: R, format: &'static str) -> Box<dyn Read + Send> {
        Box::new(Decoded { decoder, format })
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(out).map_err(|error| match error.raw_os_error() {
            Some(_) => error,
            None => {
                let Decoded { format, .. } = self;
                let what = format!("the {format} data are damaged or cut off ({error})");
                io::Error::new(error.kind(), what)
            }
        })
    }
}

/// A store or an archive where it can be opened by its path.
pub(crate) struct Local {
    /// As the user named it.
    name: String,
    path: PathBuf,
    /// The temporary file that the path leads to, if it is a copy.
    copy: Option<SpooledFile>,
}

impl Local {
    /// The store or archive that this input is.
    ///
    /// # Errors
    /// When it has to be copied and cannot.
    pub(crate) fn of(path: &Path, mut input: Input) -> anyhow::Result<Local> {
        let name = path.display().to_string();
        if input.is_file {
            return Ok(Local { name, path: path.to_path_buf(), copy: None });
        }
        let folder = std::env::temp_dir();
        let failed = || format!("cannot copy {name} into {}", folder.display());
        let copy = SpooledFile::copy(&folder, &mut input.bytes).with_context(failed)?;
        Ok(Local { path: copy.path().to_path_buf(), copy: Some(copy), name })
    }

    /// The store or archive that a path leads to; it is not looked at. One that is not there is
    /// found missing when it is opened.
    ///
    /// # Errors
    /// When it has to be copied and cannot.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Local> {
        let is_missing = path != Path::new("-") && !path.exists();
        if is_missing {
            let (name, path) = (path.display().to_string(), path.to_path_buf());
            return Ok(Local { name, path, copy: None });
        }
        Local::of(path, open(path, &Progress::new(None))?)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// As the user named it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Opens the store.
    ///
    /// # Errors
    /// When it cannot be opened, with its name.
    pub(crate) fn store(&self, memory: usize) -> anyhow::Result<Store> {
        let options = StoreOptions::new().memory_bytes(memory);
        Store::open_read_only(&self.path, &options).map_err(|error| self.failed(error))
    }

    /// Opens the archive.
    ///
    /// # Errors
    /// When it cannot be opened, with its name.
    pub(crate) fn archive(&self) -> anyhow::Result<Archive> {
        Archive::open(&self.path).with_context(|| self.name.clone())
    }

    /// An error of the store, which names what the user named and not a copy of it.
    pub(crate) fn failed(&self, error: impl Into<anyhow::Error>) -> anyhow::Error {
        let error = error.into();
        match self.copy {
            None => error,
            Some(_) => {
                let text = super::outcome::message(&error);
                anyhow::anyhow!(text.replace(&self.path.display().to_string(), &self.name))
            }
        }
    }
}
