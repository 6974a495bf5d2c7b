//! `epdb moves` and `epdb perft`: legal moves of a position, and numbers of move sequences.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use rayon::prelude::*;
use serde::Serialize;

use crate::cli::args::{PositionArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::source::{self, Reading};
use crate::cli::terminal::{self, many, note};
use crate::cli::{json, signals, values};
use epdb_chess::codec::ordinal;
use epdb_chess::error::Place;
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Position};
use epdb_chess::text::{ParseOptions, san};
use epdb_library::perft::{divide, expected, perft as count};
use epdb_library::question;
use epdb_source::{Output, name_of};

/// List the legal moves of a position, each with its ordinal, SAN and coordinates
///
/// An ordinal is the number of a move in the ASCII order of the SAN of all legal moves, from 0. PGC files
/// store moves as ordinals. In coordinates, castling of Chess960 is written as the king capturing its own
/// rook.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb moves '8/P6k/8/8/8/8/7p/K7 w - -'
  epdb moves '1. e4 c5'
  echo '8/P6k/8/8/8/8/7p/K7 w - -' | epdb moves -")]
pub(crate) struct MovesArgs {
    /// The position in quotes: FEN, EPD, or moves from the start such as '1. e4 c5'; `-` reads it
    /// from the first line of standard input
    #[arg(value_name = "POSITION")]
    position: String,
    /// Print one JSON object per move, with the fields ordinal, san and uci
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: PositionArgs,
}

pub(crate) fn moves(args: &MovesArgs) -> anyhow::Result<Outcome> {
    let position = match args.position.as_str() {
        "-" => position(
            io::read_to_string(io::stdin().lock())?.lines().next().unwrap_or_default(),
            "-",
            &args.read.options(),
        )?,
        text => position(text, "position", &args.read.options())?,
    };
    let Ok(playable) = Playable::new(&position) else {
        anyhow::bail!(
            "moves need one king of each side, no pawn on rank 1 or 8, and no king that could be captured"
        );
    };
    let mut out = open_output(None)?;
    for (place, mv) in ordinal::list(&playable).into_iter().enumerate() {
        let (san, uci) = (san::format(&playable, mv), san::uci(&playable, mv));
        if args.json {
            json::line(
                &mut out,
                &json::Move { ordinal: place, san: san.to_string(), uci: uci.to_string() },
            )?;
        } else {
            writeln!(out, "{place}\t{san}\t{uci}")?;
        }
    }
    out.finish()?;
    Ok(Outcome::Done)
}

/// Parses a position; `place` is the name of its place for messages.
fn position(text: &str, place: &str, options: &ParseOptions) -> anyhow::Result<Position> {
    question::parse(text.as_bytes(), options)
        .map_err(|error| anyhow::anyhow!("{place}:1:{error}"))?
        .with_context(|| format!("{place}: expected a position, found nothing"))
}

/// Count sequences of legal moves, for one position or for the records of a file
///
/// For a position, epdb prints the count after each move, then the total. In files, a record may have counts
/// in any of these forms: `D1 20`, `perft1 20`, `;20;400`, or lines `perft 1 20`. These counts are checked up
/// to --depth, and differences are printed. For a record without counts, the count at --depth is printed. The
/// exit status is 1 if a count differs, or if a file has no counts to check.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb perft 'r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -' --depth 4
  epdb perft perftsuite.epd --depth 5")]
pub(crate) struct PerftArgs {
    /// A position (FEN or moves, in quotes), or files; none, or `-`, is standard input
    #[arg(value_name = "FEN|FILE")]
    what: Vec<String>,
    /// Count sequences of this many plies
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60))]
    depth: u32,
    /// Print one JSON object per count
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn perft(args: &PerftArgs) -> anyhow::Result<Outcome> {
    values::start_threads(args.read.form.threads)?;
    match args.what.as_slice() {
        [position] if values::is_position(position.as_ref()) => of_position(args, position),
        what if what.iter().any(|name| values::is_position(name.as_ref())) => {
            anyhow::bail!("give one position, or files")
        }
        what => of_files(args, what),
    }
}

fn of_position(args: &PerftArgs, text: &str) -> anyhow::Result<Outcome> {
    let position = position(text, "position", &args.read.form.options())?;
    let playable = Playable::new(&position).map_err(|_| anyhow::anyhow!(NOT_PLAYABLE))?;
    let mut out = open_output(None)?;
    let mut total = 0_u64;
    let counts =
        divide(&playable, args.depth, &signals::was_interrupted).ok_or(signals::Interrupted)?;
    for (mv, nodes) in counts {
        total = total.wrapping_add(nodes);
        let (san, uci) = (san::format(&playable, mv).to_string(), san::uci(&playable, mv));
        if args.json {
            json::line(&mut out, &MoveCount { san, uci, nodes })?
        } else {
            writeln!(out, "{san}\t{uci}\t{nodes}")?
        }
    }
    if args.json {
        json::line(&mut out, &Total { depth: args.depth, nodes: total })?
    } else {
        writeln!(out, "total\t{}\t{total}", args.depth)?
    }
    out.finish()?;
    Ok(Outcome::Done)
}

const NOT_PLAYABLE: &str =
    "moves need one king of each side, no pawn on rank 1 or 8, and no king that could be captured";

/// Number of records counted at a time.
const BATCH: usize = 256;

fn of_files(args: &PerftArgs, names: &[String]) -> anyhow::Result<Outcome> {
    let files: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let mut read = args.read.clone();
    read.form.perft = true;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut check = Check { args, out: open_output(None)?, tally: Tally::default() };
    let mut batch = Vec::new();
    Reading::of(&files, &read, &mut diagnostics).records(|record, place, _| {
        batch.push((record, place.clone()));
        if batch.len() == BATCH { check.batch(&mut batch) } else { Ok(()) }
    })?;
    check.batch(&mut batch)?;
    check.out.finish()?;
    let Tally { records, checked, mismatches, not_playable, by_file } = check.tally;
    let records = many(records, "record");
    let checked = many(checked, "count");
    note!("epdb: {records}, {checked} checked, {mismatches} different");
    if not_playable > 0 {
        note!("epdb: {} not counted: {NOT_PLAYABLE}", many(not_playable, "record"));
    }
    let mut unchecked = 0;
    for file in source::or_stdin(&files) {
        if by_file.get(&*name_of(file)).is_none_or(|checked| *checked == 0) {
            let file = name_of(file);
            let depth = args.depth;
            terminal::print_line(&format!(
                "epdb: {file}: nothing to check: no record has a count of depth 1 to {depth}"
            ));
            unchecked += 1;
        }
    }
    let differs = Outcome::different_if(mismatches + not_playable + unchecked > 0);
    Ok(diagnostics.finish()?.and(differs))
}

#[derive(Default)]
struct Tally {
    records: u64,
    checked: u64,
    mismatches: u64,
    not_playable: u64,
    /// Number of checked counts, by the name of the source.
    by_file: BTreeMap<Arc<str>, u64>,
}

struct Check<'a> {
    args: &'a PerftArgs,
    out: Output,
    tally: Tally,
}

impl Check<'_> {
    /// Counts on all threads and prints in the order of the records.
    fn batch(&mut self, batch: &mut Vec<(EpdRecord, Place)>) -> anyhow::Result<()> {
        let depth = self.args.depth;
        let counts: Vec<_> = batch.par_iter().map(|(record, _)| counts(record, depth)).collect();
        for ((_, place), counts) in batch.drain(..).zip(counts) {
            self.tally.records += 1;
            let Some(counts) = counts else {
                self.tally.not_playable += 1;
                continue;
            };
            counts.iter().try_for_each(|count| self.report(&place, count))?;
        }
        Ok(())
    }

    fn report(&mut self, place: &Place, count: &Count) -> anyhow::Result<()> {
        let Count { depth, nodes, expected } = *count;
        let file = &place.source;
        let line = place.number();
        let agrees = expected.map(|expected| expected == nodes);
        if expected.is_some() {
            self.tally.checked += 1;
            *self.tally.by_file.entry(file.clone()).or_default() += 1;
        }
        self.tally.mismatches += u64::from(agrees == Some(false));
        if self.args.json {
            let file = file.to_string();
            json::line(&mut self.out, &Checked { file, line, depth, nodes, expected, agrees })?;
        } else if let Some(expected) = expected.filter(|expected| *expected != nodes) {
            writeln!(self.out, "{file}:{line}: D{depth} is {nodes}, not {expected}")?;
        } else if expected.is_none() {
            writeln!(self.out, "{file}:{line}\t{depth}\t{nodes}")?;
        }
        Ok(())
    }
}

struct Count {
    depth: u32,
    nodes: u64,
    expected: Option<u64>,
}

/// Counts of a record up to a depth, with the expected values. If the record has no expected
/// values, the only count is the one at that depth. `None` if no game can be played from the
/// position.
fn counts(record: &EpdRecord, depth: u32) -> Option<Vec<Count>> {
    let playable = Playable::new(record.position()).ok()?;
    let brought = expected(record);
    if brought.is_empty() {
        let nodes = count(&playable, depth);
        return Some(vec![Count { depth, nodes, expected: None }]);
    }
    let within = brought.into_iter().filter(|(its_depth, _)| *its_depth <= depth);
    let count =
        |(depth, nodes)| Count { depth, nodes: count(&playable, depth), expected: Some(nodes) };
    Some(within.map(count).collect())
}

/// The count after a move (`perft --json` of a position).
#[derive(Serialize)]
struct MoveCount {
    san: String,
    uci: String,
    nodes: u64,
}

/// The last object of `perft --json` of a position.
#[derive(Serialize)]
struct Total {
    depth: u32,
    nodes: u64,
}

/// A count of a record (`perft --json` of files).
#[derive(Serialize)]
struct Checked {
    file: String,
    line: u64,
    depth: u32,
    nodes: u64,
    /// Count in the record; null if missing.
    expected: Option<u64>,
    /// True if the counts are equal; null without a count in the record.
    agrees: Option<bool>,
}
