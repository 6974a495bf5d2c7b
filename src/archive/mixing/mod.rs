//! The model of positions of level max: each position as binary decisions, each of them predicted by
//! a small network from all that was decided before. `formats/archive.md` has it in words.
//!
//! - **Field**: a part of a row that is coded as one symbol: form, state, a square, a counter.
//! - **Decision**: whether a field has a value of its list, asked from the most frequent on.
//! - **Unit**: what predicts a decision; **feature**: something that decisions said. A feature that
//!   is active adds its weights to units and to **hidden units**, which have weights to units too.
//! - **[`train`]** makes the weights from the rows of a segment, in floating point, and
//!   [`MixingModel`] has them as small whole numbers: what decides bytes is whole numbers only.

mod decisions;
mod decode;
mod encode;
mod field;
mod file;
mod layout;
mod learn;
mod model;
mod network;
mod quantise;
mod sigmoid;
mod train;
mod vectors;

pub(super) use encode::RowEncoder;
pub(super) use model::MixingModel;
