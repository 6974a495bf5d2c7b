//! Parser of expressions.

use std::ops::Range;

use regex::bytes::Regex;

use super::ExpressionTerm;
use super::board_terms::board_comparison;
use super::structures;
use super::tree::{Comparison, Term, Test};
use crate::library::date::Date;
use crate::library::field::{BuiltinField, Field, MOVE_OPCODES, is_bare_text, points};
use crate::library::value::{Number, Type, parse_key};
use crate::model::Square;

/// Maximum depth of parentheses, negations and `abs`.
const MAX_DEPTH: u32 = 64;

/// Parses an expression. Returns its tests as a tree and as a list.
pub(super) fn parse(
    text: &str,
    columns: &[&'static str],
) -> Result<(Test, Vec<ExpressionTerm>), ExpressionError> {
    let tokens = tokenize(text)?;
    let end = text.chars().count() + 1;
    let mut parser = Parser {
        tokens: &tokens,
        columns,
        next: 0,
        end,
        depth: 0,
        flips: [false; 2],
        terms: Vec::new(),
    };
    let root = parser.or()?;
    match parser.peek() {
        None => {
            let offsets: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
            let offset = |column: usize| offsets.get(column - 1).copied().unwrap_or(text.len());
            let terms = parser.terms.into_iter().map(|(columns, is_of_position)| {
                let term = &text[offset(columns.start)..offset(columns.end)];
                ExpressionTerm { text: term.trim_end().into(), is_of_position }
            });
            Ok((root, terms.collect()))
        }
        Some(token) => Err(token.error(match token.kind {
            TokenKind::Close => "this `)` closes nothing".into(),
            _ => format!("expected `&&`, `||` or the end, found {}", token.kind.shown()),
        })),
    }
}

#[derive(Debug)]
struct Token<'t> {
    kind: TokenKind<'t>,
    column: usize,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum TokenKind<'t> {
    Name(&'t str),
    Number(Number),
    Text(&'t str),
    Compare(Comparison),
    Matches,
    And,
    Or,
    Not,
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    Plus,
    Minus,
}

impl Token<'_> {
    fn error(&self, message: String) -> ExpressionError {
        ExpressionError { column: self.column, message }
    }
}

impl TokenKind<'_> {
    /// True if a sign after the token joins two numbers. Otherwise it belongs to a number.
    const fn ends_value(self) -> bool {
        matches!(self, TokenKind::Name(_) | TokenKind::Number(_) | TokenKind::Close)
    }

    fn shown(self) -> String {
        match self {
            TokenKind::Name(name) => format!("`{name}`"),
            TokenKind::Number(number) => format!("`{number}`"),
            TokenKind::Text(text) => format!("'{text}'"),
            TokenKind::Compare(comparison) => format!("`{}`", comparison.shown()),
            TokenKind::Matches => "`~`".into(),
            TokenKind::And => "`&&`".into(),
            TokenKind::Or => "`||`".into(),
            TokenKind::Not => "`!`".into(),
            TokenKind::Open => "`(`".into(),
            TokenKind::Close => "`)`".into(),
            TokenKind::OpenList => "`[`".into(),
            TokenKind::CloseList => "`]`".into(),
            TokenKind::Comma => "`,`".into(),
            TokenKind::Plus => "`+`".into(),
            TokenKind::Minus => "`-`".into(),
        }
    }
}

impl Comparison {
    const fn shown(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::Unequal => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    pub(super) const fn is_order(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::Unequal)
    }
}

/// Signs that are tokens. If one sign begins with another, the longer one comes first.
const SIGNS: [(&str, TokenKind<'static>); 15] = [
    ("==", TokenKind::Compare(Comparison::Equal)),
    ("!=", TokenKind::Compare(Comparison::Unequal)),
    ("<=", TokenKind::Compare(Comparison::LessOrEqual)),
    (">=", TokenKind::Compare(Comparison::GreaterOrEqual)),
    ("<", TokenKind::Compare(Comparison::Less)),
    (">", TokenKind::Compare(Comparison::Greater)),
    ("&&", TokenKind::And),
    ("||", TokenKind::Or),
    ("!", TokenKind::Not),
    ("~", TokenKind::Matches),
    ("(", TokenKind::Open),
    (")", TokenKind::Close),
    ("[", TokenKind::OpenList),
    ("]", TokenKind::CloseList),
    (",", TokenKind::Comma),
];

/// Operators of other languages, each with the message that names the operator of this language.
const FOREIGN_SIGNS: [(&str, &str); 8] = [
    ("<>", "`<>` compares nothing: write `!=`"),
    ("=~", "`=~` compares nothing: write `~`"),
    ("=<", "`=<` compares nothing: write `<=`"),
    ("=>", "`=>` compares nothing: write `>=`"),
    ("!~", "`!~` compares nothing: write `!(… ~ '…')`"),
    ("&", "`&` joins nothing: write `&&`"),
    ("|", "`|` joins nothing: write `||`"),
    ("=", "`=` compares nothing: write `==`"),
];

/// Words with the meaning of signs. In double quotes, `!` is history in a shell.
const WORDS: [(&str, TokenKind<'static>); 3] =
    [("and", TokenKind::And), ("or", TokenKind::Or), ("not", TokenKind::Not)];

const FOREIGN_WORDS: [(&str, &str); 5] = [
    ("AND", "`AND` joins nothing: write `and` or `&&`"),
    ("OR", "`OR` joins nothing: write `or` or `||`"),
    ("NOT", "`NOT` is written `not` or `!`"),
    ("true", "there is no `true`: a flag such as `check` is a test by itself"),
    ("false", "there is no `false`: the negation of `check` is `!check`"),
];

fn tokenize(text: &str) -> Result<Vec<Token<'_>>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut column = 1;
    while let Some(first) = rest.chars().next() {
        let len = if first.is_whitespace() {
            first.len_utf8()
        } else {
            let error = |message| ExpressionError { column, message };
            let last = tokens.last().map(|token: &Token<'_>| token.kind);
            let (kind, len) = match (first, last) {
                ('+', Some(last)) if last.ends_value() => (TokenKind::Plus, 1),
                ('-', Some(last)) if last.ends_value() => (TokenKind::Minus, 1),
                _ => token(rest).map_err(error)?,
            };
            tokens.push(Token { kind, column });
            len
        };
        let (token, after) = rest.split_at(len);
        column += token.chars().count();
        rest = after;
    }
    Ok(tokens)
}

/// The first token of a text that does not begin with a blank, and its length in bytes.
fn token(text: &str) -> Result<(TokenKind<'_>, usize), String> {
    if let Some(quote) = text.chars().next().filter(|first| matches!(first, '\'' | '"')) {
        let Some((content, _)) = text[1..].split_once(quote) else {
            return Err(format!("the text that begins here is not closed by {quote}"));
        };
        return Ok((TokenKind::Text(content), content.len() + 2));
    }
    let len_while = |fits: fn(char) -> bool| text.find(|c: char| !fits(c)).unwrap_or(text.len());
    let name_len = len_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'));
    if text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        let name = &text[..name_len];
        if let Some((_, message)) = FOREIGN_WORDS.iter().find(|(word, _)| *word == name) {
            return Err((*message).into());
        }
        let word = WORDS.iter().find(|(word, _)| *word == name);
        return Ok((word.map_or(TokenKind::Name(name), |(_, kind)| *kind), name_len));
    }
    let number_len =
        len_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_' | ':'));
    if text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.')) {
        let written = &text[..number_len];
        return match Number::parse(written.as_bytes()) {
            Some(number) => Ok((TokenKind::Number(number), number_len)),
            None => Err(format!("`{written}` is not a number; put texts in quotes: '{written}'")),
        };
    }
    let starts = |sign: &str| text.starts_with(sign);
    let doubled = starts("&&") || starts("||") || starts("==");
    if let Some((_, message)) = FOREIGN_SIGNS.iter().find(|(sign, _)| starts(sign) && !doubled) {
        return Err((*message).into());
    }
    match SIGNS.iter().find(|(sign, _)| starts(sign)) {
        Some((sign, kind)) => Ok((*kind, sign.len())),
        None => Err(match text.chars().next() {
            Some(letter @ ('’' | '‘' | '“' | '”' | '`' | '´')) => {
                format!("`{letter}` is not a quotation mark: put texts in ' or \"")
            }
            first => format!("`{}` has no meaning here", first.unwrap_or(' ')),
        }),
    }
}

pub(super) struct Parser<'p, 't> {
    tokens: &'p [Token<'t>],
    /// Names of columns, which take precedence over names of fields.
    columns: &'p [&'static str],
    next: usize,
    /// The column after the last character.
    end: usize,
    depth: u32,
    /// True for each flip that the current term is in.
    pub(super) flips: [bool; 2],
    /// The columns of each test that operators join. The flag is true if the position alone decides.
    terms: Vec<(Range<usize>, bool)>,
}

/// A value, and the column of the text where it begins.
struct PlacedTerm {
    term: Term,
    column: usize,
}

pub(super) type Parsed<T> = Result<T, ExpressionError>;

impl<'p, 't> Parser<'p, 't> {
    fn peek(&self) -> Option<&'p Token<'t>> {
        self.tokens.get(self.next)
    }

    /// The kind of a token after the current one; `nth` 0 is the current one.
    pub(super) fn peek_kind(&self, nth: usize) -> Option<TokenKind<'t>> {
        self.tokens.get(self.next + nth).map(|token| token.kind)
    }

    pub(super) const fn skip(&mut self, tokens: usize) {
        self.next += tokens;
    }

    fn advance(&mut self) -> Option<&'p Token<'t>> {
        let token = self.peek()?;
        self.next += 1;
        Some(token)
    }

    pub(super) fn takes(&mut self, kind: TokenKind<'_>) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == kind);
        self.next += usize::from(found);
        found
    }

    pub(super) fn column(&self) -> usize {
        self.peek().map_or(self.end, |token| token.column)
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(ExpressionError { column: self.column(), message: message.into() })
    }

    /// The current token, for a message.
    pub(super) fn found(&self) -> String {
        self.peek().map_or_else(|| "the end".into(), |token| token.kind.shown())
    }

    pub(super) fn expect(&mut self, kind: TokenKind<'_>, what: &str) -> Parsed<()> {
        if self.takes(kind) {
            return Ok(());
        }
        self.error(format!("expected {what}, found {}", self.found()))
    }

    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return self.error(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    pub(super) fn or(&mut self) -> Parsed<Test> {
        self.chain(TokenKind::Or, Test::Or, Parser::and)
    }

    fn and(&mut self) -> Parsed<Test> {
        self.chain(TokenKind::And, Test::And, Parser::not)
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
        if self.takes(TokenKind::Not) {
            return self.nested(Parser::not).map(|test| Test::Not(Box::new(test)));
        }
        self.test()
    }

    fn test(&mut self) -> Parsed<Test> {
        if self.takes(TokenKind::Open) {
            let test = self.nested(Parser::or)?;
            self.expect(TokenKind::Close, "`)`")?;
            return Ok(test);
        }
        let start = self.column();
        let test = self.one_test()?;
        if self.flips == [false; 2] {
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
            _ => match self.board_test()? {
                Some(test) => Ok(Test::Board(test)),
                None => self.relation(),
            },
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

    /// Refuses `stm == w`: after a comparison operator, a name that is not a field or an opcode is
    /// usually a text without its quotes.
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
            Ok(regex) => Ok(Test::Matches(left.term, regex)),
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
        Ok(Test::InList(left.term, list))
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
                [] if let Some(near) = structures::nearest(name) => {
                    token.error(format!("unknown name `{name}`: did you mean `{near}`?"))
                }
                [] => token.error(message),
                columns => token.error(format!("{message}; columns: {}", columns.join(", "))),
            });
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

/// One of the terms of a sum.
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
    settle_constant(&mut terms).map_err(|message| ExpressionError { column: place, message })?;
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
fn settle_constant(terms: &mut [Term; 2]) -> Result<(), String> {
    match terms {
        [Term::Field(field), constant @ Term::Text(_)]
        | [constant @ Term::Text(_), Term::Field(field)] => settle_tag(field, constant)?,
        _ => {}
    }
    let (field, constant) = match terms {
        [Term::Field(Field::BuiltinField(field)), constant]
        | [constant, Term::Field(Field::BuiltinField(field))] => (*field, constant),
        _ => return Ok(()),
    };
    let Term::Text(text) = constant else { return Ok(()) };
    let written = String::from_utf8_lossy(text).into_owned();
    match field {
        BuiltinField::SideToMove if text != b"w" && text != b"b" => {
            Err(format!("`stm` is 'w' or 'b', never '{written}'"))
        }
        BuiltinField::EnPassant if text != b"-" && Square::from_ascii(text).is_none() => {
            Err(format!("`ep` is a square such as 'e3', or '-', never '{written}'"))
        }
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
            None => Err(format!("`result` is '1-0', '1/2-1/2' or '0-1', never '{written}'")),
        },
        _ => Ok(()),
    }
}

/// Like [`settle_constant`], for a text that is compared with a tag.
fn settle_tag(field: &Field, constant: &mut Term) -> Result<(), String> {
    let (Field::Tag(name) | Field::TagOrOperation(name, _), Term::Text(text)) = (field, &constant)
    else {
        return Ok(());
    };
    let written = String::from_utf8_lossy(text);
    match name.kind() {
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

/// A mistake in an expression, with its column.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct ExpressionError {
    /// The column in the expression, in characters from 1.
    pub column: usize,
    /// The mistake, and usually the correction.
    pub message: String,
}

impl ExpressionError {
    /// The same error, with a long quotation of the expression shortened.
    pub(super) fn shortened(self) -> ExpressionError {
        const EACH: usize = 150;
        let count = self.message.chars().count();
        if count <= 3 * EACH {
            return self;
        }
        let begin: String = self.message.chars().take(EACH).collect();
        let end: String = self.message.chars().skip(count - EACH).collect();
        ExpressionError { message: format!("{begin} … {end}"), ..self }
    }
}
