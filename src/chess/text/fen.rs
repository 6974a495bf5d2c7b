//! FEN records (`formats/epd_text.md`), and the traits `Display` and `FromStr` for positions and
//! records.

use std::fmt;
use std::str::FromStr;

use super::codes;
use super::diagnostic::Diagnostic;
use super::epd::{self, Line};
pub use super::fields::write as format_fields;
use super::fields::{self, read_counters};
use super::options::{CastlingForm, EnPassantForm, Format, FormatOptions, ParseOptions, Profile};
use super::scan::{Word, illegal_position, refuse_control_bytes, refuse_other_than};
use crate::model::{EpdRecord, Opcode, Position};

/// Parses one FEN record.
///
/// `Strict` and `Standard` accept exactly six fields. `Lenient` accepts any record that
/// [`epd::parse_line`] accepts, for example four fields with operations; its warnings are dropped.
///
/// # Errors
/// The first error of the text, with its column.
///
/// ```
/// use epdb_chess::text::{Profile, fen};
/// let record = fen::parse(b"4k3/8/8/8/8/8/4P3/4K3 w - - 5 39", Profile::Standard)?;
/// assert_eq!(record.counters(), (Some(5), Some(39)));
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn parse(text: &[u8], profile: Profile) -> Result<EpdRecord, Diagnostic> {
    if profile == Profile::Lenient {
        return match epd::parse_line(text, &ParseOptions::new(profile), &mut Vec::new())? {
            Line::Record(record) => Ok(record),
            Line::Blank | Line::Comment => {
                Err(Diagnostic::error(codes::E_EPD_FIELDS, 1, "no position in a blank or comment"))
            }
        };
    }
    let record = read_six_fields(text, profile)?;
    if profile == Profile::Strict {
        let options = FormatOptions { format: Format::Fen, ..Default::default() };
        let mut canonical = Vec::with_capacity(text.len());
        epd::format(&record, &options, &mut canonical);
        refuse_other_than(&canonical, text, codes::E_FEN_NONCANON)?;
    }
    Ok(record)
}

/// Parses one line of a file of FEN records, without its line end. The line must have six fields
/// and nothing else. In the lenient profile, this function reads every line that
/// [`epd::parse_line`] reads.
///
/// # Errors
/// The reason why the profile refuses the line, with the column.
///
/// ```
/// use epdb_chess::text::{Profile, ParseOptions, fen};
/// let options = ParseOptions::new(Profile::Standard);
/// let error = fen::parse_line(b"4k3/8/8/8/8/8/4P3/4K3 w - - x 39", &options, &mut Vec::new());
/// assert_eq!(error.unwrap_err().code, "E-FEN-HMVC");
/// ```
pub fn parse_line(
    line: &[u8],
    options: &ParseOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let is_blank = Word { at: 0, text: line }.trimmed().text.is_empty();
    if is_blank || options.profile == Profile::Lenient {
        return epd::parse_line(line, options, warnings);
    }
    let record = parse(line, options.profile)?;
    warnings.extend(illegal_position(record.position(), 0));
    Ok(Line::Record(record))
}

fn read_six_fields(text: &[u8], profile: Profile) -> Result<EpdRecord, Diagnostic> {
    refuse_control_bytes(text)?;
    let mut rest = Word { at: 0, text };
    let mut fields = [Word { at: 0, text: &[] }; 6];
    let mut count = 0;
    loop {
        let (word, behind) = rest.split_word();
        if word.text.is_empty() {
            break;
        }
        if let Some(field) = fields.get_mut(count) {
            *field = word;
        }
        count += 1;
        rest = behind;
    }
    if count != 6 {
        let message = format!("{count} fields; a FEN has six");
        return Err(Diagnostic::error(codes::E_FEN_FIELDS, 1, message));
    }
    let [placement, turn, castling, en_passant, clock, number] = fields;
    let (position, dialect) =
        fields::read([placement, turn, castling, en_passant], profile, &mut Vec::new())?;
    let mut record = EpdRecord::new(position);
    record.set_dialect(dialect);
    record.set_fen_counters(Some(read_counters(clock, number)?));
    Ok(record)
}

impl fmt::Display for Position {
    /// Writes the first four fields of FEN, in X-FEN.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = Vec::with_capacity(80);
        format_fields(self, CastlingForm::XFen, EnPassantForm::Keep, &mut fields);
        f.write_str(&String::from_utf8_lossy(&fields))
    }
}

impl FromStr for Position {
    type Err = Diagnostic;

    /// Parses four or six fields, in the same way as [`crate::parse_epd`]. Counters are not part of
    /// a position and are ignored; other operations are refused.
    ///
    /// ```
    /// use epdb_chess::model::Position;
    /// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    /// assert_eq!(start.parse(), Ok(Position::START));
    /// assert_eq!(Position::START.to_string(), start[..start.len() - 4]);
    /// ```
    fn from_str(text: &str) -> Result<Position, Diagnostic> {
        let record = parse(text.as_bytes(), Profile::Lenient)?;
        let mut opcodes = record.operations().iter().map(|operation| operation.opcode);
        if let Some(opcode) = opcodes.find(|it| !matches!(*it, Opcode::HMVC | Opcode::FMVN)) {
            let message = format!("a position has no operation `{opcode}`");
            return Err(Diagnostic::error(codes::E_FEN_FIELDS, 1, message));
        }
        Ok(*record.position())
    }
}

impl fmt::Display for EpdRecord {
    /// Writes the record in canonical form. Bytes that are not UTF-8 become U+FFFD; use
    /// [`crate::format_epd`] to keep them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::new();
        epd::format(self, &FormatOptions::default(), &mut line);
        f.write_str(&String::from_utf8_lossy(&line))
    }
}

impl FromStr for EpdRecord {
    type Err = Diagnostic;

    /// Parses a line in the same way as [`crate::parse_epd`].
    ///
    /// ```
    /// use epdb_chess::model::EpdRecord;
    /// let record: EpdRecord = "8/8/8/4k3/8/1K6/8/8 b - - bm Ke6 Ke4;".parse()?;
    /// assert_eq!(record.to_string(), "8/8/8/4k3/8/1K6/8/8 b - - bm Ke4 Ke6;");
    /// # Ok::<(), epdb_chess::text::Diagnostic>(())
    /// ```
    fn from_str(line: &str) -> Result<EpdRecord, Diagnostic> {
        parse(line.as_bytes(), Profile::Lenient)
    }
}
