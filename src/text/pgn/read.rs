//! Reading games.

mod comments;
mod repair;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;

use super::charset::{Charset, decode};
use super::language::Language;
use super::setup::{SetUp, SetUpError, set_up};
use super::source::{Broken, LONGEST_TOKEN, Source};
use super::write::{self, PgnWriteOptions};
use crate::model::{
    BuildError, Element, Game, GameBuilder, GameResult, Replay, SEVEN_TAG_ROSTER, is_tag_name,
    is_tag_name_byte,
};
use crate::text::diagnostic::shown;
use crate::text::{Diagnostic, Profile, codes, san};

/// The most characters that a string of the standard has, and the most that a line of it
/// has with its end.
const SPEC_LENGTH: usize = 255;

/// The most warnings that one game may have.
const MOST_WARNINGS: usize = 1 << 16;

/// The error of the stricter profiles, and the warning of the lenient one.
type Codes = (&'static str, &'static str);
const COMMA: Codes = (codes::E_PGN_TOKEN, codes::W_LEN_COMMA);
const DETACHED: Codes = (codes::E_PGN_TOKEN, codes::W_LEN_DETACHED);
const STRING: Codes = (codes::E_PGN_STRING, codes::W_PGN_STRING);
const TAG: Codes = (codes::E_PGN_TAG, codes::W_PGN_TAG);
const RAV: Codes = (codes::E_PGN_RAV, codes::W_PGN_RAV);
const NAG: Codes = (codes::E_PGN_NAG, codes::W_PGN_NAG);
const RESULT: Codes = (codes::E_PGN_RESULT, codes::W_PGN_RESULT);

/// What a reader of games takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PgnReadOptions {
    /// `Strict`: exactly the export format; `Standard`: what the standard's import format allows;
    /// `Lenient`: files as they are found, each repair a warning.
    pub profile: Profile,
    /// Whose letters stand for the pieces.
    pub language: Language,
    /// The character set. When none is declared each text is read as UTF-8 if it is that, and as
    /// Latin-1 if not.
    pub charset: Option<Charset>,
    /// The most bytes that one game may have; more are not kept in memory. What a game needs in
    /// memory is seldom more than ten times its bytes.
    pub limit: usize,
    /// Of a game whose main line has a move that cannot be made, the moves before it are taken and
    /// the rest becomes a comment. Else such a game is refused.
    pub truncate: bool,
}

impl Default for PgnReadOptions {
    fn default() -> PgnReadOptions {
        PgnReadOptions {
            profile: Profile::Lenient,
            language: Language::ENGLISH,
            charset: None,
            limit: 16 << 20,
            truncate: false,
        }
    }
}

/// Something that a reader has to say about a game, and where.
///
/// Its text form is `LINE:COLUMN: error[CODE]: message`, with the ply where there is one; who knows
/// the file puts it in front.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Finding {
    /// The line of the stream, from 1.
    pub line: u64,
    /// The number of the move in its line, from 1, when the finding is about a move.
    pub ply: Option<u32>,
    /// What was found, and its column.
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

/// A game of the stream, or what is there in place of one.
#[derive(Debug)]
pub struct GameRead<'a> {
    /// The number of the game in the stream, from 1; games that are refused count.
    pub number: u64,
    /// The line that it begins in, from 1.
    pub line: u64,
    /// The game, or why it is none. The next one can be read all the same.
    pub game: Result<&'a Game, Finding>,
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
    /// A game over the limit is waiting to be copied away.
    in_long_game: bool,
}

/// Why the reading of a game stops.
enum Stop {
    Broken(Broken),
    Refused(Finding),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Stop {
        Stop::Broken(broken)
    }
}

/// What a step through the movetext leads to.
enum Step {
    GoOn,
    /// The game has ended, with a termination marker or without.
    End(Option<GameResult>),
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
            game: game.map(|()| self.builder.game()),
            warnings: &self.warnings,
            raw: self.source.slice(0..raw_end),
        }))
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
    fn read_pieces(&mut self) -> Result<Option<Option<GameResult>>, Stop> {
        loop {
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
    fn complete(&mut self, marker: Option<GameResult>) -> Result<(), Stop> {
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

    /// Takes moves, numbers and short comments as long as they stand as the export format has them.
    /// All else is left to [`GameReader::step`], which would read these too, only slower.
    fn usual_moves(&mut self) -> Result<(), Stop> {
        if !self.in_movetext || self.options.language != Language::ENGLISH {
            return Ok(());
        }
        loop {
            let Some(replay) = self.builder.replay() else { return Ok(()) };
            let rest = match self.source.rest() {
                [b' ', rest @ ..] => rest,
                [b'\n', rest @ ..] if rest.first() != Some(&b'%') => rest,
                rest => rest,
            };
            let blanks = self.source.rest().len() - rest.len();
            if rest.len() < LONGEST_TOKEN {
                return Ok(());
            }
            if rest[0] == b'{' {
                self.source.at += blanks;
                if !self.short_comment()? {
                    return Ok(());
                }
                continue;
            }
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 {
                let periods = rest[digits..].iter().take_while(|byte| **byte == b'.').count();
                if periods == 0 || number(&rest[..digits]) != Some(replay.fullmove_number()) {
                    return Ok(());
                }
                self.number_at = self.source.at + blanks;
                self.source.at += blanks + digits + periods;
                continue;
            }
            let Some(end) = rest.iter().take(8).position(|byte| *byte <= b' ') else {
                return Ok(());
            };
            let Some(mv) = san::quick(replay.position(), &rest[..end]) else { return Ok(()) };
            self.source.at += blanks + end;
            let played = self.builder.play_legal(mv);
            self.built(self.source.at, played)?;
        }
    }

    /// Whether nothing but white space and escapes has been met.
    fn is_nothing(&self) -> bool {
        let mut elements = self.builder.game().elements();
        !self.in_movetext
            && self.tags_end == 0
            && elements.all(|element| matches!(element, Element::Escape(_)))
    }

    /// The next byte that is no white space and not in a `%` line, which is kept with the game
    /// when `keep` says so; `None` at the end of the stream.
    fn next_byte(&mut self, keep: bool) -> Result<Option<u8>, Stop> {
        loop {
            self.source.want_token()?;
            let rest = self.source.rest();
            let blanks = rest.iter().take_while(|byte| is_white_space(**byte)).count();
            match rest.get(blanks) {
                None if blanks == 0 => return Ok(None),
                None => self.source.at += blanks,
                Some(b'%') if self.is_line_start(self.source.at + blanks) => {
                    self.source.at += blanks;
                    self.escape(keep)?;
                }
                Some(0xef) if rest[blanks..].starts_with(BYTE_ORDER_MARK) => {
                    self.source.at += blanks + BYTE_ORDER_MARK.len();
                }
                Some(&byte) if byte < b' ' || byte == 0x7f => {
                    self.source.at += blanks;
                    let at = self.source.at;
                    self.source.at += 1;
                    if keep {
                        let message = format!("control byte 0x{byte:02X} read as a blank");
                        let codes = (codes::E_PGN_TOKEN, codes::W_LEN_CTRL);
                        self.repair(codes, at..at + 1, " ", message)?;
                    }
                }
                Some(&byte) => {
                    self.source.at += blanks;
                    return Ok(Some(byte));
                }
            }
        }
    }

    fn is_line_start(&self, at: usize) -> bool {
        matches!(self.source.before(at), b'\n' | b'\r')
    }

    /// Whether nothing but blanks stands before a place in its line.
    fn is_first_in_line(&self, at: usize) -> bool {
        let line = self.source.slice(0..at).rsplit(|byte| matches!(byte, b'\n' | b'\r')).next();
        line.is_none_or(|line| line.iter().all(|byte| is_white_space(*byte) || *byte >= 0x80))
    }

    fn step(&mut self, byte: u8) -> Result<Step, Stop> {
        let at = self.source.at;
        match byte {
            b'{' | b';' => self.comment(byte)?,
            b'[' if self.begins_next_game()? => return Ok(Step::End(None)),
            b'[' if !self.in_movetext => self.tag()?,
            _ => return self.movetext(byte, at),
        }
        Ok(Step::GoOn)
    }

    fn movetext(&mut self, byte: u8, at: usize) -> Result<Step, Stop> {
        self.begin_movetext()?;
        match byte {
            b'-' | b'0' | b'@' | b'Z' | b'n' | b'p' if is_null_move(self.source.rest()) => {
                let message = "a null move, which no game of the standard has";
                self.give_up_line(codes::E_MOVE_SYNTAX, at, message.to_owned())?;
            }
            b'.' => self.source.at += 1,
            b'(' if self.source.rest().starts_with(b"(e.p.)") => self.en_passant_note(at)?,
            b'(' => self.begin_variation(at)?,
            b')' => self.end_variation(at)?,
            b'$' => self.nag(at)?,
            b'!' | b'?' => self.suffix(at)?,
            b'*' => {
                self.source.at += 1;
                return self.marker(at, GameResult::Unknown);
            }
            b'0'..=b'9' if self.move_number(at)? => {}
            _ if is_symbol(byte) => return self.symbol(at),
            b',' => {
                self.source.at += 1;
                self.repair(COMMA, at..at + 1, "", "a comma between moves; dropped")?;
            }
            b'}' => {
                self.source.at += 1;
                let message = "`}` has no meaning here; dropped";
                let codes = (codes::E_PGN_TOKEN, codes::W_PGN_TOKEN);
                self.repair(codes, at..at + 1, "", message)?;
            }
            _ => {
                let message = format!("{} has no meaning here", shown(&[byte]));
                self.give_up_line(codes::E_PGN_TOKEN, at, message)?;
            }
        }
        Ok(Step::GoOn)
    }

    /// Whether the `[` here belongs to the next game: movetext came before it, or the tags of this
    /// one ended at a blank line or have this tag already.
    fn begins_next_game(&mut self) -> Result<bool, Stop> {
        let may_begin = if self.in_movetext {
            self.is_first_in_line(self.source.at)
        } else {
            self.look_for_blank_line();
            self.after_blank_line && !self.has_event_alone() || self.repeats_roster_tag()
        };
        Ok(may_begin && is_tag_like(self.source.rest()))
    }

    /// Looks between the last tag and here.
    fn look_for_blank_line(&mut self) {
        if !self.in_movetext && self.tags_end > 0 {
            let gap = self.source.slice(self.tags_end..self.source.at);
            self.after_blank_line |= has_blank_line(gap);
        }
    }

    /// Whether the tag here is one of the seven and the game has it.
    fn repeats_roster_tag(&self) -> bool {
        let text = self.source.rest()[1..].trim_ascii_start();
        let name = &text[..text.iter().take_while(|byte| is_tag_name_byte(**byte)).count()];
        let roster = SEVEN_TAG_ROSTER.into_iter().find(|other| other.as_bytes() == name);
        roster.is_some_and(|name| self.builder.game().has_tag(name))
    }

    /// Whether `Event` is the only tag so far: ChessBase leaves a line blank behind it.
    fn has_event_alone(&self) -> bool {
        let game = self.builder.game();
        game.tags()
            .filter(|(name, _)| game.has_tag(name))
            .eq([("Event", game.tag("Event").unwrap_or_default())])
    }

    /// Remembers where a tag ended.
    fn end_tag(&mut self) {
        self.tags_end = self.source.at;
        self.after_blank_line = false;
    }

    /// Sets the game up once all tags are known.
    fn begin_movetext(&mut self) -> Result<(), Stop> {
        if std::mem::replace(&mut self.in_movetext, true) {
            return Ok(());
        }
        let at = self.source.at;
        match set_up(&mut self.builder) {
            Ok(SetUp::AsGiven) => Ok(()),
            Ok(SetUp::LenientFen) => {
                let message = "the FEN tag is no canonical FEN; the position was read leniently";
                self.keep((codes::E_PGN_SETUP, codes::W_PGN_SETUP), at, message)
            }
            Err(SetUpError::Build(error)) => self.built(at, Err(error)),
            Err(error @ SetUpError::Variant(_)) => {
                Err(self.refused(codes::E_PGN_VARIANT, at, error.to_string()))
            }
            Err(error) => Err(self.refused(codes::E_PGN_SETUP, at, error.to_string())),
        }
    }

    fn en_passant_note(&mut self, at: usize) -> Result<(), Stop> {
        self.source.at += b"(e.p.)".len();
        let message = "`(e.p.)` stands apart from its move; dropped";
        self.repair(DETACHED, at..self.source.at, "", message)
    }

    fn begin_variation(&mut self, at: usize) -> Result<(), Stop> {
        self.source.at += 1;
        match self.builder.begin_variation() {
            Err(BuildError::VariationPlace) => {
                let message = "a variation before any move of its line; `(` dropped";
                self.repair(RAV, at..at + 1, "", message)
            }
            result => self.built(at, result),
        }
    }

    fn end_variation(&mut self, at: usize) -> Result<(), Stop> {
        self.source.at += 1;
        let message = match self.builder.end_variation() {
            Err(BuildError::VariationEnd) => "no variation is open; `)` dropped",
            Err(BuildError::VariationEmpty) => {
                let dissolved = self.builder.dissolve_variation();
                self.built(at, dissolved)?;
                "a variation without a move; dropped"
            }
            result => return self.built(at, result),
        };
        self.repair(RAV, at..at + 1, "", message)
    }

    fn nag(&mut self, at: usize) -> Result<(), Stop> {
        let digits =
            self.source.rest()[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.source.at += 1 + digits;
        let text = self.source.slice(at + 1..at + 1 + digits).to_vec();
        let Some(nag) = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()) else {
            let message =
                format!("a NAG is `$0` to `$255`, not {}; kept as a comment", shown(&text));
            return self.nag_as_comment(at, message);
        };
        if nag == 0 {
            self.warn(codes::W_PGN_NAG, at, "the NAG $0 means nothing; kept")?;
        }
        self.add_nag(at, nag)
    }

    /// `!`, `?!` and the like behind a move.
    fn suffix(&mut self, at: usize) -> Result<(), Stop> {
        let rest = self.source.rest();
        let marks = rest.iter().take_while(|byte| matches!(byte, b'!' | b'?')).count();
        let (nag, known) = match (rest.first(), rest.get(1).filter(|_| marks > 1)) {
            (Some(b'!'), None) => (1, 1),
            (_, None) => (2, 1),
            (Some(b'!'), Some(b'!')) => (3, 2),
            (Some(b'?'), Some(b'?')) => (4, 2),
            (Some(b'!'), _) => (5, 2),
            (_, _) => (6, 2),
        };
        self.source.at += marks;
        if marks > known {
            let message = format!("{marks} annotation marks together; the first {known} taken");
            let taken = self.source.slice(at..at + known).to_vec();
            self.repair(NAG, at..at + marks, taken, message)?;
        }
        self.add_nag(at, nag)
    }

    fn add_nag(&mut self, at: usize, nag: u8) -> Result<(), Stop> {
        match self.builder.add_nag(nag) {
            Err(BuildError::NagPlace) => self
                .nag_as_comment(at, "a NAG before any move of its line; kept as a comment".into()),
            result => self.built(at, result),
        }
    }

    fn nag_as_comment(&mut self, at: usize, message: String) -> Result<(), Stop> {
        let place = at..self.source.at;
        let text = self.source.slice(place.clone());
        self.repair(NAG, place.clone(), [b"{", text, b"}"].concat(), message)?;
        self.add_comment(place)
    }

    /// A termination marker; within a variation it is dropped.
    fn marker(&mut self, at: usize, result: GameResult) -> Result<Step, Stop> {
        if self.builder.depth() == 0 {
            return Ok(Step::End(Some(result)));
        }
        let end = self.source.at;
        if self.next_byte(true)? == Some(b')') {
            let message = "a termination marker inside a variation; dropped";
            self.repair(RAV, at..end, "", message)?;
            return Ok(Step::GoOn);
        }
        Ok(Step::End(Some(result)))
    }

    /// A move number, a move or a termination marker.
    fn symbol(&mut self, at: usize) -> Result<Step, Stop> {
        let text = symbol(self.source.rest());
        if let Some((result, canonical)) = termination_marker(text) {
            self.source.at += text.len();
            if !canonical {
                let message = "an unusual termination marker";
                self.repair(RESULT, at..self.source.at, result.as_str(), message)?;
            }
            return self.marker(at, result);
        }
        let range = at..at + text.len();
        self.play(range)?;
        Ok(Step::GoOn)
    }

    /// Takes a move number with its periods; false when the digits begin something else.
    fn move_number(&mut self, at: usize) -> Result<bool, Stop> {
        let rest = self.source.rest();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match rest.get(digits) {
            Some(b'-' | b'/' | b'\xbd' | b'\xe2' | b'=' | b'+' | b'#' | b':') => return Ok(false),
            _ if SPACED_MARKERS.into_iter().any(|marker| rest.starts_with(marker)) => {
                return Ok(false);
            }
            _ => {}
        }
        let number = number(&rest[..digits]);
        let periods = rest[digits..].iter().take_while(|byte| **byte == b'.').count();
        self.number_at = at;
        self.source.at += digits + periods;
        let expected = self.builder.replay().map(Replay::fullmove_number);
        if let Some(expected) = expected.filter(|expected| number != Some(*expected)) {
            let message = format!("the number of this move is {expected}");
            if self.options.profile == Profile::Strict {
                return Err(self.refused(codes::E_PGN_MOVENUM, at, message));
            }
            self.change(codes::W_PGN_MOVENUM, at..at + digits, expected.to_string(), message)?;
        }
        Ok(true)
    }

    fn play(&mut self, place: Range<usize>) -> Result<(), Stop> {
        let at = place.start;
        self.source.at = place.end;
        let Some(replay) = self.builder.replay() else {
            let message = BuildError::NotPlayable.to_string();
            return Err(self.refused(codes::E_PGN_SETUP, at, message));
        };
        let text = self.source.slice(place.clone());
        let is_english = self.options.language == Language::ENGLISH;
        if let Some(mv) = san::quick(replay.position(), text).filter(|_| is_english) {
            let played = self.builder.play_legal(mv);
            return self.built(at, played);
        }
        let playable = replay.playable();
        let found = if is_english {
            san::find(&playable, text, Profile::Lenient)
        } else {
            san::find(&playable, &self.options.language.to_english(text), Profile::Lenient)
        };
        match found {
            Ok(found) => {
                if found.false_capture {
                    let message = "a capture mark on a move that captures nothing; dropped";
                    let mut without = text.to_vec();
                    without.retain(|byte| !matches!(byte, b'x' | b'X' | b':'));
                    self.change(codes::W_SAN_CAPTURE, place, without, message)?;
                }
                let played = self.builder.play_legal(found.mv);
                self.built(at, played)
            }
            Err(error) => self.no_move(at, error),
        }
    }

    /// Whether exactly one legal move fits a text.
    fn is_move(&self, text: &[u8]) -> bool {
        let Some(replay) = self.builder.replay() else { return false };
        let text = self.options.language.to_english(text);
        san::find(&replay.playable(), &text, Profile::Lenient).is_ok()
    }

    /// What is no move may be a mark that stands apart from its move.
    fn no_move(&mut self, at: usize, error: san::MoveError) -> Result<(), Stop> {
        let place = at..self.source.at;
        let text = self.source.slice(place.clone());
        let kept = match text {
            b"+" | b"#" | b"++" | b"ep" | b"e.p." | b"ch" | b"mate" => Some(None),
            _ => position_sign(text).map(Some),
        };
        match kept.filter(|_| self.builder.has_move()) {
            Some(Some(nag)) => {
                let message = format!("a sign in place of a NAG; read as ${nag}");
                let codes = (codes::E_PGN_TOKEN, codes::W_PGN_NAG);
                self.repair(codes, place, format!("${nag}"), message)?;
                self.add_nag(at, nag)
            }
            Some(None) => {
                let message = format!("{} stands apart from its move; dropped", shown(text));
                self.repair(DETACHED, place, "", message)
            }
            None => {
                let message = format!("{}: {}", shown(text), error.message);
                let is_lenient = self.options.profile == Profile::Lenient;
                let head = glued_marker(text).filter(|length| self.is_move(&text[..*length]));
                match head.filter(|_| is_lenient) {
                    Some(length) => self.split_marker(place, length),
                    None => self.give_up_line(error.code, at, message),
                }
            }
        }
    }

    /// `[Name "value"]`.
    fn tag(&mut self) -> Result<(), Stop> {
        let open = self.source.at;
        if let Some((name, value)) = plain_tag(self.source.rest()) {
            let length = name.len() + value.len() + 5;
            let value_at = open + name.len() + 3..open + length - 2;
            let name = std::str::from_utf8(name).unwrap_or_default();
            let value = decode(value, self.options.charset);
            let recoded = matches!(value, Cow::Owned(_));
            let added = self.builder.add_tag(name, &value);
            self.source.at += length;
            self.end_tag();
            self.tag_added(open, added)?;
            return if recoded { self.note_latin1(value_at) } else { Ok(()) };
        }
        self.source.at += 1;
        self.next_byte(true)?;
        let name = self.tag_name(open)?;
        if self.next_byte(true)? != Some(b'"') {
            return Err(self.refused(codes::E_PGN_TAG, open, "a tag is `[Name \"value\"]`"));
        }
        let value = self.tag_value()?;
        let end = self.source.at;
        if self.next_byte(true)? == Some(b']') {
            self.source.at += 1;
        } else {
            let closed = [self.source.slice(open..end), b"]"].concat();
            self.repair(TAG, open..end, closed, "the tag is not closed with `]`")?;
        }
        self.end_tag();
        let added = self.builder.add_tag(&name, &value);
        self.tag_added(open, added)
    }

    fn tag_added(&mut self, open: usize, added: Result<bool, BuildError>) -> Result<(), Stop> {
        if added == Ok(false) {
            let message = "a second tag of this name; the first counts";
            if self.options.profile == Profile::Strict {
                return Err(self.refused(codes::E_PGN_TAGDUP, open, message));
            }
            self.change(codes::W_PGN_TAGDUP, open..self.source.at, "", message)?;
        }
        self.built(open, added.map(drop))
    }

    fn tag_name(&mut self, open: usize) -> Result<String, Stop> {
        let rest = self.source.rest();
        let len = rest.iter().take_while(|byte| is_tag_name_byte(**byte)).count();
        let name = String::from_utf8_lossy(&rest[..len]).into_owned();
        if !is_tag_name(&name) {
            return Err(self.refused(codes::E_PGN_TAG, open, "a tag is `[Name \"value\"]`"));
        }
        if name.bytes().any(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_')) {
            let message = "the name of a tag has letters, digits and underscores only; kept";
            self.keep(TAG, self.source.at, message)?;
        }
        self.source.at += len;
        Ok(name)
    }

    /// A string, which ends in its line.
    fn tag_value(&mut self) -> Result<String, Stop> {
        let open = self.source.at;
        let end_of_line = self.source.end_of_line(open)?;
        let line = self.source.slice(open + 1..end_of_line);
        let (text, end, repaired) = match closing_quote(line) {
            Some(place) if !has_stray_quote(&line[place + 1..]) => {
                (&line[..place], place + 1, None)
            }
            Some(place) => {
                let place = quote_before_bracket(line).unwrap_or(place);
                let message = "a quote inside the string without a backslash; kept";
                (&line[..place], place + 1, Some(message))
            }
            None => {
                let text = line.trim_ascii_end();
                let without = text.strip_suffix(b"]").unwrap_or(text);
                let value = without.strip_suffix(b"\"").unwrap_or(without);
                (value, without.len(), Some("the string is not closed; closed here"))
            }
        };
        let length = text.len();
        let value = unescape(text);
        let value = decode(&value, self.options.charset);
        let recoded = matches!(value, Cow::Owned(_));
        let value = value.into_owned();
        self.source.at = open + 1 + end;
        let place = open..self.source.at;
        if recoded {
            self.note_latin1(open + 1..open + 1 + length)?;
        }
        if let Some(message) = repaired {
            self.repair(STRING, place.clone(), write::quoted(&value), message)?;
        }
        if value.chars().count() > SPEC_LENGTH {
            self.keep(STRING, open, "the string is longer than 255 characters; kept")?;
        }
        if value.contains(|c: char| c.is_ascii_control()) {
            let value = value.replace(|c: char| c.is_ascii_control(), " ");
            let message = "a control character in the string; read as a blank";
            self.repair(STRING, place, write::quoted(&value), message)?;
            return Ok(value);
        }
        Ok(value)
    }

    /// Sees to the result and to variations that were left open.
    fn finish(&mut self, marker: Option<GameResult>) -> Result<(), Stop> {
        let at = self.source.at;
        self.begin_movetext()?;
        if self.builder.depth() > 0 {
            let message = "the game ends inside a variation; closed";
            self.repair(RAV, at..at, ")".repeat(self.builder.depth()), message)?;
        }
        while self.builder.depth() > 0 {
            let closed = match self.builder.end_variation() {
                Err(BuildError::VariationEmpty) => self.builder.dissolve_variation(),
                result => result,
            };
            self.built(at, closed)?;
        }
        self.settle_result(at, marker)?;
        if marker.is_none() {
            let result = self.builder.game().result().as_str();
            let message = format!("the game has no termination marker; read as {result}");
            self.repair(RESULT, at..at, result, message)?;
        }
        Ok(())
    }

    /// Takes the white space behind the game.
    fn skip_blank_lines(&mut self) -> Result<(), Stop> {
        loop {
            self.source.want_token()?;
            let rest = self.source.rest();
            let blanks = rest.iter().take_while(|byte| is_white_space(**byte)).count();
            let all = blanks == rest.len();
            self.source.at += blanks;
            if !all || blanks == 0 {
                return Ok(());
            }
        }
    }

    /// Goes on to the end of a game that was refused.
    fn skip_game(&mut self) -> Result<(), Broken> {
        let skipped = self
            .skip_tokens()
            .and_then(|()| self.trailing_comments(false))
            .and_then(|()| self.skip_blank_lines());
        match skipped {
            Err(Stop::Broken(broken)) => Err(broken),
            Ok(()) | Err(Stop::Refused(_)) => Ok(()),
        }
    }

    fn skip_tokens(&mut self) -> Result<(), Stop> {
        if !self.in_movetext {
            // The tag that was refused.
            self.source.at = self.source.end_of_line(self.source.at)?;
            self.end_tag();
        }
        while let Some(byte) = self.next_byte(false)? {
            match byte {
                b'{' | b';' => self.skip_comment(byte)?,
                b'[' if self.begins_next_game()? => return Ok(()),
                b'[' => self.skip_tag()?,
                _ => {
                    self.in_movetext = true;
                    let text = symbol(self.source.rest());
                    let is_marker = byte == b'*'
                        || termination_marker(text).is_some()
                        || glued_marker(text).is_some();
                    self.source.at += text.len().max(1);
                    if is_marker && self.next_byte(false)? != Some(b')') {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Passes a tag of a game that was refused; that the game has it counts.
    fn skip_tag(&mut self) -> Result<(), Stop> {
        if let Some((name, _)) = plain_tag(self.source.rest()) {
            let name = std::str::from_utf8(name).unwrap_or_default();
            // The game is refused already: what is wrong with a further tag is not told.
            self.builder.add_tag(name, "").ok();
        }
        self.source.at = self.source.end_of_line(self.source.at)?;
        self.end_tag();
        Ok(())
    }

    /// Refuses a game that does not stand in export format.
    fn compare_with_export(&mut self) -> Result<(), Stop> {
        let is_utf8 = std::str::from_utf8(self.source.slice(0..self.source.at)).is_ok();
        let latin1 = self.options.charset == Some(Charset::Latin1) || !is_utf8;
        let charset = if latin1 { Charset::Latin1 } else { Charset::Utf8 };
        let options = PgnWriteOptions { escapes: true, charset, ..PgnWriteOptions::default() };
        let mut export = Vec::new();
        if let Err(error) = write::write(self.builder.game(), &options, &mut export) {
            return Err(self.refused(codes::E_PGN_NONCANON, 0, error.to_string()));
        }
        let raw = self.source.slice(0..self.source.at);
        if raw == export {
            return Ok(());
        }
        let same = raw.iter().zip(&export).take_while(|(a, b)| a == b).count();
        let message = format!(
            "not in export format: expected {} here",
            shown(&export[same..export.len().min(same + 20)])
        );
        Err(self.refused(codes::E_PGN_NONCANON, same, message))
    }

    /// Tells of the first line that is longer than the standard allows. The lenient profile takes
    /// lines of any length, as most programs write them.
    fn check_lines(&mut self) -> Result<(), Stop> {
        if self.options.profile == Profile::Lenient {
            return Ok(());
        }
        match self.source.long_line(SPEC_LENGTH) {
            None => Ok(()),
            Some(line) => {
                let message = "the line is longer than 255 characters; read";
                self.warn(codes::W_PGN_LINELEN, line, message)
            }
        }
    }

    fn finding(&mut self, diagnostic: Diagnostic, at: usize) -> Finding {
        let (line, column) = self.source.place(at);
        Finding { line, ply: None, diagnostic: Diagnostic { column, ..diagnostic } }
    }

    fn refused(&mut self, code: &'static str, at: usize, message: impl Into<String>) -> Stop {
        Stop::Refused(self.finding(Diagnostic::error(code, 0, message), at))
    }

    /// Refuses the game for a move, and names its ply.
    fn refused_move(&mut self, code: &'static str, at: usize, message: impl Into<String>) -> Stop {
        let mut finding = self.finding(Diagnostic::error(code, 0, message), at);
        finding.ply = self.builder.replay().map(|replay| replay.ply() + 1);
        Stop::Refused(finding)
    }

    /// Takes note of a warning. A game with too many of them is refused, so that they cannot fill
    /// the memory.
    fn note(&mut self, warning: Diagnostic, at: usize) -> Result<(), Stop> {
        if self.warnings.len() == MOST_WARNINGS {
            let message = format!("more than {MOST_WARNINGS} repairs and doubts in one game");
            return Err(self.refused(codes::E_PGN_SIZE, at, message));
        }
        let finding = self.finding(warning, at);
        self.warnings.push(finding);
        Ok(())
    }

    /// A doubt that changes nothing.
    fn warn(
        &mut self,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
    ) -> Result<(), Stop> {
        self.note(Diagnostic::warning(code, 0, message), at)
    }

    /// A repair of the bytes at a place, in every profile.
    fn change(
        &mut self,
        code: &'static str,
        place: Range<usize>,
        after: impl Into<Vec<u8>>,
        message: impl Into<String>,
    ) -> Result<(), Stop> {
        let at = place.start;
        let before = self.source.slice(place);
        self.note(Diagnostic::warning(code, 0, message).with_repair(before, after), at)
    }

    /// A repair of the bytes at a place in the lenient profile, elsewhere an error.
    fn repair(
        &mut self,
        codes: Codes,
        place: Range<usize>,
        after: impl Into<Vec<u8>>,
        message: impl Into<String>,
    ) -> Result<(), Stop> {
        self.repair_at(codes, place.start, place, after, message)
    }

    /// The same with a place of its own for the message.
    fn repair_at(
        &mut self,
        codes: Codes,
        at: usize,
        place: Range<usize>,
        after: impl Into<Vec<u8>>,
        message: impl Into<String>,
    ) -> Result<(), Stop> {
        let message = message.into();
        self.lenient_only(codes.0, at, &message)?;
        let before = self.source.slice(place);
        self.note(Diagnostic::warning(codes.1, 0, message).with_repair(before, after), at)
    }

    /// A doubt that changes nothing in the lenient profile, elsewhere an error.
    fn keep(&mut self, codes: Codes, at: usize, message: &str) -> Result<(), Stop> {
        self.lenient_only(codes.0, at, message)?;
        self.warn(codes.1, at, message)
    }

    /// Refuses the game unless the profile is the lenient one.
    fn lenient_only(&mut self, code: &'static str, at: usize, message: &str) -> Result<(), Stop> {
        match self.options.profile {
            Profile::Lenient => Ok(()),
            _ => Err(self.refused(code, at, message)),
        }
    }

    fn built(&mut self, at: usize, result: Result<(), BuildError>) -> Result<(), Stop> {
        let Err(error) = result else { return Ok(()) };
        let code = match error {
            BuildError::TooLarge => codes::E_PGN_SIZE,
            BuildError::NotPlayable => codes::E_PGN_SETUP,
            BuildError::TagName | BuildError::TooManyTags => codes::E_PGN_TAG,
            _ => codes::E_PGN_RAV,
        };
        Err(self.refused(code, at, error.to_string()))
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

const fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// The value of decimal digits, if it is one that a move can have.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |number, digit| {
        number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    })
}

/// Whether two lines end with nothing but blanks between them.
fn has_blank_line(text: &[u8]) -> bool {
    let mut ends = 0;
    for (place, byte) in text.iter().enumerate() {
        match byte {
            b'\n' if place > 0 && text[place - 1] == b'\r' => {}
            b'\n' | b'\r' => ends += 1,
            byte if is_white_space(*byte) => {}
            _ => ends = 0,
        }
        if ends == 2 {
            return true;
        }
    }
    false
}

/// The characters of symbols, with those of results, of `e8/Q`, and all beyond ASCII.
const fn is_symbol(byte: u8) -> bool {
    SYMBOLS[byte as usize]
}

static SYMBOLS: [bool; 256] = symbols();

const fn symbols() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        table[byte] = c.is_ascii_alphanumeric()
            || c >= 0x80
            || matches!(c, b'_' | b'+' | b'#' | b'=' | b':' | b'-' | b'/' | b'~');
        byte += 1;
    }
    table
}

/// Termination markers with blanks in them.
const SPACED_MARKERS: [&[u8]; 3] = [b"1/2 - 1/2", b"1 - 0", b"0 - 1"];

/// The symbol that text begins with; `(Q)` and `e.p.` behind one belong to it.
fn symbol(text: &[u8]) -> &[u8] {
    if let Some(b'0' | b'1') = text.first() {
        let spaced = SPACED_MARKERS.into_iter().find(|marker| text.starts_with(marker));
        if let Some(marker) = spaced {
            return marker;
        }
    }
    let end = text.iter().take_while(|byte| is_symbol(**byte)).count();
    match &text[end..] {
        [b'(', piece, b')', ..] if end > 0 && piece.is_ascii_alphabetic() => &text[..end + 3],
        [b'.', b'p', b'.', ..] if text[..end].ends_with(b"e") => &text[..end + 3],
        _ => &text[..end],
    }
}

/// The termination markers, each with what it says and whether it is one of the four. Where one
/// ends with another, the longer one comes first.
const MARKERS: [(&[u8], GameResult, bool); 16] = [
    (b"1/2-1/2", GameResult::Draw, true),
    (b"1-0", GameResult::WhiteWins, true),
    (b"0-1", GameResult::BlackWins, true),
    (b"*", GameResult::Unknown, true),
    (b"1 - 0", GameResult::WhiteWins, false),
    (b"0 - 1", GameResult::BlackWins, false),
    (b"1/2 - 1/2", GameResult::Draw, false),
    (b"1\xe2\x80\x930", GameResult::WhiteWins, false),
    (b"0\xe2\x80\x931", GameResult::BlackWins, false),
    (b"1/2\xe2\x80\x931/2", GameResult::Draw, false),
    (b"1/2", GameResult::Draw, false),
    (b"\xc2\xbd\xe2\x80\x93\xc2\xbd", GameResult::Draw, false),
    (b"\xc2\xbd-\xc2\xbd", GameResult::Draw, false),
    (b"\xc2\xbd", GameResult::Draw, false),
    (b"\xbd-\xbd", GameResult::Draw, false),
    (b"\xbd", GameResult::Draw, false),
];

/// What a termination marker says, and whether it is one of the four.
fn termination_marker(text: &[u8]) -> Option<(GameResult, bool)> {
    if !matches!(text.first(), Some(b'0' | b'1' | b'*' | 0x80..)) {
        return None;
    }
    let (_, result, canonical) = MARKERS.into_iter().find(|(marker, ..)| *marker == text)?;
    Some((result, canonical))
}

/// The length of what stands before a termination marker in a symbol that ends with one, when it
/// may be a move.
fn glued_marker(text: &[u8]) -> Option<usize> {
    let (marker, ..) = MARKERS.into_iter().find(|(marker, ..)| text.ends_with(marker))?;
    let head = &text[..text.len() - marker.len()];
    let may_end_a_move = |byte: &u8| {
        matches!(byte, b'1'..=b'8' | b'+' | b'#' | b'O' | b'o' | b'0' | b')' | b'.')
            || byte.is_ascii_alphabetic()
    };
    (head.len() > 1 && head.last().is_some_and(may_end_a_move)).then_some(head.len())
}

/// What stands for a null move in files of other programs.
const NULL_MOVES: [&[u8]; 5] = [b"--", b"Z0", b"0000", b"null", b"pass"];

fn is_null_move(text: &[u8]) -> bool {
    text.starts_with(b"@@@@") || NULL_MOVES.contains(&symbol(text))
}

/// The NAG that a sign of printed annotation stands for, in ASCII, Latin-1 or UTF-8.
fn position_sign(text: &[u8]) -> Option<u8> {
    Some(match text {
        b"\xe2\x96\xa1" => 7,
        b"=" => 10,
        b"~" | b"\xe2\x88\x9e" => 13,
        b"+=" | b"+/=" | b"\xe2\xa9\xb2" => 14,
        b"=+" | b"=/+" | b"\xe2\xa9\xb1" => 15,
        b"+/-" | b"\xb1" | b"\xc2\xb1" => 16,
        b"-/+" | b"\xe2\x88\x93" => 17,
        b"+-" | b"+\xe2\x88\x92" => 18,
        b"-+" | b"\xe2\x88\x92+" => 19,
        b"N" => 146,
        b"D" => 220,
        _ => return None,
    })
}

/// Whether text begins like a tag pair.
fn is_tag_like(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"[").unwrap_or_default().trim_ascii_start();
    let name = text.iter().take_while(|byte| is_tag_name_byte(**byte)).count();
    name > 0 && text[name..].trim_ascii_start().starts_with(b"\"")
}

/// Name and value of a tag pair that stands as export format has it, without backslashes.
fn plain_tag(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"[")?;
    let is_name_byte = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (name, text) = text.split_at(text.iter().take_while(|byte| is_name_byte(byte)).count());
    let text = text.strip_prefix(b" \"")?;
    let is_value_byte = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0x7f | ..b' ');
    let (value, text) = text.split_at(text.iter().take_while(|byte| is_value_byte(byte)).count());
    let fits = (1..=SPEC_LENGTH).contains(&name.len()) && value.len() <= SPEC_LENGTH;
    (fits && text.starts_with(b"\"]")).then_some((name, value))
}

/// The place of the quote that ends a string, behind the opening one.
fn closing_quote(line: &[u8]) -> Option<usize> {
    let mut escaped = false;
    line.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Whether what follows a string shows that its last quote was not the last: text, and then a
/// quote and a bracket.
fn has_stray_quote(behind: &[u8]) -> bool {
    let next = behind.trim_ascii_start().first();
    !matches!(next, None | Some(b']' | b'[' | b'{' | b';'))
        && quote_before_bracket(behind).is_some()
}

/// The place of the first quote that a bracket follows.
fn quote_before_bracket(line: &[u8]) -> Option<usize> {
    (0..line.len()).find(|&place| {
        line[place] == b'"' && line[place + 1..].trim_ascii_start().starts_with(b"]")
    })
}

/// Takes the backslashes off quotes and backslashes; others stay.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            (b'\\', [second @ (b'"' | b'\\'), behind @ ..]) => {
                out.push(*second);
                rest = behind;
            }
            _ => out.push(*first),
        }
    }
    out
}
