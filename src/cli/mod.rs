//! The command line: arguments, one file a command, output, diagnostics. No chess knowledge.

mod args;
mod command;
mod diagnostics;
mod file_format;
mod games;
mod json;
mod outcome;
mod output;
mod pipe;
mod progress;
mod query;
mod read_ahead;
mod record_output;
mod signals;
mod source;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use command::*;
use outcome::{Outcome, exit_code};

use crate::library::sets::Keep;

/// An EPD file, only small and fast: reads EPD and FEN text, keeps positions as compact binary
/// records, finds them by position and writes them back as canonical text.
///
/// Data goes to standard output, everything else to standard error. Exit status: 0 done (repairs
/// included), 1 something was rejected, not found or different, 2 it could not be done.
#[derive(Parser, Debug)]
#[command(name = "epdb", version, arg_required_else_help = true)]
#[command(
    after_help = "The suffix of a file tells its format: .epd .fen .epb .epdb .epa, .pgn and .pgc for \
games, and .gz or .zst behind the text ones.\n`-` is standard input or output. `epdb help COMMAND` shows an example \
of each command."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
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
    Stats(stats::Args),
    Count(count::Args),
    Verify(verify::Args),
    Dump(dump::Args),
    Moves(moves::Args),
    Tfgg(tfgg::Args),
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
    Play(play::Args),
    Flip(flip::Args),
    Perft(perft::Args),
    /// The language of --where (a page to read)
    #[command(long_about = where_page::page())]
    Where,
    /// Print the completion script of a shell
    #[command(after_help = "Example: epdb completions bash > /etc/bash_completion.d/epdb")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Runs the command that the process was called with.
pub fn run() -> ExitCode {
    let Cli { command } = Cli::parse();
    exit_code(signals::install().map_err(Into::into).and_then(|()| run_command(command)))
}

fn run_command(command: Command) -> anyhow::Result<Outcome> {
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
        Command::Stats(args) => stats::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Moves(args) => moves::run(&args),
        Command::Tfgg(args) => tfgg::run(&args),
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
        Command::Play(args) => play::run(&args),
        Command::Flip(args) => flip::run(&args),
        Command::Perft(args) => perft::run(&args),
        Command::Where => where_page::run(),
        Command::Completions { shell } => completions(shell),
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
