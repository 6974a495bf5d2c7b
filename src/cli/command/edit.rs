//! `epdb edit`: sets, drops, renames and numbers operations.

use std::collections::BTreeMap;
use std::time::SystemTime;

use clap::ArgAction;

use crate::cli::args::RecordFilter;
use crate::cli::diagnostics::report_never_met;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::pipe::{Findings, Pipe, UnusedFields};
use crate::cli::terminal::{many, note};
use epdb_chess::model::{Opcode, Operation};
use epdb_library::edit::{Edit, Numbering, Setting, stamp};
use epdb_library::expression::Expression;
use epdb_library::field::parse_opcode;
use epdb_library::value::EvalContext;

/// Change the operations of records
///
/// Changes are made in the order --keep, --drop, --rename, --set, --number. So --keep and --drop refer to the
/// old name of an operation that --rename renames. Counters are treated as the operations hmvc and fmvn. A
/// record that cannot be changed as requested is written unchanged and reported (exit status 1).
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb edit --set 'c0=checked by hand' --drop acd,acn suite.epd
  epdb edit --keep bm,c1 --rename c1:c9 --number id 'WAC.%03d' suite.epd
  epdb edit suite.epd --if \"id == 'WAC.005'\" --set bm=Rd2+ -o suite.epd")]
pub(crate) struct Args {
    #[command(flatten)]
    what: What,
    /// Change only records for which this expression is true. If the output has the format of the
    /// files, all other lines stay as they are, byte for byte, even lines that cannot be read (exit status 1).
    /// Only text that is not UTF-8 becomes UTF-8. With --where, the other records are left out
    #[arg(long = "if", value_name = "EXPR")]
    condition: Option<Expression>,
    /// Begin with the number N (for --number)
    #[arg(long, default_value_t = 1, value_name = "N")]
    start: u64,
    #[command(flatten)]
    pipe: Pipe,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = true)]
struct What {
    /// Set an operation. VALUE is its operands as in EPD, but strings need no quotes
    #[arg(long, value_name = "OPCODE=VALUE", value_parser = Setting::parse, action = ArgAction::Append)]
    set: Vec<Setting>,
    /// Drop these operations
    #[arg(long, value_delimiter = ',', value_parser = parse_opcode, value_name = "OPCODE[,...]")]
    drop: Vec<Opcode>,
    /// Keep only these operations
    #[arg(long, value_delimiter = ',', value_parser = parse_opcode, value_name = "OPCODE[,...]")]
    keep: Option<Vec<Opcode>>,
    /// Rename operations
    #[arg(long, value_delimiter = ',', value_parser = parse_renaming, value_name = "OLD:NEW[,...]")]
    rename: Vec<(Opcode, Opcode)>,
    /// Number the records: OPCODE gets the text PATTERN, in which %d (or %03d) becomes the number
    #[arg(long, num_args = 2, value_names = ["OPCODE", "PATTERN"])]
    number: Option<Vec<String>>,
    /// Set ts to the current time in each changed record, or in every record if no other change is
    /// requested
    #[arg(long)]
    ts: bool,
}

fn parse_renaming(text: &str) -> Result<(Opcode, Opcode), String> {
    let (old, new) = text.split_once(':').ok_or("expected OLD:NEW, such as c1:c9")?;
    Ok((parse_opcode(old)?, parse_opcode(new)?))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let What { set, drop, keep, rename, number, ts } = args.what.clone();
    let number = match number.as_deref() {
        Some([opcode, pattern]) => {
            let opcode = parse_opcode(opcode).map_err(anyhow::Error::msg)?;
            let pattern = Numbering::parse(pattern).map_err(|error| {
                let usage =
                    "--number takes an opcode and a pattern, such as --number id 'WAC.%03d'";
                Usage(format!("{usage}: {error}"))
            })?;
            Some((opcode, pattern))
        }
        _ => None,
    };
    let edit = Edit { keep, drop, rename, settings: set, number };
    edit.check().map_err(anyhow::Error::msg)?;
    let condition = RecordFilter { filter: args.condition.clone() };
    condition.check(false)?;
    let stamps_all = edit == Edit::default();
    let now = SystemTime::now();
    let mut findings = Findings::new(args.pipe.read.form.all_warnings);
    let mut number = args.start;
    let unused = UnusedFields::of_opcodes(edit.opcodes_used());
    let mut records = 0_u64;
    let mut changed = 0_u64;
    let mut replaced: BTreeMap<Opcode, u64> = BTreeMap::new();
    let keeps_lines = args.condition.is_some();
    let outcome = args.pipe.run_changes(keeps_lines, |record, place| {
        unused.ask(&EvalContext::from_record(record));
        records += 1;
        if !condition.takes(record, place) {
            return None;
        }
        let edited = edit.apply(record, number);
        number += 1;
        match edited {
            Ok(mut edited) => {
                let is_changed = ts && stamps_all || edited != *record;
                changed += u64::from(is_changed);
                for Operation { opcode, operands } in record.operations() {
                    if edited.operands(*opcode).is_some_and(|new| new != operands) {
                        *replaced.entry(*opcode).or_default() += 1;
                    }
                }
                if ts && is_changed {
                    stamp(&mut edited, now);
                }
                is_changed.then_some(edited)
            }
            Err(reason) => {
                findings.report(|| {
                    format!("{}:{}: not changed: {reason}", place.source, place.number())
                });
                None
            }
        }
    })?;
    unused.report("record");
    report_never_met("no record", condition.filter.iter().flat_map(Expression::never_met));
    let had = replaced.iter().map(|(opcode, count)| format!("; {count} had {opcode} already"));
    note!("epdb: {changed} of {} changed{}", many(records, "record"), had.collect::<String>());
    Ok(if findings.finish() { Outcome::Different } else { outcome })
}
