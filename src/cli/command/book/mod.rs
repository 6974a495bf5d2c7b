//! `epdb book`: opening books of Polyglot.

mod info;
mod list;
mod make;
mod merge;
mod open;

use clap::Subcommand;

use crate::cli::outcome::Outcome;

/// Opening books of Polyglot (.bin): what is in them, and books made of several
///
/// A book holds keys, not positions. Positions are found by moves from the start array, and in
/// sources.
#[derive(clap::Args, Clone, Debug)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  epdb book make games.pgn -o book.bin --max-ply 40
  epdb book list book.bin
  epdb book merge mine.bin theirs.bin -o both.bin
  epdb book info *.bin")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    Make(Box<make::Args>),
    List(Box<list::Args>),
    Merge(merge::Args),
    Info(info::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Make(args) => make::run(args),
        Command::List(args) => list::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Info(args) => info::run(args),
    }
}
