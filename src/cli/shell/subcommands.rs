//! Commands of epdb about the position on the board, each run as a program of its own: it prints as it
//! always does, and an interrupt ends it and nothing else.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::cli::outcome::Outcome;
use crate::cli::signals;
use crate::cli::terminal::is_quiet;
use epdb::library::kit::{Session, Verb};

/// The command of epdb that a command of the shell stands for.
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

/// Its arguments: what it is asked about, then the options that were typed.
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
    let wrong = || anyhow::anyhow!("expected `{}`", verb.usage());
    let mut all: Vec<String> = command(verb).into_iter().map(String::from).collect();
    match (verb, names) {
        (Verb::Moves, []) => all.push(position),
        (Verb::Perft, [depth]) if depth.parse::<u8>().is_ok_and(|depth| depth > 0) => {
            all.extend([position, "--depth".into(), depth.clone()])
        }
        (Verb::Tfgg, [file]) => all.push(file.clone()),
        (Verb::Tfgg, [file, out]) => all.extend([file.clone(), "-o".into(), out.clone()]),
        (Verb::Get, names) => {
            all.extend(sources(verb, names, opened)?);
            all.push(position);
        }
        (Verb::Explore | Verb::Parents | Verb::Games, [] | [_]) => {
            all.extend(sources(verb, names, opened)?.into_iter().take(1));
            all.push(session.line().question());
        }
        _ => return Err(wrong()),
    }
    if verb == Verb::Parents {
        all.push("--parents".into());
    }
    all.extend_from_slice(options);
    Ok(all)
}

/// The sources that were named, or those that are open.
fn sources(verb: Verb, names: &[String], opened: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    if names.contains(&"-".to_string()) {
        anyhow::bail!("standard input is used for commands: name a file");
    }
    let sources = match names {
        [] => opened.iter().map(|path| shown(path)).collect::<anyhow::Result<Vec<_>>>()?,
        names => names.to_vec(),
    };
    if sources.is_empty() {
        anyhow::bail!("no source is open: `open SOURCE`, or `{} SOURCE`", verb.name());
    }
    Ok(sources)
}

fn shown(path: &Path) -> anyhow::Result<String> {
    path.to_str()
        .map(String::from)
        .with_context(|| format!("{}: the name is not UTF-8", path.display()))
}

/// Runs epdb with arguments and waits for its end. What is read comes from files.
pub(super) fn run(arguments: &[String]) -> anyhow::Result<Outcome> {
    let program = env::current_exe().context("cannot find the epdb program")?;
    let quiet = is_quiet().then_some("--quiet");
    let mut command = Command::new(&program);
    command.args(arguments).args(quiet).stdin(Stdio::null());
    let failed = || format!("cannot run {}", program.display());
    let mut child = command.spawn().with_context(failed)?;
    if signals::was_interrupted() {
        // It was not there yet to be interrupted.
        child.kill()?;
    }
    match child.wait().with_context(failed)?.code() {
        Some(0) => Ok(Outcome::Done),
        Some(1) => Ok(Outcome::Different),
        Some(_) => Ok(Outcome::Failed),
        None => anyhow::bail!("interrupted"),
    }
}
