//! Minimax over a graph of positions, which is exact for moves in circles too.
//!
//! Play that never ends is a draw. So a side can reach some value above zero exactly if it can force
//! the play into a position of that value. The positions are therefore settled backwards, the values
//! furthest from zero first:
//!
//! - A move to a settled position that is good for the mover settles the position before it: all
//!   better values are settled already.
//! - A move that is bad for the mover is counted off. The last one, which is the least bad, gives the
//!   value if no other is left.
//! - Positions that are never settled have value zero: neither side can force anything better.
//!
//! Mates work the same way, since each ply brings them one nearer to zero. Every move is visited once.
//! The values are the fixed point of repeated minimax over all positions, starting from zero.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::graph::hang_on_repetition;
use super::graph::{Graph, GraphError, Known, Node, Parents};
use crate::model::score::child_to_parent;

/// The use of the own score of a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum OwnScores {
    /// A lower bound for the moves whose value is unknown.
    #[default]
    LowerBound,
    /// The value if no move has one: plain minimax.
    Replaced,
}

/// The origin of the value of a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// No value.
    Unknown,
    /// Its own score.
    Own,
    /// The rules of chess.
    Fact,
    /// The best move.
    Move,
    /// The best move, which repeats positions: one side has no other way to a draw.
    Repetition,
}

/// The values of all positions of a graph.
#[derive(Clone, Debug)]
pub struct Solution {
    values: Vec<i16>,
    origins: Vec<Origin>,
    distances: Vec<u32>,
}

impl Solution {
    /// Memory of a position during the solving, besides the graph, in bytes.
    pub(super) const NODE_BYTES: usize = 40;
    /// Memory of a move during the solving, besides the graph, in bytes.
    pub(super) const EDGE_BYTES: usize = size_of::<Node>();

    /// The value of a position as `ce`, relative to the side to move; `None` if unknown.
    pub fn value(&self, node: Node) -> Option<i16> {
        (self.origin(node) != Origin::Unknown).then(|| self.values[node as usize])
    }

    /// The origin of the value.
    pub fn origin(&self, node: Node) -> Origin {
        self.origins[node as usize]
    }

    /// Whether the move to `target` gives `node` its value and leads towards the origin of the
    /// value.
    pub(super) fn is_best(&self, node: Node, target: Node) -> bool {
        let (value, known) = (self.values[node as usize], self.value(target));
        let nearer = || self.distances[target as usize] + 1 == self.distances[node as usize];
        known.map(seen_before) == Some(value) && (!is_plain(value) || nearer())
    }
}

/// Whether a value is neither a mate nor a draw.
const fn is_plain(value: i16) -> bool {
    value != 0 && value.unsigned_abs() <= MAX_PLAIN
}

const MAX_PLAIN: u16 = 32_000;

/// The value for the side that moves there.
fn seen_before(value: i16) -> i16 {
    // All values of a graph belong to legal positions.
    let before = child_to_parent(value.into()).ok().flatten();
    before.and_then(|before| i16::try_from(before).ok()).unwrap_or_default()
}

/// The values of all positions.
///
/// # Errors
/// A move leads out of the graph, or a mate is too long for `ce`.
///
/// ```
/// use epdb::library::backsolve::{Graph, Known, Origin, OwnScores, solve};
/// let mut graph = Graph::new();
/// let start = graph.add(Known::Nothing, 20, &[1, 2])?;
/// graph.add(Known::Score(30), 20, &[])?;
/// graph.add(Known::Score(-10), 20, &[])?;
/// let solution = solve(&graph, OwnScores::LowerBound)?;
/// assert_eq!((solution.value(start), solution.origin(start)), (Some(10), Origin::Move));
/// # Ok::<(), epdb::library::backsolve::GraphError>(())
/// ```
pub fn solve(graph: &Graph, own_scores: OwnScores) -> Result<Solution, GraphError> {
    graph.check_targets()?;
    let parents = Parents::new(graph);
    let mut solver = Solver::new(graph, &parents, own_scores);
    solver.settle_all()?;
    let Solver { states, own, values, distances, .. } = solver;
    let mut origins: Vec<Origin> = graph
        .nodes()
        .map(|node| {
            let at = node as usize;
            match (states[at], graph.known(node)) {
                (State::Unknown, _) => Origin::Unknown,
                (_, Known::Fact(_)) => Origin::Fact,
                _ if own[at] == Some(values[at]) => Origin::Own,
                _ => Origin::Move,
            }
        })
        .collect();
    let is_zero =
        |node: Node| origins[node as usize] != Origin::Unknown && values[node as usize] == 0;
    let ends_itself = |node: Node| own[node as usize] == Some(0);
    for node in hang_on_repetition(graph, &parents, is_zero, ends_itself) {
        if origins[node as usize] == Origin::Move {
            origins[node as usize] = Origin::Repetition;
        }
    }
    Ok(Solution { values, origins, distances })
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum State {
    /// No known value can be reached.
    Unknown,
    Open,
    Settled,
}

struct Solver<'g> {
    graph: &'g Graph,
    parents: &'g Parents,
    states: Vec<State>,
    /// The own value of the position, as far as it counts.
    own: Vec<Option<i16>>,
    /// Number of moves with a value, and of own values, that are not counted off as bad.
    left: Vec<u32>,
    values: Vec<i16>,
    /// Plies to the origin of the value; 0 for mates, whose value shows the distance.
    distances: Vec<u32>,
}

impl<'g> Solver<'g> {
    fn new(graph: &'g Graph, parents: &'g Parents, own_scores: OwnScores) -> Solver<'g> {
        let (states, mut left) = find_unknown(graph, parents);
        let mut own = Vec::with_capacity(graph.len());
        for node in graph.nodes() {
            let left = &mut left[node as usize];
            let bounds = own_scores == OwnScores::LowerBound && graph.legal_moves(node) > *left;
            own.push(match graph.known(node) {
                Known::Fact(value) => Some(value),
                Known::Score(value) if *left == 0 || bounds => Some(value),
                Known::Score(_) | Known::Nothing => None,
            });
            *left += u32::from(own[node as usize].is_some());
        }
        let (values, distances) = (vec![0; graph.len()], vec![0; graph.len()]);
        Solver { graph, parents, states, own, left, values, distances }
    }

    /// Settles the values above or below zero.
    fn settle_all(&mut self) -> Result<(), GraphError> {
        let size_of_own =
            |own: &[Option<i16>], node: Node| own[node as usize].map(i16::unsigned_abs);
        let mut by_size: Vec<Node> = self.graph.nodes().collect();
        by_size.retain(|&node| size_of_own(&self.own, node).is_some_and(|size| size > 0));
        by_size.sort_unstable_by_key(|&node| Reverse(size_of_own(&self.own, node)));
        let mut by_size = by_size.into_iter().peekable();
        let (mut now, mut later) = (VecDeque::new(), Vec::new());
        for size in (1..=i16::MAX.unsigned_abs()).rev() {
            now.extend(later.drain(..));
            while let Some(node) =
                by_size.next_if(|&node| size_of_own(&self.own, node) == Some(size))
            {
                let own = self.own[node as usize].unwrap_or_default();
                if self.offer(node, own, 0)? {
                    self.queue(node, size, &mut now, &mut later);
                }
            }
            while let Some(node) = now.pop_front() {
                let value = seen_before(self.values[node as usize]);
                let distance = if is_plain(value) { self.distances[node as usize] + 1 } else { 0 };
                for &parent in self.parents.get(node) {
                    if self.offer(parent, value, distance)? {
                        self.check_mates(parent)?;
                        self.queue(parent, size, &mut now, &mut later);
                    }
                }
            }
        }
        Ok(())
    }

    /// Queues a settled position until the turn of its value for its parents.
    fn queue(&self, node: Node, size: u16, now: &mut VecDeque<Node>, later: &mut Vec<Node>) {
        if seen_before(self.values[node as usize]).unsigned_abs() == size {
            now.push_back(node);
        } else {
            later.push(node);
        }
    }

    /// Offers a position the value of one of its moves, or its own score; nothing better will
    /// follow. Returns whether that settled it.
    fn offer(&mut self, node: Node, value: i16, distance: u32) -> Result<bool, GraphError> {
        let at = node as usize;
        if self.states[at] != State::Open {
            return Ok(false);
        }
        if value < 0 {
            self.left[at] -= 1;
            if self.left[at] > 0 {
                return Ok(false);
            }
        }
        (self.states[at], self.values[at], self.distances[at]) = (State::Settled, value, distance);
        Ok(true)
    }

    /// Refuses a mate that is one ply longer than a value can express.
    fn check_mates(&self, node: Node) -> Result<(), GraphError> {
        let value = self.values[node as usize];
        let is_furthest = |target: &Node| {
            let (state, target) = (self.states[*target as usize], self.values[*target as usize]);
            state == State::Settled
                && target.unsigned_abs() > MAX_PLAIN
                && seen_before(target) == value
        };
        let is_limit = value.unsigned_abs() == MAX_PLAIN;
        if is_limit && self.graph.targets(node).iter().any(is_furthest) {
            return Err(GraphError::MateTooFar);
        }
        Ok(())
    }
}

/// Finds the positions with a value, and counts their moves to such positions. A position has no
/// value if nothing is known of it and its moves lead only to such positions. Moves in a circle
/// lead to a draw.
fn find_unknown(graph: &Graph, parents: &Parents) -> (Vec<State>, Vec<u32>) {
    let mut left: Vec<u32> = graph.nodes().map(|node| graph.targets(node).len() as u32).collect();
    let mut states = vec![State::Open; graph.len()];
    let is_unknown =
        |node: Node, left: &[u32]| left[node as usize] == 0 && graph.known(node) == Known::Nothing;
    let mut unknown: Vec<Node> = graph.nodes().filter(|&node| is_unknown(node, &left)).collect();
    while let Some(node) = unknown.pop() {
        states[node as usize] = State::Unknown;
        for &parent in parents.get(node) {
            left[parent as usize] -= 1;
            if is_unknown(parent, &left) {
                unknown.push(parent);
            }
        }
    }
    (states, left)
}
