//! A model, ready to code with.

use super::layout::Layout;
use super::vectors::padded;

/// The most hidden units.
pub(super) const MAX_HIDDEN: usize = 64;
/// Hidden units come in vectors of this.
pub(super) const HIDDEN_STEP: usize = 8;
/// Weights of a feature begin at multiples of this.
pub(super) const LANES: usize = 16;
/// Weights are parts of this.
pub(super) const STEPS: f32 = 16.0;
/// The largest weight that is written.
pub(super) const MAX_WEIGHT: i16 = 127;

/// The fields of a segment and the weights of its network.
#[derive(Debug)]
pub(in crate::archive) struct MixingModel {
    pub(super) layout: Layout,
    /// How many hidden units there are, a multiple of eight.
    pub(super) hidden: usize,
    pub(super) weights: Weights,
}

/// Weights in 16ths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Weights {
    /// From each feature to each unit; [`Weights::stride`] a feature.
    pub(super) direct: Vec<i16>,
    /// From each feature to each hidden unit.
    pub(super) inner: Vec<i16>,
    /// From each hidden unit to each unit: those to a unit together.
    pub(super) outer: Vec<i16>,
    /// Weights of a feature in `direct`.
    pub(super) stride: usize,
    /// Weights of a feature in `inner`, and of a unit in `outer`.
    pub(super) hidden_stride: usize,
}

impl Weights {
    /// All 0.
    pub(super) fn new(layout: &Layout, hidden: usize) -> Weights {
        let (stride, hidden_stride) = (stride(layout), padded(hidden));
        Weights {
            direct: vec![0; layout.features() * stride],
            inner: vec![0; layout.features() * hidden_stride],
            outer: vec![0; layout.units() * hidden_stride],
            stride,
            hidden_stride,
        }
    }

    /// What they take, in bytes.
    pub(super) fn cost(layout: &Layout, hidden: usize) -> usize {
        let hidden_stride = padded(hidden);
        let per_feature = stride(layout) + hidden_stride;
        size_of::<i16>() * (layout.features() * per_feature + layout.units() * hidden_stride)
    }
}

/// Weights of a feature to units, with room for whole vectors.
pub(super) fn stride(layout: &Layout) -> usize {
    layout.units().next_multiple_of(LANES)
}

impl MixingModel {
    /// What it takes, about, in bytes.
    pub(in crate::archive) fn cost(&self) -> usize {
        Weights::cost(&self.layout, self.hidden)
    }
}
