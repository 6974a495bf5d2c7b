//! Training of the weights of a network on rows, by stochastic gradient descent.
//!
//! Only additions, multiplications, divisions and square roots of IEEE 754 are used, in an order
//! that is the same for vectors of any length. So the same rows make the same model on every
//! machine.
// That rules out fused multiply-add, `exp` of the platform's library, and sums whose order depends
// on the width of vectors: each would make archives depend on the machine that packed them.

use std::ops::Range;

use super::decisions::{Decisions, pass_row};
use super::layout::{BIAS, Layout};
use super::network::{UNIT, probability};
use super::vectors::{self, Work, padded};
use super::{LANES, MAX_WEIGHT, STEPS, stride};
use crate::archive::columns::Row;
use crate::archive::rans::SCALE;

/// Maximum number of rows that are used to estimate the Fisher information of weights.
const MAX_SAMPLE: usize = 1 << 13;
/// Initial learning rate of the weights to units. It falls with the number of times that the
/// feature was active.
const DIRECT_RATE: f32 = 0.08;
const SETTLED: f32 = 500.0;
/// Initial learning rate of weights of hidden units.
const HIDDEN_RATE: f32 = 0.015;
/// Slope of a saturated hidden unit, as in a leaky ReLU.
const LEAK: f32 = 0.02;
/// Lower bound of the Fisher information of a decision.
const MIN_INFORMATION: f32 = 0.03;

/// Largest absolute weight of a model.
const LARGEST: f32 = MAX_WEIGHT as f32 / STEPS;

/// Trained weights.
#[derive(PartialEq, Debug)]
pub(super) struct Learned {
    /// Weights from each feature to each output unit, padded to whole vectors for each feature.
    pub(super) direct: Vec<f32>,
    /// Weights from each feature to each hidden unit, in arrays that are padded to whole vectors.
    pub(super) inner: Vec<f32>,
    /// Weights from each hidden unit to each output unit, in arrays that are padded to whole
    /// vectors.
    pub(super) outer: Vec<f32>,
    /// Number of times that each feature was active.
    pub(super) active_count: Vec<u32>,
    /// Fisher information of each direct weight: the precision with which the data determine it.
    pub(super) information: Vec<f32>,
}

/// Trains a network with `hidden` hidden units on `examples` examples: some of these rows, or all
/// of them repeatedly.
pub(super) fn train(layout: &Layout, rows: &[Row], hidden: usize, examples: usize) -> Learned {
    vectors::run(hidden, Training { layout, rows, hidden, examples })
}

/// Work that trains a network on rows.
struct Training<'a> {
    layout: &'a Layout,
    rows: &'a [Row],
    hidden: usize,
    examples: usize,
}

impl Work for Training<'_> {
    type Output = Learned;

    #[inline(always)]
    fn run<const HIDDEN: usize>(self) -> Learned {
        let Training { layout, rows, hidden, examples } = self;
        let mut trainer = Trainer::<HIDDEN>::new(layout, Learned::new(layout, hidden));
        for (lesson, row) in scattered(rows).take(examples).enumerate() {
            pass_row(layout, row, &mut trainer);
            trainer.learn(1.0 - lesson as f32 / examples as f32);
        }
        let sampled = rows.len().min(MAX_SAMPLE).min(examples);
        trainer.asks_information = true;
        for row in scattered(rows).take(sampled) {
            pass_row(layout, row, &mut trainer);
            trainer.gather();
        }
        let part = rows.len() as f32 / sampled as f32;
        let mut learned = trainer.learned;
        learned.information.iter_mut().for_each(|information| *information *= part);
        learned
    }
}

impl Learned {
    /// Weights before training.
    fn new(layout: &Layout, hidden: usize) -> Learned {
        let mut noise = Noise(0);
        let mut scattered = |count: usize, scale: f32| {
            let mut weights = vec![0.0f32; count * padded(hidden)];
            for array in weights.chunks_exact_mut(padded(hidden).max(1)) {
                array[..hidden].iter_mut().for_each(|weight| *weight = noise.next() * scale);
            }
            weights
        };
        let mut inner = scattered(layout.features(), 0.2);
        let outer = scattered(layout.units(), 0.1);
        inner[BIAS * padded(hidden)..][..hidden].iter_mut().for_each(|weight| *weight += 0.5);
        Learned {
            direct: vec![0.0; layout.features() * stride(layout)],
            inner,
            outer,
            active_count: vec![0; layout.features()],
            information: vec![0.0; layout.features() * stride(layout)],
        }
    }
}

/// A network in training.
struct Trainer<'a, const HIDDEN: usize> {
    layout: &'a Layout,
    stride: usize,
    learned: Learned,
    asks_information: bool,
    units: Vec<f32>,
    /// The sums of the hidden units.
    sums: [f32; HIDDEN],
    says: [f32; HIDDEN],
    is_stale: bool,
    /// For each unit the error of its prediction in this row. While [`Learned::information`] is
    /// being computed, it is the information of the prediction instead.
    errors: Vec<f32>,
    /// The active features.
    active: Vec<u32>,
    steps: Vec<Step>,
    /// The sums of the hidden units after each change.
    history: Vec<[f32; HIDDEN]>,
}

/// An event while a row went through the network.
#[derive(Copy, Clone)]
enum Step {
    Activated(u32),
    /// A decision of a unit, with its error.
    Decided(u32, f32),
    /// The hidden units changed; the decisions after this step used the changed units.
    Changed,
}

impl<'a, const HIDDEN: usize> Trainer<'a, HIDDEN> {
    fn new(layout: &'a Layout, learned: Learned) -> Trainer<'a, HIDDEN> {
        let stride = stride(layout);
        Trainer {
            layout,
            stride,
            learned,
            asks_information: false,
            units: vec![0.0; stride],
            sums: [0.0; HIDDEN],
            says: [0.0; HIDDEN],
            is_stale: true,
            errors: vec![0.0; stride],
            active: Vec::new(),
            steps: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Returns the first unit that a feature affects, and the range of the weights to this unit and
    /// all later ones. Both begin at the start of a whole vector.
    #[inline(always)]
    fn reach(&self, feature: usize) -> (usize, Range<usize>) {
        let first = self.layout.start(feature) / LANES * LANES;
        (first, self.places(feature, first))
    }

    /// Range of the weights of a feature to the unit `first` and all later ones.
    #[inline(always)]
    fn places(&self, feature: usize, first: usize) -> Range<usize> {
        feature * self.stride + first..(feature + 1) * self.stride
    }

    /// Updates the weights by the errors of the last row. `pace` is a factor for the learning
    /// rates.
    #[inline(always)]
    fn learn(&mut self, pace: f32) {
        for &feature in &self.active {
            let count = &mut self.learned.active_count[feature as usize];
            *count += 1;
            let seen = *count as f32;
            let rate = DIRECT_RATE * pace * (SETTLED / (SETTLED + seen)).sqrt();
            let (first, places) = self.reach(feature as usize);
            vectors::each(&mut self.learned.direct[places], &self.errors[first..], moved(rate));
        }
        if HIDDEN > 0 {
            self.learn_hidden(HIDDEN_RATE * pace);
        }
    }

    /// Updates the weights of hidden units, by backpropagation from the last step to the first.
    #[inline(always)]
    fn learn_hidden(&mut self, rate: f32) {
        let outer = arrays::<HIDDEN>(&mut self.learned.outer);
        let inner = arrays::<HIDDEN>(&mut self.learned.inner);
        let mut gradient = [0.0f32; HIDDEN];
        let mut wanted = [0.0f32; HIDDEN];
        let mut history = self.history.iter().rev();
        let mut sums = [0.0f32; HIDDEN];
        let mut says = [0.0f32; HIDDEN];
        let mut is_new = true;
        for &step in self.steps.iter().rev() {
            match step {
                Step::Decided(unit, error) => {
                    if is_new {
                        sums = history.clone().next().copied().unwrap_or(sums);
                        vectors::each_in_arrays(&mut says, &sums, |_, sum| sum.clamp(0.0, 1.0));
                        is_new = false;
                    }
                    let outer = &mut outer[unit as usize];
                    vectors::each_in_arrays(&mut wanted, outer, |wanted, weight| {
                        wanted + error * weight
                    });
                    vectors::each_in_arrays(outer, &says, moved(rate * error));
                }
                Step::Changed => {
                    let sums = history.next().copied().unwrap_or(sums);
                    vectors::each_in_arrays(&mut wanted, &sums, |wanted, sum| wanted * slope(sum));
                    vectors::each_in_arrays(&mut gradient, &wanted, |gradient, wanted| {
                        gradient + wanted
                    });
                    wanted = [0.0; HIDDEN];
                    is_new = true;
                }
                Step::Activated(feature) => {
                    let inner = &mut inner[feature as usize];
                    vectors::each_in_arrays(inner, &gradient, moved(rate));
                }
            }
        }
    }

    /// Adds the Fisher information of the last row to that of the weights.
    #[inline(always)]
    fn gather(&mut self) {
        for &feature in &self.active {
            let (first, places) = self.reach(feature as usize);
            add_scaled(&mut self.learned.information[places], 1.0, &self.errors[first..]);
        }
    }

    /// The probability that the decision of a unit is true.
    #[inline(always)]
    fn predict(&mut self, unit: usize) -> f32 {
        let mut evidence = self.units[unit];
        if HIDDEN > 0 {
            if self.is_stale {
                vectors::each_in_arrays(&mut self.says, &self.sums, |_, sum| sum.clamp(0.0, 1.0));
                self.history.push(self.sums);
                self.steps.push(Step::Changed);
                self.is_stale = false;
            }
            evidence += vectors::dot(&arrays::<HIDDEN>(&mut self.learned.outer)[unit], &self.says);
        }
        f32::from(probability((evidence * UNIT as f32) as i32)) / SCALE as f32
    }
}

/// Derivative of the output of a hidden unit.
#[inline(always)]
fn slope(sum: f32) -> f32 {
    if sum > 0.0 && sum < 1.0 { 1.0 } else { LEAK }
}

/// Clamps a weight to the range of a model.
#[inline(always)]
fn bounded(weight: f32) -> f32 {
    weight.clamp(-LARGEST, LARGEST)
}

/// Weights of hidden units as arrays; empty without hidden units.
#[inline(always)]
fn arrays<const HIDDEN: usize>(weights: &mut [f32]) -> &mut [[f32; HIDDEN]] {
    if HIDDEN > 0 { weights.as_chunks_mut().0 } else { &mut [] }
}

/// Adds numbers multiplied by a scale.
#[inline(always)]
fn add_scaled(sums: &mut [f32], scale: f32, numbers: &[f32]) {
    vectors::each(sums, numbers, |sum: f32, number: f32| sum + scale * number);
}

/// Returns a function that moves a weight by a gradient step.
#[inline(always)]
fn moved(rate: f32) -> impl Fn(f32, f32) -> f32 {
    move |weight, error| bounded(weight + rate * error)
}

impl<const HIDDEN: usize> Decisions for Trainer<'_, HIDDEN> {
    #[inline(always)]
    fn begin(&mut self) {
        self.units.fill(0.0);
        self.sums = [0.0; HIDDEN];
        self.errors.fill(0.0);
        self.active.clear();
        self.steps.clear();
        self.history.clear();
        self.is_stale = true;
    }

    #[inline(always)]
    fn decide(&mut self, unit: usize, bit: bool) -> bool {
        let one = self.predict(unit);
        let error = f32::from(u8::from(bit)) - one;
        if self.asks_information {
            self.errors[unit] = (one * (1.0 - one)).max(MIN_INFORMATION);
        } else {
            self.errors[unit] = error;
            if HIDDEN > 0 {
                self.steps.push(Step::Decided(unit as u32, error));
            }
        }
        bit
    }

    #[inline(always)]
    fn is_first(&mut self, _: usize, bit: bool) -> bool {
        bit
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) -> u8 {
        byte
    }

    #[inline(always)]
    fn activate(&mut self, feature: usize, first: usize) {
        let first = first / LANES * LANES;
        let places = self.places(feature, first);
        add_scaled(&mut self.units[first..], 1.0, &self.learned.direct[places]);
        if HIDDEN > 0 {
            let inner: &[f32; HIDDEN] = &arrays(&mut self.learned.inner)[feature];
            vectors::each_in_arrays(&mut self.sums, inner, |sum, weight| sum + weight);
            self.is_stale = true;
            self.steps.push(Step::Activated(feature as u32));
        }
        self.active.push(feature as u32);
    }
}

/// Cycles through all rows. Neighbours in this order are far apart in the segment.
fn scattered(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let mut step = (rows.len() * 5 / 8).max(1);
    while gcd(step, rows.len()) != 1 {
        step += 1;
    }
    let mut at = 0;
    std::iter::repeat_with(move || {
        at = (at + step) % rows.len();
        &rows[at]
    })
}

const fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Pseudo-random numbers from -1 to 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::columns::RANKS;
    use crate::simd::InstructionSet;

    /// The same rows make the same weights with any instructions, to the last bit.
    #[test]
    fn all_instructions_learn_the_same() {
        let row = |number: u32| {
            let mut row = Row::default();
            row.0[RANKS] = number.wrapping_mul(0x9e37_79b9) & 0x3333_3333;
            row.0[RANKS + 1] = row.0[RANKS] >> 4 & 0x1111_1111;
            row
        };
        let rows: Vec<Row> = (0..300).map(row).collect();
        let layout = Layout::from_rows(&rows);
        for hidden in [0, 8, 24] {
            let learned =
                [InstructionSet::fastest(), InstructionSet::PORTABLE].map(|instructions| {
                    let work = Training { layout: &layout, rows: &rows, hidden, examples: 900 };
                    vectors::run_with(instructions, hidden, work)
                });
            assert!(learned[0] == learned[1]);
            assert!(learned[0].direct.iter().any(|&weight| weight != 0.0));
        }
    }
}
