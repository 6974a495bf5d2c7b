//! Logs read, also while they are written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::entry::Entry;
use crate::error::{At, Error, Place, Result};

/// What a log begins with.
pub(super) const HEADER: &str = "epdb referee log 1";
/// The longest line that is read.
const LONGEST_LINE: usize = 16 << 20;
const CHUNK: usize = 64 << 10;

/// Reads a log line by line. At its end there may be more later.
#[derive(Debug)]
pub struct LogReader {
    file: File,
    path: PathBuf,
    /// What was read and not given out: `buffer[start..]`.
    buffer: Vec<u8>,
    start: usize,
    number: u64,
    /// Where the lines end that were given out.
    offset: u64,
}

impl LogReader {
    /// Opens a log.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<LogReader> {
        let file = File::open(path).map_err(|error| unreadable(path, error))?;
        Ok(LogReader::of(file, path))
    }

    /// The lines of an open file, which stands at its begin.
    pub(super) fn of(file: File, path: &Path) -> LogReader {
        let path = path.to_path_buf();
        LogReader { file, path, buffer: Vec::new(), start: 0, number: 0, offset: 0 }
    }

    /// Where in the file the lines end that were given out.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next entry and its time, or `None` if no whole line is there by now.
    ///
    /// # Errors
    /// The line is none of a log, or the file cannot be read.
    pub fn next_entry(&mut self) -> Result<Option<(Duration, Entry)>> {
        while let Some(line) = self.next_line().map_err(|error| unreadable(&self.path, error))? {
            if self.number == 1 {
                if line != HEADER.as_bytes() {
                    return Err(self.damaged(&format!("expected `{HEADER}`, the begin of a log")));
                }
                continue;
            }
            let entry = parse(&line).ok_or_else(|| {
                self.damaged("expected a time in microseconds and what happened then")
            })?;
            return Ok(Some(entry));
        }
        match self.buffer.len() - self.start > LONGEST_LINE {
            true => Err(self.damaged(&format!("a line of more than {LONGEST_LINE} bytes"))),
            false => Ok(None),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
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
            let most = (CHUNK as u64).min((LONGEST_LINE + 1).saturating_sub(searched) as u64);
            let read = (&mut self.file).take(most).read_to_end(&mut self.buffer)?;
            let is_all = most == 0 || (read as u64) < most;
            if is_all && memchr::memchr(b'\n', &self.buffer[searched..]).is_none() {
                return self.forget_half_a_line().map(|()| None);
            }
        }
    }

    /// Half a line may be taken away by the next referee: it is read anew. One that is too long stays.
    fn forget_half_a_line(&mut self) -> io::Result<()> {
        if self.buffer.len() <= LONGEST_LINE {
            self.buffer.clear();
            self.file.seek(SeekFrom::Start(self.offset))?;
        }
        Ok(())
    }

    fn damaged(&self, what: &str) -> Error {
        let name = self.path.display().to_string();
        Error::new(format!("{what}; the log is damaged"))
            .at(Place::new(name, At::Line(self.number)))
    }
}

fn parse(line: &[u8]) -> Option<(Duration, Entry)> {
    let (time, rest) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    Some((Duration::from_micros(time.parse().ok()?), Entry::parse(rest)?))
}

pub(super) fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::new("cannot read the log").because(error).in_source(path.display().to_string())
}
