//! The samples under `formats/golden`, held against the code both ways.
//!
//! A sample file has cases with blank lines between them. A case is `= text` (what valid bytes
//! say) or `! message` (why bytes are refused), then bytes in hexadecimal. `#` at the start of a line
//! or behind a blank begins a comment.

use std::fmt::Write as _;

use epdb::codec::stream::{MAGIC, ReadError, Reader, VERSION, Writer};
use epdb::codec::{key, ordinal, packed, record};
use epdb::model::EpdRecord;
use epdb::model::rules::Playable;
use epdb::text::{CastlingForm, WriteOptions, epd, san};

use crate::boards::{fen, fields};

struct Case {
    /// The lines behind `=` or `!`.
    text: Vec<String>,
    /// Everything else, without comments.
    body: String,
    is_valid: bool,
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        let digits: String = self.body.split_whitespace().collect();
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect(&self.body))
            .collect()
    }
}

fn cases(name: &str) -> Vec<Case> {
    let path = format!("{}/formats/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect(name);
    let mut cases = Vec::new();
    for block in text.split("\n\n") {
        let mut case = Case { text: Vec::new(), body: String::new(), is_valid: true };
        for line in block.lines() {
            if let Some(text) = line.strip_prefix("= ") {
                case.text.push(text.to_owned());
            } else if let Some(text) = line.strip_prefix("! ") {
                case.text.push(text.to_owned());
                case.is_valid = false;
            } else {
                // A mark of mate is no comment.
                let comment = if line.starts_with('#') { Some(0) } else { line.find(" #") };
                writeln!(case.body, "{}", &line[..comment.unwrap_or(line.len())])
                    .expect("a string takes all");
            }
        }
        if !case.text.is_empty() {
            cases.push(case);
        }
    }
    let all_alike = cases.iter().all(|case| case.is_valid == name.starts_with("valid"));
    assert!(cases.len() > 2 && all_alike, "{name}");
    cases
}

/// A record as the samples write it: counters, castling letters and en passant as they are kept.
pub(crate) fn line(record: &EpdRecord) -> String {
    let options = WriteOptions { castling: CastlingForm::Keep, ..WriteOptions::default() };
    let mut line = Vec::new();
    epd::write(record, &options, &mut line);
    String::from_utf8(line).expect("samples are UTF-8")
}

#[test]
fn valid_packed_boards() {
    for case in cases("valid/packed_board.txt") {
        let position = fen(&case.text[0]);
        let bytes = case.bytes();
        assert_eq!(packed::pack(&position).as_bytes(), bytes, "{}", case.text[0]);
        assert_eq!(packed::unpack(&bytes), Ok((position, bytes.len())), "{}", case.text[0]);
    }
}

#[test]
fn invalid_packed_boards() {
    for case in cases("invalid/packed_board.txt") {
        let error = packed::unpack(&case.bytes()).expect_err(&case.text[0]);
        assert_eq!(error.to_string(), case.text[0]);
    }
}

#[test]
fn valid_position_keys() {
    for case in cases("valid/position_key.txt") {
        let position = fen(&case.text[0]);
        let keys =
            format!("{:016x} {:016x}", key::position_key(&position), key::polyglot_key(&position));
        assert_eq!(keys, case.body.trim(), "{}", case.text[0]);
    }
}

#[test]
fn valid_move_ordinals() {
    for case in cases("valid/move_ordinal.txt") {
        let playable = Playable::new(&fen(&case.text[0])).expect(&case.text[0]);
        let sans: Vec<String> = ordinal::list(&playable)
            .into_iter()
            .map(|mv| san::write(&playable, mv).to_string())
            .collect();
        let mut listed = String::new();
        for (row, sans) in sans.chunks(16).enumerate() {
            writeln!(listed, "{:03x}: {}", row * 16, sans.join(" ")).expect("a string takes all");
        }
        let golden: Vec<&str> = case.body.lines().map(str::trim_end).collect();
        let golden = golden.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>();
        assert_eq!(listed.trim_end(), golden.join("\n"), "{}", case.text[0]);
        for place in 0..sans.len() as u16 {
            let mv = ordinal::move_at(&playable, place).expect("a move");
            assert_eq!(san::write(&playable, mv).to_string(), sans[usize::from(place)]);
            assert_eq!(ordinal::ordinal(&playable, mv), Some(place));
        }
    }
}

#[test]
fn valid_records() {
    for case in cases("valid/epd_record.txt") {
        let bytes = case.bytes();
        let (decoded, len) = record::decode(&bytes).expect(&case.text[0]);
        assert_eq!(len, bytes.len(), "{}", case.text[0]);
        assert_eq!(line(&decoded), case.text[0]);
        let read = epdb::parse_epd(case.text[0].as_bytes()).expect(&case.text[0]);
        assert_eq!(read, decoded, "{}", case.text[0]);
        let mut encoded = Vec::new();
        record::encode(&read, &mut encoded).expect(&case.text[0]);
        assert_eq!(encoded, bytes, "{}", case.text[0]);
        assert_eq!(record::len_of(&bytes), Ok(bytes.len()));
    }
}

#[test]
fn invalid_records() {
    for case in cases("invalid/epd_record.txt") {
        let error = record::decode(&case.bytes()).expect_err(&case.text[0]);
        assert_eq!(error.to_string(), case.text[0]);
    }
}

#[test]
fn valid_streams() {
    for case in cases("valid/epb_stream.txt") {
        let bytes = case.bytes();
        let records = Reader::new(&bytes[..]).collect::<Result<Vec<_>, _>>().expect("a stream");
        let lines: Vec<String> = records.iter().map(line).collect();
        let expected: Vec<&String> = case.text.iter().filter(|text| *text != "(none)").collect();
        assert_eq!(lines.iter().collect::<Vec<_>>(), expected);
        for stream in streams(&bytes) {
            let mut writer = Writer::new(Vec::new());
            for record in Reader::new(stream) {
                writer.write(&record.expect("a record")).expect("a vector takes all");
            }
            assert_eq!(writer.finish().expect("a vector takes all"), stream);
        }
    }
}

/// Cuts behind each end frame.
fn streams(mut bytes: &[u8]) -> Vec<&[u8]> {
    let end_frame = [MAGIC.as_slice(), &[VERSION, 1]].concat();
    let mut streams = Vec::new();
    while let Some(place) = bytes.windows(6).position(|window| window == end_frame) {
        let (stream, rest) = bytes.split_at(place + 26);
        streams.push(stream);
        bytes = rest;
    }
    assert!(bytes.is_empty());
    streams
}

#[test]
fn invalid_streams() {
    for case in cases("invalid/epb_stream.txt") {
        let bytes = case.bytes();
        let mut reader = Reader::new(&bytes[..]);
        let error = reader.find_map(Result::err).expect(&case.text[0]);
        assert!(matches!(error, ReadError::Decode { .. }));
        assert_eq!(error.to_string(), case.text[0]);
    }
}

#[test]
fn samples_of_boards_are_written_as_the_page_writes_them() {
    for case in cases("valid/packed_board.txt") {
        let position = fen(&case.text[0]);
        assert_eq!(fields(&position, false), case.text[0]);
    }
}
