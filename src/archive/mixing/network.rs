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

#[cfg(test)]
mod tests {
    use super::super::layout::BIAS;
    use super::*;
    use crate::archive::row::{EN_PASSANT, RANKS, Row};

    /// Rows in which every square is one of few pieces, by a rule that no square tells alone.
    fn rows() -> Vec<Row> {
        let row = |number: u32| {
            let mut row = Row::default();
            for column in RANKS..EN_PASSANT {
                let mixed = (number * 7 + column as u32).wrapping_mul(0x9e37_79b9) >> 7;
                row.0[column] = mixed & 0x1111_1111 | (mixed & mixed >> 9 & 0x1111_1111) << 1;
            }
            row
        };
        (0..300).map(row).collect()
    }

    /// The formula of the format page, in numbers without bounds.
    #[test]
    fn probabilities_are_those_of_the_page() {
        let model = MixingModel::learned(&rows(), 8);
        let (weights, layout) = (&model.weights, &model.layout);
        let mut network = Network::new(&model);
        let mut active = Vec::new();
        for feature in (BIAS..layout.features()).step_by(3) {
            active.push(feature);
            network.activate(feature);
            for unit in 0..layout.units() {
                if active.iter().any(|&feature| layout.start(feature) > unit) {
                    continue;
                }
                let sum = |weight: &dyn Fn(usize) -> i16| -> i64 {
                    active.iter().map(|&feature| i64::from(weight(feature))).sum()
                };
                let mut evidence =
                    128 * sum(&|feature| weights.direct[feature * weights.stride + unit]);
                for hidden in 0..8 {
                    let says =
                        (8 * sum(&|feature| weights.inner[feature * 8 + hidden])).clamp(0, 128);
                    evidence += says * i64::from(weights.outer[unit * 8 + hidden]);
                }
                assert_eq!(network.probability(unit), probability((evidence >> 3) as i32));
            }
        }
        assert!(
            weights.outer.iter().chain(&weights.inner).filter(|&&weight| weight != 0).count() > 99
        );
    }
}
