//! Records of stores, archives and sharded archives in their order, with the parts that are damaged.

use std::ops::ControlFlow;

use super::local::Local;
use super::shards::{ShardedArchive, VisitError};
use crate::archive::{Archive, ArchiveError, Damage, Salvaged};
use crate::codec::record;
use crate::error::{At, Error, Place, Result};
use crate::model::EpdRecord;
use crate::store::Reader;

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
        let mut number = 0;
        let read = self.archive.each_record(0..self.archive.len(), |record| {
            let flow = visit(self.record(number, record)).map_err(VisitError::Visit)?;
            number += 1;
            Ok(flow)
        });
        match read {
            Err(VisitError::Archive(error)) if self.skips_damage && error.is_damage() => {
                self.salvage(number, failed, visit)
            }
            read => read.map_err(|error| error.named(failed)),
        }
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
