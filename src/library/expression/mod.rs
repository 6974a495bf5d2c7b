//! The expressions of `filter` and `--where`, a small language about the fields of a record.
//!
//! ```text
//! or    = and { "||" and }
//! and   = not { "&&" not }
//! not   = "!" not | test
//! test  = "(" or ")" | "has" "(" field ")" | "illegal" "(" field ")" | flag
//!       | value compare value | value "~" text | value "in" list | value "in" field
//! list  = "[" constant { "," constant } "]"
//! value = constant | field | "abs" "(" value ")"
//! ```
//!
//! A constant is a number (`12`, `-0.5`) or a text in single or double quotes, without escapes; a
//! field is a name that [`Field::parse`] accepts. Types are checked before the first record is read. If the
//! record lacks a value, every comparison with it is false, even `!=`.

mod parse;
mod tree;

pub use parse::ExpressionError;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::field::Field;
use super::value::{EvalContext, record_of_game};
use crate::error::Place;
use crate::model::{EpdRecord, Game};
use crate::source::Filter;
use crate::text::pgn::GamePosition;
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
    is_of_record: bool,
    /// The tags and private opcodes in the expression. A flag for each is true once a record has
    /// had it. Clones share this list.
    private: Arc<[(Field, AtomicBool)]>,
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
        let root = parse::parse(text, columns).map_err(ExpressionError::shortened)?;
        let mut fields = Vec::new();
        root.fields(&mut fields);
        let is_of_record = fields.iter().any(Field::is_of_record);
        fields.retain(Field::is_private);
        fields.dedup();
        let private = fields.into_iter().map(|field| (field, AtomicBool::new(false))).collect();
        Ok(Expression { text: text.into(), root, is_of_record, private })
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the expression holds for a record.
    pub fn holds(&self, subject: &EvalContext<'_>) -> bool {
        for (field, was_met) in &*self.private {
            if !was_met.load(Relaxed) && field.is_in(subject) {
                was_met.store(true, Relaxed);
            }
        }
        self.root.holds(subject)
    }

    /// Whether the result depends on the record, and not only on its game and its place.
    pub const fn is_of_record(&self) -> bool {
        self.is_of_record
    }

    /// The tags and private opcodes that no record had so far, for this expression and its clones.
    pub fn never_met(&self) -> impl Iterator<Item = &Field> {
        let unmet = self.private.iter().filter(|(_, was_met)| !was_met.load(Relaxed));
        unmet.map(|(field, _)| field)
    }
}

impl Filter for Expression {
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
mod tests;
