//! Where bytes go: standard output, or a file that appears only when it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use super::file_format::Compression;

/// A buffered output. A file is written beside its place under another name and renamed by
/// [`Output::finish`]; when the run fails before, the place is untouched.
pub(crate) struct Output {
    sink: BufWriter<Sink>,
    place: Option<PathBuf>,
}

enum Sink {
    Stdout(io::Stdout),
    Plain(Target),
    Gzip(GzEncoder<Target>),
    Zstd(zstd::Encoder<'static, Target>),
}

/// The file itself: a temporary one to be renamed, or one that cannot be renamed onto (a device
/// or a pipe), which is written in place.
enum Target {
    Temporary(NamedTempFile),
    InPlace(File),
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
    let failed = || format!("cannot write {}", path.display());
    let target = Target::create(path).with_context(failed)?;
    let sink = match Compression::of_name(path) {
        Compression::None => Sink::Plain(target),
        Compression::Gzip => Sink::Gzip(GzEncoder::new(target, flate2::Compression::default())),
        Compression::Zstd => Sink::Zstd(zstd::Encoder::new(target, 0).with_context(failed)?),
    };
    Ok(Output { sink: BufWriter::with_capacity(1 << 18, sink), place: Some(path.to_path_buf()) })
}

fn stdout() -> Output {
    Output { sink: BufWriter::with_capacity(1 << 16, Sink::Stdout(io::stdout())), place: None }
}

impl Output {
    /// Writes what is buffered, unless it goes into a file that appears at the end.
    pub(crate) fn hand_on(&mut self) -> io::Result<()> {
        match self.sink.get_ref() {
            Sink::Stdout(_) | Sink::Plain(Target::InPlace(_)) => self.sink.flush(),
            Sink::Plain(Target::Temporary(_)) | Sink::Gzip(_) | Sink::Zstd(_) => Ok(()),
        }
    }

    /// Writes what is buffered and puts the file in its place.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let sink = self.sink.into_inner().map_err(io::IntoInnerError::into_error)?;
        let target = match sink {
            Sink::Stdout(mut stdout) => return Ok(stdout.flush()?),
            Sink::Plain(target) => target,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd(encoder) => encoder.finish()?,
        };
        match (target, self.place) {
            (Target::Temporary(file), Some(place)) => {
                file.as_file().sync_all()?;
                file.persist(&place)
                    .with_context(|| format!("cannot write {}", place.display()))?;
            }
            (Target::Temporary(_), None) => {}
            (Target::InPlace(mut file), _) => file.flush()?,
        }
        Ok(())
    }
}

impl Target {
    fn create(path: &Path) -> io::Result<Target> {
        let is_special = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
        if is_special {
            return Ok(Target::InPlace(File::options().write(true).open(path)?));
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".epdb-");
        #[cfg(unix)]
        {
            // The permissions that a file made in the ordinary way would have.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        Ok(Target::Temporary(builder.tempfile_in(folder)?))
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Temporary(file) => file.write(bytes),
            Target::InPlace(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Temporary(file) => file.flush(),
            Target::InPlace(file) => file.flush(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Plain(file) => file.write(bytes),
            Sink::Gzip(encoder) => encoder.write(bytes),
            Sink::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Stdout(stdout) => stdout.flush(),
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
