//! Invariants of reading arbitrary bytes as a line of EPD, a record, a packed board or a stream.
//!
//! For the fuzz targets and for tests with `seeds`.

use epdb_chess::codec::stream::{Reader, Writer};
use epdb_chess::codec::{packed, record};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::epd::{Line, format, parse_line};
use epdb_chess::text::{CastlingForm, FormatOptions, ParseOptions};

/// Any bytes as a line: what was read is written as text that is read as the same record and
/// written as the same text, and so it is with its binary form.
pub(crate) fn epd_line(bytes: &[u8]) {
    let Some(record) = read(bytes) else { return };
    let text = text_of(&record);
    let again = read(&text).expect("what was written is read");
    assert_eq!(text_of(&again), text);
    let bytes = encoded(&record);
    assert_eq!(record::decode(&bytes), Ok((record, bytes.len())));
}

/// Any bytes as a record: what is accepted is what is written.
pub(crate) fn record(bytes: &[u8]) {
    let walked = record::len_of(bytes);
    if let Ok((record, len)) = record::decode(bytes) {
        assert_eq!(walked, Ok(len));
        assert_eq!(encoded(&record), bytes[..len]);
        let mut text = Vec::new();
        record::write_text(&bytes[..len], &mut text).expect("a record");
        let mut expected = Vec::new();
        format(&record, &FormatOptions::default(), &mut expected);
        assert_eq!(text, expected);
    }
}

/// Any bytes as a packed board: what is accepted is what is written.
pub(crate) fn packed_board(bytes: &[u8]) {
    if let Ok((position, len)) = packed::decode(bytes) {
        assert_eq!(packed::len_of(bytes), Ok(len));
        assert_eq!(packed::encode(&position).as_bytes(), &bytes[..len]);
    }
}

/// Any bytes as a stream, its checksums taken to hold where that is asked for: the records that are
/// read are written as a stream of the same records.
pub(crate) fn stream(bytes: &[u8]) {
    let records: Vec<EpdRecord> = Reader::new(bytes).map_while(Result::ok).collect();
    let mut writer = Writer::new(Vec::new());
    records.iter().for_each(|record| writer.write(record).expect("a vector takes all"));
    let written = writer.finish().expect("a vector takes all");
    let again: Vec<EpdRecord> =
        Reader::new(&written[..]).collect::<Result<_, _>>().expect("what was written is read");
    assert_eq!(again, records);
    let mut reader = Reader::new(bytes);
    while let Ok(Some(_)) = reader.next_encoded() {}
}

fn read(bytes: &[u8]) -> Option<EpdRecord> {
    match parse_line(bytes, &ParseOptions::default(), &mut Vec::new()) {
        Ok(Line::Record(record)) => Some(record),
        _ => None,
    }
}

fn text_of(record: &EpdRecord) -> Vec<u8> {
    let options = FormatOptions { castling: CastlingForm::Keep, ..Default::default() };
    let mut line = Vec::new();
    format(record, &options, &mut line);
    line
}

fn encoded(record: &EpdRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    record::encode(record, &mut bytes).expect("a record that was read");
    bytes
}
