//! The mixing model of a segment.

use super::layout::Layout;
use super::vectors::padded;

/// Maximum number of hidden units.
pub(super) const MAX_HIDDEN: usize = 64;
/// The number of hidden units is a multiple of this.
pub(super) const HIDDEN_STEP: usize = 8;
/// The weights of a feature begin at multiples of this.
pub(super) const LANES: usize = 16;
/// Weights are integers in units of 1/`STEPS`.
pub(super) const STEPS: f32 = 16.0;
/// Largest absolute weight.
pub(super) const MAX_WEIGHT: i16 = 127;

/// The fields of a segment and the weights of its network.
#[derive(Debug)]
pub(in crate::archive) struct MixingModel {
    pub(super) layout: Layout,
    /// Number of hidden units, a multiple of eight.
    pub(super) hidden: usize,
    pub(super) weights: Weights,
}

/// Weights, in units of 1/16.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Weights {
    /// From each feature to each unit; [`Weights::stride`] a feature.
    pub(super) direct: Vec<i16>,
    /// From each feature to each hidden unit.
    pub(super) inner: Vec<i16>,
    /// From each hidden unit to each unit, ordered by unit.
    pub(super) outer: Vec<i16>,
    /// Number of weights of a feature in `direct`.
    pub(super) stride: usize,
    /// Number of weights of a feature in `inner`, and of a unit in `outer`.
    pub(super) hidden_stride: usize,
}

impl Weights {
    /// Weights that are all 0.
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

    /// Memory in bytes.
    pub(super) fn cost(layout: &Layout, hidden: usize) -> usize {
        let hidden_stride = padded(hidden);
        let per_feature = stride(layout) + hidden_stride;
        size_of::<i16>() * (layout.features() * per_feature + layout.units() * hidden_stride)
    }
}

/// Number of weights from a feature to units, padded to whole vectors.
pub(super) fn stride(layout: &Layout) -> usize {
    layout.units().next_multiple_of(LANES)
}

impl MixingModel {
    /// Approximate memory in bytes.
    pub(in crate::archive) fn cost(&self) -> usize {
        Weights::cost(&self.layout, self.hidden)
    }
}
