//! Expressions as trees, and their evaluation.

use std::borrow::Cow;
use std::cmp::Ordering;
#[cfg(feature = "parquet")]
use std::ops::RangeInclusive;

use regex::bytes::Regex;

use super::board_test::{BoardNumber, BoardTest};
use super::played::PlayedTest;
use crate::date::Date;
use crate::field::{BuiltinField, Field};
use crate::game_tag::names_player;
use crate::order::natural_order;
use crate::value::EvalContext;
#[cfg(feature = "parquet")]
use crate::value::parse_key;
use crate::value::{Comparison, Number, Value};
use epdb_chess::model::{Opcode, Operand, Position, Setup};

/// A test in an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpressionTerm {
    /// The text of the test.
    pub text: String,
    /// True if the position alone decides.
    pub is_of_position: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Test {
    /// A test of the position alone.
    Board(BoardTest),
    /// The position is this one. An en passant square counts if a pawn can capture there.
    Position(Box<Position>),
    /// A test of the moves that a game plays from the position.
    Played(PlayedTest),
    /// A test of all positions of a game. It is evaluated for whole games only.
    OfGame(Box<GameTerm>),
    Or(Vec<Test>),
    And(Vec<Test>),
    Not(Box<Test>),
    Flag(Field),
    Has(Field),
    Illegal(Opcode),
    Compare(Term, Comparison, Term),
    Matches(Term, Regex),
    InList(Term, Vec<Term>),
    InMoves(Term, Opcode),
}

/// A test of all positions of a game.
#[derive(Clone, Debug)]
pub(super) enum GameTerm {
    /// True at the first position.
    First(Test),
    /// True at the last position.
    Last(Test),
    /// True at this many positions, one after the other.
    Lasts(Test, u32),
    /// The first test is true, and later each step in turn.
    Then(Test, Vec<Step>),
}

/// A later position of a game.
#[derive(Clone, Debug)]
pub(super) struct Step<T = Test> {
    pub(super) test: T,
    /// Maximum number of plies since the position of the step before.
    pub(super) plies: u32,
    /// True if it is the exact number of plies.
    pub(super) is_exact: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Term {
    Number(Number),
    Text(Vec<u8>),
    Date(Date),
    Field(Field),
    Abs(Box<Term>),
    /// A sum. Terms with the flag are subtracted.
    Sum(Vec<(bool, Term)>),
    /// A number that depends on the position alone.
    Board(BoardNumber),
}

/// The field for which a test of the position alone stands: it looks at the record, but at no operation.
const OF_POSITION: Field = Field::BuiltinField(BuiltinField::Pieces);

/// The reason why a negation of terms about one position is refused for games.
pub(super) const NEGATION: &str = "one position of a game is enough for an expression, so `!` would be true \
     of nearly every game: write never(...) if no position may have it, or all(!...)";

/// The reason why `stm` and `ply` are refused beside terms about all positions.
const IDLE: &str = "beside a term about all positions, `stm` and `ply` need just one position, and nearly every \
     game has it: put them into that term, as in then(ply <= 20 and moved('N'), mate, 1)";

impl Test {
    /// The same test. It is one test of the position if it needs nothing else.
    pub(super) fn simplified(self) -> Test {
        match (self.is_of_board(), self.implied()) {
            (true, Some(test)) => Test::Board(test),
            _ => self,
        }
    }

    /// True if the test depends on the position alone.
    pub(super) fn is_of_board(&self) -> bool {
        match self {
            Test::Board(_) => true,
            Test::Or(tests) | Test::And(tests) => tests.iter().all(Test::is_of_board),
            Test::Not(test) => test.is_of_board(),
            _ => false,
        }
    }

    /// A test of the position that holds wherever this test holds; `None` if any position may fit.
    pub(super) fn implied(&self) -> Option<BoardTest> {
        match self {
            Test::Board(test) => Some(test.clone()),
            Test::Position(position) => Some(BoardTest::Setup(position.clone())),
            Test::Or(tests) => {
                tests.iter().map(Test::implied).collect::<Option<_>>().map(BoardTest::Or)
            }
            Test::And(tests) => {
                let mut known: Vec<_> = tests.iter().filter_map(Test::implied).collect();
                match known.len() {
                    0 => None,
                    1 => known.pop(),
                    _ => Some(BoardTest::And(known)),
                }
            }
            Test::Not(test) => test.sufficient().map(|test| BoardTest::Not(Box::new(test))),
            _ => None,
        }
    }

    /// A test of the position that holds only where this test holds; `None` if no position is enough.
    fn sufficient(&self) -> Option<BoardTest> {
        match self {
            Test::Board(test) => Some(test.clone()),
            Test::Or(tests) => {
                let known: Vec<_> = tests.iter().filter_map(Test::sufficient).collect();
                if known.is_empty() { None } else { Some(BoardTest::Or(known)) }
            }
            Test::And(tests) => {
                tests.iter().map(Test::sufficient).collect::<Option<_>>().map(BoardTest::And)
            }
            Test::Not(test) => test.implied().map(|test| BoardTest::Not(Box::new(test))),
            _ => None,
        }
    }

    /// Advice about the first name that a tag of players is compared with.
    pub(super) fn name_hint(&self) -> Option<String> {
        match self {
            Test::Or(tests) | Test::And(tests) => tests.iter().find_map(Test::name_hint),
            Test::Compare(Term::Field(field), Comparison::Equal, Term::Text(name))
                if field.is_of_players() =>
            {
                let name = String::from_utf8_lossy(name);
                Some(format!(
                    "{field} == '{name}' compares whole names; {field} ~ '^{name}' finds names that begin like this"
                ))
            }
            Test::Matches(Term::Field(field), pattern)
                if field.is_of_players() && !pattern.as_str().starts_with("(?i)") =>
            {
                Some(format!(
                    "`~` tells capitals from small letters: if they may differ, {field} ~ '(?i){pattern}'"
                ))
            }
            _ => None,
        }
    }

    /// Whether a term is about the first or the last position of a game.
    pub(super) fn has_end_terms(&self) -> bool {
        match self {
            Test::OfGame(term) => matches!(**term, GameTerm::First(_) | GameTerm::Last(_)),
            Test::Or(tests) | Test::And(tests) => tests.iter().any(Test::has_end_terms),
            Test::Not(test) => test.has_end_terms(),
            _ => false,
        }
    }

    /// Whether a term is about all positions of a game.
    pub(super) fn has_game_terms(&self) -> bool {
        match self {
            Test::OfGame(_) => true,
            Test::Or(tests) | Test::And(tests) => tests.iter().any(Test::has_game_terms),
            Test::Not(test) => test.has_game_terms(),
            _ => false,
        }
    }

    /// Whether a term is about one position, outside of the terms about all positions of a game.
    pub(super) fn has_position_terms(&self) -> bool {
        match self {
            Test::OfGame(_) => false,
            Test::Or(tests) | Test::And(tests) => tests.iter().any(Test::has_position_terms),
            Test::Not(test) => test.has_position_terms(),
            test => !test.is_of_game(),
        }
    }

    /// The reason why nearly every game has a position that makes the terms about one position true.
    pub(super) fn idle_for_games(&self) -> Option<&'static str> {
        let one = std::slice::from_ref(self);
        let tests = if let Test::And(tests) = self { tests } else { one };
        let mut of_position = tests.iter().filter(|test| test.has_position_terms()).peekable();
        of_position.peek()?;
        let is_negation = |test: &Test| matches!(test, Test::Not(_));
        if of_position.clone().all(is_negation) {
            return Some(NEGATION);
        }
        let has_game_terms = tests.iter().any(Test::has_game_terms);
        (has_game_terms && of_position.all(Test::is_of_any_board)).then_some(IDLE)
    }

    /// Whether the test looks at the side to move and the number of plies alone.
    fn is_of_any_board(&self) -> bool {
        let mut fields = Vec::new();
        self.fields(&mut fields);
        let is_ply = |field: &Field| *field == Field::BuiltinField(BuiltinField::Ply);
        matches!(self, Test::Board(BoardTest::Turn(_))) || fields.iter().all(is_ply)
    }

    /// Whether the test looks at no position: only at the tags and the place of a game.
    pub(super) fn is_of_game(&self) -> bool {
        let mut fields = Vec::new();
        self.fields(&mut fields);
        !self.has_game_terms() && !fields.iter().any(Field::is_of_record)
    }

    /// Appends the fields that the test looks at.
    pub(super) fn fields(&self, fields: &mut Vec<Field>) {
        match self {
            Test::Or(tests) | Test::And(tests) => tests.iter().for_each(|it| it.fields(fields)),
            Test::Not(test) => test.fields(fields),
            Test::Board(_) | Test::Position(_) | Test::Played(_) => fields.push(OF_POSITION),
            Test::OfGame(term) => match &**term {
                GameTerm::First(test) | GameTerm::Last(test) | GameTerm::Lasts(test, _) => {
                    test.fields(fields);
                }
                GameTerm::Then(first, steps) => {
                    first.fields(fields);
                    steps.iter().for_each(|step| step.test.fields(fields));
                }
            },
            Test::Flag(field) | Test::Has(field) => fields.push(field.clone()),
            Test::Illegal(opcode) => fields.push(Field::Operation(*opcode)),
            Test::Compare(left, _, right) => [left, right].iter().for_each(|it| it.fields(fields)),
            Test::Matches(term, _) | Test::InList(term, _) => term.fields(fields),
            Test::InMoves(term, opcode) => {
                term.fields(fields);
                fields.push(Field::Operation(*opcode));
            }
        }
    }

    /// Calls `visit` with each field that the test looks at.
    #[cfg(feature = "parquet")]
    pub(super) fn each_field(&mut self, visit: &mut dyn FnMut(&mut Field)) {
        match self {
            Test::Or(tests) | Test::And(tests) => {
                tests.iter_mut().for_each(|test| test.each_field(visit));
            }
            Test::Not(test) => test.each_field(visit),
            Test::Flag(field) | Test::Has(field) => visit(field),
            Test::Compare(left, _, right) => {
                left.each_field(visit);
                right.each_field(visit);
            }
            Test::Matches(term, _) | Test::InMoves(term, _) => term.each_field(visit),
            Test::InList(term, list) => {
                term.each_field(visit);
                list.iter_mut().for_each(|term| term.each_field(visit));
            }
            Test::Board(_)
            | Test::Position(_)
            | Test::Played(_)
            | Test::OfGame(_)
            | Test::Illegal(_) => {}
        }
    }

    /// Appends the ranges that numbers of fields must have where the test holds. Returns true if it holds
    /// wherever they have them.
    #[cfg(feature = "parquet")]
    pub(super) fn ranges(&self, ranges: &mut Vec<(Field, RangeInclusive<i128>)>) -> bool {
        let range = match self {
            Test::And(tests) => {
                let mut are_ranges = true;
                for test in tests {
                    are_ranges &= test.ranges(ranges);
                }
                return are_ranges;
            }
            Test::Compare(Term::Field(field), comparison, term) => comparison.range(field, term),
            Test::Compare(term, comparison, Term::Field(field)) => {
                comparison.turned().range(field, term)
            }
            _ => None,
        };
        let is_range = range.is_some();
        ranges.extend(range);
        is_range
    }

    pub(super) fn holds(&self, subject: &EvalContext<'_>) -> bool {
        match self {
            Test::Or(tests) => tests.iter().any(|test| test.holds(subject)),
            Test::And(tests) => tests.iter().all(|test| test.holds(subject)),
            Test::Not(test) => !test.holds(subject),
            Test::Board(test) => test.holds(&Setup::from(subject.record.position())),
            Test::Position(position) => subject.record.position().identity() == **position,
            Test::Played(test) => {
                let position = subject.record.position();
                subject.game.is_some_and(|place| test.holds(position, &place))
            }
            Test::OfGame(_) => false,
            Test::Flag(field) => field.value(subject) == Value::Flag(true),
            Test::Has(field) => field.is_in(subject),
            Test::Illegal(opcode) => {
                let operands = subject.record.operands(*opcode).unwrap_or_default();
                operands.iter().any(is_illegal_move)
            }
            Test::Compare(left, comparison, right) => {
                comparison.holds(&left.side(subject), &right.side(subject), subject)
            }
            Test::Matches(term, regex) => match term.value(subject) {
                Value::Missing => false,
                Value::Text(text) | Value::Word(text) => regex.is_match(&text),
                value => regex.is_match(&value.text()),
            },
            Test::InList(term, list) => {
                let left = term.side(subject);
                let choices = left.choices(subject);
                list.iter().any(|right| {
                    let right = right.side(subject);
                    Comparison::Equal.holds(&left, &right, subject)
                        || choices.iter().any(|mv| mv.is(&right.value.text()))
                })
            }
            Test::InMoves(term, opcode) => {
                let spellings = Comparand::of_operation(*opcode, subject).spellings(subject);
                let has = |mv: &[u8]| spellings.iter().any(|spelled| spelled.is(mv));
                let left = term.side(subject);
                match left.choices(subject).as_slice() {
                    [] if left.value == Value::Missing => false,
                    [] => has(&left.value.text()),
                    moves => moves.iter().any(|mv| has(&mv.san)),
                }
            }
        }
    }
}

/// One side of a comparison: its value, and the field if the side is a field.
struct Comparand<'a> {
    value: Value<'a>,
    field: Option<Field>,
}

/// A move in all spellings that a user may write.
struct Spelled {
    san: Vec<u8>,
    coordinates: Vec<u8>,
}

impl Spelled {
    fn is(&self, text: &[u8]) -> bool {
        text == self.coordinates || without_marks(text) == without_marks(&self.san)
    }
}

/// The text of a move without suffixes; a mate target such as `#5` stays.
fn without_marks(mv: &[u8]) -> &[u8] {
    let mut text = mv;
    while let [rest @ .., b'+' | b'#' | b'!' | b'?'] = text {
        text = rest;
    }
    text
}

/// Whether the moves of an opcode are played one after the other.
fn is_line(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::PV | Opcode::SV)
}

impl<'a> Comparand<'a> {
    fn of_operation(opcode: Opcode, subject: &EvalContext<'a>) -> Comparand<'a> {
        let field = Field::Operation(opcode);
        Comparand { value: field.value(subject), field: Some(field) }
    }

    fn spellings(&self, subject: &EvalContext<'_>) -> Vec<Spelled> {
        let (Value::Moves(moves), Some(Field::Operation(opcode))) = (&self.value, &self.field)
        else {
            return Vec::new();
        };
        let Value::Coordinates(coordinates) = Field::Uci(*opcode).value(subject) else {
            return Vec::new();
        };
        let spelled =
            |(mv, coordinates): (&Operand, Vec<u8>)| Spelled { san: mv.text(), coordinates };
        moves.iter().zip(coordinates).map(spelled).collect()
    }

    /// The moves of an opcode that can be played in the position: those of a set, and the first one of a
    /// line. None if this side is something else.
    fn choices(&self, subject: &EvalContext<'_>) -> Vec<Spelled> {
        let Some(Field::Operation(opcode) | Field::Uci(opcode)) = &self.field else {
            return Vec::new();
        };
        let mut moves = Comparand::of_operation(*opcode, subject).spellings(subject);
        if is_line(*opcode) {
            moves.truncate(1);
        }
        moves
    }

    /// Whether this side is a tag that names players of a game, and `text` is the name of one of
    /// these players.
    fn names(&self, text: &Value<'_>) -> bool {
        let (Some(Field::Tag(tag) | Field::TagOrOperation(tag, _)), Value::Text(names)) =
            (&self.field, &self.value)
        else {
            return false;
        };
        tag.is_of_players() && names_player(names, &text.text())
    }

    /// Whether these moves are equal to `other`, which is a text or the moves of another opcode.
    /// The order matters only in lines (`pv`, `sv`): other moves are sorted in a record, but not in
    /// a text.
    fn are_moves(&self, other: &Value<'_>, subject: &EvalContext<'_>) -> bool {
        let text = other.text();
        let mut asked: Vec<&[u8]> =
            text.split(|&byte| byte == b' ').filter(|mv| !mv.is_empty()).collect();
        let spelled = self.spellings(subject);
        if asked.len() != spelled.len() {
            return false;
        }
        if matches!(&self.field, Some(Field::Operation(opcode)) if is_line(*opcode)) {
            return spelled.iter().zip(&asked).all(|(spelled, asked)| spelled.is(asked));
        }
        spelled.iter().all(|spelled| {
            let place = asked.iter().position(|asked| spelled.is(asked));
            place.map(|place| asked.swap_remove(place)).is_some()
        })
    }
}

impl Comparison {
    fn holds(self, left: &Comparand<'_>, right: &Comparand<'_>, subject: &EvalContext<'_>) -> bool {
        let order = match (&left.value, &right.value) {
            (Value::Missing, _) | (_, Value::Missing) => return false,
            (Value::Moves(_), other) => {
                return left.are_moves(other, subject) == (self == Comparison::Equal);
            }
            (other, Value::Moves(_)) => {
                return right.are_moves(other, subject) == (self == Comparison::Equal);
            }
            (Value::Date(_, a), Value::Date(_, b)) => {
                return match (left.field.is_some(), right.field.is_some()) {
                    (true, true) => self.holds_for_days(a, b),
                    (false, _) => self.turned().holds_for_period(b, a),
                    (true, false) => self.holds_for_period(a, b),
                };
            }
            (a @ Value::Key(_), b) | (a, b @ Value::Key(_)) => match (a.key(), b.key()) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => return self == Comparison::Unequal,
            },
            (a, b) if left.names(b) || right.names(a) => Ordering::Equal,
            (a, b) => match (a.number(), b.number()) {
                (Some(a), Some(b)) => a.compare(b),
                (Some(_), None) if matches!(a, Value::Number(_)) => return false,
                (None, Some(_)) if matches!(b, Value::Number(_)) => return false,
                _ if matches!(self, Comparison::Equal | Comparison::Unequal) => {
                    a.text().cmp(&b.text())
                }
                _ => natural_order(&a.text(), &b.text()),
            },
        };
        self.fits(order)
    }

    /// Whether the comparison with `period` holds for every day that `day` may stand for. A date with unknown
    /// parts may stand for several days.
    fn holds_for_period(self, day: &Date, period: &Date) -> bool {
        let is_before = day.last() < period.first();
        let is_after = day.first() > period.last();
        match self {
            Comparison::Equal => day.first() >= period.first() && day.last() <= period.last(),
            Comparison::Unequal => is_before || is_after,
            Comparison::Less => is_before,
            Comparison::LessOrEqual => day.last() <= period.last(),
            Comparison::Greater => is_after,
            Comparison::GreaterOrEqual => day.first() >= period.first(),
        }
    }

    /// Whether the comparison holds for all days that `a` and `b` may stand for.
    fn holds_for_days(self, a: &Date, b: &Date) -> bool {
        match self {
            Comparison::Equal => a.is_one_day() && a == b,
            Comparison::Unequal => a.last() < b.first() || a.first() > b.last(),
            Comparison::Less => a.last() < b.first(),
            Comparison::LessOrEqual => a.last() <= b.first(),
            Comparison::Greater => a.first() > b.last(),
            Comparison::GreaterOrEqual => a.first() >= b.last(),
        }
    }

    /// The range of a field that is compared with a number or a position key.
    #[cfg(feature = "parquet")]
    fn range(self, field: &Field, term: &Term) -> Option<(Field, RangeInclusive<i128>)> {
        let is_key = *field == Field::BuiltinField(BuiltinField::Key);
        let number = match term {
            Term::Text(text) if is_key => i128::from(parse_key(text)?),
            Term::Number(Number::Whole(number)) if !is_key => *number,
            _ => return None,
        };
        let range = match self {
            Comparison::Equal => number..=number,
            Comparison::Unequal => return None,
            Comparison::Less => i128::MIN..=number.checked_sub(1)?,
            Comparison::LessOrEqual => i128::MIN..=number,
            Comparison::Greater => number.checked_add(1)?..=i128::MAX,
            Comparison::GreaterOrEqual => number..=i128::MAX,
        };
        Some((field.clone(), range))
    }

    /// The comparison with swapped sides.
    const fn turned(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::Equal,
            Comparison::Unequal => Comparison::Unequal,
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        }
    }

    pub(super) fn fits(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::Unequal => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl Term {
    pub(super) fn fields(&self, fields: &mut Vec<Field>) {
        match self {
            Term::Field(field) => fields.push(field.clone()),
            Term::Abs(inner) => inner.fields(fields),
            Term::Sum(parts) => parts.iter().for_each(|(_, part)| part.fields(fields)),
            Term::Board(_) => fields.push(OF_POSITION),
            Term::Number(_) | Term::Text(_) | Term::Date(_) => {}
        }
    }

    #[cfg(feature = "parquet")]
    fn each_field(&mut self, visit: &mut dyn FnMut(&mut Field)) {
        match self {
            Term::Field(field) => visit(field),
            Term::Abs(inner) => inner.each_field(visit),
            Term::Sum(parts) => parts.iter_mut().for_each(|(_, part)| part.each_field(visit)),
            Term::Board(_) | Term::Number(_) | Term::Text(_) | Term::Date(_) => {}
        }
    }

    fn value<'a>(&'a self, subject: &EvalContext<'a>) -> Value<'a> {
        match self {
            Term::Number(number) => Value::Number(*number),
            Term::Text(text) => Value::Text(Cow::Borrowed(text)),
            Term::Date(date) => Value::Date(b"", date.clone()),
            Term::Field(field) => field.value(subject),
            Term::Abs(term) => term.value(subject).abs(),
            Term::Sum(parts) => sum(parts, subject).map_or(Value::Missing, Value::Number),
            Term::Board(number) => {
                Value::whole(number.value(&Setup::from(subject.record.position())).into())
            }
        }
    }

    fn side<'a>(&'a self, subject: &EvalContext<'a>) -> Comparand<'a> {
        let field = if let Term::Field(field) = self { Some(field.clone()) } else { None };
        Comparand { value: self.value(subject), field }
    }
}

/// The sum of some terms; `None` if one of them is not a number.
fn sum(parts: &[(bool, Term)], subject: &EvalContext<'_>) -> Option<Number> {
    let mut sum = Number::Whole(0);
    for (is_subtracted, part) in parts {
        let number = part.value(subject).number()?;
        sum = sum.plus(if *is_subtracted { number.negated() } else { number });
    }
    Some(sum)
}

/// Whether the operand of a move opcode is an illegal move. A mate target (`#5`) does not count as
/// a move.
fn is_illegal_move(operand: &Operand) -> bool {
    match operand {
        Operand::Move { .. } => false,
        Operand::Token(text) => text.first() != Some(&b'#'),
        Operand::Integer(_) | Operand::Str(_) | Operand::Tally(_) => true,
    }
}
