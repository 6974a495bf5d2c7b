//! `epdb sort`: records in the order of what they say.

use crate::cli::args::MemoryArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{Pipe, each, temporary_directory, write_all};
use crate::cli::record_output::RecordOutput;
use crate::library::field::Subject;
use crate::library::order::{RecordSorter, SortOrder};
use crate::text::WriteOptions;

/// Sort records by fields
///
/// Texts are in natural order (WAC.2 before WAC.10), records that lack a field come last, and
/// records that agree in all fields stay in the order of the input. Fields are those of `epdb help
/// where`; `position` brings records of one position together.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb sort --by id suite.epd
  epdb sort --by=-ce,id analysed.epd")]
pub(crate) struct Args {
    /// Fields, the first decides first; a minus sign before a field sorts downwards
    #[arg(long, value_name = "FIELD[,...]", allow_hyphen_values = true)]
    by: SortOrder,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let Pipe { files, read, write, output } = &args.pipe;
    let mut diagnostics = Diagnostics::new(read)?;
    let mut output = RecordOutput::open(output, write)?;
    let mut sorter = RecordSorter::new(args.by.clone(), temporary_directory(), args.memory.memory);
    each(files, read, &mut diagnostics, |record, place| {
        let (line, file, forms) = (place.line, &*place.file, WriteOptions::default());
        sorter.add(&Subject { record: &record, line, file, forms })?;
        Ok(true)
    })?;
    write_all(sorter.finish()?, &mut output)?;
    output.finish()?;
    diagnostics.finish()
}
