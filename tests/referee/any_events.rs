//! Random events in random order: the arbiter stays consistent, and its log restores it.

use std::sync::Arc;
use std::time::Duration;

use epdb_chess::model::GameResult;
use epdb_referee::log::Entry;
use epdb_referee::wire::{Reply, Request};
use epdb_referee::{Action, Arbiter, Event, Order};
use proptest::prelude::*;

use crate::hall::{START, tournament};

const SETTINGS: &str = "concurrency = 2\ntime = '3+0.1'\nreturn = '2s'\nrestarts = 1\n\
    silences = { conclude = '1s', reset = '500ms' }\n\
    [[player]]\nname = 'A'\ncommand = ['a']\ntoken = true\n[[player]]\nname = 'B'\n[[player]]\nname = 'C'\ncommand = ['c']\n";

/// The possible next events.
#[derive(Copy, Clone, Debug)]
enum Happening {
    /// A player and which of its clients it is.
    SignOn(usize, usize),
    Reply(usize),
    Resign(usize),
    Noise(u64, usize),
    Close(u64),
    Exit(usize),
    Order(Order),
    Session,
    Wait(u64),
}

fn happening() -> impl Strategy<Value = Happening> {
    let orders = prop::sample::select(vec![
        Order::Attend,
        Order::Leave,
        Order::Pause,
        Order::Resume,
        Order::Resume,
        Order::Restart(1),
        Order::Restart(4),
        Order::Adjudicate { game: 2, result: GameResult::Draw },
    ]);
    prop_oneof![
        4 => (0..3usize, 0..2usize).prop_map(|(player, row)| Happening::SignOn(player, row)),
        8 => (0..3usize).prop_map(Happening::Reply),
        1 => (0..3usize).prop_map(Happening::Resign),
        2 => (0..9u64, 0..5usize).prop_map(|(channel, kind)| Happening::Noise(channel, kind)),
        1 => (0..9u64).prop_map(Happening::Close),
        1 => (0..6usize).prop_map(Happening::Exit),
        1 => orders.prop_map(Happening::Order),
        1 => Just(Happening::Session),
        6 => (0..3000u64).prop_map(Happening::Wait),
    ]
}

/// An arbiter with a log of all that happens.
struct Logged {
    arbiter: Arbiter,
    now: Duration,
    log: Vec<(Duration, String)>,
    actions: Vec<Action>,
    channels: u64,
    games: Vec<u32>,
}

impl Logged {
    fn happen(&mut self, event: Event) {
        self.log.push((self.now, Entry::Event(event.clone()).text()));
        let actions = self.arbiter.take(self.now, event);
        self.actions.extend(actions.clone());
        for action in actions {
            match action {
                Action::Send { channel, is_respond: true, .. } => {
                    self.happen(Event::Written(channel))
                }
                Action::GameOver { game, .. } => self.games.push(game),
                Action::Start(seat) => self.happen(Event::Token(seat, format!("seat {seat}"))),
                _ => {}
            }
        }
    }

    fn act(&mut self, happening: Happening) {
        let name = |player: usize| ["A", "B", "C"][player];
        match happening {
            Happening::SignOn(player, row) => {
                self.channels += 1;
                let channel = self.channels;
                self.happen(Event::Opened(channel));
                let line = Request::SignOn {
                    address: format!("seat {}", player + 3 * row),
                    name: name(player).into(),
                }
                .line();
                self.happen(Event::Line(channel, line));
            }
            Happening::Reply(game) | Happening::Resign(game) => {
                let snapshot = self.arbiter.snapshot(self.now);
                let Some(running) = snapshot.running.get(game) else { return };
                let playable = epdb_chess::model::rules::Playable::new(&running.position).unwrap();
                let mv = playable.legal_moves()[0];
                let mut reply = Reply::with_move(running.position, mv);
                reply.resigns = matches!(happening, Happening::Resign(_));
                // Any of the channels will do: one of them is right.
                let line = Request::Reply(reply).line();
                for channel in self.channels.saturating_sub(6)..=self.channels {
                    self.happen(Event::Line(channel, line.clone()));
                }
            }
            Happening::Noise(channel, kind) => {
                let fault = format!("{START} refreq fault;");
                let line = ["noise", "", START, "refreq reply;", &fault][kind].as_bytes().to_vec();
                self.happen(Event::Line(channel, line));
                self.happen(Event::TooLong(channel));
                self.happen(Event::Written(channel));
            }
            Happening::Close(channel) => self.happen(Event::Closed(channel)),
            Happening::Exit(player) => self.happen(Event::Exited(player)),
            Happening::Order(order) => self.happen(Event::Order(order)),
            Happening::Session => self.happen(Event::Session { unix: 1_700_000_000 }),
            Happening::Wait(milliseconds) => {
                let until = self.now + Duration::from_millis(milliseconds);
                while let Some(due) = self.arbiter.next_deadline().filter(|due| *due <= until) {
                    assert!(due > self.now || self.arbiter.has_ended() || due == self.now);
                    self.now = self.now.max(due);
                    self.happen(Event::Tick);
                    let next = self.arbiter.next_deadline();
                    assert!(next.is_none_or(|next| next > self.now), "a tick left something due");
                }
                self.now = until;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No game is over twice, nothing stays due, and the events alone say all again.
    #[test]
    fn whatever_happens_is_in_the_log(happenings in prop::collection::vec(happening(), 0..150)) {
        let fresh = || Arbiter::new(Arc::new(tournament(SETTINGS)));
        let mut logged = Logged {
            arbiter: fresh(),
            now: Duration::ZERO,
            log: Vec::new(),
            actions: Vec::new(),
            channels: 0,
            games: Vec::new(),
        };
        logged.happen(Event::Session { unix: 1_700_000_000 });
        happenings.into_iter().for_each(|happening| logged.act(happening));
        let mut games = logged.games.clone();
        games.sort_unstable();
        games.dedup();
        prop_assert_eq!(games.len(), logged.games.len());
        let mut again = fresh();
        let mut actions = Vec::new();
        for (at, line) in &logged.log {
            let Some(Entry::Event(event)) = Entry::parse(line) else { panic!("{line}") };
            actions.extend(again.take(*at, event));
        }
        prop_assert_eq!(again.finished(), logged.arbiter.finished());
        let count = |actions: &[Action]| actions.iter().filter(|it| matches!(it, Action::Send { .. })).count();
        prop_assert_eq!(count(&actions), count(&logged.actions));
    }
}
