//! Tables for people, with aligned columns, and for programs, with tabs.

use std::io::{self, Write};

/// Writes the names and rows of the columns that are not empty; `is_left` says which columns are
/// left-aligned. Without rows nothing is written.
pub(crate) fn write_columns(
    names: &[&str],
    rows: &[Vec<String>],
    is_left: impl Fn(usize) -> bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let has_text = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let columns: Vec<usize> = (0..names.len()).filter(has_text).collect();
    let width = |&column: &usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(names[column].len())
    };
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    for row in std::iter::once(&names).chain(rows) {
        let mut line = String::new();
        for (&column, &width) in columns.iter().zip(&widths) {
            line += &if is_left(column) {
                format!("{:<width$}  ", row[column])
            } else {
                format!("{:>width$}  ", row[column])
            };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

pub(crate) fn write_row(fields: &[String], out: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            line.push(b'\t');
        }
        write_field(field.as_bytes(), &mut line);
    }
    line.push(b'\n');
    out.write_all(&line)
}

/// Appends a field; tabs, line ends and backslashes in it are escaped.
pub(crate) fn write_field(text: &[u8], line: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'\t' => line.extend_from_slice(b"\\t"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\\' => line.extend_from_slice(b"\\\\"),
            byte => line.push(byte),
        }
    }
}
