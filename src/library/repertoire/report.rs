//! What is missing in a repertoire, and what is too much.

use super::graph::{Branch, Node, Repertoire};
use super::paths::Paths;
use crate::model::rules::{Playable, after};
use crate::model::{Color, Position, San};
use crate::text::san;

/// What a finding is about.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// A position with more than one candidate of the own side: `moves`.
    Choice,
    /// A move `mv` of the other side, played in a library, that leads nowhere; `moves` lead on.
    Unanswered,
    /// A position without a candidate and without an evaluation.
    Leaf,
    /// A position that is not reached.
    Unreached,
    /// Games in which the own side played `mv` in place of the candidates `moves`.
    OwnMove,
    /// Games in which the other side played `mv`, which leads nowhere; `moves` lead on.
    OtherMove,
    /// Games that went on with `mv` where a line ends.
    LineEnd,
}

/// Something about a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// What it is.
    pub part: Part,
    /// The position.
    pub position: Position,
    /// A way to it; `None` where there is none.
    pub line: Option<Vec<San>>,
    /// The move that was played there.
    pub mv: Option<San>,
    /// The moves of the repertoire.
    pub moves: Vec<San>,
    /// In how many games.
    pub games: Option<u64>,
    /// In which share of all games, 0 to 1, if the own side plays each of its candidates as often as
    /// the others and the other side as in the library.
    pub share: Option<f64>,
    /// Where the first of the games is.
    pub first: Option<String>,
}

impl Repertoire {
    /// Choices, leaves and what is not reached, each in the order of the positions. What is only
    /// reached by moves that are marked as bad is not told: nobody is to come there.
    pub fn report(&self, side: Color, root: &Position) -> Vec<Finding> {
        let paths = Paths::of_play(self, root, side);
        let branches = Paths::of_branches(self, root);
        let is_choice =
            |node: &Node| self.is_turn_of(side, *node) && self.candidates(*node).count() > 1;
        let choices = paths.reached().iter().copied().filter(is_choice);
        let leaves = paths.reached().iter().copied().filter(|&node| self.is_leaf(side, node));
        let unreached =
            self.nodes().filter(|&node| !paths.reaches(node) && !branches.reaches(node));
        let finding = |part, node| self.finding(part, node, &paths);
        let choices = choices.map(|node| finding(Part::Choice, node));
        let leaves = leaves.map(|node| finding(Part::Leaf, node));
        choices.chain(leaves).chain(unreached.map(|node| finding(Part::Unreached, node))).collect()
    }

    /// Whether a position has nothing behind it and no judgement, though moves could be made.
    fn is_leaf(&self, side: Color, node: Node) -> bool {
        let place = self.place(node);
        let is_judged = place.evaluation.is_some() || !place.nags.is_empty();
        if is_judged || self.candidates(node).next().is_some() {
            return false;
        }
        let Ok(playable) = Playable::new(&place.position) else { return false };
        let (mut has_move, mut goes_on) = (false, false);
        let is_own = place.position.turn() == side;
        playable.each_move(|mv| {
            has_move = true;
            goes_on = !is_own && self.find(&after(&place.position, mv)).is_some();
            !is_own && !goes_on
        });
        has_move && !goes_on
    }

    /// What there is to say of a position by itself.
    pub(super) fn finding(&self, part: Part, node: Node, paths: &Paths) -> Finding {
        let position = self.place(node).position;
        let line = paths.reaches(node).then(|| paths.line(self, node));
        let moves = self.names(node, self.candidates(node));
        Finding { part, position, line, mv: None, moves, games: None, share: None, first: None }
    }

    /// The names of moves of a position.
    fn names<'r>(&self, node: Node, branches: impl Iterator<Item = &'r Branch>) -> Vec<San> {
        let playable = Playable::new(&self.place(node).position);
        let name = |branch: &Branch| Some(san::format(playable.as_ref().ok()?, branch.mv));
        branches.filter_map(name).collect()
    }
}
