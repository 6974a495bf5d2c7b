//! `epdb dedupe` and `epdb union`: each position once.

use clap::ValueEnum;

use crate::cli::args::{MemoryArgs, MergeArgs};
use crate::cli::message::note;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{Findings, Pipe, shown_conflict, temporary_directory};
use crate::library::sets::{By, OnConflict, Union};

/// Merge records of one position, in one file or in several
///
/// Of equal records one stays; records that say different things of one position become one
/// record that says both, at the place of the first. Records that contradict each other (in bm,
/// am, id, ...) all stay and are reported. Counters and superfluous en passant squares make no
/// other position.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb dedupe book.epd -o unique.epd
  epdb union wac1.epd wac2.epd --bm union --prefer deepest")]
pub(crate) struct Args {
    /// Which records count as the same: those of one position, with the same men on the same
    /// squares (the first stays), or equal in everything
    #[arg(long, value_enum, default_value_t = ByArg::Position, value_name = "WHAT")]
    by: ByArg,
    /// What becomes of records of one position that contradict each other
    #[arg(long, value_enum, default_value_t = OnConflictArg::Report, value_name = "WHAT")]
    on_conflict: OnConflictArg,
    #[command(flatten)]
    merge: MergeArgs,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(ValueEnum, Copy, Clone, Debug)]
pub(crate) enum ByArg {
    Position,
    Board,
    Record,
}

impl From<ByArg> for By {
    fn from(by: ByArg) -> By {
        match by {
            ByArg::Position => By::Position,
            ByArg::Board => By::Board,
            ByArg::Record => By::Record,
        }
    }
}

#[derive(ValueEnum, Copy, Clone, Debug)]
enum OnConflictArg {
    /// All stay, and are reported
    Report,
    /// The first stays
    First,
    /// The last stays
    Last,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let on_conflict = match args.on_conflict {
        OnConflictArg::Report => OnConflict::Report,
        OnConflictArg::First => OnConflict::First,
        OnConflictArg::Last => OnConflict::Last,
    };
    let (directory, memory) = (temporary_directory(), args.memory.memory);
    let union = Union::new(args.by.into(), args.merge.rules(), on_conflict, directory, memory);
    args.pipe.collect(
        union,
        |union, record, place| Ok(union.add(record, place)?),
        |union, places| {
            let mut findings = Findings::new(args.pipe.read.form.all_warnings);
            let (records, tally) = union.finish(&mut |conflict| {
                findings.tell(|| shown_conflict(conflict, places));
            })?;
            findings.finish();
            let counts = [
                (tally.duplicates, "duplicates left out"),
                (tally.merged, "merged into earlier ones"),
                (tally.same_board, "of the same board left out"),
                (tally.conflicts, "in conflict with another one"),
            ];
            let counts: String = counts
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!(", {count} {what}"))
                .collect();
            note!("epdb: {} records read{counts}", tally.read);
            Ok(records)
        },
    )
}
