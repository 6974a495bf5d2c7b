//! Records from the table of records.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Schema;

use super::cells::Kind;
use super::columns::{BatchColumns, number_at, pairs_at, text_at};
use super::records::{kind_of, may_have_result};
use epdb_chess::codec::packed;
use epdb_chess::codec::polyglot::BookMove;
#[cfg(feature = "parquet")]
use epdb_chess::error::TableRow;
use epdb_chess::error::{Error, Result};
#[cfg(feature = "parquet")]
use epdb_chess::model::GameResult;
use epdb_chess::model::score::Evaluation;
use epdb_chess::model::{EpdRecord, Opcode, Operands, StandardOpcode};
use epdb_chess::text::{Profile, ScoreView, fen};

/// The records of a batch with the columns of the table of records.
///
/// `fen`, or else `board`, gives the position. The columns of opcodes and `operations` give the operations.
/// Other columns replace missing operations: `cp` and `mate` replace `ce`, `depth` replaces `acd`, `knodes`
/// replaces `acn`, and `move` or `move16` replaces `sm`; in a table without `c9`, `result` replaces it. All
/// further columns are ignored. Columns may have any type whose values fit the type of the table.
///
/// `view` is the view of `cp` and `mate`. Without it, the column `score_view` or the metadata name the view.
///
/// # Errors
/// There is neither `fen` nor `board`; a column has another type; a value does not fit its type; the
/// values of a row are not a record; nothing states the view of `cp` and `mate`. The error names the row,
/// from 0, and the column.
pub fn records(batch: &RecordBatch, view: Option<ScoreView>) -> Result<Vec<EpdRecord>> {
    let views = ScoreViews { forced: view, stated: stated_view(batch.schema_ref()) };
    let rows = RecordColumns::new(BatchColumns::new(batch, 0), views)?;
    (0..batch.num_rows()).map(|row| rows.record(row)).collect()
}

#[cfg(feature = "parquet")]
pub(crate) fn is_record_column(name: &str) -> bool {
    const OTHERS: [&str; 16] = [
        "fen",
        "board",
        "operations",
        "cp",
        "mate",
        "score_view",
        "depth",
        "knodes",
        "move",
        "move16",
        "result",
        "ply",
        "game",
        "clock_ms",
        "elapsed_ms",
        "fen_counters",
    ];
    let is_opcode = |opcode: Opcode| opcode.standard().is_some();
    OTHERS.contains(&name) || Opcode::new(name.as_bytes()).is_ok_and(is_opcode)
}

/// The view of the scores of a table.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct ScoreViews {
    /// The view that the user named. It wins.
    pub forced: Option<ScoreView>,
    /// The view that the metadata of the table name.
    pub stated: Option<ScoreView>,
}

/// The view that the metadata of a column of scores name.
pub(crate) fn stated_view(schema: &Schema) -> Option<ScoreView> {
    ["cp", "mate", "evals_cp"].iter().find_map(|name| {
        let field = schema.field_with_name(name).ok()?;
        view_from_text(field.metadata().get("score_view")?)
    })
}

fn view_from_text(text: &str) -> Option<ScoreView> {
    match text {
        "white" => Some(ScoreView::White),
        "mover" => Some(ScoreView::Mover),
        _ => None,
    }
}

/// The view of the scores in each row.
#[derive(Debug)]
pub(crate) struct RowViews {
    views: ScoreViews,
    column: Option<ArrayRef>,
}

impl RowViews {
    pub(crate) fn new(columns: BatchColumns<'_>, views: ScoreViews) -> Result<RowViews> {
        Ok(RowViews { views, column: columns.get("score_view", Kind::Text)? })
    }

    /// The view of the scores in a row that has scores.
    ///
    /// # Errors
    /// Nothing names the view.
    pub(crate) fn at(&self, row: usize) -> Result<ScoreView> {
        let in_row = || view_from_text(text_at(self.column.as_ref(), row)?);
        self.views.forced.or_else(in_row).or(self.views.stated).ok_or_else(|| {
            Error::new(
                "the table does not say from whose view its scores are: give --score-view white or \
                 --score-view mover, or add the column `score_view` with the text `white` or `mover`",
            )
        })
    }
}

#[derive(Debug)]
pub(crate) struct RecordColumns<'b> {
    columns: BatchColumns<'b>,
    fen: Option<ArrayRef>,
    board: Option<ArrayRef>,
    /// Whether the counters of a record are fields of FEN.
    fen_counters: Option<ArrayRef>,
    operations: Vec<(&'static StandardOpcode, ArrayRef)>,
    others: Option<ArrayRef>,
    cp: Option<ArrayRef>,
    mate: Option<ArrayRef>,
    views: RowViews,
    depth: Option<ArrayRef>,
    knodes: Option<ArrayRef>,
    uci: Option<ArrayRef>,
    move16: Option<ArrayRef>,
    result: Option<ArrayRef>,
    /// Whether `result` replaces `c9`.
    result_is_register: bool,
    #[cfg(feature = "parquet")]
    row: RowColumns,
}

/// The columns of [`TableRow`] that are numbers.
#[cfg(feature = "parquet")]
#[derive(Debug)]
struct RowColumns {
    ply: Option<ArrayRef>,
    game: Option<ArrayRef>,
    clock: Option<ArrayRef>,
    elapsed: Option<ArrayRef>,
}

#[cfg(feature = "parquet")]
impl RowColumns {
    /// Tables of others may use the same names for something else, so only numbers count.
    fn new(columns: BatchColumns<'_>) -> Result<RowColumns> {
        let number = |name: &str| {
            let found = columns.batch().column_by_name(name);
            let is_number = found.is_some_and(|array| array.data_type().is_numeric());
            if is_number { columns.get(name, Kind::I64) } else { Ok(None) }
        };
        Ok(RowColumns {
            ply: number("ply")?,
            game: number("game")?,
            clock: number("clock_ms")?,
            elapsed: number("elapsed_ms")?,
        })
    }
}

impl<'b> RecordColumns<'b> {
    /// # Errors
    /// There is neither `fen` nor `board`; a column has another type; a value does not fit its type.
    pub(crate) fn new(columns: BatchColumns<'b>, views: ScoreViews) -> Result<RecordColumns<'b>> {
        let batch = columns.batch();
        let has = |name: &str| batch.column_by_name(name).is_some();
        if !has("fen") && !has("board") {
            return Err(Error::new("the table has neither a column `fen` nor `board`"));
        }
        let without = |opcode: &str, name: &str, kind: Kind| {
            if has(opcode) { Ok(None) } else { columns.get(name, kind) }
        };
        let mut operations = Vec::new();
        for entry in StandardOpcode::ALL {
            let array = columns.get(&entry.opcode.to_string(), kind_of(entry.operands))?;
            operations.extend(array.map(|array| (entry, array)));
        }
        let result = batch.column_by_name("result");
        let has_result = result.is_some_and(is_text);
        Ok(RecordColumns {
            columns,
            fen: columns.get("fen", Kind::Text)?,
            board: columns.get("board", Kind::Bytes)?,
            fen_counters: columns.get("fen_counters", Kind::Flag)?,
            operations,
            others: columns.get("operations", Kind::Pairs)?,
            cp: without("ce", "cp", Kind::I64)?,
            mate: without("ce", "mate", Kind::I64)?,
            views: RowViews::new(columns, views)?,
            depth: columns.get("depth", Kind::I64)?,
            knodes: without("acn", "knodes", Kind::I64)?,
            uci: without("sm", "move", Kind::Text)?,
            move16: without("sm", "move16", Kind::U16)?,
            result: if has_result { columns.get("result", Kind::Text)? } else { None },
            result_is_register: !has("c9"),
            #[cfg(feature = "parquet")]
            row: RowColumns::new(columns)?,
        })
    }

    fn record(&self, row: usize) -> Result<EpdRecord> {
        let mut line = Vec::new();
        self.write_line(row, &mut line)?;
        fen::parse(&line, Profile::Lenient).map_err(|diagnostic| {
            let line = String::from_utf8_lossy(&line).into_owned();
            Error::new(format!("row {row}: `{line}`")).because(diagnostic)
        })
    }

    /// Appends the record of a row as a line of EPD, without an end. [`records`] reads the same line.
    ///
    /// # Errors
    /// A value of the row cannot stand in such a line.
    pub(crate) fn write_line(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let fields = self.position(row)?;
        let others = pairs_at(self.others.as_ref(), row);
        if self.counters_are_operations(row, &others) {
            let four = fields.split(' ').take(4).collect::<Vec<_>>().join(" ");
            out.extend_from_slice(four.as_bytes());
        } else {
            out.extend_from_slice(fields.as_bytes());
        }
        self.write_operations(row, &fields, &others, out)?;
        match self.result_alone(row, &others, &out[start..]) {
            Some(result) => self.put_string(row, "result", "c9", &result, out),
            None => Ok(()),
        }
    }

    /// The result of a row whose operations, which are in `line`, have none. In a table without `operations`
    /// nothing is known about them.
    fn result_alone(&self, row: usize, others: &[(&str, &str)], line: &[u8]) -> Option<String> {
        let result = text_at(self.result.as_ref(), row).filter(|_| self.result_is_register)?;
        let has_column = |(entry, array): &(&StandardOpcode, ArrayRef)| {
            may_have_result(entry.opcode) && array.is_valid(row)
        };
        let has_other =
            |(name, _): &(&str, &str)| Opcode::new(name.as_bytes()).is_ok_and(may_have_result);
        let may_have = self.operations.iter().any(has_column) || others.iter().any(has_other);
        let has_result =
            |it: &EpdRecord| it.operands(Opcode::C9).is_some() || it.game_result().is_some();
        let has_result = self.others.is_some()
            && may_have
            && fen::parse(line, Profile::Lenient).is_ok_and(|record| has_result(&record));
        (!has_result).then(|| result.to_string())
    }

    /// The values of a row that are not in its record.
    #[cfg(feature = "parquet")]
    pub(crate) fn table_row(&self, row: usize) -> TableRow {
        let result = text_at(self.result.as_ref(), row)
            .and_then(|text| GameResult::from_text(text.as_bytes()))
            .filter(|result| *result != GameResult::Unknown);
        let number = |array: &Option<ArrayRef>| number_at(array.as_ref(), row);
        TableRow {
            result: result.map(GameResult::as_str),
            ply: number(&self.row.ply),
            game: number(&self.row.game).and_then(|number| number.try_into().ok()),
            clock_ms: number(&self.row.clock),
            elapsed_ms: number(&self.row.elapsed),
        }
    }

    fn position(&self, row: usize) -> Result<Cow<'_, str>> {
        if let Some(fen) = text_at(self.fen.as_ref(), row) {
            let fen = fen.trim();
            if let Some(fault) = fault_of_fen(fen) {
                return Err(self.columns.invalid(row, "fen", &format!("`{fen}` {fault}")));
            }
            // Operations that follow an incomplete FEN could be read as its missing fields.
            let is_whole = fen.split(' ').filter(|field| !field.is_empty()).count() >= 4;
            if !is_whole && let Ok(read) = fen::parse(fen.as_bytes(), Profile::Lenient) {
                return Ok(read.position().to_string().into());
            }
            return Ok(fen.into());
        }
        let boards = self.board.as_ref().filter(|boards| boards.is_valid(row));
        let Some(boards) = boards else {
            return Err(self.columns.invalid(row, "fen", "the row has no position"));
        };
        let decoded = packed::decode(boards.as_binary_view().value(row));
        let (position, _) = decoded
            .map_err(|error| self.columns.invalid(row, "board", "not a board").because(error))?;
        Ok(position.to_string().into())
    }

    /// Whether operations have the counters, and they are not the fields of FEN.
    fn counters_are_operations(&self, row: usize, others: &[(&str, &str)]) -> bool {
        if self.has_fen_counters(row) {
            return false;
        }
        let mut columns = self.operations.iter();
        columns.any(|(entry, array)| is_counter(entry) && array.is_valid(row))
            || others.iter().any(|(name, _)| ["hmvc", "fmvn"].contains(name))
    }

    fn has_fen_counters(&self, row: usize) -> bool {
        let flags = self.fen_counters.as_ref().filter(|flags| flags.is_valid(row));
        flags.is_some_and(|flags| flags.as_boolean().value(row))
    }

    /// Writes the operations of a row as EPD text, each after a blank. `fields` is the position, and
    /// `others` are the operations without a column. They win over the columns that replace them.
    fn write_operations(
        &self,
        row: usize,
        fields: &str,
        others: &[(&str, &str)],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let has_fen_counters = self.has_fen_counters(row);
        for (entry, array) in &self.operations {
            if array.is_valid(row) && !(has_fen_counters && is_counter(entry)) {
                self.write_operation(entry, array, row, out)?;
            }
        }
        for (opcode, operands) in others {
            self.put_other(row, opcode, operands, out)?;
        }
        let has_other = |opcode: &str| others.iter().any(|(name, _)| *name == opcode);
        if !has_other("ce")
            && let Some(ce) = self.score(row, fields)?
        {
            put(out, "ce", &ce.to_string());
        }
        if !has_other("acd")
            && let Some(depth) = number_at(self.depth.as_ref(), row)
        {
            put(out, "acd", &depth.to_string());
        }
        if !has_other("acn")
            && let Some(knodes) = number_at(self.knodes.as_ref(), row)
        {
            put(out, "acn", &(i128::from(knodes) * 1000).to_string());
        }
        // In a table of ours, the move of a record without `sm` is that of `pm` or `pv`.
        let has_move = has_other("sm")
            || self.others.is_some() && (self.has_line(row) || has_other("pm") || has_other("pv"));
        if !has_move && let Some(mv) = self.move_at(row) {
            self.put_moves(row, "move", "sm", &mv, out)?;
        }
        Ok(())
    }

    /// Whether the row has a value for `pm` or `pv`.
    fn has_line(&self, row: usize) -> bool {
        self.operations.iter().any(|(entry, array)| {
            [Opcode::PM, Opcode::PV].contains(&entry.opcode) && array.is_valid(row)
        })
    }

    fn move_at(&self, row: usize) -> Option<Cow<'_, str>> {
        if let Some(uci) = text_at(self.uci.as_ref(), row) {
            return Some(uci.into());
        }
        let bits = self.move16.as_ref().filter(|array| array.is_valid(row))?;
        let bits = bits.as_primitive::<arrow_array::types::UInt16Type>().value(row);
        Some(BookMove::from_bits(bits).coordinates()?.to_string().into())
    }

    /// `cp` or `mate` as `ce`.
    fn score(&self, row: usize, fields: &str) -> Result<Option<i32>> {
        let (name, evaluation) = if let Some(cp) = number_at(self.cp.as_ref(), row) {
            ("cp", Evaluation::Centipawns(cp))
        } else if let Some(moves) = number_at(self.mate.as_ref(), row) {
            ("mate", Evaluation::Mate(moves))
        } else {
            return Ok(None);
        };
        let is_blacks = fields.split(' ').nth(1) == Some("b");
        let view = self.views.at(row).map_err(|error| {
            self.columns.invalid(row, name, "a score without a view").because(error)
        })?;
        let is_opponents = view == ScoreView::White && is_blacks;
        let ce = evaluation.ce(is_opponents);
        ce.map(Some)
            .map_err(|error| self.columns.invalid(row, name, "not a score of EPD").because(error))
    }

    /// Writes an operation of a standard opcode as EPD text.
    fn write_operation(
        &self,
        entry: &StandardOpcode,
        array: &ArrayRef,
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let name = entry.opcode.to_string();
        match entry.operands {
            Operands::None => {
                if array.as_boolean().value(row) {
                    put(out, &name, "");
                }
            }
            Operands::Integer(..) => {
                let number = number_at(Some(array), row).unwrap_or_default();
                put(out, &name, &number.to_string());
            }
            Operands::MoveSet | Operands::MoveLine => {
                let moves = array.as_list::<i32>().value(row);
                let moves: Vec<&str> = moves.as_string_view().iter().flatten().collect();
                self.put_moves(row, &name, &name, &moves.join(" "), out)?;
            }
            Operands::Move => {
                let text = text_at(Some(array), row).unwrap_or_default();
                self.put_moves(row, &name, &name, text, out)?;
            }
            Operands::Str { .. } | Operands::KeptGames | Operands::Tally => {
                let text = text_at(Some(array), row).unwrap_or_default();
                self.put_string(row, &name, &name, text, out)?;
            }
            _ => {
                let text = text_at(Some(array), row).unwrap_or_default();
                self.put_operands(row, &name, &name, text, out)?;
            }
        }
        Ok(())
    }

    /// Writes an entry of `operations`.
    fn put_other(&self, row: usize, name: &str, operands: &str, out: &mut Vec<u8>) -> Result<()> {
        if Opcode::new(name.as_bytes()).is_err() {
            let reason = format!("`{name}` is not an opcode");
            return Err(self.columns.invalid(row, "operations", &reason));
        }
        self.put_operands(row, "operations", name, operands, out)
    }

    /// Writes an operation with one string.
    fn put_string(
        &self,
        row: usize,
        column: &str,
        opcode: &str,
        text: &str,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(fault) = fault_of_string(text) {
            return Err(self.columns.invalid(row, column, &format!("{text:?} {fault}")));
        }
        put(out, opcode, &format!("\"{text}\""));
        Ok(())
    }

    /// Writes an operation with moves. A text without moves is a missing value.
    fn put_moves(
        &self,
        row: usize,
        column: &str,
        opcode: &str,
        text: &str,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if text.contains([';', '"']) || has_control(text) {
            return Err(self.columns.invalid(row, column, &format!("{text:?} is not moves")));
        }
        if !text.trim().is_empty() {
            put(out, opcode, text);
        }
        Ok(())
    }

    /// Writes an operation whose operands are written as in EPD.
    fn put_operands(
        &self,
        row: usize,
        column: &str,
        opcode: &str,
        text: &str,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(fault) = fault_of_operands(text) {
            return Err(self.columns.invalid(row, column, &format!("{text:?} {fault}")));
        }
        put(out, opcode, text);
        Ok(())
    }
}

fn is_counter(entry: &StandardOpcode) -> bool {
    entry.opcode == Opcode::HMVC || entry.opcode == Opcode::FMVN
}

/// Whether a column has text, also as a dictionary.
fn is_text(array: &ArrayRef) -> bool {
    let values = match array.data_type() {
        arrow_schema::DataType::Dictionary(_, values) => values,
        plain => plain,
    };
    values.is_string() || values.is_null()
}

// The text of a row becomes part of a line of EPD. These functions refuse every text that would not stay
// inside its operation there. So no text can become a further operation or a further record.

/// The reason why a text is not the fields of one position.
pub(crate) fn fault_of_fen(fen: &str) -> Option<&'static str> {
    if fen.contains(|c: char| c.is_control() || matches!(c, ';' | '"')) {
        return Some("is not a FEN: it has a control character, a semicolon or a quote");
    }
    let fields: Vec<&str> = fen.split(' ').filter(|field| !field.is_empty()).collect();
    let begins = fields.first().is_some_and(|placement| {
        placement.contains('/') && placement.starts_with(|c: char| c.is_ascii_alphanumeric())
    });
    if !begins || fields.len() > 6 {
        return Some("is not a FEN: expected up to six fields, and the placement first");
    }
    let may_be_operation = |(place, field): (usize, &&str)| {
        let is_field = match place {
            0 => true,
            1 => ["w", "b", "W", "B", "white", "black"].contains(field),
            2 => field.bytes().all(|byte| b"KQkqABCDEFGHabcdefgh-".contains(&byte)),
            3 => matches!(field.as_bytes(), [b'a'..=b'h', b'1'..=b'8']),
            _ => false,
        };
        !is_field && Opcode::new(field.as_bytes()).is_ok()
    };
    let has_operation = fields.iter().enumerate().any(may_be_operation);
    has_operation.then_some("is not a FEN: a field may be an operation")
}

/// The reason why a text cannot be in a string of EPD.
fn fault_of_string(text: &str) -> Option<&'static str> {
    if text.contains('"') {
        return Some("has a quote, which a string of EPD cannot have");
    }
    has_control(text).then_some("has a control character, which a string of EPD cannot have")
}

/// The reason why a text cannot be the operands of one operation.
fn fault_of_operands(text: &str) -> Option<&'static str> {
    if has_control(text) {
        return Some("has a control character, which an operand of EPD cannot have");
    }
    let mut is_in_string = false;
    for byte in text.bytes() {
        match byte {
            b'"' => is_in_string = !is_in_string,
            b';' if !is_in_string => return Some("has a semicolon, which ends an operation"),
            _ => {}
        }
    }
    is_in_string.then_some("has a string without its second quote")
}

fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t')
}

/// Writes a blank and an operation.
fn put(out: &mut Vec<u8>, name: &str, operands: &str) {
    let blank = if operands.is_empty() { "" } else { " " };
    out.extend_from_slice(format!(" {name}{blank}{operands};").as_bytes());
}
