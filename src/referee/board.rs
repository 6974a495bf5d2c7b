//! The board of a game in play.

use super::outcome::{Outcome, Termination};
use epdb_chess::model::rules::{Move, Playable, is_insufficient_material, is_zeroing};
use epdb_chess::model::{Color, GameResult, Position, Replay, Start};

/// Number of times that a position arises before the game is drawn.
const REPETITIONS: usize = 3;
/// Number of plies without a capture or a pawn move after which a game is drawn.
const FIFTY_MOVES: u32 = 100;

/// Endings of a game by the rules of chess.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ending {
    /// The side to move is mated.
    Checkmate,
    /// The side to move has no move.
    Stalemate,
    /// Neither side can ever mate.
    BareMaterial,
    /// The position has arisen three times.
    Repetition,
    /// Fifty moves of both sides without a capture or a move of a pawn.
    FiftyMoves,
}

/// A position with its counters.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The position.
    pub position: Position,
    /// Plies since the last capture or move of a pawn.
    pub halfmove_clock: u32,
    /// The number of the next move.
    pub fullmove_number: u32,
}

/// The current position of a game, with its history.
///
/// ```
/// use epdb_chess::model::Start;
/// use epdb_referee::{Ending, GameBoard};
/// let mut board = GameBoard::new(&Start::ARRAY).expect("a position with moves");
/// for mv in ["f2f3", "e7e5", "g2g4", "d8h4"] {
///     assert!(board.play(mv.parse()?));
/// }
/// assert_eq!(board.ending(), Some(Ending::Checkmate));
/// # Ok::<(), epdb_chess::model::rules::MoveTextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GameBoard {
    replay: Replay,
    start: Place,
    moves: Vec<Move>,
    before: Option<Place>,
    /// The positions since the last capture or move of a pawn.
    seen: Vec<Position>,
}

impl GameBoard {
    /// Sets up the start of a game; `None` if no game can be played from this position.
    pub fn new(start: &Start) -> Option<GameBoard> {
        let replay = Replay::new(start)?;
        let seen = vec![replay.position().identity()];
        let start = place(&replay);
        Some(GameBoard { replay, start, moves: Vec::new(), before: None, seen })
    }

    /// The start of the game.
    pub const fn start(&self) -> &Place {
        &self.start
    }

    /// The current position.
    pub fn place(&self) -> Place {
        place(&self.replay)
    }

    /// The position before the last move; `None` before the first move.
    pub const fn before(&self) -> Option<&Place> {
        self.before.as_ref()
    }

    /// The moves from the start on.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The side to move.
    pub const fn turn(&self) -> Color {
        self.replay.position().turn()
    }

    /// The current position, prepared for finding legal moves.
    pub fn playable(&self) -> Playable {
        self.replay.playable()
    }

    /// Makes a move if it is legal. Returns true if it is legal.
    pub fn play(&mut self, mv: Move) -> bool {
        if !self.playable().is_legal(mv) {
            return false;
        }
        if is_zeroing(self.replay.position(), mv) {
            self.seen.clear();
        }
        self.before = Some(self.place());
        self.replay.play(mv);
        self.moves.push(mv);
        self.seen.push(self.replay.position().identity());
        true
    }

    /// Returns how the rules of chess end the game here; `None` if the game goes on. Mate and
    /// stalemate take precedence over the other endings.
    pub fn ending(&self) -> Option<Ending> {
        let playable = self.playable();
        if !playable.has_move() {
            let is_mate = playable.is_check();
            return Some(if is_mate { Ending::Checkmate } else { Ending::Stalemate });
        }
        let now = playable.position().identity();
        let times = self.seen.iter().filter(|seen| **seen == now).count();
        if is_insufficient_material(now.board()) {
            Some(Ending::BareMaterial)
        } else if times >= REPETITIONS {
            Some(Ending::Repetition)
        } else if self.replay.halfmove_clock() >= FIFTY_MOVES {
            Some(Ending::FiftyMoves)
        } else {
            None
        }
    }

    /// The ending in words.
    pub const fn reason(&self, ending: Ending) -> &'static str {
        match (ending, self.turn()) {
            (Ending::Checkmate, Color::White) => "Black mates",
            (Ending::Checkmate, Color::Black) => "White mates",
            (Ending::Stalemate, _) => "stalemate",
            (Ending::BareMaterial, _) => "bare material",
            (Ending::Repetition, _) => "threefold repetition",
            (Ending::FiftyMoves, _) => "fifty moves",
        }
    }

    /// The result of an ending.
    pub fn outcome(&self, ending: Ending) -> Outcome {
        let result = match ending {
            Ending::Checkmate => GameResult::win_of(!self.turn()),
            _ => GameResult::Draw,
        };
        Outcome { result, termination: Termination::Normal }
    }
}

fn place(replay: &Replay) -> Place {
    Place {
        position: *replay.position(),
        halfmove_clock: replay.halfmove_clock(),
        fullmove_number: replay.fullmove_number(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn after(fen: &str, moves: &str) -> GameBoard {
        let record = epdb_chess::parse_epd(fen.as_bytes()).unwrap();
        let start = Start {
            position: *record.position(),
            counters: record.fen_counters().unwrap_or_default(),
        };
        let mut board = GameBoard::new(&start).unwrap();
        for mv in moves.split_whitespace() {
            assert_eq!(board.ending(), None, "{mv}");
            assert!(board.play(mv.parse().unwrap()), "{mv}");
        }
        board
    }

    #[test]
    fn each_ending_is_found() {
        let knights = "g1f3 g8f6 f3g1 f6g8 ";
        let array = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let cases = [
            (array, "f2f3 e7e5 g2g4 d8h4", Ending::Checkmate, GameResult::BlackWins),
            ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "f1f7", Ending::Stalemate, GameResult::Draw),
            (
                "7k/8/6K1/8/8/5p2/8/5B2 w - - 0 1",
                "g6f5 h8h7 f1h3 h7h8 f5e4 h8h7 e4f3",
                Ending::BareMaterial,
                GameResult::Draw,
            ),
            (array, &knights.repeat(2), Ending::Repetition, GameResult::Draw),
            ("7k/8/6K1/8/8/8/8/R7 w - - 99 80", "a1b1", Ending::FiftyMoves, GameResult::Draw),
            // The hundredth ply mates.
            ("7k/8/6K1/8/8/8/8/R7 w - - 99 80", "a1a8", Ending::Checkmate, GameResult::WhiteWins),
        ];
        for (fen, moves, ending, result) in cases {
            let board = after(fen, moves);
            assert_eq!(board.ending(), Some(ending), "{fen} {moves}");
            assert_eq!(board.outcome(ending).result, result);
        }
    }

    #[test]
    fn a_capture_forgets_what_was_seen() {
        let array = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let mut board = after(array, "g1f3 g8f6 f3g1 f6g8 e2e4");
        assert_eq!(board.seen.len(), 1);
        assert!(!board.play("e4e5".parse().unwrap()));
        assert_eq!(board.before().unwrap().halfmove_clock, 4);
        assert_eq!((board.place().halfmove_clock, board.place().fullmove_number), (0, 3));
    }
}
