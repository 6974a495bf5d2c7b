//! `epdb normalize`: text in, canonical text out.

use std::path::PathBuf;

use crate::cli::args::{OutputArgs, ReadArgs, WriteArgs};
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::write_items;
use crate::cli::record_output::RecordOutput;
use epdb_chess::text::{CounterForm, Profile};
use epdb_source::Item;

/// Read EPD or FEN and write it in canonical form, in the same order
///
/// Fields and operations get canonical order and spelling, and moves become SAN with check and mate
/// marks. Errors that can be repaired are repaired and reported. Other invalid lines are left out
/// and reported with their location; --rejects saves them. `pfdn` also writes the counters as the
/// operations hmvc and fmvn, and sorts the operands of noop and of nonstandard opcodes. Games become
/// the lines of their positions; `convert` keeps them games.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb normalize suite.epd -o clean.epd --rejects bad.epd")]
pub(crate) struct Args {
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Copy rejected lines to the output unchanged, instead of leaving them out
    #[arg(long)]
    keep_bad: bool,
    /// Convert moves in descriptive notation (N-KB3, PxP e.p., R(1)-Q1) and numeric notation (5254)
    /// to SAN if exactly one legal move fits
    #[arg(long)]
    repair_moves: bool,
    /// Sort operands whose order has no meaning.
    #[arg(skip)]
    sorts_operands: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    /// Arguments of `pfdn`, the command of the specification: counters as operations, and unordered
    /// operands in ASCII order.
    pub(crate) fn in_normal_form(mut self) -> Args {
        self.write.counters.get_or_insert(CounterForm::Ops);
        self.sorts_operands = true;
        self
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut read = args.read.clone();
    read.form.repair_moves = args.repair_moves;
    anyhow::ensure!(
        !args.repair_moves || read.form.profile == Profile::Lenient,
        "--repair-moves needs --profile lenient: the other profiles read SAN only"
    );
    let mut diagnostics = Diagnostics::new(&read.form)?;
    if args.keep_bad {
        diagnostics.keep_rejects_in_output();
    }
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    output.keep_ledger_of_records(&args.files, &read, true)?;
    output.carry_comments(diagnostics.comments(), CommentOrder::Stream);
    write_items(&args.files, &read, diagnostics, output, |item, output| {
        match item {
            Item::Record { record, .. } if args.sorts_operands => {
                output.write(&record.with_operands_in_order())?;
            }
            Item::Record { record, .. } => output.write(&record)?,
            Item::Rejected { raw, .. } if args.keep_bad => output.write_verbatim(raw)?,
            _ => {}
        }
        Ok(())
    })
}
