//! Operations that engines leave in records. Those that the standard does not have get operands of the
//! kind that any unknown opcode has.

use crate::model::{EpdRecord, Opcode, Operand, Operation};

/// The operations that an analysis replaces. All others stay, the supplied move `sm` among them.
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

/// The opcodes of line and score of the second line and those behind it: `pv2`, `ce2`.
pub(super) fn of_line(number: usize) -> Option<(Opcode, Opcode)> {
    let opcode = |start: &str| Opcode::new(format!("{start}{number}").as_bytes()).ok();
    Some((opcode("pv")?, opcode("ce")?))
}

/// Takes earlier analysis out of a record.
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

/// Puts a number into an operation of the standard.
pub(super) fn put_integer(record: &mut EpdRecord, opcode: Opcode, value: impl Into<i128>) {
    put(record, opcode, vec![Operand::Integer(value.into())]);
}

/// Puts numbers into an operation of another name.
pub(super) fn put_numbers(record: &mut EpdRecord, opcode: Opcode, values: &[u64]) {
    put(record, opcode, values.iter().map(|value| Operand::token(value.to_string())).collect());
}

/// Says in a record why its search failed.
pub(super) fn put_error(record: &mut EpdRecord, error: &str) {
    let plain = |c: char| match c {
        '"' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    let text: String = error.chars().map(plain).collect();
    put(record, Opcode::RUN_ERROR, vec![Operand::string(text)]);
}
