//! Sources to search for positions, by lookup or by a scan.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::Context;

use epdb_chess::codec::query::Query;
use epdb_chess::error::Error;
use epdb_chess::model::EpdRecord;
use epdb_library::jobs;
use epdb_library::lookup::{Answer, BatchLookup, LookupOptions};
use epdb_library::tally::{Split, TallyOptions};
use epdb_source::{Collection, FileFormat, Filter, Item, is_address, is_stream, name_of};

use super::args::ReadArgs;
use super::diagnostics::Diagnostics;
use super::source::{OpenSource, Reading};

pub(crate) enum SearchTarget {
    /// A store or an archive, which looks up each position.
    Lookup(Box<Collection>),
    /// A library made from games in memory, without the games for which `--where` is false.
    Counted(Box<Collection>),
    /// Any other source, which is read once for all positions.
    Scan(Box<Scanned>),
}

pub(crate) struct Scanned {
    pub(crate) path: PathBuf,
    /// The open source, if it cannot be opened a second time, such as standard input; else `None`.
    opened: RefCell<Option<OpenSource>>,
    pub(crate) format: FileFormat,
}

/// Maximum number of games that are counted for a lookup. A larger number of games should be made a library first,
/// because counting takes time.
const MAX_COUNTED: u64 = 100_000;

impl SearchTarget {
    /// Opens a source; lookups in stores and archives use about `memory_bytes`.
    pub(crate) fn open(
        path: &Path,
        args: &ReadArgs,
        memory_bytes: usize,
    ) -> anyhow::Result<SearchTarget> {
        SearchTarget::of_open(
            path,
            OpenSource::open(path, args.source_options(false))?,
            memory_bytes,
        )
    }

    fn of_open(
        path: &Path,
        opened: OpenSource,
        memory_bytes: usize,
    ) -> anyhow::Result<SearchTarget> {
        let format = opened.source.format();
        if format.is_indexed() {
            let opened = opened.source.into_collection(memory_bytes)?;
            return Ok(SearchTarget::Lookup(Box::new(opened)));
        }
        let opened = RefCell::new((!opened.source.is_file()).then_some(opened));
        let path = path.to_path_buf();
        Ok(SearchTarget::Scan(Box::new(Scanned { path, opened, format })))
    }

    /// Like [`SearchTarget::open`], but counts games.
    pub(crate) fn open_or_count(
        path: &Path,
        args: &ReadArgs,
        memory_bytes: usize,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<SearchTarget> {
        let takes_games = args.form.games.positions.is_none();
        let opened = OpenSource::open(path, args.source_options(takes_games))?;
        if !takes_games || !opened.source.format().is_of_games() {
            return SearchTarget::of_open(path, opened, memory_bytes);
        }
        let split = Split { year: true, month: true, speed: true, rating: true };
        let counting = TallyOptions { split, ..TallyOptions::default() };
        let name = name_of(path);
        let truncates = args.form.games.truncate_games;
        let mut games = 0;
        let counted = jobs::count_games(&name, counting, truncates, memory_bytes, |take| {
            Reading::of_open(opened, args, diagnostics).all_games(|item| {
                games += u64::from(matches!(item, Item::Game { .. }));
                anyhow::ensure!(
                    games <= MAX_COUNTED,
                    "{name} contains more than {MAX_COUNTED} games: make a library with `epdb tally {name} -o LIBRARY`"
                );
                take(item)
            })
        })?;
        Ok(SearchTarget::Counted(Box::new(counted)))
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
        let options = LookupOptions { memory_bytes: memory_bytes / 4, ..Default::default() };
        let mut batch = BatchLookup::new(queries, options);
        match self {
            SearchTarget::Lookup(source) => batch.search(&**source, source.name(), filter)?,
            SearchTarget::Counted(source) => batch.search(&**source, source.name(), None)?,
            SearchTarget::Scan(source) => {
                batch.scan(|take| source.read(args, diagnostics, take))?
            }
        }
        let mut records = vec![Vec::new(); queries.len()];
        batch.answer(|place, answer| {
            match answer {
                Answer::Record(record) => {
                    let records = records.get_mut(place).context("an answer to no question")?;
                    records.push(record.clone());
                }
                Answer::Unknown(damage) => anyhow::bail!("{damage}"),
                Answer::Missing | Answer::Text(_) => {}
            }
            anyhow::Ok(())
        })?;
        Ok(records)
    }
}

impl Scanned {
    /// True if the source is a file, which can be read repeatedly.
    pub(crate) fn can_be_read_again(&self) -> bool {
        !is_stream(&self.path) && !is_address(&self.path)
    }

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
