//! `epdb search` with a position: the games that reached it.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::args::Args;
use super::totals;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::pipe::temporary_directory;
use crate::cli::source::Visited;
use crate::cli::terminal::{many, note, print_line};
use crate::cli::{columns, json, query_reader};
use epdb_chess::codec::query::Query;
use epdb_chess::model::{Color, EpdRecord, GameDate, Position};
use epdb_chess::text::{ParseOptions, Profile};
use epdb_library::explore::{CellFilter, Entry};
use epdb_library::kept_games::{self, FoundGame, GameObject, GameSearch, ListOrder, known_tag};
use epdb_library::search::{Totals, TotalsObject};
use epdb_source::{Collection, Lookup, Source, name_of};

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let options = ParseOptions::new(Profile::Lenient);
    let words = args.files.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    let position = words.collect::<Vec<_>>();
    let position = *query_reader::parse_position(&position, &options)?.end();
    let source = Source::open(source_of(args), &args.read.source_options(true))?;
    if source.format().is_of_games() {
        return search(args, source, &position);
    }
    let library = source.into_collection(args.memory.memory_bytes)?;
    let records = library.matches(&Query::from(&position));
    let records = records.map(|found| Ok(found?.1)).collect::<anyhow::Result<Vec<_>>>()?;
    look_up(args, &library, &records, &position)
}

/// The source, which stands before the position.
fn source_of(args: &Args) -> &Path {
    args.files.first().map_or(Path::new("-"), PathBuf::as_path)
}

/// The number of games to be shown or written, of this number.
fn wanted(args: &Args, count: usize) -> usize {
    count.min(args.limit())
}

fn order(args: &Args) -> ListOrder {
    args.order().unwrap_or(ListOrder::Rating)
}

/// Shows or writes the games of a file of games.
fn search(args: &Args, source: Source, position: &Position) -> anyhow::Result<Outcome> {
    let memory = args.memory.memory_bytes;
    let mut search = GameSearch::new(position, order(args), &temporary_directory(), memory);
    source.read(&mut |item| {
        search.take_item(&item)?;
        anyhow::Ok(ControlFlow::Continue(()))
    })?;
    let path = name_of(source_of(args));
    let left_out = search.left_out();
    let reaching = search.reaching();
    let mut games = search.finish()?;
    let count = games.count();
    if count == 0 {
        print_line(&format!("{path}: position not found: {position}"));
    } else {
        let mut totals = Totals::default();
        let mut next = || {
            let found = games.next_game()?;
            if let Some(FoundGame { game, played, .. }) = &found {
                totals.add_game(game, played.as_ref(), Color::White);
            }
            Ok(found)
        };
        let shown = taken(args, wanted(args, count), count, &mut next)?;
        while next()?.is_some() {}
        print(args, &shown, count, &totals)?;
    }
    let copies = reaching.saturating_sub(count as u64);
    if copies > 0 {
        let other = if copies == 1 { "other game is a copy" } else { "other games are copies" };
        note!("epdb: {copies} {other} of these, and not counted");
    }
    if left_out > 0 {
        let games = many(left_out, "game");
        let are = if left_out == 1 { "is" } else { "are" };
        print_line(&format!(
            "{path}: {games} that cannot be read completely {are} left out; `epdb verify {path}` says why"
        ));
    }
    Ok(Outcome::different_if(count == 0 || left_out > 0))
}

/// Shows or writes the games that the records of a position list.
fn look_up(
    args: &Args,
    library: &Collection,
    records: &[EpdRecord],
    position: &Position,
) -> anyhow::Result<Outcome> {
    let source = name_of(source_of(args));
    let Some(listed) = kept_games::listed(records) else {
        print_line(&if records.is_empty() {
            format!("{source}: position not found: {position}")
        } else {
            format!("{source}: stores no games of this position (tally --keep-games): {position}")
        });
        return Ok(Outcome::Different);
    };
    let limit = usize::from(listed.limit());
    let mut chosen = order(args).sorted(&listed);
    let reached = Entry::from_records(records)?.and_then(|it| it.games(&CellFilter::default()));
    let reached = reached.map_or(0, |games| games.reached as usize);
    let count = reached.max(chosen.len());
    if args.output.is_none() || args.limit.is_some() {
        // After these games, the list lacks games of this order.
        chosen.truncate(limit);
    }
    let wanted = wanted(args, chosen.len());
    let mut missing = 0;
    let mut games = chosen[..wanted].iter();
    let shown = taken(args, wanted, count, &mut || {
        for kept in games.by_ref() {
            match library.kept_game(kept.id)? {
                Some(game) => return Ok(Some(FoundGame::new(*kept, game, position))),
                None => missing += 1,
            }
        }
        Ok(None)
    })?;
    let mut totals = Totals::default();
    for record in records {
        totals.add_visits(record);
    }
    print(args, &shown, count, &totals)?;
    if args.limit.is_some_and(|asked| asked > limit) && chosen.len() == limit {
        note!(
            "{source}: stores {limit} of the best rated and {limit} of the latest games of each position"
        );
    }
    if missing > 0 {
        let games = many(missing, "game");
        // Records that were added from text list games that no library gave.
        let why = match library.kept_game_count() {
            Ok(0) => "it was copied without its games".to_string(),
            _ => format!(
                "it is damaged, or has records of a copy without games; `epdb verify {source}` says which"
            ),
        };
        print_line(&format!("{source}: {games} listed but missing from the library: {why}"));
    }
    Ok(Outcome::different_if(missing > 0))
}

type NextGame<'n> = dyn FnMut() -> anyhow::Result<Option<FoundGame>> + 'n;

/// The first `wanted` games, of `count` games, unless they are written.
fn taken(
    args: &Args,
    wanted: usize,
    count: usize,
    next: &mut NextGame<'_>,
) -> anyhow::Result<Vec<FoundGame>> {
    let mut found = Vec::new();
    if let Some(path) = &args.output {
        write_games(path, args, wanted, count, next)?;
        return Ok(found);
    }
    while found.len() < wanted
        && let Some(game) = next()?
    {
        found.push(game);
    }
    Ok(found)
}

fn write_games(
    path: &Path,
    args: &Args,
    wanted: usize,
    count: usize,
    next: &mut NextGame<'_>,
) -> anyhow::Result<()> {
    let mut output = args.open_games(path)?;
    let mut written = 0;
    while written < wanted
        && let Some(FoundGame { kept, game, .. }) = next()?
    {
        if let Visited::Refused(refusal) = output.write(&game)? {
            anyhow::bail!("{}: game {}: {}", path.display(), kept.id, refusal.message);
        }
        written += 1;
    }
    output.finish()?;
    if path != Path::new("-") {
        let games = many(count as u64, "game");
        if written < count {
            note!("{}: {written} of {games}", path.display())
        } else {
            note!("{}: {games}", path.display())
        }
    }
    Ok(())
}

fn print(args: &Args, found: &[FoundGame], count: usize, totals: &Totals) -> anyhow::Result<()> {
    if args.output.is_some() {
        return Ok(());
    }
    let verb = if count == 1 { "reaches" } else { "reach" };
    note!("epdb: {} {verb} the position", many(count as u64, "game"));
    let all = totals.games.all.games();
    let totals = TotalsObject {
        counted: (all < count as u64).then_some(count as u64),
        ..TotalsObject::new("games", "white", totals)
    };
    if totals.counted.is_some() {
        let last = many(count as u64 - all, "game");
        note!("epdb: {last} without a next move, whose results a library does not have");
    }
    let mut out = open_output(None)?;
    if args.json {
        for one in found {
            json::line(&mut out, &GameObject::new(one))?;
        }
        json::line(&mut out, &totals)?;
        return Ok(out.finish()?);
    }
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    if args.tsv {
        writeln!(out, "{}", NAMES.join("\t"))?;
        rows.iter().try_for_each(|row| columns::write_row(row, &mut out))?;
    } else {
        let is_number = |column: usize| NAMES[column].ends_with("_elo");
        columns::write_columns(&NAMES, &rows, |column| !is_number(column), &mut out)?;
        writeln!(out)?;
        totals::write(&totals, &mut out)?;
    }
    Ok(out.finish()?)
}

const NAMES: [&str; 9] =
    ["white", "white_elo", "black", "black_elo", "result", "date", "event", "move", "id"];

fn row(found: &FoundGame) -> Vec<String> {
    let FoundGame { kept, played, game } = found;
    let known = |name: &str| known_tag(game, name).unwrap_or_default().to_string();
    vec![
        known("White"),
        known("WhiteElo"),
        known("Black"),
        known("BlackElo"),
        game.result().as_str().to_string(),
        if kept.date == GameDate::default() { String::new() } else { kept.date.to_string() },
        known("Event"),
        played.map(|(_, san)| san.to_string()).unwrap_or_default(),
        kept.id.to_string(),
    ]
}
