//! Records on their way out: as text, as a binary stream or as an archive.

use std::io::{self, Write};

use crate::archive::{self, PackOptions};
use crate::codec::{record, stream};
use crate::model::EpdRecord;
use crate::source::FileFormat;
use crate::text::WriteOptions;
use crate::text::epd::{self, Losses};
use crate::text::lines::SPEC_LINE_LIMIT;

use super::args::{OutputArgs, WriteArgs};
use super::message::note;
use super::outcome::Outcome;
use super::output::{Output, open_output_of};

/// Writes records in the format that the name of the output, or `--to`, tells; EPD otherwise.
pub(crate) struct RecordOutput {
    writer: Writer,
    losses: Losses,
}

enum Writer {
    Text { output: Output, options: WriteOptions, line: Vec<u8> },
    Stream(stream::Writer<Output>),
    Archive(Box<archive::ArchiveWriter<Output>>),
}

impl RecordOutput {
    /// Opens the output.
    pub(crate) fn open(output: &OutputArgs, write: &WriteArgs) -> anyhow::Result<RecordOutput> {
        write.check()?;
        let named = output.output.as_deref().and_then(FileFormat::of_name);
        let format = output.to.or(named).unwrap_or(FileFormat::Epd);
        let file = || open_output_of(output.output.as_deref(), format);
        let writer = match format {
            FileFormat::Epd | FileFormat::Fen => {
                Writer::Text { output: file()?, options: write.options(format), line: Vec::new() }
            }
            FileFormat::Epb => Writer::Stream(stream::Writer::new(file()?)),
            FileFormat::Pgn | FileFormat::Pgc => {
                anyhow::bail!("positions are no games: only games become .pgn or .pgc")
            }
            FileFormat::Epa => Writer::Archive(Box::new(archive::ArchiveWriter::new(
                file()?,
                PackOptions::default(),
            )?)),
            FileFormat::Epdb => {
                anyhow::bail!(
                    "a store is not written in one piece: use `epdb import` or `epdb convert`"
                )
            }
        };
        Ok(RecordOutput { writer, losses: Losses::default() })
    }

    /// Whether the output is lines of canonical text (NRM-14).
    pub(crate) fn is_canonical_text(&self) -> bool {
        match &self.writer {
            Writer::Text { options, .. } => *options == WriteOptions::default(),
            Writer::Stream(_) | Writer::Archive(_) => false,
        }
    }

    /// Writes a record that is canonical text already; a line begins with the tag and a tab.
    pub(crate) fn write_line(&mut self, tag: Option<u64>, text: &[u8]) -> io::Result<()> {
        let Writer::Text { output, .. } = &mut self.writer else { return Ok(()) };
        if let Some(tag) = tag {
            write!(output, "{tag}\t")?;
        }
        self.losses.long_lines += u64::from(text.len() > SPEC_LINE_LIMIT);
        output.write_all(text)?;
        output.write_all(b"\n")
    }

    /// Writes one encoded record.
    pub(crate) fn write_encoded(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match &mut self.writer {
            Writer::Text { output, options, line } if *options == WriteOptions::default() => {
                line.clear();
                record::write_text(bytes, line)?;
                self.losses.long_lines += u64::from(line.len() > SPEC_LINE_LIMIT);
                line.push(b'\n');
                Ok(output.write_all(line)?)
            }
            _ => self.write(&record::decode(bytes)?.0),
        }
    }

    /// Hands on the lines written so far, where someone may be waiting for them.
    pub(crate) fn hand_on(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Text { output, .. } => output.hand_on(),
            Writer::Stream(_) | Writer::Archive(_) => Ok(()),
        }
    }

    /// Writes one record.
    pub(crate) fn write(&mut self, record: &EpdRecord) -> anyhow::Result<()> {
        self.write_tagged(None, record)
    }

    /// Writes one record; a line of text begins with the tag and a tab.
    pub(crate) fn write_tagged(
        &mut self,
        tag: Option<u64>,
        record: &EpdRecord,
    ) -> anyhow::Result<()> {
        match &mut self.writer {
            Writer::Text { output, options, line } => {
                line.clear();
                if let Some(tag) = tag {
                    write!(line, "{tag}\t")?;
                }
                self.losses += epd::write(record, options, line);
                line.push(b'\n');
                output.write_all(line)?;
            }
            Writer::Stream(stream) => stream.write(record)?,
            Writer::Archive(archive) => archive.push(record)?,
        }
        Ok(())
    }

    /// Writes bytes as they are, where the output is text.
    pub(crate) fn write_verbatim(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.writer {
            Writer::Text { output, .. } => output.write_all(bytes),
            Writer::Stream(_) | Writer::Archive(_) => Ok(()),
        }
    }

    /// Completes the output and says what its format could not carry.
    pub(crate) fn finish(self) -> anyhow::Result<Outcome> {
        match self.writer {
            Writer::Text { output, .. } => output.finish()?,
            Writer::Stream(stream) => stream.finish()?.finish()?,
            Writer::Archive(archive) => archive.finish()?.finish()?,
        }
        let Losses {
            operations,
            counters,
            salvaged_counters,
            en_passant,
            long_lines,
            changed_operations,
        } = self.losses;
        for (count, what) in [
            (operations, "operations not written: the format has no place for them"),
            (counters, "records written without their counters"),
            (salvaged_counters, "records written with other counters: theirs could not be read"),
            (en_passant, "en passant squares not written"),
            (changed_operations, "operations written in another form for --compat"),
            (long_lines, "lines longer than the 4095 bytes that every reader takes"),
        ] {
            if count > 0 {
                note!("epdb: {count} {what}");
            }
        }
        Ok(Outcome::different_if(salvaged_counters > 0))
    }
}
