//! `epdb diff`: what changed from one source to another.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_other_output;
use crate::cli::pipe::{Places, shown_operation, temporary_directory};
use crate::cli::source::{Reading, Visited};
use crate::cli::terminal::note;
use crate::cli::values::word_of;
use epdb::library::diff::{Change, ChangedOperation, Diff, DiffTally, Difference, MatchBy};
use epdb::library::game_diff::{ChangedTag, GameChange, GameDiff, GameDifference};
use epdb::model::{EpdRecord, Game, Opcode, Operand};
use epdb::source::Output;
use epdb::text::pgn::{self, PgnFormatOptions};
use epdb::text::{CastlingForm, EnPassantForm, FormatOptions, epd, fen};

/// Show the records or games that were removed, added or changed between two sources
///
/// Games are compared as games, or with --positions by their positions: those with the same players,
/// date, round, event and site are versions of one game. Records are compared by meaning: a different spelling of a move, order of operations,
/// superfluous en passant square or form of the counters is not a difference. Each line begins with
/// `-` (removed), `+` (added) or `!` (changed). Exit status 1 if there is a difference.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb diff wac-old.epd wac-new.epd --by id
  epdb diff games-2023.pgn games-2024.pgn")]
pub(crate) struct Args {
    /// The old version of the source
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The new version of the source
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Match two records by id (by position if they have no id), by position, or only if they are
    /// equal
    #[arg(long, value_parser = word_of::<MatchBy>(), default_value = "id", value_name = "WHAT")]
    by: MatchBy,
    /// Print one JSON object per difference
    #[arg(long)]
    json: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut out = open_other_output(args.output.as_deref(), "a list of differences")?;
    let (directory, memory_bytes) = (temporary_directory(), args.memory.memory_bytes / 2);
    let mut diff = Diff::new(args.by, &directory, memory_bytes);
    let mut game_diff = GameDiff::new(&directory, memory_bytes);
    let mut places = Places::default();
    for (path, is_new) in [(&args.old, false), (&args.new, true)] {
        let places = RefCell::new(&mut places);
        Reading::of(std::slice::from_ref(path), &args.read, &mut diagnostics)
            .visit_games(|game, place| {
                game_diff.add(game, places.borrow_mut().number(place), is_new)?;
                Ok(Visited::Taken)
            })
            .records(|record, place, _| {
                let place = places.borrow_mut().number(place);
                match is_new {
                    true => diff.add_new(&record, place)?,
                    false => diff.add_old(&record, place)?,
                }
                Ok(())
            })?;
    }
    let (differences, of_records) = diff.finish()?;
    for difference in differences {
        let difference = difference?;
        match args.json {
            true => json::line(&mut out, &Object::new(&difference, &places))?,
            false => write_text(&mut out, &difference, &places)?,
        }
    }
    let (differences, of_games) = game_diff.finish()?;
    for difference in differences {
        let difference = difference?;
        match args.json {
            true => json::line(&mut out, &GameObject::new(&difference, &places))?,
            false => write_game(&mut out, &difference, &places)?,
        }
    }
    out.finish()?;
    let tally = of_records + of_games;
    let DiffTally { equal, removed, added, changed } = tally;
    note!("epdb: {equal} equal, {removed} removed, {added} added, {changed} changed");
    let outcome = diagnostics.finish()?;
    Ok(if tally.has_differences() { Outcome::Different } else { outcome })
}

fn write_text(out: &mut Output, difference: &Difference, places: &Places) -> anyhow::Result<()> {
    match difference {
        Difference::Removed(place, record) => {
            writeln!(out, "- {}: {}", places.shown(*place), text(record))?;
        }
        Difference::Added(place, record) => {
            writeln!(out, "+ {}: {}", places.shown(*place), text(record))?;
        }
        Difference::Changed(change) => {
            let (old, new) = (places.shown(change.old_place), places.shown(change.new_place));
            let name = match change.old.text_of(Opcode::ID) {
                Some(id) => format!(" \"{}\"", String::from_utf8_lossy(&id)),
                None => String::new(),
            };
            writeln!(out, "! {old} {new}{name}: {}", what_changed(change).join("; "))?;
        }
    }
    Ok(())
}

/// `bm Qg6 -> bm Qg7`, one text an operation.
fn what_changed(change: &Change) -> Vec<String> {
    let mut changes = Vec::new();
    if change.is_of_position() {
        changes.push(format!("{} -> {}", fields(&change.old), fields(&change.new)));
    }
    for ChangedOperation { opcode, old, new } in change.operations() {
        let shown = |operands: &Option<Vec<Operand>>| shown_operation(opcode, operands.as_deref());
        changes.push(match (&old, &new) {
            (None, _) => format!("added {}", shown(&new)),
            (_, None) => format!("removed {}", shown(&old)),
            _ => format!("{} -> {}", shown(&old), shown(&new)),
        });
    }
    changes
}

fn fields(record: &EpdRecord) -> String {
    let mut text = Vec::new();
    let form = (CastlingForm::XFen, EnPassantForm::Keep);
    fen::format_fields(record.position(), form.0, form.1, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn text(record: &EpdRecord) -> String {
    let mut text = Vec::new();
    epd::format(record, &FormatOptions::default(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// `White - Black, Date, Event (Round)`, one line.
fn title(game: &Game) -> String {
    let tag = |name| game.tag(name).unwrap_or("?");
    let (white, black, result) = (tag("White"), tag("Black"), tag("Result"));
    format!("{white} - {black} {result}, {}, {} ({})", tag("Date"), tag("Event"), tag("Round"))
}

fn write_game(
    out: &mut Output,
    difference: &GameDifference,
    places: &Places,
) -> anyhow::Result<()> {
    match difference {
        GameDifference::Removed(place, game) => {
            writeln!(out, "- {}: {}", places.shown(*place), title(game))?;
        }
        GameDifference::Added(place, game) => {
            writeln!(out, "+ {}: {}", places.shown(*place), title(game))?;
        }
        GameDifference::Changed(change) => {
            let (old, new) = (places.shown(change.old_place), places.shown(change.new_place));
            let changes = what_changed_in_game(change).join("; ");
            writeln!(out, "! {old} {new} {}: {changes}", title(&change.old))?;
        }
    }
    Ok(())
}

fn what_changed_in_game(change: &GameChange) -> Vec<String> {
    let shown = |value: Option<String>| value.map_or("none".to_string(), |it| format!("\"{it}\""));
    let tags = change.tags().into_iter();
    let mut changes: Vec<String> =
        tags.map(|tag| format!("{} {} -> {}", tag.name, shown(tag.old), shown(tag.new))).collect();
    match change.first_ply() {
        Some(ply) => changes.push(format!("moves from ply {ply} on")),
        None if changes.is_empty() => changes.push("comments, glyphs or variations".to_string()),
        None => {}
    }
    changes
}

/// A difference of games (`diff --json`).
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum GameObject {
    Removed {
        place: String,
        game: String,
    },
    Added {
        place: String,
        game: String,
    },
    Changed {
        old_place: String,
        new_place: String,
        old: String,
        new: String,
        changes: Vec<String>,
        tags: Vec<TagObject>,
        first_ply: Option<usize>,
    },
}

/// A tag that differs.
#[derive(Serialize)]
struct TagObject {
    name: String,
    old: Option<String>,
    new: Option<String>,
}

impl GameObject {
    fn new(difference: &GameDifference, places: &Places) -> GameObject {
        match difference {
            GameDifference::Removed(place, game) => {
                GameObject::Removed { place: places.shown(*place), game: pgn_text(game) }
            }
            GameDifference::Added(place, game) => {
                GameObject::Added { place: places.shown(*place), game: pgn_text(game) }
            }
            GameDifference::Changed(change) => GameObject::Changed {
                old_place: places.shown(change.old_place),
                new_place: places.shown(change.new_place),
                old: pgn_text(&change.old),
                new: pgn_text(&change.new),
                changes: what_changed_in_game(change),
                tags: change
                    .tags()
                    .into_iter()
                    .map(|ChangedTag { name, old, new }| TagObject { name, old, new })
                    .collect(),
                first_ply: change.first_ply(),
            },
        }
    }
}

fn pgn_text(game: &Game) -> String {
    let mut text = Vec::new();
    // UTF-8 can express every game.
    pgn::format(game, &PgnFormatOptions::new().escapes(true), &mut text).ok();
    String::from_utf8_lossy(&text).into_owned()
}

/// A difference (`diff --json`).
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Object {
    Removed {
        place: String,
        record: String,
    },
    Added {
        place: String,
        record: String,
    },
    Changed {
        old_place: String,
        new_place: String,
        old: String,
        new: String,
        changes: Vec<String>,
        operations: Vec<json::ChangedOperation>,
    },
}

impl Object {
    fn new(difference: &Difference, places: &Places) -> Object {
        match difference {
            Difference::Removed(place, record) => {
                Object::Removed { place: places.shown(*place), record: text(record) }
            }
            Difference::Added(place, record) => {
                Object::Added { place: places.shown(*place), record: text(record) }
            }
            Difference::Changed(change) => Object::Changed {
                old_place: places.shown(change.old_place),
                new_place: places.shown(change.new_place),
                old: text(&change.old),
                new: text(&change.new),
                changes: what_changed(change),
                operations: change.operations().iter().map(json::ChangedOperation::new).collect(),
            },
        }
    }
}
