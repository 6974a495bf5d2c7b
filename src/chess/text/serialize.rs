//! Serialization of the types of the model, with the feature `serde`. An operation is serialized as
//! its opcode and its operands; every other type is serialized as its text form.
//!
//! ```
//! use epdb_chess::model::EpdRecord;
//! let record: EpdRecord = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;".parse()?;
//! let json = serde_json::to_string(&record)?;
//! assert_eq!(json, "\"4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;\"");
//! assert_eq!(serde_json::from_str::<EpdRecord>(&json)?, record);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::diagnostic::Diagnostic;
use super::epd::{self, Line};
use super::fen;
use super::options::{CastlingForm, FormatOptions, ParseOptions, Profile};
use crate::model::rules::Move;
use crate::model::{
    EpdRecord, GameResult, Opcode, Operand, Operation, Position, San, Square, Tally,
};

/// Bytes that are nearly always UTF-8: serialized as a string if they are, otherwise as bytes.
struct Text(Vec<u8>);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.serialize_bytes(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, or its bytes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.into()))
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(bytes.to_vec()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Text, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(Text(bytes))
            }
        }

        deserializer.deserialize_any(TextVisitor)
    }
}

/// Serializes types as their displayed text, and deserializes them by parsing it.
macro_rules! as_displayed {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    )*};
}

as_displayed!(GameResult, Move, Opcode, San, Square);

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Position, D::Error> {
        let text = String::deserialize(deserializer)?;
        exact_position(text.as_bytes()).map_or_else(|| text.parse(), Ok).map_err(de::Error::custom)
    }
}

impl Serialize for EpdRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let options = FormatOptions { castling: CastlingForm::Keep, ..Default::default() };
        let mut line = Vec::new();
        epd::format(self, &options, &mut line);
        Text(line).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EpdRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EpdRecord, D::Error> {
        let Text(line) = Text::deserialize(deserializer)?;
        exact_record(&line).map_err(de::Error::custom)
    }
}

/// Parses the line of a serialized record. If the standard allows the line, no field is repaired.
/// Any other line is read in the lenient profile, but keeps its en passant square.
fn exact_record(line: &[u8]) -> Result<EpdRecord, Diagnostic> {
    if let Some(record) = standard_record(line) {
        return Ok(record);
    }
    let mut record = fen::parse(line, Profile::Lenient)?;
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').take(4).collect();
    if let Some(position) = exact_position(&fields.join(&b' '))
        && position.board() == record.position().board()
    {
        // The square fits the side to move, because both positions have the same side to move.
        record.set_en_passant(position.en_passant()).ok();
    }
    Ok(record)
}

/// Parses a FEN, or a line of EPD, in the standard profile.
fn standard_record(line: &[u8]) -> Option<EpdRecord> {
    if let Ok(record) = fen::parse(line, Profile::Standard) {
        return Some(record);
    }
    let options = ParseOptions::new(Profile::Standard);
    match epd::parse_line(line, &options, &mut Vec::new()) {
        Ok(Line::Record(record)) => Some(record),
        _ => None,
    }
}

/// Parses four fields to a position, in the standard profile.
fn exact_position(fields: &[u8]) -> Option<Position> {
    let record = standard_record(fields).filter(|record| record.operations().is_empty());
    record.map(|record| *record.position())
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum OperandForm {
    Move {
        mv: Move,
        san: San,
    },
    Integer(i128),
    String(Text),
    /// The text of a tally, and its moves in the order of the text.
    Tally {
        text: Text,
        moves: Vec<Move>,
    },
    Token(Text),
}

impl Serialize for Operand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Operand::Move { mv, san } => OperandForm::Move { mv: *mv, san: *san },
            Operand::Integer(value) => OperandForm::Integer(*value),
            Operand::Str(bytes) => OperandForm::String(Text(bytes.to_vec())),
            Operand::Tally(tally) => {
                let moves = tally.parts().iter().flat_map(|part| &part.moves);
                let moves = moves.map(|one| one.mv).collect();
                OperandForm::Tally { text: Text(tally.to_text()), moves }
            }
            Operand::Token(bytes) => OperandForm::Token(Text(bytes.to_vec())),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Operand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Operand, D::Error> {
        Ok(match OperandForm::deserialize(deserializer)? {
            OperandForm::Move { mv, san } => Operand::Move { mv, san },
            OperandForm::Integer(value) => Operand::Integer(value),
            OperandForm::String(Text(bytes)) => Operand::string(bytes),
            OperandForm::Tally { text: Text(bytes), moves } => {
                let mut moves = moves.into_iter();
                let tally = Tally::from_text(&bytes, |_| moves.next());
                Operand::tally(tally.ok_or_else(|| de::Error::custom("expected a tally"))?)
            }
            OperandForm::Token(Text(bytes)) => Operand::token(bytes),
        })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename = "Operation")]
struct OperationForm {
    opcode: Opcode,
    operands: Vec<Operand>,
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Operation { opcode, operands } = self.clone();
        OperationForm { opcode, operands }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Operation, D::Error> {
        let OperationForm { opcode, operands } = OperationForm::deserialize(deserializer)?;
        Ok(Operation { opcode, operands })
    }
}
