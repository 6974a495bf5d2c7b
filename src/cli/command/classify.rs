//! `epdb classify`: names of openings for games and records.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::ArgAction;

use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::{GamePipe, GamesArgs};
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;
use crate::cli::source::{Reading, Visited};
use crate::cli::terminal::{many, note};
use epdb_chess::text::{Diagnostic, codes};
use epdb_library::names::{LineNames, Names, Naming, is_table};
use epdb_source::Item;

/// Write the code and name of the opening into records or games
///
/// The names are those of lichess-org/chess-openings, which are built in, unless --openings gives others. A
/// record whose position is in the table gets the code as the operation eco and the name as v0. A game gets
/// the tags ECO, Opening, Variation and SubVariation from its last position that is in the table. If the
/// positions of games are written (`epdb help units`), a position that is in no table gets the code and name
/// of the last position before it that is in a table. Positions are compared, so transpositions are
/// recognised. The table has few positions of a deep book; the same book as games, with the moves that lead to
/// its positions, gets a name for each. A record or game that has a different code or name stays unchanged
/// unless --replace is given.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb classify games.pgn -o named.pgn
  epdb classify --openings chess-openings book.epd -o named.epd
A table of openings is a text file like those of lichess-org/chess-openings. Its first line names
the columns: eco, name and pgn (the moves). Tabs separate the columns. Later tables override
earlier ones.")]
pub(crate) struct Args {
    /// Read names from this table of openings, or from a folder of tables, instead of the names that are built
    /// in. Tables among FILES are used too
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    openings: Vec<PathBuf>,
    /// Replace codes and names that records or games already have
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
}

/// Counts of records or games.
#[derive(Default)]
struct Counts {
    named: u64,
    kept: u64,
    unnamed: u64,
}

impl Counts {
    fn report(&self, noun: &str) {
        let Counts { named, kept, unnamed } = self;
        let why = if *kept > 0 { " (--replace renames them)" } else { "" };
        let named = many(*named, noun);
        note!("epdb: {named} named, {kept} left unchanged{why}, {unnamed} without a name");
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut pipe = args.pipe.clone();
    let tables = pipe.files.extract_if(.., |file| is_table(file));
    let tables: Vec<PathBuf> = args.openings.iter().cloned().chain(tables).collect();
    let names = read_names(&tables)?;
    let naming = Naming { replace: args.replace };
    match pipe.games(&args.games)? {
        Some(pipe) => name_games(pipe, &names, naming),
        None => name_records(&pipe, &names, naming),
    }
}

fn name_records(pipe: &Pipe, names: &Names, naming: Naming) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&pipe.read.form)?;
    let mut output = pipe.open_output(true)?;
    output.carry_comments(diagnostics.comments(), CommentOrder::Stream);
    let mut names = LineNames::new(names);
    let mut counts = Counts::default();
    Reading::of(&pipe.files, &pipe.read, &mut diagnostics).items(|item| {
        match item {
            Item::Record { mut record, game, .. } => {
                match names.get(&record, game.map(|it| it.game())) {
                    None => counts.unnamed += 1,
                    Some(name) if naming.name_record(&mut record, name) => counts.named += 1,
                    Some(_) => counts.kept += 1,
                }
                output.write(&record)?;
            }
            Item::Waiting => output.hand_on()?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let written = output.finish()?;
    counts.report("position");
    Ok(diagnostics.finish()?.and(written))
}

fn name_games(pipe: GamePipe<'_>, names: &Names, naming: Naming) -> anyhow::Result<Outcome> {
    let mut counts = Counts::default();
    let outcome = pipe.run(|read, output| {
        let Some(name) = names.of_game(read.game) else {
            counts.unnamed += 1;
            return output.write_unchanged(read);
        };
        match naming.name_game(read.game, name) {
            Ok(Some(named)) => {
                counts.named += 1;
                output.write(&named)
            }
            Ok(None) => {
                counts.kept += 1;
                output.write_unchanged(read)
            }
            Err(error) => {
                let refusal = Diagnostic::error(codes::E_PGN_TAG, 1, error.to_string());
                Ok(Visited::Refused(refusal))
            }
        }
    })?;
    counts.report("game");
    Ok(outcome)
}

/// Reads files of names, or the names that are built in, and reports ignored columns.
pub(crate) fn read_names(files: &[PathBuf]) -> anyhow::Result<Names> {
    let names = Names::from_files(files)?;
    for (place, found) in names.warnings() {
        note!("{}:{}:{found}", place.source, place.number());
    }
    Ok(names)
}
