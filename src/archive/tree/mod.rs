//! The position model of level default. It has a tree of contexts for each column; each node of the
//! tree lists the symbols that are frequent in its contexts. `formats/archive_model.md` specifies it.
//!
//! - **Row**: a position as thirteen numbers, the **columns**.
//! - **Dictionary**: the values of a column that have a **symbol**. Any other value is coded as the
//!   **escape** symbol, and then **spelled out** (written in full).
//! - **Context**: a value that is known before a column is coded; `ContextState` has all of them.
//! - **Node**: the symbols that are frequent under some values of contexts, each with its count.
//! - **`Interval`**: cumulative frequency and frequency of a symbol in a node; `SymbolTables` has
//!   the intervals of all nodes, for the rANS coder in `rans`.
//! - **Prediction mode**: the way in which a row follows from previous rows of its block.
//!   [`Step`] is the move from a row to the next. `DecodeHistory` has the previous rows while decoding.
//! - **[`TrainingSet`]**: the rows of a segment. `TreeBuilder` makes a `ModelSpec` from them, with
//!   a `TreeSpec` for each column. A `ModelSpec` is a model before it is written, or after it was
//!   read. `TrainedEncoder` has the intervals of the rows from which a model was built.
//! - **[`PositionModel`]**: a model that codes any rows, with [`RowEncoder`] and `BlockDecoder`.
// Why this way: whole ranks as symbols and a few contexts keep decoding at 13 symbols a record. At
// 64 records a block the tree took 4.2 to 10.6 bytes a record on five opening books, including
// model and directory. It decoded 2.1 to 2.8 million positions a second on one core. xz -9e took
// 5.8 to 14.8 bytes and has no access to single records. These did not help: the previous record as
// a context, other orders of squares, models trained on other files, and a match model.

mod build;
mod candidates;
mod context;
mod decode;
mod encode;
mod file;
mod grow;
mod intervals;
mod mirror;
mod nodes;
mod prediction;
mod spec;
mod spelling;
mod symbol_tables;
mod table;

pub(super) use build::TrainingSet;
pub(super) use encode::RowEncoder;
pub(super) use intervals::TrainedEncoder;
pub(super) use prediction::{Step, steps};

#[cfg(not(target_family = "wasm"))]
use std::sync::LazyLock;

use super::columns::{RANKS, Row};
use context::{Context, Gain};
use epdb_chess::model::EpdRecord;
use mirror::{LAST_RANK, unmirrored};
use nodes::{Nodes, Path};
use prediction::PredictionModes;
use spelling::Spelling;
use symbol_tables::SymbolTables;

/// A position model for encoding and decoding.
#[derive(Debug)]
pub(crate) struct PositionModel {
    columns: Vec<Column>,
    nodes: Nodes,
    tables: SymbolTables,
    /// True if the last rank is coded by its difference from the first rank.
    mirrors: bool,
    spelling: Spelling,
    /// Prediction of rows from previous rows; `None` if the model does not use it.
    modes: Option<PredictionModes>,
    /// Approximate memory in bytes; 0 if the model was not read from bytes.
    cost: usize,
}

#[derive(Debug)]
struct Column {
    contexts: Vec<Context>,
    /// Values with a symbol, the most frequent first.
    dictionary: Vec<Entry>,
    /// The path before the first context.
    start: Path,
}

/// A value of a dictionary.
#[derive(Copy, Clone, Debug)]
struct Entry {
    value: u32,
    /// The pieces that the value adds to contexts, if it is a rank that is not coded as a
    /// difference.
    gain: Gain,
}

impl Entry {
    fn new(value: u32) -> Entry {
        Entry { value, gain: Gain::from_rank(value) }
    }
}

impl PositionModel {
    /// Approximate memory in bytes.
    pub(crate) const fn cost(&self) -> usize {
        self.cost
    }

    /// True if a column is coded by its difference from the first rank.
    const fn is_mirrored(&self, column: usize) -> bool {
        self.mirrors && column == LAST_RANK
    }

    /// Returns the value of a column from its coded value.
    fn value_of(&self, column: usize, coded: u32, row: &Row) -> u32 {
        if self.is_mirrored(column) { unmirrored(row.0[RANKS], coded) } else { coded }
    }
}

/// The bytes of the built-in model.
#[cfg(not(target_family = "wasm"))]
pub const SHIPPED_MODEL: &[u8] = include_bytes!("../data/shipped.bin");

/// The built-in model, for archives that are too small for their own model.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn shipped() -> Option<&'static PositionModel> {
    static SHIPPED: LazyLock<Option<PositionModel>> =
        LazyLock::new(|| PositionModel::read(SHIPPED_MODEL, usize::MAX).ok());
    SHIPPED.as_ref()
}

#[cfg(target_family = "wasm")]
pub(crate) use self::received::shipped;
#[cfg(target_family = "wasm")]
pub use self::received::{lacks_shipped_model, set_shipped_model};

/// The built-in model of a program for browsers, which receives it when an archive needs it: it is as large as
/// the program.
#[cfg(target_family = "wasm")]
mod received {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::PositionModel;

    static SHIPPED: OnceLock<PositionModel> = OnceLock::new();
    static IS_MISSING: AtomicBool = AtomicBool::new(false);

    pub(crate) fn shipped() -> Option<&'static PositionModel> {
        IS_MISSING.store(SHIPPED.get().is_none(), Ordering::Relaxed);
        SHIPPED.get()
    }

    /// True if the last archive that needed the built-in model did not find it.
    pub fn lacks_shipped_model() -> bool {
        IS_MISSING.load(Ordering::Relaxed)
    }

    /// Sets the built-in model, `formats/data/shipped.bin`. Returns false if the bytes are no model.
    pub fn set_shipped_model(bytes: &[u8]) -> bool {
        let Ok(model) = PositionModel::read(bytes, usize::MAX) else { return false };
        IS_MISSING.store(false, Ordering::Relaxed);
        SHIPPED.set(model).is_ok()
    }
}

/// Returns the bytes of a model for positions like these. `tests/examples/archive_data` calls this
/// function to make the model that is built into epdb. Archives that are too small for their own
/// model use the built-in model.
///
/// ```
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")?;
/// assert!(!epdb_archive::position_model(&[record]).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn position_model(records: &[EpdRecord]) -> Vec<u8> {
    let rows: Vec<Row> = records.iter().map(Row::from_record).collect();
    // In blocks of one record, no row is predicted from the row before.
    let training = TrainingSet::new(&rows, 1, &vec![None; rows.len()]);
    training.build_open(&training.plan(false)).write()
}
