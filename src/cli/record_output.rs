//! Output of records to the file or stream in the arguments.

use std::io::{self, Write};
use std::mem::take;
use std::path::PathBuf;

use epdb_archive::About;
use epdb_chess::codec::record;
use epdb_chess::error::Place;
use epdb_chess::model::EpdRecord;
use epdb_chess::text::epd::Losses;
use epdb_chess::text::pgn::GamePosition;
use epdb_library::sets::Ordered;
use epdb_library::tally::ledger::LedgerSum;
use epdb_source::{FileFormat, Target, TargetOptions};

use super::args::{AboutArgs, OutputArgs, ReadArgs, WriteArgs};
use super::comments::{Block, CommentOrder, Comments};
use super::diagnostics::Diagnostics;
use super::ledgers;
use super::outcome::Outcome;
use super::output::open_target;
use super::places;
use super::source;
use super::terminal::note;
use epdb_library::kept_games::KeptGamesOf;

/// Largest number of raw lines in a batch.
const FEW_LINES: usize = 8;

/// Writer of records in the format given by the name of the output or by `--to`; EPD by default.
pub(crate) struct RecordOutput {
    target: Target,
    games: KeptGamesOf,
    comments: Comments,
    about: About,
    /// Whether the output is a library: it has the origin of its tallies.
    is_library: bool,
    /// Whether readers of the output understand comments.
    has_comments: bool,
    /// True if the last line was copied from the end of a file without a line end.
    is_line_open: bool,
}

impl RecordOutput {
    pub(crate) fn open(output: &OutputArgs, write: &WriteArgs) -> anyhow::Result<RecordOutput> {
        RecordOutput::open_sorted(output, write, false)
    }

    /// Opens the output for records that may be sorted by their position keys.
    pub(crate) fn open_sorted(
        output: &OutputArgs,
        write: &WriteArgs,
        is_by_key: bool,
    ) -> anyhow::Result<RecordOutput> {
        write.check()?;
        let named = output.output.as_deref().and_then(FileFormat::from_name);
        let format = output.format()?.unwrap_or(FileFormat::Epd);
        anyhow::ensure!(
            !format.is_of_games(),
            "cannot write positions as games: `epdb convert` writes a suite as games, and with --tree a repertoire"
        );
        anyhow::ensure!(
            format != FileFormat::Epdb,
            "this command cannot write a store: use `epdb import` or `epdb convert`"
        );
        let options = TargetOptions {
            text: Some(write.options(format, named)),
            sorted_by_key: is_by_key,
            ..Default::default()
        };
        let target = open_target(output.output.as_deref(), format, &options)?;
        Ok(RecordOutput { has_comments: write.compat.is_none(), ..RecordOutput::of(target) })
    }

    /// Also writes the comments of the records. `way` is the order in which records reach the
    /// output.
    pub(crate) fn carry_comments(&mut self, comments: &Comments, way: CommentOrder) {
        self.comments = comments.clone();
        self.comments.follow(way);
    }

    /// Like [`RecordOutput::open`], but can also make a store. A store or a Parquet file takes about half
    /// of `memory_bytes`.
    pub(crate) fn open_library(
        output: &OutputArgs,
        write: &WriteArgs,
        memory_bytes: usize,
    ) -> anyhow::Result<RecordOutput> {
        let format = output.format()?;
        let takes_memory = |format: &FileFormat| match format {
            FileFormat::Epdb => output.output.is_some(),
            format => format.is_parquet() && !format.is_of_games(),
        };
        let Some(format) = format.filter(takes_memory) else {
            return RecordOutput::open(output, write);
        };
        let options =
            TargetOptions { store_memory_bytes: Some(memory_bytes / 2), ..Default::default() };
        Ok(RecordOutput::of(open_target(output.output.as_deref(), format, &options)?))
    }

    fn of(target: Target) -> RecordOutput {
        RecordOutput {
            target,
            games: KeptGamesOf::default(),
            comments: Comments::default(),
            about: About::default(),
            is_library: false,
            has_comments: true,
            is_line_open: false,
        }
    }

    /// Writes lines that are not records, if the format allows them.
    fn put(&mut self, block: Block) -> io::Result<()> {
        if take(&mut self.is_line_open)
            && let Some(output) = self.target.text_output()
        {
            output.write_all(b"\n")?;
        }
        match self.target.text_output().filter(|_| self.has_comments) {
            Some(output) => output.write_all(&block.text),
            None => {
                if !block.text.trim_ascii().is_empty() {
                    places::note_dropped(["comments not written".into()])?;
                }
                self.comments.drop(block);
                Ok(())
            }
        }
    }

    /// If the format of the output can hold a ledger, stores the ledger of the files. The output then
    /// also keeps the games that its records list. Otherwise reports the data that is not written.
    pub(crate) fn keep_ledger(
        &mut self,
        files: &[PathBuf],
        read: &ReadArgs,
        ledger: impl FnOnce() -> anyhow::Result<Option<LedgerSum>>,
    ) -> anyhow::Result<()> {
        if !self.target.keeps_tally_ledger() {
            return ledgers::note_unwritten(files, read);
        }
        let about = AboutArgs::default();
        self.set_about(about.of(FileFormat::Epa, &source::or_stdin(files), &read.streams)?);
        self.games = KeptGamesOf::new(&source::or_stdin(files), &read.streams)?;
        if let Some(ledger) = ledger()? {
            self.target.set_tally_ledger(ledger.into_memory()?)?;
            self.is_library = true;
        }
        Ok(())
    }

    /// Like [`RecordOutput::keep_ledger`], for records of the files as they are. `are_whole` is true if they are all
    /// records, unchanged.
    pub(crate) fn keep_ledger_of_records(
        &mut self,
        files: &[PathBuf],
        read: &ReadArgs,
        are_whole: bool,
    ) -> anyhow::Result<()> {
        ledgers::refuse_mixture(files, read)?;
        self.keep_ledger(files, read, || ledgers::of_records(files, read, are_whole))
    }

    /// Sets facts about the data, if the format of the output can hold them.
    pub(crate) fn set_about(&mut self, about: About) {
        self.about = about;
    }

    /// Whether the output is a library: it has the origin of its tallies.
    pub(crate) const fn is_library(&self) -> bool {
        self.is_library
    }

    /// Whether the output is lines of canonical text.
    pub(crate) fn is_canonical_text(&self) -> bool {
        self.target.is_canonical_text()
    }

    /// Writes a record in canonical text; the line begins with the tag and a tab.
    pub(crate) fn write_line(&mut self, tag: Option<u64>, text: &[u8]) -> anyhow::Result<()> {
        self.put(self.comments.next())?;
        self.write_tag(tag)?;
        Ok(self.target.write_canonical_lines(&[text, b"\n"].concat())?)
    }

    /// Writes one encoded record that was collected.
    pub(crate) fn write_encoded(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.put(self.comments.next())?;
        if self.comments.are_collected() {
            self.put(self.comments.of(&record::decode(bytes)?.0))?;
        }
        self.games.note_encoded(bytes)?;
        Ok(self.target.write_encoded(bytes)?)
    }

    /// Writes encoded records in order. Their text is made on all threads; lines that were kept as
    /// text are written unchanged.
    pub(crate) fn write_all_encoded(&mut self, records: &mut Ordered) -> anyhow::Result<()> {
        if records.begins_with_line()?.is_none() {
            return Ok(());
        }
        self.put(self.comments.next())?;
        if self.comments.are_collected() {
            return self.write_with_comments(records);
        }
        let RecordOutput { target, games, .. } = self;
        while let Some(is_line) = records.begins_with_line()? {
            if is_line {
                target.write_canonical_lines(records.next_lines()?)?;
                continue;
            }
            target.write_all_encoded(|batch| {
                // A batch does not end at a few raw lines between encoded records.
                let mut lines = FEW_LINES;
                while !batch.is_full()
                    && let Some(is_line) = records.begins_with_line()?
                {
                    lines = if is_line { lines + 1 } else { 0 };
                    if lines > FEW_LINES {
                        break;
                    }
                    if let Some(record) = records.next_encoded()? {
                        games.note_encoded(record)?;
                        batch.push(record);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Writes records in order, with the comments before them.
    fn write_with_comments(&mut self, records: &mut Ordered) -> anyhow::Result<()> {
        for record in records.by_ref() {
            let record = record?;
            self.put(self.comments.of(&record))?;
            self.write(&record)?;
        }
        Ok(())
    }

    /// Flushes the lines that were written so far, if a reader may be waiting for them.
    pub(crate) fn hand_on(&mut self) -> io::Result<()> {
        match self.target.text_output() {
            Some(output) => output.hand_on(),
            None => Ok(()),
        }
    }

    pub(crate) fn write(&mut self, record: &EpdRecord) -> anyhow::Result<()> {
        self.put(self.comments.next())?;
        self.write_alone(record)
    }

    /// Writes one record that may be a position of a game.
    pub(crate) fn write_position(
        &mut self,
        record: &EpdRecord,
        game: Option<GamePosition<'_>>,
        place: &Place,
    ) -> anyhow::Result<()> {
        self.put(self.comments.next())?;
        self.games.note(record);
        Ok(self.target.write_position(record, game, place)?)
    }

    /// Writes one record without its comments, which are already written.
    fn write_alone(&mut self, record: &EpdRecord) -> anyhow::Result<()> {
        self.games.note(record);
        Ok(self.target.write(record)?)
    }

    /// Writes one record; a line of text begins with the tag and a tab.
    pub(crate) fn write_tagged(
        &mut self,
        tag: Option<u64>,
        record: &EpdRecord,
    ) -> anyhow::Result<()> {
        self.put(self.comments.next())?;
        self.write_tag(tag)?;
        self.write_alone(record)
    }

    fn write_tag(&mut self, tag: Option<u64>) -> io::Result<()> {
        match (tag, self.target.text_output()) {
            (Some(tag), Some(output)) => write!(output, "{tag}\t"),
            _ => Ok(()),
        }
    }

    /// Writes bytes unchanged if the output is text.
    pub(crate) fn write_verbatim(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(self.comments.next())?;
        match self.target.text_output() {
            Some(output) => output.write_all(bytes),
            None => Ok(()),
        }
    }

    /// Copies a line of a source with its line end, which the last line of a file may lack.
    pub(crate) fn write_line_as_read(&mut self, line: &[u8]) -> io::Result<()> {
        self.write_verbatim(line)?;
        self.is_line_open = line_end(line).is_empty();
        Ok(())
    }

    /// Writes a record in place of this line of a source, with the same byte order mark and line end.
    pub(crate) fn write_instead_of(
        &mut self,
        line: &[u8],
        record: &EpdRecord,
    ) -> anyhow::Result<()> {
        self.put(self.comments.next())?;
        if line.starts_with(BYTE_ORDER_MARK)
            && let Some(output) = self.target.text_output()
        {
            output.write_all(BYTE_ORDER_MARK)?;
        }
        let line_end = line_end(line);
        self.target.write_line(record, line_end)?;
        self.is_line_open = line_end.is_empty();
        Ok(())
    }

    /// Completes the output and the diagnostics. An archive says which records of its sources are lost.
    pub(crate) fn finish_with(mut self, diagnostics: Diagnostics) -> anyhow::Result<Outcome> {
        if let Some(loss) = diagnostics.loss() {
            self.about.join_texts("loss", [loss.as_str()].into_iter());
        }
        let written = self.finish()?;
        Ok(diagnostics.finish()?.and(written))
    }

    /// Completes the output and reports data that its format cannot store.
    pub(crate) fn finish(mut self) -> anyhow::Result<Outcome> {
        let rest = self.comments.rest();
        if !rest.text.is_empty() {
            self.put(rest)?;
        }
        self.games.each(&mut |game| self.target.keep_game(game))?;
        self.target.set_about(self.about);
        let losses = self.target.losses().records;
        places::note_dropped(not_written(&losses))?;
        self.target.finish()?;
        report_losses(&losses);
        Ok(Outcome::different_if(losses.salvaged_counters > 0))
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn line_end(line: &[u8]) -> &[u8] {
    let last = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
    &line[last.map_or(0, |last| last + 1)..]
}

/// Reports data that a format cannot store.
pub(crate) fn report_losses(losses: &Losses) {
    not_written(losses).iter().for_each(|what| note!("epdb: {what}"));
    let Losses { salvaged_counters, long_lines, changed_operations, .. } = *losses;
    let findings = present([
        (salvaged_counters, "records written with other counters: theirs could not be read"),
        (changed_operations, "operations written in another form for --compat"),
        (long_lines, "lines longer than 4095 bytes, which some readers reject"),
    ]);
    findings.iter().for_each(|what| note!("epdb: {what}"));
}

/// Data that a format does not store, as text.
fn not_written(losses: &Losses) -> Vec<String> {
    let Losses { operations, counters, en_passant, .. } = *losses;
    present([
        (operations, "operations not written: the format cannot store them"),
        (counters, "records written without their counters"),
        (en_passant, "en passant squares not written"),
    ])
}

/// The texts whose counts are not zero, with the counts.
fn present(counts: [(u64, &str); 3]) -> Vec<String> {
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect()
}
