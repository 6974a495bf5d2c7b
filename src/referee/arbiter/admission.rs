//! Who is there: channels, those who sign on, and those who go away.

use std::time::Duration;

use super::{Action, Arbiter, Guest};
use crate::model::Position;
use crate::referee::seat::{ChannelId, SeatState};
use crate::referee::settings::Launch;
use crate::referee::wire::{Command, Directive, LONGEST_LINE, Request, WireError};
use crate::text::codes;

/// So long a channel may be open before anybody signs on.
const SIGN_ON_WITHIN: Duration = Duration::from_secs(60);
/// So much may be wrong on a channel before it is closed.
const MOST_FAULTS: u32 = 8;

impl Arbiter {
    /// A referee begins: nobody is there, no supervisor either, and no clock runs. The time since the last
    /// event is charged to nobody.
    pub(super) fn begin_session(&mut self, unix: u64) {
        self.session = (self.now, unix);
        self.channels.clear();
        let now = self.now;
        self.games.values_mut().for_each(|game| game.interrupt(now, false));
        for player in 0..self.seats.len() {
            let is_awaited = self.seats[player].has_come && !self.can_be_started(player);
            let seat = &mut self.seats[player];
            seat.leave();
            (seat.starts, seat.departures) = (0, 0);
            seat.token = None;
            seat.awaited_until = is_awaited.then_some(now + self.tournament.return_within);
            if is_awaited {
                self.tell(format!("{} is awaited", self.name(player)));
            }
        }
        self.asked_openings.clear();
        self.end_attendance();
        if std::mem::take(&mut self.is_paused) {
            self.tell("the pause is over, as another referee begins");
        }
    }

    /// No supervisor decides any more: who has broken the rules is asked once more.
    pub(super) fn end_attendance(&mut self) {
        self.is_attended = false;
        self.games.values_mut().for_each(|game| game.is_held = false);
    }

    pub(super) fn admit(&mut self, channel: ChannelId) {
        let sign_on_until = self.now + SIGN_ON_WITHIN;
        self.channels.insert(channel, Guest { player: None, sign_on_until, unwritten: 0 });
    }

    pub(super) fn hear(&mut self, at: Duration, channel: ChannelId, line: Vec<u8>) {
        match self.channels.get(&channel) {
            None => {}
            Some(Guest { player: None, .. }) => self.hear_stranger(channel, &line),
            Some(Guest { player: Some(player), .. }) => self.hear_player(at, *player, line),
        }
    }

    pub(super) fn hear_too_long(&mut self, channel: ChannelId) {
        let error = too_long();
        match self.channels.get(&channel) {
            None => {}
            Some(Guest { player: None, .. }) => self.turn_away(channel, &error),
            Some(Guest { player: Some(player), .. }) => self.hear_wrong(*player, &error),
        }
    }

    /// A line on a channel on which nobody has signed on yet.
    fn hear_stranger(&mut self, channel: ChannelId, line: &[u8]) {
        match self.newcomer(line) {
            Ok(player) => {
                self.seats[player].says_ready = Request::has_ready(line);
                self.seat(player, channel);
            }
            Err(error) => self.turn_away(channel, &error),
        }
    }

    /// The player as whom somebody signs on by the first line of a channel.
    ///
    /// # Errors
    /// It is no `sign_on`, or nobody may sign on so.
    pub fn newcomer(&self, line: &[u8]) -> Result<usize, WireError> {
        match Request::parse(line)? {
            Request::SignOn { address, name } => self
                .player_to_seat(&address, &name)
                .map_err(|why| WireError::new(codes::E_REF_STATE, why)),
            _ => Err(WireError::new(codes::E_REF_STATE, "the first message is sign_on")),
        }
    }

    fn player_to_seat(&self, address: &str, name: &str) -> Result<usize, String> {
        let player = self.player(name).ok_or_else(|| format!("no player is called {name}"))?;
        if !self.seats[player].is_away() {
            return Err(format!("a client has signed on as {name} already"));
        }
        if self.takes_token(player) && self.seats[player].token.as_deref() != Some(address) {
            return Err(format!("the client of {name} is started by the referee"));
        }
        Ok(player)
    }

    /// Whether only the client that was started last may sign on as this player.
    fn takes_token(&self, player: usize) -> bool {
        let launch = self.tournament.players.get(player).and_then(|player| player.launch.as_ref());
        launch.is_some_and(Launch::takes_token)
    }

    pub(super) fn give_token(&mut self, player: usize, token: String) {
        if let Some(seat) = self.seats.get_mut(player) {
            seat.token = Some(token);
        }
    }

    pub(super) fn seat(&mut self, player: usize, channel: ChannelId) {
        if let Some(guest) = self.channels.get_mut(&channel) {
            guest.player = Some(player);
        }
        self.seats[player].sign_on(channel);
        self.tell(format!("{} has signed on", self.name(player)));
        self.reset(player);
    }

    /// Makes a client ready for a game.
    pub(super) fn reset(&mut self, player: usize) {
        self.say(player, &Directive::new(Command::Reset, Position::START));
        self.seats[player].state = SeatState::Resetting { until: self.now + self.silences.reset };
    }

    /// A channel without a player is sent a fault and closed.
    fn turn_away(&mut self, channel: ChannelId, error: &WireError) {
        self.send(channel, &fault(Position::START, error), false);
        self.actions.push(Action::Close(channel));
        self.channels.remove(&channel);
        self.tell(format!("channel {channel} closed: {error}"));
    }

    /// A player is sent a fault, but nothing into a silence. Whoever makes too many of them is closed.
    pub(super) fn send_fault(&mut self, player: usize, error: &WireError) {
        if self.seats[player].state.silent_until().is_none() {
            let directive = fault(self.position_of(player), error);
            self.say(player, &directive);
        }
        self.tell(format!("fault of {}: {error}", self.name(player)));
        self.seats[player].faults += 1;
        if self.seats[player].faults >= MOST_FAULTS {
            self.tell(format!("{} is closed: {MOST_FAULTS} faults", self.name(player)));
            self.close(player);
        }
    }

    /// Closes the channel of a player.
    pub(super) fn close(&mut self, player: usize) {
        if let Some(channel) = self.seats[player].channel {
            self.actions.push(Action::Close(channel));
            self.channels.remove(&channel);
        }
        self.vacate(player, self.now);
    }

    pub(super) fn forget_channel(&mut self, at: Duration, channel: ChannelId) {
        if let Some(Guest { player: Some(player), .. }) = self.channels.remove(&channel) {
            self.tell(format!("{} has gone away", self.name(player)));
            self.vacate(player, at);
        }
    }

    /// Nobody sits for a player any more; its clock stands.
    pub(super) fn vacate(&mut self, player: usize, at: Duration) {
        self.seats[player].leave();
        self.seats[player].departures += 1;
        if self.seats[player].game.is_none() {
            self.seats[player].awaited_until = Some(at + self.tournament.return_within);
        }
        let game = self.seats[player].game.and_then(|game| self.games.get_mut(&game));
        if let Some(game) = game.filter(|game| game.mover() == player) {
            game.interrupt(at, true);
        }
    }

    pub(super) fn restart(&mut self, player: usize) {
        self.close(player);
        (self.seats[player].starts, self.seats[player].departures) = (0, 0);
        let game = self.seats[player].game.and_then(|game| self.games.get_mut(&game));
        if let Some(game) = game {
            game.is_held = false;
        }
    }

    /// The program of a player has ended: it is of no use to wait for it.
    pub(super) fn note_exit(&mut self, player: usize) {
        if let Some(seat) = self.seats.get_mut(player).filter(|seat| seat.is_away())
            && seat.awaited_until.is_some()
        {
            seat.awaited_until = Some(self.now);
        }
    }

    /// Sees to it that those come who are to play, gives those up who do not, and turns away who does not
    /// say who it is.
    pub(super) fn await_clients(&mut self) -> bool {
        let late = |(channel, guest): (&ChannelId, &Guest)| {
            (guest.player.is_none() && guest.sign_on_until <= self.now).then_some(*channel)
        };
        let late: Vec<ChannelId> = self.channels.iter().filter_map(late).collect();
        for &channel in &late {
            let error = WireError::new(codes::E_REF_STATE, "nobody has signed on");
            self.turn_away(channel, &error);
        }
        let mut has_changed = !late.is_empty();
        for player in 0..self.seats.len() {
            let seat = &self.seats[player];
            let is_due = seat.awaited_until.is_none_or(|until| until <= self.now);
            let plays = seat.game.is_some_and(|number| self.games.contains_key(&number));
            if plays && seat.is_away() && is_due {
                self.await_client(player);
                has_changed = true;
            }
        }
        has_changed
    }

    fn await_client(&mut self, player: usize) {
        let until = self.now + self.tournament.return_within;
        let can_start = self.can_be_started(player);
        let has_gone = self.has_gone_too_often(player);
        let seat = &mut self.seats[player];
        if can_start && seat.starts <= self.tournament.restarts {
            seat.starts += 1;
            seat.awaited_until = Some(until);
            self.actions.push(Action::Start(player));
        } else if !can_start && !has_gone && seat.awaited_until.is_none() {
            seat.awaited_until = Some(until);
            self.tell(format!("{} is awaited", self.name(player)));
        } else if can_start && !seat.has_come {
            // No game is lost by a command that is wrong.
            seat.awaited_until = Some(Duration::MAX);
            self.actions.push(Action::GiveUp(player));
        } else {
            self.abandon(player);
        }
    }

    /// Whether a player went away more often than one may come back to a game.
    pub(super) fn has_gone_too_often(&self, player: usize) -> bool {
        self.seats[player].departures > self.tournament.restarts
    }

    pub(super) fn can_be_started(&self, player: usize) -> bool {
        self.tournament.players.get(player).is_some_and(|player| player.launch.is_some())
    }
}

/// What is wrong with a line that was not kept.
pub(in crate::referee) fn too_long() -> WireError {
    WireError::new(codes::E_EPD_LINELEN, format!("a line of more than {LONGEST_LINE} bytes"))
}

pub(in crate::referee) fn fault(position: Position, error: &WireError) -> Directive {
    Directive { reason: Some(error.to_string()), ..Directive::new(Command::Fault, position) }
}
