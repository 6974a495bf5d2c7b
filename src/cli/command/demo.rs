//! `epdb demo`: a small library that comes with the program.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use crate::cli::args::ForceArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output::print_line;
use crate::cli::places;
use epdb_base::new_file::NewFile;

/// The library: the first 438 rated games of lichess.org of May 2025.
const LIBRARY: &[u8] = include_bytes!("demo.epa");

/// Write a small library that comes with the program, and show it
///
/// It has 438 games that were played on lichess.org on 1 May 2025. They are from https://database.lichess.org, and
/// free for any use (CC0 1.0). The moves of the start position are printed, and what to try next.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb demo")]
pub(crate) struct Args {
    /// File to write
    #[arg(short, long, value_name = "FILE.epa", default_value = "demo.epa")]
    output: PathBuf,
    /// Show the library on a web page, as `epdb serve` does
    #[arg(long)]
    serve: bool,
    #[command(flatten)]
    _force: ForceArgs,
}

/// `execute` runs another command line.
pub(crate) fn run(args: &Args, execute: fn(Vec<OsString>) -> Outcome) -> anyhow::Result<Outcome> {
    let file = args.output.display().to_string();
    if !fs::read(&args.output).is_ok_and(|known| known == LIBRARY) {
        places::claim(&args.output)?;
        let mut output = NewFile::create(&args.output)?;
        std::io::Write::write_all(&mut output, LIBRARY)?;
        output.finish()?;
    }
    let command = if args.serve { "serve" } else { "explore" };
    let words = ["epdb".into(), command.into(), args.output.clone().into_os_string()];
    let outcome = execute(words.to_vec());
    if args.serve {
        return Ok(outcome);
    }
    for line in [
        String::new(),
        format!("{file} has 438 games of lichess.org (CC0). Next:"),
        format!("  epdb serve {file}               the same as a web page"),
        format!("  epdb explore {file} e4 c5       the moves after 1. e4 c5"),
        "  epdb tally games.pgn -o lib.epa   a library of your own games".to_string(),
    ] {
        print_line(&line)?;
    }
    Ok(outcome)
}
