//! Outputs. An output is a file or any other writer. A file appears only when it is complete, and
//! is compressed if its name says so.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use super::format::Compression;
use epdb_base::new_file::{NewFile, cannot_write};

/// A buffered output. A file appears only when [`Output::finish`] is called. If the output is
/// dropped without this call, no file changes. Errors of writing name the file.
///
/// ```
/// use std::io::Write;
/// use epdb_source::Output;
/// # let folder = std::env::temp_dir().join(format!("epdb-output-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("a.epd.gz");
/// let mut output = Output::create(&path)?;
/// output.write_all(b"8/8/8/4k3/8/1K6/8/8 b - -\n")?;
/// assert!(!path.exists());
/// output.finish()?;
/// assert_eq!(epdb_source::open(&path)?.records().count(), 1);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), epdb_chess::Error>(())
/// ```
pub struct Output {
    sink: BufWriter<Sink>,
}

enum Sink {
    Plain(Destination),
    Gzip(GzEncoder<Destination>),
    Zstd(zstd::Encoder<'static, Destination>),
}

enum Destination {
    File(NewFile),
    /// A device or a pipe, which cannot be renamed and is written in place.
    InPlace {
        file: File,
        path: PathBuf,
    },
    Other(Box<dyn Write + Send>),
}

const FILE_BUFFER: usize = 1 << 18;
/// Size of the buffer of any other output.
const BUFFER: usize = 1 << 16;

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.sink.get_ref() {
            Sink::Plain(_) => "Output",
            Sink::Gzip(_) => "Output (gzip)",
            Sink::Zstd(_) => "Output (zstd)",
        })
    }
}

impl Output {
    /// Begins a file, compressed if its name says so. An existing device or pipe is written in
    /// place.
    ///
    /// # Errors
    /// Errors of the system. The error names the file.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Output> {
        let path = path.as_ref();
        let target = Destination::create(path)?;
        let sink = match Compression::from_name(path) {
            Compression::None => Sink::Plain(target),
            Compression::Gzip => Sink::Gzip(GzEncoder::new(target, flate2::Compression::default())),
            // No name shows the other compressions, which are only read.
            Compression::Bzip2 | Compression::Xz => Sink::Plain(target),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(target, 0)?;
                encoder.include_checksum(true)?;
                Sink::Zstd(encoder)
            }
        };
        Ok(Output { sink: BufWriter::with_capacity(FILE_BUFFER, sink) })
    }

    /// An output to any writer.
    pub fn new(output: impl Write + Send + 'static) -> Output {
        let sink = Sink::Plain(Destination::Other(Box::new(output)));
        Output { sink: BufWriter::with_capacity(BUFFER, sink) }
    }

    /// Writes the buffer, unless the output is a file that appears only at the end.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn hand_on(&mut self) -> io::Result<()> {
        match self.sink.get_ref() {
            Sink::Plain(Destination::File(_)) | Sink::Gzip(_) | Sink::Zstd(_) => Ok(()),
            Sink::Plain(_) => self.sink.flush(),
        }
    }

    /// Writes the buffer and renames the file.
    ///
    /// # Errors
    /// Errors of the system. Then no file is changed.
    pub fn finish(self) -> io::Result<()> {
        let sink = self.sink.into_inner().map_err(io::IntoInnerError::into_error)?;
        let target = match sink {
            Sink::Plain(target) => target,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd(encoder) => encoder.finish()?,
        };
        match target {
            Destination::File(file) => file.finish(),
            mut in_place => in_place.flush(),
        }
    }
}

impl Output {
    /// Like [`Output::finish`], but first replaces the first bytes of the file. A compressed file, and an
    /// output that is written in place, keep them.
    ///
    /// # Errors
    /// The errors of [`Output::finish`].
    pub fn finish_with_first(mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.flush()?;
        if let Sink::Plain(Destination::File(file)) = self.sink.get_mut() {
            file.put_first(bytes)?;
        }
        self.finish()
    }
}

impl Destination {
    fn create(path: &Path) -> io::Result<Destination> {
        let is_special = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
        if !is_special {
            return NewFile::create(path).map(Destination::File);
        }
        match File::options().write(true).open(path) {
            Ok(file) => Ok(Destination::InPlace { file, path: path.to_path_buf() }),
            Err(error) => Err(cannot_write(path, error)),
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Destination::File(file) => file.write(bytes),
            Destination::InPlace { file, path } => {
                file.write(bytes).map_err(|error| cannot_write(path, error))
            }
            Destination::Other(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Destination::File(file) => file.flush(),
            Destination::InPlace { file, path } => {
                file.flush().map_err(|error| cannot_write(path, error))
            }
            Destination::Other(output) => output.flush(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Plain(file) => file.write(bytes),
            Sink::Gzip(encoder) => encoder.write(bytes),
            Sink::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Plain(file) => file.flush(),
            Sink::Gzip(encoder) => encoder.flush(),
            Sink::Zstd(encoder) => encoder.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
