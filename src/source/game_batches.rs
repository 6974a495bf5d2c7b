//! Reading of games in batches, on all threads, in order.
//!
//! PGN is cut at lines that begin with an `Event` tag, which usually begins a game; PGC is cut after
//! records that end a game. The parts are read at the same time. Afterwards, each cut is checked: a
//! game must have ended there. If it did not (for example in a comment that contains a game), the
//! parts from there on are joined again and read in sequence. So the result is always the same as
//! that of one reader of the whole text.

use std::io::{self, Cursor, Read};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use memchr::memmem;

use super::frames::Fault;
use super::in_order::{Batch, read_in_order};
use super::options::{Encode, SourceOptions};
use epdb_chess::codec::pgc::{self, PgcError, PgcErrorKind, PgcRead, WholeGames};
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::model::Game;
use epdb_chess::text::pgn::{Finding, GameRead, GameReader};
use epdb_chess::text::{Diagnostic, Setting};

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
    /// Number of the first line; in PGC, of the first game.
    pub(super) line: u64,
    /// Number of bytes; `None` for all bytes. A game ends after these bytes, but the text
    /// continues.
    pub(super) length: Option<u64>,
    /// The start in PGC; `None` for PGN.
    pub(super) pgc: Option<PgcStart>,
}

/// The place at which reading of PGC begins.
#[derive(Copy, Clone, Default)]
pub(super) struct PgcStart {
    pub(super) offset: u64,
    /// True if a game before has a checksum.
    pub(super) has_checksums: bool,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent { line: 1, length: None, pgc: None }
    }
}

impl Extent {
    pub(super) fn of_pgc() -> Extent {
        Extent { pgc: Some(PgcStart::default()), ..Extent::default() }
    }

    /// Moves the start to the next part.
    fn pass(&mut self, part: WholeGames) {
        if let Some(length) = &mut self.length {
            *length -= part.bytes as u64;
        }
        if let Some(start) = &mut self.pgc {
            start.offset += part.bytes as u64;
            start.has_checksums |= part.have_checksums;
        }
    }
}

/// A text of games, or what is left of it.
pub(super) struct Rest {
    pub(super) input: Box<dyn Read + Send>,
    pub(super) extent: Extent,
}

/// The work that the threads have done for a game.
#[derive(Copy, Clone, Default)]
pub(super) struct Prepared<'p> {
    /// True for a game in PGC without a checksum.
    pub(super) is_unchecked: bool,
    /// The bytes of the encoder, if the options have an encoder of games.
    pub(super) encoded: Option<&'p [u8]>,
    /// The result of the filter, if it does not depend on the place of the game.
    pub(super) is_taken: Option<bool>,
}

/// A game of PGC as one of PGN. The place of errors is the number of the game; `before` is the number of
/// games before the part that is read.
pub(super) fn as_game_read(read: PgcRead<'_>, before: u64) -> GameRead<'_> {
    let line = read.number + before;
    let finding = |error| Finding { line, ply: None, diagnostic: diagnostic_of(&error) };
    GameRead {
        number: read.number,
        line,
        game: read.game.map_err(finding),
        is_cut_short: false,
        warnings: &[],
        raw: read.raw,
    }
}

/// An error of PGC as a diagnostic; its column is the offset in the stream.
fn diagnostic_of(error: &PgcError) -> Diagnostic {
    let PgcError { offset, kind } = error;
    let lost = if kind.ends_the_stream() { "; what follows cannot be read" } else { "" };
    let column = usize::try_from(*offset).unwrap_or(usize::MAX);
    let message = format!("byte {offset}: {kind}{lost}");
    let diagnostic = Diagnostic::error(kind.code(), column, message);
    match kind {
        PgcErrorKind::TooLong(_) => diagnostic.with_setting(Setting::GameLimit),
        _ => diagnostic,
    }
}

/// Takes games in order.
type VisitGame<'v, E> = dyn FnMut(GameRead<'_>, Prepared<'_>) -> Result<ControlFlow<()>, E> + 'v;

/// Reads games on all threads, filters and encodes them there, and passes them to `visit` in order. Returns the rest of the text, which has to be read in sequence;
/// `None` if `visit` stops the reading.
pub(super) fn read<E: From<Error>>(
    all: Rest,
    options: &SourceOptions,
    visit: &mut VisitGame<'_, E>,
) -> Result<Option<Rest>, E> {
    // The reader compares the limit with the bytes in memory, which are not those of one game.
    if rayon::current_num_threads() == 1 || options.games.limit < 2 * MAX_PART {
        return Ok(Some(all));
    }
    let Rest { input, extent } = all;
    let (cut, parts) = channel();
    let mut cutter = Cutter { input, text: Vec::new(), fault: None, extent, cut };
    let parse = |part: &mut Part| part.parse(options);
    let mut line = extent.line;
    let rest = read_in_order::<Part, _, E>(&mut cutter, &parse, &mut |part| {
        if let Some(error) = part.failure.take() {
            return Err(error.into());
        }
        if !part.is_whole {
            return Ok(ControlFlow::Break(Some(Extent { line, ..part.extent })));
        }
        // The text of this part is no longer needed.
        parts.recv().ok();
        for game in &mut part.games[..part.count] {
            let encoded = game.encoded.clone().map(|bytes| &part.encoded[bytes]);
            let prepared =
                Prepared { encoded, is_taken: game.is_taken, is_unchecked: game.is_unchecked };
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
    /// The text that is left.
    extent: Extent,
    /// Channel to which the text of each part is sent.
    cut: Sender<Arc<Vec<u8>>>,
}

impl Cutter {
    /// Reads until the text has a place to cut. Returns the part before this place. `None` if no place is
    /// found, or if the rest of the text is short.
    fn find_cut(&mut self) -> Option<WholeGames> {
        let mut wanted = PART + AFTER;
        while wanted <= MAX_PART && self.fault.is_none() {
            let missing = wanted.saturating_sub(self.text.len()) as u64;
            self.fault = self.input.by_ref().take(missing).read_to_end(&mut self.text).err();
            let searched = self.text.get(..wanted - AFTER)?;
            if self.extent.length.is_some_and(|length| length < searched.len() as u64) {
                return None;
            }
            let part = if self.extent.pgc.is_some() {
                WholeGames::at_start(searched)
            } else {
                let bytes = memmem::rfind(searched, CUT).map_or(0, |place| place + 1);
                WholeGames { bytes, have_checksums: false }
            };
            if part.bytes > 0 {
                return Some(part);
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
    /// The part and all text after it.
    extent: Extent,
    /// Number of lines; in PGC, of games.
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
        self.extent = cutter.extent;
        let Some(part) = cutter.find_cut() else { return false };
        // New memory for each part takes longer than reading it.
        let mut behind = Arc::into_inner(used).unwrap_or_default();
        behind.clear();
        behind.extend_from_slice(&cutter.text[part.bytes..]);
        let mut text = std::mem::replace(&mut cutter.text, behind);
        text.truncate(part.bytes);
        self.text = Arc::new(text);
        self.after.clear();
        self.after.extend_from_slice(&cutter.text[..AFTER.min(cutter.text.len())]);
        cutter.extent.pass(part);
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
        match self.extent.pgc {
            Some(start) => self.parse_pgc(start, options),
            None => self.parse_pgn(options),
        }
    }

    fn parse_pgn(&mut self, options: &SourceOptions) {
        let text = Arc::clone(&self.text);
        let after = std::mem::take(&mut self.after);
        let mut reader = GameReader::new(text.chain(&after[..]), options.games.clone());
        let mut end = 0;
        while end < text.len()
            && let Ok(Some(read)) = reader.next_game()
        {
            let start = end;
            end += read.raw.len();
            let game = self.push(&read, start..end, options);
            reader.swap_game(&mut game.game);
        }
        self.is_whole = end > 0 && end == text.len() && !reader.is_at_end();
        self.lines = reader.lines();
        self.after = after;
    }

    fn parse_pgc(&mut self, from: PgcStart, options: &SourceOptions) {
        let PgcStart { offset, has_checksums } = from;
        let text = Arc::clone(&self.text);
        let mut reader = pgc::reader_from(&text[..], options.games.limit, offset, has_checksums);
        let mut start = 0;
        self.is_whole = false;
        while let Ok(Some(read)) = reader.next_game() {
            // A refused game may go on in the next part.
            self.is_whole = read.game.is_ok();
            let end = start + read.raw.len();
            let is_unchecked = !read.has_checksum;
            let game = self.push(&as_game_read(read, 0), start..end, options);
            game.is_unchecked = is_unchecked;
            pgc::swap_game(&mut reader, &mut game.game);
            start = end;
        }
        self.is_whole &= start == text.len();
        self.lines = self.count as u64;
    }

    /// Adds a game, whose memory is that of a game of an earlier part.
    fn push(
        &mut self,
        read: &GameRead<'_>,
        raw: Range<usize>,
        options: &SourceOptions,
    ) -> &mut PartGame {
        if self.games.len() == self.count {
            self.games.push(PartGame::default());
        }
        let game = &mut self.games[self.count];
        self.count += 1;
        game.take(read, raw);
        // The filter does not look at it.
        let place = Place::new(Arc::default(), At::Whole);
        let good = read.game.as_ref().ok();
        game.is_taken =
            options.game_filter().zip(good).map(|(filter, it)| filter.takes_game(it, &place));
        game.encoded = options
            .encode_games()
            .zip(good.filter(|_| game.is_taken != Some(false)))
            .and_then(|(encode, game)| encoded_bytes(encode, game, &mut self.encoded));
        game
    }
}

/// Encodes a game, and returns the place of its bytes in `out`; `None` if the encoder cannot do
/// this.
fn encoded_bytes(encode: &dyn Encode, game: &Game, out: &mut Vec<u8>) -> Option<Range<usize>> {
    let start = out.len();
    encode.encode_game(game, out).then_some(start..out.len())
}

#[derive(Default)]
struct PartGame {
    number: u64,
    line: u64,
    game: Game,
    refusal: Option<Finding>,
    is_cut_short: bool,
    /// True for a game in PGC without a checksum.
    is_unchecked: bool,
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
