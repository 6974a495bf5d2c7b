//! `epdb book merge`: one book of several.

use std::path::PathBuf;

use super::open::open;
use crate::cli::message::note;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_binary_output;
use epdb::codec::polyglot::{Book, Writer};
use epdb::library::book::{Merge, merge};

/// Make one book of several
///
/// A position that only one book has keeps its entries as they are. A position in several books has
/// the moves of all, with the sums of their weights, as Polyglot 2.0.4 does; with --first it has the
/// entries of the first of these books only, as Polyglot 1.4 does. `epdb merge-book -in1 A -in2 B
/// -out C`, in Polyglot's spelling, is the same.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb book merge 2023.bin 2024.bin 2025.bin -o years.bin
  epdb book merge --first mine.bin theirs.bin -o mine-first.bin")]
pub(crate) struct Args {
    /// The books; `-` is standard input
    #[arg(value_name = "BOOK", required = true, num_args = 2..)]
    books: Vec<PathBuf>,
    /// Give a position in several books the moves of all and the sums of their weights (default);
    /// where a sum is over 65535, all weights of the position are brought down in proportion
    #[arg(long)]
    add: bool,
    /// Give a position in several books the entries of the first of them
    #[arg(long, conflicts_with = "add")]
    first: bool,
    /// The book that is written; it appears only when it is complete
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let how = if args.first { Merge::First } else { Merge::Add };
    let mut whole = Book::default();
    let (mut shared, mut scaled) = (0, 0);
    for path in &args.books {
        let merged = merge(&whole, &open(path)?, how);
        whole = merged.book;
        shared += merged.shared;
        scaled += merged.scaled;
    }
    let mut writer = Writer::new(open_binary_output(&args.output, "an opening book")?);
    whole.entries().iter().try_for_each(|entry| writer.write(entry))?;
    let entries = writer.entries();
    writer.finish()?.finish()?;
    let what = if args.first { "taken from the first" } else { "added up" };
    note!("epdb: {entries} entries; {shared} positions of several books {what}");
    if scaled > 0 {
        note!("epdb: the weights of {scaled} positions were brought down to 65535");
    }
    Ok(Outcome::Done)
}
