//! Channels, sign-on, and clients that disconnect.

use std::time::Duration;

use super::{Action, Arbiter, Guest};
use crate::seat::{ChannelId, SeatState};
use crate::wire::{Command, Directive, MAX_LINE, Request, WireError};
use epdb_chess::model::Position;
use epdb_chess::text::codes;

/// Maximum time between the opening of a channel and the sign-on of a client.
const SIGN_ON_WITHIN: Duration = Duration::from_secs(60);
/// Number of faults of a client at which its channel is closed.
const MAX_FAULTS: u32 = 8;

impl Arbiter {
    /// Begins the session of a referee: no client and no supervisor is present, and no clock runs.
    /// The time since the last event is charged to no player.
    pub(super) fn begin_session(&mut self, unix: u64) {
        self.session_start = self.now;
        self.session_start_unix = unix;
        self.channels.clear();
        for game in self.games.values_mut() {
            game.clocks.stop_uncharged();
            game.interrupt(self.now);
        }
        // Whether a client can be started depends on all seats of its player.
        for seat in 0..self.seats.len() {
            let is_launched = self.is_launched(self.player_of(seat));
            self.seats[seat].has_signed_off &= !is_launched;
        }
        for seat in 0..self.seats.len() {
            let can_start = self.can_be_started(self.player_of(seat));
            let is_awaited = self.seats[seat].has_come && !can_start;
            let client = &mut self.seats[seat];
            client.leave();
            client.starts = 0;
            client.departures = 0;
            client.token = None;
            client.awaited_until = is_awaited.then_some(self.now + self.tournament.return_within);
            if is_awaited {
                self.tell(format!("{} is awaited", self.client_name(seat)));
            }
        }
        self.asked_openings.clear();
        self.ask_tablebases_again();
        self.end_attendance();
        if std::mem::take(&mut self.is_paused) {
            self.tell("the pause is over, as another referee begins");
        }
    }

    /// Call this when no supervisor is present any more. Games that waited for a decision of the
    /// supervisor go on: the player who broke the rules is asked for a move again.
    pub(super) fn end_attendance(&mut self) {
        self.is_attended = false;
        self.games.values_mut().for_each(|game| game.is_held = false);
    }

    pub(super) fn admit(&mut self, channel: ChannelId) {
        let sign_on_until = self.now + SIGN_ON_WITHIN;
        self.channels.insert(channel, Guest { seat: None, sign_on_until, unwritten: 0 });
    }

    pub(super) fn hear(&mut self, at: Duration, channel: ChannelId, line: Vec<u8>) {
        match self.channels.get(&channel) {
            None => {}
            Some(Guest { seat: None, .. }) => self.hear_stranger(channel, &line),
            Some(Guest { seat: Some(seat), .. }) => self.hear_client(at, *seat, line),
        }
    }

    pub(super) fn hear_too_long(&mut self, channel: ChannelId) {
        let error = too_long();
        match self.channels.get(&channel) {
            None => {}
            Some(Guest { seat: None, .. }) => self.turn_away(channel, &error),
            Some(Guest { seat: Some(seat), .. }) => self.hear_wrong(*seat, &error),
        }
    }

    /// Handles a line on a channel on which nobody has signed on yet.
    fn hear_stranger(&mut self, channel: ChannelId, line: &[u8]) {
        match self.newcomer(line) {
            Ok((seat, address)) => {
                self.make_seat(seat);
                self.seats[seat].says_ready = Request::has_ready(line);
                self.seats[seat].address = address;
                self.seat(seat, channel);
            }
            Err(error) => self.turn_away(channel, &error),
        }
    }

    /// Checks the first line of a channel.
    ///
    /// # Errors
    /// The line is not a `sign_on`, or a client with this name and address may not sign on.
    pub(crate) fn check_newcomer(&self, line: &[u8]) -> Result<(), WireError> {
        self.newcomer(line).map(drop)
    }

    /// Returns the seat for the client that sent the first line of a channel, and the client's
    /// address.
    fn newcomer(&self, line: &[u8]) -> Result<(usize, String), WireError> {
        let Request::SignOn { address, name } = Request::parse(line)? else {
            return Err(WireError::new(codes::E_REF_STATE, "the first message is sign_on"));
        };
        let seat = self.seat_for(&address, &name);
        let seat = seat.map_err(|why| WireError::new(codes::E_REF_STATE, why))?;
        Ok((seat, address))
    }

    fn seat_for(&self, address: &str, name: &str) -> Result<usize, String> {
        let player = self.player(name).ok_or_else(|| format!("no player is called {name}"))?;
        let settings = &self.tournament.players[player];
        if settings.has_token_each() {
            return self.seat_by_token(player, address);
        }
        // A token that all clients of a player share is kept in the player's first seat.
        let shared_token = self.seats[player].token.as_deref();
        if settings.token_file.is_some() && shared_token != Some(address) {
            return Err(format!("a client of {name} signs on with the token of the player"));
        }
        self.seat_by_address(player, address)
    }

    /// The seat of the client that was started with this token.
    fn seat_by_token(&self, player: usize, token: &str) -> Result<usize, String> {
        let is_started = |seat: &usize| self.seats[*seat].token.as_deref() == Some(token);
        let name = self.player_name(player);
        match self.seats_of(player).find(is_started) {
            Some(seat) if self.seats[seat].is_away() => Ok(seat),
            Some(_) => Err(format!("a client has signed on as {name} already")),
            None => Err(format!("the client of {name} is started by the referee")),
        }
    }

    /// Returns an empty seat. A seat with a game is preferred, then a seat whose last client had
    /// this address.
    fn seat_by_address(&self, player: usize, address: &str) -> Result<usize, String> {
        let empty = self.seats_of(player).filter(|seat| self.seats[*seat].is_away());
        let seat = empty.min_by_key(|seat| {
            let client = &self.seats[*seat];
            (client.game.is_none(), client.address != address, *seat)
        });
        if let Some(seat) = seat.or_else(|| self.next_seat_of(player)) {
            return Ok(seat);
        }
        let name = self.player_name(player);
        Err(match self.tournament.max_clients(player) {
            1 => format!("a client has signed on as {name} already"),
            clients => format!("{clients} clients have signed on as {name} already"),
        })
    }

    pub(super) fn give_token(&mut self, seat: usize, token: String) {
        if let Some(client) = self.seats.get_mut(seat) {
            client.token = Some(token);
        }
    }

    pub(super) fn seat(&mut self, seat: usize, channel: ChannelId) {
        if let Some(guest) = self.channels.get_mut(&channel) {
            guest.seat = Some(seat);
        }
        self.seats[seat].sign_on(channel);
        self.forget_sign_off(self.player_of(seat));
        self.tell(format!("{} has signed on", self.client_name(seat)));
        self.reset(seat);
    }

    /// Makes a client ready for a game.
    pub(super) fn reset(&mut self, seat: usize) {
        self.say(seat, &Directive::new(Command::Reset, Position::START));
        self.seats[seat].state = SeatState::Resetting { until: self.now + self.silences.reset };
    }

    /// Sends a fault on a channel without a client, and closes the channel.
    fn turn_away(&mut self, channel: ChannelId, error: &WireError) {
        self.send(channel, &fault(Position::START, error));
        self.actions.push(Action::Close(channel));
        self.channels.remove(&channel);
        self.tell(format!("channel {channel} closed: {error}"));
    }

    /// Sends a fault to a client, except in a period in which nothing is sent to it. The channel of
    /// a client with too many faults is closed.
    pub(super) fn send_fault(&mut self, seat: usize, error: &WireError) {
        if self.seats[seat].state.silent_until().is_none() {
            let directive = fault(self.position_of(seat), error);
            self.say(seat, &directive);
        }
        let name = self.client_name(seat);
        self.tell(format!("fault of {name}: {error}"));
        self.seats[seat].faults += 1;
        if self.seats[seat].faults >= MAX_FAULTS {
            self.tell(format!("{name} is closed: {MAX_FAULTS} faults"));
            self.close(seat);
        }
    }

    /// Closes the channel of a client.
    pub(super) fn close(&mut self, seat: usize) {
        if let Some(channel) = self.seats[seat].channel {
            self.actions.push(Action::Close(channel));
            self.channels.remove(&channel);
        }
        self.vacate(seat, self.now);
    }

    pub(super) fn forget_channel(&mut self, at: Duration, channel: ChannelId) {
        if let Some(Guest { seat: Some(seat), .. }) = self.channels.remove(&channel) {
            self.tell(format!("{} has gone away", self.client_name(seat)));
            self.vacate(seat, at);
        }
    }

    /// Call this when the client of a seat is gone. Stops the clock of the seat.
    pub(super) fn vacate(&mut self, seat: usize, at: Duration) {
        self.seats[seat].leave();
        self.seats[seat].departures += 1;
        if self.seats[seat].game.is_none() {
            self.seats[seat].awaited_until = Some(at + self.tournament.return_within);
        }
        if let Some(game) = self.game_of_mut(seat)
            && game.mover_seat() == seat
        {
            game.interrupt(at);
        }
    }

    pub(super) fn restart(&mut self, seat: usize) {
        if seat >= self.seats.len() {
            return self.tell(format!("{} was never there", self.client_name(seat)));
        }
        self.close(seat);
        self.forget_sign_off(self.player_of(seat));
        self.seats[seat].starts = 0;
        self.seats[seat].departures = 0;
        if let Some(game) = self.game_of_mut(seat) {
            game.is_held = false;
        }
    }

    /// Call this when the program of a client has ended. The referee then no longer waits for the
    /// client.
    pub(super) fn note_exit(&mut self, seat: usize) {
        if let Some(client) = self.seats.get_mut(seat).filter(|client| client.is_away())
            && client.awaited_until.is_some()
        {
            client.awaited_until = Some(self.now);
        }
    }

    /// Starts the absent clients of games in play or waits for them, and gives up clients that are too late.
    /// Closes channels on which nobody has signed on in time. Returns true if anything has changed.
    pub(super) fn await_clients(&mut self) -> bool {
        let is_late = |guest: &Guest| guest.seat.is_none() && guest.sign_on_until <= self.now;
        let late = self.channels.iter().filter(|(_, guest)| is_late(guest));
        let late: Vec<ChannelId> = late.map(|(channel, _)| *channel).collect();
        for &channel in &late {
            let error = WireError::new(codes::E_REF_STATE, "nobody has signed on");
            self.turn_away(channel, &error);
        }
        let mut has_changed = !late.is_empty();
        for seat in 0..self.seats.len() {
            let client = &self.seats[seat];
            let is_due = client.awaited_until.is_none_or(|until| until <= self.now);
            if self.game_of(seat).is_some() && client.is_away() && is_due {
                self.await_client(seat);
                has_changed = true;
            }
        }
        has_changed
    }

    fn await_client(&mut self, seat: usize) {
        let until = self.now + self.tournament.return_within;
        let can_start = self.can_be_started(self.player_of(seat));
        let has_gone = self.has_gone_too_often(seat);
        let client = &mut self.seats[seat];
        if can_start && client.starts <= self.tournament.restarts {
            client.starts += 1;
            client.awaited_until = Some(until);
            self.actions.push(Action::Start(seat));
        } else if !can_start && !has_gone && client.awaited_until.is_none() {
            client.awaited_until = Some(until);
            self.tell(format!("{} is awaited", self.client_name(seat)));
        } else if can_start && !client.has_come {
            // The client has never signed on, so its command may be wrong. No game is lost by that.
            client.awaited_until = Some(Duration::MAX);
            self.actions.push(Action::GiveUp(seat));
        } else {
            self.abandon(seat);
        }
    }

    /// True if a client has disconnected during its game more often than the settings allow.
    pub(super) fn has_gone_too_often(&self, seat: usize) -> bool {
        self.seats[seat].departures > self.tournament.restarts
    }

    /// True if the referee starts the clients of this player, and the player has not signed off.
    pub(super) fn can_be_started(&self, player: usize) -> bool {
        self.is_launched(player) && !self.has_signed_off(player)
    }

    fn is_launched(&self, player: usize) -> bool {
        self.tournament.players.get(player).is_some_and(|player| player.launch.is_some())
    }
}

/// The fault for a line that was discarded because it is too long.
pub(crate) fn too_long() -> WireError {
    WireError::new(codes::E_EPD_LINELEN, format!("a line of more than {MAX_LINE} bytes"))
}

pub(crate) fn fault(position: Position, error: &WireError) -> Directive {
    Directive { reason: Some(error.to_string()), ..Directive::new(Command::Fault, position) }
}
