//! The arbiter of a tournament takes events and returns the actions that follow from them.
//!
//! It reads no file, writes to no client and has no clock. The same events at the same times lead to the same
//! state and the same actions. So a log of the events is enough to restore the state.

mod admission;
mod event;
mod game;
mod play;
mod schedule;
mod speech;

pub(super) use admission::{fault, too_long};
pub use event::{Action, Event, Order};
pub use game::FinishedGame;
pub(super) use game::outcomes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use self::game::{CalledGame, GameInPlay};
use super::board::Place;
use super::openings::Opening;
use super::pairing::{Absences, Pairing};
use super::seat::{ChannelId, Seat, SeatState};
use super::settings::{QuietTimeouts, Tournament};
use super::wire::{Command, Directive};
use crate::snapshot::{RunningGame, SeatView, SideView, Snapshot};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{Color, Position};
use epdb_chess::text::san;

/// Maximum time from the moment when a line is complete until its event arrives. A player loses on time only
/// after this delay, because its line may have been complete in time.
const FLAG_GRACE: Duration = Duration::from_millis(50);

/// The arbiter of a tournament.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use epdb_referee::{Action, Arbiter, Event, Tournament};
/// let settings = "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";
/// let tournament = Tournament::from_toml(settings, "friends")?;
/// let mut arbiter = Arbiter::new(Arc::new(tournament));
/// arbiter.take(Duration::ZERO, Event::Session { unix: 0 });
/// arbiter.take(Duration::ZERO, Event::Opened(1));
/// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
/// let line = format!("{start} refreq sign_on; tcsi \"a@host\" \"A\";");
/// let actions = arbiter.take(Duration::from_secs(1), Event::Line(1, line.into_bytes()));
/// let reset = format!("{start} refcom reset;").into_bytes();
/// assert!(actions.contains(&Action::Send { channel: 1, line: reset, is_respond: false }));
/// # Ok::<(), epdb_chess::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Arbiter {
    tournament: Arc<Tournament>,
    now: Duration,
    /// The time at which the session began, on the scale of event times.
    session_start: Duration,
    /// The same time in seconds since 1970.
    session_start_unix: u64,
    /// The first seats of all players, then their second seats, and so on.
    seats: Vec<Seat>,
    channels: BTreeMap<ChannelId, Guest>,
    /// Games to come whose opening is not known yet.
    called: BTreeMap<u32, CalledGame>,
    games: BTreeMap<u32, GameInPlay>,
    finished: Vec<FinishedGame>,
    absences: Absences,
    /// The games that are not over, in the order in which they are to begin.
    to_come: VecDeque<Pairing>,
    openings: BTreeMap<usize, Opening>,
    asked_openings: BTreeSet<usize>,
    silences: QuietTimeouts,
    is_attended: bool,
    is_paused: bool,
    /// True if the sequential test has its verdict.
    is_tested: bool,
    has_ended: bool,
    actions: Vec<Action>,
}

/// The client, if any, at the other side of a channel.
#[derive(Copy, Clone, Debug)]
struct Guest {
    seat: Option<usize>,
    /// Time by which a client must have signed on.
    sign_on_until: Duration,
    /// Number of `respond` messages that are not written yet.
    unwritten: u32,
}

impl Arbiter {
    /// An arbiter before the first event of a tournament.
    pub fn new(tournament: Arc<Tournament>) -> Arbiter {
        let mut arbiter = Arbiter {
            now: Duration::ZERO,
            session_start: Duration::ZERO,
            session_start_unix: 0,
            seats: vec![Seat::new(); tournament.players.len()],
            channels: BTreeMap::new(),
            called: BTreeMap::new(),
            games: BTreeMap::new(),
            finished: Vec::new(),
            absences: Absences::default(),
            to_come: VecDeque::new(),
            openings: BTreeMap::new(),
            asked_openings: BTreeSet::new(),
            silences: tournament.silences,
            is_attended: false,
            is_paused: false,
            is_tested: false,
            has_ended: false,
            actions: Vec::new(),
            tournament,
        };
        arbiter.plan();
        arbiter
    }

    /// Takes an event and its time, and returns the actions that follow. Times are on one scale for
    /// the whole tournament. Events need not be exactly in the order of their times.
    ///
    /// Players lose on time only at an [`Event::Tick`]: when a tick comes, all lines from before its time
    /// have been taken.
    pub fn take(&mut self, at: Duration, event: Event) -> Vec<Action> {
        self.now = self.now.max(at);
        let is_tick = event == Event::Tick;
        if !self.has_ended {
            self.happen(at, event);
            // `|` and not `||`, so that each round takes all steps.
            while self.end_silences()
                | self.await_clients()
                | self.call_players()
                | self.leave_out_games()
                | self.await_latecomers()
                | self.begin_games()
                | self.brief_players()
                | self.ask_for_moves()
                | (is_tick && self.drop_flags())
                | self.end_tournament()
            {}
        }
        std::mem::take(&mut self.actions)
    }

    /// Time at which [`Event::Tick`] is due if no other event comes before; `None` if it need not
    /// come.
    pub fn next_deadline(&self) -> Option<Duration> {
        let silences = self.seats.iter().filter_map(|seat| seat.state.ends());
        let awaited = self.seats.iter().filter_map(|seat| {
            seat.awaited_until.filter(|until| seat.game.is_some() || *until > self.now)
        });
        let strangers = self.channels.values().filter(|guest| guest.seat.is_none());
        let strangers = strangers.map(|guest| guest.sign_on_until);
        let flags = self.games.values().filter_map(|game| self.flag_falls(game));
        silences.chain(awaited).chain(strangers).chain(flags).min()
    }

    /// The settings of the tournament.
    pub fn tournament(&self) -> &Tournament {
        &self.tournament
    }

    /// The games that are over, in the order in which they ended.
    pub fn finished(&self) -> &[FinishedGame] {
        &self.finished
    }

    /// The current periods in which clients are sent nothing.
    pub const fn silences(&self) -> QuietTimeouts {
        self.silences
    }

    /// The last message to each client if the referee stops early, with the client's channel.
    pub(crate) fn goodbyes(&self) -> Vec<(ChannelId, Vec<u8>)> {
        let line = Directive::new(Command::Disconnect, Position::START).line();
        let channels = self.seats.iter().filter_map(|seat| seat.channel);
        channels.map(|channel| (channel, line.clone())).collect()
    }

    /// The position on the board of a game that is played.
    pub fn place(&self, game: u32) -> Option<Place> {
        self.games.get(&game).map(|game| game.board.place())
    }

    /// True if a move was played, or a game is over.
    pub fn has_moves(&self) -> bool {
        !self.finished.is_empty() || self.games.values().any(|game| !game.played.is_empty())
    }

    /// Whether the tournament is over.
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The index of the player with this name.
    pub fn player(&self, name: &str) -> Option<usize> {
        self.tournament.players.iter().position(|player| player.name == name)
    }

    fn happen(&mut self, at: Duration, event: Event) {
        match event {
            Event::Session { unix } => self.begin_session(unix),
            Event::Opened(channel) => self.admit(channel),
            Event::Line(channel, line) => self.hear(at, channel, line),
            Event::TooLong(channel) => self.hear_too_long(channel),
            Event::Written(channel) => self.note_written(at, channel),
            Event::Closed(channel) => self.forget_channel(at, channel),
            Event::Exited(seat) => self.note_exit(seat),
            Event::Token(seat, token) => self.give_token(seat, token),
            Event::Opening(number, opening) => drop(self.openings.insert(number, opening)),
            Event::Tablebase { game, result } => self.hear_tablebase(game, result),
            Event::Order(order) => self.obey(order),
            Event::Tick => {}
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Attend => self.is_attended = true,
            Order::Leave => self.end_attendance(),
            Order::Pause => self.is_paused = true,
            Order::Resume => self.is_paused = false,
            Order::Adjudicate { game, result } => self.adjudicate(game, result),
            Order::Restart(seat) => self.restart(seat),
            Order::QuietTimeouts(silences) => self.silences = silences,
        }
    }

    /// Ends the waiting periods whose time is over: periods in which a client is sent nothing, and periods in
    /// which it gets ready for a game. Returns true if there were any.
    fn end_silences(&mut self) -> bool {
        let mut has_changed = false;
        for seat in 0..self.seats.len() {
            let state = self.seats[seat].state;
            if state.ends().is_none_or(|until| until > self.now) {
                continue;
            }
            has_changed = true;
            match state {
                SeatState::Preparing { .. } => self.note_ready(seat),
                SeatState::Concluding { .. } if self.has_games_left() => self.reset(seat),
                _ => self.seats[seat].state = SeatState::SignedOn,
            }
        }
        has_changed
    }

    /// Sends a message to the client of a seat, if the seat has a client.
    fn say(&mut self, seat: usize, directive: &Directive) {
        if let Some(channel) = self.seats[seat].channel {
            self.send(channel, directive);
        }
    }

    /// Sends a message other than `respond`.
    fn send(&mut self, channel: ChannelId, directive: &Directive) {
        self.actions.push(Action::Send { channel, line: directive.line(), is_respond: false });
    }

    fn tell(&mut self, message: impl Into<String>) {
        self.actions.push(Action::Message(message.into()));
    }

    /// The position of messages that are not about a position: the current position of the client's game or,
    /// without a game, the start array.
    fn position_of(&self, seat: usize) -> Position {
        self.game_of(seat).map_or(Position::START, |game| game.board.place().position)
    }
}

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

impl Arbiter {
    /// The player of a seat. The first seats of all players come first, in the order of the
    /// settings, then their second seats, and so on.
    fn player_of(&self, seat: usize) -> usize {
        seat % self.tournament.players.len().max(1)
    }

    /// The seats of a player, the first one first.
    fn seats_of(&self, player: usize) -> impl Iterator<Item = usize> + Clone {
        let max_clients = self.tournament.max_clients(player);
        (player..self.seats.len()).step_by(self.tournament.players.len().max(1)).take(max_clients)
    }

    /// The number of a new seat for a player; `None` if the player has its maximum number of seats.
    fn next_seat_of(&self, player: usize) -> Option<usize> {
        let count = self.seats_of(player).count();
        let players = self.tournament.players.len();
        (count < self.tournament.max_clients(player)).then_some(player + count * players)
    }

    /// Adds seats until this one exists. Seats are added in steps, at each step one for every
    /// player.
    fn make_seat(&mut self, seat: usize) {
        let players = self.tournament.players.len().max(1);
        let rows = seat / players + 1;
        if rows * players > self.seats.len() {
            self.seats.resize(rows * players, Seat::new());
        }
    }

    fn name(&self, seat: usize) -> &str {
        self.player_name(self.player_of(seat))
    }

    fn player_name(&self, player: usize) -> &str {
        self.tournament.players.get(player).map_or("?", |player| &player.name)
    }

    /// The name of a client: the name of its player, such as `A`, or `A (2)` for the player's
    /// second client.
    fn client_name(&self, seat: usize) -> String {
        self.tournament.client_name(seat)
    }

    fn is_present(&self, player: usize) -> bool {
        self.seats_of(player).any(|seat| !self.seats[seat].is_away())
    }

    /// True if a client of the player has signed off and no client of the player has signed on since. The
    /// player then plays only on seats of other clients that are present.
    fn has_signed_off(&self, player: usize) -> bool {
        self.seats_of(player).any(|seat| self.seats[seat].has_signed_off)
    }

    /// Forgets that a client of the player has signed off, because a client is present or wanted
    /// again.
    fn forget_sign_off(&mut self, player: usize) {
        if self.has_signed_off(player) {
            let seats: Vec<usize> = self.seats_of(player).collect();
            seats.into_iter().for_each(|seat| self.seats[seat].has_signed_off = false);
            self.pair_again();
        }
    }

    /// The game in play of a seat, if it has begun.
    fn game_of(&self, seat: usize) -> Option<&GameInPlay> {
        self.games.get(&self.seats[seat].game?)
    }

    fn game_of_mut(&mut self, seat: usize) -> Option<&mut GameInPlay> {
        self.games.get_mut(&self.seats[seat].game?)
    }

    /// True if the player plays no game.
    fn is_idle(&self, player: usize) -> bool {
        self.seats_of(player).all(|seat| self.seats[seat].game.is_none())
    }

    /// A seat on which a player can play another game. A seat whose client is present comes before
    /// a seat whose client can be started.
    fn free_seat(&self, player: usize) -> Option<usize> {
        let free = || self.seats_of(player).filter(|seat| self.seats[*seat].game.is_none());
        let present = free().find(|seat| !self.seats[*seat].is_away());
        if present.is_none() && self.can_be_started(player) {
            free().next().or_else(|| self.next_seat_of(player))
        } else {
            present
        }
    }

    /// True if no client of the player is there, and the referee no longer waits for one.
    fn is_given_up(&self, player: usize) -> bool {
        let awaited = self.seats_of(player).filter_map(|seat| self.seats[seat].awaited_until);
        !self.is_present(player) && awaited.max().is_some_and(|until| until <= self.now)
    }
}
