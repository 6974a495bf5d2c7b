//! Parser of expressions.

use regex::bytes::Regex;

use super::board_terms::{self, board_comparison};
use super::board_test::BoardTest;
use super::cursor::{ExpressionError, Parsed, Parser, TokenKind, tokenize};
use super::game_terms;
use super::structures;
use super::tree::{ExpressionTerm, NEGATION, Term, Test};
use crate::date::Date;
use crate::field::{BuiltinField, Field, MOVE_OPCODES, is_bare_text, points};
use crate::value::{Comparison, Number, Type, parse_key};
use epdb_chess::model::Square;

pub(super) struct ParsedExpression {
    pub(super) root: Test,
    /// The tests that operators join, in their order.
    pub(super) terms: Vec<ExpressionTerm>,
    /// The first term that only games have.
    pub(super) of_games: Option<(usize, &'static str)>,
    /// The reason why games cannot be selected.
    pub(super) games_refusal: Option<ExpressionError>,
}

pub(super) fn parse(
    text: &str,
    columns: &[&'static str],
) -> Result<ParsedExpression, ExpressionError> {
    let tokens = tokenize(text)?;
    let mut parser = Parser::new(text, &tokens, columns, |parser| parser.or());
    let root = parser.or()?;
    match parser.peek() {
        None => {
            let offsets: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
            let offset = |column: usize| offsets.get(column - 1).copied().unwrap_or(text.len());
            let terms = parser.terms.into_iter().map(|(columns, is_of_position)| {
                let term = &text[offset(columns.start)..offset(columns.end)];
                ExpressionTerm { text: term.trim_end().into(), is_of_position }
            });
            let Parser { of_games, games_refusal, .. } = parser;
            Ok(ParsedExpression { root, terms: terms.collect(), of_games, games_refusal })
        }
        Some(token) => Err(token.error(match token.kind {
            TokenKind::Close => "this `)` closes nothing".into(),
            _ => format!("expected `&&`, `||` or the end, found {}", token.kind.shown()),
        })),
    }
}

/// A value, and the column of the text where it begins.
struct PlacedTerm {
    term: Term,
    column: usize,
}

impl Parser<'_, '_> {
    fn or(&mut self) -> Parsed<Test> {
        self.chain(TokenKind::Or, Test::Or, Parser::and)
    }

    fn and(&mut self) -> Parsed<Test> {
        let column = self.column();
        let test = self.chain(TokenKind::And, Test::And, Parser::not)?;
        if let Some(reason) = test.idle_for_games().filter(|_| !self.is_in_game_term) {
            let error = || ExpressionError { column, message: reason.into() };
            self.games_refusal.get_or_insert_with(error);
        }
        Ok(test)
    }

    fn chain(
        &mut self,
        sign: TokenKind<'_>,
        join: fn(Vec<Test>) -> Test,
        part: fn(&mut Self) -> Parsed<Test>,
    ) -> Parsed<Test> {
        let first = part(self)?;
        let mut parts = vec![first];
        while self.takes(sign) {
            parts.push(part(self)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { join(parts) })
    }

    fn not(&mut self) -> Parsed<Test> {
        let column = self.column();
        if !self.takes(TokenKind::Not) {
            return self.test();
        }
        let test = self.nested(Parser::not)?;
        if test.has_position_terms() && test.has_game_terms() {
            return Err(ExpressionError { column, message: NEGATION.into() });
        }
        Ok(Test::Not(Box::new(test)))
    }

    fn test(&mut self) -> Parsed<Test> {
        if self.takes(TokenKind::Open) {
            let test = self.nested(Parser::or)?;
            self.expect(TokenKind::Close, "`)`")?;
            return Ok(test);
        }
        let start = self.column();
        let test = self.one_test()?;
        if self.flips.is_empty() && !self.is_in_game_term {
            self.terms.push((start..self.column(), test.is_of_board()));
        }
        Ok(test)
    }

    fn one_test(&mut self) -> Parsed<Test> {
        match (
            self.peek().map(|token| token.kind),
            self.tokens.get(self.next + 1).map(|it| it.kind),
        ) {
            (Some(TokenKind::Name("has")), Some(TokenKind::Open)) => self.has(),
            (Some(TokenKind::Name("illegal")), Some(TokenKind::Open)) => self.illegal(),
            (Some(TokenKind::Name(name @ ("has" | "illegal"))), _) => {
                self.error(format!("`{name}` asks about an operation: `{name}(bm)`"))
            }
            _ => {
                if let Some(test) = self.game_term()? {
                    return Ok(test);
                }
                match self.board_test()? {
                    Some(test) => Ok(test),
                    None => self.relation(),
                }
            }
        }
    }

    fn has(&mut self) -> Parsed<Test> {
        self.next += 2;
        let column = self.column();
        let field = self.field("an opcode or a field")?;
        if field.kind() == Type::Flag {
            let message = "every record has it: use it alone, as in `check`".into();
            return Err(ExpressionError { column, message });
        }
        self.expect(TokenKind::Close, "`)`")?;
        Ok(Test::Has(field))
    }

    fn illegal(&mut self) -> Parsed<Test> {
        self.next += 2;
        let column = self.column();
        let opcode = match self.field("an opcode of moves")? {
            Field::Operation(opcode) if Field::Operation(opcode).kind() == Type::Moves => opcode,
            _ => {
                let message = format!("illegal() asks about moves: {MOVE_OPCODES}");
                return Err(ExpressionError { column, message });
            }
        };
        self.expect(TokenKind::Close, "`)`")?;
        Ok(Test::Illegal(opcode))
    }

    /// A flag, a comparison, a match or a membership.
    fn relation(&mut self) -> Parsed<Test> {
        if self.is_before_moves() {
            self.refuse_bare_text()?;
        }
        let left = self.value()?;
        let Some(token) = self.peek() else { return alone(left) };
        match token.kind {
            TokenKind::Compare(comparison) => {
                self.next += 1;
                self.refuse_bare_text()?;
                let right = self.value()?;
                compare(left, comparison, right)
            }
            TokenKind::Matches => {
                self.next += 1;
                self.matches(left)
            }
            TokenKind::Name("in") => {
                self.next += 1;
                self.membership(left)
            }
            _ => alone(left),
        }
    }

    /// Whether the next value is compared with the moves of an opcode.
    fn is_before_moves(&self) -> bool {
        let joins =
            matches!(self.peek_kind(1), Some(TokenKind::Compare(_) | TokenKind::Name("in")));
        let Some(TokenKind::Name(name)) = self.peek_kind(2) else { return false };
        joins && Field::parse(name).is_ok_and(|field| field.kind() == Type::Moves)
    }

    /// Refuses `stm == w` and `Qg6 in bm`: beside such an operator, a name that is not a field or an opcode
    /// is usually a text without its quotes.
    fn refuse_bare_text(&self) -> Parsed<()> {
        let Some(TokenKind::Name(name)) = self.peek().map(|token| token.kind) else {
            return Ok(());
        };
        let is_call = self.tokens.get(self.next + 1).is_some_and(|it| it.kind == TokenKind::Open);
        if is_call || self.columns.contains(&name) || !is_bare_text(name) {
            return Ok(());
        }
        self.error(format!("a text stands in quotes: '{name}' (an opcode is op({name}))"))
    }

    fn matches(&mut self, left: PlacedTerm) -> Parsed<Test> {
        match left.term.kind() {
            Type::Text | Type::Date | Type::Any | Type::Moves
                if matches!(left.term, Term::Field(_)) => {}
            _ => {
                let message =
                    format!("`~` needs a field of text, and {} is not text", left.term.shown());
                return Err(ExpressionError { column: left.column, message });
            }
        }
        let column = self.column();
        let Some(TokenKind::Text(pattern)) = self.peek().map(|token| token.kind) else {
            return self.error(format!("expected a pattern in quotes, found {}", self.found()));
        };
        self.next += 1;
        match Regex::new(pattern) {
            Ok(regex) => match left.term {
                Term::Field(field) if !can_match(&field, &regex) => {
                    let words = alternatives(&field.words());
                    let message = format!("`{field}` is {words}: '{pattern}' matches none of them");
                    Err(ExpressionError { column, message })
                }
                term => Ok(Test::Matches(term, regex)),
            },
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim();
                let reason = reason.strip_prefix("error: ").unwrap_or(reason);
                Err(ExpressionError { column, message: format!("the pattern is wrong: {reason}") })
            }
        }
    }

    fn membership(&mut self, left: PlacedTerm) -> Parsed<Test> {
        if self.takes(TokenKind::OpenList) {
            return self.list(left);
        }
        if self.peek().is_some_and(|token| token.kind == TokenKind::Open) {
            return self.error("a list stands in brackets: `in ['a', 'b']`");
        }
        let column = self.column();
        let field = self.field("a list in brackets or an opcode of moves")?;
        let opcode = match (&field, field.kind()) {
            (Field::Operation(opcode), Type::Moves) => *opcode,
            (_, Type::Text | Type::Date | Type::Any) => {
                let message = format!("`{field}` is one text: look into it with `~`");
                return Err(ExpressionError { column, message });
            }
            _ => {
                let message =
                    format!("`in` needs a list in brackets or an opcode of moves ({MOVE_OPCODES})");
                return Err(ExpressionError { column, message });
            }
        };
        match left.term.kind() {
            Type::Text | Type::Moves | Type::Any => Ok(Test::InMoves(left.term, opcode)),
            _ => {
                let message = format!(
                    "{} is not a move: put moves in quotes, as in 'e4' in {opcode}",
                    left.term.shown()
                );
                Err(ExpressionError { column: left.column, message })
            }
        }
    }

    /// Parses the rest of a list, after its `[`.
    fn list(&mut self, left: PlacedTerm) -> Parsed<Test> {
        let mut list = Vec::new();
        loop {
            if let Some(TokenKind::Name(name)) = self.peek().map(|token| token.kind) {
                return self.error(format!(
                    "a list holds numbers and texts; texts stand in quotes: '{name}'"
                ));
            }
            let constant = self.one_value()?;
            let left = PlacedTerm { term: left.term.clone(), column: left.column };
            let [_, constant] = comparable(left, Comparison::Equal, constant)?;
            list.push(constant);
            if !self.takes(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseList, "`,` or `]`")?;
        let tests = list.iter().map(|it| board_comparison(&left.term, Comparison::Equal, it));
        Ok(match tests.collect::<Option<_>>() {
            Some(tests) => Test::Board(BoardTest::Or(tests)),
            None => Test::InList(left.term, list),
        })
    }

    /// Parses values with `+` and `-` between them.
    fn value(&mut self) -> Parsed<PlacedTerm> {
        let first = self.one_value()?;
        if !matches!(self.peek_kind(0), Some(TokenKind::Plus | TokenKind::Minus)) {
            return Ok(first);
        }
        let column = first.column;
        let mut parts = vec![(false, summand(first)?)];
        loop {
            let is_subtracted = self.peek_kind(0) == Some(TokenKind::Minus);
            if !is_subtracted && self.peek_kind(0) != Some(TokenKind::Plus) {
                return Ok(PlacedTerm { term: Term::Sum(parts), column });
            }
            self.next += 1;
            parts.push((is_subtracted, summand(self.one_value()?)?));
        }
    }

    fn one_value(&mut self) -> Parsed<PlacedTerm> {
        let column = self.column();
        let Some(token) = self.peek() else { return self.error("expected a value, found the end") };
        let term = match token.kind {
            TokenKind::Number(number) => Term::Number(number),
            TokenKind::Text(text) => Term::Text(text.as_bytes().to_vec()),
            TokenKind::Name("abs") => {
                self.next += 1;
                return self.abs(column);
            }
            TokenKind::Name("count") => {
                self.next += 1;
                return Ok(PlacedTerm { term: Term::Board(self.count()?), column });
            }
            TokenKind::Name(_) => {
                let term = Term::Field(self.field("a field")?);
                return Ok(PlacedTerm { term, column });
            }
            _ => return self.error(format!("expected a value, found {}", token.kind.shown())),
        };
        self.next += 1;
        Ok(PlacedTerm { term, column })
    }

    fn abs(&mut self, column: usize) -> Parsed<PlacedTerm> {
        self.expect(TokenKind::Open, "`(`, as in `abs(ce)`")?;
        let inner = self.nested(Parser::value)?;
        if !matches!(inner.term.kind(), Type::Number | Type::Any) {
            let message =
                format!("abs() needs a number, and {} is not a number", inner.term.shown());
            return Err(ExpressionError { column: inner.column, message });
        }
        self.expect(TokenKind::Close, "`)`")?;
        Ok(PlacedTerm { term: Term::Abs(Box::new(inner.term)), column })
    }

    /// Parses a field: a name, or `uci(…)`, `op(…)` or `tag(…)`.
    fn field(&mut self, expected: &str) -> Parsed<Field> {
        let Some(token) = self.advance() else {
            return self.error(format!("expected {expected}, found the end"));
        };
        let TokenKind::Name(name) = token.kind else {
            let message = format!("expected {expected}, found {}", token.kind.shown());
            return Err(token.error(message));
        };
        if name == "in" {
            return Err(token.error(format!("expected {expected}, found `in`")));
        }
        if !self.takes(TokenKind::Open) {
            if let Some(column) = self.columns.iter().position(|column| *column == name) {
                return Ok(Field::Column(self.columns[column], column));
            }
            return Field::parse(name).map_err(|message| match self.columns {
                [] if let Some((_, advice)) = MEANT.iter().find(|(known, _)| *known == name) => {
                    token.error(format!("unknown name `{name}`: {advice}"))
                }
                [] => match nearest(name) {
                    Some(near) if near == name => token
                        .error(format!("`{name}` is no field, but a test of its own: `{name}(…)`")),
                    Some(near) => {
                        token.error(format!("unknown name `{name}`: did you mean `{near}`?"))
                    }
                    None => token.error(message),
                },
                columns => token.error(format!("{message}; columns: {}", columns.join(", "))),
            });
        }
        if !["op", "tag", "uci"].contains(&name) {
            let advice = match nearest(name) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`epdb help where` lists the functions".into(),
            };
            return Err(token.error(format!("unknown function `{name}`: {advice}")));
        }
        let inner = match self.peek().map(|token| token.kind) {
            Some(TokenKind::Name(inner)) => inner,
            Some(TokenKind::Text(inner)) if name == "tag" => inner,
            _ => {
                let expected = if name == "tag" { "the name of a tag" } else { "an opcode" };
                return self.error(format!("expected {expected}, found {}", self.found()));
            }
        };
        self.next += 1;
        self.expect(TokenKind::Close, "`)`")?;
        Field::parse(&format!("{name}({inner})")).map_err(|message| token.error(message))
    }
}

/// Names that other programs have, with what they are called here.
const MEANT: [(&str, &str); 3] = [
    ("draw", "a draw is `result == '1/2-1/2'`"),
    ("moves", "`plies` is the length of a game, two for each move"),
    ("castled", "castling is `line('O-O') or line('O-O-O')` or `moved('K')`"),
];

/// The word of the language that a name with a small mistake, or a shorter name, probably means.
fn nearest(name: &str) -> Option<&'static str> {
    let functions =
        board_terms::FUNCTIONS.iter().chain(&board_terms::SETS).chain(&game_terms::FUNCTIONS);
    let mut words = structures::names().chain(functions.map(|(function, _)| *function));
    let is_like =
        |word: &str| (5..30).contains(&name.len()) && strsim::osa_distance(word, name) <= 2;
    words.find(|word| is_like(word) || name.len() >= 3 && word.starts_with(name))
}

impl Term {
    fn kind(&self) -> Type {
        match self {
            Term::Number(_) | Term::Abs(_) | Term::Sum(_) | Term::Board(_) => Type::Number,
            Term::Text(_) => Type::Text,
            Term::Date(_) => Type::Date,
            Term::Field(field) => field.kind(),
        }
    }

    fn shown(&self) -> String {
        match self {
            Term::Number(number) => format!("`{number}`"),
            Term::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
            Term::Date(date) => format!("'{date}'"),
            Term::Field(field) => format!("`{field}`"),
            Term::Abs(inner) => format!("`abs({})`", inner.shown().trim_matches('`')),
            Term::Sum(_) => "this sum".into(),
            Term::Board(_) => "`count(…)`".into(),
        }
    }
}

/// Makes a test of a value alone, which must be a flag or an opcode without operands.
fn alone(value: PlacedTerm) -> Parsed<Test> {
    let message = match value.term {
        Term::Field(field) => match field.kind() {
            Type::Flag => return Ok(Test::Flag(field)),
            Type::Nothing => return Ok(Test::Has(field)),
            Type::Moves | Type::Text | Type::Date | Type::Any | Type::Number => {
                format!("`{field}` is not a test: compare it, or use `has({field})`")
            }
        },
        other => format!("{} is not a test: compare it with a field", other.shown()),
    };
    Err(ExpressionError { column: value.column, message })
}

fn summand(value: PlacedTerm) -> Parsed<Term> {
    if matches!(value.term.kind(), Type::Number | Type::Any) {
        return Ok(value.term);
    }
    let message = format!("`+` and `-` join numbers, and {} is not a number", value.term.shown());
    Err(ExpressionError { column: value.column, message })
}

/// Builds a comparison if the two sides can be compared.
fn compare(left: PlacedTerm, comparison: Comparison, right: PlacedTerm) -> Parsed<Test> {
    let [left, right] = comparable(left, comparison, right)?;
    Ok(match board_comparison(&left, comparison, &right) {
        Some(test) => Test::Board(test),
        None => Test::Compare(left, comparison, right),
    })
}

/// The two sides of a comparison, if they can be compared.
fn comparable(left: PlacedTerm, comparison: Comparison, right: PlacedTerm) -> Parsed<[Term; 2]> {
    let place = if matches!(left.term, Term::Number(_) | Term::Text(_)) {
        left.column
    } else {
        right.column
    };
    let error = |message| Err(ExpressionError { column: place, message });
    let mut terms = [left.term, right.term];
    if terms.iter().all(|term| matches!(term, Term::Number(_) | Term::Text(_))) {
        return error("two constants are compared: one side must be a field".into());
    }
    for term in &terms {
        match term.kind() {
            Type::Nothing => {
                let name = term.shown();
                return error(format!(
                    "{name} has no operands: ask `has({})`",
                    name.trim_matches('`')
                ));
            }
            Type::Flag => {
                let name = term.shown();
                let bare = name.trim_matches('`');
                return error(format!("{name} is a test by itself: `{bare}` or `!{bare}`"));
            }
            _ => {}
        }
    }
    convert_constant(&mut terms, comparison)
        .map_err(|message| ExpressionError { column: place, message })?;
    let [left, right] = terms;
    match (left.kind(), right.kind()) {
        (Type::Moves, _) | (_, Type::Moves) if comparison.is_order() => {
            let sign = comparison.shown();
            return error(format!(
                "moves are not in order: `==`, `!=` or `in` instead of `{sign}`"
            ));
        }
        (a, b) if a == b => {}
        (Type::Any, _) | (_, Type::Any) => {}
        (Type::Moves, Type::Text) | (Type::Text, Type::Moves) => {}
        _ => return error(mismatch(&left, &right)),
    }
    Ok([left, right])
}

/// The reason why values of two types cannot be compared.
fn mismatch(left: &Term, right: &Term) -> String {
    let describe = |term: &Term| {
        let kind = match term.kind() {
            Type::Number => "a number",
            Type::Moves => "moves",
            Type::Date => "a date",
            _ => "a text",
        };
        format!("{} is {kind}", term.shown())
    };
    let hint = match (left, right) {
        (Term::Text(text), _) | (_, Term::Text(text)) if Number::parse(text).is_some() => {
            format!(": write {} without quotes", String::from_utf8_lossy(text))
        }
        (Term::Number(number), _) | (_, Term::Number(number)) => format!(": write '{number}'"),
        _ => String::new(),
    };
    format!("{}, but {}{hint}", describe(left), describe(right))
}

/// Checks a constant that is compared with a field of few possible values, and converts it to the form of
/// these values.
fn convert_constant(terms: &mut [Term; 2], comparison: Comparison) -> Result<(), String> {
    let (field, constant) = match terms {
        [Term::Field(field), constant] | [constant, Term::Field(field)] => (field, constant),
        _ => return Ok(()),
    };
    check_word(field, constant)?;
    match (&*field, &*constant) {
        (Field::Tag(_) | Field::TagOrOperation(..), Term::Text(_)) => convert_tag(field, constant),
        (Field::BuiltinField(field), Term::Text(_)) => convert_text(*field, constant),
        (Field::BuiltinField(BuiltinField::Result), Term::Number(number))
            if !comparison.is_order() && ![0.0, 0.5, 1.0].contains(&number.as_f64()) =>
        {
            Err(format!("`result` is 1, 0.5 or 0, never {number}"))
        }
        _ => Ok(()),
    }
}

/// Checks a constant that is compared with a field of few words.
fn check_word(field: &Field, constant: &Term) -> Result<(), String> {
    let is_word = |word: &&str| match constant {
        Term::Text(text) => word.as_bytes() == text,
        Term::Number(_) => false,
        _ => true,
    };
    let words = field.words();
    if words.is_empty() || words.iter().any(is_word) {
        return Ok(());
    }
    Err(format!("`{field}` is {}, never {}", alternatives(&words), constant.shown()))
}

/// Whether a pattern matches some text that the field can have.
fn can_match(field: &Field, pattern: &Regex) -> bool {
    let words = field.words();
    words.is_empty() || words.iter().any(|word| pattern.is_match(word.as_bytes()))
}

/// Words in quotes, as in `'w' or 'b'`.
fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Like [`convert_constant`], for a text that is compared with a field that is not an operation.
fn convert_text(field: BuiltinField, constant: &mut Term) -> Result<(), String> {
    let Term::Text(text) = constant else { return Ok(()) };
    let written = String::from_utf8_lossy(text).into_owned();
    match field {
        BuiltinField::EnPassant if text != b"-" && Square::from_ascii(text).is_none() => {
            Err(format!("`ep` is a square such as 'e3', or '-', never '{written}'"))
        }
        BuiltinField::Castling if !is_castling(text) => Err(format!(
            "`castling` is '-', or letters of 'KQkq' in this order (also files, as in 'HAha'), never '{written}'"
        )),
        BuiltinField::Material => {
            const ORDER: &[u8] = b"KQRBNPkqrbnp";
            let place = |letter: &u8| ORDER.iter().position(|known| known == letter);
            if let Some(letter) = text.iter().find(|letter| place(letter).is_none()) {
                let letter = char::from(*letter);
                return Err(format!(
                    "`material` is written with KQRBNP and kqrbnp; there is no {letter}"
                ));
            }
            text.sort_by_key(place);
            Ok(())
        }
        BuiltinField::Key if parse_key(text).is_none() => {
            Err(format!("`key` has up to 16 hexadecimal digits, never '{written}'"))
        }
        BuiltinField::Result => match points(text) {
            Some(points) => {
                *constant = Term::Number(points);
                Ok(())
            }
            None => Err(format!(
                "`result` is '1-0', '1/2-1/2' or '0-1', never '{written}'; else `!has(result)`"
            )),
        },
        _ => Ok(()),
    }
}

/// Whether a position can have this text as its castling rights in X-FEN: those of the king's side and of the
/// queen's side of White, then of Black.
fn is_castling(text: &[u8]) -> bool {
    let mut rest = text;
    for letters in [b"KABCDEFGH", b"QABCDEFGH", b"kabcdefgh", b"qabcdefgh"] {
        if let [first, others @ ..] = rest
            && letters.contains(first)
        {
            rest = others;
        }
    }
    text == b"-" || !text.is_empty() && rest.is_empty()
}

/// Like [`convert_constant`], for a text that is compared with a tag.
fn convert_tag(field: &Field, constant: &mut Term) -> Result<(), String> {
    let Term::Text(text) = &*constant else { return Ok(()) };
    let written = String::from_utf8_lossy(text);
    match field.kind() {
        Type::Date => match Date::parse(text) {
            Some(date) => *constant = Term::Date(date),
            None => {
                return Err(format!(
                    "`{field}` is a date: '1992.11.04', '1992.11' or '1992', never '{written}'"
                ));
            }
        },
        _ if matches!(&**text, b"" | b"?") => {
            return Err(format!(
                "a tag with the value '{written}' counts as missing: use `!has({field})`"
            ));
        }
        _ => {}
    }
    Ok(())
}
