//! Positions and the moves between them, by number.

use std::ops::Range;
use std::path::PathBuf;

use super::cell::{Cell, Known};
use super::pages::{Access, List, Pages};
use epdb_chess::error::{ErrorKind, Result, error_from};
use epdb_chess::model::score::Score;

/// Index of a position, in order of insertion.
pub type Node = u32;

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
        /// The position to which the move leads.
        target: Node,
        /// Number of positions.
        positions: usize,
    },
    /// There are more positions or moves than indices.
    #[error("there are more than 4294967295 positions or moves")]
    Size,
    /// A mate that is too far away for `ce`.
    #[error("a mate is more than 766 plies away, which ce cannot express")]
    MateTooFar,
}

error_from!(GraphError: |_| ErrorKind::InvalidData);

/// Positions, and the moves between them.
#[derive(Debug)]
pub struct Graph {
    pub(super) pages: Pages,
    pub(super) cells: List<Cell>,
    pub(super) moves: Moves,
}

/// A list of positions for each position: the targets of its moves, or its parents.
#[derive(Debug)]
pub(super) struct Moves {
    /// The end of each position's list in `nodes`. A list starts at the end of the list before.
    ends: List<u32>,
    nodes: List<Node>,
}

impl Default for Graph {
    fn default() -> Graph {
        Graph::new()
    }
}

impl Graph {
    /// An empty graph in memory.
    pub fn new() -> Graph {
        Graph::with_memory(std::env::temp_dir(), usize::MAX)
    }

    /// An empty graph that uses about `memory_bytes` and continues in a temporary file in
    /// `directory`.
    pub fn with_memory(directory: impl Into<PathBuf>, memory_bytes: usize) -> Graph {
        let pages = Pages::new(directory.into(), memory_bytes);
        let moves = Moves::new(Access::InOrder);
        Graph { pages, cells: List::new(Access::Random), moves }
    }

    /// Adds a position with the number of its legal moves. `targets` are the positions to which
    /// moves lead; these positions may be added to the graph later. Moves of a position with
    /// [`Known::Fact`] do not count.
    ///
    /// # Errors
    /// No legal position has the value; there are too many positions or moves; or the temporary
    /// file cannot be written.
    pub fn add(&mut self, known: Known, legal_moves: u16, targets: &[Node]) -> Result<Node> {
        let node = self.add_position(known, legal_moves)?;
        let targets = if matches!(known, Known::Fact(_)) { &[] } else { targets };
        self.moves.push(&mut self.pages, targets)?;
        Ok(node)
    }

    /// Adds a position whose moves are added later.
    pub(super) fn add_position(&mut self, known: Known, legal_moves: u16) -> Result<Node> {
        if let Known::Fact(value) | Known::Score(value) = known {
            match Score::from_ce(value.into()) {
                Ok(Score::Illegal) | Err(_) => return Err(GraphError::Value(value).into()),
                Ok(_) => {}
            }
        }
        let node = Node::try_from(self.len()).map_err(|_| GraphError::Size)?;
        self.cells.push(&mut self.pages, Cell::new(known, legal_moves))?;
        Ok(node)
    }

    /// The number of positions.
    pub const fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether the graph is empty.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of moves between positions.
    pub const fn edges(&self) -> usize {
        self.moves.nodes.len()
    }

    /// All positions.
    pub(super) const fn nodes(&self) -> Range<Node> {
        // `add_position` makes sure that there are no more positions than indices.
        0..self.len() as Node
    }

    #[inline]
    pub(super) fn cell(&mut self, node: Node) -> Result<Cell> {
        Ok(self.cells.get(&mut self.pages, node as usize)?)
    }

    #[inline]
    pub(super) fn cell_mut(&mut self, node: Node) -> Result<&mut Cell> {
        Ok(self.cells.get_mut(&mut self.pages, node as usize)?)
    }

    /// Replaces `targets` by the targets of the moves of a position.
    #[inline]
    pub(super) fn read_targets(&mut self, node: Node, targets: &mut Vec<Node>) -> Result<()> {
        self.moves.read(&mut self.pages, node, targets)
    }

    pub(super) fn free_moves(&mut self) {
        let moves = std::mem::replace(&mut self.moves, Moves::new(Access::InOrder));
        moves.free(&mut self.pages);
    }

    pub(super) fn check_targets(&mut self) -> Result<()> {
        let positions = self.len();
        let mut targets = Vec::new();
        for node in self.nodes() {
            self.read_targets(node, &mut targets)?;
            if let Some(&target) = targets.iter().find(|target| **target as usize >= positions) {
                return Err(GraphError::Target { target, positions }.into());
            }
        }
        Ok(())
    }

    /// The parents of each position: the positions with moves to it, once for each move. All
    /// targets must exist.
    pub(super) fn parents(&mut self) -> Result<Moves> {
        let mut parents = Moves::new(Access::Random);
        // Each pass finds the parents of as many positions as fit into a quarter of the memory.
        let memory_bytes = self.pages.memory_bytes();
        self.pages.set_memory(memory_bytes / 4 * 3)?;
        let of_target = size_of::<u32>() + size_of::<Node>();
        let max_parents = (memory_bytes / 4 / of_target).max(MIN_PARENTS);
        let mut targets = Vec::new();
        let mut start = 0;
        while start < self.len() {
            let mut ends = vec![0_u32; max_parents.min(self.len() - start)];
            for node in self.nodes() {
                self.read_targets(node, &mut targets)?;
                for target in &targets {
                    if let Some(end) = place_from(start, *target).and_then(|at| ends.get_mut(at)) {
                        *end += 1;
                    }
                }
            }
            let mut before = 0;
            let mut count = 0;
            for end in &mut ends {
                // The first position fits always, however many parents it has.
                if count > 0 && (before + *end) as usize > max_parents {
                    break;
                }
                let parents = *end;
                *end = before;
                before += parents;
                count += 1;
            }
            ends.truncate(count);
            // Each number in `ends` is now the start of a list of parents, and becomes the end of
            // that list.
            let mut sources = vec![0; before as usize];
            for node in self.nodes() {
                self.read_targets(node, &mut targets)?;
                for target in &targets {
                    if let Some(end) = place_from(start, *target).and_then(|at| ends.get_mut(at)) {
                        sources[*end as usize] = node;
                        *end += 1;
                    }
                }
            }
            let earlier = parents.nodes.len() as u32;
            ends.iter_mut().for_each(|end| *end += earlier);
            parents.ends.extend(&mut self.pages, &ends)?;
            parents.nodes.extend(&mut self.pages, &sources)?;
            start += count;
        }
        self.pages.set_memory(memory_bytes)?;
        Ok(parents)
    }
}

/// Minimum number of positions whose parents are found together.
const MIN_PARENTS: usize = 1 << 10;

fn place_from(start: usize, node: Node) -> Option<usize> {
    (node as usize).checked_sub(start)
}

impl Moves {
    pub(super) const fn new(access: Access) -> Moves {
        Moves { ends: List::new(Access::InOrder), nodes: List::new(access) }
    }

    /// Adds the list of the next position.
    pub(super) fn push(&mut self, pages: &mut Pages, nodes: &[Node]) -> Result<()> {
        self.nodes.extend(pages, nodes)?;
        let end = u32::try_from(self.nodes.len()).map_err(|_| GraphError::Size)?;
        Ok(self.ends.push(pages, end)?)
    }

    /// The range of a position's list in `nodes`.
    #[inline]
    pub(super) fn places(&self, pages: &mut Pages, node: Node) -> Result<Range<usize>> {
        let start = match (node as usize).checked_sub(1) {
            Some(before) => self.ends.get(pages, before)?,
            None => 0,
        };
        Ok(start as usize..self.ends.get(pages, node as usize)? as usize)
    }

    /// Replaces `nodes` by the list of a position.
    #[inline]
    pub(super) fn read(&self, pages: &mut Pages, node: Node, nodes: &mut Vec<Node>) -> Result<()> {
        let places = self.places(pages, node)?;
        Ok(self.nodes.read(pages, places, nodes)?)
    }

    pub(super) fn free(self, pages: &mut Pages) {
        self.ends.free(pages);
        self.nodes.free(pages);
    }
}
