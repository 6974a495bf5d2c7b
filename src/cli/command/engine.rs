//! `epdb analyze`, `epdb solve` and `epdb mate`: commands that let an engine search.

use std::num::NonZeroU32;

use crate::cli::args::MemoryArgs;
use crate::cli::engines::{self, Annotating, EngineArgs, Verb};
use crate::cli::games::GamesArgs;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::pipe::Pipe;
use epdb::engine::{MateOptions, Task};

/// Let an engine analyse each record: score, line, best move, depth, nodes, time
///
/// Every record gets `ce`, `pm`, `pv`, `acd`, `acn`, `acs` and `acms` (the time that passed, in seconds and
/// milliseconds) in place of earlier ones, and loses `pv2`, `ce2` and so on, `solve_first`, `solve_held` and
/// `run_error` of earlier runs. All other operations stay, `sm` among them. `ce` is the last exact score
/// of `pm`: bounds are not scores, and without an exact score there is no `ce`. Mate and stalemate need
/// no engine: `ce -32767` and `ce 0` with an empty `pv`. A record whose search fails stays as it was and
/// gets `run_error`, the reason; the next one gets a new process. `pfga` is the same command.
///
/// --nodes, --depth and --movetime are hard limits: the same effort for each record. --clock is a soft one.
///
/// Records come in their order, as soon as all before them are known. Beside a file there is X.journal
/// until it is complete, from which --resume goes on, and X.run.json, which says what the run was.
/// Into a store that is there already the analysis is merged. Games come back as games for .pgn or .pgc,
/// or with --games: each move of the main lines with `[%eval]`, and better lines as variations.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb analyze book.epd --engine stockfish --nodes 100000 -o analysed.epd
  epdb analyze book.epd --engine cmd=./sf name=SF16 option.Hash=64 --movetime 500ms -o out.epdb
  epdb analyze games.pgn --engine stockfish --depth 14 -o annotated.pgn
  epdb analyze a.epd --engine A=./old --engine B=./new --depth 12 -o 'a.{engine}.epd'")]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    engines: EngineArgs,
    /// In games, the line of the engine is a variation where the move played is worth so many
    /// centipawns less
    #[arg(long, value_name = "CENTIPAWNS", default_value_t = 50)]
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
pub(crate) struct SolveArgs {
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

pub(crate) fn solve(args: &SolveArgs) -> anyhow::Result<Outcome> {
    let task = Task::Solve { stop_held: args.stop_held.map(NonZeroU32::get) };
    let verb = Verb { name: "solve", task, mate: None, games: None };
    engines::run(&verb, &args.engines, &args.pipe, &args.memory)
}

/// Let an engine look for a mate in a number of moves
///
/// The number is that of the record, its `dm` or `#N` in its `bm`, and --length for those that have
/// none. A mate counts when the line of the engine leads to it. It becomes `dm`, with `pm`, `pv`, `ce` and
/// the effort; all other operations stay, such as `sm`. Records in which no mate is found, and those
/// without a number, stay as they are.
///
/// `pfms` does what the specification says: all records are searched for a mate in --length moves but
/// those that have a `dm` of no more, and `dm` becomes that length, or with --exact-dm the mate found.
/// `ce`, the score of the mate found, is written where it says the same number of moves as `dm`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb mate problems.epd --engine stockfish --nodes 1000000 -o solved.epd
  epdb mate games.pgn --length 3 --engine stockfish --movetime 1s -o mates.epd
  epdb pfms problems.epd --length 2 --engine stockfish --nodes 1000000")]
pub(crate) struct MateArgs {
    #[command(flatten)]
    engines: EngineArgs,
    /// In how many moves mate is looked for
    #[arg(long, value_name = "MOVES", value_parser = clap::value_parser!(u32).range(1..=383))]
    length: Option<u32>,
    /// Write the length of the mate that was found, as `mate` does by itself
    #[arg(long)]
    exact_dm: bool,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    memory: MemoryArgs,
    /// Whether the length is for all records.
    #[arg(skip)]
    is_given: bool,
}

impl MateArgs {
    /// The same under the name that the specification has.
    pub(crate) fn with_length_for_all(self) -> MateArgs {
        MateArgs { is_given: true, ..self }
    }
}

pub(crate) fn mate(args: &MateArgs) -> anyhow::Result<Outcome> {
    let MateArgs { length, exact_dm, is_given, .. } = *args;
    if is_given && length.is_none() {
        return Err(Usage("in how many moves? Say for example --length 3".into()).into());
    }
    let writes_found = exact_dm || !is_given;
    let task = Task::Mate(MateOptions { length, of_record: !is_given, writes_found });
    let verb = Verb { name: "mate", task, mate: length, games: None };
    engines::run(&verb, &args.engines, &args.pipe, &args.memory)
}
