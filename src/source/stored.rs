//! Records of stores, archives and sharded archives in their order, with the parts that are damaged.

use std::ops::ControlFlow;

use super::item::Filter;
use super::local::Local;
use super::shards::{ShardedArchive, VisitError};
use epdb_archive::{Archive, ArchiveError, Damage, Salvaged, Select, Selected};
use epdb_chess::codec::{packed, record};
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::model::{EpdRecord, Setup};
use epdb_store::{Reader, StoreError};

/// A record of a store, an archive, a sharded archive, or a base and its delta; or a part that is damaged.
pub(super) enum Stored<'r> {
    /// The record with this number; it is the `nth` one, counted from 1. `raw` is its binary form, or empty.
    Record { number: u64, nth: u64, record: EpdRecord, raw: &'r [u8] },
    /// The `nth` record, which the filter takes.
    Taken { nth: u64, record: EpdRecord },
    /// Records that the filter excludes, up to the `nth`. Some of them were decoded.
    LeftOut { nth: u64, count: u64, decoded: u64 },
    /// Damage that is skipped. `place` names the archive.
    Damage { damage: &'r Damage, place: &'r Place },
}

/// Takes the records of a source. A break ends the reading.
pub(super) type VisitStored<'v, E> = dyn FnMut(Stored<'_>) -> Result<ControlFlow<()>, E> + 'v;

/// Options for reading records.
#[derive(Copy, Clone)]
pub(super) struct ReadStored<'o> {
    /// True if damage is skipped and passed on, and not an error.
    pub(super) skips_damage: bool,
    /// The filter, if it decides about positions before records are decoded.
    pub(super) filter: Option<&'o dyn Filter>,
}

/// Passes on the records of a store in the order of its imports.
pub(super) fn each_of_store<E: From<Error>>(
    reader: &Reader,
    local: &Local,
    options: ReadStored<'_>,
    visit: &mut VisitStored<'_, E>,
) -> Result<ControlFlow<()>, E> {
    let mut stored = reader.by_import();
    if options.skips_damage {
        stored = stored.past_damage();
    }
    let mut nth = 0;
    let mut left_out = 0;
    let mut is_damaged = false;
    while let Some(next) = stored.next_encoded() {
        let next = match next {
            // Damage that was passed over comes after all sound records.
            Err(StoreError::Damaged { .. }) if options.skips_damage => {
                is_damaged = true;
                break;
            }
            next => next.map_err(|error| local.failed(error))?,
        };
        nth += 1;
        let place = || Place::new(local.name(), At::Record(nth));
        let damaged = |error| Error::from(error).at(place());
        if let Some(filter) = options.filter {
            let setup = record::board_of(next.bytes()).and_then(packed::setup_of);
            if filter.judge(&setup.map_err(damaged)?) == Some(false) {
                left_out += 1;
                continue;
            }
        }
        let (record, _) = record::decode(next.bytes()).map_err(damaged)?;
        if left_out > 0 {
            let count = std::mem::take(&mut left_out);
            if visit(Stored::LeftOut { nth: nth - 1, count, decoded: 0 })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let number = next.number();
        let raw = next.bytes();
        if visit(Stored::Record { number, nth, record, raw })?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if left_out > 0 && visit(Stored::LeftOut { nth, count: left_out, decoded: 0 })?.is_break() {
        return Ok(ControlFlow::Break(()));
    }
    if !is_damaged {
        return Ok(ControlFlow::Continue(()));
    }
    let damage = &Damage::of_store(reader.len().saturating_sub(nth));
    visit(Stored::Damage { damage, place: &Place::new(local.name(), At::Whole) })
}

/// Passes on the records of an archive in their order.
pub(super) fn each_of_archive<E: From<Error>>(
    archive: &Archive,
    local: &Local,
    options: ReadStored<'_>,
    visit: &mut VisitStored<'_, E>,
) -> Result<ControlFlow<()>, E> {
    let failed = |error| local.failed(error).in_source(local.name());
    let part = Part { archive, name: local.name(), first: 0, options };
    part.each(failed, visit)
}

/// Passes on the records of the shards, one shard after the other.
pub(super) fn each_of_shards<E: From<Error>>(
    shards: &ShardedArchive,
    options: ReadStored<'_>,
    visit: &mut VisitStored<'_, E>,
) -> Result<ControlFlow<()>, E> {
    let mut first = 0;
    for shard in shards.shards()? {
        let failed = |error| shards.failed(&shard.file, error);
        let name = format!("{}: shard {}", shards.name(), shard.file);
        let opened =
            if options.skips_damage { shards.open_cut(shard)? } else { Ok(shards.open(shard)?) };
        let flow = match opened {
            Ok(archive) => {
                Part { archive: &archive, name: &name, first, options }.each(failed, visit)?
            }
            Err(error) => {
                let damage = &Damage::of_shard(shard.records);
                visit(Stored::Damage { damage, place: &Place::new(error.to_string(), At::Whole) })?
            }
        };
        if flow.is_break() {
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
    options: ReadStored<'a>,
}

impl Part<'_> {
    fn each<E: From<Error>>(
        &self,
        failed: impl Fn(ArchiveError) -> Error,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let mut number = 0;
        let all = 0..self.archive.len();
        let read = match self.options.filter {
            None => self.archive.each_record(all, |record| {
                let flow = visit(self.record(number, record)).map_err(VisitError::Visit)?;
                number += 1;
                Ok(flow)
            }),
            Some(filter) => {
                let select = FilterOfPart { filter, part: self };
                self.archive.each_selected(all, &select, |selected| {
                    let end = selected.end;
                    let flow = self.pass_on(number, selected, visit).map_err(VisitError::Visit)?;
                    number = end;
                    Ok(flow)
                })
            }
        };
        match read {
            Err(VisitError::Archive(error)) if self.options.skips_damage && error.is_damage() => {
                self.salvage(number, failed, visit)
            }
            read => read.map_err(|error| error.named(failed)),
        }
    }

    /// Passes on the selected records from number `begin` on, and the number of the others.
    fn pass_on<E: From<Error>>(
        &self,
        begin: u64,
        selected: Selected,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let taken = selected.records.len() as u64;
        let count = selected.end - begin - taken;
        for (number, record) in selected.records {
            if visit(Stored::Taken { nth: self.first + number + 1, record })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if count == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        let decoded = selected.decoded - taken;
        visit(Stored::LeftOut { nth: self.first + selected.end, count, decoded })
    }

    /// Passes on the records from number `begin` on, and continues after damage.
    fn salvage<E: From<Error>>(
        &self,
        begin: u64,
        failed: impl Fn(ArchiveError) -> Error,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let mut flow = ControlFlow::Continue(());
        let salvaged = self.archive.salvage(begin..self.archive.len(), &mut |next| {
            let visited = match next {
                Salvaged::Record { number, record } => visit(self.record(number, record)),
                Salvaged::Damage(damage) => {
                    let place = &Place::new(self.name, At::Record(damage.first + 1));
                    visit(Stored::Damage { damage: &damage, place })
                }
            };
            flow = visited.map_err(VisitError::Visit)?;
            Ok(flow)
        });
        salvaged.map_err(|error: VisitError<E>| error.named(failed))?;
        Ok(flow)
    }

    fn record(&self, number: u64, record: EpdRecord) -> Stored<'static> {
        let number = self.first + number;
        Stored::Record { number, nth: number + 1, record, raw: &[] }
    }
}

/// The filter of a source, for an archive.
struct FilterOfPart<'a> {
    filter: &'a dyn Filter,
    part: &'a Part<'a>,
}

impl Select for FilterOfPart<'_> {
    fn may_take(&self, setup: &Setup) -> bool {
        self.filter.judge(setup) != Some(false)
    }

    fn takes(&self, number: u64, record: &EpdRecord) -> bool {
        let at = At::Record(self.part.first + number + 1);
        self.filter.takes(record, None, &Place::new(self.part.name, at))
    }
}
