//! Positions and the moves between them, by number.

use std::ops::Range;

use crate::error::{ErrorKind, error_from};
use crate::model::score::Score;

/// Index of a position, in order of insertion.
pub type Node = u32;

/// Facts of a position by itself. Values are those of `ce`, relative to the side to move.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Known {
    /// No fact.
    #[default]
    Nothing,
    /// A value by the rules of chess, whatever the moves.
    Fact(i16),
    /// A score of a person or an engine.
    Score(i16),
}

/// The reason why a graph cannot be solved.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A value that no legal position has.
    #[error("{0} is no ce of a legal position")]
    Value(i16),
    /// A move to a position that does not exist.
    #[error("a move leads to position {target} of {positions}")]
    Target {
        /// The target of the move.
        target: Node,
        /// Number of positions.
        positions: usize,
    },
    /// More positions or moves than indices.
    #[error("there are more than 4294967295 positions or moves")]
    Size,
    /// A mate that is too far away for `ce`.
    #[error("a mate is more than 766 plies away, which ce cannot say")]
    MateTooFar,
}

error_from!(GraphError: |_| ErrorKind::InvalidData);

/// Positions, and the moves between them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    known: Vec<Known>,
    legal_moves: Vec<u16>,
    /// The end of the moves of each position in `targets`; they start at the end of those before.
    ends: Vec<u32>,
    targets: Vec<Node>,
}

impl Graph {
    /// Memory of a position without its moves, in bytes.
    pub(super) const NODE_BYTES: usize = size_of::<Known>() + size_of::<u16>() + size_of::<u32>();

    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds a position with the number of its legal moves, and the targets of those that stay in
    /// the graph. The targets may be added later. Moves of a position with a fact do not count.
    ///
    /// # Errors
    /// The value is not that of a legal position, or there are too many positions or moves.
    pub fn add(
        &mut self,
        known: Known,
        legal_moves: u16,
        targets: &[Node],
    ) -> Result<Node, GraphError> {
        if let Known::Fact(value) | Known::Score(value) = known {
            match Score::from_ce(value.into()) {
                Ok(Score::Illegal) | Err(_) => return Err(GraphError::Value(value)),
                Ok(_) => {}
            }
        }
        let node = Node::try_from(self.known.len()).map_err(|_| GraphError::Size)?;
        if !matches!(known, Known::Fact(_)) {
            self.targets.extend_from_slice(targets);
        }
        let end = u32::try_from(self.targets.len()).map_err(|_| GraphError::Size)?;
        self.known.push(known);
        self.legal_moves.push(legal_moves);
        self.ends.push(end);
        Ok(node)
    }

    /// The number of positions.
    pub const fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether the graph is empty.
    pub const fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The number of moves between positions.
    pub const fn edges(&self) -> usize {
        self.targets.len()
    }

    /// All positions.
    pub(super) fn nodes(&self) -> Range<Node> {
        // There are no more positions than indices.
        0..self.len() as Node
    }

    pub(super) fn known(&self, node: Node) -> Known {
        self.known[node as usize]
    }

    pub(super) fn legal_moves(&self, node: Node) -> u32 {
        self.legal_moves[node as usize].into()
    }

    /// The range of the moves of a position among all moves.
    pub(super) fn places(&self, node: Node) -> Range<usize> {
        places(&self.ends, node)
    }

    /// The targets of the moves of a position.
    pub(super) fn targets(&self, node: Node) -> &[Node] {
        &self.targets[self.places(node)]
    }

    /// The target of the move at an index.
    pub(super) fn target(&self, place: usize) -> Node {
        self.targets[place]
    }

    pub(super) fn check_targets(&self) -> Result<(), GraphError> {
        let positions = self.len();
        match self.targets.iter().find(|target| **target as usize >= positions) {
            Some(&target) => Err(GraphError::Target { target, positions }),
            None => Ok(()),
        }
    }
}

/// The positions before each position.
#[derive(Debug)]
pub(super) struct Parents {
    ends: Vec<u32>,
    sources: Vec<Node>,
}

impl Parents {
    /// The parents in a graph whose targets exist.
    pub(super) fn new(graph: &Graph) -> Parents {
        let mut ends = vec![0_u32; graph.len()];
        for target in &graph.targets {
            ends[*target as usize] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        // Each is the start of its parents, and becomes their end.
        let mut sources = vec![0; graph.targets.len()];
        for node in graph.nodes() {
            for target in graph.targets(node) {
                let place = &mut ends[*target as usize];
                sources[*place as usize] = node;
                *place += 1;
            }
        }
        Parents { ends, sources }
    }

    /// The positions with moves to this one, once for each move.
    pub(super) fn get(&self, node: Node) -> &[Node] {
        &self.sources[places(&self.ends, node)]
    }
}

fn places(ends: &[u32], node: Node) -> Range<usize> {
    let start = (node as usize).checked_sub(1).map_or(0, |before| ends[before]);
    start as usize..ends[node as usize] as usize
}

/// The sides of a position: the mover, who may choose, and the other side.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Side {
    Mover,
    Other,
}

/// The positions of value zero where not both sides can force the play, along moves of value zero,
/// into a position that is a draw by itself. If a repetition were worth a little more or less than
/// a draw, exactly these positions would change their values.
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
    // The moves of each position after which the mover might continue for ever.
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
        for &parent in parents.get(node).iter().filter(|parent| is_zero(**parent)) {
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
