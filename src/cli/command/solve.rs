//! `epdb solve`: an engine over a test suite.

use std::num::NonZeroU32;

use crate::cli::args::MemoryArgs;
use crate::cli::engines::{self, EngineArgs, Verb};
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;
use epdb::engine::Task;

/// Let an engine solve the problems of a test suite: which move it chooses, and when
///
/// As `epdb analyze`, for records with `bm` or `am`; others stay as they are, and so do all operations
/// that are not of the analysis, such as `sm`. `pm` is the move chosen,
/// right or wrong. `solve_first` says at how many nodes, milliseconds and plies a solution was first
/// chosen, `solve_held` since when it was held to the end. A problem is solved when the move is among
/// its `bm`, if it has one, and not among its `am`. `pfts` is the same command.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb solve wac.epd --engine stockfish --nodes 100000 -o wac.sf.epd
  epdb solve wac.epd --engine A=./old --engine B=./new --movetime 5s -o 'wac.{engine}.epd'
  epdb solve wac.epd --engine stockfish --movetime 5s -o wac.sf.epd --resume")]
pub(crate) struct Args {
    #[command(flatten)]
    engines: EngineArgs,
    /// Go on to the next record when the solution was chosen at so many depths in a row
    #[arg(long, value_name = "DEPTHS")]
    stop_held: Option<NonZeroU32>,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let task = Task::Solve { stop_held: args.stop_held.map(NonZeroU32::get) };
    let verb = Verb { name: "solve", task, mate: None, games: None };
    engines::run(&verb, &args.engines, &args.pipe, &args.memory)
}
