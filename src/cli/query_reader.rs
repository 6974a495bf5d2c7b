//! Reader of positions to find, in arguments or in files.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::cli::args::{FormArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::source;
use epdb_chess::error::{At, Place};
use epdb_chess::model::Position;
use epdb_chess::text::lines::{self, Next};
use epdb_chess::text::{ParseOptions, PositionLine};
use epdb_library::lookup::QuestionBatch;
use epdb_library::question;
use epdb_source::{Lines, name_of};

/// Longest line of a position.
const MAX_QUESTION: usize = 1 << 20;

pub(crate) struct BatchLimit {
    pub(crate) memory_bytes: usize,
    /// True if the reader waits for more input, because no answer is printed before all positions
    /// are read.
    pub(crate) waits: bool,
}

/// Reader of the positions to find: from arguments, then from the lines of files.
pub(crate) struct QueryReader<'a> {
    arguments: std::iter::Enumerate<std::vec::IntoIter<&'a OsStr>>,
    files: VecDeque<&'a Path>,
    open: Option<OpenFile>,
    /// Number of lines in the files before the open file.
    lines_before: u64,
    /// Number of lines that were read, in all files.
    pub(crate) lines_read: u64,
}

/// A file of positions to find.
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
        Ok(OpenFile { name: name_of(path).into(), lines })
    }

    fn has_line(&mut self) -> anyhow::Result<bool> {
        let OpenFile { name, lines } = self;
        lines.has_line().with_context(|| format!("{name}: cannot read on"))
    }
}

impl<'a> QueryReader<'a> {
    /// Reader of arguments and files; of standard input if both are empty.
    pub(crate) fn new(arguments: Vec<&'a OsStr>, files: &'a [PathBuf]) -> QueryReader<'a> {
        let mut files: VecDeque<&Path> = files.iter().map(PathBuf::as_path).collect();
        if arguments.is_empty() && files.is_empty() {
            files.push_back(Path::new("-"));
        }
        let arguments = arguments.into_iter().enumerate();
        QueryReader { arguments, files, open: None, lines_before: 0, lines_read: 0 }
    }

    /// True if the next position, or the end, can be read without waiting.
    pub(crate) fn is_waiting(&mut self) -> anyhow::Result<bool> {
        self.open.as_mut().map_or(Ok(true), OpenFile::has_line)
    }

    /// Reads the next positions, at least one before the end; returns false at the end. Invalid
    /// positions are rejected.
    pub(crate) fn next_batch(
        &mut self,
        limit: &BatchLimit,
        asked: &mut QuestionBatch,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<bool> {
        asked.clear();
        while asked.is_empty() || asked.memory_used() < limit.memory_bytes {
            if let Some((place, argument)) = self.arguments.next() {
                let text = argument.to_string_lossy();
                let mut question = Question { asked, args, diagnostics };
                question.read("position", place as u64 + 1, 0, text.as_bytes(), text.as_bytes())?;
            } else if self.open.is_some() {
                let may_wait = asked.is_empty() || limit.waits;
                if !may_wait && !self.is_waiting()? {
                    break;
                }
                self.next_line(Question { asked, args, diagnostics })?;
            } else if let Some(path) = self.files.pop_front() {
                diagnostics.begin_source();
                self.open = Some(OpenFile::open(path, args, diagnostics)?);
                self.lines_before = self.lines_read;
            } else {
                break;
            }
        }
        Ok(!asked.is_empty())
    }

    /// Reads the next line of the open file, or closes it at its end.
    fn next_line(&mut self, mut question: Question<'_>) -> anyhow::Result<()> {
        let Some(OpenFile { name, lines }) = &mut self.open else { return Ok(()) };
        let name = Arc::clone(name);
        let lines = lines.reader();
        let next = lines.next_line().with_context(|| format!("{name}: cannot read on"))?;
        let is_long = match next {
            None => {
                let ended = self.open.take();
                for (at, warning) in ended.iter().flat_map(|ended| ended.lines.take_warnings()) {
                    question.diagnostics.report(&Place::new(Arc::clone(&name), at), &warning)?;
                }
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
    /// Reads a line of a file. `before` is the number of lines in earlier files.
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

/// Position in arguments, with the moves that lead to it; the start position by default.
///
/// # Errors
///
/// The arguments are not a position.
pub(crate) fn parse_position(
    words: &[String],
    options: &ParseOptions,
) -> anyhow::Result<PositionLine> {
    let text = words.join(" ");
    let line = PositionLine::parse(text.as_bytes(), options)
        .map_err(|error| anyhow::anyhow!("position:1:{error}"))?;
    match line {
        Some(line) => Ok(line),
        None if text.is_empty() => Ok(PositionLine::new(Position::START)),
        None => anyhow::bail!("expected a position, found {text}"),
    }
}

/// Position of an argument, and the moves that lead to it if the argument gives moves; the start
/// position without an argument.
pub(crate) fn parse_root(text: Option<&str>, form: &FormArgs) -> anyhow::Result<PositionLine> {
    let Some(text) = text else { return Ok(PositionLine::new(Position::START)) };
    let line = PositionLine::parse(text.as_bytes(), &form.options())
        .map_err(|error| anyhow::anyhow!("--root:1:{error}"))?;
    line.ok_or_else(|| anyhow::anyhow!("expected a position, found {text}"))
}
