//! Fields 5 and 6, the counters: parser.

use crate::model::Counters;
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::scan::Word;

/// Reads fields 5 and 6.
pub(in crate::text) fn read(clock: Word, number: Word) -> Result<Counters, Diagnostic> {
    let halfmove_clock = decimal(clock.text).ok_or_else(|| {
        let message = format!(
            "the halfmove clock must be an integer from 0 to {}, not {}",
            u32::MAX,
            shown(clock.text)
        );
        Diagnostic::error(codes::E_FEN_HMVC, clock.column(), message)
    })?;
    let fullmove_number = decimal(number.text).filter(|&value| value > 0).ok_or_else(|| {
        let message = format!(
            "the fullmove number must be an integer from 1 to {}, not {}",
            u32::MAX,
            shown(number.text)
        );
        Diagnostic::error(codes::E_FEN_FMVN, number.column(), message)
    })?;
    Ok(Counters { halfmove_clock, fullmove_number })
}

fn decimal(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |value, &digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}
