//! `epdb subtract` and `epdb intersect`: the records of one source that others lack or have.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::comments::Way;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{temporary_directory, write_all};
use crate::cli::record_output::RecordOutput;
use crate::cli::source::read_all_encoded;
use crate::cli::values::word_of;
use epdb::library::sets::{By, Keep, Selection};
use epdb::source::Encode;

/// Write the records of the first source that are in none (subtract) or in all (intersect) of the
/// others, unchanged and in their order
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb subtract book.epd played.epd -o fresh.epd
  epdb intersect wac1.epd wac2.epd --by record")]
pub(crate) struct Args {
    /// The source whose records are written
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The sources it is compared with
    #[arg(required = true, value_name = "OTHER")]
    others: Vec<PathBuf>,
    /// Which records count as the same: those of one position, with the same pieces on the same
    /// squares, or equal in everything
    #[arg(long, value_parser = word_of::<By>(), default_value = "position", value_name = "WHAT")]
    by: By,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args, keep: Keep) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    output.carry_comments(diagnostics.comments(), Way::Collect(args.by));
    let (directory, memory) = (temporary_directory(), args.memory.memory);
    let encode: Arc<dyn Encode> = Arc::new(args.by);
    let mut selection = Selection::new(keep, args.by, directory, memory);
    let own = std::slice::from_ref(&args.file);
    read_all_encoded(own, &args.read, &mut diagnostics, &encode, |records, _| {
        Ok(selection.add_encoded(records)?)
    })?;
    diagnostics.comments().pause();
    for (number, other) in args.others.iter().enumerate() {
        if number > 0 {
            selection.next_other();
        }
        let other = std::slice::from_ref(other);
        read_all_encoded(other, &args.read, &mut diagnostics, &encode, |records, _| {
            Ok(selection.add_other_encoded(records)?)
        })?;
    }
    write_all(selection.finish()?, &mut output)?;
    let written = output.finish()?;
    Ok(diagnostics.finish()?.and(written))
}
