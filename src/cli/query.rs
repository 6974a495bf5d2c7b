//! Positions that the user asks for.

use crate::model::Position;
use crate::text::epd::{Line, read_line};
use crate::text::{Diagnostic, ReadOptions};

/// Reads a position from FEN or EPD text; operations do not matter. `None` for a blank line or a
/// comment.
///
/// # Errors
/// The reader's error.
pub(crate) fn parse(text: &[u8], options: &ReadOptions) -> Result<Option<Position>, Diagnostic> {
    Ok(match read_line(text, options, &mut Vec::new())? {
        Line::Record(record) => Some(*record.position()),
        Line::Blank | Line::Comment => None,
    })
}
