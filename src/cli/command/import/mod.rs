//! `epdb import`: records into a store.

mod args;
mod open_store;
mod tally;

use std::fs;
use std::path::Path;
use std::sync::Arc;

pub(crate) use args::Args;
use open_store::{OpenStore, publish};

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::comments::Way;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::ledgers;
use crate::cli::message::note;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::places;
use crate::cli::settings;
use crate::cli::source;
use epdb::codec::record;
use epdb::codec::tally_origin::{GameDigest, TallyOrigin};
use epdb::library::tally::ledger::{self, Allowed};
use epdb::new_file::NewFile;
use epdb::source::{BinaryRecords, FileFormat, Item, each_kept_game, open_bytes};
use epdb::store::{
    Checkpoint, ImportInfo, ImportOptions, ImportReport, ImportState, OnDuplicate, Recognised,
    Same, Store, StoreOptions,
};
use epdb::text::lines;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    check_places(args)?;
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let options = StoreOptions::new().memory_bytes(args.memory.memory);
    let mut target = match args.store.try_exists()? {
        true => OpenStore { store: Store::open(&args.store, &options)?, new: None },
        false => {
            let new = NewFile::create(&args.store)?;
            OpenStore { store: Store::create_in(&new, &options)?, new: Some(new) }
        }
    };
    import_all(args, &mut target, &mut diagnostics)?;
    target.store.close()?;
    diagnostics.finish()
}

fn import_all(
    args: &Args,
    target: &mut OpenStore,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    let mut options = args.options();
    for file in &args.files {
        let known = recognise(&target.store, file, &mut options)?;
        let name = file.display();
        if let (Recognised::Imported(import), false) = (&known, args.again) {
            print_report(args, file, &ImportReport::default(), Some(&import.source))?;
            continue;
        }
        match known {
            Recognised::OtherSettings(import) => note!(
                "{name}: was imported as {} with other settings ({}); it is imported with these",
                import.source,
                import.settings
            ),
            Recognised::Grown(import) => note!(
                "{name}: begins with all that was imported as {} and has grown; it is imported as \
                 a new source, whole",
                import.source
            ),
            _ => {}
        }
        let OpenStore { store, new } = &mut *target;
        if args.tally {
            tally::import(store, file, args, &options, diagnostics, new)?;
            continue;
        }
        let how = How { read: &args.read, allowed: args.libraries.allowed() };
        let report = import(store, file, how, &options, diagnostics, new)?;
        publish(new)?;
        print_report(args, file, &report, None)?;
    }
    Ok(())
}

/// The store comes first, and must look like one if it is to be made.
fn check_places(args: &Args) -> anyhow::Result<()> {
    places::refuse_as_input(&args.store, &args.files)?;
    if !args.tally && args.counting.is_given() {
        let text = "options of counting games are for --tally: say it, or leave them out";
        return Err(Usage(text.into()).into());
    }
    let has_other_suffix = FileFormat::of_name(&args.store) != Some(FileFormat::Epdb)
        && args.store.extension().is_some();
    let exists = args.store.try_exists()?;
    if args.tally && has_other_suffix && exists {
        return Err(Usage(format!(
            "{}: only a library in a store grows: `epdb convert` makes a store of it, or tally the \
             games and add them with `epdb union`",
            args.store.display()
        ))
        .into());
    }
    if has_other_suffix && !exists {
        return Err(Usage(format!(
            "{} is no name of a new store: the store comes first, then the files to import; give \
             it the suffix .epdb",
            args.store.display()
        ))
        .into());
    }
    Ok(())
}

/// Reads a file to its end to know it again; anything but a file can be read only once.
fn recognise(
    store: &Store,
    file: &Path,
    options: &mut ImportOptions,
) -> anyhow::Result<Recognised> {
    options.digest = None;
    if !fs::metadata(file).is_ok_and(|found| found.is_file()) || file == Path::new("-") {
        return Ok(Recognised::New);
    }
    let bytes = open_bytes(file)?;
    let (known, digest) = store.recognise(&file.to_string_lossy(), bytes, &options.settings)?;
    options.digest = Some(digest);
    Ok(known)
}

/// Makes a store of one source, which appears when it is complete; what is there already is not
/// touched.
pub(crate) fn into_new_store(
    path: &Path,
    source: &Path,
    read: &ReadArgs,
    memory: &MemoryArgs,
) -> anyhow::Result<Outcome> {
    let no_stdout = "a store cannot go to standard output: name a file with the suffix .epdb";
    if path == Path::new("-") {
        return Err(Usage(no_stdout.into()).into());
    }
    let mut diagnostics = Diagnostics::new(&read.form)?;
    places::refuse_kept(path)?;
    let new = NewFile::create(path)?;
    let stores = StoreOptions::new().memory_bytes(memory.memory).replace(places::is_forced());
    let store = Store::create_in(&new, &stores)?;
    let mut options = ImportOptions::new().settings(settings::of_reading(read));
    recognise(&store, source, &mut options)?;
    let how = How { read, allowed: Allowed { mixed: true, overlap: true } };
    import(&store, source, how, &options, &mut diagnostics, &mut None)?;
    store.close()?;
    Store::publish(new, &stores)?;
    diagnostics.finish()
}

/// How a source is read, and what adding it to a library may pass over.
#[derive(Copy, Clone)]
struct How<'a> {
    read: &'a ReadArgs,
    allowed: Allowed,
}

/// Imports one source, or what an interrupted run left of it. The source is read from its start
/// all the same, so that its diagnostics and rejects are complete. A store that is `new` gets its
/// name when something is committed.
fn import(
    store: &Store,
    source: &Path,
    How { read, allowed }: How<'_>,
    options: &ImportOptions,
    diagnostics: &mut Diagnostics,
    new: &mut Option<NewFile>,
) -> anyhow::Result<ImportReport> {
    diagnostics.comments().follow(Way::Drop);
    let ledger = ledger_with(store, source, read, allowed)?;
    let is_library = store.tally_ledger()?.is_some();
    if is_library || ledger.is_some() {
        check_adds(options)?;
    }
    let refuses_tallies = ledger.is_none() && !allowed.mixed && is_library;
    let mut importer = store.importer(&source.to_string_lossy(), options)?;
    let mut place = Checkpoint::START;
    let files = [source.to_path_buf()];
    // What of the source was consumed, and the record that it is.
    let mut take = |consumed: &[u8], record: Option<&[u8]>| {
        place.advance(consumed);
        if let Some(earlier) = importer.resume_point() {
            if place.offset() >= earlier.offset() {
                importer.resume_at(place)?;
            }
        } else if let Some(record) = record {
            if refuses_tallies && record::tally_bytes(record)?.is_some() {
                anyhow::bail!(ledgers::does_not_say(source.display()));
            }
            importer.push_encoded_from(record, place)?;
            if new.is_some() && importer.committed().read > 0 {
                publish(new)?;
            }
        }
        anyhow::Ok(())
    };
    let mut encoded = Vec::new();
    let encode = Arc::new(BinaryRecords { only_plain: false });
    source::read_encoded(&files, read, diagnostics, encode, |item| match item {
        Item::Encoded { records, raw, .. } => {
            let mut of_lines = records.iter().zip(lines::split(raw));
            of_lines.try_for_each(|(record, line)| take(line, Some(record)))
        }
        Item::Record { record, raw, game, .. } => {
            encoded.clear();
            record::encode(&record, &mut encoded)?;
            // A record that has no bytes of its own, as in an archive, counts by its binary form.
            let has_own = !raw.is_empty() || game.is_some();
            take(if has_own { raw } else { &encoded }, Some(&encoded))
        }
        Item::LeftOut { record: Some(record), raw: [], .. } => {
            encoded.clear();
            record::encode(&record, &mut encoded)?;
            take(&encoded, None)
        }
        item => take(item.raw(), None),
    })?;
    if source.is_file() {
        each_kept_game(source, &mut |_, game| Ok(importer.keep_game(game)?))?;
    }
    // Games count as counted when all that they left is here.
    if let Some((origin, new_games)) = ledger {
        importer.set_tally_origin(origin, new_games);
    }
    Ok(importer.finish_at(place)?)
}

/// Refuses what would leave tallies of a library out.
fn check_adds(options: &ImportOptions) -> anyhow::Result<()> {
    let adds = matches!(options.on_duplicate, OnDuplicate::Keep | OnDuplicate::Merge(_));
    if adds && options.same == Same::Position {
        return Ok(());
    }
    let text = "tallies of a library would be left out: --on-duplicate keep or merge, and not --same \
                record, adds them";
    Err(Usage(text.into()).into())
}

/// The ledger of a store with a library added to it, and the games that are new then; `None` for a
/// source that says nothing of its tallies.
fn ledger_with(
    store: &Store,
    source: &Path,
    read: &ReadArgs,
    allowed: Allowed,
) -> anyhow::Result<Option<(TallyOrigin, Option<Vec<GameDigest>>)>> {
    let files = [source.to_path_buf()];
    let Some(mut theirs) = ledgers::sum(&files, &read.wanted, allowed)? else { return Ok(None) };
    let Some(mut ours) = store.tally_ledger()? else {
        if !is_only_import(store, source)? {
            anyhow::ensure!(allowed.mixed, ledgers::does_not_say(store.path().display()));
            (theirs.origin.is_mixed, theirs.games) = (true, None);
        }
        let games = theirs.games.map(|games| games.iter().collect());
        return Ok(Some((theirs.origin, games)));
    };
    let new_games = ours
        .games
        .as_ref()
        .zip(theirs.games.as_ref())
        .map(|(known, games)| games.iter().filter(|digest| !known.contains(digest)).collect());
    ledgers::check(source, ledger::add(&mut ours, theirs, allowed))?;
    Ok(Some((ours.origin, new_games)))
}

/// Whether a store has nothing, or nothing but what an interrupted import of this source left.
fn is_only_import(store: &Store, source: &Path) -> anyhow::Result<bool> {
    let name = source.to_string_lossy();
    let is_this =
        |import: &ImportInfo| import.source == name && import.state != ImportState::Finished;
    Ok(store.imports()?.iter().all(is_this))
}

/// Says what became of a file; `earlier` is the name under which it was imported before.
fn print_report(
    args: &Args,
    file: &Path,
    report: &ImportReport,
    earlier: Option<&str>,
) -> anyhow::Result<()> {
    let counts = report.counts;
    let (file, store) = (file.display().to_string(), args.store.display());
    if args.json {
        let already_imported_as = earlier.map(str::to_string);
        let line = json::Import { already_imported_as, ..json::Import::new(file, &counts) };
        json::line(&mut std::io::stdout().lock(), &line)?;
        return Ok(());
    }
    if let Some(earlier) = earlier {
        note!(
            "{store}: {file} was already imported as {earlier}: nothing to do (--again imports it \
             once more)"
        );
        return Ok(());
    }
    for conflict in &report.conflicts {
        note!(
            "{store}: record {} contradicts record {} of its position; both are kept",
            conflict.import_number,
            conflict.earlier
        );
    }
    let others = [
        (counts.dropped, "left out as duplicates"),
        (counts.replaced, "replaced"),
        (counts.merged, "merged into earlier ones"),
        (counts.conflicts, "in conflict and kept"),
    ];
    let others: String = others
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    note!("{store}: {} records read from {file}, {} stored{others}", counts.read, counts.stored);
    Ok(())
}
