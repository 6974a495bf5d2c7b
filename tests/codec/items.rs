//! Items: bytes read and bytes left over.

use epdb_chess::codec::error::{DecodeError, DecodeErrorKind, EncodeError};
use epdb_chess::codec::item::{Cursor, PutItems};
use proptest::prelude::*;

/// Reads one item from all the bytes, and refuses it from any fewer.
fn read_all<'a, T: PartialEq + std::fmt::Debug>(
    bytes: &'a [u8],
    read: impl Fn(&mut Cursor<'a>) -> Result<T, DecodeError>,
) -> T {
    for len in 0..bytes.len() {
        let mut cursor = Cursor::new(&bytes[..len]);
        let error = read(&mut cursor).expect_err("too few bytes");
        assert!(matches!(error.kind, DecodeErrorKind::Truncated(_)), "{error}");
        assert_eq!(error.offset, len as u64);
    }
    let mut cursor = Cursor::new(bytes);
    let value = read(&mut cursor).expect("an item");
    assert_eq!(cursor.offset(), bytes.len());
    assert!(cursor.rest().is_empty());
    value
}

#[test]
fn integers_are_least_significant_byte_first() {
    assert_eq!(read_all(&[0x12], Cursor::int_1), 0x12);
    assert_eq!(read_all(&[0x34, 0x12], Cursor::int_2), 0x1234);
    assert_eq!(read_all(&[0x78, 0x56, 0x34, 0x12], Cursor::int_4), 0x1234_5678);
    let eight = [0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12];
    assert_eq!(read_all(&eight, Cursor::int_8), 0x1234_5678_9abc_def0);
    let mut bytes = Vec::new();
    bytes.put_int_2(0x1234);
    bytes.put_int_4(0x1234_5678);
    bytes.put_int_8(0x1234_5678_9abc_def0);
    assert_eq!(bytes, [&[0x34, 0x12, 0x78, 0x56, 0x34, 0x12], &eight[..]].concat());
}

#[test]
fn lengths_precede_items_up_to_their_limits() {
    for len in [0, 1, 255, 256, 65_535, 65_536] {
        let text = vec![b'x'; len];
        let (mut one, mut two, mut four) = (Vec::new(), Vec::new(), Vec::new());
        assert_eq!(one.put_sized_1(&text).is_ok(), len <= 255);
        assert_eq!(two.put_sized_2(&text).is_ok(), len <= 65_535);
        four.put_sized_4(&text).expect("under four gibibytes");
        assert_eq!(four.len(), 4 + len);
        assert_eq!(Cursor::new(&four).string_4(), Ok(&text[..]));
        if len <= 256 {
            assert_eq!(read_all(&four, Cursor::string_4), text);
        }
        if len <= 255 {
            assert_eq!(read_all(&one, Cursor::string_1), text);
            assert_eq!(read_all(&one, Cursor::mvseq_1), text);
        } else {
            assert!(one.is_empty());
        }
        if len <= 65_535 {
            assert_eq!(Cursor::new(&two).string_2(), Ok(&text[..]));
            assert_eq!(Cursor::new(&two).mvseq_2(), Ok(&text[..]));
        } else {
            let error = two.put_sized_2(&text).expect_err("too long");
            assert!(matches!(error, EncodeError::LimitExceeded { limit: 65_535, .. }));
        }
    }
}

/// Ascending, none twice.
#[test]
fn sets_ascend() {
    assert!(read_all(&[0], Cursor::mvset_1).is_empty());
    assert_eq!(read_all(&[3, 1, 2, 255], Cursor::mvset_1), [1, 2, 255]);
    let all: Vec<u8> = (0..255).collect();
    let mut bytes = Vec::new();
    bytes.put_sized_1(&all).expect("255 ordinals");
    assert_eq!(read_all(&bytes, Cursor::mvset_1), all);
    for (set, place) in [([3, 1, 1, 2], 2), ([3, 1, 3, 2], 3)] {
        let error = Cursor::new(&set).mvset_1().expect_err("no set");
        assert!(matches!(error.kind, DecodeErrorKind::NonCanonical(_)));
        assert_eq!(error.offset, place);
    }
}

/// A length of four gibibytes is refused without being allocated.
#[test]
fn lengths_are_not_believed() {
    assert!(Cursor::new(&[0xff; 5]).string_4().is_err());
    assert!(Cursor::new(&[0xff; 100]).string_2().is_err());
    assert!(Cursor::new(&[0xff; 100]).mvseq_1().is_err());
}

proptest! {
    #[test]
    fn items_follow_each_other(
        a in prop::collection::vec(any::<u8>(), 0..20),
        b in any::<u64>(),
        c in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = Vec::new();
        bytes.put_sized_1(&a).unwrap();
        bytes.put_int_8(b);
        bytes.put_sized_2(&c).unwrap();
        let mut cursor = Cursor::new(&bytes);
        prop_assert_eq!(cursor.string_1(), Ok(&a[..]));
        prop_assert_eq!(cursor.int_8(), Ok(b));
        prop_assert_eq!(cursor.string_2(), Ok(&c[..]));
        prop_assert!(cursor.int_1().is_err());
    }
}
