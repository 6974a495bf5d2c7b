//! Learning the weights of a network from rows, by gradient descent.
//!
//! Additions, multiplications, divisions and square roots of IEEE 754 only: the same rows make the
//! same model everywhere.

use super::decisions::{Decisions, pass_row};
use super::layout::{BIAS, Layout};
use super::model::{LANES, MAX_WEIGHT, STEPS, stride};
use super::sigmoid::{UNIT, probability};
use crate::archive::rans::SCALE;
use crate::archive::row::Row;

/// Rows that are learned from, those that are passed twice counted twice: no more.
const MAX_LESSONS: usize = 1 << 19;
/// How often each row is learned from, where that is allowed.
const PASSES: usize = 3;
/// Rows that the information of weights is taken from, no more.
const MAX_SAMPLE: usize = 1 << 16;
/// How fast weights to units follow errors at first; slower, the more often their feature was
/// active.
const DIRECT_RATE: f32 = 0.1;
const SETTLED: f32 = 1000.0;
/// How fast weights of hidden units follow errors at first.
const HIDDEN_RATE: f32 = 0.01;
/// What is left of the gradient of a hidden unit that says nothing or all.
const LEAK: f32 = 0.02;
/// Less information than this is not believed of a decision.
const MIN_INFORMATION: f32 = 0.03;

/// The largest weight of a model.
const LARGEST: f32 = MAX_WEIGHT as f32 / STEPS;

/// A network that learns.
pub(super) struct Trainer<'a> {
    pub(super) layout: &'a Layout,
    pub(super) hidden: usize,
    pub(super) stride: usize,
    pub(super) direct: Vec<f32>,
    pub(super) inner: Vec<f32>,
    pub(super) outer: Vec<f32>,
    /// How often each feature was active.
    pub(super) active_count: Vec<u32>,
    /// How sharply the data speak of each direct weight, once that was asked.
    pub(super) information: Vec<f32>,
    asks_information: bool,
    units: Vec<f32>,
    sums: Vec<f32>,
    says: Vec<f32>,
    is_stale: bool,
    /// What the row shows of the units: the errors of their predictions.
    shown: Vec<f32>,
    steps: Vec<Step>,
    /// The sums of the hidden units after each change.
    history: Vec<f32>,
}

/// What happened while a row was passed.
enum Step {
    Activated(usize),
    /// A unit was wrong by so much.
    Decided(usize, f32),
    /// The hidden units changed: behind are the decisions that they had a part in.
    Changed,
}

impl<'a> Trainer<'a> {
    /// A network with so many hidden units that has learned from some rows, and knows what its weights
    /// are worth.
    pub(super) fn train(layout: &'a Layout, rows: &[Row], hidden: usize) -> Trainer<'a> {
        let mut trainer = Trainer::new(layout, hidden);
        let lessons = (rows.len() * PASSES).min(MAX_LESSONS);
        for (lesson, row) in scattered(rows).take(lessons).enumerate() {
            pass_row(layout, row, &mut trainer);
            trainer.learn(1.0 - lesson as f32 / lessons as f32);
        }
        let sampled = rows.len().min(MAX_SAMPLE);
        trainer.asks_information = true;
        for row in scattered(rows).take(sampled) {
            pass_row(layout, row, &mut trainer);
            trainer.gather();
        }
        let part = rows.len() as f32 / sampled as f32;
        trainer.information.iter_mut().for_each(|information| *information *= part);
        trainer
    }

    fn new(layout: &'a Layout, hidden: usize) -> Trainer<'a> {
        let stride = stride(layout);
        let mut noise = Noise(0);
        let mut inner: Vec<f32> =
            (0..layout.features() * hidden).map(|_| noise.next() * 0.2).collect();
        inner[BIAS * hidden..][..hidden].iter_mut().for_each(|weight| *weight += 0.5);
        Trainer {
            layout,
            hidden,
            stride,
            direct: vec![0.0; layout.features() * stride],
            inner,
            outer: (0..layout.units() * hidden).map(|_| noise.next() * 0.1).collect(),
            active_count: vec![0; layout.features()],
            information: vec![0.0; layout.features() * stride],
            asks_information: false,
            units: vec![0.0; stride],
            sums: vec![0.0; hidden],
            says: vec![0.0; hidden],
            is_stale: true,
            shown: vec![0.0; stride],
            steps: Vec::new(),
            history: Vec::new(),
        }
    }

    /// The units of whole vectors that a feature can tell of.
    fn reach(&self, feature: usize) -> std::ops::Range<usize> {
        self.layout.start(feature) / LANES * LANES..self.stride
    }

    /// Moves the weights towards what the last row showed.
    fn learn(&mut self, pace: f32) {
        for step in &self.steps {
            let &Step::Activated(feature) = step else { continue };
            self.active_count[feature] += 1;
            let seen = self.active_count[feature] as f32;
            let rate = DIRECT_RATE * pace * (SETTLED / (SETTLED + seen)).sqrt();
            let reach = self.reach(feature);
            let direct = &mut self.direct[feature * self.stride..][reach.clone()];
            for (weight, shown) in direct.iter_mut().zip(&self.shown[reach]) {
                *weight = bounded(*weight + rate * shown);
            }
        }
        self.learn_hidden(HIDDEN_RATE * pace);
    }

    /// The same for the weights of hidden units, from the last step to the first.
    fn learn_hidden(&mut self, rate: f32) {
        let hidden = self.hidden;
        let mut gradient = vec![0.0f32; hidden];
        let mut slopes = vec![0.0f32; hidden];
        let mut wanted = vec![0.0f32; hidden];
        let mut says = vec![0.0f32; hidden];
        let mut end = self.history.len();
        let mut is_new = true;
        for step in self.steps.iter().rev() {
            match *step {
                Step::Decided(unit, error) => {
                    if is_new {
                        let sums = &self.history[end - hidden..end];
                        for (says, sum) in says.iter_mut().zip(sums) {
                            *says = sum.clamp(0.0, 1.0);
                        }
                        is_new = false;
                    }
                    let outer = &mut self.outer[unit * hidden..][..hidden];
                    for ((weight, wanted), says) in outer.iter_mut().zip(&mut wanted).zip(&says) {
                        *wanted += error * *weight;
                        *weight = bounded(*weight + rate * error * says);
                    }
                }
                Step::Changed => {
                    let sums = &self.history[end - hidden..end];
                    for (slope, &sum) in slopes.iter_mut().zip(sums) {
                        *slope = if sum > 0.0 && sum < 1.0 { 1.0 } else { LEAK };
                    }
                    for ((gradient, wanted), slope) in
                        gradient.iter_mut().zip(&mut wanted).zip(&slopes)
                    {
                        *gradient += *wanted * slope;
                        *wanted = 0.0;
                    }
                    end -= hidden;
                    is_new = true;
                }
                Step::Activated(feature) => {
                    let inner = &mut self.inner[feature * hidden..][..hidden];
                    for (weight, gradient) in inner.iter_mut().zip(&gradient) {
                        *weight = bounded(*weight + rate * gradient);
                    }
                }
            }
        }
    }

    /// Adds what the last row showed to the information of the weights.
    fn gather(&mut self) {
        for step in &self.steps {
            let &Step::Activated(feature) = step else { continue };
            let reach = self.reach(feature);
            let information = &mut self.information[feature * self.stride..][reach.clone()];
            for (sum, shown) in information.iter_mut().zip(&self.shown[reach]) {
                *sum += shown;
            }
        }
    }

    /// The probability that the decision of a unit is true.
    fn predict(&mut self, unit: usize) -> f32 {
        if self.is_stale {
            for (says, sum) in self.says.iter_mut().zip(&self.sums) {
                *says = sum.clamp(0.0, 1.0);
            }
            self.history.extend_from_slice(&self.sums);
            self.steps.push(Step::Changed);
            self.is_stale = false;
        }
        let outer = &self.outer[unit * self.hidden..][..self.hidden];
        let evidence = self.units[unit] + dot(outer, &self.says);
        f32::from(probability((evidence * UNIT as f32) as i32)) / SCALE as f32
    }
}

/// Within what a model can say.
fn bounded(weight: f32) -> f32 {
    weight.clamp(-LARGEST, LARGEST)
}

/// In vectors, for an order of additions that is the same everywhere.
fn dot(weights: &[f32], says: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    for (weights, says) in weights.as_chunks::<8>().0.iter().zip(says.as_chunks::<8>().0) {
        for ((sum, weight), says) in sums.iter_mut().zip(weights).zip(says) {
            *sum += weight * says;
        }
    }
    sums.iter().sum()
}

impl Decisions for Trainer<'_> {
    fn begin(&mut self) {
        self.units.fill(0.0);
        self.sums.fill(0.0);
        self.shown.fill(0.0);
        self.steps.clear();
        self.history.clear();
        self.is_stale = true;
    }

    fn decide(&mut self, unit: usize, bit: bool) -> bool {
        let one = self.predict(unit);
        let error = f32::from(u8::from(bit)) - one;
        if self.asks_information {
            self.shown[unit] = (one * (1.0 - one)).max(MIN_INFORMATION);
        } else {
            self.shown[unit] = error;
        }
        self.steps.push(Step::Decided(unit, error));
        bit
    }

    fn is_first(&mut self, _: usize, bit: bool) -> bool {
        bit
    }

    fn byte(&mut self, byte: u8) -> u8 {
        byte
    }

    fn activate(&mut self, feature: usize) {
        let reach = self.reach(feature);
        let direct = &self.direct[feature * self.stride..][reach.clone()];
        for (sum, weight) in self.units[reach].iter_mut().zip(direct) {
            *sum += weight;
        }
        let inner = &self.inner[feature * self.hidden..][..self.hidden];
        for (sum, weight) in self.sums.iter_mut().zip(inner) {
            *sum += weight;
        }
        self.steps.push(Step::Activated(feature));
        self.is_stale = true;
    }
}

/// All rows again and again, neighbours far from each other.
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

/// Numbers from -1 to 1 that look random.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}
