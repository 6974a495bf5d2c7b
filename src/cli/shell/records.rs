//! Navigation through the records of sources.

use std::path::{Path, PathBuf};
use std::vec;

use crate::cli::pipe::Findings;
use crate::cli::signals;
use crate::cli::terminal::many;
use epdb_chess::error::Place;
use epdb_chess::model::EpdRecord;
use epdb_chess::model::registers::Registers;
use epdb_chess::text::Diagnostic;
use epdb_chess::text::pgn::PositionOptions;
use epdb_library::kit::Step;
use epdb_library::registers::RunningRegisters;
use epdb_source::{Items, OwnedItem, Source, SourceOptions, is_stream, name_of};

/// Open sources, and the current record.
#[derive(Default)]
pub(super) struct Records {
    paths: Vec<PathBuf>,
    /// The number of the record, from 1; 0 before the first record.
    number: u64,
    /// The state of reading; `None` after an error, so that reading starts again.
    reading: Option<Reading>,
    /// Number of the last record whose rejected lines were reported.
    told: u64,
}

pub(super) struct LoadedRecord {
    pub(super) record: EpdRecord,
    pub(super) place: Place,
    pub(super) number: u64,
    pub(super) before: Registers,
    pub(super) warnings: Vec<Diagnostic>,
    /// True if lines before the record were rejected and reported.
    pub(super) has_rejected: bool,
}

impl Records {
    /// Opens other sources.
    ///
    /// # Errors
    /// A source cannot be read, is standard input, or begins with many lines that are not records (it may be
    /// a script). In this case the earlier sources stay open.
    pub(super) fn open(paths: Vec<PathBuf>) -> anyhow::Result<Records> {
        for path in &paths {
            anyhow::ensure!(
                !is_stream(path) && !path.is_dir(),
                "{}: going back and forth through records needs a file",
                name_of(path)
            );
            check_beginning(path)?;
        }
        Ok(Records { paths, ..Records::default() })
    }

    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Goes to another record.
    ///
    /// # Errors
    ///
    /// The record does not exist, the sources cannot be read, or the work was interrupted; the
    /// record then stays the same.
    pub(super) fn go(&mut self, step: Step) -> anyhow::Result<LoadedRecord> {
        anyhow::ensure!(!self.paths.is_empty(), "no source is open: `open SOURCE`");
        let number = match step {
            Step::On(records) => self.number.saturating_add(records),
            Step::Back(records) => self.number.saturating_sub(records),
            Step::To(number) => number,
        };
        anyhow::ensure!(number > 0, "there is no record 0: records are numbered from 1");
        let found = self.read_to(number);
        match &found {
            Ok(_) => self.number = number,
            Err(_) => self.reading = None,
        }
        found
    }

    fn read_to(&mut self, number: u64) -> anyhow::Result<LoadedRecord> {
        let paths = &self.paths;
        let mut reading = self
            .reading
            .take()
            .filter(|reading| reading.count < number)
            .unwrap_or_else(|| Reading::new(paths.clone()));
        let all_warnings = false;
        let mut findings = Findings::new(all_warnings);
        let mut found = reading.read_to(number, &mut |count, place, why| {
            if count >= self.told {
                findings.report(|| format!("{}:{}:{why}", place.source, place.number()));
            }
        });
        let has_rejected = findings.finish();
        if let Ok(found) = &mut found {
            found.has_rejected = has_rejected;
        }
        self.told = self.told.max(reading.count);
        self.reading = Some(reading);
        found
    }
}

/// Opens a source. Its games are read as positions, with the names of openings.
fn open(path: &Path) -> anyhow::Result<Source> {
    let positions = PositionOptions { names: true, ..Default::default() };
    Ok(Source::open(path, &SourceOptions { positions: Some(positions), ..Default::default() })?)
}

/// Checks that a source begins with records, if it is not empty.
fn check_beginning(path: &Path) -> anyhow::Result<()> {
    const LOOKED_AT: usize = 100;
    let mut rejected = 0;
    for item in open(path)?.items().take(LOOKED_AT) {
        match item? {
            OwnedItem::Record { .. } => return Ok(()),
            OwnedItem::Rejected { .. } => rejected += 1,
            _ => {}
        }
    }
    let name = name_of(path);
    anyhow::ensure!(
        rejected == 0,
        "{name}: no record in its first {rejected} lines; commands are read from standard input, as in \
         `epdb shell < {name}`"
    );
    Ok(())
}

/// Sources being read.
struct Reading {
    /// Sources that are not open yet.
    paths: vec::IntoIter<PathBuf>,
    /// The current source, and whether it contains games.
    source: Option<(Items, bool)>,
    /// The records that were read.
    count: u64,
    registers: RunningRegisters,
}

/// Callback for rejected items: records before it, place, reason.
type Rejected<'r> = dyn FnMut(u64, &Place, &str) + 'r;

impl Reading {
    fn new(paths: Vec<PathBuf>) -> Reading {
        let paths = paths.into_iter();
        let registers = RunningRegisters::new(false);
        Reading { paths, source: None, count: 0, registers }
    }

    /// Reads forward to a later record.
    fn read_to(
        &mut self,
        number: u64,
        rejected: &mut Rejected<'_>,
    ) -> anyhow::Result<LoadedRecord> {
        let mut warnings = Vec::new();
        while let Some((item, is_of_games)) = self.next_item()? {
            signals::check_interrupt()?;
            match item {
                OwnedItem::Warning { diagnostic, .. } => warnings.push(diagnostic),
                OwnedItem::Rejected { place, diagnostic, .. } => {
                    let why = diagnostic.map(|it| it.to_string()).unwrap_or_default();
                    rejected(self.count, &place, &why);
                    warnings.clear();
                }
                OwnedItem::Record { record, place } => {
                    self.count += 1;
                    let registers = self.registers.registers().clone();
                    let begins = self.registers.take(&record, &place, is_of_games);
                    if self.count == number {
                        let before = if begins { Registers::default() } else { registers };
                        let has_rejected = false;
                        return Ok(LoadedRecord {
                            record,
                            place,
                            number,
                            before,
                            warnings,
                            has_rejected,
                        });
                    }
                    warnings.clear();
                }
                _ => {}
            }
        }
        anyhow::bail!("there are only {}", many(self.count, "record"))
    }

    /// The next item, and whether its source is one of games.
    fn next_item(&mut self) -> anyhow::Result<Option<(OwnedItem, bool)>> {
        loop {
            if let Some((items, is_of_games)) = &mut self.source
                && let Some(item) = items.next()
            {
                return Ok(Some((item?, *is_of_games)));
            }
            let Some(path) = self.paths.next() else { return Ok(None) };
            let source = open(&path)?;
            let is_of_games = source.format().is_of_games();
            self.source = Some((source.items(), is_of_games));
        }
    }
}
