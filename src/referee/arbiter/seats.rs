//! The seats of players. A player that plays several games at once has a client for each game, and
//! each client has its own seat.

use super::Arbiter;
use super::game::GameInPlay;
use crate::seat::Seat;

impl Arbiter {
    /// The player of a seat. The first seats of all players come first, in the order of the
    /// settings, then their second seats, and so on.
    pub(super) fn player_of(&self, seat: usize) -> usize {
        seat % self.tournament.players.len().max(1)
    }

    /// The seats of a player, the first one first.
    pub(super) fn seats_of(&self, player: usize) -> impl Iterator<Item = usize> + Clone {
        let max_clients = self.tournament.max_clients(player);
        (player..self.seats.len()).step_by(self.tournament.players.len().max(1)).take(max_clients)
    }

    /// The number of a new seat for a player; `None` if the player has its maximum number of seats.
    pub(super) fn next_seat_of(&self, player: usize) -> Option<usize> {
        let count = self.seats_of(player).count();
        let players = self.tournament.players.len();
        (count < self.tournament.max_clients(player)).then_some(player + count * players)
    }

    /// Adds seats until this one exists. Seats are added in steps, at each step one for every
    /// player.
    pub(super) fn make_seat(&mut self, seat: usize) {
        let players = self.tournament.players.len().max(1);
        let rows = seat / players + 1;
        if rows * players > self.seats.len() {
            self.seats.resize(rows * players, Seat::new());
        }
    }

    pub(super) fn name(&self, seat: usize) -> &str {
        self.player_name(self.player_of(seat))
    }

    pub(super) fn player_name(&self, player: usize) -> &str {
        self.tournament.players.get(player).map_or("?", |player| &player.name)
    }

    /// The name of a client: the name of its player, such as `A`, or `A (2)` for the player's
    /// second client.
    pub(super) fn client_name(&self, seat: usize) -> String {
        self.tournament.client_name(seat)
    }

    pub(super) fn is_present(&self, player: usize) -> bool {
        self.seats_of(player).any(|seat| !self.seats[seat].is_away())
    }

    /// True if a client of the player has signed off and no client of the player has signed on since. The
    /// player then plays only on seats of other clients that are present.
    pub(super) fn has_signed_off(&self, player: usize) -> bool {
        self.seats_of(player).any(|seat| self.seats[seat].has_signed_off)
    }

    /// Forgets that a client of the player has signed off, because a client is present or wanted
    /// again.
    pub(super) fn forget_sign_off(&mut self, player: usize) {
        if self.has_signed_off(player) {
            let seats: Vec<usize> = self.seats_of(player).collect();
            seats.into_iter().for_each(|seat| self.seats[seat].has_signed_off = false);
            self.pair_again();
        }
    }

    /// The game in play of a seat, if it has begun.
    pub(super) fn game_of(&self, seat: usize) -> Option<&GameInPlay> {
        self.games.get(&self.seats[seat].game?)
    }

    pub(super) fn game_of_mut(&mut self, seat: usize) -> Option<&mut GameInPlay> {
        self.games.get_mut(&self.seats[seat].game?)
    }

    /// True if the player plays no game.
    pub(super) fn is_idle(&self, player: usize) -> bool {
        self.seats_of(player).all(|seat| self.seats[seat].game.is_none())
    }

    /// A seat on which a player can play another game. A seat whose client is present comes before
    /// a seat whose client can be started.
    pub(super) fn free_seat(&self, player: usize) -> Option<usize> {
        let free = || self.seats_of(player).filter(|seat| self.seats[*seat].game.is_none());
        let present = free().find(|seat| !self.seats[*seat].is_away());
        if present.is_none() && self.can_be_started(player) {
            free().next().or_else(|| self.next_seat_of(player))
        } else {
            present
        }
    }

    /// True if no client of the player is there, and the referee no longer waits for one.
    pub(super) fn is_given_up(&self, player: usize) -> bool {
        let awaited = self.seats_of(player).filter_map(|seat| self.seats[seat].awaited_until);
        !self.is_present(player) && awaited.max().is_some_and(|until| until <= self.now)
    }
}
