//! `epdb book list`: the entries of a book.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::info::open;
use crate::cli::args::ReadArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::{TableForm, open_other_output};
use crate::cli::source::Reading;
use crate::cli::terminal::{many, note};
use crate::cli::values::{self, word_of};
use crate::cli::{columns, json, query_reader};
use epdb_chess::codec::polyglot::{Book, BookMove, Entry};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{Color, Position};
use epdb_chess::text::{CastlingForm, EnPassantForm, ParseOptions, fen, san};
use epdb_library::book::{BookPosition, BookResolver};
use epdb_source::{Output, name_of};

/// List the entries of opening books: position, move, weight, share of the weights
///
/// A book stores only keys of positions. epdb finds the positions by playing moves from the start position:
/// moves of the book, and other moves that return to the book. If --source is given, epdb also looks in these
/// sources, and plays moves from their positions. Positions that take the fewest moves to reach are listed
/// first. If the position of an entry is not found, the entry is only counted; --all lists it by its key. Only
/// with --deny-warnings, such an entry makes the exit status 1. The command line of Polyglot works too: `epdb dump-book -bin BOOK -color white
/// -out FILE`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb book list book.bin
  epdb book list --tsv --all book.bin --source games.pgn > book.tsv")]
pub(crate) struct Args {
    /// Books to read; `-` is standard input
    #[arg(value_name = "BOOK", required = true)]
    books: Vec<PathBuf>,
    /// Also look for book positions in this source: any file of positions or games
    #[arg(long = "source", value_name = "FILE")]
    sources: Vec<PathBuf>,
    /// List only positions with this side to move
    #[arg(long, value_parser = word_of::<Color>(), value_name = "COLOR")]
    side: Option<Color>,
    /// Also list entries whose position is not found, with key and coordinates
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    form: Form,
    /// Write to this file instead of standard output; it appears only when it is complete
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(clap::Args, Clone, Debug)]
#[group(multiple = false)]
struct Form {
    /// Print one line per entry, separated by tabs: book, key, fen, uci, san, weight, share, learn
    #[arg(long)]
    tsv: bool,
    /// Print one JSON object per entry, with the same fields
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    values::start_threads(args.read.form.threads)?;
    refuse_moves(&args.books)?;
    let books: Vec<Book> = args.books.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
    let mut walks: Vec<BookResolver<'_>> = books.iter().map(BookResolver::new).collect();
    let outcome = offer_sources(args, &mut walks)?;
    let path = args.output.as_deref();
    let given = match args.form {
        Form { json: true, .. } => Some(TableForm::Json),
        Form { tsv: true, .. } => Some(TableForm::Tsv),
        _ => TableForm::from_name(path).filter(|form| *form != TableForm::Csv),
    };
    let out = match given {
        Some(form) => form.open(path, "a list of moves")?,
        None => open_other_output(path, "a list of moves", &[])?,
    };
    let mut list = List { args, form: given, out };
    list.write_header()?;
    let mut is_whole = true;
    for (path, walk) in args.books.iter().zip(walks) {
        let book = name_of(path);
        is_whole &= list.write_book(&book, walk)?;
    }
    list.out.finish()?;
    Ok(outcome.and(Outcome::different_if(!is_whole)))
}

/// Refuses moves after a book, and names the command that takes them.
fn refuse_moves(books: &[PathBuf]) -> anyhow::Result<()> {
    let Some((book, words)) = books.split_first().filter(|(_, words)| !words.is_empty()) else {
        return Ok(());
    };
    let words: Vec<String> = words.iter().map(|word| word.display().to_string()).collect();
    let is_file = words.iter().any(|word| word == "-" || Path::new(word).exists());
    if !is_file && query_reader::parse_position(&words, &ParseOptions::default()).is_ok() {
        return Err(usage(format!(
            "{}: no such book; for the moves of a position use `epdb explore {} {}`",
            words[0],
            name_of(book),
            words.join(" ")
        )));
    }
    Ok(())
}

/// Looks for book positions in the sources, if any were given.
fn offer_sources(args: &Args, walks: &mut [BookResolver<'_>]) -> anyhow::Result<Outcome> {
    if args.sources.is_empty() {
        return Ok(Outcome::Done);
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    Reading::of(&args.sources, &args.read, &mut diagnostics).records(|record, _, _| {
        walks.iter_mut().for_each(|walk| walk.offer(record.position()));
        Ok(())
    })?;
    diagnostics.finish()
}

/// An entry as it is listed (`book list --json`).
#[derive(Serialize)]
struct Row<'a> {
    book: &'a str,
    key: String,
    /// Null if the position is not known.
    fen: Option<&'a str>,
    /// The move in the notation of engines. If the position is not known, the move as the book stores it.
    uci: String,
    /// Null if the position is not known or the move is not legal.
    san: Option<String>,
    weight: u16,
    /// Share of the weights of its position, from 0 to 1.
    share: f64,
    learn: u32,
}

/// A position whose entries are listed.
#[derive(Copy, Clone)]
struct Listed<'a> {
    book: &'a str,
    entries: &'a [Entry],
    known: Option<(&'a str, &'a Playable)>,
}

impl<'a> Listed<'a> {
    fn rows(self) -> impl Iterator<Item = Row<'a>> {
        let weights: u64 = self.entries.iter().map(|entry| u64::from(entry.weight)).sum();
        self.entries.iter().map(move |entry| {
            let playable = self.known.map(|(_, playable)| playable);
            let legal = playable.and_then(|it| Some((it, entry.mv.legal_in(it)?)));
            Row {
                book: self.book,
                key: format!("{:016x}", entry.key),
                fen: self.known.map(|(fen, _)| fen),
                uci: legal.map_or_else(|| entry.mv.to_string(), |(it, mv)| san::uci(it, mv)),
                san: legal.map(|(it, mv)| san::format(it, mv).to_string()),
                weight: entry.weight,
                share: share(entry.weight.into(), weights),
                learn: entry.learn,
            }
        })
    }
}

/// A share, rounded to four decimal places.
fn share(weight: u64, all: u64) -> f64 {
    let parts = (weight * 10_000 + all / 2).checked_div(all).unwrap_or(0);
    parts as f64 / 10_000.0
}

struct List<'a> {
    args: &'a Args,
    /// The form of the list; `None` for text to read.
    form: Option<TableForm>,
    out: Output,
}

impl List<'_> {
    fn write_header(&mut self) -> anyhow::Result<()> {
        if self.form == Some(TableForm::Tsv) {
            self.out.write_all(b"book\tkey\tfen\tuci\tsan\tweight\tshare\tlearn\n")?;
        }
        Ok(())
    }

    /// Writes a book; returns false if unknown positions are a failure.
    fn write_book(&mut self, book: &str, walk: BookResolver<'_>) -> anyhow::Result<bool> {
        if self.form.is_none() && self.args.books.len() > 1 {
            writeln!(self.out, "{book}:")?;
        }
        let known = walk.finish();
        let mut illegal = 0;
        for found in known.positions() {
            if self.args.side.is_none_or(|side| side == found.position.turn()) {
                illegal += self.write_known(book, found)?;
            }
        }
        let mut unknown = 0;
        for entries in known.unknown() {
            unknown += entries.len();
            if self.args.all {
                self.write_position(Listed { book, entries, known: None })?;
            }
        }
        if illegal > 0 {
            note!("epdb: {book}: {} with an illegal move", many(illegal, "entry"));
        }
        if unknown > 0 {
            let hint = if self.args.all { "listed by key" } else { "not listed; --all lists them" };
            note!("epdb: {book}: {} without a known position, {hint}", many(unknown, "entry"));
        }
        Ok(unknown == 0 || self.args.all || !self.args.read.form.deny_warnings)
    }

    /// Writes a known position; returns the number of illegal moves.
    fn write_known(&mut self, book: &str, found: &BookPosition<'_>) -> anyhow::Result<usize> {
        let fen = fen_of(&found.position);
        let Ok(playable) = Playable::new(&found.position) else { return Ok(0) };
        let entries = found.entries;
        self.write_position(Listed { book, entries, known: Some((&fen, &playable)) })?;
        let is_illegal =
            |it: &&Entry| it.mv != BookMove::NONE && it.mv.legal_in(&playable).is_none();
        Ok(entries.iter().filter(is_illegal).count())
    }

    fn write_position(&mut self, listed: Listed<'_>) -> anyhow::Result<()> {
        let out = &mut self.out;
        if self.form == Some(TableForm::Json) {
            listed.rows().try_for_each(|row| json::line(out, &row))?;
        } else if self.form == Some(TableForm::Tsv) {
            listed.rows().try_for_each(|row| out.write_all(&tsv_line(&row)))?;
        } else {
            match (listed.known, listed.entries) {
                (Some((fen, _)), _) => writeln!(out, "{fen}")?,
                (None, [first, ..]) => writeln!(out, "key {:016x}", first.key)?,
                (None, []) => {}
            }
            listed.rows().try_for_each(|row| out.write_all(text_line(&row).as_bytes()))?;
        }
        Ok(())
    }
}

/// The six fields of a FEN. The en passant square is included if it is part of Polyglot's key.
fn fen_of(position: &Position) -> String {
    let mut text = Vec::new();
    fen::format_fields(position, CastlingForm::XFen, EnPassantForm::Pseudo, &mut text);
    format!("{} 0 1", String::from_utf8_lossy(&text))
}

fn tsv_line(row: &Row<'_>) -> Vec<u8> {
    let Row { key, uci, weight, share, learn, .. } = row;
    let fen = row.fen.unwrap_or_default();
    let san = row.san.as_deref().unwrap_or_default();
    let mut line = Vec::new();
    columns::write_field(row.book.as_bytes(), &mut line);
    let rest = format!("\t{key}\t{fen}\t{uci}\t{san}\t{weight}\t{share:.4}\t{learn}\n");
    line.extend_from_slice(rest.as_bytes());
    line
}

fn text_line(row: &Row<'_>) -> String {
    let Row { uci, weight, share, learn, .. } = row;
    let mv = match (&row.san, row.fen) {
        (Some(san), _) => san.clone(),
        (None, Some(_)) if uci != "0000" => format!("{uci} (illegal)"),
        (None, _) => uci.clone(),
    };
    let learn = if *learn == 0 { String::new() } else { format!("  learn {learn}") };
    format!("  {mv:<8}{weight:>7}{:>9.2} %{learn}\n", share * 100.0)
}
