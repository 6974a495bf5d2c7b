//! `epdb head`: the first records.

use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;

/// Write the first records of all sources together
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb head -n 100 book.epd")]
pub(crate) struct Args {
    /// How many
    #[arg(short = 'n', long = "number", default_value_t = 10, value_name = "N")]
    number: u64,
    #[command(flatten)]
    pipe: Pipe,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut left = args.number;
    args.pipe.run(|record, _, output| {
        if left > 0 {
            left -= 1;
            output.write(&record)?;
        }
        Ok(left > 0)
    })
}
