//! Operations that engines add to records. Operations outside the standard get the operand types of
//! unknown opcodes.

use epdb_chess::model::{EpdRecord, Opcode, Operand, Operation};

/// Operations that an analysis replaces. All others are kept, including the supplied move `sm`.
const REPLACED: [Opcode; 10] = [
    Opcode::PV,
    Opcode::CE,
    Opcode::PM,
    Opcode::ACN,
    Opcode::ACS,
    Opcode::ACD,
    Opcode::ACMS,
    Opcode::SOLVE_FIRST,
    Opcode::SOLVE_HELD,
    Opcode::RUN_ERROR,
];

/// The opcodes for moves and score of line `number`, from 2: `pv2`, `ce2`.
pub(super) fn line_opcodes(number: usize) -> Option<(Opcode, Opcode)> {
    let opcode = |start: &str| Opcode::new(format!("{start}{number}").as_bytes()).ok();
    Some((opcode("pv")?, opcode("ce")?))
}

/// Removes earlier analysis from a record.
pub(super) fn clear(record: &mut EpdRecord) {
    let is_old = |opcode: &Opcode| REPLACED.contains(opcode) || opcode.is_of_further_line();
    let old: Vec<Opcode> = record.operations().iter().map(|it| it.opcode).filter(is_old).collect();
    for opcode in old {
        record.remove(opcode);
    }
}

pub(super) fn put(record: &mut EpdRecord, opcode: Opcode, operands: Vec<Operand>) {
    record.set(Operation { opcode, operands });
}

/// Sets an integer operation of the standard.
pub(super) fn put_integer(record: &mut EpdRecord, opcode: Opcode, value: impl Into<i128>) {
    put(record, opcode, vec![Operand::Integer(value.into())]);
}

/// Sets a numeric operation outside the standard.
pub(super) fn put_numbers(record: &mut EpdRecord, opcode: Opcode, values: &[u64]) {
    put(record, opcode, values.iter().map(|value| Operand::token(value.to_string())).collect());
}

/// Stores the reason of a failed search in a record.
pub(super) fn put_error(record: &mut EpdRecord, error: &str) {
    let plain = |c: char| match c {
        '"' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    let text: String = error.chars().map(plain).collect();
    put(record, Opcode::RUN_ERROR, vec![Operand::string(text)]);
}
