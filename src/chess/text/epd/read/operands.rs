//! Parser of operands by the types of their opcodes.

use std::borrow::Cow;

use super::reader::{Reader, readable};
use super::segment::{Raw, Segment, Taken};
use crate::model::rules::Playable;
use crate::model::score::{Score, mated_in, mates_in};
use crate::model::{KeptGames, Opcode, Operand, Operands, Position, San, Tally};
use crate::text::Profile;
use crate::text::charset::{Charset, decode};
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::san;
use crate::text::scan::Word;

/// Maximum length of a string in bytes.
const MAX_LEN: usize = 255;

impl Reader<'_, '_> {
    pub(super) fn read_operands(
        &mut self,
        position: &Position,
        segment: &Segment,
    ) -> Result<Taken, Diagnostic> {
        let raws = segment.raws;
        let all = raws.len();
        let standard = self.standard(segment.opcode);
        let wanted = match standard.map_or(&Operands::Any, |entry| &entry.operands) {
            Operands::Any => {
                let operands =
                    raws.iter().map(|raw| self.verbatim(raw)).collect::<Result<_, _>>()?;
                return Ok(Taken::new(operands, all));
            }
            Operands::Str { optional } => return self.read_text(segment, *optional),
            Operands::Tally => return self.read_tally(position, segment),
            Operands::KeptGames => return read_kept_games(segment, self.fixed(segment, 1)),
            Operands::TagPairs => {
                return Ok(Taken::new(self.read_tag_pairs(segment)?, all));
            }
            wanted @ (Operands::Move | Operands::MoveSet | Operands::MoveLine) => {
                return self.read_moves(position, segment, wanted);
            }
            wanted => wanted,
        };
        let count = match wanted {
            Operands::None => self.fixed(segment, 0),
            Operands::Integer(..) | Operands::Identifier(_) => self.fixed(segment, 1),
            _ => self.fixed(segment, 2),
        };
        let operands = match (wanted, &raws[..count]) {
            (Operands::None, []) => Vec::new(),
            (Operands::None, _) => return Err(segment.arity("no operand")),
            (Operands::Integer(least, most), [raw]) => {
                vec![self.read_integer(segment, raw, *least, *most)?]
            }
            (Operands::Integer(..), _) => return Err(segment.arity("one integer")),
            (Operands::Identifier(names), [raw]) => vec![read_identifier(segment, raw, names)?],
            (Operands::Identifier(_), _) => return Err(segment.arity("one identifier")),
            (Operands::TwoStrings, [address, name]) => {
                vec![self.quoted(address)?, self.quoted(name)?]
            }
            (Operands::TwoStrings, _) => return Err(segment.arity("two strings")),
            (Operands::Clocks, [white, black]) => {
                vec![read_clock(segment, white)?, read_clock(segment, black)?]
            }
            (Operands::Clocks, _) => return Err(segment.arity("two clocks")),
            (_, [date, time]) => vec![read_date(segment, date)?, read_time(segment, time)?],
            _ => return Err(segment.arity("a date and a time")),
        };
        Ok(Taken::new(operands, count))
    }

    pub(super) fn known_opcode(&self, raw: &Raw) -> bool {
        raw.as_opcode().is_some_and(|opcode| self.standard(opcode).is_some())
    }

    /// Number of operands that belong to an operation, if its opcode takes a fixed number of
    /// operands. In the lenient profile, a known opcode directly after these operands begins the
    /// next operation. Otherwise all operands belong to this operation.
    fn fixed(&self, segment: &Segment, wanted: usize) -> usize {
        match segment.raws.get(wanted) {
            Some(raw) if self.is_lenient() && self.known_opcode(raw) => wanted,
            _ => segment.raws.len(),
        }
    }

    /// Reads an operand of `noop` or of an unknown opcode, unchanged.
    pub(super) fn verbatim(&mut self, raw: &Raw) -> Result<Operand, Diagnostic> {
        match raw {
            Raw::Str(inner, closed) => self.read_string(*inner, *closed),
            Raw::Token(word) => token(*word),
        }
    }

    /// Reads a string, or a single word that lacks its quotes.
    fn quoted(&mut self, raw: &Raw) -> Result<Operand, Diagnostic> {
        match raw {
            Raw::Str(inner, closed) => self.read_string(*inner, *closed),
            Raw::Token(word) => self.quote(*word),
        }
    }

    fn quote(&mut self, word: Word) -> Result<Operand, Diagnostic> {
        let message = format!("string {} not quoted; quoted", shown(word.text));
        let (code, operand) = if self.is_lenient() {
            (codes::W_LEN_UNQUOTED, self.string_of(word))
        } else {
            (codes::W_EPD_UNQUOTED, token(word)?)
        };
        let operand = match operand {
            Operand::Token(text) => Operand::Str(text),
            other => other,
        };
        let mut after = Vec::new();
        operand.write_to(&mut after);
        self.repaired(code, word.at, message, word.text, &after);
        Ok(operand)
    }

    /// Reads the string of an opcode such as `id` or `c0`.
    fn read_text(&mut self, segment: &Segment, optional: bool) -> Result<Taken, Diagnostic> {
        let wanted = if optional { "at most one string" } else { "one string" };
        let raws = segment.raws;
        let operands = match raws {
            [] if optional => Vec::new(),
            [] => return Err(segment.arity(wanted)),
            [raw] => vec![self.quoted(raw)?],
            [Raw::Str(inner, closed), ..] => {
                let count = self.fixed(segment, 1);
                if count > 1 {
                    return Err(segment.arity(wanted));
                }
                return Ok(Taken::new(vec![self.read_string(*inner, *closed)?], count));
            }
            [first @ Raw::Token(_), .., last] if self.is_lenient() => {
                let from = first.at() - segment.at();
                let to = last.end() - segment.at();
                vec![self.quote(segment.text.part(from, to))?]
            }
            _ => return Err(segment.arity(wanted)),
        };
        Ok(Taken::new(operands, raws.len()))
    }

    /// Reads the string of `tally`, whose moves must be legal.
    fn read_tally(&mut self, position: &Position, segment: &Segment) -> Result<Taken, Diagnostic> {
        let count = self.fixed(segment, 1);
        let [Raw::Str(inner, true)] = &segment.raws[..count] else {
            return Err(segment.arity("one string"));
        };
        let wrong = |error| {
            let what = match error {
                TallyError::Form => {
                    "takes a tally such as \"reached 3, e4 +1=0-1, d4 +0=1-0\"".to_string()
                }
                TallyError::Move(san) => format!("takes legal moves, not {san}"),
            };
            segment.error(codes::E_EPD_TYPE, what)
        };
        let playable = self.playable(position);
        let tally = parse_tally(playable.as_ref(), inner.text).map_err(wrong)?;
        Ok(Taken::new(vec![Operand::tally(tally)], count))
    }

    fn read_integer(
        &mut self,
        segment: &Segment,
        raw: &Raw,
        min: i128,
        max: i128,
    ) -> Result<Operand, Diagnostic> {
        let Raw::Token(word) = raw else {
            return Err(segment.error(codes::E_EPD_TYPE, "takes an integer, not a string"));
        };
        let is_ce = segment.opcode == Opcode::CE;
        if is_ce
            && self.is_lenient()
            && let Some(value) = mate_score(word.text)
        {
            let message = format!("mate distance {} written as ce {value}", shown(word.text));
            let after = value.to_string();
            self.repaired(codes::W_LEN_MATE, word.at, message, word.text, after.as_bytes());
            return Ok(Operand::Integer(value.into()));
        }
        let Some(value) = integer(word.text) else {
            let what = format!("takes an integer, not {}", shown(word.text));
            return Err(segment.error(codes::E_EPD_TYPE, what));
        };
        let out_of_range = || {
            let what = format!("takes {min} to {max}, not {}", shown(word.text));
            segment.error(codes::E_EPD_RANGE, what)
        };
        let value = value.ok_or_else(out_of_range)?;
        if is_ce && self.options.revision_1994 {
            return match Score::from_ce_1994(value) {
                Ok(Score::Illegal) => Ok(Operand::Integer(-32768)),
                Ok(_) => Ok(Operand::Integer(value)),
                Err(_) => Err(out_of_range()),
            };
        }
        if self.is_lenient() && segment.opcode == Opcode::DM && (-max..min).contains(&value) {
            self.warn(codes::W_LEN_DM, word.at, format!("dm {value} is not positive; kept"));
            return Ok(Operand::Integer(value));
        }
        if !(min..=max).contains(&value) {
            return Err(out_of_range());
        }
        Ok(Operand::Integer(value))
    }

    fn read_tag_pairs(&mut self, segment: &Segment) -> Result<Vec<Operand>, Diagnostic> {
        let raws = segment.raws;
        if !raws.len().is_multiple_of(2) {
            return Err(segment.arity("pairs of a tag name and a string"));
        }
        let mut operands = Vec::with_capacity(raws.len());
        let mut names = std::collections::HashSet::new();
        for pair in raws.chunks_exact(2) {
            let [Raw::Token(name), value] = pair else {
                return Err(segment.error(codes::E_EPD_TYPE, "takes tag names without quotes"));
            };
            if !is_identifier(name.text) {
                let what = format!("takes identifiers as tag names, not {}", shown(name.text));
                return Err(segment.error(codes::E_EPD_TYPE, what));
            }
            if !names.insert(name.text) {
                let message = format!("tag {} is repeated", shown(name.text));
                self.warn(codes::W_EPD_PTPDUP, name.at, message);
            }
            operands.push(Operand::token(name.text));
            operands.push(self.quoted(value)?);
        }
        Ok(operands)
    }

    /// Reads the inside of a quoted string.
    pub(super) fn read_string(&mut self, inner: Word, closed: bool) -> Result<Operand, Diagnostic> {
        if !self.is_lenient() {
            return strict_string(inner, self.options.charset);
        }
        if !closed {
            let message = "string left open; closed at the end of the line";
            let mut after = inner.text.to_vec();
            after.push(b'"');
            self.repaired(codes::W_LEN_QUOTE, inner.at, message, inner.text, &after);
        }
        let text = self.without_escapes(inner);
        Ok(self.string_of(Word { at: inner.at, text: &text }))
    }

    /// Makes a string operand from bytes of the line.
    pub(super) fn string_of(&mut self, word: Word) -> Operand {
        let charset = self.options.charset;
        let text = readable(word.text, charset);
        let is_kept = matches!(text, Cow::Borrowed(_));
        let is_utf8 = || is_kept || std::str::from_utf8(word.text).is_ok();
        if charset != Some(Charset::Latin1) && !is_utf8() {
            let message = "string read as Windows-1252 and written in UTF-8";
            self.repaired(codes::W_LEN_LATIN1, word.at, message, word.text, &text);
        }
        if text.len() > MAX_LEN {
            let message = format!("a string of {} bytes, more than {MAX_LEN}", text.len());
            self.warn(codes::W_LEN_STRLEN, word.at, message);
        }
        Operand::string(text)
    }

    /// Reads `\"` as an apostrophe. A quote that is still inside a string always has a backslash
    /// before it.
    fn without_escapes<'a>(&mut self, inner: Word<'a>) -> Cow<'a, [u8]> {
        if memchr::memchr(b'"', inner.text).is_none() {
            return Cow::Borrowed(inner.text);
        }
        let mut text = Vec::with_capacity(inner.text.len());
        for &byte in inner.text {
            if byte == b'"' {
                text.pop();
                text.push(b'\'');
            } else {
                text.push(byte);
            }
        }
        let message = "escaped quote in a string; written as an apostrophe";
        self.repaired(codes::W_LEN_ESCAPE, inner.at, message, inner.text, &text);
        Cow::Owned(text)
    }
}

fn read_kept_games(segment: &Segment, count: usize) -> Result<Taken, Diagnostic> {
    let [Raw::Str(inner, true)] = &segment.raws[..count] else {
        return Err(segment.arity("one string"));
    };
    let no_list = || {
        let what = "takes a list such as \"keep 1, 2701 2019.05.?? 0123456789abcdef\"";
        segment.error(codes::E_EPD_TYPE, what)
    };
    let kept = KeptGames::from_text(inner.text).ok_or_else(no_list)?;
    Ok(Taken::new(vec![Operand::string(kept.to_text())], count))
}

fn strict_string(inner: Word, charset: Option<Charset>) -> Result<Operand, Diagnostic> {
    if let Some(place) = inner.text.iter().position(|&byte| byte < b' ' || byte == 0x7f) {
        let message = format!("control byte 0x{:02X} in a string", inner.text[place]);
        return Err(Diagnostic::error(codes::E_EPD_CTRL, inner.column() + place, message));
    }
    if inner.text.len() > MAX_LEN {
        let message = format!("a string of {} bytes, more than {MAX_LEN}", inner.text.len());
        return Err(Diagnostic::error(codes::E_EPD_STRLEN, inner.column(), message));
    }
    Ok(match charset {
        Some(Charset::Latin1) => Operand::string(decode(inner.text, charset).as_bytes()),
        _ => Operand::string(inner.text),
    })
}

/// Reads an unquoted operand of printing ASCII characters.
pub(super) fn token(word: Word) -> Result<Operand, Diagnostic> {
    match word.text.iter().position(|byte| !(b'!'..=b'~').contains(byte)) {
        None => Ok(Operand::token(word.text)),
        Some(place) => {
            let message = format!(
                "byte 0x{:02X} outside a string, in {}",
                word.text[place],
                shown(word.text)
            );
            Err(Diagnostic::error(codes::E_EPD_CTRL, word.column() + place, message))
        }
    }
}

/// Reads an integer. Returns `None` if the text is not an integer, and `Some(None)` if the integer
/// is too large for any opcode.
pub(super) fn integer(text: &[u8]) -> Option<Option<i128>> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().try_fold(0i128, |value, &digit| {
        let next = value * 10 + i128::from(digit - b'0');
        (next <= i128::from(u64::MAX)).then_some(next)
    });
    Some(value.map(|value| if is_negative { -value } else { value }))
}

/// Converts a mate score such as `+M8`, `M8`, `-M3`, `#8` and `#-3` to a `ce` value.
fn mate_score(text: &[u8]) -> Option<i32> {
    let (has_minus, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let (is_mated, digits) = match rest {
        [b'#', b'-', digits @ ..] if !has_minus => (true, digits),
        [b'M' | b'm' | b'#', digits @ ..] => (has_minus, digits),
        _ => return None,
    };
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let moves = u32::try_from(integer(digits)??).ok()?;
    if is_mated { mated_in(moves).ok() } else { mates_in(moves).ok() }
}

fn is_identifier(text: &[u8]) -> bool {
    (1..=15).contains(&text.len())
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn read_identifier(segment: &Segment, raw: &Raw, names: &[&str]) -> Result<Operand, Diagnostic> {
    match raw {
        Raw::Token(word) if names.iter().any(|name| name.as_bytes() == word.text) => {
            Ok(Operand::token(word.text))
        }
        _ => Err(segment.error(codes::E_EPD_TYPE, format!("takes one of {}", names.join(", ")))),
    }
}

/// Reads `N` numbers by a fixed pattern. A `0` in the pattern matches any digit; each other byte
/// matches itself.
fn pattern<const N: usize>(text: &[u8], pattern: &[u8]) -> Option<[u32; N]> {
    let mut values = [0; N];
    let mut place = 0;
    if text.len() != pattern.len() {
        return None;
    }
    for (&byte, &wanted) in text.iter().zip(pattern) {
        if wanted == b'0' {
            if !byte.is_ascii_digit() {
                return None;
            }
            let value = values.get_mut(place)?;
            *value = *value * 10 + u32::from(byte - b'0');
        } else if byte == wanted {
            place += 1;
        } else {
            return None;
        }
    }
    Some(values)
}

fn read_pattern<const N: usize>(
    segment: &Segment,
    raw: &Raw,
    shape: &[u8],
    name: &str,
    fits: fn([u32; N]) -> bool,
) -> Result<Operand, Diagnostic> {
    match raw {
        Raw::Token(word) if pattern(word.text, shape).is_some_and(fits) => {
            Ok(Operand::token(word.text))
        }
        _ => Err(segment.error(codes::E_EPD_TYPE, format!("takes {name}"))),
    }
}

fn read_clock(segment: &Segment, raw: &Raw) -> Result<Operand, Diagnostic> {
    read_pattern(
        segment,
        raw,
        b"000:00:00:00",
        "clocks DDD:HH:MM:SS",
        |[_, hours, minutes, seconds]| hours < 24 && minutes < 60 && seconds < 60,
    )
}

fn read_date(segment: &Segment, raw: &Raw) -> Result<Operand, Diagnostic> {
    read_pattern(segment, raw, b"0000.00.00", "a date YYYY.MM.DD", |[year, month, day]| {
        year > 0 && (1..=12).contains(&month) && (1..=31).contains(&day)
    })
}

fn read_time(segment: &Segment, raw: &Raw) -> Result<Operand, Diagnostic> {
    read_pattern(
        segment,
        raw,
        b"00:00:00",
        "a time of day HH:MM:SS",
        |[hours, minutes, seconds]| hours < 24 && minutes < 60 && seconds < 60,
    )
}

/// The reason why a text is not a tally of a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TallyError {
    /// The text does not have the form of a tally (counts of the games that reached a position), or
    /// a count is impossible.
    #[error("no tally such as \"reached 3, e4 +1=0-1, d4 +0=1-0\"")]
    Form,
    /// The text is not the canonical SAN of a legal move.
    #[error("{0} is not the canonical SAN of a legal move")]
    Move(San),
}

/// Parses the string of `tally` (`formats/epd_text.md`, section 3.2). The moves of the tally must
/// be legal in the position `root`. If `root` is `None` (no moves can be made), a tally with moves
/// is an error.
///
/// # Errors
/// [`TallyError`] with the reason.
pub fn parse_tally(root: Option<&Playable>, text: &[u8]) -> Result<Tally, TallyError> {
    let mut illegal = None;
    let tally = Tally::from_text(text, |name| {
        let read = root.and_then(|root| san::parse(root, name.as_bytes(), Profile::Strict).ok());
        let read = read.filter(|read| read.san == *name);
        if read.is_none() && illegal.is_none() {
            illegal = Some(*name);
        }
        Some(read?.mv)
    });
    tally.ok_or_else(|| illegal.map_or(TallyError::Form, TallyError::Move))
}
