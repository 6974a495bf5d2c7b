//! The main line of a game, position by position.

use super::game_position::{GamePosition, Nodes};
use super::positions::record;
use crate::model::rules::{Move, Playable};
use crate::model::{Counters, EpdRecord, Game, Position, Replay};

/// A walk along the main line of a game, up to its first null move. A record of a position is made only
/// on request, because it takes longer than the move.
///
/// ```
/// use epdb_chess::text::pgn::{GameReader, MainLine, PgnReadOptions, RecordParts};
/// let mut reader = GameReader::new(&b"1. e4 c5 *"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let mut line = MainLine::new(read.game.expect("a good one"));
/// assert!(line.step());
/// assert_eq!(epdb_chess::format_epd(&line.record(RecordParts::All)).split(|byte| *byte == b';').count(), 4);
/// assert!(line.step() && !line.step() && line.next_move().is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MainLine<'g> {
    game: &'g Game,
    /// `None` if no move can be made in the first position.
    replay: Option<Replay>,
    nodes: Option<Nodes<'g>>,
}

/// The parts of a record of [`MainLine`]. Fewer parts take less time.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RecordParts {
    /// The position alone.
    Position,
    /// Also the counters.
    Counters,
    /// Also the next move, as in [`positions`](super::positions).
    All,
}

impl<'g> MainLine<'g> {
    /// The first position.
    pub fn new(game: &'g Game) -> MainLine<'g> {
        let nodes = game.node(0).map(|last| Nodes { last, previous: None });
        MainLine { game, replay: Replay::new(game.start()), nodes }
    }

    /// The position after this many plies, or the last one.
    pub fn at(game: &'g Game, ply: u32) -> MainLine<'g> {
        let mut line = MainLine::new(game);
        while line.ply() < ply && line.step() {}
        line
    }

    /// The current position.
    pub fn position(&self) -> &Position {
        self.replay.as_ref().map_or(&self.game.start().position, Replay::position)
    }

    /// Number of plies since the first position.
    pub fn ply(&self) -> u32 {
        self.replay.as_ref().map_or(0, Replay::ply)
    }

    /// The next move; `None` at the last position.
    pub fn next_move(&self) -> Option<Move> {
        self.replay.as_ref()?;
        self.nodes?.last.next_move()?.played()
    }

    /// The next move, and the position in which it is played; `None` at the last position.
    pub fn played(&self) -> Option<(Move, Playable)> {
        Some((self.next_move()?, self.replay.as_ref()?.playable()))
    }

    /// Plies since the last pawn move or capture, and the number of the next move.
    pub fn counters(&self) -> (u32, u32) {
        match &self.replay {
            Some(replay) => (replay.halfmove_clock(), replay.fullmove_number()),
            None => {
                let Counters { halfmove_clock, fullmove_number } = self.game.start().counters;
                (halfmove_clock, fullmove_number)
            }
        }
    }

    /// Plays the next move. Returns false at the last position.
    #[inline]
    pub fn step(&mut self) -> bool {
        let (Some(replay), Some(nodes)) = (&mut self.replay, &mut self.nodes) else { return false };
        let Some(next) = nodes.last.next_move() else { return false };
        let Some(mv) = next.played() else { return false };
        replay.play(mv);
        *nodes = Nodes { last: next, previous: Some(nodes.last) };
        true
    }

    /// The record of the position.
    pub fn record(&self, parts: RecordParts) -> EpdRecord {
        match (&self.replay, parts) {
            (Some(replay), RecordParts::Counters) => record(replay, None, Vec::new()),
            (Some(replay), RecordParts::All) => record(replay, self.next_move(), Vec::new()),
            (None, _) | (_, RecordParts::Position) => EpdRecord::new(*self.position()),
        }
    }

    /// The place of the position in the game.
    pub fn place(&self) -> GamePosition<'g> {
        self.nodes.map_or_else(|| self.game.into(), |nodes| GamePosition::new(self.game, nodes))
    }
}
