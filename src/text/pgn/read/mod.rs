//! Reading games.

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
pub use report::Finding;
use report::{Step, Stop};

use super::ending::Ending;
use super::source::{Broken, Source};
use crate::model::{Element, Game, GameBuilder};
use crate::text::{Diagnostic, Profile, codes};

/// A game of the stream, or what is there in place of one.
#[derive(Debug)]
pub struct GameRead<'a> {
    /// The number of the game in the stream, from 1; games that are refused count.
    pub number: u64,
    /// The line that it begins in, from 1.
    pub line: u64,
    /// The game, or why it is none. The next one can be read all the same.
    pub game: Result<&'a Game, Finding>,
    /// Whether the game has a move that cannot be made, so that it ends before it.
    pub is_cut_short: bool,
    /// What was repaired or is doubtful.
    pub warnings: &'a [Finding],
    /// Its bytes as they stand in the stream, blank lines behind it included. Empty when the game
    /// has more than the limit: [`GameReader::copy_long_game`] has them.
    pub raw: &'a [u8],
}

/// Reads a stream of games one by one. Memory does not grow with the number of games.
///
/// ```
/// use epdb::text::pgn::{GameReader, PgnReadOptions};
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
    /// The first token behind the tags has been met.
    in_movetext: bool,
    /// Just behind the last tag, and the last comment behind it.
    tags_end: usize,
    /// A blank line has been met behind the last tag.
    after_blank_line: bool,
    /// The number that was read last.
    number_at: usize,
    /// The rest of the main line has become a comment.
    is_truncated: bool,
    /// The game says that it begins elsewhere than in the start array, and not where.
    assumes_start: bool,
    /// A game over the limit is waiting to be copied away.
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
    /// Reads games from a stream.
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
            number_at: 0,
            is_truncated: false,
            assumes_start: false,
            in_long_game: false,
        }
    }

    /// The next game, or `None` at the end of the stream.
    ///
    /// # Errors
    /// What the stream reports.
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

    /// What follows the last game, once [`GameReader::next_game`] has found no more: blanks and escapes.
    pub fn rest(&self) -> &[u8] {
        self.source.slice(0..self.source.at)
    }

    /// Copies the bytes of the game that was just refused for its size, up to the next line that
    /// begins with an `Event` tag. Without such a game nothing is copied.
    ///
    /// # Errors
    /// What the stream or the sink reports.
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

    /// Reads a game into the builder up to its termination marker, or to where it ends without one;
    /// `None` when there is no game any more.
    fn read_pieces(&mut self) -> Result<Option<Option<Ending>>, Stop> {
        loop {
            self.usual_tags();
            self.usual_moves()?;
            let Some(byte) = self.next_byte(true)? else {
                return Ok(if self.is_nothing() { None } else { Some(None) });
            };
            match self.step(byte)? {
                Step::GoOn => {}
                Step::End(marker) => return Ok(Some(marker)),
            }
        }
    }

    /// Sees to what can be seen only when the whole game has been read.
    fn complete(&mut self, marker: Option<Ending>) -> Result<(), Stop> {
        let finished = self.finish(marker);
        if marker.is_some() {
            self.trailing_comments(finished.is_ok())?;
        }
        self.skip_blank_lines()?;
        finished?;
        if self.options.profile == Profile::Strict {
            self.compare_with_export()?;
        }
        self.check_lines()
    }

    /// Whether nothing but white space and escapes has been met.
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
            b']' if !self.in_movetext && self.tags_end > 0 => self.second_bracket()?,
            _ => return self.movetext(byte, at),
        }
        Ok(Step::GoOn)
    }
}
