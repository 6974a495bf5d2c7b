//! External sorting, for more records than fit into memory. The whole crate uses this sorter.
//!
//! Records that fit into the memory budget are sorted in memory. Otherwise, whenever the budget is
//! full, the records in memory are sorted and appended to an unnamed temporary file. Such a sorted
//! part of the file is a run. The runs are merged when they are read. At most two files are open at
//! a time, because some systems allow a process only 256 open files.
// A file for each run would be simpler. An earlier sort of the archive did so, but it opened 32
// files for each sorter.

use std::fmt;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::PathBuf;

use rayon::slice::ParallelSliceMut;

use crate::new_file::ScratchFile;

/// Takes records in any order and returns them in the byte order of their keys. Records with equal
/// keys keep their order.
///
/// A record is a key and a payload. Both are any bytes and may be empty. A key must be encoded so
/// that its byte order is the wanted order. Numbers are big-endian. Signed numbers have the sign
/// bit inverted; numbers in descending order have all bits inverted. A text is followed by a byte
/// that sorts before all bytes of texts.
///
/// ```
/// use epdb_base::spill::Sorter;
/// let mut sorter = Sorter::new(std::env::temp_dir(), 1 << 20);
/// for (key, payload) in [(b"f5", "first"), (b"e4", "second"), (b"f5", "third")] {
///     sorter.push(key, payload.as_bytes())?;
/// }
/// let mut sorted = sorter.finish()?;
/// let mut payloads = Vec::new();
/// while let Some((_key, payload)) = sorted.next_entry()? {
///     payloads.push(String::from_utf8_lossy(payload).into_owned());
/// }
/// assert_eq!(payloads, ["second", "first", "third"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Sorter {
    directory: PathBuf,
    memory_bytes: usize,
    records: Records,
    /// The runs in the temporary file; `None` if there is no file yet.
    runs: Option<Runs>,
    len: u64,
}

impl Sorter {
    /// Makes a sorter with its temporary file in `directory`. It uses about `memory_bytes`, or
    /// twice the size of its largest record if that is more. Merging uses at least 128 KiB.
    ///
    /// The file has no name, so it vanishes with the process. Its size is that of all records, plus
    /// 8 bytes for each record. If there are more than `memory_bytes` / 64 KiB runs, they are first
    /// merged into longer runs. This merge takes twice that size on disk.
    pub fn new(directory: impl Into<PathBuf>, memory_bytes: usize) -> Sorter {
        let directory = directory.into();
        Sorter { directory, memory_bytes, records: Records::default(), runs: None, len: 0 }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The temporary file cannot be created or written, or key or payload has 4 GiB or more.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> io::Result<()> {
        if self.records.count > 0 && self.records.cost_with(key, payload) > self.memory_bytes {
            self.spill()?;
        }
        self.records.push(key, payload, self.memory_bytes)?;
        self.len += 1;
        Ok(())
    }

    /// Number of records.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the sorter has no records.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Ends the input, and returns the records in order.
    ///
    /// # Errors
    /// The temporary file cannot be created, written or read.
    pub fn finish(mut self) -> io::Result<Sorted> {
        if self.runs.is_some() && self.records.count > 0 {
            self.spill()?;
        }
        let Some(mut runs) = self.runs else {
            let order = self.records.sorted();
            let records = self.records.bytes;
            return Ok(Sorted(Source::Memory { records, order, next: 0 }));
        };
        drop(self.records);
        let max_runs = (self.memory_bytes / BLOCK).max(2);
        while runs.ranges.len() > max_runs {
            runs = runs.merged_by(max_runs, &self.directory, self.memory_bytes)?;
        }
        Ok(Sorted(Source::Runs(Merge::new(runs.file, &runs.ranges, self.memory_bytes)?)))
    }

    fn spill(&mut self) -> io::Result<()> {
        let order = self.records.sorted();
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => self.runs.insert(Runs::new(&self.directory)?),
        };
        runs.append(|out| {
            order.iter().try_for_each(|place| {
                let record = Record::at(&self.records.bytes, place.offset);
                out.write_all(record.whole)
            })
        })?;
        self.records.clear();
        Ok(())
    }
}

/// The records of a [`Sorter`] in order.
#[derive(Debug)]
pub struct Sorted(Source);

#[derive(Debug)]
enum Source {
    Memory { records: Vec<u8>, order: Vec<Slot>, next: usize },
    Runs(Merge<ScratchFile>),
}

impl Sorted {
    /// The next record: its key and payload, or `None` at the end.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn next_entry(&mut self) -> io::Result<Option<(&[u8], &[u8])>> {
        match &mut self.0 {
            // One more than the number of records: after the last one, `current` returns nothing.
            Source::Memory { order, next, .. } => *next = (*next + 1).min(order.len() + 1),
            Source::Runs(merge) => merge.advance()?,
        }
        Ok(self.current())
    }

    /// The record that [`Sorted::next_entry`] returned last; `None` before the first record and
    /// after the last.
    pub fn current(&self) -> Option<(&[u8], &[u8])> {
        let record = match &self.0 {
            Source::Memory { records, order, next } => {
                Record::at(records, order.get(next.checked_sub(1)?)?.offset)
            }
            Source::Runs(merge) => merge.current()?,
        };
        Some((record.key, record.payload))
    }
}

/// Sorted runs in a file of the caller, which [`write_record`] wrote, read as one sequence of records.
/// Records with equal keys come in the order of the runs.
pub struct MergedRuns<F>(Merge<F>);

impl<F> fmt::Debug for MergedRuns<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergedRuns").finish_non_exhaustive()
    }
}

impl<F: Read + Seek> MergedRuns<F> {
    /// Reads the runs in these ranges of the file, with buffers of about `memory_bytes`, but at least
    /// [`BLOCK`] for each run.
    pub fn new(file: F, ranges: &[Range<u64>], memory_bytes: usize) -> io::Result<Self> {
        let mut merge = Merge::new(file, ranges, memory_bytes)?;
        merge.advance()?;
        Ok(MergedRuns(merge))
    }

    /// Key and payload of the current record; `None` at the end.
    pub fn current(&self) -> Option<(&[u8], &[u8])> {
        self.0.current().map(|record| (record.key, record.payload))
    }

    /// Goes to the next record.
    pub fn advance(&mut self) -> io::Result<()> {
        self.0.advance()
    }
}

/// Writes a record of a run: its header, then its key and its payload, which is given in parts.
pub fn write_record(out: &mut impl Write, key: &[u8], payload: [&[u8]; 2]) -> io::Result<()> {
    let payload_len = payload[0].len() + payload[1].len();
    out.write_all(&length_field(key.len())?)?;
    out.write_all(&length_field(payload_len)?)?;
    out.write_all(key)?;
    payload.iter().try_for_each(|part| out.write_all(part))
}

/// Minimum size of a read of one run, so that seeking does not dominate.
pub const BLOCK: usize = 64 << 10;
const MAX_BLOCK: usize = 4 << 20;
/// Length of a record's header: two little-endian lengths of 32 bits, of the key and of the
/// payload. Key and payload follow the header.
const HEADER: usize = 8;

/// A record in memory and in the temporary file.
struct Record<'a> {
    key: &'a [u8],
    payload: &'a [u8],
    /// Header, key and payload.
    whole: &'a [u8],
}

impl Record<'_> {
    fn at(bytes: &[u8], offset: usize) -> Record<'_> {
        let (key_len, payload_len) = lengths(&bytes[offset..]);
        let end_of_key = HEADER + key_len;
        let whole = &bytes[offset..][..end_of_key + payload_len];
        Record { key: &whole[HEADER..end_of_key], payload: &whole[end_of_key..], whole }
    }
}

/// One of the two lengths in the header of a record.
fn length_field(len: usize) -> io::Result<[u8; 4]> {
    let len = u32::try_from(len).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidInput, "a record to sort has 4 GiB or more")
    })?;
    Ok(len.to_le_bytes())
}

/// The lengths of the key and the payload of the record at the start of the bytes.
fn lengths(bytes: &[u8]) -> (usize, usize) {
    let field = |at: usize| {
        let mut field = [0; 4];
        field.copy_from_slice(&bytes[at..at + 4]);
        u32::from_le_bytes(field) as usize
    };
    (field(0), field(4))
}

/// Returns the first eight bytes of a key as a number that has the same order. This number decides
/// most comparisons.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// Records in memory, in order of insertion.
#[derive(Debug, Default)]
struct Records {
    bytes: Vec<u8>,
    count: usize,
    /// Whether the prefixes alone do not decide the order, because some keys do not have eight bytes.
    needs_whole_keys: bool,
}

/// The offset of a record, and the prefix of its key. Slots are sorted by key, then by offset, so
/// that records with equal keys keep their order.
#[derive(Copy, Clone, Debug)]
struct Slot {
    prefix: u64,
    offset: usize,
}

impl Records {
    /// Memory that is needed to hold and sort these records and one more.
    fn cost_with(&self, key: &[u8], payload: &[u8]) -> usize {
        let bytes = self.bytes.len() + HEADER + key.len() + payload.len();
        bytes + (self.count + 1) * size_of::<Slot>()
    }

    fn push(&mut self, key: &[u8], payload: &[u8], memory_bytes: usize) -> io::Result<()> {
        let key_len = length_field(key.len())?;
        let payload_len = length_field(payload.len())?;
        let needed = self.bytes.len() + HEADER + key.len() + payload.len();
        if needed > self.bytes.capacity() {
            // Doubled, as `Vec` does, but not above the budget.
            let wanted = (2 * self.bytes.capacity()).min(memory_bytes).max(needed);
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(&key_len);
        self.bytes.extend_from_slice(&payload_len);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(payload);
        self.count += 1;
        self.needs_whole_keys |= key.len() != size_of::<u64>();
        Ok(())
    }

    fn sorted(&self) -> Vec<Slot> {
        let mut order = Vec::with_capacity(self.count);
        let mut offset = 0;
        while offset < self.bytes.len() {
            let record = Record::at(&self.bytes, offset);
            order.push(Slot { prefix: prefix(record.key), offset });
            offset += record.whole.len();
        }
        let whole_key = |slot: &Slot| {
            if self.needs_whole_keys { Record::at(&self.bytes, slot.offset).key } else { &[] }
        };
        order.par_sort_unstable_by(|a, b| {
            let by_prefix = a.prefix.cmp(&b.prefix);
            by_prefix.then_with(|| whole_key(a).cmp(whole_key(b))).then(a.offset.cmp(&b.offset))
        });
        order
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.needs_whole_keys = false;
    }
}

/// A temporary file of sorted runs. The oldest run comes first.
#[derive(Debug)]
struct Runs {
    file: ScratchFile,
    ranges: Vec<Range<u64>>,
}

impl Runs {
    fn new(directory: &PathBuf) -> io::Result<Runs> {
        Ok(Runs { file: ScratchFile::create(directory)?, ranges: Vec::new() })
    }

    /// Adds a run. `write` writes its records.
    fn append(
        &mut self,
        write: impl FnOnce(&mut BufWriter<&mut ScratchFile>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(BLOCK, &mut self.file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        let start = self.ranges.last().map_or(0, |range| range.end);
        self.ranges.push(start..self.file.stream_position()?);
        Ok(())
    }

    /// Merges groups of up to `max_runs` neighbouring runs into one run each.
    fn merged_by(
        self,
        max_runs: usize,
        directory: &PathBuf,
        memory_bytes: usize,
    ) -> io::Result<Runs> {
        let mut fewer = Runs::new(directory)?;
        let mut file = self.file;
        for group in self.ranges.chunks(max_runs) {
            let mut merge = Merge::new(file, group, memory_bytes)?;
            fewer.append(|out| {
                loop {
                    merge.advance()?;
                    match merge.current() {
                        Some(record) => out.write_all(record.whole)?,
                        None => return Ok(()),
                    }
                }
            })?;
            file = merge.file;
        }
        Ok(fewer)
    }
}

/// Several runs, read as one.
#[derive(Debug)]
struct Merge<F> {
    file: F,
    runs: Vec<Run>,
    /// Indices of the runs that have records left, as a heap with the smallest record on top.
    heap: Vec<usize>,
    started: bool,
}

impl<F: Read + Seek> Merge<F> {
    fn new(file: F, ranges: &[Range<u64>], memory_bytes: usize) -> io::Result<Merge<F>> {
        let block = (memory_bytes / ranges.len().max(1)).clamp(BLOCK, MAX_BLOCK);
        let runs: Vec<_> = ranges.iter().map(|range| Run::new(range.clone(), block)).collect();
        let mut merge = Merge { file, runs, heap: Vec::new(), started: false };
        for index in 0..merge.runs.len() {
            if merge.runs[index].advance(&mut merge.file)? {
                merge.heap.push(index);
            }
        }
        // Places in the second half of a heap have no children.
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(place);
        }
        Ok(merge)
    }

    fn current(&self) -> Option<Record<'_>> {
        if !self.started {
            return None;
        }
        let top = *self.heap.first()?;
        Some(self.runs[top].record())
    }

    fn advance(&mut self) -> io::Result<()> {
        if !self.started {
            self.started = true;
            return Ok(());
        }
        if let Some(&top) = self.heap.first() {
            match self.runs[top].advance(&mut self.file) {
                Ok(true) => {}
                Ok(false) => drop(self.heap.swap_remove(0)),
                Err(error) => {
                    // The record that was read in part must not be returned, nor those after it.
                    self.heap.clear();
                    return Err(error);
                }
            }
            self.sift_down(0);
        }
        Ok(())
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let least = children.fold(place, |least, child| {
                if self.is_before(self.heap[child], self.heap[least]) { child } else { least }
            });
            if least == place {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }

    /// True if the record of run `a` precedes the record of run `b`. If their keys are equal, the
    /// older run comes first.
    fn is_before(&self, a: usize, b: usize) -> bool {
        let run_a = &self.runs[a];
        let run_b = &self.runs[b];
        let order = run_a
            .prefix
            .cmp(&run_b.prefix)
            .then_with(|| run_a.record().key.cmp(run_b.record().key))
            .then(a.cmp(&b));
        order.is_lt()
    }
}

/// A run, read block by block.
#[derive(Debug)]
struct Run {
    /// The rest of the run in the file.
    rest: Range<u64>,
    buffer: Vec<u8>,
    /// The bytes in `buffer` that were read and not returned yet.
    filled: Range<usize>,
    /// The length of the record at the start of `filled`; 0 before the first record.
    record_len: usize,
    prefix: u64,
    block: usize,
}

impl Run {
    fn new(rest: Range<u64>, block: usize) -> Run {
        Run { rest, buffer: Vec::new(), filled: 0..0, record_len: 0, prefix: 0, block }
    }

    fn record(&self) -> Record<'_> {
        Record::at(&self.buffer, self.filled.start)
    }

    /// Advances to the next record. Returns false at the end of the run.
    fn advance(&mut self, file: &mut (impl Read + Seek)) -> io::Result<bool> {
        self.filled.start += self.record_len;
        self.record_len = 0;
        if self.filled.is_empty() && self.rest.is_empty() {
            self.buffer = Vec::new();
            return Ok(false);
        }
        self.read_at_least(HEADER, file)?;
        let (key_len, payload_len) = lengths(&self.buffer[self.filled.clone()]);
        self.record_len = HEADER + key_len + payload_len;
        self.read_at_least(self.record_len, file)?;
        self.prefix = prefix(self.record().key);
        Ok(true)
    }

    /// Reads from the file unless the buffer has at least `wanted` bytes that were not returned.
    fn read_at_least(&mut self, wanted: usize, file: &mut (impl Read + Seek)) -> io::Result<()> {
        if self.filled.len() >= wanted {
            return Ok(());
        }
        let bytes_in_file = self.rest.end - self.rest.start;
        let missing = wanted - self.filled.len();
        if missing as u64 > bytes_in_file {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the temporary file of a sort was changed",
            ));
        }
        self.buffer.copy_within(self.filled.clone(), 0);
        self.filled = 0..self.filled.len();
        let room = wanted.max(self.block) - self.filled.len();
        let brought = room.min(usize::try_from(bytes_in_file).unwrap_or(room));
        let end = self.filled.end + brought;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        file.seek(SeekFrom::Start(self.rest.start))?;
        file.read_exact(&mut self.buffer[self.filled.end..end])?;
        self.rest.start += brought as u64;
        self.filled.end = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

    fn sorter(records: &Pairs, memory_bytes: usize) -> Sorter {
        let mut sorter = Sorter::new(std::env::temp_dir(), memory_bytes);
        for (key, payload) in records {
            sorter.push(key, payload).unwrap();
        }
        sorter
    }

    fn all(mut sorted: Sorted) -> Pairs {
        let mut pairs = Vec::new();
        assert_eq!(sorted.current(), None);
        while let Some((key, payload)) = sorted.next_entry().unwrap() {
            pairs.push((key.to_vec(), payload.to_vec()));
            let current = sorted.current().map(|(key, payload)| (key.to_vec(), payload.to_vec()));
            assert_eq!(current.as_ref(), pairs.last());
        }
        assert_eq!(sorted.next_entry().unwrap(), None);
        assert_eq!(sorted.current(), None);
        pairs
    }

    /// `count` records with few different keys. The payload of a record is its number.
    fn numbered(count: u32) -> Pairs {
        let key = |n: u32| format!("the same start {}", n.wrapping_mul(2_654_435_761) % 97);
        (0..count).map(|n| (key(n).into_bytes(), n.to_be_bytes().to_vec())).collect()
    }

    /// A file of which only the first bytes can be read.
    struct Failing(io::Cursor<Vec<u8>>, u64);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let place = self.0.position();
            if place + buffer.len() as u64 > self.1 {
                Err(io::ErrorKind::Other.into())
            } else {
                self.0.read(buffer)
            }
        }
    }

    impl Seek for Failing {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    /// A caller that continues after an error gets no record that was read in part.
    #[test]
    fn after_an_error_there_are_no_records() {
        let mut file = Vec::new();
        for number in 0..10_000_u32 {
            write_record(&mut file, &number.to_be_bytes(), [&[7; 30], &[]]).unwrap();
        }
        let len = file.len() as u64;
        let half = len / 2;
        for readable in (half + BLOCK as u64..len).step_by(9973) {
            let file = Failing(io::Cursor::new(file.clone()), readable);
            let mut merged = MergedRuns::new(file, &[0..half, half..len], BLOCK).unwrap();
            while merged.advance().is_ok() {
                assert!(merged.current().is_some());
            }
            assert_eq!(merged.current(), None);
            merged.advance().unwrap();
            assert_eq!(merged.current(), None);
        }
    }

    fn stably_sorted(records: &Pairs) -> Pairs {
        let mut sorted = records.clone();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        sorted
    }

    #[test]
    fn many_runs_in_several_passes_keep_equal_keys_in_order() {
        let records = numbered(5000);
        let sorter = sorter(&records, 1000);
        let runs = sorter.runs.as_ref().map_or(0, |runs| runs.ranges.len());
        assert!(runs > 64, "{runs} runs take several passes of two");
        assert_eq!(sorter.len(), 5000);
        assert_eq!(all(sorter.finish().unwrap()), stably_sorted(&records));
    }

    #[test]
    fn what_fits_the_budget_makes_no_file() {
        let records = numbered(5000);
        let sorter = sorter(&records, 1 << 20);
        assert!(sorter.runs.is_none());
        assert_eq!(all(sorter.finish().unwrap()), stably_sorted(&records));
        let empty = Sorter::new("/no such directory", 0);
        assert!(empty.is_empty());
        assert_eq!(all(empty.finish().unwrap()), Pairs::new());
    }

    #[test]
    fn the_budget_holds_while_records_come() {
        let memory_bytes = 100_000;
        let mut sorter = Sorter::new(std::env::temp_dir(), memory_bytes);
        for (key, payload) in numbered(50_000) {
            sorter.push(&key, &payload).unwrap();
            let places = sorter.records.count * size_of::<Slot>();
            assert!(sorter.records.bytes.capacity() <= memory_bytes);
            assert!(sorter.records.bytes.len() + places <= memory_bytes);
        }
    }

    #[test]
    fn records_larger_than_the_budget_and_than_a_block_pass() {
        let mut records = numbered(10);
        records.push((b"large".to_vec(), vec![7; 3 * BLOCK]));
        records.push((vec![b'k'; 2 * BLOCK], Vec::new()));
        records.push((Vec::new(), Vec::new()));
        records.extend(numbered(10));
        assert_eq!(all(sorter(&records, 1000).finish().unwrap()), stably_sorted(&records));
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let mut sorter = Sorter::new("/no such directory", 10);
        sorter.push(b"a", b"").unwrap();
        assert_eq!(sorter.push(b"b", b"").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_changed_temporary_file_is_an_error() {
        let mut sorter = sorter(&numbered(100), 1000);
        sorter.spill().unwrap();
        let runs = sorter.runs.as_mut().unwrap();
        runs.file.seek(SeekFrom::Start(0)).unwrap();
        runs.file.write_all(&[0xff; 8]).unwrap();
        assert_eq!(sorter.finish().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    proptest! {
        #[test]
        fn any_records_in_any_memory_come_out_stably_sorted(
            records in prop::collection::vec(
                (prop::collection::vec(0..3u8, 0..12), prop::collection::vec(any::<u8>(), 0..20)),
                0..200,
            ),
            memory_bytes in 0..4000usize,
        ) {
            prop_assert_eq!(all(sorter(&records, memory_bytes).finish().unwrap()), stably_sorted(&records));
        }
    }
}
