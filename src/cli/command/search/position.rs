//! `epdb games`: the games behind a position.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::cli::args::{GameWriteArgs, MemoryArgs};
use crate::cli::games::{GameOutput, game_format};
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::output::open_output;
use crate::cli::pipe::temporary_directory;
use crate::cli::source::Visited;
use crate::cli::terminal::{many, note, print_line};
use crate::cli::values::word_of;
use crate::cli::{columns, json, query_reader};
use epdb::codec::query::Query;
use epdb::library::explore::{CellFilter, Entry};
use epdb::library::kept_games::{self, FoundGame, GameObject, GameSearch, ListOrder, known_tag};
use epdb::model::{EpdRecord, GameDate, Position};
use epdb::source::{Collection, FileFormat, Lookup, Source, SourceOptions, name_of};
use epdb::text::{ParseOptions, Profile};

/// Show the games that reached a position, and the moves played there
///
/// The library must be made with `tally --keep-games N`. For each position it stores the N games
/// with the highest mean rating and the N latest games, with tags and moves. In a file of games, all
/// games are searched; -o then writes them with comments and variations. Exit status 1 if no games
/// are found, or if games were rejected or cut short and therefore left out.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb games library.epa
  epdb games library.epdb e4 c5 Nf3 --sort date -n 5
  epdb games library.epa '1. d4 f5' -o dutch.pgn")]
pub(crate) struct Args {
    /// Library (a store or an archive), or games
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// A FEN, `startpos moves e2e4 ...`, or moves such as e4 c5 Nf3 [default: the start]
    #[arg(value_name = "POSITION")]
    position: Vec<String>,
    /// Show first the best rated games (rating, the default) or the latest games (date)
    #[arg(long, alias = "top", value_parser = word_of::<ListOrder>(), default_value = "rating", value_name = "BY",
          hide_default_value = true, hide_possible_values = true)]
    sort: ListOrder,
    /// Show at most N games [default: 10; all games with -o]
    #[arg(short = 'n', long, alias = "most", value_name = "N")]
    limit: Option<usize>,
    /// Write the games to this file (.pgn or .pgc); `-` is PGN on standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["tsv", "json"])]
    output: Option<PathBuf>,
    /// Print a table separated by tabs
    #[arg(long, conflicts_with = "json")]
    tsv: bool,
    /// Print one JSON object per game
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    games: GameWriteArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Default number of games.
const DEFAULT_LIMIT: usize = 10;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let options = ParseOptions::new(Profile::Lenient);
    let position = *query_reader::parse_position(&args.position, &options)?.end();
    let source = Source::open(&args.source, &SourceOptions::new())?;
    if source.format().is_of_games() {
        return search(args, source, &position);
    }
    let library = source.into_collection(args.memory.memory_bytes)?;
    let records = library.matches(&Query::from(&position));
    let records = records.map(|found| Ok(found?.1)).collect::<anyhow::Result<Vec<_>>>()?;
    look_up(args, &library, &records, &position)
}

/// The number of games to be shown or written, of this number.
fn wanted(args: &Args, count: usize) -> usize {
    let default = if args.output.is_some() { usize::MAX } else { DEFAULT_LIMIT };
    count.min(args.limit.unwrap_or(default))
}

/// Shows or writes the games of a file of games.
fn search(args: &Args, source: Source, position: &Position) -> anyhow::Result<Outcome> {
    let memory = args.memory.memory_bytes;
    let mut search = GameSearch::new(position, args.sort, &temporary_directory(), memory);
    source.read(&mut |item| {
        search.take_item(&item)?;
        anyhow::Ok(ControlFlow::Continue(()))
    })?;
    let path = name_of(&args.source);
    let left_out = search.left_out();
    let mut games = search.finish()?;
    let count = games.count();
    if count == 0 {
        print_line(&format!("{path}: position not found: {position}"));
    } else {
        show(args, wanted(args, count), count, &mut || Ok(games.next_game()?))?;
    }
    if left_out > 0 {
        let (games, are) = (many(left_out, "game"), if left_out == 1 { "is" } else { "are" });
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
    let source = name_of(&args.source);
    let Some(listed) = kept_games::listed(records) else {
        print_line(&match records.is_empty() {
            true => format!("{source}: position not found: {position}"),
            false => format!(
                "{source}: stores no games of this position (tally --keep-games): {position}"
            ),
        });
        return Ok(Outcome::Different);
    };
    let limit = usize::from(listed.limit());
    let mut chosen = args.sort.sorted(&listed);
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
    show(args, wanted, count, &mut || {
        for kept in games.by_ref() {
            match library.kept_game(kept.id)? {
                Some(game) => return Ok(Some(FoundGame::new(*kept, game, position))),
                None => missing += 1,
            }
        }
        Ok(None)
    })?;
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

/// Returns the next game.
type NextGame<'n> = dyn FnMut() -> anyhow::Result<Option<FoundGame>> + 'n;

/// Shows or writes the first `wanted` games, of `count` games.
fn show(args: &Args, wanted: usize, count: usize, next: &mut NextGame<'_>) -> anyhow::Result<()> {
    if let Some(path) = &args.output {
        return write_games(path, args, wanted, count, next);
    }
    let mut found = Vec::new();
    while found.len() < wanted
        && let Some(game) = next()?
    {
        found.push(game);
    }
    print(args, &found)
}

fn write_games(
    path: &Path,
    args: &Args,
    wanted: usize,
    count: usize,
    next: &mut NextGame<'_>,
) -> anyhow::Result<()> {
    let format = match path == Path::new("-") {
        true => Some(FileFormat::Pgn),
        false => FileFormat::from_name(path),
    };
    let no_games =
        || Usage(format!("{}: games can be written as .pgn or .pgc only", path.display()));
    let format = format.and_then(|format| game_format(format, &args.games)).ok_or_else(no_games)?;
    let mut output = GameOutput::open(Some(path), format)?;
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
        match written < count {
            true => note!("{}: {written} of {games}", path.display()),
            false => note!("{}: {games}", path.display()),
        }
    }
    Ok(())
}

fn print(args: &Args, found: &[FoundGame]) -> anyhow::Result<()> {
    let mut out = open_output(None)?;
    if args.json {
        for one in found {
            json::line(&mut out, &GameObject::new(one))?;
        }
        return Ok(out.finish()?);
    }
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    if args.tsv {
        writeln!(out, "{}", NAMES.join("\t"))?;
        rows.iter().try_for_each(|row| columns::write_row(row, &mut out))?;
    } else {
        let is_number = |column: usize| NAMES[column].ends_with("_elo");
        columns::write_columns(&NAMES, &rows, |column| !is_number(column), &mut out)?;
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
