//! `epdb search`: the games that have a position, and what became of them.

mod args;
mod position;
mod totals;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

pub(crate) use args::Args;

use crate::cli::args::ReadArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::GameOutput;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::open_output;
use crate::cli::pipe::temporary_directory;
use crate::cli::source::{Reading, Visited};
use crate::cli::terminal::{many, note, print_line};
use crate::cli::{columns, json, query_reader, signals};
use epdb_base::spill::Sorter;
use epdb_chess::codec::kept_game;
use epdb_chess::codec::pgc::{self, PgcEncodeOptions, PgcReader};
use epdb_chess::error::{self, At, Place};
use epdb_chess::model::{Color, EpdRecord, Game};
use epdb_chess::text::{ParseOptions, Profile};
use epdb_library::expression::Expression;
use epdb_library::game_tag::PlayerSearch;
use epdb_library::kept_games::{GameObject, ListOrder};
use epdb_library::search::{
    GameMatch, MatchObject, Matching, Player, PlayerFilter, Totals, TotalsObject, as_written,
};
use epdb_source::{CollectionFile, Item, name_of};

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let own = args.expression()?;
    let player = args.player();
    if own.is_none() && player.is_none() {
        return position::run(args);
    }
    let given = &args.read.form.games;
    if let Some(name) = given.of_positions().or(given.positions.as_ref().map(|_| "positions")) {
        let text = format!("--{name} is for positions, but whole games are searched: leave it out");
        return Err(usage(text));
    }
    let (sources, position) = args.sources_and_position();
    let own = match (own, &position[..]) {
        (own, []) => own,
        (None, words) => Some(at_position(words)?),
        (Some(_), [word, ..]) => {
            let text = format!(
                "{word} is a position, not a source: leave it out, and write position('{word}') in the expression"
            );
            return Err(usage(text));
        }
    };
    let mut read = args.read.clone();
    let expression = match (&player, own) {
        (Some(player), own) => {
            own.as_ref().map_or(Ok(()), Expression::check_games)?;
            player.of(own.as_ref())?
        }
        (None, own) => own.context("no expression")?,
    };
    read.wanted.filter = Some(expression.clone());
    let names = player.as_ref().and_then(|player| PlayerSearch::new(&player.names, player.side));
    let names = names.map(|names| Arc::new(PlayerFilter::new(expression.clone(), names)));
    let mut search = Search::new(args, player, names.clone(), &expression)?;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    diagnostics.watch(Some(&expression));
    let mut files = Vec::new();
    for path in sources {
        match kept_games(path, &read)? {
            Some(library) => search.take_library(&library, path, &expression)?,
            None => files.push(path.clone()),
        }
    }
    if !files.is_empty() {
        let mut reading = Reading::of(&files, &read, &mut diagnostics).games_as_items();
        if let Some(names) = names {
            reading = reading.filter(names);
        }
        let matching = Matching(expression.clone());
        reading.encode(Arc::new(matching.clone())).items(|item| {
            match item {
                Item::Game { game, place, encoded, .. } => {
                    search.searched += 1;
                    if let Some(ply) = matching.ply(game, place, encoded) {
                        search.take_game(game, place, ply)?;
                    }
                }
                Item::LeftOut { record: None, .. } => search.searched += 1,
                Item::Record { record, .. } => search.take_record(&record),
                Item::LeftOut { .. } | Item::LeftOutMany { .. } => search.has_records = true,
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let found = search.finish()?;
    Ok(diagnostics.finish()?.and(Outcome::different_if(!found)))
}

/// The expression that is true at the position of some words.
fn at_position(words: &[String]) -> anyhow::Result<Expression> {
    let options = ParseOptions::new(Profile::Lenient);
    let line = query_reader::parse_position(words, &options)?;
    Ok(Expression::parse(&format!("position('{}')", line.end()))?)
}

/// A library that keeps games.
fn kept_games(path: &Path, read: &ReadArgs) -> anyhow::Result<Option<CollectionFile>> {
    let library = read.streams.library(path)?;
    Ok(match library {
        Some(library) if library.opened()?.kept_game_count()? > 0 => Some(library),
        _ => None,
    })
}

struct Search<'a> {
    args: &'a Args,
    player: Option<Player>,
    /// The names of the player in all games.
    names: Option<Arc<PlayerFilter>>,
    /// The expression without mirror images, if it has some, and the points of a player are not wanted.
    as_written: Option<Expression>,
    output: Option<GameOutput>,
    /// Games that are sorted before they are shown or written.
    sorter: Option<(ListOrder, Sorter)>,
    shown: Vec<MatchObject>,
    delivered: usize,
    /// Number of games that were looked at.
    searched: u64,
    /// Number of games that the libraries count, but do not keep.
    not_kept: u64,
    /// True if a source has records instead of games.
    has_records: bool,
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
    fn new(
        args: &'a Args,
        player: Option<Player>,
        names: Option<Arc<PlayerFilter>>,
        expression: &Expression,
    ) -> anyhow::Result<Search<'a>> {
        let output = args.output.as_deref().map(|path| args.open_games(path)).transpose()?;
        let sorter = args
            .order()
            .map(|order| (order, Sorter::new(temporary_directory(), args.memory.memory_bytes)));
        Ok(Search {
            args,
            as_written: if player.is_none() { as_written(expression) } else { None },
            player,
            names,
            output,
            sorter,
            shown: Vec::new(),
            delivered: 0,
            searched: 0,
            not_kept: 0,
            has_records: false,
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
        let before = self.searched;
        let mut failure = None;
        library.each_kept_game(&mut |id, bytes| {
            let game = kept_game::decode(bytes).ok_or_else(|| {
                error::Error::new(format!("damaged: kept game {id} is not a game"))
            })?;
            if failure.is_none() {
                failure = self.take_kept_game(&game, expression, &place).err();
            }
            Ok(())
        })?;
        let counted = library.tally_origin()?.map_or(0, |origin| origin.games());
        self.not_kept += counted.saturating_sub(self.searched - before);
        failure.map_or(Ok(()), Err)
    }

    fn take_kept_game(
        &mut self,
        game: &Game,
        expression: &Expression,
        place: &Place,
    ) -> anyhow::Result<()> {
        signals::check_interrupt()?;
        self.searched += 1;
        self.names.iter().for_each(|names| names.names().add(game));
        let ply = expression.first_match(game, place);
        ply.map_or(Ok(()), |ply| self.take_game(game, place, ply))
    }

    fn take_record(&mut self, record: &EpdRecord) {
        self.has_records = true;
        self.visits.positions += 1;
        self.visits.reached += self.visits.totals.add_visits(record);
    }

    /// Takes a game whose first match is after this number of plies.
    fn take_game(&mut self, game: &Game, place: &Place, ply: u32) -> anyhow::Result<()> {
        let found = GameMatch::at(game, ply);
        let side = self.side_in(game, place, ply);
        self.games.add_game(game, found.played.as_ref(), side);
        self.matches += 1;
        let Some((order, sorter)) = &mut self.sorter else { return self.deliver(game, &found) };
        let mut payload = ply.to_le_bytes().to_vec();
        pgc::encode(
            game,
            &PgcEncodeOptions { escapes: true, ..PgcEncodeOptions::EXTENDED },
            &mut payload,
        )?;
        Ok(sorter.push(&order.key_of(game), &payload)?)
    }

    /// The side whose points are counted: that of the player, or the side that has White's part in the expression.
    fn side_in(&self, game: &Game, place: &Place, ply: u32) -> Color {
        if let Some(player) = &self.player {
            return player.side_in(game);
        }
        match &self.as_written {
            Some(expression) if expression.first_match(game, place) != Some(ply) => Color::Black,
            _ => Color::White,
        }
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
        self.report_names();
        Ok(self.matches + self.visits.positions > 0)
    }

    fn report(&self) {
        let Visits { positions, reached, .. } = self.visits;
        if self.has_records {
            let verb = if positions == 1 { "matches" } else { "match" };
            let positions = many(positions, "position");
            let visits = many(reached, "visit");
            note!(
                "epdb: {positions} {verb} in sources without games: {visits}, counted at each position"
            );
        }
        if self.has_games() {
            note!("epdb: {}", self.summary());
            if self.as_written.is_some() && self.matches > 0 {
                note!(
                    "epdb: wins are those of White where the expression is true as written, and of Black where it \
                     is true for swapped colours"
                );
            }
        }
    }

    fn summary(&self) -> String {
        let Search { matches, searched, not_kept, .. } = *self;
        if not_kept > 0 {
            let kept = many(searched, "kept game");
            let counted = many(searched + not_kept, "game");
            return format!("{matches} of {kept} match; {counted} were counted");
        }
        let verb = if matches == 1 { "matches" } else { "match" };
        let copies = match self.games.copies {
            0 => String::new(),
            copies => format!(", {copies} of them copies of others"),
        };
        format!("{matches} of {} {verb}{copies}", many(searched, "game"))
    }

    /// Reports the names that may be those of the player.
    fn report_names(&self) {
        let Some(names) = &self.names else { return };
        let names = names.names();
        if self.searched == 0 && self.visits.positions == 0 {
            note!(
                "epdb: here are no games, so no players: search the PGN, or a library of tally --keep-games"
            );
        } else if let Some(names) = names.missing().or(names.others()) {
            print_line(&format!("epdb: {names}"));
        }
    }

    fn has_games(&self) -> bool {
        self.searched > 0 || !self.has_records
    }

    fn print(&self) -> anyhow::Result<()> {
        let Args { tsv, json, .. } = *self.args;
        if self.args.output.as_deref() == Some(Path::new("-")) {
            return Ok(());
        }
        let side = match (&self.player, &self.as_written) {
            (Some(_), _) => "player",
            (None, Some(_)) => "pattern",
            (None, None) => "white",
        };
        let mut totals = Vec::new();
        if self.has_games() {
            totals.push(TotalsObject {
                searched: Some(self.searched),
                counted: Some(self.searched + self.not_kept),
                ..TotalsObject::new("games", side, &self.games)
            });
        }
        if self.has_records {
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
            writeln!(out, "{}\tfen", NAMES.join("\t"))?;
            for (mut row, found) in rows.into_iter().zip(&self.shown) {
                row.push(found.fen.clone());
                columns::write_row(&row, &mut out)?;
            }
            return Ok(out.finish()?);
        }
        let is_number = |column: usize| column == 0 || NAMES[column].ends_with("_elo");
        columns::write_columns(&NAMES, &rows, |column| !is_number(column), &mut out)?;
        if self.not_kept > 0 {
            writeln!(out, "\n{}", self.summary())?;
        }
        for totals in totals.iter().filter(|totals| totals.all.games > 0) {
            if !rows.is_empty() {
                writeln!(out)?;
            }
            totals::write(totals, &mut out)?;
        }
        Ok(out.finish()?)
    }
}

const NAMES: [&str; 9] =
    ["ply", "move", "white", "white_elo", "black", "black_elo", "result", "date", "event"];

fn row_of_game(found: &MatchObject) -> Vec<String> {
    let GameObject { white, black, result, date, event, .. } = &found.game;
    let rating = |rating: Option<u16>| rating.map_or(String::new(), |rating| rating.to_string());
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
