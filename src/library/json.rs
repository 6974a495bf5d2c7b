//! Values of records as JSON, wherever they are printed or served.

use std::collections::BTreeMap;

use crate::library::field::operand_value;
use crate::library::value::{Number, Value};
use crate::model::{Opcode, Operand, Operation};

/// A value of a field: numbers as numbers, flags as true and false, moves as arrays, everything
/// else as a string, and what is missing as null. An unquoted operand of an opcode that is not
/// standard is a number where it reads as one. Bytes that are no UTF-8 become a replacement
/// character.
pub fn value(value: &Value<'_>) -> serde_json::Value {
    let text = |text: &[u8]| serde_json::Value::from(String::from_utf8_lossy(text).into_owned());
    match (value, value.number()) {
        (_, Some(Number::Whole(number))) => serde_json::Number::from_i128(number)
            .map_or_else(|| text(&value.text()), serde_json::Value::Number),
        (_, Some(Number::Fraction(number))) => number.into(),
        (Value::Missing, _) => serde_json::Value::Null,
        (Value::Flag(flag), _) => (*flag).into(),
        (Value::Moves(moves), _) => moves.iter().map(|mv| text(&mv.text())).collect(),
        (Value::Coordinates(moves), _) => moves.iter().map(|mv| text(mv)).collect(),
        (other, _) => text(&other.text()),
    }
}

/// The operands of an opcode, [`value`] of them; null where there is no such operation.
pub fn operands(opcode: Opcode, operands: Option<&[Operand]>) -> serde_json::Value {
    operands.map_or(serde_json::Value::Null, |operands| value(&operand_value(opcode, operands)))
}

/// The first operation of each opcode, [`operands`] of it by its name.
///
/// ```
/// let record = epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke6; id \"A.1\"; ce 20;")?;
/// let object = epdb::library::json::operations(record.operations());
/// assert_eq!(serde_json::to_string(&object)?, r#"{"bm":["Ke6"],"ce":20,"id":"A.1"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn operations(operations: &[Operation]) -> BTreeMap<String, serde_json::Value> {
    let mut all = BTreeMap::new();
    for operation in operations {
        let value = || operands(operation.opcode, Some(&operation.operands));
        all.entry(operation.opcode.to_string()).or_insert_with(value);
    }
    all
}
