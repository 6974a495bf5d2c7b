//! `epdb convert`: any format to any other.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::args::{
    GameWriteArgs, MemoryArgs, OutputArgs, ReadArgs, WriteArgs, written_formats,
};
use crate::cli::command::import;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::{GamePipe, game_format};
use crate::cli::ledgers;
use crate::cli::outcome::Outcome;
use crate::cli::output::check_name;
use crate::cli::record_output::RecordOutput;
use crate::cli::source;
use crate::source::{FileFormat, Item};

/// Convert a file to another format, told by the suffixes of the two names
///
/// Between .epd, .fen, .epb, .epdb and .epa, text also with .gz or .zst; between .pgn and .pgc; and
/// from games, opening books and what lichess publishes to positions (`epdb help sources`). A store that is there already is not touched: use `import` to add to it.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb convert book.epd.zst book.epb
  epdb convert games.pgn games.pgc --ext
  epdb convert games.pgn openings.epd --positions 0..20 --game-openings
  epdb convert lichess_db_eval.jsonl.zst evaluations.epa
  epdb convert sloppy.pgn export.pgn")]
pub(crate) struct Args {
    /// What to read; `-` is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// What to write; `-` is standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The format of OUT where its name does not tell it
    #[arg(long, value_parser = written_formats(), value_name = "FORMAT")]
    to: Option<FileFormat>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    games: GameWriteArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let to = args.to.or_else(|| FileFormat::of_name(&args.output));
    let to = to.with_context(|| {
        format!(
            "the name {} tells no format: give it the suffix .epd, .fen, .epb, .epdb, .epa, .pgn or .pgc, or say --to",
            args.output.display()
        )
    })?;
    if args.output != Path::new("-") {
        check_name(to, &args.output)?;
    }
    if to == FileFormat::Epdb {
        return import::into_new_store(&args.output, &args.input, &args.read, &args.memory);
    }
    if let Some(format) = game_format(to, &args.games) {
        let files = std::slice::from_ref(&args.input);
        let output = Some(args.output.as_path());
        let pipe = GamePipe { files, read: &args.read, format, output };
        return pipe.run(|game, _, output| output.write(game));
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let output = OutputArgs { output: Some(args.output.clone()), to: Some(to) };
    let mut output = RecordOutput::open(&output, &args.write)?;
    let files = std::slice::from_ref(&args.input);
    output.keep_ledger(|| ledgers::of_records(files, &args.read, true))?;
    source::read(files, &args.read, &mut diagnostics, &mut |item| {
        if let Item::Record { record, .. } = item {
            output.write(&record)?;
        }
        Ok(true)
    })?;
    let written = output.finish()?;
    Ok(diagnostics.finish()?.and(written))
}
