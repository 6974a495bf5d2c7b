//! Shared parts of commands that read and write records.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use epdb_chess::error::Place;
use epdb_chess::model::{EpdRecord, Opcode, Operand};
use epdb_chess::text::pgn::decode;
use epdb_library::field::Field;
use epdb_library::sets::{self, By, ByLines, ConflictingOperation};
use epdb_library::tally::ledger::LedgerSum;
use epdb_library::value::EvalContext;
use epdb_source::{Encode, EncodedRecords, FileFormat, Item};

use super::args::{OutputArgs, ReadArgs, WriteArgs};
use super::comments::CommentOrder;
use super::diagnostics::{Diagnostics, report_never_met};
use super::games::{GamePipe, GamesArgs};
use super::outcome::Outcome;
use super::record_output::RecordOutput;
use super::source::{OpenSource, Reading, or_stdin, source_format};
use super::terminal::note;

/// Input files, output, and their forms.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Pipe {
    /// Files to read; none, or `-`, is standard input
    #[arg(help_heading = None::<&str>)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Passes each item of the files to `step` with the output, which is completed then.
pub(crate) fn write_items(
    files: &[PathBuf],
    read: &ReadArgs,
    mut diagnostics: Diagnostics,
    mut output: RecordOutput,
    mut step: impl FnMut(Item<'_>, &mut RecordOutput) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    Reading::of(files, read, &mut diagnostics).items(|item| {
        match item {
            Item::Waiting => output.hand_on()?,
            item => step(item, &mut output)?,
        }
        Ok(ControlFlow::Continue(()))
    })?;
    output.finish_with(diagnostics)
}

impl Pipe {
    /// The pipe for games, if games are processed as games.
    pub(crate) fn games(&self, args: &GamesArgs) -> anyhow::Result<Option<GamePipe<'_>>> {
        let Pipe { files, read, output, .. } = self;
        let format = args.format(files, read, output.format()?)?;
        let output = output.output.as_deref();
        Ok(format.map(|format| GamePipe::new(files, read, format, output)))
    }

    /// Passes each record to `step` with the output; `step` may stop the reading.
    pub(crate) fn run(
        &self,
        step: impl FnMut(EpdRecord, &Place, &mut RecordOutput) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<Outcome> {
        self.run_opened(None, step)
    }

    /// Like [`Pipe::run`]; `opened` is the only file, if it is already open. Its records are written unchanged.
    pub(crate) fn run_opened(
        &self,
        opened: Option<OpenSource>,
        mut step: impl FnMut(EpdRecord, &Place, &mut RecordOutput) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<Outcome> {
        let mut diagnostics = Diagnostics::new(&self.read.form)?;
        let mut output = self.open_output(opened.is_some())?;
        output.carry_comments(diagnostics.comments(), CommentOrder::Stream);
        let reading = match opened {
            Some(opened) => Reading::of_open(opened, &self.read, &mut diagnostics),
            None => Reading::of(&self.files, &self.read, &mut diagnostics),
        };
        reading.items(|item| match item {
            Item::Record { record, place, .. } => step(record, place, &mut output),
            Item::Waiting => output.hand_on().map(ControlFlow::Continue).map_err(Into::into),
            _ => Ok(ControlFlow::Continue(())),
        })?;
        output.finish_with(diagnostics)
    }

    /// Writes each record as `change` returns it; unchanged if it returns `None`. With `keeps_lines`, the lines
    /// of unchanged records, lines without a record, and lines that cannot be read are copied from sources of
    /// text to an output of the same form. A changed line is UTF-8, so those that can be read become UTF-8 too.
    pub(crate) fn run_changes(
        &self,
        keeps_lines: bool,
        mut change: impl FnMut(&EpdRecord, &Place) -> Option<EpdRecord>,
    ) -> anyhow::Result<Outcome> {
        let keeps_lines = keeps_lines && self.writes_lines_as_read()?;
        let mut diagnostics = Diagnostics::new(&self.read.form)?;
        let mut output = self.open_output(false)?;
        if keeps_lines {
            diagnostics.keep_rejects_in_output();
        } else {
            output.carry_comments(diagnostics.comments(), CommentOrder::Stream);
        }
        write_items(&self.files, &self.read, diagnostics, output, |item, output| {
            match item {
                Item::Record { record, place, raw, .. } => match change(&record, place) {
                    Some(changed) if keeps_lines => output.write_instead_of(raw, &changed)?,
                    Some(changed) => output.write(&changed)?,
                    None if keeps_lines => output.write_line_as_read(&self.in_utf8(raw))?,
                    None => output.write(&record)?,
                },
                Item::Skipped { raw, .. } if keeps_lines => {
                    output.write_line_as_read(&self.in_utf8(raw))?;
                }
                // A long line comes in several pieces.
                Item::Rejected { raw, .. } if keeps_lines => output.write_verbatim(raw)?,
                _ => {}
            }
            Ok(())
        })
    }

    /// A line of a source in UTF-8.
    fn in_utf8<'l>(&self, line: &'l [u8]) -> Cow<'l, [u8]> {
        match decode(line, self.read.form.options().charset) {
            Cow::Borrowed(_) => line.into(),
            Cow::Owned(text) => text.into_bytes().into(),
        }
    }

    /// True if all records are written, each to a line of the form that its source has.
    fn writes_lines_as_read(&self) -> anyhow::Result<bool> {
        // A record with perft counts may have several lines, with comments between them.
        let is_line_each = self.read.wanted.filter.is_none() && !self.read.form.perft;
        let format = self.output.format()?.unwrap_or(FileFormat::Epd);
        let is_text = matches!(format, FileFormat::Epd | FileFormat::Fen);
        if !is_line_each || !is_text || !self.write.is_usual() {
            return Ok(false);
        }
        for path in or_stdin(&self.files) {
            if source_format(path, &self.read)? != format {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes each record to `collect`, then writes the records of `result`.
    pub(crate) fn collect<T>(
        &self,
        mut all: T,
        mut collect: impl FnMut(&mut T, &EpdRecord, sets::Origin) -> anyhow::Result<()>,
        result: impl FnOnce(T, &Places) -> anyhow::Result<sets::Ordered>,
    ) -> anyhow::Result<Outcome> {
        let mut diagnostics = Diagnostics::new(&self.read.form)?;
        let mut output = self.open_output(false)?;
        output.carry_comments(diagnostics.comments(), CommentOrder::Collect(By::Record));
        let mut places = Places::default();
        Reading::of(&self.files, &self.read, &mut diagnostics)
            .records(|record, place, _| collect(&mut all, &record, places.number(place)))?;
        write_all(result(all, &places)?, &mut output)?;
        output.finish_with(diagnostics)
    }

    /// Opens the output for records of the sources, with the origin of their tallies; `are_whole`
    /// is true if the records are unchanged.
    pub(crate) fn open_output(&self, are_whole: bool) -> anyhow::Result<RecordOutput> {
        let mut output = RecordOutput::open(&self.output, &self.write)?;
        output.keep_ledger_of_records(&self.files, &self.read, are_whole)?;
        Ok(output)
    }

    /// [`Pipe::collect`] for encoded records, in batches of consecutive lines; records of one
    /// position are added up. `ledger` is the origin of the written tallies. With `keeps_lines`, lines that
    /// need no change are kept as text, not as encoded records.
    pub(crate) fn collect_encoded<T>(
        &self,
        ledger: impl FnOnce() -> anyhow::Result<Option<LedgerSum>>,
        mut all: T,
        by: By,
        keeps_lines: bool,
        mut collect: impl FnMut(&mut T, EncodedRecords<'_>, sets::Origin) -> anyhow::Result<()>,
        result: impl FnOnce(T, &Places) -> anyhow::Result<sets::Ordered>,
    ) -> anyhow::Result<Outcome> {
        let mut diagnostics = Diagnostics::new(&self.read.form)?;
        let ledger = ledger()?;
        let mut output = RecordOutput::open(&self.output, &self.write)?;
        output.carry_comments(diagnostics.comments(), CommentOrder::Collect(by));
        output.keep_ledger(&self.files, &self.read, || Ok(ledger))?;
        let mut places = Places::default();
        let encode: Arc<dyn Encode> = if keeps_lines && output.is_canonical_text() {
            Arc::new(ByLines(by))
        } else {
            Arc::new(by)
        };
        Reading::of(&self.files, &self.read, &mut diagnostics)
            .encoded_records(&encode, |records, first| {
                collect(&mut all, records, places.number(first))
            })?;
        write_all(result(all, &places)?, &mut output)?;
        output.finish_with(diagnostics)
    }
}

/// Fields that no record has had so far. This can be used on several threads.
pub(crate) struct UnusedFields {
    /// The fields. For each, it notes whether a record had it.
    fields: Vec<(Field, AtomicBool)>,
    was_asked: AtomicBool,
}

impl UnusedFields {
    pub(crate) fn new<'f>(fields: impl Iterator<Item = &'f Field>) -> UnusedFields {
        let mut unique: Vec<(Field, AtomicBool)> = Vec::new();
        for field in fields {
            if unique.iter().all(|(other, _)| other != field) {
                unique.push((field.clone(), AtomicBool::new(false)));
            }
        }
        UnusedFields { fields: unique, was_asked: AtomicBool::new(false) }
    }

    pub(crate) fn of_opcodes<'o>(opcodes: impl IntoIterator<Item = &'o Opcode>) -> UnusedFields {
        let fields: Vec<Field> = opcodes.into_iter().copied().map(Field::Operation).collect();
        UnusedFields::new(fields.iter())
    }

    /// Remembers the fields that a record has.
    pub(crate) fn ask(&self, subject: &EvalContext<'_>) {
        self.ask_each(|field| field.is_in(subject));
    }

    /// Remembers the fields that a record has. `has` is called for each field that no earlier
    /// record had.
    pub(crate) fn ask_each(&self, has: impl Fn(&Field) -> bool) {
        self.met_record();
        for (field, was_met) in &self.fields {
            if !was_met.load(Ordering::Relaxed) && has(field) {
                was_met.store(true, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn met_record(&self) {
        if !self.was_asked.load(Ordering::Relaxed) {
            self.was_asked.store(true, Ordering::Relaxed);
        }
    }

    /// Reports the fields that no record or game had, if there were any. `unit` is `record` or `game`.
    pub(crate) fn report(&self, unit: &str) {
        if self.was_asked.load(Ordering::Relaxed) {
            let never = |(_, was_met): &&(Field, AtomicBool)| !was_met.load(Ordering::Relaxed);
            report_never_met(
                &format!("no {unit}"),
                self.fields.iter().filter(never).map(|(field, _)| field),
            );
        }
    }
}

pub(crate) fn write_all(
    mut records: sets::Ordered,
    output: &mut RecordOutput,
) -> anyhow::Result<()> {
    output.write_all_encoded(&mut records)
}

/// Folder for data that exceeds the memory.
pub(crate) fn temporary_directory() -> PathBuf {
    std::env::temp_dir()
}

/// Numbers for the names of sources.
#[derive(Default)]
pub(crate) struct Places {
    names: Vec<Arc<str>>,
}

impl Places {
    /// A place with the number of its source instead of the name. Sources are read one after the
    /// other.
    pub(crate) fn number(&mut self, place: &Place) -> sets::Origin {
        if self.names.last().is_none_or(|last| !Arc::ptr_eq(last, &place.source)) {
            self.names.push(place.source.clone());
        }
        sets::Origin { source: self.names.len() as u32 - 1, line: place.number() }
    }

    /// A place as `name:line`.
    pub(crate) fn shown(&self, place: sets::Origin) -> String {
        let name = self.names.get(place.source as usize).map_or("?", |name| name);
        format!("{name}:{}", place.line)
    }
}

/// Prints the first findings of a kind on stderr and counts the rest.
pub(crate) struct Findings {
    count: u64,
    most: u64,
}

impl Findings {
    /// Prints the first 20 findings, or all of them if `all` is true.
    pub(crate) const fn new(all: bool) -> Findings {
        Findings { count: 0, most: if all { u64::MAX } else { 20 } }
    }

    pub(crate) fn report(&mut self, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.count <= self.most {
            note!("epdb: {}", text());
        }
    }

    /// Reports the number of findings not shown; returns whether there were any.
    pub(crate) fn finish(self) -> bool {
        if self.count > self.most {
            note!("epdb: … and {} more (--all-warnings shows them)", self.count - self.most);
        }
        self.count > 0
    }
}

pub(crate) fn shown_conflict(conflict: &sets::RecordConflict, places: &Places) -> String {
    let first = places.shown(conflict.first);
    let second = places.shown(conflict.second);
    if conflict.operations.is_empty() {
        return format!("{first} and {second} have different positions");
    }
    let opcodes: Vec<_> = conflict.operations.iter().map(|it| it.opcode.to_string()).collect();
    let values = |operands: fn(&ConflictingOperation) -> &Option<Vec<Operand>>| {
        let shown = |it: &ConflictingOperation| shown_operation(it.opcode, operands(it).as_deref());
        conflict.operations.iter().map(shown).collect::<Vec<_>>().join("; ")
    };
    format!(
        "{first} and {second} have the same {}, but differ in {}: {} against {}",
        if conflict.same_position { "position" } else { "board" },
        opcodes.join(", "),
        values(|it| &it.first),
        values(|it| &it.second)
    )
}

/// An operation as EPD without its semicolon, or a text that says it is missing.
pub(crate) fn shown_operation(opcode: Opcode, operands: Option<&[Operand]>) -> String {
    let Some(operands) = operands else { return format!("no {opcode}") };
    let mut text = opcode.to_string().into_bytes();
    for operand in operands {
        text.push(b' ');
        operand.write_to(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}
