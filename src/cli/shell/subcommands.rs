//! Commands of epdb about the position on the board. An interrupt ends them and not the shell.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{iter, panic};

use anyhow::Context;

use crate::cli::outcome::Outcome;
use crate::cli::signals;
use crate::cli::source::NO_STDIN;
use crate::cli::terminal::PrintSettings;
use epdb_library::kit::{Session, Verb};
use epdb_source::is_stream;

/// The command of epdb that a command of the shell runs.
pub(super) const fn command(verb: Verb) -> Option<&'static str> {
    Some(match verb {
        Verb::Moves => "moves",
        Verb::Perft => "perft",
        Verb::Get => "get",
        Verb::Explore | Verb::Parents => "explore",
        Verb::Games => "games",
        Verb::Tfgg => "tfgg",
        _ => return None,
    })
}

/// The arguments of the command of epdb: the subject of the command, then the options that were
/// typed.
pub(super) fn arguments(
    verb: Verb,
    words: Vec<String>,
    session: &Session,
    opened: &[PathBuf],
) -> anyhow::Result<Vec<String>> {
    let is_name = |word: &String| !word.starts_with('-');
    let names = words.iter().take_while(|word| is_name(word)).count();
    let (names, options) = words.split_at(names);
    let position = session.position().to_string();
    let mut all: Vec<String> = command(verb).into_iter().map(String::from).collect();
    match (verb, names) {
        (Verb::Moves, []) => all.push(position),
        (Verb::Perft, [depth]) if depth.parse::<u8>().is_ok_and(|depth| depth > 0) => {
            all.extend([position, "--depth".into(), depth.clone()])
        }
        (Verb::Tfgg, [file]) => {
            check_source(file)?;
            all.push(file.clone());
        }
        (Verb::Tfgg, [file, out]) => {
            check_source(file)?;
            all.extend([file.clone(), "-o".into(), out.clone()]);
        }
        (Verb::Get, names) => {
            all.extend(sources(verb, names, opened)?);
            all.push(position);
        }
        (Verb::Explore | Verb::Parents | Verb::Games, [] | [_]) => {
            all.extend(sources(verb, names, opened)?.into_iter().take(1));
            all.push(session.line().question());
        }
        _ => anyhow::bail!("expected `{}`", verb.usage()),
    }
    if verb == Verb::Parents {
        all.push("--parents".into());
    }
    all.extend_from_slice(options);
    Ok(all)
}

/// The sources that were named, or the open ones if none were named.
fn sources(verb: Verb, names: &[String], opened: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    names.iter().try_for_each(|name| check_source(name))?;
    let sources = match names {
        [] => opened.iter().map(|path| shown(path)).collect::<anyhow::Result<Vec<_>>>()?,
        names => names.to_vec(),
    };
    if sources.is_empty() {
        anyhow::bail!("no source is open: `open SOURCE`, or `{} SOURCE`", verb.name());
    }
    Ok(sources)
}

/// Refuses sources for which a command might wait for ever. An interrupt would not end such a wait.
fn check_source(name: &str) -> anyhow::Result<()> {
    anyhow::ensure!(name != "-", NO_STDIN);
    anyhow::ensure!(
        !is_stream(Path::new(name)),
        "{name}: the shell reads files, not pipes or devices"
    );
    Ok(())
}

fn shown(path: &Path) -> anyhow::Result<String> {
    path.to_str()
        .map(String::from)
        .with_context(|| format!("{}: the name is not UTF-8", path.display()))
}

/// Runs a command line of epdb and reports its error.
pub(crate) type ExecuteCommand = fn(Vec<OsString>) -> Outcome;

/// Runs a command of epdb in this process. Its options apply to it alone.
pub(super) fn run(arguments: Vec<String>, execute: ExecuteCommand) -> anyhow::Result<Outcome> {
    let program = OsString::from("epdb");
    let words = iter::once(program).chain(arguments.into_iter().map(Into::into)).collect();
    let settings = PrintSettings::current();
    // A panic in a command must not end the shell.
    let outcome = panic::catch_unwind(|| execute(words));
    settings.restore();
    signals::check_interrupt()?;
    outcome.map_err(|_| anyhow::anyhow!("internal error: the command panicked"))
}
