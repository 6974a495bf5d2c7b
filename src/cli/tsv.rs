//! Fields with tabs between them.

use std::io::{self, Write};

/// Writes a line of fields.
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
