//! Weights as small whole numbers: those that cost more than they save are 0.

use super::model::{MAX_WEIGHT, STEPS, Weights};
use super::train::Trainer;

/// What a bit of the model may cost, in bits that it saves: less, since models are read by people
/// with other positions too, and decisions hang together.
const BIT_WORTH: f32 = 0.3;
/// A weight that is off by one costs half a nat for each unit of information: so many bits.
const BITS_OF_SQUARE: f32 = 0.72;
/// Features seen less often move no hidden units.
const SEEN: u32 = 20;

pub(super) fn quantise(trainer: &Trainer) -> Weights {
    let mut weights = Weights::new(trainer.layout, trainer.hidden);
    for feature in 0..trainer.layout.features() {
        for unit in trainer.layout.start(feature)..trainer.layout.units() {
            let place = feature * trainer.stride + unit;
            weights.direct[place] = worth(trainer.direct[place], trainer.information[place]);
        }
        if trainer.active_count[feature] >= SEEN {
            let place = feature * trainer.hidden;
            for (weight, &exact) in
                weights.inner[place..].iter_mut().zip(&trainer.inner[place..][..trainer.hidden])
            {
                *weight = rounded(exact);
            }
        }
    }
    for (weight, &exact) in weights.outer.iter_mut().zip(&trainer.outer) {
        *weight = rounded(exact);
    }
    weights
}

fn rounded(exact: f32) -> i16 {
    let bound = f32::from(MAX_WEIGHT);
    (exact * STEPS).round().clamp(-bound, bound) as i16
}

/// The whole number that costs least in the model and in what it codes together.
fn worth(exact: f32, information: f32) -> i16 {
    let nearest = rounded(exact);
    let cost = |weight: i16| {
        let off = exact - f32::from(weight) / STEPS;
        BITS_OF_SQUARE * off * off * information + BIT_WORTH * bits(weight)
    };
    let towards_zero = nearest - nearest.signum();
    let further = towards_zero - towards_zero.signum();
    let mut best = nearest;
    for other in [towards_zero, further, 0] {
        if cost(other) < cost(best) {
            best = other;
        }
    }
    best
}

/// About what a weight takes in the model.
fn bits(weight: i16) -> f32 {
    if weight == 0 { 0.2 } else { 5.0 + 1.5 * weight.unsigned_abs().ilog2() as f32 }
}
