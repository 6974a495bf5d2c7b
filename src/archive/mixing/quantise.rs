//! Quantisation of weights to small integers. A weight that costs more bits than it saves becomes
//! 0.

use super::layout::Layout;
use super::train::Learned;
use super::{MAX_WEIGHT, STEPS, Weights};

/// Number of bits of data that a bit of the model must save. The number is less than 1, because the
/// estimate of the saved bits treats decisions as independent.
const BIT_WORTH: f32 = 0.3;
/// Cost of a squared error of 1, in bits for each unit of [`Learned::information`]. It is half a
/// nat.
const BITS_OF_SQUARE: f32 = 0.72;
/// Features that were active fewer times than this number have no weights to hidden units.
const SEEN: u32 = 20;

pub(super) fn quantise(layout: &Layout, hidden: usize, learned: &Learned) -> Weights {
    let mut weights = Weights::new(layout, hidden);
    for feature in 0..layout.features() {
        for unit in layout.start(feature)..layout.units() {
            let place = feature * weights.stride + unit;
            weights.direct[place] = worth(learned.direct[place], learned.information[place]);
        }
        if learned.active_count[feature] >= SEEN {
            let places = feature * weights.hidden_stride..(feature + 1) * weights.hidden_stride;
            round(&mut weights.inner[places.clone()], &learned.inner[places]);
        }
    }
    round(&mut weights.outer, &learned.outer);
    weights
}

fn round(weights: &mut [i16], exact: &[f32]) {
    for (weight, &exact) in weights.iter_mut().zip(exact) {
        *weight = rounded(exact);
    }
}

fn rounded(exact: f32) -> i16 {
    let bound = f32::from(MAX_WEIGHT);
    (exact * STEPS).round().clamp(-bound, bound) as i16
}

/// The integer that stands for a weight: the one with the fewest bits in total, in the model and in the data
/// that the model codes.
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

/// Approximate number of bits of a weight in the model.
fn bits(weight: i16) -> f32 {
    if weight == 0 { 0.2 } else { 5.0 + 1.5 * weight.unsigned_abs().ilog2() as f32 }
}
