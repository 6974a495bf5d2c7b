//! `epdb book info`: statistics of a book.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::terminal::{many, note};
use crate::cli::{json, values};
use epdb_chess::codec::polyglot::{Book, Disorder};
use epdb_library::book::{BookResolver, Summary};
use epdb_source::{Output, name_of, open_book};

/// Print statistics of opening books: entries, positions, reachability, weights, order
///
/// "Reached by moves of the book" counts positions that the book's own moves reach from the start
/// position. Other positions are reached if one or both sides play a move outside the book and then
/// return to the book. The remaining positions cannot be reached: the lines to them are missing
/// from the book or begin at another position.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb book info book.bin")]
pub(crate) struct Args {
    /// Books to read; `-` is standard input
    #[arg(value_name = "BOOK", required = true)]
    books: Vec<PathBuf>,
    /// Print one JSON object per book
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    values::start_threads(None)?;
    let mut out = open_output(None)?;
    for path in &args.books {
        let book = open(path)?;
        let summary = Summary::new(&book, &BookResolver::new(&book).finish());
        if args.json {
            json::line(&mut out, &Info { book: &name_of(path), summary: &summary })?;
            continue;
        }
        if args.books.len() > 1 {
            writeln!(out, "{}:", name_of(path))?;
        }
        print(&mut out, &summary)?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

fn print(out: &mut Output, summary: &Summary) -> anyhow::Result<()> {
    let known = summary.by_book_moves + summary.by_other_moves;
    let mut row = |name: &str, count: u64| writeln!(out, "{name:<34}{count:>14}");
    row("entries", summary.entries)?;
    row("positions", summary.positions)?;
    row("  reached by moves of the book", summary.by_book_moves)?;
    row("  reached by other moves too", summary.by_other_moves)?;
    row("  not reached", summary.unknown)?;
    row("    entries of them", summary.unknown_entries)?;
    row("  reached, with White to move", summary.white_to_move)?;
    row("  reached, with Black to move", known - summary.white_to_move)?;
    row("largest weight", summary.largest_weight.into())?;
    row("entries of weight 0", summary.weight_zero)?;
    row("  without a move", summary.without_move)?;
    row("  with an illegal move", summary.illegal)?;
    row("  with a repeated move", summary.repeated)?;
    row("  with learning", summary.with_learn)?;
    row("  out of order by key", summary.out_of_order)?;
    row("  out of order by weight", summary.weights_ascending)?;
    Ok(())
}

/// Content of a book (`book info --json`).
#[derive(Serialize)]
struct Info<'a> {
    book: &'a str,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// Reads a book, and reports whether entries are out of order.
pub(super) fn open(path: &Path) -> anyhow::Result<Book> {
    let book = open_book(path)?;
    if let Some(Disorder { count, first }) = book.disorder() {
        let book = path.display();
        let entries = many(count, "entry");
        note!("epdb: {book}: {entries} out of order, the first at byte {first}; read by key");
    }
    Ok(book)
}
