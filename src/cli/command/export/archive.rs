//! Export of one archive: all records, some records, or the files from which it was packed.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufWriter, IntoInnerError, Write};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;

use crate::cli::args::OutputArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::output::{open_output, open_target};
use crate::cli::pipe::Pipe;
use crate::cli::terminal::many;
use epdb::archive::{Archive, ArchiveError, Restored};
use epdb::new_file::{NewFile, sync_files};
use epdb::source::{FileFormat, Local, Output, TargetOptions};

/// The records that --range asks for.
#[derive(Copy, Clone, Debug)]
pub(super) struct RecordRange {
    start: u64,
    end: Option<u64>,
}

impl RecordRange {
    /// The range, checked against the archive.
    fn of(self, archive: &Archive) -> anyhow::Result<Range<u64>> {
        let (records, end) = (archive.len(), self.end.unwrap_or(archive.len()));
        anyhow::ensure!(
            self.start <= end && end <= records,
            "--range {}..{} goes beyond the end: the archive has {}",
            self.start,
            self.end.map_or(String::new(), |end| end.to_string()),
            many(records, "record"),
        );
        Ok(self.start..end)
    }
}

pub(super) fn parse_range(text: &str) -> Result<RecordRange, String> {
    let (start, end) = text.split_once("..").ok_or("expected A..B")?;
    let number = |text: &str| match text {
        "" => Ok(None),
        _ => text.parse().map(Some).map_err(|_| format!("`{text}` is not a record number")),
    };
    let (start, end) = (number(start)?.unwrap_or(0), number(end)?);
    if end.is_some_and(|end| end < start) {
        return Err(format!("it ends before it begins; use {}..{start}", end.unwrap_or(0)));
    }
    Ok(RecordRange { start, end })
}

/// Writes the files that an archive was packed from.
pub(super) fn restore(local: &Local, pipe: &Pipe, memory_bytes: usize) -> anyhow::Result<Outcome> {
    let name = || local.name().to_string();
    let archive = local.archive()?.memory_bytes(memory_bytes);
    let diagnostics = Diagnostics::new(&pipe.read.form)?;
    let names = archive.file_names().with_context(name)?;
    restore_files(&archive, &names, &pipe.output).with_context(name)?;
    diagnostics.finish()
}

/// Writes the records of an archive, or those at --range.
pub(super) fn write(
    local: &Local,
    range: Option<RecordRange>,
    pipe: &Pipe,
    memory_bytes: usize,
) -> anyhow::Result<Outcome> {
    let name = || local.name().to_string();
    let archive = local.archive()?.memory_bytes(memory_bytes);
    let diagnostics = Diagnostics::new(&pipe.read.form)?;
    let all = range.is_none();
    let range = range.unwrap_or(RecordRange { start: 0, end: None });
    let range = range.of(&archive).with_context(name)?;
    let Some(options) = canonical_text(pipe) else {
        let mut output = pipe.open_output(all)?;
        archive.iter(range).try_for_each(|record| output.write(&record.with_context(name)?))?;
        let written = output.finish()?;
        return Ok(diagnostics.finish()?.and(written));
    };
    let path = pipe.output.output.as_deref();
    let mut output = open_target(path, FileFormat::Epd, &options)?;
    let written = archive.each_text(range, &mut Vec::new(), |text| {
        output.write_canonical_lines(text)?;
        text.clear();
        Ok::<(), anyhow::Error>(())
    });
    written.map_err(|error| match error.is::<ArchiveError>() {
        true => error.context(name()),
        false => error,
    })?;
    output.finish()?;
    diagnostics.finish()
}

/// Options for writing lines that are canonical except for the form of counters.
fn canonical_text(pipe: &Pipe) -> Option<TargetOptions> {
    let Pipe { write, output, .. } = pipe;
    let named = output.output.as_deref().and_then(FileFormat::from_name);
    let options = write.options(FileFormat::Epd, named);
    let is_epd = output.to.or(named).unwrap_or(FileFormat::Epd) == FileFormat::Epd;
    (is_epd && options.has_canonical_operations()).then(|| TargetOptions::new().text(options))
}

/// Writes the files of a verbatim archive: into the folder at -o if there are several.
fn restore_files(archive: &Archive, names: &[String], output: &OutputArgs) -> anyhow::Result<()> {
    let may_replace = output.force.force;
    match output.output.as_deref() {
        Some(folder) if names.len() > 1 || folder.is_dir() => {
            restore_into(archive, names, &Folder { path: folder, may_replace })
        }
        place => {
            if let Some(file) = place.filter(|place| place.is_file() && !may_replace) {
                return Err(is_there(file));
            }
            restore_one(archive, open_output(place)?)
        }
    }
}

fn is_there(file: &Path) -> anyhow::Error {
    anyhow::anyhow!("{} already exists: --force replaces it", file.display())
}

/// Writes the bytes of the only file, if the archive has a file.
fn restore_one(archive: &Archive, mut output: Output) -> anyhow::Result<()> {
    archive.restore(|piece| {
        if let Restored::Bytes(bytes) = piece {
            output.write_all(bytes)?;
        }
        Ok::<(), anyhow::Error>(())
    })?;
    Ok(output.finish()?)
}

/// Writes all files into a folder, or none if one may not be written. All are synced to the disk at
/// the end.
fn restore_into(archive: &Archive, names: &[String], folder: &Folder<'_>) -> anyhow::Result<()> {
    let mut free = Names::default();
    let names = names.iter().map(|name| free.free(name));
    let names: Vec<String> = names.collect::<anyhow::Result<_>>()?;
    names.iter().try_for_each(|name| folder.place(name).map(drop))?;
    let mut next = names.iter();
    let mut output: Option<BufWriter<NewFile>> = None;
    archive.restore(|piece| {
        match piece {
            Restored::File(_) => {
                finish(output.take())?;
                let name = next.next().context("the archive has more files than names")?;
                output = Some(BufWriter::new(folder.create(name)?));
            }
            Restored::Bytes(bytes) => {
                output.as_mut().context("the archive names no file")?.write_all(bytes)?;
            }
        }
        Ok::<(), anyhow::Error>(())
    })?;
    finish(output)?;
    Ok(sync_files(names.iter().map(|name| folder.path.join(name)))?)
}

fn finish(output: Option<BufWriter<NewFile>>) -> anyhow::Result<()> {
    let Some(output) = output else { return Ok(()) };
    Ok(output.into_inner().map_err(IntoInnerError::into_error)?.finish_unsynced()?)
}

/// The folder that files are written into.
struct Folder<'a> {
    path: &'a Path,
    /// Whether existing files are replaced.
    may_replace: bool,
}

impl Folder<'_> {
    /// Path of a file to unpack. It must not lead through a link, or into a pipe or a device.
    fn place(&self, name: &str) -> anyhow::Result<PathBuf> {
        let place = self.path.join(name);
        let folders = place.ancestors().skip(1).take(name.matches('/').count());
        for folder in folders {
            let is_other = folder.symlink_metadata().is_ok_and(|found| !found.is_dir());
            anyhow::ensure!(!is_other, in_the_way(folder, "folder"));
        }
        if let Ok(found) = place.symlink_metadata() {
            anyhow::ensure!(found.is_file(), in_the_way(&place, "file"));
            anyhow::ensure!(self.may_replace, is_there(&place));
        }
        Ok(place)
    }

    /// Begins a file, and makes its folders.
    fn create(&self, name: &str) -> anyhow::Result<NewFile> {
        let place = self.place(name)?;
        if let Some(folder) = place.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        Ok(NewFile::create(&place)?)
    }
}

fn in_the_way(place: &Path, what: &str) -> String {
    format!(
        "cannot write {}: it exists and is not a {what}; move it away, or unpack into another folder",
        place.display()
    )
}

/// The names of the files written so far.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
    /// The last number used as a prefix of a name.
    numbers: HashMap<String, u32>,
}

impl Names {
    /// The name under which a file is written: the name of the packed file, with a number if that
    /// name is taken. Contents are packed uncompressed, so the suffix of a compressed file is
    /// dropped.
    fn free(&mut self, name: &str) -> anyhow::Result<String> {
        anyhow::ensure!(
            name.split('/').all(is_plain),
            "the archive names a file `{}`, which is not a safe relative path",
            name.escape_debug()
        );
        let name = if name == "-" { "stdin.epd" } else { name };
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        let file = name.rfind('/').map_or(0, |slash| slash + 1);
        let (folders, file) = name.split_at(file);
        let mut free = name.to_string();
        while !self.taken.insert(free.clone()) {
            let number = self.numbers.entry(name.to_string()).or_insert(1);
            *number += 1;
            free = format!("{folders}{number}-{file}");
        }
        Ok(free)
    }
}

/// Whether a part of a path is a plain name on every system.
fn is_plain(part: &str) -> bool {
    let mut components = Path::new(part).components();
    let is_name = matches!(components.next(), Some(Component::Normal(name)) if name == part);
    is_name
        && components.next().is_none()
        && !part.contains(|sign: char| ['/', '\\'].contains(&sign) || sign.is_control())
}
