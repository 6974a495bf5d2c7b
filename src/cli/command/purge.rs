//! `epdb purge`: operations taken out, the rest byte for byte.

use std::io::Write;
use std::path::PathBuf;

use crate::cli::args::{OutputArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output_of;
use crate::cli::source;
use epdb::error::{At, Place};
use epdb::library::field::parse_opcode;
use epdb::model::Opcode;
use epdb::source::FileFormat;
use epdb::text::lines::{self, Next};
use epdb::text::purge::purge;

/// Drop operations and keep the rest of each line byte for byte
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb purge acd,acn,acs,ce,pv analysed.epd -o bare.epd")]
pub(crate) struct Args {
    /// The opcodes to drop, separated by commas
    #[arg(value_parser = parse_opcodes, value_name = "OPCODE[,...]")]
    opcodes: Opcodes,
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Debug)]
struct Opcodes(Vec<Opcode>);

fn parse_opcodes(text: &str) -> Result<Opcodes, String> {
    text.split(',').map(parse_opcode).collect::<Result<_, _>>().map(Opcodes)
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut output = open_output_of(args.output.output.as_deref(), FileFormat::Epd)?;
    let limit = args.read.form.max_line.unwrap_or(1 << 20);
    for path in source::or_stdin(&args.files) {
        let mut place = Place::new(path.to_string_lossy(), At::Line(0));
        let mut text = source::open_lines(path, limit, &args.read, &mut diagnostics)?;
        loop {
            if !text.has_line()? {
                output.hand_on()?;
            }
            let lines = text.reader();
            let Some(next) = lines.next_line()? else { break };
            match next {
                Next::Line(line) => {
                    place.at = At::Line(line.number);
                    if !source::holds(line.text, &place, &args.read) {
                        continue;
                    }
                    diagnostics.tally.records += 1;
                    let purged = purge(line.raw, &args.opcodes.0);
                    if diagnostics.warnings(&place, &purged.warnings)? {
                        output.write_all(&purged.line)?;
                    } else {
                        diagnostics.rejected(line.raw)?;
                    }
                }
                Next::TooLong { number, .. } => {
                    place.at = At::Line(number);
                    diagnostics.error(&place, &lines::too_long(limit))?;
                    diagnostics.tally.rejected += 1;
                    lines.copy_long_line(&mut diagnostics.reject_sink()?)?;
                }
            }
        }
    }
    output.finish()?;
    diagnostics.finish()
}
