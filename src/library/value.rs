//! Values of fields, and the context in which fields are evaluated.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::date::Date;
use epdb_chess::error::{Place, TableRow};
use epdb_chess::model::{EpdRecord, Game, MoveTally, Operand};
use epdb_chess::text::FormatOptions;
use epdb_chess::text::pgn::{self, GamePosition};

/// The type of the values of a field.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// Text.
    Text,
    /// A date whose parts may be missing.
    Date,
    /// Moves.
    Moves,
    /// The operands of a nonstandard opcode; a number, if they can be read as a number.
    Any,
    /// Presence of an opcode without operands.
    Nothing,
}

/// The value of a field of one record.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// There is no value.
    Missing,
    /// True or false.
    Flag(bool),
    /// A number.
    Number(Number),
    /// Text that is never a number.
    Text(Cow<'a, [u8]>),
    /// Text that counts as a number if it can be read as a number.
    Word(Cow<'a, [u8]>),
    /// A position key. As text, it is sixteen hexadecimal digits; it is compared as a number.
    Key(u64),
    /// A date, as text and parsed.
    Date(&'a [u8], Date),
    /// Moves: the operands of a move opcode.
    Moves(&'a [Operand]),
    /// Moves in coordinates.
    Coordinates(Vec<Vec<u8>>),
}

/// A whole number or a fraction.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Number {
    /// A whole number.
    Whole(i128),
    /// A number that is not whole.
    Fraction(f64),
}

/// Comparison of two values of an expression.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Value<'_> {
    pub(super) const fn whole(value: i128) -> Self {
        Value::Number(Number::Whole(value))
    }

    pub(super) fn text_of(text: Vec<u8>) -> Self {
        Value::Text(Cow::Owned(text))
    }

    /// The value as text; empty if it is missing.
    pub fn text(&self) -> Vec<u8> {
        match self {
            Value::Missing => Vec::new(),
            Value::Flag(flag) => flag.to_string().into_bytes(),
            Value::Number(number) => number.to_string().into_bytes(),
            Value::Text(text) | Value::Word(text) => text.to_vec(),
            Value::Key(key) => format!("{key:016x}").into_bytes(),
            Value::Date(text, _) => text.to_vec(),
            Value::Moves(operands) => joined(operands),
            Value::Coordinates(moves) => moves.join(&b' '),
        }
    }

    /// The value as a position key, if it is one or is a text of up to sixteen hexadecimal digits.
    pub(super) fn key(&self) -> Option<u64> {
        match self {
            Value::Key(key) => Some(*key),
            Value::Text(text) | Value::Word(text) => parse_key(text),
            _ => None,
        }
    }

    /// The absolute value of a number; missing for anything else.
    pub(super) fn abs(&self) -> Value<'static> {
        self.number().map_or(Value::Missing, |number| Value::Number(number.abs()))
    }

    /// The value as a number, if it is a number or can be read as one.
    pub fn number(&self) -> Option<Number> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Word(text) => Number::parse(text),
            _ => None,
        }
    }
}

/// Parses a position key: up to sixteen hexadecimal digits.
pub(super) fn parse_key(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?;
    let is_key = digits.len() <= 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_key { u64::from_str_radix(digits, 16).ok() } else { None }
}

impl Number {
    /// Parses `12`, `-3`, `+4`, `0.25`: a sign, digits, and at most one point between digits.
    pub fn parse(text: &[u8]) -> Option<Number> {
        let text = std::str::from_utf8(text).ok()?;
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
            && digits.starts_with(|first: char| first.is_ascii_digit())
            && digits.ends_with(|last: char| last.is_ascii_digit());
        if !is_number {
            return None;
        }
        let whole = text.parse().ok().map(Number::Whole);
        let fraction = || text.parse().ok().filter(|value: &f64| value.is_finite());
        whole.or_else(|| fraction().map(Number::Fraction))
    }

    /// A number, rounded to four decimals.
    pub(super) fn rounded(value: f64) -> Number {
        Number::Fraction((value * 1e4).round() / 1e4)
    }

    /// Compares two numbers.
    pub fn compare(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
            (a, b) => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
        }
    }

    /// The absolute value.
    pub fn abs(self) -> Number {
        match self {
            Number::Whole(value) => Number::Whole(value.saturating_abs()),
            Number::Fraction(value) => Number::Fraction(value.abs()),
        }
    }

    pub(super) fn plus(self, other: Number) -> Number {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => Number::Whole(a.saturating_add(b)),
            (a, b) => Number::Fraction(a.as_f64() + b.as_f64()),
        }
    }

    pub(super) fn negated(self) -> Number {
        match self {
            Number::Whole(value) => Number::Whole(value.saturating_neg()),
            Number::Fraction(value) => Number::Fraction(-value),
        }
    }

    /// The nearest 64-bit fraction.
    pub const fn as_f64(self) -> f64 {
        match self {
            Number::Whole(value) => value as f64,
            Number::Fraction(value) => value,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Whole(value) => write!(f, "{value}"),
            Number::Fraction(value) => write!(f, "{value:?}"),
        }
    }
}

/// The texts of operands, separated by blanks.
pub(super) fn joined(operands: &[Operand]) -> Vec<u8> {
    operands.iter().map(Operand::text).collect::<Vec<_>>().join(&b' ')
}

/// A record with its place, its game, and the form of its text.
#[derive(Copy, Clone, Debug)]
pub struct EvalContext<'a> {
    /// The record.
    pub record: &'a EpdRecord,
    /// The line, or the number of the record, from 1.
    pub line: u64,
    /// The name of the record's source.
    pub file: &'a str,
    /// The form of `fen`, `epd` and `record`.
    pub forms: FormatOptions,
    /// The place of the record in its game.
    pub game: Option<GamePosition<'a>>,
    /// The number of that game, from 0, if the games are counted.
    pub game_number: Option<u64>,
    /// One move of the record's tally, if the context is about that move.
    pub move_tally: Option<&'a MoveTally>,
    /// The values of the row of a Parquet table, if the record is from one.
    pub table_row: Option<&'a TableRow>,
    /// The values in a table's row about the record, for [`Field::Column`](super::field::Field).
    pub row: &'a [Value<'a>],
}

impl<'a> EvalContext<'a> {
    /// The context of a record without a game and without a place; its texts are canonical.
    pub fn from_record(record: &'a EpdRecord) -> EvalContext<'a> {
        let forms = FormatOptions::default();
        EvalContext {
            record,
            line: 1,
            file: "-",
            forms,
            game: None,
            game_number: None,
            move_tally: None,
            table_row: None,
            row: &[],
        }
    }

    /// A record with its place and its game.
    pub fn new(
        record: &'a EpdRecord,
        game: Option<GamePosition<'a>>,
        place: &'a Place,
    ) -> EvalContext<'a> {
        EvalContext {
            line: place.number(),
            file: &place.source,
            game,
            table_row: place.row.as_deref(),
            ..EvalContext::from_record(record)
        }
    }
}

/// The record that stands for a game. If `is_asked` is true, this is the record of the last position.
/// Otherwise positions do not matter, and this is the record of the first position.
pub fn record_of_game(game: &Game, is_asked: bool) -> (EpdRecord, GamePosition<'_>) {
    if is_asked {
        pgn::last_position(game)
    } else {
        (EpdRecord::new(game.start().position), game.into())
    }
}
