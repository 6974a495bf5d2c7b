//! The position model of level max. A position is coded as binary decisions. A small neural network
//! predicts each decision from all previous decisions. `formats/archive_mixing.md` specifies it.
//!
//! - **Field**: a part of a row that is coded as one symbol: form, state, a square, a counter.
//! - **Decision**: true if a field has a certain value. The values in the list of the field are
//!   tried one after the other, the most frequent value first.
//! - **Unit**: an output of the network, which predicts a decision. **Feature**: an input, which is
//!   a fact that earlier decisions established. An active feature adds its weights to the units,
//!   and to the **hidden units**. Each hidden unit has weights to the units too.
//! - **[`train`]** computes the weights from the rows of a segment in floating point.
//!   [`MixingModel`] has them as small integers, so that decoding gives the same bytes on every
//!   machine.
// Why a trained network and not context mixing that adapts while it decodes: adaptive mixing square
// by square reached 3.0 to 9.2 bytes a record on five opening books, but at 12,000 positions a
// second and only over a whole file. Static weights in the file let each block decode by itself.

mod decisions;
mod decode;
mod encode;
mod file;
mod layout;
mod learn;
mod network;
mod quantise;
mod train;
mod vectors;

pub(super) use encode::RowEncoder;

use layout::Layout;
use vectors::padded;

/// Maximum number of hidden units.
const MAX_HIDDEN: usize = 64;
/// The number of hidden units is a multiple of this number.
const HIDDEN_STEP: usize = 8;
/// The weights of a feature begin at multiples of this number.
const LANES: usize = 16;
/// Weights are integers in units of 1/`STEPS`.
const STEPS: f32 = 16.0;
/// Largest absolute weight that is written.
const MAX_WEIGHT: i16 = 127;

/// The fields of a segment and the weights of its network.
#[derive(Debug)]
pub(in crate::archive) struct MixingModel {
    layout: Layout,
    /// Number of hidden units, a multiple of eight.
    hidden: usize,
    weights: Weights,
}

/// Weights, in units of 1/16.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Weights {
    /// Weights from each feature to each output unit. A feature has [`Weights::stride`] of these
    /// weights.
    direct: Vec<i16>,
    /// Weights from each feature to each hidden unit.
    inner: Vec<i16>,
    /// Weights from each hidden unit to each output unit, ordered by output unit.
    outer: Vec<i16>,
    /// Number of weights of a feature in `direct`.
    stride: usize,
    /// Number of weights of a feature in `inner`, and of an output unit in `outer`.
    hidden_stride: usize,
}

impl Weights {
    /// Weights that are all 0.
    fn new(layout: &Layout, hidden: usize) -> Weights {
        let (stride, hidden_stride) = (stride(layout), padded(hidden));
        Weights {
            direct: vec![0; layout.features() * stride],
            inner: vec![0; layout.features() * hidden_stride],
            outer: vec![0; layout.units() * hidden_stride],
            stride,
            hidden_stride,
        }
    }

    /// Memory in bytes.
    fn cost(layout: &Layout, hidden: usize) -> usize {
        let hidden_stride = padded(hidden);
        let per_feature = stride(layout) + hidden_stride;
        size_of::<i16>() * (layout.features() * per_feature + layout.units() * hidden_stride)
    }
}

/// Number of weights from a feature to units, including the padding to whole vectors.
fn stride(layout: &Layout) -> usize {
    layout.units().next_multiple_of(LANES)
}

impl MixingModel {
    /// Approximate memory in bytes.
    pub(in crate::archive) fn cost(&self) -> usize {
        Weights::cost(&self.layout, self.hidden)
    }
}
