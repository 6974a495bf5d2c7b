//! The side data of a verbatim archive, from which the input is restored. It has the files, the
//! bytes between records, and the differences between lines and their canonical text.
//!
//! A script has an edit for each line: the bytes to remove from the canonical line, and the bytes
//! to insert. Scripts are compressed by zstd, with the canonical text as dictionary.

use std::io::{BufReader, Read, Seek, Write};
use std::ops::Range;

use tempfile::SpooledTempFile;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::damage::Damage;
use super::error::{ArchiveError, Refusal};
use super::file::bytes::{is_one_frame, put_number, put_sized, take_number, take_sized};
use super::file::check;
use super::file::sections::{SectionKind, at_most};
use super::file::sink::Sink;

/// Maximum number of records of a chunk.
const CHUNK_RECORDS: u32 = 4096;
/// Number of bytes of script or text after which a chunk ends.
const CHUNK_BYTES: usize = 1 << 20;
/// Maximum length of a script that a reader accepts, in bytes.
const MAX_SCRIPT: usize = 64 << 20;
/// Maximum number of bytes of all names of files that this reader takes.
const MAX_NAMES: u64 = 16 << 20;
const LEVEL: i32 = 12;
/// Number of bytes that are kept in memory before a temporary file is used.
const IN_MEMORY: usize = 4 << 20;

const PART: &str = "side data";

#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ChunkHead {
    records: U32,
    script_len: U32,
    packed_len: U32,
    /// CRC32C of the packed script.
    packed_check: U32,
    check: U32,
}

impl ChunkHead {
    /// CRC32C of the chunk's place and of the preceding fields.
    fn check(&self, identity: u32, number: u64) -> u32 {
        let bytes = self.as_bytes();
        check::placed(identity, number, &bytes[..bytes.len() - size_of::<U32>()])
    }
}

/// Steps of a script. The numbers that follow them are LEB128.
mod step {
    /// The next N records are canonical.
    pub(super) const CANONICAL: u8 = 0;
    /// An edit. First comes the number of bytes that stay at the end of the line, then the number
    /// of bytes to remove before them. Last come the bytes to insert, with their length in front.
    pub(super) const EDIT: u8 = 1;
    /// Bytes that belong to no record. Their length comes first.
    pub(super) const ASIDE: u8 = 3;
    /// The next file begins here.
    pub(super) const FILE: u8 = 4;
}

/// Difference of a line from the canonical line. All bytes before the dropped ones stay too.
struct Edit {
    /// Number of bytes that stay at the end of the line.
    kept: usize,
    /// Number of bytes before them that are dropped.
    dropped: usize,
    /// The bytes in place of the dropped ones.
    put_in: Vec<u8>,
}

impl Edit {
    fn between(canonical: &[u8], raw: &[u8]) -> Edit {
        let same_at_end =
            canonical.iter().rev().zip(raw.iter().rev()).take_while(|(a, b)| a == b).count();
        // No byte may count at both ends.
        let max = canonical.len().min(raw.len()) - same_at_end;
        let same_at_start = canonical.iter().zip(raw).take(max).take_while(|(a, b)| a == b).count();
        Edit {
            kept: same_at_end,
            dropped: canonical.len() - same_at_end - same_at_start,
            put_in: raw[same_at_start..raw.len() - same_at_end].to_vec(),
        }
    }

    fn take(script: &mut &[u8]) -> Option<Edit> {
        Some(Edit {
            kept: usize::try_from(take_number(script)?).ok()?,
            dropped: usize::try_from(take_number(script)?).ok()?,
            put_in: take_sized(script)?.to_vec(),
        })
    }

    fn apply(&self, canonical: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let (head, tail) = canonical.split_at(canonical.len().checked_sub(self.kept)?);
        out.extend_from_slice(head.get(..head.len().checked_sub(self.dropped)?)?);
        out.extend_from_slice(&self.put_in);
        out.extend_from_slice(tail);
        Some(())
    }
}

/// Collects side data while records are packed.
pub(super) struct VerbatimWriter {
    spool: SpooledTempFile,
    /// Names of the files. Each name follows its length.
    names: Vec<u8>,
    files: u32,
    script: Vec<u8>,
    canonical: Vec<u8>,
    records: u32,
    /// Number of canonical records since the last step that was written.
    run: u64,
}

impl VerbatimWriter {
    pub(super) fn new() -> VerbatimWriter {
        VerbatimWriter {
            spool: tempfile::spooled_tempfile(IN_MEMORY),
            names: Vec::new(),
            files: 0,
            script: Vec::new(),
            canonical: Vec::new(),
            records: 0,
            run: 0,
        }
    }

    pub(super) fn file(&mut self, name: &str) -> Result<(), ArchiveError> {
        self.files = self.files.checked_add(1).ok_or(ArchiveError::LimitExceeded {
            what: "files",
            found: 1 << 32,
            limit: u32::MAX.into(),
        })?;
        put_sized(name.as_bytes(), &mut self.names);
        // A chunk of its own, so that damage of one file is no damage of others.
        self.end_chunk()?;
        self.script.push(step::FILE);
        self.end_if_full()
    }

    /// Begins a file without a name if there is none yet.
    fn need_file(&mut self) -> Result<(), ArchiveError> {
        if self.files == 0 { self.file("-") } else { Ok(()) }
    }

    /// Adds bytes that belong to no record.
    pub(super) fn aside(&mut self, raw: &[u8]) -> Result<(), ArchiveError> {
        self.need_file()?;
        for piece in raw.chunks(CHUNK_BYTES) {
            self.end_run();
            self.script.push(step::ASIDE);
            put_sized(piece, &mut self.script);
            self.end_if_full()?;
        }
        Ok(())
    }

    /// Adds the next record: its bytes, and its canonical line with the line feed.
    pub(super) fn record(&mut self, canonical: &[u8], raw: &[u8]) -> Result<(), ArchiveError> {
        self.need_file()?;
        self.canonical.extend_from_slice(canonical);
        self.records += 1;
        if canonical == raw {
            self.run += 1;
            return self.end_if_full();
        }
        self.end_run();
        let edit = Edit::between(canonical, raw);
        self.script.push(step::EDIT);
        put_number(edit.kept as u64, &mut self.script);
        put_number(edit.dropped as u64, &mut self.script);
        put_sized(&edit.put_in, &mut self.script);
        self.end_if_full()
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            self.script.push(step::CANONICAL);
            put_number(self.run, &mut self.script);
            self.run = 0;
        }
    }

    fn end_if_full(&mut self) -> Result<(), ArchiveError> {
        let bytes = self.script.len().max(self.canonical.len());
        if self.records == CHUNK_RECORDS || bytes > CHUNK_BYTES {
            self.end_chunk()?;
        }
        Ok(())
    }

    fn end_chunk(&mut self) -> Result<(), ArchiveError> {
        self.end_run();
        if self.script.is_empty() {
            return Ok(());
        }
        let mut compressor = zstd::bulk::Compressor::with_dictionary(LEVEL, &self.canonical)?;
        let packed = compressor.compress(&self.script)?;
        let head = ChunkHead {
            records: self.records.into(),
            script_len: (self.script.len() as u32).into(),
            packed_len: (packed.len() as u32).into(),
            packed_check: crc32c::crc32c(&packed).into(),
            check: 0.into(),
        };
        self.spool.write_all(head.as_bytes())?;
        self.spool.write_all(&packed)?;
        self.script.clear();
        self.canonical.clear();
        self.records = 0;
        Ok(())
    }

    pub(super) fn write_names<W: Write>(&self, out: &mut Sink<W>) -> Result<(), ArchiveError> {
        out.put(&self.files.to_le_bytes())?;
        Ok(out.put(&self.names)?)
    }

    /// Writes the chunks. `identity` is the identity of the archive.
    pub(super) fn finish<W: Write>(
        mut self,
        identity: u32,
        out: &mut Sink<W>,
    ) -> Result<(), ArchiveError> {
        self.end_chunk()?;
        let len = self.spool.stream_position()?;
        self.spool.rewind()?;
        let mut input = BufReader::with_capacity(1 << 16, self.spool);
        let mut done = 0;
        let mut number = 0;
        let mut packed = Vec::new();
        while done < len {
            let mut head = ChunkHead::new_zeroed();
            input.read_exact(head.as_mut_bytes())?;
            packed.resize(head.packed_len.get() as usize, 0);
            input.read_exact(&mut packed)?;
            head.check = head.check(identity, number).into();
            out.put(head.as_bytes())?;
            out.put(&packed)?;
            done += (size_of::<ChunkHead>() + packed.len()) as u64;
            number += 1;
        }
        Ok(())
    }
}

pub(super) fn names(bytes: &[u8]) -> Result<Vec<String>, ArchiveError> {
    at_most("bytes of file names", bytes.len() as u64, MAX_NAMES)?;
    parse_names(bytes).ok_or(ArchiveError::corrupt(SectionKind::FileNames.name()))
}

fn parse_names(bytes: &[u8]) -> Option<Vec<String>> {
    let (count, mut rest) = bytes.split_first_chunk()?;
    let mut names = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let name = take_sized(&mut rest)?;
        names.push(str::from_utf8(name).ok()?.to_string());
    }
    rest.is_empty().then_some(names)
}

/// A piece of the input of a verbatim archive; see [`super::Archive::restore`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Restored<'a> {
    /// A file with this name begins.
    File(&'a str),
    /// The next bytes of the file.
    Bytes(&'a [u8]),
}

/// A piece of the input of a damaged verbatim archive; see [`super::Archive::salvage_files`]. Files
/// are given by the index of their name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SalvagedFile<'a> {
    /// A file begins.
    File(usize),
    /// The next bytes of the file.
    Bytes(&'a [u8]),
    /// A file is damaged. If the file began already, the rest of the file is missing.
    Lost(usize),
}

struct Chunk<'a> {
    number: u64,
    /// Numbers of the records of the chunk.
    records: Range<u64>,
    script_len: usize,
    packed: &'a [u8],
    packed_check: u32,
}

/// Iterator over the chunks of side data. After an error there are no more chunks.
struct Chunks<'a> {
    side: &'a [u8],
    identity: u32,
    number: u64,
    /// Number of records of the chunks so far.
    records: u64,
}

impl<'a> Chunks<'a> {
    const fn new(side: &'a [u8], identity: u32) -> Chunks<'a> {
        Chunks { side, identity, number: 0, records: 0 }
    }

    fn read(&mut self) -> Option<Chunk<'a>> {
        let (head, rest) = ChunkHead::read_from_prefix(self.side).ok()?;
        if !check::holds(head.check(self.identity, self.number), head.check.get()) {
            return None;
        }
        let (packed, rest) = rest.split_at_checked(head.packed_len.get() as usize)?;
        let first = self.records;
        self.side = rest;
        self.number += 1;
        self.records += u64::from(head.records.get());
        Some(Chunk {
            number: self.number - 1,
            records: first..self.records,
            script_len: head.script_len.get() as usize,
            packed,
            packed_check: head.packed_check.get(),
        })
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.side.is_empty() {
            return None;
        }
        Some(self.read().ok_or_else(|| {
            self.side = &[];
            ArchiveError::corrupt_at(PART, self.number)
        }))
    }
}

impl Chunk<'_> {
    fn corrupt(&self) -> ArchiveError {
        ArchiveError::corrupt_at(PART, self.number)
    }

    /// Decompresses the script. Returns it with the canonical text of the records.
    fn open(
        &self,
        memory_bytes: usize,
        text: &mut impl FnMut(Range<u64>, &mut Vec<u8>) -> Result<(), ArchiveError>,
    ) -> Result<(Vec<u8>, Vec<u8>), ArchiveError> {
        // The bytes are copied, because zstd must not see bytes that another process may change.
        let packed = self.packed.to_vec();
        if !check::holds(crc32c::crc32c(&packed), self.packed_check)
            || !is_one_frame(&packed)
            || self.script_len > MAX_SCRIPT
            || self.records.end - self.records.start > CHUNK_RECORDS.into()
        {
            return Err(self.corrupt());
        }
        if self.script_len > memory_bytes {
            return Err(Refusal::Memory.at(PART, self.number));
        }
        let mut canonical = Vec::new();
        if !self.records.is_empty() {
            text(self.records.clone(), &mut canonical)?;
        }
        let script = zstd::bulk::Decompressor::with_dictionary(&canonical)
            .and_then(|mut decompressor| decompressor.decompress(&packed, self.script_len))
            .ok()
            .filter(|script| script.len() == self.script_len)
            .ok_or_else(|| self.corrupt())?;
        // Everything belongs to a file.
        if self.number == 0 && script.first() != Some(&step::FILE) {
            return Err(self.corrupt());
        }
        Ok((script, canonical))
    }

    /// Passes the pieces of the input to `visit`.
    fn restore<'n, E: From<ArchiveError>>(
        &self,
        memory_bytes: usize,
        names: &mut impl Iterator<Item = &'n String>,
        text: &mut impl FnMut(Range<u64>, &mut Vec<u8>) -> Result<(), ArchiveError>,
        visit: &mut impl FnMut(Restored) -> Result<(), E>,
    ) -> Result<(), E> {
        let (script, canonical) = self.open(memory_bytes, text)?;
        let mut lines = canonical.split_inclusive(|&byte| byte == b'\n');
        play(&script, &mut lines, names, visit, || self.corrupt())?;
        if lines.next().is_some() {
            return Err(self.corrupt().into());
        }
        Ok(())
    }
}

/// Restores the input from the side data of an archive with this identity. `text` appends the
/// canonical lines of records. Returns the number of records.
pub(super) fn restore<E: From<ArchiveError>>(
    side: &[u8],
    identity: u32,
    names: &[String],
    memory_bytes: usize,
    mut text: impl FnMut(Range<u64>, &mut Vec<u8>) -> Result<(), ArchiveError>,
    mut visit: impl FnMut(Restored) -> Result<(), E>,
) -> Result<u64, E> {
    let mut names = names.iter();
    let mut chunks = Chunks::new(side, identity);
    for chunk in chunks.by_ref() {
        chunk?.restore(memory_bytes, &mut names, &mut text, &mut visit)?;
    }
    if names.next().is_some() {
        return Err(ArchiveError::corrupt(PART).into());
    }
    Ok(chunks.records)
}

/// Does the same as [`restore`], but continues after damage. A chunk whose records are damaged
/// cannot be decompressed. All files that have a part in such a chunk are lost.
// Chunks do not tell how many files begin in them. So the chunks are read twice: the first time to
// count the files that begin in all sound chunks. The others begin in the damaged ones. If damaged
// chunks are apart, nothing tells where the others begin, so the chunks between are lost too.
pub(super) fn salvage<E: From<ArchiveError>>(
    side: &[u8],
    identity: u32,
    names: &[String],
    memory_bytes: usize,
    mut text: impl FnMut(Range<u64>, &mut Vec<u8>) -> Result<(), ArchiveError>,
    mut visit: impl FnMut(SalvagedFile) -> Result<(), E>,
) -> Result<(), E> {
    // Number of files that begin in each chunk; `None` if it is damaged.
    let mut begun: Vec<Option<usize>> = Vec::new();
    for chunk in Chunks::new(side, identity) {
        let mut files = 0;
        let read = chunk.and_then(|chunk| {
            let any_name = String::new();
            let mut any_names = std::iter::repeat(&any_name);
            chunk.restore(memory_bytes, &mut any_names, &mut text, &mut |piece| {
                files += usize::from(matches!(piece, Restored::File(_)));
                Ok::<(), ArchiveError>(())
            })
        });
        begun.push(Damage::or_none(read)?.map(|()| files));
    }
    let mut begun_in_damaged = names.len().saturating_sub(begun.iter().flatten().sum());
    if begun_in_damaged > 0
        && let Some(first) = begun.iter().position(Option::is_none)
        && let Some(last) = begun.iter().rposition(Option::is_none)
    {
        for chunk in &mut begun[first..last] {
            begun_in_damaged += chunk.take().unwrap_or(0);
        }
    }
    // The file that began last, unless it is lost.
    let mut current = None;
    let mut next = 0;
    for (chunk, begun) in Chunks::new(side, identity).zip(begun) {
        if begun.is_some() {
            let mut rest = names.get(next..).unwrap_or_default().iter();
            chunk?.restore(memory_bytes, &mut rest, &mut text, &mut |piece| match piece {
                Restored::File(_) => {
                    current = Some(next);
                    next += 1;
                    visit(SalvagedFile::File(next - 1))
                }
                Restored::Bytes(_) if current.is_none() => Ok(()),
                Restored::Bytes(bytes) => visit(SalvagedFile::Bytes(bytes)),
            })?;
            continue;
        }
        let end = next + std::mem::take(&mut begun_in_damaged);
        for file in current.take().into_iter().chain(next..end) {
            visit(SalvagedFile::Lost(file))?;
        }
        next = end;
    }
    (next..names.len()).try_for_each(|file| visit(SalvagedFile::Lost(file)))
}

/// Executes a script.
fn play<'a, 'n, E: From<ArchiveError>>(
    mut script: &[u8],
    lines: &mut impl Iterator<Item = &'a [u8]>,
    names: &mut impl Iterator<Item = &'n String>,
    visit: &mut impl FnMut(Restored) -> Result<(), E>,
    corrupt: impl Fn() -> ArchiveError,
) -> Result<(), E> {
    let mut raw = Vec::new();
    while let Some((&kind, rest)) = script.split_first() {
        script = rest;
        match kind {
            step::CANONICAL => {
                for _ in 0..take_number(&mut script).ok_or_else(&corrupt)? {
                    visit(Restored::Bytes(lines.next().ok_or_else(&corrupt)?))?;
                }
            }
            step::EDIT => {
                let edit = Edit::take(&mut script).ok_or_else(&corrupt)?;
                let line = lines.next().ok_or_else(&corrupt)?;
                raw.clear();
                edit.apply(line, &mut raw).ok_or_else(&corrupt)?;
                visit(Restored::Bytes(&raw))?;
            }
            step::ASIDE => visit(Restored::Bytes(take_sized(&mut script).ok_or_else(&corrupt)?))?,
            step::FILE => visit(Restored::File(names.next().ok_or_else(&corrupt)?))?,
            _ => return Err(corrupt().into()),
        }
    }
    Ok(())
}
