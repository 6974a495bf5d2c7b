//! Integers of an opcode: coded by themselves, by their difference to the one before or to what
//! that is with the other sign, whichever has been shortest.
//!
//! Where a move leads from the record before, as in games, a score is about that of the record before
//! with the other sign, and the larger it is, the farther away. So such records have models of
//! their own, under the length of the integer before.

use crate::archive::adaptive::{BitCoder, BitModel, BitModels, IntegerModel};

/// The integers of one opcode.
#[derive(Clone, Default)]
pub(super) struct IntegerOperandModel {
    /// The last one.
    before: i128,
    /// Of records that no move led to, and of those that one led to.
    by_relation: [Predictions; 2],
}

/// Lengths of integers that are told apart as contexts.
const LENGTHS: usize = 15;
/// Lengths of differences that are told apart as contexts of signs.
const DIFFERENCES: usize = 15;

/// Averages are no larger: four times the longest integer there is.
const MAX_LEFT: u64 = 4 * 128;

/// How integers follow from the one before.
#[derive(Clone, Default)]
struct Predictions {
    /// The lengths in bits of what was left by each prediction, as averages in quarters: by none,
    /// by the integer before, and by that with the other sign.
    left: [u32; 3],
    /// Whether what is left by a prediction is no longer than 64 bits.
    is_near: BitModel,
    /// Of what no prediction was made for, and of what one left. Made when they are needed.
    residuals: [Option<Residuals>; 2],
}

/// Signed numbers.
#[derive(Clone)]
struct Residuals {
    sizes: IntegerModel,
    signs: Vec<BitModel>,
}

/// What is known before a number is coded.
#[derive(Copy, Clone)]
struct ResidualContext {
    follows: bool,
    before: i128,
}

impl IntegerOperandModel {
    /// Passes an integer through a coder. `follows`: a move led to the record from that before.
    pub(super) fn code(
        &mut self,
        coder: &mut impl BitCoder,
        follows: bool,
        given: i128,
    ) -> Option<i128> {
        let before = self.before;
        let context = ResidualContext { follows, before };
        let predictions = &mut self.by_relation[usize::from(follows)];
        let value = predictions.code(coder, context, given);
        self.before = value;
        (value >= i64::MIN.into() && value <= u64::MAX.into()).then_some(value)
    }
}

impl IntegerOperandModel {
    /// Forgets the last integer.
    pub(super) fn restart(&mut self) {
        self.before = 0;
    }

    /// Passes the averages through a coder, and which models there are.
    pub(super) fn code_start(&self, coder: &mut impl BitCoder, numbers: &mut IntegerModel) -> Self {
        let mut read = IntegerOperandModel::default();
        for (follows, (own, read)) in self.by_relation.iter().zip(&mut read.by_relation).enumerate()
        {
            for (own, read) in own.left.iter().zip(&mut read.left) {
                *read = numbers.code(coder, u64::from(*own)).min(MAX_LEFT) as u32;
            }
            for (own, read) in own.residuals.iter().zip(&mut read.residuals) {
                let is_there = numbers.code(coder, own.is_some().into()) != 0;
                *read = is_there.then(|| Residuals::new(follows != 0));
            }
        }
        read
    }
}

impl Predictions {
    fn code(&mut self, coder: &mut impl BitCoder, context: ResidualContext, given: i128) -> i128 {
        let predicted = [0, context.before, -context.before];
        let [alone, same, negated] = self.left;
        let mut nth = if same.min(negated) >= alone { 0 } else { 1 + usize::from(negated < same) };
        let is_near = |left: i128| u64::try_from(left.unsigned_abs()).is_ok();
        if nth > 0 && !coder.adaptive_bit(is_near(given - predicted[nth]), &mut self.is_near) {
            nth = 0;
        }
        let residuals = &mut self.residuals[usize::from(nth > 0)];
        let residuals = residuals.get_or_insert_with(|| Residuals::new(context.follows));
        let value = predicted[nth] + residuals.code(coder, context, given - predicted[nth]);
        for (left, predicted) in self.left.iter_mut().zip(predicted) {
            *left = *left - *left / 4 + length(value - predicted);
        }
        value
    }
}

/// The length of a number in bits, without its sign.
fn length(value: i128) -> u32 {
    128 - value.unsigned_abs().leading_zeros()
}

impl Residuals {
    fn new(follows: bool) -> Residuals {
        let lengths = if follows { LENGTHS } else { 1 };
        let signs = if follows { 3 * (DIFFERENCES + 1) } else { 1 };
        Residuals {
            sizes: IntegerModel::with_contexts(lengths),
            signs: vec![BitModel::default(); signs],
        }
    }

    fn code(&mut self, coder: &mut impl BitCoder, context: ResidualContext, given: i128) -> i128 {
        let ResidualContext { follows, before } = context;
        let of_size = if follows { (length(before) as usize).min(LENGTHS - 1) } else { 0 };
        let size = self.sizes.code_in(of_size, coder, given.unsigned_abs() as u64).into();
        if size == 0 {
            return 0;
        }
        let of_sign = match follows {
            true => 3 * (length(size) as usize).min(DIFFERENCES) + (before.signum() + 1) as usize,
            false => 0,
        };
        if coder.adaptive_bit(given < 0, &mut self.signs[of_sign]) { -size } else { size }
    }
}

impl BitModels for IntegerOperandModel {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        for predictions in &mut self.by_relation {
            visit(&mut predictions.is_near);
            for residuals in predictions.residuals.iter_mut().flatten() {
                residuals.sizes.each_model(visit);
                residuals.signs.iter_mut().for_each(&mut *visit);
            }
        }
    }
}
