//! Blocks: the entries of all positions whose keys fall into one part of the key space, sorted by
//! key. The format is `formats/store.md`.
//!
//! A block is divided once more into buckets of about [`ENTRIES_PER_BUCKET`] entries, which a
//! directory finds without a search. A bucket carries one byte of every entry's key and one
//! checksum over all it holds; so a lookup touches a directory line and one bucket, and a checksum
//! costs a third of a byte an entry.

use super::schema::{Digest, holds, spread};

/// How many entries share a bucket on average.
pub(super) const ENTRIES_PER_BUCKET: usize = 12;

const HEADER: usize = 24;
const ENTRY_COUNT: usize = 0;
const BUCKET_COUNT: usize = 4;
const WIDTH: usize = 8;
const ZEROS: usize = 9;
const HEADER_CRC: usize = 12;
const COMMIT: usize = 16;
/// Bytes of a checksum, and of an offset in the directory.
const WORD: usize = 4;

/// Length codes of entries: from 1 to 254 the length of the record itself.
const STUB: u8 = 0;
const LONG: u8 = 255;

/// What is wrong with bytes that should be a block or a bucket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Damage(pub(super) &'static str);

type Result<T> = std::result::Result<T, Damage>;

/// Where in a block a key belongs.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot {
    pub(super) bucket: u32,
    /// The next eight bits of the key's fraction.
    pub(super) fingerprint: u8,
}

impl Slot {
    /// The slot of a fraction of a block (see [`spread`]) in a block of so many buckets.
    pub(super) fn of(fraction: u64, buckets: u32) -> Slot {
        let (bucket, rest) = spread(fraction, buckets.into());
        Slot { bucket: bucket as u32, fingerprint: (rest >> 56) as u8 }
    }
}

/// What an entry holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Payload<'a> {
    /// An encoded record.
    Record(&'a [u8]),
    /// The records of this position are in the table of crowded positions.
    Stub(Stub<'a>),
}

/// What a block keeps of a crowded position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Stub<'a> {
    /// The packed identity board.
    pub(super) board: &'a [u8],
    pub(super) records: u64,
    /// Sum of the lengths of the encoded records.
    pub(super) bytes: u64,
    /// The checksum that the first chunk carries.
    pub(super) first_crc: u32,
    /// Sum of the digests of the chunks.
    pub(super) digest: Digest,
}

/// What follows the board of a stub.
const STUB_TAIL: usize = 8 + 8 + 4 + 16;

/// One entry of a bucket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry<'a> {
    pub(super) fingerprint: u8,
    /// 0 for a stub.
    pub(super) import_number: u64,
    pub(super) payload: Payload<'a>,
}

impl Payload<'_> {
    /// How many bytes the entry takes in a bucket, its share of the bucket's frame included.
    pub(super) fn entry_len(&self, width: u8) -> usize {
        let own = match self {
            Payload::Record(record) => record.len() + if record.len() < 255 { 0 } else { WORD },
            Payload::Stub(stub) => 1 + stub.board.len() + STUB_TAIL,
        };
        2 + usize::from(width) + own
    }
}

/// The bytes that an import number below `next` takes, at least one.
pub(super) fn width_of(next: u64) -> u8 {
    (u64::BITS - next.saturating_sub(1).leading_zeros()).div_ceil(8).max(1) as u8
}

/// What the header of a block says that a lookup needs.
#[derive(Copy, Clone)]
pub(super) struct Shape {
    pub(super) buckets: u32,
    pub(super) width: u8,
    pub(super) commit: u64,
}

impl Shape {
    /// Reads it from the bytes of a block, which are long enough for the directory it announces.
    pub(super) fn of(bytes: &[u8]) -> Result<Shape> {
        let header = bytes.get(..HEADER).ok_or(Damage("the block is shorter than its header"))?;
        let (buckets, width) = (word(header, BUCKET_COUNT), header[WIDTH]);
        let commit = read_number(&header[COMMIT..]);
        if buckets == 0 {
            return Err(Damage("the block counts no buckets"));
        }
        if !(1..=8).contains(&width) {
            return Err(Damage("the block has an unknown width of import numbers"));
        }
        let shape = Shape { buckets, width, commit };
        if bytes.len() < shape.data_start() {
            return Err(Damage("the block is shorter than its directory"));
        }
        Ok(shape)
    }

    fn data_start(self) -> usize {
        HEADER + self.buckets as usize * WORD
    }
}

/// A view of a block. Nothing is believed of it but what was checked on the way.
#[derive(Copy, Clone)]
pub(super) struct Block<'a> {
    bytes: &'a [u8],
    number: u64,
    shape: Shape,
}

impl<'a> Block<'a> {
    /// Takes the bytes of the block with this number. Only the header is looked at.
    pub(super) fn new(number: u64, bytes: &'a [u8]) -> Result<Block<'a>> {
        Ok(Block { bytes, number, shape: Shape::of(bytes)? })
    }

    /// The same with the header's shape at hand, so that its cache line is not needed.
    pub(super) fn with_shape(number: u64, bytes: &'a [u8], shape: Shape) -> Block<'a> {
        Block { bytes, number, shape }
    }

    /// All of it.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What the header says that a lookup needs.
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// How many entries the block should hold.
    pub(super) fn entry_count(&self) -> u32 {
        word(self.bytes, ENTRY_COUNT)
    }

    /// How many buckets it has.
    pub(super) fn buckets(&self) -> u32 {
        self.shape.buckets
    }

    fn data_start(&self) -> usize {
        self.shape.data_start()
    }

    /// The checksum over header and directory.
    pub(super) fn header_crc(&self) -> u32 {
        word(self.bytes, HEADER_CRC)
    }

    /// Checks header and directory; `announced` is what the store keeps of the header's checksum.
    pub(super) fn check(&self, announced: u32) -> Result<()> {
        let data_start = self.data_start();
        if self.bytes[ZEROS..HEADER_CRC].iter().any(|&byte| byte != 0) {
            return Err(Damage("reserved bytes of the header are not 0"));
        }
        if !holds(header_crc(self.number, &self.bytes[..data_start]), self.header_crc()) {
            return Err(Damage("the checksum of the header does not match"));
        }
        if self.header_crc() != announced {
            return Err(Damage("the store knows another block of this number"));
        }
        match self.bytes[HEADER..data_start].last_chunk() {
            Some(last) if u32::from_le_bytes(*last) as usize == self.bytes.len() - data_start => {
                Ok(())
            }
            _ => Err(Damage("the directory does not end where the block does")),
        }
    }

    /// One bucket, unchecked.
    pub(super) fn bucket(&self, bucket: u32) -> Result<Bucket<'a>> {
        let end_at = HEADER + bucket as usize * WORD;
        let start = if bucket == 0 { 0 } else { word(self.bytes, end_at - WORD) as usize };
        let end = word(self.bytes, end_at) as usize;
        let bytes = self
            .bytes
            .get(self.data_start()..)
            .and_then(|data| data.get(start..end))
            .ok_or(Damage("the directory leads out of the block"))?;
        let (owner, Shape { width, commit, .. }) = (self.number, self.shape);
        Bucket::new(BucketId { owner, bucket, width, commit }, bytes)
    }

    /// All entries in order of their keys, with their buckets, every checksum checked.
    pub(super) fn each_entry(
        &self,
        announced: u32,
        mut visit: impl FnMut(u32, Entry<'a>),
    ) -> Result<()> {
        self.check(announced)?;
        let mut found = 0;
        for number in 0..self.buckets() {
            let bucket = self.bucket(number)?;
            bucket.check()?;
            for entry in bucket.entries() {
                visit(number, entry?);
                found += 1;
            }
        }
        if found != self.entry_count() {
            return Err(Damage("the block counts another number of entries"));
        }
        Ok(())
    }
}

/// A view of a bucket.
#[derive(Copy, Clone)]
pub(super) struct Bucket<'a> {
    crc: u32,
    /// What the checksum covers beside the place.
    body: &'a [u8],
    fingerprints: &'a [u8],
    lengths: &'a [u8],
    entries: &'a [u8],
    place: BucketId,
}

impl<'a> Bucket<'a> {
    /// Takes the bytes of a bucket that belongs to this place.
    pub(super) fn new(place: BucketId, bytes: &'a [u8]) -> Result<Bucket<'a>> {
        let (crc, body) =
            bytes.split_first_chunk().ok_or(Damage("a bucket is shorter than its checksum"))?;
        let crc = u32::from_le_bytes(*crc);
        let (count, arrays) = read_count(body)?;
        let cut = |bytes: &'a [u8]| {
            bytes.split_at_checked(count).ok_or(Damage("a bucket is shorter than its entries"))
        };
        let (fingerprints, rest) = cut(arrays)?;
        let (lengths, entries) = cut(rest)?;
        Ok(Bucket { crc, body, fingerprints, lengths, entries, place })
    }

    /// The checksum that it carries.
    pub(super) fn crc(&self) -> u32 {
        self.crc
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Checks the checksum over all that the bucket holds.
    pub(super) fn check(&self) -> Result<()> {
        if !holds(bucket_crc(self.place, self.body), self.crc) {
            return Err(Damage("the checksum of a bucket does not match"));
        }
        if self.is_empty() && !self.entries.is_empty() {
            return Err(Damage("bytes follow the last entry of a bucket"));
        }
        Ok(())
    }

    /// The entries in order; after an error there are no more.
    pub(super) fn entries(&self) -> Entries<'a> {
        Entries { bucket: *self, next: 0, offset: 0 }
    }

    /// Goes on where [`Entries::place`] was taken.
    pub(super) fn entries_from(&self, (next, offset): (usize, usize)) -> Entries<'a> {
        Entries { bucket: *self, next, offset }
    }
}

/// Iterator over the entries of a bucket.
pub(super) struct Entries<'a> {
    bucket: Bucket<'a>,
    next: usize,
    offset: usize,
}

impl<'a> Entries<'a> {
    /// Where the iterator stands.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.next, self.offset)
    }

    /// Skips to the next entry with this fingerprint; only lengths are looked at.
    pub(super) fn next_with(&mut self, fingerprint: u8) -> Option<Result<Entry<'a>>> {
        loop {
            let wanted = *self.bucket.fingerprints.get(self.next)? == fingerprint;
            let length = self.bucket.lengths[self.next];
            match length {
                STUB | LONG => match self.next()? {
                    Ok(entry) if entry.fingerprint != fingerprint => {}
                    other => return Some(other),
                },
                _ if wanted => return self.next(),
                _ => {
                    self.next += 1;
                    self.offset += usize::from(self.bucket.place.width) + usize::from(length);
                }
            }
        }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let bytes = self
            .bucket
            .entries
            .get(self.offset..)
            .and_then(|rest| rest.get(..len))
            .ok_or(Damage("an entry ends outside its bucket"))?;
        self.offset += len;
        Ok(bytes)
    }

    fn read(&mut self, fingerprint: u8, length: u8) -> Result<Entry<'a>> {
        let import_number = read_number(self.take(self.bucket.place.width.into())?);
        let payload = match length {
            STUB => {
                let board_len = self.take(1)?[0];
                let board = self.take(board_len.into())?;
                let (records, bytes) = (read_number(self.take(8)?), read_number(self.take(8)?));
                let first_crc = read_number(self.take(WORD)?) as u32;
                let (low, high) = (read_number(self.take(8)?), read_number(self.take(8)?));
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
        let last = self.next == self.bucket.lengths.len();
        if last && self.offset != self.bucket.entries.len() {
            return Err(Damage("bytes follow the last entry of a bucket"));
        }
        Ok(Entry { fingerprint, import_number, payload })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>>;

    fn next(&mut self) -> Option<Result<Entry<'a>>> {
        let fingerprint = *self.bucket.fingerprints.get(self.next)?;
        let length = *self.bucket.lengths.get(self.next)?;
        self.next += 1;
        let entry = self.read(fingerprint, length);
        if entry.is_err() {
            self.next = self.bucket.lengths.len();
        }
        Some(entry)
    }
}

/// Writes the entries of one bucket, in order of their keys.
#[derive(Default)]
pub(super) struct BucketWriter {
    fingerprints: Vec<u8>,
    lengths: Vec<u8>,
    entries: Vec<u8>,
}

impl BucketWriter {
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// An upper bound of the bytes that [`BucketWriter::finish`] would write now.
    pub(super) fn len(&self) -> usize {
        2 * WORD + 2 * self.lengths.len() + self.entries.len()
    }

    pub(super) fn push(&mut self, width: u8, entry: Entry) {
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
    pub(super) fn finish(&mut self, place: BucketId, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; WORD]);
        write_count(self.lengths.len() as u32, out);
        for part in [&mut self.fingerprints, &mut self.lengths, &mut self.entries] {
            out.append(part);
        }
        let crc = bucket_crc(place, &out[start + WORD..]);
        out[start..start + WORD].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Writes a block: entries in order of their keys.
pub(super) struct BlockWriter {
    number: u64,
    commit: u64,
    width: u8,
    buckets: u32,
    entries: u32,
    bucket: u32,
    open: BucketWriter,
    /// Header and directory, then the buckets.
    bytes: Vec<u8>,
}

impl BlockWriter {
    /// Begins the block with this number, written by this commit, for about `entries` entries with
    /// import numbers of `width` bytes.
    pub(super) fn new(number: u64, commit: u64, width: u8, entries: usize) -> BlockWriter {
        let buckets = (entries / ENTRIES_PER_BUCKET).clamp(1, u32::MAX as usize) as u32;
        let bytes = vec![0; HEADER + buckets as usize * WORD];
        let open = BucketWriter::default();
        BlockWriter { number, commit, width, buckets, entries: 0, bucket: 0, open, bytes }
    }

    /// Appends the entry of a key, given as its fraction of the block.
    pub(super) fn push(&mut self, fraction: u64, import_number: u64, payload: Payload) {
        let slot = Slot::of(fraction, self.buckets);
        while self.bucket < slot.bucket {
            self.close_bucket();
        }
        self.entries += 1;
        let entry = Entry { fingerprint: slot.fingerprint, import_number, payload };
        self.open.push(self.width, entry);
    }

    fn close_bucket(&mut self) {
        let BlockWriter { number: owner, commit, width, bucket, .. } = *self;
        self.open.finish(BucketId { owner, bucket, width, commit }, &mut self.bytes);
        let data_start = HEADER + self.buckets as usize * WORD;
        let end = (self.bytes.len() - data_start) as u32;
        put_word(&mut self.bytes, HEADER + self.bucket as usize * WORD, end);
        self.bucket += 1;
    }

    /// The bytes of the block, and the checksum of its header.
    pub(super) fn finish(mut self) -> (Vec<u8>, u32) {
        while self.bucket < self.buckets {
            self.close_bucket();
        }
        let data_start = HEADER + self.buckets as usize * WORD;
        put_word(&mut self.bytes, ENTRY_COUNT, self.entries);
        put_word(&mut self.bytes, BUCKET_COUNT, self.buckets);
        self.bytes[WIDTH] = self.width;
        self.bytes[COMMIT..HEADER].copy_from_slice(&self.commit.to_le_bytes());
        let crc = header_crc(self.number, &self.bytes[..data_start]);
        put_word(&mut self.bytes, HEADER_CRC, crc);
        (self.bytes, crc)
    }
}

/// Chunks of the records of one crowded position: the width of import numbers, then a bucket that
/// belongs to the position's key and fills fingerprints with zeros.
pub(super) mod chunk {
    use super::{Bucket, BucketId, BucketWriter, Damage, Entry, Payload, Result};

    const NUMBER: u32 = u32::MAX;

    /// The bucket of a chunk, its checksum checked.
    pub(in super::super) fn read(key: u64, bytes: &[u8]) -> Result<Bucket<'_>> {
        let bucket = open(key, bytes)?;
        bucket.check()?;
        Ok(bucket)
    }

    /// The bucket of a chunk that [`read`] accepted before.
    pub(in super::super) fn bucket(bytes: &[u8]) -> Result<Bucket<'_>> {
        open(0, bytes)
    }

    fn open(key: u64, bytes: &[u8]) -> Result<Bucket<'_>> {
        let (&width, bucket) = bytes.split_first().ok_or(Damage("a chunk is empty"))?;
        if !(1..=8).contains(&width) {
            return Err(Damage("a chunk has an unknown width of import numbers"));
        }
        let bucket = Bucket::new(place(key, width), bucket)?;
        if bucket.is_empty() {
            return Err(Damage("a chunk holds no record"));
        }
        Ok(bucket)
    }

    /// Chunks are told apart by their keys and the digest that their stub keeps, not by a commit.
    fn place(key: u64, width: u8) -> BucketId {
        BucketId { owner: key, bucket: NUMBER, width, commit: 0 }
    }

    /// Appends a record to the bucket of a chunk.
    pub(in super::super) fn push(bucket: &mut BucketWriter, width: u8, number: u64, record: &[u8]) {
        let payload = Payload::Record(record);
        bucket.push(width, Entry { fingerprint: 0, import_number: number, payload });
    }

    /// The bytes of a chunk; the bucket is empty afterwards.
    pub(in super::super) fn finish(bucket: &mut BucketWriter, key: u64, width: u8) -> Vec<u8> {
        let mut bytes = vec![width];
        bucket.finish(place(key, width), &mut bytes);
        bytes
    }
}

/// Where a bucket belongs. Its checksum covers the place, so that bytes from elsewhere, or of an
/// earlier version of the block, do not pass for those of this one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct BucketId {
    /// The number of the block, or the position key of a chunk.
    pub(super) owner: u64,
    pub(super) bucket: u32,
    pub(super) width: u8,
    /// The commit that wrote the block.
    pub(super) commit: u64,
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

fn bucket_crc(place: BucketId, body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&place.to_bytes()), body)
}

fn header_crc(number: u64, header_and_directory: &[u8]) -> u32 {
    let start = crc32c::crc32c(&number.to_le_bytes());
    let start = crc32c::crc32c_append(start, &header_and_directory[..HEADER_CRC]);
    crc32c::crc32c_append(start, &header_and_directory[COMMIT..])
}

/// A little-endian word; 0 where the bytes end, which callers have excluded.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.copied().map_or(0, u32::from_le_bytes)
}

fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + WORD].copy_from_slice(&value.to_le_bytes());
}

/// A little-endian number of at most eight bytes.
fn read_number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A count in groups of seven bits, the lowest first, all but the last with the high bit.
fn write_count(mut count: u32, out: &mut Vec<u8>) {
    while count >= 0x80 {
        out.push(count as u8 | 0x80);
        count >>= 7;
    }
    out.push(count as u8);
}

fn read_count(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let mut count = 0;
    for (place, &byte) in bytes.iter().enumerate().take(5) {
        count |= usize::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return match count {
                _ if place > 0 && byte == 0 => Err(Damage("a count has a needless byte")),
                _ => Ok((count, &bytes[place + 1..])),
            };
        }
    }
    Err(Damage("a count does not end"))
}
