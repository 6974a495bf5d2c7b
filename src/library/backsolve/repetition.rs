//! Which draws hang on a repetition.

use super::graph::{Graph, Node, Parents};

/// The sides of a position: its mover, who may choose, and the other one.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Side {
    Mover,
    Other,
}

/// The positions worth zero in which not both sides can force the play, along moves worth zero, into
/// a position that is a draw by itself. Were a repetition worth a little more or less than a draw,
/// these, and no others, would have another value.
pub(super) fn hang_on_repetition(
    graph: &Graph,
    parents: &Parents,
    is_zero: impl Fn(Node) -> bool,
    ends_itself: impl Fn(Node) -> bool,
) -> Vec<Node> {
    let zero_moves = |node: Node| {
        let moves = graph.targets(node).iter().filter(|target| is_zero(**target));
        moves.count() as u32
    };
    // Of each position, the moves after which the mover might go on for ever.
    let mut left: Vec<u32> =
        graph.nodes().map(|node| if is_zero(node) { zero_moves(node) } else { 0 }).collect();
    let mut can_end = vec![[false; 2]; graph.len()];
    let mut found = Vec::new();
    let mut mark = |node: Node, side: Side, found: &mut Vec<(Node, Side)>| {
        let can = &mut can_end[node as usize][side as usize];
        if !std::mem::replace(can, true) {
            found.push((node, side));
        }
    };
    for node in graph.nodes().filter(|&node| is_zero(node)) {
        if ends_itself(node) {
            mark(node, Side::Mover, &mut found);
        }
        if left[node as usize] == 0 {
            mark(node, Side::Other, &mut found);
        }
    }
    while let Some((node, side)) = found.pop() {
        for &parent in parents.of(node).iter().filter(|parent| is_zero(**parent)) {
            match side {
                Side::Other => mark(parent, Side::Mover, &mut found),
                Side::Mover => {
                    left[parent as usize] -= 1;
                    if left[parent as usize] == 0 {
                        mark(parent, Side::Other, &mut found);
                    }
                }
            }
        }
    }
    graph.nodes().filter(|&node| is_zero(node) && can_end[node as usize] != [true; 2]).collect()
}
