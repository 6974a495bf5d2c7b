//! Where games leave a repertoire.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::graph::{Node, Repertoire};
use super::paths::Paths;
use super::report::{Finding, Part};
use crate::model::rules::{Move, Playable};
use crate::model::{Color, Game, Position, Replay};
use crate::text::san;

/// How games ended, as a repertoire sees it.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct GameEnds {
    /// All games.
    pub games: u64,
    /// Those whose last position it has.
    pub within: u64,
    /// Those that come to none of its positions.
    pub never: u64,
}

/// Where games leave a repertoire: at the last of their positions that a side may come to which plays
/// it. A game that comes back by other moves has not left it.
#[derive(Debug)]
pub struct Departures<'r> {
    repertoire: &'r Repertoire,
    side: Color,
    paths: Paths,
    /// By position and move how many games, and the first.
    by_move: BTreeMap<(Node, Move), (u64, String)>,
    ends: GameEnds,
}

impl<'r> Departures<'r> {
    /// Of no games yet; a side plays the repertoire from a position on.
    pub fn new(repertoire: &'r Repertoire, root: &Position, side: Color) -> Departures<'r> {
        let paths = Paths::of_play(repertoire, root, side);
        let (by_move, ends) = (BTreeMap::new(), GameEnds::default());
        Departures { repertoire, side, paths, by_move, ends }
    }

    /// Takes the main line of a game up to its first null move, which stands at `place`.
    pub fn add(&mut self, game: &Game, place: &str) {
        self.ends.games += 1;
        let Some(mut replay) = Replay::new(game.start()) else {
            self.ends.never += 1;
            return;
        };
        let mut last = None;
        for mv in game.main_line() {
            last = self.known(&replay).map(|node| (node, mv)).or(last);
            replay.play(mv);
        }
        match (self.known(&replay), last) {
            (Some(_), _) => self.ends.within += 1,
            (None, None) => self.ends.never += 1,
            (None, Some(departure)) => {
                let first = || (0, place.to_string());
                self.by_move.entry(departure).or_insert_with(first).0 += 1;
            }
        }
    }

    fn known(&self, replay: &Replay) -> Option<Node> {
        self.repertoire.find(replay.position()).filter(|&node| self.paths.reaches(node))
    }

    /// How the games ended.
    pub const fn ends(&self) -> GameEnds {
        self.ends
    }

    /// By which moves games left, those of most games first.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.by_move.iter().map(|it| self.finding(it)).collect();
        findings.sort_by_key(|finding| {
            let ply = finding.line.as_ref().map_or(0, Vec::len);
            (Reverse(finding.games), ply)
        });
        findings
    }

    fn finding(&self, (&(node, mv), (games, first)): (&(Node, Move), &(u64, String))) -> Finding {
        let goes_on = self.repertoire.candidates(node).next().is_some();
        let part = match goes_on {
            false => Part::LineEnd,
            true if self.repertoire.is_turn_of(self.side, node) => Part::OwnMove,
            true => Part::OtherMove,
        };
        let playable = Playable::new(&self.repertoire.place(node).position);
        Finding {
            mv: playable.ok().map(|playable| san::format(&playable, mv)),
            games: Some(*games),
            first: Some(first.clone()),
            ..self.repertoire.finding(part, node, &self.paths)
        }
    }
}
