//! The game as a client knows it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::board::{GameBoard, Place};
use crate::time_control::{Remaining, TimeControl};
use crate::wire::{Directive, TimeLeft, UsedTime};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{Color, Counters, Start};
use epdb_engine::{ClockReading, MoveTime, SearchLimits};

/// The client's view of its game.
#[derive(Debug, Default)]
pub struct KnownGame {
    board: Option<GameBoard>,
    tags: BTreeMap<String, String>,
}

/// Maximum number of moves that are replayed to find out what a clock shows.
const MAX_MOVES: u32 = 10_000;

impl KnownGame {
    /// A game about which nothing is known yet.
    pub fn new() -> KnownGame {
        KnownGame::default()
    }

    /// The board; `None` before a position was sent.
    pub const fn board(&self) -> Option<&GameBoard> {
        self.board.as_ref()
    }

    /// The value of a tag, if the referee has sent the tag.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.get(name).map(String::as_str)
    }

    /// Takes the tags of a message of any kind.
    pub fn inform(&mut self, directive: &Directive) {
        self.tags.extend(directive.tags.iter().cloned());
    }

    /// Takes the position and the moves of a message. If the position and its counters are those of
    /// the known board, the history is kept, so that repetitions are recognised. Otherwise the game
    /// starts over with the moves of the message.
    ///
    /// # Errors
    /// No game can be played from the position, or a move is not legal.
    pub fn set(&mut self, directive: &Directive) -> Result<&mut GameBoard, String> {
        let known = self.board.take().filter(|board| is_known(&board.place(), directive));
        let board = match known {
            Some(board) => board,
            None => GameBoard::new(&start(directive)).ok_or("no moves can be made there")?,
        };
        let board = self.board.insert(board);
        let moves =
            if directive.history.is_empty() { directive.mv.as_slice() } else { &directive.history };
        match moves.iter().find(|mv| !board.play(**mv)) {
            Some(mv) => Err(format!("the move {mv} is not legal there")),
            None => Ok(board),
        }
    }

    /// Makes a move of the client.
    pub fn play(&mut self, mv: Move) {
        if let Some(board) = &mut self.board {
            board.play(mv);
        }
    }

    /// Thinking time of the side to move: from the clocks for engines in the message, or else from the time
    /// control and the used time. If both are missing, it is `usual`, or unlimited if the message has search
    /// limits.
    pub(crate) fn move_time(&self, directive: &Directive, usual: Duration) -> MoveTime {
        let told = told(&directive.left, self.turn());
        if let Some(time) = told.or_else(|| self.by_used_time(directive.used?)) {
            time
        } else if directive.left.search == SearchLimits::default() {
            MoveTime::Fixed(usual)
        } else {
            MoveTime::Unlimited
        }
    }

    fn turn(&self) -> Color {
        self.board.as_ref().map_or(Color::White, GameBoard::turn)
    }

    fn by_used_time(&self, used: UsedTime) -> Option<MoveTime> {
        let board = self.board.as_ref()?;
        let control = TimeControl::from_tag(self.tag("TimeControl")?).ok().flatten()?;
        if let TimeControl::PerMove(time) = control {
            return Some(MoveTime::Fixed(time));
        }
        let remaining = Color::ALL.map(|color| after_moves(&control, moves_of(board, color)));
        // The message has whole seconds: up to one second more was used.
        let most_used = [used.white, used.black].map(|used| Duration::from_secs(used + 1));
        let used_by_opponent = [used.black, used.white].map(Duration::from_secs);
        let left = |side: usize| {
            let gained = control.after_opponents_move(&remaining[side], used_by_opponent[side]);
            Some(gained.time?.saturating_sub(most_used[side]))
        };
        Some(MoveTime::Clocks(ClockReading {
            left: [left(0)?, left(1)?],
            increment: [0, 1].map(|side| control.increment(&remaining[side])),
            moves_to_go: remaining[board.turn() as usize].moves,
        }))
    }
}

/// True if a message has the position and the counters of `place`. A counter that the message leaves out
/// counts as equal.
fn is_known(place: &Place, directive: &Directive) -> bool {
    let is_same = |said: Option<u32>, known: u32| said.is_none_or(|said| said == known);
    place.position.identity() == directive.position.identity()
        && is_same(directive.halfmove_clock, place.halfmove_clock)
        && is_same(directive.fullmove_number, place.fullmove_number)
}

fn start(directive: &Directive) -> Start {
    let counters = Counters {
        halfmove_clock: directive.halfmove_clock.unwrap_or(0),
        fullmove_number: directive.fullmove_number.unwrap_or(1),
    };
    Start { position: directive.position, counters }
}

/// Number of moves of a side since the start of the game. If no moves are known, the current move number
/// gives this number.
fn moves_of(board: &GameBoard, color: Color) -> u32 {
    let since = if board.moves().is_empty() { 1 } else { board.start().fullmove_number };
    let made = board.place().fullmove_number.saturating_sub(since);
    made + u32::from(color == Color::White && board.turn() == Color::Black)
}

/// The clock after `moves` moves that took no time.
fn after_moves(control: &TimeControl, moves: u32) -> Remaining {
    let moves = 0..moves.min(MAX_MOVES);
    moves.fold(control.start(), |remaining, _| control.after_move(&remaining, Duration::ZERO))
}

/// The time that the engine gets, as a message of the server gives it; `None` if the message has no clock of
/// the client. If the opponent has no clock, the client's clock is used for both.
fn told(left: &TimeLeft, turn: Color) -> Option<MoveTime> {
    if let Some(time) = left.move_time {
        return Some(MoveTime::Fixed(time));
    }
    let own = if turn == Color::White { left.white? } else { left.black? };
    Some(MoveTime::Clocks(ClockReading {
        left: [left.white, left.black].map(|time| time.unwrap_or(own)),
        increment: [left.white_increment, left.black_increment].map(Option::unwrap_or_default),
        moves_to_go: left.moves_to_go,
    }))
}
