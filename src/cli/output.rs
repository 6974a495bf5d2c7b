//! Where bytes go: standard output, or a file that appears only when it is complete.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use crate::new_file::{NewFile, cannot_write};
use crate::source::{Compression, FileFormat};

use super::escape;
use super::outcome::Usage;
use super::places;
use super::threads;

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
    /// Standard output that a person sees: control characters, which terminals obey, are shown as
    /// escapes. Into a file or a pipe the bytes go as they are.
    Terminal {
        out: io::Stdout,
        lines: escape::Lines,
    },
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

/// [`open_output`] for a format, which the name must not contradict and which must not be binary
/// on a terminal.
///
/// # Errors
/// As said, and the file cannot be made.
pub(crate) fn open_output_of(path: Option<&Path>, format: FileFormat) -> anyhow::Result<Output> {
    match path {
        Some(path) if path != Path::new("-") => check_name(format, path)?,
        _ if !format.is_text() && io::stdout().is_terminal() => {
            let text = "the output is no text, and standard output is a terminal: name a file \
                        (-o FILE), or pipe the output on";
            return Err(Usage(text.into()).into());
        }
        _ => {}
    }
    if format == FileFormat::Epa {
        threads::start(None)?;
    }
    open_output(path)
}

/// [`open_output`] for text that is no format of epdb, which no name must say it were.
///
/// # Errors
/// As said, and the file cannot be made.
pub(crate) fn open_other_output(path: Option<&Path>, what: &str) -> anyhow::Result<Output> {
    path.map_or(Ok(()), |path| check_other_name(path, what))?;
    open_output(path)
}

/// Refuses a name that says another format than the one that will be written under it.
///
/// # Errors
/// What the name says, and what to do.
pub(crate) fn check_name(format: FileFormat, path: &Path) -> anyhow::Result<()> {
    Ok(format.check_name(path).map_err(|error| Usage(error.to_string()))?)
}

/// Refuses a name that says a format of epdb for something that is none.
///
/// # Errors
/// What the name says, and what to do.
pub(crate) fn check_other_name(path: &Path, what: &str) -> anyhow::Result<()> {
    match FileFormat::of_name(path) {
        None => Ok(()),
        Some(named) => Err(Usage(format!(
            "{} is the name of {}, and what is to be written is {what}: give it another suffix",
            path.display(),
            named.description()
        ))
        .into()),
    }
}

/// A file, compressed where its name says so.
pub(crate) fn create_file(path: &Path) -> anyhow::Result<Output> {
    places::claim(path)?;
    let target = Target::create(path)?;
    let sink = match Compression::of_name(path) {
        Compression::None => Sink::Plain(target),
        Compression::Gzip => Sink::Gzip(GzEncoder::new(target, flate2::Compression::default())),
        Compression::Zstd => Sink::Zstd(zstd::Encoder::new(target, 0)?),
    };
    Ok(Output { sink: BufWriter::with_capacity(1 << 18, sink) })
}

fn stdout() -> Output {
    let out = io::stdout();
    let target = match out.is_terminal() {
        true => Target::Terminal { out, lines: escape::Lines::default() },
        false => Target::Stdout(out),
    };
    let sink = Sink::Plain(target);
    Output { sink: BufWriter::with_capacity(1 << 16, sink) }
}

/// Standard output for text of epdb's own, which may have colours.
pub(crate) fn open_page() -> Output {
    let sink = Sink::Plain(Target::Stdout(io::stdout()));
    Output { sink: BufWriter::with_capacity(1 << 16, sink) }
}

/// Prints a line on standard output.
///
/// # Errors
/// What the system says.
pub(crate) fn print_line(line: impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = stdout();
    writeln!(out, "{line}")?;
    out.finish()
}

impl Output {
    /// Writes what is buffered, unless it goes into a file that appears at the end.
    pub(crate) fn hand_on(&mut self) -> io::Result<()> {
        match self.sink.get_ref() {
            Sink::Plain(Target::File(_)) | Sink::Gzip(_) | Sink::Zstd(_) => Ok(()),
            Sink::Plain(_) => self.sink.flush(),
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
            Target::Terminal { out, lines } => match out.write_all(lines.escaped(bytes).as_bytes())
            {
                Ok(()) => Ok(bytes.len()),
                Err(error) => Err(cannot_write(Path::new(STDOUT), error)),
            },
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
            Target::Terminal { out, lines } => out
                .write_all(lines.rest().as_bytes())
                .and_then(|()| out.flush())
                .map_err(|error| cannot_write(Path::new(STDOUT), error)),
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
