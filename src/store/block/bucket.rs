//! Buckets. A bucket has the entries of one part of a block's key range, and one checksum for all
//! of them. An entry is a record, or the stub of an overflow position (one with more records than
//! fit into a block).

use std::ops::Range;

use crate::schema::{Digest, holds};
use epdb_chess::simd::byte_eq_mask;

/// Size in bytes of a checksum, and of an offset in the directory.
pub(super) const WORD: usize = 4;

/// Description of damage in a block or a bucket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Damage(pub(crate) &'static str);

/// Result of reading a block or a bucket.
pub(super) type Result<T> = std::result::Result<T, Damage>;

/// Range of `part` within `whole`. `part` must be a slice of `whole`; `0..0` if `part` is empty.
pub(crate) fn range_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.first().and_then(|first| whole.element_offset(first)).unwrap_or_default();
    start..start + part.len()
}

/// Reads a little-endian word of 32 bits. Past the end of the bytes the result is 0; callers make
/// sure that the word lies within the bytes.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.copied().map_or(0, u32::from_le_bytes)
}

pub(super) fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + WORD].copy_from_slice(&value.to_le_bytes());
}

/// A little-endian number of at most eight bytes.
pub(super) fn read_number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Writes a count in groups of seven bits, the lowest first; all but the last have the high bit.
pub(super) fn write_count(mut count: u32, out: &mut Vec<u8>) {
    while count >= 0x80 {
        out.push(count as u8 | 0x80);
        count >>= 7;
    }
    out.push(count as u8);
}

pub(super) fn read_count(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let mut count = 0;
    for (place, &byte) in bytes.iter().enumerate().take(5) {
        count |= usize::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            if byte == 0 && place > 0 {
                return Err(Damage("a count has a needless byte"));
            }
            return Ok((count, &bytes[place + 1..]));
        }
    }
    Err(Damage("a count does not end"))
}

/// Content of an entry.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Payload<'a> {
    /// An encoded record.
    Record(&'a [u8]),
    /// The stub of a position. The records of the position are in the table of overflow positions.
    Stub(Stub<'a>),
}

/// Entry of an overflow position in its block. An overflow position has more records than fit into
/// a block, so its records are in chunks in another table.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stub<'a> {
    /// The packed identity board.
    pub board: &'a [u8],
    pub records: u64,
    /// Sum of the lengths of the encoded records.
    pub(crate) bytes: u64,
    /// Checksum of the first chunk.
    pub(crate) first_crc: u32,
    /// Sum of the digests of the chunks.
    pub digest: Digest,
}

impl Stub<'_> {
    /// Stub without a board or a record.
    pub(crate) const EMPTY: Stub<'static> =
        Stub { board: &[], records: 0, bytes: 0, first_crc: 0, digest: Digest(0) };
}

/// Length of a stub after its board.
const STUB_TAIL: usize = 8 + 8 + 4 + 16;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct BucketEntry<'a> {
    pub fingerprint: u8,
    /// Import number of the record; 0 for a stub.
    pub import_number: u64,
    pub payload: Payload<'a>,
}

impl Payload<'_> {
    /// Number of bytes that the entry takes in a bucket, with those of its fingerprint and length.
    pub(crate) fn entry_len(&self, width: u8) -> usize {
        let own = match self {
            Payload::Record(record) => record.len() + if record.len() < 255 { 0 } else { WORD },
            Payload::Stub(stub) => 1 + stub.board.len() + STUB_TAIL,
        };
        2 + usize::from(width) + own
    }
}

/// Width of import numbers in bytes, at least 1. It is enough for all import numbers below `next`.
pub(crate) fn width_of(next: u64) -> u8 {
    (u64::BITS - next.saturating_sub(1).leading_zeros()).div_ceil(8).max(1) as u8
}

/// Length code of a stub. A code from 1 to 254 is the length of the record itself.
const STUB: u8 = 0;
/// Length code of a record whose length follows as a word.
const LONG: u8 = 255;

/// Identity of a bucket. The checksum of the bucket covers the identity. So bytes from another
/// place, or from an earlier version of the block, are not accepted as this bucket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct BucketId {
    /// The number of the block that has the bucket. If the bucket is a chunk of an overflow
    /// position, the owner is the key of that position instead.
    pub owner: u64,
    pub bucket: u32,
    pub width: u8,
    /// The commit that wrote the block.
    pub commit: u64,
}

impl BucketId {
    fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.owner.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.bucket.to_le_bytes());
        bytes[12] = self.width;
        bytes[16..].copy_from_slice(&self.commit.to_le_bytes());
        bytes
    }
}

fn bucket_crc(id: BucketId, body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&id.to_bytes()), body)
}

#[derive(Copy, Clone)]
pub(crate) struct Bucket<'a> {
    crc: u32,
    /// The bytes that the checksum covers in addition to the identity of the bucket.
    body: &'a [u8],
    count: usize,
    /// Fingerprints, lengths, entries.
    arrays: &'a [u8],
    id: BucketId,
}

impl<'a> Bucket<'a> {
    /// Makes a view of the bucket with this identity.
    #[inline]
    pub(crate) fn new(id: BucketId, bytes: &'a [u8]) -> Result<Bucket<'a>> {
        let (crc, body) =
            bytes.split_first_chunk().ok_or(Damage("a bucket is shorter than its checksum"))?;
        let crc = u32::from_le_bytes(*crc);
        let (count, arrays) = read_count(body)?;
        if arrays.len() < 2 * count {
            return Err(Damage("a bucket is shorter than its entries"));
        }
        Ok(Bucket { crc, body, count, arrays, id })
    }

    /// Checksum stored in the bucket.
    pub(crate) fn crc(&self) -> u32 {
        self.crc
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The fingerprint and the length code of an entry.
    #[inline]
    fn entry(&self, nth: usize) -> Option<(u8, u8)> {
        let length = self.count.checked_add(nth).and_then(|at| self.arrays.get(at))?;
        self.arrays[..self.count].get(nth).map(|&fingerprint| (fingerprint, *length))
    }

    #[inline]
    fn entries_bytes(&self) -> &'a [u8] {
        &self.arrays[2 * self.count..]
    }

    /// Checks the checksum over the whole bucket.
    pub(crate) fn check(&self) -> Result<()> {
        if !holds(bucket_crc(self.id, self.body), self.crc) {
            return Err(Damage("the checksum of a bucket does not match"));
        }
        if self.is_empty() && !self.arrays.is_empty() {
            return Err(Damage("bytes follow the last entry of a bucket"));
        }
        Ok(())
    }

    /// Iterates over the entries in order, up to the first error.
    pub(crate) fn entries(&self) -> Entries<'a> {
        self.entries_from(BucketCursor::default())
    }

    /// Iterates from a place that [`Entries::cursor`] returned.
    pub(crate) fn entries_from(&self, cursor: BucketCursor) -> Entries<'a> {
        Entries { bucket: *self, cursor }
    }
}

/// A place between the entries of a bucket. The default is the place before the first entry.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct BucketCursor {
    /// The number of the next entry.
    next: usize,
    /// Offset of the bytes of the next entry.
    offset: usize,
}

/// Iterator over the entries of a bucket.
pub(crate) struct Entries<'a> {
    bucket: Bucket<'a>,
    cursor: BucketCursor,
}

impl<'a> Entries<'a> {
    pub(crate) fn cursor(&self) -> BucketCursor {
        self.cursor
    }

    #[inline]
    pub(crate) fn next_with(&mut self, fingerprint: u8) -> Option<Result<BucketEntry<'a>>> {
        match self.skip_to(fingerprint) {
            Ok(true) => self.next(),
            Ok(false) => None,
            Err(damage) => Some(Err(damage)),
        }
    }

    /// Skips to the next entry with this fingerprint; returns false if there is none. Only the
    /// lengths of skipped entries are read.
    #[inline]
    pub(crate) fn skip_to(&mut self, fingerprint: u8) -> Result<bool> {
        loop {
            self.skip_short(fingerprint);
            match self.bucket.entry(self.cursor.next) {
                None => return Ok(false),
                Some((own, _)) if own == fingerprint => return Ok(true),
                Some((_, STUB | LONG)) => self.next().transpose().map(drop)?,
                Some(_) => {}
            }
        }
    }

    /// Skips at most [`AT_ONCE`] entries. Stops at an entry with this fingerprint. Also stops at an
    /// entry with a special length code: a stub or a long record.
    // A loop over the entries would end at a branch that the processor cannot predict. There is no
    // such branch, because 16 fingerprints are compared at once and the lengths are masked and
    // added.
    #[inline]
    fn skip_short(&mut self, fingerprint: u8) {
        let Bucket { count, arrays, id, .. } = self.bucket;
        let next = self.cursor.next;
        let lengths = word_at(arrays, count + next);
        let ends = byte_eq_mask(word_at(arrays, next), fingerprint)
            | byte_eq_mask(lengths, STUB)
            | byte_eq_mask(lengths, LONG);
        let first = (ends | 1 << AT_ONCE).trailing_zeros() as usize;
        let skipped = first.min(count.saturating_sub(next));
        let lengths = lengths & !u128::MAX.unbounded_shl(8 * skipped as u32);
        let bytes: u32 = lengths.to_le_bytes().into_iter().map(u32::from).sum();
        self.cursor.next += skipped;
        self.cursor.offset += skipped * usize::from(id.width) + bytes as usize;
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let bytes = self
            .bucket
            .entries_bytes()
            .get(self.cursor.offset..)
            .and_then(|rest| rest.get(..len))
            .ok_or(Damage("an entry ends outside its bucket"))?;
        self.cursor.offset += len;
        Ok(bytes)
    }

    #[inline]
    fn read(&mut self, fingerprint: u8, length: u8) -> Result<BucketEntry<'a>> {
        let import_number = read_number(self.take(self.bucket.id.width.into())?);
        let payload = match length {
            STUB => {
                let board_len = self.take(1)?[0];
                let board = self.take(board_len.into())?;
                let records = read_number(self.take(8)?);
                let bytes = read_number(self.take(8)?);
                let first_crc = read_number(self.take(WORD)?) as u32;
                let low = read_number(self.take(8)?);
                let high = read_number(self.take(8)?);
                let digest = Digest(u128::from(high) << 64 | u128::from(low));
                Payload::Stub(Stub { board, records, bytes, first_crc, digest })
            }
            LONG => {
                let len = read_number(self.take(WORD)?) as usize;
                if len < LONG.into() {
                    return Err(Damage("a short record has the length of a long one"));
                }
                Payload::Record(self.take(len)?)
            }
            short => Payload::Record(self.take(short.into())?),
        };
        let last = self.cursor.next == self.bucket.count;
        if last && self.cursor.offset != self.bucket.entries_bytes().len() {
            return Err(Damage("bytes follow the last entry of a bucket"));
        }
        Ok(BucketEntry { fingerprint, import_number, payload })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<BucketEntry<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Result<BucketEntry<'a>>> {
        let (fingerprint, length) = self.bucket.entry(self.cursor.next)?;
        self.cursor.next += 1;
        let entry = self.read(fingerprint, length);
        if entry.is_err() {
            self.cursor.next = self.bucket.count;
        }
        Some(entry)
    }
}

/// Number of entries that are skipped at once.
const AT_ONCE: usize = size_of::<u128>();

/// Reads [`AT_ONCE`] bytes from an offset on, with zeros past the end.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u128 {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut word = [0; AT_ONCE];
    match rest.first_chunk() {
        Some(whole) => word = *whole,
        None => word[..rest.len()].copy_from_slice(rest),
    }
    u128::from_le_bytes(word)
}

/// Writes the entries of one bucket, in order of their keys.
#[derive(Default)]
pub(crate) struct BucketWriter {
    fingerprints: Vec<u8>,
    lengths: Vec<u8>,
    entries: Vec<u8>,
}

impl BucketWriter {
    pub(crate) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Upper bound of the number of bytes that [`BucketWriter::finish`] would write now.
    pub(crate) fn len(&self) -> usize {
        2 * WORD + 2 * self.lengths.len() + self.entries.len()
    }

    pub(crate) fn push(&mut self, width: u8, entry: BucketEntry) {
        let number = entry.import_number.to_le_bytes();
        self.fingerprints.push(entry.fingerprint);
        self.entries.extend_from_slice(&number[..width.into()]);
        match entry.payload {
            Payload::Record(record) => {
                match u8::try_from(record.len()) {
                    Ok(len @ 1..=254) => self.lengths.push(len),
                    _ => {
                        self.lengths.push(LONG);
                        self.entries.extend_from_slice(&(record.len() as u32).to_le_bytes());
                    }
                }
                self.entries.extend_from_slice(record);
            }
            Payload::Stub(stub) => {
                self.lengths.push(STUB);
                self.entries.push(stub.board.len() as u8);
                self.entries.extend_from_slice(stub.board);
                self.entries.extend_from_slice(&stub.records.to_le_bytes());
                self.entries.extend_from_slice(&stub.bytes.to_le_bytes());
                self.entries.extend_from_slice(&stub.first_crc.to_le_bytes());
                self.entries.extend_from_slice(&stub.digest.0.to_le_bytes());
            }
        }
    }

    /// Appends the bucket to `out` and begins a new one.
    pub(crate) fn finish(&mut self, id: BucketId, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; WORD]);
        write_count(self.lengths.len() as u32, out);
        for part in [&mut self.fingerprints, &mut self.lengths, &mut self.entries] {
            out.append(part);
        }
        let crc = bucket_crc(id, &out[start + WORD..]);
        out[start..start + WORD].copy_from_slice(&crc.to_le_bytes());
    }
}
