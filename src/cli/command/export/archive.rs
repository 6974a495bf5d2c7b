//! Export of one archive or sharded archive: all records, some records, or the files from which an
//! archive was packed.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufWriter, IntoInnerError, Write};
use std::ops::{ControlFlow, Range};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;

use crate::cli::args::OutputArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::ledgers;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::{open_output, open_target};
use crate::cli::pipe::Pipe;
use crate::cli::terminal::{many, note, print_error};
use epdb_archive::{Archive, ArchiveError, Damage, Restored, Salvaged, SalvagedFile};
use epdb_base::new_file::{NewFile, sync_files};
use epdb_chess::model::EpdRecord;
use epdb_source::{FileFormat, Local, Output, ShardedArchive, TargetOptions};

/// The records that --range selects.
#[derive(Copy, Clone, Debug)]
pub(super) struct RecordRange {
    start: u64,
    end: Option<u64>,
}

impl RecordRange {
    /// The range, checked against the number of records.
    fn of(self, records: u64) -> anyhow::Result<Range<u64>> {
        let end = self.end.unwrap_or(records);
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
    let start = number(start)?.unwrap_or(0);
    let end = number(end)?;
    if end.is_some_and(|end| end < start) {
        return Err(format!("it ends before it begins; use {}..{start}", end.unwrap_or(0)));
    }
    Ok(RecordRange { start, end })
}

/// Writes the files that an archive was packed from.
pub(super) fn restore(local: &Local, pipe: &Pipe, memory_bytes: usize) -> anyhow::Result<Outcome> {
    let name = || local.name().to_string();
    let archive = local.cut_archive()?.memory_bytes(memory_bytes);
    let mut diagnostics = Diagnostics::new(&pipe.read.form)?;
    let names = archive.file_names();
    if names.as_ref().is_err_and(ArchiveError::is_damage) {
        note!("epdb: the names of the files are lost; {RECORDS_LEFT}");
    }
    let names = names.with_context(name)?;
    let restored =
        restore_files(&archive, &names, local.name(), &pipe.output).with_context(name)?;
    // Without records, this is the damage of the header or the footer.
    let damaged = |damage: &Damage| Ok(diagnostics.damaged(local.name(), damage)?);
    each_record(&archive, archive.len()..archive.len(), damaged, |_| Ok(()))?;
    Ok(diagnostics.finish()?.and(restored))
}

const RECORDS_LEFT: &str =
    "`epdb export` without --verbatim writes the records that are not damaged";

pub(super) enum Archives<'a> {
    One(&'a Local),
    Shards(&'a ShardedArchive),
}

impl Archives<'_> {
    /// Calls `visit` for each archive that has records of a range, with the name of the archive and these
    /// records. Returns the shards of which nothing is left, each with the reason.
    fn each(
        &self,
        range: Option<RecordRange>,
        memory_bytes: usize,
        mut visit: impl FnMut(&Archive, &str, Range<u64>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<(String, Damage)>> {
        let mut lost = Vec::new();
        let range = range.unwrap_or(RecordRange { start: 0, end: None });
        let of = |records, name: &str| range.of(records).with_context(|| name.to_string());
        match self {
            Archives::One(local) => {
                let archive = local.cut_archive()?.memory_bytes(memory_bytes);
                let name = local.name();
                let records = archive.len();
                visit(&archive, name, of(records, name)?).map_err(|error| named(error, name))?;
            }
            Archives::Shards(shards) => {
                let range = of(shards.manifest().records(), shards.name())?;
                let mut first = 0;
                for shard in shards.shards()? {
                    let within = |number: u64| number.clamp(first, first + shard.records) - first;
                    let own = within(range.start)..within(range.end);
                    first += shard.records;
                    // An entry without records is compared with its archive too.
                    if own.is_empty() && shard.records > 0 {
                        continue;
                    }
                    let archive = match shards.open_cut(shard)? {
                        Ok(archive) => archive.memory_bytes(memory_bytes),
                        Err(error) => {
                            let damage = Damage::of_shard(own.end - own.start);
                            lost.push((error.to_string(), damage));
                            continue;
                        }
                    };
                    let name = format!("{}: shard {}", shards.name(), shard.file);
                    let left = own.start.min(archive.len())..own.end.min(archive.len());
                    visit(&archive, &name, left).map_err(|error| named(error, &name))?;
                }
            }
        }
        Ok(lost)
    }
}

/// Adds the name of an archive to its errors; errors of the output have names of their own.
fn named(error: anyhow::Error, name: &str) -> anyhow::Error {
    if error.is::<ArchiveError>() { error.context(name.to_string()) } else { error }
}

/// Writes the records of an archive or a sharded archive, or those at --range.
pub(super) fn write(
    archives: &Archives<'_>,
    range: Option<RecordRange>,
    pipe: &Pipe,
    memory_bytes: usize,
) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&pipe.read.form)?;
    let all = range.is_none();
    let Some(options) = canonical_text(pipe) else {
        let mut output = pipe.open_output(all)?;
        let is_library = output.is_library();
        let mut damaged = |name: &str, damage: &Damage| {
            anyhow::ensure!(!is_library, "{name}: {damage}; {LOSSY}");
            Ok(diagnostics.damaged(name, damage)?)
        };
        let lost = archives.each(range, memory_bytes, |archive, name, range| {
            let damaged = |damage: &Damage| damaged(name, damage);
            each_record(archive, range, damaged, |record| output.write(record))
        })?;
        lost.iter().try_for_each(|(name, damage)| damaged(name, damage))?;
        return output.finish_with(diagnostics);
    };
    ledgers::refuse_mixture(&pipe.files, &pipe.read)?;
    ledgers::note_unwritten(&pipe.files, &pipe.read)?;
    let path = pipe.output.output.as_deref();
    let mut output = open_target(path, FileFormat::Epd, &options)?;
    let lost = archives.each(range, memory_bytes, |archive, name, range| {
        let mut next = range.start;
        let written = archive.each_text(range.clone(), &mut Vec::new(), |text| {
            output.write_canonical_lines(text)?;
            next += memchr::memchr_iter(b'\n', text).count() as u64;
            text.clear();
            Ok::<(), anyhow::Error>(())
        });
        match written {
            Err(error) if error.downcast_ref().is_some_and(ArchiveError::is_damage) => {
                let damaged = |damage: &Damage| Ok(diagnostics.damaged(name, damage)?);
                let rest = next..range.end;
                each_record(archive, rest, damaged, |record| Ok(output.write(record)?))
            }
            written => written,
        }
    })?;
    lost.iter().try_for_each(|(name, damage)| diagnostics.damaged(name, damage))?;
    output.finish()?;
    diagnostics.finish()
}

/// The reason why a library is not written without some of its records.
const LOSSY: &str = "a library is not written without some of its records; write them as text";

/// Passes the records of a range to `write`, and the damaged parts between them to `damaged`.
fn each_record(
    archive: &Archive,
    range: Range<u64>,
    mut damaged: impl FnMut(&Damage) -> anyhow::Result<()>,
    mut write: impl FnMut(&EpdRecord) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    archive.salvage(range, &mut |next| {
        match &next {
            Salvaged::Record { record, .. } => write(record)?,
            Salvaged::Damage(damage) => damaged(damage)?,
        }
        Ok::<_, anyhow::Error>(ControlFlow::Continue(()))
    })
}

/// Options for text that is canonical except for the form of counters; `None` for any other text.
fn canonical_text(pipe: &Pipe) -> Option<TargetOptions> {
    let Pipe { write, output, .. } = pipe;
    let named = output.output.as_deref().and_then(FileFormat::from_name);
    let options = write.options(FileFormat::Epd, named);
    let is_epd = output.to.or(named).unwrap_or(FileFormat::Epd) == FileFormat::Epd;
    (is_epd && options.has_canonical_operations())
        .then(|| TargetOptions { text: Some(options), ..Default::default() })
}

/// Writes the files of a verbatim archive. If there are several files, they go into the folder at -o.
fn restore_files(
    archive: &Archive,
    names: &[String],
    archive_name: &str,
    output: &OutputArgs,
) -> anyhow::Result<Outcome> {
    let may_replace = output.force.force;
    match output.output.as_deref().filter(|place| *place != Path::new("-")) {
        None if names.len() > 1 => Err(usage(format!(
            "the archive has {}: name the folder to write them into with -o",
            many(names.len(), "file")
        ))),
        Some(folder) if names.len() > 1 || folder.is_dir() => {
            restore_into(archive, names, archive_name, &Folder { path: folder, may_replace })
        }
        place => {
            if let Some(file) = place.filter(|place| place.is_file() && !may_replace) {
                return Err(is_there(file));
            }
            restore_one(archive, open_output(place)?)?;
            Ok(Outcome::Done)
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

/// Writes all files into a folder, or no file if one of them may not be written. If the archive is
/// damaged, writes all files that have no damaged part. All files are synced to the disk at the
/// end.
fn restore_into(
    archive: &Archive,
    names: &[String],
    archive_name: &str,
    folder: &Folder<'_>,
) -> anyhow::Result<Outcome> {
    let mut free = Names::default();
    let own_names = names.iter().map(|name| free.free(name));
    let own_names: Vec<String> = own_names.collect::<anyhow::Result<_>>()?;
    own_names.iter().try_for_each(|name| folder.place(name).map(drop))?;
    let mut files = Restoring { names: &own_names, folder, begun: 0, output: None };
    let restored = archive.restore(|piece| match piece {
        Restored::File(_) => files.begin(files.begun),
        Restored::Bytes(bytes) => files.write(bytes),
    });
    let mut lost = BTreeSet::new();
    match restored.and_then(|()| files.finish()) {
        Err(error) if error.downcast_ref().is_some_and(ArchiveError::is_damage) => {
            // A file that is still open is dropped, and restored again.
            let was_open = files.output.take().is_some();
            let complete = if was_open { files.begun - 1 } else { files.begun };
            let mut is_complete = false;
            archive.salvage_files(|piece| {
                match piece {
                    SalvagedFile::File(file) => {
                        is_complete = file < complete;
                        if !is_complete {
                            files.begin(file)?;
                        }
                    }
                    SalvagedFile::Bytes(_) if is_complete => {}
                    SalvagedFile::Bytes(bytes) => files.write(bytes)?,
                    SalvagedFile::Lost(file) => {
                        files.output = None;
                        lost.insert(file);
                    }
                }
                Ok::<(), anyhow::Error>(())
            })?;
            files.finish()?;
        }
        restored => restored?,
    }
    for &file in &lost {
        print_error(&format!("{archive_name}: `{}` is damaged and not restored", names[file]));
    }
    let is_whole = |file: &usize| !lost.contains(file);
    let whole =
        (0..own_names.len()).filter(is_whole).map(|file| folder.path.join(&own_names[file]));
    sync_files(whole)?;
    if !lost.is_empty() {
        let files = many(lost.len() as u64, "file");
        note!("epdb: {files} of {} lost; {RECORDS_LEFT}", names.len());
    }
    Ok(Outcome::different_if(!lost.is_empty()))
}

/// The files of an archive while they are restored.
struct Restoring<'a> {
    /// Names of all files in the folder.
    names: &'a [String],
    folder: &'a Folder<'a>,
    /// Number of files up to the one that began last.
    begun: usize,
    output: Option<BufWriter<NewFile>>,
}

impl Restoring<'_> {
    /// Completes the file before, and begins the file with this index.
    fn begin(&mut self, file: usize) -> anyhow::Result<()> {
        self.finish()?;
        let name = self.names.get(file).context("the archive has more files than names")?;
        self.begun = file + 1;
        self.output = Some(BufWriter::new(self.folder.create(name)?));
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let output = self.output.as_mut().context("the archive names no file")?;
        Ok(output.write_all(bytes)?)
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        let Some(output) = self.output.take() else { return Ok(()) };
        Ok(output.into_inner().map_err(IntoInnerError::into_error)?.finish_unsynced()?)
    }
}

struct Folder<'a> {
    path: &'a Path,
    /// Whether existing files are replaced.
    may_replace: bool,
}

impl Folder<'_> {
    /// Path of a file to unpack. A path through a link, or into a pipe or a device, is refused.
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
        // Windows writes what follows into another stream of the file.
        && !(cfg!(windows) && part.contains(':'))
}
