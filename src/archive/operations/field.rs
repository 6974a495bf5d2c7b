//! What is known of an opcode in a block: the models of its operands, and those of the last record
//! that had it.

use super::form::{FORMS, Form};
use crate::archive::adaptive::{BitCoder, BitModel, IntegerModel, SymbolModel};
use crate::model::Operand;

/// Kinds of operands. The end of the operands is coded like one.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Move,
    Integer,
    Str,
    Token,
}

/// All, by their number.
const KINDS: [Kind; 5] = [Kind::End, Kind::Move, Kind::Integer, Kind::Str, Kind::Token];

impl Kind {
    fn of(operand: Option<&Operand>) -> Kind {
        match operand {
            None => Kind::End,
            Some(Operand::Move { .. }) => Kind::Move,
            Some(Operand::Integer(_)) => Kind::Integer,
            Some(Operand::Str(_)) => Kind::Str,
            Some(Operand::Token(_)) => Kind::Token,
        }
    }
}

/// What is known of an opcode.
pub(super) struct FieldModel {
    /// The operands in the last record that had it.
    pub(super) before: Vec<Operand>,
    kinds: Vec<SymbolModel>,
    forms: [SymbolModel; 2],
    pub(super) is_first_listed: BitModel,
    integers: IntegerOperandModel,
}

/// Kinds have models of their own for the first operands, and after each kind.
const PLACES: usize = 4;

impl FieldModel {
    pub(super) fn new() -> FieldModel {
        FieldModel {
            before: Vec::new(),
            kinds: vec![SymbolModel::new(3); PLACES * KINDS.len()],
            forms: [SymbolModel::new(3), SymbolModel::new(3)],
            is_first_listed: BitModel::default(),
            integers: IntegerOperandModel::default(),
        }
    }

    /// Passes the kind of the operand behind some others through a coder.
    pub(super) fn kind(
        &mut self,
        coder: &mut impl BitCoder,
        read: &[Operand],
        given: Option<&Operand>,
    ) -> Option<Kind> {
        let last = Kind::of(read.last()) as usize;
        let context = read.len().min(PLACES - 1) * KINDS.len() + last;
        let kind = self.kinds[context].code(coder, Kind::of(given) as u32);
        KINDS.get(kind as usize).copied()
    }

    /// Passes an integer through a coder.
    pub(super) fn integer(
        &mut self,
        coder: &mut impl BitCoder,
        given: Option<&Operand>,
    ) -> Option<Operand> {
        let given = match given {
            Some(Operand::Integer(value)) => *value,
            _ => 0,
        };
        self.integers.code(coder, given).map(Operand::Integer)
    }

    /// Passes the form of a text at a place among the operands through a coder.
    pub(super) fn form(
        &mut self,
        coder: &mut impl BitCoder,
        place: usize,
        given: Form,
    ) -> Option<Form> {
        let form = self.forms[place.min(1)].code(coder, given as u32);
        FORMS.get(form as usize).copied()
    }

    /// The text of the operand at a place in the last record that had the opcode.
    pub(super) fn text_before(&self, place: usize) -> Option<Vec<u8>> {
        self.before.get(place).map(Operand::text)
    }
}

/// The integers of one opcode: coded by themselves or by their difference to the one before,
/// whichever has been shorter.
#[derive(Default)]
struct IntegerOperandModel {
    before: i128,
    is_negative: BitModel,
    magnitude: IntegerModel,
    is_near: BitModel,
    falls: BitModel,
    step: IntegerModel,
    value_bits: u32,
    step_bits: u32,
}

impl IntegerOperandModel {
    fn code(&mut self, coder: &mut impl BitCoder, given: i128) -> Option<i128> {
        let step = given - self.before;
        let by_step = self.step_bits < self.value_bits
            && coder.adaptive_bit(u64::try_from(step.unsigned_abs()).is_ok(), &mut self.is_near);
        let value = if by_step {
            let falls = coder.adaptive_bit(step < 0, &mut self.falls);
            let size = self.step.code(coder, step.unsigned_abs() as u64);
            self.before + if falls { -i128::from(size) } else { size.into() }
        } else {
            let is_negative = coder.adaptive_bit(given < 0, &mut self.is_negative);
            let size = self.magnitude.code(coder, given.unsigned_abs() as u64);
            if is_negative { -i128::from(size) } else { size.into() }
        };
        let bits = |value: i128| 128 - value.unsigned_abs().leading_zeros();
        self.value_bits = self.value_bits - self.value_bits / 4 + bits(value);
        self.step_bits = self.step_bits - self.step_bits / 4 + bits(value - self.before);
        self.before = value;
        (value >= i64::MIN.into() && value <= u64::MAX.into()).then_some(value)
    }
}
