//! `epdb diff`: what changed from one source to another.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::{TableForm, open_other_output};
use crate::cli::pipe::{Places, UnusedFields, shown_operation, temporary_directory};
use crate::cli::source::{Reading, SourceGame, Visited};
use crate::cli::terminal::note;
use crate::cli::values::word_of;
use epdb_chess::model::{EpdRecord, Game, Opcode, Operand};
use epdb_chess::text::pgn::{self, PgnFormatOptions};
use epdb_chess::text::{CastlingForm, EnPassantForm, FormatOptions, epd, fen};
use epdb_library::diff::{
    Change, ChangedOperation, ComparedOpcodes, Diff, DiffTally, Difference, Differences, MatchBy,
};
use epdb_library::field::parse_opcode;
use epdb_library::game_diff::{ChangedTag, GameDiff};
use epdb_library::value::EvalContext;
use epdb_source::Output;

/// Show the records or games that were removed, added or changed between two sources
///
/// Records are compared by meaning: the spelling of moves, the order of operations, superfluous en
/// passant squares and the form of counters make no difference. Games with the same players, date,
/// round, event and site are versions of one game. With --positions, the positions of games are
/// compared instead. Each line begins with `-` (removed), `+` (added) or `!` (changed). Exit status
/// 1 if there is a difference.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb diff wac-old.epd wac-new.epd --by id
  epdb diff run1.epd run2.epd --ignore acms,solve_first
  epdb diff games-2023.pgn games-2024.pgn")]
pub(crate) struct Args {
    /// The old version of the source
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The new version of the source
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Match records by id (by position if there is no id), by position, or by the whole record
    #[arg(long, value_parser = word_of::<MatchBy>(), default_value = "id", value_name = "WHAT")]
    by: MatchBy,
    /// Compare only the positions and the operations with these opcodes
    #[arg(long, value_delimiter = ',', value_parser = parse_opcode, value_name = "OPCODE[,...]")]
    only: Vec<Opcode>,
    /// Leave the operations with these opcodes out of the comparison, such as the times of engine runs
    #[arg(long, value_delimiter = ',', value_parser = parse_opcode, value_name = "OPCODE[,...]",
          conflicts_with = "only")]
    ignore: Vec<Opcode>,
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

impl Args {
    fn compared(&self) -> ComparedOpcodes {
        if !self.only.is_empty() {
            ComparedOpcodes::Only(self.only.clone())
        } else if !self.ignore.is_empty() {
            ComparedOpcodes::Except(self.ignore.clone())
        } else {
            ComparedOpcodes::All
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let compared = args.compared();
    let unused = UnusedFields::of_opcodes(args.only.iter().chain(&args.ignore));
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let path = args.output.as_deref();
    let as_json = args.json || TableForm::from_name(path) == Some(TableForm::Json);
    let mut out = if as_json {
        TableForm::Json.open(path, "a list of differences")?
    } else {
        open_other_output(path, "a list of differences", &[])?
    };
    let directory = temporary_directory();
    let memory_bytes = args.memory.memory_bytes / 2;
    let mut diff = Diff::new(args.by, compared.clone(), &directory, memory_bytes);
    let mut game_diff = GameDiff::new(&directory, memory_bytes);
    let mut places = Places::default();
    for (path, is_new) in [(&args.old, false), (&args.new, true)] {
        let places = RefCell::new(&mut places);
        Reading::of(std::slice::from_ref(path), &args.read, &mut diagnostics)
            .visit_games(|SourceGame { game, place, .. }| {
                if compared != ComparedOpcodes::All {
                    return Err(usage("--only and --ignore are for records, not for games"));
                }
                game_diff.add(game, places.borrow_mut().number(place), is_new)?;
                Ok(Visited::Taken)
            })
            .records(|record, place, _| {
                let place = places.borrow_mut().number(place);
                unused.ask(&EvalContext::from_record(&record));
                if is_new {
                    diff.add_new(&record, place)?
                } else {
                    diff.add_old(&record, place)?
                }
                Ok(())
            })?;
    }
    let (differences, of_records) = diff.finish()?;
    write_all(&mut out, differences, &compared, as_json, &places)?;
    let (differences, of_games) = game_diff.finish()?;
    write_all(&mut out, differences, &compared, as_json, &places)?;
    out.finish()?;
    unused.report("record");
    let tally = of_records + of_games;
    let DiffTally { equal, removed, added, changed } = tally;
    note!("epdb: {equal} equal, {removed} removed, {added} added, {changed} changed");
    let is_unmatched = of_records.equal + of_records.changed == 0;
    if args.by == MatchBy::Id && is_unmatched && of_records.removed > 0 && of_records.added > 0 {
        note!("epdb: no id is in both sources: try --by position");
    }
    let outcome = diagnostics.finish()?;
    Ok(if tally.has_differences() { Outcome::Different } else { outcome })
}

fn write_all<T: Compared>(
    out: &mut Output,
    differences: Differences<T>,
    compared: &ComparedOpcodes,
    as_json: bool,
    places: &Places,
) -> anyhow::Result<()> {
    for difference in differences {
        let difference = difference?;
        if as_json {
            json::line(out, &Object::new(&difference, compared, places))?
        } else {
            write_text(out, &difference, compared, places)?
        }
    }
    Ok(())
}

fn write_text<T: Compared>(
    out: &mut Output,
    difference: &Difference<T>,
    compared: &ComparedOpcodes,
    places: &Places,
) -> anyhow::Result<()> {
    match difference {
        Difference::Removed(place, item) => {
            writeln!(out, "- {}: {}", places.shown(*place), item.line())?;
        }
        Difference::Added(place, item) => {
            writeln!(out, "+ {}: {}", places.shown(*place), item.line())?;
        }
        Difference::Changed(change) => {
            let old = places.shown(change.old_place);
            let new = places.shown(change.new_place);
            let name = change.old.name();
            let changes = T::changes(change, compared).join("; ");
            writeln!(out, "! {old} {new}{name}: {changes}")?;
        }
    }
    Ok(())
}

/// A difference (`diff --json`).
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Object {
    Removed {
        place: String,
        #[serde(flatten)]
        item: BTreeMap<&'static str, String>,
    },
    Added {
        place: String,
        #[serde(flatten)]
        item: BTreeMap<&'static str, String>,
    },
    Changed {
        old_place: String,
        new_place: String,
        old: String,
        new: String,
        changes: Vec<String>,
        #[serde(flatten)]
        details: Details,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Details {
    Record { operations: Vec<json::ChangedOperation> },
    Game { tags: Vec<TagObject>, first_ply: Option<usize> },
}

impl Object {
    fn new<T: Compared>(
        difference: &Difference<T>,
        compared: &ComparedOpcodes,
        places: &Places,
    ) -> Object {
        let whole = |item: &T| BTreeMap::from([(T::MEMBER, item.text())]);
        match difference {
            Difference::Removed(place, item) => {
                Object::Removed { place: places.shown(*place), item: whole(item) }
            }
            Difference::Added(place, item) => {
                Object::Added { place: places.shown(*place), item: whole(item) }
            }
            Difference::Changed(change) => Object::Changed {
                old_place: places.shown(change.old_place),
                new_place: places.shown(change.new_place),
                old: change.old.text(),
                new: change.new.text(),
                changes: T::changes(change, compared),
                details: T::details(change, compared),
            },
        }
    }
}

/// Records or games that are compared.
trait Compared: Sized {
    /// In a JSON object, the name of the member with the text of the record or game.
    const MEMBER: &'static str;

    /// The whole text.
    fn text(&self) -> String;
    /// The line of the record or game in a list.
    fn line(&self) -> String;
    /// The name of the record or game in the line of a change, after a space; empty without a name.
    fn name(&self) -> String;
    /// The changes. Each change is one text.
    fn changes(change: &Change<Self>, compared: &ComparedOpcodes) -> Vec<String>;
    fn details(change: &Change<Self>, compared: &ComparedOpcodes) -> Details;
}

impl Compared for EpdRecord {
    const MEMBER: &'static str = "record";

    fn text(&self) -> String {
        let mut text = Vec::new();
        epd::format(self, &FormatOptions::default(), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn line(&self) -> String {
        self.text()
    }

    fn name(&self) -> String {
        self.text_of(Opcode::ID)
            .map_or(String::new(), |id| format!(" \"{}\"", String::from_utf8_lossy(&id)))
    }

    /// Changes such as `bm Qg6 -> bm Qg7`, one text for each operation.
    fn changes(change: &Change, compared: &ComparedOpcodes) -> Vec<String> {
        let mut changes = Vec::new();
        if change.is_of_position() {
            changes.push(format!("{} -> {}", fields(&change.old), fields(&change.new)));
        }
        for ChangedOperation { opcode, old, new } in change.operations(compared) {
            let shown =
                |operands: &Option<Vec<Operand>>| shown_operation(opcode, operands.as_deref());
            changes.push(match (&old, &new) {
                (None, _) => format!("added {}", shown(&new)),
                (_, None) => format!("removed {}", shown(&old)),
                _ => format!("{} -> {}", shown(&old), shown(&new)),
            });
        }
        changes
    }

    fn details(change: &Change, compared: &ComparedOpcodes) -> Details {
        let operations = change.operations(compared);
        Details::Record { operations: operations.iter().map(json::ChangedOperation::new).collect() }
    }
}

fn fields(record: &EpdRecord) -> String {
    let mut text = Vec::new();
    let form = (CastlingForm::XFen, EnPassantForm::Keep);
    fen::format_fields(record.position(), form.0, form.1, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// A tag that differs.
#[derive(Serialize)]
struct TagObject {
    name: String,
    old: Option<String>,
    new: Option<String>,
}

impl Compared for Game {
    const MEMBER: &'static str = "game";

    fn text(&self) -> String {
        let mut text = Vec::new();
        // Formatting cannot fail, because UTF-8 can express every game.
        pgn::format(self, &PgnFormatOptions { escapes: true, ..Default::default() }, &mut text)
            .ok();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// `White - Black Result, Date, Event (Round)`.
    fn line(&self) -> String {
        let tag = |name| self.tag(name).unwrap_or("?");
        let white = tag("White");
        let black = tag("Black");
        let result = tag("Result");
        format!("{white} - {black} {result}, {}, {} ({})", tag("Date"), tag("Event"), tag("Round"))
    }

    fn name(&self) -> String {
        format!(" {}", self.line())
    }

    fn changes(change: &Change<Game>, _: &ComparedOpcodes) -> Vec<String> {
        let shown =
            |value: Option<String>| value.map_or("none".to_string(), |it| format!("\"{it}\""));
        let tags = change.tags().into_iter();
        let mut changes: Vec<String> = tags
            .map(|tag| format!("{} {} -> {}", tag.name, shown(tag.old), shown(tag.new)))
            .collect();
        match change.first_ply() {
            Some(ply) => changes.push(format!("moves from ply {ply} on")),
            None if changes.is_empty() => changes.push("comments, glyphs or variations".into()),
            None => {}
        }
        changes
    }

    fn details(change: &Change<Game>, _: &ComparedOpcodes) -> Details {
        let tag = |ChangedTag { name, old, new }| TagObject { name, old, new };
        Details::Game {
            tags: change.tags().into_iter().map(tag).collect(),
            first_ply: change.first_ply(),
        }
    }
}
