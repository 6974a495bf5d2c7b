//! Rewrites records for python-chess, which accepts less than the standard allows.

use crate::model::score::mate_target;
use crate::model::{EpdRecord, Opcode, Operand, Operation};

/// Converts every operation to a form that python-chess reads. Returns the record and the number of
/// operations that were changed.
///
/// python-chess reads numbers, a single string, and legal moves in SAN. All other operands of an
/// operation are written as one string. A mate target `bm #5` becomes `dm 5`. Backslashes in
/// strings are doubled, because python-chess reads a backslash as the start of an escape.
pub(super) fn for_python_chess(record: &EpdRecord) -> (EpdRecord, u64) {
    let with_targets = mate_target_as_dm(record);
    let source = with_targets.as_ref().unwrap_or(record);
    let mut written = source.clone();
    let mut changed = u64::from(with_targets.is_some());
    for operation in source.operations() {
        if let Some(operand) = readable(source, operation) {
            written.set(Operation { opcode: operation.opcode, operands: vec![operand] });
            changed += 1;
        }
    }
    (written, changed)
}

/// Moves the mate target in `bm` to `dm`. `None` if `bm` does not have exactly one mate target, or
/// if the record already has a `dm`.
fn mate_target_as_dm(record: &EpdRecord) -> Option<EpdRecord> {
    let operands = record.operands(Opcode::BM)?;
    let mut targets = operands.iter().filter_map(|operand| mate_target(&operand.text()));
    let (Some(target), None) = (targets.next(), targets.next()) else { return None };
    if target <= 0 || record.operands(Opcode::DM).is_some() {
        return None;
    }
    let moves: Vec<Operand> =
        operands.iter().filter(|it| mate_target(&it.text()).is_none()).cloned().collect();
    let mut written = record.clone();
    if moves.is_empty() {
        written.remove(Opcode::BM)
    } else {
        written.set(Operation { opcode: Opcode::BM, operands: moves })
    };
    written.set(Operation { opcode: Opcode::DM, operands: vec![Operand::Integer(target.into())] });
    Some(written)
}

/// Returns the string that replaces the operands; `None` if python-chess can read the operands.
fn readable(record: &EpdRecord, operation: &Operation) -> Option<Operand> {
    let takes_several = matches!(operation.opcode, Opcode::AM | Opcode::BM | Opcode::PV);
    match &*operation.operands {
        [] | [Operand::Integer(_)] => None,
        [Operand::Token(text)] if is_number(text) => None,
        [Operand::Str(text)] => text.contains(&b'\\').then(|| string(text)),
        [Operand::Move { .. }] if is_read(record, operation) => None,
        [Operand::Move { .. }, ..] if takes_several && is_read(record, operation) => None,
        operands => {
            let mut text = Vec::new();
            for (place, operand) in operands.iter().enumerate() {
                if place > 0 {
                    text.push(b' ');
                }
                operand.write_to(&mut text);
            }
            Some(string(&text))
        }
    }
}

/// Whether all operands are moves that python-chess accepts. It accepts castling in positions of
/// Chess960 only in its Chess960 mode, so such moves do not count.
fn is_read(record: &EpdRecord, operation: &Operation) -> bool {
    operation.operands.iter().all(|operand| match operand {
        Operand::Move { san, .. } => {
            !(record.position().is_chess960() && san.as_bytes().starts_with(b"O-O"))
        }
        _ => false,
    })
}

/// Makes a string operand in which quotes become apostrophes and backslashes are doubled.
fn string(text: &[u8]) -> Operand {
    let mut written = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'"' => written.push(b'\''),
            b'\\' => written.extend_from_slice(b"\\\\"),
            byte => written.push(byte),
        }
    }
    Operand::string(written)
}

/// Whether Python's `int()` or `float()` reads the text as a finite number.
fn is_number(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return (1..=4000).contains(&digits.len());
    }
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && text.bytes().all(is_part)
        && text.parse().is_ok_and(f64::is_finite)
}
