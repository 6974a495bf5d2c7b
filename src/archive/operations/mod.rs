//! The operations of a block of records, coded one after the other by a model that starts anew in
//! each block.
//!
//! Moves are ordinals under the number of legal moves, integers and names are coded by those of
//! the record before, and texts that follow from other texts of the record cost next to nothing.

mod lists;
mod text;

use foldhash::HashMap;

use super::adaptive::{BitCoder, BitDecoder, BitEncoder, BitModel, IntegerModel, SymbolModel};
use super::error::Refusal;
use crate::codec::ordinal;
use crate::model::rules::Playable;
use crate::model::{Opcode, Operand, Operands, Operation, Position, StandardOpcode};
use crate::text::san;
use lists::ListModel;
use text::TextModel;

/// The operations of some records, in the order of the records.
pub(super) fn encode<'a>(records: impl Iterator<Item = (Position, &'a [Operation])>) -> Vec<u8> {
    let mut encoder = BitEncoder::new();
    let mut model = OperationModel::new();
    for (position, operations) in records {
        model.record(&mut encoder, &position, operations);
    }
    padded(encoder.finish(), model.cost)
}

/// Puts as many zeros behind coded operations as make them pay for what they cost a reader. Zeros are
/// what a reader finds behind the end anyway.
fn padded(mut bytes: Vec<u8>, cost: usize) -> Vec<u8> {
    let len = cost.saturating_sub(FREE_COST).div_ceil(COST_OF_BYTE);
    bytes.resize(len.max(bytes.len()), 0);
    bytes
}

/// The operations of records at these positions, in about `memory` bytes.
pub(super) fn decode(
    bytes: &[u8],
    positions: impl Iterator<Item = Position>,
    memory: usize,
) -> Result<Vec<Vec<Operation>>, Refusal> {
    let mut decoder = BitDecoder::new(bytes);
    let mut model = OperationModel::new();
    let paid = bytes.len().saturating_mul(COST_OF_BYTE).saturating_add(FREE_COST).min(MAX_COST);
    model.limit = paid.min(memory);
    let read: Option<_> =
        positions.map(|position| model.record(&mut decoder, &position, &[])).collect();
    let is_allowed = model.cost <= memory || memory >= paid;
    read.ok_or(if is_allowed { Refusal::Damaged } else { Refusal::Memory })
}

/// The most operations of a record, and the most operands of an operation, that a reader takes:
/// more do not fit the longest record.
const MAX_COUNT: usize = crate::codec::record::MAX_LEN;

/// The most bytes of EPD records with operations before a writer ends a segment.
pub(super) const MAX_BLOCK: usize = 16 << 20;

/// What an operation or an operand costs, beside the bytes of its text: about its memory.
const COST: usize = 32;
/// What the records of a block may cost whatever the length of their coded operations, and for each
/// byte of that.
const FREE_COST: usize = 4096;
const COST_OF_BYTE: usize = 512;
/// What they may cost at the most. A byte of an EPD record costs 32 or less, and a block has 32 MiB
/// of them or less.
const MAX_COST: usize = 1 << 30;

/// Kinds of operands. The end of the operands is coded like one.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    End,
    Move,
    Integer,
    Str,
    Token,
}

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

/// How a text is coded.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Form {
    /// Byte by byte.
    Plain,
    /// As in the record before.
    Same,
    /// As in the record before, with the last number one higher.
    Successor,
    /// SANs of legal moves with blanks between.
    Moves,
    /// Whole numbers with blanks between.
    Numbers,
    /// The record's list of moves in coordinates.
    Coordinates,
    /// The record's lists of moves and numbers, `move=number` with commas between.
    Pairs,
}

const FORMS: [Form; 7] = [
    Form::Plain,
    Form::Same,
    Form::Successor,
    Form::Moves,
    Form::Numbers,
    Form::Coordinates,
    Form::Pairs,
];

/// Standard opcodes with numbers below this have that number as their symbol; all others are
/// spelled when they are met first.
const NUMBERED: u8 = 50;

/// The models of the operations of a block, and what it had so far.
struct OperationModel {
    /// Lists of opcodes that records had, the last one first.
    shapes: Vec<Vec<Opcode>>,
    shape: IntegerModel,
    shape_len: IntegerModel,
    /// The numbered opcodes, and others in the order in which they were met.
    opcodes: Vec<Opcode>,
    /// The places of those others.
    others: HashMap<Opcode, usize>,
    opcode: IntegerModel,
    opcode_text: Vec<SymbolModel>,
    /// Of each opcode, once it is met.
    fields: Vec<Option<FieldModel>>,
    lists: ListModel,
    /// What the records so far cost, and may cost at the most.
    cost: usize,
    limit: usize,
    /// Made when the first text needs it.
    text: Option<TextModel>,
}

/// What is known of an opcode.
struct FieldModel {
    before: Vec<Operand>,
    kinds: Vec<SymbolModel>,
    forms: [SymbolModel; 2],
    is_first_listed: BitModel,
    integers: IntegerOperandModel,
}

/// Kinds have models of their own for the first operands, and after each kind.
const PLACES: usize = 4;

impl FieldModel {
    fn new() -> FieldModel {
        FieldModel {
            before: Vec::new(),
            kinds: vec![SymbolModel::new(3); PLACES * KINDS.len()],
            forms: [SymbolModel::new(3), SymbolModel::new(3)],
            is_first_listed: BitModel::default(),
            integers: IntegerOperandModel::default(),
        }
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

impl OperationModel {
    fn new() -> OperationModel {
        let numbered = (0..NUMBERED).filter_map(StandardOpcode::with_number);
        let opcodes: Vec<Opcode> = numbered.map(|entry| entry.opcode).collect();
        OperationModel {
            shapes: Vec::new(),
            shape: IntegerModel::default(),
            shape_len: IntegerModel::default(),
            opcode: IntegerModel::default(),
            opcode_text: vec![SymbolModel::new(4), SymbolModel::new(8)],
            fields: opcodes.iter().map(|_| None).collect(),
            opcodes,
            others: HashMap::default(),
            lists: ListModel::default(),
            cost: 0,
            limit: usize::MAX,
            text: None,
        }
    }

    /// Passes a record's operations through a coder. A decoder is given none.
    fn record(
        &mut self,
        coder: &mut impl BitCoder,
        position: &Position,
        given: &[Operation],
    ) -> Option<Vec<Operation>> {
        let shape = self.shape(coder, given)?;
        let root = Playable::new(position).ok();
        let plan = TextForms::new(root.as_ref(), given, self, &shape);
        let mut lists = lists::RecordLists::default();
        let mut operations = Vec::with_capacity(shape.len());
        let mut pending = Vec::new();
        for (nth, opcode) in shape.iter().enumerate() {
            let field = self.field(*opcode)?;
            let operands = given.get(nth).map_or(&[][..], |operation| &operation.operands);
            let is_line =
                opcode.standard().is_some_and(|entry| entry.operands == Operands::MoveLine);
            let mut now = root;
            let mut read: Vec<Operand> = Vec::new();
            loop {
                let at = read.len();
                let given = operands.get(at);
                let kind = self.kind(coder, field, &read, given)?;
                let operand = match kind {
                    Kind::End => break,
                    Kind::Move => {
                        let operand = mv(coder, now.as_ref()?, given)?;
                        if let (Operand::Move { mv, .. }, true) = (&operand, is_line) {
                            now = now.map(|now| now.after(*mv));
                        }
                        operand
                    }
                    Kind::Integer => {
                        let value = match given {
                            Some(Operand::Integer(value)) => *value,
                            _ => 0,
                        };
                        Operand::Integer(self.state(field).integers.code(coder, value)?)
                    }
                    Kind::Str | Kind::Token => {
                        let form = plan.form(nth, at);
                        let text = given.map(Operand::text).unwrap_or_default();
                        let form =
                            self.text(coder, field, at, form, &text, root.as_ref(), &mut lists)?;
                        let text = match form {
                            CodedText::Text(text) => text,
                            CodedText::Later(form) => {
                                pending.push((nth, at, form));
                                Vec::new()
                            }
                        };
                        if kind == Kind::Str { Operand::string(text) } else { Operand::token(text) }
                    }
                };
                if let (Operand::Move { mv, .. }, None) = (&operand, lists.best) {
                    lists.best = Some(*mv);
                }
                self.take(COST + text_len(&operand))?;
                read.push(operand);
                if read.len() > MAX_COUNT || coder.is_exhausted() {
                    return None;
                }
            }
            self.take(COST)?;
            operations.push(Operation { opcode: *opcode, operands: read });
        }
        for (nth, at, form) in pending {
            let text = lists.derived(root.as_ref()?, form)?;
            self.take(text.len())?;
            match &mut operations[nth].operands[at] {
                Operand::Str(bytes) | Operand::Token(bytes) => *bytes = text.into_boxed_slice(),
                _ => return None,
            }
        }
        for (operation, opcode) in operations.iter().zip(&shape) {
            let field = self.field(*opcode)?;
            self.state(field).before.clone_from(&operation.operands);
        }
        Some(operations)
    }

    /// Counts a cost; `None` when that is more than the block may.
    fn take(&mut self, cost: usize) -> Option<()> {
        self.cost += cost;
        (self.cost <= self.limit).then_some(())
    }

    fn field(&self, opcode: Opcode) -> Option<usize> {
        let number = opcode.standard().map(StandardOpcode::number).filter(|it| *it < NUMBERED);
        number.map(usize::from).or_else(|| self.others.get(&opcode).copied())
    }

    fn state(&mut self, field: usize) -> &mut FieldModel {
        self.fields[field].get_or_insert_with(FieldModel::new)
    }

    /// Which opcodes the record has.
    fn shape(&mut self, coder: &mut impl BitCoder, given: &[Operation]) -> Option<Vec<Opcode>> {
        let is_given = |shape: &Vec<Opcode>| {
            shape.len() == given.len() && shape.iter().zip(given).all(|(a, b)| *a == b.opcode)
        };
        let place = self.shapes.iter().position(is_given).unwrap_or(self.shapes.len());
        let place = self.shape.code(coder, place as u64) as usize;
        if place < self.shapes.len() {
            self.shapes[..=place].rotate_right(1);
            return self.shapes.first().cloned();
        }
        let len = self.shape_len.code(coder, given.len() as u64) as usize;
        let mut shape: Vec<Opcode> = Vec::new();
        for nth in 0..len {
            if coder.is_exhausted() || nth > MAX_COUNT {
                return None;
            }
            let opcode = self.opcode(coder, given.get(nth).map(|operation| operation.opcode))?;
            if shape.last().is_some_and(|&last| last >= opcode) {
                return None;
            }
            shape.push(opcode);
        }
        self.shapes.insert(0, shape.clone());
        Some(shape)
    }

    fn opcode(&mut self, coder: &mut impl BitCoder, given: Option<Opcode>) -> Option<Opcode> {
        let known = given.and_then(|opcode| self.field(opcode)).unwrap_or(self.opcodes.len());
        let place = self.opcode.code(coder, known as u64) as usize;
        if let Some(&opcode) = self.opcodes.get(place) {
            return Some(opcode);
        }
        let name = given.as_ref().map_or(&[][..], Opcode::as_bytes);
        let [lens, bytes] = &mut self.opcode_text[..] else { return None };
        let len = lens.code(coder, name.len() as u32);
        let name: Vec<u8> = (0..len as usize)
            .map(|at| bytes.code(coder, name.get(at).copied().unwrap_or(0).into()) as u8)
            .collect();
        let opcode = Opcode::new(&name).ok().filter(|&opcode| self.field(opcode).is_none())?;
        self.others.insert(opcode, self.opcodes.len());
        self.opcodes.push(opcode);
        self.fields.push(None);
        Some(opcode)
    }

    fn kind(
        &mut self,
        coder: &mut impl BitCoder,
        field: usize,
        read: &[Operand],
        given: Option<&Operand>,
    ) -> Option<Kind> {
        let last = Kind::of(read.last()) as usize;
        let context = read.len().min(PLACES - 1) * KINDS.len() + last;
        let kind = self.state(field).kinds[context].code(coder, Kind::of(given) as u32);
        KINDS.get(kind as usize).copied()
    }

    #[allow(clippy::too_many_arguments)]
    fn text(
        &mut self,
        coder: &mut impl BitCoder,
        field: usize,
        at: usize,
        form: Form,
        given: &[u8],
        root: Option<&Playable>,
        lists: &mut lists::RecordLists,
    ) -> Option<CodedText> {
        let state = self.fields[field].get_or_insert_with(FieldModel::new);
        let form = state.forms[at.min(1)].code(coder, form as u32);
        let form = *FORMS.get(form as usize)?;
        let before = state.before.get(at).map(Operand::text).unwrap_or_default();
        Some(CodedText::Text(match form {
            Form::Same => before,
            Form::Successor => lists::successor(&before)?,
            Form::Plain => {
                let model = self.text.get_or_insert_with(TextModel::pretrained);
                model.code(coder, field as u32 + 1, &before, given)?
            }
            Form::Moves => {
                let first = &mut state.is_first_listed;
                self.lists.moves(coder, root?, given, first, lists)?
            }
            Form::Numbers => self.lists.numbers(coder, given, lists)?,
            Form::Coordinates | Form::Pairs => return Some(CodedText::Later(form)),
        }))
    }
}

fn text_len(operand: &Operand) -> usize {
    match operand {
        Operand::Str(text) | Operand::Token(text) => text.len(),
        _ => 0,
    }
}

/// A text, or how it will follow from the others.
enum CodedText {
    Text(Vec<u8>),
    Later(Form),
}

/// Passes a legal move through a coder.
fn mv(coder: &mut impl BitCoder, now: &Playable, given: Option<&Operand>) -> Option<Operand> {
    let ordinal = match given {
        Some(Operand::Move { mv, .. }) => ordinal::ordinal(now, *mv)?,
        _ => 0,
    };
    let ordinal = uniform(coder, ordinal.into(), ordinal::count(now).into())?;
    let mv = ordinal::move_at(now, ordinal as u16)?;
    Some(Operand::Move { mv, san: san::write(now, mv) })
}

/// Passes one of `count` equally likely numbers through a coder.
fn uniform(coder: &mut impl BitCoder, given: u32, count: u32) -> Option<u32> {
    let (mut low, mut high) = (0, count);
    while high.checked_sub(low)? > 1 {
        let middle = low + (high - low) / 2;
        let one = u64::from(high - middle) * 0x1_0000 / u64::from(high - low);
        if coder.bit(given >= middle, one as u16) { low = middle } else { high = middle }
    }
    (low < count).then_some(low)
}

/// How an encoder will code the texts of a record.
struct TextForms(Vec<Vec<Form>>);

impl TextForms {
    fn new(
        root: Option<&Playable>,
        given: &[Operation],
        model: &OperationModel,
        shape: &[Opcode],
    ) -> TextForms {
        let mut found = lists::RecordLists::default();
        let mut forms: Vec<Vec<Form>> = Vec::with_capacity(given.len());
        for (operation, &opcode) in given.iter().zip(shape) {
            let state = model.field(opcode).and_then(|field| model.fields[field].as_ref());
            let before = state.map(|state| &state.before);
            let form = |(at, operand): (usize, &Operand)| {
                let (Operand::Str(text) | Operand::Token(text)) = operand else {
                    return Form::Plain;
                };
                let before = before.and_then(|before| before.get(at)).map(Operand::text);
                match before {
                    Some(before) if before[..] == text[..] => Form::Same,
                    Some(before) if lists::successor(&before).as_deref() == Some(text) => {
                        Form::Successor
                    }
                    _ => found.note(root, text),
                }
            };
            forms.push(operation.operands.iter().enumerate().map(form).collect());
        }
        let derived = |form| root.and_then(|root| found.derived(root, form));
        let (coordinates, pairs) = (derived(Form::Coordinates), derived(Form::Pairs));
        for (operation, forms) in given.iter().zip(&mut forms) {
            for (operand, form) in operation.operands.iter().zip(forms) {
                let (Operand::Str(text) | Operand::Token(text)) = operand else { continue };
                if matches!(form, Form::Moves | Form::Numbers) {
                    continue;
                }
                if coordinates.as_deref() == Some(text) {
                    *form = Form::Coordinates;
                } else if pairs.as_deref() == Some(text) {
                    *form = Form::Pairs;
                }
            }
        }
        TextForms(forms)
    }

    fn form(&self, operation: usize, operand: usize) -> Form {
        let forms = self.0.get(operation);
        forms.and_then(|forms| forms.get(operand)).copied().unwrap_or(Form::Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-W1. Forced moves and repeated texts cost a writer next to nothing, and a reader memory.
    #[test]
    fn what_operations_cost_a_reader_is_paid_for_in_bytes() {
        let position = Position::START;
        for (operand, times) in
            [(Operand::string(vec![b'a'; 20_000]), 100), (Operand::Integer(1), 10_000)]
        {
            let operations = [Operation { opcode: Opcode::ACN, operands: vec![operand; times] }];
            let mut encoder = BitEncoder::new();
            let mut model = OperationModel::new();
            model.record(&mut encoder, &position, &operations);
            let bare = encoder.finish();
            assert!(model.cost > FREE_COST);
            let bytes = encode([(position, &operations[..])].into_iter());
            assert!(bytes.starts_with(&bare));
            let read = |bytes: &[u8]| decode(bytes, [position].into_iter(), usize::MAX);
            assert_eq!(read(&bytes), Ok(vec![operations.to_vec()]));
            let within = |memory| decode(&bytes, [position].into_iter(), memory);
            assert_eq!(within(model.cost), read(&bytes));
            assert_eq!(within(model.cost - 1), Err(Refusal::Memory));
            let paid = model.cost <= FREE_COST + COST_OF_BYTE * bare.len();
            assert_eq!(read(&bare).is_ok(), paid);
            if bytes.len() > bare.len() {
                assert_eq!(read(&bytes[..bytes.len() - 1]), Err(Refusal::Damaged));
            }
        }
    }
}
