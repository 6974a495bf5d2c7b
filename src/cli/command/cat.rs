//! `epdb cat`: sources one after the other.

use crate::cli::games::GamesArgs;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;

/// Write all records, or all games, of all sources, one after the other
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example: epdb cat wac.epd sts.epb book.epdb --where 'has(bm)' -o all.epd.zst"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if let Some(games) = args.pipe.games(&args.games)? {
        return games.run(|game, _, output| output.write(game));
    }
    args.pipe.run(|record, _, output| {
        output.write(&record)?;
        Ok(true)
    })
}
