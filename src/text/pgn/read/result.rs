//! How a game ends: its termination marker, its `Result` tag, variations left open.

use std::io::Read;

use super::GameReader;
use super::report::{RAV, RESULT};
use super::stop::{Step, Stop};
use super::tokens::termination_marker;
use crate::model::{BuildError, Color, GameResult};
use crate::text::diagnostic::shown;
use crate::text::pgn::tags;
use crate::text::{Diagnostic, codes};

impl<R: Read> GameReader<R> {
    /// A termination marker; within a variation it is dropped.
    pub(super) fn marker(&mut self, at: usize, result: GameResult) -> Result<Step, Stop> {
        if self.builder.depth() == 0 {
            return Ok(Step::End(Some(result)));
        }
        let end = self.source.at;
        if self.next_byte(true)? == Some(b')') {
            let message = "a termination marker inside a variation; dropped";
            self.repair(RAV, at..end, "", message)?;
            return Ok(Step::GoOn);
        }
        Ok(Step::End(Some(result)))
    }

    /// Sees to the result and to variations that were left open.
    pub(super) fn finish(&mut self, marker: Option<GameResult>) -> Result<(), Stop> {
        let at = self.source.at;
        self.begin_movetext()?;
        if self.builder.depth() > 0 {
            let message = "the game ends inside a variation; closed";
            self.repair(RAV, at..at, ")".repeat(self.builder.depth()), message)?;
        }
        while self.builder.depth() > 0 {
            let closed = match self.builder.end_variation() {
                Err(BuildError::VariationEmpty) => self.builder.dissolve_variation(),
                result => result,
            };
            self.built(at, closed)?;
        }
        self.settle_result(at, marker)?;
        if marker.is_none() {
            let result = self.builder.game().result().as_str();
            let message = format!("the game has no termination marker; read as {result}");
            self.repair(RESULT, at..at, result, message)?;
        }
        Ok(())
    }

    /// Makes one result of the Result tag and the marker ([`tags::agreed_result`]).
    pub(super) fn settle_result(
        &mut self,
        at: usize,
        marker: Option<GameResult>,
    ) -> Result<(), Stop> {
        let game = self.builder.game();
        let Some(value) = game.tag("Result").filter(|_| game.has_tag("Result")) else {
            let set = self.builder.set_result(marker.unwrap_or_default());
            return self.built(at, set);
        };
        let given = termination_marker(value.as_bytes());
        let marked = marker.unwrap_or_default();
        if given.is_some_and(|(given, canonical)| canonical && marker.is_none_or(|it| it == given))
        {
            return Ok(());
        }
        let value = value.to_owned();
        let tag = given.map(|(given, _)| given);
        let result = tags::agreed_result(tag, marker, || self.proven_result());
        let text = shown(value.as_bytes());
        let message = format!("the Result tag is {text}, the marker `{marked}`; `{result}` counts");
        if given != Some((GameResult::Unknown, true)) {
            self.lenient_only(codes::E_PGN_RESULT, at, &message)?;
        }
        if value != result.as_str() {
            self.note_result(at, &value, result, message.clone())?;
        }
        if marker.is_some_and(|marker| marker != result) {
            self.note_result(at, marked.as_str(), result, message)?;
        }
        let set = self.builder.set_result(result);
        self.built(at, set)
    }

    /// Tells of a result that became another one.
    fn note_result(
        &mut self,
        at: usize,
        before: &str,
        after: GameResult,
        message: String,
    ) -> Result<(), Stop> {
        let warning = Diagnostic::warning(codes::W_PGN_RESULT, 0, message);
        self.note(warning.with_repair(before, after.as_str()), at)
    }

    /// The result that the final position leaves no doubt about: checkmate or stalemate.
    fn proven_result(&self) -> Option<GameResult> {
        let replay = self.builder.replay().filter(|_| !self.is_truncated)?;
        let playable = replay.playable();
        if playable.has_move() {
            return None;
        }
        Some(match playable.position().turn() {
            _ if playable.checkers() == 0 => GameResult::Draw,
            Color::White => GameResult::BlackWins,
            Color::Black => GameResult::WhiteWins,
        })
    }
}
