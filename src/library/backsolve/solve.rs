//! Minimax over a graph of positions. It is exact even if moves lead in circles.
//!
//! Play that never ends is a draw. So a side gets a value above zero exactly if it can force the play into a
//! position of that value. The positions are therefore settled backwards, the values furthest from zero
//! first:
//!
//! - If a move leads to a settled position and is good for the mover, the move settles the position
//!   before it. All better values are settled already.
//! - A move that is bad for the mover is counted off. If all moves of a position are counted off,
//!   the last of them gives the value, because it is the least bad.
//! - Positions that are never settled have value zero, because neither side can force anything
//!   better.
//!
//! Mates work the same way, because each ply brings their values one nearer to zero. Every move is
//! visited once. The values are the fixed point of repeated minimax over all positions, starting
//! from zero.

use super::cell::{Cell, Known, MAX_PLAIN, Origin, is_plain, seen_before};
use super::graph::{Graph, GraphError, Moves, Node};
use super::pages::{Access, List};
use crate::ordered::changed;
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::error::Result;

/// Treatment of a position's own score.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum OwnScores {
    /// The own score is a lower bound of the value while moves with unknown values are left.
    #[default]
    LowerBound,
    /// The own score is the value only if no move has a value: plain minimax.
    Replaced,
}

/// The values of all positions of a graph.
#[derive(Debug)]
pub struct Solution {
    pub(super) graph: Graph,
}

impl Solution {
    /// The value of a position as `ce`, relative to the side to move; `None` if unknown.
    ///
    /// # Errors
    /// The temporary file cannot be read or written.
    pub fn value(&mut self, node: Node) -> Result<Option<i16>> {
        Ok(self.graph.cell(node)?.value())
    }

    /// The origin of the value.
    ///
    /// # Errors
    /// The temporary file cannot be read or written.
    pub fn origin(&mut self, node: Node) -> Result<Origin> {
        Ok(self.graph.cell(node)?.origin())
    }
}

/// Computes the values of all positions.
///
/// # Errors
/// A move leads out of the graph, a mate is too long for `ce`, or the temporary file cannot be
/// written.
///
/// ```
/// use epdb_library::backsolve::{Graph, Known, Origin, OwnScores, solve};
/// let mut graph = Graph::new();
/// let start = graph.add(Known::Nothing, 20, &[1, 2])?;
/// graph.add(Known::Score(30), 20, &[])?;
/// graph.add(Known::Score(-10), 20, &[])?;
/// let mut solution = solve(graph, OwnScores::LowerBound)?;
/// assert_eq!((solution.value(start)?, solution.origin(start)?), (Some(10), Origin::Move));
/// # Ok::<(), epdb_chess::Error>(())
/// ```
pub fn solve(mut graph: Graph, own_scores: OwnScores) -> Result<Solution> {
    graph.check_targets()?;
    let parents = graph.parents()?;
    let mut solver = Solver { graph, parents };
    loop {
        solver.find_unknown()?;
        let by_size = solver.count_own_scores(own_scores)?;
        // A position that turns out to be unknown may leave others without a proof.
        if solver.settle_all(by_size)? {
            break;
        }
    }
    let Solver { mut graph, parents } = solver;
    mark_repetitions(&mut graph, &parents)?;
    parents.free(&mut graph.pages);
    Ok(Solution { graph })
}

struct Solver {
    graph: Graph,
    parents: Moves,
}

impl Solver {
    /// Finds the positions without a value. For each other position, counts the moves that lead to
    /// positions with a value. A position has no value if nothing is known of it and its moves lead
    /// only to positions without a value. Positions in a circle of moves have a value, because the
    /// circle is a draw.
    fn find_unknown(&mut self) -> Result<()> {
        let Solver { graph, parents } = self;
        let mut unknown = List::new(Access::InOrder);
        for node in graph.nodes() {
            let moves = graph.moves.places(&mut graph.pages, node)?.len();
            let cell = graph.cell_mut(node)?;
            cell.restart();
            // There are no more moves than indices.
            cell.left = moves as u32;
            if cell.becomes_unknown() {
                cell.set(Cell::UNKNOWN);
                unknown.push(&mut graph.pages, node)?;
            }
        }
        let mut next = 0;
        let mut before = Vec::new();
        while next < unknown.len() {
            let node = unknown.get(&mut graph.pages, next)?;
            next += 1;
            parents.read(&mut graph.pages, node, &mut before)?;
            for &parent in &before {
                let cell = graph.cell_mut(parent)?;
                cell.left -= 1;
                if cell.becomes_unknown() {
                    cell.set(Cell::UNKNOWN);
                    unknown.push(&mut graph.pages, parent)?;
                }
            }
        }
        unknown.free(&mut graph.pages);
        Ok(())
    }

    /// Marks the positions whose own values count: values that were not carried back from later
    /// positions. Returns the values that count and are not zero, the largest first.
    fn count_own_scores(&mut self, own_scores: OwnScores) -> Result<Sorted> {
        let graph = &mut self.graph;
        let memory_bytes = graph.pages.memory_bytes() / 16;
        let mut by_size = Sorter::new(graph.pages.directory(), memory_bytes);
        for node in graph.nodes() {
            let cell = graph.cell_mut(node)?;
            let is_open = u32::from(cell.legal_moves) > cell.left;
            let bounds = own_scores == OwnScores::LowerBound || cell.is(Cell::UNPROVEN);
            let value = match cell.known() {
                Known::Fact(value) => value,
                Known::Score(value) if cell.left == 0 || is_open && bounds => value,
                Known::Score(_) | Known::Nothing => {
                    if is_open {
                        cell.left += 1;
                        cell.set(Cell::OPEN);
                    }
                    continue;
                }
            };
            cell.left += 1;
            cell.set(Cell::OWN);
            if value != 0 {
                let mut key = [0; 6];
                key[..2].copy_from_slice(&(!value.unsigned_abs()).to_be_bytes());
                key[2..].copy_from_slice(&node.to_be_bytes());
                by_size.push(&key, &value.to_le_bytes())?;
            }
        }
        Ok(by_size.finish()?)
    }

    /// Settles all positions whose value is above or below zero. Returns false if positions turned out
    /// to be without a value, so that everything must be computed again without them.
    fn settle_all(&mut self, mut by_size: Sorted) -> Result<bool> {
        // Settled positions, in the order in which their values are offered to their parents.
        let mut settled = List::new(Access::InOrder);
        let mut next = 0;
        let mut before = Vec::new();
        let mut own = next_own(&mut by_size)?;
        for size in (1..=i16::MAX.unsigned_abs()).rev() {
            if size == MAX_PLAIN && self.find_unproven()? {
                settled.free(&mut self.graph.pages);
                return Ok(false);
            }
            let earlier = settled.len();
            while let Some((node, value)) = own
                && value.unsigned_abs() == size
            {
                if self.offer(node, value, 0)? {
                    settled.push(&mut self.graph.pages, node)?;
                }
                own = next_own(&mut by_size)?;
            }
            // A mate gives the positions before it a smaller value, whose turn comes in the next
            // round.
            loop {
                let end = if size > MAX_PLAIN { earlier } else { settled.len() };
                if next >= end {
                    break;
                }
                let node = settled.get(&mut self.graph.pages, next)?;
                next += 1;
                let cell = self.graph.cell(node)?;
                let value = seen_before(cell.value);
                let distance = if is_plain(value) { cell.distance + 1 } else { 0 };
                self.parents.read(&mut self.graph.pages, node, &mut before)?;
                for &parent in &before {
                    if self.offer(parent, value, distance)? {
                        self.check_mates(parent)?;
                        settled.push(&mut self.graph.pages, parent)?;
                    }
                }
            }
        }
        settled.free(&mut self.graph.pages);
        Ok(true)
    }

    /// Marks the positions in which all moves with a value lose by a mate, while other moves have no
    /// value. Returns whether there are any. The other positions with such moves go on with the moves
    /// that have a value. All mates must be settled.
    fn find_unproven(&mut self) -> Result<bool> {
        let mut found = false;
        for node in self.graph.nodes() {
            let cell = self.graph.cell(node)?;
            if !cell.is(Cell::OPEN) || cell.is(Cell::SETTLED) || cell.is(Cell::UNKNOWN) {
                continue;
            }
            let cell = self.graph.cell_mut(node)?;
            cell.left -= 1;
            if cell.left == 0 {
                cell.set(Cell::UNPROVEN);
                found = true;
            }
        }
        Ok(found)
    }

    /// Offers a position the value of one of its moves, or its own score. No better value will be
    /// offered later. Returns whether the value settled the position.
    fn offer(&mut self, node: Node, value: i16, distance: u32) -> Result<bool> {
        let cell = self.graph.cell_mut(node)?;
        if cell.is(Cell::SETTLED) || cell.is(Cell::UNKNOWN) {
            return Ok(false);
        }
        if value < 0 {
            cell.left -= 1;
            if cell.left > 0 {
                return Ok(false);
            }
        }
        cell.set(Cell::SETTLED);
        cell.value = value;
        cell.distance = distance;
        Ok(true)
    }

    /// Refuses a mate that is one ply longer than a value can express.
    fn check_mates(&mut self, node: Node) -> Result<()> {
        let value = self.graph.cell(node)?.value;
        if value.unsigned_abs() != MAX_PLAIN {
            return Ok(());
        }
        let mut targets = Vec::new();
        self.graph.read_targets(node, &mut targets)?;
        for target in targets {
            let target = self.graph.cell(target)?;
            let is_mate = target.value.unsigned_abs() > MAX_PLAIN;
            if target.is(Cell::SETTLED) && is_mate && seen_before(target.value) == value {
                return Err(GraphError::MateTooFar.into());
            }
        }
        Ok(())
    }
}

/// The next position with an own value, and the value.
fn next_own(by_size: &mut Sorted) -> Result<Option<(Node, i16)>> {
    let Some((key, value)) = by_size.next_entry()? else { return Ok(None) };
    let node = key.last_chunk().ok_or_else(changed)?;
    let value = value.try_into().map_err(|_| changed())?;
    Ok(Some((Node::from_be_bytes(*node), i16::from_le_bytes(value))))
}

/// Marks the draws that depend on a repetition. A draw does not depend on a repetition if each side can force
/// the play into a position that is a draw by itself. Only moves between positions of value zero count for
/// this. The marked positions are those whose values would change if a repetition were worth a little more or
/// less than a draw.
fn mark_repetitions(graph: &mut Graph, parents: &Moves) -> Result<()> {
    // Positions, each with the flag of a side that can end the play.
    let mut found = List::<[u32; 2]>::new(Access::InOrder);
    let mut nodes = Vec::new();
    for node in graph.nodes() {
        let cell = graph.cell(node)?;
        if !cell.is_zero() {
            continue;
        }
        graph.read_targets(node, &mut nodes)?;
        // Number of moves after which the mover might continue for ever.
        let mut left = 0;
        for &target in &nodes {
            left += u32::from(graph.cell(target)?.is_zero());
        }
        graph.cell_mut(node)?.left = left;
        if cell.own() == Some(0) {
            mark(graph, node, Cell::MOVER_ENDS, &mut found)?;
        }
        if left == 0 {
            mark(graph, node, Cell::OTHER_ENDS, &mut found)?;
        }
    }
    let mut next = 0;
    while next < found.len() {
        let [node, side] = found.get(&mut graph.pages, next)?;
        next += 1;
        parents.read(&mut graph.pages, node, &mut nodes)?;
        for &parent in &nodes {
            let cell = graph.cell_mut(parent)?;
            if !cell.is_zero() {
                continue;
            }
            if side == u32::from(Cell::OTHER_ENDS) {
                mark(graph, parent, Cell::MOVER_ENDS, &mut found)?;
                continue;
            }
            cell.left -= 1;
            if cell.left == 0 {
                mark(graph, parent, Cell::OTHER_ENDS, &mut found)?;
            }
        }
    }
    found.free(&mut graph.pages);
    for node in graph.nodes() {
        let cell = graph.cell(node)?;
        if cell.is_zero() && !cell.is(Cell::MOVER_ENDS | Cell::OTHER_ENDS) {
            graph.cell_mut(node)?.set(Cell::REPETITION);
        }
    }
    Ok(())
}

fn mark(graph: &mut Graph, node: Node, side: u16, found: &mut List<[u32; 2]>) -> Result<()> {
    let cell = graph.cell_mut(node)?;
    if !cell.is(side) {
        cell.set(side);
        found.push(&mut graph.pages, [node, side.into()])?;
    }
    Ok(())
}
