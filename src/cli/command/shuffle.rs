//! `epdb shuffle`: records in random order.

use crate::cli::args::MemoryArgs;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{Pipe, temporary_directory};
use crate::library::sample::Shuffle;

/// Write all records in random order
///
/// One seed gives one order, on every machine and with any number of threads.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb shuffle --seed 7 book.epd -o shuffled.epd")]
pub(crate) struct Args {
    /// Which of all orders
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let shuffle = Shuffle::new(args.seed, temporary_directory(), args.memory.memory);
    args.pipe.collect(
        shuffle,
        |shuffle, record, _| Ok(shuffle.add(record)?),
        |shuffle, _| Ok(shuffle.finish()?),
    )
}
