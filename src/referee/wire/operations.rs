//! Puts single operations into records, and reads them from records.

use epdb_chess::error::{ErrorKind, error_from};
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{EpdRecord, Opcode, Operand, Operation, Position};
use epdb_chess::text::{Diagnostic, codes, san};

/// Maximum length of a string in a record, in bytes.
const MAX_STRING: usize = 255;

/// Whether a message can contain this text unchanged: at most 255 bytes, no quote, no control character.
///
/// ```
/// use epdb_referee::wire::fits_in_string;
/// assert!(fits_in_string("Program 1.0") && !fits_in_string("the \"best\""));
/// ```
pub fn fits_in_string(text: &str) -> bool {
    text.len() <= MAX_STRING && !text.bytes().any(|byte| byte == b'"' || byte.is_ascii_control())
}

pub(super) fn put(record: &mut EpdRecord, opcode: Opcode, operands: Vec<Operand>) {
    record.set(Operation { opcode, operands });
}

/// Puts an operation without operands into a record, if it is wanted.
pub(super) fn put_flag(record: &mut EpdRecord, opcode: Opcode, is_wanted: bool) {
    if is_wanted {
        put(record, opcode, Vec::new());
    }
}

/// The opcode `ready`, which is not in the standard of 1995. In `sign_on`, a client asks the referee to wait
/// for it before each game. In `inform`, the referee says that it waits. In `reply`, the client says that it
/// is ready.
const READY: &[u8] = b"ready";

pub(super) fn put_ready(record: &mut EpdRecord, is_wanted: bool) {
    if let Ok(opcode) = Opcode::new(READY) {
        put_flag(record, opcode, is_wanted);
    }
}

pub(super) fn is_ready(record: &EpdRecord) -> bool {
    Opcode::new(READY).is_ok_and(|opcode| has(record, opcode))
}

pub(super) fn put_integer(record: &mut EpdRecord, opcode: Opcode, value: Option<impl Into<i128>>) {
    if let Some(value) = value {
        put(record, opcode, vec![Operand::Integer(value.into())]);
    }
}

/// Puts a line of moves from the position of the record. The line ends before a move that is not
/// legal; an empty line is not put.
pub(super) fn put_line(record: &mut EpdRecord, opcode: Opcode, moves: &[Move]) {
    let line = spelled(record.position(), moves);
    if !line.is_empty() {
        put(record, opcode, line);
    }
}

fn spelled(position: &Position, moves: &[Move]) -> Vec<Operand> {
    let Ok(mut at) = Playable::new(position) else { return Vec::new() };
    let mut line = Vec::with_capacity(moves.len());
    for &mv in moves.iter() {
        if !at.is_legal(mv) {
            break;
        }
        line.push(Operand::Move { mv, san: san::format(&at, mv) });
        at = at.after(mv);
    }
    line
}

/// A string operand. Quotes become apostrophes, control characters become blanks, and text that is
/// too long is cut off.
pub(super) fn string(text: &str) -> Operand {
    let bytes = beginning(text).bytes().map(|byte| match byte {
        b'"' => b'\'',
        byte if byte.is_ascii_control() => b' ',
        byte => byte,
    });
    Operand::string(bytes.collect::<Vec<u8>>())
}

/// The beginning of a text, cut to the maximum length of a string.
fn beginning(text: &str) -> &str {
    let fits = |end: &usize| text.is_char_boundary(*end);
    let end = (0..=text.len().min(MAX_STRING)).rev().find(fits).unwrap_or_default();
    &text[..end]
}

/// Returns the text of a string in a form that can be sent again. Each byte that is not UTF-8
/// becomes a replacement character of three bytes.
pub(super) fn said(string: &[u8]) -> String {
    beginning(&String::from_utf8_lossy(string)).to_string()
}

pub(super) fn has(record: &EpdRecord, opcode: Opcode) -> bool {
    record.operands(opcode).is_some()
}

pub(super) fn moves(record: &EpdRecord, opcode: Opcode) -> Vec<Move> {
    let operands = record.operands(opcode).unwrap_or_default();
    let mv = |operand: &Operand| match operand {
        Operand::Move { mv, .. } => Some(*mv),
        _ => None,
    };
    operands.iter().map_while(mv).collect()
}

/// The move of `sm`, if there is one.
///
/// # Errors
/// `E-EPD-TYPE` if `sm` has something other than a move. In a position that cannot be played, no
/// operand is a move.
pub(super) fn supplied_move(record: &EpdRecord) -> Result<Option<Move>, WireError> {
    match moves(record, Opcode::SM).first() {
        None if has(record, Opcode::SM) => {
            Err(WireError::new(codes::E_EPD_TYPE, "sm has no move of the position"))
        }
        first => Ok(first.copied()),
    }
}

/// The first operand as text.
pub(super) fn text(record: &EpdRecord, opcode: Opcode) -> Option<String> {
    record.text_of(opcode).map(|text| said(&text))
}

/// The first operand as a number. The opcode may be one that the standard does not have.
pub(super) fn number<N: std::str::FromStr>(record: &EpdRecord, opcode: Opcode) -> Option<N> {
    text(record, opcode)?.parse().ok()
}

/// The reason why a line is not a valid message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{code}: {message}")]
pub struct WireError {
    /// The stable code, such as `E-REF-NOREFREQ` or `E-MOVE-ILLEGAL`.
    pub code: &'static str,
    /// The problem found, and the expected input.
    pub message: String,
}

impl WireError {
    /// An error with one of the codes of [`epdb_chess::text::codes`].
    pub fn new(code: &'static str, message: impl Into<String>) -> WireError {
        WireError { code, message: message.into() }
    }
}

/// The reason in a fault for a client that has not signed on. This happens on a serial line that stayed open
/// after the previous referee ended.
pub(crate) const NOT_SIGNED_ON: &str = "nobody has signed on";

impl From<Diagnostic> for WireError {
    fn from(finding: Diagnostic) -> WireError {
        let message = format!("column {}: {}", finding.column, finding.message);
        WireError { code: finding.code, message }
    }
}

error_from!(WireError: |_| ErrorKind::InvalidData);
