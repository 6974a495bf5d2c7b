//! The binary EPD record: round trips, one encoding per record, refused bytes.

use epdb_chess::codec::error::EncodeError;
use epdb_chess::codec::packed;
use epdb_chess::codec::record::{board_of, decode, encode, len_of};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{
    CastlingDialect, Counters, EpdRecord, Opcode, Operand, Operation, Position,
};
use epdb_chess::text::san;
use proptest::prelude::*;

use crate::golden::text;
use crate::positions::fen;
use crate::records::{move_operand, records, records_by_hand};

fn encoded(record: &EpdRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(record, &mut bytes).expect("a record that text can say");
    bytes
}

fn assert_round_trip(record: &EpdRecord) {
    let bytes = encoded(record);
    assert_eq!(decode(&bytes), Ok((record.clone(), bytes.len())));
    assert_eq!(len_of(&bytes), Ok(bytes.len()));
    let identity = packed::encode(&record.position().identity());
    assert_eq!(board_of(&bytes), Ok(identity.as_bytes()));
    for short in 0..bytes.len() {
        assert!(decode(&bytes[..short]).is_err());
        assert!(len_of(&bytes[..short]).is_err());
    }
}

/// Bytes that are accepted are those that the encoder writes, and there are no others with the same
/// text.
fn assert_refused_or_canonical(bytes: &[u8]) {
    let walked = len_of(bytes);
    if let Ok((record, len)) = decode(bytes) {
        assert_eq!(encoded(&record), &bytes[..len]);
        assert_eq!(encoded(&as_text(&record)), &bytes[..len]);
        assert_eq!(walked, Ok(len));
    }
}

/// The record with everything that has no quotes as an unquoted operand: the same text.
fn as_text(record: &EpdRecord) -> EpdRecord {
    let mut text = record.clone();
    for Operation { opcode, operands } in record.operations() {
        let operand = |operand: &Operand| match operand {
            Operand::Str(_) => operand.clone(),
            Operand::Tally(_) => Operand::string(operand.text()),
            other => Operand::token(other.text()),
        };
        let operands = operands.iter().map(operand).collect();
        text.set(Operation { opcode: *opcode, operands });
    }
    text
}

fn operation(name: &str, operands: Vec<Operand>) -> Operation {
    Operation { opcode: Opcode::new(name.as_bytes()).expect(name), operands }
}

#[test]
fn a_book_record_is_25_bytes_or_27() {
    let mut record = EpdRecord::new(Position::START);
    assert_eq!(encoded(&record).len(), 25);
    record.set_fen_counters(Some(Counters { halfmove_clock: 0, fullmove_number: 1 }));
    assert_eq!(encoded(&record).len(), 27);
    assert_round_trip(&record);
    for (value, len) in [(255, 27), (256, 29), (65_535, 29), (65_536, 33), (u32::MAX, 33)] {
        record.set_fen_counters(Some(Counters { halfmove_clock: value, fullmove_number: 1 }));
        assert_eq!(encoded(&record).len(), len);
        assert_round_trip(&record);
    }
}

#[test]
fn en_passant_and_dialect_come_back_as_given() {
    for text in [
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3",
        "8/8/8/KPp4r/8/8/8/4k3 w - c6",
        "8/8/8/KPp5/8/8/8/4k3 w - c6",
        "4k3/8/8/3P4/8/8/8/4K3 w - e6",
    ] {
        let mut record = EpdRecord::new(fen(text));
        assert_round_trip(&record);
        record.set_dialect(CastlingDialect::Shredder);
        assert_round_trip(&record);
    }
}

#[test]
fn integers_of_every_width() {
    for value in [
        0,
        1,
        255,
        256,
        65_535,
        65_536,
        4_294_967_295,
        4_294_967_296,
        i128::from(u64::MAX),
        -1,
        -128,
        -129,
        -32_768,
        -32_769,
        -2_147_483_648,
        -2_147_483_649,
        i128::from(i64::MIN),
    ] {
        let mut record = EpdRecord::new(Position::START);
        record.set(operation("ce", vec![Operand::Integer(value)]));
        record.set(operation("rc", vec![Operand::Integer(value), Operand::Integer(value)]));
        assert_round_trip(&record);
    }
}

#[test]
fn strings_and_lines_of_every_length() {
    for len in [0, 1, 255, 256, 65_535, 65_536] {
        let mut record = EpdRecord::new(Position::START);
        record.set(operation("id", vec![Operand::string(vec![b'x'; len])]));
        record.set(operation("Private", vec![Operand::token(vec![b'y'; len.max(1)])]));
        let bytes = encoded(&record);
        assert_eq!(decode(&bytes), Ok((record, bytes.len())));
    }
    for len in [0, 1, 255, 256, 65_535, 65_536, 131_070, 131_071] {
        let mut playable = Playable::new(&Position::START).expect("playable");
        let line: Vec<Operand> = (0..len)
            .map(|ply| {
                // Ng1-f3, Ng8-f6 and back, for ever.
                let wanted = [b"Nf3", b"Nf6", b"Ng1", b"Ng8"][ply % 4];
                let moves = playable.legal_moves();
                let mv = moves
                    .into_iter()
                    .find(|&mv| san::without_marks(&playable, mv).as_bytes() == wanted);
                let mv = mv.expect("a knight move");
                let san = san::format(&playable, mv);
                playable = playable.after(mv);
                Operand::Move { mv, san }
            })
            .collect();
        let mut record = EpdRecord::new(Position::START);
        record.set(operation("pv", line));
        let bytes = encoded(&record);
        assert_eq!(
            bytes.len(),
            25 + 2
                + match len {
                    0..=255 => 1 + len,
                    // Kind and length before each run, 0 after the list.
                    _ =>
                        1 + len + len.div_ceil(65_535) * 3
                            - usize::from(len == 65_536 || len == 131_071),
                }
        );
        assert_eq!(decode(&bytes), Ok((record, bytes.len())));
    }
}

#[test]
fn ordinals_over_255_are_wide() {
    let text = "QQQQQQBk/Q6B/Q6Q/Q6Q/Q6Q/Q6Q/Q6Q/KQQQQQQQ w - -";
    let playable = Playable::new(&fen(text)).expect("playable");
    let nth = |n| move_operand(&playable, n).expect("a move");
    let mut record = EpdRecord::new(fen(text));
    record.set(operation("sm", vec![nth(256)]));
    record.set(operation("pm", vec![nth(255)]));
    record.set(operation("bm", (0..=264).map(nth).collect()));
    record.set(operation("am", vec![nth(254), nth(256), nth(255), nth(264)]));
    record.set(operation("pv", vec![nth(260)]));
    assert_round_trip(&record);
}

#[test]
fn records_without_text_are_not_encoded() {
    let mut bytes = vec![1, 2, 3];
    let refused = |name: &str, operand: Operand, bytes: &mut Vec<u8>| {
        let mut record = EpdRecord::new(Position::START);
        record.set(operation(name, vec![operand]));
        let error = encode(&record, bytes).expect_err("refused");
        assert_eq!(bytes, &[1, 2, 3]);
        error
    };
    for operand in [
        Operand::string(*b"a\"b"),
        Operand::string(*b"a\nb"),
        Operand::token(*b""),
        Operand::token(*b"a b"),
        Operand::token(*b"a;"),
        Operand::token(*b"\xe4"),
    ] {
        assert!(matches!(refused("id", operand, &mut bytes), EncodeError::Text { .. }));
    }
    let too_large = Operand::Integer(i128::from(u64::MAX) + 1);
    assert!(matches!(refused("dm", too_large, &mut bytes), EncodeError::Integer { .. }));
    let playable = Playable::new(&Position::START).expect("playable");
    let Some(Operand::Move { mv, .. }) = move_operand(&playable, 13) else { panic!("e4") };
    let wrong_text = Operand::Move { mv, san: san::format(&playable, playable.legal_moves()[3]) };
    assert!(matches!(refused("bm", wrong_text, &mut bytes), EncodeError::Move { .. }));
    let mut record = EpdRecord::new(Position::START);
    record.set_fen_counters(Some(Counters { halfmove_clock: 0, fullmove_number: 0 }));
    assert_eq!(encode(&record, &mut bytes), Err(EncodeError::FullmoveNumber));
}

proptest! {
    #[test]
    fn records_round_trip(record in records()) {
        assert_round_trip(&record);
    }

    /// The text determines the bytes.
    #[test]
    fn records_by_hand_are_written_as_their_text(record in records_by_hand()) {
        let mut bytes = Vec::new();
        prop_assume!(encode(&record, &mut bytes).is_ok());
        let (decoded, _) = decode(&bytes).expect("what was encoded");
        prop_assert_eq!(text(&decoded), text(&record));
        assert_refused_or_canonical(&bytes);
    }

    #[test]
    fn changed_bytes_are_refused_or_canonical(
        record in records(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3),
    ) {
        let mut bytes = encoded(&record);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        assert_refused_or_canonical(&bytes);
    }

    #[test]
    fn moved_bytes_are_refused_or_canonical(
        record in records(),
        from in any::<prop::sample::Index>(),
        inserted in prop::collection::vec(any::<u8>(), 0..4),
        removed in 0usize..4,
    ) {
        let mut bytes = encoded(&record);
        let from = from.index(bytes.len());
        let to = (from + removed).min(bytes.len());
        bytes.splice(from..to, inserted);
        assert_refused_or_canonical(&bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        marker in 0xa0u8..=0xbf,
        head in any::<bool>(),
        mut tail in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        assert_refused_or_canonical(&tail);
        if head {
            let board = packed::encode(&Position::START);
            tail.splice(0..0, board.as_bytes().iter().copied());
        }
        tail.insert(0, marker);
        assert_refused_or_canonical(&tail);
    }
}

/// Limit of the memory of a decoded record (formats/epd_record.md, Limits).
#[test]
fn memory_is_bounded_by_the_length() {
    let board = packed::encode(&fen("4k3/8/8/8/8/8/4P3/4K3 w - -"));
    let record = |(opcode, operands): (&str, Vec<u8>)| {
        let opcode = Opcode::new(opcode.as_bytes()).expect(opcode);
        let tag = 0x40 + opcode.standard().expect("in the table").number();
        [&[0xb0], board.as_bytes(), &[tag], &operands, &[0, 0xff]].concat()
    };
    let moves = [&[0x32, 0xff, 0xff][..], &[5; 65_535]].concat();
    let tokens = [0x11, 1, b'a'].repeat(100_000);
    let integers = [0x01, 7].repeat(100_000);
    let empty_strings = [0x21, 0].repeat(100_000);
    let typed = [&[0x54, 1, 0, 0, 0, 0xf0, 0][..], &vec![0; 0xf0_0000]].concat();
    for operands in [
        ("pm", moves),
        ("noop", tokens),
        ("dm", integers),
        ("noop", empty_strings),
        ("noop", typed),
    ] {
        let bytes = record(operands);
        let (decoded, _) = decode(&bytes).expect("a record");
        let [operation] = decoded.operations() else { panic!("one operation") };
        // A short text of its own takes 16 bytes or so.
        let texts: usize = operation.operands.iter().map(|operand| 16 + operand.text().len()).sum();
        let memory = operation.operands.capacity() * size_of::<Operand>() + texts;
        assert!(memory <= 100 * bytes.len(), "{memory} bytes for {}", bytes.len());
    }
}

/// Every operation tag and every kind of operand, each followed by small bytes: the whole grammar
/// near its edges.
#[test]
fn small_operation_bytes_are_refused_or_canonical() {
    let mut head = vec![0xb0];
    head.extend_from_slice(packed::encode(&Position::START).as_bytes());
    for tag in 0..=255u8 {
        for a in 0..=255u8 {
            for tail in [
                [0, 0, 0xff, 0xff],
                [1, 0, 0xff, 0xff],
                [0, 0xff, 0, 0xff],
                [1, b'a', 0, 0xff],
                [0xff, 0xff, 0xff, 0xff],
                [0, 1, 0, 0xff],
                [2, 3, 0, 0xff],
                [0x20, b'a', 0, 0xff],
            ] {
                let bytes = [head.as_slice(), &[tag, a], &tail].concat();
                assert_refused_or_canonical(&bytes);
            }
        }
    }
}
