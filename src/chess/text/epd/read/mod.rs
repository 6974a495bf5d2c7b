//! Parser of EPD lines, with repairs.

mod ascii_line;
mod consistency;
mod join;
mod line;
mod moves;
mod operands;
mod operations;
mod reader;
mod segment;
mod settle;
mod tail;
mod uci;

pub use line::Line;
pub(in crate::text) use moves::is_promotion;
pub use operands::{TallyError, parse_tally};
pub(in crate::text) use segment::string_end;
pub(in crate::text) use segment::{Raw, split_operands};
pub(in crate::text) use uci::is_word_before_position;

use crate::text::codes;
use crate::text::diagnostic::Diagnostic;
use crate::text::options::{ParseOptions, Profile};
use ascii_line::AsciiLine;
use reader::Reader;

/// Parses one line, without its line end.
///
/// Appends repairs and doubts to `warnings` in the order of their columns. If there are more than a
/// thousand warnings, the last one is `W-LEN-MORE`, which counts the remaining ones. A rejected
/// line leaves no warnings.
///
/// # Errors
/// The reason why the profile refuses the line, with the column.
///
/// ```
/// use epdb_chess::text::{Profile, ParseOptions, epd};
/// let line = b"8/8/8/4k3/8/1K6/8/8 b - - id KK; bm Ke6 Ke4";
/// let mut warnings = Vec::new();
/// let epd::Line::Record(record) =
///     epd::parse_line(line, &ParseOptions::new(Profile::Lenient), &mut warnings)?
/// else {
///     panic!("a record");
/// };
/// assert_eq!(epdb_chess::format_epd(&record), b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4 Ke6; id \"KK\";");
/// assert_eq!((warnings[0].code, warnings[0].column), ("W-LEN-UNQUOTED", 30));
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn parse_line(
    line: &[u8],
    options: &ParseOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let before = warnings.len();
    let is_lenient = options.profile == Profile::Lenient;
    let ascii = if is_lenient { AsciiLine::parse(line) } else { None };
    let text = ascii.as_ref().map_or(line, |ascii| &ascii.text);
    let mut result = Reader::new(options, warnings).line(text);
    if let Some(ascii) = ascii {
        warnings[before..].iter_mut().for_each(|warning| ascii.correct(warning));
        match &mut result {
            Ok(Line::Record(_)) => warnings.extend(ascii.warning(line)),
            Ok(_) => {}
            Err(error) => ascii.correct(error),
        }
    }
    match &result {
        Ok(_) => {
            warnings[before..].sort_by_key(|warning| warning.column);
            cap(warnings, before);
        }
        Err(_) => warnings.truncate(before),
    }
    result
}

/// Maximum number of warnings about one line.
const MAX_WARNINGS: usize = 1000;

/// Keeps the first [`MAX_WARNINGS`] of the warnings, beginning at index `before`. The last one kept
/// then counts the warnings that are left out.
fn cap(warnings: &mut Vec<Diagnostic>, before: usize) {
    if warnings.len() - before <= MAX_WARNINGS {
        return;
    }
    let last = before + MAX_WARNINGS - 1;
    let findings = u32::try_from(warnings.len() - last).unwrap_or(u32::MAX);
    let message = format!("{findings} more warnings about the line");
    let more = Diagnostic::warning(codes::W_LEN_MORE, warnings[last].column, message);
    warnings.truncate(last);
    warnings.push(Diagnostic { findings, ..more });
}
