//! A tournament on the terminal: events as lines and, below them, the running games, which are redrawn.

use std::time::Duration;

use indicatif::ProgressBar;

use crate::cli::progress;
use crate::cli::terminal::{Letters, escaped, note};
use epdb_chess::model::Color;
use epdb_chess::model::score::Score;
use epdb_referee::server::Watch;
use epdb_referee::{RunningGame, SideView, Snapshot, Standings, Tournament};

/// Interval between updates of the running games. Clocks show tenths of a second only in the last minute.
const REFRESH: Duration = Duration::from_millis(250);

/// Prints events on standard error, and shows the running games below them.
#[derive(Debug)]
pub(crate) struct Display {
    running: ProgressBar,
    /// The table of a tournament that is over.
    pub(crate) last: Option<Standings>,
}

impl Display {
    /// Prints only events if `is_plain`, or if standard error is no terminal.
    pub(crate) fn new(is_plain: bool) -> Display {
        Display { running: progress::redrawn_lines(!is_plain), last: None }
    }
}

impl Watch for Display {
    fn message(&mut self, text: &str) {
        self.running.suspend(|| note!("{text}"));
    }

    fn show(&mut self, snapshot: &Snapshot<'_>) {
        if snapshot.has_ended {
            self.last = Some(snapshot.standings());
            self.running.finish_and_clear();
        } else if !self.running.is_hidden() {
            self.running.set_message(lines(snapshot, Letters::of_terminal()));
        }
    }

    fn standings(&mut self, snapshot: &Snapshot<'_>) {
        let table = snapshot.standings().to_string();
        self.running.suspend(|| table.lines().for_each(|line| note!("{line}")));
    }

    fn refresh(&self) -> Option<Duration> {
        (!self.running.is_hidden()).then_some(REFRESH)
    }
}

/// A line for each running game, and one about all games.
fn lines(snapshot: &Snapshot<'_>, letters: Letters) -> String {
    let games = snapshot.running.iter().map(|game| line(snapshot.tournament, game));
    let lines: Vec<String> = games.chain([state(snapshot)]).collect();
    let shown: Vec<_> = lines.iter().map(|line| escaped(line, letters)).collect();
    shown.join("\n")
}

fn state(snapshot: &Snapshot<'_>) -> String {
    let Tournament { event, pgn, .. } = snapshot.tournament;
    let name = pgn.file_stem().unwrap_or_default().to_string_lossy();
    format!(
        "{}: {} finished, {} running, {} to go{}",
        if event == "?" { &*name } else { event },
        snapshot.finished.len(),
        snapshot.running.len(),
        snapshot.to_come.len(),
        if snapshot.is_paused { ", paused" } else { "" },
    )
}

fn line(tournament: &Tournament, game: &RunningGame) -> String {
    let [white, black] = &game.sides;
    format!(
        "{}  {}  {}  {} - {}  {}{}",
        game.pairing.game,
        last_move(game),
        clock_and_score(white),
        name(tournament, white),
        name(tournament, black),
        clock_and_score(black),
        if game.is_held { "  held" } else { "" },
    )
}

fn name<'t>(tournament: &'t Tournament, side: &SideView) -> &'t str {
    tournament.players.get(side.player).map_or("?", |player| &player.name)
}

/// The last move, such as `12. Nf3` or `12... Nf6`.
fn last_move(game: &RunningGame) -> String {
    let Some(san) = &game.last_move else { return "-".into() };
    let san = String::from_utf8_lossy(san.as_bytes()).into_owned();
    match game.position.turn() {
        Color::Black => format!("{}. {san}", game.fullmove_number),
        Color::White => format!("{}... {san}", game.fullmove_number.saturating_sub(1)),
    }
}

fn clock_and_score(side: &SideView) -> String {
    let clock = side.left.map_or_else(|| "-".into(), clock);
    let score = side.score.map(score).unwrap_or_default();
    let depth = side.depth.map(|depth| format!("/{depth}")).unwrap_or_default();
    format!("{clock} {score}{depth}").trim_end().to_string()
}

/// Minutes and seconds, with hours if there are any, and with tenths of a second in the last
/// minute.
fn clock(left: Duration) -> String {
    let seconds = left.as_secs();
    let hours = seconds / 3600;
    let minutes = seconds / 60 % 60;
    let rest = seconds % 60;
    match (hours, minutes) {
        (0, 0) => format!("0:{rest:02}.{}", left.subsec_millis() / 100),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

/// A score from the view of its player: in pawns, or as moves to a mate.
fn score(score: Score) -> String {
    let moves = score.full_moves().unwrap_or_default();
    match score {
        Score::Centipawns(value) => {
            let sign = if value < 0 { '-' } else { '+' };
            format!("{sign}{}.{:02}", value.abs() / 100, value.abs() % 100)
        }
        Score::Mates(_) => format!("#{moves}"),
        Score::Mated(_) | Score::Checkmated => format!("#-{moves}"),
        Score::Illegal => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_referee::{Absences, next_games};
    use std::collections::BTreeMap;

    #[test]
    fn a_game_shows_its_move_clocks_and_scores() {
        let text = "event = 'Cup'\n[[player]]\nname = 'Fish'\n[[player]]\nname = 'Toga'\n";
        let tournament = Tournament::from_toml(text, "cup.toml").unwrap();
        let side = |player: usize, score, left| SideView {
            player,
            state: "waiting",
            left: Some(Duration::from_millis(left)),
            score: Some(score),
            depth: Some(12),
        };
        let game = RunningGame {
            pairing: next_games(&tournament.pairing, 2, 2, &[])[0],
            opening: None,
            position: "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq -"
                .parse()
                .unwrap(),
            fullmove_number: 3,
            last_move: Some("Bb5".parse().unwrap()),
            running: Some(Color::Black),
            sides: [side(0, Score::Centipawns(35), 3_661_000), side(1, Score::Mated(4), 59_940)],
            is_held: false,
        };
        let begins = RunningGame { last_move: None, is_held: true, ..game.clone() };
        let absences = Absences { rounds: BTreeMap::new(), games: BTreeMap::new() };
        let snapshot = Snapshot {
            absences: &absences,
            tournament: &tournament,
            now: Duration::ZERO,
            running: vec![game, begins],
            finished: &[],
            to_come: Vec::new(),
            seats: Vec::new(),
            is_paused: true,
            has_ended: false,
        };
        let expected = "\
1  3. Bb5  1:01:01 +0.35/12  Fish - Toga  0:59.9 #-2/12
1  -  1:01:01 +0.35/12  Fish - Toga  0:59.9 #-2/12  held
Cup: 0 finished, 2 running, 0 to go, paused";
        assert_eq!(lines(&snapshot, Letters::All), expected);
    }
}
