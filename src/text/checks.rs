//! Checks of every line, in any format.

use super::codes;
use super::diagnostic::{Diagnostic, shown};
use super::scan::{is_blank, is_white_space};
use crate::model::Position;
use crate::model::rules::legality;

/// The error of the strict profile if a text is not in canonical form.
pub(super) fn refuse_other_than(
    canonical: &[u8],
    text: &[u8],
    code: &'static str,
) -> Result<(), Diagnostic> {
    if canonical == text {
        return Ok(());
    }
    let same = canonical.iter().zip(text).take_while(|(a, b)| a == b).count();
    let wanted = match canonical.get(same..) {
        Some([]) | None => "the end of the line".into(),
        Some(rest) => shown(rest),
    };
    let message = format!("not canonical: expected {wanted} here");
    Err(Diagnostic::error(code, same + 1, message))
}

/// Refuses control bytes other than white space, and a byte order mark.
pub(super) fn refuse_control_bytes(line: &[u8]) -> Result<(), Diagnostic> {
    let (place, what) = if line.starts_with(BYTE_ORDER_MARK) {
        (0, "byte order mark".into())
    } else if let Some(place) = line.iter().position(|&byte| is_control(byte)) {
        (place, format!("control byte 0x{:02X}", line[place]))
    } else {
        return Ok(());
    };
    Err(Diagnostic::error(codes::E_EPD_CTRL, place + 1, what))
}

/// The warning about a position that cannot arise in a game.
pub(super) fn illegal_position(position: &Position, at: usize) -> Option<Diagnostic> {
    let flags = legality(position);
    if flags.is_legal() {
        return None;
    }
    let reasons: Vec<&str> = flags.reasons().collect();
    let message = format!("illegal position: {}", reasons.join(", "));
    Some(Diagnostic::warning(codes::W_POS_ILLEGAL, at + 1, message))
}

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a byte is a control byte other than white space.
pub(super) const fn is_control(byte: u8) -> bool {
    is_blank(byte) && !is_white_space(byte)
}
