//! `epdb book`: opening books of Polyglot.

mod info;
mod list;
mod merge;

use std::path::Path;

use clap::Subcommand;

use crate::cli::message::note;
use crate::cli::outcome::Outcome;
use crate::codec::polyglot::{Book, Disorder};
use crate::source::open_book;

/// Opening books of Polyglot (.bin): what is in them, and books made of several
///
/// A book holds keys, not positions. Positions are found by moves from the start array, and in
/// sources.
#[derive(clap::Args, Clone, Debug)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  epdb book list book.bin
  epdb book merge mine.bin theirs.bin -o both.bin
  epdb book info *.bin")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    List(Box<list::Args>),
    Merge(merge::Args),
    Info(info::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Info(args) => info::run(args),
    }
}

/// Reads a book, and says where it is not in order.
fn read(path: &Path) -> anyhow::Result<Book> {
    let book = open_book(path)?;
    if let Some(Disorder { count, first }) = book.disorder() {
        note!(
            "epdb: {}: {count} entries stand out of order, the first at byte {first}; read by key",
            path.display()
        );
    }
    Ok(book)
}
