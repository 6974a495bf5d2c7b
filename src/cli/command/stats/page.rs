//! The page of `epdb stats --html`.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::counts;
use crate::cli::json::{Library, LibraryStats, Stats};
use crate::cli::outcome::Outcome;
use crate::cli::output::open_other_output;
use crate::cli::source::file_name;
use crate::cli::terminal::{note, of_number};
use epdb_engine::report::grouped;
use epdb_engine::report::html::{CountTable, StatisticsPage, statistics_page};
use epdb_library::breakdown::Breakdown;
use epdb_library::census::GameCensus;
use epdb_source::{Lookup, Source, SourceOptions, Streams};

/// Parts of a page, which are added one by one.
pub(super) struct Page<'p> {
    files: &'p [PathBuf],
    streams: &'p Streams,
    /// Memory for lookups, in bytes.
    memory_bytes: usize,
    breakdown: Breakdown,
    /// Phrases such as `3 games`.
    heading: Vec<String>,
    notes: Vec<String>,
    counts: Vec<CountTable>,
    opcodes: Vec<(String, u64)>,
    pieces: Vec<(usize, u64)>,
    data: Data<'p>,
}

/// The objects of `stats --json`.
#[derive(Default, Serialize)]
struct Data<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    games: Option<&'p GameCensus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<&'p Stats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    libraries: Option<&'p LibraryStats>,
}

impl<'p> Page<'p> {
    pub(super) fn new(
        files: &'p [PathBuf],
        streams: &'p Streams,
        memory_bytes: usize,
        breakdown: Breakdown,
    ) -> Page<'p> {
        Page {
            files,
            streams,
            memory_bytes,
            breakdown,
            heading: Vec::new(),
            notes: Vec::new(),
            counts: Vec::new(),
            opcodes: Vec::new(),
            pieces: Vec::new(),
            data: Data::default(),
        }
    }

    /// Adds what libraries store about themselves.
    pub(super) fn add_stored(&mut self, stats: &'p LibraryStats) -> anyhow::Result<()> {
        self.heading.push(counted(stats.records, "position"));
        self.counts.push(counts::libraries(stats));
        self.data.libraries = Some(stats);
        self.add_libraries(&stats.libraries)
    }

    pub(super) fn add_games(&mut self, games: &'p GameCensus) {
        self.heading.extend([counted(games.games, "game"), counted(games.plies, "ply")]);
        self.counts.push(counts::games(games));
        self.data.games = Some(games);
    }

    pub(super) fn add_records(&mut self, stats: &'p Stats) -> anyhow::Result<()> {
        let tally = &stats.census;
        let positions = counted(tally.unique.positions, "different position");
        self.heading.extend([counted(tally.records, "record"), positions]);
        let mut table = counts::records(stats);
        // They have a section of their own.
        table.rows.retain(|[name, _]| !name.starts_with("opcode "));
        self.counts.push(table);
        self.opcodes =
            tally.opcodes.iter().map(|(opcode, count)| (opcode.to_string(), *count)).collect();
        self.pieces = tally.pieces.into_iter().enumerate().collect();
        self.add_libraries(&stats.libraries)?;
        self.data.records = Some(stats);
        Ok(())
    }

    fn add_libraries(&mut self, libraries: &[Library]) -> anyhow::Result<()> {
        if libraries.is_empty() {
            return Ok(());
        }
        let games = libraries.iter().flat_map(|library| &library.sources).map(|it| it.games).sum();
        self.heading.push(counted(games, "counted game"));
        self.counts.extend(libraries.iter().map(counts::library));
        let memory = self.memory_bytes / libraries.len();
        let options = SourceOptions { streams: Some(self.streams.clone()), ..Default::default() };
        let open =
            |library: &Library| Source::open(&library.file, &options)?.into_collection(memory);
        let opened = libraries.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let opened: Vec<&dyn Lookup> = opened.iter().map(|it| it as &dyn Lookup).collect();
        self.breakdown.add_libraries(&opened)?;
        if !self.breakdown.first_moves.is_empty() {
            let note = "The results and first moves of libraries are those of the games from the standard start position.";
            self.notes.push(note.to_string());
        }
        Ok(())
    }

    /// Writes the page, and prints its heading.
    pub(super) fn write(&self, file: &Path) -> anyhow::Result<Outcome> {
        let names: Vec<String> = self.files.iter().map(|path| file_name(path)).collect();
        let subject = if names.is_empty() { "stdin".to_string() } else { names.join(", ") };
        let heading = self.heading.join(", ");
        let page = statistics_page(&StatisticsPage {
            subject: &subject,
            heading: &heading,
            notes: &self.notes,
            counts: &self.counts,
            opcodes: self.opcodes.clone(),
            pieces: self.pieces.clone(),
            breakdown: &self.breakdown,
            data: &self.data,
        })?;
        let mut out = open_other_output(Some(file), "a page", &["html", "htm"])?;
        out.write_all(page.as_bytes())?;
        out.finish()?;
        note!("{heading}");
        Ok(Outcome::Done)
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{} {}", grouped(count.into()), of_number(count == 1, what))
}
