//! A simulated tournament: an arbiter, and players whose answers a test scripts.

use std::sync::Arc;
use std::time::Duration;

use epdb_chess::model::GameResult;
use epdb_referee::wire::{Command, Directive, Reply, Request};
use epdb_referee::{Action, Arbiter, Event, FinishedGame, Order, Termination, Tournament};

pub(crate) const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// 2024-01-01.
const NEW_YEAR: u64 = 1_704_067_200;

pub(crate) struct Hall {
    pub(crate) arbiter: Arbiter,
    pub(crate) now: Duration,
    /// Messages of the referee, each line once.
    said: Vec<(u64, String)>,
    pub(crate) closed: Vec<u64>,
    pub(crate) started: Vec<usize>,
    pub(crate) gave_up: Vec<usize>,
    /// The games of which the tablebases were asked.
    pub(crate) probed: Vec<u32>,
    pub(crate) messages: Vec<String>,
    pub(crate) has_ended: bool,
}

pub(crate) fn tournament(text: &str) -> Tournament {
    Tournament::from_toml(text, "t.toml").unwrap()
}

/// Two players that are not started, one game, no silences and no margin.
pub(crate) const TWO: &str = "games = 1\ntime = '10'\nmargin = '0s'\nsilences = { conclude = '0s', reset = '0s' }\n\
    [[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";

impl Hall {
    pub(crate) fn new(text: &str) -> Hall {
        let mut hall = Hall {
            arbiter: Arbiter::new(Arc::new(tournament(text))),
            now: Duration::ZERO,
            said: Vec::new(),
            closed: Vec::new(),
            started: Vec::new(),
            gave_up: Vec::new(),
            probed: Vec::new(),
            messages: Vec::new(),
            has_ended: false,
        };
        hall.happen(Event::Session { unix: NEW_YEAR });
        hall
    }

    /// A game of A, to move, and B from a position.
    pub(crate) fn from_position(settings: &str, fen: &str) -> Hall {
        let mut hall = Hall::new(&format!("openings = {{ file = 'x.epd' }}\n{settings}{TWO}"));
        let record = epdb_chess::parse_epd(fen.as_bytes()).unwrap();
        let start =
            epdb_chess::model::Start { position: *record.position(), counters: Default::default() };
        let opening = epdb_referee::Opening { start, moves: Vec::new(), label: None };
        hall.sign_on(1, "A");
        hall.sign_on(2, "B");
        hall.happen(Event::Opening(0, opening));
        hall
    }

    /// Two players, A on channel 1 and B on channel 2, of whom A is to move.
    pub(crate) fn with_game() -> Hall {
        Hall::with_game_of(TWO)
    }

    pub(crate) fn with_game_of(text: &str) -> Hall {
        let mut hall = Hall::new(text);
        hall.sign_on(1, "A");
        hall.sign_on(2, "B");
        hall.said.retain(|(_, line)| line.contains("refcom respond"));
        hall
    }

    pub(crate) fn happen(&mut self, event: Event) {
        let actions = self.arbiter.take(self.now, event);
        for action in actions {
            match action {
                Action::Send { channel, line, is_respond } => {
                    self.said.push((channel, String::from_utf8(line).unwrap()));
                    if is_respond {
                        self.happen(Event::Written(channel));
                    }
                }
                Action::Close(channel) => self.closed.push(channel),
                Action::Start(player) => {
                    self.started.push(player);
                    let token = format!("token {}", self.started.len());
                    self.happen(Event::Token(player, token));
                }
                Action::GiveUp(player) => self.gave_up.push(player),
                Action::Probe(game) => self.probed.push(game),
                Action::Message(text) => self.messages.push(text),
                Action::Ended => self.has_ended = true,
                Action::FetchOpening(_) | Action::GameOver { .. } => {}
            }
        }
    }

    /// Time passes, and whatever is due happens when it is.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(deadline) = self.arbiter.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(deadline);
            self.happen(Event::Tick);
        }
        self.now = until;
    }

    pub(crate) fn open(&mut self, channel: u64) {
        self.happen(Event::Opened(channel));
    }

    pub(crate) fn say(&mut self, channel: u64, line: &str) {
        self.happen(Event::Line(channel, line.as_bytes().to_vec()));
    }

    pub(crate) fn order(&mut self, order: Order) {
        self.happen(Event::Order(order));
    }

    pub(crate) fn sign_on(&mut self, channel: u64, name: &str) {
        self.open(channel);
        self.say(channel, &format!("{START} refreq sign_on; tcsi \"x@host\" \"{name}\";"));
    }

    /// The lines on a channel since this was last asked.
    pub(crate) fn heard(&mut self, channel: u64) -> Vec<String> {
        let (heard, rest) =
            std::mem::take(&mut self.said).into_iter().partition(|(to, _)| *to == channel);
        self.said = rest;
        let heard: Vec<(u64, String)> = heard;
        heard.into_iter().map(|(_, line)| line).collect()
    }

    /// The commands on a channel since it was last asked.
    pub(crate) fn commands(&mut self, channel: u64) -> Vec<&'static str> {
        self.heard(channel)
            .iter()
            .map(|line| Directive::parse(line.as_bytes()).unwrap().command.word())
            .collect()
    }

    /// The last line on a channel, which must be this command.
    pub(crate) fn last(&mut self, channel: u64, command: Command) -> Directive {
        let heard = self.heard(channel);
        let line = heard.last().unwrap_or_else(|| panic!("nothing on channel {channel}"));
        let directive = Directive::parse(line.as_bytes()).unwrap();
        assert_eq!(directive.command, command, "{line}");
        directive
    }

    /// The client to move replies with a move in coordinates; `change` adds to the reply.
    pub(crate) fn play_with(&mut self, channel: u64, mv: &str, change: impl FnOnce(&mut Reply)) {
        let asked = self.last(channel, Command::Respond);
        let mut reply = Reply::with_move(after(&asked), mv.parse().unwrap());
        change(&mut reply);
        let line = Request::Reply(reply).line();
        self.happen(Event::Line(channel, line));
    }

    pub(crate) fn play(&mut self, channel: u64, mv: &str) {
        self.play_with(channel, mv, |_| {});
    }

    /// Moves in turns, the first by this channel.
    pub(crate) fn play_all(&mut self, first: u64, moves: &str) {
        for (ply, mv) in moves.split_whitespace().enumerate() {
            self.play(if ply % 2 == 0 { first } else { 3 - first }, mv);
        }
    }

    pub(crate) fn finished(&self) -> &[FinishedGame] {
        self.arbiter.finished()
    }

    /// The result of the only finished game.
    pub(crate) fn outcome(&self) -> (GameResult, Termination) {
        let [game] = self.finished() else { panic!("{} games", self.finished().len()) };
        (game.outcome.result, game.outcome.termination)
    }
}

/// The position in which a client is that was asked.
pub(crate) fn after(asked: &Directive) -> epdb_chess::model::Position {
    use epdb_chess::model::rules::Playable;
    match asked.mv {
        Some(mv) => *Playable::new(&asked.position).unwrap().after(mv).position(),
        None => asked.position,
    }
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
