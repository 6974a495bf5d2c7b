//! `epdb play`: the positions to which moves lead.

use std::ops::ControlFlow;

use crate::cli::outcome::Outcome;
use crate::cli::pipe::{Findings, Pipe};
use epdb::library::field::{Field, MOVE_OPCODES, parse_opcode};
use epdb::library::play::{Played, Stops, after_moves, after_operation};
use epdb::library::value::Type;
use epdb::model::Opcode;

/// Write the positions after moves
///
/// Counters go on, in the form they have; other operations speak of the old position and are left
/// behind, unless --keep names them. Of a line the position at its end is written, or with [all]
/// the position after each move; of a set of moves the position after each. Moves that are illegal
/// are reported (exit status 1).
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb play --moves 'e4 c7c5 Nf3' start.epd
  epdb play --op 'pv[all]' --keep id analysed.epd")]
pub(crate) struct Args {
    #[command(flatten)]
    what: What,
    /// Operations that the new records have too
    #[arg(long, value_delimiter = ',', value_parser = parse_opcode, value_name = "OPCODE[,...]")]
    keep: Vec<Opcode>,
    #[command(flatten)]
    pipe: Pipe,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// One line of moves for all records, in any notation
    #[arg(long, value_name = "MOVES")]
    moves: Option<String>,
    /// The moves of an operation; pv[all] and sv[all] stop after each move
    #[arg(long, value_parser = parse_operation, value_name = "OPCODE")]
    op: Option<(Opcode, Stops)>,
}

fn parse_operation(text: &str) -> Result<(Opcode, Stops), String> {
    let (name, stops) = match text.strip_suffix("[all]") {
        Some(name) => (name, Stops::Each),
        None => (text, Stops::End),
    };
    let opcode = parse_opcode(name)?;
    if Field::Operation(opcode).kind() != Type::Moves {
        return Err(format!("`{opcode}` has no moves; the opcodes with moves are {MOVE_OPCODES}"));
    }
    if stops == Stops::Each && opcode != Opcode::PV && opcode != Opcode::SV {
        return Err(format!("`{opcode}` is no line: [all] goes with pv and sv"));
    }
    Ok((opcode, stops))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let moves = args.what.moves.as_deref().unwrap_or_default();
    let moves: Vec<_> = moves.split_whitespace().collect();
    anyhow::ensure!(args.what.op.is_some() || !moves.is_empty(), "--moves names no move");
    let mut findings = Findings::new(args.pipe.read.form.all_warnings);
    let outcome = args.pipe.run(|record, place, output| {
        let Played { records, illegal } = match args.what.op {
            Some((opcode, stops)) => after_operation(&record, opcode, stops, &args.keep),
            None => after_moves(&record, &moves, Stops::End, &args.keep),
        };
        for played in &records {
            output.write(played)?;
        }
        for mv in illegal {
            let mv = String::from_utf8_lossy(&mv).into_owned();
            findings
                .report(|| format!("{}:{}: {mv} is no legal move", place.source, place.number()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(if findings.finish() { Outcome::Different } else { outcome })
}
