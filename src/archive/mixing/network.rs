//! Evaluation of the network for the decisions of a row.

use super::{LANES, MixingModel, vectors};

/// Probabilities for evidence of -10, -9.5, ... 10, in units of 1/16,384. Evidence is the weighted
/// sum of a unit's inputs.
const POINTS: [i32; 41] = [
    1, 1, 2, 3, 5, 9, 15, 25, 41, 67, 110, 180, 295, 480, 777, 1243, 1953, 2989, 4406, 6186, 8192,
    10198, 11978, 13395, 14431, 15141, 15607, 15904, 16089, 16204, 16274, 16317, 16343, 16359,
    16369, 16375, 16379, 16381, 16382, 16383, 16383,
];
/// The integer that represents an evidence of 1.
pub(super) const UNIT: i32 = 256;
/// Bound of the evidence.
const LIMIT: i32 = 10 * UNIT;
/// Binary logarithm of the distance between two points.
const STEP_BITS: u32 = 7;

/// The probability for each evidence within the bounds, in units of 1/[`SCALE`]; never 0 or 1.
static PROBABILITIES: [u16; 2 * LIMIT as usize] = {
    let mut all = [0; 2 * LIMIT as usize];
    let mut at = 0;
    while at < all.len() {
        let (point, part) = (at >> STEP_BITS, (at & ((1 << STEP_BITS) - 1)) as i32);
        let (low, high) = (POINTS[point], POINTS[point + 1]);
        all[at] = (low + (((high - low) * part) >> STEP_BITS)) as u16;
        at += 1;
    }
    all
};

/// The probability for an evidence.
#[inline(always)]
pub(super) fn probability(evidence: i32) -> u16 {
    PROBABILITIES[(evidence.clamp(-LIMIT, LIMIT - 1) + LIMIT) as usize]
}

/// Maximum output of a hidden unit.
const FULL: i16 = 128;
/// Shift from the units of weights, 1/16, to the units of the outputs of hidden units, 1/[`FULL`].
const HIDDEN_SHIFT: u32 = 3;
/// Shift from the units of summed evidence, 1/(16 × [`FULL`]), to the units of [`probability`],
/// 1/256.
const EVIDENCE_SHIFT: u32 = 3;

/// The state of the network while a row is coded. It has the sums of the weights of the active
/// features: one sum for each unit, and one for each of `HIDDEN` hidden units.
pub(super) struct Network<'a, const HIDDEN: usize> {
    model: &'a MixingModel,
    inner: &'a [[i16; HIDDEN]],
    outer: &'a [[i16; HIDDEN]],
    units: Vec<i16>,
    hidden: [i16; HIDDEN],
    /// Outputs of the hidden units. They are computed again when they are needed after a feature
    /// was activated.
    outputs: [i16; HIDDEN],
    is_stale: bool,
}

impl<'a, const HIDDEN: usize> Network<'a, HIDDEN> {
    pub(super) fn new(model: &'a MixingModel) -> Network<'a, HIDDEN> {
        let weights = &model.weights;
        Network {
            model,
            inner: arrays(&weights.inner),
            outer: arrays(&weights.outer),
            units: vec![0; weights.stride],
            hidden: [0; HIDDEN],
            outputs: [0; HIDDEN],
            is_stale: true,
        }
    }

    /// Deactivates all features.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.units.fill(0);
        self.hidden = [0; HIDDEN];
        self.is_stale = true;
    }

    /// Activates a feature. Units before `first` are no longer needed.
    #[inline(always)]
    pub(super) fn activate(&mut self, feature: usize, first: usize) {
        let weights = &self.model.weights;
        let start = first / LANES * LANES;
        let direct = &weights.direct[feature * weights.stride..][..weights.stride];
        vectors::each(&mut self.units[start..], &direct[start..], i16::wrapping_add);
        if HIDDEN > 0 {
            vectors::each_in_arrays(&mut self.hidden, &self.inner[feature], i16::wrapping_add);
            self.is_stale = true;
        }
    }

    /// The probability that the decision of a unit is true.
    #[inline(always)]
    pub(super) fn probability(&mut self, unit: usize) -> u16 {
        let mut evidence = i32::from(self.units[unit]) * i32::from(FULL);
        if HIDDEN > 0 {
            if self.is_stale {
                vectors::each_in_arrays(&mut self.outputs, &self.hidden, |_, sum| {
                    sum.clamp(0, FULL >> HIDDEN_SHIFT) << HIDDEN_SHIFT
                });
                self.is_stale = false;
            }
            evidence += dot(&self.outer[unit], &self.outputs);
        }
        probability(evidence >> EVIDENCE_SHIFT)
    }
}

/// Weights as arrays; empty without hidden units.
fn arrays<const HIDDEN: usize>(weights: &[i16]) -> &[[i16; HIDDEN]] {
    if HIDDEN > 0 { weights.as_chunks().0 } else { &[] }
}

/// The dot product.
#[inline(always)]
fn dot<const N: usize>(weights: &[i16; N], outputs: &[i16; N]) -> i32 {
    let mut sums = [0i32; 4];
    for (weights, outputs) in weights.as_chunks::<8>().0.iter().zip(outputs.as_chunks::<8>().0) {
        sums = vectors::add_products(sums, weights, outputs);
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::super::layout::BIAS;
    use super::super::vectors::Work;
    use super::*;
    use crate::archive::columns::{EN_PASSANT, RANKS, Row};
    use crate::simd::InstructionSet;

    /// Rows with few kinds of pieces, which follow a rule that no single square shows.
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

    /// Compares with the formula of `formats/archive_mixing.md`, computed with unbounded integers.
    #[test]
    fn probabilities_are_those_of_the_page() {
        let model = MixingModel::learned(&rows(), 8, 900);
        for instructions in [InstructionSet::fastest(), InstructionSet::PORTABLE] {
            vectors::run_with(instructions, 8, Compared { model: &model });
        }
        let weights = &model.weights;
        assert!(
            weights.outer.iter().chain(&weights.inner).filter(|&&weight| weight != 0).count() > 99
        );
    }

    /// Compares a network with the formula.
    struct Compared<'a> {
        model: &'a MixingModel,
    }

    impl Work for Compared<'_> {
        type Output = ();

        fn run<const HIDDEN: usize>(self) {
            let model = self.model;
            let (weights, layout) = (&model.weights, &model.layout);
            let mut network = Network::<HIDDEN>::new(model);
            let mut active = Vec::new();
            for feature in (BIAS..layout.features()).step_by(3) {
                active.push(feature);
                network.activate(feature, layout.start(feature));
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
                        let outputs =
                            (8 * sum(&|feature| weights.inner[feature * HIDDEN + hidden]))
                                .clamp(0, 128);
                        evidence += outputs * i64::from(weights.outer[unit * HIDDEN + hidden]);
                    }
                    assert_eq!(network.probability(unit), probability((evidence >> 3) as i32));
                }
            }
        }
    }

    use crate::archive::rans::SCALE;

    #[test]
    fn probabilities_ascend_with_the_evidence() {
        let mut last = 0;
        for evidence in -3000..3000 {
            let now = probability(evidence);
            assert!(now >= last && now > 0 && u32::from(now) < SCALE);
            last = now;
        }
        assert_eq!(probability(0), 8192);
        assert_eq!(probability(i32::MIN), 1);
        assert_eq!(probability(i32::MAX), 16383);
    }
}
