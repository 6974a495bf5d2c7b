//! Records of streams, stores, archives and sharded archives.

use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::item::{Item, Summary, VisitItem};
use super::local::Local;
use super::options::SourceOptions;
use super::shards::{ShardedArchive, VisitError};
use crate::archive::{Archive, ArchiveError, Damage, DamagedPart, Salvaged};
use crate::codec::stream::ReadError;
use crate::codec::{record, stream};
use crate::error::{At, Error, Place, Result};
use crate::model::EpdRecord;
use crate::store::Reader;

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
    pub(super) fn count_to(&mut self, count: u64) {
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
            Err(ReadError::Decode { .. }) if options.skips_damage => {
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

/// A record of a store, an archive, a sharded archive, or a base and its delta; or a part that is damaged.
pub(super) enum Stored<'r> {
    /// The record with this number; it is the `nth` one, counted from 1. `raw` is its binary form, or empty.
    Record { number: u64, nth: u64, record: EpdRecord, raw: &'r [u8] },
    /// Damage that is skipped. `place` names the archive.
    Damage { damage: &'r Damage, place: &'r Place },
}

/// Takes the records of a source. A break ends the reading.
pub(super) type VisitStored<'v, E> = dyn FnMut(Stored<'_>) -> Result<ControlFlow<()>, E> + 'v;

/// Passes on the records of a store in the order of its imports.
pub(super) fn each_of_store<E: From<Error>>(
    reader: &Reader,
    local: &Local,
    visit: &mut VisitStored<'_, E>,
) -> Result<ControlFlow<()>, E> {
    let (mut stored, mut nth) = (reader.by_import(), 0);
    while let Some(next) = stored.next_encoded() {
        let next = next.map_err(|error| local.failed(error))?;
        nth += 1;
        let decoded = record::decode(next.bytes());
        let place = || Place::new(local.name(), At::Record(nth));
        let (record, _) = decoded.map_err(|error| Error::from(error).at(place()))?;
        let (number, raw) = (next.number(), next.bytes());
        if visit(Stored::Record { number, nth, record, raw })?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Passes on the records of an archive in their order.
pub(super) fn each_of_archive<E: From<Error>>(
    archive: &Archive,
    local: &Local,
    skips_damage: bool,
    visit: &mut VisitStored<'_, E>,
) -> Result<ControlFlow<()>, E> {
    let failed = |error| local.failed(error).in_source(local.name());
    let part = Part { archive, name: local.name(), first: 0, skips_damage };
    part.each(failed, visit)
}

/// Passes on the records of the shards, one shard after the other.
pub(super) fn each_of_shards<E: From<Error>>(
    shards: &ShardedArchive,
    skips_damage: bool,
    visit: &mut VisitStored<'_, E>,
) -> Result<ControlFlow<()>, E> {
    let mut first = 0;
    for shard in shards.manifest().shards() {
        let failed = |error| shards.failed(&shard.file, error);
        let name = format!("{}: shard {}", shards.name(), shard.file);
        let part = Part { archive: &shards.open(shard)?, name: &name, first, skips_damage };
        if part.each(failed, visit)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        first += shard.records;
    }
    Ok(ControlFlow::Continue(()))
}

/// An archive whose first record has the number `first`.
struct Part<'a> {
    archive: &'a Archive,
    name: &'a str,
    first: u64,
    skips_damage: bool,
}

impl Part<'_> {
    fn each<E: From<Error>>(
        &self,
        failed: impl Fn(ArchiveError) -> Error,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        for (number, record) in (0..).zip(self.archive.iter(0..self.archive.len())) {
            let record = match record {
                Err(error) if self.skips_damage && error.is_damage() => {
                    return self.salvage(number, failed, visit);
                }
                record => record.map_err(&failed)?,
            };
            if visit(self.record(number, record))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Passes on the records from number `begin` on, and continues after damage.
    fn salvage<E: From<Error>>(
        &self,
        begin: u64,
        failed: impl Fn(ArchiveError) -> Error,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let mut read = ControlFlow::Continue(());
        let salvaged = self.archive.salvage(begin..self.archive.len(), &mut |next| {
            let flow = match next {
                Salvaged::Record { number, record } => visit(self.record(number, record)),
                Salvaged::Damage(damage) => {
                    let place = &Place::new(self.name, At::Record(damage.first + 1));
                    visit(Stored::Damage { damage: &damage, place })
                }
            };
            read = flow.map_err(VisitError::Visit)?;
            Ok(read)
        });
        salvaged.map_err(|error: VisitError<E>| error.named(failed))?;
        Ok(read)
    }

    fn record(&self, number: u64, record: EpdRecord) -> Stored<'static> {
        let number = self.first + number;
        Stored::Record { number, nth: number + 1, record, raw: &[] }
    }
}
