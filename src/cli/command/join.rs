//! `epdb join`: copies operations from another source.

use std::path::PathBuf;

use crate::cli::args::{MemoryArgs, MergeArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{
    Findings, Places, UnusedFields, shown_conflict, temporary_directory, write_all,
};
use crate::cli::record_output::RecordOutput;
use crate::cli::source::Reading;
use crate::cli::terminal::{listed_counts, many, note};
use crate::cli::values::word_of;
use epdb_chess::model::Opcode;
use epdb_library::field::parse_opcode;
use epdb_library::join::{Join, Meet};
use epdb_library::sets::By;
use epdb_library::value::EvalContext;

/// Copy operations from the records of another source
///
/// All records of the first source are written in their order. Each record gets the operations of --take from
/// the record of the other source with the same position or id. If several records there have other values of an
/// analysis (ce ...), --prefer decides (the last one, if it is not given), and their number is reported. Records without such a match stay unchanged,
/// and their number is reported. If a record already has one of the operations, but with other operands than in
/// the other source, it also stays unchanged and is reported. --bm decides about best moves, and --prefer about an
/// analysis if --take names all of the analysis (acd, acn, ce, pm, pv ...) that the record has. Operations
/// that --take does not name never change. Counters are copied as the operations hmvc and fmvn.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb join book.epd analysed.epb --take acd,ce,pv
  epdb join old.epd new.epd --take hmvc,fmvn --counters fen")]
pub(crate) struct Args {
    /// Source whose records are written
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Source from which operations are copied
    #[arg(value_name = "OTHER")]
    other: PathBuf,
    /// Match records that have the same position, or the same id
    #[arg(long, value_parser = word_of::<Meet>(), default_value = "position", value_name = "WHAT")]
    by: Meet,
    /// Copy these operations
    #[arg(long, value_delimiter = ',', value_parser = parse_opcode, value_name = "OPCODE[,...]", required_unless_present = "where_missing")]
    take: Vec<Opcode>,
    /// Write only the records without a match
    #[arg(long, conflicts_with = "take")]
    where_missing: bool,
    #[command(flatten)]
    merge: MergeArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    let file = std::slice::from_ref(&args.file);
    output.keep_ledger_of_records(file, &args.read, false)?;
    output.carry_comments(diagnostics.comments(), CommentOrder::Collect(By::Position));
    let directory = temporary_directory();
    let memory_bytes = args.memory.memory_bytes;
    let mut join =
        Join::new(args.by, args.take.clone(), args.merge.rules(), directory, memory_bytes);
    let mut places = Places::default();
    Reading::of(file, &args.read, &mut diagnostics)
        .records(|record, place, _| Ok(join.add(&record, places.number(place))?))?;
    diagnostics.comments().pause();
    let unused = UnusedFields::of_opcodes(&args.take);
    Reading::of(std::slice::from_ref(&args.other), &args.read, &mut diagnostics).records(
        |record, place, _| {
            unused.ask(&EvalContext::from_record(&record));
            Ok(join.add_other(&record, places.number(place))?)
        },
    )?;
    let mut findings = Findings::new(args.read.form.all_warnings);
    let (records, tally) = join.finish(args.where_missing, &mut |conflict| {
        findings.report(|| shown_conflict(conflict, &places));
    })?;
    write_all(records, &mut output)?;
    let written = output.finish()?;
    findings.finish();
    unused.report("record");
    let analyses = args.merge.shown_analyses("two analyses");
    let several = args.merge.shown_analyses("several analyses in the other source");
    let others = [
        (tally.conflicts, "left unchanged because they contradict the copied operations"),
        (tally.analyses, analyses.as_str()),
        (tally.several, several.as_str()),
    ];
    let others = listed_counts(&others);
    let matched = many(tally.matched, "record");
    note!("epdb: {matched} matched, {} unmatched{others}", tally.unmatched);
    Ok(diagnostics.finish()?.and(written))
}
