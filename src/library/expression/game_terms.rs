//! Parser of the terms about the positions and the moves of a game.

use super::cursor::{ExpressionError, Parsed, Parser, TokenKind};
use super::pattern;
use super::played::{self, PlayedTest};
use super::tree::{GameTerm, Step, Test};
use crate::field::Field;
use crate::value::{Comparison, Number};

/// The functions, each with an example.
pub(super) const FUNCTIONS: [(&str, &str); 11] = [
    ("first", "first(iqp)"),
    ("last", "last(rook_ending)"),
    ("all", "all(pieces > 10)"),
    ("never", "never(check)"),
    ("ever", "ever(check)"),
    ("lasts", "lasts(iqp, 4)"),
    ("then", "then(iqp, rook_ending, 40)"),
    ("line", "line('Bxh7+ Kxh7 Ng5+')"),
    ("moved", "moved('N')"),
    ("captured", "captured('q')"),
    ("promoted", "promoted('N')"),
];

/// Tests of the next move without arguments.
const PLAYED: [(&str, PlayedTest); 2] =
    [("enpassant", PlayedTest::EnPassant), ("retaken", PlayedTest::Retaken)];

impl Parser<'_, '_> {
    /// Parses a term that only games have; `None` if no such term follows.
    pub(super) fn game_term(&mut self) -> Parsed<Option<Test>> {
        let Some(TokenKind::Name(name)) = self.peek_kind(0) else { return Ok(None) };
        if let Some((name, test)) = PLAYED.into_iter().find(|(known, _)| *known == name)
            && self.columns.is_empty()
        {
            self.of_games.get_or_insert((self.column(), name));
            self.skip(1);
            return Ok(Some(Test::Played(test)));
        }
        let Some((name, example)) = FUNCTIONS.into_iter().find(|(known, _)| *known == name) else {
            return Ok(None);
        };
        if self.peek_kind(1) != Some(TokenKind::Open) {
            // `line` alone is a field.
            if Field::parse(name).is_ok() || self.columns.contains(&name) {
                return Ok(None);
            }
            return self.error(format!("`{name}` needs parentheses, as in {example}"));
        }
        let column = self.column();
        if !self.columns.is_empty() {
            return self
                .error(format!("{name}() is about the positions of games, not of these rows"));
        }
        self.of_games.get_or_insert((column, name));
        self.skip(2);
        let test = match name {
            "line" => Test::Played(PlayedTest::Line(self.text(example, played::moves)?)),
            "moved" => Test::Played(PlayedTest::Moved(self.text(example, pattern::pieces)?)),
            "captured" => Test::Played(PlayedTest::Captured(self.text(example, pattern::pieces)?)),
            "promoted" => Test::Played(PlayedTest::Promoted(self.text(example, pattern::pieces)?)),
            _ if self.is_in_game_term => {
                let message = format!(
                    "{name}() is true or false for a whole game, so no other such term can contain it"
                );
                return Err(ExpressionError { column, message });
            }
            _ => {
                self.is_in_game_term = true;
                let test = self.of_positions(name, example)?;
                self.is_in_game_term = false;
                test
            }
        };
        self.expect(TokenKind::Close, "`)`")?;
        Ok(Some(test))
    }

    fn of_positions(&mut self, name: &str, example: &str) -> Parsed<Test> {
        let test = self.nested(self.parse_or)?.simplified();
        let of_game = |term| Test::OfGame(Box::new(term));
        let not = |test| Test::Not(Box::new(test));
        Ok(match name {
            "first" => of_game(GameTerm::First(test)),
            "last" => of_game(GameTerm::Last(test)),
            "all" => not(of_game(GameTerm::Lasts(not(test), 1))),
            "ever" => of_game(GameTerm::Lasts(test, 1)),
            "never" => not(of_game(GameTerm::Lasts(test, 1))),
            "lasts" => {
                self.expect(TokenKind::Comma, &format!("`,` and a number, as in {example}"))?;
                of_game(GameTerm::Lasts(test, self.count_of("positions", example)?))
            }
            _ => {
                let mut steps = Vec::new();
                while self.takes(TokenKind::Comma) {
                    steps.push(self.step(example)?);
                }
                if steps.is_empty() {
                    return self
                        .error(format!("expected `,`, as in {example}, found {}", self.found()));
                }
                of_game(GameTerm::Then(test, steps))
            }
        })
    }

    /// Parses the next test of `then`, and its number of plies if there is one.
    fn step(&mut self, example: &str) -> Parsed<Step> {
        const EXACTLY: TokenKind<'_> = TokenKind::Compare(Comparison::Equal);
        let test = self.nested(self.parse_or)?.simplified();
        let is_exact = self.peek_kind(1) == Some(EXACTLY);
        let is_limited = matches!(self.peek_kind(1), Some(TokenKind::Number(_)))
            && matches!(self.peek_kind(2), Some(TokenKind::Comma | TokenKind::Close));
        if !(is_exact || is_limited) || !self.takes(TokenKind::Comma) {
            return Ok(Step { test, plies: u32::MAX, is_exact: false });
        }
        self.takes(EXACTLY);
        Ok(Step { test, plies: self.count_of("plies", example)?, is_exact })
    }

    /// Parses a number of positions or plies.
    fn count_of(&mut self, what: &str, example: &str) -> Parsed<u32> {
        let count = match self.peek_kind(0) {
            Some(TokenKind::Number(Number::Whole(number))) => u32::try_from(number).ok(),
            _ => None,
        };
        let Some(count) = count.filter(|count| *count > 0) else {
            let found = self.found();
            return self
                .error(format!("expected a number of {what}, as in {example}, found {found}"));
        };
        self.skip(1);
        Ok(count)
    }
}
