//! The network while it predicts the decisions of a row.

use super::model::{LANES, MAX_HIDDEN, MixingModel};
use super::sigmoid::probability;

/// What one hidden unit says at most.
const FULL: i16 = 128;
/// From 16ths, in which weights are, to those parts of [`FULL`].
const HIDDEN_SHIFT: u32 = 3;
/// From 16ths of [`FULL`]ths, in which evidence is summed, to 256ths.
const EVIDENCE_SHIFT: u32 = 3;

/// The sums of the weights of the active features.
pub(super) struct Network<'a> {
    model: &'a MixingModel,
    units: Vec<i16>,
    hidden: [i16; MAX_HIDDEN],
    /// What the hidden units say, once it is asked for after a feature became active.
    says: [i16; MAX_HIDDEN],
    is_stale: bool,
}

impl<'a> Network<'a> {
    pub(super) fn new(model: &'a MixingModel) -> Network<'a> {
        Network {
            model,
            units: vec![0; model.weights.stride],
            hidden: [0; MAX_HIDDEN],
            says: [0; MAX_HIDDEN],
            is_stale: true,
        }
    }

    /// No feature is active.
    pub(super) fn clear(&mut self) {
        self.units.fill(0);
        self.hidden.fill(0);
        self.is_stale = true;
    }

    pub(super) fn activate(&mut self, feature: usize) {
        let weights = &self.model.weights;
        // Units of earlier fields have weight 0.
        let start = self.model.layout.start(feature) / LANES * LANES;
        let direct = &weights.direct[feature * weights.stride..][..weights.stride];
        for (sum, weight) in self.units[start..].iter_mut().zip(&direct[start..]) {
            *sum = sum.wrapping_add(*weight);
        }
        let hidden = self.model.hidden;
        let inner = &weights.inner[feature * hidden..][..hidden];
        for (sum, weight) in self.hidden.iter_mut().zip(inner) {
            *sum = sum.wrapping_add(*weight);
        }
        self.is_stale = true;
    }

    /// The probability that the decision of a unit is true.
    pub(super) fn probability(&mut self, unit: usize) -> u16 {
        let hidden = self.model.hidden;
        if self.is_stale {
            for (says, sum) in self.says.iter_mut().zip(&self.hidden).take(hidden) {
                *says = (*sum).clamp(0, FULL >> HIDDEN_SHIFT) << HIDDEN_SHIFT;
            }
            self.is_stale = false;
        }
        let outer = &self.model.weights.outer[unit * hidden..][..hidden];
        let mixed = dot(outer, &self.says[..hidden]);
        let sum = i32::from(self.units[unit]) * i32::from(FULL) + mixed;
        probability(sum >> EVIDENCE_SHIFT)
    }
}

fn dot(weights: &[i16], says: &[i16]) -> i32 {
    let products =
        weights.iter().zip(says).map(|(&weight, &says)| i32::from(weight) * i32::from(says));
    products.sum()
}
