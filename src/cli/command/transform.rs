//! `epdb flip`, `epdb play` and `epdb tfgg`: new positions from the positions that are read.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::cli::args::{GameTextArgs, ReadArgs};
use crate::cli::games::GamePipe;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{Findings, Pipe};
use crate::cli::terminal::note;
use crate::cli::values::word_of;
use epdb_chess::model::Opcode;
use epdb_library::field::{Field, MOVE_OPCODES, parse_opcode};
use epdb_library::flip::{self, Mirror};
use epdb_library::play::{Played, Stops, after_moves, after_operation};
use epdb_library::value::Type;
use epdb_source::GameFormat;

/// Write the mirror images of records
///
/// Mirroring the colors also mirrors the ranks: White and Black exchange their positions. Moves,
/// castling rights, en passant squares, clocks and results are mirrored too. ce stays, because it
/// is from the point of view of the side to move. If the a-file and the h-file are exchanged,
/// castling rights are dropped and counted, because castling always ends on the files c and g.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb flip suite.epd -o flipped.epd")]
pub(crate) struct FlipArgs {
    /// Mirror this: the colors, the files of the board, or both
    #[arg(long, value_parser = word_of::<Mirror>(), default_value = "colors", value_name = "WHAT")]
    mirror: Mirror,
    #[command(flatten)]
    pipe: Pipe,
}

pub(crate) fn flip(args: &FlipArgs) -> anyhow::Result<Outcome> {
    let mut lost_rights = 0;
    let mut lost_moves = 0;
    let mut kept_typed = 0;
    let outcome = args.pipe.run(|record, _, output| {
        let flipped = flip::flip(&record, args.mirror);
        lost_rights += flipped.lost_rights;
        lost_moves += flipped.lost_moves;
        kept_typed += flipped.kept_typed;
        output.write(&flipped.record)?;
        Ok(ControlFlow::Continue(()))
    })?;
    for (count, what) in [
        (lost_rights, "castling rights dropped: they have no mirror image"),
        (
            lost_moves,
            "castling moves, and moves after them, kept as text: they have no mirror image",
        ),
        (kept_typed, "typed operands kept unchanged: their meaning is unknown"),
    ] {
        if count > 0 {
            note!("epdb: {count} {what}");
        }
    }
    Ok(outcome)
}

/// Write the positions after moves
///
/// For a line of moves (pv), the position at the end of the line is written. With `--op 'pv[all]'`, the
/// position after each move of the line is written. For a set of moves (bm), the position after each of these
/// moves is written. Counters are updated. Counters stay fields, or stay operations. Other operations describe
/// the old position, and are dropped unless --keep names them. Illegal moves are reported (exit status 1).
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb play --moves 'e4 c7c5 Nf3' start.epd
  epdb play --op 'pv[all]' --keep id analysed.epd")]
pub(crate) struct PlayArgs {
    #[command(flatten)]
    what: What,
    /// Copy these operations to the new records
    #[arg(long, value_delimiter = ',', value_parser = parse_opcode, value_name = "OPCODE[,...]")]
    keep: Vec<Opcode>,
    #[command(flatten)]
    pipe: Pipe,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// Play this line of moves from the position of each record; any notation is read
    #[arg(long, value_name = "MOVES")]
    moves: Option<String>,
    /// Play the moves of this operation; pv[all] and sv[all] write the position after each move
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
        return Err(format!("`{opcode}` is not a line: use [all] with pv and sv"));
    }
    Ok((opcode, stops))
}

pub(crate) fn play(args: &PlayArgs) -> anyhow::Result<Outcome> {
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
            findings.report(|| {
                format!("{}:{}: {mv} is not a legal move", place.source, place.number())
            });
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(if findings.finish() { Outcome::Different } else { outcome })
}

/// Write games in reduced export format: the seven standard tags and the moves
///
/// This does the same as `convert --reduced`, but reads any number of files, and writes to standard
/// output unless -o is given.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb tfgg sloppy.pgn -o regular.pgn")]
pub(crate) struct TfggArgs {
    /// Files of games; none, or `-`, is standard input
    files: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    text: GameTextArgs,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn tfgg(args: &TfggArgs) -> anyhow::Result<Outcome> {
    let format = GameFormat::Pgn(args.text.pgn(true));
    let files = &args.files;
    let read = &args.read;
    let output = args.output.as_deref();
    GamePipe::new(files, read, format, output).run(|read, output| output.write_unchanged(read))
}
