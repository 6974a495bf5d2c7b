//! Which games are played when.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use super::game::{GameInPlay, outcomes};
use super::{Action, Arbiter, FinishedGame};
use crate::model::{GameResult, Position};
use crate::referee::openings::Opening;
use crate::referee::outcome::{Outcome, Termination};
use crate::referee::pairing::{Pairing, PairingRule, next_games};
use crate::referee::settings::Tournament;
use crate::referee::standings::Standings;
use crate::referee::wire::{Command, Directive};

impl Arbiter {
    /// Finds the games that are to come by now.
    pub(super) fn plan(&mut self) {
        let Tournament { pairing, players, games_per_encounter, .. } = &*self.tournament;
        let next =
            next_games(pairing, players.len(), *games_per_encounter, &outcomes(&self.finished));
        self.to_come = next.into();
    }

    /// Lets no game begin when the sequential test has its answer.
    fn end_test(&mut self) {
        if self.tournament.sprt.is_none() {
            return;
        }
        let test = Standings::new(&self.tournament, &outcomes(&self.finished)).sprt;
        if let Some(test) = test.filter(|test| test.verdict().is_some() && !self.is_tested) {
            self.is_tested = true;
            self.tell(format!("the test is over: {test}"));
        }
        if self.is_tested {
            let games = &self.games;
            self.to_come.retain(|pairing| games.contains_key(&pairing.game));
        }
    }

    /// The games that are to come by now, in their order, those that are played among them.
    pub fn to_come(&self) -> impl Iterator<Item = &Pairing> {
        self.to_come.iter()
    }

    pub(super) fn has_games_left(&self) -> bool {
        !self.to_come.is_empty()
    }

    /// Awaits those who never came, as soon as others have played and nothing else is left to do.
    pub(super) fn await_latecomers(&mut self) -> bool {
        let is_idle = self.called.is_empty() && self.games.is_empty() && !self.is_paused;
        if !is_idle || self.finished.is_empty() {
            return false;
        }
        let players = self.to_come.iter().flat_map(|pairing| [pairing.white, pairing.black]);
        let is_missed = |player: &usize| {
            let seat = &self.seats[*player];
            seat.is_away() && seat.awaited_until.is_none() && !self.can_be_started(*player)
        };
        let missed: BTreeSet<usize> = players.filter(is_missed).collect();
        for &player in &missed {
            let until = self.now + self.tournament.return_within;
            self.seats[player].awaited_until = Some(until);
            self.tell(format!("{} is awaited", self.name(player)));
        }
        !missed.is_empty()
    }

    /// Lets the players of the next games sit down.
    pub(super) fn call_players(&mut self) -> bool {
        let mut has_changed = false;
        while !self.is_paused
            && self.called.len() + self.games.len() < self.tournament.concurrency
            && let Some(pairing) = self.next_pairing()
        {
            for player in [pairing.white, pairing.black] {
                let seat = &mut self.seats[player];
                seat.game = Some(pairing.game);
                seat.starts = u32::from(!seat.is_away());
                seat.departures = 0;
                if self.can_be_started(player) {
                    self.seats[player].awaited_until = None;
                }
            }
            self.called.insert(pairing.game, pairing);
            has_changed = true;
        }
        has_changed
    }

    /// The next game whose players are free and can come. Where nothing else is left to do, one whose
    /// players went away too long ago is called too: they lose it.
    fn next_pairing(&self) -> Option<Pairing> {
        let is_free = |player: usize| self.seats[player].game.is_none();
        let comes = |player: usize| !self.seats[player].is_away() || self.can_be_started(player);
        let is_given_up =
            |player: usize| self.seats[player].awaited_until.is_some_and(|until| until <= self.now);
        let is_decided = |player: usize| comes(player) || is_given_up(player);
        let both = |pairing: &Pairing, holds: &dyn Fn(usize) -> bool| {
            holds(pairing.white) && holds(pairing.black)
        };
        let mut free = self.to_come.iter().filter(|pairing| both(pairing, &is_free));
        let mut again = free.clone();
        let is_idle = self.called.is_empty() && self.games.is_empty();
        let next = free.find(|pairing| both(pairing, &comes));
        next.or_else(|| again.find(|pairing| is_idle && both(pairing, &is_decided))).copied()
    }

    /// Begins the games whose openings are known.
    pub(super) fn begin_games(&mut self) -> bool {
        let called: Vec<Pairing> = self.called.values().copied().collect();
        called.into_iter().filter(|pairing| self.begin_game(pairing)).count() > 0
    }

    fn begin_game(&mut self, pairing: &Pairing) -> bool {
        let number = self.tournament.opening_of(pairing);
        let Some(opening) = self.opening(number) else { return false };
        self.called.remove(&pairing.game);
        let times = [pairing.white, pairing.black].map(|player| self.tournament.time_of(player));
        let rules = self.tournament.adjudication;
        let game = GameInPlay::new(*pairing, opening.clone(), self.date(), times, rules);
        match game {
            Some(game) => {
                let ending = game.board.ending();
                let ended = ending.map(|it| (game.board.outcome(it), game.board.reason(it)));
                self.games.insert(pairing.game, game);
                let [white, black] = [pairing.white, pairing.black].map(|player| self.name(player));
                self.tell(format!("game {}: {white} - {black}", pairing.game));
                if let Some((outcome, why)) = ended {
                    self.finish(pairing.game, outcome, &format!("{why} in the opening"));
                }
            }
            None => self.strike_out(pairing, opening),
        }
        true
    }

    /// A game that cannot be begun.
    fn strike_out(&mut self, pairing: &Pairing, opening: Opening) {
        for player in [pairing.white, pairing.black] {
            self.seats[player].game = None;
        }
        let outcome =
            Outcome { result: GameResult::Unknown, termination: Termination::Unterminated };
        let game = FinishedGame {
            pairing: *pairing,
            opening: Opening { label: opening.label, ..Opening::ARRAY },
            moves: Vec::new(),
            outcome,
            reason: "no move can be made in its opening".into(),
            date: self.date(),
        };
        self.tell(format!("game {}: {}", pairing.game, game.reason));
        self.record(game);
    }

    /// Keeps a game that is over.
    pub(super) fn record(&mut self, game: FinishedGame) {
        let number = game.pairing.game;
        let result = game.outcome.result;
        self.finished.push(game);
        self.actions.push(Action::GameOver { game: number, result });
        match self.tournament.pairing {
            PairingRule::Swiss { .. } | PairingRule::Knockout { .. } => self.plan(),
            // No outcome says who meets whom.
            PairingRule::RoundRobin { .. } | PairingRule::Gauntlet { .. } => {
                let place = self.to_come.iter().position(|pairing| pairing.game == number);
                place.map(|place| self.to_come.remove(place));
            }
        }
        self.end_test();
    }

    /// An opening, or `None` while it is fetched.
    fn opening(&mut self, number: usize) -> Option<Opening> {
        if self.tournament.openings.is_none() {
            return Some(Opening::ARRAY);
        }
        let known = self.openings.get(&number).cloned();
        if known.is_none() && self.asked_openings.insert(number) {
            self.actions.push(Action::FetchOpening(number));
        }
        known
    }

    /// Today, `YYYY.MM.DD`.
    fn date(&self) -> String {
        let (at, unix) = self.session;
        let today = UNIX_EPOCH + Duration::from_secs(unix) + self.now.saturating_sub(at);
        let date = humantime::format_rfc3339(today).to_string();
        date[..10].replace('-', ".")
    }

    /// Says goodbye when all is played.
    pub(super) fn end_tournament(&mut self) -> bool {
        let is_busy = self.seats.iter().any(|seat| seat.state.silent_until().is_some());
        if self.has_ended || self.has_games_left() || !self.games.is_empty() || is_busy {
            return false;
        }
        for player in 0..self.seats.len() {
            self.say(player, &Directive::new(Command::Disconnect, Position::START));
            self.close(player);
        }
        self.has_ended = true;
        self.actions.push(Action::Ended);
        true
    }
}
