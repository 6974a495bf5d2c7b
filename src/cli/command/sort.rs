//! `epdb sort`: records in the order of what they say, games in the order of archives.

use anyhow::Context;

use crate::cli::args::{GameWriteArgs, MemoryArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::file_format::FileFormat;
use crate::cli::games::{self, GameFormat};
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{Pipe, each, temporary_directory, write_all};
use crate::cli::record_output::RecordOutput;
use crate::library::field::Subject;
use crate::library::order::{RecordSorter, SortOrder};
use crate::text::WriteOptions;

/// Sort records by fields, or games in the order of archives
///
/// With --by, records: texts are in natural order (WAC.2 before WAC.10), records that lack a field
/// come last, and records that agree in all fields stay in the order of the input. Fields are those
/// of `epdb help where`; `position` brings records of one position together.
///
/// Without --by, games: by date, event, site, round, White, Black, result, moves. Rounds are
/// compared part by part as numbers. The output is PGN in export format, or PGC.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb sort --by id suite.epd
  epdb sort --by=-ce,id analysed.epd
  epdb sort 1991.pgn 1992.pgn -o archive.pgn")]
pub(crate) struct Args {
    /// Fields, the first decides first; a minus sign before a field sorts downwards
    #[arg(long, value_name = "FIELD[,...]", allow_hyphen_values = true)]
    by: Option<SortOrder>,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GameWriteArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.by {
        Some(order) => sort_records(args, order),
        None => sort_games(args),
    }
}

fn sort_records(args: &Args, order: &SortOrder) -> anyhow::Result<Outcome> {
    let Pipe { files, read, write, output } = &args.pipe;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut output = RecordOutput::open(output, write)?;
    let mut sorter = RecordSorter::new(order.clone(), temporary_directory(), args.memory.memory);
    each(files, read, &mut diagnostics, |record, place| {
        let (line, file, forms) = (place.line, &*place.file, WriteOptions::default());
        sorter.add(&Subject { record: &record, line, file, forms })?;
        Ok(true)
    })?;
    write_all(sorter.finish()?, &mut output)?;
    output.finish()?;
    diagnostics.finish()
}

fn sort_games(args: &Args) -> anyhow::Result<Outcome> {
    let Pipe { files, read, output, .. } = &args.pipe;
    let path = output.output.as_deref();
    let format = output.to.or(path.and_then(FileFormat::of_name)).unwrap_or(FileFormat::Pgn);
    let format = GameFormat::new(format, &args.games).context(
        "without --by games are sorted, which become .pgn or .pgc; to sort records, say --by FIELD",
    )?;
    games::sort(files, read, args.memory.memory, &format, path)
}
