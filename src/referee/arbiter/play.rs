//! The course of games: requests for moves, replies, and endings.

use std::time::Duration;

use super::game::{Asked, GameInPlay};
use super::{Action, Arbiter, FLAG_GRACE, speech};
use crate::outcome::{Outcome, Termination};
use crate::seat::{ChannelId, Seat, SeatState};
use crate::settings::Listen;
use crate::wire::{DrawWord, Reply, Request, WireError};
use epdb_chess::model::rules::{Move, is_insufficient_material};
use epdb_chess::model::{Color, GameResult};
use epdb_chess::text::codes;

impl Arbiter {
    /// Sends the tags and moves of games to players who do not have them yet. Returns true if there
    /// were such players.
    pub(super) fn brief_players(&mut self) -> bool {
        let numbers: Vec<u32> = self.games.keys().copied().collect();
        let mut has_changed = false;
        for number in numbers {
            for color in Color::ALL {
                has_changed |= self.brief(number, color);
            }
        }
        has_changed
    }

    fn brief(&mut self, number: u32, color: Color) -> bool {
        let Some(game) = self.games.get(&number) else { return false };
        let player = game.players()[color as usize];
        let seat = game.seats[color as usize];
        let Seat { state: SeatState::SignedOn, says_ready, .. } = self.seats[seat] else {
            return false;
        };
        let mut tags = speech::tags(&self.tournament, game, player);
        tags.ready = says_ready;
        let history = speech::history(game, color);
        self.say(seat, &tags);
        history.iter().for_each(|directive| self.say(seat, directive));
        let until = self.now + self.tournament.return_within;
        self.seats[seat].state = SeatState::Preparing { until };
        if !says_ready {
            self.note_ready(seat);
        }
        true
    }

    /// Call this when a client is ready for its game.
    pub(super) fn note_ready(&mut self, seat: usize) {
        let SeatState::Preparing { .. } = self.seats[seat].state else { return };
        let is_thinking =
            |other: usize| other != seat && self.seats[other].state == SeatState::Thinking;
        let opponent_thinks =
            self.game_of(seat).is_some_and(|game| game.seats.into_iter().any(is_thinking));
        self.seats[seat].state =
            if opponent_thinks { SeatState::Waiting } else { SeatState::Informed };
    }

    /// Asks the players on move for their moves, in all games in which both players are ready.
    /// Returns true if any player was asked.
    pub(super) fn ask_for_moves(&mut self) -> bool {
        let is_ready = |seat: usize| {
            matches!(self.seats[seat].state, SeatState::Informed | SeatState::Waiting)
        };
        let is_due = |game: &GameInPlay| {
            let waits = game.is_held || game.awaits_tablebase;
            game.asked == Asked::No && !waits && game.seats.into_iter().all(is_ready)
        };
        let due = self.games.values().filter(|game| !self.is_paused && is_due(game));
        let due: Vec<u32> = due.map(|game| game.pairing.game).collect();
        due.iter().for_each(|number| self.ask(*number));
        !due.is_empty()
    }

    fn ask(&mut self, number: u32) {
        let Some(game) = self.games.get_mut(&number) else { return };
        let directive = speech::respond(&self.tournament, game);
        game.asked = Asked::Sent;
        let mover = game.mover_seat();
        let seats = game.seats;
        for seat in seats {
            self.seats[seat].state = SeatState::Waiting;
        }
        self.seats[mover].state = SeatState::Thinking;
        if let Some(channel) = self.seats[mover].channel {
            if let Some(guest) = self.channels.get_mut(&channel) {
                guest.unwritten += 1;
            }
            self.actions.push(Action::Send { channel, line: directive.line(), is_respond: true });
        }
    }

    /// Call this when a `respond` was written. Starts the clock of the player unless a later
    /// `respond` is still being written.
    pub(super) fn note_written(&mut self, at: Duration, channel: ChannelId) {
        let Some(guest) = self.channels.get_mut(&channel) else { return };
        if guest.unwritten == 0 {
            return;
        }
        guest.unwritten -= 1;
        let is_last = guest.unwritten == 0;
        let Some(seat) = guest.seat else { return };
        let Some(game) = self.game_of_mut(seat) else { return };
        if !is_last || game.mover_seat() != seat || game.asked != Asked::Sent {
            return;
        }
        game.asked = Asked::Written;
        game.clocks.start(game.board.turn(), at);
        if let Some((at, line)) = game.early.take() {
            self.hear_client(at, seat, line);
        }
    }

    pub(super) fn flag_falls(&self, game: &GameInPlay) -> Option<Duration> {
        Some(game.clocks.flag_falls(self.tournament.time_margin)? + FLAG_GRACE)
    }

    /// Ends the games in which the player on move has overstepped its time. Returns true if there
    /// were any.
    pub(super) fn drop_flags(&mut self) -> bool {
        let has_fallen =
            |game: &&GameInPlay| self.flag_falls(game).is_some_and(|falls| falls <= self.now);
        let fallen = self.games.values().filter(has_fallen).map(|game| game.pairing.game);
        let fallen: Vec<u32> = fallen.collect();
        fallen.iter().for_each(|number| self.forfeit_on_time(*number));
        !fallen.is_empty()
    }

    fn forfeit_on_time(&mut self, number: u32) {
        let Some(game) = self.games.get(&number) else { return };
        let (result, rest) = game.loss_of(game.board.turn());
        let outcome = Outcome { result, termination: Termination::TimeForfeit };
        let why =
            format!("{} has used more time than it had{rest}", self.player_name(game.mover()));
        self.finish(number, outcome, &why);
    }

    pub(super) fn hear_client(&mut self, at: Duration, seat: usize, line: Vec<u8>) {
        let state = self.seats[seat].state;
        let request = Request::parse(&line);
        if let Ok(Request::Ready) = request {
            return self.note_ready(seat);
        }
        if self.seats[seat].owes_reply && self.is_late(seat, &request) {
            self.seats[seat].owes_reply = false;
            return;
        }
        if state == SeatState::Thinking
            && let Some(game) = self.game_of_mut(seat)
            && game.asked == Asked::Sent
        {
            match game.early {
                None => game.early = Some((at, line)),
                Some(_) => self.send_fault(seat, &unasked()),
            }
            return;
        }
        let checked = request.and_then(|request| state.check(&request).map(|()| request));
        match checked {
            Err(error) => self.hear_wrong(seat, &error),
            Ok(Request::Reply(reply)) => self.hear_reply(at, seat, &reply),
            Ok(Request::SignOn { name, .. }) => self.hear_again(at, seat, &name),
            Ok(Request::SignOff) => {
                self.tell(format!("{} has signed off", self.client_name(seat)));
                self.close(seat);
                self.seats[seat].has_signed_off = true;
                self.pair_again();
            }
            Ok(Request::Fault { reason }) => self.hear_fault(seat, reason),
            Ok(Request::Ready) => {}
        }
    }

    /// Takes another `sign_on` of a client. A serial line cannot report a disconnection, so there it means
    /// that the client has gone away and come back. On other channels it is a fault.
    fn hear_again(&mut self, at: Duration, seat: usize, name: &str) {
        let channel = self.seats[seat].channel;
        let is_serial = matches!(self.tournament.listen, Listen::Serial(_));
        if let Some(channel) = channel
            && is_serial
            && name == self.name(seat)
        {
            self.vacate(seat, at);
            if self.has_gone_too_often(seat) {
                self.abandon(seat);
            }
            return self.seat(seat, channel);
        }
        let state = self.seats[seat].state.word();
        let message = format!("a second sign_on; the client is {state}");
        self.send_fault(seat, &WireError::new(codes::E_REF_STATE, message));
    }

    /// True if a line is a late reply: it belongs to the last game, and the client sent it before it knew
    /// that the game was over.
    fn is_late(&self, seat: usize, request: &Result<Request, WireError>) -> bool {
        match (self.seats[seat].state, request) {
            (SeatState::Thinking, Ok(Request::Reply(reply))) => {
                reply.position.identity() != self.position_of(seat).identity()
            }
            (SeatState::Thinking, _) => false,
            (_, Ok(Request::Reply(_)) | Err(_)) => true,
            (_, Ok(_)) => false,
        }
    }

    /// Takes a fault of a client, which says that it cannot go on. The client loses its game, but
    /// may play the next one. Its program has crashed or hangs, unless the fault names an illegal move.
    fn hear_fault(&mut self, seat: usize, reason: Option<String>) {
        let reason = reason.unwrap_or_else(|| "it says no reason".into());
        let what = format!("{} cannot go on: {reason}", self.name(seat));
        self.tell(what.clone());
        if self.game_of(seat).is_some() {
            let termination = if what.contains(codes::E_MOVE_ILLEGAL) {
                Termination::RulesInfraction
            } else {
                Termination::Abandoned
            };
            self.lose(seat, termination, &what)
        } else {
            self.close(seat)
        }
    }

    /// Handles a line that is invalid or not allowed now. If a move is due, the line is an
    /// infraction.
    pub(super) fn hear_wrong(&mut self, seat: usize, error: &WireError) {
        match self.seats[seat].state {
            SeatState::Thinking => self.refuse_move(seat, error),
            _ => self.send_fault(seat, error),
        }
    }

    /// Handles a reply without a legal move.
    fn refuse_move(&mut self, seat: usize, error: &WireError) {
        self.send_fault(seat, error);
        let why = format!("{}: {error}", self.name(seat));
        self.lose(seat, Termination::RulesInfraction, &why);
    }

    fn hear_reply(&mut self, at: Duration, seat: usize, reply: &Reply) {
        let Some(number) = self.seats[seat].game else { return };
        let Some(game) = self.games.get_mut(&number) else { return };
        let client = &mut self.seats[seat];
        client.state = SeatState::Waiting;
        client.owes_reply = false;
        if game.clocks.is_overstepped(at, self.tournament.time_margin) {
            return self.forfeit_on_time(number);
        }
        match judged(game, reply) {
            Err(error) => self.refuse_move(seat, &error),
            Ok(Judged::Over(outcome, why)) => self.finish(number, outcome, &why),
            Ok(Judged::Move(mv)) => {
                if let Some((outcome, why)) = game.make(mv, reply, at) {
                    return self.finish(number, outcome, why);
                }
                if reply.draw == Some(DrawWord::Claim) {
                    self.tell(format!("the claim of {} is wrong", self.name(seat)));
                }
                self.ask_tablebases(number);
            }
        }
    }

    /// If the settings have tablebases and few enough pieces are left, asks the tablebases for the
    /// result of the game.
    fn ask_tablebases(&mut self, number: u32) {
        let Some(rule) = &self.tournament.syzygy else { return };
        let Some(game) = self.games.get_mut(&number) else { return };
        let pieces = game.board.place().position.board().occupied().count();
        if pieces <= rule.pieces {
            game.awaits_tablebase = true;
            self.actions.push(Action::Probe(number));
        }
    }

    /// Repeats those questions to the tablebases that an earlier referee left without an answer.
    pub(super) fn ask_tablebases_again(&mut self) {
        let waiting = self.games.values().filter(|game| game.awaits_tablebase);
        self.actions.extend(waiting.map(|game| Action::Probe(game.pairing.game)));
    }

    pub(super) fn hear_tablebase(&mut self, number: u32, result: GameResult) {
        let Some(game) = self.games.get_mut(&number) else { return };
        if !game.awaits_tablebase {
            return;
        }
        game.awaits_tablebase = false;
        if result != GameResult::Unknown {
            let outcome = Outcome { result, termination: Termination::Adjudication };
            self.finish(number, outcome, "the tablebases decide");
        }
    }

    /// Ends the game of a client that broke the rules or cannot go on. If a supervisor is present, the supervisor
    /// decides; otherwise the client loses its game.
    fn lose(&mut self, seat: usize, termination: Termination, why: &str) {
        if self.seats[seat].state == SeatState::Thinking {
            self.seats[seat].state = SeatState::Waiting;
        }
        let Some(number) = self.seats[seat].game else { return };
        let Some(game) = self.games.get_mut(&number) else { return };
        if self.is_attended {
            if game.mover_seat() == seat {
                game.interrupt(self.now);
            }
            game.is_held = true;
            self.tell(format!("game {number} waits for the supervisor"));
            return;
        }
        let (result, rest) = game.loss_of(game.color_of(seat));
        let outcome = Outcome { result, termination };
        self.finish(number, outcome, &format!("{why}{rest}"));
    }

    /// Ends the game of a client that does not come back.
    pub(super) fn abandon(&mut self, seat: usize) {
        let Some(game) = self.game_of(seat) else { return };
        let why = format!(
            "{} lost its connection and did not come back: its program has crashed or was stopped",
            self.name(seat)
        );
        let color = game.color_of(seat);
        let opponent = game.seats[!color as usize];
        let result = if self.seats[opponent].is_away() {
            GameResult::Unknown
        } else {
            GameResult::win_of(!color)
        };
        let outcome = Outcome { result, termination: Termination::Abandoned };
        self.finish(game.pairing.game, outcome, &why);
    }

    pub(super) fn adjudicate(&mut self, number: u32, result: GameResult) {
        if self.games.contains_key(&number) {
            let outcome = Outcome { result, termination: Termination::Adjudication };
            self.finish(number, outcome, "the supervisor decides");
        } else {
            self.tell(format!("no game {number} is played"))
        }
    }

    pub(super) fn finish(&mut self, number: u32, outcome: Outcome, why: &str) {
        let Some(game) = self.games.remove(&number) else { return };
        let words = speech::last_words(&game, &outcome);
        for seat in game.seats {
            let until = self.now + self.silences.conclude;
            // A client that the referee can start is started again for its next game. Another
            // absent client is awaited no longer.
            let can_start = self.can_be_started(self.player_of(seat));
            let is_given_up = self.seats[seat].is_away() && !can_start;
            let client = &mut self.seats[seat];
            let is_briefed = matches!(
                client.state,
                SeatState::Preparing { .. }
                    | SeatState::Informed
                    | SeatState::Thinking
                    | SeatState::Waiting
            );
            client.owes_reply |= client.state == SeatState::Thinking;
            client.game = None;
            client.awaited_until = is_given_up.then_some(self.now);
            if is_briefed {
                client.state = SeatState::Concluding { until };
                words.iter().for_each(|directive| self.say(seat, directive));
            }
        }
        let [white, black] = game.players().map(|player| self.player_name(player));
        let Outcome { result, termination } = outcome;
        let how = match termination {
            Termination::Normal => String::new(),
            other => format!("{other}: "),
        };
        self.tell(format!("game {number}: {white} - {black} {result} ({how}{why})"));
        self.record(game.finished(outcome, why.to_string()));
    }
}

/// The effect of a reply.
enum Judged {
    Move(Move),
    Over(Outcome, String),
}

/// Interprets a reply in its game, without making its move.
fn judged(game: &GameInPlay, reply: &Reply) -> Result<Judged, WireError> {
    let color = game.board.turn();
    let position = game.board.place().position;
    let [own, other] = match color {
        Color::White => ["White", "Black"],
        Color::Black => ["Black", "White"],
    };
    let over = |result, why: String| {
        let outcome = Outcome { result, termination: Termination::Normal };
        Ok(Judged::Over(outcome, why))
    };
    if reply.position.identity() != position.identity() {
        let message = format!("a reply from `{}` in `{position}`", reply.position);
        return Err(WireError::new(codes::E_REF_POSITION, message));
    }
    if reply.resigns {
        return over(GameResult::win_of(!color), format!("{own} resigns"));
    }
    if reply.draw == Some(DrawWord::Accept) && game.offer == Some(!color) {
        return over(GameResult::Draw, format!("{own} takes the draw that {other} offers"));
    }
    match reply.mv {
        None if reply.draw == Some(DrawWord::Claim)
            && is_insufficient_material(position.board()) =>
        {
            over(GameResult::Draw, "bare material".into())
        }
        None => Err(WireError::new(codes::E_REF_NOMOVE, "a reply without a move")),
        Some(mv) if game.board.playable().is_legal(mv) => Ok(Judged::Move(mv)),
        Some(mv) => Err(WireError::new(codes::E_MOVE_ILLEGAL, format!("{mv} is not legal"))),
    }
}

fn unasked() -> WireError {
    WireError::new(codes::E_REF_STATE, "a second reply to one respond")
}
