//! The different positions of records, and the moves between them.

use rayon::prelude::*;

use super::graph::{Graph, Known, Node};
use super::solve::{Origin, Solution};
use crate::codec::{ordinal, packed};
use crate::error::{Error, Result};
use crate::library::by_key::ByKey;
use crate::library::ordered::hash_of;
use crate::model::rules::{Move, PROMOTIONS, Playable, after, is_insufficient_material};
use crate::model::{Position, Square};

/// Number of positions whose moves are searched together.
const BATCH: Node = 1 << 14;

/// Positions by identity, with the best own score of each.
#[derive(Debug)]
pub(super) struct Positions {
    index: ByKey,
    own: Vec<OwnScore>,
    memory_bytes: usize,
    /// Positions that did not fit, with repetitions.
    left_out: u64,
}

/// A score and its depth; the larger one of two counts.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OwnScore {
    /// `None` without a score.
    pub(super) depth: Option<u32>,
    pub(super) ce: i16,
}

impl OwnScore {
    pub(super) const NONE: OwnScore = OwnScore { depth: None, ce: 0 };
}

/// The graph of positions, and its moves in order.
#[derive(Debug)]
pub(super) struct PositionGraph {
    index: ByKey,
    pub(super) graph: Graph,
    moves: Vec<PackedMove>,
}

impl Positions {
    /// An empty set; it uses at most about `memory_bytes`, its graph included.
    pub(super) fn new(memory_bytes: usize) -> Positions {
        Positions { index: ByKey::new(memory_bytes), own: Vec::new(), memory_bytes, left_out: 0 }
    }

    /// The index of a position; `None` if it does not fit, which [`Positions::graph`] reports.
    pub(super) fn add(&mut self, position: &Position, own: OwnScore) -> Option<Node> {
        let board = packed::encode(&position.identity());
        let hash = hash_of(board.as_bytes());
        let place = self.index.find(hash, |entry| entry == board.as_bytes());
        if let Some(node) = place.last {
            let before = &mut self.own[node as usize];
            *before = own.max(*before);
            return Some(node);
        }
        if !self.index.has_room(1, board.as_bytes().len()) || self.left_out > 0 {
            self.left_out += 1;
            return None;
        }
        self.index.insert(place, &[board.as_bytes()]);
        self.own.push(own);
        Some(self.own.len() as Node - 1)
    }

    /// The moves between the positions.
    ///
    /// # Errors
    /// The positions or moves do not fit into memory; the error has the memory that they need.
    pub(super) fn graph(self) -> Result<PositionGraph> {
        let Positions { index, own, memory_bytes, left_out } = self;
        let per_node = Graph::NODE_BYTES + Solution::NODE_BYTES + size_of::<OwnScore>();
        // Lists exist twice while they grow.
        let per_edge = 2 * (size_of::<Node>() + size_of::<PackedMove>()) + Solution::EDGE_BYTES;
        if left_out > 0 {
            let all = own.len() as u64 + left_out;
            let need =
                all * (index.memory_used() / own.len().max(1) + per_node + 3 * per_edge) as u64;
            return Err(does_not_fit(&format!("up to {all} positions"), need));
        }
        let fixed = index.memory_used() + own.len() * per_node;
        let mut made = PositionGraph { index, graph: Graph::new(), moves: Vec::new() };
        let mut edges = 0;
        for start in (0..own.len() as Node).step_by(BATCH as usize) {
            let end = start.saturating_add(BATCH).min(own.len() as Node);
            let batch: Vec<Moves> = (start..end)
                .into_par_iter()
                .map(|node| made.moves_of(node))
                .collect::<Result<_>>()?;
            edges += batch.iter().map(|one| one.targets.len()).sum::<usize>();
            if fixed + edges * per_edge > memory_bytes {
                made.moves = Vec::new();
                continue;
            }
            for (Moves { known, legal, targets, moves }, own) in
                batch.iter().zip(&own[start as usize..])
            {
                let score = own.depth.map_or(Known::Nothing, |_| Known::Score(own.ce));
                made.graph.add(known.unwrap_or(score), *legal, targets)?;
                made.moves.extend_from_slice(moves);
            }
        }
        match fixed + edges * per_edge {
            need if need > memory_bytes => {
                let what = format!("{} positions with {edges} moves", own.len());
                Err(does_not_fit(&what, need as u64))
            }
            _ => Ok(made),
        }
    }
}

fn does_not_fit(what: &str, bytes: u64) -> Error {
    // The graph may use three quarters of the memory.
    let megabytes = (bytes / 3 * 4).div_ceil(1 << 20) + 1;
    Error::new(format!("{what} do not fit the memory: they need about {megabytes}M"))
}

/// The facts of a position, and its moves to other positions.
#[derive(Default)]
struct Moves {
    known: Option<Known>,
    legal: u16,
    targets: Vec<Node>,
    moves: Vec<PackedMove>,
}

impl PositionGraph {
    fn moves_of(&self, node: Node) -> Result<Moves> {
        let mut found = Moves::default();
        let Ok(playable) = Playable::new(&self.position(node)?) else { return Ok(found) };
        if is_insufficient_material(playable.position().board()) {
            found.known = Some(Known::Fact(0));
            return Ok(found);
        }
        playable.each_move(|mv| {
            found.legal += 1;
            if let Some(target) = self.find(&after(playable.position(), mv)) {
                found.targets.push(target);
                found.moves.push(PackedMove::new(mv));
            }
            true
        });
        if found.legal == 0 {
            let is_check = playable.is_check();
            found.known = Some(Known::Fact(if is_check { CHECKMATED } else { 0 }));
        }
        Ok(found)
    }

    fn find(&self, position: &Position) -> Option<Node> {
        let board = packed::encode(&position.identity());
        self.index.find(hash_of(board.as_bytes()), |entry| entry == board.as_bytes()).last
    }

    /// A position of the graph.
    pub(super) fn position(&self, node: Node) -> Result<Position> {
        Ok(packed::decode(self.index.entry(node))?.0)
    }

    /// The index of the best move of each position: of several, the one with the lowest ordinal.
    pub(super) fn best_moves(&self, solution: &Solution) -> Result<Vec<Option<u32>>> {
        self.graph.nodes().into_par_iter().map(|node| self.best_move(solution, node)).collect()
    }

    fn best_move(&self, solution: &Solution, node: Node) -> Result<Option<u32>> {
        if !matches!(solution.origin(node), Origin::Move | Origin::Repetition) {
            return Ok(None);
        }
        let places = self.graph.places(node);
        let is_best = |place: &usize| solution.is_best(node, self.graph.target(*place));
        let best: Vec<usize> = places.filter(is_best).collect();
        let place = match best[..] {
            [one] => Some(one),
            _ => {
                let position = self.position(node)?;
                let playable = Playable::new(&position).map_err(Error::from_cause)?;
                best.into_iter()
                    .min_by_key(|&place| ordinal::ordinal(&playable, self.move_at(place)))
            }
        };
        // There are no more moves than indices.
        Ok(place.map(|place| place as u32))
    }

    /// The move at an index.
    pub(super) fn move_at(&self, place: usize) -> Move {
        self.moves[place].unpack()
    }
}

const CHECKMATED: i16 = -32_767;

/// A move in 15 bits: from, to, and promotion.
#[derive(Copy, Clone, Debug)]
struct PackedMove(u16);

impl PackedMove {
    fn new(Move { from, to, promotion }: Move) -> PackedMove {
        let promotion = PROMOTIONS.iter().position(|role| Some(*role) == promotion);
        let promotion = promotion.map_or(0, |place| place as u16 + 1);
        PackedMove(promotion << 12 | (to.index() as u16) << 6 | from.index() as u16)
    }

    fn unpack(self) -> Move {
        let square = |bits: u16| Square::at((bits % 8) as u8, (bits / 8) as u8);
        let promotion = usize::from(self.0 >> 12).checked_sub(1);
        Move {
            from: square(self.0 & 63),
            to: square(self.0 >> 6 & 63),
            promotion: promotion.and_then(|place| PROMOTIONS.get(place).copied()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn packed_moves_come_back() {
        for fen in ["4k3/P7/8/8/8/8/8/R3K2R w KQ -", "4k3/8/8/8/8/8/p6p/4K3 b - -"] {
            let playable = Playable::new(&fen.parse().unwrap()).unwrap();
            for mv in playable.legal_moves() {
                assert_eq!(PackedMove::new(mv).unpack(), mv);
            }
        }
    }
}
