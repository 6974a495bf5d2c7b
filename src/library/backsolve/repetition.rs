//! Finds the draws that depend on a repetition of positions.

use super::cell::Cell;
use super::graph::{Graph, Moves, Node};
use super::pages::{Access, List};
use epdb_chess::error::Result;

/// Marks the draws that depend on a repetition. A draw does not depend on a repetition if each side can force
/// the play into a position that is a draw by itself. Only moves between positions of value zero count for
/// this. The marked positions are those whose values would change if a repetition were worth a little more or
/// less than a draw.
pub(super) fn mark_repetitions(graph: &mut Graph, parents: &Moves) -> Result<()> {
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
