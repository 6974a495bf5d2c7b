//! FEN records (`formats/epd_text.md`).

use super::checks::{illegal_position, refuse_control_bytes, refuse_other_than};
use super::codes;
use super::diagnostic::Diagnostic;
use super::epd::{self, Line};
pub use super::fields::write as format_fields;
use super::fields::{self, counters};
use super::options::{Format, FormatOptions, ParseOptions, Profile};
use super::scan::Word;
use crate::model::EpdRecord;

/// Parses one FEN record.
///
/// `Strict` and `Standard` accept exactly six fields. `Lenient` accepts any record that
/// [`epd::parse_line`] accepts,
/// also four fields with operations, and drops its warnings.
///
/// # Errors
/// The first error of the text, with its column.
///
/// ```
/// use epdb::text::{Profile, fen};
/// let record = fen::parse(b"4k3/8/8/8/8/8/4P3/4K3 w - - 5 39", Profile::Standard)?;
/// assert_eq!(record.counters(), (Some(5), Some(39)));
/// # Ok::<(), epdb::text::Diagnostic>(())
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
        let options = FormatOptions::new().format(Format::Fen);
        let mut canonical = Vec::with_capacity(text.len());
        epd::format(&record, &options, &mut canonical);
        refuse_other_than(&canonical, text, codes::E_FEN_NONCANON)?;
    }
    Ok(record)
}

/// Parses one line of a file of FEN records, without its line end: six fields and nothing else. In the
/// lenient profile it does the same as [`epd::parse_line`].
///
/// # Errors
/// The reason why the profile refuses the line, with the column.
///
/// ```
/// use epdb::text::{Profile, ParseOptions, fen};
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
    record.set_fen_counters(Some(counters::read(clock, number)?));
    Ok(record)
}
