//! `epdb verify`: every checksum and every invariant.

use std::path::PathBuf;

use crate::archive::Archive;
use crate::cli::args::{FormArgs, MemoryArgs, ReadArgs, Wanted};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::file_format::FileFormat;
use crate::cli::outcome::Outcome;
use crate::cli::source::{self, Item};
use crate::store::{self, StoreOptions};

/// Check files: every checksum and invariant of streams, stores and archives, every line of text,
/// every record and move of games
///
/// Text is read in the given profile and nothing is written. Exit status 1 when something is
/// wrong.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example: epdb verify book.epdb suite.epb\n         epdb verify --profile strict suite.epd"
)]
pub(crate) struct Args {
    /// Files to check
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.form)?;
    let options = StoreOptions::new().memory_bytes(args.memory.memory);
    let mut sound = true;
    for path in &args.files {
        let format = source::format_of(path, args.form.from)?;
        let before = diagnostics.tally.rejected;
        let mut findings = 0;
        if format == FileFormat::Epdb {
            for finding in store::verify(path, &options)? {
                findings += 1;
                println!("{}: {finding}", path.display());
            }
        } else if format == FileFormat::Epa {
            if let Err(error) = Archive::open(path).and_then(|archive| archive.verify()) {
                findings += 1;
                println!("{}: {error}", path.display());
            }
        } else {
            let file = std::slice::from_ref(path);
            let read = &ReadArgs { wanted: Wanted::default(), form: args.form.clone() };
            let mut any = |_: Item<'_>| Ok(true);
            let whole = &mut |_: &_| Ok(None);
            let read = source::read_with_games(file, read, &mut diagnostics, &mut any, whole);
            match read {
                Err(error) if format == FileFormat::Epb => {
                    findings += 1;
                    println!("{error:#}");
                }
                read => read?,
            }
        }
        let is_sound = findings == 0 && diagnostics.tally.rejected == before;
        sound &= is_sound;
        println!("{}: {}", path.display(), if is_sound { "sound" } else { "not sound" });
    }
    let outcome = diagnostics.finish()?;
    Ok(if sound { outcome } else { Outcome::Different })
}
