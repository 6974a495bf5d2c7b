//! `epdb purge`: drops operations and keeps all other bytes.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::cli::args::{OutputArgs, ReadArgs};
use crate::cli::comments::{CommentOrder, Comments};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output_of;
use crate::cli::pipe::UnusedFields;
use crate::cli::{places, source};
use epdb_chess::error::{At, Place};
use epdb_chess::model::Opcode;
use epdb_chess::text::epd::{Line, parse_line};
use epdb_chess::text::lines::{self, Next, RawLine};
use epdb_chess::text::purge::purge;
use epdb_library::field::{Field, parse_opcode};
use epdb_source::{FileFormat, Item, Output, name_of};

/// Drop operations, and keep the rest of each line unchanged, byte for byte
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
    diagnostics.watch(args.read.wanted.filter.as_ref());
    let comments = diagnostics.comments().clone();
    comments.follow(CommentOrder::Stream);
    let output = open_output_of(args.output.output.as_deref(), FileFormat::Epd)?;
    let unused = UnusedFields::of_opcodes(&args.opcodes.0);
    let mut purging = Purging { args, diagnostics, comments, unused, output };
    for path in source::or_stdin(&args.files) {
        purging.file(path)?;
    }
    let Purging { diagnostics, comments, unused, mut output, .. } = purging;
    output.write_all(&comments.rest().text)?;
    output.finish()?;
    unused.report("record");
    diagnostics.finish()
}

struct Purging<'a> {
    args: &'a Args,
    diagnostics: Diagnostics,
    comments: Comments,
    unused: UnusedFields,
    output: Output,
}

impl Purging<'_> {
    fn file(&mut self, path: &Path) -> anyhow::Result<()> {
        let limit = self.args.read.form.max_line.unwrap_or(1 << 20);
        let mut place = Place::new(name_of(path), At::Line(0));
        let mut text = source::open_lines(path, limit, &self.args.read, &mut self.diagnostics)?;
        let left_out = self.diagnostics.tally.left_out;
        self.diagnostics.begin_source();
        loop {
            if !text.has_line()? {
                self.output.hand_on()?;
            }
            let lines = text.reader();
            let Some(next) = lines.next_line()? else { break };
            match next {
                Next::Line(line) => {
                    place.at = At::Line(line.number);
                    if self.selects(&line, &place)? {
                        self.write(&line, &place)?;
                    }
                }
                Next::TooLong { number, .. } => {
                    place.at = At::Line(number);
                    self.diagnostics.error(&place, &lines::too_long(limit))?;
                    self.diagnostics.tally.rejected += 1;
                    lines.copy_long_line(&mut self.diagnostics.reject_sink()?)?;
                }
            }
        }
        for (at, warning) in text.take_warnings() {
            place.at = at;
            self.diagnostics.report(&place, &warning)?;
        }
        self.comments.end_source();
        let left_out = self.diagnostics.tally.left_out - left_out;
        Ok(places::note_left_out(path, left_out, "record")?)
    }

    /// True if a line is written now. With --where, a comment waits until its record is selected, and a line
    /// that cannot be read is rejected.
    fn selects(&mut self, line: &RawLine<'_>, place: &Place) -> anyhow::Result<bool> {
        let wanted = &self.args.read.wanted;
        if wanted.filter.is_none() {
            return Ok(true);
        }
        let form = self.args.read.form.options();
        let raw = line.raw;
        match parse_line(line.text, &form, &mut Vec::new()) {
            Ok(Line::Record(record)) => {
                let is_wanted = wanted.takes(&record, place);
                let item = if is_wanted {
                    Item::Record { record, place, raw, game: None }
                } else {
                    Item::LeftOut { record: Some(record), place, raw }
                };
                self.comments.before(&item, &form);
                if is_wanted {
                    self.output.write_all(&self.comments.next().text)?;
                }
                self.diagnostics.tally.left_out += u64::from(!is_wanted);
                Ok(is_wanted)
            }
            Ok(Line::Blank | Line::Comment) => {
                self.diagnostics.tally.skipped += 1;
                self.comments
                    .before(&Item::Skipped { raw, is_game: false, aside: Some(place) }, &form);
                Ok(false)
            }
            Err(error) => {
                self.diagnostics.error(place, &error)?;
                self.diagnostics.rejected(raw)?;
                Ok(false)
            }
        }
    }

    fn write(&mut self, line: &RawLine<'_>, place: &Place) -> anyhow::Result<()> {
        self.diagnostics.tally.records += 1;
        let purged = purge(line.raw, &self.args.opcodes.0);
        self.unused.met_record();
        if purged.dropped > 0 {
            self.unused.ask_each(|field| {
                matches!(field, Field::Operation(opcode) if purge(line.raw, &[*opcode]).dropped > 0)
            });
        }
        if self.diagnostics.warnings(place, &purged.warnings)? {
            self.output.write_all(&purged.line)?;
        } else {
            self.diagnostics.rejected(line.raw)?;
        }
        Ok(())
    }
}
