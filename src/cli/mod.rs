//! The command line: arguments, one file a command, output, diagnostics. No chess knowledge.

mod args;
mod board;
mod columns;
mod command;
mod diagnostics;
mod engines;
mod escape;
mod games;
mod help;
mod json;
mod kept_games;
mod ledgers;
mod man;
mod message;
mod outcome;
mod output;
mod pipe;
mod places;
mod polyglot_spelling;
mod progress;
mod query;
mod questions;
mod record_output;
mod referee;
mod repertoire;
mod searched;
mod settings;
mod shell;
mod signals;
mod source;
mod threads;
mod tsv;
mod values;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use command::*;
use outcome::{Outcome, exit_code};

use crate::library::sets::Keep;

/// An EPD file, only small and fast: reads EPD and FEN text, keeps positions as compact binary
/// records, finds them by position and writes them back as canonical text.
///
/// Data goes to standard output, everything else to standard error. Exit status: 0 done (repairs
/// included), 1 something was rejected, not found or different, 2 it could not be done.
#[derive(Parser, Debug)]
#[command(name = "epdb", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print errors only: no warnings, no summaries
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    Normalize(normalize::Args),
    #[command(name = "pfdn", about = "normalize with counters as operations: pure EPD")]
    Pfdn(normalize::Args),
    Purge(purge::Args),
    Convert(convert::Args),
    Import(import::Args),
    Export(export::Args),
    Pack(pack::Args),
    Unpack(unpack::Args),
    Get(get::Args),
    Explore(explore::Args),
    Games(command::games::Args),
    Stats(stats::Args),
    Count(count::Args),
    Verify(verify::Args),
    Dump(dump::Args),
    Registers(registers::Args),
    Moves(moves::Args),
    Tfgg(tfgg::Args),
    #[cfg(feature = "server")]
    Serve(serve::Args),
    Shell(command::shell::Args),
    Tally(tally::Args),
    Backsolve(backsolve::Args),
    #[command(alias = "pfga")]
    Analyze(analyze::Args),
    Mate(mate::Args),
    #[command(hide = true, about = "mate as the specification has it: dm is the length given")]
    Pfms(mate::Args),
    #[command(alias = "pfts")]
    Solve(solve::Args),
    Referee(command::referee::Args),
    Report(report::Args),
    Client(client::Args),
    Repertoire(command::repertoire::Args),
    Filter(filter::Args),
    Table(table::Args),
    Join(join::Args),
    Diff(diff::Args),
    #[command(about = "Write the records of all sources, those of one position merged")]
    Union(dedupe::Args),
    #[command(about = "Write the records of the first source that are in all others")]
    Intersect(subtract::Args),
    #[command(about = "Write the records of the first source that are in none of the others")]
    Subtract(subtract::Args),
    #[command(about = "Write each position once, its records merged")]
    Dedupe(dedupe::Args),
    Sort(sort::Args),
    Shuffle(shuffle::Args),
    Sample(sample::Args),
    Head(head::Args),
    Split(split::Args),
    Cat(cat::Args),
    Edit(edit::Args),
    Name(name::Args),
    Play(play::Args),
    Flip(flip::Args),
    Perft(perft::Args),
    Book(book::Args),
    /// Print the completion script of a shell
    #[command(after_help = "Example: epdb completions bash > /etc/bash_completion.d/epdb")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of all commands into a folder
    #[command(after_help = "Example: epdb man /usr/local/share/man/man1")]
    Man {
        /// The folder; it must be there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Show the page of a command, or one of the other pages
    #[command(after_help = "Example: epdb help options")]
    Help {
        /// A command, or one of the pages that `epdb help` lists
        #[arg(value_name = "COMMAND|PAGE")]
        page: Vec<String>,
    },
}

/// Runs the command that the process was called with.
pub fn run() -> ExitCode {
    let args = polyglot_spelling::translated(std::env::args_os().collect());
    let args = command::referee::with_options_first(engines::joined(args));
    let mut cli = help::shortened(Cli::command(), &args);
    let matches = parsed(cli.try_get_matches_from_mut(args));
    let name = called(&cli, &matches).name;
    let Cli { command, quiet } =
        parsed(Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut cli)));
    if quiet {
        message::be_quiet();
    }
    let ready = prepare(&cli, &matches);
    exit_code(ready.and_then(|()| call(command, cli)), &name)
}

/// What was parsed; what cannot be is told, and ends the process.
fn parsed<T>(result: Result<T, clap::Error>) -> T {
    result.unwrap_or_else(|error| {
        let text = error.render().to_string();
        if text.lines().all(|line| !line.contains(char::is_control)) {
            error.exit();
        }
        text.lines().for_each(message::print_line);
        std::process::exit(error.exit_code())
    })
}

/// Makes the process ready for a command, and looks whether the command may be run at all.
fn prepare(cli: &clap::Command, matches: &ArgMatches) -> anyhow::Result<()> {
    signals::install()?;
    let Called { command, given, .. } = called(cli, matches);
    places::check(command, given)
}

/// The command that a command line calls.
struct Called<'c> {
    /// Its words, such as `book list`.
    name: String,
    command: &'c clap::Command,
    /// What it was given.
    given: &'c ArgMatches,
}

fn called<'c>(cli: &'c clap::Command, matches: &'c ArgMatches) -> Called<'c> {
    let mut called = Called { name: String::new(), command: cli, given: matches };
    while let Some((word, given)) = called.given.subcommand()
        && let Some(command) = called.command.find_subcommand(word)
    {
        let name = format!("{} {word}", called.name).trim_start().to_string();
        called = Called { name, command, given };
    }
    called
}

/// Runs a command; `cli` is the command line that it came from.
fn call(command: Command, cli: clap::Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Normalize(args) => normalize::run(&args),
        Command::Pfdn(args) => normalize::run(&args.with_counters_as_operations()),
        Command::Purge(args) => purge::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Unpack(args) => unpack::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Games(args) => command::games::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Registers(args) => registers::run(&args),
        Command::Moves(args) => moves::run(&args),
        Command::Tfgg(args) => tfgg::run(&args),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(&args),
        Command::Shell(args) => command::shell::run(&args),
        Command::Tally(args) => tally::run(&args),
        Command::Backsolve(args) => backsolve::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Mate(args) => mate::run(&args),
        Command::Pfms(args) => mate::run(&args.with_length_for_all()),
        Command::Solve(args) => solve::run(&args),
        Command::Referee(args) => command::referee::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Client(args) => client::run(&args),
        Command::Repertoire(args) => command::repertoire::run(&args),
        Command::Filter(args) => filter::run(&args),
        Command::Table(args) => table::run(&args),
        Command::Join(args) => join::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Union(args) | Command::Dedupe(args) => dedupe::run(&args),
        Command::Intersect(args) => subtract::run(&args, Keep::InAll),
        Command::Subtract(args) => subtract::run(&args, Keep::InNone),
        Command::Sort(args) => sort::run(&args),
        Command::Shuffle(args) => shuffle::run(&args),
        Command::Sample(args) => sample::run(&args),
        Command::Head(args) => head::run(&args),
        Command::Split(args) => split::run(&args),
        Command::Cat(args) => cat::run(&args),
        Command::Edit(args) => edit::run(&args),
        Command::Name(args) => name::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Flip(args) => flip::run(&args),
        Command::Perft(args) => perft::run(&args),
        Command::Book(args) => book::run(&args),
        Command::Completions { shell } => completions(shell),
        Command::Man { folder } => man::run(Cli::command(), &folder),
        Command::Help { page } => help::run(cli, &page),
    }
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "epdb", &mut script);
    let mut output = output::open_output(None)?;
    output.write_all(&script)?;
    output.finish()?;
    Ok(Outcome::Done)
}
