//! `epdb filter`: the records for which an expression holds.

use crate::cli::diagnostics::{Diagnostics, Place};
use crate::cli::outcome::Outcome;
use crate::cli::output::print_line;
use crate::cli::pipe::{Pipe, each};
use crate::cli::record_output::RecordOutput;
use crate::model::EpdRecord;

/// Write the records for which --where holds, in their order
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb filter book.epd --where 'pieces == 32' --count
  epdb filter suite.epd --where 'illegal(bm) || !has(bm)'
`epdb help where` tells the language.")]
pub(crate) struct Args {
    /// Write the records for which it does not hold
    #[arg(long)]
    invert: bool,
    /// Print only how many there are
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    pipe: Pipe,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut pipe = args.pipe.clone();
    anyhow::ensure!(
        pipe.read.wanted.filter.is_some(),
        "say which records with --where, such as --where 'pieces <= 7' \
         (`epdb help where` tells the language)"
    );
    let inverted = args.invert.then(|| std::mem::take(&mut pipe.read.wanted));
    let is_wanted = |record: &EpdRecord, place: &Place| {
        inverted.as_ref().is_none_or(|wanted| !wanted.takes(record, place))
    };
    let mut diagnostics = Diagnostics::new(&pipe.read.form)?;
    let mut output = match args.count {
        true => None,
        false => Some(RecordOutput::open(&pipe.output, &pipe.write)?),
    };
    let mut count = 0_u64;
    each(&pipe.files, &pipe.read, &mut diagnostics, |record, place| {
        if is_wanted(&record, place) {
            count += 1;
            output.as_mut().map_or(Ok(()), |output| output.write(&record))?;
        }
        Ok(true)
    })?;
    match output {
        Some(output) => output.finish()?,
        None => print_line(count)?,
    }
    diagnostics.finish()
}
