//! The different positions of records, and the moves between them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::cell::{Known, Origin};
use super::graph::{Graph, Moves, Node};
use super::pages::{Access, List, Pages};
use super::solve::{OwnScores, Solution, solve};
use crate::codec::{ordinal, packed};
use crate::error::{Error, Result};
use crate::library::by_key::ByKey;
use crate::library::ordered::{changed, hash_of};
use crate::model::rules::{Move, PROMOTIONS, Playable, after, is_insufficient_material};
use crate::model::{Position, Square};
use crate::spill::{Sorted, Sorter};

/// Number of positions whose moves are searched together.
const BATCH: usize = 1 << 14;

/// The positions of records, with their own scores.
#[derive(Debug)]
pub(super) struct Positions {
    directory: PathBuf,
    memory_bytes: usize,
    keys: Sorter,
}

/// The score of a record, and its depth. If a position has several scores, the largest [`OwnScore`]
/// counts: the deepest, then the highest.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OwnScore {
    /// `None` without a score.
    pub(super) depth: Option<u32>,
    pub(super) ce: i16,
}

impl OwnScore {
    pub(super) const NONE: OwnScore = OwnScore { depth: None, ce: 0 };

    fn encode(self) -> [u8; 7] {
        let mut bytes = [0; 7];
        bytes[0] = self.depth.is_some().into();
        bytes[1..5].copy_from_slice(&self.depth.unwrap_or_default().to_le_bytes());
        bytes[5..].copy_from_slice(&self.ce.to_le_bytes());
        bytes
    }

    const fn decode([has_depth, a, b, c, d, ce @ ..]: [u8; 7]) -> OwnScore {
        let depth = if has_depth == 1 { Some(u32::from_le_bytes([a, b, c, d])) } else { None };
        OwnScore { depth, ce: i16::from_le_bytes(ce) }
    }
}

impl Positions {
    /// An empty set. It uses about `memory_bytes` of memory, its graph included, and temporary
    /// files in `directory` for the rest.
    pub(super) fn new(directory: &Path, memory_bytes: usize) -> Positions {
        let keys = Sorter::new(directory, memory_bytes / 2);
        Positions { directory: directory.to_path_buf(), memory_bytes, keys }
    }

    /// Adds the position of the next record.
    pub(super) fn add(&mut self, position: &Position, own: OwnScore) -> Result<()> {
        let board = packed::encode(&position.identity());
        let mut payload = [0; 15];
        payload[..7].copy_from_slice(&own.encode());
        payload[7..].copy_from_slice(&self.keys.len().to_le_bytes());
        Ok(self.keys.push(board.as_bytes(), &payload)?)
    }

    /// Solves all positions.
    pub(super) fn solve(self, own_scores: OwnScores) -> Result<SolvedPositions> {
        let Positions { directory, memory_bytes, keys } = self;
        // The other half is for the keys, and then for the index.
        let mut graph = Graph::with_memory(directory, memory_bytes / 2);
        let records = keys.len();
        let (boards, nodes) = number_positions(keys.finish()?, records, &mut graph)?;
        let moves = find_moves(&boards, &mut graph, memory_bytes / 2)?;
        graph.pages.set_memory(memory_bytes)?;
        let solution = solve(graph, own_scores)?;
        SolvedPositions::new(boards, nodes, moves, solution)
    }
}

/// Packed positions by number.
#[derive(Debug)]
struct Boards {
    bytes: List<u8>,
    ends: List<u64>,
}

impl Boards {
    /// Replaces `out` by the bytes of positions, and `ends` by the end of each position in `out`.
    fn read(
        &self,
        pages: &mut Pages,
        nodes: Range<usize>,
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        let start = self.start(pages, nodes.start)?;
        let mut all = Vec::new();
        self.ends.read(pages, nodes, &mut all)?;
        ends.clear();
        ends.extend(all.iter().map(|end| *end as usize - start));
        let len = ends.last().copied().unwrap_or_default();
        Ok(self.bytes.read(pages, start..start + len, out)?)
    }

    /// The bytes of a position.
    fn get(&self, pages: &mut Pages, node: Node) -> Result<Vec<u8>> {
        let (start, mut bytes) = (self.start(pages, node as usize)?, Vec::new());
        let end = self.ends.get(pages, node as usize)? as usize;
        self.bytes.read(pages, start..end, &mut bytes)?;
        Ok(bytes)
    }

    fn start(&self, pages: &mut Pages, node: usize) -> Result<usize> {
        match node.checked_sub(1) {
            Some(before) => Ok(self.ends.get(pages, before)? as usize),
            None => Ok(0),
        }
    }
}

/// Adds the different positions to a graph, in the order of their keys. Returns the packed
/// positions, and the number of the position of each record.
fn number_positions(
    mut keys: Sorted,
    records: u64,
    graph: &mut Graph,
) -> Result<(Boards, List<Node>)> {
    let mut boards = Boards { bytes: List::new(Access::InOrder), ends: List::new(Access::InOrder) };
    let mut nodes = List::new(Access::Random);
    for _ in 0..records {
        nodes.push(&mut graph.pages, 0)?;
    }
    let (mut last, mut best) = (Vec::new(), OwnScore::NONE);
    while let Some((board, payload)) = keys.next_entry()? {
        let (own, record) = payload.split_first_chunk().ok_or_else(changed)?;
        let own = OwnScore::decode(*own);
        let record = u64::from_le_bytes(record.try_into().map_err(|_| changed())?);
        if board == last {
            best = best.max(own);
        } else {
            boards.bytes.extend(&mut graph.pages, board)?;
            let end = boards.bytes.len() as u64;
            boards.ends.push(&mut graph.pages, end)?;
            graph.add_position(Known::Nothing, 0)?;
            last.clear();
            last.extend_from_slice(board);
            best = own;
        }
        let node = graph.len() as Node - 1;
        if best.depth.is_some() {
            graph.cell_mut(node)?.set_known(Known::Score(best.ce));
        }
        *nodes.get_mut(&mut graph.pages, record as usize)? = node;
    }
    Ok((boards, nodes))
}

/// Finds the moves between the positions of a graph. Each pass finds the moves that lead to as many
/// positions as fit into an index in memory, which are usually all positions.
fn find_moves(boards: &Boards, graph: &mut Graph, memory_bytes: usize) -> Result<List<PackedMove>> {
    let mut moves = List::new(Access::InOrder);
    let mut first = 0;
    loop {
        let mut index = Index { first, boards: ByKey::new(memory_bytes) };
        let mut end = first as usize;
        while end < graph.len() {
            let board = boards.get(&mut graph.pages, end as Node)?;
            if end >= first as usize + MIN_INDEX && !index.boards.has_room(1, board.len()) {
                break;
            }
            let place = index.boards.find(hash_of(&board), |entry| entry == board);
            index.boards.insert(place, &[&board]);
            end += 1;
        }
        moves = find_moves_to(&index, boards, graph, moves)?;
        first = end as Node;
        if end == graph.len() {
            return Ok(moves);
        }
    }
}

/// Minimum number of positions in the index.
const MIN_INDEX: usize = 1 << 10;

/// Adds the moves that lead to the positions of an index. Returns all moves so far.
fn find_moves_to(
    index: &Index,
    boards: &Boards,
    graph: &mut Graph,
    earlier_moves: List<PackedMove>,
) -> Result<List<PackedMove>> {
    let earlier = std::mem::replace(&mut graph.moves, Moves::new(Access::InOrder));
    let mut moves = List::new(Access::InOrder);
    let (mut targets, mut targets_moves) = (Vec::new(), Vec::new());
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for start in (0..graph.len()).step_by(BATCH) {
        let nodes = start..(start + BATCH).min(graph.len());
        boards.read(&mut graph.pages, nodes, &mut bytes, &mut ends)?;
        let moves_at = |at: usize| {
            let start = at.checked_sub(1).map_or(0, |before| ends[before]);
            index.moves_of(&bytes[start..ends[at]])
        };
        let batch: Vec<Found> =
            (0..ends.len()).into_par_iter().map(moves_at).collect::<Result<_>>()?;
        for (node, found) in (start as Node..).zip(&batch) {
            if index.first > 0 {
                let places = earlier.places(&mut graph.pages, node)?;
                earlier.read(&mut graph.pages, node, &mut targets)?;
                earlier_moves.read(&mut graph.pages, places, &mut targets_moves)?;
            } else {
                let cell = graph.cell_mut(node)?;
                cell.legal_moves = found.legal;
                if let Some(fact) = found.fact {
                    cell.set_known(Known::Fact(fact));
                }
            }
            targets.extend_from_slice(&found.targets);
            targets_moves.extend_from_slice(&found.moves);
            graph.moves.push(&mut graph.pages, &targets)?;
            moves.extend(&mut graph.pages, &targets_moves)?;
            targets.clear();
            targets_moves.clear();
        }
    }
    earlier.free(&mut graph.pages);
    earlier_moves.free(&mut graph.pages);
    Ok(moves)
}

/// An index of successive positions by their keys.
struct Index {
    /// The number of the first position.
    first: Node,
    boards: ByKey,
}

/// The facts of a position by the rules of chess, and its moves to positions of an index.
#[derive(Default)]
struct Found {
    fact: Option<i16>,
    legal: u16,
    targets: Vec<Node>,
    moves: Vec<PackedMove>,
}

impl Index {
    fn moves_of(&self, board: &[u8]) -> Result<Found> {
        let mut found = Found::default();
        let Ok(playable) = Playable::new(&packed::decode(board)?.0) else { return Ok(found) };
        if is_insufficient_material(playable.position().board()) {
            found.fact = Some(0);
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
            found.fact = Some(if playable.is_check() { CHECKMATED } else { 0 });
        }
        Ok(found)
    }

    fn find(&self, position: &Position) -> Option<Node> {
        let board = packed::encode(&position.identity());
        let place = self.boards.find(hash_of(board.as_bytes()), |entry| entry == board.as_bytes());
        place.last.map(|number| self.first + number)
    }
}

/// The positions of records with their values and best moves.
#[derive(Debug)]
pub(super) struct SolvedPositions {
    graph: Graph,
    edges: u64,
    boards: Boards,
    /// The number of the position of each record.
    nodes: List<Node>,
    best: List<Best>,
}

/// The best move of a position.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Best {
    target: Node,
    mv: PackedMove,
    /// 1 if there is a move, otherwise 0.
    is_there: u16,
}

impl Best {
    const NONE: Best = Best { target: 0, mv: PackedMove(0), is_there: 0 };
}

/// A position in which several moves have the best value.
struct Tie {
    /// Index in the batch.
    at: usize,
    board: Vec<u8>,
    moves: Vec<Best>,
}

impl Tie {
    /// The move with the lowest ordinal.
    fn best(&self) -> Result<Best> {
        let playable = Playable::new(&packed::decode(&self.board)?.0).map_err(Error::from_cause)?;
        let lowest =
            self.moves.iter().min_by_key(|best| ordinal::ordinal(&playable, best.mv.unpack()));
        Ok(lowest.copied().unwrap_or(Best::NONE))
    }
}

impl SolvedPositions {
    fn new(
        boards: Boards,
        nodes: List<Node>,
        moves: List<PackedMove>,
        solution: Solution,
    ) -> Result<SolvedPositions> {
        let mut graph = solution.graph;
        let mut best = List::new(Access::Random);
        let (mut cells, mut targets, mut targets_moves) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = Vec::new();
        for start in (0..graph.len()).step_by(BATCH) {
            let end = (start + BATCH).min(graph.len());
            graph.cells.read(&mut graph.pages, start..end, &mut cells)?;
            let (mut batch, mut ties) = (vec![Best::NONE; cells.len()], Vec::new());
            for (at, cell) in cells.iter().enumerate() {
                if !matches!(cell.origin(), Origin::Move | Origin::Repetition) {
                    continue;
                }
                let node = (start + at) as Node;
                let places = graph.moves.places(&mut graph.pages, node)?;
                graph.read_targets(node, &mut targets)?;
                moves.read(&mut graph.pages, places, &mut targets_moves)?;
                for (&target, &mv) in targets.iter().zip(&targets_moves) {
                    if cell.is_best(&graph.cell(target)?) {
                        found.push(Best { target, mv, is_there: 1 });
                    }
                }
                match found[..] {
                    [one] => batch[at] = one,
                    _ => ties.push(Tie {
                        at,
                        board: boards.get(&mut graph.pages, node)?,
                        moves: found.clone(),
                    }),
                }
                found.clear();
            }
            let decided: Vec<Best> = ties.par_iter().map(Tie::best).collect::<Result<_>>()?;
            ties.iter().zip(decided).for_each(|(tie, best)| batch[tie.at] = best);
            best.extend(&mut graph.pages, &batch)?;
        }
        let edges = graph.edges() as u64;
        moves.free(&mut graph.pages);
        graph.free_moves();
        Ok(SolvedPositions { graph, edges, boards, nodes, best })
    }

    /// The number of different positions.
    pub(super) const fn len(&self) -> usize {
        self.graph.len()
    }

    /// The number of moves between positions.
    pub(super) const fn edges(&self) -> u64 {
        self.edges
    }

    /// The origins of the values of all positions.
    pub(super) fn origins(&mut self) -> impl Iterator<Item = Result<Origin>> {
        let nodes = self.graph.nodes();
        nodes.map(|node| Ok(self.graph.cell(node)?.origin()))
    }

    /// The number of the position of a record.
    pub(super) fn node_of(&mut self, record: usize) -> Result<Node> {
        Ok(self.nodes.get(&mut self.graph.pages, record)?)
    }

    /// The value of a position, and its origin.
    pub(super) fn value(&mut self, node: Node) -> Result<(Option<i16>, Origin)> {
        let cell = self.graph.cell(node)?;
        Ok((cell.value(), cell.origin()))
    }

    fn best(&mut self, node: Node) -> Result<Option<Best>> {
        let best = self.best.get(&mut self.graph.pages, node as usize)?;
        Ok((best.is_there == 1).then_some(best))
    }

    /// The best move of a position.
    pub(super) fn best_move(&mut self, node: Node) -> Result<Option<Move>> {
        Ok(self.best(node)?.map(|best| best.mv.unpack()))
    }

    /// The position to which the best moves lead, and the number of plies to it; `None` if the best
    /// moves lead in a circle.
    pub(super) fn leaf(&mut self, node: Node) -> Result<Option<(Position, u32)>> {
        let (mut at, mut plies) = (node, 0_u32);
        // If the moves lead in a circle, the walk returns to `mark` (Brent's method).
        let (mut mark, mut limit) = (node, 1_u32);
        while let Some(Best { target, .. }) = self.best(at)? {
            at = target;
            plies += 1;
            if at == mark {
                return Ok(None);
            }
            if plies == limit {
                (mark, limit) = (at, limit.saturating_mul(2));
            }
        }
        let board = self.boards.get(&mut self.graph.pages, at)?;
        Ok(Some((packed::decode(&board)?.0, plies)))
    }
}

const CHECKMATED: i16 = -32_767;

/// A move in 15 bits: from, to, and promotion.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(super) struct PackedMove(u16);

impl PackedMove {
    fn new(Move { from, to, promotion }: Move) -> PackedMove {
        let promotion = PROMOTIONS.iter().position(|role| Some(*role) == promotion);
        let promotion = promotion.map_or(0, |place| place as u16 + 1);
        PackedMove(promotion << 12 | (to.index() as u16) << 6 | from.index() as u16)
    }

    pub(super) fn unpack(self) -> Move {
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
