//! Comments and blank lines, copied from text to text.
//!
//! The lines before a record belong to the record, and are written before it in any order of
//! records. A first block that ends in a blank line is the header of its file and stays first.
//! Lines after the last record of a file stay after it.

use std::collections::{HashMap, VecDeque};
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epdb_chess::error::Place;
use epdb_chess::model::EpdRecord;
use epdb_chess::text::epd::{Line, parse_line};
use epdb_chess::text::{Diagnostic, ParseOptions, codes};
use epdb_library::sets::{self, By};
use epdb_source::Item;

/// Largest number of bytes of lines that wait for their records. Further lines are dropped.
const MAX_BYTES: usize = 64 << 20;

/// Order of records between source and output.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) enum CommentOrder {
    /// The output has no comments, or has other records than the source.
    #[default]
    None,
    /// Each record is written, or left out, before the next record is read.
    Stream,
    /// All records are written in order, but maybe later.
    Queue,
    /// All records are read before the first is written. They are recognised by this comparison.
    Collect(By),
    /// The output cannot store comments.
    Drop,
}

/// The comments of a run, which are passed from the sources to the output.
#[derive(Clone, Default)]
pub(crate) struct Comments(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// True if no lines wait and no record has to be counted, which is the usual state.
    is_idle: AtomicBool,
    has_written: AtomicBool,
    state: Mutex<State>,
}

/// Lines of text, with the number of comments among them.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) text: Vec<u8>,
    comments: u64,
    /// Place of the first comment.
    first: Option<Place>,
}

#[derive(Default)]
struct State {
    way: CommentOrder,
    /// True if comments of the current source are not written.
    is_paused: bool,
    /// Lines to write before the next record of the output.
    head: Block,
    /// Lines of the source up to the last blank line before its first record.
    header: Block,
    /// Lines before the next record, after the header.
    block: Block,
    /// Lines to write at the end.
    tail: Block,
    /// True until the first record of the source.
    is_begin: bool,
    /// True if a source had a record.
    has_read: bool,
    /// Blocks by the key of their record, in order.
    by_key: HashMap<Vec<u8>, VecDeque<Block>>,
    /// Blocks by the number of their record.
    queue: VecDeque<(u64, Block)>,
    read: u64,
    written: u64,
    /// The number of bytes of all blocks that wait.
    waiting: usize,
    left_out: Dropped,
    without_place: Dropped,
}

/// Comments that are not written.
#[derive(Default)]
struct Dropped {
    count: u64,
    first: Option<Place>,
}

impl Block {
    /// Adds a line; returns whether it is blank.
    fn push(&mut self, line: &[u8], place: &Place) -> bool {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let is_blank = line.trim_ascii().is_empty();
        if !is_blank {
            let ends = line.iter().rev().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.text.extend_from_slice(&line[..line.len() - ends]);
            self.comments += 1;
            self.first.get_or_insert_with(|| place.clone());
        }
        self.text.push(b'\n');
        is_blank
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Removes blank lines at the end.
    fn trim_end(&mut self) {
        let (mut read, mut end) = (0, 0);
        for line in self.text.split_inclusive(|byte| *byte == b'\n') {
            read += line.len();
            if !line.trim_ascii().is_empty() {
                end = read;
            }
        }
        self.text.truncate(end);
    }

    fn append(&mut self, mut other: Block) {
        self.text.append(&mut other.text);
        self.comments += other.comments;
        self.first = self.first.take().or(other.first);
    }
}

impl Dropped {
    /// Adds a block. Blocks come in any order.
    fn add(&mut self, block: Block) {
        self.count += block.comments;
        let places = self.first.take().into_iter().chain(block.first);
        self.first = places.min_by_key(|place| (place.source.to_string(), place.number()));
    }

    /// The warning about all comments that are not written.
    fn warning(&self, why: &str) -> Option<(Place, Diagnostic)> {
        let Dropped { count, first: Some(place) } = self else { return None };
        let comments = if *count == 1 { "comment is" } else { "comments are" };
        let message = format!("{count} {comments} not written: {why}");
        let warning = Diagnostic::warning(codes::W_LEN_COMMENT, 1, message);
        let findings = u32::try_from(*count).unwrap_or(u32::MAX);
        Some((place.clone(), Diagnostic { findings, ..warning }))
    }
}

impl Comments {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        self.0.is_idle.load(Relaxed)
    }

    fn set_idle(&self, is_idle: bool) {
        self.0.is_idle.store(is_idle, Relaxed);
    }

    /// Sets the order in which the next records reach the output.
    pub(crate) fn follow(&self, way: CommentOrder) {
        self.set_idle(false);
        self.state().way = way;
    }

    /// From now on, the comments of sources are not written.
    pub(crate) fn pause(&self) {
        self.state().is_paused = true;
    }

    pub(crate) fn begin_source(&self) {
        self.set_idle(false);
        let state = &mut *self.state();
        state.is_begin = true;
        match state.way {
            CommentOrder::Queue => state.block = take(&mut state.tail),
            CommentOrder::Stream => state.head.append(take(&mut state.tail)),
            CommentOrder::None | CommentOrder::Collect(_) | CommentOrder::Drop => {}
        }
    }

    /// Ends a source: the lines after its last record belong to no record.
    pub(crate) fn end_source(&self) {
        let state = &mut *self.state();
        state.tail.append(take(&mut state.header));
        state.tail.append(take(&mut state.block));
    }

    /// Takes the comments of an item before the item is passed on.
    pub(crate) fn before(&self, item: &Item<'_>, options: &ParseOptions) {
        let inner = match item {
            Item::Record { raw, game: None, .. } => inner_lines(raw),
            _ => &[],
        };
        let is_aside = matches!(item, Item::Skipped { aside: Some(_), .. });
        if self.is_idle() && !is_aside && inner.is_empty() {
            return;
        }
        let state = &mut *self.state();
        match item {
            Item::Skipped { raw, aside: Some(place), .. } => state.push(raw, place),
            Item::Record { record, place, .. } => {
                state.push_inner(inner, place);
                state.meet(&mut || Some(record.clone()));
            }
            Item::Encoded { raw, .. } => state.meet(&mut || first_record(raw, options)),
            Item::LeftOut { .. } | Item::LeftOutMany { .. } => state.leave_out(),
            _ => {}
        }
        self.set_idle(state.is_idle());
    }

    /// Remembers that a record was passed on. A record that is not written by this time will never be
    /// written.
    pub(crate) fn behind(&self) {
        if self.is_idle() {
            return;
        }
        let state = &mut *self.state();
        if state.way == CommentOrder::Stream {
            state.leave_out();
        }
        self.set_idle(state.is_idle());
    }

    /// Lines to write before the next record.
    pub(crate) fn next(&self) -> Block {
        self.0.has_written.store(true, Relaxed);
        if self.is_idle() {
            return Block::default();
        }
        let state = &mut *self.state();
        let mut next = take(&mut state.head);
        state.written += 1;
        if state.way == CommentOrder::Stream {
            next.append(take(&mut state.block));
        }
        let written = state.written;
        if let Some((_, block)) = state.queue.pop_front_if(|(number, _)| *number <= written) {
            next.append(block);
        }
        state.waiting = state.waiting.saturating_sub(next.text.len());
        next
    }

    /// Whether any collected record has comments.
    pub(crate) fn are_collected(&self) -> bool {
        !self.state().by_key.is_empty()
    }

    /// Lines to write before this record, which was collected.
    pub(crate) fn of(&self, record: &EpdRecord) -> Block {
        let state = &mut *self.state();
        let CommentOrder::Collect(by) = state.way else { return Block::default() };
        let key = sets::key(by, record).unwrap_or_default();
        state.by_key.get_mut(&key).and_then(VecDeque::pop_front).unwrap_or_default()
    }

    /// Lines to write after the last record. If all records are left out, the output is empty.
    pub(crate) fn rest(&self) -> Block {
        let state = &mut *self.state();
        let mut rest = take(&mut state.head);
        rest.append(take(&mut state.tail));
        if state.has_read && !self.0.has_written.load(Relaxed) {
            state.left_out.add(take(&mut rest));
        }
        rest.trim_end();
        rest
    }

    /// Counts lines that the output cannot store.
    pub(crate) fn drop(&self, block: Block) {
        self.state().without_place.add(block);
    }

    /// Warnings about the comments that were not written.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = (Place, Diagnostic)> {
        let state = &mut *self.state();
        // Several outputs may share the comments, so only now no other record is written.
        for block in state.by_key.drain().flat_map(|(_, blocks)| blocks) {
            state.left_out.add(block);
        }
        let left_out = state.left_out.warning("their records are left out");
        let without_place = state.without_place.warning("the output cannot store them");
        [left_out, without_place].into_iter().flatten()
    }
}

impl State {
    /// Whether no lines belong to the next record.
    fn is_idle(&self) -> bool {
        let blocks = [&self.head, &self.header, &self.block];
        self.way != CommentOrder::Queue && !self.is_begin && blocks.into_iter().all(Block::is_empty)
    }

    fn push(&mut self, raw: &[u8], place: &Place) {
        if self.way == CommentOrder::None || self.is_paused {
            return;
        }
        let is_blank = self.block.push(raw, place);
        if is_blank && self.is_begin {
            self.header.append(take(&mut self.block));
        }
        self.waiting += raw.len();
        if self.way == CommentOrder::Drop || self.waiting > MAX_BYTES {
            self.waiting -= raw.len();
            self.without_place.add(take(&mut self.block));
            self.without_place.add(take(&mut self.header));
        }
    }

    /// Takes the comments among the lines of a record that has several lines.
    fn push_inner(&mut self, lines: &[u8], place: &Place) {
        let lines = lines.split(|byte| matches!(byte, b'\r' | b'\n'));
        for line in lines.filter(|line| line.trim_ascii_start().starts_with(b"#")) {
            self.push(line, place);
        }
    }

    /// Assigns the waiting block to its record.
    fn meet(&mut self, record: &mut dyn FnMut() -> Option<EpdRecord>) {
        self.read += 1;
        let mut header = self.end_header();
        match self.way {
            CommentOrder::Queue => {
                header.append(take(&mut self.block));
                if !header.is_empty() {
                    self.queue.push_back((self.read, header));
                }
                return;
            }
            CommentOrder::Collect(by) if !self.block.is_empty() => {
                let block = take(&mut self.block);
                match record().and_then(|record| sets::key(by, &record).ok()) {
                    Some(key) => self.by_key.entry(key).or_default().push_back(block),
                    None => header.append(block),
                }
            }
            CommentOrder::None
            | CommentOrder::Stream
            | CommentOrder::Collect(_)
            | CommentOrder::Drop => {}
        }
        self.head.append(header);
    }

    /// The header, which ends with the first record.
    fn end_header(&mut self) -> Block {
        self.is_begin = false;
        self.has_read = true;
        take(&mut self.header)
    }

    /// Drops the block of a record that is left out.
    fn leave_out(&mut self) {
        let header = self.end_header();
        self.head.append(header);
        self.waiting = self.waiting.saturating_sub(self.block.text.len());
        self.left_out.add(take(&mut self.block));
    }
}

/// Lines of a record after its first one, if it has several. A record that begins with a letter is
/// text, because records in binary form never do.
fn inner_lines(raw: &[u8]) -> &[u8] {
    match memchr::memchr2(b'\r', b'\n', raw) {
        Some(first) if raw[0].is_ascii_alphabetic() => raw[first..].trim_ascii(),
        _ => &[],
    }
}

fn first_record(lines: &[u8], options: &ParseOptions) -> Option<EpdRecord> {
    let line = lines.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    match parse_line(line, options, &mut Vec::new()) {
        Ok(Line::Record(record)) => Some(record),
        _ => None,
    }
}
