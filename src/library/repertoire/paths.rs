//! Lines that lead to the positions of a repertoire.

use std::collections::{HashSet, VecDeque};

use super::graph::{Node, Repertoire};
use epdb_chess::model::rules::{Move, Playable, after};
use epdb_chess::model::{Color, Position, San};
use epdb_chess::text::san;

/// The positions that lines reach, and a shortest line to each.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The last step of the line to each position; `None` if no line reaches the position.
    last: Vec<Option<Last>>,
    /// The reached positions, in the order in which they were reached.
    reached: Vec<Node>,
}

/// The last move of a line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Last {
    /// No move: the line begins with this position.
    Root,
    Move(Node, Move),
}

impl Paths {
    /// No lines: no position is reached.
    fn none(repertoire: &Repertoire) -> Paths {
        Paths { last: vec![None; repertoire.len()], reached: Vec::new() }
    }

    /// Only `root` is reached, by a line without moves.
    fn from(repertoire: &Repertoire, root: Node) -> Paths {
        let mut paths = Paths::none(repertoire);
        paths.begin(root);
        paths
    }

    /// Begins lines at `root`, unless a line already reaches it.
    fn begin(&mut self, root: Node) {
        if self.last[root as usize].is_none() {
            self.last[root as usize] = Some(Last::Root);
            self.reached.push(root);
        }
    }

    /// The positions that `side` can reach by its candidates, whatever the other side plays. Lines
    /// begin at the first root that the repertoire has, then at each later root that no line
    /// reaches.
    pub fn from_play(repertoire: &Repertoire, roots: &[Position], side: Color) -> Paths {
        Paths::from_roots(repertoire, roots, |paths, node| {
            for branch in repertoire.candidates(node) {
                paths.reach(branch.to, node, branch.mv);
            }
            if !repertoire.is_turn_of(side, node) {
                paths.reach_by_any_move(repertoire, node);
            }
        })
    }

    /// All positions that the moves of the repertoire lead to, including moves marked as bad.
    pub fn from_branches(repertoire: &Repertoire, roots: &[Position]) -> Paths {
        Paths::from_roots(repertoire, roots, |paths, node| {
            for branch in &repertoire.place(node).branches {
                paths.reach(branch.to, node, branch.mv);
            }
        })
    }

    /// Number of positions that are not reached. Positions without moves to which others lead do not count.
    pub fn unreached(&self, repertoire: &Repertoire) -> usize {
        let branches = |node| &repertoire.place(node).branches;
        let targets: HashSet<Node> =
            repertoire.nodes().flat_map(branches).map(|branch| branch.to).collect();
        let is_end = |node: &Node| branches(*node).is_empty() && targets.contains(node);
        repertoire.nodes().filter(|node| !self.reaches(*node) && !is_end(node)).count()
    }

    fn from_roots(
        repertoire: &Repertoire,
        roots: &[Position],
        follow: impl Fn(&mut Paths, Node),
    ) -> Paths {
        let mut paths = Paths::none(repertoire);
        let mut next = 0;
        for root in roots.iter().filter_map(|root| repertoire.find(root)) {
            paths.begin(root);
            while let Some(&node) = paths.reached.get(next) {
                next += 1;
                follow(&mut paths, node);
            }
        }
        paths
    }

    /// Reaches positions by the lines in which they continue. A line may end with a position that continues
    /// in another line. Such a line is followed only if no other line reaches the position.
    pub(super) fn from_lines(repertoire: &Repertoire, root: Node) -> Paths {
        let mut paths = Paths::from(repertoire, root);
        let mut next = 0;
        let mut ends = VecDeque::new();
        loop {
            while let Some(&node) = paths.reached.get(next) {
                next += 1;
                for branch in &repertoire.place(node).branches {
                    if repertoire.is_transposition(branch) {
                        ends.push_back((branch.to, node, branch.mv))
                    } else {
                        paths.reach(branch.to, node, branch.mv)
                    }
                }
            }
            match ends.pop_front() {
                Some((to, node, mv)) => paths.reach(to, node, mv),
                None => return paths,
            }
        }
    }

    /// Reaches the positions of the repertoire to which any legal move leads, because the other
    /// side may play a move that transposes.
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

    /// The reached positions. For each root, those with the fewest moves come first.
    pub fn reached(&self) -> &[Node] {
        &self.reached
    }

    /// Whether a position is reached.
    pub fn reaches(&self, node: Node) -> bool {
        self.last[node as usize].is_some()
    }

    /// Whether the line to `node` ends with the move `mv` from the position `from`.
    pub(super) fn ends_with(&self, node: Node, from: Node, mv: Move) -> bool {
        self.last[node as usize] == Some(Last::Move(from, mv))
    }

    /// The root of the line to a reached position.
    pub fn root(&self, node: Node) -> Node {
        let mut node = node;
        while let Some(Last::Move(from, _)) = self.last[node as usize] {
            node = from;
        }
        node
    }

    /// The moves of the line to a reached position.
    pub fn line(&self, repertoire: &Repertoire, node: Node) -> Vec<San> {
        let mut line = Vec::new();
        let mut node = node;
        while let Some(Last::Move(from, mv)) = self.last[node as usize] {
            let position = &repertoire.place(from).position;
            line.extend(Playable::new(position).map(|playable| san::format(&playable, mv)));
            node = from;
        }
        line.reverse();
        line
    }
}

/// Writes moves with move numbers, such as `1. e4 e5 2. Nf3`, for a game in which the side `begins`
/// moves first.
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
