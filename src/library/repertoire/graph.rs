//! The positions, each once, and the moves between them.

use foldhash::{HashMap, HashMapExt};

use super::eval::Evaluation;
use crate::codec::packed::{self, PackedBoard};
use crate::error::{Error, Result};
use crate::model::rules::{Move, after};
use crate::model::{Color, Position};

/// The number of a position, from 0 on, in the order in which they came.
pub type Node = u32;

/// A move of a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The move.
    pub mv: Move,
    /// The position that it leads to.
    pub to: Node,
    /// It is marked as bad, so it is no candidate.
    pub is_avoided: bool,
    /// A line goes on behind it. Where none does, though the position has moves, the line ends there
    /// because it goes on elsewhere.
    pub goes_on: bool,
    /// The NAGs that judge the move, `$1` to `$9`.
    pub nags: Vec<u8>,
}

/// What a repertoire says of a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The identity of the position.
    pub position: Position,
    /// Its moves, the main one first.
    pub branches: Vec<Branch>,
    /// What is said of it, each text once.
    pub comments: Vec<String>,
    /// Its evaluation.
    pub evaluation: Option<Evaluation>,
    /// The NAGs that judge the position, from `$10` on.
    pub nags: Vec<u8>,
}

/// Positions by identity, with the moves that are played there.
#[derive(Clone, Debug)]
pub struct Repertoire {
    index: HashMap<PackedBoard, Node>,
    pub(super) places: Vec<Place>,
    bytes: usize,
    memory: usize,
    /// Operations of records that a repertoire has no place for.
    pub(super) other_operations: u64,
    /// Moves of games behind null moves.
    pub(super) moves_left_out: u64,
}

/// What a position takes, its place in the index included.
const PLACE_BYTES: usize = size_of::<Place>() + 2 * size_of::<(PackedBoard, Node)>();

impl Repertoire {
    /// One without positions, which takes no more than about `memory` bytes.
    pub fn new(memory: usize) -> Repertoire {
        Repertoire {
            index: HashMap::new(),
            places: Vec::new(),
            bytes: 0,
            memory,
            other_operations: 0,
            moves_left_out: 0,
        }
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// All positions.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        0..self.places.len() as Node
    }

    /// What is said of a position.
    pub fn place(&self, node: Node) -> &Place {
        &self.places[node as usize]
    }

    /// The number of a position, if it is there.
    pub fn find(&self, position: &Position) -> Option<Node> {
        self.index.get(&packed::encode(&position.identity())).copied()
    }

    /// The moves of a position that are not marked as bad.
    pub fn candidates(&self, node: Node) -> impl Iterator<Item = &Branch> {
        self.place(node).branches.iter().filter(|branch| !branch.is_avoided)
    }

    /// Whether a side is to move in a position.
    pub fn is_turn_of(&self, side: Color, node: Node) -> bool {
        self.place(node).position.turn() == side
    }

    /// Whether a line that comes by a move ends, because the position goes on elsewhere.
    pub fn is_transposition(&self, branch: &Branch) -> bool {
        !branch.goes_on && !self.place(branch.to).branches.is_empty()
    }

    /// The number of a position, which is added where it is not there.
    pub(super) fn add(&mut self, position: &Position) -> Result<Node> {
        let position = position.identity();
        let board = packed::encode(&position);
        if let Some(node) = self.index.get(&board) {
            return Ok(*node);
        }
        self.take_memory(PLACE_BYTES)?;
        let node = self.places.len() as Node;
        self.index.insert(board, node);
        self.places.push(Place {
            position,
            branches: Vec::new(),
            comments: Vec::new(),
            evaluation: None,
            nags: Vec::new(),
        });
        Ok(node)
    }

    /// The place of a legal move among those of a position, which is added where it is not there.
    pub(super) fn add_move(&mut self, node: Node, mv: Move) -> Result<usize> {
        let Place { position, branches, .. } = self.place(node);
        if let Some(place) = branches.iter().position(|branch| branch.mv == mv) {
            return Ok(place);
        }
        let next = after(position, mv);
        let to = self.add(&next)?;
        self.take_memory(size_of::<Branch>())?;
        let branches = &mut self.places[node as usize].branches;
        branches.push(Branch { mv, to, is_avoided: false, goes_on: false, nags: Vec::new() });
        Ok(branches.len() - 1)
    }

    /// Adds what is said of a position, once.
    pub(super) fn add_comment(&mut self, node: Node, comment: &str) -> Result<()> {
        let is_new = !self.place(node).comments.iter().any(|known| known == comment);
        if is_new && !comment.is_empty() {
            self.take_memory(size_of::<String>() + comment.len())?;
            self.places[node as usize].comments.push(comment.to_string());
        }
        Ok(())
    }

    fn take_memory(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        if self.bytes <= self.memory && self.places.len() < Node::MAX as usize {
            return Ok(());
        }
        let (positions, megabytes) = (self.places.len(), self.memory >> 20);
        Err(Error::new(format!(
            "the repertoire does not fit the memory: {positions} positions take {megabytes}M"
        )))
    }
}
