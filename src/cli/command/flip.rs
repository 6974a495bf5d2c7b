//! `epdb flip`: mirror images.

use std::ops::ControlFlow;

use crate::cli::message::note;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;
use crate::cli::values::word_of;
use epdb::library::flip::{Mirror, flip};

/// Write the mirror images of records
///
/// Colors change places together with ranks, so that the other side has the same position; moves,
/// castling rights, en passant squares, clocks and results go with them, and ce, seen by the side
/// to move, stays. Mirrored files have no castling, because castling ends on the files c and g:
/// rights are dropped and counted.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb flip suite.epd -o flipped.epd")]
pub(crate) struct Args {
    /// What changes places
    #[arg(long, value_parser = word_of::<Mirror>(), default_value = "colors", value_name = "WHAT")]
    mirror: Mirror,
    #[command(flatten)]
    pipe: Pipe,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (mut lost_rights, mut lost_moves, mut kept_typed) = (0, 0, 0);
    let outcome = args.pipe.run(|record, _, output| {
        let flipped = flip(&record, args.mirror);
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
        (kept_typed, "typed operands kept as they are: what they mean is not known here"),
    ] {
        if count > 0 {
            note!("epdb: {count} {what}");
        }
    }
    Ok(outcome)
}
