//! Minimax over a graph of positions, exact also where moves lead in circles.
//!
//! Play that never ends is a draw. Then a side can have at least some value above zero exactly if it
//! can force the play into a position that has it; and so the positions are settled backwards, those
//! whose values are furthest from zero first:
//!
//! - A move to a settled position that is good for the mover settles the position it comes from: all
//!   better values are settled already.
//! - A move that is bad for the mover is counted off; when no other is left, the last one, which is
//!   the least bad, gives the value.
//! - What is never settled is worth zero: neither side can force anything better.
//!
//! Mates go the same way, since each ply brings them one nearer to zero. Every move is looked at once.
//! The values are those to which the repeated minimax of all positions, begun from zero, comes to
//! rest.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::graph::hang_on_repetition;
use super::graph::{Graph, GraphError, Known, Node, Parents};
use crate::model::score::child_to_parent;

/// What of a position's own score counts.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum OwnScores {
    /// It is a lower bound for what moves are worth whose value is not known.
    #[default]
    LowerBound,
    /// It counts only where no move has a value: plain minimax.
    Replaced,
}

/// Where the value of a position is from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It has none.
    Unknown,
    /// Its own score.
    Own,
    /// The rules of chess.
    Fact,
    /// The best move.
    Move,
    /// The best move, which is to repeat positions: one of the sides has no other way to a draw.
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
    /// The bytes that a position takes while a graph is solved, the graph aside.
    pub(super) const NODE_BYTES: usize = 40;
    /// The bytes that a move takes while a graph is solved, the graph aside.
    pub(super) const EDGE_BYTES: usize = size_of::<Node>();

    /// The value of a position as `ce`, seen by the side to move; `None` where nothing is known.
    pub fn value(&self, node: Node) -> Option<i16> {
        (self.origin(node) != Origin::Unknown).then(|| self.values[node as usize])
    }

    /// Where the value is from.
    pub fn origin(&self, node: Node) -> Origin {
        self.origins[node as usize]
    }

    /// Whether the move to `target` gives `node` its value, and brings the play nearer to where that
    /// is from.
    pub(super) fn is_best(&self, node: Node, target: Node) -> bool {
        let (value, known) = (self.values[node as usize], self.value(target));
        let nearer = || self.distances[target as usize] + 1 == self.distances[node as usize];
        known.map(seen_before) == Some(value) && (!is_plain(value) || nearer())
    }
}

/// Whether a value says neither a mate nor a draw.
const fn is_plain(value: i16) -> bool {
    value != 0 && value.unsigned_abs() <= LARGEST_PLAIN
}

const LARGEST_PLAIN: u16 = 32_000;

/// What a value is worth to the side that moves into it.
fn seen_before(value: i16) -> i16 {
    // All values of a graph are of legal positions.
    let before = child_to_parent(value.into()).ok().flatten();
    before.and_then(|before| i16::try_from(before).ok()).unwrap_or_default()
}

/// The values of all positions.
///
/// # Errors
/// A move leads out of the graph, or a mate is too far away for `ce`.
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
    /// Nothing that is known can be reached.
    Unknown,
    Open,
    Settled,
}

struct Solver<'g> {
    graph: &'g Graph,
    parents: &'g Parents,
    states: Vec<State>,
    /// What the position is worth by itself, as far as that counts.
    own: Vec<Option<i16>>,
    /// How many moves with a value, and values of its own, are not counted off as bad.
    left: Vec<u32>,
    values: Vec<i16>,
    /// Plies to the position that the value is from; of mates, which tell that themselves, 0.
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

    /// Settles what is worth more or less than zero.
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
                for &parent in self.parents.of(node) {
                    if self.offer(parent, value, distance)? {
                        self.check_mates(parent)?;
                        self.queue(parent, size, &mut now, &mut later);
                    }
                }
            }
        }
        Ok(())
    }

    /// Has a position that was settled looked at when what it is worth to its parents is due.
    fn queue(&self, node: Node, size: u16, now: &mut VecDeque<Node>, later: &mut Vec<Node>) {
        if seen_before(self.values[node as usize]).unsigned_abs() == size {
            now.push_back(node);
        } else {
            later.push(node);
        }
    }

    /// Tells a position what one of its moves, or its own score, is worth: nothing better will come.
    /// Whether that settled it.
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

    /// Refuses a value that should say a mate one ply further away than a value can.
    fn check_mates(&self, node: Node) -> Result<(), GraphError> {
        let value = self.values[node as usize];
        let is_furthest = |target: &Node| {
            let (state, target) = (self.states[*target as usize], self.values[*target as usize]);
            state == State::Settled
                && target.unsigned_abs() > LARGEST_PLAIN
                && seen_before(target) == value
        };
        let is_limit = value.unsigned_abs() == LARGEST_PLAIN;
        if is_limit && self.graph.targets(node).iter().any(is_furthest) {
            return Err(GraphError::MateTooFar);
        }
        Ok(())
    }
}

/// Which positions have a value, and how many moves of each lead to one that has: no value have those
/// of which nothing is known and whose moves lead nowhere else. Moves in a circle lead to a draw.
fn find_unknown(graph: &Graph, parents: &Parents) -> (Vec<State>, Vec<u32>) {
    let mut left: Vec<u32> = graph.nodes().map(|node| graph.targets(node).len() as u32).collect();
    let mut states = vec![State::Open; graph.len()];
    let is_unknown =
        |node: Node, left: &[u32]| left[node as usize] == 0 && graph.known(node) == Known::Nothing;
    let mut unknown: Vec<Node> = graph.nodes().filter(|&node| is_unknown(node, &left)).collect();
    while let Some(node) = unknown.pop() {
        states[node as usize] = State::Unknown;
        for &parent in parents.of(node) {
            left[parent as usize] -= 1;
            if is_unknown(parent, &left) {
                unknown.push(parent);
            }
        }
    }
    (states, left)
}
