//! The command line tool.

use std::process::ExitCode;

fn main() -> ExitCode {
    epdb::cli::run()
}
