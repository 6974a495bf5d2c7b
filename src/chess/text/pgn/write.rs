//! Writer of games in the PGN export format, exactly as the standard prescribes it.

use super::language::Language;
use crate::model::{Color, Element, Game, Replay, SEVEN_TAG_ROSTER, Start};
use crate::text::charset::{Charset, NotLatin1, put_ascii, put_latin1_text};
use crate::text::{codes, san};

/// Settings of [`format()`]. The default is the export format in UTF-8. The character set of the
/// standard, ISO 8859-1, is an option.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct PgnFormatOptions {
    /// True if the reduced export format is written: only the seven tag roster and the moves.
    pub reduced: bool,
    /// The character set.
    pub charset: Charset,
    /// True if characters that the character set lacks are written as `?`. Otherwise they are an
    /// error.
    pub translit: bool,
    /// True if only ASCII is written, whatever the character set of the output is. All other characters
    /// become `?`.
    pub ascii: bool,
    /// True if `%` lines are written. By default they are left out, as archives require.
    pub escapes: bool,
    /// The language of the piece letters. Languages other than English are for display only.
    pub language: Language,
}

impl Default for PgnFormatOptions {
    fn default() -> PgnFormatOptions {
        PgnFormatOptions {
            reduced: false,
            charset: Charset::Utf8,
            translit: false,
            ascii: false,
            escapes: false,
            language: Language::ENGLISH,
        }
    }
}

/// Counts of the parts of a game that were not written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct GameLosses {
    /// Number of tags outside the roster that were left out.
    pub tags: u64,
    /// Number of comments that were left out.
    pub comments: u64,
    /// Number of NAGs (Numeric Annotation Glyphs) that were left out.
    pub nags: u64,
    /// Number of variations that were left out. Their comments and NAGs count too.
    pub variations: u64,
    /// Number of `%` lines that were left out.
    pub escapes: u64,
    /// Number of characters that became `?`.
    pub characters: u64,
}

impl std::ops::AddAssign for GameLosses {
    fn add_assign(&mut self, other: GameLosses) {
        self.tags += other.tags;
        self.comments += other.comments;
        self.nags += other.nags;
        self.variations += other.variations;
        self.escapes += other.escapes;
        self.characters += other.characters;
    }
}

/// A reason why a game cannot be written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PgnFormatError {
    /// A character that the character set lacks.
    #[error(transparent)]
    Charset(#[from] NotLatin1),
    /// A game from a set-up position, which has no reduced form.
    #[error("a game from a set-up position has no reduced export format")]
    SetUp,
    /// Figurines, which the character set lacks.
    #[error("figurines can be written in UTF-8 only")]
    Figurines,
}

impl PgnFormatError {
    /// The stable code of the diagnostic.
    pub const fn code(self) -> &'static str {
        match self {
            PgnFormatError::Charset(_) | PgnFormatError::Figurines => codes::E_PGC_CHARSET,
            PgnFormatError::SetUp => codes::E_PGN_SETUP,
        }
    }
}

/// Appends a game in export format with an empty line after it. Returns counts of the parts that
/// the options left out.
///
/// # Errors
/// [`PgnFormatError`]; then nothing is appended.
///
/// ```
/// use epdb_chess::text::pgn::{self, PgnReadOptions, PgnFormatOptions};
/// let mut reader = pgn::GameReader::new(&b"1.e2e4! {best} c5 *"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let mut export = Vec::new();
/// pgn::format(read.game.expect("a good one"), &PgnFormatOptions::default(), &mut export)
///     .expect("UTF-8 says all");
/// assert!(export.ends_with(b"[Result \"*\"]\n\n1. e4 $1 {best} 1... c5 *\n\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn format(
    game: &Game,
    options: &PgnFormatOptions,
    out: &mut Vec<u8>,
) -> Result<GameLosses, PgnFormatError> {
    if options.reduced && *game.start() != Start::ARRAY {
        return Err(PgnFormatError::SetUp);
    }
    let is_utf8 = options.charset == Charset::Utf8 && !options.ascii;
    if options.language == Language::FIGURINE && !is_utf8 {
        return Err(PgnFormatError::Figurines);
    }
    let start = out.len();
    let mut losses = GameLosses::default();
    for (name, value) in game.tags() {
        if options.reduced && !SEVEN_TAG_ROSTER.contains(&name) {
            losses.tags += 1;
        } else {
            write_tag(name, value, out);
        }
    }
    out.push(b'\n');
    write_movetext(game, options, &mut losses, out);
    if !is_utf8 && !out[start..].is_ascii() {
        let text = String::from_utf8_lossy(&out[start..]).into_owned();
        out.truncate(start);
        losses.characters = if options.ascii {
            put_ascii(&text, out)
        } else {
            put_latin1_text(&text, options.translit, out)?
        };
    }
    Ok(losses)
}

fn write_tag(name: &str, value: &str, out: &mut Vec<u8>) {
    out.push(b'[');
    out.extend_from_slice(name.as_bytes());
    out.push(b' ');
    write_string(value, out);
    out.extend_from_slice(b"]\n");
}

/// Writes a string with its quotes.
fn write_string(value: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in value.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

pub(super) fn quoted(value: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 2);
    write_string(value, &mut out);
    out
}

fn write_movetext(
    game: &Game,
    options: &PgnFormatOptions,
    losses: &mut GameLosses,
    out: &mut Vec<u8>,
) {
    let mut layout = Layout::new(out);
    let mut replay = Replay::new(game.start());
    // A move by Black is numbered only if it is apart from White's move, for example after a
    // comment.
    let mut apart = true;
    let mut depth_left_out = 0u32;
    for element in game.elements() {
        match element {
            Element::VariationBegin if options.reduced => {
                depth_left_out += 1;
                losses.variations += 1;
            }
            Element::VariationEnd if options.reduced => depth_left_out -= 1,
            Element::Nag(_) if options.reduced => losses.nags += 1,
            Element::Comment(_) if options.reduced => losses.comments += 1,
            Element::Escape(_) if options.reduced || !options.escapes => losses.escapes += 1,
            _ if depth_left_out > 0 => {}
            Element::Escape(text) => layout.line(&["%", text]),
            Element::Nag(nag) => {
                layout.token(format!("${nag}").as_bytes());
                apart = true;
            }
            Element::Comment(text) => {
                layout.comment(text);
                apart = true;
            }
            Element::VariationBegin => {
                layout.open(b'(');
                replay.iter_mut().for_each(Replay::begin_variation);
                apart = true;
            }
            Element::VariationEnd => {
                layout.close(b')');
                replay.iter_mut().for_each(Replay::end_variation);
                apart = true;
            }
            Element::NullMove => {
                let Some(replay) = &mut replay else { continue };
                layout.number(replay, apart);
                apart = false;
                layout.token(b"--");
                replay.play_null_move();
            }
            Element::Move(mv) => {
                let Some(replay) = &mut replay else { continue };
                layout.number(replay, apart);
                apart = false;
                let san = san::format(&replay.playable(), mv);
                if options.language == Language::ENGLISH {
                    layout.token(san.as_bytes());
                } else {
                    layout.token(&options.language.localise(san.as_bytes()));
                }
                replay.play(mv);
            }
        }
    }
    layout.token(game.termination_marker().as_bytes());
    layout.finish();
}

/// Maximum number of characters of a line.
const WIDTH: usize = 79;

/// Fills lines with tokens, and breaks lines between them.
struct Layout<'o> {
    out: &'o mut Vec<u8>,
    /// Number of characters of the line so far.
    column: usize,
    /// Text that must not be broken and is not in the line yet.
    unit: Vec<u8>,
    /// True if the next token is attached to the unit.
    is_open: bool,
    /// True if the last token was a comment up to the end of its line.
    after_line_comment: bool,
}

impl Layout<'_> {
    fn new(out: &mut Vec<u8>) -> Layout<'_> {
        Layout { out, column: 0, unit: Vec::new(), is_open: false, after_line_comment: false }
    }

    fn token(&mut self, token: &[u8]) {
        if !self.is_open {
            self.flush();
        }
        self.is_open = false;
        self.unit.extend_from_slice(token);
    }

    /// Writes the number of the next move if it needs one. A move by Black needs a number only if
    /// `apart` is true: other text comes between it and White's move.
    fn number(&mut self, replay: &Replay, apart: bool) {
        let number = replay.fullmove_number();
        match replay.position().turn() {
            Color::White => self.token(format!("{number}.").as_bytes()),
            Color::Black if apart => self.token(format!("{number}...").as_bytes()),
            Color::Black => {}
        }
    }

    /// Writes an opening bracket, which is attached to the token after it.
    fn open(&mut self, bracket: u8) {
        self.token(&[bracket]);
        self.is_open = true;
    }

    /// Writes a closing bracket, which is attached to the token before it.
    fn close(&mut self, bracket: u8) {
        self.unit.push(bracket);
    }

    /// Moves the unit (a token with the brackets attached to it) into the line, or into a new line
    /// if it does not fit.
    fn flush(&mut self) {
        if self.unit.is_empty() {
            return;
        }
        let width = self.unit.iter().filter(|byte| !is_continuation(**byte)).count();
        if self.column > 0 && self.column + 1 + width > WIDTH {
            self.out.push(b'\n');
            self.column = 0;
        } else if self.column > 0 {
            self.out.push(b' ');
            self.column += 1;
        }
        self.out.append(&mut self.unit);
        self.column += width;
        self.after_line_comment = false;
    }

    fn end_line(&mut self) {
        self.flush();
        if self.column > 0 {
            self.out.push(b'\n');
            self.column = 0;
        }
        self.is_open = false;
    }

    /// Writes a separate line.
    fn line(&mut self, parts: &[&str]) {
        self.end_line();
        parts.iter().for_each(|part| self.out.extend_from_slice(part.as_bytes()));
        self.out.push(b'\n');
        self.after_line_comment = false;
    }

    /// Writes a comment in braces, with line breaks between its words. If the comment has a brace
    /// in it or a backslash at its end, it is written as lines with semicolons.
    fn comment(&mut self, text: &str) {
        if text.contains(['{', '}']) || text.ends_with('\\') {
            return self.line_comments(text);
        }
        self.open(b'{');
        for word in words(text) {
            if (word.starts_with('%') || word == "[Event") && !self.is_open {
                // A blank keeps the word away from the start of a line, where it would be read as
                // an escape or as the next game.
                self.unit.push(b' ');
                self.is_open = true;
            }
            self.token(word.as_bytes());
        }
        self.close(b'}');
    }

    /// Writes a comment as lines with semicolons. Consecutive lines are read as one comment, so the
    /// line `{}` separates two comments.
    fn line_comments(&mut self, text: &str) {
        self.end_line();
        if self.after_line_comment {
            self.line(&["{}"]);
        }
        let mut words = words(text).peekable();
        while let Some(first) = words.next() {
            let mut line = format!(";{first}");
            let mut width = line.chars().count();
            while let Some(word) = words.next_if(|word| width + 1 + word.chars().count() <= WIDTH) {
                line.push(' ');
                line.push_str(word);
                width += 1 + word.chars().count();
            }
            self.line(&[&line]);
        }
        self.after_line_comment = true;
    }

    /// Ends the last line and adds an empty line.
    fn finish(&mut self) {
        self.end_line();
        self.out.push(b'\n');
    }
}

/// The words of a comment, between which a line may end. A command such as `[%eval 1.56,10]` is one word, because
/// many readers search it in one line.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = end_of_word(text);
        rest = text.get(end + 1..);
        Some(&text[..end])
    })
}

fn end_of_word(text: &str) -> usize {
    let blank_after = |at: usize| text[at..].find(' ').map_or(text.len(), |blank| at + blank);
    let mut end = blank_after(0);
    while let Some(open) = text[..end].rfind("[%")
        && !text[open..end].contains(']')
        && let Some(length) = text[open..].find(']')
        && open + length < WIDTH
    {
        end = blank_after(open + length);
    }
    end
}

/// Whether a byte continues a character of UTF-8.
const fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
