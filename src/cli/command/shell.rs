//! `epdb shell`: commands on a position, typed or from a script.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::board::BoardStyle;
use crate::cli::outcome::Outcome;
use crate::cli::shell::{self, ExecuteCommand, Shell, script};
use crate::cli::source::END_OF_INPUT;
use crate::cli::terminal::note;
use crate::cli::values;

/// Explore positions interactively: play moves, look positions up, write records
///
/// A line is a command, or moves in any notation; `help` lists the commands. They include the commands of the
/// SAN Kit (svfe, dvfe, tfgg), the reference program for PGN of 1995. Tab completes commands, legal moves,
/// opcodes and file names. Ctrl-C drops the line or stops a long search; Ctrl-D exits.
///
/// Input from a pipe or a file (`epdb shell < FILE`), and the commands of -c, run as a script
/// without a prompt. A script stops at the first error and prints it with its line (exit status 2).
/// Exit status 1 if something was not found.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb shell library.epa
  epdb shell suite.epd -c next -c board
  printf '%s\\n' 'e4 c5' 'set c0 sharp' 'write openings.epd' | epdb shell")]
pub(crate) struct Args {
    /// Sources for `next`, `get`, `explore`, `parents` and `games`
    #[arg(value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Run this command, then exit; may be repeated
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    commands: Vec<String>,
    /// Continue a script after an error
    #[arg(long)]
    keep_going: bool,
    /// Draw the pieces in this style [default: symbols on a terminal, else letters]
    #[arg(long, value_enum, value_name = "HOW")]
    pieces: Option<Pieces>,
    /// Do not read or write the history of typed lines
    #[arg(long)]
    no_history: bool,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug)]
enum Pieces {
    Symbols,
    Letters,
}

/// Runs the shell; `execute` runs a command line of epdb.
pub(crate) fn run(args: &Args, execute: ExecuteCommand) -> anyhow::Result<Outcome> {
    // Threads are started here, so that the first command does not decide their number for later
    // commands.
    values::start_threads(None)?;
    let shows = io::stdout().is_terminal();
    let mut look = BoardStyle::of_stdout();
    if let Some(pieces) = args.pieces {
        look.symbols = pieces == Pieces::Symbols;
    }
    let is_typed = args.commands.is_empty() && shows && io::stdin().is_terminal();
    let mut shell = Shell::new(&args.sources, look, is_typed, execute)?;
    if is_typed {
        let history = shell::terminal::history_file().filter(|_| !args.no_history);
        return shell::terminal::run(shell, history.as_deref());
    }
    if args.commands.is_empty() {
        if io::stdin().is_terminal() {
            note!("epdb: reading commands from standard input; end with {END_OF_INPUT}");
        }
        return script::run(&mut shell, "-", io::stdin(), args.keep_going);
    }
    let commands = args.commands.join("\n");
    script::run(&mut shell, "-c", commands.as_bytes(), args.keep_going)
}
