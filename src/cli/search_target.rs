//! Sources to search for positions, by lookup or by a scan.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::Context;

use epdb::codec::query::Query;
use epdb::error::Error;
use epdb::library::lookup::{Answer, BatchLookup, LookupOptions};
use epdb::model::EpdRecord;
use epdb::source::{FileFormat, Filter, OpenLookup};

use super::args::ReadArgs;
use super::diagnostics::Diagnostics;
use super::source::{OpenSource, Reading};

/// A source that is searched.
pub(crate) enum SearchTarget {
    /// A store or an archive, which looks up each position.
    Lookup(Box<OpenLookup>),
    /// Any other source, which is read once for all positions.
    Scan(Box<Scanned>),
}

/// A source that is scanned.
pub(crate) struct Scanned {
    pub(crate) path: PathBuf,
    /// The open source, if it cannot be opened again.
    opened: RefCell<Option<OpenSource>>,
    pub(crate) format: FileFormat,
}

/// Error for a source of games.
pub(crate) fn games_are_no_library(path: &Path) -> anyhow::Error {
    let path = path.display();
    anyhow::anyhow!(
        "{path} contains games and is not a library: make one with `epdb tally {path} -o LIBRARY`"
    )
}

impl SearchTarget {
    /// Opens a source; lookups in stores and archives use about `memory` bytes.
    pub(crate) fn open(
        path: &Path,
        args: &ReadArgs,
        memory_bytes: usize,
    ) -> anyhow::Result<SearchTarget> {
        let opened = OpenSource::open(path, args.source_options(false))?;
        let format = opened.source.format();
        if matches!(format, FileFormat::Epdb | FileFormat::Epa) {
            let opened = OpenLookup::new(opened.source, memory_bytes)?;
            return Ok(SearchTarget::Lookup(Box::new(opened)));
        }
        let opened = RefCell::new((!opened.source.is_file()).then_some(opened));
        let path = path.to_path_buf();
        Ok(SearchTarget::Scan(Box::new(Scanned { path, opened, format })))
    }
}

impl SearchTarget {
    /// Records of the positions for which `--where` is true. Sources other than stores and archives
    /// are scanned.
    pub(crate) fn records(
        &self,
        queries: &[Query],
        args: &ReadArgs,
        memory_bytes: usize,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Vec<Vec<EpdRecord>>> {
        let filter = args.wanted.filter.as_ref().map(|filter| filter as &dyn Filter);
        let options = LookupOptions::new().memory_bytes(memory_bytes / 4);
        let mut batch = BatchLookup::new(queries, options);
        match self {
            SearchTarget::Lookup(source) => batch.search(&**source, source.name(), filter)?,
            SearchTarget::Scan(source) => {
                batch.scan(|take| source.read(args, diagnostics, take))?
            }
        }
        let mut records = vec![Vec::new(); queries.len()];
        batch.answer(|place, answer| {
            if let Answer::Record(record) = answer {
                records.get_mut(place).context("an answer to no question")?.push(record.clone());
            }
            anyhow::Ok(())
        })?;
        Ok(records)
    }
}

impl Scanned {
    /// Whether it is a file, which can be read repeatedly.
    pub(crate) fn can_be_read_again(&self) -> bool {
        self.path != Path::new("-") && self.path.is_file()
    }

    /// Passes on all records.
    pub(crate) fn read(
        &self,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(&EpdRecord) -> Result<(), Error>,
    ) -> anyhow::Result<()> {
        let reading = match self.opened.take() {
            Some(opened) => Reading::of_open(opened, args, diagnostics),
            None => Reading::of(std::slice::from_ref(&self.path), args, diagnostics),
        };
        reading.records(|record, _, _| Ok(take(&record)?))
    }
}
