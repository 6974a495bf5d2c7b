//! Scores carried back from the ends of lines to the positions before them.
//!
//! [`solve`] gives every position of a [`Graph`] its value. [`Backsolver`] builds the graph of the
//! positions of records, with all legal moves between them, and returns the records with their new
//! `ce`. Moves into mates and draws by the rules count whether or not their positions have records.

mod annotate;
mod cell;
mod graph;
mod pages;
mod positions;
mod solve;

pub use annotate::{CE_LEAF, CE_OWN, CE_PLIES, CE_REPEATS};
pub use cell::{Known, Origin};
pub use graph::{Graph, GraphError, Node};
pub use solve::{OwnScores, Solution, solve};

use std::cmp::Reverse;
use std::path::Path;

use serde::Serialize;

use annotate::{Solved, annotate, ce_of, own_score, restore, turn_view};
use positions::{Positions, SolvedPositions};

use crate::ordered::{self, changed};
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::error::Result;
use epdb_chess::model::EpdRecord;

/// Options of solving.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct BacksolveOptions {
    /// Treatment of own scores: the scores that records have before the solving.
    pub own_scores: OwnScores,
    /// Whether records document the origin of their values by [`CE_LEAF`] and [`CE_PLIES`].
    pub provenance: bool,
    /// Whether the scores of the input are relative to White.
    pub white_view: bool,
}

/// Takes records in any order, and returns them in the same order, each with a `ce` that follows from the
/// positions after its moves.
///
/// A value that goes back one ply changes its sign, and a mate becomes one ply longer. A side is mated
/// by force only if all its legal moves are known to lose; otherwise the position has no value. If several
/// records have the same position, the score with the greatest depth (`acd`) counts; if depths are
/// equal, the highest score. Mate, stalemate and insufficient material override any score. `pm`
/// becomes the best move; if moves are equally good, the one with the lowest ordinal. A `pv` that
/// begins with another move is dropped, and so is a `dm` that contradicts the value. The earlier
/// `ce` is kept as [`CE_OWN`]. A record whose value is its own `ce` does not change.
///
/// ```
/// use epdb_library::backsolve::{BacksolveOptions, Backsolver};
/// let mut backsolver = Backsolver::new(BacksolveOptions::default(), &std::env::temp_dir(), 1 << 26);
/// for line in ["4k3/8/8/8/8/8/4P3/4K3 w - - ce 10;", "4k3/8/8/8/4P3/8/8/4K3 b - - ce -25;"] {
///     backsolver.add(&epdb_chess::parse_epd(line.as_bytes())?)?;
/// }
/// let mut solved = backsolver.solve()?;
/// let first = solved.next().transpose()?.expect("a record");
/// assert_eq!(epdb_chess::format_epd(&first), b"4k3/8/8/8/8/8/4P3/4K3 w - - ce 25; ce_own 10; pm e4;");
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
    /// An empty solver. It uses about `memory_bytes` of memory and a few MiB more, and temporary
    /// files in `directory` for the rest. The result does not depend on the memory.
    pub fn new(options: BacksolveOptions, directory: &Path, memory_bytes: usize) -> Backsolver {
        let records = Sorter::new(directory, memory_bytes / 4);
        let positions = Positions::new(directory, memory_bytes - memory_bytes / 4);
        Backsolver { options, positions, records, scored: 0 }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The record cannot be encoded, or the temporary file cannot be written.
    pub fn add(&mut self, record: &EpdRecord) -> Result<()> {
        let before = ce_of(record);
        let mut own = record.clone();
        restore(&mut own);
        if self.options.white_view && own == *record {
            turn_view(&mut own);
        }
        self.scored += u64::from(ce_of(&own).is_some());
        self.positions.add(own.position(), own_score(&own))?;
        let entry = Entry { before, record: own };
        let order = self.records.len().to_be_bytes();
        Ok(self.records.push(&order, &entry.encode()?)?)
    }

    /// Solves all positions.
    ///
    /// # Errors
    /// There are more than 4,294,967,295 positions or moves, a mate is too long for `ce`, or a
    /// temporary file cannot be written or read.
    pub fn solve(self) -> Result<Backsolved> {
        let mut positions = self.positions.solve(self.options.own_scores)?;
        let mut counts = BacksolveCounts {
            positions: positions.len() as u64,
            moves: positions.edges(),
            scored: self.scored,
            ..BacksolveCounts::default()
        };
        for origin in positions.origins() {
            *counts.of_origin(origin?) += 1;
        }
        let records = self.records.finish()?;
        Ok(Backsolved { options: self.options, positions, records, read: 0, counts })
    }
}

/// A record in the sorter.
struct Entry {
    /// The `ce` of the record in the input.
    before: Option<i16>,
    record: EpdRecord,
}

impl Entry {
    fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![self.before.is_some().into()];
        bytes.extend_from_slice(&self.before.unwrap_or_default().to_le_bytes());
        ordered::push_record(&self.record, &mut bytes)?;
        Ok(bytes)
    }

    fn decode(bytes: &[u8]) -> Result<Entry> {
        let ([has_score, score @ ..], record) =
            bytes.split_first_chunk::<3>().ok_or_else(changed)?;
        let before = (*has_score == 1).then(|| i16::from_le_bytes(*score));
        Ok(Entry { before, record: ordered::decode(record)? })
    }
}

/// Counts of a [`Backsolver`]. Their text in JSON is what `epdb backsolve --json` prints.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BacksolveCounts {
    /// Number of different positions.
    pub positions: u64,
    /// Number of moves from positions of records to positions of records, or to positions that are mate or
    /// draw by the rules.
    pub moves: u64,
    /// Records that have a score of their own.
    #[serde(skip)]
    pub scored: u64,
    /// Positions whose value is that of their best move.
    pub solved: u64,
    /// Positions that are draws only because their best move repeats positions.
    pub repetitions: u64,
    /// Positions whose value follows from the rules.
    #[serde(rename = "by_rules")]
    pub facts: u64,
    /// Positions that keep their own score.
    #[serde(rename = "by_own_score")]
    pub own: u64,
    /// Positions without a value.
    pub unknown: u64,
    /// Records that were returned.
    pub records: u64,
    /// Number of returned records whose `ce` changed.
    pub changed: u64,
    /// Number of returned records that had no `ce` before.
    pub new: u64,
    /// The largest changes, the largest first.
    pub largest: Vec<ScoreChange>,
}

/// A changed `ce`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct ScoreChange {
    #[serde(skip)]
    size: Reverse<u32>,
    /// The position, as text.
    #[serde(rename = "fen")]
    pub position: String,
    /// The `ce` that the record had.
    pub before: i16,
    /// The `ce` that was computed.
    pub after: i16,
}

/// Maximum number of changes that are kept.
const LARGEST: usize = 20;

impl BacksolveCounts {
    fn of_origin(&mut self, origin: Origin) -> &mut u64 {
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

/// The records of a [`Backsolver`] with their results, in order of insertion.
#[derive(Debug)]
pub struct Backsolved {
    options: BacksolveOptions,
    positions: SolvedPositions,
    records: Sorted,
    /// Number of records that were read.
    read: usize,
    counts: BacksolveCounts,
}

impl Iterator for Backsolved {
    type Item = Result<EpdRecord>;

    fn next(&mut self) -> Option<Result<EpdRecord>> {
        self.read_next().transpose()
    }
}

impl Backsolved {
    fn read_next(&mut self) -> Result<Option<EpdRecord>> {
        let Some((_, bytes)) = self.records.next_entry()? else { return Ok(None) };
        let Entry { before, mut record } = Entry::decode(bytes)?;
        let node = self.positions.node_of(self.read)?;
        self.read += 1;
        let (value, origin) = self.positions.value(node)?;
        if let (Origin::Fact | Origin::Move | Origin::Repetition, Some(value)) = (origin, value) {
            let best = self.positions.best_move(node)?;
            let leaf = if self.options.provenance { self.positions.leaf(node)? } else { None };
            let is_repetition = origin == Origin::Repetition;
            annotate(&mut record, &Solved { value, best, is_repetition, leaf });
        }
        self.counts.take(&record, before);
        Ok(Some(record))
    }

    /// The counts of records and positions. Counts of records include only the records that were
    /// returned so far.
    pub const fn counts(&self) -> &BacksolveCounts {
        &self.counts
    }
}
