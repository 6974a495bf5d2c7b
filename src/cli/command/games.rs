//! `epdb games`: the games behind a position.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::cli::args::{GameWriteArgs, MemoryArgs};
use crate::cli::games::{GameOutput, game_format};
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::output::open_output;
use crate::cli::search_target::GameCounter;
use crate::cli::source::Visited;
use crate::cli::terminal::{many, note, print_line};
use crate::cli::{columns, json, query_reader};
use epdb::codec::query::Query;
use epdb::library::kept_games::{self, FoundGame, GameObject, known_tag};
use epdb::model::{GameDate, KeptGame, KeptGames, MAX_KEPT_GAMES};
use epdb::source::{FileFormat, Item, Lookup, OpenLookup, Source, SourceOptions};
use epdb::text::{ParseOptions, Profile};

/// Show the games that reached a position, and the moves played there
///
/// The library must be made with `tally --keep-games N`. For each position it stores the N games
/// with the highest mean rating and the N latest games, with tags and moves. If the source is a
/// file of at most 100,000 games, such a library is made in memory. Exit status 1 if no games are
/// found.
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
    #[arg(long, alias = "top", value_enum, default_value_t = SortBy::Rating, value_name = "BY",
          hide_default_value = true, hide_possible_values = true)]
    sort: SortBy,
    /// Show at most N games [default: 10]
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

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug)]
enum SortBy {
    Rating,
    Date,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let options = ParseOptions::new(Profile::Lenient);
    let position = *query_reader::parse_position(&args.position, &options)?.end();
    let library = open(args)?;
    let records = library.matches(&Query::from(&position));
    let records = records.map(|found| Ok(found?.1)).collect::<anyhow::Result<Vec<_>>>()?;
    let source = args.source.display();
    let Some(listed) = kept_games::listed(&records) else {
        print_line(&match records.is_empty() {
            true => format!("{source}: position not found: {position}"),
            false => format!(
                "{source}: stores no games of this position (tally --keep-games): {position}"
            ),
        });
        return Ok(Outcome::Different);
    };
    let chosen = chosen(&listed, args.sort);
    let wanted = chosen.len().min(args.limit.unwrap_or(DEFAULT_LIMIT));
    let found = FoundGame::find(&chosen[..wanted], &position, |id| library.kept_game(id))?;
    let missing = wanted - found.len();
    match &args.output {
        Some(output) => write_games(output, args, &found)?,
        None => print(args, &found)?,
    }
    let limit = usize::from(listed.limit());
    if args.limit.is_some_and(|asked| asked > limit) && chosen.len() == limit {
        note!(
            "{source}: stores {limit} of the best rated and {limit} of the latest games of each position"
        );
    }
    if missing > 0 {
        let games = many(missing, "game");
        print_line(&format!("{source}: {games} listed but missing from the library"));
    }
    Ok(Outcome::different_if(missing > 0))
}

/// Opens the library, or counts games.
fn open(args: &Args) -> anyhow::Result<OpenLookup> {
    let (path, memory) = (&args.source, args.memory.memory_bytes);
    let source = Source::open(path, &SourceOptions::new())?;
    if !source.format().is_of_games() {
        return Ok(OpenLookup::new(source, memory)?);
    }
    let wanted = args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_KEPT_GAMES.into()) as u8;
    let mut counter = GameCounter::new(path, Some(wanted), memory);
    let mut rejected = 0;
    source.read(&mut |item| {
        rejected += u64::from(matches!(item, Item::Rejected { is_more: false, .. }));
        counter.take(&item, false)?;
        anyhow::Ok(ControlFlow::Continue(()))
    })?;
    if rejected > 0 {
        let (path, games) = (path.display(), if rejected == 1 { "game" } else { "games" });
        note!("{path}: {rejected} {games} cannot be read; `epdb verify {path}` says why");
    }
    counter.finish(memory)
}

fn chosen(listed: &KeptGames, sort: SortBy) -> Vec<&KeptGame> {
    match sort {
        SortBy::Rating => listed.best().collect(),
        SortBy::Date => listed.latest().collect(),
    }
}

fn write_games(path: &Path, args: &Args, found: &[FoundGame]) -> anyhow::Result<()> {
    let format = match path == Path::new("-") {
        true => Some(FileFormat::Pgn),
        false => FileFormat::from_name(path),
    };
    let no_games =
        || Usage(format!("{}: games can be written as .pgn or .pgc only", path.display()));
    let format = format.and_then(|format| game_format(format, &args.games)).ok_or_else(no_games)?;
    let mut output = GameOutput::open(Some(path), format)?;
    for FoundGame { kept, game, .. } in found {
        if let Visited::Refused(refusal) = output.write(game)? {
            anyhow::bail!("{}: game {}: {}", path.display(), kept.id, refusal.message);
        }
    }
    output.finish()?;
    if path != Path::new("-") {
        note!("{}: {}", path.display(), many(found.len() as u64, "game"));
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
