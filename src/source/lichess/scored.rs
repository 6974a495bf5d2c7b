//! Tables of positions: with the columns `FEN` and `Evaluation`, as on Kaggle, or with the columns that
//! lichess publishes on Hugging Face, or with columns that have the names of opcodes, as of `epdb table`.

use super::csv::{Columns, Field, TableKind};
use super::{Part, put, shown};
use epdb_chess::model::score::{Evaluation, Score};
use epdb_chess::model::{Color, Opcode, Operand};
use epdb_chess::text::epd::Line;
use epdb_chess::text::{Diagnostic, ParseOptions, ScoreView, codes, fen};

const FEN: usize = 0;
const EVALUATION: usize = 1;
const MATE: usize = 2;
const LINE: usize = 3;
const DEPTH: usize = 4;
const KNODES: usize = 5;
const CE: usize = 6;
const NAMES: [&str; 7] = ["FEN", "Evaluation", "mate", "line", "depth", "knodes", "ce"];
const ALIASES: [(&str, usize); 4] =
    [("eval", EVALUATION), ("score", EVALUATION), ("cp", EVALUATION), ("epd", FEN)];

pub(crate) static TABLE: TableKind = TableKind {
    names: &NAMES,
    aliases: &ALIASES,
    required: &[FEN],
    in_each_line: NAMES.len(),
    without_header: EVALUATION + 1,
    takes_opcodes: true,
    content: "tables of positions",
    is_header: |fields| fields.iter().any(|it| it.is_named(NAMES[FEN]) || it.is_named("epd")),
};

/// True if a header names a column of scores.
pub(super) fn has_score(fields: &[Field<'_>]) -> bool {
    let aliases = ALIASES.iter().filter(|(_, column)| *column == EVALUATION).map(|(name, _)| *name);
    let mut names = aliases.chain([NAMES[EVALUATION], NAMES[MATE], NAMES[CE]]);
    names.any(|name| fields.iter().any(|field| field.is_named(name)))
}

/// The view of the scores of a table; `None` if the table does not say it. Tables of lichess have
/// the line of each score, and scores from the view of White.
fn view_of(columns: &Columns) -> Option<ScoreView> {
    columns.has(LINE).then_some(ScoreView::White)
}

/// True if a table has scores and does not say from whose view they are. `ce` is that of the side to move.
pub(crate) fn needs_view(start: &[u8]) -> bool {
    let columns = TABLE.columns(start);
    let has_score = columns.has(EVALUATION) || columns.has(MATE);
    has_score && !columns.has(CE) && view_of(&columns).is_none()
}

/// Parses a line; the header is a comment. If the table does not say from whose view its scores are,
/// [`ParseOptions::score_view`] must be set.
///
/// # Errors
/// The line lacks a column, the position is invalid, or `ce` cannot express the evaluation.
pub(crate) fn parse_line(
    line: &[u8],
    columns: &Columns,
    options: &ParseOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let Some(whole) = Part::from_line(line) else { return Ok(Line::Blank) };
    let Some(fields) = columns.split(&whole, warnings)? else { return Ok(Line::Comment) };
    let get = |column| columns.get(&fields, column).filter(|field| !field.is_missing());
    let position = columns.required(&whole, &fields, FEN)?.part();
    let mut record = position.read_position(fen::parse_line, options.profile, warnings)?;
    let ce = if columns.has(CE) {
        get(CE).map(own_ce).transpose()?
    } else {
        let is_whites = options.score_view.or(view_of(columns)) == Some(ScoreView::White);
        let is_opponents = is_whites && record.position().turn() == Color::Black;
        ce_of_score(columns, &whole, &fields, is_opponents)?
    };
    if let Some(ce) = ce {
        put(&mut record, Opcode::CE, vec![Operand::Integer(ce.into())]);
    }
    let numbers = [
        (DEPTH, Opcode::ACD, 1, i128::from(u32::MAX)),
        (KNODES, Opcode::ACN, 1000, i128::from(u64::MAX)),
    ];
    for (column, opcode, factor, maximum) in numbers {
        let Some(field) = get(column) else { continue };
        let number = i128::from(integer(field, NAMES[column])?) * factor;
        if !(0..=maximum).contains(&number) {
            let message = format!("{} {} is out of range", NAMES[column], shown(&field.text));
            return Err(field.part().error(codes::E_EPD_RANGE, message));
        }
        put(&mut record, opcode, vec![Operand::Integer(number)]);
    }
    if let Some(field) = get(LINE) {
        let moves = field.part().read_moves(record.position(), warnings);
        put(&mut record, Opcode::PV, moves);
    }
    for (opcode, field) in columns.operands(&fields) {
        if let Some(operation) = field.part().read_operation(&record, opcode, options, warnings)? {
            record.set(operation);
        }
    }
    Ok(Line::Record(record))
}

/// The value of `ce` in a field.
fn own_ce(field: &Field<'_>) -> Result<i32, Diagnostic> {
    let ce = integer(field, NAMES[CE])?;
    match Score::from_ce(ce.into()) {
        Ok(_) => Ok(ce as i32),
        Err(error) => {
            let message = format!("ce {}: {error}", shown(&field.text));
            Err(field.part().error(codes::E_EPD_RANGE, message))
        }
    }
}

/// The score or the mate of a line as `ce`; `None` if the table has neither.
fn ce_of_score(
    columns: &Columns,
    whole: &Part<'_>,
    fields: &[Field<'_>],
    is_opponents: bool,
) -> Result<Option<i32>, Diagnostic> {
    let get = |column| columns.get(fields, column).filter(|field| !field.is_missing());
    let (field, evaluation) = match (get(EVALUATION), get(MATE)) {
        (Some(field), None) => (field, evaluation(field)?),
        (None, Some(field)) => (field, Evaluation::Mate(integer(field, NAMES[MATE])?)),
        (Some(_), Some(field)) => {
            let message = "expected one of a score and a mate, found both";
            return Err(field.part().error(codes::E_LINE_CSV, message));
        }
        (None, None) if columns.has(EVALUATION) || columns.has(MATE) => {
            let empty = columns.get(fields, EVALUATION).or(columns.get(fields, MATE));
            return Err(empty.map_or(*whole, Field::part).error(codes::E_LINE_CSV, NO_SCORE));
        }
        (None, None) => return Ok(None),
    };
    evaluation.ce(is_opponents).map(Some).map_err(|_| {
        let message = format!("Evaluation {}: expected {RANGE}", shown(&field.text));
        field.part().error(codes::E_EPD_RANGE, message)
    })
}

const NO_SCORE: &str = "no score: expected centipawns such as +56, or a mate such as #-3";
const RANGE: &str = "at most 32000 centipawns, or 383 moves to a mate";

/// Reads centipawns (`+56`) or moves to a mate (`#-3`). The files on Kaggle have byte order marks
/// within them.
fn evaluation(field: &Field<'_>) -> Result<Evaluation, Diagnostic> {
    let text = field.number();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii();
    let evaluation = match text.strip_prefix(b"#") {
        Some(moves) => parsed(moves).map(Evaluation::Mate),
        None => parsed(text).map(Evaluation::Centipawns),
    };
    evaluation.ok_or_else(|| {
        let message = format!(
            "Evaluation {}: expected centipawns such as +56, or a mate such as #-3",
            shown(&field.text)
        );
        field.part().error(codes::E_LINE_CSV, message)
    })
}

fn integer(field: &Field<'_>, name: &str) -> Result<i64, Diagnostic> {
    parsed(field.number()).ok_or_else(|| {
        let message = format!("{name} {}: expected an integer", shown(&field.text));
        field.part().error(codes::E_LINE_CSV, message)
    })
}

fn parsed(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
