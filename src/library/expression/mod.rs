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
//!       | "position" "(" text ")" | set | structure [ "(" side ")" ]
//!       | ( "flipcolor" | "flipvertical" ) "(" or ")"
//!       | ( "first" | "last" | "all" | "ever" | "never" ) "(" or ")" | "lasts" "(" or "," number ")"
//!       | "then" "(" or { "," or [ "," number ] } ")"
//!       | ( "line" | "moved" | "captured" | "promoted" ) "(" text ")" | "enpassant" | "retaken"
//! set   = pawns | "attacks" "(" text "," text ")" | "pinned" "(" text ")"
//! pawns = name [ "(" side [ "," text ] ")" | "(" text ")" ]
//! side  = "white" | "black"
//! list  = "[" constant { "," constant } "]"
//! value = one { ( "+" | "-" ) one }
//! one   = constant | field | "abs" "(" value ")" | "count" "(" ( text | set ) [ "," text ] ")"
//! ```
//!
//! `and`, `or` and `not` mean `&&`, `||` and `!`. Names of pawns and structures, with their definitions, are in
//! [`describe_structures`]. Terms about the position alone are evaluated before a record is decoded.
//!
//! For a game, an expression is true if one position of the main line makes all of its terms true, except
//! for terms about all positions, such as `last(...)`: [`Expression::first_match`].
//!
//! A constant is a number (`12`, `-0.5`) or a text in single or double quotes, without escapes; a
//! field is a name that [`Field::parse`] accepts. Types are checked before the first record is read. If the
//! record lacks a value, every comparison with it is false, even `!=`.

mod board_terms;
mod board_test;
mod cursor;
mod game_terms;
mod mirrored;
mod of_games;
mod parse;
mod pattern;
mod pawns;
mod played;
mod position_test;
mod structures;
mod tree;

pub use cursor::ExpressionError;
pub use structures::describe_structures;
pub use tree::ExpressionTerm;

#[cfg(feature = "parquet")]
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::field::{BuiltinField, Field};
use super::value::EvalContext;
use epdb_chess::error::{Error, Place};
use epdb_chess::model::{EpdRecord, Game, Setup};
use epdb_chess::text::pgn::GamePosition;
use epdb_source::Filter;
use of_games::GameTest;
use parse::ParsedExpression;
use position_test::PositionTest;

/// A parsed expression whose types are checked.
///
/// ```
/// use epdb_library::expression::Expression;
/// use epdb_library::value::EvalContext;
/// let quiet = Expression::parse("pieces <= 4 && !check && 'e4' in bm")?;
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e3 e4;")?;
/// assert!(quiet.holds(&EvalContext::from_record(&record)));
/// let error = Expression::parse("pieces = 4").unwrap_err();
/// assert_eq!(error.to_string(), "column 8: `=` compares nothing: write `==`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    root: PositionTest,
    of_games: Arc<GameTest>,
    terms: Arc<[ExpressionTerm]>,
    /// True if the place of a game in its source matters.
    is_of_place: bool,
    /// The reasons why records, or games, cannot be selected by the expression.
    refusals: Arc<Refusals>,
    /// Advice if nothing matches.
    name_hint: Option<Arc<str>>,
    /// True if a term about any position is beside one about the first or the last position.
    is_beside_end: bool,
    notes: Arc<Notes>,
    /// The tags and private opcodes in the expression. A flag for each is true once a record has
    /// had it. Clones share this list.
    private: Arc<[(Field, AtomicBool)]>,
}

/// Advice about terms beside first(...) or last(...).
const BESIDE_END: &str = "a term outside of first(...) and last(...) holds if any position of the game has it; \
     last(A && B) asks both of the last one";

/// The reasons why an expression cannot select records, or cannot select games.
#[derive(Debug, Default)]
struct Refusals {
    records: Option<ExpressionError>,
    games: Option<ExpressionError>,
}

/// Notes of an expression and its clones about the records that they looked at.
#[derive(Debug, Default)]
struct Notes {
    /// True after a record was excluded by its position.
    has_skipped: AtomicBool,
    /// True after a record was looked at as a whole.
    has_read: AtomicBool,
    /// True after a record or game that was looked at as a whole matched.
    has_matched: AtomicBool,
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
        let parsed = parse::parse(text, columns).map_err(ExpressionError::shortened)?;
        let ParsedExpression { root, terms, of_games, games_refusal } = parsed;
        let refusals = Refusals::new(of_games, games_refusal);
        let of_games = GameTest::new(&root).ok_or_else(|| {
            let message = "too many combinations of terms about one position and about whole games";
            ExpressionError { column: 1, message: message.into() }
        })?;
        let name_hint = root.name_hint();
        let is_beside_end = root.has_end_terms() && root.has_position_terms();
        let mut fields = Vec::new();
        root.fields(&mut fields);
        let is_of_place = fields.iter().any(Field::is_of_place);
        fields.retain(Field::is_private);
        fields.dedup();
        let private = fields.into_iter().map(|field| (field, AtomicBool::new(false))).collect();
        Ok(Expression {
            text: text.into(),
            root: PositionTest::new(root),
            of_games: Arc::new(of_games),
            terms: terms.into(),
            is_of_place,
            refusals: Arc::new(refusals),
            name_hint: name_hint.map(Arc::from),
            is_beside_end,
            notes: Arc::default(),
            private,
        })
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the expression holds for a record.
    pub fn holds(&self, subject: &EvalContext<'_>) -> bool {
        if !self.root.is_of_board() {
            self.note_fields(subject);
        }
        self.matched(self.root.holds(subject))
    }

    fn matched(&self, holds: bool) -> bool {
        if holds {
            note(&self.notes.has_matched);
        }
        holds
    }

    /// The number of plies before the first match in the main line of a game; `None` if the expression is
    /// false for the game. It is true if one position, the first one included, makes all terms true that
    /// are about a position. Later positions are not looked at if they do not change whether the expression
    /// is true. [`Expression::check_games`] tells whether the expression can select games.
    ///
    /// ```
    /// use epdb_chess::error::{At, Place};
    /// use epdb_library::expression::Expression;
    /// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
    /// let mut reader = GameReader::new(&b"1. e4 e5 2. Qh5 Ke7 3. Qxe5# 1-0"[..], PgnReadOptions::default());
    /// let read = reader.next_game()?.expect("a game");
    /// let game = read.game.expect("a good one");
    /// let place = Place::new("games.pgn", At::Game(1));
    /// let queens = Expression::parse("moved('Q') and never(captured('q'))")?;
    /// assert_eq!(queens.first_match(game, &place), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_match(&self, game: &Game, place: &Place) -> Option<u32> {
        let record = EpdRecord::new(game.start().position);
        self.note_fields(&EvalContext::new(&record, Some(game.into()), place));
        self.of_games.first_match(game, place).filter(|_| self.matched(true))
    }

    /// Checks that records can be selected.
    ///
    /// # Errors
    /// A term is about the moves of a game, or about all of its positions.
    pub(crate) fn check_records(&self) -> Result<(), ExpressionError> {
        self.refusals.records.clone().map_or(Ok(()), Err)
    }

    /// Checks that games can be selected.
    ///
    /// # Errors
    /// A term about one position is true of nearly every game: one that is negated, or `stm` beside terms about
    /// all positions.
    pub fn check_games(&self) -> Result<(), ExpressionError> {
        self.refusals.games.clone().map_or(Ok(()), Err)
    }

    /// Notes which tags and private opcodes a record or a game has.
    fn note_fields(&self, subject: &EvalContext<'_>) {
        note(&self.notes.has_read);
        for (field, was_met) in &*self.private {
            if !was_met.load(Relaxed) && field.is_in(subject) {
                was_met.store(true, Relaxed);
            }
        }
    }

    /// The fields that the expression looks at.
    #[cfg(feature = "parquet")]
    pub(super) fn fields(&self) -> Vec<Field> {
        self.root.fields()
    }

    /// The same expression, which looks for these fields in [`EvalContext::row`], in this order.
    #[cfg(feature = "parquet")]
    pub(super) fn with_cells(&self, cells: &[Field]) -> Expression {
        Expression { root: self.root.with_cells(cells), ..self.clone() }
    }

    /// Appends the ranges of numbers that fields must have where the expression holds. Returns true if nothing
    /// else decides.
    #[cfg(feature = "parquet")]
    pub(super) fn ranges(&self, ranges: &mut Vec<(Field, RangeInclusive<i128>)>) -> bool {
        self.root.ranges(ranges)
    }

    /// The tests that operators join, in their order.
    pub fn terms(&self) -> impl Iterator<Item = &ExpressionTerm> {
        self.terms.iter()
    }

    /// The parts of the expression that positions decide before records are decoded.
    pub const fn pushdown(&self) -> Pushdown {
        match (self.root.judges(), self.root.is_of_board()) {
            (true, true) => Pushdown::All,
            (true, false) => Pushdown::Some,
            (false, _) => Pushdown::None,
        }
    }

    /// The tags and private opcodes that no record had so far, for this expression and its clones.
    /// Nothing if all records were excluded by their positions.
    pub fn never_met(&self) -> impl Iterator<Item = &Field> {
        let Notes { has_skipped, has_read, .. } = &*self.notes;
        let is_known = has_read.load(Relaxed) || !has_skipped.load(Relaxed);
        let unmet = self.private.iter().filter(|(_, was_met)| !was_met.load(Relaxed));
        unmet.filter(move |_| is_known).map(|(field, _)| field)
    }

    /// Advice after records or games were looked at: about a player's name if none matched, and about terms that may
    /// be meant for the last position of a game.
    pub fn hint(&self) -> Option<&str> {
        let Notes { has_read, has_matched, .. } = &*self.notes;
        if !has_read.load(Relaxed) {
            return None;
        }
        let is_vain = !has_matched.load(Relaxed) && self.never_met().next().is_none();
        let name_hint = self.name_hint.as_deref().filter(|_| is_vain);
        name_hint.or(self.is_beside_end.then_some(BESIDE_END))
    }

    /// True if some records were excluded by their positions, so that their other fields are not known.
    pub fn has_skipped(&self) -> bool {
        self.notes.has_skipped.load(Relaxed)
    }
}

/// [`Expression::never_met`] as sentences, with advice.
pub fn never_met_advice(expression: &Expression) -> impl Iterator<Item = String> {
    expression.never_met().map(|field| {
        let text = format!("no record has `{field}`{}", field.advice());
        match field {
            Field::BuiltinField(BuiltinField::GameNumber) => {
                text + ": read the rows, and choose them by their column `game`"
            }
            _ => text,
        }
    })
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
        self.root.judges()
    }

    fn judge(&self, setup: &Setup) -> Option<bool> {
        let holds = self.root.judge(setup);
        if holds == Some(false) {
            note(&self.notes.has_skipped);
        }
        holds
    }

    fn check(&self, of_games: bool) -> Result<(), Error> {
        let checked = if of_games { self.check_games() } else { self.check_records() };
        checked.map_err(|error| Error::new("the expression of --where").because(error))
    }

    fn takes(&self, record: &EpdRecord, game: Option<GamePosition<'_>>, place: &Place) -> bool {
        self.holds(&EvalContext::new(record, game, place))
    }

    fn takes_game(&self, game: &Game, place: &Place) -> bool {
        self.first_match(game, place).is_some()
    }

    fn needs_place(&self) -> bool {
        self.is_of_place
    }
}

impl Refusals {
    fn new(of_games: Option<(usize, &str)>, games: Option<ExpressionError>) -> Refusals {
        let records = of_games.map(|(column, name)| {
            let message = format!(
                "{name}() is about the positions of a game, and here are only records: give games, without \
                 --positions"
            );
            ExpressionError { column, message }
        });
        Refusals { records, games }
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
mod game_tests;
#[cfg(test)]
mod tests;
