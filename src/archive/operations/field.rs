//! The model of an opcode in a block. It has the models of the operands, and a copy of the operands
//! in the last record that has the opcode.

use super::integers::IntegerOperandModel;
use super::lazy_text::PreviousOperands;
use super::lists::{TEXT_KINDS, TextKind};
use super::tallies::TallyModel;
use crate::adaptive::{BitCoder, BitModel, BitModels, SmallSymbolModel};
use crate::error::Refusal;
use epdb_chess::model::Operand;

/// Kinds of operands. The end of the operands is coded like one more kind.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Move,
    Integer,
    Str,
    Token,
    /// The one operand of `tally`, whose moves are legal.
    Tally,
}

/// All kinds, by number.
const KINDS: [Kind; 6] =
    [Kind::End, Kind::Move, Kind::Integer, Kind::Str, Kind::Token, Kind::Tally];

impl Kind {
    pub(super) fn from_operand(operand: Option<&Operand>) -> Kind {
        match operand {
            None => Kind::End,
            Some(Operand::Move { .. }) => Kind::Move,
            Some(Operand::Integer(_)) => Kind::Integer,
            Some(Operand::Str(_) | Operand::Tally(_)) => Kind::Str,
            Some(Operand::Token(_)) => Kind::Token,
        }
    }
}

/// Model of an opcode.
#[derive(Clone)]
pub(super) struct FieldModel {
    /// Operands in the last record that has the opcode.
    pub(super) before: PreviousOperands,
    kinds: [SmallSymbolModel; PLACES],
    text_kinds: [SmallSymbolModel<TEXT_FORMS>; 4],
    /// Two models of the flag that says whether a move leads to the next row (the position of the next
    /// record).
    /// The first model is for the first operand, the second for all other operands.
    is_next: [BitModel; 2],
    pub(super) integers: IntegerOperandModel,
    /// Models of tallies, made when they are needed.
    pub(super) tallies: Option<Box<TallyModel>>,
}

/// Number of forms of texts that can be coded; those above [`TEXT_KINDS`] are for later versions.
const TEXT_FORMS: usize = 16;
/// Number of models of the kind of an operand. The first operand has the first model, the second operand
/// the second, and so on; all later operands share the last model.
const PLACES: usize = 4;

impl FieldModel {
    pub(super) fn new() -> FieldModel {
        FieldModel {
            before: PreviousOperands::default(),
            kinds: [SmallSymbolModel::default(); PLACES],
            text_kinds: [SmallSymbolModel::default(); 4],
            is_next: [BitModel::default(); 2],
            integers: IntegerOperandModel::default(),
            tallies: None,
        }
    }

    /// Forgets the last record that has the opcode.
    pub(super) fn restart(&mut self) {
        self.before = PreviousOperands::default();
        self.integers.restart();
        if let Some(tallies) = &mut self.tallies {
            tallies.restart();
        }
    }

    /// Codes the kind of the operand at a place.
    pub(super) fn kind(
        &mut self,
        coder: &mut impl BitCoder,
        place: usize,
        given: Kind,
    ) -> Result<Kind, Refusal> {
        let kind = self.kinds[place.min(PLACES - 1)].code(coder, given as u32);
        KINDS.get(kind as usize).copied().ok_or(Refusal::UnknownOperand(kind as u8))
    }

    /// Codes an integer. `follows` is true if a move led from the previous record to this one.
    pub(super) fn integer(
        &mut self,
        coder: &mut impl BitCoder,
        follows: bool,
        given: Option<&Operand>,
    ) -> Option<Operand> {
        let given = match given {
            Some(Operand::Integer(value)) => *value,
            _ => 0,
        };
        self.integers.code(coder, follows, given).map(Operand::Integer)
    }

    /// Codes the kind of the text that is operand number `place`, from 0. `follows` is as in
    /// [`FieldModel::integer`].
    pub(super) fn text_kind(
        &mut self,
        coder: &mut impl BitCoder,
        follows: bool,
        place: usize,
        given: TextKind,
    ) -> Result<TextKind, Refusal> {
        let context = 2 * usize::from(follows) + place.min(1);
        let text_kind = self.text_kinds[context].code(coder, given as u32);
        TEXT_KINDS.get(text_kind as usize).copied().ok_or(Refusal::UnknownText(text_kind as u8))
    }

    /// Codes whether the move that is operand number `place`, from 0, leads to the next row.
    pub(super) fn is_next(&mut self, coder: &mut impl BitCoder, place: usize, given: bool) -> bool {
        coder.adaptive_bit(given, &mut self.is_next[place.min(1)])
    }

    /// Text of the operand at a place in the last record that has the opcode.
    pub(super) fn text_before(&self, place: usize) -> Option<Vec<u8>> {
        self.before.text(place)
    }
}

impl BitModels for FieldModel {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        self.kinds.iter_mut().for_each(|kinds| kinds.each_model(visit));
        self.text_kinds.iter_mut().for_each(|text_kinds| text_kinds.each_model(visit));
        self.is_next.iter_mut().for_each(&mut *visit);
        self.integers.each_model(visit);
        if let Some(tallies) = &mut self.tallies {
            tallies.each_model(visit);
        }
    }
}
