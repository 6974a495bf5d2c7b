//! `epdb head`: the first records.

use std::ops::ControlFlow;

use crate::cli::games::GamesArgs;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;
use crate::cli::source::Visited;

/// Write the first records, or games, of all sources together
///
/// Games become their positions, unless --games is said or the output is .pgn or .pgc. (Commands
/// that only count, count and stats, count games as games unless --positions is said.)
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb head -n 100 book.epd
  epdb head -n 3 --games games.pgn")]
pub(crate) struct Args {
    /// How many
    #[arg(short = 'n', long, alias = "number", default_value_t = 10, value_name = "N")]
    limit: u64,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut left = args.limit;
    if let Some(games) = args.pipe.games(&args.games)? {
        anyhow::ensure!(left > 0, "-n 0 asks for no games at all");
        return games.run(|game, _, output| match output.write(game)? {
            Visited::Taken if left == 1 => Ok(Visited::TakenLast),
            visited => {
                left -= u64::from(matches!(visited, Visited::Taken));
                Ok(visited)
            }
        });
    }
    args.pipe.run(|record, _, output| {
        if left > 0 {
            left -= 1;
            output.write(&record)?;
        }
        Ok(match left {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    })
}
