//! `epdb unpack`: an archive back to text.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::archive::{Archive, ArchiveError, Restored};
use crate::cli::args::{CastlingArg, CountersArg, EpArg, OutputArgs, WriteArgs};
use crate::cli::file_format::FileFormat;
use crate::cli::input::Local;
use crate::cli::outcome::Outcome;
use crate::cli::output::{Output, create_file, open_output, open_output_of};
use crate::cli::record_output::RecordOutput;
use crate::cli::threads;

/// Write the records of an archive, or the files it was packed from
///
/// The records are, byte for byte, what `normalize` makes of the packed files.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb unpack book.epa -o book.epd
  epdb unpack book.epa --range 1000..1010
  epdb unpack suites.epa --verbatim -o folder")]
pub(crate) struct Args {
    /// The archive; `-` is standard input
    archive: PathBuf,
    /// Only the records with these numbers, the first being 0 and the last not included; either
    /// end may be left out
    #[arg(long, value_name = "A..B", value_parser = parse_range)]
    range: Option<Range<u64>>,
    /// The packed files as they were: into the folder -o if there are several, else into the file
    /// -o or to standard output
    #[arg(long, conflicts_with = "range")]
    verbatim: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Records that are turned into text at a time.
const STEP: u64 = 4096;

fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let (start, end) = text.split_once("..").ok_or("expected A..B")?;
    let number = |text: &str, other: u64| match text {
        "" => Ok(other),
        _ => text.parse().map_err(|_| format!("`{text}` is no record number")),
    };
    Ok(number(start, 0)?..number(end, u64::MAX)?)
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let name = || args.archive.display().to_string();
    let local = Local::open(&args.archive)?;
    let archive = local.archive()?;
    threads::start(None)?;
    if args.verbatim {
        let names = names(&archive).with_context(name)?;
        restore(&archive, &names, args.output.output.as_deref())?;
        return Ok(Outcome::Done);
    }
    let range = args.range.clone().unwrap_or(0..archive.len());
    let range = range.start..range.end.min(archive.len());
    if is_canonical_text(args) {
        let mut output = open_output_of(args.output.output.as_deref(), FileFormat::Epd)?;
        let mut text = Vec::new();
        let mut next = range.start;
        while next < range.end {
            let end = range.end.min(next + STEP);
            text.clear();
            archive.write_text(next..end, &mut text).with_context(name)?;
            output.write_all(&text)?;
            next = end;
        }
        output.finish()?;
    } else {
        let mut output = RecordOutput::open(&args.output, &args.write)?;
        archive.iter(range).try_for_each(|record| output.write(&record.with_context(name)?))?;
        output.finish()?;
    }
    Ok(Outcome::Done)
}

/// Whether the output is what the archive writes without making records.
fn is_canonical_text(args: &Args) -> bool {
    let named = args.output.output.as_deref().and_then(FileFormat::of_name);
    let write = &args.write;
    args.output.to.or(named).unwrap_or(FileFormat::Epd) == FileFormat::Epd
        && write.format.is_none()
        && write.counters == CountersArg::Keep
        && write.castling == CastlingArg::Xfen
        && write.ep == EpArg::Keep
}

/// The names of the files of a verbatim archive, all of which can be restored.
fn names(archive: &Archive) -> Result<Vec<String>, ArchiveError> {
    let mut names = Vec::new();
    archive.restore(|piece| {
        if let Restored::File(name) = piece {
            names.push(name.to_string());
        }
        Ok::<(), ArchiveError>(())
    })?;
    Ok(names)
}

/// Writes the files of a verbatim archive.
fn restore(archive: &Archive, names: &[String], place: Option<&Path>) -> anyhow::Result<()> {
    let folder = match place {
        Some(place) if names.len() > 1 || place.is_dir() => Some(place),
        _ => None,
    };
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let mut taken = BTreeSet::new();
    let mut output: Option<Output> = None;
    archive.restore(|piece| {
        match (piece, folder) {
            (Restored::File(name), Some(folder)) => {
                finish(output.take())?;
                let name = free_name(name, &mut taken)?;
                output = Some(create_file(&folder.join(name))?);
            }
            (Restored::File(_), None) => {
                if output.is_none() {
                    output = Some(open_output(place)?);
                }
            }
            (Restored::Bytes(bytes), _) => {
                let output = output.as_mut().context("the archive names no file")?;
                output.write_all(bytes)?;
            }
        }
        Ok::<(), anyhow::Error>(())
    })?;
    finish(output)
}

fn finish(output: Option<Output>) -> anyhow::Result<()> {
    output.map_or(Ok(()), Output::finish)
}

/// The name under which a file is written: that of the packed file, made plain, with a number
/// where it is taken. Contents come back as they were packed, so compressed names lose their last
/// suffix.
fn free_name(name: &str, taken: &mut BTreeSet<String>) -> anyhow::Result<String> {
    let is_plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\']);
    anyhow::ensure!(is_plain, "the archive names a file `{name}`, which is no plain name");
    let name = if name == "-" { "stdin.epd" } else { name };
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    let numbered = (2..).map(|number| format!("{number}-{name}"));
    let free = std::iter::once(name.to_string()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or_default();
    taken.insert(free.clone());
    Ok(free)
}
