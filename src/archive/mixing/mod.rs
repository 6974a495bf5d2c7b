//! The position model of level max: a position is coded as binary decisions, each predicted by a small
//! neural network from all previous decisions. `formats/archive.md` specifies it.
//!
//! - **Field**: a part of a row that is coded as one symbol: form, state, a square, a counter.
//! - **Decision**: whether a field has a value of its list, from the most frequent value on.
//! - **Unit**: an output of the network, which predicts a decision. **Feature**: an input, a fact that
//!   decisions established. An active feature adds its weights to units and to **hidden units**, which
//!   have weights to units too.
//! - **[`train`]** computes the weights from the rows of a segment in floating point. [`MixingModel`]
//!   has them as small integers, so that decoding gives the same bytes on every machine.
// Why a trained network and not context mixing that adapts while it decodes: adaptive mixing square by
// square reached 3.0 to 9.2 bytes a record on five opening books, but at 12,000 positions a second and
// only over a whole file. Static weights in the file let each block decode by itself.

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
