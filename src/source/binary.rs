//! Records of streams, stores, archives and sharded archives.

use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::collection::CollectionFile;
use super::item::{Item, Summary, VisitItem};
use super::options::SourceOptions;
use super::stored::{ReadStored, Stored};
use epdb_archive::{Damage, DamagedPart};
use epdb_chess::codec::stream::ReadError;
use epdb_chess::codec::{packed, record, stream};
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::model::EpdRecord;

/// Counts records and passes them to the visitor.
pub(super) struct Records<'o> {
    place: Place,
    count: u64,
    options: &'o SourceOptions,
    share: Option<Share>,
}

impl<'o> Records<'o> {
    pub(super) fn new(name: Arc<str>, options: &'o SourceOptions) -> Records<'o> {
        Records { place: Place::new(name, At::Record(0)), count: 0, options, share: None }
    }

    /// Does the same as [`Records::new`], for all records of a store or an archive of `size` bytes.
    /// Such a file is not read from start to end. So the number of bytes that were read is
    /// estimated from the number of records that were read.
    pub(super) fn of_file(
        size: u64,
        name: Arc<str>,
        all: u64,
        options: &'o SourceOptions,
    ) -> Records<'o> {
        let counter = options.bytes_read.clone();
        let share = counter.map(|counter| Share::new(counter, size, all));
        Records { share, ..Records::new(name, options) }
    }

    pub(super) fn count(&mut self) {
        self.count_to(self.count + 1);
    }

    /// Sets the number of records that were passed: all records up to and including number `count`.
    /// Numbers begin at 1.
    fn count_to(&mut self, count: u64) {
        self.count = count;
        self.place.at = At::Record(self.count);
        if let Some(share) = &mut self.share {
            share.show(self.count);
        }
    }

    /// Passes the next record, which is in its binary form, to the visitor.
    fn hand_on_encoded<E: From<Error>>(
        &mut self,
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        self.count();
        if let Some(filter) = self.options.pushed_down() {
            let setup = record::board_of(raw).and_then(packed::setup_of);
            let setup = setup.map_err(|error| Error::from(error).at(self.place.clone()))?;
            if filter.judge(&setup) == Some(false) {
                let place = &self.place;
                return visit(Item::LeftOutMany { count: 1, decoded: 0, place, raw });
            }
        }
        let (record, _) =
            record::decode(raw).map_err(|error| Error::from(error).at(self.place.clone()))?;
        self.hand_on(record, raw, visit)
    }

    pub(super) fn hand_on<E: From<Error>>(
        &self,
        record: EpdRecord,
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let place = &self.place;
        if !self.options.takes(&record, None, place) {
            return visit(Item::LeftOut { record: Some(record), place, raw });
        }
        visit(Item::Record { record, place, raw, game: None })
    }
}

/// Estimates the number of bytes that were read of a file, from the number of records that were
/// read.
struct Share {
    counter: Arc<AtomicU64>,
    size: u64,
    records: u64,
    /// Number of bytes that were added to the counter.
    added: u64,
}

impl Share {
    /// Number of records between two steps of the counter.
    const STEP: u64 = 1024;

    /// Starts at the first record of a file of `size` bytes.
    fn new(counter: Arc<AtomicU64>, size: u64, records: u64) -> Share {
        Share { counter, size, records, added: 0 }
    }

    /// Sets the number of records that were read so far.
    fn show(&mut self, read: u64) {
        if !read.is_multiple_of(Share::STEP) {
            return;
        }
        let bytes = u128::from(self.size) * u128::from(read) / u128::from(self.records.max(read));
        let bytes = u64::try_from(bytes).unwrap_or(self.size);
        self.counter.fetch_add(bytes.saturating_sub(self.added), Ordering::Relaxed);
        self.added = self.added.max(bytes);
    }
}

/// Reads a stream of binary records.
pub(super) fn read_stream<E: From<Error>>(
    input: Box<dyn Read + Send>,
    name: Arc<str>,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    let mut stream = stream::Reader::new(BufReader::new(input));
    let mut records = Records::new(Arc::clone(&name), options);
    let damaged = |error| Error::from(error).in_source(Arc::clone(&name));
    loop {
        let lost = match stream.next_encoded() {
            Ok(Some(raw)) => {
                if records.hand_on_encoded(raw, visit)?.is_break() {
                    return Ok(Summary::stopped());
                }
                continue;
            }
            Ok(None) => return Ok(Summary::default()),
            Err(ReadError::Decode { .. }) if options.skip_damage => {
                stream.skip_damage().map_err(damaged)?
            }
            Err(error) => return Err(damaged(error).into()),
        };
        let damage = Damage {
            part: DamagedPart::Frame,
            number: lost.frame - 1,
            bytes: lost.bytes,
            first: records.count,
            records: lost.records.unwrap_or(0),
            in_sequence: true,
        };
        records.place.at = At::Record(records.count + 1);
        if visit(Item::Damaged { damage: &damage, place: &records.place })?.is_break() {
            return Ok(Summary::stopped());
        }
        records.count_to(records.count + damage.records);
    }
}

/// Memory for reading all records of an archive, in bytes.
const READ_MEMORY: usize = 512 << 20;

/// Reads a store, an archive, a sharded archive, or a base and its delta.
pub(super) fn read<E: From<Error>>(
    collection: CollectionFile,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    // The cache of a store is what it is given. An archive needs its models.
    let memory_bytes = match collection {
        CollectionFile::Store(_) => options.memory_bytes,
        _ => options.memory_bytes.max(READ_MEMORY),
    };
    // Readers compare what was read with the size of the file that they named.
    let size = match &collection {
        CollectionFile::Shards(shards) => shards.size(),
        collection => collection.bytes()?,
    };
    let opened = if options.skip_damage {
        collection.open_cut(memory_bytes)?
    } else {
        collection.open(memory_bytes)?
    };
    let name = Arc::clone(opened.name());
    let mut records = Records::of_file(size, name, opened.len(), options);
    let read = ReadStored { skips_damage: options.skip_damage, filter: options.pushed_down() };
    let flow = opened.each(read, &mut |stored| match stored {
        Stored::Record { nth, record, raw, .. } => {
            records.count_to(nth);
            records.hand_on(record, raw, visit)
        }
        Stored::Taken { nth, record } => {
            records.count_to(nth);
            visit(Item::Record { record, place: &records.place, raw: &[], game: None })
        }
        Stored::LeftOut { nth, count, decoded } => {
            records.count_to(nth);
            visit(Item::LeftOutMany { count, decoded, place: &records.place, raw: &[] })
        }
        Stored::Damage { damage, place } => visit(Item::Damaged { damage, place }),
    })?;
    Ok(match flow {
        ControlFlow::Break(()) => Summary::stopped(),
        ControlFlow::Continue(()) => Summary::default(),
    })
}
