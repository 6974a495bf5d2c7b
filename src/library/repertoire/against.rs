//! What a repertoire covers of the games of a library.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::graph::{Node, Repertoire};
use super::paths::Paths;
use super::report::{Finding, Part};
use crate::model::rules::{Move, Playable, after};
use crate::model::{Color, MoveTally, Position, San, TallyPart};

/// What a repertoire covers.
#[derive(Clone, PartialEq, Debug)]
pub struct Coverage {
    /// The moves that it has no answer to, the most frequent first.
    pub unanswered: Vec<Finding>,
    /// The share of the games that meet no such move; `None` where the library has none of the
    /// positions.
    pub share: Option<f64>,
}

/// Lines do not go on for more plies than these: they come round in circles.
const MOST_PLIES: usize = 1_000;

/// A move that was played, and where it leads.
struct Played {
    mv: Move,
    san: San,
    games: u64,
    end: End,
}

#[derive(Copy, Clone, PartialEq)]
enum End {
    /// To a position for which the repertoire has an answer, or in which the game is over.
    Answered(Node),
    /// Out of the repertoire.
    Unanswered,
}

impl Repertoire {
    /// The positions in which the other side is to move, as far as `side` comes there.
    pub fn of_other_side(&self, root: &Position, side: Color) -> Vec<Node> {
        let reached = Paths::of_play(self, root, side);
        let is_other = |node: &Node| !self.is_turn_of(side, *node);
        reached.reached().iter().copied().filter(is_other).collect()
    }

    /// What is covered of games that were played in positions [`of_other_side`](Self::of_other_side). A
    /// line that ends is covered: moves of the position where it ends are no gaps. Moves that were
    /// played in fewer than `min_games` games are not told.
    pub fn coverage(
        &self,
        root: &Position,
        side: Color,
        tallies: &HashMap<Node, TallyPart>,
        min_games: u64,
    ) -> Coverage {
        let paths = Paths::of_play(self, root, side);
        let played: HashMap<Node, Vec<Played>> =
            tallies.iter().map(|(&node, tally)| (node, self.played(node, tally))).collect();
        let known = played.values().any(|moves| !moves.is_empty());
        let lost = self.find(root).map(|root| self.lost(root, side, &played)).unwrap_or_default();
        let all = lost.values().sum::<f64>();
        let mut unanswered = Vec::new();
        for &node in paths.reached().iter().filter(|&&node| self.goes_on(node)) {
            let gaps = played.get(&node).into_iter().flatten();
            for one in gaps.filter(|one| one.end == End::Unanswered && one.games >= min_games) {
                let share = lost.get(&(node, one.mv)).copied().unwrap_or(0.0);
                let (games, share) = (Some(one.games), Some(share));
                let finding = self.finding(Part::Unanswered, node, &paths);
                unanswered.push(Finding { mv: Some(one.san), games, share, ..finding });
            }
        }
        unanswered.sort_by_key(|finding| Reverse(finding.games));
        Coverage { unanswered, share: known.then_some(1.0 - all) }
    }

    fn goes_on(&self, node: Node) -> bool {
        self.candidates(node).next().is_some()
    }

    fn played(&self, node: Node, tally: &TallyPart) -> Vec<Played> {
        let position = &self.place(node).position;
        let played = |one: &MoveTally| {
            let end = self.end_of(&after(position, one.mv));
            Played { mv: one.mv, san: one.san, games: one.counts.games(), end }
        };
        tally.moves.iter().map(played).collect()
    }

    fn end_of(&self, position: &Position) -> End {
        let is_over = Playable::new(position).is_ok_and(|playable| !playable.has_move());
        match self.find(position) {
            Some(node) if is_over || self.goes_on(node) => End::Answered(node),
            _ => End::Unanswered,
        }
    }

    /// The share of all games that each unanswered move takes out of the repertoire.
    fn lost(
        &self,
        root: Node,
        side: Color,
        played: &HashMap<Node, Vec<Played>>,
    ) -> BTreeMap<(Node, Move), f64> {
        let mut lost: BTreeMap<(Node, Move), f64> = BTreeMap::new();
        let mut now = BTreeMap::from([(root, 1.0)]);
        for _ in 0..MOST_PLIES {
            let mut next: BTreeMap<Node, f64> = BTreeMap::new();
            for (&node, &share) in &now {
                if self.is_turn_of(side, node) {
                    let candidates = self.candidates(node).count() as f64;
                    for branch in self.candidates(node) {
                        *next.entry(branch.to).or_default() += share / candidates;
                    }
                    continue;
                }
                let moves = played.get(&node).map(Vec::as_slice).unwrap_or_default();
                let all = moves.iter().map(|one| one.games).sum::<u64>() as f64;
                for one in moves {
                    let share = share * one.games as f64 / all;
                    match one.end {
                        End::Answered(node) => *next.entry(node).or_default() += share,
                        End::Unanswered if self.goes_on(node) => {
                            *lost.entry((node, one.mv)).or_default() += share;
                        }
                        End::Unanswered => {}
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            now = next;
        }
        lost
    }
}
