//! Reading all records, in order of their keys or of their import. Whatever way, all blocks and
//! chunks are read, and at the end compared with the meta row, so that nothing is left out in
//! silence.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::block::{Block, Damage, Payload};
use super::crowd::Crowd;
use super::error::{damaged, guarded};
use super::reader::{EncodedRecord, Guard, Reader, StoredRecord, decode, range_in, sized};
use super::schema::{Digest, Meta};
use super::{StoreError, key_of_board};
use crate::codec::record;

type Result<T> = std::result::Result<T, StoreError>;

/// All records in order of their keys. As an iterator it decodes them; [`ByKey::next_encoded`]
/// gives the bytes.
pub struct ByKey<'r> {
    reader: &'r Reader,
    /// The number of the block to be read next; none when there are no more records.
    next_block: Option<u64>,
    block: Option<OpenBlock>,
    crowd: Option<Crowd>,
    found: Totals,
}

/// What was read, to be held against the meta row.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Totals {
    records: u64,
    record_bytes: u64,
    positions: u64,
    block_bytes: u64,
    crowded: u64,
    chunks: u64,
    blocks_digest: Digest,
    chunks_digest: Digest,
}

impl Totals {
    fn of_meta(meta: &Meta) -> Totals {
        Totals {
            records: meta.records,
            record_bytes: meta.record_bytes,
            positions: meta.positions,
            block_bytes: meta.block_bytes,
            crowded: meta.crowded,
            chunks: meta.chunks,
            blocks_digest: meta.blocks_digest,
            chunks_digest: meta.chunks_digest,
        }
    }

    /// What is wrong when the meta row announces other totals.
    fn difference(&self, meta: &Meta) -> Option<String> {
        let announced = Totals::of_meta(meta);
        let counts = [
            ("records", announced.records, self.records),
            ("bytes of records", announced.record_bytes, self.record_bytes),
            ("positions", announced.positions, self.positions),
            ("bytes of blocks", announced.block_bytes, self.block_bytes),
            ("crowded positions", announced.crowded, self.crowded),
            ("chunks", announced.chunks, self.chunks),
        ];
        let wrong = counts.into_iter().find(|(_, announced, found)| announced != found);
        match wrong {
            Some((what, announced, found)) => {
                Some(format!("{announced} {what} are announced, and {found} were found"))
            }
            None if *self != announced => Some("the digest of all rows does not match".into()),
            None => None,
        }
    }
}

/// A block that is being read.
struct OpenBlock {
    number: u64,
    guard: Guard,
    bucket: u32,
    at: (usize, usize),
    /// The board of the entry before.
    board: Range<usize>,
}

/// What the next entry of a block is.
enum Step {
    Record { import_number: u64, bytes: Range<usize>, is_new_position: bool },
    Crowd(Box<Crowd>),
    End,
}

impl OpenBlock {
    /// The next entry, each bucket's checksum checked as it is entered.
    fn step(&mut self, reader: &Reader) -> Result<Step> {
        let damaged = |damage| reader.damaged_block(self.number, damage);
        let bytes = self.guard.value();
        let block = Block::new(self.number, bytes).map_err(damaged)?;
        while self.bucket < block.buckets() {
            let bucket = block.bucket(self.bucket).map_err(damaged)?;
            if self.at == (0, 0) {
                bucket.check().map_err(damaged)?;
            }
            let mut entries = bucket.entries_from(self.at);
            let Some(entry) = entries.next().transpose().map_err(damaged)? else {
                self.bucket += 1;
                self.at = (0, 0);
                continue;
            };
            self.at = entries.place();
            return match entry.payload {
                Payload::Record(record) => {
                    let no_board = |_| damaged(Damage("a record has no board"));
                    let board = record::board_of(record).map_err(no_board)?;
                    let is_new_position = bytes.get(self.board.clone()) != Some(board);
                    self.board = range_in(bytes, board);
                    let (import_number, bytes) = (entry.import_number, range_in(bytes, record));
                    Ok(Step::Record { import_number, bytes, is_new_position })
                }
                Payload::Stub(stub) => {
                    let key = key_of_board(reader.shared.key, stub.board)
                        .ok_or_else(|| damaged(Damage("a stub has no board")))?;
                    self.board = range_in(bytes, stub.board);
                    reader.crowd(key, stub).map(|crowd| Step::Crowd(Box::new(crowd)))
                }
            };
        }
        Ok(Step::End)
    }
}

impl<'r> ByKey<'r> {
    pub(super) fn new(reader: &'r Reader) -> ByKey<'r> {
        let found = Totals::default();
        ByKey { reader, next_block: Some(0), block: None, crowd: None, found }
    }

    /// The next record; `None` when there are no more. After an error there are no more.
    ///
    /// # Errors
    /// As [`Matches::next_encoded`](super::Matches::next_encoded). Behind the last record,
    /// [`StoreError::Damaged`] when the store announces other records than were read.
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        match self.advance() {
            Err(error) => {
                (self.next_block, self.block, self.crowd) = (None, None, None);
                Some(Err(error))
            }
            Ok(None) => None,
            Ok(Some((import_number, place))) => {
                let bytes = match &self.crowd {
                    Some(crowd) => crowd.bytes(place)?,
                    None => self.block.as_ref()?.guard.value().get(place)?,
                };
                Some(Ok(EncodedRecord { import_number, bytes }))
            }
        }
    }

    fn advance(&mut self) -> Result<Option<(u64, Range<usize>)>> {
        loop {
            if let Some(crowd) = &mut self.crowd {
                if let Some((number, bytes)) = crowd.advance(&self.reader.shared)? {
                    self.count(number, bytes.len())?;
                    return Ok(Some((number, bytes)));
                }
                let contents = crowd.contents();
                self.found.positions += 1;
                self.found.crowded += 1;
                self.found.chunks += contents.chunks;
                self.found.chunks_digest.add(contents.digest);
                self.crowd = None;
            }
            if let Some(block) = &mut self.block {
                match block.step(self.reader)? {
                    Step::Record { import_number, bytes, is_new_position } => {
                        self.found.positions += u64::from(is_new_position);
                        self.count(import_number, bytes.len())?;
                        return Ok(Some((import_number, bytes)));
                    }
                    Step::Crowd(crowd) => {
                        self.crowd = Some(*crowd);
                        continue;
                    }
                    Step::End => self.block = None,
                }
            }
            let Some(number) = self.next_block else { return Ok(None) };
            if number == self.reader.meta.blocks {
                self.next_block = None;
                self.compare()?;
                return Ok(None);
            }
            self.open(number)?;
            self.next_block = Some(number + 1);
        }
    }

    fn count(&mut self, import_number: u64, bytes: usize) -> Result<()> {
        if import_number >= self.reader.meta.next_import_number {
            let place = format!("record {import_number}");
            return Err(damaged(place, "it has a number not yet given")
                .into_error(&self.reader.shared.path));
        }
        self.found.records += 1;
        self.found.record_bytes += bytes as u64;
        Ok(())
    }

    /// Opens a block, header and directory checked.
    fn open(&mut self, number: u64) -> Result<()> {
        let reader = self.reader;
        let damaged = |damage| reader.damaged_block(number, damage);
        let guard =
            guarded(&reader.shared.path, || Ok(reader.blocks.get_owned(number)?.map(sized)))?;
        let guard = guard.ok_or_else(|| damaged(Damage("it is missing")))?;
        let bytes = guard.value();
        let block = Block::new(number, bytes).map_err(damaged)?;
        block.check(reader.check_of(number)).map_err(damaged)?;
        self.found.block_bytes += bytes.len() as u64;
        self.found.blocks_digest.add(Digest::of_block(number, bytes));
        self.block = Some(OpenBlock { number, guard, bucket: 0, at: (0, 0), board: 0..0 });
        Ok(())
    }

    fn compare(&self) -> Result<()> {
        match self.found.difference(&self.reader.meta) {
            None => Ok(()),
            Some(what) => Err(damaged("the store", what).into_error(&self.reader.shared.path)),
        }
    }
}

impl Iterator for ByKey<'_> {
    type Item = Result<StoredRecord>;

    fn next(&mut self) -> Option<Result<StoredRecord>> {
        let path = &self.reader.shared.path;
        let next = self.next_encoded()?.and_then(|record| decode(record, path));
        if next.is_err() {
            (self.next_block, self.block, self.crowd) = (None, None, None);
        }
        Some(next)
    }
}

/// All records in order of their import. As an iterator it decodes them;
/// [`ByImport::next_encoded`] gives the bytes.
pub struct ByImport<'r> {
    reader: &'r Reader,
    /// What the window took from the budget of cached blocks.
    taken: usize,
    window: Window,
    /// The next record of the window.
    next: usize,
    /// Records that were given in earlier windows.
    given: u64,
    /// The least import number that the next window may take.
    from: u64,
    ended: bool,
}

impl<'r> ByImport<'r> {
    pub(super) fn new(reader: &'r Reader) -> ByImport<'r> {
        let taken = reader.shared.cache_left.swap(0, Ordering::Relaxed);
        let window = Window::new(taken.max(1 << 16), &reader.meta);
        let (next, given, from) = (0, 0, 0);
        ByImport { reader, taken, window, next, given, from, ended: false }
    }

    /// The next record; `None` when there are no more. After an error there are no more.
    ///
    /// # Errors
    /// As [`ByKey::next_encoded`].
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        while self.next == self.window.records.len() {
            if self.ended {
                return None;
            }
            if let Err(error) = self.refill() {
                self.end();
                return Some(Err(error));
            }
        }
        let record = self.window.get(self.next)?;
        self.next += 1;
        Some(Ok(record))
    }

    fn end(&mut self) {
        self.ended = true;
        self.window.begin(0, 0);
        self.next = 0;
    }

    /// Reads all records and collects the next of them. A window is as wide as its records would
    /// be on average; where more lie there, at least half of it is filled. So however the numbers
    /// lie, there are at most about three times as many windows as the records fill.
    fn refill(&mut self) -> Result<()> {
        let meta = &self.reader.meta;
        let likely = self.window.likely_numbers(meta);
        self.window.begin(self.from, self.from.saturating_add(likely));
        let mut records = self.reader.by_key();
        while let Some(record) = records.next_encoded() {
            let record = record?;
            self.window.offer(record.import_number, record.bytes);
        }
        self.window.sort();
        self.given += self.window.records.len() as u64;
        self.from = self.window.to;
        self.ended = self.given >= meta.records || self.from >= meta.next_import_number;
        self.next = 0;
        if self.ended && self.given != meta.records {
            let what = format!(
                "{} records are announced, and {} have numbers of their own",
                meta.records, self.given
            );
            return Err(damaged("the store", what).into_error(&self.reader.shared.path));
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
        let path = &self.reader.shared.path;
        let next = self.next_encoded()?.and_then(|record| decode(record, path));
        if next.is_err() {
            self.end();
        }
        Some(next)
    }
}

/// The records whose import numbers lie in a range, kept within so many bytes by giving up the
/// upper end of the range.
struct Window {
    limit: usize,
    from: u64,
    /// Where the next window begins.
    to: u64,
    records: Vec<(u64, Range<usize>)>,
    arena: Vec<u8>,
}

impl Window {
    const PER_RECORD: usize = size_of::<(u64, Range<usize>)>();

    /// Room is reserved at once, as far as the store can fill it: what is not written to costs
    /// nothing, and growing would copy.
    fn new(limit: usize, meta: &Meta) -> Window {
        let at_most = |count: u64, limit| usize::try_from(count).map_or(limit, |n| n.min(limit));
        let records = at_most(meta.records, limit / (Window::PER_RECORD + 8));
        let arena = at_most(meta.record_bytes, limit);
        let (records, arena) = (super::with_room(records), super::with_room(arena));
        Window { limit, from: 0, to: 0, records, arena }
    }

    /// How many numbers wide a window should be that the records of the store fill.
    fn likely_numbers(&self, meta: &Meta) -> u64 {
        let numbers = meta.next_import_number.max(1);
        let per_number = u128::from(meta.record_bytes)
            + u128::from(meta.records) * Window::PER_RECORD as u128
            + 1;
        let likely = self.limit as u128 * 15 / 16 * u128::from(numbers) / per_number;
        u64::try_from(likely).unwrap_or(u64::MAX).max(1)
    }

    fn begin(&mut self, from: u64, to: u64) {
        (self.from, self.to) = (from, to);
        self.records.clear();
        self.arena.clear();
    }

    fn offer(&mut self, number: u64, bytes: &[u8]) {
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

    /// Gives up the later half of the records.
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

    fn get(&self, place: usize) -> Option<EncodedRecord<'_>> {
        let (import_number, range) = self.records.get(place)?;
        Some(EncodedRecord { import_number: *import_number, bytes: self.arena.get(range.clone())? })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::store::{ImportOptions, OnDuplicate, Store, StoreOptions};

    /// How often the store is read through to give its records by number: as often as they fill
    /// the window, however their numbers lie (A-D4).
    fn passes(gap: usize) -> (usize, usize) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(
            folder.path().join("sparse.epdb"),
            &StoreOptions::new().memory_bytes(1 << 16),
        );
        let store = store.unwrap();
        let options = ImportOptions { on_duplicate: OnDuplicate::Skip, ..ImportOptions::default() };
        let mut importer = store.importer("sparse", &options).unwrap();
        let mut push = |nth: usize| {
            let rank = |n: usize| ["8", "1p6", "2p5", "3p4", "4p3", "5p2", "6p1", "7p"][n % 8];
            let [a, b, c, d] = [nth, nth / 8, nth / 64, nth / 512].map(rank);
            let line = format!("4k3/{a}/{b}/{c}/{d}/8/8/4K3 w - - id \"{}\";", "x".repeat(200));
            importer.push(&crate::parse_epd(line.as_bytes()).unwrap()).unwrap();
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
