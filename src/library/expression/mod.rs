//! The expressions of `filter` and `--where`, a small language about the fields of a record.
//!
//! ```text
//! or    = and { "||" and }
//! and   = not { "&&" not }
//! not   = "!" not | test
//! test  = "(" or ")" | "has" "(" field ")" | "illegal" "(" field ")" | flag
//!       | value compare value | value "~" text | value "in" list | value "in" field
//!       | "board" "(" text ")" | "fenpattern" "(" text ")" | "on" "(" text "," text ")"
//!       | "material" "(" text [ "," side ] ")" | "castling" "(" text ")"
//!       | pawns | structure [ "(" side ")" ] | ( "flipcolor" | "flipvertical" ) "(" or ")"
//! pawns = name [ "(" side [ "," text ] ")" | "(" text ")" ]
//! side  = "white" | "black"
//! list  = "[" constant { "," constant } "]"
//! value = one { ( "+" | "-" ) one }
//! one   = constant | field | "abs" "(" value ")" | "count" "(" ( text | pawns ) [ "," text ] ")"
//! ```
//!
//! `and`, `or` and `not` mean `&&`, `||` and `!`. Names of pawns and structures, with their definitions, are in
//! [`describe_structures`]. Terms about the position alone are evaluated before a record is decoded.
//!
//! A constant is a number (`12`, `-0.5`) or a text in single or double quotes, without escapes; a
//! field is a name that [`Field::parse`] accepts. Types are checked before the first record is read. If the
//! record lacks a value, every comparison with it is false, even `!=`.

mod board_terms;
mod board_test;
mod cursor;
mod parse;
mod pattern;
mod pawns;
mod structures;
mod tree;

pub use cursor::ExpressionError;
pub use structures::describe_structures;
pub use tree::ExpressionTerm;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::field::Field;
use super::value::{EvalContext, record_of_game};
use crate::error::Place;
use crate::model::{EpdRecord, Game, Setup};
use crate::source::Filter;
use crate::text::pgn::GamePosition;
use board_test::BoardTest;
use tree::Test;

/// A parsed expression whose types are checked.
///
/// ```
/// use epdb::library::expression::Expression;
/// use epdb::library::value::EvalContext;
/// let quiet = Expression::parse("pieces <= 4 && !check && 'e4' in bm")?;
/// let record = epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e3 e4;")?;
/// assert!(quiet.holds(&EvalContext::from_record(&record)));
/// let error = Expression::parse("pieces = 4").unwrap_err();
/// assert_eq!(error.to_string(), "column 8: `=` compares nothing: write `==`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    root: Test,
    terms: Arc<[ExpressionTerm]>,
    is_of_record: bool,
    /// A test of the position that holds wherever the expression holds; `None` if any position may fit.
    board: Option<BoardTest>,
    /// True if nothing but the position decides.
    is_of_board: bool,
    notes: Arc<Notes>,
    /// The tags and private opcodes in the expression. A flag for each is true once a record has
    /// had it. Clones share this list.
    private: Arc<[(Field, AtomicBool)]>,
}

/// Notes of an expression and its clones about the records that they looked at.
#[derive(Debug, Default)]
struct Notes {
    /// True after a record was excluded by its position.
    has_skipped: AtomicBool,
    /// True after a record was looked at as a whole.
    has_read: AtomicBool,
}

impl Expression {
    /// Parses an expression and checks its types.
    ///
    /// # Errors
    /// [`ExpressionError`] with the column.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        Expression::parse_with_columns(text, &[])
    }

    /// The expression that is true if `own` is true and a move was played in at least this many games.
    ///
    /// # Errors
    /// Both together are too long.
    pub fn with_games(own: Option<&Expression>, games: u64) -> Result<Expression, ExpressionError> {
        let own = own.map(|own| format!("({}) && ", own.text())).unwrap_or_default();
        Expression::parse(&format!("{own}games >= {games}"))
    }

    /// Parses an expression that may also use `columns`: names of numbers, which take precedence
    /// over fields of the same name. [`EvalContext::row`] has their values, in the order of
    /// `columns`.
    ///
    /// # Errors
    /// The errors of [`Expression::parse`].
    pub fn parse_with_columns(
        text: &str,
        columns: &[&'static str],
    ) -> Result<Expression, ExpressionError> {
        let (root, terms) = parse::parse(text, columns).map_err(ExpressionError::shortened)?;
        let mut fields = Vec::new();
        root.fields(&mut fields);
        let is_of_record = fields.iter().any(Field::is_of_record);
        fields.retain(Field::is_private);
        fields.dedup();
        let private = fields.into_iter().map(|field| (field, AtomicBool::new(false))).collect();
        let board = root.implied();
        let is_of_board = root.is_of_board();
        let notes = Arc::default();
        let (text, terms) = (text.into(), terms.into());
        Ok(Expression { text, root, terms, is_of_record, board, is_of_board, notes, private })
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the expression holds for a record.
    pub fn holds(&self, subject: &EvalContext<'_>) -> bool {
        if self.is_of_board {
            let setup = Setup::from(subject.record.position());
            return self.board.as_ref().is_some_and(|test| test.holds(&setup));
        }
        note(&self.notes.has_read);
        for (field, was_met) in &*self.private {
            if !was_met.load(Relaxed) && field.is_in(subject) {
                was_met.store(true, Relaxed);
            }
        }
        self.root.holds(subject)
    }

    /// Decides by the position alone; `None` if the rest of the record matters too.
    fn judge(&self, setup: &Setup) -> Option<bool> {
        let holds = self.board.as_ref()?.holds(setup);
        if !holds {
            note(&self.notes.has_skipped);
        }
        if holds && !self.is_of_board { None } else { Some(holds) }
    }

    /// The tests that operators join, in their order.
    pub fn terms(&self) -> impl Iterator<Item = &ExpressionTerm> {
        self.terms.iter()
    }

    /// The parts of the expression that positions decide before records are decoded.
    pub const fn pushdown(&self) -> Pushdown {
        match (&self.board, self.is_of_board) {
            (Some(_), true) => Pushdown::All,
            (Some(_), false) => Pushdown::Some,
            (None, _) => Pushdown::None,
        }
    }

    /// Whether the result depends on the record, and not only on its game and its place.
    pub const fn is_of_record(&self) -> bool {
        self.is_of_record
    }

    /// The tags and private opcodes that no record had so far, for this expression and its clones.
    /// Nothing if all records were excluded by their positions.
    pub fn never_met(&self) -> impl Iterator<Item = &Field> {
        let Notes { has_skipped, has_read } = &*self.notes;
        let is_known = has_read.load(Relaxed) || !has_skipped.load(Relaxed);
        let unmet = self.private.iter().filter(|(_, was_met)| !was_met.load(Relaxed));
        unmet.filter(move |_| is_known).map(|(field, _)| field)
    }

    /// True if some records were excluded by their positions, so that their other fields are not known.
    pub fn has_skipped(&self) -> bool {
        self.notes.has_skipped.load(Relaxed)
    }
}

/// The parts of an expression that positions decide.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Pushdown {
    /// The whole expression.
    All,
    /// A part, so that positions exclude records, but do not select them.
    Some,
    /// None: a record with any position may be selected.
    None,
}

/// Sets a flag that several threads set. Reading it first avoids that they wait for each other.
fn note(flag: &AtomicBool) {
    if !flag.load(Relaxed) {
        flag.store(true, Relaxed);
    }
}

impl Filter for Expression {
    fn judges_positions(&self) -> bool {
        self.board.is_some()
    }

    fn judge(&self, setup: &Setup) -> Option<bool> {
        self.judge(setup)
    }

    fn takes(&self, record: &EpdRecord, game: Option<GamePosition<'_>>, place: &Place) -> bool {
        self.holds(&EvalContext::new(record, game, place))
    }

    /// Whether the expression holds for a game. Fields of a position are taken from the last
    /// position of the game.
    fn takes_game(&self, game: &Game, place: &Place) -> bool {
        let (record, position) = record_of_game(game, self.is_of_record);
        self.holds(&EvalContext::new(&record, Some(position), place))
    }
}

impl std::str::FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Expression, ExpressionError> {
        Expression::parse(text)
    }
}

#[cfg(test)]
mod board_tests;
#[cfg(test)]
mod tests;
