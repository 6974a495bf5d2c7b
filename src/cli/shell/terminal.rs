//! Commands typed by a person: lines are edited, remembered, and completed by Tab.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{DefaultHistory, History};
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::execute::{Executed, Shell};
use crate::cli::outcome::{Outcome, message};
use crate::cli::signals;
use crate::cli::terminal::{note, print_line};
use epdb_library::kit::{Completion, complete};

const PROMPT: &str = "epdb> ";

/// Largest number of lines in the history.
const MAX_REMEMBERED: usize = 1000;

/// Carries out the lines that are typed, until Ctrl-D or `quit`. Ctrl-C drops the typed line, or
/// ends the running command. Errors are printed, and the next line follows.
pub(crate) fn run(shell: Shell, history: Option<&Path>) -> anyhow::Result<Outcome> {
    signals::interrupt_work_only()?;
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .max_history_size(MAX_REMEMBERED)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Typist { shell, files: FilenameCompleter::new() }));
    let mut history = history.filter(|file| is_kept(load(&mut editor, file)));
    loop {
        signals::forget_interrupt();
        let line = match editor.readline(PROMPT) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => continue,
            Err(ReadlineError::Eof) => return Ok(Outcome::Done),
            Err(error) => return Err(error).context("cannot read from the terminal"),
        };
        if editor.add_history_entry(&line)? {
            history = history.filter(|file| is_kept(keep(&mut editor, file)));
        }
        let Some(Typist { shell, .. }) = editor.helper_mut() else { return Ok(Outcome::Done) };
        match shell.execute(&line) {
            Ok(Executed::Quit) => return Ok(Outcome::Done),
            Ok(Executed::Done { warnings, .. }) => warnings.iter().for_each(|it| note!("{it}")),
            Err(error) => print_line(&message(&error)),
        }
    }
}

type TypistEditor = Editor<Typist, DefaultHistory>;

/// Loads the lines of earlier runs.
fn load(editor: &mut TypistEditor, file: &Path) -> anyhow::Result<()> {
    if file.exists() {
        editor.load_history(file)?;
    } else if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(())
}

/// Stores the last line for later runs.
fn keep(editor: &mut TypistEditor, file: &Path) -> anyhow::Result<()> {
    Ok(editor.history_mut().append(file)?)
}

/// Returns whether lines can be stored; if not, prints the reason.
fn is_kept(result: anyhow::Result<()>) -> bool {
    if let Err(error) = &result {
        note!("epdb: cannot store the history (--no-history): {}", message(error));
    }
    result.is_ok()
}

/// The file of stored lines, in the user's folder for state.
pub(crate) fn history_file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let strategy = etcetera::choose_base_strategy().ok()?;
    let folder = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
    Some(folder.join("epdb").join("history"))
}

/// Completion of lines.
struct Typist {
    shell: Shell,
    files: FilenameCompleter,
}

impl Completer for Typist {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let same = |word: String| Pair { display: word.clone(), replacement: word };
        match complete(self.shell.session(), &line[..at]) {
            Completion::Words { start, words } => {
                Ok((start, words.into_iter().map(same).collect()))
            }
            _ => self.files.complete_path(line, at),
        }
    }
}

impl Hinter for Typist {
    type Hint = String;
}

impl Highlighter for Typist {}
impl Validator for Typist {}
impl Helper for Typist {}
