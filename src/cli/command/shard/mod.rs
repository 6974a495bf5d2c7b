//! `epdb shard`: sharded archives.

mod list;
mod make;
mod merge;

use clap::Subcommand;

use crate::cli::command::verify;
use crate::cli::outcome::Outcome;

/// Make, merge, verify and list sharded archives: one archive for each range of position keys
///
/// A sharded archive is a folder with a manifest (manifest.json) and the archives that it lists. The
/// manifest is a source like any archive: `epdb get`, `explore`, `export`, `serve` and all other
/// commands read all shards, and find a position in the shard that has its key. So a collection can
/// be larger than one disk or one build, and several machines can build it.
#[derive(clap::Args, Clone, Debug)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  epdb shard make book.epd --shards 8 -o book
  epdb shard merge 2023.epa 2024.epa --shards 8 -o library
  epdb shard list library/manifest.json
  epdb explore library/manifest.json e4 c5")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    Make(Box<make::Args>),
    Merge(Box<merge::Args>),
    #[command(about = "Check sharded archives: the hash of every shard, every checksum and record")]
    Verify(verify::Args),
    List(list::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Make(args) => make::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Verify(args) => verify::run(args),
        Command::List(args) => list::run(args),
    }
}
