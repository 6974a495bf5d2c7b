//! `epdb export`: sources back to canonical text.

mod archive;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use archive::Archives;
use clap::ValueEnum;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::GamesArgs;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::pipe::Pipe;
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{self, OpenSource};
use epdb_archive::Damage;
use epdb_chess::error::{At, Place};
use epdb_chess::model::EpdRecord;
use epdb_source::{CollectionFile, FileFormat, Local, is_stream, name_of};
use epdb_store::{StoreError, StoredRecord};

/// Write the records or games of any files as text
///
/// Sources are written one after the other. For an archive, or a store in the order of import, the
/// output has the same bytes as the output of `normalize` for the original files, but no comments.
/// `cat` and `unpack` are the same command.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb export book.epdb -o book.epd
  epdb export book.epa --range 1000..1010
  epdb export suites.epa --verbatim -o folder
  epdb export wac.epd sts.epb book.epdb --where 'has(bm)' -o all.epd.zst")]
pub(crate) struct Args {
    /// Write the records of a store in this order
    #[arg(long, alias = "order", value_enum, default_value_t = Order::Import, value_name = "BY")]
    sort: Order,
    /// Write only those positions of libraries that have a move played in at least N games
    #[arg(long, value_name = "N")]
    min_games: Option<u64>,
    /// Write only the records of the archive with the numbers A to B - 1. The first record has the
    /// number 0; A or B may be omitted
    #[arg(long, value_name = "A..B", value_parser = archive::parse_range,
          conflicts_with_all = ["sort", "min_games", "filter", "games"])]
    range: Option<archive::RecordRange>,
    /// Write the original files of an archive that was packed with --verbatim. Several files go
    /// into the folder given by -o, with their subfolders. A single file goes to -o or to standard
    /// output. If one of the files exists, nothing is written
    #[arg(long, conflicts_with_all = ["range", "sort", "min_games", "filter", "games"])]
    verbatim: bool,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug)]
enum Order {
    /// In the order of import
    Import,
    /// In the order of the position keys, which is fastest
    Key,
}

impl Args {
    /// Input and output; --min-games is added to the expression.
    fn pipe(&self) -> anyhow::Result<Pipe> {
        let mut pipe = Pipe { read: self.pipe.read.past_damage(), ..self.pipe.clone() };
        if let Some(games) = self.min_games {
            pipe.read.wanted = pipe.read.wanted.with_games(games)?;
        }
        Ok(pipe)
    }

    /// The only source, for an option that needs exactly one source.
    fn one_source(&self, option: &str, what: &str) -> anyhow::Result<&Path> {
        let Pipe { files, read, output, .. } = &self.pipe;
        let is_of_games = self.games.format(files, read, output.format()?)?.is_some();
        match files.as_slice() {
            _ if is_of_games => Err(usage(format!("{option} writes no games: leave it out"))),
            [] => Ok(Path::new("-")),
            [file] => Ok(file),
            _ => Err(usage(format!("{option} is for one {what}, and several sources are named"))),
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let memory_bytes = args.memory.memory_bytes;
    if args.verbatim {
        let file = archive_at(args.one_source("--verbatim", "archive")?, args, "--verbatim")?;
        return archive::restore(&file, &args.pipe, memory_bytes);
    }
    if args.range.is_some() {
        let file = args.one_source("--range", "archive")?;
        if let Some(CollectionFile::Shards(shards)) = args.pipe.read.streams.library(file)? {
            let shards = Archives::Shards(&shards);
            return archive::write(&shards, args.range, &args.pipe, memory_bytes);
        }
        let archive = archive_at(file, args, "--range")?;
        return archive::write(&Archives::One(&archive), args.range, &args.pipe, memory_bytes);
    }
    let pipe = args.pipe()?;
    if args.sort == Order::Key {
        let file = args.one_source("--sort key", "store")?;
        if let Some(CollectionFile::Archive(_)) = pipe.read.streams.library(file)? {
            anyhow::bail!(
                "{}: this is not an epdb store, which --sort key takes; `epdb sort` sorts any records",
                name_of(file)
            );
        }
        return write_store(&local(file, &pipe.read)?, &pipe, args);
    }
    if let Some(games) = pipe.games(&args.games)? {
        if args.min_games.is_some() {
            return Err(usage("--min-games writes no games: leave it out"));
        }
        return games.counting().run(|read, output| output.write_unchanged(read));
    }
    let file = match source::or_stdin(&pipe.files)[..] {
        [file] if pipe.read.wanted.filter.is_none() => file,
        _ => return pipe.run(|record, _, output| write(&record, output)),
    };
    if let Some(CollectionFile::Shards(shards)) = pipe.read.streams.library(file)? {
        return archive::write(&Archives::Shards(&shards), None, &pipe, memory_bytes);
    }
    let opened = OpenSource::open(file, pipe.read.source_options(false))?;
    match opened.source.local() {
        // Faster than record by record.
        Some(store) if opened.source.format() == FileFormat::Epdb => {
            write_store(store, &pipe, args)
        }
        Some(archive) => archive::write(&Archives::One(archive), None, &pipe, memory_bytes),
        None => pipe.run_opened(Some(opened), |record, _, output| write(&record, output)),
    }
}

/// Opens an archive for an option that stores do not have.
fn archive_at(path: &Path, args: &Args, option: &str) -> anyhow::Result<Local> {
    let read = &args.pipe.read;
    if let Some(CollectionFile::Store(_)) = read.streams.library(path)? {
        anyhow::bail!(
            "{}: {option} is for archives, and this is a store: `epdb pack` makes an archive of it",
            name_of(path)
        );
    }
    local(path, read)
}

/// Opens a store or an archive, which the output opens again for its ledger.
fn local(path: &Path, read: &ReadArgs) -> anyhow::Result<Local> {
    match read.streams.library(path)? {
        Some(CollectionFile::Store(local) | CollectionFile::Archive(local)) => Ok(local),
        Some(CollectionFile::Layers(_)) => {
            anyhow::bail!("{}: this is a base and its delta, not one file", name_of(path))
        }
        Some(CollectionFile::Shards(_)) => {
            anyhow::bail!("{}: this is a sharded archive, not one file", name_of(path))
        }
        _ if is_stream(path) => anyhow::bail!("{}: neither a store nor an archive", name_of(path)),
        _ => Ok(Local::open(path)?),
    }
}

fn write(record: &EpdRecord, output: &mut RecordOutput) -> anyhow::Result<ControlFlow<()>> {
    output.write(record)?;
    Ok(ControlFlow::Continue(()))
}

fn write_store(local: &Local, pipe: &Pipe, args: &Args) -> anyhow::Result<Outcome> {
    let store = local.store(args.memory.memory_bytes)?;
    let reader = store.reader().map_err(|error| local.failed(error))?;
    let mut diagnostics = Diagnostics::new(&pipe.read.form)?;
    let mut output = pipe.open_output(true)?;
    let wanted = &pipe.read.wanted;
    let name: Arc<str> = local.name().into();
    let mut sound = 0;
    let mut write = |stored: Result<StoredRecord, StoreError>| {
        let StoredRecord { import_number, record } = match stored {
            // Damage comes after all sound records.
            Err(StoreError::Damaged { .. }) => {
                let lost = reader.len().saturating_sub(sound);
                return Ok(diagnostics.damaged(&name, &Damage::of_store(lost))?);
            }
            stored => stored.map_err(|error| local.failed(error))?,
        };
        sound += 1;
        let place = Place::new(Arc::clone(&name), At::Record(import_number + 1));
        if wanted.takes(&record, &place) { output.write(&record) } else { Ok(()) }
    };
    match args.sort {
        Order::Import => reader.by_import().past_damage().try_for_each(&mut write)?,
        Order::Key => reader.by_key().past_damage().try_for_each(&mut write)?,
    }
    output.finish_with(diagnostics)
}
