//! `epdb search`: the games that have a position, and what became of them.

mod position;

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::args::{GameWriteArgs, MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::{GameOutput, game_format};
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::output::open_output;
use crate::cli::pipe::temporary_directory;
use crate::cli::source::{Reading, Visited};
use crate::cli::terminal::{many, note};
use crate::cli::values::word_of;
use crate::cli::{columns, json};
use anyhow::Context;
use epdb::codec::pgc::{self, PgcEncodeOptions, PgcReader};
use epdb::error::{self, At, Place};
use epdb::library::expression::Expression;
use epdb::library::kept_games::{GameObject, ListOrder};
use epdb::library::scoutfish;
use epdb::library::search::{
    GameMatch, MatchObject, Matching, Player, ResultsObject, Totals, TotalsObject,
};
use epdb::model::{Color, EpdRecord, Game};
use epdb::source::{CollectionFile, FileFormat, Item, name_of};
use epdb::spill::Sorter;

/// Find games by their positions, and show what became of them
///
/// With --where (see `epdb help where`), prints the games for which the expression is true, each with its first
/// matching position, then totals over these games: results, next moves, openings, years and ratings (groups of
/// 100 points by the mean of both). Of a library, the games that it keeps are searched (tally --keep-games).
/// Without kept games there are only numbers of visits: a game counts at each matching position.
///
/// Without --where, prints the games that reached the position after SOURCE: a FEN, `startpos moves e2e4
/// ...`, or moves such as e4 c5 [default: the start].
///
/// Exit status 1 if no games are found, or if games were rejected or cut short.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb search games.pgn --where \"on('p', 'c5') and moved('N')\"
  epdb search games.pgn --where \"line('d4 cxd4')\" -o open_sicilian.pgn
  epdb search games.pgn --where 'never(check) and plies > 4' --player 'Carlsen, M'
  epdb search library.epa --where 'last(pieces > 16)' --json
  epdb search library.epa e4 c5 Nf3 --sort date -n 5")]
pub(crate) struct Args {
    /// Games or libraries; or one of them and then a position
    #[arg(value_name = "SOURCE", required = true)]
    files: Vec<PathBuf>,
    /// Search by a query of scoutfish, which is in this file
    #[arg(long, value_name = "FILE", conflicts_with = "filter")]
    scoutfish: Option<PathBuf>,
    /// Search only games of this player, and count the player's points
    #[arg(long, value_name = "NAME[;ALIAS...]", value_delimiter = ';')]
    player: Vec<String>,
    /// Search only games in which --player has this colour, white or black
    #[arg(long, value_parser = word_of::<Color>(), value_name = "COLOR", hide_possible_values = true)]
    side: Option<Color>,
    /// Show first the best rated games (rating, default without --where) or the latest games (date)
    #[arg(long, alias = "top", value_parser = word_of::<ListOrder>(), value_name = "BY", hide_possible_values = true)]
    sort: Option<ListOrder>,
    /// Show at most N games [default: 10; all games with -o]
    #[arg(short = 'n', long, alias = "most", value_name = "N")]
    limit: Option<usize>,
    /// Write the games to this file (.pgn or .pgc); `-` is PGN on standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["tsv", "json"])]
    output: Option<PathBuf>,
    /// Print the table of games separated by tabs, without totals
    #[arg(long, conflicts_with = "json")]
    tsv: bool,
    /// Print one JSON object per game, then one with the totals
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    games: GameWriteArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

impl Args {
    /// Maximum number of games that are shown or written.
    fn limit(&self) -> usize {
        const SHOWN: usize = 10;
        self.limit.unwrap_or(if self.output.is_some() { usize::MAX } else { SHOWN })
    }

    /// The expression of --where or --scoutfish.
    fn expression(&self) -> anyhow::Result<Option<Expression>> {
        let Some(path) = &self.scoutfish else { return Ok(self.read.wanted.filter.clone()) };
        let query =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let parsed = scoutfish::parse(&query);
        let parsed = parsed.map_err(|error| Usage(format!("{}: {error}", path.display())))?;
        note!("epdb: --where \"{}\"", parsed.text());
        Ok(Some(parsed))
    }

    fn player(&self) -> Option<Player> {
        let names: Vec<String> = self.player.iter().map(|name| name.trim().to_string()).collect();
        (!names.is_empty()).then_some(Player { names, side: self.side })
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let Some(own) = args.expression()? else { return position::run(args) };
    if args.read.form.games.positions.is_some() {
        return Err(Usage(
            "--positions is for records, but games are searched: leave it out".into(),
        )
        .into());
    }
    let player = args.player();
    let mut read = args.read.clone();
    let expression = match &player {
        Some(player) => {
            own.check_games()?;
            player.of(&own)?
        }
        None => own,
    };
    read.wanted.filter = Some(expression.clone());
    let mut search = Search::new(args, player)?;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut files = Vec::new();
    for path in &args.files {
        match kept_games(path, &read)? {
            Some(library) => search.take_library(&library, path, &expression)?,
            None => files.push(path.clone()),
        }
    }
    if !files.is_empty() {
        let reading = Reading::of(&files, &read, &mut diagnostics).games_as_items();
        let matching = Matching(expression.clone());
        reading.encode(Arc::new(matching.clone())).items(|item| {
            match item {
                Item::Game { game, place, encoded, .. } => {
                    if let Some(ply) = matching.ply(game, place, encoded) {
                        search.take_game(game, ply)?;
                    }
                }
                Item::Record { record, .. } => search.take_record(&record),
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    search.searched += diagnostics.tally.games + diagnostics.tally.cut_short;
    search.searched += diagnostics.tally.left_out;
    let found = search.finish()?;
    Ok(diagnostics.finish()?.and(Outcome::different_if(!found)))
}

/// A library that keeps games.
fn kept_games(path: &Path, read: &ReadArgs) -> anyhow::Result<Option<CollectionFile>> {
    let library = read.streams.library(path)?;
    Ok(match library {
        Some(library) if library.opened()?.kept_game_count()? > 0 => Some(library),
        _ => None,
    })
}

/// The matches of a search, and their output.
struct Search<'a> {
    args: &'a Args,
    player: Option<Player>,
    output: Option<GameOutput>,
    /// Games that are sorted before they are shown or written.
    sorter: Option<(ListOrder, Sorter)>,
    shown: Vec<MatchObject>,
    delivered: usize,
    /// Number of games and records that were looked at.
    searched: u64,
    games: Totals,
    matches: u64,
    visits: Visits,
}

/// Totals of libraries without games.
#[derive(Default)]
struct Visits {
    positions: u64,
    reached: u64,
    totals: Totals,
}

impl<'a> Search<'a> {
    fn new(args: &'a Args, player: Option<Player>) -> anyhow::Result<Search<'a>> {
        let output = args.output.as_deref().map(|path| open_games(path, args)).transpose()?;
        let sorter = args
            .sort
            .map(|order| (order, Sorter::new(&temporary_directory(), args.memory.memory_bytes)));
        Ok(Search {
            args,
            player,
            output,
            sorter,
            shown: Vec::new(),
            delivered: 0,
            searched: 0,
            games: Totals::default(),
            matches: 0,
            visits: Visits::default(),
        })
    }

    /// Searches the games that a library keeps.
    fn take_library(
        &mut self,
        library: &CollectionFile,
        path: &Path,
        expression: &Expression,
    ) -> anyhow::Result<()> {
        expression.check_games()?;
        let place = Place::new(name_of(path), At::Whole);
        let library = library.opened()?;
        let (mut all, mut failure) = (0, None);
        library.each_kept_game(&mut |id, bytes| {
            let game = epdb::codec::kept_game::decode(bytes);
            let game = game.ok_or_else(|| {
                error::Error::new(format!("damaged: kept game {id} is not a game"))
            })?;
            all += 1;
            if failure.is_none()
                && let Some(ply) = expression.first_match(&game, &place)
            {
                failure = self.take_game(&game, ply).err();
            }
            Ok(())
        })?;
        self.searched += all;
        note!("{}: {} that the library keeps are searched", name_of(path), many(all, "game"));
        failure.map_or(Ok(()), Err)
    }

    fn take_record(&mut self, record: &EpdRecord) {
        self.visits.positions += 1;
        self.visits.reached += self.visits.totals.add_visits(record);
    }

    /// Takes a game whose first match is after this number of plies.
    fn take_game(&mut self, game: &Game, ply: u32) -> anyhow::Result<()> {
        let found = GameMatch::at(game, ply);
        let side = self.player.as_ref().map_or(Color::White, |player| player.side_in(game));
        self.games.add_game(game, &found, side);
        self.matches += 1;
        let Some((order, sorter)) = &mut self.sorter else { return self.deliver(game, &found) };
        let mut payload = ply.to_le_bytes().to_vec();
        pgc::encode(game, &PgcEncodeOptions::EXTENDED, &mut payload)?;
        Ok(sorter.push(&order.key_of(game), &payload)?)
    }

    /// Shows or writes a game, unless there are enough.
    fn deliver(&mut self, game: &Game, found: &GameMatch) -> anyhow::Result<()> {
        if self.delivered == self.args.limit() {
            return Ok(());
        }
        self.delivered += 1;
        let Some(output) = &mut self.output else {
            self.shown.push(MatchObject::new(game, found));
            return Ok(());
        };
        match output.write(game)? {
            Visited::Refused(refusal) => {
                anyhow::bail!("a game cannot be written: {}", refusal.message)
            }
            _ => Ok(()),
        }
    }

    /// Ends the search. Returns whether it found anything.
    fn finish(mut self) -> anyhow::Result<bool> {
        if let Some((_, sorter)) = self.sorter.take() {
            let mut sorted = sorter.finish()?;
            let changed = "the temporary file of a sort was changed";
            while self.delivered < self.args.limit()
                && let Some((_, payload)) = sorted.next_entry()?
            {
                let (ply, bytes) = payload.split_first_chunk().context(changed)?;
                let ply = u32::from_le_bytes(*ply);
                let mut reader = PgcReader::new(bytes, bytes.len());
                let game = reader.next_game()?.context(changed)?.game?.clone();
                self.deliver(&game, &GameMatch::at(&game, ply))?;
            }
        }
        if let Some(output) = self.output.take() {
            output.finish()?;
        }
        self.report();
        self.print()?;
        Ok(self.matches + self.visits.positions > 0)
    }

    fn report(&self) {
        let Visits { positions, reached, .. } = self.visits;
        if positions > 0 {
            note!(
                "epdb: {} match in libraries without games: games count once for each position, {} in all",
                many(positions, "position"),
                many(reached, "visit")
            );
        }
        if self.matches > 0 || positions == 0 {
            let match_ = if self.matches == 1 { "matches" } else { "match" };
            note!("epdb: {} of {} {match_}", self.matches, many(self.searched, "game"));
        }
    }

    fn print(&self) -> anyhow::Result<()> {
        let Args { tsv, json, .. } = *self.args;
        if self.args.output.as_deref() == Some(Path::new("-")) {
            return Ok(());
        }
        let side = if self.player.is_some() { "player" } else { "white" };
        let mut totals = Vec::new();
        if self.matches > 0 || self.visits.positions == 0 {
            totals.push(TotalsObject::new("games", side, &self.games));
        }
        if self.visits.positions > 0 {
            totals.push(TotalsObject::new("visits", "white", &self.visits.totals));
        }
        let mut out = open_output(None)?;
        if json {
            self.shown.iter().try_for_each(|one| json::line(&mut out, one))?;
            totals.iter().try_for_each(|one| json::line(&mut out, one))?;
            return Ok(out.finish()?);
        }
        let rows: Vec<Vec<String>> = self.shown.iter().map(row_of_game).collect();
        if tsv {
            writeln!(out, "{}", NAMES.join("\t"))?;
            rows.iter().try_for_each(|row| columns::write_row(row, &mut out))?;
            return Ok(out.finish()?);
        }
        let is_number = |column: usize| column == 0 || NAMES[column].ends_with("_elo");
        columns::write_columns(&NAMES, &rows, |column| !is_number(column), &mut out)?;
        for totals in totals.iter().filter(|totals| totals.all.games > 0) {
            if !rows.is_empty() {
                writeln!(out)?;
            }
            let names = ["", totals.of, "wins", "draws", "losses", "unknown", "score"];
            columns::write_columns(
                &names,
                &rows_of_totals(totals),
                |column| column == 0,
                &mut out,
            )?;
        }
        Ok(out.finish()?)
    }
}

/// Opens a file for games.
fn open_games(path: &Path, args: &Args) -> anyhow::Result<GameOutput> {
    let format = match path == Path::new("-") {
        true => Some(FileFormat::Pgn),
        false => FileFormat::from_name(path),
    };
    let no_games =
        || Usage(format!("{}: games can be written as .pgn or .pgc only", path.display()));
    let format = format.and_then(|format| game_format(format, &args.games)).ok_or_else(no_games)?;
    GameOutput::open(Some(path), format)
}

const NAMES: [&str; 9] =
    ["ply", "move", "white", "white_elo", "black", "black_elo", "result", "date", "event"];

fn row_of_game(found: &MatchObject) -> Vec<String> {
    let GameObject { white, black, result, date, event, .. } = &found.game;
    let rating = |rating: u16| if rating == 0 { String::new() } else { rating.to_string() };
    vec![
        found.ply.to_string(),
        found.played.clone(),
        white.name.clone(),
        rating(white.rating),
        black.name.clone(),
        rating(black.rating),
        (*result).to_string(),
        date.clone().unwrap_or_default(),
        event.clone().unwrap_or_default(),
    ]
}

/// All games, then the most frequent groups of each kind in their order.
fn rows_of_totals(totals: &TotalsObject) -> Vec<Vec<String>> {
    const EACH: usize = 10;
    let TotalsObject { all, moves, openings, years, ratings, .. } = totals;
    let mut rows = vec![row("all", all)];
    for (kind, groups) in
        [("move", moves), ("opening", openings), ("year", years), ("rating", ratings)]
    {
        let mut games: Vec<u64> = groups.iter().map(|group| group.games).collect();
        games.sort_unstable_by(|one, other| other.cmp(one));
        let least = games.get(EACH - 1).copied().unwrap_or(0);
        let most = groups.iter().filter(|group| group.games >= least).take(EACH);
        rows.extend(most.map(|group| row(kind, group)));
    }
    rows
}

fn row(kind: &str, group: &ResultsObject) -> Vec<String> {
    let ResultsObject { name, games, wins, draws, losses, unknown, score, .. } = group;
    let name = name.as_deref().map(|name| format!("{kind} {name}"));
    let unknown = if *unknown == 0 { String::new() } else { unknown.to_string() };
    let score = score.map(|score| format!("{score:.3}")).unwrap_or_default();
    let mut row = vec![name.unwrap_or_else(|| kind.to_string())];
    row.extend([games, wins, draws, losses].map(u64::to_string));
    row.extend([unknown, score]);
    row
}
