//! Fields with tabs between them.

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
