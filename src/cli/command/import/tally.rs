//! `epdb import --tally`: games that are counted into a library.

use std::ops::ControlFlow;
use std::path::Path;

use super::args::Args;
use super::open_store::publish;
use crate::cli::command::tally::{directory_beside, report};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games;
use crate::cli::json;
use crate::cli::ledgers;
use crate::cli::source;
use epdb::codec::tally_origin::{TallyLedger, TallyOrigin};
use epdb::library::tally::ledger::{self, Unlike};
use epdb::library::tally::{TallyBuilder, TallyCounts, TallyOrder};
use epdb::new_file::NewFile;
use epdb::source::Item;
use epdb::store::{Checkpoint, ImportInfo, ImportOptions, ImportState, Importer, Store};

/// Counts the games of a file, or those that an interrupted run left of it. What is committed at once
/// is the tallies of whole games, their digests, and how far the file was read.
pub(super) fn import(
    store: &Store,
    file: &Path,
    args: &Args,
    options: &ImportOptions,
    diagnostics: &mut Diagnostics,
    new: &mut Option<NewFile>,
) -> anyhow::Result<()> {
    let ledger = ledger_of(store, args)?;
    let name = file.to_string_lossy();
    let directory = directory_beside(&args.store);
    let mut builder = TallyBuilder::new(args.counting.options(), directory, args.memory.memory / 2)
        .at_most(MOST_MEMORY);
    let keeps_games = ledger.games.is_some();
    check_imports(store, args, &name, keeps_games)?;
    if let Some(games) = ledger.games {
        builder = builder.with_games(games);
    }
    builder.begin_source(&name);
    let importer = store.importer(&name, options)?;
    let mut counting = Counting { builder, importer, origin: ledger.origin, keeps_games };
    let mut place = Checkpoint::START;
    let files = [file.to_path_buf()];
    source::read_items(&files, &args.read, diagnostics, &mut |item| {
        place.advance(item.raw());
        if let Some(earlier) = counting.importer.resume_point() {
            if place.offset() >= earlier.offset() {
                counting.importer.resume_at(place)?;
            }
            return Ok(ControlFlow::Continue(()));
        }
        if let Item::Record { .. } = item {
            anyhow::bail!("{name}: positions are no games: with --tally it must be .pgn or .pgc")
        }
        games::count(&item, &args.read, &mut counting.builder)?;
        if counting.builder.is_full() {
            counting.collect()?;
            counting.importer.commit_at(place)?;
            publish(new)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    counting.collect()?;
    let (counts, merged) = (counting.builder.counts(), counting.builder.take_merged_games()?);
    let records = counting.importer.finish_at(place)?.counts;
    publish(new)?;
    if !args.json {
        // Positions that several commits reached are counted in each.
        report(file.display(), &TallyCounts { positions: 0, ..counts }, &merged);
        return Ok(());
    }
    let line = json::Import {
        games: Some(counts.games),
        duplicate_games: Some(counts.duplicates),
        games_left_out: Some(counts.left_out),
        games_cut_short: Some(counts.cut_short),
        merged_games: Some(json::MergedGames::new(&merged)),
        ..json::Import::new(name.to_string(), &records)
    };
    Ok(json::line(&mut std::io::stdout().lock(), &line)?)
}

/// Games on their way into a store.
struct Counting<'s> {
    builder: TallyBuilder,
    importer: Importer<'s>,
    origin: TallyOrigin,
    keeps_games: bool,
}

impl Counting<'_> {
    /// Gives the importer all that was counted since the last time.
    fn collect(&mut self) -> anyhow::Result<()> {
        let (sources, games) = self.builder.take_games();
        self.builder.know(&games);
        sources.into_iter().for_each(|source| self.origin.add_source(source));
        let new_games = self.keeps_games.then(|| games.iter().collect());
        self.importer.set_tally_origin(self.origin.clone(), new_games);
        let importer = &mut self.importer;
        let mut collect = |record: &[u8]| Ok(importer.collect_encoded(record)?);
        self.builder.drain(TallyOrder::Key, &mut |batch| batch.each(&mut collect))?;
        Ok(self.builder.drain_games(&mut |game| Ok(importer.collect_game(game)?))?)
    }
}

/// What is counted between two commits takes at most so much memory: a commit is of less than 4 GiB.
const MOST_MEMORY: usize = 2 << 30;

/// Refuses to count on where records of another import may be here in part, and to count again from the
/// start what nobody could tell.
fn check_imports(store: &Store, args: &Args, name: &str, keeps_games: bool) -> anyhow::Result<()> {
    let (place, mixed) = (args.store.display(), args.libraries.allowed().mixed);
    let imports = store.imports()?;
    let unfinished = imports.iter().filter(|import| import.state == ImportState::Unfinished);
    for ImportInfo { source, settings, .. } in unfinished {
        let is_own = source == name && settings.starts_with("--tally");
        anyhow::ensure!(
            is_own || mixed,
            "{place}: the import of {source} was interrupted: run it again first"
        );
        anyhow::ensure!(
            keeps_games || !args.restart,
            "{place}: it is not kept which games are counted: --restart would count those of {source} \
             twice"
        );
    }
    Ok(())
}

/// Refuses to add games to a library that counts otherwise, and says what to do.
fn check_alike(library: &Path, alike: Result<(), Unlike>) -> anyhow::Result<()> {
    if let Err(Unlike::Settings { ours, theirs }) = &alike {
        anyhow::bail!(
            "{}: built with `{ours}`, and this command counts with `{theirs}`: give the options that it \
             was built with; --allow-mixed adds the games all the same",
            library.display()
        );
    }
    ledgers::check(library, alike)
}

/// The ledger that the games are added to.
fn ledger_of(store: &Store, args: &Args) -> anyhow::Result<TallyLedger> {
    let settings = args.counting.settings(&args.read);
    let (allowed, tells_games) = (args.libraries.allowed(), args.counting.tells_games());
    let Some(mut ledger) = store.tally_ledger()? else {
        let is_empty = store.imports()?.is_empty();
        anyhow::ensure!(is_empty || allowed.mixed, ledgers::does_not_say(args.store.display()));
        let (scope, is_mixed) = (Some(args.counting.options().scope()), !is_empty);
        let origin = TallyOrigin { settings, is_mixed, scope, ..TallyOrigin::default() };
        let games = (is_empty && tells_games).then(Default::default);
        return Ok(TallyLedger { origin, games });
    };
    let is_alike = ledger::check_settings(&ledger, &settings);
    ledger.origin.is_mixed |= is_alike.is_err();
    if !allowed.mixed {
        check_alike(&args.store, is_alike)?;
    }
    if !tells_games || ledger.games.is_none() {
        if tells_games && !allowed.overlap {
            ledgers::check(&args.store, Err(Unlike::NoDigests))?;
        }
        ledger.games = None;
    }
    Ok(ledger)
}
