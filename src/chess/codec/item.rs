//! The items of which records consist. Integers have a fixed width, with the least significant byte
//! first. Strings and move lists begin with their length.
//!
//! The item int-8 is an addition of epdb, because node counts need 8 bytes.

use byteorder::{ByteOrder, LittleEndian};

use super::error::{DecodeError, DecodeErrorKind, EncodeError};

/// A place in a slice of bytes from which items are read. Each length is checked against the bytes
/// that remain.
///
/// ```
/// use epdb_chess::codec::item::Cursor;
/// let mut cursor = Cursor::new(b"\x03Bc4\x05\x00");
/// assert_eq!(cursor.string_1()?, b"Bc4");
/// assert_eq!(cursor.int_2()?, 5);
/// assert!(cursor.int_1().is_err());
/// # Ok::<(), epdb_chess::codec::error::DecodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    /// Begins at the start of a slice.
    pub const fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, offset: 0 }
    }

    /// Number of bytes that were read.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The bytes that have not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// Reads `len` bytes; `what` names the item to which they belong.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Truncated`] if fewer bytes remain; then nothing is read. All other
    /// readers of this type do the same.
    pub fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let taken = self
            .rest()
            .get(..len)
            .ok_or(DecodeError::new(self.bytes.len(), DecodeErrorKind::Truncated(what)))?;
        self.offset += len;
        Ok(taken)
    }

    /// Reads an int-1: one byte.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn int_1(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1, "an int-1")?[0])
    }

    /// Reads an int-2: two bytes.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn int_2(&mut self) -> Result<u16, DecodeError> {
        self.take(2, "an int-2").map(LittleEndian::read_u16)
    }

    /// Reads an int-4: four bytes.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn int_4(&mut self) -> Result<u32, DecodeError> {
        self.take(4, "an int-4").map(LittleEndian::read_u32)
    }

    /// Reads an int-8: eight bytes.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn int_8(&mut self) -> Result<u64, DecodeError> {
        self.take(8, "an int-8").map(LittleEndian::read_u64)
    }

    /// Reads a string-1: at most 255 bytes.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn string_1(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.int_1()?;
        self.take(len.into(), "a string-1")
    }

    /// Reads a string-2: at most 65,535 bytes.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn string_2(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.int_2()?;
        self.take(len.into(), "a string-2")
    }

    /// Reads a string-4: at most 4,294,967,295 bytes.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn string_4(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.int_4()?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX), "a string-4")
    }

    /// Reads an mvseq-1: at most 255 move ordinals in playing order.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn mvseq_1(&mut self) -> Result<&'a [u8], DecodeError> {
        let count = self.int_1()?;
        self.take(count.into(), "an mvseq-1")
    }

    /// Reads an mvseq-2: at most 65,535 move ordinals in playing order.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`].
    pub fn mvseq_2(&mut self) -> Result<&'a [u8], DecodeError> {
        let count = self.int_2()?;
        self.take(count.into(), "an mvseq-2")
    }

    /// Reads an mvset-1: at most 255 different move ordinals in ascending order.
    ///
    /// # Errors
    /// The errors of [`Cursor::take`]. [`DecodeErrorKind::NonCanonical`] if the ordinals do not ascend.
    pub fn mvset_1(&mut self) -> Result<&'a [u8], DecodeError> {
        let start = self.offset;
        let count = self.int_1()?;
        let set = self.take(count.into(), "an mvset-1")?;
        match set.windows(2).position(|pair| pair[0] >= pair[1]) {
            Some(place) => Err(DecodeError::new(
                start + 2 + place,
                DecodeErrorKind::NonCanonical("the ordinals of a set ascend"),
            )),
            None => Ok(set),
        }
    }

    /// Makes an error at the place of the next byte.
    pub(crate) const fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(self.offset, kind)
    }
}

/// Converts a signed number to an unsigned number. Numbers near 0 become small numbers: 0, -1, 1,
/// -2 become 0, 1, 2, 3.
pub const fn fold_sign(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Converts the result of [`fold_sign`] back to the signed number.
pub const fn unfold_sign(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

/// Appends items to bytes.
pub trait PutItems {
    /// Appends an int-2.
    fn put_int_2(&mut self, value: u16);
    /// Appends an int-4.
    fn put_int_4(&mut self, value: u32);
    /// Appends an int-8.
    fn put_int_8(&mut self, value: u64);
    /// Appends the length as one byte, and then the bytes: a string-1 or an mvseq-1, or an mvset-1
    /// if the bytes ascend.
    ///
    /// # Errors
    /// [`EncodeError::LimitExceeded`] if there are more than 255 bytes.
    fn put_sized_1(&mut self, bytes: &[u8]) -> Result<(), EncodeError>;
    /// Appends the length as two bytes, and then the bytes: a string-2 or an mvseq-2.
    ///
    /// # Errors
    /// [`EncodeError::LimitExceeded`] if there are more than 65,535 bytes.
    fn put_sized_2(&mut self, bytes: &[u8]) -> Result<(), EncodeError>;
    /// Appends the length as four bytes, and then the bytes: a string-4.
    ///
    /// # Errors
    /// [`EncodeError::LimitExceeded`] if there are more than 4,294,967,295 bytes.
    fn put_sized_4(&mut self, bytes: &[u8]) -> Result<(), EncodeError>;
}

impl PutItems for Vec<u8> {
    fn put_int_2(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_int_4(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_int_8(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_sized_1(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let len = u8::try_from(bytes.len()).map_err(|_| too_long(bytes, u8::MAX.into()))?;
        self.push(len);
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn put_sized_2(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let len = u16::try_from(bytes.len()).map_err(|_| too_long(bytes, u16::MAX.into()))?;
        self.put_int_2(len);
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn put_sized_4(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let len = u32::try_from(bytes.len()).map_err(|_| too_long(bytes, u32::MAX.into()))?;
        self.put_int_4(len);
        self.extend_from_slice(bytes);
        Ok(())
    }
}

fn too_long(bytes: &[u8], limit: u64) -> EncodeError {
    EncodeError::LimitExceeded { what: "bytes of an item", found: bytes.len() as u64, limit }
}
