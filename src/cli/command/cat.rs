//! `epdb cat`: sources one after the other.

use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;

/// Write all records of all sources, one after the other
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example: epdb cat wac.epd sts.epb book.epdb --where 'has(bm)' -o all.epd.zst"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pipe: Pipe,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    args.pipe.run(|record, _, output| {
        output.write(&record)?;
        Ok(true)
    })
}
