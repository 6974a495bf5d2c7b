//! Sources to search for positions, by lookup or by a scan.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;

use epdb::codec::query::Query;
use epdb::error::Error;
use epdb::library::lookup::{Answer, BatchLookup, LookupOptions};
use epdb::model::EpdRecord;
use epdb::source::{FileFormat, Filter, Item, OpenLookup, Source};

use super::args::ReadArgs;
use super::diagnostics::Diagnostics;
use super::source::{self, Visited};

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
    opened: RefCell<Option<Source>>,
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
        memory: usize,
    ) -> anyhow::Result<SearchTarget> {
        let source = source::open(path, &args.source_options(false))?;
        if matches!(source.format(), FileFormat::Epdb | FileFormat::Epa) {
            let opened = OpenLookup::new(source, memory)?;
            return Ok(SearchTarget::Lookup(Box::new(opened)));
        }
        let format = source.format();
        let opened = RefCell::new((!source.is_file()).then_some(source));
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
        memory: usize,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Vec<Vec<EpdRecord>>> {
        let filter = args.wanted.filter.as_ref().map(|filter| filter as &dyn Filter);
        let options = LookupOptions::new().memory_bytes(memory / 4);
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
        let mut visit = |item: Item<'_>| {
            if let Item::Record { record, .. } = item {
                take(&record)?;
            }
            Ok(ControlFlow::Continue(()))
        };
        match self.opened.take() {
            Some(source) => {
                let mut no_game = |_: &_, _: &_| Ok(Visited::Taken);
                source::read_open(source, diagnostics, &mut visit, Some(&mut no_game))
            }
            None => {
                let paths = std::slice::from_ref(&self.path);
                source::read(paths, args, diagnostics, &mut visit)
            }
        }
    }
}
