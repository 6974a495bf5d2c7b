//! `epdb get`: all records of the positions asked for.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;

use crate::archive::Archive;
use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::{Diagnostics, Place};
use crate::cli::file_format::FileFormat;
use crate::cli::outcome::Outcome;
use crate::cli::query;
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{self, Item};
use crate::codec::packed::{PackedBoard, pack};
use crate::codec::query::Query;
use crate::codec::record;
use crate::model::Position;
use crate::store::{EncodedRecord, Reader, Store, StoreOptions};
use crate::text::lines::{self, LineReader, Next};

/// Find all records of positions, given as arguments or one a line on standard input
///
/// An argument with a blank in it is a position, any other a source. Counters, the dialect of
/// castling letters and superfluous en passant squares do not matter; operations are ignored.
/// Output is in the order of the questions, for each question in the order of the sources. Exit
/// status 1 when some position has no record.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb get book.epdb 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -'
  epdb get book.epdb --tag < positions.fen")]
pub(crate) struct Args {
    /// Sources to search, and positions to find (each in quotes)
    #[arg(value_name = "SOURCE|FEN", required = true)]
    sources_and_positions: Vec<String>,
    /// Put the number of the question, counted from 1, and a tab before each line
    #[arg(long)]
    tag: bool,
    /// Only the first record of each position
    #[arg(long)]
    first: bool,
    /// Print the questions that have no record, instead of records
    #[arg(long, conflicts_with_all = ["tag", "first"])]
    missing: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// How many questions are answered at a time, where the sources allow it.
const BATCH: usize = 8192;
/// The longest question that is read.
const MAX_QUESTION: usize = 1 << 20;
/// How many records of one question are kept until its turn; more are looked up again.
const KEPT: usize = 16;

/// A position to find.
struct Question {
    number: u64,
    text: Vec<u8>,
    position: Position,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (positions, sources): (Vec<&String>, Vec<&String>) =
        args.sources_and_positions.iter().partition(|argument| argument.contains(' '));
    anyhow::ensure!(!sources.is_empty(), "name a source to search");
    anyhow::ensure!(
        !positions.is_empty() || sources.iter().all(|source| *source != "-"),
        "standard input is the source, so give the positions as arguments"
    );
    let mut diagnostics = Diagnostics::new(&args.read)?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    let sources = sources
        .into_iter()
        .map(|name| Searched::open(name, args))
        .collect::<anyhow::Result<Vec<Searched>>>()?;
    let scans = sources.iter().any(|source| matches!(source, Searched::Scan(_)));
    let batch = if scans { usize::MAX } else { BATCH };
    let mut questions = Questions::new(positions);
    let mut found_all = true;
    loop {
        let asked = questions.next_batch(batch, args, &mut diagnostics)?;
        if asked.is_empty() {
            break;
        }
        found_all &= answer(&asked, &sources, args, &mut diagnostics, &mut output)?;
    }
    output.finish()?;
    let outcome = diagnostics.finish()?;
    Ok(if found_all { outcome } else { Outcome::Different })
}

/// Answers questions in their order; says whether each had a record.
fn answer(
    asked: &[Question],
    sources: &[Searched],
    args: &Args,
    diagnostics: &mut Diagnostics,
    output: &mut RecordOutput,
) -> anyhow::Result<bool> {
    let found = sources
        .iter()
        .map(|source| source.search(asked, args, diagnostics))
        .collect::<anyhow::Result<Vec<Vec<Found>>>>()?;
    let mut found_all = true;
    for (place, question) in asked.iter().enumerate() {
        let has_record = found.iter().any(|found| !found[place].records.is_empty());
        found_all &= has_record;
        if args.missing {
            if !has_record {
                output.write_verbatim(&question.text)?;
                output.write_verbatim(b"\n")?;
            }
            continue;
        }
        let tag = args.tag.then_some(question.number);
        let write = |output: &mut RecordOutput, bytes: &[u8]| {
            output.write_tagged(tag, &record::decode(bytes)?.0)
        };
        if args.first {
            let first = found.iter().find_map(|found| found[place].records.first());
            first.map_or(Ok(()), |bytes| write(output, bytes))?;
            continue;
        }
        for (source, found) in sources.iter().zip(&found) {
            match (source, &found[place]) {
                (Searched::Store { reader, name, .. }, Found { more: true, .. }) => {
                    let mut matches = reader.get(&question.position);
                    while let Some(next) = matches.next_encoded() {
                        let next = next?;
                        if is_taken(next, name, args)? {
                            write(output, next.bytes)?;
                        }
                    }
                }
                (Searched::Archive { archive, name }, Found { more: true, .. }) => {
                    for (number, record) in archive.find(&question.position)? {
                        if args.read.wanted.takes(&record, &place_of(name, number)) {
                            output.write_tagged(tag, &record)?;
                        }
                    }
                }
                (_, Found { records, .. }) => {
                    records.iter().try_for_each(|bytes| write(output, bytes))?;
                }
            }
        }
    }
    Ok(found_all)
}

/// Where questions come from.
enum Questions<'a> {
    Arguments(std::iter::Enumerate<std::vec::IntoIter<&'a String>>),
    Lines(LineReader<io::Stdin>),
}

impl<'a> Questions<'a> {
    fn new(arguments: Vec<&'a String>) -> Questions<'a> {
        if arguments.is_empty() {
            Questions::Lines(LineReader::new(io::stdin(), MAX_QUESTION))
        } else {
            Questions::Arguments(arguments.into_iter().enumerate())
        }
    }

    /// The next questions, none at the end. What is no position is rejected.
    fn next_batch(
        &mut self,
        most: usize,
        args: &Args,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Vec<Question>> {
        let options = args.read.options();
        let mut asked = Vec::new();
        while asked.len() < most {
            let (file, number, text, raw) = match self {
                Questions::Arguments(arguments) => match arguments.next() {
                    None => break,
                    Some((place, text)) => {
                        ("FEN", place as u64 + 1, text.as_bytes(), text.as_bytes())
                    }
                },
                Questions::Lines(lines) => match lines.next_line()? {
                    None => break,
                    Some(Next::Line(line)) => ("-", line.number, line.text, line.raw),
                    Some(Next::TooLong { number, .. }) => {
                        let place = Place { file: "-".into(), line: number };
                        diagnostics.error(&place, &lines::too_long(MAX_QUESTION))?;
                        diagnostics.tally.rejected += 1;
                        lines.copy_long_line(&mut diagnostics.reject_sink())?;
                        continue;
                    }
                },
            };
            match query::parse(text, &options) {
                Ok(Some(position)) => {
                    asked.push(Question { number, text: text.to_vec(), position })
                }
                Ok(None) => {}
                Err(error) => {
                    diagnostics.error(&Place { file: file.into(), line: number }, &error)?;
                    diagnostics.rejected(raw)?;
                }
            }
        }
        Ok(asked)
    }
}

/// A source that is searched.
enum Searched {
    /// A store answers each question by itself.
    Store {
        reader: Box<Reader>,
        name: Arc<str>,
        /// Open as long as the reader is used.
        _store: Store,
    },
    /// So does an archive.
    Archive { archive: Archive, name: Arc<str> },
    /// Anything else is read once, when all questions are known.
    Scan(PathBuf),
}

impl Searched {
    fn open(name: &str, args: &Args) -> anyhow::Result<Searched> {
        let path = PathBuf::from(name);
        match source::format_of(&path, args.read.from)? {
            FileFormat::Epdb => {}
            FileFormat::Epa => {
                let archive = Archive::open(&path).with_context(|| path.display().to_string())?;
                return Ok(Searched::Archive { archive, name: name.into() });
            }
            _ => return Ok(Searched::Scan(path)),
        }
        let options = StoreOptions::new().memory_bytes(args.memory.memory);
        let store = Store::open_read_only(&path, &options)?;
        let reader = Box::new(store.reader()?);
        Ok(Searched::Store { reader, name: name.into(), _store: store })
    }

    /// The records of each question: all of them, or [`KEPT`] and the word that there are more.
    fn search(
        &self,
        asked: &[Question],
        args: &Args,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Vec<Found>> {
        let mut found: Vec<Found> = Vec::new();
        found.resize_with(asked.len(), Found::default);
        match self {
            Searched::Store { reader, name, .. } => {
                let positions: Vec<Position> =
                    asked.iter().map(|question| question.position).collect();
                reader.get_batch(&positions, |place, mut matches| {
                    let found = &mut found[place];
                    while let Some(next) = matches.next_encoded() {
                        let next = next?;
                        if !is_taken(next, name, args)? {
                            continue;
                        }
                        if found.records.len() == KEPT {
                            found.more = true;
                            break;
                        }
                        found.records.push(next.bytes.into());
                    }
                    Ok::<(), anyhow::Error>(())
                })?;
            }
            Searched::Archive { archive, name } => {
                let queries: Vec<Query> =
                    asked.iter().map(|question| Query::from(&question.position)).collect();
                let mut failure = None;
                archive.find_many(&queries, |place, number, record| {
                    let found = &mut found[place];
                    if !args.read.wanted.takes(&record, &place_of(name, number)) {
                        return true;
                    }
                    if found.records.len() == KEPT {
                        found.more = true;
                        return true;
                    }
                    let mut bytes = Vec::new();
                    failure = record::encode(&record, &mut bytes).err();
                    found.records.push(bytes.into());
                    failure.is_none()
                })?;
                failure.map_or(Ok(()), Err)?;
            }
            Searched::Scan(path) => {
                let mut by_board: HashMap<PackedBoard, Vec<usize>> = HashMap::new();
                for (place, question) in asked.iter().enumerate() {
                    by_board.entry(pack(&question.position.identity())).or_default().push(place);
                }
                source::read(std::slice::from_ref(path), &args.read, diagnostics, &mut |item| {
                    let Item::Record { record, .. } = item else { return Ok(true) };
                    let Some(places) = by_board.get(&pack(&record.position().identity())) else {
                        return Ok(true);
                    };
                    let mut bytes = Vec::new();
                    record::encode(&record, &mut bytes)?;
                    for &place in places {
                        found[place].records.push(bytes.as_slice().into());
                    }
                    Ok(true)
                })?;
            }
        }
        Ok(found)
    }
}

/// Whether `--where` takes a record of a store.
fn is_taken(stored: EncodedRecord<'_>, name: &Arc<str>, args: &Args) -> anyhow::Result<bool> {
    if args.read.wanted.filter.is_none() {
        return Ok(true);
    }
    let place = place_of(name, stored.import_number);
    Ok(args.read.wanted.takes(&record::decode(stored.bytes)?.0, &place))
}

/// The place of a record with this number, counted from 0.
fn place_of(name: &Arc<str>, number: u64) -> Place {
    Place { file: name.clone(), line: number + 1 }
}

/// What a source has for a question.
#[derive(Default)]
struct Found {
    /// Encoded records.
    records: Vec<Box<[u8]>>,
    /// Whether the source has more than these.
    more: bool,
}
