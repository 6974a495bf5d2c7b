//! Coding of the integer operands of an opcode. An integer is coded in one of three ways:
//! unchanged, as the difference from the previous integer, or as the difference from the negative
//! previous integer. The way that was the shortest so far is chosen.
//!
//! If a move leads from the previous record to this one, as in games, a score is near the negative
//! of the previous score. So the integers of such records have separate models.

use crate::adaptive::{BitCoder, BitModel, BitModels, IntegerModel};

/// The integers of one opcode.
#[derive(Clone, Default)]
pub(super) struct IntegerOperandModel {
    /// The previous integer.
    before: i128,
    /// Two predictions. The second is for a record whose position follows from the previous record
    /// by a move. The first is for any other record.
    by_relation: [Predictions; 2],
}

/// Maximum of an average in [`Predictions::left`]: the longest integer, in quarter bits.
const MAX_LEFT: u64 = 4 * 128;

/// Statistics of the predictions.
#[derive(Clone, Default)]
struct Predictions {
    /// Average lengths of the residuals, in quarter bits: without prediction, with the previous
    /// integer, and with its negative.
    left: [u32; 3],
    /// Model of the flag that says whether a residual has at most 64 bits.
    is_near: BitModel,
    /// Models of unpredicted integers and of residuals, made when they are needed.
    residuals: [Option<Residuals>; 2],
}

/// Models of signed numbers.
#[derive(Clone, Default)]
struct Residuals {
    size: IntegerModel,
    sign: BitModel,
}

impl IntegerOperandModel {
    /// Codes an integer. `follows` is true if a move led from the previous record to this one.
    pub(super) fn code(
        &mut self,
        coder: &mut impl BitCoder,
        follows: bool,
        given: i128,
    ) -> Option<i128> {
        let before = self.before;
        let predictions = &mut self.by_relation[usize::from(follows)];
        let value = predictions.code(coder, before, given);
        self.before = value;
        (value >= i64::MIN.into() && value <= u64::MAX.into()).then_some(value)
    }

    pub(super) fn restart(&mut self) {
        self.before = 0;
    }

    /// Codes the parts of the initial model of a segment: averages, and a flag for each model made.
    pub(super) fn code_start(&self, coder: &mut impl BitCoder, numbers: &mut IntegerModel) -> Self {
        let mut read = IntegerOperandModel::default();
        for (own, read) in self.by_relation.iter().zip(&mut read.by_relation) {
            for (own, read) in own.left.iter().zip(&mut read.left) {
                *read = numbers.code(coder, u64::from(*own)).min(MAX_LEFT) as u32;
            }
            for (own, read) in own.residuals.iter().zip(&mut read.residuals) {
                let is_there = numbers.code(coder, own.is_some().into()) != 0;
                *read = is_there.then(Residuals::default);
            }
        }
        read
    }
}

impl Predictions {
    fn code(&mut self, coder: &mut impl BitCoder, before: i128, given: i128) -> i128 {
        let predicted = [0, before, -before];
        let [alone, same, negated] = self.left;
        let mut nth = if same.min(negated) >= alone { 0 } else { 1 + usize::from(negated < same) };
        let is_near = |left: i128| u64::try_from(left.unsigned_abs()).is_ok();
        if nth > 0 && !coder.adaptive_bit(is_near(given - predicted[nth]), &mut self.is_near) {
            nth = 0;
        }
        let residuals = &mut self.residuals[usize::from(nth > 0)];
        let residuals = residuals.get_or_insert_default();
        let value = predicted[nth] + residuals.code(coder, given - predicted[nth]);
        for (left, predicted) in self.left.iter_mut().zip(predicted) {
            *left = *left - *left / 4 + length(value - predicted);
        }
        value
    }
}

/// Number of bits of a number without its sign.
fn length(value: i128) -> u32 {
    128 - value.unsigned_abs().leading_zeros()
}

impl Residuals {
    fn code(&mut self, coder: &mut impl BitCoder, given: i128) -> i128 {
        let size = i128::from(self.size.code(coder, given.unsigned_abs() as u64));
        if size == 0 {
            return 0;
        }
        if coder.adaptive_bit(given < 0, &mut self.sign) { -size } else { size }
    }
}

impl BitModels for IntegerOperandModel {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        for predictions in &mut self.by_relation {
            visit(&mut predictions.is_near);
            for residuals in predictions.residuals.iter_mut().flatten() {
                residuals.size.each_model(visit);
                visit(&mut residuals.sign);
            }
        }
    }
}
