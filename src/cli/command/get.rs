//! `epdb get`: all records of the positions asked for.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::archive::{Archive, ArchiveError};
use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::query;
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{self, Visited};
use crate::codec::packed::{PackedBoard, pack};
use crate::codec::query::{Query, Visit};
use crate::codec::record;
use crate::error::{At, Place};
use crate::model::EpdRecord;
use crate::source::{Content, FileFormat, Item, Lines, Local, Source};
use crate::store::{EncodedRecord, Reader, Store, StoreError};
use crate::text::WriteOptions;
use crate::text::epd;
use crate::text::lines::{self, Next};

/// Find all records of positions, given as arguments, in files (-f), or one a line on standard input
///
/// An argument that names a file is a source to search, any other with a blank in it a position to
/// find. Counters, the dialect of castling letters and superfluous en passant squares do not
/// matter; operations are ignored. Output is in the order of the questions, for each question in
/// the order of the sources. Exit status 1 when some position has no record.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb get book.epdb 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -'
  epdb get book.epdb -f positions.fen --missing
  epdb get book.epdb --tag < positions.fen")]
pub(crate) struct Args {
    /// Sources to search, and positions to find (each in quotes)
    #[arg(value_name = "SOURCE|FEN", required = true)]
    sources_and_positions: Vec<OsString>,
    /// Find the positions of this file, one a line; may be said several times, `-` is standard
    /// input
    #[arg(short = 'f', long = "find", value_name = "FILE")]
    queries: Vec<PathBuf>,
    /// Put the number of the question and a tab before each line: its place among the arguments, or
    /// the number of its line, from 1; files count on
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
    let (positions, sources): (Vec<&OsStr>, Vec<&OsStr>) = args
        .sources_and_positions
        .iter()
        .map(OsString::as_os_str)
        .partition(|argument| query::is_position(argument));
    let options = args.read.form.options();
    let is_no_position =
        |argument: &&&OsStr| query::parse(argument.to_string_lossy().as_bytes(), &options).is_err();
    if sources.is_empty() {
        let missing = positions.iter().find(is_no_position);
        let missing = missing.map(|name| format!("there is no file {}; ", name.display()));
        let text = missing.unwrap_or_default() + "name a source to search";
        return Err(Usage(text).into());
    }
    let asks_stdin = positions.is_empty() && args.queries.is_empty();
    if asks_stdin && sources.contains(&OsStr::new("-")) {
        let text = "standard input is the source, so give the positions as arguments or with -f";
        return Err(Usage(text.into()).into());
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    let sources = sources
        .into_iter()
        .map(|name| Searched::open(Path::new(name), args))
        .collect::<anyhow::Result<Vec<Searched>>>()?;
    let mistaken = mistaken_for_source(&sources).filter(|_| asks_stdin);
    if let Some(usage) = mistaken.as_ref().filter(|_| io::stdin().is_terminal()) {
        return Err(usage.clone().into());
    }
    let mut questions = Questions::new(positions, &args.queries);
    let is_scanned = sources.iter().any(|source| matches!(source, Searched::Scan { .. }));
    let batch = match is_scanned {
        true => Batch { memory: usize::MAX, waits: true },
        false => Batch { memory: args.memory.memory / 2, waits: false },
    };
    let mut asked = Asked::default();
    let mut found_all = true;
    while questions.next_batch(&batch, &mut asked, args, &mut diagnostics)? {
        found_all &= answer(&asked, &sources, args, &mut diagnostics, &mut output)?;
        if !questions.is_waiting()? {
            output.hand_on()?;
        }
    }
    if let Some(usage) = mistaken.filter(|_| questions.lines_read == 0) {
        return Err(usage.into());
    }
    let written = output.finish()?;
    let outcome = diagnostics.finish()?.and(written);
    Ok(if found_all { outcome } else { Outcome::Different })
}

/// What to say when nothing is asked and a source after the first is text: it looks like the
/// questions.
fn mistaken_for_source(sources: &[Searched]) -> Option<Usage> {
    let text = sources.iter().skip(1).find_map(|source| match source {
        Searched::Scan { path, is_text: true, .. } => Some(path.display()),
        _ => None,
    })?;
    Some(Usage(format!(
        "{text} is a source to search here, and nothing is asked; to find its positions in the \
         other sources say -f {text}"
    )))
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

/// Where questions come from: arguments, then the lines of files.
struct Questions<'a> {
    arguments: std::iter::Enumerate<std::vec::IntoIter<&'a OsStr>>,
    files: VecDeque<&'a Path>,
    open: Option<OpenFile>,
    /// Lines of the files before the open one.
    lines_before: u64,
    /// Lines of all files that were read.
    lines_read: u64,
}

/// A file of questions.
struct OpenFile {
    name: Arc<str>,
    lines: Lines,
}

impl OpenFile {
    fn open(path: &Path, args: &Args, diagnostics: &mut Diagnostics) -> anyhow::Result<OpenFile> {
        let lines = source::open_lines(path, MAX_QUESTION, &args.read, diagnostics)?;
        Ok(OpenFile { name: path.to_string_lossy().into(), lines })
    }

    fn has_line(&mut self) -> anyhow::Result<bool> {
        let OpenFile { name, lines } = self;
        lines.has_line().with_context(|| format!("{name}: cannot read on"))
    }
}

impl<'a> Questions<'a> {
    /// Arguments and files; standard input when there are none of either.
    fn new(arguments: Vec<&'a OsStr>, files: &'a [PathBuf]) -> Questions<'a> {
        let mut files: VecDeque<&Path> = files.iter().map(PathBuf::as_path).collect();
        if arguments.is_empty() && files.is_empty() {
            files.push_back(Path::new("-"));
        }
        let arguments = arguments.into_iter().enumerate();
        Questions { arguments, files, open: None, lines_before: 0, lines_read: 0 }
    }

    /// Whether another question, or the end, is there without waiting for it.
    fn is_waiting(&mut self) -> anyhow::Result<bool> {
        self.open.as_mut().map_or(Ok(true), OpenFile::has_line)
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
        asked.clear();
        while asked.queries.is_empty() || asked.memory() < batch.memory {
            if let Some((place, argument)) = self.arguments.next() {
                let text = argument.to_string_lossy();
                let mut question = Question { asked, args, diagnostics };
                question.read("FEN", place as u64 + 1, 0, text.as_bytes(), text.as_bytes())?;
            } else if self.open.is_some() {
                let may_wait = asked.queries.is_empty() || batch.waits;
                if !may_wait && !self.is_waiting()? {
                    break;
                }
                self.next_line(Question { asked, args, diagnostics })?;
            } else if let Some(path) = self.files.pop_front() {
                self.open = Some(OpenFile::open(path, args, diagnostics)?);
                self.lines_before = self.lines_read;
            } else {
                break;
            }
        }
        Ok(!asked.queries.is_empty())
    }

    /// Takes the next line of the open file; at its end it is open no more.
    fn next_line(&mut self, mut question: Question<'_>) -> anyhow::Result<()> {
        let Some(OpenFile { name, lines }) = &mut self.open else { return Ok(()) };
        let (name, lines) = (Arc::clone(name), lines.reader());
        let next = lines.next_line().with_context(|| format!("{name}: cannot read on"))?;
        let is_long = match next {
            None => {
                self.open = None;
                return Ok(());
            }
            Some(Next::Line(line)) => {
                self.lines_read += 1;
                question.read(&name, line.number, self.lines_before, line.text, line.raw)?;
                None
            }
            Some(Next::TooLong { number, .. }) => Some(number),
        };
        if let Some(number) = is_long {
            self.lines_read += 1;
            let diagnostics = question.diagnostics;
            let place = Place::new(name, At::Line(number));
            diagnostics.error(&place, &lines::too_long(MAX_QUESTION))?;
            diagnostics.tally.rejected += 1;
            lines.copy_long_line(&mut diagnostics.reject_sink())?;
        }
        Ok(())
    }
}

/// What takes a question.
struct Question<'q> {
    asked: &'q mut Asked,
    args: &'q Args,
    diagnostics: &'q mut Diagnostics,
}

impl Question<'_> {
    /// Reads a line of a file, before which there were `before` lines in other files.
    fn read(
        &mut self,
        file: &str,
        line: u64,
        before: u64,
        text: &[u8],
        raw: &[u8],
    ) -> anyhow::Result<()> {
        match query::parse_query(text, &self.args.read.form.options()) {
            Ok(Some(query)) => self.asked.push(before + line, text, query),
            Ok(None) => {}
            Err(error) => {
                self.diagnostics.error(&Place::new(file, At::Line(line)), &error)?;
                self.diagnostics.rejected(raw)?;
            }
        }
        Ok(())
    }
}

/// A source that is searched.
enum Searched {
    /// A store answers each question by itself.
    Store {
        reader: Box<Reader>,
        name: Arc<str>,
        /// Open, and there, as long as the reader is used.
        _store: Store,
        local: Local,
    },
    /// So does an archive.
    Archive { archive: Archive, name: Arc<str>, _local: Local },
    /// Anything else is read once, when all questions are known.
    Scan {
        path: PathBuf,
        /// The source, if it cannot be opened once more.
        opened: RefCell<Option<Source>>,
        is_text: bool,
    },
}

impl Searched {
    fn open(path: &Path, args: &Args) -> anyhow::Result<Searched> {
        let source = source::open(path, &args.read.source_options(false))?;
        let is_text = source.format() == FileFormat::Epd;
        if !matches!(source.format(), FileFormat::Epdb | FileFormat::Epa) {
            let path = path.to_path_buf();
            let opened = RefCell::new((!source.is_file()).then_some(source));
            return Ok(Searched::Scan { path, opened, is_text });
        }
        let name = Arc::clone(source.name());
        match source.into_content() {
            Content::Archive(local) => {
                let archive = local.archive()?.memory_bytes(args.memory.memory / 2);
                Ok(Searched::Archive { archive, name, _local: local })
            }
            Content::Store(local) => {
                let store = local.store(args.memory.memory)?;
                let reader = Box::new(store.reader().map_err(|error| local.failed(error))?);
                Ok(Searched::Store { reader, name, _store: store, local })
            }
            _ => anyhow::bail!("{name} answers no questions"),
        }
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
            Searched::Scan { .. } => usize::MAX,
            _ => args.memory.memory / 4,
        };
        let mut found = Found::new(asked.queries.len(), keep, args.first, budget);
        match self {
            Searched::Store { reader, name, local, .. } => {
                let searched = reader.get_batch(&asked.queries, |place, next| {
                    if is_taken(next, name, args)? {
                        found.put_encoded(place, next.bytes())?;
                    }
                    Ok::<_, anyhow::Error>(match found.wants(place) {
                        true => Visit::Continue,
                        false => Visit::SkipQuery,
                    })
                });
                searched.map_err(|error: anyhow::Error| match error.downcast::<StoreError>() {
                    Ok(error) => local.failed(error).into(),
                    Err(error) => error,
                })?;
            }
            Searched::Archive { archive, name, .. } => {
                search_archive(archive, name, &asked.queries, args, &mut found)?;
            }
            Searched::Scan { path, opened, .. } => {
                let mut by_board: HashMap<PackedBoard, Vec<usize>> = HashMap::new();
                for (place, query) in asked.queries.iter().enumerate() {
                    by_board.entry(*query.board()).or_default().push(place);
                }
                let mut visit = |item: Item<'_>| {
                    let Item::Record { record, .. } = item else { return Ok(true) };
                    let places = by_board.get(&pack(&record.position().identity()));
                    for &place in places.into_iter().flatten() {
                        if found.wants(place) {
                            found.put(place, &record)?;
                        }
                    }
                    Ok(true)
                };
                match opened.take() {
                    Some(source) => {
                        let mut no_game = |_: &_, _: &_| Ok(Visited::Taken);
                        source::read_open(source, diagnostics, &mut visit, &mut no_game)?;
                    }
                    None => {
                        let paths = std::slice::from_ref(path);
                        source::read(paths, &args.read, diagnostics, &mut visit)?;
                    }
                }
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
            Searched::Store { reader, name, local, .. } => {
                let mut matches = reader.matches(query);
                while let Some(next) = matches.next_encoded() {
                    let next = next.map_err(|error| local.failed(error))?;
                    if is_taken(next, name, args)? {
                        visit(&record::decode(next.bytes())?.0)?;
                    }
                }
            }
            Searched::Archive { archive, name, .. } => {
                for found in archive.matches(query) {
                    let found = found.with_context(|| name.to_string())?;
                    let record = found.record().with_context(|| name.to_string())?;
                    if args.read.wanted.takes(&record, &place_of(name, found.number())) {
                        visit(&record)?;
                    }
                }
            }
            Searched::Scan { .. } => {}
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
    let (mut failure, mut line) = (Ok(()), Vec::new());
    let done: Result<(), ArchiveError> = archive.get_batch(queries, |place, matched| {
        match (&args.read.wanted.filter, found.keep) {
            (None, Keep::Nothing) => found.put_bytes(place, |_| ()),
            (None, Keep::Text) => {
                line.clear();
                matched.write_text(&WriteOptions::default(), &mut line)?;
                found.put_bytes(place, |out| out.extend_from_slice(&line));
            }
            _ => {
                let record = matched.record()?;
                if args.read.wanted.takes(&record, &place_of(name, matched.number())) {
                    failure = found.put(place, &record);
                }
            }
        }
        Ok(match found.wants(place) {
            _ if failure.is_err() => Visit::Stop,
            true => Visit::Continue,
            false => Visit::SkipQuery,
        })
    });
    done.with_context(|| name.to_string())?;
    failure
}

/// Whether `--where` takes a record of a store.
fn is_taken(stored: EncodedRecord<'_>, name: &Arc<str>, args: &Args) -> anyhow::Result<bool> {
    if args.read.wanted.filter.is_none() {
        return Ok(true);
    }
    let place = place_of(name, stored.number());
    Ok(args.read.wanted.takes(&record::decode(stored.bytes())?.0, &place))
}

/// The place of a record with this number, counted from 0.
fn place_of(name: &Arc<str>, number: u64) -> Place {
    Place::new(Arc::clone(name), At::Record(number + 1))
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
