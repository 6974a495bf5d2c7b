//! Tables of evaluated positions, with the columns `FEN` and `Evaluation`. They were made from
//! games of lichess, and are shared on Kaggle.

use super::csv::{Columns, Field, TableKind};
use super::{Part, put, shown};
use crate::model::score::Evaluation;
use crate::model::{Color, Opcode, Operand};
use crate::text::epd::Line;
use crate::text::{Diagnostic, ParseOptions, ScoreView, codes, fen};

const FEN: usize = 0;
const EVALUATION: usize = 1;
const NAMES: [&str; 2] = ["FEN", "Evaluation"];

/// Tables of evaluations.
pub(in crate::source) static TABLE: TableKind = TableKind {
    names: &NAMES,
    required: NAMES.len(),
    content: "tables of evaluations",
    is_header: |fields| NAMES.iter().all(|name| fields.iter().any(|field| field.is_named(name))),
};

/// Parses a line; the header is a comment. [`ParseOptions::score_view`] must be set.
///
/// # Errors
/// The line lacks a column, the position is invalid, or `ce` cannot express the evaluation.
pub(in crate::source) fn parse_line(
    line: &[u8],
    columns: &Columns,
    options: &ParseOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let Some(whole) = Part::from_line(line) else { return Ok(Line::Blank) };
    let Some(fields) = columns.split(&whole, warnings)? else { return Ok(Line::Comment) };
    let position = columns.required(&whole, &fields, FEN)?.part();
    let mut record = position.read_position(fen::parse_line, options.profile, warnings)?;
    let is_whites = options.score_view == Some(ScoreView::White);
    let is_opponents = is_whites && record.position().turn() == Color::Black;
    let ce = ce_of(columns.required(&whole, &fields, EVALUATION)?, is_opponents)?;
    put(&mut record, Opcode::CE, vec![Operand::Integer(ce.into())]);
    Ok(Line::Record(record))
}

/// Reads centipawns (`+56`) or moves to a mate (`#-3`). The files on Kaggle have byte order marks
/// within them.
fn ce_of(field: &Field<'_>, is_opponents: bool) -> Result<i32, Diagnostic> {
    let text = field.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&field.text).trim_ascii();
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<i64>().ok();
    let evaluation = match text.strip_prefix(b"#") {
        Some(moves) => number(moves).map(Evaluation::Mate),
        None => number(text).map(Evaluation::Centipawns),
    };
    let refused = |code, expected: &str| {
        let message = format!("Evaluation {}: expected {expected}", shown(&field.text));
        field.part().error(code, message)
    };
    let evaluation = evaluation.ok_or_else(|| {
        refused(codes::E_LINE_CSV, "centipawns such as +56, or a mate such as #-3")
    })?;
    evaluation.ce(is_opponents).map_err(|_| {
        refused(codes::E_EPD_RANGE, "at most 32000 centipawns, or 383 moves to a mate")
    })
}
