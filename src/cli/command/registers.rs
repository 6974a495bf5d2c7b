//! `epdb registers`: the registers after each record.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::args::ReadArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::source::Reading;
use epdb_chess::error::Place;
use epdb_chess::model::registers::{Register, Registers};
use epdb_chess::model::{EpdRecord, Position};
use epdb_chess::text::{FormatOptions, epd};
use epdb_library::registers::RunningRegisters;

/// Show the comments, variation names and opening codes in effect after each record
///
/// Comments, names and codes are kept in registers: c0 to c9 for comments, v0 to v9 for variation
/// names, eco and nic for opening codes. An operation sets the register of its opcode; without an
/// operand, it clears the register. An operation cN also clears all c registers with higher numbers. An
/// operation vN does the same for v registers. Each position is printed as EPD with the registers that are
/// set; a register may be set to an empty string (`c0 "";`). All registers are cleared at the start of each
/// fragment. A fragment is a file, a game, or the records up to `refcom reset;`. The tags ECO, NIC, Opening,
/// Variation and SubVariation of a game set registers. In the output, a blank line separates fragments.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb registers annotated.epd
  epdb registers --by-continuity games.epd --json")]
pub(crate) struct Args {
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Also begin a fragment at a position that no legal move reaches from the previous position,
    /// or where fmvn is 1 again
    #[arg(long)]
    by_continuity: bool,
    /// Print one JSON object per record, with the fields file, line, fragment, epd, c, v, eco and
    /// nic
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut read = args.read.clone();
    read.form.games.game_openings = true;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut out = open_output(None)?;
    let mut running = RunningRegisters::new(args.by_continuity);
    let mut fragment = 0;
    let mut line = Vec::new();
    Reading::of(&args.files, &read, &mut diagnostics).records(|record, place, game| {
        let begins = running.take(&record, place, game.is_some());
        fragment += u64::from(begins);
        let registers = running.registers();
        if args.json {
            json::line(&mut out, &Object::new(record.position(), place, fragment, registers))?;
        } else {
            if begins && fragment > 1 {
                writeln!(out)?;
            }
            line.clear();
            epd::format(&shown(record.position(), registers), &FormatOptions::default(), &mut line);
            line.push(b'\n');
            out.write_all(&line)?;
        }
        Ok(())
    })?;
    out.finish()?;
    diagnostics.finish()
}

/// A position whose operations are the registers that are set.
fn shown(position: &Position, registers: &Registers) -> EpdRecord {
    let mut record = EpdRecord::new(*position);
    registers.operations().into_iter().for_each(|operation| drop(record.set(operation)));
    record
}

/// The registers after a record (`registers --json`). A register that is not set is `null` in JSON.
#[derive(Serialize)]
struct Object {
    file: String,
    line: u64,
    /// Number of the fragment, from 1.
    fragment: u64,
    epd: String,
    c: Vec<Option<String>>,
    v: Vec<Option<String>>,
    eco: Option<String>,
    nic: Option<String>,
}

impl Object {
    fn new(position: &Position, place: &Place, fragment: u64, registers: &Registers) -> Object {
        let text = |register: &Register| {
            register.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        Object {
            file: place.source.to_string(),
            line: place.number(),
            fragment,
            epd: position.to_string(),
            c: registers.comments.iter().map(text).collect(),
            v: registers.variations.iter().map(text).collect(),
            eco: text(&registers.eco),
            nic: text(&registers.nic),
        }
    }
}
