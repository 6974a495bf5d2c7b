//! `Display` and `FromStr` of positions and records.

use std::fmt;
use std::str::FromStr;

use super::diagnostic::Diagnostic;
use super::options::{CastlingForm, EnPassantForm, FormatOptions, Profile};
use super::{codes, epd, fen};
use crate::model::{EpdRecord, Opcode, Position};

impl fmt::Display for Position {
    /// Writes the first four fields of FEN, in X-FEN.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = Vec::with_capacity(80);
        fen::format_fields(self, CastlingForm::XFen, EnPassantForm::Keep, &mut fields);
        f.write_str(&String::from_utf8_lossy(&fields))
    }
}

impl FromStr for Position {
    type Err = Diagnostic;

    /// Parses four or six fields, as [`crate::parse_epd`] does. Counters are not part of a position and
    /// are ignored; other operations are refused.
    ///
    /// ```
    /// use epdb::model::Position;
    /// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    /// assert_eq!(start.parse(), Ok(Position::START));
    /// assert_eq!(Position::START.to_string(), start[..start.len() - 4]);
    /// ```
    fn from_str(text: &str) -> Result<Position, Diagnostic> {
        let record = fen::parse(text.as_bytes(), Profile::Lenient)?;
        let mut opcodes = record.operations().iter().map(|operation| operation.opcode);
        match opcodes.find(|opcode| !matches!(*opcode, Opcode::HMVC | Opcode::FMVN)) {
            None => Ok(*record.position()),
            Some(opcode) => {
                let message = format!("a position has no operation `{opcode}`");
                Err(Diagnostic::error(codes::E_FEN_FIELDS, 1, message))
            }
        }
    }
}

impl fmt::Display for EpdRecord {
    /// Writes the record in canonical form. Bytes that are not UTF-8 become U+FFFD; [`crate::format_epd`]
    /// keeps them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::new();
        epd::format(self, &FormatOptions::default(), &mut line);
        f.write_str(&String::from_utf8_lossy(&line))
    }
}

impl FromStr for EpdRecord {
    type Err = Diagnostic;

    /// Parses a line as [`crate::parse_epd`] does.
    ///
    /// ```
    /// use epdb::model::EpdRecord;
    /// let record: EpdRecord = "8/8/8/4k3/8/1K6/8/8 b - - bm Ke6 Ke4;".parse()?;
    /// assert_eq!(record.to_string(), "8/8/8/4k3/8/1K6/8/8 b - - bm Ke4 Ke6;");
    /// # Ok::<(), epdb::text::Diagnostic>(())
    /// ```
    fn from_str(line: &str) -> Result<EpdRecord, Diagnostic> {
        fen::parse(line.as_bytes(), Profile::Lenient)
    }
}
