//! All records in order of their import, without an index.
// An index by import number would cost space for every record and a random write for each imported
// record, but only exports need this order. Instead, all blocks are read once, sequentially, for
// each window of numbers that fits into memory.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{EncodedRecord, Reader, StoredRecord};
use crate::error::{StoreError, damaged};
use crate::options::with_capacity;
use crate::schema::Meta;

type Result<T> = std::result::Result<T, StoreError>;

impl Reader {
    /// All records in order of their import numbers, without an index. All blocks are read several
    /// times. Each time, the next records are collected until the memory budget of the store is
    /// used up. A record that is longer than the budget is returned alone.
    pub fn by_import(&self) -> ByImport<'_> {
        ByImport::new(self)
    }
}

/// All records in order of their import. The iterator decodes them; [`ByImport::next_encoded`]
/// returns the bytes.
pub struct ByImport<'r> {
    reader: &'r Reader,
    /// Number of bytes that the collected records take from the budget of cached blocks.
    taken: usize,
    window: Window,
    /// Index of the next record of the window.
    next: usize,
    /// Number of records in this and earlier windows.
    given: u64,
    /// The lowest import number of the next window.
    from: u64,
    ended: bool,
    passes_damage: bool,
    /// The damage that was passed over.
    damage: Option<StoreError>,
}

impl fmt::Debug for ByImport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByImport")
            .field("given", &self.given)
            .field("from", &self.from)
            .finish_non_exhaustive()
    }
}

impl<'r> ByImport<'r> {
    fn new(reader: &'r Reader) -> ByImport<'r> {
        let taken = reader.shared.cache_left.swap(0, Ordering::Relaxed);
        let window = Window::new(taken.max(1 << 16), &reader.meta);
        let next = 0;
        let given = 0;
        let from = 0;
        ByImport {
            reader,
            taken,
            window,
            next,
            given,
            from,
            ended: false,
            passes_damage: false,
            damage: None,
        }
    }

    /// Passes over damage, which becomes an error at the end. So who stops early may miss records without an
    /// error.
    pub fn past_damage(mut self) -> ByImport<'r> {
        self.passes_damage = true;
        self
    }

    /// The next record; `None` at the end and after an error.
    ///
    /// # Errors
    /// The errors of [`ByKey::next_encoded`](super::ByKey::next_encoded).
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        while self.next == self.window.records.len() {
            if self.ended {
                return self.damage.take().map(Err);
            }
            if let Err(error) = self.refill() {
                self.end();
                return Some(Err(error));
            }
        }
        let record = self.window.get(self.next, self.reader)?;
        self.next += 1;
        Some(Ok(record))
    }

    fn end(&mut self) {
        self.ended = true;
        self.window.begin(0, 0);
        self.next = 0;
    }

    /// Reads all blocks and collects the records of the next window, a range of import numbers. The
    /// range is chosen so that its records fill the memory if records are spread evenly over the
    /// numbers. If there are more records than fit, the upper half of the records is dropped. So a
    /// window is at least half full, and at most about three times the necessary number of windows
    /// is read.
    fn refill(&mut self) -> Result<()> {
        let meta = &self.reader.meta;
        let likely = self.window.likely_numbers(meta);
        self.window.begin(self.from, self.from.saturating_add(likely));
        let mut records = self.reader.by_key();
        if self.passes_damage {
            records = records.past_damage();
        }
        while let Some(record) = records.next_encoded() {
            match record {
                Ok(record) => self.window.add_if_inside(record.number(), record.bytes()),
                Err(error @ StoreError::Damaged { .. }) if self.passes_damage => {
                    self.damage = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        self.window.sort();
        self.given += self.window.records.len() as u64;
        self.from = self.window.to;
        self.ended = self.given >= meta.records || self.from >= meta.next_import_number;
        self.next = 0;
        if self.ended && self.given != meta.records && self.damage.is_none() {
            let what = format!(
                "records with numbers of their own: {} recorded, {} found",
                meta.records, self.given
            );
            return Err(damaged("the store", what).into_error(self.reader.path()));
        }
        Ok(())
    }
}

impl Drop for ByImport<'_> {
    fn drop(&mut self) {
        self.reader.shared.cache_left.fetch_add(self.taken, Ordering::Relaxed);
    }
}

impl Iterator for ByImport<'_> {
    type Item = Result<StoredRecord>;

    fn next(&mut self) -> Option<Result<StoredRecord>> {
        let next = self.next_encoded()?.and_then(|record| record.decode());
        if next.is_err() {
            self.end();
        }
        Some(next)
    }
}

/// The records whose import numbers lie in a range. If they need more memory than the limit, the
/// range is cut off at its upper end.
struct Window {
    limit: usize,
    from: u64,
    /// Lowest number of the next window.
    to: u64,
    records: Vec<(u64, Range<usize>)>,
    arena: Vec<u8>,
}

impl Window {
    const PER_RECORD: usize = size_of::<(u64, Range<usize>)>();

    /// Reserves memory for all records of the store, but at most `limit`. Reserved memory costs
    /// nothing until it is used; a list that grows would be copied.
    fn new(limit: usize, meta: &Meta) -> Window {
        let at_most = |count: u64, limit| usize::try_from(count).map_or(limit, |n| n.min(limit));
        let records = at_most(meta.records, limit / (Window::PER_RECORD + 8));
        let arena = at_most(meta.record_bytes, limit);
        let records = with_capacity(records);
        let arena = with_capacity(arena);
        Window { limit, from: 0, to: 0, records, arena }
    }

    /// Length of a range of import numbers whose records are likely to fill the window.
    fn likely_numbers(&self, meta: &Meta) -> u64 {
        let numbers = meta.next_import_number.max(1);
        let per_number = u128::from(meta.record_bytes)
            + u128::from(meta.records) * Window::PER_RECORD as u128
            + 1;
        // A sixteenth stays free, so that few windows have to be halved.
        let filled = self.limit as u128 * 15 / 16;
        let likely = filled * u128::from(numbers) / per_number;
        u64::try_from(likely).unwrap_or(u64::MAX).max(1)
    }

    fn begin(&mut self, from: u64, to: u64) {
        (self.from, self.to) = (from, to);
        self.records.clear();
        self.arena.clear();
    }

    fn add_if_inside(&mut self, number: u64, bytes: &[u8]) {
        if !(self.from..self.to).contains(&number) {
            return;
        }
        let start = self.arena.len();
        self.arena.extend_from_slice(bytes);
        self.records.push((number, start..start + bytes.len()));
        while self.records.len() > 1 && self.len() > self.limit {
            self.halve();
        }
    }

    fn len(&self) -> usize {
        self.arena.len() + self.records.len() * Window::PER_RECORD
    }

    /// Drops the later half of the records.
    fn halve(&mut self) {
        let half = self.records.len() / 2;
        let (_, (number, _), _) =
            self.records.select_nth_unstable_by_key(half, |(number, _)| *number);
        self.to = *number;
        self.records.truncate(half);
        self.records.sort_unstable_by_key(|(_, range)| range.start);
        let mut end = 0;
        for (_, range) in &mut self.records {
            let len = range.len();
            self.arena.copy_within(range.clone(), end);
            *range = end..end + len;
            end += len;
        }
        self.arena.truncate(end);
    }

    fn sort(&mut self) {
        self.records.sort_unstable_by_key(|(number, _)| *number);
    }

    fn get<'w>(&'w self, place: usize, reader: &'w Reader) -> Option<EncodedRecord<'w>> {
        let (import_number, range) = self.records.get(place)?;
        Some(EncodedRecord::new(*import_number, self.arena.get(range.clone())?, reader))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ImportOptions, OnDuplicate, Store, StoreOptions};

    /// Number of passes over a store with a gap in its numbers, and the number of windows that its
    /// records fill.
    fn passes(gap: usize) -> (usize, usize) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(
            folder.path().join("sparse.epdb"),
            &StoreOptions { memory_bytes: 1 << 16, ..Default::default() },
        );
        let store = store.unwrap();
        let options = ImportOptions { on_duplicate: OnDuplicate::Skip, ..Default::default() };
        let mut importer = store.importer("sparse", &options).unwrap();
        let mut push = |nth: usize| {
            let rank = |n: usize| ["8", "1p6", "2p5", "3p4", "4p3", "5p2", "6p1", "7p"][n % 8];
            let [a, b, c, d] = [nth, nth / 8, nth / 64, nth / 512].map(rank);
            let line = format!("4k3/{a}/{b}/{c}/{d}/8/8/4K3 w - - id \"{}\";", "x".repeat(200));
            importer.push(&epdb_chess::parse_epd(line.as_bytes()).unwrap()).unwrap();
        };
        (0..2000).for_each(&mut push);
        (0..gap).for_each(|_| push(0));
        (2000..4000).for_each(push);
        importer.finish().unwrap();

        let reader = store.reader().unwrap();
        let mut records = ByImport::new(&reader);
        let filled = (reader.meta.record_bytes as usize).div_ceil(records.window.limit);
        let mut passes = 0;
        while !records.ended {
            records.refill().unwrap();
            passes += 1;
        }
        assert_eq!(records.given, 4000);
        (passes, filled)
    }

    #[test]
    fn sparse_numbers_cost_few_passes() {
        for gap in [0, 1000, 30_000] {
            let (passes, filled) = passes(gap);
            assert!(filled > 3, "{filled}");
            assert!(passes <= 3 * filled, "gap {gap}: {passes} passes, {filled} windows");
        }
    }
}
