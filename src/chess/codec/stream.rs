//! Streams of records (`.epb`). A stream consists of frames with a checksum, and ends with an end
//! frame. So damage and truncation are found. Two streams, one directly after the other, are a
//! stream too. The format is part of `formats/epd_record.md`.

use std::io::{self, Cursor, Read, Write};
use std::mem::offset_of;
use std::ops::Range;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{DecodeError, DecodeErrorKind, EncodeError};
use super::record;
use crate::error::ErrorKind;
use crate::model::EpdRecord;

/// The first bytes of every frame, and so of every stream.
pub const MAGIC: [u8; 4] = *b"\x8dEPB";

/// The version of the format that is written, which is also the newest that is read.
pub const VERSION: u8 = 1;

/// Maximum length of the payload of a frame with several records, in bytes. A longer record has a
/// separate frame.
pub const FRAME_LEN: usize = 64 << 10;

const RECORDS: u8 = 0;
const END: u8 = 1;
/// Kinds of frames that a reader may skip if it does not know them.
const OPTIONAL: std::ops::RangeInclusive<u8> = 128..=255;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Copy, Clone)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: u8,
    /// [`RECORDS`], [`END`] or one of [`OPTIONAL`].
    kind: u8,
    /// Size in bytes of the payload.
    payload: U32,
    /// Number of records in the payload.
    records: U32,
    /// Number of records of the stream before this frame; in the end frame, of all records.
    records_before: U64,
    /// CRC32C of all fields above and the payload.
    checksum: U32,
}

/// Number of bytes that are read at once to look for a frame.
const SEARCHED: usize = 1 << 16;
const HEADER_LEN: usize = size_of::<Header>();
const CHECKED_LEN: usize = offset_of!(Header, checksum);
const VERSION_OFFSET: u64 = offset_of!(Header, version) as u64;
const KIND_OFFSET: u64 = offset_of!(Header, kind) as u64;
const PAYLOAD_OFFSET: u64 = offset_of!(Header, payload) as u64;
const RECORDS_BEFORE_OFFSET: u64 = offset_of!(Header, records_before) as u64;
const _: () = assert!(HEADER_LEN == 26);

impl Header {
    fn new(kind: u8, payload: &[u8], records: u32, records_before: u64) -> Header {
        let mut header = Header {
            magic: MAGIC,
            version: VERSION,
            kind,
            payload: U32::new(payload.len() as u32),
            records: U32::new(records),
            records_before: U64::new(records_before),
            checksum: U32::ZERO,
        };
        header.checksum = U32::new(header.checksum_with(payload));
        header
    }

    fn checksum_with(&self, payload: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c(&self.as_bytes()[..CHECKED_LEN]), payload)
    }
}

/// Writes a stream of records in bounded memory.
///
/// ```
/// use epdb_chess::codec::stream::{Reader, Writer};
/// use epdb_chess::model::{EpdRecord, Position};
/// let mut writer = Writer::new(Vec::new());
/// writer.write(&EpdRecord::new(Position::START))?;
/// let bytes = writer.finish()?;
/// let records: Vec<EpdRecord> = Reader::new(&bytes[..]).collect::<Result<_, _>>()?;
/// assert_eq!(records, [EpdRecord::new(Position::START)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: W,
    payload: Vec<u8>,
    /// Number of records in the payload.
    records: u32,
    /// Number of records in the frames that were written.
    records_before: u64,
}

/// Error of writing a record to a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The record cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

crate::error::error_from!(
    ReadError: |error| match error {
        ReadError::Io { error, .. } => error.kind().into(),
        ReadError::Decode { error, .. } => error.error_kind(),
    },
    WriteError: |error| match error {
        WriteError::Io(error) => error.kind().into(),
        WriteError::Encode(_) => ErrorKind::Other,
    },
);

impl<W: Write> Writer<W> {
    /// Begins a stream. Nothing is written until the first frame is full or the stream is finished,
    /// so `output` need not be buffered.
    pub const fn new(output: W) -> Writer<W> {
        Writer { output, payload: Vec::new(), records: 0, records_before: 0 }
    }

    /// Appends a record.
    ///
    /// # Errors
    /// After [`WriteError::Encode`] the stream is as before the call; after [`WriteError::Io`] the
    /// output is incomplete.
    pub fn write(&mut self, record: &EpdRecord) -> Result<(), WriteError> {
        let start = self.payload.len();
        record::encode(record, &mut self.payload)?;
        Ok(self.count_record(start)?)
    }

    /// Appends a record that is already encoded. Its bytes are not checked.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn write_encoded(&mut self, record: &[u8]) -> io::Result<()> {
        let start = self.payload.len();
        self.payload.extend_from_slice(record);
        self.count_record(start)
    }

    /// Does the same as [`Writer::write_encoded`], for several records, one directly after another.
    /// `ends` are the offsets at which the records end.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn write_all_encoded(&mut self, bytes: &[u8], ends: &[usize]) -> io::Result<()> {
        let mut start = 0;
        let mut rest = ends;
        while let Some(&first) = rest.first() {
            let room = FRAME_LEN.saturating_sub(self.payload.len());
            let fit = rest.partition_point(|end| end - start <= room);
            match rest[..fit].last() {
                Some(&end) => {
                    self.payload.extend_from_slice(&bytes[start..end]);
                    self.records += fit as u32;
                    start = end;
                    rest = &rest[fit..];
                }
                None => {
                    self.write_encoded(&bytes[start..first])?;
                    start = first;
                    rest = &rest[1..];
                }
            }
        }
        Ok(())
    }

    /// Ends the stream, flushes the output and returns it.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_frame(self.payload.len())?;
        let end = Header::new(END, &[], 0, self.records_before);
        self.output.write_all(end.as_bytes())?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Counts the record that begins at the place `start` of the payload. If the record does not
    /// fit into the frame, the records before it are written first.
    fn count_record(&mut self, start: usize) -> io::Result<()> {
        if self.payload.len() > FRAME_LEN {
            self.write_frame(start)?;
        }
        self.records += 1;
        Ok(())
    }

    /// Writes the first `len` bytes of the payload as a frame. These bytes must hold
    /// exactly the records that were counted.
    fn write_frame(&mut self, len: usize) -> io::Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let header = Header::new(RECORDS, &self.payload[..len], self.records, self.records_before);
        self.output.write_all(header.as_bytes())?;
        self.output.write_all(&self.payload[..len])?;
        self.payload.drain(..len);
        self.records_before += u64::from(self.records);
        self.records = 0;
        Ok(())
    }
}

/// Error of reading a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input failed.
    #[error("byte {offset}: {error}")]
    Io {
        /// Number of bytes that were read before.
        offset: u64,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The bytes are not a stream of records.
    #[error("frame {frame}, record {record}: {error}")]
    Decode {
        /// The frame, counted from 1.
        frame: u64,
        /// The record that was being read or that would be next, counted from 1.
        record: u64,
        /// The error. Its offset counts from the start of the input.
        error: DecodeError,
    },
}

/// Reads a stream of records, frame by frame. Memory holds one frame, which has at most
/// [`record::MAX_LEN`] bytes. It never exceeds twice the number of bytes that were read from the
/// input.
///
/// The reader is an iterator over decoded records. After the first error it returns nothing.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: R,
    /// Number of bytes that were read from the input.
    offset: u64,
    payload: Vec<u8>,
    /// Number of bytes of the payload that were returned.
    used: usize,
    /// Number of records of the payload that were not returned.
    left: u32,
    frames: u64,
    /// Number of records that were returned, from all streams of the input.
    records: u64,
    /// Number of records of the current stream, up to the end of the payload.
    records_of_stream: u64,
    /// True if the last frame was an end frame.
    ended: bool,
    failed: bool,
    /// Bytes that are read before more of the input is read.
    pushed_back: Cursor<Vec<u8>>,
    /// The bytes of the last frame, if it is damaged.
    damaged: Vec<u8>,
    /// Number of records lost before the current frame; `None` unless frames are being skipped.
    lost: Option<u64>,
}

/// Damaged bytes of a stream: one frame or several frames. See [`Reader::skip_damage`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostFrames {
    /// Number of the first frame, from 1.
    pub frame: u64,
    /// The bytes in the input.
    pub bytes: Range<u64>,
    /// Number of records that are lost; `None` if no frame of the same stream follows.
    pub records: Option<u64>,
}

impl<R: Read> Reader<R> {
    /// Reads from the start of a stream. The input is read in large pieces.
    pub const fn new(input: R) -> Reader<R> {
        Reader {
            input,
            offset: 0,
            payload: Vec::new(),
            used: 0,
            left: 0,
            frames: 0,
            records: 0,
            records_of_stream: 0,
            ended: false,
            failed: false,
            pushed_back: Cursor::new(Vec::new()),
            damaged: Vec::new(),
            lost: None,
        }
    }

    /// Reads the next record; `None` after the last stream.
    ///
    /// # Errors
    /// [`ReadError`] if the input fails, is damaged or ends too early. Records that were returned
    /// before are right.
    pub fn next_record(&mut self) -> Result<Option<EpdRecord>, ReadError> {
        if self.failed || !self.read_up_to_record()? {
            return Ok(None);
        }
        let (record, len) =
            record::decode(&self.payload[self.used..]).map_err(|error| self.in_payload(error))?;
        self.step(len)?;
        Ok(Some(record))
    }

    /// Returns the bytes of the next record; `None` after the last stream. The checksum of the
    /// frame is right, and the lengths in the bytes are those of a record. Only decoding shows
    /// whether the bytes are a valid record.
    ///
    /// # Errors
    /// The errors of [`Reader::next_record`].
    pub fn next_encoded(&mut self) -> Result<Option<&[u8]>, ReadError> {
        if self.failed || !self.read_up_to_record()? {
            return Ok(None);
        }
        let start = self.used;
        let len = record::len_of(&self.payload[start..]).map_err(|error| self.in_payload(error))?;
        self.step(len)?;
        Ok(Some(&self.payload[start..start + len]))
    }

    /// Moves over a record of the payload.
    fn step(&mut self, len: usize) -> Result<(), ReadError> {
        self.used += len;
        self.left -= 1;
        if self.left == 0 && self.used < self.payload.len() {
            let kind = DecodeErrorKind::Corrupt("end of a frame");
            return Err(self.in_payload(DecodeError::new(0, kind)));
        }
        self.records += 1;
        Ok(())
    }

    /// Reads frames until the payload has a record that was not returned, if it has none. False at
    /// the end of the input.
    fn read_up_to_record(&mut self) -> Result<bool, ReadError> {
        while self.left == 0 {
            if !self.read_frame()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a frame; false at the end of the input.
    fn read_frame(&mut self) -> Result<bool, ReadError> {
        let start = self.offset;
        let mut bytes = [0; HEADER_LEN];
        match self.read_up_to(&mut bytes)? {
            0 if self.ended => return Ok(false),
            HEADER_LEN => {}
            read => {
                self.damaged = bytes[..read].to_vec();
                return Err(self.fail(self.offset, DecodeErrorKind::Truncated("a frame")));
            }
        }
        self.frames += 1;
        self.payload.clear();
        self.used = 0;
        let header: Header = zerocopy::transmute!(bytes);
        let read = self.check(start, &header).and_then(|()| self.read_payload(start, &header));
        if read.is_err() {
            self.damaged = bytes.to_vec();
            self.damaged.append(&mut self.payload);
        }
        read?;
        self.ended = header.kind == END;
        self.left = header.records.get();
        if OPTIONAL.contains(&header.kind) {
            self.payload.clear();
        }
        self.records_of_stream = match header.kind {
            END => 0,
            _ => self.records_of_stream + u64::from(self.left),
        };
        Ok(true)
    }

    /// Refuses a header that no writer writes, before memory is allocated for its payload.
    fn check(&mut self, start: u64, header: &Header) -> Result<(), ReadError> {
        let payload = header.payload.get();
        let records = header.records.get();
        if header.magic != MAGIC {
            return Err(self.fail(start, DecodeErrorKind::Corrupt("frame of a record stream")));
        }
        if header.version != VERSION {
            let kind =
                DecodeErrorKind::UnsupportedVersion { found: header.version, supported: VERSION };
            return Err(self.fail(start + VERSION_OFFSET, kind));
        }
        let kind = header.kind;
        let is_sound = match kind {
            RECORDS => payload > 0 && records > 0,
            END => payload == 0 && records == 0,
            _ if OPTIONAL.contains(&kind) => records == 0,
            _ => {
                let kind = DecodeErrorKind::Reserved { what: "kind of frame", value: kind };
                return Err(self.fail(start + KIND_OFFSET, kind));
            }
        };
        if !is_sound {
            return Err(self.fail(start + KIND_OFFSET, DecodeErrorKind::Corrupt("kind of frame")));
        }
        let is_of_several = kind == RECORDS && records > 1;
        let limit = if is_of_several { FRAME_LEN } else { record::MAX_LEN };
        if payload as usize > limit {
            let kind = DecodeErrorKind::LimitExceeded {
                what: "bytes of payload",
                found: payload.into(),
                limit: limit as u64,
            };
            return Err(self.fail(start + PAYLOAD_OFFSET, kind));
        }
        Ok(())
    }

    fn read_payload(&mut self, start: u64, header: &Header) -> Result<(), ReadError> {
        let len = header.payload.get();
        self.payload.clear();
        self.used = 0;
        let input = (&mut self.pushed_back).chain(&mut self.input);
        let read = input.take(len.into()).read_to_end(&mut self.payload);
        self.offset += self.payload.len() as u64;
        if let Err(error) = read {
            return Err(self.fail_io(error));
        }
        if self.payload.len() < len as usize {
            return Err(self.fail(self.offset, DecodeErrorKind::Truncated("a frame")));
        }
        let stored = header.checksum.get();
        let computed = header.checksum_with(&self.payload);
        if stored != computed && !cfg!(fuzzing) {
            return Err(self.fail(start, DecodeErrorKind::Checksum { stored, computed }));
        }
        let found = header.records_before.get();
        let expected = self.records_of_stream;
        if self.lost.is_some() {
            // A frame of another stream may follow, if the end of this one is damaged.
            self.lost = found.checked_sub(expected);
            self.records_of_stream = found;
        } else if found != expected {
            let kind = DecodeErrorKind::Sequence { found, expected };
            return Err(self.fail(start + RECORDS_BEFORE_OFFSET, kind));
        }
        Ok(())
    }

    fn read_up_to(&mut self, bytes: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while filled < bytes.len() {
            let mut input = (&mut self.pushed_back).chain(&mut self.input);
            match input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail_io(error)),
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    /// Continues after a damaged frame, at the next frame whose checksum is right. Returns the lost
    /// frames. The next call of [`Reader::next_record`] continues after the damage, if such a frame
    /// was found.
    ///
    /// # Errors
    /// The input fails.
    pub fn skip_damage(&mut self) -> Result<LostFrames, ReadError> {
        let mut bytes = std::mem::take(&mut self.damaged);
        let start = self.offset - bytes.len() as u64;
        let frame = self.frames.max(1);
        self.left = 0;
        // The first byte belongs to no other frame.
        if bytes.is_empty() {
            bytes.push(0);
        }
        loop {
            // The frame that began with the first byte is damaged, so the next one begins later.
            let found = bytes.get(1..).and_then(|rest| memchr::memmem::find(rest, &MAGIC));
            let Some(found) = found else {
                // A part of the magic bytes may be at the end.
                let len = bytes.len().min(MAGIC.len());
                bytes.drain(..bytes.len() - len);
                bytes.resize(len + SEARCHED, 0);
                let read = self.read_up_to(&mut bytes[len..])?;
                bytes.truncate(len + read);
                if read == 0 {
                    return Ok(LostFrames { frame, bytes: start..self.offset, records: None });
                }
                continue;
            };
            bytes.drain(..=found);
            self.offset -= bytes.len() as u64;
            let place = self.pushed_back.position() as usize;
            bytes.extend_from_slice(&self.pushed_back.get_ref()[place..]);
            self.pushed_back = Cursor::new(std::mem::take(&mut bytes));
            let end = self.offset;
            self.failed = false;
            self.lost = Some(0);
            match self.read_frame() {
                Ok(_) => {
                    let records = self.lost.take();
                    self.records += records.unwrap_or(0);
                    return Ok(LostFrames { frame, bytes: start..end, records });
                }
                Err(ReadError::Decode { .. }) => {
                    self.lost = None;
                    bytes = std::mem::take(&mut self.damaged);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes an error about the part of the payload that was not returned.
    fn in_payload(&mut self, error: DecodeError) -> ReadError {
        let rest = (self.payload.len() - self.used) as u64;
        let DecodeError { offset, kind } = error.after(self.offset - rest);
        self.fail(offset, kind)
    }

    fn fail(&mut self, offset: u64, kind: DecodeErrorKind) -> ReadError {
        self.failed = true;
        let error = DecodeError { offset, kind };
        ReadError::Decode { frame: self.frames.max(1), record: self.records + 1, error }
    }

    fn fail_io(&mut self, error: io::Error) -> ReadError {
        self.failed = true;
        ReadError::Io { offset: self.offset, error }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<EpdRecord, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}
