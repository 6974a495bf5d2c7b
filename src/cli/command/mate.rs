//! `epdb mate`: mates in a given number of moves.

use crate::cli::args::MemoryArgs;
use crate::cli::engines::{self, EngineArgs, Verb};
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::pipe::Pipe;
use epdb::engine::{MateOptions, Task};

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
pub(crate) struct Args {
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

impl Args {
    /// The same under the name that the specification has.
    pub(crate) fn with_length_for_all(self) -> Args {
        Args { is_given: true, ..self }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let Args { length, exact_dm, is_given, .. } = *args;
    if is_given && length.is_none() {
        return Err(Usage("in how many moves? Say for example --length 3".into()).into());
    }
    let writes_found = exact_dm || !is_given;
    let task = Task::Mate(MateOptions { length, of_record: !is_given, writes_found });
    let verb = Verb { name: "mate", task, mate: length, games: None };
    engines::run(&verb, &args.engines, &args.pipe, &args.memory)
}
