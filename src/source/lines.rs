//! Reading of lines in batches, on all threads, in order.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::format::FileFormat;
use super::games::Pieces;
use super::in_order::{self, read_in_order};
use super::input::Input;
use super::input::Ready;
use super::item::{EncodedRecords, Filter, Item, Summary, VisitItem};
use super::lichess::csv::Columns;
use super::lichess::{evaluation, puzzle, scored};
use super::notes::Notes;
use super::options::{Encode, SourceOptions};
use super::plain_line::PlainLine;
use epdb_chess::codec::identity;
use epdb_chess::error::{At, Error, Place, Result, TableRow};
use epdb_chess::model::{EpdRecord, GameResult, Opcode, Operand, Operation};
use epdb_chess::text::epd::{self, Line, parse_line};
use epdb_chess::text::lines::{LineEnd, LineReader, Next, too_long};
use epdb_chess::text::{Diagnostic, ParseOptions, Setting, codes, fen};

const BATCH_LINES: usize = 4096;
const BATCH_BYTES: usize = 1 << 18;

/// Lines of text, from an input that may block.
pub struct Lines {
    reader: LineReader<Box<dyn Read + Send>>,
    ready: Option<Ready>,
    kind: LineKind,
    columns: Arc<Columns>,
    notes: Notes,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("reader", &self.reader)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl Lines {
    pub(super) fn new(input: Input, kind: LineKind, options: &SourceOptions) -> Lines {
        let columns = match kind {
            LineKind::EvaluationTable => scored::TABLE.columns(&input.start),
            _ => puzzle::TABLE.columns(&input.start),
        };
        let reader = LineReader::new(input.bytes, options.line_limit());
        let ready = input.ready;
        let notes = input.notes;
        Lines { reader, ready, kind, columns: Arc::new(columns), notes }
    }

    /// Takes the warnings about the compression and the character set, which are complete at the end
    /// of the lines.
    pub fn take_warnings(&self) -> Vec<(At, Diagnostic)> {
        self.notes.take()
    }

    pub(super) const fn kind(&self) -> LineKind {
        self.kind
    }

    /// The reader of the lines.
    pub const fn reader(&mut self) -> &mut LineReader<Box<dyn Read + Send>> {
        &mut self.reader
    }

    /// Reads more bytes, but does not block. Returns true if a line, or the end of the input, is
    /// available.
    ///
    /// # Errors
    /// Errors of the input.
    pub fn has_line(&mut self) -> io::Result<bool> {
        let Some(ready) = &self.ready else { return Ok(true) };
        while !self.reader.is_waiting() && ready.is_ready() {
            self.reader.read_more()?;
        }
        Ok(self.reader.is_waiting())
    }

    /// Takes the next lines, until the batch is full, the input ends, a line is too long, or the
    /// input would block. If `waits` is true, the first line may block. Returns the reason why it
    /// stopped; `None` if the batch is full.
    fn fill(&mut self, batch: &mut Batch, waits: bool) -> io::Result<Option<Stop>> {
        batch.first = self.reader.number() + 1;
        while batch.ends.len() < BATCH_LINES && batch.bytes.len() < BATCH_BYTES {
            let taken = batch.ends.len();
            let before = batch.bytes.len();
            let bytes = self.reader.lines_at_hand(BATCH_LINES - taken, before, &mut batch.ends);
            batch.bytes.extend_from_slice(bytes);
            if batch.ends.len() > taken {
                continue;
            }
            let may_wait = waits && taken == 0;
            if !may_wait && !self.has_line()? {
                return Ok(Some(Stop::Waiting));
            }
            match self.reader.next_line()? {
                None => return Ok(Some(Stop::End)),
                Some(Next::TooLong { number, .. }) => return Ok(Some(Stop::LongLine(number))),
                Some(Next::Line(line)) => {
                    let end = |len: usize| before + len;
                    batch
                        .ends
                        .push(LineEnd { text: end(line.text.len()), raw: end(line.raw.len()) });
                    batch.bytes.extend_from_slice(line.raw);
                }
            }
        }
        Ok(None)
    }
}

/// Passes lines to the visitor, in order.
struct OrderedOutput<'o> {
    options: &'o SourceOptions,
    place: Place,
    /// The record to which perft counts on the next lines belong.
    block: Option<Block>,
    /// The last line `id NAME` and its number, until a position follows.
    id: Option<(u64, Vec<u8>)>,
    kind: LineKind,
    /// Whether blank lines and comments belong to records, as in EPD and FEN.
    has_asides: bool,
    /// Unknown columns that were already reported. There is only one warning for all lines.
    told: HashSet<String>,
}

/// Maximum number of unknown columns that are remembered.
const MAX_COLUMNS: usize = 1000;

/// Consecutive lines that are read together.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Number of the first line.
    first: u64,
    ends: Vec<LineEnd>,
}

impl Batch {
    /// Bytes of a range of lines, line ends included.
    fn raw(&self, lines: Range<usize>) -> &[u8] {
        let end_before =
            |line: usize| line.checked_sub(1).map_or(0, |before| self.ends[before].raw);
        &self.bytes[end_before(lines.start)..end_before(lines.end)]
    }

    /// A line without its end.
    fn text(&self, line: usize) -> &[u8] {
        let raw = self.raw(line..line + 1);
        &raw[..raw.len() - (self.ends[line].raw - self.ends[line].text)]
    }

    fn number(&self, line: usize) -> u64 {
        self.first + line as u64
    }
}

/// Parsed lines of a batch, in order.
#[derive(Default)]
struct ReadLines {
    steps: Vec<BatchPart>,
    /// The encoded records.
    bytes: Vec<u8>,
    /// The end of each encoded record.
    ends: Vec<usize>,
}

/// One or several parsed lines.
enum BatchPart {
    /// Encoded records without diagnostics. `start` is the start of the first record in the encoded
    /// bytes. `ends` is the range of the ends of these records in the list of ends.
    Encoded { start: usize, ends: Range<usize> },
    /// Records that the filter excludes by their positions: their number.
    LeftOut(usize),
    /// A line that is not an encoded record.
    Line(ReadLine),
}

impl ReadLines {
    fn clear(&mut self) {
        self.steps.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds the encoded record whose bytes begin at `start` and are the last ones.
    fn push_encoded(&mut self, start: usize) {
        self.ends.push(self.bytes.len());
        let end = self.ends.len();
        match self.steps.last_mut() {
            Some(BatchPart::Encoded { ends, .. }) => ends.end = end,
            _ => self.steps.push(BatchPart::Encoded { start, ends: end - 1..end }),
        }
    }

    fn push_left_out(&mut self) {
        match self.steps.last_mut() {
            Some(BatchPart::LeftOut(count)) => *count += 1,
            _ => self.steps.push(BatchPart::LeftOut(1)),
        }
    }
}

enum OneLine {
    /// An encoded record without diagnostics.
    Encoded,
    /// A record that the filter excludes by its position.
    LeftOut,
    Parsed(ReadLine),
}

struct ReadLine {
    result: Result<Content, Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// Whether the filter takes the record.
    is_taken: bool,
    /// Values of the row of a table that are not in its record.
    row: Option<Arc<TableRow>>,
}

enum Content {
    Line(Line),
    /// An encoded record: its range of bytes, or the error.
    Encoded(Result<Range<usize>>),
}

/// Reason why a batch ends.
enum Stop {
    End,
    Waiting,
    LongLine(u64),
}

#[derive(Default)]
struct ParsedBatch {
    batch: Batch,
    read: ReadLines,
    /// Reason why no lines follow the batch.
    stop: Option<io::Result<Stop>>,
}

struct BatchReader {
    lines: Lines,
    /// Whether the next line may block; true if no batch is in work.
    waits: bool,
}

impl in_order::Batch for ParsedBatch {
    type Input = BatchReader;

    fn fill(&mut self, reader: &mut BatchReader) -> bool {
        self.batch.bytes.clear();
        self.batch.ends.clear();
        self.batch.bytes.reserve(BATCH_BYTES + BATCH_BYTES / 4);
        let waits = std::mem::take(&mut reader.waits);
        self.stop = reader.lines.fill(&mut self.batch, waits).transpose();
        self.stop.is_none()
    }

    fn fail(&mut self, error: Error) {
        (self.read, self.stop) = (ReadLines::default(), Some(Err(error.into())));
    }
}

pub(super) fn read<E: From<Error>>(
    lines: Lines,
    name: Arc<str>,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    let kind = match lines.kind {
        LineKind::Fen if options.text.labels || options.text.perft => LineKind::Epd,
        kind => kind,
    };
    let place = Place::new(Arc::clone(&name), At::Line(0));
    let columns = Arc::clone(&lines.columns);
    let told = HashSet::new();
    let may_be_plain = kind.may_be_plain();
    let has_asides = may_be_plain;
    let output = OrderedOutput { options, place, block: None, id: None, kind, has_asides, told };
    let plain_encoder = if may_be_plain { options.encode_plain() } else { None };
    let plain_filter = if may_be_plain { options.judge_plain() } else { None };
    let parser = Parser { options, name, kind, columns, plain_encoder, plain_filter };
    let flow = output.read(lines, &parser, visit)?;
    Ok(Summary { was_stopped: flow.is_break(), ..Summary::default() })
}

/// Parses lines, on any thread.
struct Parser<'o> {
    options: &'o SourceOptions,
    name: Arc<str>,
    kind: LineKind,
    columns: Arc<Columns>,
    /// Encodes lines that have only the fields of a position.
    plain_encoder: Option<&'o dyn Encode>,
    /// Decides by their positions about lines that have only the fields of a position.
    plain_filter: Option<&'o dyn Filter>,
}

impl Parser<'_> {
    fn read_lines(&self, batch: &Batch, read: &mut ReadLines) {
        read.clear();
        read.bytes.reserve(batch.bytes.len() + 8 * batch.ends.len());
        let mut place = Place::new(Arc::clone(&self.name), At::Line(0));
        for line in 0..batch.ends.len() {
            place.at = At::Line(batch.number(line));
            let start = read.bytes.len();
            match self.read_line(batch.text(line), &mut place, &mut read.bytes) {
                OneLine::Encoded => read.push_encoded(start),
                OneLine::LeftOut => read.push_left_out(),
                OneLine::Parsed(line) => read.steps.push(BatchPart::Line(line)),
            }
        }
    }

    /// Reads a line with only the fields of a position. An encoded record is appended to `encoded`. Returns
    /// `None` if the line has to be parsed: it is not such a line, or its position alone does not decide.
    #[inline(always)]
    fn read_plain(&self, text: &[u8], encoded: &mut Vec<u8>) -> Option<OneLine> {
        if self.plain_encoder.is_none() && self.plain_filter.is_none() {
            return None;
        }
        let identity = &identity::read_board(text)?;
        let line = PlainLine::read(text, identity, self.plain_filter)?;
        let PlainLine { record, is_canonical, judgement } = line;
        let is_taken = judgement?;
        if !is_taken {
            return Some(OneLine::LeftOut);
        }
        let encoder = self.plain_encoder?;
        let is_encoded = if is_canonical {
            encoder.encode_canonical(&record, text, encoded)
        } else {
            encoder.encode_plain(&record, encoded)
        };
        is_encoded.then_some(OneLine::Encoded)
    }

    /// Parses a line. An encoded record is appended to `encoded`.
    fn read_line(&self, text: &[u8], place: &mut Place, encoded: &mut Vec<u8>) -> OneLine {
        let options = self.options;
        let (text, row) = self.kind.split_row(text);
        place.row = row.map(Arc::new);
        if let Some(line) = self.read_plain(text, encoded) {
            return line;
        }
        let start = encoded.len();
        let mut warnings = Vec::new();
        let result = self.kind.parse(text, &self.columns, &options.text, &mut warnings);
        let is_taken = match (&options.filter, &result) {
            (Some(filter), Ok(Line::Record(record))) => filter.takes(record, None, place),
            _ => true,
        };
        let result = result.map(|line| match (line, options.encode_lines()) {
            (Line::Record(record), Some(encode)) if is_taken && !encode.only_plain() => {
                let done = encode.encode(&record, place, encoded);
                Content::Encoded(done.map(|()| start..encoded.len()))
            }
            (line, _) => Content::Line(line),
        });
        let says_nothing = matches!(result, Ok(Content::Encoded(Ok(_)))) && warnings.is_empty();
        if says_nothing {
            OneLine::Encoded
        } else {
            OneLine::Parsed(ReadLine { result, warnings, is_taken, row: place.row.take() })
        }
    }
}

impl OrderedOutput<'_> {
    /// Reads to the end, unless the visitor stops it.
    fn read<E: From<Error>>(
        mut self,
        lines: Lines,
        parser: &Parser<'_>,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let position_comes = false;
        let mut batches = BatchReader { lines, waits: true };
        let parse = |work: &mut ParsedBatch| parser.read_lines(&work.batch, &mut work.read);
        loop {
            let stop = read_in_order::<_, _, E>(&mut batches, &parse, &mut |work| {
                if self.hand_on_all(&work.batch, &mut work.read, visit)?.is_break() {
                    return Ok(ControlFlow::Break(None));
                }
                Ok(match work.stop.take() {
                    None => ControlFlow::Continue(()),
                    stop => ControlFlow::Break(stop),
                })
            });
            let Some(stop) = stop? else { return Ok(ControlFlow::Break(())) };
            let flow = match stop.map_err(|error| self.cannot_read_on(error))? {
                Stop::End => return self.end_block(position_comes, visit),
                Stop::Waiting => visit(Item::Waiting)?,
                Stop::LongLine(number) => {
                    let flow = self.end_block(position_comes, visit)?;
                    if flow.is_continue() {
                        self.reject_long_line(&mut batches.lines, number, visit)?;
                    }
                    flow
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
            batches.waits = true;
        }
    }

    fn hand_on_all<E: From<Error>>(
        &mut self,
        batch: &Batch,
        read: &mut ReadLines,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let ReadLines { steps, bytes, ends } = read;
        let mut line = 0;
        for step in steps.drain(..) {
            self.place.at = At::Line(batch.number(line));
            self.place.row = None;
            let flow = match step {
                BatchPart::Encoded { start, ends: those } => {
                    let raw = batch.raw(line..line + those.len());
                    line += those.len();
                    let records = EncodedRecords { bytes, start, ends: &ends[those] };
                    visit(Item::Encoded { records, place: &self.place, raw })?
                }
                BatchPart::LeftOut(count) => {
                    let raw = batch.raw(line..line + count);
                    line += count;
                    self.place.at = At::Line(batch.number(line - 1));
                    let count = count as u64;
                    let place = &self.place;
                    visit(Item::LeftOutMany { count, decoded: 0, place, raw })?
                }
                BatchPart::Line(read) => {
                    let raw = batch.raw(line..line + 1);
                    line += 1;
                    if self.options.text.perft {
                        self.gather(read, raw, visit)?
                    } else {
                        self.hand_on(read, bytes, raw, visit)?
                    }
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn cannot_read_on(&self, error: io::Error) -> Error {
        let place = Place { at: At::Line(self.place.number() + 1), ..self.place.clone() };
        Error::new("cannot read on").because(error).at(place)
    }

    fn may_stand(&self, line: &ReadLine) -> bool {
        !self.options.deny_warnings || line.warnings.is_empty()
    }

    fn report<E>(&mut self, found: &[Diagnostic], visit: &mut VisitItem<'_, E>) -> Result<(), E> {
        for diagnostic in found {
            // A line that is rejected for a warning needs its reason, even if it is a known one.
            let is_once = diagnostic.code == codes::W_LINE_COLUMN && !self.options.deny_warnings;
            if is_once && self.was_told(&diagnostic.message) {
                continue;
            }
            // A visitor that stops here is asked again with the line itself.
            let _ = visit(Item::Diagnostic { diagnostic, place: &self.place })?;
        }
        Ok(())
    }

    /// Remembers a message. Returns true if the message was already reported.
    fn was_told(&mut self, message: &str) -> bool {
        let was_told = self.told.contains(message);
        if !was_told && self.told.len() < MAX_COLUMNS {
            self.told.insert(message.to_string());
        }
        was_told
    }

    /// Passes a line to the visitor. If it is an encoded record, `encoded` has the bytes of all
    /// encoded records of its batch.
    fn hand_on<E: From<Error>>(
        &mut self,
        mut line: ReadLine,
        encoded: &[u8],
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let may_stand = self.may_stand(&line);
        self.place.row = line.row.take();
        self.report(&line.warnings, visit)?;
        match line.result {
            Ok(Content::Encoded(place)) if may_stand => {
                let Range { start, end } = place?;
                let records = EncodedRecords { bytes: encoded, start, ends: &[end] };
                visit(Item::Encoded { records, place: &self.place, raw })
            }
            Ok(Content::Line(Line::Record(record))) if may_stand => {
                self.hand_on_record(record, line.is_taken, raw, visit)
            }
            Ok(Content::Line(Line::Blank | Line::Comment)) if may_stand => {
                let aside = self.has_asides.then_some(&self.place);
                visit(Item::Skipped { raw, is_game: false, aside })
            }
            result => {
                let error = result.err().map(|error| with_advice(error, raw));
                self.report(error.as_slice(), visit)?;
                let place = &self.place;
                let raw = &self.kind.without_row(raw);
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
    ) -> Result<ControlFlow<()>, E> {
        let place = &self.place;
        if is_taken {
            visit(Item::Record { record, place, raw, game: None })
        } else {
            visit(Item::LeftOut { record: Some(record), place, raw })
        }
    }

    /// Passes a line to the visitor, or keeps it in its block. A block is a position whose name and
    /// perft counts are on separate lines.
    fn gather<E: From<Error>>(
        &mut self,
        line: ReadLine,
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        if matches!(line.result, Ok(Content::Line(Line::Comment))) && self.may_stand(&line) {
            return self.gather_comment(raw, visit);
        }
        let kind = BlockLine::parse(raw);
        if let (Some(BlockLine::Count(opcode, nodes)), Some(block)) = (&kind, &mut self.block)
            && block.add(*opcode, nodes)
        {
            block.raw.extend_from_slice(raw);
            return Ok(ControlFlow::Continue(()));
        }
        let is_position = kind == Some(BlockLine::Position) && line.result.is_ok();
        let begins = is_position && self.may_stand(&line);
        let flow = self.end_block(begins, visit)?;
        if flow.is_break() {
            return Ok(flow);
        }
        let number = self.place.number();
        match (kind, line.result) {
            (Some(BlockLine::Id(_)), _) => self.id = Some((number, raw.to_vec())),
            (_, Ok(Content::Line(Line::Record(record)))) if begins => {
                self.report(&line.warnings, visit)?;
                self.block = Some(Block::new(record, number, self.id.take(), raw));
            }
            (_, result) => return self.hand_on(ReadLine { result, ..line }, &[], raw, visit),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Keeps a comment in its block. A block is a position whose name and perft counts are on
    /// separate lines.
    fn gather_comment<E: From<Error>>(
        &mut self,
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        if let Some(block) = &mut self.block {
            block.raw.extend_from_slice(raw);
        } else if let Some((_, id)) = &mut self.id {
            id.extend_from_slice(raw);
        } else {
            let aside = self.has_asides.then_some(&self.place);
            return visit(Item::Skipped { raw, is_game: false, aside });
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Passes a block to the visitor. A block is a position whose name and perft counts are on
    /// separate lines. A block that has no position yet is passed only if no position follows.
    fn end_block<E: From<Error>>(
        &mut self,
        position_comes: bool,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let at = self.place.at;
        let mut flow = ControlFlow::Continue(());
        if let Some(Block { record, line, raw }) = self.block.take() {
            self.place.at = At::Line(line);
            let is_taken = self.options.takes(&record, None, &self.place);
            flow = self.hand_on_record(record, is_taken, &raw, visit)?;
        }
        if !position_comes && let Some((line, raw)) = self.id.take() {
            self.place.at = At::Line(line);
            let mut warnings = Vec::new();
            let own = raw.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or(&raw);
            let result = parse_line(own, &self.options.text, &mut warnings);
            let result = result.map(Content::Line);
            let line = ReadLine { result, warnings, is_taken: true, row: None };
            if flow.is_continue() {
                flow = self.hand_on(line, &[], &raw, visit)?;
            }
        }
        self.place.at = at;
        Ok(flow)
    }

    /// Reports a line over the limit, and passes its bytes to the visitor in pieces.
    fn reject_long_line<E: From<Error>>(
        &mut self,
        lines: &mut Lines,
        number: u64,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<(), E> {
        self.place.at = At::Line(number);
        self.report(&[too_long(self.options.line_limit())], visit)?;
        let mut pieces = Pieces::new(&self.place, false, visit);
        let copied = lines.reader().copy_long_line(&mut pieces);
        pieces.finish(copied.map(drop))
    }
}

/// Adds advice to the error of a line that belongs to another kind of file.
fn with_advice(error: Diagnostic, raw: &[u8]) -> Diagnostic {
    if error.code != codes::E_EPD_FIELDS {
        return error;
    }
    if matches!(BlockLine::parse(raw), Some(BlockLine::Id(_) | BlockLine::Count(..))) {
        return error.with_setting(Setting::Perft);
    }
    let text = raw.trim_ascii();
    if matches!(text, [b'[', b'A'..=b'Z' | b'a'..=b'z', .., b']']) {
        let advice = "a tag pair of PGN among records: put games into a .pgn file of their own";
        return Diagnostic { message: format!("{}; {advice}", error.message), ..error };
    }
    let mut words = raw.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_plain = match (words.next(), words.next(), words.next()) {
        (Some(b"e"), None, None) => true,
        (Some(name), Some(_), None) => matches!(name, b"move" | b"score" | b"ply" | b"result"),
        _ => false,
    };
    if !is_plain {
        return error;
    }
    let advice = "a line of a .plain file of training positions: `grep ^fen` gives the positions";
    Diagnostic { message: format!("{}; {advice}", error.message), ..error }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum LineKind {
    /// EPD in any of the dialects that are read.
    Epd,
    /// FEN and nothing else.
    Fen,
    /// An evaluated position of lichess.
    Evaluation,
    Puzzle,
    EvaluationTable,
    /// A row of a Parquet table of records: a line of EPD, then [`ROW_SEPARATOR`] and the values of
    /// a [`TableRow`], separated by commas; or [`ROW_FAULT`] and the reason why the row is no record.
    Row,
}

/// The byte between the EPD and the other values of a row.
pub(super) const ROW_SEPARATOR: u8 = 0x1f;
/// The byte before the reason why a row is no record.
const ROW_FAULT: u8 = 0x1e;

impl LineKind {
    /// The format of the lines; FEN counts as EPD.
    pub(super) const fn format(self) -> FileFormat {
        match self {
            LineKind::Epd | LineKind::Fen | LineKind::Row => FileFormat::Epd,
            LineKind::Evaluation => FileFormat::LichessEvaluations,
            LineKind::Puzzle => FileFormat::LichessPuzzles,
            LineKind::EvaluationTable => FileFormat::EvaluationTable,
        }
    }

    /// Whether a line may have only the fields of a position.
    pub(super) const fn may_be_plain(self) -> bool {
        matches!(self, LineKind::Epd | LineKind::Fen)
    }

    /// Splits the line of a row into its EPD and its other values.
    fn split_row(self, line: &[u8]) -> (&[u8], Option<TableRow>) {
        if self != LineKind::Row {
            return (line, None);
        }
        // The values have no separator, but a text of the record might.
        match memchr::memrchr(ROW_SEPARATOR, line) {
            Some(end) => (&line[..end], read_row(&line[end + 1..])),
            None => (line, None),
        }
    }

    /// A line, with its end, as it is saved if it is rejected.
    fn without_row(self, raw: &[u8]) -> Cow<'_, [u8]> {
        if self == LineKind::Row && raw.first() == Some(&ROW_FAULT) {
            return raw[1..].into();
        }
        let (line, _) = self.split_row(raw);
        if line.len() == raw.len() { raw.into() } else { [line, b"\n"].concat().into() }
    }

    /// Parses a line without its line end; `columns` are the columns of a table.
    ///
    /// # Errors
    /// The reason why it is not a record, with the column.
    pub(super) fn parse(
        self,
        line: &[u8],
        columns: &Columns,
        options: &ParseOptions,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Line, Diagnostic> {
        match self {
            LineKind::Row if line.first() == Some(&ROW_FAULT) => {
                let reason = String::from_utf8_lossy(&line[1..]);
                Err(Diagnostic::error(codes::E_LINE_CSV, 1, reason))
            }
            LineKind::Epd | LineKind::Row => epd::parse_line(line, options, warnings),
            LineKind::Fen => fen::parse_line(line, options, warnings),
            LineKind::Evaluation => evaluation::parse_line(line, options, warnings),
            LineKind::Puzzle => puzzle::parse_line(line, columns, options, warnings),
            LineKind::EvaluationTable => scored::parse_line(line, columns, options, warnings),
        }
    }
}

/// Writes the separator and the values of a row. [`LineKind::split_row`] reads them.
#[cfg(feature = "parquet")]
pub(super) fn write_row(row: &TableRow, out: &mut Vec<u8>) {
    out.push(ROW_SEPARATOR);
    let TableRow { result, ply, game, clock_ms, elapsed_ms } = row;
    if *row == TableRow::default() {
        return;
    }
    let shown = |number: Option<i64>| number.map_or_else(String::new, |it| it.to_string());
    let game = game.map_or_else(String::new, |it| it.to_string());
    let ply = shown(*ply);
    let clock = shown(*clock_ms);
    let elapsed = shown(*elapsed_ms);
    let values = [result.unwrap_or_default(), &ply, &game, &clock, &elapsed];
    out.extend_from_slice(values.join(",").as_bytes());
}

/// Writes the reason why a row is no record, in one line.
#[cfg(feature = "parquet")]
pub(super) fn write_fault(reason: &Error, out: &mut Vec<u8>) {
    out.push(ROW_FAULT);
    out.extend_from_slice(reason.to_string().replace(char::is_control, " ").as_bytes());
}

/// The values of a row; `None` if there are none.
fn read_row(text: &[u8]) -> Option<TableRow> {
    let mut values = std::str::from_utf8(text).ok()?.trim_end().split(',');
    let result = GameResult::from_text(values.next()?.as_bytes()).map(GameResult::as_str);
    let ply = values.next()?.parse().ok();
    let game = values.next()?.parse().ok();
    let clock_ms = values.next()?.parse().ok();
    let elapsed_ms = values.next()?.parse().ok();
    Some(TableRow { result, ply, game, clock_ms, elapsed_ms })
}

/// A record whose perft counts are being collected from the lines after its position.
pub(super) struct Block {
    pub(super) record: EpdRecord,
    /// The number of the line that has the position.
    pub(super) line: u64,
    /// All lines of the block.
    pub(super) raw: Vec<u8>,
}

/// A line that belongs to a block.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum BlockLine<'a> {
    /// A line `id NAME`.
    Id(&'a [u8]),
    /// A line `epd FIELDS`, with a position.
    Position,
    /// A line `perft DEPTH NODES`.
    Count(Opcode, &'a [u8]),
}

impl BlockLine<'_> {
    pub(super) fn parse(line: &[u8]) -> Option<BlockLine<'_>> {
        let is_number = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        // No line is decided by its fifth word.
        let words: Vec<&[u8]> = words.take(4).collect();
        match words[..] {
            [b"id", name] => Some(BlockLine::Id(name)),
            [b"epd", _, _, _] => Some(BlockLine::Position),
            [b"perft", depth, nodes] if is_number(depth) && is_number(nodes) => {
                let opcode = Opcode::new(&[b"D", depth].concat()).ok()?;
                Some(BlockLine::Count(opcode, nodes))
            }
            _ => None,
        }
    }
}

impl Block {
    /// Begins a block with a position, and with the line `id NAME` before it, if any.
    pub(super) fn new(
        mut record: EpdRecord,
        line: u64,
        id: Option<(u64, Vec<u8>)>,
        raw: &[u8],
    ) -> Block {
        let mut lines = id.map(|(_, id)| id).unwrap_or_default();
        let own = lines.split_inclusive(|byte| matches!(byte, b'\r' | b'\n')).next();
        if let Some(BlockLine::Id(name)) = own.and_then(BlockLine::parse)
            && record.operands(Opcode::ID).is_none()
        {
            record.set(Operation { opcode: Opcode::ID, operands: vec![Operand::string(name)] });
        }
        lines.extend_from_slice(raw);
        Block { record, line, raw: lines }
    }

    /// Adds a perft count. Returns false if the record already has a different count of this depth.
    pub(super) fn add(&mut self, opcode: Opcode, nodes: &[u8]) -> bool {
        let is_new = self.record.operands(opcode).is_none();
        if is_new {
            self.record.set(Operation { opcode, operands: vec![Operand::token(nodes)] });
        }
        is_new
    }
}
