//! `epdb stats`: statistics of records and games.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::ledgers;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::source::{Reading, Visited};
use epdb::library::census::GameCensus;
use epdb::library::census::{Census, CensusEncode, CensusTally};
use epdb::model::GameResult;
use epdb::source::{FileFormat, Item, Output, library_counts};

/// Print statistics: records, positions, opcodes; for games, results, tags and moves
///
/// Also prints the average size of a record or move. Games are counted as games, or with
/// --positions as positions.
///
/// Positions are counted in six ways, from "the same in all six fields" to "the same pieces on the
/// same squares". epdb finds records by the third: an en passant square counts only where an en
/// passant capture is legal. For libraries made by `epdb tally` only what they store about themselves
/// is printed, unless --census is given.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb stats book.epd\n         epdb stats suite.epdb --json")]
pub(crate) struct Args {
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Count all positions and operations of libraries too
    #[arg(long)]
    census: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (libraries, records) = libraries(&args.files)?;
    let are_libraries = !args.files.is_empty() && libraries.len() == args.files.len();
    if are_libraries && !args.census && args.read.wanted.filter.is_none() {
        return print_libraries(args, libraries, records);
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut census = Census::new(std::env::temp_dir(), args.memory.memory_bytes / 2);
    let mut games = GameCensus::default();
    Reading::of(&args.files, &args.read, &mut diagnostics)
        .encode(Arc::new(CensusEncode))
        .visit_games(|game, _| {
            games.add(game);
            Ok(Visited::Taken)
        })
        .items(|item| {
            match item {
                Item::Encoded { records, .. } => {
                    records.iter().try_for_each(|record| census.add_encoded(record))?;
                }
                Item::Record { record, .. } => census.add(&record)?,
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
    let tally = census.finish()?;
    let file_bytes = file_bytes(&args.files);
    let mut out = open_output(None)?;
    let no_positions = tally.records == 0 && args.read.form.games.positions.is_none();
    if games.games > 0 || no_positions && args.files.iter().any(|path| is_of_games(path)) {
        match args.json {
            true => json::line(&mut out, &json::GameStats::new(&games, file_bytes))?,
            false => print_games(&mut out, &games, file_bytes)?,
        }
        if no_positions {
            out.finish()?;
            return diagnostics.finish();
        }
    }
    let mut stats = json::Stats::new(&tally, tally.encoded_bytes, file_bytes);
    stats.libraries = libraries;
    if args.json {
        json::line(&mut out, &stats)?;
    } else {
        print(&mut out, &tally, &stats)?;
        stats.libraries.iter().try_for_each(|library| print_library(&mut out, library))?;
    }
    out.finish()?;
    diagnostics.finish()
}

/// The libraries among files, with what they store about themselves, and the number of their
/// records.
fn libraries(files: &[PathBuf]) -> anyhow::Result<(Vec<json::Library>, u64)> {
    let (mut libraries, mut records) = (Vec::new(), 0);
    for file in files {
        if let Some(ledger) = ledgers::of_file(file)? {
            let counts = library_counts(file)?;
            records += counts.records;
            let name = file.display().to_string();
            libraries.push(json::Library::new(name, ledger, counts.kept_games));
        }
    }
    Ok((libraries, records))
}

/// Bytes of all files; `None` if one of them is not a file.
fn file_bytes(files: &[PathBuf]) -> Option<u64> {
    files.iter().map(|path| Some(path.metadata().ok()?.len())).sum()
}

/// Prints what libraries store about themselves.
fn print_libraries(
    args: &Args,
    libraries: Vec<json::Library>,
    records: u64,
) -> anyhow::Result<Outcome> {
    let stats = json::LibraryStats::new(records, file_bytes(&args.files), libraries);
    let mut out = open_output(None)?;
    if args.json {
        json::line(&mut out, &stats)?;
    } else {
        writeln!(out, "{:<34}{records:>14}", "positions")?;
        if let Some(bytes) = stats.file_bytes_per_record {
            writeln!(out, "{:<34}{bytes:>14.2}", "bytes a position")?;
        }
        stats.libraries.iter().try_for_each(|library| print_library(&mut out, library))?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

/// True if the name of a file says that the file has games.
fn is_of_games(path: &Path) -> bool {
    matches!(FileFormat::from_name(path), Some(FileFormat::Pgn | FileFormat::Pgc))
}

fn print(out: &mut Output, tally: &CensusTally, stats: &json::Stats) -> anyhow::Result<()> {
    let mut row = |name: &str, count: u64| writeln!(out, "{name:<34}{count:>14}");
    row("records", tally.records)?;
    row("  White to move", tally.white_to_move)?;
    row("  Black to move", tally.black_to_move)?;
    row("  with counters", tally.with_counters)?;
    row("  with a superfluous en passant", tally.superfluous_en_passant)?;
    row("  Chess960 castling", tally.chess960)?;
    row("  illegal positions", tally.illegal)?;
    row("unique, with counters", tally.unique.with_counters)?;
    row("unique, without counters", tally.unique.without_counters)?;
    row("unique positions", tally.unique.positions)?;
    row("  hidden by en passant squares", tally.unique.hidden_by_en_passant())?;
    row("unique, without en passant", tally.unique.without_en_passant)?;
    row("unique, board and side only", tally.unique.boards_and_sides)?;
    row("unique boards", tally.unique.boards)?;
    if let Some(bytes) = stats.file_bytes_per_record {
        writeln!(out, "{:<34}{bytes:>14.2}", "bytes a record, as it is")?;
    }
    if let Some(bytes) = stats.encoded_bytes_per_record {
        writeln!(out, "{:<34}{bytes:>14.2}", "bytes a record, encoded")?;
    }
    for (opcode, count) in &tally.opcodes {
        writeln!(out, "opcode {:<27}{count:>14}", opcode.to_string())?;
    }
    if tally.other_operations > 0 {
        writeln!(out, "{:<34}{:>14}", "other operations", tally.other_operations)?;
    }
    Ok(())
}

/// Origin of the tallies of a library.
fn print_library(out: &mut Output, library: &json::Library) -> anyhow::Result<()> {
    writeln!(out, "library {}", library.file)?;
    let mixed = if library.is_mixed { ", and others that were built differently" } else { "" };
    writeln!(out, "  built with {}{mixed}", library.settings)?;
    if let Some(pruned) = &library.pruned {
        writeln!(out, "  pruned: {pruned}")?;
    }
    match library.digests {
        Some(games) => writeln!(out, "{:<34}{games:>14}", "  digests of games")?,
        None => writeln!(out, "  which games it counts is not kept")?,
    }
    if let Some(games) = library.kept_games {
        writeln!(out, "{:<34}{games:>14}", "  kept games")?;
    }
    for source in &library.sources {
        writeln!(out, "  source {}", source.name)?;
        for (what, count) in [
            ("    games", source.games),
            ("    games counted before", source.duplicates),
            ("    games left out", source.left_out),
        ] {
            writeln!(out, "{what:<34}{count:>14}")?;
        }
    }
    Ok(())
}

fn print_games(
    out: &mut Output,
    games: &GameCensus,
    file_bytes: Option<u64>,
) -> anyhow::Result<()> {
    let mut row = |name: &str, count: u64| writeln!(out, "{name:<34}{count:>14}");
    row("games", games.games)?;
    for (result, count) in GameResult::ALL.into_iter().zip(games.results) {
        row(&format!("  {result}"), count)?;
    }
    row("  from a set-up position", games.set_up)?;
    row("  Chess960 castling", games.chess960)?;
    row("plies", games.plies)?;
    row("  of the longest game", games.longest)?;
    row("variations", games.variations)?;
    row("  plies in them", games.variation_plies)?;
    row("null moves", games.null_moves)?;
    row("NAGs", games.nags)?;
    row("comments", games.comments)?;
    row("  bytes in them", games.comment_bytes)?;
    row("% lines", games.escapes)?;
    for (name, count) in &games.tags {
        row(&format!("tag {name}"), *count)?;
    }
    if games.other_tags > 0 {
        row("other tags", games.other_tags)?;
    }
    row("games that PGC cannot say", games.not_in_pgc)?;
    let moves = games.plies + games.variation_plies;
    for (name, bytes, moves) in [
        ("as it is", file_bytes, moves),
        ("in export format", Some(games.pgn_bytes), moves),
        ("in PGC", Some(games.pgc_bytes), games.pgc_moves),
    ] {
        if let Some(bytes) = bytes.filter(|_| moves > 0) {
            let (name, bytes) = (format!("bytes a move, {name}"), bytes as f64 / moves as f64);
            writeln!(out, "{name:<34}{bytes:>14.2}")?;
        }
    }
    Ok(())
}
