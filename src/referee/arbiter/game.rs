//! A game in play, and a game that is over.

use std::time::Duration;

use crate::adjudication::{AdjudicationRules, Adjudicator};
use crate::board::GameBoard;
use crate::clock::Clocks;
use crate::game_record::PlayedMove;
use crate::openings::Opening;
use crate::outcome::{Outcome, Termination};
use crate::pairing::Pairing;
use crate::time_control::TimeControl;
use crate::wire::{DrawWord, Reply};
use epdb_chess::model::rules::{Move, can_mate};
use epdb_chess::model::score::Score;
use epdb_chess::model::{Color, GameResult};

/// A game that is over.
#[derive(Clone, PartialEq, Debug)]
pub struct FinishedGame {
    /// The players and numbers of the game.
    pub pairing: Pairing,
    /// The opening of the game.
    pub opening: Opening,
    /// The moves after the opening.
    pub moves: Vec<PlayedMove>,
    /// The result of the game.
    pub outcome: Outcome,
    /// The reason why the game ended, in words.
    pub reason: String,
    /// The day on which the game began, `YYYY.MM.DD`.
    pub date: String,
}

/// The pairings and outcomes of games that are over. Later pairings and the table are computed from this
/// list.
pub(crate) fn outcomes(finished: &[FinishedGame]) -> Vec<(Pairing, Outcome)> {
    finished.iter().map(|game| (game.pairing, game.outcome)).collect()
}

/// Whether the player on move was sent `respond`, the request for a move.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// The player was not asked for this move.
    No,
    /// `respond` is being written.
    Sent,
    /// `respond` was written, and the clock runs.
    Written,
}

/// A game whose players have their seats, but whose opening is not known yet.
#[derive(Copy, Clone, Debug)]
pub(super) struct CalledGame {
    pub(super) pairing: Pairing,
    /// The seats of White and of Black.
    pub(super) seats: [usize; 2],
}

#[derive(Clone, Debug)]
pub(super) struct GameInPlay {
    pub(super) pairing: Pairing,
    /// The seats of White and of Black.
    pub(super) seats: [usize; 2],
    pub(super) opening: Opening,
    pub(super) date: String,
    pub(super) board: GameBoard,
    pub(super) clocks: Clocks,
    pub(super) played: Vec<PlayedMove>,
    pub(super) asked: Asked,
    /// A line of the player on move, with its time, that arrived before the event `Written` for `respond`.
    pub(super) early: Option<(Duration, Vec<u8>)>,
    /// The side that offered a draw with the last move.
    pub(super) offer: Option<Color>,
    /// The side whose draw offer was explicitly rejected, or whose claim was wrong.
    pub(super) refused: Option<Color>,
    /// True if the referee waits for the tablebases to say whether the game goes on.
    pub(super) awaits_tablebase: bool,
    /// True if the referee waits for the supervisor to say how the game goes on.
    pub(super) is_held: bool,
    by_scores: Adjudicator,
    by_length: Adjudicator,
}

impl GameInPlay {
    /// A game before its first move; `None` if the opening cannot be played.
    pub(super) fn new(
        CalledGame { pairing, seats }: CalledGame,
        opening: Opening,
        date: String,
        times: [&TimeControl; 2],
        rules: AdjudicationRules,
    ) -> Option<GameInPlay> {
        let mut board = GameBoard::new(&opening.start)?;
        let max_moves = rules.max_moves;
        if !opening.moves.iter().all(|mv| board.play(*mv)) {
            return None;
        }
        Some(GameInPlay {
            pairing,
            seats,
            opening,
            date,
            board,
            clocks: Clocks::new(times[0], times[1]),
            played: Vec::new(),
            asked: Asked::No,
            early: None,
            offer: None,
            refused: None,
            awaits_tablebase: false,
            is_held: false,
            by_scores: Adjudicator::new(AdjudicationRules { max_moves: None, ..rules }),
            by_length: Adjudicator::new(AdjudicationRules { max_moves, ..Default::default() }),
        })
    }

    /// Both players, White first.
    pub(super) const fn players(&self) -> [usize; 2] {
        [self.pairing.white, self.pairing.black]
    }

    pub(super) fn mover(&self) -> usize {
        self.players()[self.board.turn() as usize]
    }

    pub(super) fn mover_seat(&self) -> usize {
        self.seats[self.board.turn() as usize]
    }

    pub(super) fn color_of(&self, seat: usize) -> Color {
        if self.seats[0] == seat { Color::White } else { Color::Black }
    }

    /// The result if a side exceeds its time or breaks the rules, and a note for the reason. If the
    /// opponent cannot mate, the game is drawn.
    pub(super) fn loss_of(&self, color: Color) -> (GameResult, &'static str) {
        if can_mate(self.board.place().position.board(), !color) {
            (GameResult::win_of(!color), "")
        } else {
            (GameResult::Draw, ", and its opponent cannot mate")
        }
    }

    /// Stops the clock without a move. The player on move must then be asked again.
    pub(super) fn interrupt(&mut self, now: Duration) {
        self.clocks.interrupt(now);
        self.asked = Asked::No;
        self.early = None;
    }

    /// Makes the move of a reply. If the move ends the game, returns the outcome and the reason.
    pub(super) fn make(
        &mut self,
        mv: Move,
        reply: &Reply,
        at: Duration,
    ) -> Option<(Outcome, &'static str)> {
        let color = self.board.turn();
        let used = self.clocks.finish_move(at);
        let left = self.clocks.left(color);
        let score = reply.search.ce.and_then(|ce| Score::from_ce(ce.into()).ok());
        self.board.play(mv);
        self.played.push(PlayedMove { mv, used, left, score, depth: reply.search.depth });
        self.asked = Asked::No;
        if self.refused == Some(color) {
            self.refused = None;
        }
        if reply.draw == Some(DrawWord::Reject) && self.offer == Some(!color) {
            self.refused = self.offer;
        }
        self.offer = (reply.draw == Some(DrawWord::Offer)).then_some(color);
        if reply.draw == Some(DrawWord::Claim) {
            self.refused = Some(color);
        }
        if let Some(ending) = self.board.ending() {
            return Some((self.board.outcome(ending), self.board.reason(ending)));
        }
        let ply = u32::try_from(self.board.moves().len()).unwrap_or(u32::MAX);
        let by_scores = self.by_scores.judge(ply, color, score);
        let by_length = self.by_length.judge(ply, color, score);
        let (result, why) = match (by_scores, by_length) {
            (Some(result), _) => (result, "the scores decide"),
            (None, Some(result)) => (result, "the last move that is allowed"),
            (None, None) => return None,
        };
        Some((Outcome { result, termination: Termination::Adjudication }, why))
    }

    pub(super) fn finished(self, outcome: Outcome, reason: String) -> FinishedGame {
        let GameInPlay { pairing, opening, played, date, .. } = self;
        FinishedGame { pairing, opening, moves: played, outcome, reason, date }
    }
}
