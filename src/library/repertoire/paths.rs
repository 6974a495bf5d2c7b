//! How positions are reached.

use std::collections::VecDeque;

use super::graph::{Node, Repertoire};
use crate::model::rules::{Move, Playable, after};
use crate::model::{Color, Position, San};
use crate::text::san;

/// A shortest way to each position that is reached.
#[derive(Clone, Debug)]
pub struct Paths {
    /// For each position how it is reached; `None` where it is not.
    last: Vec<Option<Last>>,
    /// The positions in the order in which they are reached.
    reached: Vec<Node>,
}

/// The last move of a way.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Last {
    /// None: the way begins here.
    Root,
    Move(Node, Move),
}

impl Paths {
    /// No way but that to the position where all begin.
    fn from(repertoire: &Repertoire, root: Node) -> Paths {
        let mut last = vec![None; repertoire.len()];
        last[root as usize] = Some(Last::Root);
        Paths { last, reached: vec![root] }
    }

    /// What a side may come to that plays candidates, whatever the other side plays. Nothing where the
    /// repertoire does not have the position that it begins with.
    pub fn of_play(repertoire: &Repertoire, root: &Position, side: Color) -> Paths {
        let Some(root) = repertoire.find(root) else {
            return Paths { last: vec![None; repertoire.len()], reached: Vec::new() };
        };
        let mut paths = Paths::from(repertoire, root);
        let mut next = 0;
        while let Some(&node) = paths.reached.get(next) {
            next += 1;
            for branch in repertoire.candidates(node) {
                paths.reach(branch.to, node, branch.mv);
            }
            if !repertoire.is_turn_of(side, node) {
                paths.reach_by_any_move(repertoire, node);
            }
        }
        paths
    }

    /// All to which branches lead, those marked as bad too.
    pub fn of_branches(repertoire: &Repertoire, root: &Position) -> Paths {
        let Some(root) = repertoire.find(root) else {
            return Paths { last: vec![None; repertoire.len()], reached: Vec::new() };
        };
        let mut paths = Paths::from(repertoire, root);
        let mut next = 0;
        while let Some(&node) = paths.reached.get(next) {
            next += 1;
            for branch in &repertoire.place(node).branches {
                paths.reach(branch.to, node, branch.mv);
            }
        }
        paths
    }

    /// A way on which the lines go on: a line that ends since its position goes on elsewhere is only
    /// followed where no other leads there.
    pub(super) fn of_lines(repertoire: &Repertoire, root: Node) -> Paths {
        let mut paths = Paths::from(repertoire, root);
        let (mut next, mut ends) = (0, VecDeque::new());
        loop {
            while let Some(&node) = paths.reached.get(next) {
                next += 1;
                for branch in &repertoire.place(node).branches {
                    match repertoire.is_transposition(branch) {
                        true => ends.push_back((branch.to, node, branch.mv)),
                        false => paths.reach(branch.to, node, branch.mv),
                    }
                }
            }
            match ends.pop_front() {
                Some((to, node, mv)) => paths.reach(to, node, mv),
                None => return paths,
            }
        }
    }

    /// The other side may play anything, also what leads to a known position by another way.
    fn reach_by_any_move(&mut self, repertoire: &Repertoire, node: Node) {
        let position = &repertoire.place(node).position;
        let Ok(playable) = Playable::new(position) else { return };
        playable.each_move(|mv| {
            if let Some(to) = repertoire.find(&after(position, mv)) {
                self.reach(to, node, mv);
            }
            true
        });
    }

    fn reach(&mut self, node: Node, from: Node, mv: Move) {
        let last = &mut self.last[node as usize];
        if last.is_none() {
            *last = Some(Last::Move(from, mv));
            self.reached.push(node);
        }
    }

    /// The positions that are reached, those of the fewest moves first.
    pub fn reached(&self) -> &[Node] {
        &self.reached
    }

    /// Whether a position is reached.
    pub fn reaches(&self, node: Node) -> bool {
        self.last[node as usize].is_some()
    }

    /// Whether the way to a position ends with this move from there.
    pub(super) fn ends_with(&self, node: Node, from: Node, mv: Move) -> bool {
        self.last[node as usize] == Some(Last::Move(from, mv))
    }

    /// The moves of the way to a position that is reached.
    pub fn line(&self, repertoire: &Repertoire, node: Node) -> Vec<San> {
        let (mut line, mut node) = (Vec::new(), node);
        while let Some(Last::Move(from, mv)) = self.last[node as usize] {
            let position = &repertoire.place(from).position;
            line.extend(Playable::new(position).map(|playable| san::format(&playable, mv)));
            node = from;
        }
        line.reverse();
        line
    }
}

/// Moves with their numbers, as a game has them that begins with this side: `1. e4 e5 2. Nf3`.
pub fn numbered(begins: Color, moves: &[San]) -> String {
    let black_began = usize::from(begins == Color::Black);
    let mut text = String::new();
    for (place, mv) in moves.iter().enumerate() {
        let ply = place + black_began;
        let gap = if place == 0 { "" } else { " " };
        text += &match (ply % 2, place) {
            (0, _) => format!("{gap}{}. {mv}", ply / 2 + 1),
            (_, 0) => format!("{}... {mv}", ply / 2 + 1),
            _ => format!(" {mv}"),
        };
    }
    text
}
