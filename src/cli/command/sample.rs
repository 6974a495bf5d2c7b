//! `epdb sample`: some of the records, chosen at random.

use std::ops::ControlFlow;

use crate::cli::args::MemoryArgs;
use crate::cli::games::GamesArgs;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{Pipe, temporary_directory};
use crate::cli::source::Visited;
use epdb::library::sample::random_number;
use epdb::library::sample::{Sample, is_within};

/// Write some of the records, or games, chosen at random, in their order
///
/// One seed gives one choice, on every machine and with any number of threads.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb sample -n 1000 book.epd
  epdb sample --fraction 0.1 --seed 7 book.epd
  epdb sample -n 100 games.pgn -o some.pgn")]
pub(crate) struct Args {
    #[command(flatten)]
    size: Size,
    /// Which of all choices
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct Size {
    /// Exactly so many, or all if there are fewer
    #[arg(short = 'n', long, alias = "number", value_name = "N")]
    limit: Option<u64>,
    /// Each record with this probability, 0 to 1
    #[arg(long, value_parser = parse_fraction, value_name = "FRACTION")]
    fraction: Option<f64>,
}

fn parse_fraction(text: &str) -> Result<f64, String> {
    let fraction = text.parse().ok().filter(|fraction| (0.0..=1.0).contains(fraction));
    fraction.ok_or_else(|| "expected a number from 0 to 1, such as 0.1".into())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let Some(limit) = args.size.limit else { return fraction(args) };
    let sample = Sample::new(limit, args.seed, temporary_directory(), args.memory.memory);
    if let Some(games) = args.pipe.games(&args.games)? {
        return games.collect(
            sample,
            |sample, _, _, bytes| Ok(sample.add_encoded(bytes)?),
            |sample| Ok(sample.finish()?),
        );
    }
    args.pipe.collect(
        sample,
        |sample, record, _| Ok(sample.add(record)?),
        |sample, _| Ok(sample.finish()?),
    )
}

fn fraction(args: &Args) -> anyhow::Result<Outcome> {
    let fraction = args.size.fraction.unwrap_or_default();
    let mut numbers = (0..).map(|place| random_number(args.seed, place));
    let mut is_chosen = || numbers.next().is_some_and(|number| is_within(number, fraction));
    if let Some(games) = args.pipe.games(&args.games)? {
        return games.run(|game, _, output| match is_chosen() {
            true => output.write(game),
            false => Ok(Visited::Taken),
        });
    }
    args.pipe.run(|record, _, output| {
        if is_chosen() {
            output.write(&record)?;
        }
        Ok(ControlFlow::Continue(()))
    })
}
