//! Rows as bytes. A thread that reads records writes the values of a row one after the other. Another thread
//! makes batches, and puts the values into columns. So a record need not leave the thread that read it.
//!
//! A row is a list of values, each with the number of its column, and an end. Columns without a value
//! are left out.

use arrow_array::builder::StringBuilder;

use super::cells::{Cells, Kind};

/// The number after the last value of a row.
const END: u16 = u16::MAX;

/// Writes the value of a column. Values of a type that the column cannot hold are left out.
#[derive(Debug)]
pub struct CellWriter<'o> {
    column: u16,
    kind: Kind,
    out: &'o mut Vec<u8>,
}

impl<'o> CellWriter<'o> {
    pub(super) const fn new(column: usize, kind: Kind, out: &'o mut Vec<u8>) -> CellWriter<'o> {
        CellWriter { column: column as u16, kind, out }
    }

    /// The type of the column.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    fn begin(&mut self) {
        self.out.extend_from_slice(&self.column.to_le_bytes());
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) {
        self.text_by(|out| out.extend_from_slice(text.as_bytes()));
    }

    /// Writes the text that a function appends, which must be UTF-8.
    pub(super) fn text_by(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if matches!(self.kind, Kind::Text | Kind::Name) {
            self.begin();
            put_sized(self.out, write);
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if self.kind == Kind::Bytes {
            self.begin();
            put_sized(self.out, |out| out.extend_from_slice(bytes));
        }
    }

    /// Writes true or false.
    pub fn flag(&mut self, flag: bool) {
        if self.kind == Kind::Flag {
            self.begin();
            self.out.push(flag.into());
        }
    }

    /// Writes a whole number if the column can hold it.
    pub fn whole(&mut self, number: i128) {
        if let Some(number) = self.kind.whole(number) {
            self.begin();
            self.out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Writes a number with a fraction.
    pub fn fraction(&mut self, number: f64) {
        if self.kind == Kind::F64 {
            self.begin();
            self.out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Writes a list of texts.
    pub fn texts(&mut self, texts: &[String]) {
        self.texts_by(texts, |text, out| out.extend_from_slice(text.as_bytes()));
    }

    /// Writes a list of texts. `write` appends the text of an item, which must be UTF-8.
    pub(super) fn texts_by<T>(&mut self, items: &[T], write: impl Fn(&T, &mut Vec<u8>)) {
        if self.kind == Kind::Texts {
            self.begin();
            put_len(self.out, items.len());
            items.iter().for_each(|item| put_sized(self.out, |out| write(item, out)));
        }
    }

    /// Writes a list of unsigned numbers.
    pub(super) fn numbers(&mut self, numbers: &[u16]) {
        if self.kind == Kind::U16s {
            self.begin();
            put_len(self.out, numbers.len());
            numbers.iter().for_each(|number| self.out.extend_from_slice(&number.to_le_bytes()));
        }
    }

    /// Writes a list of numbers, some of which are missing, unless all are.
    pub(super) fn optional(&mut self, numbers: impl ExactSizeIterator<Item = Option<i32>>) {
        if self.kind != Kind::I32s {
            return;
        }
        let start = self.out.len();
        self.begin();
        put_len(self.out, numbers.len());
        let mut has_number = false;
        for number in numbers {
            has_number |= number.is_some();
            self.out.push(number.is_some().into());
            self.out.extend_from_slice(&number.unwrap_or_default().to_le_bytes());
        }
        if !has_number {
            self.out.truncate(start);
        }
    }

    /// Writes texts with names, unless there are none.
    pub(super) fn pairs<K: AsRef<str>, V: AsRef<str>>(&mut self, entries: &[(K, V)]) {
        if self.kind == Kind::Pairs && !entries.is_empty() {
            self.begin();
            put_len(self.out, entries.len());
            for (key, value) in entries {
                for text in [key.as_ref(), value.as_ref()] {
                    put_sized(self.out, |out| out.extend_from_slice(text.as_bytes()));
                }
            }
        }
    }
}

pub(super) fn end_row(out: &mut Vec<u8>) {
    out.extend_from_slice(&END.to_le_bytes());
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&(len as u64).to_le_bytes());
}

/// Writes bytes after their number.
fn put_sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len() + size_of::<u64>();
    put_len(out, 0);
    write(out);
    let len = (out.len() - start) as u64;
    out[start - size_of::<u64>()..start].copy_from_slice(&len.to_le_bytes());
}

/// Takes the number of the next column with a value: `Some(None)` at the end of the row, `None` if the
/// bytes are not a row.
#[expect(clippy::option_option, reason = "the end of a row is not an error")]
pub(super) fn take_column(row: &mut &[u8]) -> Option<Option<usize>> {
    let column = u16::from_le_bytes(take(row)?);
    Some((column != END).then_some(column.into()))
}

fn take<const N: usize>(row: &mut &[u8]) -> Option<[u8; N]> {
    let (value, rest) = row.split_first_chunk()?;
    *row = rest;
    Some(*value)
}

fn take_len(row: &mut &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(take(row)?)).ok()
}

fn take_bytes<'a>(row: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take_len(row)?;
    row.split_off(..len)
}

fn take_text<'a>(row: &mut &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(take_bytes(row)?).ok()
}

impl Cells {
    /// Takes a value of this column from a row, and appends it. `None` if the row has no such value.
    pub(super) fn take(&mut self, row: &mut &[u8]) -> Option<()> {
        match self {
            Cells::Text(builder) => builder.append_value(take_text(row)?),
            Cells::Name(builder) => builder.append_value(take_text(row)?),
            Cells::Bytes(builder) => builder.append_value(take_bytes(row)?),
            Cells::Flag(builder) => builder.append_value(take(row)? != [0]),
            Cells::I16(builder) => builder.append_value(i64::from_le_bytes(take(row)?) as i16),
            Cells::I32(builder) => builder.append_value(i64::from_le_bytes(take(row)?) as i32),
            Cells::I64(builder) => builder.append_value(i64::from_le_bytes(take(row)?)),
            Cells::U16(builder) => builder.append_value(u64::from_le_bytes(take(row)?) as u16),
            Cells::U64(builder) => builder.append_value(u64::from_le_bytes(take(row)?)),
            Cells::F64(builder) => builder.append_value(f64::from_le_bytes(take(row)?)),
            Cells::Texts(builder) => {
                for _ in 0..take_len(row)? {
                    builder.values().append_value(take_text(row)?);
                }
                builder.append(true);
            }
            Cells::U16s(builder) => {
                for _ in 0..take_len(row)? {
                    builder.values().append_value(u16::from_le_bytes(take(row)?));
                }
                builder.append(true);
            }
            Cells::I32s(builder) => {
                for _ in 0..take_len(row)? {
                    let is_there = take(row)? != [0];
                    let number = i32::from_le_bytes(take(row)?);
                    builder.values().append_option(is_there.then_some(number));
                }
                builder.append(true);
            }
            Cells::Date(builder) => builder.append_value(i64::from_le_bytes(take(row)?) as i32),
            Cells::Pairs(builder) => {
                for _ in 0..take_len(row)? {
                    let pair = builder.values();
                    for place in [0, 1] {
                        let texts = pair.field_builder::<StringBuilder>(place)?;
                        texts.append_value(take_text(row)?);
                    }
                    pair.append(true);
                }
                builder.append(true);
            }
        }
        Some(())
    }
}
