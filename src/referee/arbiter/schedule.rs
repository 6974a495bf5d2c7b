//! The schedule of games.

use std::collections::{BTreeSet, VecDeque};

use super::game::{CalledGame, GameInPlay, outcomes};
use super::{Action, Arbiter, FinishedGame};
use crate::openings::Opening;
use crate::outcome::{Outcome, Termination};
use crate::pairing::{Pairing, PairingRule, pairing_state};
use crate::settings::Tournament;
use crate::standings::Standings;
use crate::wire::{Command, Directive};
use epdb_chess::model::{GameResult, Position};
use epdb_library::date::utc;

impl Arbiter {
    /// Finds the games that are not over and whose players are known.
    pub(super) fn plan(&mut self) {
        self.note_absences();
        let Tournament { pairing, players, games_per_encounter, .. } = &*self.tournament;
        let done = outcomes(&self.finished);
        let state =
            pairing_state(pairing, players.len(), *games_per_encounter, &done, &self.absences);
        self.to_come = state.next.into();
    }

    /// Notes which players have signed off, so that they are not paired in the next round of a
    /// Swiss tournament. A round that has begun is not changed.
    fn note_absences(&mut self) {
        if !self.is_swiss() {
            return;
        }
        let running = self.games.values().map(|game| game.pairing.round);
        let called = self.called.values().map(|called| called.pairing.round);
        let finished = self.finished.iter().map(|game| game.pairing.round);
        let begun = running.chain(called).chain(finished).max().unwrap_or_default();
        let players = 0..self.tournament.players.len();
        let is_absent = |player: &usize| self.has_signed_off(*player) && !self.is_present(*player);
        let absent: BTreeSet<usize> = players.filter(is_absent).collect();
        self.absences.rounds.retain(|round, _| *round <= begun);
        self.absences.rounds.insert(begun + 1, absent);
    }

    /// Pairs the next Swiss round again, because a player has signed off or is present again.
    pub(super) fn pair_again(&mut self) {
        if self.is_swiss() && !self.is_tested {
            self.plan();
        }
    }

    fn is_swiss(&self) -> bool {
        matches!(self.tournament.pairing, PairingRule::Swiss { .. })
    }

    fn is_knockout(&self) -> bool {
        matches!(self.tournament.pairing, PairingRule::Knockout { .. })
    }

    /// Skips the games of players who have signed off, if no other games are left to play. In a
    /// knockout they lose these games instead, so that their opponents advance.
    pub(super) fn leave_out_games(&mut self) -> bool {
        let is_busy = !self.called.is_empty() || !self.games.is_empty() || self.is_paused;
        if is_busy || self.is_knockout() || self.finished.is_empty() {
            return false;
        }
        let players = 0..self.tournament.players.len();
        let has_left: Vec<bool> =
            players.map(|player| self.has_signed_off(player) && self.is_given_up(player)).collect();
        let ready = |pairing: &Pairing| {
            let both = [pairing.white, pairing.black].into_iter();
            both.filter(|player| !has_left[*player]).collect::<Vec<usize>>()
        };
        let (left_out, rest): (VecDeque<Pairing>, _) =
            std::mem::take(&mut self.to_come).into_iter().partition(|game| ready(game).len() < 2);
        self.to_come = rest;
        for pairing in &left_out {
            self.absences.games.insert(pairing.game, ready(pairing).first().copied());
        }
        for (player, _) in has_left.iter().enumerate().filter(|(_, has_left)| **has_left) {
            let is_of = |game: &&Pairing| [game.white, game.black].contains(&player);
            let games = match left_out.iter().filter(is_of).count() {
                0 => continue,
                1 => "1 game".to_string(),
                count => format!("{count} games"),
            };
            self.tell(format!(
                "{games} of {} not played: it has signed off",
                self.player_name(player)
            ));
        }
        self.pair_again();
        !left_out.is_empty()
    }

    /// After the verdict of the sequential test, lets no further game begin.
    fn end_test(&mut self) {
        if self.tournament.sprt.is_none() {
            return;
        }
        let test = Standings::new(&self.tournament, &outcomes(&self.finished)).sprt;
        if let Some(test) = test
            && test.verdict().is_some()
            && !self.is_tested
        {
            self.is_tested = true;
            self.tell(format!("the test is over: {test}"));
        }
        if self.is_tested {
            let games = &self.games;
            self.to_come.retain(|pairing| games.contains_key(&pairing.game));
        }
    }

    /// The games that are not over and whose players are known, in the order in which they are to begin.
    /// Games in play are included.
    pub fn to_come(&self) -> impl Iterator<Item = &Pairing> {
        self.to_come.iter()
    }

    pub(super) fn has_games_left(&self) -> bool {
        !self.to_come.is_empty()
    }

    /// Begins to wait for players who never came, if others have played and no other game can be played now.
    /// Returns true if there are such players.
    pub(super) fn await_latecomers(&mut self) -> bool {
        let is_idle = self.called.is_empty() && self.games.is_empty() && !self.is_paused;
        if !is_idle || self.finished.is_empty() {
            return false;
        }
        let players = self.to_come.iter().flat_map(|pairing| [pairing.white, pairing.black]);
        let is_missed = |player: &usize| {
            let is_awaited = |seat: usize| self.seats[seat].awaited_until.is_some();
            !self.is_present(*player)
                && !self.seats_of(*player).any(is_awaited)
                && !self.can_be_started(*player)
        };
        let missed: BTreeSet<usize> = players.filter(is_missed).collect();
        for &player in &missed {
            let until = self.now + self.tournament.return_within;
            self.seats[player].awaited_until = Some(until);
            self.tell(format!("{} is awaited", self.player_name(player)));
        }
        !missed.is_empty()
    }

    /// Gives seats to the players of the next games.
    pub(super) fn call_players(&mut self) -> bool {
        let mut has_changed = false;
        while !self.is_paused
            && self.called.len() + self.games.len() < self.tournament.concurrency
            && let Some(called) = self.next_game()
        {
            let CalledGame { pairing, seats } = called;
            for seat in seats {
                self.make_seat(seat);
                let can_start = self.can_be_started(self.player_of(seat));
                let client = &mut self.seats[seat];
                client.game = Some(pairing.game);
                client.starts = u32::from(!client.is_away());
                client.departures = 0;
                if can_start {
                    client.awaited_until = None;
                }
            }
            self.called.insert(pairing.game, called);
            has_changed = true;
        }
        has_changed
    }

    /// The next game for which clients are present or can be started. Games between players who
    /// play no other game come first. If there is no such game and no game is being played, the
    /// next game of players who have been away for too long is called, and they lose it.
    fn next_game(&self) -> Option<CalledGame> {
        let players = 0..self.tournament.players.len();
        let free: Vec<Option<usize>> =
            players.clone().map(|player| self.free_seat(player)).collect();
        let is_idle: Vec<bool> = players.map(|player| self.is_idle(player)).collect();
        let called = |pairing: &Pairing| {
            let seats = [free[pairing.white]?, free[pairing.black]?];
            Some(CalledGame { pairing: *pairing, seats })
        };
        let is_begun = |game: &u32| self.games.contains_key(game) || self.called.contains_key(game);
        let to_come = self.to_come.iter().filter(|pairing| !is_begun(&pairing.game));
        let of_idle = |pairing: &&Pairing| is_idle[pairing.white] && is_idle[pairing.black];
        to_come
            .clone()
            .filter(of_idle)
            .find_map(called)
            .or_else(|| to_come.clone().find_map(called))
            .or_else(|| self.lost_game())
    }

    /// The next game of players who have been away for too long, if no game is in progress and the
    /// players of none are called.
    fn lost_game(&self) -> Option<CalledGame> {
        if !self.called.is_empty() || !self.games.is_empty() {
            return None;
        }
        let loses = |player| {
            self.is_given_up(player) && (self.is_knockout() || !self.has_signed_off(player))
        };
        let seat = |player| self.free_seat(player).or_else(|| loses(player).then_some(player));
        self.to_come.iter().find_map(|pairing| {
            let seats = [seat(pairing.white)?, seat(pairing.black)?];
            Some(CalledGame { pairing: *pairing, seats })
        })
    }

    /// Begins the games whose openings are known.
    pub(super) fn begin_games(&mut self) -> bool {
        let called: Vec<CalledGame> = self.called.values().copied().collect();
        called.into_iter().filter(|called| self.begin_game(called)).count() > 0
    }

    fn begin_game(&mut self, called: &CalledGame) -> bool {
        let CalledGame { pairing, seats } = called;
        let number = self.tournament.opening_of(pairing);
        let Some(opening) = self.opening(number) else { return false };
        self.called.remove(&pairing.game);
        let times = [pairing.white, pairing.black].map(|player| self.tournament.time_of(player));
        let rules = self.tournament.adjudication;
        let game = GameInPlay::new(*called, opening.clone(), self.date(), times, rules);
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
            None => self.strike_out(pairing, *seats, opening),
        }
        true
    }

    /// Records a game that cannot begin, because its opening cannot be played.
    fn strike_out(&mut self, pairing: &Pairing, seats: [usize; 2], opening: Opening) {
        for seat in seats {
            self.seats[seat].game = None;
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

    /// Records a game that is over, and updates the games to come.
    pub(super) fn record(&mut self, game: FinishedGame) {
        let number = game.pairing.game;
        let result = game.outcome.result;
        self.finished.push(game);
        self.actions.push(Action::GameOver { game: number, result });
        match self.tournament.pairing {
            PairingRule::Swiss { .. } | PairingRule::Knockout { .. } => self.plan(),
            // Here the pairings do not depend on outcomes.
            PairingRule::RoundRobin { .. } | PairingRule::Gauntlet { .. } => {
                self.to_come.retain(|pairing| pairing.game != number);
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
        let seconds = self.now.saturating_sub(self.session_start).as_secs();
        utc(self.session_start_unix.saturating_add(seconds))[..10].to_string()
    }

    /// Ends the tournament and disconnects all clients once all games are over. Returns true if it
    /// does.
    pub(super) fn end_tournament(&mut self) -> bool {
        let is_busy = self.seats.iter().any(|seat| seat.state.silent_until().is_some());
        if self.has_ended || self.has_games_left() || !self.games.is_empty() || is_busy {
            return false;
        }
        for seat in 0..self.seats.len() {
            self.say(seat, &Directive::new(Command::Disconnect, Position::START));
            self.close(seat);
        }
        self.has_ended = true;
        self.actions.push(Action::Ended);
        true
    }
}
