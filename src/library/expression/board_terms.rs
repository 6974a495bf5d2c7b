//! Parser of the terms about the board.

use super::board_test::{BoardNumber, BoardTest, Pieces, SetKind, SquareSet};
use super::cursor::{ExpressionError, Parsed, Parser, TokenKind, tokenize};
use super::pattern::{self, Dialect, TextError};
use super::pawns::{NamedPawnTerm, PAWN_TERMS};
use super::structures::{QUIET, STRUCTURES, Structure};
use super::tree::{Term, Test};
use crate::field::{BuiltinField, Field};
use crate::flip::Mirror;
use crate::value::{Comparison, Number};
use epdb_chess::model::Color;

/// Functions whose results are tests of the board, each with an example.
pub(super) const FUNCTIONS: [(&str, &str); 8] = [
    ("board", "board('8/8/8/3P4/8/8/8/8')"),
    ("fenpattern", "fenpattern('*/*/*/*/*/*/*/R3K2R')"),
    ("on", "on('N', 'e5')"),
    ("material", "material('RPP v R')"),
    ("castling", "castling('K')"),
    ("position", "position('e4 c5')"),
    ("flipcolor", "flipcolor(on('N', 'e5'))"),
    ("flipvertical", "flipvertical(on('N', 'e5'))"),
];

/// Functions whose results are sets of squares: tests, and arguments of count().
pub(super) const SETS: [(&str, &str); 3] =
    [("attacks", "attacks('R', 'k')"), ("pinned", "pinned('q')"), ("fork", "fork('N')")];

impl Parser<'_, '_> {
    /// Parses a term about the board that is a test; `None` if no such term follows.
    pub(super) fn board_test(&mut self) -> Parsed<Option<Test>> {
        let Some(TokenKind::Name(name)) = self.peek_kind(0) else { return Ok(None) };
        let is_call = self.peek_kind(1) == Some(TokenKind::Open);
        if let Some(set) = self.named_set()? {
            return Ok(Some(Test::Board(BoardTest::Any(set))));
        }
        if let Some(structure) = STRUCTURES.iter().find(|structure| structure.name == name) {
            return self.structure(structure).map(|test| Some(Test::Board(test)));
        }
        if name == QUIET.name {
            self.skip(1);
            self.refuse_side(name)?;
            return Ok(Some(Test::Board(BoardTest::Quiet)));
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
            "flipcolor" => self.flip(name, Mirror::Colors)?,
            "flipvertical" => self.flip(name, Mirror::Files)?,
            "position" => Test::Position(Box::new(self.text(example, pattern::position)?)),
            _ => Test::Board(self.of_board(name, example)?),
        };
        self.expect(TokenKind::Close, "`)`")?;
        Ok(Some(test))
    }

    fn of_board(&mut self, name: &str, example: &str) -> Parsed<BoardTest> {
        let placement = |dialect| move |text: &str| pattern::placement(text, dialect);
        Ok(match name {
            "board" => self.text(example, placement(Dialect::Board))?,
            "fenpattern" => self.text(example, placement(Dialect::FenPattern))?,
            "on" => {
                let pieces = self.text(example, pattern::pieces)?;
                self.expect(TokenKind::Comma, "`,` and squares, as in on('N', 'e5')")?;
                let squares = self.text(example, pattern::squares)?;
                BoardTest::Any(SquareSet { kind: SetKind::Pieces(pieces), squares })
            }
            "material" => self.material(example)?,
            _ => self.text(example, pattern::castling)?,
        })
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
        let mut set = match (self.named_set()?, self.peek_kind(0)) {
            (Some(set), _) => set,
            (None, Some(TokenKind::Name(name))) => {
                return self.error(format!("`{name}` is no set of squares: write {EXAMPLE}"));
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

    /// Parses a set of squares that has a name; `None` if no such set follows.
    fn named_set(&mut self) -> Parsed<Option<SquareSet>> {
        let Some(TokenKind::Name(name)) = self.peek_kind(0) else { return Ok(None) };
        if let Some(term) = PAWN_TERMS.iter().find(|term| term.name == name) {
            return self.pawn_term(term).map(Some);
        }
        let Some((_, example)) = SETS.iter().find(|(known, _)| *known == name) else {
            return Ok(None);
        };
        self.skip(1);
        if name == "fork" && self.peek_kind(0) != Some(TokenKind::Open) {
            let kind = SetKind::Forks(Pieces::ANY);
            return Ok(Some(SquareSet { kind, squares: u64::MAX }));
        }
        self.expect(TokenKind::Open, &format!("`(`, as in {example}"))?;
        let side = if name == "fork" { self.side() } else { None };
        let pieces = match side {
            Some(side) => Pieces::of(side),
            None => self.text(example, pattern::pieces)?,
        };
        let kind = match name {
            "fork" => SetKind::Forks(pieces),
            "pinned" => SetKind::Pinned(pieces),
            _ => {
                self.expect(TokenKind::Comma, &format!("`,` and pieces, as in {example}"))?;
                SetKind::Attackers(pieces, self.text(example, pattern::pieces)?)
            }
        };
        self.expect(TokenKind::Close, "`)`")?;
        Ok(Some(SquareSet { kind, squares: u64::MAX }))
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
            self.refuse_side(structure.name)?;
            return Ok(test);
        };
        let other = test.mirrored(Mirror::Colors);
        if !self.takes(TokenKind::Open) {
            return Ok(BoardTest::Or(vec![test, other]));
        }
        let side = self.needed_side()?;
        self.expect(TokenKind::Close, "`)`")?;
        Ok(if side == own { test } else { other })
    }

    fn refuse_side(&mut self, name: &str) -> Parsed<()> {
        if self.takes(TokenKind::Open) {
            return self.error(format!("`{name}` has no side: write it alone"));
        }
        Ok(())
    }

    fn side(&mut self) -> Option<Color> {
        let side = match self.peek_kind(0) {
            Some(TokenKind::Name("white") | TokenKind::Text("white")) => Color::White,
            Some(TokenKind::Name("black") | TokenKind::Text("black")) => Color::Black,
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

    /// Parses the expression in a flip. It is true as it stands, or as a whole for the mirror image.
    fn flip(&mut self, name: &str, mirror: Mirror) -> Parsed<Test> {
        if self.flips.contains(&mirror) {
            return self.error(format!("this is in {name}() already"));
        }
        self.flips.push(mirror);
        let column = self.column();
        let test = self.nested(self.parse_or)?;
        self.flips.pop();
        let mirrored = test.mirrored(mirror).map_err(|term| ExpressionError {
            column,
            message: format!("`{term}` has no mirror image: put its test outside of {name}()"),
        })?;
        Ok(Test::Or(vec![test, mirrored]).simplified())
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
        Term::Field(Field::BuiltinField(BuiltinField::Balance)) => Some(BoardNumber::Balance),
        Term::Board(number) => Some(number.clone()),
        Term::Abs(inner) => Some(BoardNumber::Abs(Box::new(board_number(inner)?))),
        Term::Sum(parts) => {
            let part = |(sign, part): &(bool, Term)| Some((*sign, board_number(part)?));
            parts.iter().map(part).collect::<Option<_>>().map(BoardNumber::Sum)
        }
        _ => None,
    }
}
