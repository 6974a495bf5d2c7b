//! Options that apply only to some formats, or only together with other options. An option that
//! applies to no source and no output of a command, or that lacks the other option, is an error, so
//! that no request is ignored.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use FileFormat::{Epd, EvaluationTable, Fen, LichessEvaluations, LichessPuzzles, Pgc, Pgn};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::outcome::usage;
use super::places::values;
use super::values;
use epdb_source::{FileFormat, format_of_file, is_address, name_of};

type Formats = &'static [FileFormat];

const LINES: Formats = &[Epd, Fen];
const TEXT: Formats = &[Epd, Fen, LichessEvaluations, LichessPuzzles, EvaluationTable];
const READ: Formats = &[Epd, Fen, LichessEvaluations, LichessPuzzles, EvaluationTable, Pgn, Pgc];
const GAMES: Formats = &[Pgn, Pgc];

/// Groups of options that apply to sources of games.
const OF_GAMES: [&str; 2] = ["GameReadArgs", "TallyArgs"];

/// Formats of sources to which an option applies. Options in [`OF_GAMES`] are not listed.
const BY_SOURCES: [(&str, Formats); 12] = [
    ("profile", READ),
    ("revision", LINES),
    ("labels", LINES),
    ("score_view", &[Epd, Fen, LichessEvaluations, EvaluationTable]),
    ("perft", LINES),
    ("keep_moves", LINES),
    ("mates", LINES),
    ("max_line", TEXT),
    ("language", &[Pgn]),
    ("first_match", GAMES),
    // With --player it applies to games, with --repertoire to any source.
    ("side", &FileFormat::ALL),
    ("charset", &[Epd, Fen, LichessEvaluations, LichessPuzzles, EvaluationTable, Pgn]),
];

/// Formats of outputs to which an option applies.
const BY_OUTPUTS: [(&str, Formats); 12] = [
    ("format", LINES),
    ("counters", LINES),
    ("castling", LINES),
    ("ep", LINES),
    ("compat", LINES),
    ("reduced", &[Pgn]),
    ("to_charset", &[Pgn]),
    ("to_language", &[Pgn]),
    ("escapes", GAMES),
    ("translit", GAMES),
    ("lossy", &[Pgc]),
    ("ext", &[Pgc]),
];

/// Options that mean nothing without another one.
struct Need {
    /// The commands for which this holds.
    commands: &'static [&'static str],
    options: &'static [&'static str],
    /// The other options, one of which is needed. An option with values needs one of them.
    others: &'static [(&'static str, &'static [&'static str])],
}

const fn need(
    commands: &'static [&'static str],
    options: &'static [&'static str],
    others: &'static [(&'static str, &'static [&'static str])],
) -> Need {
    Need { commands, options, others }
}

const SLICES: &[&str] = &["tally", "pack", "shard games"];
const MERGING: &[&str] = &["prefer", "bm", "add"];

/// The options that need others. `clap` does not tell of a missing option if it conflicts with
/// another one that is given, so none of these is declared there.
const NEEDS: [Need; 20] = [
    need(&["count"], &["explain"], &[("filter", &[])]),
    need(SLICES, &["plan"], &[("slice", &[])]),
    need(SLICES, &["slice"], &[("plan", &[])]),
    need(&["tally"], &["copies", "unique_games"], &[("plan", &[])]),
    need(
        &["search"],
        &["rejects", "repairs", "allow_rejects", "all_warnings"],
        &[("filter", &[]), ("scoutfish", &[]), ("player", &[])],
    ),
    need(&["tally", "shard games", "import", "search"], &["side"], &[("player", &[])]),
    need(&["book make"], &["side"], &[("player", &[]), ("repertoire", &[])]),
    need(
        &["convert"],
        &["root", "depth", "once", "min_games"],
        &[("tree", &[]), ("chapters", &[])],
    ),
    need(&["import"], &["base"], &[("tally", &[])]),
    need(&["import"], &["same"], &[("on_duplicate", &["skip", "replace", "merge"])]),
    need(&["import"], MERGING, &[("on_duplicate", &["merge"])]),
    need(
        &["union", "dedupe"],
        &["on_conflict", "conflicts", "deny_conflicts"],
        &[("by", &["position", "board"])],
    ),
    need(&["union", "dedupe"], MERGING, &[("by", &["position", "board"])]),
    need(&["repertoire"], &["training"], &[("against", &[])]),
    need(&["repertoire"], &["player"], &[("games", &[])]),
    need(&["edit"], &["start"], &[("number", &[])]),
    need(&["split"], &["by_position", "seed"], &[("ratio", &[])]),
    need(&["sort"], &["seed"], &[("random", &[])]),
    need(&["backsolve"], &["json"], &[("dry_run", &[])]),
    need(&["analyze", "mate", "pfms", "solve"], &["resume"], &[("output", &[])]),
];

/// The arguments that name sources.
const SOURCES: [&str; 14] = [
    "files", "input", "file", "other", "others", "old", "new", "source", "sources", "queries",
    "against", "games", "vs", "book",
];

/// An option of the command line, and the formats to which it applies.
#[derive(Clone, Debug)]
struct Given {
    /// The option as written, such as `--labels`.
    name: String,
    formats: Formats,
}

/// Options that apply only to sources whose format is unknown before they are opened.
fn pending() -> MutexGuard<'static, Vec<Given>> {
    static PENDING: Mutex<Vec<Given>> = Mutex::new(Vec::new());
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Options that apply only to some outputs, if the input decides what is written.
fn of_open_output() -> MutexGuard<'static, Vec<Given>> {
    static OPTIONS: Mutex<Vec<Given>> = Mutex::new(Vec::new());
    OPTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a command line with an option that applies to none of the sources, or that does not apply to the
/// output.
///
/// # Errors
///
/// An option applies to none of the sources, or not to the output.
pub(crate) fn check(command: &Command, given: &ArgMatches) -> anyhow::Result<()> {
    pending().clear();
    check_output(command, given)?;
    let options = options(command, given, formats_of_sources);
    let sources = if options.is_empty() { Vec::new() } else { sources(given) };
    let known: Vec<(&Path, FileFormat)> =
        sources.iter().filter_map(|path| Some((path.as_path(), format_of(path, given)?))).collect();
    let is_disobeyed =
        |option: &Given| !known.iter().any(|(_, format)| is_obeyed(option.formats, *format));
    let left: Vec<Given> = options.into_iter().filter(is_disobeyed).collect();
    match (left.first(), known.first()) {
        (Some(option), Some((path, format))) if known.len() == sources.len() => {
            Err(refused(option, path, *format))
        }
        _ => {
            // With two sources of unknown format, an option may apply to only one of them.
            if sources.len() - known.len() <= 1 {
                *pending() = left;
            }
            Ok(())
        }
    }
}

/// Refuses an option without the option that it needs. `name` is the name of the command.
///
/// # Errors
///
/// The other option is missing.
pub(crate) fn check_needs(name: &str, command: &Command, given: &ArgMatches) -> anyhow::Result<()> {
    for Need { options, others, .. } in NEEDS.iter().filter(|it| it.commands.contains(&name)) {
        let Some(option) = options.iter().find(|option| is_given(option, given)) else { continue };
        if others.iter().any(|(id, values)| has(id, values, given)) {
            continue;
        }
        let others = others.iter().flat_map(|(id, values)| {
            let other = spelled(id, command);
            match values {
                [] => vec![other],
                values => values.iter().map(|value| format!("{other} {value}")).collect(),
            }
        });
        let (option, others) = (spelled(option, command), others.collect::<Vec<_>>().join(" or "));
        let text = format!("{option} needs {others}: add it, or leave {option} out");
        return Err(usage(text));
    }
    Ok(())
}

/// True if an argument is on the command line.
fn is_given(id: &str, given: &ArgMatches) -> bool {
    given.ids().any(|one| one == id) && given.value_source(id) == Some(ValueSource::CommandLine)
}

/// True if an option is given, or if it has one of these values. Without `--by`, records are compared
/// by their positions.
fn has(id: &str, values: &[&str], given: &ArgMatches) -> bool {
    if values.is_empty() {
        return is_given(id, given);
    }
    let Some(own) = given.try_get_raw(id).ok().flatten() else {
        return id == "by" && values.contains(&"position");
    };
    own.into_iter().any(|own| values.iter().any(|value| own == *value))
}

/// An argument as it is written on the command line.
fn spelled(id: &str, command: &Command) -> String {
    let named = command.get_arguments().find(|arg| arg.get_id() == id);
    format!("--{}", named.and_then(Arg::get_long).unwrap_or(id))
}

/// Refuses an option that does not apply to a source, once the source is open.
///
/// # Errors
///
/// An option does not apply to the source.
pub(crate) fn check_opened(path: &Path, format: FileFormat) -> anyhow::Result<()> {
    let is_known = path.is_file() || values::is_position(path.as_os_str());
    match pending().iter().find(|option| !option.formats.contains(&format)) {
        Some(option) if !is_known => Err(refused(option, path, format)),
        _ => Ok(()),
    }
}

/// Whether an option applies to a source. The rows of a Parquet file are read as text. Only the columns show
/// whether this text is EPD, PGN or a format of lichess.
fn is_obeyed(formats: Formats, source: FileFormat) -> bool {
    formats.contains(&source) || source.is_parquet()
}

fn refused(option: &Given, path: &Path, format: FileFormat) -> anyhow::Error {
    let name = match path.to_str() {
        Some("-") => "standard input".into(),
        _ => name_of(path).into_owned(),
    };
    usage(format!(
        "{} is for {}, and {name} is {}: leave it out",
        option.name,
        described(option.formats),
        format.description()
    ))
}

/// Refuses an option that does not apply to the output, if its name or `--to` gives the format.
fn check_output(command: &Command, given: &ArgMatches) -> anyhow::Result<()> {
    let named = values(given, "output").first().and_then(|path| FileFormat::from_name(path));
    let said = given.try_get_one::<FileFormat>("to").ok().flatten().copied();
    let schema = given.try_get_one::<FileFormat>("schema").ok().flatten().copied();
    *of_open_output() = options(command, given, formats_of_outputs);
    let Some(format) = schema.or(said).or(named) else { return Ok(()) };
    check_written(format)?;
    let is_translit_only =
        is_given("translit", given) && !has("to_charset", &["latin-1", "latin1"], given);
    if format == Pgn && is_translit_only {
        return Err(usage(
            "--translit needs --to-charset latin-1 for PGN: add it, or leave --translit out",
        ));
    }
    Ok(())
}

/// Refuses an option that does not apply to an output of this format.
///
/// # Errors
///
/// An option does not apply to the output.
pub(crate) fn check_written(format: FileFormat) -> anyhow::Result<()> {
    match of_open_output().iter().find(|option| !option.formats.contains(&format)) {
        None => Ok(()),
        Some(option) => Err(usage(format!(
            "{} is for an output of {}, and {} is written: leave it out",
            option.name,
            described(option.formats),
            format.description()
        ))),
    }
}

/// Kind of sources or outputs, such as `EPD text or FEN text`.
fn described(formats: Formats) -> String {
    let names: Vec<&str> = formats.iter().map(|format| format.description()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).into(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Options of the command line that apply only to some formats.
fn options(
    command: &Command,
    given: &ArgMatches,
    formats: impl Fn(&Command, &Arg) -> Option<Formats>,
) -> Vec<Given> {
    let is_given = |arg: &&Arg| is_given(arg.get_id().as_str(), given);
    let option = |arg: &Arg| {
        let name = format!("--{}", arg.get_long()?);
        Some(Given { name, formats: formats(command, arg)? })
    };
    command.get_arguments().filter(is_given).filter_map(option).collect()
}

fn formats_of_sources(command: &Command, arg: &Arg) -> Option<Formats> {
    let id = arg.get_id();
    let own = BY_SOURCES.iter().find(|(name, _)| id == name).map(|(_, formats)| *formats);
    let is_of_games = || {
        let mut groups =
            command.get_groups().filter(|group| OF_GAMES.iter().any(|it| group.get_id() == it));
        groups.any(|group| group.get_args().any(|one| one == id))
    };
    own.or_else(|| is_of_games().then_some(GAMES))
}

fn formats_of_outputs(_: &Command, arg: &Arg) -> Option<Formats> {
    let found = BY_OUTPUTS.iter().find(|(name, _)| arg.get_id() == name);
    found.map(|(_, formats)| *formats)
}

/// The sources that are named, or standard input.
fn sources(given: &ArgMatches) -> Vec<PathBuf> {
    let named = SOURCES.iter().flat_map(|id| values(given, id));
    let is_source = |path: &PathBuf| {
        path == Path::new("-")
            || path.exists()
            || is_address(path)
            || values::is_position(path.as_os_str())
    };
    let found: Vec<PathBuf> = named.filter(is_source).collect();
    if found.is_empty() { vec!["-".into()] } else { found }
}

/// Format of a file; `None` if it is not a plain file or cannot be read.
fn format_of(path: &Path, given: &ArgMatches) -> Option<FileFormat> {
    if values::is_position(path.as_os_str()) {
        return Some(Epd);
    }
    let said = given.try_get_one::<FileFormat>("from").ok().flatten().copied();
    if path.is_file() { format_of_file(path, said).ok() } else { None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    /// Options of reading and writing that apply to all formats: about files, threads and messages. `--about` is
    /// refused where the facts are gathered.
    const FOR_ALL: [&str; 16] = [
        "about",
        "filter",
        "from",
        "rejects",
        "repairs",
        "deny_warnings",
        "allow_rejects",
        "all_warnings",
        "threads",
        "output",
        "to",
        "schema",
        "games",
        "force",
        "no_digests",
        "keep_going",
    ];

    /// Each option of the table, and each one that it needs, is an option of each of its commands.
    #[test]
    fn each_option_that_needs_another_exists() {
        let mut cli = crate::cli::Cli::command();
        cli.build();
        for Need { commands, options, others } in &NEEDS {
            for name in *commands {
                let words = name.split(' ');
                let command =
                    words.fold(&cli, |command, word| command.find_subcommand(word).unwrap());
                for id in others.iter().map(|(id, _)| id).chain(*options) {
                    let found = command.get_arguments().find(|arg| arg.get_id() == id);
                    assert!(found.is_some_and(|arg| arg.get_long().is_some()), "{name}: {id}");
                }
            }
        }
    }

    fn each_command(command: &Command, visit: &mut dyn FnMut(&Command)) {
        visit(command);
        command.get_subcommands().for_each(|one| each_command(one, visit));
    }

    /// Each option of reading and writing applies to all formats, or is in one of the tables above.
    #[test]
    fn each_option_of_reading_and_writing_says_who_obeys_it() {
        let headings = ["Reading", "Games", "Counting", "Writing", "Writing games"];
        let mut cli = crate::cli::Cli::command();
        cli.build();
        let mut seen = BTreeSet::new();
        each_command(&cli, &mut |command| {
            let is_shared =
                |arg: &&Arg| arg.get_help_heading().is_some_and(|it| headings.contains(&it));
            for arg in command.get_arguments().filter(is_shared) {
                let id = arg.get_id().as_str().to_string();
                let is_known = FOR_ALL.contains(&id.as_str())
                    || formats_of_sources(command, arg).is_some()
                    || formats_of_outputs(command, arg).is_some();
                assert!(is_known, "{}: --{id}", command.get_name());
                seen.insert(id);
            }
        });
        for (id, _) in BY_SOURCES.iter().chain(&BY_OUTPUTS) {
            assert!(seen.contains(*id) || *id == "first_match", "{id} is no option");
        }
    }
}
