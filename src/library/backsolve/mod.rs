//! Scores carried back from the ends of lines to the positions before them.
//!
//! [`solve`] gives every position of a [`Graph`] its value. [`Backsolver`] makes the graph of records,
//! in which each position is there once and the moves are all legal ones from one of them to another,
//! and gives the records back with their new `ce`.

mod annotate;
mod graph;
mod positions;
mod solve;

pub use annotate::{CE_LEAF, CE_OWN, CE_PLIES, CE_REPEATS};
pub use graph::{Graph, GraphError, Known, Node};
pub use solve::{Origin, OwnScores, Solution, solve};

use std::cmp::Reverse;
use std::path::Path;

use annotate::{Solved, annotate, ce_of, own_score, restore, turn_view};
use positions::{PositionGraph, Positions};

use crate::error::Result;
use crate::library::ordered::{self, changed};
use crate::model::{EpdRecord, Position};
use crate::spill::{Sorted, Sorter};

/// How positions are solved.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct BacksolveOptions {
    /// What of a record's own score counts.
    pub own_scores: OwnScores,
    /// Whether records say where their values are from.
    pub provenance: bool,
    /// Whether scores that come in are seen by White.
    pub white_view: bool,
}

/// Takes records in any order, and gives them back in that order with the `ce` that the positions
/// among them which moves lead to give them.
///
/// A value goes back one ply with its sign turned and mates one ply further away; of several records
/// of one position the score of the deepest (`acd`) counts, of equally deep ones the highest. What the
/// rules say goes before any score: mate, stalemate, and what nobody can mate with. `pm` becomes the
/// best move, of equal ones that of the lowest ordinal; a `pv` that begins otherwise and a `dm` that
/// says otherwise are dropped; the `ce` from before stays as [`CE_OWN`](super::CE_OWN). Records whose
/// own score stands are not changed.
///
/// ```
/// use epdb::library::backsolve::{BacksolveOptions, Backsolver};
/// let mut backsolver = Backsolver::new(BacksolveOptions::default(), &std::env::temp_dir(), 1 << 26);
/// for line in ["4k3/8/8/8/8/8/4P3/4K3 w - - ce 10;", "4k3/8/8/8/4P3/8/8/4K3 b - - ce -25;"] {
///     backsolver.add(&epdb::parse_epd(line.as_bytes())?)?;
/// }
/// let mut solved = backsolver.solve()?;
/// let first = solved.next_record()?.expect("a record");
/// assert_eq!(epdb::format_epd(&first), b"4k3/8/8/8/8/8/4P3/4K3 w - - ce 25; ce_own 10; pm e4;");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Backsolver {
    options: BacksolveOptions,
    positions: Positions,
    records: Sorter,
    scored: u64,
}

impl Backsolver {
    /// No records yet. Records that do not fit a quarter of `memory` go to a temporary file in
    /// `directory`; the positions must fit the rest.
    pub fn new(options: BacksolveOptions, directory: &Path, memory: usize) -> Backsolver {
        let records = Sorter::new(directory, memory / 4);
        let positions = Positions::new(memory - memory / 4);
        Backsolver { options, positions, records, scored: 0 }
    }

    /// Takes a record.
    ///
    /// # Errors
    /// It has no binary form, or the temporary file cannot be written.
    pub fn add(&mut self, record: &EpdRecord) -> Result<()> {
        let before = ce_of(record);
        let mut own = record.clone();
        restore(&mut own);
        if self.options.white_view && own == *record {
            turn_view(&mut own);
        }
        self.scored += u64::from(ce_of(&own).is_some());
        let Some(node) = self.positions.add(own.position(), own_score(&own)) else { return Ok(()) };
        let entry = Entry { node, before, record: own };
        let order = self.records.len().to_be_bytes();
        Ok(self.records.push(&order, &entry.encode()?)?)
    }

    /// Solves all positions.
    ///
    /// # Errors
    /// They do not fit the memory, a mate is too far away for `ce`, or the temporary file cannot be
    /// read.
    pub fn solve(self) -> Result<Backsolved> {
        let graph = self.positions.graph()?;
        let solution = solve(&graph.graph, self.options.own_scores)?;
        let best = graph.best_moves(&solution)?;
        let mut counts = BacksolveCounts {
            positions: graph.graph.len() as u64,
            moves: graph.graph.edges() as u64,
            scored: self.scored,
            ..BacksolveCounts::default()
        };
        for node in graph.graph.nodes() {
            *counts.of(solution.origin(node)) += 1;
        }
        let records = self.records.finish()?;
        Ok(Backsolved { options: self.options, graph, solution, best, records, counts })
    }
}

/// A record on its way through the sorter.
struct Entry {
    node: Node,
    /// Its `ce` as it came.
    before: Option<i16>,
    record: EpdRecord,
}

impl Entry {
    fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = self.node.to_le_bytes().to_vec();
        bytes.push(self.before.is_some().into());
        bytes.extend_from_slice(&self.before.unwrap_or_default().to_le_bytes());
        ordered::push_record(&self.record, &mut bytes)?;
        Ok(bytes)
    }

    fn decode(bytes: &[u8]) -> Result<Entry> {
        let (node, rest) = bytes.split_first_chunk().ok_or_else(changed)?;
        let ([has_score, score @ ..], record) =
            rest.split_first_chunk::<3>().ok_or_else(changed)?;
        let before = (*has_score == 1).then(|| i16::from_le_bytes(*score));
        Ok(Entry { node: u32::from_le_bytes(*node), before, record: ordered::decode(record)? })
    }
}

/// How many of what there were.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BacksolveCounts {
    /// Positions.
    pub positions: u64,
    /// Moves between them.
    pub moves: u64,
    /// Records that have a score of their own.
    pub scored: u64,
    /// Positions that keep their own score.
    pub own: u64,
    /// Positions whose value the rules say.
    pub facts: u64,
    /// Positions whose value is that of their best move.
    pub solved: u64,
    /// Positions whose best move is to repeat positions: draws that are not among those.
    pub repetitions: u64,
    /// Positions without a value.
    pub unknown: u64,
    /// Records that were read back.
    pub records: u64,
    /// Those of them that got another `ce`.
    pub changed: u64,
    /// Those of them that had none.
    pub new: u64,
    /// The largest changes, the largest first.
    pub largest: Vec<ScoreChange>,
}

/// A `ce` that became another one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ScoreChange {
    size: Reverse<u32>,
    /// The position, as text.
    pub position: String,
    /// What `ce` was.
    pub before: i16,
    /// What it is now.
    pub after: i16,
}

/// So many of the largest changes are kept.
const LARGEST: usize = 20;

impl BacksolveCounts {
    fn of(&mut self, origin: Origin) -> &mut u64 {
        match origin {
            Origin::Unknown => &mut self.unknown,
            Origin::Own => &mut self.own,
            Origin::Fact => &mut self.facts,
            Origin::Move => &mut self.solved,
            Origin::Repetition => &mut self.repetitions,
        }
    }

    fn take(&mut self, record: &EpdRecord, before: Option<i16>) {
        self.records += 1;
        let after = ce_of(record);
        self.changed += u64::from(before != after);
        self.new += u64::from(before.is_none() && after.is_some());
        let (Some(before), Some(after)) = (before, after) else { return };
        let size = Reverse(i32::from(before).abs_diff(after.into()));
        let smallest = self.largest.get(LARGEST - 1).map(|change| change.size);
        if before == after || smallest.is_some_and(|smallest| size > smallest) {
            return;
        }
        let position = record.position().identity().to_string();
        let change = ScoreChange { size, position, before, after };
        if let Err(place) = self.largest.binary_search(&change) {
            self.largest.insert(place, change);
            self.largest.truncate(LARGEST);
        }
    }
}

/// The records of a [`Backsolver`] with what was found, in the order in which they came.
#[derive(Debug)]
pub struct Backsolved {
    options: BacksolveOptions,
    graph: PositionGraph,
    solution: Solution,
    /// The places of the best moves of all positions.
    best: Vec<Option<u32>>,
    records: Sorted,
    counts: BacksolveCounts,
}

impl Backsolved {
    /// The next record; `None` after the last.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn next_record(&mut self) -> Result<Option<EpdRecord>> {
        let Some((_, bytes)) = self.records.next_entry()? else { return Ok(None) };
        let Entry { node, before, mut record } = Entry::decode(bytes)?;
        let origin = self.solution.origin(node);
        if let (Origin::Fact | Origin::Move | Origin::Repetition, Some(value)) =
            (origin, self.solution.value(node))
        {
            let best = self.best[node as usize].map(|place| self.graph.move_at(place as usize));
            let leaf = if self.options.provenance { self.leaf(node)? } else { None };
            let is_repetition = origin == Origin::Repetition;
            annotate(&mut record, &Solved { value, best, is_repetition, leaf });
        }
        self.counts.take(&record, before);
        Ok(Some(record))
    }

    /// How many of what there were; of records, as far as they were read back.
    pub const fn counts(&self) -> &BacksolveCounts {
        &self.counts
    }

    /// Where the best moves lead, and after how many plies; `None` where they lead in a circle.
    fn leaf(&self, node: Node) -> Result<Option<(Position, u32)>> {
        let (mut at, mut plies) = (node, 0_u32);
        // The place at which a walk in a circle must come by again (Brent's method).
        let (mut mark, mut limit) = (node, 1_u32);
        while let Some(place) = self.best[at as usize] {
            at = self.graph.graph.target(place as usize);
            plies += 1;
            if at == mark {
                return Ok(None);
            }
            if plies == limit {
                (mark, limit) = (at, limit.saturating_mul(2));
            }
        }
        Ok(Some((self.graph.position(at)?, plies)))
    }
}
