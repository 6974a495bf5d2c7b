//! Folders and patterns (`games/**/*.pgn`) among the files of a command line.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use globset::{GlobBuilder, GlobMatcher};

use super::places::values;
use super::values::is_position;
use epdb_source::{FileFormat, format_of_file, source_suffix};

/// The arguments that may name folders and patterns. Each of them takes several files.
const ARGUMENTS: [&str; 4] = ["files", "others", "books", "runs"];

/// The characters that make a pattern of a name.
const WILD: &[u8] = b"*?[";

/// The command line with each folder and each pattern among its files replaced by the files that it
/// names; `None` if there is nothing to replace.
///
/// # Errors
/// A folder cannot be read, or a folder or a pattern names no file.
pub(super) fn expanded(
    command: &Command,
    given: &ArgMatches,
    args: &[OsString],
) -> anyhow::Result<Option<Vec<OsString>>> {
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
    let words: Vec<PathBuf> = words.into_iter().filter(|word| names_many(word)).collect();
    if words.is_empty() {
        return Ok(None);
    }
    let mut all = Vec::new();
    for (place, arg) in args.iter().enumerate() {
        let is_value = args[..place].last().is_some_and(|before| takes_value(command, before));
        if words.iter().any(|word| word == Path::new(arg)) && !is_value {
            all.extend(files_of(Path::new(arg))?.into_iter().map(PathBuf::into_os_string))
        } else {
            all.push(arg.clone())
        }
    }
    Ok(Some(all))
}

/// True if an argument is an option whose value is the next argument.
fn takes_value(command: &Command, argument: &OsStr) -> bool {
    let Some(argument) = argument.to_str() else { return false };
    command.get_opts().filter(|option| option.get_action().takes_values()).any(|option| {
        let long = option.get_long().is_some_and(|long| argument.strip_prefix("--") == Some(long));
        let is_short =
            |short: char| argument.strip_prefix('-').is_some_and(|it| it.ends_with(short));
        long || !argument.starts_with("--") && option.get_short().is_some_and(is_short)
    })
}

/// True if a word is a folder or a pattern. A file with such a name is neither.
fn names_many(word: &Path) -> bool {
    if word.is_dir() {
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

/// The files that a folder or a pattern names, in natural order.
fn files_of(word: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if word.is_dir() {
        walk(word, &mut files, None).with_context(|| format!("cannot read {}", word.display()))?;
        anyhow::ensure!(
            !files.is_empty(),
            "{} is a folder without a file that epdb reads: name files, or a pattern such as '{}'",
            word.display(),
            word.join("**/*.txt").display()
        );
    } else {
        let pattern = word
            .to_str()
            .with_context(|| format!("{}: a pattern must be UTF-8", word.display()))?;
        let matcher = GlobBuilder::new(pattern).literal_separator(true).build()?.compile_matcher();
        let root = root_of(word);
        walk(&root, &mut files, Some(&matcher))
            .with_context(|| format!("cannot read {}", root.display()))?;
        anyhow::ensure!(!files.is_empty(), "no file matches {}", word.display());
    }
    Ok(files.into_iter().map(not_an_option).collect())
}

/// The folder in which all files are that match a pattern. It is empty for the current folder.
fn root_of(pattern: &Path) -> PathBuf {
    let is_wild = |part: &Component<'_>| {
        part.as_os_str().as_encoded_bytes().iter().any(|byte| WILD.contains(byte))
    };
    pattern.components().take_while(|part| !is_wild(part)).collect()
}

/// A name that no parser of arguments takes for an option.
fn not_an_option(path: PathBuf) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path
    }
}

/// Appends the files in a folder and in its folders: those that match a pattern, or those with the
/// suffix of a format that is read. Names that begin with a dot are left out. Links to folders are
/// not followed, so that the search ends.
fn walk(folder: &Path, files: &mut Vec<PathBuf>, pattern: Option<&GlobMatcher>) -> io::Result<()> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(here)?.collect::<io::Result<Vec<_>>>()?;
    let mut names: Vec<OsString> = entries.iter().map(fs::DirEntry::file_name).collect();
    names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
    names.sort_by(|one, other| natural(one, other));
    // The shards of a library are read through its manifest; by themselves they would count twice.
    let manifest = folder.join("manifest.json");
    if pattern.is_none() && is_of(&manifest, FileFormat::Shards) {
        files.push(manifest);
        return Ok(());
    }
    for name in names {
        let path = folder.join(name);
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        if path.is_dir() {
            if !is_link {
                walk(&path, files, pattern)?;
            }
        } else if path.is_file()
            && pattern.map_or_else(|| is_read(&path), |pattern| pattern.is_match(&path))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// True if the suffix of a file is that of a format that is read. Tables and objects of any kind have
/// the suffixes .csv and .json, so their first bytes decide.
fn is_read(path: &Path) -> bool {
    let Some(suffix) = source_suffix(path) else { return false };
    match suffix {
        "csv" => {
            is_of(path, FileFormat::LichessPuzzles) || is_of(path, FileFormat::EvaluationTable)
        }
        "json" => is_of(path, FileFormat::Shards),
        _ => true,
    }
}

fn is_of(path: &Path, format: FileFormat) -> bool {
    path.is_file() && format_of_file(path, None).is_ok_and(|found| found == format)
}

/// Compares names so that `game2` comes before `game10`. Equal numbers with different digits, such as
/// `1` and `01`, are ordered by their bytes.
fn natural(one: &OsStr, other: &OsStr) -> Ordering {
    let bytes = (one.as_encoded_bytes(), other.as_encoded_bytes());
    let (mut left, mut right) = bytes;
    while let (Some(&first), Some(&second)) = (left.first(), right.first()) {
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let (number, rest) = split_number(left);
            let (other_number, other_rest) = split_number(right);
            (left, right) = (rest, other_rest);
            number.len().cmp(&other_number.len()).then_with(|| number.cmp(other_number))
        } else {
            (left, right) = (&left[1..], &right[1..]);
            first.cmp(&second)
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| bytes.0.cmp(bytes.1))
}

/// The number with which a name begins, without leading zeros, and the rest.
fn split_number(name: &[u8]) -> (&[u8], &[u8]) {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = name.split_at(digits);
    let zeros = number.iter().take_while(|byte| **byte == b'0').count();
    (&number[zeros..], rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_compared_as_numbers() {
        let mut names = ["b", "a10", "a2", "a02", "a1b", "a1", "a", "10", "9", "A"];
        names.sort_by(|one, other| natural(OsStr::new(one), OsStr::new(other)));
        assert_eq!(names, ["9", "10", "A", "a", "a1", "a1b", "a02", "a2", "a10", "b"]);
    }
}
