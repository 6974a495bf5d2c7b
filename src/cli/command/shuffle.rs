//! `epdb shuffle`: records in random order.

use crate::cli::args::MemoryArgs;
use crate::cli::games::GamesArgs;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{Pipe, temporary_directory};
use epdb::library::sample::Shuffle;

/// Write all records, or games, in random order
///
/// One seed gives one order, on every machine and with any number of threads.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb shuffle --seed 7 book.epd -o shuffled.epd
  epdb shuffle games.pgn -o shuffled.pgn")]
pub(crate) struct Args {
    /// Which of all orders
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let shuffle = Shuffle::new(args.seed, temporary_directory(), args.memory.memory);
    if let Some(games) = args.pipe.games(&args.games)? {
        return games.collect(
            shuffle,
            |shuffle, _, _, bytes| Ok(shuffle.add_encoded(bytes)?),
            |shuffle| Ok(shuffle.finish()?),
        );
    }
    args.pipe.collect(
        shuffle,
        |shuffle, record, _| Ok(shuffle.add(record)?),
        |shuffle, _| Ok(shuffle.finish()?),
    )
}
