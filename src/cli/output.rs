//! Outputs named by arguments: standard output, or a file that only this run writes.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use super::outcome::{Usage, usage};
use super::terminal::{self, Letters};
use super::{places, signals, values};
use epdb_base::new_file::cannot_write;
use epdb_source::{FileFormat, Output, Target, TargetOptions, any_suffix, known_suffix};

/// Opens standard output, or the file at `-o`, compressed if its name says so.
pub(crate) fn open_output(path: Option<&Path>) -> anyhow::Result<Output> {
    match path {
        None => Ok(stdout()),
        Some(path) if path == Path::new("-") => Ok(stdout()),
        Some(path) => create_file(path),
    }
}

/// Like [`open_output`], for an output of this format. The name of the file must not contradict the format,
/// and a binary format must not go to a terminal.
///
/// # Errors
///
/// The name or the terminal does not fit, or the file cannot be created.
pub(crate) fn open_output_of(path: Option<&Path>, format: FileFormat) -> anyhow::Result<Output> {
    match path {
        Some(path) if path != Path::new("-") => check_name(format, path)?,
        _ if !format.is_text() => refuse_terminal()?,
        _ => {}
    }
    if format == FileFormat::Epa {
        values::start_threads(None)?;
    }
    if format.is_of_games() {
        places::note_game_output();
    }
    open_output(path)
}

/// Like [`open_output_of`], but opens a target. A store is created directly under its final name, not under a
/// temporary one.
///
/// # Errors
///
/// The errors of [`open_output_of`]. Also fails if a store exists already or has no name.
pub(crate) fn open_target(
    path: Option<&Path>,
    format: FileFormat,
    options: &TargetOptions,
) -> anyhow::Result<Target> {
    Ok(match path {
        Some(path) if format == FileFormat::Epdb => {
            places::refuse_kept(path)?;
            let options = TargetOptions { replace: places::is_forced(), ..options.clone() };
            Target::create_with(path, &options)?
        }
        _ => {
            let at_least = path.map_or(0, places::records_before);
            let options = TargetOptions { at_least, ..options.clone() };
            Target::new(open_output_of(path, format)?, format, &options)?
        }
    })
}

/// Like [`open_output`], for data that are not records or games. The name must not have the suffix
/// of a format, unless `suffixes` lists it.
///
/// # Errors
///
/// The name does not fit, or the file cannot be created.
pub(crate) fn open_other_output(
    path: Option<&Path>,
    what: &str,
    suffixes: &[&str],
) -> anyhow::Result<Output> {
    path.map_or(Ok(()), |path| check_other_name(path, what, suffixes))?;
    open_output(path)
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum TableForm {
    Tsv,
    Csv,
    Json,
}

/// Form of a list that is written as TSV or JSON: the form in the arguments, or else the form that
/// the suffix of the output shows.
pub(crate) fn form_of_list(
    given: Option<TableForm>,
    path: Option<&Path>,
) -> anyhow::Result<TableForm> {
    match given.map_or_else(|| TableForm::of_output(path), Ok)? {
        // Lists are not written as CSV, and the name is refused as one of CSV.
        TableForm::Csv => Ok(TableForm::Tsv),
        form => Ok(form),
    }
}

impl TableForm {
    /// The form that the suffix of an output shows.
    pub(crate) fn from_name(path: Option<&Path>) -> Option<TableForm> {
        match known_suffix(path?)? {
            "tsv" => Some(TableForm::Tsv),
            "csv" => Some(TableForm::Csv),
            "json" | "jsonl" | "ndjson" => Some(TableForm::Json),
            _ => None,
        }
    }

    /// The form of a table whose output has this name. A name without a suffix is that of TSV.
    ///
    /// # Errors
    /// The suffix is not known. Tables of other programs, such as Arrow and Excel, have suffixes of this kind.
    pub(crate) fn of_output(path: Option<&Path>) -> anyhow::Result<TableForm> {
        let named = TableForm::from_name(path);
        let Some(path) = path.filter(|path| named.is_none() && known_suffix(path).is_none()) else {
            return Ok(named.unwrap_or(TableForm::Tsv));
        };
        match any_suffix(path).as_deref() {
            None | Some("" | "txt") => Ok(TableForm::Tsv),
            Some(suffix) => Err(usage(format!(
                "{}: a table is not written with the suffix .{suffix}: use .tsv, .csv, .json, .jsonl or .ndjson, or \
                 name the form, such as --csv; Parquet is written by `epdb convert`",
                path.display()
            ))),
        }
    }

    pub(crate) const fn suffixes(self) -> &'static [&'static str] {
        match self {
            TableForm::Tsv => &["tsv"],
            TableForm::Csv => &["csv"],
            TableForm::Json => &["json", "jsonl", "ndjson"],
        }
    }

    /// Opens an output for a table in this form; `what` describes it.
    ///
    /// # Errors
    /// The errors of [`open_other_output`].
    pub(crate) fn open(self, path: Option<&Path>, what: &str) -> anyhow::Result<Output> {
        let form = match self {
            TableForm::Tsv => "TSV",
            TableForm::Csv => "CSV",
            TableForm::Json => "JSON",
        };
        open_other_output(path, &format!("{what} in {form}"), self.suffixes())
    }
}

/// Like [`open_other_output`], for binary data, which must not go to a terminal.
///
/// # Errors
///
/// The errors of [`open_other_output`].
pub(crate) fn open_binary_output(path: &Path, what: &str) -> anyhow::Result<Output> {
    if path == Path::new("-") {
        refuse_terminal()?;
    }
    open_other_output(Some(path), what, &["bin"])
}

fn refuse_terminal() -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        let text = "the output is binary and standard output is a terminal: name a file (-o FILE), or use a pipe";
        return Err(usage(text));
    }
    Ok(())
}

/// Refuses a name with the suffix of another format of epdb.
///
/// # Errors
/// The name has the suffix of another format. The message names this format and gives advice.
pub(crate) fn check_name(format: FileFormat, path: &Path) -> anyhow::Result<()> {
    Ok(format.check_name(path).map_err(|error| Usage(error.to_string()))?)
}

/// Refuses a name with the suffix of another format than `suffixes`.
///
/// # Errors
/// The name has the suffix of another format. The message names this format and gives advice.
pub(crate) fn check_other_name(path: &Path, what: &str, suffixes: &[&str]) -> anyhow::Result<()> {
    let Some(suffix) = known_suffix(path).filter(|it| !suffixes.contains(it)) else {
        return Ok(());
    };
    let named = FileFormat::from_name(path);
    let name = named.map_or_else(
        || format!("has the suffix .{suffix}"),
        |named| format!("is the name of {}", named.description()),
    );
    let is_parquet = named.is_some_and(FileFormat::is_parquet);
    let advice = if is_parquet { "; `epdb convert` writes Parquet" } else { "" };
    let path = path.display();
    Err(usage(format!("{path} {name}, but the output is {what}: use another suffix{advice}")))
}

/// Creates a file, compressed if its name says so.
pub(crate) fn create_file(path: &Path) -> anyhow::Result<Output> {
    places::claim(path)?;
    Ok(Output::create(path)?)
}

fn stdout() -> Output {
    let out = io::stdout();
    let lines = terminal::Lines::new(Letters::of(&out));
    if out.is_terminal() { Output::new(Terminal { out, lines }) } else { Output::new(Stdout(out)) }
}

/// Standard output for text that epdb makes itself and that may have colours.
pub(crate) fn open_page() -> Output {
    Output::new(Stdout(io::stdout()))
}

/// Prints a line on standard output.
///
/// # Errors
/// The error of the system.
pub(crate) fn print_line(line: impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = stdout();
    writeln!(out, "{line}")?;
    Ok(out.finish()?)
}

/// Standard output with errors that name it.
struct Stdout(io::Stdout);

/// Standard output. On a terminal, control characters become escapes; files and pipes get the bytes
/// unchanged.
struct Terminal {
    out: io::Stdout,
    lines: terminal::Lines,
}

/// Returns an error after an interrupt, which ends the output.
fn check_interrupt() -> io::Result<()> {
    signals::check_interrupt().map_err(io::Error::other)
}

fn named(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        terminal::note_closed_stdout();
    }
    cannot_write(Path::new("standard output"), error)
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_interrupt()?;
        if terminal::is_stdout_missing() {
            let error = io::Error::new(io::ErrorKind::NotConnected, "it is closed");
            return Err(named(error));
        }
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_interrupt()?;
        self.out.write_all(self.lines.escaped(bytes).as_bytes()).map_err(named)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.lines.rest().as_bytes()).map_err(named)?;
        self.out.flush().map_err(named)
    }
}
