//! The journal of a run: finished records that an interrupted run need not search again.
//!
//! A journal is a file of lines. The first line identifies the run, as a JSON object. Each further
//! line has the number of a record from 0, a tab, the finished record in binary form as base64, a tab,
//! and the milliseconds of the run so far, without interruptions.
//! A last line without a line end was interrupted and is ignored.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value};

use super::task::Task;
use epdb_base::new_file::cannot_write;
use epdb_chess::codec::record;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::EpdRecord;
use epdb_library::run_file::{RunEngine, RunLimit, RunSuite};

/// Everything that determines the output of a run. It is the first line of a journal; a journal is
/// resumed only by a run with an equal identity.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct RunIdentity {
    pub(super) epdb: &'static str,
    pub(super) verb: &'static str,
    pub(super) task: Task,
    pub(super) engine: RunEngine,
    /// Length and modification time of the program file. They change when the program is built
    /// again.
    pub(super) program: String,
    pub(super) limit: RunLimit,
    pub(super) multipv: usize,
    pub(super) suite: Option<RunSuite>,
    pub(super) output: String,
}

impl RunIdentity {
    /// The members of the first line of a journal, in alphabetical order.
    fn header(&self) -> Result<Header> {
        let header = serde_json::to_value(self).and_then(serde_json::from_value);
        header.map_err(Error::from_cause)
    }
}

/// The first line of a journal, as JSON.
type Header = Map<String, Value>;

/// The maximum length of a line; the largest record fits.
const MAX_LINE: u64 = 64 << 20;

/// A journal open for writing, locked against other runs.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    /// Duration of the earlier parts of the run.
    before: Duration,
    /// Start of this part of the run.
    begun: Instant,
    /// True if the file contains records or is not a journal. Such a file is kept when the journal
    /// is closed.
    holds_records: bool,
}

/// The encoded records of a journal, by number.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Recovered(BTreeMap<u64, Vec<u8>>);

impl Recovered {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes a record and returns it; `None` if there is no record with this number.
    pub(super) fn take(&mut self, number: u64) -> Result<Option<EpdRecord>> {
        match self.0.remove(&number) {
            Some(bytes) => Ok(Some(record::decode(&bytes)?.0)),
            None => Ok(None),
        }
    }
}

impl Journal {
    /// Creates a journal.
    ///
    /// # Errors
    /// A journal with records exists already, or the file cannot be created.
    pub(super) fn create(path: &Path, run: &RunIdentity) -> Result<Journal> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut journal = Journal::locked(file.map_err(|error| cannot_write(path, error))?, path)?;
        if journal.has_records()? {
            return Err(Error::new(format!(
                "{} was left by an interrupted run: --resume continues that run; remove it to start \
                 over",
                path.display()
            )));
        }
        journal.cut(0)?;
        let header = serde_json::to_string(&run.header()?).map_err(Error::from_cause)?;
        journal.write_line(&header)?;
        Ok(journal)
    }

    /// True if the file contains more than the line that identifies a run.
    fn has_records(&mut self) -> Result<bool> {
        let mut lines = BufReader::new((&mut self.file).take(MAX_LINE)).split(b'\n');
        let first = lines.next().transpose()?.unwrap_or_default();
        let is_header = first.is_empty() || serde_json::from_slice::<Header>(&first).is_ok();
        self.holds_records = !is_header || lines.next().is_some();
        Ok(self.holds_records)
    }

    /// Resumes a journal, or creates one if the file does not exist.
    ///
    /// # Errors
    /// The journal belongs to another run, is damaged, or cannot be read.
    pub(super) fn resume(path: &Path, run: &RunIdentity) -> Result<(Journal, Recovered)> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok((Journal::create(path, run)?, Recovered::default()));
            }
            file => file.map_err(|error| cannot_write(path, error))?,
        };
        let mut journal = Journal::locked(file, path)?;
        if journal.file.metadata()?.len() == 0 {
            // The earlier run was interrupted while it created the journal.
            drop(journal);
            return Ok((Journal::create(path, run)?, Recovered::default()));
        }
        let (recovered, len, before) = journal.recover(run)?;
        journal.before = before;
        // Drop the interrupted last line; its record is searched again.
        journal.cut(len)?;
        Ok((journal, recovered))
    }

    /// Truncates the file to `len` bytes and continues from there.
    fn cut(&mut self, len: u64) -> Result<()> {
        let cut = self.file.set_len(len).and_then(|()| self.file.seek(SeekFrom::Start(len)));
        cut.map(drop).map_err(|error| cannot_write(&self.path, error).into())
    }

    fn locked(file: File, path: &Path) -> Result<Journal> {
        match file.try_lock() {
            Ok(()) => Ok(Journal {
                file,
                path: path.to_path_buf(),
                before: Duration::ZERO,
                begun: Instant::now(),
                holds_records: true,
            }),
            Err(error) => Err(not_locked(path, error)),
        }
    }

    /// Reads the records. Returns them with the offset of the end of the last complete line, and
    /// the duration of the run up to this line.
    fn recover(&mut self, run: &RunIdentity) -> Result<(Recovered, u64, Duration)> {
        let damaged = |line: u64, what: &str| {
            Error::new(format!("{}:{line}: {what}: remove it to start over", self.path.display()))
        };
        let mut reader = BufReader::new(&mut self.file);
        let mut recovered = Recovered::default();
        let mut len = 0;
        let mut elapsed = Duration::ZERO;
        for number in 1.. {
            let mut line = Vec::new();
            reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                break;
            }
            len += line.len() as u64;
            let text = line.trim_ascii_end();
            if number == 1 {
                let written = serde_json::from_slice(text);
                let written: Header =
                    written.map_err(|_| damaged(1, "not the journal of a run"))?;
                check_same(&written, &run.header()?).map_err(|what| damaged(1, &what))?;
                continue;
            }
            let (record, bytes, so_far) =
                parse_line(text).ok_or_else(|| damaged(number, "not a line of a journal"))?;
            elapsed = so_far;
            recovered.0.insert(record, bytes);
        }
        if len == 0 {
            return Err(damaged(1, "not the journal of a run"));
        }
        Ok((recovered, len, elapsed))
    }

    pub(super) fn add(&mut self, number: u64, record: &EpdRecord) -> Result<()> {
        let mut bytes = Vec::new();
        record::encode(record, &mut bytes)?;
        self.holds_records = true;
        let elapsed = self.elapsed().as_millis();
        self.write_line(&format!("{number}\t{}\t{elapsed}", STANDARD.encode(bytes)))
    }

    /// Duration of the run so far, without interruptions.
    pub(super) fn elapsed(&self) -> Duration {
        self.before + self.begun.elapsed()
    }

    fn write_line(&mut self, line: &str) -> Result<()> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        Ok(written.map_err(|error| cannot_write(&self.path, error))?)
    }

    /// Removes the journal of a completed run.
    pub(super) fn remove(self) -> Result<()> {
        Ok(fs::remove_file(&self.path).map_err(|error| cannot_write(&self.path, error))?)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if !self.holds_records {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// The error for a journal that cannot be locked: another run holds the lock, or the file system
/// has no locks.
fn not_locked(path: &Path, error: TryLockError) -> Error {
    let name = path.display();
    match error {
        TryLockError::WouldBlock => Error::new(format!("{name} is in use by another run")),
        TryLockError::Error(error) => Error::new(format!("cannot lock {name}")).because(error),
    }
}

fn parse_line(line: &[u8]) -> Option<(u64, Vec<u8>, Duration)> {
    let (number, text) = std::str::from_utf8(line).ok()?.split_once('\t')?;
    let (record, elapsed) = text.split_once('\t')?;
    let elapsed = Duration::from_millis(elapsed.parse().ok()?);
    Some((number.parse().ok()?, STANDARD.decode(record).ok()?, elapsed))
}

/// Compares the run of a journal with this run and lists the differences.
fn check_same(written: &Header, run: &Header) -> Result<(), String> {
    let keys = written.keys().chain(run.keys().filter(|key| !written.contains_key(*key)));
    let differing: Vec<String> = keys
        .filter(|key| written.get(*key) != run.get(*key))
        .map(|key| {
            let shown = |value: Option<&Value>| value.map_or("none".into(), Value::to_string);
            format!("{key} was {}, not {}", shown(written.get(key)), shown(run.get(key)))
        })
        .collect();
    if differing.is_empty() {
        Ok(())
    } else {
        Err(format!("the journal of another run ({})", differing.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_file_without_locks_is_not_reported_as_in_use() {
        let text = |error| not_locked(Path::new("a.journal"), error).to_string();
        assert_eq!(text(TryLockError::WouldBlock), "a.journal is in use by another run");
        let unsupported = io::Error::new(ErrorKind::Unsupported, "no locks here");
        let unsupported = text(TryLockError::Error(unsupported));
        assert_eq!(unsupported, "cannot lock a.journal: no locks here");
    }
}
