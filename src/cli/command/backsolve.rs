//! `epdb backsolve`: scores carried back to the positions that lead to them.

use std::io::Write;

use crate::cli::args::MemoryArgs;
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::output::{open_output, print_line};
use crate::cli::pipe::{Pipe, temporary_directory};
use crate::cli::record_output::RecordOutput;
use crate::cli::source::Reading;
use crate::cli::terminal::{many, note};
use epdb_library::backsolve::{
    BacksolveCounts, BacksolveOptions, Backsolved, Backsolver, OwnScores,
};

/// Propagate scores from the ends of lines back to earlier positions
///
/// The `ce` of every record becomes the value of its best move. If the position after a move is
/// among the records, the value of the move is the value of this position with the sign changed. A mate
/// becomes one ply longer with each step back. Checkmate, stalemate and insufficient material have the values
/// that the rules give them, even if there is no such record, and play without end is a draw. If some legal
/// moves have no known value, the record's own score is a lower bound. Without an own score, the other moves
/// count, but they prove no mate: a side is mated only if all its legal moves lose.
///
/// `pm` becomes the best move. A contradicting pv or dm is dropped. The `ce` of the input is kept as
/// `ce_own`. If there was no `ce`, `ce_own` has no operand. The next backsolve starts from `ce_own`.
/// `ce_repeats` marks draws that a side gets only by repetition. If several records have the same position,
/// the score with the greatest depth counts.
///
/// If positions and moves need more than --memory, the rest goes to temporary files. The result is
/// the same.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb backsolve book.epd -o solved.epd
  epdb backsolve library.epdb analysed.epd --replace -o solved.epdb
  epdb backsolve --dry-run book.epd")]
pub(crate) struct Args {
    /// Use the score of a record only if no move of the record leads to a known value
    #[arg(long)]
    replace: bool,
    /// Store the origin of each value: the position as `ce_leaf`, and its distance in plies as `ce_plies`
    #[arg(long)]
    provenance: bool,
    /// Take the scores of the input from White's point of view, not from that of the side to move
    #[arg(long)]
    white_view: bool,
    /// Write no records, but report what would change, with the 20 largest changes
    #[arg(long, conflicts_with_all = ["output", "to"])]
    dry_run: bool,
    /// Print the report of --dry-run as a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let Pipe { files, read, write, output } = &args.pipe;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut output = if args.dry_run {
        None
    } else {
        Some(RecordOutput::open_library(output, write, args.memory.memory_bytes)?)
    };
    if let Some(output) = &mut output {
        output.carry_comments(diagnostics.comments(), CommentOrder::Queue);
    }
    let options = BacksolveOptions {
        own_scores: if args.replace { OwnScores::Replaced } else { OwnScores::LowerBound },
        provenance: args.provenance,
        white_view: args.white_view,
    };
    let mut backsolver = Backsolver::new(options, &temporary_directory(), args.memory.memory_bytes);
    Reading::of(files, read, &mut diagnostics)
        .records(|record, _, _| Ok(backsolver.add(&record)?))?;
    let written = write_records(backsolver.solve()?, output, args.json)?;
    Ok(diagnostics.finish()?.and(written))
}

fn write_records(
    mut solved: Backsolved,
    mut output: Option<RecordOutput>,
    json: bool,
) -> anyhow::Result<Outcome> {
    for record in solved.by_ref() {
        let record = record?;
        if let Some(output) = &mut output {
            output.write(&record)?;
        }
    }
    let lines = summary(solved.counts());
    if solved.counts().scored == 0 {
        note!("epdb: no record has a ce: all values follow from mates and draws by the rules");
    }
    match output {
        Some(output) => {
            let written = output.finish()?;
            lines.iter().for_each(|line| note!("epdb: {line}"));
            Ok(written)
        }
        None => {
            if json {
                print_line(serde_json::to_string(solved.counts())?)?
            } else {
                print_report(&lines, solved.counts())?
            }
            Ok(Outcome::Done)
        }
    }
}

fn summary(counts: &BacksolveCounts) -> [String; 3] {
    let BacksolveCounts { positions, moves, own, facts, solved, repetitions, unknown, .. } = counts;
    let BacksolveCounts { records, changed, new, .. } = counts;
    [
        format!("{}, {} with a known result", many(*positions, "position"), many(*moves, "move")),
        format!(
            "{solved} solved by moves, {} by repetition, {facts} by the rules, {own} by their own score, \
             {unknown} without a value",
            many(*repetitions, "draw")
        ),
        format!("{}, {changed} with another ce, {new} of them had none", many(*records, "record")),
    ]
}

fn print_report(lines: &[String], counts: &BacksolveCounts) -> anyhow::Result<()> {
    let mut out = open_output(None)?;
    for line in lines {
        writeln!(out, "{line}")?;
    }
    if !counts.largest.is_empty() {
        writeln!(out, "before\tafter\tposition")?;
    }
    for change in &counts.largest {
        writeln!(out, "{}\t{}\t{}", change.before, change.after, change.position)?;
    }
    Ok(out.finish()?)
}
