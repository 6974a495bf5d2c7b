//! Reading of games in batches, on all threads, in order.
//!
//! The text is cut at lines that begin with an `Event` tag, which usually begins a game. The parts
//! are read at the same time. Afterwards, each cut is checked: a game must have ended there. If it
//! did not (for example in a comment that contains a game), the parts from there on are joined
//! again and read in sequence. So the result is always the same as that of one reader of the whole
//! text.

use std::io::{self, Cursor, Read};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use memchr::memmem;

use super::frames::Fault;
use super::in_order::{Batch, read_in_order};
use super::options::{Encode, SourceOptions};
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::model::Game;
use epdb_chess::text::pgn::{Finding, GameRead, GameReader};

/// Size in bytes of a part.
const PART: usize = 1 << 18;
/// Maximum number of bytes that are searched for a cut.
const MAX_PART: usize = 1 << 20;
/// Number of bytes after a part that the reader of the part may examine. It examines one token.
const AFTER: usize = 4096;
/// Start of a line that begins a game.
const CUT: &[u8] = b"\n[Event \"";

/// The part of a text of games that is read.
#[derive(Copy, Clone)]
pub(super) struct Extent {
    /// Number of the first line.
    pub(super) line: u64,
    /// Number of bytes; `None` for all bytes. A game ends after these bytes, but the text
    /// continues.
    pub(super) length: Option<u64>,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent { line: 1, length: None }
    }
}

/// The text that is read in sequence after the parts.
pub(super) struct Rest {
    pub(super) input: Box<dyn Read + Send>,
    pub(super) extent: Extent,
}

/// The work that the threads have done for a game.
#[derive(Copy, Clone, Default)]
pub(super) struct Prepared<'p> {
    /// The bytes of the encoder, if the options have an encoder of games.
    pub(super) encoded: Option<&'p [u8]>,
    /// The result of the filter, if it does not depend on the place of the game.
    pub(super) is_taken: Option<bool>,
}

/// Takes games in order.
type VisitGame<'v, E> = dyn FnMut(GameRead<'_>, Prepared<'_>) -> Result<ControlFlow<()>, E> + 'v;

/// Reads games on all threads, filters and encodes them there, and passes them to `visit` in order. Returns the rest of the text, which has to be read in sequence;
/// `None` if `visit` stops the reading.
///
/// # Errors
/// Errors of `visit`.
pub(super) fn read<E: From<Error>>(
    input: Box<dyn Read + Send>,
    extent: Extent,
    options: &SourceOptions,
    visit: &mut VisitGame<'_, E>,
) -> Result<Option<Rest>, E> {
    // The reader compares the limit with the bytes in memory, which are not those of one game.
    if rayon::current_num_threads() == 1 || options.games.limit < 2 * MAX_PART {
        return Ok(Some(Rest { input, extent }));
    }
    let (cut, parts) = channel();
    let mut cutter = Cutter { input, text: Vec::new(), fault: None, length: extent.length, cut };
    let parse = |part: &mut Part| part.parse(options);
    let mut line = extent.line;
    let rest = read_in_order::<Part, _, E>(&mut cutter, &parse, &mut |part| {
        if let Some(error) = part.failure.take() {
            return Err(error.into());
        }
        if !part.is_whole {
            return Ok(ControlFlow::Break(Some(Extent { line, length: part.length })));
        }
        // The text of this part is no longer needed.
        parts.recv().ok();
        for game in &mut part.games[..part.count] {
            let encoded = game.encoded.clone().map(|bytes| &part.encoded[bytes]);
            let prepared = Prepared { encoded, is_taken: game.is_taken };
            if visit(game.read(&part.text, line - 1), prepared)?.is_break() {
                return Ok(ControlFlow::Break(None));
            }
        }
        line += part.lines;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rest.map(|extent| Rest { input: cutter.joined(parts), extent }))
}

/// Cuts a text of games.
struct Cutter {
    input: Box<dyn Read + Send>,
    /// Text that was read and is not in a part yet.
    text: Vec<u8>,
    /// The error that follows the text.
    fault: Option<io::Error>,
    /// Number of bytes that are left; `None` for all bytes.
    length: Option<u64>,
    /// Channel to which the text of each part is sent.
    cut: Sender<Arc<Vec<u8>>>,
}

impl Cutter {
    /// Reads until the text has a place to cut. Returns the length of the part before this place. `None`
    /// if no place is found, or if the rest of the text is short.
    fn find_cut(&mut self) -> Option<usize> {
        let mut wanted = PART + AFTER;
        while wanted <= MAX_PART && self.fault.is_none() {
            let missing = wanted.saturating_sub(self.text.len()) as u64;
            self.fault = self.input.by_ref().take(missing).read_to_end(&mut self.text).err();
            let searched = self.text.get(..wanted - AFTER)?;
            if self.length.is_some_and(|length| length < searched.len() as u64) {
                return None;
            }
            if let Some(place) = memmem::rfind(searched, CUT) {
                return Some(place + 1);
            }
            wanted *= 2;
        }
        None
    }

    /// The rest of the text: first the text of `parts`, and then the text after them.
    fn joined(self, parts: Receiver<Arc<Vec<u8>>>) -> Box<dyn Read + Send> {
        let Cutter { input, text, fault, cut, .. } = self;
        drop(cut);
        let parts = parts.iter().chain([Arc::new(text)]).collect::<Vec<_>>();
        let joined = parts.iter().map(|part| part.as_slice()).collect::<Vec<_>>().concat();
        Box::new(Cursor::new(joined).chain(Fault(fault)).chain(input))
    }
}

/// A part of a text, and its games.
#[derive(Default)]
struct Part {
    text: Arc<Vec<u8>>,
    /// Text after the part.
    after: Vec<u8>,
    /// Size in bytes of the part and of all text after it; `None` for all bytes.
    length: Option<u64>,
    /// Number of lines.
    lines: u64,
    /// The first `count` games are those of the part. The memory of the other games is used again.
    games: Vec<PartGame>,
    count: usize,
    /// The bytes of the encoder for all games.
    encoded: Vec<u8>,
    /// True if the part ends with the end of a game.
    is_whole: bool,
    failure: Option<Error>,
}

impl Batch for Part {
    type Input = Cutter;

    fn fill(&mut self, cutter: &mut Cutter) -> bool {
        let used = std::mem::take(&mut self.text);
        self.length = cutter.length;
        let Some(len) = cutter.find_cut() else { return false };
        // New memory for each part takes longer than reading it.
        let mut behind = Arc::into_inner(used).unwrap_or_default();
        behind.clear();
        behind.extend_from_slice(&cutter.text[len..]);
        let mut text = std::mem::replace(&mut cutter.text, behind);
        text.truncate(len);
        self.text = Arc::new(text);
        self.after.clear();
        self.after.extend_from_slice(&cutter.text[..AFTER.min(cutter.text.len())]);
        cutter.length.iter_mut().for_each(|length| *length -= len as u64);
        // The receiver lives as long as the parts are read.
        cutter.cut.send(Arc::clone(&self.text)).ok();
        true
    }

    fn fail(&mut self, error: Error) {
        self.failure = Some(error);
    }
}

impl Part {
    fn parse(&mut self, options: &SourceOptions) {
        self.count = 0;
        self.encoded.clear();
        let bytes = self.text.chain(&self.after[..]);
        let mut reader = GameReader::new(bytes, options.games.clone());
        // The filter does not look at it.
        let place = Place::new(Arc::default(), At::Whole);
        let mut end = 0;
        while end < self.text.len()
            && let Ok(Some(read)) = reader.next_game()
        {
            let start = end;
            end += read.raw.len();
            if self.games.len() == self.count {
                self.games.push(PartGame::default());
            }
            let game = &mut self.games[self.count];
            self.count += 1;
            game.take(&read, start..end);
            let good = read.game.ok();
            game.is_taken =
                options.game_filter().zip(good).map(|(filter, it)| filter.takes_game(it, &place));
            game.encoded = options
                .encode_games()
                .zip(good.filter(|_| game.is_taken != Some(false)))
                .and_then(|(encode, game)| encoded_bytes(encode, game, &mut self.encoded));
            reader.swap_game(&mut game.game);
        }
        self.is_whole = end > 0 && end == self.text.len() && !reader.is_at_end();
        self.lines = reader.lines();
    }
}

/// Encodes a game, and returns the place of its bytes in `out`; `None` if the encoder cannot do
/// this.
fn encoded_bytes(encode: &dyn Encode, game: &Game, out: &mut Vec<u8>) -> Option<Range<usize>> {
    let start = out.len();
    encode.encode_game(game, out).then_some(start..out.len())
}

/// A game of a part.
#[derive(Default)]
struct PartGame {
    number: u64,
    line: u64,
    game: Game,
    refusal: Option<Finding>,
    is_cut_short: bool,
    warnings: Vec<Finding>,
    raw: Range<usize>,
    /// The place of the encoded bytes in the part.
    encoded: Option<Range<usize>>,
    /// The result of the filter.
    is_taken: Option<bool>,
}

impl PartGame {
    /// Takes everything except the game itself and what is prepared for it. Line numbers are relative to the part.
    fn take(&mut self, read: &GameRead<'_>, raw: Range<usize>) {
        (self.number, self.line, self.is_cut_short) = (read.number, read.line, read.is_cut_short);
        self.refusal = read.game.as_ref().err().cloned();
        self.warnings.clear();
        self.warnings.extend_from_slice(read.warnings);
        self.raw = raw;
    }

    /// The game as it was read; `before` is the number of lines before the part.
    fn read<'g>(&'g mut self, text: &'g [u8], before: u64) -> GameRead<'g> {
        for finding in self.refusal.iter_mut().chain(&mut self.warnings) {
            finding.line += before;
        }
        GameRead {
            number: self.number,
            line: self.line + before,
            game: self.refusal.take().map_or(Ok(&self.game), Err),
            is_cut_short: self.is_cut_short,
            warnings: &self.warnings,
            raw: &text[self.raw.clone()],
        }
    }
}
