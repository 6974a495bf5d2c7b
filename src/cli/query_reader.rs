//! Reader of positions to find, in arguments or in files.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::cli::args::ReadArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::source;
use epdb::error::{At, Place};
use epdb::library::lookup::QuestionBatch;
use epdb::library::question;
use epdb::model::Position;
use epdb::source::Lines;
use epdb::text::lines::{self, Next};
use epdb::text::{ParseOptions, PositionLine};

/// The longest question that is read.
const MAX_QUESTION: usize = 1 << 20;

/// When a batch of questions ends.
pub(crate) struct BatchLimit {
    /// Bytes of memory for its questions.
    pub(crate) memory: usize,
    /// Whether to wait for more when there are no more questions now: nobody gets an answer before
    /// he asked everything.
    pub(crate) waits: bool,
}

/// Reader of the positions to find: from arguments, then from the lines of files.
pub(crate) struct QueryReader<'a> {
    arguments: std::iter::Enumerate<std::vec::IntoIter<&'a OsStr>>,
    files: VecDeque<&'a Path>,
    open: Option<OpenFile>,
    /// Lines of the files before the open one.
    lines_before: u64,
    /// Lines of all files that were read.
    pub(crate) lines_read: u64,
}

/// A file of questions.
struct OpenFile {
    name: Arc<str>,
    lines: Lines,
}

impl OpenFile {
    fn open(
        path: &Path,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<OpenFile> {
        let lines = source::open_lines(path, MAX_QUESTION, args, diagnostics)?;
        Ok(OpenFile { name: path.to_string_lossy().into(), lines })
    }

    fn has_line(&mut self) -> anyhow::Result<bool> {
        let OpenFile { name, lines } = self;
        lines.has_line().with_context(|| format!("{name}: cannot read on"))
    }
}

impl<'a> QueryReader<'a> {
    /// Arguments and files; standard input when there are none of either.
    pub(crate) fn new(arguments: Vec<&'a OsStr>, files: &'a [PathBuf]) -> QueryReader<'a> {
        let mut files: VecDeque<&Path> = files.iter().map(PathBuf::as_path).collect();
        if arguments.is_empty() && files.is_empty() {
            files.push_back(Path::new("-"));
        }
        let arguments = arguments.into_iter().enumerate();
        QueryReader { arguments, files, open: None, lines_before: 0, lines_read: 0 }
    }

    /// Whether another question, or the end, is there without waiting for it.
    pub(crate) fn is_waiting(&mut self) -> anyhow::Result<bool> {
        self.open.as_mut().map_or(Ok(true), OpenFile::has_line)
    }

    /// Takes the next questions, at least one unless the end has come; false at the end. What is
    /// no position is rejected.
    pub(crate) fn next_batch(
        &mut self,
        limit: &BatchLimit,
        asked: &mut QuestionBatch,
        args: &ReadArgs,
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
            lines.copy_long_line(&mut diagnostics.reject_sink()?)?;
        }
        Ok(())
    }
}

/// Destination of one question.
struct Question<'q> {
    asked: &'q mut QuestionBatch,
    args: &'q ReadArgs,
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
        match question::parse_query(text, &self.args.form.options()) {
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

/// Whether an argument is a position: it has a blank in it, and no file has its name.
pub(crate) fn is_position(argument: &OsStr) -> bool {
    let has_blank = argument.to_string_lossy().contains([' ', '\t']);
    has_blank && !Path::new(argument).exists()
}

/// The position that the words of arguments say, and the line to it; the start for none.
///
/// # Errors
/// They say none.
pub(crate) fn parse_position(
    words: &[String],
    options: &ParseOptions,
) -> anyhow::Result<PositionLine> {
    let text = words.join(" ");
    let line = PositionLine::parse(text.as_bytes(), options)
        .map_err(|error| anyhow::anyhow!("POSITION:1:{error}"))?;
    match line {
        Some(line) => Ok(line),
        None if text.is_empty() => Ok(PositionLine::new(Position::START)),
        None => anyhow::bail!("expected a position, found {text}"),
    }
}
