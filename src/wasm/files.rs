//! Files of the host, of which it gives bytes when they are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use epdb_archive::ReadRanges;
use epdb_archive::pages::{PAGE, pages_of, runs};

/// Number of bytes that are kept after an answer.
const KEPT: usize = 32 << 20;
/// Maximum number of bytes that an answer may need. A damaged file may ask for more.
const MAX_NEEDED: u64 = 64 << 20;
/// Maximum number of pages between two pages that are received together. Requests run side by side, so a
/// few more of them cost less than many bytes.
const GAP: u64 = 1;

static FILES: Mutex<Files> =
    Mutex::new(Files { pages: BTreeMap::new(), bytes: 0, answer: 0, needs: BTreeMap::new() });

/// The bytes that the host has given, and those that it has to give.
pub(crate) struct Files {
    pages: BTreeMap<PageKey, Page>,
    /// Number of bytes of the pages.
    bytes: usize,
    /// Number of the answer for which pages are used.
    answer: u64,
    /// For each file, its size and the missing pages.
    needs: BTreeMap<Arc<str>, (u64, BTreeSet<u64>)>,
}

/// A file, and the number of a page.
type PageKey = (Arc<str>, u64);

struct Page {
    bytes: Box<[u8]>,
    /// The last answer that used the page.
    used: u64,
}

/// Bytes that the host has to give.
#[derive(Serialize)]
pub(crate) struct Need {
    file: String,
    start: u64,
    end: u64,
    /// Size of the file.
    size: u64,
}

/// The files of the host.
pub(crate) fn files() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// Keeps bytes of a file. `start` is the first byte of a page.
    pub(crate) fn give(&mut self, file: &str, start: u64, bytes: &[u8]) {
        let file: Arc<str> = file.into();
        for (number, bytes) in (start / PAGE..).zip(bytes.chunks(PAGE as usize)) {
            let page = Page { bytes: bytes.into(), used: self.answer };
            self.bytes += bytes.len();
            let before = self.pages.insert((Arc::clone(&file), number), page);
            self.bytes -= before.map_or(0, |page| page.bytes.len());
        }
    }

    /// Forgets a file. Its parts stay.
    pub(crate) fn forget(&mut self, name: &str) {
        self.forget_those(|file| file == name);
    }

    /// Forgets the file of a source and its parts, whose names begin with that of the source and a slash.
    pub(crate) fn forget_source(&mut self, name: &str) {
        self.forget_those(|file| {
            file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
    }

    fn forget_those(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.pages.retain(|(file, _), _| !is_wanted(file));
        self.bytes = self.pages.values().map(|page| page.bytes.len()).sum();
    }

    /// The ranges that the host has to give for the answer that was tried.
    pub(crate) fn take_needs(&mut self) -> Vec<Need> {
        let mut needs = Vec::new();
        for (file, (size, numbers)) in std::mem::take(&mut self.needs) {
            let numbers: Vec<u64> = numbers.into_iter().collect();
            needs.extend(runs(&numbers, GAP).into_iter().map(|run| Need {
                file: file.to_string(),
                start: run.start * PAGE,
                end: size.min(run.end * PAGE),
                size,
            }));
        }
        needs
    }

    /// Ends an answer. If too many bytes are kept, only those that it used stay.
    pub(crate) fn end_answer(&mut self) {
        if self.bytes > KEPT {
            let answer = self.answer;
            self.pages.retain(|_, page| page.used == answer);
            self.bytes = self.pages.values().map(|page| page.bytes.len()).sum();
        }
        self.answer += 1;
    }

    /// The page if the host has given it; otherwise it is noted as needed.
    fn page(&mut self, file: &HostFile, number: u64) -> Option<&[u8]> {
        if let Some(page) = self.pages.get_mut(&(Arc::clone(&file.name), number)) {
            page.used = self.answer;
            return Some(&page.bytes);
        }
        let needs = self.needs.entry(Arc::clone(&file.name));
        needs.or_insert_with(|| (file.size, BTreeSet::new())).1.insert(number);
        None
    }

    /// The bytes of a range; `None` if some are missing.
    fn read(&mut self, file: &HostFile, range: &Range<u64>) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Some(Vec::new());
        for number in pages_of(range) {
            let Some(page) = self.page(file, number) else {
                bytes = None;
                continue;
            };
            let first = number * PAGE;
            let start = range.start.saturating_sub(first) as usize;
            let end = (range.end - first).min(PAGE) as usize;
            let part = page.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
            bytes.iter_mut().for_each(|bytes| bytes.extend_from_slice(part));
        }
        Ok(bytes)
    }
}

/// A file of the host.
#[derive(Clone, Debug)]
pub(crate) struct HostFile {
    name: Arc<str>,
    size: u64,
}

impl HostFile {
    pub(crate) fn new(name: &str, size: u64) -> HostFile {
        HostFile { name: name.into(), size }
    }

    /// All bytes. Whoever reads them may give them up and read them again for the same answer.
    ///
    /// # Errors
    /// Bytes are missing, or the file is too large.
    pub(crate) fn whole(&self) -> io::Result<Vec<u8>> {
        let mut read = self.read_ranges(std::slice::from_ref(&(0..self.size)))?;
        Ok(read.pop().unwrap_or_default())
    }
}

impl ReadRanges for HostFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        if ranges.iter().map(|range| range.end - range.start).sum::<u64>() > MAX_NEEDED {
            return Err(io::Error::other(format!(
                "more than {MAX_NEEDED} bytes are needed at once"
            )));
        }
        let mut files = files();
        let read = ranges.iter().map(|range| files.read(self, range));
        let read: Vec<Option<Vec<u8>>> = read.collect::<io::Result<_>>()?;
        read.into_iter().collect::<Option<_>>().ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        let mut files = files();
        for number in ranges.iter().flat_map(pages_of).take((MAX_NEEDED / PAGE) as usize) {
            files.page(self, number);
        }
        Ok(())
    }
}
