//! `epdb import`: records, or the tallies of games, into a store.

mod args;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

pub(crate) use args::Args;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::command::tally::report;
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::ledgers;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::print_line;
use crate::cli::places;
use crate::cli::settings;
use crate::cli::source::{self, OpenSource, Reading};
use crate::cli::terminal::{listed_counts, many, note};
use epdb_library::delta::DeltaBase;
use epdb_library::import::{CountedGames, ImportError, ImportJob, ImportTarget, Imported};
use epdb_library::tally::TallyCounts;
use epdb_library::tally::ledger::{Allowed, LedgerError, Unlike};
use epdb_source::{FileFormat, Item, format_of_file, name_of};
use epdb_store::{ImportOptions, ImportReport, Recognised, StoreOptions, difference};

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    check_places(args)?;
    let sources = args.read.source_options(args.tally);
    let files = source::readable(&args.files, &sources, args.refused.keep_going, &|_| Ok(()))?;
    let has_refused = files.len() < args.files.len();
    let options = StoreOptions { memory_bytes: args.memory_bytes, ..Default::default() };
    let mut target = ImportTarget::open(&args.store, &options)?;
    let asked = &args.counting;
    let mut args = args.clone();
    let memory = args.memory_bytes / 4;
    let base = args.base.as_ref().map(|base| DeltaBase::read(base, &args.store, memory));
    let base = base.transpose()?.map(Arc::new);
    if args.tally {
        let own = target.store().reader()?.tally_origin()?.map(|(origin, _)| origin.settings);
        if let Some(settings) = own.or_else(|| base.as_ref().map(|base| base.settings().clone())) {
            args.counting.adopt(&mut args.read, settings);
        }
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    diagnostics.watch_player(&asked.player, asked.side);
    let job = args.job(base);
    for file in &files {
        import_file(&args, file, &job, &mut target, &mut diagnostics)
            .map_err(|error| explained(error, args.tally))?;
    }
    target.close()?;
    Ok(diagnostics.finish()?.and(Outcome::different_if(has_refused)))
}

fn import_file(
    args: &Args,
    file: &Path,
    job: &ImportJob,
    target: &mut ImportTarget,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    let opened = OpenSource::open(file, args.read.source_options(args.tally))?;
    if !args.tally {
        diagnostics.comments().follow(CommentOrder::Drop);
    }
    let mut lines = RecordLines::default();
    let mut is_begun = false;
    let imported = opened.read(&args.read, diagnostics, |source, note| {
        job.run(target, source, &mut |progress| {
            // Not before, because the import may be refused.
            if !std::mem::replace(&mut is_begun, true) {
                note_known(args, file, progress.known);
            }
            lines.add(progress.item);
            note(progress.item)?;
            anyhow::Ok(ControlFlow::Continue(()))
        })
    })?;
    match imported {
        Imported::Before(earlier) => {
            read_for_rejects(args, file, diagnostics)?;
            let report = ImportReport::default();
            print_report(args, file, &report, &lines, Some(&earlier.source))
        }
        Imported::Records(report) => print_report(args, file, &report, &lines, None),
        Imported::Games(counted) => print_games(args, file, &counted),
    }
}

/// Saves what an earlier import of the file rejected: its file of rejects may be missing, and this command replaces
/// it.
fn read_for_rejects(args: &Args, file: &Path, diagnostics: &mut Diagnostics) -> anyhow::Result<()> {
    if args.read.form.rejects.is_none() {
        return Ok(());
    }
    let files = [file.to_path_buf()];
    let reading = Reading::of(&files[..], &args.read, diagnostics);
    let reading = if args.tally { reading.games_as_items() } else { reading };
    reading.items(|_| Ok(ControlFlow::Continue(())))
}

/// Reports that a source was imported before in another form.
fn note_known(args: &Args, file: &Path, known: &Recognised) {
    let name = name_of(file);
    match known {
        Recognised::OtherSettings(import) => note!(
            "{name}: was imported as {} with other settings ({}); it is imported again with these settings",
            import.source,
            difference(&import.settings, &args.settings())
        ),
        Recognised::Grown(import) => note!(
            "{name}: begins with the file imported as {} and has grown; all of it is imported as a new source",
            import.source
        ),
        _ => {}
    }
}

/// The line of each record of a source, or the number of the record if the source has no lines. A record
/// takes no memory if the previous record is on the line before.
#[derive(Default)]
struct RecordLines {
    records: u64,
    /// For each run of records on consecutive lines: the number of its first record, from 0, and the line of
    /// that record.
    runs: Vec<(u64, u64)>,
}

impl RecordLines {
    /// Maximum number of runs; the lines of records after them are not known.
    const MAX_RUNS: usize = 1 << 20;

    fn add(&mut self, item: &Item<'_>) {
        let (line, records) = match item {
            Item::Record { place, .. } => (place.number(), 1),
            Item::Encoded { records, place, .. } => (place.number(), records.count() as u64),
            _ => return,
        };
        let follows = |&(first, first_line): &(u64, u64)| self.records - first + first_line == line;
        if !self.runs.last().is_some_and(follows) && self.runs.len() < RecordLines::MAX_RUNS {
            self.runs.push((self.records, line));
        }
        self.records += records;
    }

    /// The line of a record. Records are counted from 0.
    fn of(&self, record: u64) -> u64 {
        let after = self.runs.partition_point(|(first, _)| *first <= record);
        let run = after.checked_sub(1).map(|run| self.runs[run]);
        run.map_or(record + 1, |(first, line)| line + record - first)
    }
}

fn print_games(args: &Args, file: &Path, counted: &CountedGames) -> anyhow::Result<()> {
    let CountedGames { counts, merged, records, .. } = *counted;
    if !args.json {
        // No number of positions is reported, because a position that several commits reached is
        // counted in each of them.
        report(name_of(file), &TallyCounts { positions: 0, ..counts }, &merged);
        return Ok(());
    }
    let line = json::Import {
        file: name_of(file).into_owned(),
        records,
        games: Some(json::CountedGames::new(&counts)),
        merged_games: Some(merged),
        ..Default::default()
    };
    print_line(serde_json::to_string(&line)?)
}

/// The error, with the options that would help.
fn explained(error: anyhow::Error, counts_games: bool) -> anyhow::Error {
    let error = match error.downcast::<ImportError>() {
        Ok(error) => error,
        Err(other) => return other,
    };
    match error {
        ImportError::Ledger(LedgerError::Unlike {
            name,
            unlike: Unlike::Settings { ours, theirs },
        }) if counts_games => {
            anyhow::anyhow!(
                "{name}: built with `{ours}`, and this command counts with `{theirs}`: give the \
                 options that it was built with; --allow-mixed adds the games anyway"
            )
        }
        ImportError::Ledger(error) => ledgers::explained(error),
        ImportError::LeavesOutTallies => usage(
            "tallies of a library would be lost: use --on-duplicate keep or merge, without --same record",
        ),
        ImportError::GamesAsPositions { store, name } => usage(format!(
            "{store} is a library: give --tally to count the games of {name}, or --positions to add \
             their positions as records"
        )),
        ImportError::NotGames { name } => {
            anyhow::anyhow!("{name}: positions are not games: with --tally it must be .pgn or .pgc")
        }
        ImportError::CountsTwice { store, source_name } => anyhow::anyhow!(
            "{store}: the store has no digests of its games, so --restart would count the games of \
             {source_name} twice"
        ),
        ImportError::NoBase { name, games } => {
            let games = many(games, "game");
            anyhow::anyhow!(
                "{name}: is the delta of a library of {games}: give that library with --base"
            )
        }
        ImportError::Other(error) => error.into(),
        other => other.into(),
    }
}

/// Checks that the first file is a store, or can become one.
fn check_places(args: &Args) -> anyhow::Result<()> {
    places::refuse_as_input(&args.store, &args.files, "name another input")?;
    if !args.tally && args.counting.is_given() {
        let text = "counting options need --tally: add it, or omit them";
        return Err(usage(text));
    }
    let has_other_suffix = FileFormat::from_name(&args.store) != Some(FileFormat::Epdb)
        && args.store.extension().is_some();
    let exists = args.store.try_exists()?;
    if args.tally && has_other_suffix && exists {
        return Err(usage(format!(
            "{0}: games can be added only to a store: `epdb import NEW.epdb FILE --tally --base {0}` adds them beside this library (see `epdb help delta`), or convert it with `epdb convert`",
            args.store.display()
        )));
    }
    if exists && format_of_file(&args.store, None).is_ok_and(|it| it == FileFormat::Epa) {
        ledgers::refuse_library(&args.store, &args.files, &args.read)?;
        return Err(usage(format!(
            "{0} is an archive, and archives are not changed: `epdb pack {0} FILES -o NEW.epa` writes one with the \
             records of all",
            args.store.display()
        )));
    }
    if has_other_suffix && !exists {
        return Err(usage(format!(
            "{} is not the name of a new store: give the store first, with the suffix .epdb, then the files to import",
            args.store.display()
        )));
    }
    Ok(())
}

/// Makes a store from one source; it appears when it is complete. An existing file is not changed.
pub(crate) fn into_new_store(
    path: &Path,
    source: &Path,
    read: &ReadArgs,
    memory: &MemoryArgs,
) -> anyhow::Result<Outcome> {
    let no_stdout = "a store cannot go to standard output: name a file with the suffix .epdb";
    if path == Path::new("-") {
        return Err(usage(no_stdout));
    }
    let mut diagnostics = Diagnostics::new(&read.form)?;
    places::refuse_kept(path)?;
    let stores = StoreOptions {
        memory_bytes: memory.memory_bytes,
        replace: places::is_forced(),
        ..Default::default()
    };
    let job = ImportJob {
        options: ImportOptions { settings: settings::of_reading(read), ..Default::default() },
        allowed: Allowed::new(true, true),
        filter: read.wanted.filter_text().map(String::from),
        ..ImportJob::default()
    };
    diagnostics.comments().follow(CommentOrder::Drop);
    let opened = OpenSource::open(source, read.source_options(false))?;
    let mut target = ImportTarget::create(path, &stores)?;
    let imported = opened.read(read, &mut diagnostics, |source, note| {
        job.run(&mut target, source, &mut |progress| {
            note(progress.item)?;
            anyhow::Ok(ControlFlow::Continue(()))
        })
    });
    imported.map_err(|error| explained(error, false))?;
    target.close()?;
    diagnostics.finish()
}

/// Reports the result of a file. If the file was imported before, `earlier` is the name that it had
/// then.
fn print_report(
    args: &Args,
    file: &Path,
    report: &ImportReport,
    lines: &RecordLines,
    earlier: Option<&str>,
) -> anyhow::Result<()> {
    let counts = report.counts;
    let file = name_of(file).into_owned();
    let store = args.store.display();
    if args.json {
        let already_imported_as = earlier.map(str::to_string);
        let records = counts;
        let line = json::Import { file, records, already_imported_as, ..Default::default() };
        return print_line(serde_json::to_string(&line)?);
    }
    if let Some(earlier) = earlier {
        note!(
            "{store}: {file} was already imported as {earlier}: nothing to do (--again imports it \
             once more)"
        );
        return Ok(());
    }
    for conflict in &report.conflicts {
        let line_of = |number: u64| {
            let nth = number.checked_sub(report.first_import_number);
            match nth.filter(|nth| *nth < lines.records) {
                Some(nth) => format!("{file}:{}", lines.of(nth)),
                None => format!("record {number} of the store"),
            }
        };
        note!(
            "{store}: {} contradicts {} of the same position; both are kept",
            line_of(conflict.import_number),
            line_of(conflict.earlier)
        );
    }
    let analyses = args.merge.shown_analyses("two analyses");
    let others = [
        (counts.dropped, "left out as duplicates"),
        (counts.replaced, "replaced"),
        (counts.merged, "merged into earlier ones"),
        (report.analyses.differing, analyses.as_str()),
        (report.analyses.deeper_replaced, "that replaced a deeper one"),
        (counts.conflicts, "in conflict and kept"),
    ];
    let others = listed_counts(&others);
    let read = many(counts.read, "record");
    note!("{store}: {read} read from {file}, {} stored{others}", counts.stored);
    Ok(())
}
