//! Operations: split, and their operands read as their opcodes want them.

use super::Reader;
use super::strings::string_end;
use crate::model::score::{Score, mated_in, mates_in};
use crate::model::{Opcode, Operand, Operands, Position};
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::scan::{Word, is_blank};

/// An operand before its type is known.
#[derive(Copy, Clone, Debug)]
pub(in crate::text) enum Raw<'a> {
    /// A quoted string: what is between the quotes, and whether there is a second one.
    Str(Word<'a>, bool),
    /// An unquoted run.
    Token(Word<'a>),
}

impl<'a> Raw<'a> {
    /// Where the operand begins.
    pub(in crate::text) const fn at(&self) -> usize {
        match self {
            Raw::Str(inner, _) => inner.at - 1,
            Raw::Token(word) => word.at,
        }
    }

    /// The place just behind the operand.
    pub(in crate::text) const fn end(&self) -> usize {
        match self {
            Raw::Str(inner, closed) => inner.end() + *closed as usize,
            Raw::Token(word) => word.end(),
        }
    }

    /// The opcode that an unquoted run may be.
    pub(in crate::text) fn as_opcode(&self) -> Option<Opcode> {
        match self {
            Raw::Token(word) => Opcode::new(word.text).ok(),
            Raw::Str(..) => None,
        }
    }
}

/// An operation of the line: its opcode, and its operands up to the semicolon or, in the lenient
/// profile, up to an opcode before which a semicolon is missing.
pub(super) struct Segment<'a, 's> {
    pub(super) opcode: Opcode,
    /// The whole text.
    pub(super) text: Word<'a>,
    /// All operands up to the semicolon.
    pub(super) raws: &'s [Raw<'a>],
}

impl<'a> Segment<'a, '_> {
    pub(super) const fn at(&self) -> usize {
        self.text.at
    }

    /// The text up to this operand.
    pub(super) fn text_before(&self, operand: usize) -> Word<'a> {
        match self.raws.get(operand) {
            Some(raw) => self.text.part(0, raw.at() - self.text.at).trimmed(),
            None => self.text,
        }
    }

    fn error(&self, code: &'static str, what: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(code, self.text.column(), format!("`{}` {what}", self.opcode))
    }

    pub(super) fn arity(&self, wanted: &str) -> Diagnostic {
        let what = format!("takes {wanted}, not {} operands", self.raws.len());
        self.error(codes::E_EPD_ARITY, what)
    }
}

/// Operands as the record holds them, and how many of the raw ones they took.
pub(super) struct Taken {
    /// `None` when it is settled later what becomes of the operation.
    pub(super) operands: Option<Vec<Operand>>,
    pub(super) count: usize,
}

impl Taken {
    pub(super) const fn new(operands: Vec<Operand>, count: usize) -> Taken {
        Taken { operands: Some(operands), count }
    }
}

impl Reader<'_, '_> {
    /// Reads all operations of a text.
    pub(super) fn read_operations(
        &mut self,
        position: &Position,
        mut rest: Word,
    ) -> Result<(), Diagnostic> {
        let mut raws = Vec::new();
        loop {
            let (operation, behind) = self.split_operation(rest)?;
            if !operation.text.is_empty() {
                self.read_operation(position, operation, &mut raws)?;
            }
            match behind {
                Some(behind) => rest = behind,
                None => return Ok(()),
            }
        }
    }

    /// The text up to the next semicolon outside strings, and what is behind it.
    fn split_operation<'a>(
        &self,
        rest: Word<'a>,
    ) -> Result<(Word<'a>, Option<Word<'a>>), Diagnostic> {
        let mut from = 0;
        while let Some(place) = memchr::memchr2(b';', b'"', &rest.text[from..]) {
            let place = from + place;
            if rest.text[place] == b';' {
                let behind = rest.part(place + 1, rest.text.len());
                return Ok((rest.part(0, place).trimmed(), Some(behind)));
            }
            match string_end(rest.text, place + 1, self.is_lenient()) {
                Some(quote) => from = quote + 1,
                None if self.is_lenient() => break,
                None => {
                    let message = "string is not closed; a quote is missing";
                    let column = rest.column() + place;
                    return Err(Diagnostic::error(codes::E_EPD_QUOTE, column, message));
                }
            }
        }
        Ok((rest.trimmed(), None))
    }

    fn read_operation<'a>(
        &mut self,
        position: &Position,
        text: Word<'a>,
        raws: &mut Vec<Raw<'a>>,
    ) -> Result<(), Diagnostic> {
        let before = self.moves_before.take();
        if let Some(before) = before
            && self.join_to_operation(position, before, text, raws)
        {
            self.moves_before = Some(before);
            return Ok(());
        }
        let ends = |&byte: &u8| is_blank(byte) || byte == b'"';
        let end = text.text.iter().position(ends).unwrap_or(text.text.len());
        let mut name = text.part(0, end);
        let Some(mut opcode) = self.read_opcode(name, text)? else { return Ok(()) };
        split_operands(text.part(end, text.text.len()), self.is_lenient(), raws);

        let mut raws = &raws[self.repeated_opcodes(opcode, name, raws)..];
        loop {
            let segment =
                Segment { opcode, text: text.part(name.at - text.at, text.text.len()), raws };
            let taken = self.read_segment(position, &segment)?;
            let Some((next, behind)) = raws.get(taken..).and_then(|left| left.split_first()) else {
                return Ok(());
            };
            let (Raw::Token(word), Some(next_opcode)) = (next, next.as_opcode()) else {
                let left = text.part(next.at() - text.at, text.text.len());
                self.salvage(codes::W_LEN_SALVAGED, left, "no operation begins here");
                return Ok(());
            };
            name = *word;
            opcode = next_opcode;
            let message = format!("semicolon missing before `{opcode}`; split");
            self.repaired(codes::W_LEN_SEMICOLON, name.at, message, b" ", b"; ");
            raws = behind;
        }
    }

    /// How often the opcode stands again before its operands: `bm bm Qd1` (lenient only).
    fn repeated_opcodes(&mut self, opcode: Opcode, name: Word, raws: &[Raw]) -> usize {
        let count = raws.iter().take_while(|raw| raw.as_opcode() == Some(opcode)).count();
        let follows = match self.standard(opcode).map(|entry| &entry.operands) {
            None | Some(Operands::Any | Operands::TagPairs) => false,
            Some(Operands::Str { .. }) => matches!(raws.get(count), Some(Raw::Str(..))),
            Some(_) => count < raws.len(),
        };
        if count == 0 || !follows || !self.is_lenient() {
            return 0;
        }
        let message = format!("opcode `{opcode}` stands {} times; one is kept", count + 1);
        let before = vec![opcode.as_bytes(); count + 1].join(&b' ');
        self.repaired(codes::W_LEN_DUP, name.at, message, &before, opcode.as_bytes());
        count
    }

    fn read_opcode(&mut self, name: Word, text: Word) -> Result<Option<Opcode>, Diagnostic> {
        if let Ok(opcode) = Opcode::new(name.text) {
            if name.text.len() == 1 {
                let message = format!("opcode `{opcode}` of one character");
                self.warn(codes::W_EPD_SHORTOPCODE, name.at, message);
            }
            return Ok(Some(opcode));
        }
        let what = format!(
            "{} is no opcode: a letter and up to 14 letters, digits or underscores",
            shown(name.text)
        );
        if !self.is_lenient() {
            return Err(Diagnostic::error(codes::E_EPD_OPCODE, name.column(), what));
        }
        if let Some(opcode) = name.text.strip_suffix(b":").and_then(|name| Opcode::new(name).ok()) {
            let message = format!("colon after opcode `{opcode}` dropped");
            self.repaired(codes::W_LEN_COLON, name.at, message, name.text, opcode.as_bytes());
            return Ok(Some(opcode));
        }
        self.salvage(codes::W_LEN_OPCODE, text, &what);
        Ok(None)
    }

    /// Reads a segment into an operation, or salvages it. Gives the number of operands it took:
    /// what is left begins with an opcode.
    pub(super) fn read_segment(
        &mut self,
        position: &Position,
        segment: &Segment,
    ) -> Result<usize, Diagnostic> {
        let before = self.warnings.len();
        self.moves_before = None;
        let error = match self.read_operands(position, segment) {
            Ok(Taken { operands: Some(operands), count }) => {
                let opcode = self.perft_depth(segment.opcode);
                self.add(opcode, operands, segment.at());
                if self.is_lenient() && takes_more_moves(opcode) {
                    self.moves_before = Some(self.operations.len() - 1);
                }
                return Ok(count);
            }
            Ok(Taken { operands: None, count }) => return Ok(count),
            Err(error) if !self.is_lenient() => return Err(error),
            Err(error) => error,
        };
        self.warnings.truncate(before);
        let count = self.end_of_segment(segment);
        let code = match self.standard(segment.opcode).map(|entry| &entry.operands) {
            Some(Operands::Integer(..)) if error.code != codes::E_EPD_RANGE => codes::W_LEN_INTEGER,
            _ => codes::W_LEN_SALVAGED,
        };
        self.salvage(code, segment.text_before(count), &error.message);
        Ok(count)
    }

    /// Where an operation that cannot be read ends: at the next known opcode that is no text of a
    /// move, if its operands are not free text.
    fn end_of_segment(&self, segment: &Segment) -> usize {
        match self.standard(segment.opcode).map(|entry| &entry.operands) {
            None | Some(Operands::Any | Operands::Str { .. } | Operands::TagPairs) => {
                segment.raws.len()
            }
            Some(_) => segment
                .raws
                .iter()
                .position(|raw| self.known_opcode(raw) && !could_be_square(raw))
                .unwrap_or(segment.raws.len()),
        }
    }

    pub(super) fn known_opcode(&self, raw: &Raw) -> bool {
        raw.as_opcode().is_some_and(|opcode| self.standard(opcode).is_some())
    }

    /// How many operands belong to an operation that takes a fixed number: a known opcode right
    /// behind them begins the next operation (lenient only).
    fn fixed(&self, segment: &Segment, wanted: usize) -> usize {
        match segment.raws.get(wanted) {
            Some(raw) if self.is_lenient() && self.known_opcode(raw) => wanted,
            _ => segment.raws.len(),
        }
    }

    fn read_operands(
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

    /// An operand as it stands: noop and unknown opcodes.
    pub(super) fn verbatim(&mut self, raw: &Raw) -> Result<Operand, Diagnostic> {
        match raw {
            Raw::Str(inner, closed) => self.read_string(*inner, *closed),
            Raw::Token(word) => token(*word),
        }
    }

    /// A string, or a single word that is taken for one.
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

    /// The string of an opcode such as `id` or `c0`.
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
                let (from, to) = (first.at() - segment.at(), last.end() - segment.at());
                vec![self.quote(segment.text.part(from, to))?]
            }
            _ => return Err(segment.arity(wanted)),
        };
        Ok(Taken::new(operands, raws.len()))
    }

    fn read_integer(
        &mut self,
        segment: &Segment,
        raw: &Raw,
        least: i128,
        most: i128,
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
            let what = format!("takes {least} to {most}, not {}", shown(word.text));
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
        if self.is_lenient() && segment.opcode == Opcode::DM && (-most..least).contains(&value) {
            self.warn(codes::W_LEN_DM, word.at, format!("dm {value} is not positive; kept"));
            return Ok(Operand::Integer(value));
        }
        if !(least..=most).contains(&value) {
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
                let message = format!("tag {} stands twice", shown(name.text));
                self.warn(codes::W_EPD_PTPDUP, name.at, message);
            }
            operands.push(Operand::token(name.text));
            operands.push(self.quoted(value)?);
        }
        Ok(operands)
    }
}

/// Cuts a text into operands.
pub(in crate::text) fn split_operands<'a>(text: Word<'a>, escapes: bool, raws: &mut Vec<Raw<'a>>) {
    raws.clear();
    let mut from = 0;
    while let Some(place) = text.text[from..].iter().position(|&byte| !is_blank(byte)) {
        let start = from + place;
        if text.text[start] == b'"' {
            let end = string_end(text.text, start + 1, escapes);
            let inner = text.part(start + 1, end.unwrap_or(text.text.len()));
            raws.push(Raw::Str(inner, end.is_some()));
            from = end.map_or(text.text.len(), |quote| quote + 1);
        } else {
            let ends = |&byte: &u8| is_blank(byte) || byte == b'"';
            let end =
                text.text[start..].iter().position(ends).map_or(text.text.len(), |p| start + p);
            raws.push(Raw::Token(text.part(start, end)));
            from = end;
        }
    }
}

/// Whether a move behind the operation may be one of its own.
pub(super) fn takes_more_moves(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::AM | Opcode::BM | Opcode::PV)
}

/// An unquoted operand: printing ASCII.
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

/// Whether an unquoted run is the name of a square that a pawn can step to: `c3` to `c6` are moves
/// as well as opcodes.
fn could_be_square(raw: &Raw) -> bool {
    matches!(raw, Raw::Token(Word { text: [b'a'..=b'h', b'2'..=b'7'], .. }))
}

/// An integer: `None` when it is none, `Some(None)` when it is too large for any opcode.
pub(super) fn integer(text: &[u8]) -> Option<Option<i128>> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().try_fold(0i128, |value, &digit| {
        let next = value * 10 + i128::from(digit - b'0');
        (next <= i128::from(u64::MAX)).then_some(next)
    });
    Some(value.map(|value| if negative { -value } else { value }))
}

/// The `ce` value of `+M8`, `M8`, `-M3`, `#8`, `#-3`.
fn mate_score(text: &[u8]) -> Option<i32> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (negative, digits) = match rest {
        [b'#', b'-', digits @ ..] if !negative => (true, digits),
        [b'M' | b'm' | b'#', digits @ ..] => (negative, digits),
        _ => return None,
    };
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let moves = u32::try_from(integer(digits)??).ok()?;
    if negative { mated_in(moves).ok() } else { mates_in(moves).ok() }
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

/// Reads numbers of a fixed pattern: digits stand for digits, all else for itself.
fn pattern<const N: usize>(text: &[u8], pattern: &[u8]) -> Option<[u32; N]> {
    let mut values = [0; N];
    let mut place = 0;
    if text.len() != pattern.len() {
        return None;
    }
    for (&byte, &wanted) in text.iter().zip(pattern) {
        if wanted == b'0' {
            let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
            let value = values.get_mut(place)?;
            *value = *value * 10 + digit;
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
