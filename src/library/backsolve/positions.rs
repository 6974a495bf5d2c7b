//! The different positions of records, and the moves between them.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::cell::{Cell, Known, Origin};
use super::graph::{Graph, Moves, Node};
use super::pages::{Access, List, Pages};
use super::solve::{OwnScores, Solution, solve};
use crate::by_key::{ByKey, Place};
use crate::ordered::{changed, hash_of};
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::{ordinal, packed};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::{Move, PROMOTIONS, Playable, after, is_insufficient_material};
use epdb_chess::model::{Position, Square};

/// The position that stands for all positions in which the side to move is checkmated.
const MATED: Node = 0;
/// The position that stands for all positions that are a draw by the rules.
const DRAWN: Node = 1;
/// Number of positions that stand for others. Their boards have one byte, as no position has.
const STAND_INS: usize = 2;

/// Number of positions whose moves are searched together.
const BATCH: usize = 1 << 14;

#[derive(Debug)]
pub(super) struct Positions {
    memory_bytes: usize,
    graph: Graph,
    boards: Boards,
    /// The number of the position of each record.
    nodes: List<Node>,
    /// An index of the first positions, as many as fit into memory.
    index: Index,
    /// Positions of records for which the index has no room. A position may occur several times.
    others: Sorter,
}

/// The score of a record, and its depth. If a position has several scores, the largest [`OwnScore`]
/// counts: the deepest, then the highest.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OwnScore {
    /// The depth of the score; `None` if the record has no depth.
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

    /// Sets the score of a position if this score is larger than the score that the position has.
    /// The depth is kept in [`Cell::distance`] until the moves are known.
    fn offer_to(self, cell: &mut Cell) {
        let before = match cell.known() {
            Known::Score(ce) => OwnScore { depth: Some(cell.distance), ce },
            _ => OwnScore::NONE,
        };
        if self > before
            && let Some(depth) = self.depth
        {
            cell.set_known(Known::Score(self.ce));
            cell.distance = depth;
        }
    }
}

impl Positions {
    /// An empty set. It uses about `memory_bytes` of memory, its graph included, and temporary
    /// files in `directory` for the rest.
    pub(super) fn new(directory: &Path, memory_bytes: usize) -> Positions {
        // Half of the memory is for the index, most of the other half for the graph.
        Positions {
            memory_bytes,
            graph: Graph::with_memory(directory, memory_bytes / 8 * 3),
            boards: Boards { bytes: List::new(Access::InOrder), ends: List::new(Access::InOrder) },
            nodes: List::new(Access::Random),
            index: Index { first: 0, boards: ByKey::new(memory_bytes / 2) },
            others: Sorter::new(directory, memory_bytes / 8),
        }
    }

    pub(super) fn add(&mut self, position: &Position, own: OwnScore) -> Result<()> {
        if self.graph.is_empty() {
            self.add_stand_ins()?;
        }
        let board = packed::encode(&position.identity());
        let place = self.index.place(board.as_bytes());
        let node = match place.last {
            Some(node) => node,
            None if self.others.is_empty() && self.index.has_room(board.as_bytes()) => {
                self.index.boards.insert(place, &[board.as_bytes()]);
                self.boards.push(&mut self.graph, board.as_bytes())?
            }
            None => {
                let record = (self.nodes.len() as u64).to_le_bytes();
                self.others.push(board.as_bytes(), &[&own.encode()[..], &record].concat())?;
                return Ok(self.nodes.push(&mut self.graph.pages, 0)?);
            }
        };
        self.nodes.push(&mut self.graph.pages, node)?;
        own.offer_to(self.graph.cell_mut(node)?);
        Ok(())
    }

    fn add_stand_ins(&mut self) -> Result<()> {
        for (node, value) in [(MATED, CHECKMATED), (DRAWN, 0)] {
            let board = [node as u8];
            let place = self.index.place(&board);
            self.index.boards.insert(place, &[&board]);
            self.boards.push(&mut self.graph, &board)?;
            self.graph.cell_mut(node)?.set_known(Known::Fact(value));
        }
        Ok(())
    }

    pub(super) fn solve(self, own_scores: OwnScores) -> Result<SolvedPositions> {
        let Positions { memory_bytes, mut graph, mut boards, mut nodes, index, others } = self;
        number_others(others.finish()?, &mut graph, &mut boards, &mut nodes)?;
        // The other half of the memory is for the index.
        graph.pages.set_memory(memory_bytes / 2)?;
        let moves = find_moves(&boards, &mut graph, index, memory_bytes / 2)?;
        graph.pages.set_memory(memory_bytes)?;
        let solution = solve(graph, own_scores)?;
        SolvedPositions::new(boards, nodes, moves, solution)
    }
}

/// Adds the positions that the index has no room for, in the order of their keys.
fn number_others(
    mut others: Sorted,
    graph: &mut Graph,
    boards: &mut Boards,
    nodes: &mut List<Node>,
) -> Result<()> {
    let mut last = Vec::new();
    let mut node = 0;
    while let Some((board, payload)) = others.next_entry()? {
        let (own, record) = payload.split_first_chunk().ok_or_else(changed)?;
        let record = u64::from_le_bytes(record.try_into().map_err(|_| changed())?);
        if board != last {
            node = boards.push(graph, board)?;
            last.clear();
            last.extend_from_slice(board);
        }
        OwnScore::decode(*own).offer_to(graph.cell_mut(node)?);
        *nodes.get_mut(&mut graph.pages, record as usize)? = node;
    }
    Ok(())
}

/// Packed positions by number.
#[derive(Debug)]
struct Boards {
    bytes: List<u8>,
    ends: List<u64>,
}

impl Boards {
    /// Adds a position to this list and to the graph.
    fn push(&mut self, graph: &mut Graph, board: &[u8]) -> Result<Node> {
        self.bytes.extend(&mut graph.pages, board)?;
        self.ends.push(&mut graph.pages, self.bytes.len() as u64)?;
        graph.add_position(Known::Nothing, 0)
    }

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
        let start = self.start(pages, node as usize)?;
        let mut bytes = Vec::new();
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

/// Finds the moves between the positions of a graph. The first pass finds the moves that lead to positions of
/// `index`, which usually has all positions. Each further pass uses an index of the next positions that fit
/// into memory.
fn find_moves(
    boards: &Boards,
    graph: &mut Graph,
    index: Index,
    memory_bytes: usize,
) -> Result<List<PackedMove>> {
    let mut moves = find_moves_to(&index, boards, graph, List::new(Access::InOrder))?;
    let mut end = index.boards.len();
    drop(index);
    while end < graph.len() {
        let mut index = Index { first: end as Node, boards: ByKey::new(memory_bytes) };
        while end < graph.len() {
            let board = boards.get(&mut graph.pages, end as Node)?;
            if !index.has_room(&board) {
                break;
            }
            let place = index.place(&board);
            index.boards.insert(place, &[&board]);
            end += 1;
        }
        moves = find_moves_to(&index, boards, graph, moves)?;
    }
    Ok(moves)
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
    let mut targets = Vec::new();
    let mut targets_moves = Vec::new();
    let mut bytes = Vec::new();
    let mut ends = Vec::new();
    for start in (0..graph.len()).step_by(BATCH) {
        let nodes = start..(start + BATCH).min(graph.len());
        boards.read(&mut graph.pages, nodes, &mut bytes, &mut ends)?;
        let moves_at = |at: usize| {
            let start = if at == 0 { 0 } else { ends[at - 1] };
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
                cell.distance = 0;
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
#[derive(Debug)]
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
    fn place(&self, board: &[u8]) -> Place {
        self.boards.find(hash_of(board), |entry| entry == board)
    }

    fn has_room(&self, board: &[u8]) -> bool {
        self.boards.len() < MIN_INDEX || self.boards.has_room(1, board.len())
    }

    fn moves_of(&self, board: &[u8]) -> Result<Found> {
        let mut found = Found::default();
        if board.len() == 1 {
            return Ok(found);
        }
        let Ok(playable) = Playable::new(&packed::decode(board)?.0) else { return Ok(found) };
        if is_insufficient_material(playable.position().board()) {
            found.fact = Some(0);
            return Ok(found);
        }
        playable.each_move(|mv| {
            found.legal += 1;
            let next = playable.after(mv);
            let target = match decided(&next) {
                // The first pass finds these moves, whether or not there is a record.
                Some(stand_in) if self.first == 0 => Some(stand_in),
                Some(_) => None,
                None => self.find(next.position()),
            };
            if let Some(target) = target {
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
        let place = self.place(board.as_bytes());
        place.last.map(|number| self.first + number)
    }
}

/// The position that stands for a position whose value follows from the rules.
fn decided(playable: &Playable) -> Option<Node> {
    if is_insufficient_material(playable.position().board()) {
        return Some(DRAWN);
    }
    if playable.has_move() {
        return None;
    }
    Some(if playable.is_check() { MATED } else { DRAWN })
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
        let mut cells = Vec::new();
        let mut targets = Vec::new();
        let mut targets_moves = Vec::new();
        let mut found = Vec::new();
        for start in (0..graph.len()).step_by(BATCH) {
            let end = (start + BATCH).min(graph.len());
            graph.cells.read(&mut graph.pages, start..end, &mut cells)?;
            let mut batch = vec![Best::NONE; cells.len()];
            let mut ties = Vec::new();
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
        self.graph.len().saturating_sub(STAND_INS)
    }

    /// The number of moves to positions of records, or to positions that the rules decide.
    pub(super) const fn edges(&self) -> u64 {
        self.edges
    }

    pub(super) fn origins(&mut self) -> impl Iterator<Item = Result<Origin>> {
        let nodes = self.graph.nodes().skip(STAND_INS);
        nodes.map(|node| Ok(self.graph.cell(node)?.origin()))
    }

    /// The number of the position of a record.
    pub(super) fn node_of(&mut self, record: usize) -> Result<Node> {
        Ok(self.nodes.get(&mut self.graph.pages, record)?)
    }

    pub(super) fn value(&mut self, node: Node) -> Result<(Option<i16>, Origin)> {
        let cell = self.graph.cell(node)?;
        Ok((cell.value(), cell.origin()))
    }

    fn best(&mut self, node: Node) -> Result<Option<Best>> {
        let best = self.best.get(&mut self.graph.pages, node as usize)?;
        Ok((best.is_there == 1).then_some(best))
    }

    pub(super) fn best_move(&mut self, node: Node) -> Result<Option<Move>> {
        Ok(self.best(node)?.map(|best| best.mv.unpack()))
    }

    /// The position to which the best moves lead, and the number of plies to it; `None` if the best
    /// moves lead in a circle.
    pub(super) fn leaf(&mut self, node: Node) -> Result<Option<(Position, u32)>> {
        let mut at = node;
        let mut plies = 0_u32;
        // If the moves lead in a circle, the walk returns to `mark` (Brent's method).
        let mut mark = node;
        let mut limit = 1_u32;
        while let Some(Best { target, mv, .. }) = self.best(at)? {
            if (target as usize) < STAND_INS {
                let position = self.position(at)?;
                return Ok(Some((after(&position, mv.unpack()), plies + 1)));
            }
            at = target;
            plies += 1;
            if at == mark {
                return Ok(None);
            }
            if plies == limit {
                mark = at;
                limit = limit.saturating_mul(2);
            }
        }
        Ok(Some((self.position(at)?, plies)))
    }

    fn position(&mut self, node: Node) -> Result<Position> {
        let board = self.boards.get(&mut self.graph.pages, node)?;
        Ok(packed::decode(&board)?.0)
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
