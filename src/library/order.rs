//! Sort orders of records by their fields, and the natural order of texts.

use std::cmp::Ordering;
use std::path::PathBuf;

use super::field::{BuiltinField, Field};
use super::ordered::{Ordered, changed, push_record};
use super::value::{EvalContext, Number, Type, Value};
use epdb_base::spill::Sorter;
use epdb_chess::codec::packed;
use epdb_chess::codec::record::{self, PlainRecord};
use epdb_chess::error::Result;

/// Compares texts so that `WAC.2` is before `WAC.10`: digits are compared as numbers, without
/// leading zeros. Otherwise equal texts are ordered by their bytes.
///
/// ```
/// use epdb_library::order::natural_order;
/// assert!(natural_order(b"WAC.2", b"WAC.10").is_lt());
/// assert!(natural_order(b"WAC.002", b"WAC.2").is_lt());
/// ```
pub fn natural_order(a: &[u8], b: &[u8]) -> Ordering {
    natural_key(a).cmp(&natural_key(b))
}

/// Bytes whose order is the natural order of texts.
fn natural_key(text: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(2 * text.len() + 8);
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            push_byte(first, &mut key);
            rest = &rest[1..];
            continue;
        }
        let (number, after) = rest.split_at(digits);
        let zeros = number.iter().take_while(|&&digit| digit == b'0').count();
        let number = &number[zeros.min(digits - 1)..];
        key.push(b'0');
        key.extend_from_slice(&(number.len() as u32).to_be_bytes());
        key.extend_from_slice(number);
        rest = after;
    }
    key.extend_from_slice(&[0, 0]);
    text.iter().for_each(|&byte| push_byte(byte, &mut key));
    key.extend_from_slice(&[0, 0]);
    key
}

/// Appends a byte of a text. Two zero bytes end a text, so a zero byte inside a text becomes the bytes 0 and
/// 1.
fn push_byte(byte: u8, key: &mut Vec<u8>) {
    key.push(byte);
    if byte == 0 {
        key.push(1);
    }
}

/// A sort order: a list of fields. A field decides between records whose earlier fields are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SortOrder(Vec<SortField>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct SortField {
    what: SortKey,
    descending: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum SortKey {
    Field(Field),
    /// The absolute value of a field.
    Abs(Field),
    Position,
}

impl SortOrder {
    /// Whether records are sorted by their position keys first.
    pub fn is_by_key(&self) -> bool {
        let key = SortKey::Field(Field::BuiltinField(BuiltinField::Key));
        self.0.first().is_some_and(|first| first.what == key && !first.descending)
    }

    /// Parses a list such as `-ce,id`: names of fields, `abs(ce)` for an absolute value, or `position` to
    /// group records by position; a minus sign means descending order.
    ///
    /// # Errors
    /// The mistake in a name, as text.
    pub fn parse(list: &str) -> Result<SortOrder, String> {
        let field = |name: &str| {
            let name = name.trim();
            let descending = name.starts_with('-');
            let name = name.strip_prefix('-').unwrap_or(name);
            let absolute = name.strip_prefix("abs(").and_then(|name| name.strip_suffix(')'));
            let what = if let Some(name) = absolute {
                SortKey::Abs(number_field(name.trim())?)
            } else if name == "position" {
                SortKey::Position
            } else {
                SortKey::Field(Field::parse(name)?)
            };
            Ok(SortField { what, descending })
        };
        list.split(',').map(field).collect::<Result<_, String>>().map(SortOrder)
    }

    /// The fields of the order, the first one first; `position` is not a field.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.0.iter().filter_map(|field| match &field.what {
            SortKey::Field(field) | SortKey::Abs(field) => Some(field),
            SortKey::Position => None,
        })
    }

    /// Whether the order depends on the records, not only on their games and places.
    pub fn is_of_record(&self) -> bool {
        let is_of_record = |field: &SortField| match &field.what {
            SortKey::Field(field) | SortKey::Abs(field) => field.is_of_record(),
            SortKey::Position => true,
        };
        self.0.iter().any(is_of_record)
    }

    /// A key whose byte order is the order of records. Numbers come before texts. Records without the field
    /// come last, even in descending order.
    pub fn key(&self, subject: &EvalContext<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        self.push_key(subject, &mut key);
        key
    }

    fn push_key(&self, subject: &EvalContext<'_>, key: &mut Vec<u8>) {
        for SortField { what, descending } in &self.0 {
            let start = key.len();
            let is_missing = match what {
                SortKey::Position => {
                    let identity = subject.record.position().identity();
                    key.extend_from_slice(packed::encode(&identity).as_bytes());
                    false
                }
                SortKey::Field(field) => push_value(&field.value(subject), key),
                SortKey::Abs(field) => push_value(&field.value(subject).abs(), key),
            };
            if *descending && !is_missing {
                key[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
    }

    /// Appends a record as [`RecordSorter::add_keyed`] takes it: the length of the key, the key,
    /// and the record in binary form.
    ///
    /// # Errors
    /// The record cannot be encoded.
    pub fn encode(&self, subject: &EvalContext<'_>, out: &mut Vec<u8>) -> Result<()> {
        let start = begin_key(out);
        self.push_key(subject, out);
        end_key(start, out);
        push_record(subject.record, out)
    }

    /// Like [`SortOrder::encode`], for a record that is given by its parts. If the order needs more
    /// than the position, returns false and appends nothing.
    pub fn encode_plain(&self, record: &PlainRecord<'_>, out: &mut Vec<u8>) -> bool {
        if self.fields().next().is_some() {
            return false;
        }
        let start = begin_key(out);
        for SortField { descending, .. } in &self.0 {
            let complement = if *descending { 0xff } else { 0 };
            out.extend(record.board.iter().map(|byte| byte ^ complement));
        }
        end_key(start, out);
        record::encode_plain(record, out);
        true
    }
}

/// A field whose values can be numbers.
fn number_field(name: &str) -> Result<Field, String> {
    let field = Field::parse(name)?;
    if matches!(field.kind(), Type::Number | Type::Any) {
        return Ok(field);
    }
    Err(format!("abs() needs a number, and `{field}` is not a number"))
}

/// Reserves space for the length of a key; returns the start of the key.
fn begin_key(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len()
}

fn end_key(start: usize, out: &mut [u8]) {
    let len = (out.len() - start) as u32;
    out[start - 4..start].copy_from_slice(&len.to_be_bytes());
}

/// Sorts records in bounded memory; equal records stay in their order.
#[derive(Debug)]
pub struct RecordSorter {
    order: SortOrder,
    sorter: Sorter,
}

impl RecordSorter {
    /// A sorter that uses about `memory_bytes` of memory, and a temporary file in `directory` for
    /// the rest.
    pub fn new(
        order: SortOrder,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> RecordSorter {
        RecordSorter { order, sorter: Sorter::new(directory, memory_bytes) }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, subject: &EvalContext<'_>) -> Result<()> {
        let mut bytes = Vec::new();
        push_record(subject.record, &mut bytes)?;
        self.add_encoded(subject, &bytes)
    }

    /// Adds bytes in any form. They are sorted like this record, and [`Ordered::next_encoded`] returns them.
    ///
    /// # Errors
    /// The errors of [`RecordSorter::add`].
    pub fn add_encoded(&mut self, subject: &EvalContext<'_>, bytes: &[u8]) -> Result<()> {
        Ok(self.sorter.push(&self.order.key(subject), bytes)?)
    }

    /// Adds a record that [`SortOrder::encode`] encoded.
    ///
    /// # Errors
    /// The errors of [`RecordSorter::add`].
    pub fn add_keyed(&mut self, keyed: &[u8]) -> Result<()> {
        let (len, rest) = keyed.split_first_chunk().ok_or_else(changed)?;
        let len = u32::from_be_bytes(*len) as usize;
        let (key, record) = rest.split_at_checked(len).ok_or_else(changed)?;
        Ok(self.sorter.push(key, record)?)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// The temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<Ordered> {
        Ok(self.sorter.finish()?.into())
    }
}

impl std::str::FromStr for SortOrder {
    type Err = String;

    fn from_str(list: &str) -> Result<SortOrder, String> {
        SortOrder::parse(list)
    }
}

/// Appends a value; returns whether it is missing. Missing values come last even in descending order, because
/// their first byte is larger than the first byte of any other value or of its complement.
pub(super) fn push_value(value: &Value<'_>, key: &mut Vec<u8>) -> bool {
    const NUMBER: u8 = 0x40;
    const TEXT: u8 = 0x41;
    const MISSING: u8 = 0xff;
    match (value, value.number()) {
        (Value::Missing, _) => key.push(MISSING),
        (Value::Flag(flag), _) => key.extend_from_slice(&[NUMBER, u8::from(*flag)]),
        (Value::Date(_, date), _) => {
            // Of dates that begin on the same day, the least precise one is first.
            key.push(NUMBER);
            push_number(Number::Whole(date.first().into()), key);
            key.extend_from_slice(&(u32::MAX - date.last()).to_be_bytes());
        }
        (Value::Key(position), _) => {
            key.push(NUMBER);
            push_number(Number::Whole((*position).into()), key);
        }
        (_, Some(number)) => {
            key.push(NUMBER);
            push_number(number, key);
        }
        _ => {
            key.push(TEXT);
            key.extend_from_slice(&natural_key(&value.text()));
        }
    }
    *value == Value::Missing
}

/// Appends a number: its integral part, rounded down, and its fraction.
fn push_number(number: Number, key: &mut Vec<u8>) {
    let (whole, fraction) = match number {
        Number::Whole(value) => (value, 0.0),
        Number::Fraction(value) => (value.floor() as i128, value - value.floor()),
    };
    // With the sign turned, negative numbers come first.
    let biased = (whole as u128) ^ (1 << 127);
    key.extend_from_slice(&biased.to_be_bytes());
    key.extend_from_slice(&fraction.to_bits().to_be_bytes());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use proptest::prelude::*;

    use super::*;

    fn sorted<'a>(order: &str, lines: &[&'a str]) -> Vec<&'a str> {
        let order = SortOrder::parse(order).unwrap();
        let mut keyed: Vec<_> = lines
            .iter()
            .map(|line| {
                let record =
                    epdb_chess::parse_epd(format!("4k3/8/8/8/8/8/8/4K3 w - - {line}").as_bytes());
                (order.key(&EvalContext::from_record(&record.unwrap())), *line)
            })
            .collect();
        keyed.sort();
        keyed.into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn numbers_in_names_are_compared_as_numbers() {
        let mut names = ["b", "a10", "a2", "a02", "a1b", "a1", "a", "10", "9", "A"];
        names.sort_by(|one, other| natural_order(one.as_bytes(), other.as_bytes()));
        assert_eq!(names, ["9", "10", "A", "a", "a1", "a1b", "a02", "a2", "a10", "b"]);
    }

    #[test]
    fn ids_stand_in_natural_order_and_what_is_missing_last() {
        let lines = ["id \"WAC.10\";", "", "id \"WAC.2\";", "id \"wac.1\";", "id \"WAC\";"];
        let natural = ["id \"WAC\";", "id \"WAC.2\";", "id \"WAC.10\";", "id \"wac.1\";", ""];
        assert_eq!(sorted("id", &lines), natural);
        let descending = ["id \"wac.1\";", "id \"WAC.10\";", "id \"WAC.2\";", "id \"WAC\";", ""];
        assert_eq!(sorted("-id", &lines), descending);
    }

    #[test]
    fn position_keys_stand_in_the_order_of_their_numbers() {
        let keys = [0, 9, 0x0a96, 0x0a24_29b4, 0x9999, 0x9_999a, 1 << 63, u64::MAX];
        for descending in [false, true] {
            let mut keys = keys;
            keys.sort_by_key(|key| {
                let mut sort_key = Vec::new();
                push_value(&Value::Key(*key), &mut sort_key);
                if descending {
                    sort_key.iter_mut().for_each(|byte| *byte = !*byte);
                }
                sort_key
            });
            assert_eq!(keys.is_sorted(), !descending);
            assert_eq!(keys.is_sorted_by(|a, b| a > b), descending);
        }
    }

    #[test]
    fn numbers_of_any_kind_stand_before_texts() {
        let lines = ["x 10;", "x a;", "x 9.5;", "x -3;", "x -2.5;", "x -2;", "x 9;"];
        let order = ["x -3;", "x -2.5;", "x -2;", "x 9;", "x 9.5;", "x 10;", "x a;"];
        assert_eq!(sorted("op(x)", &lines), order);
    }

    #[test]
    fn keyed_records_are_sorted_as_records_and_plain_ones_as_all() {
        let lines = [
            "4k3/8/8/8/8/8/4P3/4K3 w - - 3 9",
            "4k3/8/8/8/8/8/4P3/4K3 b - -",
            "k7/8/8/8/8/8/4P3/4K3 w - -",
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
        ];
        for list in ["position", "-position", "-pieces,position", "fmvn"] {
            let order = SortOrder::parse(list).unwrap();
            let mut sorters =
                [0; 2].map(|_| RecordSorter::new(order.clone(), std::env::temp_dir(), 1 << 20));
            for line in lines {
                let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
                sorters[0].add(&EvalContext::from_record(&record)).unwrap();
                let (mut keyed, mut plain) = (Vec::new(), Vec::new());
                order.encode(&EvalContext::from_record(&record), &mut keyed).unwrap();
                sorters[1].add_keyed(&keyed).unwrap();
                let board = packed::encode(record.position());
                let (board, counters) = (board.as_bytes(), record.fen_counters());
                let parts = PlainRecord { board, en_passant: None, counters };
                let is_plain = order.encode_plain(&parts, &mut plain);
                assert_eq!(is_plain, list.ends_with("position") && !list.contains(','));
                assert!(!is_plain || plain == keyed, "{line}");
            }
            let [a, b] = sorters.map(|sorter| {
                let mut sorted = sorter.finish().unwrap();
                let mut records = Vec::new();
                for record in sorted.by_ref() {
                    let record = record.unwrap();
                    records.push(record);
                }
                records
            });
            assert_eq!((a.len(), a), (4, b));
        }
    }

    #[test]
    fn the_second_field_decides_where_the_first_does_not() {
        let lines = ["ce 5; id \"b\";", "ce 7; id \"a\";", "ce 5; id \"a\";"];
        assert_eq!(
            sorted("-ce,id", &lines),
            ["ce 7; id \"a\";", "ce 5; id \"a\";", "ce 5; id \"b\";"]
        );
        let scores = ["ce 5;", "ce -7;", "ce -2;", ""];
        assert_eq!(sorted("-abs(ce)", &scores), ["ce -7;", "ce 5;", "ce -2;", ""]);
        assert!(SortOrder::parse("abs(id)").unwrap_err().contains("`id` is not a number"));
        assert!(SortOrder::parse("ce,piecse").unwrap_err().contains("did you mean `pieces`"));
        assert!(SortOrder::parse("").is_err());
    }

    proptest! {
        #[test]
        fn natural_order_is_total_and_equal_only_for_equal_texts(
            a in prop::collection::vec(prop::sample::select(&b"\0\x01a.0019"[..]), 0..8),
            b in prop::collection::vec(prop::sample::select(&b"\0\x01a.0019"[..]), 0..8),
        ) {
            prop_assert_eq!(natural_order(&a, &b), natural_order(&b, &a).reverse());
            prop_assert_eq!(natural_order(&a, &b).is_eq(), a == b);
        }
    }
}
