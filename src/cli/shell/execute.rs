//! Execution of a line of the shell.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::cli::board::{self, BoardStyle};
use crate::cli::outcome::Outcome;
use crate::cli::output::{open_output, open_page};
use crate::cli::shell::records::Records;
use crate::cli::shell::subcommands;
use crate::cli::shell::subcommands::ExecuteCommand;
use crate::cli::source::keep_stdin_for_commands;
use crate::cli::terminal::{is_quiet, note};
use crate::cli::{games, record_output};
use epdb_base::new_file::cannot_write;
use epdb_chess::model::EpdRecord;
use epdb_chess::text::{Diagnostic, Format, FormatOptions, epd};
use epdb_library::kit::{Line, Reply, Session, Step, Verb};
use epdb_source::{Compression, FileFormat, Target, TargetLosses};

pub(crate) enum Executed {
    Done {
        outcome: Outcome,
        /// Warnings about the position in the line.
        warnings: Vec<Diagnostic>,
    },
    /// No more lines are wanted.
    Quit,
}

/// State of the shell: a position, open sources, the style of the board.
pub(crate) struct Shell {
    session: Session,
    records: Records,
    look: BoardStyle,
    /// Whether to show the board after each change of position.
    shows_board: bool,
    /// Runs a command line of epdb.
    execute: ExecuteCommand,
}

impl Shell {
    /// Begins with the start array, and opens sources.
    pub(crate) fn new(
        sources: &[PathBuf],
        look: BoardStyle,
        shows_board: bool,
        execute: ExecuteCommand,
    ) -> anyhow::Result<Shell> {
        let records = Records::open(sources.to_vec())?;
        keep_stdin_for_commands();
        Ok(Shell { session: Session::new(), records, look, shows_board, execute })
    }

    /// The state on which commands act.
    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    /// Executes a line.
    ///
    /// # Errors
    ///
    /// The reason why the line cannot be executed; position and record then stay the same.
    pub(crate) fn execute(&mut self, line: &str) -> anyhow::Result<Executed> {
        let mut warnings = Vec::new();
        let outcome = match self.session.run(line)? {
            Reply::Done => Outcome::Done,
            Reply::Position(found) => {
                warnings = found;
                self.show_position()?
            }
            Reply::Board => self.show_board()?,
            Reply::Text(text) => print(&text)?,
            Reply::Go(step) => self.go(step)?,
            Reply::Outside(Verb::Quit, _) => return Ok(Executed::Quit),
            Reply::Outside(verb, operands) => self.outside(verb, &operands)?,
        };
        Ok(Executed::Done { outcome, warnings })
    }

    /// Runs commands that need files or other subcommands.
    fn outside(&mut self, verb: Verb, operands: &str) -> anyhow::Result<Outcome> {
        let words = shell_words::split(operands)?;
        match (verb, words.as_slice()) {
            (Verb::Help, []) => print(help_list().as_bytes()),
            (Verb::Help, [name]) => print(help_of(name)?.as_bytes()),
            (Verb::Write, [path]) => append(Path::new(path), self.session.record()),
            (Verb::Save, [path]) => save(Path::new(path), self.session.line()),
            (Verb::Open, paths) => self.open(paths),
            (Verb::Help | Verb::Write | Verb::Save, _) => {
                anyhow::bail!("expected `{}`", verb.usage())
            }
            _ => {
                let opened = self.records.paths();
                let arguments = subcommands::arguments(verb, words, &self.session, opened)?;
                subcommands::run(arguments, self.execute)
            }
        }
    }

    fn open(&mut self, paths: &[String]) -> anyhow::Result<Outcome> {
        self.records = Records::open(paths.iter().map(PathBuf::from).collect())?;
        Ok(Outcome::Done)
    }

    fn go(&mut self, step: Step) -> anyhow::Result<Outcome> {
        let found = self.records.go(step)?;
        let place = found.place;
        note!("record {}, {place}", found.number);
        for warning in found.warnings {
            note!("{}:{}:{warning}", place.source, place.number());
        }
        self.session.set_record(found.record, found.before);
        Ok(self.show_position()?.and(Outcome::different_if(found.has_rejected)))
    }

    /// Shows the board after a change of position, if wanted.
    fn show_position(&self) -> anyhow::Result<Outcome> {
        if self.shows_board && !is_quiet() { self.show_board() } else { Ok(Outcome::Done) }
    }

    fn show_board(&self) -> anyhow::Result<Outcome> {
        let position = self.session.position();
        let bottom = self.session.bottom();
        let mut out = open_page();
        writeln!(out, "{}\n\n{position}", board::text(position, bottom, self.look))?;
        out.finish()?;
        Ok(Outcome::Done)
    }
}

fn print(text: &[u8]) -> anyhow::Result<Outcome> {
    let mut out = open_output(None)?;
    out.write_all(text)?;
    out.write_all(b"\n")?;
    out.finish()?;
    Ok(Outcome::Done)
}

/// The commands, one per line.
pub(super) fn help_list() -> String {
    let width = Verb::all().map(|verb| verb.usage().len()).max().unwrap_or_default();
    let mut text = String::new();
    for verb in Verb::all() {
        text += &format!("{:<width$}  {}\n", verb.usage(), verb.about());
    }
    text + "Any other line is read as a FEN or as moves. `#` begins a comment. Put names with spaces in quotes."
}

pub(super) fn help_of(name: &str) -> anyhow::Result<String> {
    let Some(verb) = Verb::named(name) else {
        let near = Verb::nearest(name);
        let near = near.map(|verb| format!("; is it `{}`?", verb.name()));
        let advice = near.unwrap_or_else(|| ": `help` lists all commands".into());
        anyhow::bail!("there is no command `{name}`{advice}");
    };
    let mut text = format!("{}: {}", verb.usage(), verb.about());
    for alias in verb.aliases() {
        text += &format!("; also `{alias}`");
    }
    if let Some(command) = subcommands::command(verb) {
        text += &format!("\nOPTION is an option of `epdb {command}`: see `epdb help {command}`.");
    }
    Ok(text)
}

/// Appends a record as a line, in FEN if the name of the file says so, otherwise in EPD.
fn append(path: &Path, record: &EpdRecord) -> anyhow::Result<Outcome> {
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
fn save(path: &Path, line: &Line) -> anyhow::Result<Outcome> {
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
