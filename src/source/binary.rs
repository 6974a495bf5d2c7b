//! Records of streams, stores and archives.

use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::item::{Item, Summary, VisitItem};
use super::local::Local;
use super::options::SourceOptions;
use crate::codec::{record, stream};
use crate::error::{At, Error, Place, Result};
use crate::model::EpdRecord;

/// Counts records and passes them on.
pub(super) struct Records<'o> {
    place: Place,
    count: u64,
    options: &'o SourceOptions,
}

impl<'o> Records<'o> {
    pub(super) fn new(name: Arc<str>, options: &'o SourceOptions) -> Records<'o> {
        Records { place: Place::new(name, At::Record(0)), count: 0, options }
    }

    pub(super) fn count(&mut self) {
        self.count += 1;
        self.place.at = At::Record(self.count);
    }

    /// Passes the next record in its binary form on.
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
    while let Some(raw) = stream.next_encoded().map_err(damaged)? {
        if records.hand_on_encoded(raw, visit)?.is_break() {
            return Ok(Summary::stopped());
        }
    }
    Ok(Summary::default())
}

/// Reads a store in the order of its imports.
pub(super) fn read_store<E: From<Error>>(
    local: &Local,
    name: Arc<str>,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    let store = local.store(options.memory_bytes)?;
    let reader = store.reader().map_err(|error| local.failed(error))?;
    let mut stored = reader.by_import();
    let mut records = Records::new(name, options);
    while let Some(next) = stored.next_encoded() {
        let raw = next.map_err(|error| local.failed(error))?.bytes();
        if records.hand_on_encoded(raw, visit)?.is_break() {
            return Ok(Summary::stopped());
        }
    }
    Ok(Summary::default())
}

/// Reads an archive in the order of its records.
pub(super) fn read_archive<E: From<Error>>(
    local: &Local,
    name: Arc<str>,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    let archive = local.archive()?;
    let mut records = Records::new(name, options);
    for record in archive.iter(0..archive.len()) {
        let record = record.map_err(|error| local.failed(error).in_source(local.name()))?;
        records.count();
        if records.hand_on(record, &[], visit)?.is_break() {
            return Ok(Summary::stopped());
        }
    }
    Ok(Summary::default())
}
