//! `epdb stats`: statistics of records and games.

mod counts;
mod page;

use std::cell::RefCell;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::source::{self, Reading, Visited};
use crate::cli::values;
use epdb_engine::report::html::CountTable;
use epdb_library::breakdown::Breakdown;
use epdb_library::census::{Census, CensusEncode, GameCensus};
use epdb_source::{CollectionFile, FileFormat, Item, Output, Streams, name_of};
use page::Page;

/// Print statistics of records (positions, opcodes) and of games (results, tags, moves)
///
/// The average size of a record or move is printed too. Games are counted as games or, with
/// --positions, as positions.
///
/// Positions are counted in six ways, from "the same in all six fields" to "the same pieces on the same
/// squares". The output has a line for each way. To find records, epdb uses the third way: an en passant
/// square counts only where an en passant capture is legal. For a library made by `epdb tally`, only the
/// summary that the library stores is printed, unless --census is given.
///
/// With --html, charts show results, openings, positions and scores by year, rating and ply. For a
/// library, the charts use only the counts of the start position and of the most-played line,
/// unless --census is given.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb stats suite.epdb --json
  epdb stats library.epdb --html library.html
  epdb table --group-by ECO --agg games,score games.pgn")]
pub(crate) struct Args {
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Write a complete HTML page with charts to this file, and print the most important numbers
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// Count all positions and operations of libraries, instead of printing their stored summaries
    #[arg(long)]
    census: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

impl Args {
    fn page(&self, breakdown: Breakdown) -> Page<'_> {
        Page::new(&self.files, &self.read.streams, self.memory.memory_bytes, breakdown)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    // Libraries are looked into before they are read.
    values::start_threads(args.read.form.threads)?;
    let files = source::or_stdin(&args.files);
    let Stored { libraries, about, records } = Stored::of(&files, &args.read.streams)?;
    let are_libraries = libraries.len() == files.len();
    if are_libraries && !args.census && args.read.wanted.filter.is_none() {
        let bytes = file_bytes(&files, &args.read.streams)?;
        let stats = json::LibraryStats::new(records, bytes, libraries, about);
        return match &args.html {
            Some(file) => {
                let mut page = args.page(Breakdown::default());
                page.add_stored(&stats)?;
                page.write(file)
            }
            None => print_libraries(args, &stats),
        };
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut census = Census::new(std::env::temp_dir(), args.memory.memory_bytes / 2);
    let mut games = GameCensus::default();
    let breakdown = RefCell::new(Breakdown::default());
    let has_charts = args.html.is_some();
    let read = args.read.past_damage();
    let mut reading = Reading::of(&args.files, &read, &mut diagnostics);
    if !has_charts {
        reading = reading.encode(Arc::new(CensusEncode));
    }
    reading
        .visit_games(|read| {
            match read.encoded {
                Some(facts) => games.add_encoded(facts)?,
                None => games.add(read.game),
            }
            if has_charts {
                breakdown.borrow_mut().add_game(read.game);
            }
            Ok(Visited::Taken)
        })
        .items(|item| {
            match item {
                Item::Encoded { records, .. } => {
                    records.iter().try_for_each(|record| census.add_encoded(record))?;
                }
                Item::Record { record, game, .. } => {
                    census.add(&record)?;
                    if has_charts {
                        breakdown.borrow_mut().add_record(&record, game);
                    }
                }
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
    let census = census.finish()?;
    // The bytes of games are no measure of records, and the other way round.
    let is_mixed = games.games > 0 && census.records > 0;
    let file_bytes = if is_mixed { None } else { file_bytes(&files, &args.read.streams)? };
    let no_positions = census.records == 0 && args.read.form.games.positions.is_none();
    let are_games =
        games.games > 0 || no_positions && args.files.iter().any(|path| is_of_games(path));
    games.file_bytes = file_bytes;
    let stats = (!are_games || !no_positions).then(|| json::Stats {
        file_bytes_per_record: json::bytes_per_record(file_bytes, census.records),
        encoded_bytes_per_record: json::bytes_per_record(
            Some(census.encoded_bytes),
            census.records,
        ),
        census,
        libraries,
        about,
    });
    if let Some(file) = &args.html {
        let mut page = args.page(breakdown.into_inner());
        if are_games {
            page.add_games(&games);
        }
        if let Some(stats) = &stats {
            page.add_records(stats)?;
        }
        return Ok(diagnostics.finish()?.and(page.write(file)?));
    }
    let mut out = open_output(None)?;
    if args.json {
        if are_games {
            json::line(&mut out, &games)?;
        }
        stats.iter().try_for_each(|stats| json::line(&mut out, stats))?;
    } else {
        if are_games {
            print(&mut out, &counts::games(&games))?;
        }
        if let Some(stats) = &stats {
            print(&mut out, &counts::records(stats))?;
            print_tables(&mut out, &stats.libraries, &stats.about)?;
        }
    }
    out.finish()?;
    diagnostics.finish()
}

/// The facts that stores and archives among files state about themselves.
#[derive(Default)]
struct Stored {
    libraries: Vec<json::Library>,
    about: Vec<json::AboutFile>,
    /// Number of records of the libraries.
    records: u64,
}

impl Stored {
    fn of(files: &[&Path], streams: &Streams) -> anyhow::Result<Stored> {
        let mut stored = Stored::default();
        for file in files {
            let Some(library) = streams.library(file)? else { continue };
            // What is left of a damaged file is counted below. Damage is found by `verify`.
            let Ok(opened) = library.opened() else { continue };
            let about = opened.about().unwrap_or_default();
            if about.facts().next().is_some() {
                stored.about.push(json::AboutFile::new(name_of(file).into_owned(), &about));
            }
            if let Some(summary) = opened.summary()? {
                stored.records += summary.counts.records;
                stored.libraries.push(json::Library::new(name_of(file).into_owned(), summary));
            }
        }
        Ok(stored)
    }
}

/// Bytes of all files, with their shards; `None` if one of them is text from a stream or an address.
fn file_bytes(files: &[&Path], streams: &Streams) -> anyhow::Result<Option<u64>> {
    let mut bytes = 0;
    for file in files {
        let library = streams.library(file)?;
        let found = file.metadata().ok().filter(|found| found.is_file());
        // A compressed library has the size of its file.
        bytes += match (library, found) {
            (Some(library @ CollectionFile::Shards(_)), _) => library.bytes()?,
            (_, Some(found)) => found.len(),
            (Some(library), None) => library.bytes()?,
            (None, None) => return Ok(None),
        };
    }
    Ok(Some(bytes))
}

/// Prints what libraries store about themselves.
fn print_libraries(args: &Args, stats: &json::LibraryStats) -> anyhow::Result<Outcome> {
    let mut out = open_output(None)?;
    if args.json {
        json::line(&mut out, stats)?;
    } else {
        print(&mut out, &counts::libraries(stats))?;
        print_tables(&mut out, &stats.libraries, &stats.about)?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

fn print_tables(
    out: &mut Output,
    libraries: &[json::Library],
    about: &[json::AboutFile],
) -> anyhow::Result<()> {
    for table in libraries.iter().map(counts::library).chain(about.iter().map(counts::about)) {
        writeln!(out, "{}", table.title)?;
        print(out, &table)?;
    }
    Ok(())
}

fn print(out: &mut Output, table: &CountTable) -> anyhow::Result<()> {
    for [name, value] in &table.rows {
        match value.as_str() {
            "" => writeln!(out, "{name}")?,
            value => writeln!(out, "{name:<34}{value:>14}")?,
        }
    }
    Ok(())
}

/// True if the name of a file says that the file has games.
fn is_of_games(path: &Path) -> bool {
    matches!(FileFormat::from_name(path), Some(FileFormat::Pgn | FileFormat::Pgc))
}
