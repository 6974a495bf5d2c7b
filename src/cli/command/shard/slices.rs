//! `epdb shard plan`, `epdb shard games`, `epdb shard copies`: slices of files, and copies of games in
//! different slices.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use crate::cli::args::{ForceArgs, MemoryArgs, ReadArgs};
use crate::cli::command::tally::TallyArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_other_output;
use crate::cli::slice::SliceArgs;
use crate::cli::source::Reading;
use crate::cli::terminal::{many, note};
use crate::cli::values;
use epdb_base::new_file::folder_of;
use epdb_library::tally::{GameList, SliceOfGames, decide_copies};
use epdb_source::{MAX_SLICES, SlicePlan, SourceOptions};

/// Cut files into slices of about equal size, which can be read separately
///
/// The plan is a file in JSON that names the files, and the places at which they are cut. Games are cut
/// before a line that begins with `[Event `, other text before any line. Files that `pzstd` compressed, such
/// as those of lichess, are cut too. Any other compressed or binary file is in one slice as a whole. `epdb
/// tally` and `epdb pack` read a slice by --plan and --slice, on any machine that has the files under the
/// same paths. A file that was changed after the plan was made is refused.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb shard plan 2024.pgn.zst --slices 4 -o plan.json
  seq 4 | xargs -P 2 -I@ epdb shard games --plan plan.json --slice @/4 -o @.games
  epdb shard copies *.games -o copies
  seq 4 | xargs -P 2 -I@ epdb tally --plan plan.json --slice @/4 --copies copies -o @.epa")]
pub(crate) struct PlanArgs {
    /// Files to cut
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Number of slices
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SLICES)))]
    slices: u32,
    /// Write the plan to this file
    #[arg(short, long, value_name = "PLAN.json")]
    output: PathBuf,
    #[command(flatten)]
    _force: ForceArgs,
}

pub(crate) fn plan(args: &PlanArgs) -> anyhow::Result<Outcome> {
    values::start_threads(None)?;
    let mut out = open_other_output(Some(&args.output), "a plan of slices", &["json"])?;
    let plan = SlicePlan::new(&args.files, args.slices, &SourceOptions::default())?;
    out.write_all(plan.to_json().as_bytes())?;
    out.finish()?;
    let empty = (0..plan.len()).filter(|slice| plan.slice(*slice).is_empty()).count();
    if empty > 0 {
        let slices = many(empty as u64, "slice");
        let why = "the files have too few places at which they can be cut";
        note!("{}: {slices} empty: {why}", args.output.display());
    }
    Ok(Outcome::Done)
}

/// List the games of a slice, to find copies in other slices
///
/// The list has 16 bytes for each game. `epdb shard copies` reads the lists of all slices. Give the
/// same options as to `epdb tally`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb shard games --plan plan.json --slice 3/4 -o 3.games")]
pub(crate) struct GamesArgs {
    #[command(flatten)]
    slice: SliceArgs,
    /// Write the list to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    _force: ForceArgs,
    #[command(flatten)]
    tally: TallyArgs,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn games(args: &GamesArgs) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let slice = args.slice.open(&args.read.form)?.context("give --plan and --slice")?;
    let out = open_other_output(Some(&args.output), "a list of games", &[])?;
    let of_games = SliceOfGames::new(&slice, args.tally.settings(&args.read));
    let mut list = GameList::new(out, &of_games)?;
    let options = args.tally.options();
    let truncates = args.read.form.games.truncate_games;
    Reading::of(slice, &args.read, &mut diagnostics).all_games(|item| {
        let digest = options.digest_of_item(&item, truncates);
        Ok(digest.map_or(Ok(()), |digest| list.push(&digest))?)
    })?;
    let (out, games) = list.finish()?;
    out.finish()?;
    note!("{}: {} listed", args.output.display(), many(games, "game"));
    diagnostics.finish()
}

/// Find copies of games in the lists of all slices, and decide which copy counts
///
/// The first copy of each game counts, with the ratings of the most complete copy. This is the same as in one
/// `epdb tally` of all files. The lists are sorted on disk, beside the output.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb shard copies *.games -o copies")]
pub(crate) struct CopiesArgs {
    /// Lists of games that `epdb shard games` wrote, one for each slice, in any order
    #[arg(value_name = "LIST", required = true)]
    lists: Vec<PathBuf>,
    /// Write the decisions to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    _force: ForceArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn copies(args: &CopiesArgs) -> anyhow::Result<Outcome> {
    values::start_threads(None)?;
    let out = open_other_output(Some(&args.output), "a list of copies", &[])?;
    let directory = folder_of(&args.output);
    let (out, counts) = decide_copies(&args.lists, &directory, args.memory.memory_bytes, out)?;
    out.finish()?;
    let games = many(counts.games, "game");
    let copies = many(counts.copies, "copy");
    note!("{}: {games}, {copies} not counted", args.output.display());
    Ok(Outcome::Done)
}
