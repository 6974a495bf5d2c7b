//! Records of lines, which are read in batches on all threads and handed on in their order.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::games::Pieces;
use super::input::Input;
use super::item::{Item, Summary, VisitItem};
use super::options::SourceOptions;
use super::perft_blocks::{Block, BlockLine};
use super::read_ahead::Ready;
use crate::error::{At, Error, Place, Result};
use crate::model::EpdRecord;
use crate::text::epd::{Line, parse_line};
use crate::text::lines::{self, LineReader, Next};
use crate::text::{Diagnostic, fen};

/// How many lines are read at a time, and how many bytes of them at the most.
const BATCH_LINES: usize = 8192;
const BATCH_BYTES: usize = 1 << 20;

/// Lines of text whose bytes may have to be waited for.
pub struct Lines {
    reader: LineReader<Box<dyn Read + Send>>,
    ready: Option<Ready>,
    /// Whether they are FEN and nothing else.
    is_fen: bool,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("reader", &self.reader)
            .field("is_fen", &self.is_fen)
            .finish_non_exhaustive()
    }
}

impl Lines {
    pub(super) fn new(input: Input, is_fen: bool, options: &SourceOptions) -> Lines {
        let reader = LineReader::new(input.bytes, options.line_limit());
        Lines { reader, ready: input.ready, is_fen }
    }

    /// The lines themselves.
    pub const fn reader(&mut self) -> &mut LineReader<Box<dyn Read + Send>> {
        &mut self.reader
    }

    /// Reads on as long as that needs no waiting, until a line is there; says whether one, or the
    /// end, is.
    ///
    /// # Errors
    /// What the input reports.
    pub fn has_line(&mut self) -> io::Result<bool> {
        let Some(ready) = &self.ready else { return Ok(true) };
        while !self.reader.is_waiting() && ready.is_ready() {
            self.reader.read_more()?;
        }
        Ok(self.reader.is_waiting())
    }
}

/// Lines on their way to records.
struct Reading<'o> {
    lines: Lines,
    options: &'o SourceOptions,
    /// The line that is handed on.
    place: Place,
    /// The record that perft counts of the next lines belong to.
    block: Option<Block>,
    /// The line `id NAME` that was read last, and its number, if nothing came behind it.
    id: Option<(u64, Vec<u8>)>,
}

/// A line of a batch: where its bytes are.
struct BatchLine {
    number: u64,
    text: Range<usize>,
    raw: Range<usize>,
}

/// What the reader made of a line.
struct ReadLine {
    result: Result<Line, Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// Whether the filter takes the record, if it is one.
    is_taken: bool,
}

/// Why a batch ended.
enum Stop {
    Full,
    End,
    Waiting,
    LongLine(u64),
}

/// Reads lines of text.
pub(super) fn read<E: From<Error>>(
    lines: Lines,
    name: Arc<str>,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    let place = Place::new(name, At::Line(0));
    let is_whole = Reading { lines, options, place, block: None, id: None }.read(visit)?;
    Ok(Summary { was_stopped: !is_whole, ..Summary::default() })
}

impl Reading<'_> {
    /// Reads to the end; false when no more is wanted.
    fn read<E: From<Error>>(&mut self, visit: &mut VisitItem<'_, E>) -> Result<bool, E> {
        let (mut bytes, mut batch) = (Vec::new(), Vec::new());
        loop {
            let stop = self.fill(&mut bytes, &mut batch);
            for (line, result) in batch.iter().zip(self.read_batch(&bytes, &batch)) {
                self.place.at = At::Line(line.number);
                let raw = &bytes[line.raw.clone()];
                let goes_on = match self.options.text.perft {
                    true => self.gather(result, raw, visit)?,
                    false => self.hand_on(result, raw, visit)?,
                };
                if !goes_on {
                    return Ok(false);
                }
            }
            let goes_on = match stop.map_err(|error| self.cannot_read_on(error))? {
                Stop::Full => true,
                Stop::End => return self.end_block(false, visit),
                Stop::Waiting => visit(Item::Waiting)?,
                Stop::LongLine(number) => {
                    self.end_block(false, visit)? && self.reject_long_line(number, visit)?
                }
            };
            if !goes_on {
                return Ok(false);
            }
        }
    }

    fn cannot_read_on(&self, error: io::Error) -> Error {
        let place = Place { at: At::Line(self.place.number() + 1), ..self.place.clone() };
        Error::new("cannot read on").because(error).at(place)
    }

    /// Takes the next lines, until there are enough, the input ends, a line is too long, or more
    /// would have to be waited for.
    fn fill(&mut self, bytes: &mut Vec<u8>, batch: &mut Vec<BatchLine>) -> io::Result<Stop> {
        bytes.clear();
        batch.clear();
        while batch.len() < BATCH_LINES && bytes.len() < BATCH_BYTES {
            if !batch.is_empty() && !self.lines.has_line()? {
                return Ok(Stop::Waiting);
            }
            match self.lines.reader().next_line()? {
                None => return Ok(Stop::End),
                Some(Next::TooLong { number, .. }) => return Ok(Stop::LongLine(number)),
                Some(Next::Line(line)) => {
                    let start = bytes.len();
                    bytes.extend_from_slice(line.raw);
                    let text = start..start + line.text.len();
                    batch.push(BatchLine { number: line.number, text, raw: start..bytes.len() });
                }
            }
        }
        Ok(Stop::Full)
    }

    /// Reads the lines of a batch on all threads; the results are in the order of the lines.
    fn read_batch(&self, bytes: &[u8], batch: &[BatchLine]) -> Vec<ReadLine> {
        let (options, name) = (self.options, &self.place.source);
        let parse_line = match self.lines.is_fen && !options.text.labels && !options.text.perft {
            true => fen::parse_line,
            false => parse_line,
        };
        let read = |line: &BatchLine| {
            let mut warnings = Vec::new();
            let result = parse_line(&bytes[line.text.clone()], &options.text, &mut warnings);
            let is_taken = match (&options.filter, &result) {
                (Some(filter), Ok(Line::Record(record))) => {
                    let place = Place::new(Arc::clone(name), At::Line(line.number));
                    filter.takes(record, None, &place)
                }
                _ => true,
            };
            ReadLine { result, warnings, is_taken }
        };
        batch.par_iter().with_min_len(64).map(read).collect()
    }

    fn may_stand(&self, line: &ReadLine) -> bool {
        !self.options.deny_warnings || line.warnings.is_empty()
    }

    fn report<E>(&self, found: &[Diagnostic], visit: &mut VisitItem<'_, E>) -> Result<(), E> {
        for diagnostic in found {
            visit(Item::Diagnostic { diagnostic, place: &self.place })?;
        }
        Ok(())
    }

    /// Hands on what a line became.
    fn hand_on<E>(
        &self,
        line: ReadLine,
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<bool, E> {
        let may_stand = self.may_stand(&line);
        self.report(&line.warnings, visit)?;
        match line.result {
            Ok(Line::Record(record)) if may_stand => {
                self.hand_on_record(record, line.is_taken, raw, visit)
            }
            Ok(Line::Blank | Line::Comment) if may_stand => {
                visit(Item::Skipped { raw, is_game: false })
            }
            result => {
                self.report(result.err().as_slice(), visit)?;
                let place = &self.place;
                visit(Item::Rejected { raw, place, is_more: false, is_game: false })
            }
        }
    }

    fn hand_on_record<E>(
        &self,
        record: EpdRecord,
        is_taken: bool,
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<bool, E> {
        match is_taken {
            true => visit(Item::Record { record, place: &self.place, raw, game: None }),
            false => visit(Item::LeftOut { record: Some(record), raw }),
        }
    }

    /// Hands a line on, or keeps it with its block: positions whose name and perft counts stand on
    /// lines of their own.
    fn gather<E>(
        &mut self,
        line: ReadLine,
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<bool, E> {
        let kind = BlockLine::of(raw);
        if let (Some(BlockLine::Count(opcode, nodes)), Some(block)) = (&kind, &mut self.block)
            && block.add(*opcode, nodes)
        {
            block.raw.extend_from_slice(raw);
            return Ok(true);
        }
        let is_position = kind == Some(BlockLine::Position) && line.result.is_ok();
        let begins = is_position && self.may_stand(&line);
        if !self.end_block(begins, visit)? {
            return Ok(false);
        }
        let number = self.place.number();
        match (kind, line.result) {
            (Some(BlockLine::Id(_)), _) => self.id = Some((number, raw.to_vec())),
            (_, Ok(Line::Record(record))) if begins => {
                self.report(&line.warnings, visit)?;
                self.block = Some(Block::new(record, number, self.id.take(), raw));
            }
            (_, result) => return self.hand_on(ReadLine { result, ..line }, raw, visit),
        }
        Ok(true)
    }

    /// Hands on what is left of a block; of one that has no position yet only if none comes.
    fn end_block<E>(
        &mut self,
        position_comes: bool,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<bool, E> {
        let at = self.place.at;
        let mut goes_on = true;
        if let Some(Block { record, line, raw }) = self.block.take() {
            self.place.at = At::Line(line);
            let is_taken = self.options.takes(&record, None, &self.place);
            goes_on = self.hand_on_record(record, is_taken, &raw, visit)?;
        }
        if let Some((line, raw)) = self.id.take_if(|_| !position_comes) {
            self.place.at = At::Line(line);
            let mut warnings = Vec::new();
            let result = parse_line(raw.trim_ascii_end(), &self.options.text, &mut warnings);
            let line = ReadLine { result, warnings, is_taken: true };
            goes_on = goes_on && self.hand_on(line, &raw, visit)?;
        }
        self.place.at = at;
        Ok(goes_on)
    }

    /// Reports a line over the limit and hands its bytes on in pieces.
    fn reject_long_line<E: From<Error>>(
        &mut self,
        number: u64,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<bool, E> {
        self.place.at = At::Line(number);
        self.report(&[lines::too_long(self.options.line_limit())], visit)?;
        let mut pieces = Pieces::new(&self.place, false, visit);
        let copied = self.lines.reader().copy_long_line(&mut pieces);
        pieces.finish(copied.map(drop))?;
        Ok(true)
    }
}
