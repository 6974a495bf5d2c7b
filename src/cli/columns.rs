//! Columns below each other, for a person.

use std::io::{self, Write};

/// Writes the names and the rows of those columns that have something in them; `is_left` says which
/// stand at the left of their column.
pub(crate) fn write(
    names: &[&str],
    rows: &[Vec<String>],
    is_left: impl Fn(usize) -> bool,
    out: &mut impl Write,
) -> io::Result<()> {
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
            line += &match is_left(column) {
                true => format!("{:<width$}  ", row[column]),
                false => format!("{:>width$}  ", row[column]),
            };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
