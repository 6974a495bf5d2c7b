//! The initial model of the operations of a segment, so that each block starts with trained models.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::field::FieldModel;
use super::opcodes::NUMBERED;
use super::record::{OperationModel, OperationState, Subject, TALLY};
use super::tallies::TallyModel;
use crate::adaptive::{
    BitCoder, BitDecoder, BitEncoder, BitModel, BitModels, BitTrainer, IntegerModel, SymbolModel,
};
use crate::move_links::MoveLinks;
use epdb_chess::model::Opcode;

/// Maximum number of opcodes without a number, and of lists of opcodes, in an initial model.
const MAX_LISTED: usize = 64;
/// Number of bits of a rounded probability.
const PROBABILITY_BITS: u32 = 6;
/// An initial model adapts as if it had already seen this number of bits.
const SEEN: u8 = 7;

/// The initial model of the blocks of a segment.
#[derive(Clone)]
pub(crate) struct InitialModel(OperationState);

impl Default for InitialModel {
    /// The untrained model.
    fn default() -> InitialModel {
        InitialModel(OperationState::new())
    }
}

impl InitialModel {
    /// Trains the model on the records of some blocks.
    pub(crate) fn train<'a>(
        blocks: impl Iterator<Item = (MoveLinks<'a>, Vec<Subject<'a>>)>,
    ) -> InitialModel {
        let blocks: Vec<_> = blocks.collect();
        let (others, shapes) = frequent(blocks.iter().flat_map(|(_, subjects)| subjects));
        let mut state = OperationState::new();
        for opcode in others {
            // This cannot fail, because the opcodes are distinct and have no number.
            let _ = state.opcodes.add(opcode);
        }
        let opcodes = state.opcodes.opcodes.len();
        state.restart(&shapes, opcodes);
        for (mut links, subjects) in blocks {
            let mut model = OperationModel::new(state, usize::MAX);
            for subject in &subjects {
                model.record(&mut BitTrainer, &mut links, subject);
            }
            state = model.state;
            state.restart(&shapes, opcodes);
        }
        InitialModel(state)
    }

    /// Returns the bytes of the model, and the model that a decoder makes from them. This model has
    /// rounded probabilities.
    pub(crate) fn write(&self) -> (Vec<u8>, InitialModel) {
        let mut encoder = BitEncoder::new();
        // Only a decoder can meet bytes that are no model.
        let written = code(&mut encoder, &self.0).unwrap_or_else(OperationState::new);
        (encoder.finish(), InitialModel(written))
    }

    /// Reads a model; `None` if it is damaged.
    pub(crate) fn read(bytes: &[u8]) -> Option<InitialModel> {
        code(&mut BitDecoder::new(bytes), &OperationState::new()).map(InitialModel)
    }

    /// The state at the start of a block.
    pub(super) fn state(&self) -> OperationState {
        self.0.clone()
    }
}

/// Returns the opcodes and the lists of opcodes that occur more than once. Opcodes that have a
/// number are left out. Opcodes ascend; the most frequent list comes first.
fn frequent<'a>(
    subjects: impl Iterator<Item = &'a Subject<'a>>,
) -> (Vec<Opcode>, Vec<Arc<[Opcode]>>) {
    let mut opcodes = BTreeMap::new();
    let mut shapes = BTreeMap::new();
    for subject in subjects {
        let shape: Arc<[Opcode]> = subject.operations.iter().map(|it| it.opcode).collect();
        for &opcode in shape.iter() {
            *opcodes.entry(opcode).or_insert(0) += 1;
        }
        *shapes.entry(shape).or_insert(0) += 1;
    }
    let numbered = OperationState::new().opcodes;
    opcodes.retain(|&opcode, _| numbered.field(opcode).is_none());
    let mut others = most_frequent(opcodes);
    others.sort_unstable();
    let mut known = numbered;
    for &opcode in &others {
        let _ = known.add(opcode);
    }
    shapes.retain(|shape, _| shape.iter().all(|&opcode| known.field(opcode).is_some()));
    (others, most_frequent(shapes))
}

fn most_frequent<T: Ord>(counts: BTreeMap<T, u32>) -> Vec<T> {
    let mut counts: Vec<(T, u32)> = counts.into_iter().filter(|&(_, count)| count > 1).collect();
    counts.sort_by_key(|&(_, count)| Reverse(count));
    counts.truncate(MAX_LISTED);
    counts.into_iter().map(|(value, _)| value).collect()
}

/// Codes a model. A decoder gets an untrained model, and returns the model that it reads.
fn code(coder: &mut impl BitCoder, given: &OperationState) -> Option<OperationState> {
    let mut read = OperationState::new();
    let mut numbers = IntegerModel::default();
    code_opcodes(coder, &mut numbers, given, &mut read)?;
    code_shapes(coder, &mut numbers, given, &mut read)?;
    for place in 0..read.opcodes.opcodes.len() {
        let own = given.fields.get(place).and_then(Option::as_ref);
        if numbers.code(coder, own.is_some().into()) != 0 {
            let integers = own.map(|own| own.integers.clone()).unwrap_or_default();
            let field: &mut FieldModel = read.field(place);
            field.integers = integers.code_start(coder, &mut numbers);
            let has_tallies = own.is_some_and(|own| own.tallies.is_some());
            if place == TALLY && numbers.code(coder, has_tallies.into()) != 0 {
                field.tallies = Some(Box::new(TallyModel::new()));
            }
        }
    }
    let seen = numbers.code(coder, SEEN.into()).min(u8::MAX.into()) as u8;
    code_models(coder, given.clone(), &mut read, seen);
    (!coder.is_exhausted()).then_some(read)
}

/// Codes the opcodes that have no number.
fn code_opcodes(
    coder: &mut impl BitCoder,
    numbers: &mut IntegerModel,
    given: &OperationState,
    read: &mut OperationState,
) -> Option<()> {
    let mut bytes = SymbolModel::new(8);
    let given = given.opcodes.opcodes.get(usize::from(NUMBERED)..).unwrap_or_default();
    let listed = numbers.code(coder, given.len() as u64) as usize;
    if listed > MAX_LISTED {
        return None;
    }
    for nth in 0..listed {
        let given = given.get(nth).map_or(&[][..], Opcode::as_bytes);
        let len = numbers.code(coder, given.len() as u64).min(MAX_OPCODE) as usize;
        let name: Vec<u8> = (0..len)
            .map(|at| bytes.code(coder, given.get(at).copied().unwrap_or(0).into()) as u8)
            .collect();
        read.opcodes.add(Opcode::new(&name).ok()?)?;
    }
    Some(())
}

/// Maximum length of an opcode.
const MAX_OPCODE: u64 = 15;

fn code_shapes(
    coder: &mut impl BitCoder,
    numbers: &mut IntegerModel,
    given: &OperationState,
    read: &mut OperationState,
) -> Option<()> {
    let known = read.opcodes.opcodes.to_vec();
    let listed = numbers.code(coder, given.opcodes.shapes.len() as u64) as usize;
    if listed > MAX_LISTED {
        return None;
    }
    let mut shapes: Vec<Arc<[Opcode]>> = Vec::new();
    for nth in 0..listed {
        let given_shape = given.opcodes.shapes.get(nth).map_or(&[][..], |shape| &shape[..]);
        let len = numbers.code(coder, given_shape.len() as u64) as usize;
        if len > known.len() {
            return None;
        }
        let mut shape: Vec<Opcode> = Vec::new();
        for at in 0..len {
            let given_place = given_shape.get(at).and_then(|&opcode| given.opcodes.field(opcode));
            let place = numbers.code(coder, given_place.unwrap_or(0) as u64) as usize;
            let opcode = *known.get(place)?;
            if shape.last().is_some_and(|&last| last >= opcode) {
                return None;
            }
            shape.push(opcode);
        }
        let shape: Arc<[Opcode]> = shape.into();
        if shapes.contains(&shape) {
            return None;
        }
        shapes.push(shape);
    }
    read.opcodes.start_with(&shapes, known.len());
    Some(())
}

/// Codes the bit models. The models of `read` and of `given` have the same order.
fn code_models(
    coder: &mut impl BitCoder,
    mut given: OperationState,
    read: &mut OperationState,
    seen: u8,
) {
    let mut trained = Vec::new();
    given.each_model(&mut |model| trained.push(model.trained()));
    let mut trained = trained.into_iter();
    let mut is_there = [BitModel::default(); 2];
    let mut is_likely = BitModel::default();
    let mut probability = SymbolModel::new(PROBABILITY_BITS);
    let mut last = false;
    read.each_model(&mut |model| {
        let own = trained.next().flatten();
        last = coder.adaptive_bit(own.is_some(), &mut is_there[usize::from(last)]);
        if last {
            let (likely, other) = own.unwrap_or((false, 0));
            let likely = coder.adaptive_bit(likely, &mut is_likely);
            let other = probability.code(coder, other);
            *model = BitModel::start((likely, other), seen);
        }
    });
}
