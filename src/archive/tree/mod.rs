//! The position model of level default: for each column a tree of contexts, each with the symbols that
//! are frequent there. `formats/archive.md` specifies it.
//!
//! - **Row**: a position as thirteen numbers, the **columns**.
//! - **Dictionary**: the values of a column that have a **symbol**. The **escape** symbol precedes
//!   other values, which are **spelled out**.
//! - **Context**: a value that is known before a column is coded; `ContextState` has all of them.
//! - **Node**: the symbols that are frequent with some values of contexts, each with its count.
//! - **`Interval`**: cumulative frequency and frequency of a symbol in a node; `SymbolTables` has the
//!   intervals of all nodes, for the rANS coder in `rans`.
//! - **Prediction mode**: the relation of a row to previous rows of its block, tracked by
//!   `EncodeHistory` and `DecodeHistory`.
//! - **[`TrainingSet`]**: the rows of a segment. `TreeBuilder` makes a `ModelSpec` of them, with a
//!   `TreeSpec` for each column: the model before it is written, or after it was read. The intervals of
//!   the rows are then known: `TrainedEncoder` has them.
//! - **[`PositionModel`]**: a model that codes any rows: [`RowEncoder`] and `BlockDecoder`.
// Why this way: whole ranks as symbols and a few contexts keep decoding at 13 symbols a record. At 64
// records a block the tree took 4.2 to 10.6 bytes a record on five opening books, model and directory
// included, and decoded 2.1 to 2.8 million positions a second on one core; xz -9e took 5.8 to 14.8 and has
// no access to single records. These did not help: the previous record as a context, other orders of
// squares, models trained on other files, and a match model.

mod build;
mod candidates;
mod context;
mod decode;
mod encode;
mod file;
mod grow;
mod intervals;
mod mirror;
mod model;
mod nodes;
mod possible;
mod prediction;
mod shipped;
mod spec;
mod spelling;
mod symbol_tables;
mod table;

pub(super) use build::TrainingSet;
pub(super) use encode::RowEncoder;
pub(super) use model::PositionModel;
pub(super) use shipped::shipped;
