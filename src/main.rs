//! The command line tool.

use std::process::ExitCode;

mod cli;

fn main() -> ExitCode {
    cli::run()
}
