//! Where bytes go: standard output, or a file that appears only when it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use crate::new_file::{NewFile, cannot_write};

use super::file_format::Compression;

/// A buffered output. A file takes its place only by [`Output::finish`]; when the run fails
/// before, the place is untouched. Errors of writing name the file.
pub(crate) struct Output {
    sink: BufWriter<Sink>,
}

enum Sink {
    Plain(Target),
    Gzip(GzEncoder<Target>),
    Zstd(zstd::Encoder<'static, Target>),
}

/// Where the bytes go in the end.
enum Target {
    Stdout(io::Stdout),
    File(NewFile),
    /// A device or a pipe, which cannot be renamed onto and is written in place.
    InPlace {
        file: File,
        path: PathBuf,
    },
}

/// Standard output, or the file `-o` names; compressed where its name says so.
pub(crate) fn open_output(path: Option<&Path>) -> anyhow::Result<Output> {
    match path {
        None => Ok(stdout()),
        Some(path) if path == Path::new("-") => Ok(stdout()),
        Some(path) => create_file(path),
    }
}

/// A file, compressed where its name says so.
pub(crate) fn create_file(path: &Path) -> anyhow::Result<Output> {
    let target = Target::create(path)?;
    let sink = match Compression::of_name(path) {
        Compression::None => Sink::Plain(target),
        Compression::Gzip => Sink::Gzip(GzEncoder::new(target, flate2::Compression::default())),
        Compression::Zstd => Sink::Zstd(zstd::Encoder::new(target, 0)?),
    };
    Ok(Output { sink: BufWriter::with_capacity(1 << 18, sink) })
}

fn stdout() -> Output {
    let sink = Sink::Plain(Target::Stdout(io::stdout()));
    Output { sink: BufWriter::with_capacity(1 << 16, sink) }
}

impl Output {
    /// Writes what is buffered, unless it goes into a file that appears at the end.
    pub(crate) fn hand_on(&mut self) -> io::Result<()> {
        match self.sink.get_ref() {
            Sink::Plain(Target::Stdout(_) | Target::InPlace { .. }) => self.sink.flush(),
            Sink::Plain(Target::File(_)) | Sink::Gzip(_) | Sink::Zstd(_) => Ok(()),
        }
    }

    /// Writes what is buffered and puts the file in its place.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let sink = self.sink.into_inner().map_err(io::IntoInnerError::into_error)?;
        let target = match sink {
            Sink::Plain(target) => target,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd(encoder) => encoder.finish()?,
        };
        match target {
            Target::File(file) => file.finish()?,
            mut in_place => in_place.flush()?,
        }
        Ok(())
    }
}

impl Target {
    fn create(path: &Path) -> io::Result<Target> {
        let is_special = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
        if !is_special {
            return NewFile::create(path).map(Target::File);
        }
        match File::options().write(true).open(path) {
            Ok(file) => Ok(Target::InPlace { file, path: path.to_path_buf() }),
            Err(error) => Err(cannot_write(path, error)),
        }
    }
}

const STDOUT: &str = "standard output";

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Stdout(out) => {
                out.write(bytes).map_err(|error| cannot_write(Path::new(STDOUT), error))
            }
            Target::File(file) => file.write(bytes),
            Target::InPlace { file, path } => {
                file.write(bytes).map_err(|error| cannot_write(path, error))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Stdout(out) => {
                out.flush().map_err(|error| cannot_write(Path::new(STDOUT), error))
            }
            Target::File(file) => file.flush(),
            Target::InPlace { file, path } => {
                file.flush().map_err(|error| cannot_write(path, error))
            }
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
