//! Reads logs, even while they are being written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::entry::Entry;
use epdb_chess::error::{At, Error, Place, Result};

/// First line of a log.
pub(super) const HEADER: &str = "epdb referee log 3";
/// Maximum length of a line in bytes.
const MAX_LINE: usize = 16 << 20;
const CHUNK: usize = 64 << 10;

/// Reads a log line by line. Lines that are added after the end was reached can be read later.
#[derive(Debug)]
pub struct LogReader {
    file: File,
    path: PathBuf,
    /// Bytes that were read and not returned yet: `buffer[start..]`.
    buffer: Vec<u8>,
    start: usize,
    number: u64,
    /// Offset of the end of the last line that was returned.
    offset: u64,
    chain: Chain,
}

/// The checksum of the last line of a log. The checksum of the next line depends on it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Chain(u32);

impl Chain {
    /// The chain before the first line that has a check.
    pub(super) fn new() -> Chain {
        Chain(crc32c::crc32c(HEADER.as_bytes()))
    }

    /// Returns the check of the next line. `line` is the line without its check and the blank after
    /// it.
    pub(super) fn extend(&mut self, line: &[u8]) -> u32 {
        self.0 = crc32c::crc32c_append(crc32c::crc32c(&self.0.to_le_bytes()), line);
        self.0
    }
}

impl LogReader {
    /// Opens a log.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn open(path: &Path) -> Result<LogReader> {
        let file = File::open(path).map_err(|error| unreadable(path, error))?;
        Ok(LogReader::new(file, path))
    }

    /// Reads the lines of an open file from its beginning.
    pub(super) fn new(file: File, path: &Path) -> LogReader {
        let path = path.to_path_buf();
        let chain = Chain::new();
        LogReader { file, path, buffer: Vec::new(), start: 0, number: 0, offset: 0, chain }
    }

    /// The chain of checks after the lines that were returned.
    pub(super) const fn chain(&self) -> Chain {
        self.chain
    }

    /// Offset of the end of the last line that was returned.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next entry and its time; `None` if the log does not have a further whole line yet.
    ///
    /// # Errors
    /// The line is not a line of a log, its check is wrong, or the file cannot be read.
    pub fn next_entry(&mut self) -> Result<Option<(Duration, Entry)>> {
        while let Some(line) = self.next_line()? {
            if self.number == 1 {
                if line != HEADER.as_bytes() {
                    return Err(self.damaged(&format!("expected `{HEADER}`, the begin of a log")));
                }
                continue;
            }
            return self.read_entry(&line).map(Some);
        }
        if self.buffer.len() - self.start > MAX_LINE {
            Err(self.damaged(&format!("a line of more than {MAX_LINE} bytes")))
        } else {
            Ok(None)
        }
    }

    fn read_entry(&mut self, line: &[u8]) -> Result<(Duration, Entry)> {
        if let Some(byte) = line.iter().find(|byte| !is_log_byte(**byte)) {
            return Err(self.damaged(&format!("the byte {byte:02x} cannot stand in a log")));
        }
        let Some((check, rest)) = split_check(line) else {
            return Err(self.damaged("expected a check of eight hexadecimal digits"));
        };
        let expected = self.chain.extend(rest);
        // While fuzzing, every check is accepted.
        if check != expected && !cfg!(fuzzing) {
            return Err(self.damaged(&format!(
                "the check is {check:08x}, and {expected:08x} by the lines up to here: a line was \
                 changed, lost, repeated or moved"
            )));
        }
        parse(rest)
            .ok_or_else(|| self.damaged("expected a time in microseconds and what happened then"))
    }

    fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        let mut searched = self.start;
        loop {
            if let Some(place) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let end = searched + place;
                let line = self.buffer[self.start..end].to_vec();
                self.offset += line.len() as u64 + 1;
                self.start = end + 1;
                self.number += 1;
                return Ok(Some(line));
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            searched = self.buffer.len();
            let wanted = CHUNK.min((MAX_LINE + 1).saturating_sub(searched));
            let read = (&mut self.file).take(wanted as u64).read_to_end(&mut self.buffer);
            let read = read.map_err(|error| unreadable(&self.path, error))?;
            let is_all = wanted == 0 || read < wanted;
            if is_all && memchr::memchr(b'\n', &self.buffer[searched..]).is_none() {
                return self.forget_half_a_line().map(|()| None);
            }
        }
    }

    /// Forgets an incomplete line, so that it is read again, because the next referee may remove it from the
    /// file. A line that is too long stays in the buffer.
    ///
    /// # Errors
    /// The bytes were not written by a referee. For example, they are zeros after a loss of power.
    fn forget_half_a_line(&mut self) -> Result<()> {
        if !self.buffer.iter().copied().all(is_log_byte) {
            return Err(self.damaged(&format!(
                "behind byte {} there are bytes that cannot stand in a log; to go on from there, cut \
                 the file off at that byte",
                self.offset
            )));
        }
        if self.buffer.len() <= MAX_LINE {
            self.buffer.clear();
            let sought = self.file.seek(SeekFrom::Start(self.offset));
            sought.map_err(|error| unreadable(&self.path, error))?;
        }
        Ok(())
    }

    pub(super) fn damaged(&self, what: &str) -> Error {
        let name = self.path.display().to_string();
        Error::new(format!("{what}; the log is damaged"))
            .at(Place::new(name, At::Line(self.number)))
    }
}

/// Whether a byte can stand in a line: printing ASCII, and the tab between parts of a line.
pub(super) const fn is_log_byte(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t')
}

fn split_check(line: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = line.split_at_checked(8)?;
    let is_lower_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if !digits.iter().all(is_lower_hex) {
        return None;
    }
    let check = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((check, rest.strip_prefix(b" ")?))
}

fn parse(line: &[u8]) -> Option<(Duration, Entry)> {
    let (time, rest) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    Some((Duration::from_micros(time.parse().ok()?), Entry::parse(rest)?))
}

pub(super) fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::new("cannot read the log").because(error).in_source(path.display().to_string())
}
