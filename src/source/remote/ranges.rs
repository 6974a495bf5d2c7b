//! Archives that are read by ranges, in pages that a cache keeps.
// Pages are larger than the blocks of archives, because a request costs more than its bytes. Pages
// that are near each other are received by one request.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetRange};
use quick_cache::sync::Cache;

use super::client::has_no_range;
use super::settings::RemoteSettings;
use super::shared::{Page, capacity, shared, wait_for};
use super::{RemoteObject, Version};
use epdb_archive::ReadRanges;
use epdb_archive::pages::{MAX_REQUEST, PAGE, pages_of, runs};
use epdb_chess::error::{Error, Result};

/// Number of bytes at the end of an archive that are received when it is opened.
const TAIL: u64 = 128 << 10;
/// An archive that is known to have at most this size is received whole when it is opened: three more
/// requests, one after the other, take longer than its bytes.
const WHOLE: u64 = 512 << 10;
/// Maximum number of requests of one call that wait for their answers.
const IN_FLIGHT: usize = 16;
/// Maximum number of places at which an archive is read in sequence at the same time.
const SEQUENCES: usize = 4;

/// An archive that is read by ranges of bytes. All ranges come from the same version of the object.
#[derive(Debug)]
pub(crate) struct RangeFile {
    object: RemoteObject,
    version: Version,
    /// Number by which the cache distinguishes archives.
    id: u64,
    /// The first bytes of the archive that are already known.
    head: Vec<u8>,
    /// Maximum number of pages between two pages of a request.
    gap: u64,
    sequences: Mutex<Vec<Sequence>>,
    /// The pages of all archives that were read last.
    cache: &'static Cache<(u64, u64), Page>,
}

/// State of one place at which the archive is read in sequence.
#[derive(Copy, Clone, Debug)]
struct Sequence {
    /// The page after the last one that was received.
    next: u64,
    /// Number of pages that were received last.
    len: u64,
}

impl RangeFile {
    /// Opens an archive by one request, for its last bytes. `size` is its size if that is known. `None` if the server does
    /// not send ranges, or does not name the version that it sends.
    pub(crate) fn open(object: RemoteObject, size: Option<u64>) -> Result<Option<RangeFile>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let tail = match size {
            Some(size) if size <= WHOLE => size.max(TAIL),
            _ => TAIL,
        };
        let range = Some(GetRange::Suffix(tail));
        let options = GetOptions { range, ..GetOptions::default() };
        let answer = match wait_for(object.store.get_opts(&object.key, options))? {
            Err(error) if has_no_range(&error) => return Ok(None),
            answer => answer.map_err(|error| object.failed(error))?,
        };
        // A size that no file has would be a reason for overflow.
        let version = Version::of(&answer).filter(|version| version.size <= i64::MAX as u64);
        let Some(version) = version else { return Ok(None) };
        let start = answer.range.start;
        let tail = wait_for(answer.bytes())?.map_err(|error| object.failed(error))?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let gap = RemoteSettings::get()?.gap / PAGE;
        let sequences = Mutex::default();
        let cache = &shared()?.pages;
        let file = RangeFile { object, version, id, head: Vec::new(), gap, sequences, cache };
        if start + tail.len() as u64 == file.size() {
            file.put(start, &tail);
        }
        Ok(Some(file))
    }

    /// The same archive, of which these first bytes are already known.
    pub(crate) fn with_head(self, head: Vec<u8>) -> RangeFile {
        RangeFile { head, ..self }
    }

    /// Keeps the whole pages of bytes that begin at `start`.
    fn put(&self, start: u64, bytes: &[u8]) {
        let skipped = (start.next_multiple_of(PAGE) - start) as usize;
        let pages = bytes.get(skipped..).unwrap_or_default().chunks(PAGE as usize);
        for (number, page) in (start.div_ceil(PAGE)..).zip(pages) {
            self.cache.insert((self.id, number), page.into());
        }
    }

    /// Returns pages. Pages that are not in the cache are received.
    fn pages(&self, numbers: &BTreeSet<u64>) -> Result<BTreeMap<u64, Page>> {
        let mut pages = BTreeMap::new();
        let mut missing = Vec::new();
        for number in numbers {
            match self.cache.get(&(self.id, *number)) {
                Some(page) => _ = pages.insert(*number, page),
                None => missing.push(*number),
            }
        }
        for (first, bytes) in self.receive(&missing)? {
            for (number, bytes) in (first..).zip(bytes.chunks(PAGE as usize)) {
                let page: Page = bytes.into();
                self.cache.insert((self.id, number), Arc::clone(&page));
                if numbers.contains(&number) {
                    pages.insert(number, page);
                }
            }
        }
        Ok(pages)
    }

    /// Receives these pages, whose numbers ascend, and perhaps pages between them. Each result has
    /// the number of its first page.
    fn receive(&self, missing: &[u64]) -> Result<Vec<(u64, Bytes)>> {
        let mut runs = runs(missing, self.gap);
        if let [run] = &mut runs[..] {
            self.read_ahead(run);
        }
        let receive = |run: Range<u64>| async move {
            let range = run.start * PAGE..self.size().min(run.end * PAGE);
            let bytes = self.object.receive(range, &self.version).await?;
            Ok::<_, Error>((run.start, bytes))
        };
        let received = stream::iter(runs).map(receive).buffer_unordered(IN_FLIGHT);
        wait_for(received.try_collect())?
    }

    /// Reads ahead: makes a range of pages longer if the pages before it were received last. Each
    /// time, the number of pages doubles.
    fn read_ahead(&self, run: &mut Range<u64>) {
        let mut sequences = self.sequences.lock().unwrap_or_else(PoisonError::into_inner);
        let before = sequences.iter().position(|sequence| sequence.next == run.start);
        if let Some(place) = before {
            let len = sequences.remove(place).len;
            // Pages that are read ahead take at most a quarter of the cache.
            let max_pages = (MAX_REQUEST / PAGE).min(capacity() / 4);
            let end = (run.start + (2 * len).min(max_pages)).min(self.size().div_ceil(PAGE));
            while run.end < end && self.cache.get(&(self.id, run.end)).is_none() {
                run.end += 1;
            }
        }
        sequences.truncate(SEQUENCES - 1);
        sequences.insert(0, Sequence { next: run.end, len: run.end - run.start });
    }

    /// Reads a range in parts, so that it takes memory only for bytes that the server has sent.
    fn read_long(&self, range: &Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for start in range.clone().step_by(MAX_REQUEST as usize) {
            let part = start..range.end.min(start + MAX_REQUEST);
            let pages = self.pages(&pages_of(&part).collect())?;
            bytes.extend(cut(&part, &pages).ok_or(io::ErrorKind::UnexpectedEof)?);
        }
        Ok(bytes)
    }

    fn in_head(&self, range: &Range<u64>) -> Option<&[u8]> {
        self.head.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
    }
}

impl ReadRanges for RangeFile {
    fn size(&self) -> u64 {
        self.version.size
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        let is_long = |range: &Range<u64>| range.end - range.start > MAX_REQUEST;
        let elsewhere = |range: &&Range<u64>| !is_long(range) && self.in_head(range).is_none();
        let pages = self.pages(&ranges.iter().filter(elsewhere).flat_map(pages_of).collect())?;
        let read = |range: &Range<u64>| match self.in_head(range) {
            Some(bytes) => Ok(bytes.to_vec()),
            None if is_long(range) => self.read_long(range),
            None => cut(range, &pages).ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
        };
        ranges.iter().map(read).collect()
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        let elsewhere = ranges.iter().filter(|range| self.in_head(range).is_none());
        // More pages would take the places of the first ones before these are read.
        self.pages(&first_pages(elsewhere, capacity() / 2))?;
        Ok(())
    }
}

/// The first pages that have one of the ranges.
fn first_pages<'r>(ranges: impl Iterator<Item = &'r Range<u64>>, max_pages: u64) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    for range in ranges {
        // An archive with false lengths has ranges of very many pages.
        numbers.extend(pages_of(range).take(max_pages as usize));
        while numbers.len() as u64 > max_pages {
            numbers.pop_last();
        }
    }
    numbers
}

/// The bytes of a range; `None` if a page is missing.
fn cut(range: &Range<u64>, pages: &BTreeMap<u64, Page>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity((range.end - range.start) as usize);
    for number in pages_of(range) {
        let first = number * PAGE;
        let start = range.start.saturating_sub(first) as usize;
        let end = (range.end - first).min(PAGE) as usize;
        bytes.extend_from_slice(pages.get(&number)?.get(start..end)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_of_pages_is_announced() {
        let ranges = [5 * PAGE..u64::MAX, 2 * PAGE..2 * PAGE + 1, 0..0, 4 * PAGE..9 * PAGE];
        assert_eq!(first_pages(ranges.iter(), 4), BTreeSet::from([2, 4, 5, 6]));
    }

    #[test]
    fn ranges_are_cut_out_of_pages() {
        let bytes: Vec<u8> = (0..3 * PAGE).map(|number| (number % 251) as u8).collect();
        let pages = (0..).zip(bytes.chunks(PAGE as usize).map(Page::from)).collect();
        for range in [0..0, 0..PAGE, 5..PAGE + 1, PAGE - 1..3 * PAGE, 3 * PAGE..3 * PAGE] {
            let expected = &bytes[range.start as usize..range.end as usize];
            assert_eq!(cut(&range, &pages).as_deref(), Some(expected), "{range:?}");
        }
        assert_eq!(cut(&(0..3 * PAGE + 1), &pages), None);
    }
}
