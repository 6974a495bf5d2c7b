//! The arbiter of a tournament takes events and returns the actions that follow from them.
//!
//! It reads no file, writes to no client and has no clock. The same events at the same times lead to the same
//! state and the same actions. So a log of the events is enough to restore the state.

mod admission;
mod event;
mod game;
mod play;
mod schedule;
mod seats;
mod speech;
mod view;

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
use epdb_chess::model::Position;

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
