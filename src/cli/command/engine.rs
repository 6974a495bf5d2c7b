//! `epdb analyze`, `epdb solve` and `epdb mate`: commands that let an engine search.

use std::num::NonZeroU32;

use crate::cli::args::MemoryArgs;
use crate::cli::engines::{self, Annotating, EngineArgs, Verb};
use crate::cli::games::GamesArgs;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::pipe::Pipe;
use epdb_engine::{MateOptions, Task};

/// Analyse each record with an engine: score, line, best move, depth, nodes, time
///
/// Every record gets `ce`, `pm`, `pv`, `acd`, `acn`, `acs` and `acms` (elapsed time, not processor time). It
/// loses `pv2`, `ce2` ..., `solve_first`, `solve_held` and `run_error` of earlier runs. All other operations
/// stay. `ce` is the last exact score (not a bound) of `pm`; checkmate has -32767, stalemate 0. If a search
/// fails, `run_error` has the reason. `pfga` is the same command.
///
/// Records keep their order. While the run is incomplete, the file X.journal is next to the output
/// X; --resume needs this file. X.run.json describes the run. In an existing
/// store, the analysis replaces an earlier one (--prefer). Games are written as games (`epdb help units`): moves get
/// `[%eval]`, and better lines become variations.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb analyze book.epd --engine stockfish --nodes 100000 -o analysed.epd
  epdb analyze book.epd --engine cmd=./sf name=SF16 option.Hash=64 --movetime 500ms -o out.epdb
  epdb analyze games.pgn --engine stockfish --depth 14 -o annotated.pgn")]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    engines: EngineArgs,
    /// In games, add the engine's line if the played move is at least N centipawns worse [default: 50]
    #[arg(long, value_name = "N", default_value_t = 50, hide_default_value = true)]
    #[arg(help_heading = None::<&str>)]
    variation_loss: u32,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn analyze(args: &AnalyzeArgs) -> anyhow::Result<Outcome> {
    let variation_loss = args.variation_loss;
    let games = args.pipe.games(&args.games)?;
    let games = games.map(|games| Annotating { format: games.format, variation_loss });
    let verb = Verb { name: "analyze", task: Task::Analyze, mate: None, games };
    engines::run(&verb, &args.engines, &args.pipe, &args.memory)
}

/// Run an engine on a test suite: record which move it chooses, and when
///
/// This works like `epdb analyze` on records with `bm` or `am`. Other records stay unchanged.
/// Operations that are not part of the analysis stay, including `sm`. `pm` is the chosen move,
/// right or wrong. `solve_first` has the nodes, milliseconds and plies after which a solution was
/// first chosen. `solve_held` has the nodes, milliseconds and plies after which the engine chose a solution
/// and kept to solutions until the end. A problem is solved if `pm` is one of its `bm` and none of its `am`.
/// Without `bm`, only `am` counts. Exit status 1 if no record has `bm` or `am`. `pfts` is the same command.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb solve wac.epd --engine stockfish --nodes 100000 -o wac.sf.epd
  epdb solve wac.epd --engine A=./old --engine B=./new --movetime 5s -o 'wac.{engine}.epd'
  epdb solve wac.epd --engine stockfish --movetime 5s -o wac.sf.epd --resume")]
pub(crate) struct SolveArgs {
    #[command(flatten)]
    engines: EngineArgs,
    /// Stop a search after the engine chose a solution at this many depths in a row
    #[arg(long, value_name = "DEPTHS", help_heading = None::<&str>)]
    stop_held: Option<NonZeroU32>,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn solve(args: &SolveArgs) -> anyhow::Result<Outcome> {
    let task = Task::Solve { stop_held: args.stop_held.map(NonZeroU32::get) };
    let verb = Verb { name: "solve", task, mate: None, games: None };
    engines::run(&verb, &args.engines, &args.pipe, &args.memory)
}

/// Search for a mate in a given number of moves
///
/// The number of moves is the `dm` of the record, or else `#N` in its `bm`, or else --length. A mate counts
/// if the engine's line ends in checkmate. The length of the mate is stored as `dm`, together with `pm`,
/// `pv`, `ce`, and the depth, nodes and time. All other operations stay. Records without a number, or without
/// a mate, stay unchanged.
///
/// `pfms` follows the EPD standard: it skips records whose `dm` is at most --length. For all other records,
/// `pfms` searches for a mate in --length moves, and sets `dm` to --length. `ce` is written if it agrees with
/// `dm`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb mate problems.epd --engine stockfish --nodes 1000000 -o solved.epd
  epdb mate games.pgn --length 3 --engine stockfish --movetime 1s -o mates.epd
  epdb pfms problems.epd --length 2 --engine stockfish --nodes 1000000")]
pub(crate) struct MateArgs {
    #[command(flatten)]
    engines: EngineArgs,
    /// Search for a mate in this many moves
    #[arg(long, value_name = "MOVES", help_heading = None::<&str>)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=383))]
    length: Option<u32>,
    /// With `pfms`, set `dm` to the length of the found mate, not to --length
    #[arg(long, help_heading = None::<&str>)]
    exact_dm: bool,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    memory: MemoryArgs,
    /// True if `--length` applies to all records.
    #[arg(skip)]
    is_given: bool,
}

impl MateArgs {
    /// The same arguments for `pfms`, the command of the specification. It applies `--length` to all records.
    pub(crate) fn with_length_for_all(self) -> MateArgs {
        MateArgs { is_given: true, ..self }
    }
}

pub(crate) fn mate(args: &MateArgs) -> anyhow::Result<Outcome> {
    let MateArgs { length, exact_dm, is_given, .. } = *args;
    if is_given && length.is_none() {
        return Err(usage("give the number of moves, for example --length 3"));
    }
    if exact_dm && !is_given {
        let text = "--exact-dm is for `epdb pfms`: `epdb mate` always sets dm to the length of the found mate";
        return Err(usage(text));
    }
    let writes_found = exact_dm || !is_given;
    let task = Task::Mate(MateOptions { length, of_record: !is_given, writes_found });
    let verb = Verb { name: "mate", task, mate: length, games: None };
    engines::run(&verb, &args.engines, &args.pipe, &args.memory)
}
