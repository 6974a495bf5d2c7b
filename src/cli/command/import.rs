//! `epdb import`: records into a store.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::cli::args::{FormArgs, GameReadArgs, MemoryArgs, MergeArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::message::note;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::places;
use crate::cli::source;
use crate::codec::error::EncodeError;
use crate::codec::record;
use crate::new_file::NewFile;
use crate::source::{FileFormat, Item, open_bytes};
use crate::store::{
    Checkpoint, ImportOptions, ImportReport, OnDuplicate, Recognised, Same, Store, StoreOptions,
};

/// Add the records of files to a store, which is made if it is not there
///
/// What is committed survives everything: an import that was interrupted or failed goes on where it
/// stood when the same command is run again. A file that was imported before with the same settings
/// is recognised by its bytes, under any name, and passed over; standard input never is.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb import book.epdb UHO_4060_v2.epd
  epdb import suite.epdb wac1.epd wac2.epd --on-duplicate merge --bm union")]
pub(crate) struct Args {
    /// The store
    store: PathBuf,
    /// Files to import, in this order; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What becomes of a record that is in the store already
    #[arg(long, value_enum, default_value_t = OnDuplicateArg::Keep, value_name = "WHAT")]
    on_duplicate: OnDuplicateArg,
    /// Which records are duplicates: those of one position, or only equal ones
    #[arg(long, value_enum, default_value_t = Same::Position, value_name = "WHAT")]
    same: Same,
    /// Give up what is left of an interrupted import and import its file from the start
    #[arg(long)]
    restart: bool,
    /// Import files once more that were imported before
    #[arg(long)]
    again: bool,
    /// Print one JSON object a file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    merge: MergeArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(ValueEnum, Copy, Clone, Debug)]
enum OnDuplicateArg {
    /// Both stay
    Keep,
    /// The later one is left out
    Skip,
    /// The later one takes the place of the earlier ones
    Replace,
    /// The later one is merged into the earlier one, unless they contradict each other
    Merge,
}

impl Args {
    fn options(&self) -> ImportOptions {
        ImportOptions {
            on_duplicate: match self.on_duplicate {
                OnDuplicateArg::Keep => OnDuplicate::Keep,
                OnDuplicateArg::Skip => OnDuplicate::Skip,
                OnDuplicateArg::Replace => OnDuplicate::Replace,
                OnDuplicateArg::Merge => OnDuplicate::Merge(self.merge.rules()),
            },
            same: self.same,
            restart: self.restart,
            settings: settings(&self.read),
            ..ImportOptions::default()
        }
    }
}

/// The arguments that decide which records a source gives, as the journal of a store keeps them:
/// as they are written on the command line. Every argument of reading is named here, so that a new
/// one cannot be forgotten.
fn settings(read: &ReadArgs) -> String {
    let ReadArgs { wanted, form } = read;
    let FormArgs {
        profile,
        revision,
        labels,
        score_view,
        perft,
        keep_moves,
        mates,
        max_line,
        from,
        rejects: _,
        repairs: _,
        deny_warnings,
        allow_rejects: _,
        all_warnings: _,
        threads: _,
        games,
    } = form;
    let GameReadArgs {
        positions,
        variations,
        game_tags,
        game_openings,
        language,
        charset,
        max_game,
        truncate_games,
    } = games;
    let flag = |is_set: bool| is_set.then(String::new);
    let arguments = [
        ("--profile", value(profile)),
        ("--revision", value(revision)),
        ("--labels", flag(*labels)),
        ("--score-view", score_view.as_ref().and_then(value)),
        ("--perft", flag(*perft)),
        ("--keep-moves", flag(*keep_moves)),
        ("--mates", value(mates)),
        ("--max-line", max_line.map(|bytes| bytes.to_string())),
        ("--from", from.as_ref().and_then(value)),
        ("--deny-warnings", flag(*deny_warnings)),
        ("--positions", positions.as_ref().map(ToString::to_string)),
        ("--variations", flag(*variations)),
        ("--game-tags", flag(*game_tags)),
        ("--game-openings", flag(*game_openings)),
        ("--language", Some(language.name().to_string())),
        ("--charset", charset.as_ref().and_then(value)),
        ("--max-game", Some(max_game.to_string())),
        ("--truncate-games", flag(*truncate_games)),
        // The last one, because it may hold anything.
        ("--where", wanted.filter.as_ref().map(|filter| filter.text().to_string())),
    ];
    let spelled = |(name, value): &(&str, Option<String>)| match value.as_deref()? {
        "" => Some(name.to_string()),
        value => Some(format!("{name} {value}")),
    };
    arguments.iter().filter_map(spelled).collect::<Vec<_>>().join(" ")
}

/// The word of a value on the command line.
fn value(value: &impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_string())
}

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

/// The store that is written. A new one gets its name with its first commit.
struct OpenStore {
    store: Store,
    new: Option<NewFile>,
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
        let report = import(store, file, &args.read, &options, diagnostics, new)?;
        publish(new)?;
        print_report(args, file, &report, None)?;
    }
    Ok(())
}

/// The store comes first, and must look like one if it is to be made.
fn check_places(args: &Args) -> anyhow::Result<()> {
    places::refuse_as_input(&args.store, &args.files)?;
    let has_other_suffix = FileFormat::of_name(&args.store) != Some(FileFormat::Epdb)
        && args.store.extension().is_some();
    if has_other_suffix && !args.store.try_exists()? {
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
    let new = NewFile::create(path)?;
    let store = Store::create_in(&new, &StoreOptions::new().memory_bytes(memory.memory))?;
    let mut options = ImportOptions { settings: settings(read), ..ImportOptions::default() };
    recognise(&store, source, &mut options)?;
    import(&store, source, read, &options, &mut diagnostics, &mut None)?;
    store.close()?;
    new.finish_new()?;
    diagnostics.finish()
}

/// Imports one source, or what an interrupted run left of it. The source is read from its start
/// all the same, so that its diagnostics and rejects are complete. A store that is `new` gets its
/// name when something is committed.
fn import(
    store: &Store,
    source: &Path,
    read: &ReadArgs,
    options: &ImportOptions,
    diagnostics: &mut Diagnostics,
    new: &mut Option<NewFile>,
) -> anyhow::Result<ImportReport> {
    let mut importer = store.importer(&source.to_string_lossy(), options)?;
    let mut place = Checkpoint::START;
    let files = [source.to_path_buf()];
    let mut encoded = Vec::new();
    source::read(&files, read, diagnostics, &mut |item| {
        place.advance(bytes_of(&item, &mut encoded)?);
        if let Some(earlier) = importer.resume_point() {
            if place.offset() >= earlier.offset() {
                importer.resume_at(place)?;
            }
        } else if let Item::Record { record, .. } = item {
            importer.push_from(&record, place)?;
            if new.is_some() && importer.committed().read > 0 {
                publish(new)?;
            }
        }
        Ok(true)
    })?;
    Ok(importer.finish_at(place)?)
}

/// The bytes by which the journal counts how far a source was read: its own, or where a record has
/// none, as in an archive, those of its binary form.
fn bytes_of<'a>(item: &'a Item<'_>, encoded: &'a mut Vec<u8>) -> Result<&'a [u8], EncodeError> {
    match item {
        Item::Record { record, raw: [], game: None, .. }
        | Item::LeftOut { record: Some(record), raw: [] } => {
            encoded.clear();
            record::encode(record, encoded)?;
            Ok(encoded)
        }
        item => Ok(item.raw()),
    }
}

fn publish(new: &mut Option<NewFile>) -> anyhow::Result<()> {
    Ok(new.take().map_or(Ok(()), NewFile::finish_new)?)
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
        let line = json::Import {
            file,
            read: counts.read,
            stored: counts.stored,
            dropped: counts.dropped,
            replaced: counts.replaced,
            merged: counts.merged,
            conflicts: counts.conflicts,
            already_imported_as: earlier.map(str::to_string),
        };
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
