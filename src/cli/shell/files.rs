//! Commands that append a record to a file, or write the line of moves to a file.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::cli::games;
use crate::cli::outcome::Outcome;
use crate::cli::record_output;
use crate::cli::terminal::note;
use epdb_base::new_file::cannot_write;
use epdb_chess::model::EpdRecord;
use epdb_chess::text::{Format, FormatOptions, epd};
use epdb_library::kit::Line;
use epdb_source::{Compression, FileFormat, Target, TargetLosses};

/// Appends a record as a line, in FEN if the name of the file says so, otherwise in EPD.
pub(super) fn append(path: &Path, record: &EpdRecord) -> anyhow::Result<Outcome> {
    let is_plain = Compression::from_name(path) == Compression::None;
    let format = match FileFormat::from_name(path) {
        None | Some(FileFormat::Epd) if is_plain => Format::Epd,
        Some(FileFormat::Fen) if is_plain => Format::Fen,
        _ => anyhow::bail!(
            "{}: a line can be appended only to plain text: name an .epd or a .fen, or `save FILE`",
            path.display()
        ),
    };
    let mut line = Vec::new();
    let record = in_form_of(path, record);
    let losses = epd::format(&record, &FormatOptions { format, ..Default::default() }, &mut line);
    line.push(b'\n');
    append_line(path, line).map_err(|error| cannot_write(path, error))?;
    if FileFormat::from_name(path).is_none() {
        note!("{}: a line of EPD", path.display());
    }
    record_output::report_losses(&losses);
    Ok(Outcome::Done)
}

/// A record in the form of a file: in EPD, counters are operations; in FEN they are fields.
fn in_form_of<'r>(path: &Path, record: &'r EpdRecord) -> Cow<'r, EpdRecord> {
    match FileFormat::from_name(path) {
        None | Some(FileFormat::Epd) => Cow::Owned(record.with_counter_operations()),
        Some(_) => Cow::Borrowed(record),
    }
}

/// Appends a line with one call. If the last line of the file has no line end, one is added first.
fn append_line(path: &Path, mut line: Vec<u8>) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if !ends_a_line(&mut file)? {
        line.insert(0, b'\n');
    }
    file.write_all(&line)
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let found = file.metadata()?;
    if !found.is_file() || found.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Writes a line of moves as a game, or its records, as the name of the file says.
pub(super) fn save(path: &Path, line: &Line) -> anyhow::Result<Outcome> {
    let is_of_games = FileFormat::from_name(path).is_some_and(FileFormat::is_of_games);
    let mut target = Target::create(path)?;
    if is_of_games {
        target.write_game(&line.game()?)?
    } else {
        line.records().try_for_each(|record| target.write(&in_form_of(path, record)))?;
    }
    let TargetLosses { records, games, .. } = target.finish()?;
    record_output::report_losses(&records);
    games::report_losses(&games);
    Ok(Outcome::Done)
}
