//! Runs: sorted records of an import that wait in a file beside the store, until one merge puts them into
//! the blocks. The store names the runs in a row of its meta table.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use redb::{ReadTransaction, Table};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{Result, StoreError, damaged};
use super::journal::{ImportInfo, ImportState};
use super::schema::{Access, META, Meta, RUNS_KEY, holds, read_header};
use epdb_base::new_file::{destination, folder_of, sync_folder};

/// The first bytes of a file of runs.
const MAGIC: [u8; 8] = *b"epdbruns";
/// Number of bytes that are read at once to check a run.
const CHECK_BYTES: usize = 1 << 20;
const ROW: &str = "the row of runs";

/// A run, as the store names it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// End of the run in the file. It begins at the end of the previous run.
    pub(super) end: u64,
    pub(super) records: u64,
    /// CRC32C of the bytes of the run.
    pub(super) check: u32,
}

/// The runs that wait, and the number of their import in the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WaitingRuns {
    pub(super) import: u64,
    pub(super) runs: Vec<Run>,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RowHead {
    crc: U32,
    reserved: U32,
    import: U64,
    /// The commit after which the runs were written.
    commit: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RunRow {
    end: U64,
    records: U64,
    check: U32,
}

const CRC: usize = 4;

impl WaitingRuns {
    pub(super) fn records(&self) -> u64 {
        self.runs.iter().map(|run| run.records).sum()
    }

    pub(super) fn line<'i>(&self, imports: &'i [ImportInfo]) -> Result<&'i ImportInfo> {
        let line = usize::try_from(self.import).ok().and_then(|id| imports.get(id));
        line.filter(|line| line.state == ImportState::Unfinished).ok_or_else(|| {
            damaged(
                format!("import {}", self.import),
                "records of it wait, and it is not unfinished",
            )
        })
    }

    /// Reads the row of runs; `None` if no records wait.
    pub(super) fn read(transaction: &ReadTransaction, meta: &Meta) -> Result<Option<WaitingRuns>> {
        let row = transaction.open_table(META)?.get(RUNS_KEY)?;
        match row {
            None if meta.has_runs => Err(damaged(ROW, "it is missing")),
            None => Ok(None),
            Some(row) if meta.has_runs => WaitingRuns::from_bytes(row.value(), meta).map(Some),
            Some(_) => Err(damaged(ROW, "the meta row does not announce it")),
        }
    }

    pub(super) fn from_bytes(bytes: &[u8], meta: &Meta) -> Result<WaitingRuns> {
        let (head, rows) =
            RowHead::ref_from_prefix(bytes).map_err(|_| damaged(ROW, "it is too short"))?;
        if !holds(crc32c::crc32c(&bytes[CRC..]), head.crc.get()) {
            return Err(damaged(ROW, "its checksum does not match"));
        }
        let rows =
            <[RunRow]>::ref_from_bytes(rows).map_err(|_| damaged(ROW, "it ends within a run"))?;
        if head.commit.get() != meta.commit || head.reserved.get() != 0 {
            return Err(damaged(ROW, "it is not that of the last commit"));
        }
        if head.import.get() >= meta.imports {
            let import = head.import.get();
            return Err(damaged(
                ROW,
                format!("it names import {import}, which is not in the journal"),
            ));
        }
        let mut end = MAGIC.len() as u64;
        let mut records = 0;
        let mut runs = Vec::with_capacity(rows.len());
        for row in rows {
            let run =
                Run { end: row.end.get(), records: row.records.get(), check: row.check.get() };
            records += u128::from(run.records);
            // A record takes more bytes than its header and its import number.
            let max = run.end.saturating_sub(end) / RECORD_BYTES;
            if run.records == 0 || run.records > max {
                return Err(damaged(ROW, "a run does not have the bytes of its records"));
            }
            end = run.end;
            runs.push(run);
        }
        if runs.is_empty() || records > MAX_RECORDS.into() {
            return Err(damaged(ROW, format!("it counts {records} records")));
        }
        Ok(WaitingRuns { import: head.import.get(), runs })
    }

    pub(super) fn to_bytes(&self, meta: &Meta) -> Vec<u8> {
        let head = RowHead {
            crc: 0.into(),
            reserved: 0.into(),
            import: self.import.into(),
            commit: meta.commit.into(),
        };
        let mut bytes = head.as_bytes().to_vec();
        for run in &self.runs {
            let row = RunRow {
                end: run.end.into(),
                records: run.records.into(),
                check: run.check.into(),
            };
            bytes.extend_from_slice(row.as_bytes());
        }
        let crc = crc32c::crc32c(&bytes[CRC..]);
        bytes[..CRC].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn write(
        &self,
        table: &mut Table<'_, &'static str, &'static [u8]>,
        meta: &mut Meta,
    ) -> Result<()> {
        meta.has_runs = true;
        table.insert(RUNS_KEY, self.to_bytes(meta).as_slice())?;
        Ok(())
    }

    /// Compares the file of runs beside a store with these runs.
    pub(super) fn check(&self, store: &Path) -> io::Result<()> {
        self.open(&path_of(store)?, OpenOptions::new().read(true)).map(drop)
    }

    fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let opened = options.open(path).and_then(|mut file| {
            check_runs(&mut file, &self.runs)?;
            Ok(file)
        });
        opened.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    /// Removes the row of runs, if there is one.
    pub(super) fn remove(
        table: &mut Table<'_, &'static str, &'static [u8]>,
        meta: &mut Meta,
    ) -> Result<()> {
        meta.has_runs = false;
        table.remove(RUNS_KEY)?;
        Ok(())
    }
}

/// Number of records that wait.
pub(super) fn records_in(transaction: &ReadTransaction) -> Result<u64> {
    let meta = read_header(transaction, Access::Read)?.meta;
    let waiting = WaitingRuns::read(transaction, &meta)?;
    Ok(waiting.map_or(0, |waiting| waiting.records()))
}

/// Least number of bytes that a record takes in a run: its header, key, and number.
const RECORD_BYTES: u64 = 8 + 8 + 4;
/// Maximum number of records that wait: their numbers have 32 bits.
pub(super) const MAX_RECORDS: u64 = u32::MAX as u64;

/// The file of the runs of a store: the path of the store, followed by `.runs`.
pub(super) fn path_of(store: &Path) -> io::Result<PathBuf> {
    let mut path = destination(store)?.into_os_string();
    path.push(".runs");
    Ok(path.into())
}

/// Removes a file of runs that no store names: that of a process which died after a merge or before
/// it named its first run, perhaps within the first bytes. Any other file is not touched.
pub(super) fn remove_stale(store: &Path) {
    let Ok(path) = path_of(store) else { return };
    if begins_like_runs(&path).unwrap_or(false) {
        fs::remove_file(path).ok();
    }
}

/// True if a file begins with the magic, or ends within it.
fn begins_like_runs(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(MAGIC.starts_with(&start))
}

pub(super) struct RunFile {
    file: File,
    /// Path of the file; `None` for a file without a name, which vanishes with the process.
    path: Option<PathBuf>,
    pub(super) runs: Vec<Run>,
}

impl RunFile {
    /// Makes a file without a name, beside the store.
    pub(super) fn create(store: &Path) -> io::Result<RunFile> {
        let mut file = tempfile::tempfile_in(folder_of(store))?;
        file.write_all(&MAGIC)?;
        Ok(RunFile { file, path: None, runs: Vec::new() })
    }

    /// Opens the runs that a store names, and checks them.
    pub(super) fn open(store: &Path, waiting: &WaitingRuns) -> io::Result<RunFile> {
        let path = path_of(store)?;
        let file = waiting.open(&path, OpenOptions::new().read(true).write(true))?;
        Ok(RunFile { file, path: Some(path), runs: waiting.runs.clone() })
    }

    /// Gives the file its name beside the store, with the runs that it has.
    pub(super) fn set_name(&mut self, store: &Path) -> io::Result<()> {
        if self.path.is_some() {
            return Ok(());
        }
        let path = path_of(store)?;
        let mut options = OpenOptions::new();
        let mut named = options.read(true).write(true).create(true).truncate(true).open(&path)?;
        self.file.seek(SeekFrom::Start(0))?;
        let copied = io::copy(&mut (&self.file).take(self.end()), &mut named);
        if let Err(error) = copied.and_then(|_| sync_folder(&path)) {
            fs::remove_file(&path).ok();
            return Err(error);
        }
        self.file = named;
        self.path = Some(path);
        Ok(())
    }

    fn end(&self) -> u64 {
        self.runs.last().map_or(MAGIC.len() as u64, |run| run.end)
    }

    pub(super) fn records(&self) -> u64 {
        self.runs.iter().map(|run| run.records).sum()
    }

    pub(super) fn record_bytes(&self) -> u64 {
        (self.end() - MAGIC.len() as u64).saturating_sub(self.records() * RECORD_BYTES)
    }

    /// Appends a run, which `write` writes.
    pub(super) fn append(
        &mut self,
        records: u64,
        write: impl FnOnce(&mut BufWriter<CheckedWriter<'_>>) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = self.end();
        // A run that was not finished may follow the last one.
        self.file.set_len(start)?;
        self.file.seek(SeekFrom::Start(start))?;
        let checked = CheckedWriter { file: &self.file, check: 0 };
        let mut out = BufWriter::with_capacity(CHECK_BYTES, checked);
        write(&mut out)?;
        out.flush()?;
        let check = out.get_ref().check;
        drop(out);
        let end = self.file.stream_position()?;
        self.runs.push(Run { end, records, check });
        Ok(())
    }

    /// Waits until all runs are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Checks all runs, and returns the file and their places in it.
    pub(super) fn checked(&mut self) -> io::Result<(File, Vec<Range<u64>>)> {
        check_runs(&mut self.file, &self.runs)?;
        let mut start = MAGIC.len() as u64;
        let mut ranges = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            ranges.push(start..run.end);
            start = run.end;
        }
        Ok((self.file.try_clone()?, ranges))
    }

    /// Removes the file after its records were merged.
    pub(super) fn remove(self) {
        if let Some(path) = self.path {
            fs::remove_file(path).ok();
        }
    }
}

/// Compares the bytes of all runs with their checksums.
fn check_runs(file: &mut File, runs: &[Run]) -> io::Result<()> {
    let mut start = [0; MAGIC.len()];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut start)?;
    if start != MAGIC {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file of runs"));
    }
    let mut buffer = vec![0; CHECK_BYTES];
    let mut at = MAGIC.len() as u64;
    for (nth, run) in runs.iter().enumerate() {
        let mut check = 0;
        while at < run.end {
            let left = usize::try_from(run.end - at).unwrap_or(CHECK_BYTES);
            let part = &mut buffer[..left.min(CHECK_BYTES)];
            file.read_exact(part)?;
            check = crc32c::crc32c_append(check, part);
            at += part.len() as u64;
        }
        if !holds(check, run.check) {
            let what = format!("the checksum of run {nth} does not match");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
    }
    Ok(())
}

/// Writes to a file and computes the CRC32C of the bytes.
pub(super) struct CheckedWriter<'f> {
    file: &'f File,
    check: u32,
}

impl Write for CheckedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.check = crc32c::crc32c_append(self.check, &bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error of runs that cannot be read: they are missing or damaged, or the system fails.
pub(super) fn cannot_read(store: &Path, source_name: &str, error: io::Error) -> StoreError {
    let path = store.to_path_buf();
    if !is_damage(&error) {
        return StoreError::Io { path, error };
    }
    StoreError::RunsLost { path, source_name: source_name.to_string(), what: error.to_string() }
}

/// True if the content of the file is the reason why the runs cannot be read, or if the file is missing.
pub(super) fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    matches!(error.kind(), InvalidData | NotFound | UnexpectedEof)
}
