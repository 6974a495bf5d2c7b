//! Files that a command reads and writes. No output overwrites an input, another output, or data
//! that would be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use epdb_archive::{Archive, ArchiveError};
use epdb_base::new_file::destination;
use epdb_source::{DeltaPath, FileFormat, format_of_file, name_of};
use epdb_store::{StoreOptions, waiting_records};

use super::outcome::{Usage, usage};
use super::terminal::{many, note};

/// The arguments that name files to write.
const OUTPUTS: [&str; 7] =
    ["output", "rejects", "repairs", "conflicts", "html", "training", "cards"];
/// The argument for the output. It may name an input, which is then read to its end before it is replaced.
const RESULT: &str = "output";

/// The command that merges the records of an interrupted import first.
const IMPORTING: &str = "import";
/// Names of the commands that take some records of their inputs.
const TAKING_SOME: [&str; 6] = ["filter", "sample", "get", "search", "subtract", "intersect"];

/// Refuses files that are named twice, because their content would count twice.
pub(crate) fn refuse_repeated<P: AsRef<Path>>(
    files: impl IntoIterator<Item = P>,
) -> Result<(), Usage> {
    let mut seen = BTreeSet::new();
    for file in files {
        let file = file.as_ref();
        if Identity::of_input(file).is_some_and(|identity| !seen.insert(identity)) {
            return Err(Usage(format!("{} is named twice: name each file once", file.display())));
        }
    }
    Ok(())
}

/// Identity of a file. Two names of one file have the same identity.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Identity {
    /// The device number and the inode number of an existing file.
    #[cfg(unix)]
    File(u64, u64),
    /// The canonical path of a file, with links resolved.
    Path(PathBuf),
}

impl Identity {
    fn of_input(path: &Path) -> Option<Identity> {
        if path == Path::new("-") { Identity::of_stdin() } else { Identity::of(path) }
    }

    /// Identity of the file at a path. `None` for standard output (`-`), a device or a folder.
    fn of(path: &Path) -> Option<Identity> {
        if path == Path::new("-") {
            return None;
        }
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => None,
            #[cfg(unix)]
            Ok(found) => Some(Identity::of_file(&found)),
            _ => canonical(path).map(Identity::Path),
        }
    }

    #[cfg(unix)]
    fn of_file(found: &fs::Metadata) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity::File(found.dev(), found.ino())
    }

    /// Identity of the file that standard input reads. `None` if standard input is not a file.
    fn of_stdin() -> Option<Identity> {
        #[cfg(unix)]
        return Identity::of_stream(io::stdin());
        #[cfg(not(unix))]
        None
    }

    /// Identity of the file that standard output writes. `None` if standard output is not a file.
    fn of_stdout() -> Option<Identity> {
        #[cfg(unix)]
        return Identity::of_stream(io::stdout());
        #[cfg(not(unix))]
        None
    }

    #[cfg(unix)]
    fn of_stream(stream: impl std::os::fd::AsFd) -> Option<Identity> {
        let stream = stream.as_fd().try_clone_to_owned().ok()?;
        let found = fs::File::from(stream).metadata().ok()?;
        found.is_file().then(|| Identity::of_file(&found))
    }
}

/// The files of a run of a command.
#[derive(Debug)]
struct Files {
    inputs: BTreeSet<Identity>,
    written: BTreeSet<PathBuf>,
    /// The input that the output of the command replaces.
    replaced: Option<(PathBuf, Identity)>,
    /// True if some data that was read is neither written nor saved.
    has_lost: bool,
    /// Data that was read and that the output does not have, as text: `3 comments left out`.
    dropped: BTreeSet<String>,
    /// For each input, the number of records or games that --where excludes, as text: `3 records`. They
    /// are not written.
    left_out: BTreeMap<Identity, String>,
    /// Inputs whose content only an output of games can keep.
    not_records: BTreeMap<Identity, FileFormat>,
    writes_games: bool,
    /// True if the command takes some records of its inputs.
    takes_some: bool,
    /// True if the command has the option --if, which keeps the records that it does not change.
    has_condition: bool,
    /// Inputs for which a note was already printed.
    noted: BTreeSet<PathBuf>,
    /// The file of --rejects, if it has content already.
    earlier_rejects: Option<PathBuf>,
    /// Value of --force, if the command has it.
    force: Option<bool>,
}

fn files() -> MutexGuard<'static, Files> {
    static FILES: Mutex<Files> = Mutex::new(Files::new());
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    const fn new() -> Files {
        Files {
            inputs: BTreeSet::new(),
            written: BTreeSet::new(),
            replaced: None,
            has_lost: false,
            dropped: BTreeSet::new(),
            left_out: BTreeMap::new(),
            not_records: BTreeMap::new(),
            writes_games: false,
            takes_some: false,
            has_condition: false,
            noted: BTreeSet::new(),
            earlier_rejects: None,
            force: None,
        }
    }

    /// Refuses to replace an input if some of its data would be lost.
    fn check(&self) -> io::Result<()> {
        let Some((path, identity)) = &self.replaced else { return Ok(()) };
        let path = path.display();
        let is_forced = self.force == Some(true);
        let left_out = self.left_out.get(identity).filter(|_| !is_forced);
        let not_records = self.not_records.get(identity).filter(|format| !self.keeps(**format));
        let or_force = if self.force.is_some() { ", or give --force" } else { "" };
        let text = if self.takes_some && !is_forced {
            format!(
                "replacing {path} would lose the records that are not taken: name another output with -o{or_force}"
            )
        } else if let Some(format) = not_records {
            let what = format.content();
            format!("{path} holds {what}, not records: name another output, or the {what} are lost")
        } else if let Some(rejects) = &self.earlier_rejects {
            format!(
                "{rejects} has lines of an earlier run, and {path} is replaced: move {rejects} away or name another file",
                rejects = rejects.display()
            )
        } else if self.has_lost {
            format!(
                "replacing {path} would lose rejected or truncated data; save it with --rejects FILE, or name another output"
            )
        } else if !self.dropped.is_empty() && !is_forced {
            let dropped = Vec::from_iter(self.dropped.iter().map(String::as_str)).join(", ");
            format!("{path} would be replaced by less ({dropped}): name another output{or_force}")
        } else if let Some(records) = left_out {
            let keep =
                if self.has_condition { "use --if instead, which keeps them, or " } else { "" };
            format!(
                "replacing {path} would lose {records} that --where excludes: {keep}name another output with -o{or_force}"
            )
        } else {
            return Ok(());
        };
        Err(io::Error::other(format!("nothing is written: {text}")))
    }

    /// Whether the output can keep the content of such an input.
    const fn keeps(&self, format: FileFormat) -> bool {
        format.is_of_games() && self.writes_games
    }
}

/// Unique path of a file that may not exist.
fn canonical(path: &Path) -> Option<PathBuf> {
    let path = destination(path).ok()?;
    let folder = path.parent()?.canonicalize().ok()?;
    Some(folder.join(path.file_name()?))
}

/// Begins the run of a command. Two equal outputs are refused. An output that is also an input is refused,
/// unless the command can replace this input.
///
/// # Errors
///
/// Two arguments name the same file; the message has both.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> anyhow::Result<()> {
    let force = matches.try_get_one::<bool>("force").ok().flatten().copied();
    let has_content =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    *files() = Files {
        force,
        takes_some: TAKING_SOME.contains(&command.get_name()),
        has_condition: command.get_arguments().any(|argument| argument.get_id() == "condition"),
        earlier_rejects: values(matches, "rejects").into_iter().find(has_content),
        ..Files::new()
    };
    let mut written: Vec<(Identity, String, PathBuf)> = Vec::new();
    for id in OUTPUTS {
        for path in values(matches, id) {
            let Some(identity) = Identity::of(&path) else { continue };
            let name = match command.get_arguments().find(|argument| argument.get_id() == id) {
                Some(argument) if argument.is_positional() => name_of(&path).into_owned(),
                _ => format!("--{id}"),
            };
            if let Some((_, other, _)) = written.iter().find(|(known, ..)| *known == identity) {
                let text = format!(
                    "{other} and {name} are the same file, {}: name two files",
                    path.display()
                );
                return Err(usage(text));
            }
            written.push((identity, name, path));
        }
    }
    written.retain(|(_, name, _)| name.strip_prefix("--").is_some_and(|id| id != RESULT));
    let ids = command.get_arguments().map(|argument| argument.get_id().as_str());
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let others = ids.filter(|id| !OUTPUTS.contains(id) && is_given(id));
    let stdout = Identity::of_stdout();
    let stdin = Identity::of_stdin();
    if stdin.is_some() && stdin == stdout {
        return Err(is_stdout("standard input"));
    }
    files().inputs.extend(stdin);
    for input in others.flat_map(|id| values(matches, id)) {
        if command.get_name() != IMPORTING {
            note_waiting(&input);
        }
        let Some(identity) = Identity::of(&input) else { continue };
        files().inputs.insert(identity.clone());
        if stdout.as_ref() == Some(&identity) {
            return Err(is_stdout(&name_of(&input)));
        }
        if let Some((_, name, path)) = written.iter().find(|(known, ..)| *known == identity) {
            return Err(usage(format!(
                "{name} {} would overwrite the input {}: name another file",
                name_of(path),
                name_of(&input)
            )));
        }
    }
    Ok(())
}

/// The error for an input that standard output overwrites. The shell has emptied the file already, or the
/// command would read what it writes.
fn is_stdout(input: &str) -> anyhow::Error {
    let text = format!(
        "{input} and standard output are the same file: `-o FILE` replaces a file after it was read"
    );
    usage(text)
}

/// Reports the records of an interrupted import that wait beside a store, or beside a delta. They are in no answer.
fn note_waiting(input: &Path) {
    let store = DeltaPath::parse(input).map_or(input.to_path_buf(), |pair| pair.delta);
    let mut runs = store.clone().into_os_string();
    runs.push(".runs");
    let has_runs = Path::new(&runs).is_file();
    if !has_runs && FileFormat::from_name(&store) != Some(FileFormat::Epdb) {
        return;
    }
    // Damage is reported by the command itself.
    let waiting = waiting_records(&store, &StoreOptions::default()).unwrap_or(0);
    if waiting > 0 {
        let name = name_of(&store);
        let verb = if waiting == 1 { "waits" } else { "wait" };
        let what_to_do = if has_runs {
            "run that import again"
        } else {
            "this file is missing; copy it too, or import again with --restart"
        };
        note!(
            "{name}: {} of an interrupted import {verb} in {name}.runs: {what_to_do}",
            many(waiting, "record")
        );
    }
}

/// Values of an argument, unparsed.
pub(crate) fn values(matches: &ArgMatches, id: &str) -> Vec<PathBuf> {
    match matches.try_get_raw(id) {
        Ok(Some(values)) => values.map(PathBuf::from).collect(),
        _ => Vec::new(),
    }
}

/// Refuses a command line in which an input is the file that the command writes in place. `advice` says what to
/// do instead.
///
/// # Errors
///
/// An input is the file that is written.
pub(crate) fn refuse_as_input(
    written: &Path,
    inputs: &[PathBuf],
    advice: &str,
) -> anyhow::Result<()> {
    let identity = Identity::of(written);
    for input in inputs {
        if identity.is_some() && Identity::of(input) == identity {
            return Err(usage(format!(
                "{} is written and cannot be read at the same time: {advice}",
                name_of(input)
            )));
        }
    }
    Ok(())
}

/// Registers a file as an output of this run.
///
/// # Errors
///
/// The file is already an output, or it is an input and some of its data would be lost.
pub(crate) fn claim(path: &Path) -> anyhow::Result<()> {
    let is_special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    let Some(place) = canonical(path).filter(|_| !is_special) else { return Ok(()) };
    refuse_kept(path)?;
    let mut files = files();
    anyhow::ensure!(
        files.written.insert(place),
        "{} is already an output of this command: name another file",
        path.display()
    );
    if let Some(identity) = Identity::of(path).filter(|it| files.inputs.contains(it)) {
        files.replaced = Some((path.to_path_buf(), identity));
    }
    Ok(files.check()?)
}

/// Whether existing files may be replaced, including stores and libraries.
pub(crate) fn is_forced() -> bool {
    files().force == Some(true)
}

/// Refuses to replace a store or a library without --force, because it may be the work of years.
///
/// # Errors
///
/// The file is a store or a library.
pub(crate) fn refuse_kept(path: &Path) -> anyhow::Result<()> {
    let force = files().force;
    let Some(what) = kept(path).filter(|_| force != Some(true)) else { return Ok(()) };
    let advice = if force.is_some() { "--force replaces it" } else { "name another file" };
    Err(usage(format!("{} already exists and is {what}: {advice}", path.display())))
}

/// Number of records of the archive that would be replaced. An archive with fewer replaces it only with --force, or
/// if it is an input.
pub(crate) fn records_before(path: &Path) -> u64 {
    let may_shrink = is_forced() || is_input(path);
    if may_shrink { 0 } else { Archive::open(path).map_or(0, |archive| archive.len()) }
}

/// Kind of a file that is replaced only on request.
fn kept(path: &Path) -> Option<&'static str> {
    if !path.is_file() {
        return None;
    }
    match format_of_file(path, None).ok()? {
        FileFormat::Epdb => Some("a store"),
        FileFormat::Shards => Some("a sharded archive"),
        FileFormat::Epa => match Archive::open(path) {
            Ok(archive) => archive.is_library().then_some("a library"),
            Err(ArchiveError::NotAnArchive) => None,
            // It may have been a library, and `export` saves what is left of it.
            Err(_) => Some("a damaged archive"),
        },
        _ => None,
    }
}

/// Refuses to replace an input before it is read to its end.
///
/// # Errors
///
/// The file is an input.
pub(crate) fn refuse_input(path: &Path) -> anyhow::Result<()> {
    if is_input(path) {
        let text = format!(
            "{} would be replaced before it is read completely: name another file",
            path.display()
        );
        return Err(usage(text));
    }
    Ok(())
}

fn is_input(path: &Path) -> bool {
    Identity::of(path).is_some_and(|identity| files().inputs.contains(&identity))
}

pub(crate) fn note_game_output() {
    files().writes_games = true;
}

/// Remembers that the content of an input is not records.
///
/// # Errors
/// The run replaces the input, and the output cannot keep this content.
pub(crate) fn note_not_records(input: &Path, format: FileFormat) -> io::Result<()> {
    let Some(identity) = Identity::of_input(input) else { return Ok(()) };
    let mut files = files();
    files.not_records.insert(identity, format);
    files.check()
}

/// True for the first call with this input in a run.
pub(crate) fn is_first_time(input: &Path) -> bool {
    files().noted.insert(input.to_path_buf())
}

/// Remembers that --where excludes records or games (`what`) of an input.
///
/// # Errors
/// The run replaces the input without --force.
pub(crate) fn note_left_out(input: &Path, count: u64, what: &str) -> io::Result<()> {
    let Some(identity) = Identity::of_input(input).filter(|_| count > 0) else { return Ok(()) };
    let mut files = files();
    files.left_out.insert(identity, many(count, what));
    files.check()
}

/// Remembers that some data that was read is neither written nor saved.
///
/// # Errors
///
/// The run replaces an input.
pub(crate) fn note_loss() -> io::Result<()> {
    let mut files = files();
    files.has_lost = true;
    files.check()
}

/// Remembers that the output does not have all data of the inputs. `what` says for each kind how much is missing.
///
/// # Errors
/// The run replaces an input without --force.
pub(crate) fn note_dropped(what: impl IntoIterator<Item = String>) -> io::Result<()> {
    let mut files = files();
    files.dropped.extend(what);
    files.check()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_of_one_file_are_known_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        fs::write(at("a"), "").unwrap();
        assert_eq!(Identity::of(&at("a")), Identity::of(&at("deep/../a")));
        assert_eq!(Identity::of(&at("new")), Identity::of(&at("deep/../new")));
        assert_ne!(Identity::of(&at("new")), Identity::of(&at("deep/new")));
        assert_eq!(Identity::of(&at("deep")), None);
        assert_eq!(Identity::of(Path::new("-")), None);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a", at("link")).unwrap();
            std::os::unix::fs::symlink("new", at("dangling")).unwrap();
            fs::hard_link(at("a"), at("hard")).unwrap();
            assert_eq!(Identity::of(&at("a")), Identity::of(&at("link")));
            assert_eq!(Identity::of(&at("a")), Identity::of(&at("hard")));
            assert_eq!(Identity::of(&at("new")), Identity::of(&at("dangling")));
            assert_eq!(Identity::of(Path::new("/dev/null")), None);
        }
    }

    #[test]
    fn a_file_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        claim(&folder.path().join("a")).unwrap();
        claim(&folder.path().join("b")).unwrap();
        claim(&folder.path().join("./a")).unwrap_err();
        claim(folder.path()).unwrap();
    }
}
