//! `epdb split`: one collection in several files.

use std::path::PathBuf;

use anyhow::Context;

use crate::cli::args::{OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::file_format::FileFormat;
use crate::cli::message::note;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::each;
use crate::cli::record_output::RecordOutput;
use crate::codec::packed;
use crate::library::edit::Numbering;
use crate::library::random;
use crate::library::sample::part_of;
use crate::model::EpdRecord;

/// Split a collection into several files
///
/// With --ratio each record falls into a part at random, so the sizes are about as asked for; one
/// seed gives one split, on every machine. With --by-position all records of one position fall
/// into the same part, whatever their number and order. With --lines the parts follow one another.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb split --ratio 90:10 --by-position data.epd -o 'part-%d.epd'
  epdb split --lines 1000000 book.epd -o 'book-%03d.epb'")]
pub(crate) struct Args {
    #[command(flatten)]
    way: Way,
    /// Records of one position stay together
    #[arg(long, requires = "ratio")]
    by_position: bool,
    /// Which of all splits
    #[arg(long, default_value_t = 0, value_name = "NUMBER", requires = "ratio")]
    seed: u64,
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// The names of the parts, with %d (or %03d) for their numbers from 1
    #[arg(short, long, value_parser = Numbering::parse, value_name = "PATTERN")]
    output: Numbering,
    /// The format of files whose name does not tell it
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Writing")]
    to: Option<FileFormat>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct Way {
    /// The sizes of the parts in proportion to each other, such as 90:10 or 8:1:1
    #[arg(long, value_parser = parse_ratio, value_name = "N:N[:...]")]
    ratio: Option<Ratio>,
    /// So many records a file; the last has what is left
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    lines: Option<u64>,
}

#[derive(Clone, Debug)]
struct Ratio(Vec<u64>);

/// So many files are written at a time at the most.
const MOST_PARTS: usize = 100;

fn parse_ratio(text: &str) -> Result<Ratio, String> {
    let wrong = || "expected numbers with colons between them, such as 90:10".to_string();
    let weight = |part: &str| part.parse::<u32>().map(u64::from).map_err(|_| wrong());
    let weights: Vec<_> = text.split(':').map(weight).collect::<Result<_, _>>()?;
    match weights.len() {
        0 | 1 => Err(wrong()),
        2..=MOST_PARTS if weights.iter().all(|&weight| weight > 0) => Ok(Ratio(weights)),
        2..=MOST_PARTS => Err("no part of a ratio can be 0".into()),
        _ => Err(format!("at most {MOST_PARTS} parts")),
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    match (&args.way.ratio, args.way.lines) {
        (Some(ratio), _) => by_ratio(args, ratio, &mut diagnostics)?,
        (None, lines) => by_lines(args, lines.unwrap_or(u64::MAX), &mut diagnostics)?,
    }
    diagnostics.finish()
}

fn by_ratio(args: &Args, ratio: &Ratio, diagnostics: &mut Diagnostics) -> anyhow::Result<()> {
    let numbers = 1..=ratio.0.len() as u64;
    let mut parts =
        numbers.map(|number| Part::open(args, number)).collect::<Result<Vec<_>, _>>()?;
    let mut count = 0;
    each(&args.files, &args.read, diagnostics, |record, _| {
        let number = match args.by_position {
            true => {
                let identity = packed::pack(&record.position().identity());
                random::of_bytes(args.seed, identity.as_bytes())
            }
            false => random::number(args.seed, count),
        };
        count += 1;
        let part = parts.get_mut(part_of(number, &ratio.0)).context("a part of the ratio")?;
        part.write(&record)?;
        Ok(true)
    })?;
    parts.into_iter().try_for_each(Part::finish)
}

fn by_lines(args: &Args, lines: u64, diagnostics: &mut Diagnostics) -> anyhow::Result<()> {
    let mut part = Part::open(args, 1)?;
    each(&args.files, &args.read, diagnostics, |record, _| {
        if part.count == lines {
            let next = Part::open(args, part.number + 1)?;
            std::mem::replace(&mut part, next).finish()?;
        }
        part.write(&record)?;
        Ok(true)
    })?;
    part.finish()
}

/// One of the files.
struct Part {
    number: u64,
    name: String,
    count: u64,
    output: RecordOutput,
}

impl Part {
    fn open(args: &Args, number: u64) -> anyhow::Result<Part> {
        let name = args.output.write(number);
        let output = OutputArgs { output: Some(PathBuf::from(&name)), to: args.to };
        Ok(Part { number, name, count: 0, output: RecordOutput::open(&output, &args.write)? })
    }

    fn write(&mut self, record: &EpdRecord) -> anyhow::Result<()> {
        self.count += 1;
        self.output.write(record)
    }

    fn finish(self) -> anyhow::Result<()> {
        self.output.finish()?;
        note!("epdb: {} records to {}", self.count, self.name);
        Ok(())
    }
}
