//! `epdb diff`: what changed from one source to another.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_other_output;
use crate::cli::pipe::{Places, shown_operation, temporary_directory};
use crate::cli::source::Reading;
use crate::cli::terminal::note;
use crate::cli::values::word_of;
use epdb::library::diff::{Change, ChangedOperation, Diff, Difference, MatchBy};
use epdb::model::{EpdRecord, Opcode, Operand};
use epdb::source::Output;
use epdb::text::{CastlingForm, EnPassantForm, FormatOptions, epd, fen};

/// Show the records that were removed, added or changed between two sources
///
/// Records are compared by meaning: a different spelling of a move, order of operations,
/// superfluous en passant square or form of the counters is not a difference. Each line begins with
/// `-` (removed), `+` (added) or `!` (changed). Exit status 1 if there is a difference.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb diff wac-old.epd wac-new.epd --by id")]
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
    let mut diff = Diff::new(args.by, temporary_directory(), args.memory.memory_bytes);
    let mut places = Places::default();
    Reading::of(std::slice::from_ref(&args.old), &args.read, &mut diagnostics)
        .records(|record, place, _| Ok(diff.add_old(&record, places.number(place))?))?;
    Reading::of(std::slice::from_ref(&args.new), &args.read, &mut diagnostics)
        .records(|record, place, _| Ok(diff.add_new(&record, places.number(place))?))?;
    let (mut differences, tally) = diff.finish()?;
    for difference in differences.by_ref() {
        let difference = difference?;
        match args.json {
            true => json::line(&mut out, &Object::new(&difference, &places))?,
            false => write_text(&mut out, &difference, &places)?,
        }
    }
    out.finish()?;
    let (equal, changed) = (tally.equal, tally.changed);
    let (added, removed) = (tally.added, tally.removed);
    note!("epdb: {equal} equal, {removed} removed, {added} added, {changed} changed");
    let outcome = diagnostics.finish()?;
    Ok(if changed + added + removed > 0 { Outcome::Different } else { outcome })
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
