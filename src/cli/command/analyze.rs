//! `epdb analyze`: score and line of an engine for each record.

use crate::cli::args::MemoryArgs;
use crate::cli::engines::{self, Annotating, EngineArgs, Verb};
use crate::cli::games::GamesArgs;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;
use epdb::engine::Task;

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
pub(crate) struct Args {
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

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let variation_loss = args.variation_loss;
    let games = args.pipe.games(&args.games)?;
    let games = games.map(|games| Annotating { format: games.format, variation_loss });
    let verb = Verb { name: "analyze", task: Task::Analyze, mate: None, games };
    engines::run(&verb, &args.engines, &args.pipe, &args.memory)
}
