//! Records from the table of records.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int16Type, Int32Type, Int64Type, UInt16Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::cells::Kind;
use super::records::kind_of;
use crate::codec::packed;
use crate::codec::polyglot::BookMove;
use crate::error::{Error, Result};
use crate::model::score::Evaluation;
use crate::model::{Color, EpdRecord, Opcode, Operands, StandardOpcode};
use crate::text::{Profile, fen};

/// The records of a batch with the columns of the table of records.
///
/// `fen`, or else `board`, gives the position. The columns of opcodes and `operations` give the operations.
/// Other columns replace missing ones: `cp` and `mate` for `ce`, `knodes` for `acn`, `move` or `move16` for
/// `sm`, `result` for `c9`; and if there is no column `operations`, `depth` for `acd`. All further columns
/// are ignored. Columns may have any type that Arrow can convert to that of the table.
///
/// # Errors
/// There is neither `fen` nor `board`; a column has another type; the values of a row are not a record. The
/// error names the row, from 0, and the column.
pub fn records(batch: &RecordBatch) -> Result<Vec<EpdRecord>> {
    let table = Table::new(batch)?;
    (0..batch.num_rows())
        .map(|row| {
            table.record(row).map_err(|error| Error::new(format!("row {row}")).because(error))
        })
        .collect()
}

/// Writes each row of a batch as a line of EPD. [`records`] reads the same lines.
///
/// # Errors
/// The errors of [`records`], except those for a line that is not valid.
#[cfg(feature = "parquet")]
pub(crate) fn write_lines(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let table = Table::new(batch)?;
    for row in 0..batch.num_rows() {
        out.extend_from_slice(&table.line(row)?);
        out.push(b'\n');
    }
    Ok(())
}

/// The columns of a batch that are known, in the types of the table.
struct Table {
    fen: Option<ArrayRef>,
    board: Option<ArrayRef>,
    operations: Vec<(&'static StandardOpcode, ArrayRef)>,
    others: Option<ArrayRef>,
    cp: Option<ArrayRef>,
    mate: Option<ArrayRef>,
    is_white_view: bool,
    depth: Option<ArrayRef>,
    knodes: Option<ArrayRef>,
    uci: Option<ArrayRef>,
    move16: Option<ArrayRef>,
    result: Option<ArrayRef>,
}

impl Table {
    fn new(batch: &RecordBatch) -> Result<Table> {
        let column = |name: &str, kind: Kind| column(batch, name, kind);
        let without = |opcode: &str, name: &str, kind: Kind| match batch.column_by_name(opcode) {
            Some(_) => Ok(None),
            None => column(name, kind),
        };
        let mut operations = Vec::new();
        for entry in StandardOpcode::ALL {
            let name = entry.opcode.to_string();
            operations.extend(column(&name, kind_of(entry.operands))?.map(|array| (entry, array)));
        }
        let view = |name: &str| {
            let field = batch.schema_ref().field_with_name(name).ok()?;
            Some(field.metadata().get("score_view")? == "white")
        };
        let table = Table {
            fen: column("fen", Kind::Text)?,
            board: column("board", Kind::Bytes)?,
            operations,
            others: column("operations", Kind::Map)?,
            cp: without("ce", "cp", Kind::I32)?,
            mate: without("ce", "mate", Kind::I16)?,
            is_white_view: view("cp").or(view("mate")).unwrap_or(false),
            depth: without("operations", "depth", Kind::I32)?,
            knodes: without("acn", "knodes", Kind::I64)?,
            uci: without("sm", "move", Kind::Text)?,
            move16: without("sm", "move16", Kind::U16)?,
            result: without("c9", "result", Kind::Text)?,
        };
        match (&table.fen, &table.board) {
            (None, None) => Err(Error::new("the table has neither a column `fen` nor `board`")),
            _ => Ok(table),
        }
    }

    fn record(&self, row: usize) -> Result<EpdRecord> {
        let line = self.line(row)?;
        fen::parse(&line, Profile::Lenient).map_err(|diagnostic| {
            let line = String::from_utf8_lossy(&line).into_owned();
            Error::new(format!("`{line}`")).because(diagnostic)
        })
    }

    /// The record of a row as a line of EPD.
    fn line(&self, row: usize) -> Result<Vec<u8>> {
        let mut line = self.position(row)?;
        if self.has_counters(row) {
            line = line.split(|byte| *byte == b' ').take(4).collect::<Vec<_>>().join(&b' ');
        }
        line.extend_from_slice(&self.operations(row)?);
        Ok(line)
    }

    fn position(&self, row: usize) -> Result<Vec<u8>> {
        if let Some(fen) = text_at(self.fen.as_ref(), row) {
            return Ok(fen.trim().as_bytes().to_vec());
        }
        let boards = self.board.as_ref().filter(|boards| boards.is_valid(row));
        let Some(boards) = boards else { return Err(Error::new("it has no position")) };
        let (position, _) = packed::decode(boards.as_binary::<i32>().value(row))?;
        Ok(position.to_string().into_bytes())
    }

    /// Whether a counter is an operation.
    fn has_counters(&self, row: usize) -> bool {
        let is_counter = |opcode| opcode == Opcode::HMVC || opcode == Opcode::FMVN;
        let mut counters = self.operations.iter().filter(|(entry, _)| is_counter(entry.opcode));
        counters.any(|(_, array)| array.is_valid(row))
    }

    /// The operations of a row as EPD text, each after a blank.
    fn operations(&self, row: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for (entry, array) in &self.operations {
            if array.is_valid(row) {
                write_operation(entry, array, row, &mut out);
            }
        }
        if let Some(map) = self.others.as_ref().filter(|map| map.is_valid(row)) {
            each_entry(map, row, |opcode, operands| put(&mut out, opcode, operands));
        }
        self.write_score(row, &mut out)?;
        if let Some(depth) = number_at::<Int32Type>(self.depth.as_ref(), row) {
            put(&mut out, "acd", &depth.to_string());
        }
        if let Some(knodes) = number_at::<Int64Type>(self.knodes.as_ref(), row) {
            put(&mut out, "acn", &(i128::from(knodes) * 1000).to_string());
        }
        if let Some(uci) = self.uci_at(row) {
            put(&mut out, "sm", &uci);
        }
        if let Some(result) = text_at(self.result.as_ref(), row) {
            put(&mut out, "c9", &format!("\"{result}\""));
        }
        Ok(out)
    }

    fn uci_at(&self, row: usize) -> Option<String> {
        if let Some(uci) = text_at(self.uci.as_ref(), row) {
            return Some(uci.to_string());
        }
        let bits = number_at::<UInt16Type>(self.move16.as_ref(), row)?;
        Some(BookMove::from_bits(bits).coordinates()?.to_string())
    }

    /// Writes `cp` or `mate` as `ce`.
    fn write_score(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let cp = number_at::<Int32Type>(self.cp.as_ref(), row)
            .map(|score| Evaluation::Centipawns(score.into()));
        let mate = number_at::<Int16Type>(self.mate.as_ref(), row)
            .map(|moves| Evaluation::Mate(moves.into()));
        let Some(evaluation) = cp.or(mate) else { return Ok(()) };
        let is_turned = self.is_white_view && self.turn(row)? == Color::Black;
        let ce =
            evaluation.ce(is_turned).map_err(|error| Error::new("the score").because(error))?;
        put(out, "ce", &ce.to_string());
        Ok(())
    }

    fn turn(&self, row: usize) -> Result<Color> {
        let fields = self.position(row)?;
        Ok(match fields.split(|byte| *byte == b' ').nth(1) {
            Some(b"b") => Color::Black,
            _ => Color::White,
        })
    }
}

/// Writes an operation of a standard opcode as EPD text.
fn write_operation(entry: &StandardOpcode, array: &ArrayRef, row: usize, out: &mut Vec<u8>) {
    let name = entry.opcode.to_string();
    match entry.operands {
        Operands::None => {
            if array.as_boolean().value(row) {
                put(out, &name, "");
            }
        }
        Operands::Integer(..) => {
            put(out, &name, &array.as_primitive::<Int64Type>().value(row).to_string());
        }
        Operands::MoveSet | Operands::MoveLine => {
            let moves = array.as_list::<i32>().value(row);
            let moves: Vec<&str> = moves.as_string::<i32>().iter().flatten().collect();
            put(out, &name, &moves.join(" "));
        }
        Operands::Str { .. } | Operands::KeptGames | Operands::Tally => {
            let text: &StringArray = array.as_string();
            put(out, &name, &format!("\"{}\"", text.value(row)));
        }
        _ => put(out, &name, array.as_string::<i32>().value(row)),
    }
}

/// Writes a blank and an operation.
fn put(out: &mut Vec<u8>, name: &str, operands: &str) {
    let blank = if operands.is_empty() { "" } else { " " };
    out.extend_from_slice(format!(" {name}{blank}{operands};").as_bytes());
}

/// A column in the type of a table, if the batch has it.
///
/// # Errors
/// Arrow cannot convert the column to that type.
pub(crate) fn column(batch: &RecordBatch, name: &str, kind: Kind) -> Result<Option<ArrayRef>> {
    let array = batch.column_by_name(name);
    array.map(|array| cast_to(array, name, &kind.data_type())).transpose()
}

/// A column in another type.
///
/// # Errors
/// Arrow cannot convert it.
pub(crate) fn cast_to(array: &ArrayRef, name: &str, wanted: &DataType) -> Result<ArrayRef> {
    cast(array, wanted).map_err(|error| {
        Error::new(format!("the column `{name}` is not of type {wanted}")).because(error)
    })
}

/// Calls `visit` with each key and value of a map. A missing value is empty.
pub(crate) fn each_entry(map: &ArrayRef, row: usize, mut visit: impl FnMut(&str, &str)) {
    let entries = map.as_map().value(row);
    let (keys, values) = (entries.column(0), entries.column(1));
    for entry in 0..keys.len() {
        let text = |array| text_at(Some(array), entry).unwrap_or_default();
        visit(text(keys), text(values));
    }
}

/// The text of a cell, if it has one.
pub(crate) fn text_at(array: Option<&ArrayRef>, row: usize) -> Option<&str> {
    let array = array.filter(|array| array.is_valid(row))?;
    Some(array.as_string::<i32>().value(row))
}

/// The number in a cell, if it has one.
pub(crate) fn number_at<T: ArrowPrimitiveType>(
    array: Option<&ArrayRef>,
    row: usize,
) -> Option<T::Native> {
    let array = array.filter(|array| array.is_valid(row))?;
    Some(array.as_primitive::<T>().value(row))
}
