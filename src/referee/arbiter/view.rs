//! The public state of a tournament.

use std::time::Duration;

use super::game::GameInPlay;
use super::{Arbiter, Seat};
use crate::snapshot::{RunningGame, SeatView, SideView, Snapshot};
use epdb_chess::model::Color;
use epdb_chess::model::rules::Playable;
use epdb_chess::text::san;

impl Arbiter {
    /// The state of the tournament at `now`, which must not be before the time of the last event.
    pub fn snapshot(&self, now: Duration) -> Snapshot<'_> {
        let is_called =
            |game: u32| self.games.contains_key(&game) || self.called.contains_key(&game);
        let to_come = self.to_come.iter().filter(|pairing| !is_called(pairing.game));
        let seat_view = |(place, seat): (usize, &Seat)| SeatView {
            player: self.player_of(place),
            state: seat.state.word(),
            game: seat.game,
        };
        Snapshot {
            tournament: &self.tournament,
            now,
            running: self.games.values().map(|game| self.view(game, now)).collect(),
            finished: &self.finished,
            to_come: to_come.copied().collect(),
            seats: self.seats.iter().enumerate().map(seat_view).collect(),
            absences: &self.absences,
            is_paused: self.is_paused,
            has_ended: self.has_ended,
        }
    }

    fn view(&self, game: &GameInPlay, now: Duration) -> RunningGame {
        let place = game.board.place();
        let last_move = game.board.before().zip(game.board.moves().last());
        RunningGame {
            pairing: game.pairing,
            opening: game.opening.label.clone(),
            position: place.position,
            fullmove_number: place.fullmove_number,
            last_move: last_move.and_then(|(before, mv)| {
                Some(san::format(&Playable::new(&before.position).ok()?, *mv))
            }),
            running: game.clocks.is_running().then_some(place.position.turn()),
            sides: Color::ALL.map(|color| self.side_view(game, color, now)),
            is_held: game.is_held,
        }
    }

    fn side_view(&self, game: &GameInPlay, color: Color, now: Duration) -> SideView {
        let player = game.players()[color as usize];
        let seat = game.seats[color as usize];
        // The last move was made by the opponent of the side to move.
        let back = if game.board.turn() == color { 2 } else { 1 };
        let last = game.played.len().checked_sub(back).and_then(|ply| game.played.get(ply));
        let left = game.clocks.left(color).map(|left| {
            if game.board.turn() == color {
                left.saturating_sub(game.clocks.running_for(now))
            } else {
                left
            }
        });
        SideView {
            player,
            state: self.seats[seat].state.word(),
            left,
            score: last.and_then(|played| played.score),
            depth: last.and_then(|played| played.depth),
        }
    }
}
