//! Reading of games in batches, on all threads, in order.
//!
//! The text is cut where a line begins with an `Event` tag, which is usually the start of a game, and
//! the parts are read at the same time. Then it is seen whether a game ended at each cut. If not, as in
//! a comment with a game in it, the parts from there on are joined again and read in sequence. So the
//! games are always those of one reader of the whole text.

use std::io::{self, Cursor, Read};
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::{Receiver, Sender, channel};

use memchr::memmem;

use super::frames::Fault;
use super::in_order::{Batch, read_in_order};
use crate::error::{Error, Result};
use crate::model::Game;
use crate::text::pgn::{Finding, GameRead, GameReader, PgnReadOptions, line_ends};

/// Number of bytes of a part.
const PART: usize = 1 << 18;
/// Maximum number of bytes in which a cut is looked for.
const MAX_PART: usize = 1 << 20;
/// Number of bytes after a part that its reader may look at. It looks at one token.
const AFTER: usize = 4096;
/// Start of a line that begins a game.
const CUT: &[u8] = b"\n[Event \"";

/// The text that is read in sequence after the parts.
pub(super) struct Rest {
    pub(super) input: Box<dyn Read + Send>,
    /// Number of its first line.
    pub(super) line: u64,
}

/// Reads games on all threads, and passes them to `visit` in order. Returns the rest of the text,
/// which has to be read in sequence; `None` if `visit` stops the reading.
///
/// # Errors
/// Those of `visit`.
pub(super) fn read<E: From<Error>>(
    input: Box<dyn Read + Send>,
    options: &PgnReadOptions,
    visit: &mut dyn FnMut(GameRead<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<Option<Rest>, E> {
    // The reader compares the limit with the bytes in memory, which are not those of one game.
    if rayon::current_num_threads() == 1 || options.limit < 2 * MAX_PART {
        return Ok(Some(Rest { input, line: 1 }));
    }
    let (cut, parts) = channel();
    let mut cutter = Cutter { input, text: Vec::new(), fault: None, line: 1, cut };
    let parse = |part: &mut Part| part.parse(options);
    let line = read_in_order::<Part, _, E>(&mut cutter, &parse, &mut |part| {
        if let Some(error) = part.failure.take() {
            return Err(error.into());
        }
        if !part.is_whole {
            return Ok(ControlFlow::Break(Some(part.line)));
        }
        // The text of this part is no longer needed.
        parts.recv().ok();
        for game in &part.games {
            if visit(game.read(&part.text))?.is_break() {
                return Ok(ControlFlow::Break(None));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(line.map(|line| Rest { input: cutter.joined(parts), line }))
}

/// Cuts a text of games.
struct Cutter {
    input: Box<dyn Read + Send>,
    /// Text that was read and not cut off yet.
    text: Vec<u8>,
    /// The error that follows the text.
    fault: Option<io::Error>,
    /// Number of the first line of `text`.
    line: u64,
    /// Takes the text of each part.
    cut: Sender<Vec<u8>>,
}

impl Cutter {
    /// Reads until there is a text to cut off, and returns its length; `None` if the rest has no cut,
    /// or is short.
    fn find_cut(&mut self) -> Option<usize> {
        let mut wanted = PART + AFTER;
        while wanted <= MAX_PART && self.fault.is_none() {
            let missing = wanted.saturating_sub(self.text.len()) as u64;
            self.fault = self.input.by_ref().take(missing).read_to_end(&mut self.text).err();
            let searched = self.text.get(..wanted - AFTER)?;
            if let Some(place) = memmem::rfind(searched, CUT) {
                return Some(place + 1);
            }
            wanted *= 2;
        }
        None
    }

    /// The rest of the text, which begins with parts that were cut off.
    fn joined(self, parts: Receiver<Vec<u8>>) -> Box<dyn Read + Send> {
        let Cutter { input, text, fault, cut, .. } = self;
        drop(cut);
        let mut joined = parts.iter().collect::<Vec<_>>().concat();
        joined.extend(text);
        Box::new(Cursor::new(joined).chain(Fault(fault)).chain(input))
    }
}

/// A part of a text, and its games.
#[derive(Default)]
struct Part {
    text: Vec<u8>,
    /// Text after the part.
    after: Vec<u8>,
    /// Number of the first line.
    line: u64,
    games: Vec<PartGame>,
    /// True if the part ends with the end of a game.
    is_whole: bool,
    failure: Option<Error>,
}

impl Batch for Part {
    type Input = Cutter;

    fn fill(&mut self, cutter: &mut Cutter) -> bool {
        self.text.clear();
        self.after.clear();
        self.line = cutter.line;
        let Some(len) = cutter.find_cut() else { return false };
        self.text.extend_from_slice(&cutter.text[..len]);
        cutter.text.drain(..len);
        self.after.extend_from_slice(&cutter.text[..AFTER.min(cutter.text.len())]);
        cutter.line += line_ends(&self.text, b'\n');
        // The receiver lives as long as the parts are read.
        cutter.cut.send(self.text.clone()).ok();
        true
    }

    fn fail(&mut self, error: Error) {
        self.failure = Some(error);
    }
}

impl Part {
    fn parse(&mut self, options: &PgnReadOptions) {
        self.games.clear();
        let bytes = self.text.chain(&self.after[..]);
        let mut reader = GameReader::new(bytes, options.clone()).first_line(self.line);
        let mut end = 0;
        while end < self.text.len()
            && let Ok(Some(read)) = reader.next_game()
        {
            let start = end;
            end += read.raw.len();
            self.games.push(PartGame::new(&read, start..end));
        }
        self.is_whole = end > 0 && end == self.text.len() && !reader.is_at_end();
    }
}

/// A game of a part.
struct PartGame {
    number: u64,
    line: u64,
    game: Result<Game, Finding>,
    is_cut_short: bool,
    warnings: Vec<Finding>,
    raw: Range<usize>,
}

impl PartGame {
    fn new(read: &GameRead<'_>, raw: Range<usize>) -> PartGame {
        PartGame {
            number: read.number,
            line: read.line,
            game: read.game.clone().cloned(),
            is_cut_short: read.is_cut_short,
            warnings: read.warnings.to_vec(),
            raw,
        }
    }

    fn read<'g>(&'g self, text: &'g [u8]) -> GameRead<'g> {
        GameRead {
            number: self.number,
            line: self.line,
            game: self.game.as_ref().map_err(Finding::clone),
            is_cut_short: self.is_cut_short,
            warnings: &self.warnings,
            raw: &text[self.raw.clone()],
        }
    }
}
