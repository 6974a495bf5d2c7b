//! Positions and the moves between them, by number.

use std::ops::Range;

use crate::error::error_from;
use crate::model::score::Score;

/// The number of a position: its place in the order in which positions were added.
pub type Node = u32;

/// What is known of a position itself. Values are those of `ce`, seen by the side to move.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// What the rules of chess say, whatever moves there are.
    Fact(i16),
    /// What somebody thinks of it.
    Score(i16),
}

/// What cannot be solved.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A value is none that a legal position may have.
    #[error("{0} is no ce of a legal position")]
    Value(i16),
    /// A move leads to a position that is not there.
    #[error("a move leads to position {target} of {positions}")]
    Target {
        /// Where it leads.
        target: Node,
        /// How many positions there are.
        positions: usize,
    },
    /// There are more positions or moves than numbers for them.
    #[error("there are more than 4294967295 positions or moves")]
    Size,
    /// A mate is further away than `ce` can say.
    #[error("a mate is more than 766 plies away, which ce cannot say")]
    MateTooFar,
}

error_from!(GraphError);

/// Positions and the moves that lead from one of them to another.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    known: Vec<Known>,
    legal_moves: Vec<u16>,
    /// Where the moves of each position end in `targets`; they begin where those before end.
    ends: Vec<u32>,
    targets: Vec<Node>,
}

impl Graph {
    /// The bytes that a position takes, its moves aside.
    pub(super) const NODE_BYTES: usize = size_of::<Known>() + size_of::<u16>() + size_of::<u32>();

    /// A graph without positions.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds a position with so many legal moves, and where those lead that stay in the graph, be it
    /// to positions that are not added yet. Moves of a position that has a fact do not count.
    ///
    /// # Errors
    /// The value is no `ce` or that of an illegal position; there are too many positions or moves.
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

    /// Whether there are no positions.
    pub const fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The number of moves between positions.
    pub const fn edges(&self) -> usize {
        self.targets.len()
    }

    /// All positions.
    pub(super) fn nodes(&self) -> Range<Node> {
        // No more were added than there are numbers.
        0..self.len() as Node
    }

    pub(super) fn known(&self, node: Node) -> Known {
        self.known[node as usize]
    }

    pub(super) fn legal_moves(&self, node: Node) -> u32 {
        self.legal_moves[node as usize].into()
    }

    /// The places of the moves of a position among all moves.
    pub(super) fn places(&self, node: Node) -> Range<usize> {
        places(&self.ends, node)
    }

    /// Where the moves of a position lead.
    pub(super) fn targets(&self, node: Node) -> &[Node] {
        &self.targets[self.places(node)]
    }

    /// Where the move at a place leads.
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

/// From where moves lead to each position.
#[derive(Debug)]
pub(super) struct Parents {
    ends: Vec<u32>,
    sources: Vec<Node>,
}

impl Parents {
    /// The parents in a graph whose targets are there.
    pub(super) fn new(graph: &Graph) -> Parents {
        let mut ends = vec![0_u32; graph.len()];
        for target in &graph.targets {
            ends[*target as usize] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        // Each is where its parents begin, and becomes where they end.
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

    /// The positions from which moves lead here, once a move.
    pub(super) fn of(&self, node: Node) -> &[Node] {
        &self.sources[places(&self.ends, node)]
    }
}

fn places(ends: &[u32], node: Node) -> Range<usize> {
    let start = (node as usize).checked_sub(1).map_or(0, |before| ends[before]);
    start as usize..ends[node as usize] as usize
}

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
