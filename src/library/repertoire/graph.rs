//! Positions of a repertoire, and the moves between them.

use std::fmt;

use foldhash::{HashMap, HashMapExt};

use epdb_chess::codec::packed::{self, PackedBoard};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::{Move, Playable, after};
use epdb_chess::model::score::Score;
use epdb_chess::model::{Color, Position};
use epdb_chess::text::pgn::parse_evaluation;

/// Index of a position, in order of insertion.
pub type Node = u32;

/// A move of a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The move.
    pub mv: Move,
    /// The position after the move.
    pub to: Node,
    /// Whether the move is marked as bad, so that it is not a candidate.
    pub is_avoided: bool,
    /// True if a line continues after the move. If false, all lines with the move end there, but another line
    /// may continue from the position.
    pub goes_on: bool,
    /// The NAGs that judge the move, `$1` to `$9`.
    pub nags: Vec<u8>,
}

/// A position of a repertoire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The identity of the position.
    pub position: Position,
    /// The moves of the position, the main move first.
    pub branches: Vec<Branch>,
    /// The comments of the position, without repetitions.
    pub comments: Vec<String>,
    /// The evaluation of the position.
    pub evaluation: Option<Evaluation>,
    /// The NAGs that judge the position, from `$10` on.
    pub nags: Vec<u8>,
}

/// Positions by identity, with their moves.
#[derive(Clone, Debug)]
pub struct Repertoire {
    index: HashMap<PackedBoard, Node>,
    pub(super) places: Vec<Place>,
    bytes: usize,
    memory_bytes: usize,
    /// Number of operations that were left out of the repertoire, because it cannot keep them.
    pub(super) other_operations: u64,
    /// Number of moves that were left out because they follow a null move.
    pub(super) moves_left_out: u64,
    /// The positions other than the start array from which games begin.
    pub(super) set_up: Vec<Node>,
}

/// Memory of a position with its index entry, in bytes.
const PLACE_BYTES: usize = size_of::<Place>() + 2 * size_of::<(PackedBoard, Node)>();

impl Repertoire {
    /// An empty repertoire, which uses at most about `memory_bytes`.
    pub fn new(memory_bytes: usize) -> Repertoire {
        Repertoire {
            index: HashMap::new(),
            places: Vec::new(),
            bytes: 0,
            memory_bytes,
            other_operations: 0,
            moves_left_out: 0,
            set_up: Vec::new(),
        }
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the repertoire has no positions.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// All positions.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        0..self.places.len() as Node
    }

    /// A position by its index.
    pub fn place(&self, node: Node) -> &Place {
        &self.places[node as usize]
    }

    /// The positions other than the start array from which games begin, in the order of the games.
    pub fn set_up(&self) -> impl Iterator<Item = &Position> {
        self.set_up.iter().map(|&node| &self.place(node).position)
    }

    /// Estimated memory, in bytes.
    pub(super) const fn memory_used(&self) -> usize {
        self.bytes
    }

    /// Adds a start of games: this position, which is not the start array.
    pub(super) fn add_set_up(&mut self, node: Node) {
        if !self.set_up.contains(&node) {
            self.set_up.push(node);
        }
    }

    /// The index of a position, if it is present.
    pub fn find(&self, position: &Position) -> Option<Node> {
        self.index.get(&packed::encode(&position.identity())).copied()
    }

    /// The moves of a position that are not marked as bad.
    pub fn candidates(&self, node: Node) -> impl Iterator<Item = &Branch> {
        self.place(node).branches.iter().filter(|branch| !branch.is_avoided)
    }

    /// Whether a side is to move in a position.
    pub(crate) fn is_turn_of(&self, side: Color, node: Node) -> bool {
        self.place(node).position.turn() == side
    }

    /// Whether lines end with this move because another line continues from the position after the
    /// move.
    pub(super) fn is_transposition(&self, branch: &Branch) -> bool {
        !branch.goes_on && !self.place(branch.to).branches.is_empty()
    }

    /// Returns the index of a position, after adding the position if it is new.
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

    /// Returns the index of a legal move in [`Place::branches`], after adding the move if it is
    /// new.
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

    /// Adds the legal moves to positions that no other move reaches, such as the replies that a book for
    /// one side leaves out. Each of these moves ends a line, so that a tree continues from a position once.
    ///
    /// # Errors
    /// The repertoire does not fit into memory.
    pub fn add_replies(&mut self, root: &Position) -> Result<()> {
        let mut is_reached = vec![false; self.len()];
        let reached = self.places.iter().flat_map(|place| &place.branches).map(|branch| branch.to);
        for node in reached.chain(self.find(root)) {
            is_reached[node as usize] = true;
        }
        if !is_reached.contains(&false) {
            return Ok(());
        }
        for node in self.nodes() {
            let position = self.place(node).position;
            let Ok(playable) = Playable::new(&position) else { continue };
            let mut replies = Vec::new();
            playable.each_move(|mv| {
                let to = self.find(&after(&position, mv));
                if to.is_some_and(|to| !is_reached[to as usize]) {
                    replies.push(mv);
                }
                true
            });
            for mv in replies {
                self.add_move(node, mv)?;
            }
        }
        Ok(())
    }

    /// Adds a comment to a position, unless the position has it already.
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
        if self.bytes <= self.memory_bytes && self.places.len() < Node::MAX as usize {
            return Ok(());
        }
        let positions = self.places.len();
        let megabytes = self.memory_bytes >> 20;
        Err(Error::new(format!(
            "the repertoire does not fit into the memory: {positions} positions take {megabytes}M"
        )))
    }
}

/// The evaluation of a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Evaluation {
    /// The score as `ce`, relative to the side to move.
    pub ce: i32,
    /// The depth of the analysis in plies, if it is known.
    pub depth: Option<u32>,
}

const COMMAND: &str = "[%eval ";

impl Evaluation {
    /// Takes the first `[%eval 0.35]`, `[%eval -1.2,18]` or `[%eval #-3]` out of a comment. The
    /// score in the comment is from White's point of view; `turn` is the side to move. Returns the
    /// evaluation, and the rest of the comment.
    pub(super) fn take(comment: &str, turn: Color) -> Option<(Evaluation, String)> {
        let (before, behind) = comment.split_once(COMMAND)?;
        let (value, behind) = behind.split_once(']')?;
        let (evaluation, depth) = parse_evaluation(value)?;
        let ce = evaluation.ce(turn == Color::Black).ok()?;
        let rest = [before.trim(), behind.trim()].join(" ").trim().to_string();
        Some((Evaluation { ce, depth }, rest))
    }

    /// The `[%eval …]` for a comment, from White's point of view; `turn` is the side to move.
    pub(super) fn command(&self, turn: Color) -> String {
        let turned = if turn == Color::White { None } else { turned(self.ce) };
        let ce = turned.unwrap_or(self.ce);
        let depth = self.depth.map(|depth| format!(",{depth}")).unwrap_or_default();
        format!("{COMMAND}{}{depth}]", Pawns(ce))
    }
}

/// Formats a score from White's point of view, in pawns or as a mate.
struct Pawns(i32);

impl fmt::Display for Pawns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Score::from_ce(self.0.into()) {
            Ok(score @ Score::Mates(_)) => write!(f, "#{}", score.full_moves().unwrap_or(0)),
            Ok(score @ (Score::Mated(_) | Score::Checkmated)) => {
                write!(f, "#-{}", score.full_moves().unwrap_or(0))
            }
            _ => write!(f, "{:.2}", f64::from(self.0) / 100.0),
        }
    }
}

/// The score from the point of view of the other side; a mate keeps its length. `None` for mate on
/// the board.
const fn turned(ce: i32) -> Option<i32> {
    match ce {
        32_001.. | -32_766..=-32_001 => Some(1 - ce),
        -32_000..=32_000 => Some(-ce),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn commands_are_read_and_written() {
        for (text, turn, ce, depth) in [
            ("[%eval 0.35]", Color::White, 35, None),
            ("[%eval -1.20,18]", Color::Black, 120, Some(18)),
            ("[%eval #3]", Color::White, 32_762, None),
            ("[%eval #3]", Color::Black, -32_761, None),
            ("[%eval #-3]", Color::White, -32_761, None),
            ("[%eval #-3]", Color::Black, 32_762, None),
        ] {
            let (read, rest) = Evaluation::take(&format!("a {text} b"), turn).unwrap();
            assert_eq!((read, rest.as_str()), (Evaluation { ce, depth }, "a b"), "{text}");
            assert_eq!(read.command(turn), text);
        }
        let centipawns = Evaluation::take("[%eval -35,20]", Color::Black).unwrap().0;
        assert_eq!(centipawns, Evaluation { ce: 35, depth: Some(20) });
        for text in ["", "0.35", "[%eval x]", "[%eval 1e9]", "[%eval 1,x]", "[%eval 1"] {
            assert_eq!(Evaluation::take(text, Color::White), None, "{text}");
        }
    }
}
