//! The side data of a verbatim archive: its files, the bytes between records, and the differences
//! of lines from canonical text.
//!
//! A script has the edit of each line: the bytes to remove from the canonical line and those to
//! insert. Scripts are compressed by zstd, with the canonical text as dictionary.

use std::io::{BufReader, Read, Seek, Write};

use tempfile::SpooledTempFile;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{ArchiveError, Refusal};
use super::file::bytes::{is_one_frame, put_number, put_sized, take_number, take_sized};
use super::file::check;
use super::file::sections::SectionKind;
use super::file::sink::Sink;

/// Maximum number of records of a chunk.
const CHUNK_RECORDS: u32 = 4096;
/// Number of bytes of script or text after which a chunk ends.
const CHUNK_BYTES: usize = 1 << 20;
/// Maximum length of a script that a reader accepts, in bytes.
const MAX_SCRIPT: usize = 64 << 20;
const LEVEL: i32 = 12;
/// Number of bytes that are kept in memory before a temporary file is used.
const IN_MEMORY: usize = 4 << 20;

const PART: &str = "side data";

/// Header of a chunk.
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
    /// An edit: number of bytes kept at the end, number of bytes removed before them, and the bytes
    /// to insert, preceded by their length.
    pub(super) const EDIT: u8 = 1;
    /// The next N records have the same edit as the last one.
    pub(super) const SAME_EDIT: u8 = 2;
    /// Bytes that belong to no record, preceded by their length.
    pub(super) const ASIDE: u8 = 3;
    /// The next file begins here.
    pub(super) const FILE: u8 = 4;
}

/// Difference of a line from the canonical line.
#[derive(Clone, PartialEq, Eq)]
struct Edit {
    kept: usize,
    dropped: usize,
    put_in: Vec<u8>,
}

impl Edit {
    fn between(canonical: &[u8], raw: &[u8]) -> Edit {
        let kept = canonical.iter().rev().zip(raw.iter().rev()).take_while(|(a, b)| a == b).count();
        let max = canonical.len().min(raw.len()) - kept;
        let first = canonical.iter().zip(raw).take(max).take_while(|(a, b)| a == b).count();
        Edit {
            kept,
            dropped: canonical.len() - kept - first,
            put_in: raw[first..raw.len() - kept].to_vec(),
        }
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
    /// Names of the files, each after its length.
    names: Vec<u8>,
    /// Number of files.
    files: u32,
    script: Vec<u8>,
    canonical: Vec<u8>,
    records: u32,
    /// Number of records in the current run, which is not written yet. The records of a run are all
    /// canonical, or all have the same edit.
    run: u64,
    run_is_edit: bool,
    last_edit: Option<Edit>,
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
            run_is_edit: false,
            last_edit: None,
        }
    }

    /// Begins a file.
    pub(super) fn file(&mut self, name: &str) -> Result<(), ArchiveError> {
        self.files = self.files.checked_add(1).ok_or(ArchiveError::LimitExceeded {
            what: "files",
            found: 1 << 32,
            limit: u32::MAX.into(),
        })?;
        put_sized(name.as_bytes(), &mut self.names);
        self.end_run();
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
        let edit = (canonical != raw).then(|| Edit::between(canonical, raw));
        let goes_on = self.run > 0
            && match &edit {
                None => !self.run_is_edit,
                Some(_) => self.run_is_edit && self.last_edit == edit,
            };
        if goes_on {
            self.run += 1;
            return self.end_if_full();
        }
        self.end_run();
        match edit {
            None => {
                self.run = 1;
                self.run_is_edit = false;
            }
            Some(edit) if self.last_edit.as_ref() == Some(&edit) => {
                self.run = 1;
                self.run_is_edit = true;
            }
            Some(edit) => {
                self.script.push(step::EDIT);
                put_number(edit.kept as u64, &mut self.script);
                put_number(edit.dropped as u64, &mut self.script);
                put_sized(&edit.put_in, &mut self.script);
                self.last_edit = Some(edit);
            }
        }
        self.end_if_full()
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            self.script.push(if self.run_is_edit { step::SAME_EDIT } else { step::CANONICAL });
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
        self.last_edit = None;
        Ok(())
    }

    /// Writes the names of the files.
    pub(super) fn write_names<W: Write>(&self, out: &mut Sink<W>) -> Result<(), ArchiveError> {
        out.put(&self.files.to_le_bytes())?;
        Ok(out.put(&self.names)?)
    }

    /// Writes the chunks of the archive with this identity.
    pub(super) fn finish<W: Write>(
        mut self,
        identity: u32,
        out: &mut Sink<W>,
    ) -> Result<(), ArchiveError> {
        self.end_chunk()?;
        let len = self.spool.stream_position()?;
        self.spool.rewind()?;
        let mut input = BufReader::with_capacity(1 << 16, self.spool);
        let (mut done, mut number) = (0, 0);
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

/// The names of the files of a verbatim archive.
pub(super) fn names(mut bytes: &[u8]) -> Result<Vec<String>, ArchiveError> {
    let corrupt = ArchiveError::corrupt(SectionKind::FileNames.name());
    let names = (|| {
        let count = u32::from_le_bytes(*bytes.split_off(..4)?.first_chunk()?);
        let mut names = Vec::new();
        for _ in 0..count {
            let name = take_sized(&mut bytes)?;
            names.push(str::from_utf8(name).ok()?.to_string());
        }
        bytes.is_empty().then_some(names)
    })();
    names.ok_or(corrupt)
}

/// A piece of the input of a verbatim archive; see [`super::Archive::restore`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Restored<'a> {
    /// A file with this name begins.
    File(&'a str),
    /// The next bytes of the file.
    Bytes(&'a [u8]),
}

/// Restores the input from the side data of an archive with this identity. `text` appends the
/// canonical lines of the next N records. Returns the number of records.
pub(super) fn restore<E: From<ArchiveError>>(
    mut side: &[u8],
    identity: u32,
    names: &[String],
    memory_bytes: usize,
    mut text: impl FnMut(u64, &mut Vec<u8>) -> Result<(), ArchiveError>,
    mut visit: impl FnMut(Restored) -> Result<(), E>,
) -> Result<u64, E> {
    let mut names = names.iter();
    let mut total = 0;
    let mut number = 0;
    while !side.is_empty() {
        let corrupt = || ArchiveError::corrupt_at(PART, number);
        let (head, rest) = ChunkHead::read_from_prefix(side).map_err(|_| corrupt())?;
        if !check::holds(head.check(identity, number), head.check.get()) {
            return Err(corrupt().into());
        }
        let (packed, rest) =
            rest.split_at_checked(head.packed_len.get() as usize).ok_or_else(corrupt)?;
        side = rest;
        // The bytes are copied, because zstd must not see bytes that another process may change.
        let packed = packed.to_vec();
        let script_len = head.script_len.get() as usize;
        if !check::holds(crc32c::crc32c(&packed), head.packed_check.get())
            || !is_one_frame(&packed)
            || script_len > MAX_SCRIPT
            || head.records.get() > CHUNK_RECORDS
        {
            return Err(corrupt().into());
        }
        if script_len > memory_bytes {
            return Err(Refusal::Memory.at(PART, number).into());
        }
        let records = u64::from(head.records.get());
        let mut canonical = Vec::new();
        if records > 0 {
            text(records, &mut canonical)?;
        }
        let script = zstd::bulk::Decompressor::with_dictionary(&canonical)
            .and_then(|mut decompressor| decompressor.decompress(&packed, script_len))
            .ok()
            .filter(|script| script.len() == script_len)
            .ok_or_else(corrupt)?;
        // Everything belongs to a file.
        if number == 0 && script.first() != Some(&step::FILE) {
            return Err(corrupt().into());
        }
        let mut lines = canonical.split_inclusive(|&byte| byte == b'\n');
        play(&script, &mut lines, &mut names, &mut visit, corrupt)?;
        if lines.next().is_some() {
            return Err(corrupt().into());
        }
        total += records;
        number += 1;
    }
    if names.next().is_some() {
        return Err(ArchiveError::corrupt(PART).into());
    }
    Ok(total)
}

/// Executes a script.
fn play<'a, E: From<ArchiveError>>(
    mut script: &[u8],
    lines: &mut impl Iterator<Item = &'a [u8]>,
    names: &mut std::slice::Iter<String>,
    visit: &mut impl FnMut(Restored) -> Result<(), E>,
    corrupt: impl Fn() -> ArchiveError,
) -> Result<(), E> {
    let mut last_edit: Option<Edit> = None;
    let mut raw = Vec::new();
    let mut edit = |edit: &Edit, line: Option<&[u8]>| -> Option<Vec<u8>> {
        raw.clear();
        edit.apply(line?, &mut raw)?;
        Some(raw.clone())
    };
    while let Some((&kind, rest)) = script.split_first() {
        script = rest;
        match kind {
            step::CANONICAL => {
                for _ in 0..take_number(&mut script).ok_or_else(&corrupt)? {
                    visit(Restored::Bytes(lines.next().ok_or_else(&corrupt)?))?;
                }
            }
            step::EDIT => {
                let next = (|| {
                    Some(Edit {
                        kept: usize::try_from(take_number(&mut script)?).ok()?,
                        dropped: usize::try_from(take_number(&mut script)?).ok()?,
                        put_in: take_sized(&mut script)?.to_vec(),
                    })
                })();
                let next = next.ok_or_else(&corrupt)?;
                visit(Restored::Bytes(&edit(&next, lines.next()).ok_or_else(&corrupt)?))?;
                last_edit = Some(next);
            }
            step::SAME_EDIT => {
                let last = last_edit.as_ref().ok_or_else(&corrupt)?;
                for _ in 0..take_number(&mut script).ok_or_else(&corrupt)? {
                    visit(Restored::Bytes(&edit(last, lines.next()).ok_or_else(&corrupt)?))?;
                }
            }
            step::ASIDE => visit(Restored::Bytes(take_sized(&mut script).ok_or_else(&corrupt)?))?,
            step::FILE => visit(Restored::File(names.next().ok_or_else(&corrupt)?))?,
            _ => return Err(corrupt().into()),
        }
    }
    Ok(())
}
