//! The `.epb` stream: damage is always detected, and never gives a wrong record.

use std::io::{self, Read};

use epdb_chess::codec::error::DecodeErrorKind;
use epdb_chess::codec::record::{MAX_LEN, encode};
use epdb_chess::codec::stream::{FRAME_LEN, MAGIC, ReadError, Reader, Writer};
use epdb_chess::model::{EpdRecord, Opcode, Operand, Operation, Position};
use proptest::prelude::*;

use crate::positions::fen;
use crate::records::records;

fn written(records: &[EpdRecord]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for record in records {
        writer.write(record).expect("a record");
    }
    writer.finish().expect("a vector takes all")
}

/// The records before the first error, and the error.
fn read(bytes: &[u8]) -> (Vec<EpdRecord>, Option<ReadError>) {
    let mut records = Vec::new();
    for record in Reader::new(bytes) {
        match record {
            Ok(record) => records.push(record),
            Err(error) => return (records, Some(error)),
        }
    }
    (records, None)
}

fn read_encoded(bytes: &[u8]) -> (usize, bool) {
    let mut reader = Reader::new(bytes);
    let mut count = 0;
    loop {
        match reader.next_encoded() {
            Ok(Some(_)) => count += 1,
            Ok(None) => return (count, true),
            Err(_) => {
                assert!(matches!(reader.next_encoded(), Ok(None)));
                return (count, false);
            }
        }
    }
}

fn with_id(id: &[u8]) -> EpdRecord {
    let mut record = EpdRecord::new(Position::START);
    let opcode = Opcode::ID;
    record.set(Operation { opcode, operands: vec![Operand::string(id)] });
    record
}

fn small() -> Vec<EpdRecord> {
    let end_game = EpdRecord::new(fen("4k3/8/8/8/8/8/4P3/4K3 w - -"));
    vec![end_game, with_id(b"a"), with_id(b"b")]
}

// README: Damage is detected
#[test]
fn every_changed_byte_and_every_truncation_shows() {
    let records = small();
    // Two streams in a row, so that a change may hit either end frame.
    let first = written(&records[..2]);
    let bytes = [first.as_slice(), &written(&records[2..])].concat();
    assert_eq!(read(&bytes).0, records);
    assert!(read(&bytes).1.is_none());

    for place in 0..bytes.len() {
        for value in 0..=255u8 {
            let mut changed = bytes.clone();
            changed[place] = value;
            if changed == bytes {
                continue;
            }
            let (before, error) = read(&changed);
            assert!(records.starts_with(&before), "byte {place} = {value}");
            let Some(ReadError::Decode { frame, record, error: source }) = error else {
                panic!("byte {place} = {value}: {error:?}");
            };
            assert_eq!(record, before.len() as u64 + 1);
            assert!((1..=4).contains(&frame) && source.offset <= bytes.len() as u64);
            assert!(!read_encoded(&changed).1);
        }
    }
    for len in 0..bytes.len() {
        let (before, error) = read(&bytes[..len]);
        if len == first.len() {
            // Between two streams there is nothing to miss.
            assert!(error.is_none() && before == records[..2]);
            continue;
        }
        assert!(records.starts_with(&before), "{len} bytes");
        let error = error.expect("a truncated stream");
        let ReadError::Decode { error: source, .. } = error else { panic!("{error}") };
        assert_eq!(source.offset, len as u64);
        assert!(matches!(source.kind, DecodeErrorKind::Truncated(_)));
    }
}

#[test]
fn frames_that_are_lost_doubled_or_swapped_show() {
    let records: Vec<EpdRecord> = (0..5000).map(|n| with_id(n.to_string().as_bytes())).collect();
    let bytes = written(&records);
    assert_eq!(read(&bytes).0, records);
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|&place| bytes[place..].starts_with(&MAGIC)).collect();
    let [first, second, third, ..] = starts[..] else { panic!("too few frames") };
    assert!(second - first <= FRAME_LEN + 26);
    let parts = [&bytes[first..second], &bytes[second..third], &bytes[third..]];
    for order in [vec![0, 2], vec![1, 0, 2], vec![0, 0, 1, 2], vec![0, 1, 1, 2], vec![0, 1, 2, 1]] {
        let changed: Vec<u8> = order.iter().flat_map(|&part| parts[part]).copied().collect();
        let (before, error) = read(&changed);
        assert!(records.starts_with(&before));
        assert!(error.is_some(), "{order:?}");
    }
}

#[test]
fn a_long_record_has_its_own_frame() {
    let long = with_id(&vec![b'x'; 3 * FRAME_LEN]);
    let records = [with_id(b"a"), long, with_id(b"b")];
    let bytes = written(&records);
    assert_eq!(read(&bytes).0, records);
    assert_eq!(bytes.windows(4).filter(|window| *window == MAGIC).count(), 4);
}

#[test]
fn a_record_over_the_limit_is_not_written() {
    let mut writer = Writer::new(Vec::new());
    writer.write(&with_id(b"a")).expect("a record");
    assert!(writer.write(&with_id(&vec![b'x'; MAX_LEN])).is_err());
    let bytes = writer.finish().expect("a vector takes all");
    assert_eq!(bytes, written(&[with_id(b"a")]));
}

#[test]
fn a_later_version_is_refused_by_name() {
    let mut bytes = written(&small());
    bytes[4] = 2;
    let message = read(&bytes).1.expect("refused").to_string();
    assert_eq!(message, "frame 1, record 1: byte 4: format version 2, this reader knows up to 1");
}

#[test]
fn an_empty_stream_is_an_end_frame() {
    let bytes = written(&[]);
    assert_eq!(bytes.len(), 26);
    assert!(matches!(read(&bytes), (records, None) if records.is_empty()));
    assert!(read(&[]).1.is_some());
}

/// A header that promises much gets memory only for what comes.
#[test]
fn promises_are_not_allocated() {
    struct Endless(Vec<u8>, usize);
    impl Read for Endless {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let Some(rest) = self.0.get(self.1..) else { return Ok(0) };
            let len = rest.len().min(bytes.len()).min(7);
            bytes[..len].copy_from_slice(&rest[..len]);
            self.1 += len;
            Ok(len)
        }
    }
    let mut bytes = written(&small());
    bytes[6..10].copy_from_slice(&(MAX_LEN as u32 + 1).to_le_bytes());
    bytes[10..14].copy_from_slice(&1u32.to_le_bytes());
    let error = Reader::new(Endless(bytes, 0)).next_record().expect_err("over the limit");
    let ReadError::Decode { error: source, .. } = error else { panic!("{error}") };
    assert!(matches!(source.kind, DecodeErrorKind::LimitExceeded { .. }));
    // Small reads are put together.
    let mut reader = Reader::new(Endless(written(&small()), 0));
    assert_eq!(reader.by_ref().map(Result::unwrap).collect::<Vec<_>>(), small());
    assert!(reader.next().is_none());
}

proptest! {
    #[test]
    fn streams_round_trip(records in prop::collection::vec(records(), 0..12)) {
        let bytes = written(&records);
        let (again, error) = read(&bytes);
        prop_assert_eq!(&again, &records);
        prop_assert!(error.is_none());
        let mut reader = Reader::new(&bytes[..]);
        let mut writer = Writer::new(Vec::new());
        for record in &records {
            let mut expected = Vec::new();
            encode(record, &mut expected).unwrap();
            let encoded = reader.next_encoded().unwrap().expect("a record");
            prop_assert_eq!(encoded, &expected);
            writer.write_encoded(encoded).unwrap();
        }
        prop_assert!(reader.next_encoded().unwrap().is_none());
        prop_assert_eq!(writer.finish().unwrap(), bytes);
    }

    #[test]
    fn arbitrary_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300), magic in any::<bool>()) {
        let bytes = if magic { [MAGIC.as_slice(), &[1, 0], &bytes].concat() } else { bytes };
        prop_assert!(read(&bytes).1.is_some());
    }
}
