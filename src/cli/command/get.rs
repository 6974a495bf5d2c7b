//! `epdb get`: all records of the positions asked for.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;

use crate::archive::Archive;
use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::{Diagnostics, Place};
use crate::cli::file_format::FileFormat;
use crate::cli::outcome::Outcome;
use crate::cli::query;
use crate::cli::read_ahead::ReadAhead;
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{self, Item};
use crate::codec::packed::{PackedBoard, pack};
use crate::codec::query::Query;
use crate::codec::record;
use crate::model::EpdRecord;
use crate::store::{EncodedRecord, Reader, Store, StoreOptions};
use crate::text::WriteOptions;
use crate::text::epd;
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

/// Memory that a question takes while it waits, its answer not counted.
const QUESTION_MEMORY: usize = 512;
/// The longest question that is read.
const MAX_QUESTION: usize = 1 << 20;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (positions, sources): (Vec<&String>, Vec<&String>) =
        args.sources_and_positions.iter().partition(|argument| argument.contains(' '));
    anyhow::ensure!(!sources.is_empty(), "name a source to search");
    anyhow::ensure!(
        !positions.is_empty() || sources.iter().all(|source| *source != "-"),
        "standard input is the source, so give the positions as arguments"
    );
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    let sources = sources
        .into_iter()
        .map(|name| Searched::open(name, args))
        .collect::<anyhow::Result<Vec<Searched>>>()?;
    let mut questions = Questions::new(positions);
    let is_scanned = sources.iter().any(|source| matches!(source, Searched::Scan(_)));
    let batch = match is_scanned {
        true => Batch { memory: usize::MAX, waits: true },
        false => Batch { memory: args.memory.memory / 2, waits: false },
    };
    let mut asked = Asked::default();
    let mut found_all = true;
    while questions.next_batch(&batch, &mut asked, args, &mut diagnostics)? {
        found_all &= answer(&asked, &sources, args, &mut diagnostics, &mut output)?;
        if !questions.is_waiting() {
            output.hand_on()?;
        }
    }
    output.finish()?;
    let outcome = diagnostics.finish()?;
    Ok(if found_all { outcome } else { Outcome::Different })
}

/// Answers questions in their order; says whether each had a record.
fn answer(
    asked: &Asked,
    sources: &[Searched],
    args: &Args,
    diagnostics: &mut Diagnostics,
    output: &mut RecordOutput,
) -> anyhow::Result<bool> {
    let keep = match (args.missing, output.is_canonical_text()) {
        (true, _) => Keep::Nothing,
        (_, true) => Keep::Text,
        _ => Keep::Encoded,
    };
    let mut found = sources
        .iter()
        .map(|source| source.search(asked, keep, args, diagnostics))
        .collect::<anyhow::Result<Vec<Found>>>()?;
    let mut found_all = true;
    for (place, &number) in asked.numbers.iter().enumerate() {
        let has_record = found.iter().any(|found| found.has[place]);
        found_all &= has_record;
        if args.missing && !has_record {
            output.write_verbatim(asked.text(place))?;
            output.write_verbatim(b"\n")?;
        }
        let tag = args.tag.then_some(number);
        for (source, found) in sources.iter().zip(&mut found) {
            let has = found.has[place];
            if found.is_too_much(place) {
                source.each_record(&asked.queries[place], args, &mut |record| {
                    output.write_tagged(tag, record)
                })?;
            } else {
                while let Some(record) = found.next_of(place) {
                    match keep {
                        Keep::Nothing => {}
                        Keep::Text => output.write_line(tag, record)?,
                        Keep::Encoded => output.write_tagged(tag, &record::decode(record)?.0)?,
                    }
                }
            }
            if args.first && has {
                break;
            }
        }
    }
    Ok(found_all)
}

/// The questions of a batch.
#[derive(Default)]
struct Asked {
    queries: Vec<Query>,
    /// Their numbers, counted from 1.
    numbers: Vec<u64>,
    /// Their text, end to end.
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Asked {
    fn clear(&mut self) {
        self.queries.clear();
        self.numbers.clear();
        self.text.clear();
        self.ends.clear();
    }

    fn push(&mut self, number: u64, text: &[u8], query: Query) {
        self.queries.push(query);
        self.numbers.push(number);
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len());
    }

    fn text(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[place]]
    }

    fn memory(&self) -> usize {
        self.queries.len() * QUESTION_MEMORY + self.text.len()
    }
}

/// When a batch of questions ends.
struct Batch {
    /// Bytes of memory for its questions.
    memory: usize,
    /// Whether to wait for more when there are no more questions now: nobody gets an answer before
    /// he asked everything.
    waits: bool,
}

/// Where questions come from.
enum Questions<'a> {
    Arguments(std::iter::Enumerate<std::vec::IntoIter<&'a String>>),
    Lines(LineReader<ReadAhead>),
}

impl<'a> Questions<'a> {
    fn new(arguments: Vec<&'a String>) -> Questions<'a> {
        if arguments.is_empty() {
            Questions::Lines(LineReader::new(ReadAhead::new(io::stdin()), MAX_QUESTION))
        } else {
            Questions::Arguments(arguments.into_iter().enumerate())
        }
    }

    /// Whether another question, or the end, is there without waiting for it.
    fn is_waiting(&self) -> bool {
        match self {
            Questions::Arguments(_) => true,
            Questions::Lines(lines) => lines.is_waiting() || lines.get_ref().is_ready(),
        }
    }

    /// Takes the next questions, at least one unless the end has come; false at the end. What is
    /// no position is rejected.
    fn next_batch(
        &mut self,
        batch: &Batch,
        asked: &mut Asked,
        args: &Args,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<bool> {
        let options = args.read.form.options();
        asked.clear();
        while asked.queries.is_empty() || asked.memory() < batch.memory {
            let (file, number, text, raw) = match self {
                Questions::Arguments(arguments) => match arguments.next() {
                    None => break,
                    Some((place, text)) => {
                        ("FEN", place as u64 + 1, text.as_bytes(), text.as_bytes())
                    }
                },
                Questions::Lines(lines) => {
                    while !lines.is_waiting() && lines.get_ref().is_ready() {
                        lines.read_more()?;
                    }
                    if !lines.is_waiting() && !asked.queries.is_empty() && !batch.waits {
                        break;
                    }
                    match lines.next_line()? {
                        None => break,
                        Some(Next::Line(line)) => ("-", line.number, line.text, line.raw),
                        Some(Next::TooLong { number, .. }) => {
                            let place = Place { file: "-".into(), line: number };
                            diagnostics.error(&place, &lines::too_long(MAX_QUESTION))?;
                            diagnostics.tally.rejected += 1;
                            lines.copy_long_line(&mut diagnostics.reject_sink())?;
                            continue;
                        }
                    }
                }
            };
            match query::parse_query(text, &options) {
                Ok(Some(query)) => asked.push(number, text, query),
                Ok(None) => {}
                Err(error) => {
                    diagnostics.error(&Place { file: file.into(), line: number }, &error)?;
                    diagnostics.rejected(raw)?;
                }
            }
        }
        Ok(!asked.queries.is_empty())
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
        match source::format_of(&path, args.read.form.from)? {
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

    /// The records of each question, as far as they are kept.
    fn search(
        &self,
        asked: &Asked,
        keep: Keep,
        args: &Args,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Found> {
        let budget = match self {
            Searched::Scan(_) => usize::MAX,
            _ => args.memory.memory / 4,
        };
        let mut found = Found::new(asked.queries.len(), keep, args.first, budget);
        match self {
            Searched::Store { reader, name, .. } => {
                reader.get_batch(&asked.queries, |place, mut matches| {
                    while found.wants(place) {
                        let Some(next) = matches.next_encoded().transpose()? else { break };
                        if is_taken(next, name, args)? {
                            found.put_encoded(place, next.bytes)?;
                        }
                    }
                    Ok::<(), anyhow::Error>(())
                })?;
            }
            Searched::Archive { archive, name } => {
                search_archive(archive, name, &asked.queries, args, &mut found)?;
            }
            Searched::Scan(path) => {
                let mut by_board: HashMap<PackedBoard, Vec<usize>> = HashMap::new();
                for (place, query) in asked.queries.iter().enumerate() {
                    by_board.entry(*query.board()).or_default().push(place);
                }
                source::read(std::slice::from_ref(path), &args.read, diagnostics, &mut |item| {
                    let Item::Record { record, .. } = item else { return Ok(true) };
                    let places = by_board.get(&pack(&record.position().identity()));
                    for &place in places.into_iter().flatten() {
                        if found.wants(place) {
                            found.put(place, &record)?;
                        }
                    }
                    Ok(true)
                })?;
            }
        }
        found.sort();
        Ok(found)
    }

    /// All records of a position in a source that answers questions, once more.
    fn each_record(
        &self,
        query: &Query,
        args: &Args,
        visit: &mut dyn FnMut(&EpdRecord) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self {
            Searched::Store { reader, name, .. } => {
                let mut matches = reader.get(query);
                while let Some(next) = matches.next_encoded().transpose()? {
                    if is_taken(next, name, args)? {
                        visit(&record::decode(next.bytes)?.0)?;
                    }
                }
            }
            Searched::Archive { archive, name } => {
                for (number, record) in archive.find(query).with_context(|| name.to_string())? {
                    if args.read.wanted.takes(&record, &place_of(name, number)) {
                        visit(&record)?;
                    }
                }
            }
            Searched::Scan(_) => {}
        }
        Ok(())
    }
}

/// Searches an archive, with as little made of each record as the arguments allow.
fn search_archive(
    archive: &Archive,
    name: &Arc<str>,
    queries: &[Query],
    args: &Args,
    found: &mut Found,
) -> anyhow::Result<()> {
    let mut failure = Ok(());
    let done = match (&args.read.wanted.filter, found.keep) {
        (None, Keep::Nothing) => {
            archive.find_numbers(queries, |place, _| found.put_bytes(place, |_| ()))
        }
        (None, Keep::Text) => archive.find_text(queries, |place, _, text| {
            if found.wants(place) {
                found.put_bytes(place, |out| out.extend_from_slice(text));
            }
            true
        }),
        _ => archive.find_many(queries, |place, number, record| {
            let takes = || args.read.wanted.takes(&record, &place_of(name, number));
            if found.wants(place) && takes() {
                failure = found.put(place, &record);
            }
            failure.is_ok()
        }),
    };
    done.with_context(|| name.to_string())?;
    failure
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

/// What is kept of found records until it is their turn.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Keep {
    /// Only that there are some.
    Nothing,
    /// The line that will be written.
    Text,
    /// The binary record.
    Encoded,
}

/// What a source has for the questions of a batch.
struct Found {
    keep: Keep,
    only_first: bool,
    /// Which questions have a record.
    has: Vec<bool>,
    /// What is kept, end to end, and for which question.
    bytes: Vec<u8>,
    records: Vec<(usize, Range<usize>)>,
    /// How many of these were given back.
    given: usize,
    /// How many bytes are kept at the most.
    budget: usize,
    /// Questions with records for which there was no room: they are looked up again.
    too_much: BTreeSet<usize>,
}

impl Found {
    fn new(questions: usize, keep: Keep, only_first: bool, budget: usize) -> Found {
        Found {
            keep,
            only_first,
            has: vec![false; questions],
            bytes: Vec::new(),
            records: Vec::new(),
            given: 0,
            budget,
            too_much: BTreeSet::new(),
        }
    }

    /// Whether another record of this question is of use.
    fn wants(&self, place: usize) -> bool {
        let one_is_enough = self.only_first || self.keep == Keep::Nothing;
        !(self.has[place] && one_is_enough || self.is_too_much(place))
    }

    fn put(&mut self, place: usize, record: &EpdRecord) -> anyhow::Result<()> {
        let mut encoded = Ok(());
        let keep = self.keep;
        self.put_bytes(place, |out| match keep {
            Keep::Nothing => {}
            Keep::Text => {
                epd::write(record, &WriteOptions::default(), out);
            }
            Keep::Encoded => encoded = record::encode(record, out),
        });
        Ok(encoded?)
    }

    fn put_encoded(&mut self, place: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let mut written = Ok(());
        let keep = self.keep;
        self.put_bytes(place, |out| match keep {
            Keep::Nothing => {}
            Keep::Text => written = record::write_text(bytes, out),
            Keep::Encoded => out.extend_from_slice(bytes),
        });
        Ok(written?)
    }

    fn put_bytes(&mut self, place: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.has[place] = true;
        if self.keep == Keep::Nothing {
            return;
        }
        if self.bytes.len() > self.budget && !self.only_first {
            self.too_much.insert(place);
            return;
        }
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.records.push((place, start..self.bytes.len()));
    }

    /// Puts what was found into the order of the questions.
    fn sort(&mut self) {
        self.records.sort_by_key(|(place, _)| *place);
    }

    fn is_too_much(&self, place: usize) -> bool {
        !self.too_much.is_empty() && self.too_much.contains(&place)
    }

    /// The next record of a question; questions are gone through in their order.
    fn next_of(&mut self, place: usize) -> Option<&[u8]> {
        while self.records.get(self.given).is_some_and(|(of, _)| *of < place) {
            self.given += 1;
        }
        let (_, range) = self.records.get(self.given).filter(|(of, _)| *of == place)?;
        self.given += 1;
        self.bytes.get(range.clone())
    }
}
