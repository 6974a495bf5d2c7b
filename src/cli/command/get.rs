//! `epdb get`: all records of the positions asked for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::query;
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{self, Visited};
use crate::error::{At, Error, Place};
use crate::library::lookup::{Answer, AnswerForm, BatchLookup, LookupOptions, QuestionBatch};
use crate::model::EpdRecord;
use crate::source::{FileFormat, Filter, Item, Lines, OpenLookup, Source};
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
    let is_scanned = sources.iter().any(|source| matches!(source, Searched::Scan(_)));
    let limit = match is_scanned {
        true => BatchLimit { memory: usize::MAX, waits: true },
        false => BatchLimit { memory: args.memory.memory / 2, waits: false },
    };
    let mut asked = QuestionBatch::new();
    let mut found_all = true;
    while questions.next_batch(&limit, &mut asked, args, &mut diagnostics)? {
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
        Searched::Scan(Scanned { path, is_text: true, .. }) => Some(path.display()),
        _ => None,
    })?;
    Some(Usage(format!(
        "{text} is a source to search here, and nothing is asked; to find its positions in the \
         other sources say -f {text}"
    )))
}

/// Answers questions in their order; says whether each had a record.
fn answer(
    asked: &QuestionBatch,
    sources: &[Searched],
    args: &Args,
    diagnostics: &mut Diagnostics,
    output: &mut RecordOutput,
) -> anyhow::Result<bool> {
    let form = match (args.missing, output.is_canonical_text()) {
        (true, _) => AnswerForm::Presence,
        (_, true) => AnswerForm::Text,
        _ => AnswerForm::Record,
    };
    let options =
        LookupOptions::new().form(form).only_first(args.first).memory_bytes(args.memory.memory / 4);
    let filter = args.read.wanted.filter.as_ref().map(|filter| filter as &dyn Filter);
    let mut batch = BatchLookup::new(asked.queries(), options);
    for source in sources {
        match source {
            Searched::Lookup(source) => batch.search(&**source, source.name(), filter)?,
            Searched::Scan(source) => batch.scan(|take| source.read(args, diagnostics, take))?,
        }
    }
    batch.answer(|place, answer| {
        let tag = args.tag.then(|| asked.number(place));
        match answer {
            Answer::Missing if args.missing => {
                output.write_verbatim(asked.text(place))?;
                output.write_verbatim(b"\n")?;
            }
            Answer::Missing => {}
            Answer::Text(text) => output.write_line(tag, text)?,
            Answer::Record(record) => output.write_tagged(tag, record)?,
        }
        Ok(())
    })
}

/// When a batch of questions ends.
struct BatchLimit {
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
        limit: &BatchLimit,
        asked: &mut QuestionBatch,
        args: &Args,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<bool> {
        asked.clear();
        while asked.is_empty() || asked.memory_bytes() < limit.memory {
            if let Some((place, argument)) = self.arguments.next() {
                let text = argument.to_string_lossy();
                let mut question = Question { asked, args, diagnostics };
                question.read("FEN", place as u64 + 1, 0, text.as_bytes(), text.as_bytes())?;
            } else if self.open.is_some() {
                let may_wait = asked.is_empty() || limit.waits;
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
        Ok(!asked.is_empty())
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
    asked: &'q mut QuestionBatch,
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
    /// A store or an archive answers each question by itself.
    Lookup(Box<OpenLookup>),
    /// Anything else is read once, when all questions are known.
    Scan(Scanned),
}

/// A source that is read through.
struct Scanned {
    path: PathBuf,
    /// The source, if it cannot be opened once more.
    opened: RefCell<Option<Source>>,
    is_text: bool,
}

impl Searched {
    fn open(path: &Path, args: &Args) -> anyhow::Result<Searched> {
        let source = source::open(path, &args.read.source_options(false))?;
        if matches!(source.format(), FileFormat::Epdb | FileFormat::Epa) {
            let opened = OpenLookup::new(source, args.memory.memory)?;
            return Ok(Searched::Lookup(Box::new(opened)));
        }
        let is_text = source.format() == FileFormat::Epd;
        let opened = RefCell::new((!source.is_file()).then_some(source));
        Ok(Searched::Scan(Scanned { path: path.to_path_buf(), opened, is_text }))
    }
}

impl Scanned {
    /// Hands on all records.
    fn read(
        &self,
        args: &Args,
        diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(&EpdRecord) -> Result<(), Error>,
    ) -> anyhow::Result<()> {
        let mut visit = |item: Item<'_>| {
            if let Item::Record { record, .. } = item {
                take(&record)?;
            }
            Ok(true)
        };
        match self.opened.take() {
            Some(source) => {
                let mut no_game = |_: &_, _: &_| Ok(Visited::Taken);
                source::read_open(source, diagnostics, &mut visit, &mut no_game)
            }
            None => {
                let paths = std::slice::from_ref(&self.path);
                source::read(paths, &args.read, diagnostics, &mut visit)
            }
        }
    }
}
