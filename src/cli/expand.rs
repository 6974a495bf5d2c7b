//! Folders and patterns (`games/**/*.pgn`) among the files of a command line.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::places::values;
use super::terminal::many;
use super::values::is_position;
use epdb_library::named_files::{NamedFiles, WILD, find_named, names_objects};

/// The arguments that may name folders and patterns. Each of them takes several files.
const ARGUMENTS: [&str; 4] = ["files", "others", "books", "runs"];

/// A command line with files in the place of folders and patterns.
#[derive(Default)]
pub(super) struct Expanded {
    pub(super) args: Vec<OsString>,
    /// The files of other formats that are left out.
    pub(super) others: Option<String>,
    /// The number of hidden files that are left out.
    pub(super) hidden: Option<String>,
}

/// The command line with each folder and each pattern among its files replaced by the files that it
/// names; `None` if there is nothing to replace.
///
/// # Errors
/// A folder cannot be read, or a folder or a pattern names no file.
pub(super) fn expanded(
    command: &Command,
    given: &ArgMatches,
    args: &[OsString],
) -> anyhow::Result<Option<Expanded>> {
    let mut words = Vec::new();
    for id in ARGUMENTS {
        let takes_files = command
            .get_arguments()
            .any(|argument| argument.get_id() == id && argument.is_positional());
        let is_given = takes_files && given.value_source(id) == Some(ValueSource::CommandLine);
        if is_given {
            words.extend(values(given, id));
        }
    }
    // A position follows the source of a search, also beside a folder `e4`; `e4/` is the folder.
    let is_position = |place: usize, word: &Path| {
        command.get_name() == "search" && place > 0 && is_position(word.as_os_str())
    };
    let words = words.into_iter().enumerate();
    let words = words.filter(|(place, word)| names_many(word) && !is_position(*place, word));
    let words: Vec<PathBuf> = words.map(|(_, word)| word).collect();
    if words.is_empty() {
        return Ok(None);
    }
    let mut all = Vec::new();
    let mut left_out = NamedFiles::default();
    for (place, arg) in args.iter().enumerate() {
        let is_of_option = place > 0 && takes_value(command, &args[place - 1]);
        if !is_of_option && words.iter().any(|word| word == Path::new(arg)) {
            let NamedFiles { files, others, first_others, hidden } = find_named(Path::new(arg))?;
            left_out.others += others;
            left_out.hidden += hidden;
            left_out.first_others.extend(first_others);
            all.extend(files.into_iter().map(|file| not_an_option(file).into_os_string()))
        } else {
            all.push(arg.clone())
        }
    }
    let hidden = match left_out.hidden {
        0 => None,
        1 => Some("1 hidden file or folder is not read".to_string()),
        hidden => Some(format!("{hidden} hidden files or folders are not read")),
    };
    Ok(Some(Expanded { args: all, others: others_note(&left_out), hidden }))
}

/// The note about files of other formats.
fn others_note(left_out: &NamedFiles) -> Option<String> {
    let NamedFiles { others, first_others, .. } = left_out;
    let shown = first_others.iter().take(NamedFiles::MAX_OTHERS);
    let shown: Vec<_> = shown.map(|path| path.display().to_string()).collect();
    let more = if *others > shown.len() as u64 { " ..." } else { "" };
    let verb = if *others == 1 { "is" } else { "are" };
    (*others > 0).then(|| {
        format!(
            "{} of other formats {verb} not read: {}{more}; name a file or a pattern to read it",
            many(*others, "file"),
            shown.join(", ")
        )
    })
}

/// True if an argument is an option whose value is the next argument.
fn takes_value(command: &Command, argument: &OsStr) -> bool {
    let Some(argument) = argument.to_str() else { return false };
    let takes_next =
        |option: &&Arg| option.get_action().takes_values() && !option.is_require_equals_set();
    command.get_opts().filter(takes_next).any(|option| {
        let long = option.get_long().is_some_and(|long| argument.strip_prefix("--") == Some(long));
        let is_short =
            |short: char| argument.strip_prefix('-').is_some_and(|it| it.ends_with(short));
        long || !argument.starts_with("--") && option.get_short().is_some_and(is_short)
    })
}

/// True if a word is a folder or a pattern, also at an address. A file with such a name is neither.
fn names_many(word: &Path) -> bool {
    if word.is_dir() || names_objects(word) {
        return true;
    }
    let is_wild = word.as_os_str().as_encoded_bytes().iter().any(|byte| WILD.contains(byte));
    // The `?` of an address begins its query, even of an address that is not read.
    let is_of_scheme = word.to_string_lossy().contains("://");
    is_wild
        && !is_of_scheme
        && fs::symlink_metadata(word).is_err()
        && !is_position(word.as_os_str())
}

/// A name that no parser of arguments takes for an option.
fn not_an_option(path: PathBuf) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path
    }
}
