//! Parser of the terms about the board.

use super::board_test::{BoardNumber, BoardTest, Flip, Pieces, SetKind, SquareSet};
use super::cursor::{ExpressionError, Parsed, Parser, TokenKind, tokenize};
use super::pattern::{self, Dialect, TextError};
use super::pawns::{NamedPawnTerm, PAWN_TERMS};
use super::structures::{STRUCTURES, Structure};
use super::tree::{Term, Test};
use crate::field::{BuiltinField, Field};
use crate::value::{Comparison, Number};
use epdb_chess::model::Color;

/// Functions whose results are tests of the board, each with an example.
const FUNCTIONS: [(&str, &str); 7] = [
    ("board", "board('8/8/8/3P4/8/8/8/8')"),
    ("fenpattern", "fenpattern('*/*/*/*/*/*/*/R3K2R')"),
    ("on", "on('N', 'e5')"),
    ("material", "material('RPP v R')"),
    ("castling", "castling('K')"),
    ("flipcolor", "flipcolor(on('N', 'e5'))"),
    ("flipvertical", "flipvertical(on('N', 'e5'))"),
];

impl Parser<'_, '_> {
    /// Parses a term about the board that is a test; `None` if no such term follows.
    pub(super) fn board_test(&mut self) -> Parsed<Option<BoardTest>> {
        let Some(TokenKind::Name(name)) = self.peek_kind(0) else { return Ok(None) };
        let is_call = self.peek_kind(1) == Some(TokenKind::Open);
        if let Some(term) = PAWN_TERMS.iter().find(|term| term.name == name) {
            return Ok(Some(BoardTest::Any(self.pawn_term(term)?)));
        }
        if let Some(structure) = STRUCTURES.iter().find(|structure| structure.name == name) {
            return self.structure(structure).map(Some);
        }
        let Some((_, example)) = FUNCTIONS.iter().find(|(function, _)| *function == name) else {
            return Ok(None);
        };
        if !is_call {
            // `material` and `castling` alone are fields.
            if Field::parse(name).is_ok() {
                return Ok(None);
            }
            return self.error(format!("`{name}` needs a text in parentheses, as in {example}"));
        }
        self.skip(2);
        let test = match name {
            "board" => self.text(example, |text| pattern::placement(text, Dialect::Board))?,
            "fenpattern" => {
                self.text(example, |text| pattern::placement(text, Dialect::FenPattern))?
            }
            "on" => {
                let pieces = self.text(example, pattern::pieces)?;
                self.expect(TokenKind::Comma, "`,` and squares, as in on('N', 'e5')")?;
                let squares = self.text(example, pattern::squares)?;
                BoardTest::Any(SquareSet { kind: SetKind::Pieces(pieces), squares })
            }
            "material" => self.material(example)?,
            "castling" => self.text(example, pattern::castling)?,
            "flipcolor" => self.flip(Flip::Color)?,
            _ => self.flip(Flip::Vertical)?,
        };
        self.expect(TokenKind::Close, "`)`")?;
        Ok(Some(test))
    }

    fn material(&mut self, example: &str) -> Parsed<BoardTest> {
        // The text is parsed after the side, but its mistakes come first.
        let either = |text: &str| pattern::material(text, None).map(|_| text.to_string());
        let text = self.text(example, either)?;
        let column = self.column();
        let side = if self.takes(TokenKind::Comma) { Some(self.needed_side()?) } else { None };
        pattern::material(&text, side).map_err(|(_, message)| ExpressionError { column, message })
    }

    /// Parses `count(`, its arguments and `)`, after the name.
    pub(super) fn count(&mut self) -> Parsed<BoardNumber> {
        const EXAMPLE: &str = "count('P', 'a-h7') or count(passed(white))";
        self.expect(TokenKind::Open, &format!("`(`, as in {EXAMPLE}"))?;
        let mut set = match self.peek_kind(0) {
            Some(TokenKind::Name(name)) => {
                let Some(term) = PAWN_TERMS.iter().find(|term| term.name == name) else {
                    return self.error(format!("`{name}` is no set of pawns: write {EXAMPLE}"));
                };
                self.pawn_term(term)?
            }
            _ => {
                let pieces = self.text(EXAMPLE, pattern::pieces)?;
                SquareSet { kind: SetKind::Pieces(pieces), squares: u64::MAX }
            }
        };
        if self.takes(TokenKind::Comma) {
            set.squares &= self.text(EXAMPLE, pattern::squares)?;
        }
        self.expect(TokenKind::Close, "`)`")?;
        Ok(BoardNumber::Count(set))
    }

    /// Parses the name of a pawn term, and a side, squares, both or none in parentheses.
    fn pawn_term(&mut self, term: &NamedPawnTerm) -> Parsed<SquareSet> {
        self.skip(1);
        let mut set = SquareSet { kind: SetKind::Pawns(term.term, None), squares: u64::MAX };
        if !self.takes(TokenKind::Open) {
            return Ok(set);
        }
        let side = self.side();
        set.kind = SetKind::Pawns(term.term, side);
        if side.is_none() || self.takes(TokenKind::Comma) {
            let example = format!("{0}(white), {0}('d') or {0}(white, 'd')", term.name);
            set.squares = self.text(&example, pattern::squares)?;
        }
        self.expect(TokenKind::Close, "`)`")?;
        Ok(set)
    }

    /// Parses the name of a structure, and a side in parentheses.
    fn structure(&mut self, structure: &Structure) -> Parsed<BoardTest> {
        self.skip(1);
        let tokens = tokenize(structure.definition)?;
        let mut parser = Parser::new(structure.definition, &tokens, &[], self.parse_or);
        let Test::Board(test) = (self.parse_or)(&mut parser)?.simplified() else {
            return self
                .error(format!("internal error: {} is not about the board", structure.name));
        };
        let Some(own) = structure.side else {
            return if self.takes(TokenKind::Open) {
                self.error(format!("`{}` has no side: write it alone", structure.name))
            } else {
                Ok(test)
            };
        };
        let test =
            if own == Color::White { test } else { BoardTest::ColorsSwapped(Box::new(test)) };
        if !self.takes(TokenKind::Open) {
            return Ok(test.for_side(None));
        }
        let side = self.needed_side()?;
        self.expect(TokenKind::Close, "`)`")?;
        Ok(test.for_side(Some(side)))
    }

    fn side(&mut self) -> Option<Color> {
        let side = match self.peek_kind(0) {
            Some(TokenKind::Name("white")) => Color::White,
            Some(TokenKind::Name("black")) => Color::Black,
            _ => return None,
        };
        self.skip(1);
        Some(side)
    }

    fn needed_side(&mut self) -> Parsed<Color> {
        match self.side() {
            Some(side) => Ok(side),
            None => self.error(format!("expected white or black, found {}", self.found())),
        }
    }

    /// Parses the expression in a flip.
    fn flip(&mut self, flip: Flip) -> Parsed<BoardTest> {
        let before = self.flips;
        let name = match flip {
            Flip::Color => "flipcolor",
            Flip::Vertical => "flipvertical",
        };
        let is_within = self.flips[flip as usize];
        if is_within {
            return self.error(format!("this is in {name}() already"));
        }
        self.flips[flip as usize] = true;
        let column = self.column();
        let test = self.nested(self.parse_or)?.simplified();
        self.flips = before;
        match test {
            Test::Board(test) => Ok(BoardTest::Flip(flip, Box::new(test))),
            _ => {
                let message =
                    format!("{name}() takes only terms about the board (see `epdb help where`)");
                Err(ExpressionError { column, message })
            }
        }
    }

    /// Parses a text in quotes. Mistakes in the text are reported at their columns.
    pub(super) fn text<T>(
        &mut self,
        example: &str,
        parse: impl FnOnce(&str) -> Result<T, TextError>,
    ) -> Parsed<T> {
        let Some(TokenKind::Text(text)) = self.peek_kind(0) else {
            let found = self.found();
            return self
                .error(format!("expected a text in quotes, as in {example}, found {found}"));
        };
        let quote = self.column();
        self.skip(1);
        parse(text)
            .map_err(|(place, message)| ExpressionError { column: quote + 1 + place, message })
    }
}

/// A comparison as a test of the board, if nothing else of a record matters.
pub(super) fn board_comparison(
    left: &Term,
    comparison: Comparison,
    right: &Term,
) -> Option<BoardTest> {
    let is_equality = !comparison.is_order();
    let test = match (left, right) {
        (Term::Field(Field::BuiltinField(field)), Term::Text(text))
        | (Term::Text(text), Term::Field(Field::BuiltinField(field)))
            if is_equality =>
        {
            match field {
                BuiltinField::SideToMove if text == b"w" => BoardTest::Turn(Color::White),
                BuiltinField::SideToMove => BoardTest::Turn(Color::Black),
                BuiltinField::Material => pattern::exact_material(text),
                _ => return None,
            }
        }
        _ => {
            let left = board_number(left)?;
            let right = board_number(right)?;
            return Some(BoardTest::Compare(left, comparison, right));
        }
    };
    Some(if comparison == Comparison::Unequal { BoardTest::Not(Box::new(test)) } else { test })
}

fn board_number(term: &Term) -> Option<BoardNumber> {
    match term {
        Term::Number(Number::Whole(number)) => {
            i64::try_from(*number).ok().map(BoardNumber::Constant)
        }
        Term::Field(Field::BuiltinField(BuiltinField::Pieces)) => {
            let kind = SetKind::Pieces(Pieces::ANY);
            Some(BoardNumber::Count(SquareSet { kind, squares: u64::MAX }))
        }
        Term::Board(number) => Some(number.clone()),
        Term::Abs(inner) => Some(BoardNumber::Abs(Box::new(board_number(inner)?))),
        Term::Sum(parts) => {
            let part = |(sign, part): &(bool, Term)| Some((*sign, board_number(part)?));
            parts.iter().map(part).collect::<Option<_>>().map(BoardNumber::Sum)
        }
        _ => None,
    }
}
