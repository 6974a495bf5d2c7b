//! Mirror images of tests, term by term, for `flipcolor` and `flipvertical`.

use super::board_test::{BoardNumber, BoardTest, Pieces, Requirement, SetKind, SquareSet};
use super::played::PlayedTest;
use super::tree::{GameTerm, Step, Term, Test};
use crate::field::{BuiltinField, Field};
use crate::flip::{Mirror, of_other_side};
use crate::game_tag::TagName;
use crate::value::{Number, Type};
use epdb_chess::model::{Opcode, Side, Square};

/// A mirrored test, or the name of a term that has no mirror image.
type Mirrored<T> = Result<T, String>;

impl Test {
    /// The test that is true wherever this test is true for the mirror image. With the colours, the players
    /// and the result of a game are swapped.
    pub(super) fn mirrored(&self, mirror: Mirror) -> Mirrored<Test> {
        let all = |tests: &[Test]| {
            tests.iter().map(|test| test.mirrored(mirror)).collect::<Mirrored<Vec<_>>>()
        };
        let each = |terms: &[Term]| {
            terms.iter().map(|term| term.mirrored(mirror)).collect::<Mirrored<Vec<_>>>()
        };
        Ok(match self {
            Test::Board(test) => Test::Board(test.mirrored(mirror)),
            Test::Position(position) => Test::Position(Box::new(mirror.position(position))),
            Test::Played(test) => Test::Played(test.mirrored(mirror)),
            Test::OfGame(term) => Test::OfGame(Box::new(term.mirrored(mirror)?)),
            Test::Or(tests) => Test::Or(all(tests)?),
            Test::And(tests) => Test::And(all(tests)?),
            Test::Not(test) => Test::Not(Box::new(test.mirrored(mirror)?)),
            Test::Flag(field) => Test::Flag(mirrored_field(field, mirror)?),
            Test::Has(field) => Test::Has(mirrored_field(field, mirror)?),
            Test::Compare(
                ep @ Term::Field(Field::BuiltinField(BuiltinField::EnPassant)),
                comparison,
                square,
            ) => Test::Compare(ep.clone(), *comparison, mirrored_square(square, mirror)?),
            Test::Compare(left, comparison, right) => {
                Test::Compare(left.mirrored(mirror)?, *comparison, right.mirrored(mirror)?)
            }
            Test::Matches(term, regex) => Test::Matches(term.mirrored(mirror)?, regex.clone()),
            Test::InList(term, list) => Test::InList(term.mirrored(mirror)?, each(list)?),
            Test::Illegal(opcode) | Test::InMoves(_, opcode) => return Err(opcode.to_string()),
        })
    }
}

impl GameTerm {
    fn mirrored(&self, mirror: Mirror) -> Mirrored<GameTerm> {
        Ok(match self {
            GameTerm::First(test) => GameTerm::First(test.mirrored(mirror)?),
            GameTerm::Last(test) => GameTerm::Last(test.mirrored(mirror)?),
            GameTerm::Lasts(test, count) => GameTerm::Lasts(test.mirrored(mirror)?, *count),
            GameTerm::Then(first, steps) => {
                let steps =
                    steps.iter().map(|it| Ok(Step { test: it.test.mirrored(mirror)?, ..*it }));
                GameTerm::Then(first.mirrored(mirror)?, steps.collect::<Mirrored<_>>()?)
            }
        })
    }
}

impl Term {
    fn mirrored(&self, mirror: Mirror) -> Mirrored<Term> {
        let field = |field: &Field| Term::Field(field.clone());
        Ok(match self {
            Term::Number(_) | Term::Text(_) | Term::Date(_) => self.clone(),
            Term::Field(result @ Field::BuiltinField(BuiltinField::Result))
                if mirror.swaps_colors() =>
            {
                Term::Sum(vec![(false, Term::Number(Number::Whole(1))), (true, field(result))])
            }
            Term::Field(
                score @ (Field::WhiteScore
                | Field::WhiteEvaluation
                | Field::BuiltinField(BuiltinField::Balance)),
            ) if mirror.swaps_colors() => Term::Sum(vec![(true, field(score))]),
            Term::Field(field) => Term::Field(mirrored_field(field, mirror)?),
            Term::Abs(inner) => Term::Abs(Box::new(inner.mirrored(mirror)?)),
            Term::Sum(parts) => {
                let parts = parts.iter().map(|(sign, part)| Ok((*sign, part.mirrored(mirror)?)));
                Term::Sum(parts.collect::<Mirrored<_>>()?)
            }
            Term::Board(number) => Term::Board(number.mirrored(mirror)),
        })
    }
}

/// A field of the mirrored position or game. Most fields do not depend on a side, or are those of the mover.
fn mirrored_field(field: &Field, mirror: Mirror) -> Mirrored<Field> {
    let has_image = match field {
        Field::BuiltinField(named) => !matches!(
            named,
            BuiltinField::Material
                | BuiltinField::SideToMove
                | BuiltinField::EnPassant
                | BuiltinField::Castling
                | BuiltinField::Fen
                | BuiltinField::Epd
                | BuiltinField::Record
                | BuiltinField::Key
                | BuiltinField::Tally(_)
        ),
        Field::Tag(name) | Field::TagOrOperation(name, _) => name.as_str() != "Result",
        Field::Operation(_) => field.kind() != Type::Moves,
        Field::Uci(_) | Field::Column(..) => false,
        Field::WhiteScore | Field::WhiteEvaluation => true,
    };
    if !has_image {
        return Err(field.to_string());
    }
    let other = |name: &TagName| {
        let name = of_other_side(name.as_str().as_bytes()).filter(|_| mirror.swaps_colors())?;
        TagName::new(std::str::from_utf8(&name).ok()?)
    };
    Ok(match field {
        Field::Tag(name) => other(name).map_or_else(|| field.clone(), Field::Tag),
        Field::TagOrOperation(name, opcode) => other(name).map_or_else(
            || field.clone(),
            |name| {
                let opcode = Opcode::new(name.as_str().as_bytes()).unwrap_or(*opcode);
                Field::TagOrOperation(name, opcode)
            },
        ),
        _ => field.clone(),
    })
}

/// The square that `ep` is compared with; `-` stays.
fn mirrored_square(square: &Term, mirror: Mirror) -> Mirrored<Term> {
    let Term::Text(text) = square else { return Err("ep".into()) };
    let mirrored = Square::from_ascii(text).map(|square| mirror.square(square).to_ascii());
    Ok(Term::Text(mirrored.map_or_else(|| text.clone(), |square| square.to_vec())))
}

impl PlayedTest {
    fn mirrored(&self, mirror: Mirror) -> PlayedTest {
        match self {
            PlayedTest::Line(line) => {
                let moves = line.iter();
                PlayedTest::Line(
                    moves
                        .map(|mv| mv.mirrored(mirror.swaps_files(), mirror.swaps_colors()))
                        .collect(),
                )
            }
            PlayedTest::Moved(pieces) => PlayedTest::Moved(pieces.mirrored(mirror)),
            PlayedTest::Captured(pieces) => PlayedTest::Captured(pieces.mirrored(mirror)),
            PlayedTest::Promoted(pieces) => PlayedTest::Promoted(pieces.mirrored(mirror)),
            PlayedTest::EnPassant | PlayedTest::Retaken => self.clone(),
        }
    }
}

impl BoardTest {
    /// The test that holds for a position if this test holds for its mirror image.
    pub(super) fn mirrored(&self, mirror: Mirror) -> BoardTest {
        let all = |tests: &[BoardTest]| tests.iter().map(|test| test.mirrored(mirror)).collect();
        match self {
            BoardTest::Or(tests) => BoardTest::Or(all(tests)),
            BoardTest::And(tests) => BoardTest::And(all(tests)),
            BoardTest::Not(test) => BoardTest::Not(Box::new(test.mirrored(mirror))),
            BoardTest::Pattern(all) => {
                let requirement = |it: &Requirement| Requirement {
                    pieces: it.pieces.mirrored(mirror),
                    squares: mirror.squares(it.squares),
                    ..*it
                };
                BoardTest::Pattern(all.iter().map(requirement).collect())
            }
            BoardTest::Any(set) => BoardTest::Any(set.mirrored(mirror)),
            BoardTest::Compare(left, comparison, right) => {
                BoardTest::Compare(left.mirrored(mirror), *comparison, right.mirrored(mirror))
            }
            BoardTest::Exactly(counts) => {
                let counts = counts.iter();
                BoardTest::Exactly(
                    counts
                        .map(|(color, role, count)| (mirror.color(*color), *role, *count))
                        .collect(),
                )
            }
            BoardTest::Castling(rights) => {
                let side = |side: Side| match (mirror.swaps_files(), side) {
                    (false, side) => side,
                    (true, Side::King) => Side::Queen,
                    (true, Side::Queen) => Side::King,
                };
                let rights = rights.iter().map(|(color, at)| (mirror.color(*color), side(*at)));
                BoardTest::Castling(rights.collect())
            }
            BoardTest::Turn(color) => BoardTest::Turn(mirror.color(*color)),
            BoardTest::Quiet => BoardTest::Quiet,
            BoardTest::Setup(position) => BoardTest::Setup(Box::new(mirror.position(position))),
        }
    }
}

impl Pieces {
    fn mirrored(self, mirror: Mirror) -> Pieces {
        match self {
            Pieces::One(color, role) => Pieces::One(mirror.color(color), role),
            Pieces::Several([white, black]) if mirror.swaps_colors() => {
                Pieces::Several([black, white])
            }
            Pieces::Several(_) => self,
        }
    }
}

impl SquareSet {
    fn mirrored(&self, mirror: Mirror) -> SquareSet {
        let kind = match self.kind {
            SetKind::Pieces(pieces) => SetKind::Pieces(pieces.mirrored(mirror)),
            SetKind::Pawns(term, side) => SetKind::Pawns(term, side.map(|side| mirror.color(side))),
            SetKind::Attackers(pieces, targets) => {
                SetKind::Attackers(pieces.mirrored(mirror), targets.mirrored(mirror))
            }
            SetKind::Pinned(pieces) => SetKind::Pinned(pieces.mirrored(mirror)),
            SetKind::Forks(pieces) => SetKind::Forks(pieces.mirrored(mirror)),
        };
        SquareSet { kind, squares: mirror.squares(self.squares) }
    }
}

impl BoardNumber {
    fn mirrored(&self, mirror: Mirror) -> BoardNumber {
        match self {
            BoardNumber::Balance if mirror.swaps_colors() => {
                BoardNumber::Sum(vec![(true, BoardNumber::Balance)])
            }
            BoardNumber::Constant(_) | BoardNumber::Balance => self.clone(),
            BoardNumber::Count(set) => BoardNumber::Count(set.mirrored(mirror)),
            BoardNumber::Abs(number) => BoardNumber::Abs(Box::new(number.mirrored(mirror))),
            BoardNumber::Sum(parts) => BoardNumber::Sum(
                parts.iter().map(|(sign, part)| (*sign, part.mirrored(mirror))).collect(),
            ),
        }
    }
}
