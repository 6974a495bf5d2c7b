//! The opcodes of the records of a block.

use std::sync::{Arc, LazyLock};

use foldhash::HashMap;

use crate::adaptive::{BitCoder, BitModel, BitModels, IntegerModel, SymbolModel};
use epdb_chess::model::{Opcode, Operation, StandardOpcode};

/// Standard opcodes whose number is below this one are coded by their number. All others are
/// spelled out at their first occurrence.
pub(super) const NUMBERED: u8 = 51;
/// Maximum number of operations of a record that a decoder accepts: more do not fit into a record.
const MAX_OPERATIONS: usize = epdb_chess::codec::record::MAX_LEN;

#[derive(Clone)]
pub(super) struct OpcodeModel {
    /// Lists of opcodes of previous records. The list that was used last comes first.
    pub(super) shapes: Vec<Arc<[Opcode]>>,
    /// Model of the index of a list in `shapes`.
    place: IntegerModel,
    /// Model of the length of a new list.
    len: IntegerModel,
    /// The numbered opcodes, then others in the order of their first occurrence.
    pub(super) opcodes: Vec<Opcode>,
    /// The number of each opcode that has no number in the format. It is the index of the opcode in
    /// `opcodes`.
    others: HashMap<Opcode, usize>,
    opcode: IntegerModel,
    /// Models of the length and the bytes of a new name.
    name: [SymbolModel; 2],
}

static NUMBERED_OPCODES: LazyLock<Vec<Opcode>> = LazyLock::new(|| {
    let numbered = (0..NUMBERED).filter_map(StandardOpcode::with_number);
    numbered.map(|entry| entry.opcode).collect()
});

impl OpcodeModel {
    pub(super) fn new() -> OpcodeModel {
        OpcodeModel {
            shapes: Vec::new(),
            place: IntegerModel::default(),
            len: IntegerModel::default(),
            others: HashMap::default(),
            opcodes: NUMBERED_OPCODES.clone(),
            opcode: IntegerModel::default(),
            name: [SymbolModel::new(4), SymbolModel::new(8)],
        }
    }

    /// Number of a known opcode; `None` if the opcode is not known.
    pub(super) fn field(&self, opcode: Opcode) -> Option<usize> {
        let number =
            opcode.standard().map(StandardOpcode::number).filter(|&number| number < NUMBERED);
        number.map(usize::from).or_else(|| self.others.get(&opcode).copied())
    }

    /// Adds an opcode without a number; `None` if it is known already.
    pub(super) fn add(&mut self, opcode: Opcode) -> Option<()> {
        if self.field(opcode).is_some() {
            return None;
        }
        self.others.insert(opcode, self.opcodes.len());
        self.opcodes.push(opcode);
        Some(())
    }

    /// Restarts with these lists, and with only the first `opcodes` opcodes.
    pub(super) fn start_with(&mut self, shapes: &[Arc<[Opcode]>], opcodes: usize) {
        self.shapes = shapes.to_vec();
        self.opcodes.truncate(opcodes);
        self.others.retain(|_, place| *place < opcodes);
    }

    pub(super) fn shape(
        &mut self,
        coder: &mut impl BitCoder,
        given: &[Operation],
    ) -> Option<Arc<[Opcode]>> {
        let is_given = |shape: &Arc<[Opcode]>| {
            shape.len() == given.len() && shape.iter().zip(given).all(|(a, b)| *a == b.opcode)
        };
        let place = self.shapes.iter().position(is_given).unwrap_or(self.shapes.len());
        let place = self.place.code(coder, place as u64) as usize;
        if place < self.shapes.len() {
            self.shapes[..=place].rotate_right(1);
            return self.shapes.first().cloned();
        }
        if place > self.shapes.len() {
            return None;
        }
        let len = self.len.code(coder, given.len() as u64) as usize;
        let mut shape: Vec<Opcode> = Vec::new();
        for nth in 0..len {
            if coder.is_exhausted() || nth > MAX_OPERATIONS {
                return None;
            }
            let opcode = self.opcode(coder, given.get(nth).map(|operation| operation.opcode))?;
            if shape.last().is_some_and(|&last| last >= opcode) {
                return None;
            }
            shape.push(opcode);
        }
        let shape: Arc<[Opcode]> = shape.into();
        self.shapes.insert(0, Arc::clone(&shape));
        Some(shape)
    }

    fn opcode(&mut self, coder: &mut impl BitCoder, given: Option<Opcode>) -> Option<Opcode> {
        let known = given.and_then(|opcode| self.field(opcode)).unwrap_or(self.opcodes.len());
        let place = self.opcode.code(coder, known as u64) as usize;
        if let Some(&opcode) = self.opcodes.get(place) {
            return Some(opcode);
        }
        let name = given.as_ref().map_or(&[][..], Opcode::as_bytes);
        let [lens, bytes] = &mut self.name;
        let len = lens.code(coder, name.len() as u32);
        let name: Vec<u8> = (0..len as usize)
            .map(|at| bytes.code(coder, name.get(at).copied().unwrap_or(0).into()) as u8)
            .collect();
        let opcode = Opcode::new(&name).ok()?;
        self.add(opcode)?;
        Some(opcode)
    }
}

impl BitModels for OpcodeModel {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        for numbers in [&mut self.place, &mut self.len, &mut self.opcode] {
            numbers.each_model(visit);
        }
        self.name.iter_mut().for_each(|symbols| symbols.each_model(visit));
    }
}
