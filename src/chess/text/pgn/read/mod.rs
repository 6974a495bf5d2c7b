//! The reader of games.

mod blanks;
mod comments;
mod movetext;
mod options;
mod repair;
mod report;
mod rereading;
mod result;
mod skip;
mod tag_pairs;
mod tag_strings;
mod tokens;

use std::fmt;
use std::io::{self, Read, Write};

pub use options::PgnReadOptions;

use super::ending::Ending;
use super::source::{Broken, Source};
use crate::model::{Element, Game, GameBuilder};
use crate::text::{Diagnostic, Profile, codes};

/// One game of the stream, or the reason why it cannot be read.
#[derive(Debug)]
pub struct GameRead<'a> {
    /// Number of the game in the stream, from 1. Refused games are counted too.
    pub number: u64,
    /// Line of the stream in which the game begins, from 1.
    pub line: u64,
    /// The game, or the error for which it is refused. A game with a move that cannot be played
    /// ends before that move, unless [`PgnReadOptions::truncate`] has it refused. The next game can be read even
    /// after an error.
    pub game: Result<&'a Game, Finding>,
    /// True if the game was cut short: before a move that cannot be played, or by a
    /// comment or a variation that is not closed.
    pub is_cut_short: bool,
    /// Repairs and doubts.
    pub warnings: &'a [Finding],
    /// The bytes of the game in the stream, and the blank lines after it. Empty if the game exceeds
    /// the limit; [`GameReader::copy_long_game`] copies such a game.
    pub raw: &'a [u8],
}

/// Reader of a stream of games, one at a time. Memory does not grow with the number of games.
///
/// ```
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let text = b"[White \"A\"]\n\n1. e4 e5 2. Nc3 *\n\n1. e5 *\n1. d4 d5 1/2-1/2";
/// let mut reader = GameReader::new(&text[..], PgnReadOptions::default());
/// let mut plies = Vec::new();
/// while let Some(read) = reader.next_game()? {
///     plies.push(match read.game {
///         Ok(game) => game.main_line().count().to_string(),
///         Err(error) => error.to_string(),
///     });
/// }
/// assert_eq!(plies[0], "3");
/// assert_eq!(plies[1], "5:4: error[E-MOVE-ILLEGAL]: `e5`: no legal move of this position (ply 1)");
/// assert_eq!(plies[2], "2");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct GameReader<R> {
    source: Source<R>,
    options: PgnReadOptions,
    builder: GameBuilder,
    warnings: Vec<Finding>,
    number: u64,
    /// True if the first token after the tags has been read.
    in_movetext: bool,
    /// The place after the last tag and the comments that follow it.
    tags_end: usize,
    /// True if a blank line follows the last tag.
    after_blank_line: bool,
    /// The end of the tags that follow each other without a blank line, if no tag of the roster but
    /// `Event` is among them from this place on.
    roster_ended: usize,
    /// Place of the last move number.
    number_at: usize,
    /// Place of the last variation of the main line.
    variation_at: usize,
    /// True if the rest of the main line has become a comment.
    is_truncated: bool,
    /// True if the game declares a start other than the start array but does not give it.
    assumes_start: bool,
    /// True while the rest of a game over the limit is still to be copied or skipped.
    in_long_game: bool,
}

impl<R> fmt::Debug for GameReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GameReader")
            .field("options", &self.options)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl<R: Read> GameReader<R> {
    /// Creates a reader of a stream.
    pub fn new(input: R, options: PgnReadOptions) -> GameReader<R> {
        GameReader {
            source: Source::new(input, options.limit),
            options,
            builder: GameBuilder::new(),
            warnings: Vec::new(),
            number: 0,
            in_movetext: false,
            tags_end: 0,
            after_blank_line: false,
            roster_ended: 0,
            number_at: 0,
            variation_at: 0,
            is_truncated: false,
            assumes_start: false,
            in_long_game: false,
        }
    }

    /// Sets the number of the first line, for a stream that is a part of a text.
    pub fn first_line(mut self, line: u64) -> GameReader<R> {
        self.source.set_first_line(line);
        self
    }

    /// Exchanges the game that was read last for another one, whose memory is reused for the next
    /// game.
    pub const fn swap_game(&mut self, game: &mut Game) {
        self.builder.swap_game(game);
    }

    /// Number of bytes before the next game.
    pub const fn offset(&self) -> u64 {
        self.source.offset()
    }

    /// Number of lines before the next game, if the next game begins at the start of a line.
    pub fn lines(&mut self) -> u64 {
        self.source.lines()
    }

    /// Whether the end of the stream was read. If it was not read, the games so far do not depend
    /// on the unread bytes.
    pub const fn is_at_end(&self) -> bool {
        self.source.is_at_end()
    }

    /// Reads the next game; `None` at the end of the stream.
    ///
    /// # Errors
    /// Errors of the stream.
    pub fn next_game(&mut self) -> io::Result<Option<GameRead<'_>>> {
        if self.in_long_game {
            self.copy_long_game(&mut io::sink())?;
        }
        self.source.begin_game();
        self.builder.reset();
        self.warnings.clear();
        self.in_movetext = false;
        self.tags_end = 0;
        self.after_blank_line = false;
        self.roster_ended = 0;
        self.number_at = 0;
        self.is_truncated = false;
        self.assumes_start = false;

        let (line, _) = self.source.place(0);
        let game = match self.read_or_skip() {
            Ok(None) => return Ok(None),
            Ok(Some(game)) => game,
            Err(Broken::Io(error)) => return Err(error),
            Err(Broken::TooLong) => {
                self.in_long_game = true;
                let message = format!("the game has more than {} bytes", self.options.limit);
                let diagnostic = Diagnostic::error(codes::E_PGN_SIZE, 1, message);
                Err(Finding { line, ply: None, diagnostic })
            }
        };
        self.number += 1;
        if game.is_err() {
            self.warnings.clear();
        }
        let raw_end = if self.in_long_game { 0 } else { self.source.at };
        Ok(Some(GameRead {
            number: self.number,
            line,
            is_cut_short: self.is_truncated && game.is_ok(),
            game: game.map(|()| self.builder.game()),
            warnings: &self.warnings,
            raw: self.source.slice(0..raw_end),
        }))
    }

    /// The blanks and escapes after the last game. Call this after [`GameReader::next_game`] has
    /// returned `None`.
    pub fn rest(&self) -> &[u8] {
        self.source.slice(0..self.source.at)
    }

    /// Copies the bytes of a game that was refused because it is too long, up to the next line that
    /// begins with an `Event` tag. If no game was refused for its length, copies nothing.
    ///
    /// # Errors
    /// Errors of the stream and of the sink.
    pub fn copy_long_game(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        if self.in_long_game {
            self.source.copy_long_game(sink)?;
            self.in_long_game = false;
        }
        Ok(())
    }

    fn read_or_skip(&mut self) -> Result<Option<Result<(), Finding>>, Broken> {
        let read = match self.read_pieces() {
            Ok(None) => return Ok(None),
            Ok(Some(marker)) => self.complete(marker),
            Err(stop @ Stop::Broken(_)) => Err(stop),
            Err(stop @ Stop::Refused(_)) => {
                self.skip_game()?;
                Err(stop)
            }
        };
        match read {
            Ok(()) => Ok(Some(Ok(()))),
            Err(Stop::Refused(finding)) => Ok(Some(Err(finding))),
            Err(Stop::Broken(broken)) => Err(broken),
        }
    }

    /// Reads a game into the builder, up to its end. Returns its termination marker, `Some(None)`
    /// if it has no marker, and `None` if no game is left.
    fn read_pieces(&mut self) -> Result<Option<Option<Ending>>, Stop> {
        loop {
            self.usual_tags();
            self.usual_moves()?;
            let Some(byte) = self.next_byte(Extras::Keep)? else {
                return Ok(if self.is_nothing() { None } else { Some(None) });
            };
            match self.step(byte)? {
                Step::GoOn => {}
                Step::End(marker) => return Ok(Some(marker)),
            }
        }
    }

    /// Applies the checks that need the whole game.
    fn complete(&mut self, marker: Option<Ending>) -> Result<(), Stop> {
        let finished = self.finish(marker);
        if marker.is_some() {
            let extras = if finished.is_ok() { Extras::Keep } else { Extras::Skip };
            self.trailing_comments(extras)?;
        }
        self.skip_blank_lines()?;
        finished?;
        if self.options.profile == Profile::Strict {
            self.compare_with_export()?;
        }
        self.check_lines()
    }

    /// Whether only white space and escapes have been read.
    fn is_nothing(&self) -> bool {
        let mut elements = self.builder.game().elements();
        !self.in_movetext
            && self.tags_end == 0
            && elements.all(|element| matches!(element, Element::Escape(_)))
    }

    fn step(&mut self, byte: u8) -> Result<Step, Stop> {
        let at = self.source.at;
        match byte {
            b'{' | b';' => self.comment(byte)?,
            _ if self.is_tag(byte) && self.begins_next_game()? => return Ok(Step::End(None)),
            _ if !self.in_movetext && self.is_tag(byte) => self.tag()?,
            _ if let Some(end) = self.end_of_text_between_tags()? => self.text_between_tags(end)?,
            b']' if !self.in_movetext && self.tags_end > 0 => self.second_bracket()?,
            _ => return self.movetext(byte, at),
        }
        Ok(Step::GoOn)
    }
}

/// A diagnostic about a game, and its place.
///
/// Its text is `LINE:COLUMN: error[CODE]: message`, with the ply if there is one. Callers that know
/// the file add its name at the front.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Finding {
    /// The line of the stream, from 1.
    pub line: u64,
    /// Number of the move in its line, from 1, if the finding is about a move.
    pub ply: Option<u32>,
    /// The diagnostic, with its column.
    pub diagnostic: Diagnostic,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.diagnostic)?;
        match self.ply {
            Some(ply) => write!(f, " (ply {ply})"),
            None => Ok(()),
        }
    }
}

/// The reason why reading a game stops.
enum Stop {
    Broken(Broken),
    Refused(Finding),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Stop {
        Stop::Broken(broken)
    }
}

/// The outcome of one step through a game.
/// Treatment of `%` lines and of unusual bytes between tokens.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Extras {
    /// The game keeps the `%` lines, and the bytes are reported.
    Keep,
    Skip,
}

enum Step {
    GoOn,
    /// The game has ended, with or without a termination marker.
    End(Option<Ending>),
}
