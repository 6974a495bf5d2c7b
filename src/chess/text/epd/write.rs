//! Writer of records as text.

use std::ops::AddAssign;

use super::python_chess::for_python_chess;
use crate::model::{CastlingDialect, Counters, EpdRecord, Opcode, Operand, Operation};
use crate::text::fields::en_passant::shown_square;
use crate::text::fields::{self, CounterText};
use crate::text::lines::SPEC_LINE_LIMIT;
use crate::text::options::{CastlingForm, Compat, CounterForm, Format, FormatOptions};

/// Counts of the parts of records that the chosen form cannot express. Lines that are longer than
/// the standard allows are counted too.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Losses {
    /// Number of operations that were not written, except counters.
    pub operations: u64,
    /// Number of records whose counters were not written.
    pub counters: u64,
    /// Number of records whose operand of `noop` was not written, although it keeps counters that
    /// could not be read. The written line has default counters in their place.
    pub salvaged_counters: u64,
    /// Number of en passant squares that were not written.
    pub en_passant: u64,
    /// Number of lines of more than 4095 bytes. They are written whole.
    pub long_lines: u64,
    /// Number of operations that were changed for [`Compat`].
    pub changed_operations: u64,
}

impl AddAssign for Losses {
    fn add_assign(&mut self, other: Losses) {
        self.operations += other.operations;
        self.counters += other.counters;
        self.salvaged_counters += other.salvaged_counters;
        self.en_passant += other.en_passant;
        self.long_lines += other.long_lines;
        self.changed_operations += other.changed_operations;
    }
}

/// Appends a record as one line without line end.
///
/// With the default options the line is in canonical form and nothing is lost. A record without
/// counters is written with `0 1` in FEN.
///
/// ```
/// use epdb_chess::text::{Format, FormatOptions, epd};
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - hmvc 5; id \"x\";")?;
/// let mut out = Vec::new();
/// let options = FormatOptions { format: Format::Fen, ..Default::default() };
/// let losses = epd::format(&record, &options, &mut out);
/// assert_eq!(out, b"4k3/8/8/8/8/8/4P3/4K3 w - - 5 1");
/// assert_eq!(losses.operations, 1);
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn format(record: &EpdRecord, options: &FormatOptions, out: &mut Vec<u8>) -> Losses {
    if options.compat == Compat::PythonChess {
        return write_for_python_chess(record, options, out);
    }
    let start = out.len();
    let position = record.position();
    let castling = match (options.castling, record.dialect()) {
        (CastlingForm::Keep, CastlingDialect::Shredder) => CastlingForm::Shredder,
        (form, _) => form,
    };
    let layout = Layout::new(record, options);
    let counters = layout.counters();
    fields::write_with_counters(position, castling, options.en_passant, counters, out);
    let mut losses = Losses::default();
    losses.en_passant +=
        u64::from(shown_square(position, options.en_passant) != position.en_passant());
    losses.counters += u64::from(layout.loses_counters);
    for operation in record.operations() {
        if layout.covers(operation.opcode.as_bytes()) {
            continue;
        }
        if options.format == Format::Fen {
            let salvaged = has_salvaged_counters(operation);
            losses.salvaged_counters += u64::from(salvaged);
            losses.operations += u64::from(!salvaged || operation.operands.len() > 1);
            continue;
        }
        out.push(b' ');
        operation.write_to(out);
    }
    losses.long_lines += u64::from(out.len() - start > SPEC_LINE_LIMIT);
    losses
}

fn write_for_python_chess(
    record: &EpdRecord,
    options: &FormatOptions,
    out: &mut Vec<u8>,
) -> Losses {
    let counters = match options.counters {
        CounterForm::Keep => CounterForm::Ops,
        form => form,
    };
    if options.format == Format::Fen {
        return format(record, &FormatOptions { compat: Compat::None, ..*options }, out);
    }
    let (record, changed_operations) = for_python_chess(record);
    let options = FormatOptions { compat: Compat::None, counters, ..*options };
    Losses { changed_operations, ..format(&record, &options, out) }
}

/// Start of a `noop` operand that keeps counters which the reader could not read.
pub(super) const SALVAGED_COUNTERS: &[u8] = b"FEN counters";

fn has_salvaged_counters(operation: &Operation) -> bool {
    let is_one = |operand: &Operand| matches!(operand, Operand::Str(text) if text.starts_with(SALVAGED_COUNTERS));
    operation.opcode == Opcode::NOOP && operation.operands.iter().any(is_one)
}

/// Decides where the counters are written.
struct Layout {
    /// The counters to write as fields 5 and 6.
    fields: Option<Counters>,
    /// Counters that are fields in the record and are written as operations.
    as_operations: Option<Counters>,
    /// True if `hmvc` is left out of the operations; `without_fmvn` is the same for `fmvn`.
    without_hmvc: bool,
    without_fmvn: bool,
    loses_counters: bool,
}

impl Layout {
    fn new(record: &EpdRecord, options: &FormatOptions) -> Layout {
        let (clock, number) = record.counters();
        let number = number.filter(|&number| number > 0);
        let default = Counters::default();
        let any = clock.is_some() || number.is_some();
        let all = Counters {
            halfmove_clock: clock.unwrap_or(default.halfmove_clock),
            fullmove_number: number.unwrap_or(default.fullmove_number),
        };
        let six_fields = options.format != Format::Epd;
        let mut layout = Layout {
            fields: None,
            as_operations: None,
            without_hmvc: clock.is_some(),
            without_fmvn: number.is_some(),
            loses_counters: false,
        };
        match options.counters {
            CounterForm::Drop => {
                layout.fields = six_fields.then_some(default);
                layout.loses_counters = any;
            }
            _ if six_fields => layout.fields = Some(all),
            CounterForm::Fen => layout.fields = any.then_some(all),
            CounterForm::Keep | CounterForm::Ops => {
                layout.without_hmvc = false;
                layout.without_fmvn = false;
                match options.counters {
                    CounterForm::Keep => layout.fields = record.fen_counters(),
                    _ => layout.as_operations = record.fen_counters(),
                }
            }
        }
        layout
    }

    fn counters(&self) -> CounterText {
        match (self.fields, self.as_operations) {
            (Some(counters), _) => CounterText::Fields(counters),
            (None, Some(Counters { halfmove_clock, fullmove_number })) => CounterText::Operations {
                halfmove_clock: Some(halfmove_clock),
                fullmove_number: Some(fullmove_number),
            },
            (None, None) => CounterText::None,
        }
    }

    /// True for a counter that is not written as an operation, but as a field or not at all.
    fn covers(&self, opcode: &[u8]) -> bool {
        (self.without_hmvc && opcode == b"hmvc") || (self.without_fmvn && opcode == b"fmvn")
    }
}
