//! Tokens of expressions, and the parser's place among them.

use std::ops::Range;

use super::tree::Test;
use crate::flip::Mirror;
use crate::value::{Comparison, Number};

/// Maximum depth of parentheses, negations and `abs`.
const MAX_DEPTH: u32 = 64;

#[derive(Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
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
    pub(super) fn error(&self, message: String) -> ExpressionError {
        ExpressionError { column: self.column, message }
    }
}

impl TokenKind<'_> {
    /// True if a sign after the token joins two numbers. Otherwise it belongs to a number.
    const fn ends_value(self) -> bool {
        matches!(self, TokenKind::Name(_) | TokenKind::Number(_) | TokenKind::Close)
    }

    pub(super) fn shown(self) -> String {
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
    pub(super) const fn shown(self) -> &'static str {
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

pub(super) fn tokenize(text: &str) -> Result<Vec<Token<'_>>, ExpressionError> {
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
    pub(super) tokens: &'p [Token<'t>],
    /// Names of columns, which take precedence over names of fields.
    pub(super) columns: &'p [&'static str],
    /// Parses a whole expression, up to a token that cannot belong to it.
    pub(super) parse_or: fn(&mut Parser<'_, '_>) -> Parsed<Test>,
    pub(super) next: usize,
    /// The column after the last character.
    end: usize,
    depth: u32,
    /// The flips that the current term is in.
    pub(super) flips: Vec<Mirror>,
    /// True within a term about all positions of a game.
    pub(super) is_in_game_term: bool,
    /// The first term that only games have.
    pub(super) of_games: Option<(usize, &'static str)>,
    /// The first reason why games cannot be selected.
    pub(super) games_refusal: Option<ExpressionError>,
    /// The columns of each test that operators join. The flag is true if the position alone decides.
    pub(super) terms: Vec<(Range<usize>, bool)>,
}

pub(super) type Parsed<T> = Result<T, ExpressionError>;

impl<'p, 't> Parser<'p, 't> {
    /// A parser at the first token of a text.
    pub(super) fn new(
        text: &str,
        tokens: &'p [Token<'t>],
        columns: &'p [&'static str],
        parse_or: fn(&mut Parser<'_, '_>) -> Parsed<Test>,
    ) -> Parser<'p, 't> {
        let end = text.chars().count() + 1;
        Parser {
            tokens,
            columns,
            parse_or,
            next: 0,
            end,
            depth: 0,
            flips: Vec::new(),
            is_in_game_term: false,
            of_games: None,
            games_refusal: None,
            terms: Vec::new(),
        }
    }

    pub(super) fn peek(&self) -> Option<&'p Token<'t>> {
        self.tokens.get(self.next)
    }

    /// The kind of a token after the current one; `nth` 0 is the current one.
    pub(super) fn peek_kind(&self, nth: usize) -> Option<TokenKind<'t>> {
        self.tokens.get(self.next + nth).map(|token| token.kind)
    }

    pub(super) const fn skip(&mut self, tokens: usize) {
        self.next += tokens;
    }

    pub(super) fn advance(&mut self) -> Option<&'p Token<'t>> {
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
