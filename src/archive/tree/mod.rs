//! The position model of a segment: for each column a tree of contexts with the symbols that are
//! frequent there. `formats/archive.md` has it in words.
//!
//! - **Row**: a position as thirteen numbers, the **columns**.
//! - **Dictionary**: the values of a column that have a **symbol**; the **escape** stands for
//!   others, which are **spelled** behind it.
//! - **Context**: something known before a column is coded; `ContextState` has the values of all.
//! - **Node**: the symbols that are frequent under some values of contexts, each with its count.
//! - **`Interval`**: cumulative frequency and frequency of a symbol in a node; `SymbolTables`
//!   has those of all nodes, for the rANS coder in `rans`.
//! - **Prediction mode**: how a row follows from those before it in its block, kept by
//!   `EncodeHistory` and `DecodeHistory`.
//! - **[`TrainingSet`]**: the rows of a segment, of which `TreeBuilder` makes a `ModelSpec` with a
//!   `TreeSpec` for each column: the model before it is written, or after it was read. Which
//!   intervals code the rows is known then: `TrainedEncoder` has them.
//! - **[`PositionModel`]**: a model ready to code any rows with: [`RowEncoder`] and `BlockDecoder`.

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
