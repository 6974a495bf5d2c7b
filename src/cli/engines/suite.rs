//! The records that engines are asked about, as a whole: how many, and their hash.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::cli::args::ReadArgs;
use crate::cli::source;
use epdb::engine::positions_of;
use epdb::library::run_file::RunSuite;
use epdb::model::EpdRecord;
use epdb::source::Item;
use epdb::text::{FormatOptions, epd};

/// Counts and hashes records in their order.
pub(super) struct SuiteHash {
    hash: blake3::Hasher,
    records: u64,
    line: Vec<u8>,
}

impl SuiteHash {
    pub(super) fn new() -> SuiteHash {
        SuiteHash { hash: blake3::Hasher::new(), records: 0, line: Vec::new() }
    }

    pub(super) fn add(&mut self, record: &EpdRecord) {
        self.line.clear();
        epd::format(record, &FormatOptions::default(), &mut self.line);
        self.line.push(b'\n');
        self.hash.update(&self.line);
        self.records += 1;
    }

    pub(super) fn finish(&self, files: &[PathBuf]) -> RunSuite {
        RunSuite {
            path: Some(shown_files(files)),
            blake3: Some(self.hash.finalize().to_hex().to_string()),
            records: Some(self.records),
        }
    }
}

/// The names of files, as a run says them.
pub(super) fn shown_files(files: &[PathBuf]) -> String {
    let names = source::or_stdin(files).into_iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(" ")
}

/// Reads sources that can be read twice; `None` when one cannot. What is wrong in them is told when
/// they are read again.
///
/// # Errors
/// A source cannot be opened or is damaged.
pub(super) fn survey(
    files: &[PathBuf],
    read: &ReadArgs,
    are_games: bool,
) -> anyhow::Result<Option<RunSuite>> {
    let is_file = |path: &&Path| path.metadata().is_ok_and(|found| found.is_file());
    let paths = source::or_stdin(files);
    if !paths.iter().all(is_file) {
        return Ok(None);
    }
    let options = read.source_options(are_games);
    let mut hash = SuiteHash::new();
    for path in paths {
        source::open(path, &options)?.read::<anyhow::Error>(&mut |item| {
            match item {
                Item::Record { record, .. } => hash.add(&record),
                Item::Game { game, .. } => positions_of(game).iter().for_each(|it| hash.add(it)),
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(Some(hash.finish(files)))
}
