//! Integers of an opcode. An integer is coded as it is, or as its difference from the previous
//! integer, or from the negative of the previous integer. The way is chosen that has been shortest
//! so far.
//!
//! If a move leads from the previous record to this one, as in games, a score is near the negative
//! of the previous score, and large scores differ more. So such records have models of their own,
//! in the context of the length of the previous integer.

use crate::archive::adaptive::{BitCoder, BitModel, BitModels, IntegerModel};

/// The integers of one opcode.
#[derive(Clone, Default)]
pub(super) struct IntegerOperandModel {
    /// The previous integer.
    before: i128,
    /// Predictions for records that no move led to, and for records that a move led to.
    by_relation: [Predictions; 2],
}

/// Number of lengths of integers that are distinct contexts. Longer integers have the last context.
const LENGTHS: usize = 15;
/// Number of lengths of differences that are distinct contexts of signs. Longer differences have
/// the last context.
const DIFFERENCES: usize = 15;

/// Maximum average: four times the length of the longest integer.
const MAX_LEFT: u64 = 4 * 128;

/// Statistics of the predictions.
#[derive(Clone, Default)]
struct Predictions {
    /// Average lengths of the residuals, in quarter bits: without prediction, with the previous
    /// integer, and with its negative.
    left: [u32; 3],
    /// Model of the flag that a residual has at most 64 bits.
    is_near: BitModel,
    /// Models of unpredicted integers and of residuals, made when they are needed.
    residuals: [Option<Residuals>; 2],
}

/// Models of signed numbers.
#[derive(Clone)]
struct Residuals {
    sizes: IntegerModel,
    signs: Vec<BitModel>,
}

/// Context of a number.
#[derive(Copy, Clone)]
struct ResidualContext {
    follows: bool,
    before: i128,
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
        let context = ResidualContext { follows, before };
        let predictions = &mut self.by_relation[usize::from(follows)];
        let value = predictions.code(coder, context, given);
        self.before = value;
        (value >= i64::MIN.into() && value <= u64::MAX.into()).then_some(value)
    }
}

impl IntegerOperandModel {
    /// Forgets the previous integer.
    pub(super) fn restart(&mut self) {
        self.before = 0;
    }

    /// Codes the averages, and whether models exist, for the initial model of a segment.
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

/// Number of bits of a number without its sign.
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
