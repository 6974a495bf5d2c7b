//! `epdb count`: a bare number.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::args::ReadArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::note_games;
use crate::cli::json;
use crate::cli::obeyed;
use crate::cli::outcome::Outcome;
use crate::cli::output::print_line;
use crate::cli::source::{self, Reading, Visited};
use epdb_archive::{Archive, Damage};
use epdb_chess::codec::record::PlainRecord;
use epdb_chess::error::{self, Place};
use epdb_chess::model::EpdRecord;
#[cfg(feature = "parquet")]
use epdb_library::column_scan::count_by_columns;
use epdb_source::{CollectionFile, Encode, FileFormat};

/// Print the number of records or games, or (with --positions) of the positions in games
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb count book.epd suite.epdb
  epdb count games.pgn --where 'WhiteElo > 2500 && result == 1'
  epdb count book.epa --where \"iqp(white) and on('n', 'd5')\" --explain")]
pub(crate) struct Args {
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Print a JSON object with one field, `count`
    #[arg(long)]
    json: bool,
    /// Say which terms of --where the position decides before a record is decoded, and the number of
    /// records at each stage
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let are_games = source::are_games(&args.files, &args.read)?;
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let (mut stored, mut games) = (0, 0);
    let mut files = Vec::new();
    for file in source::or_stdin(&args.files) {
        let count = stored_count(file, args)?;
        #[cfg(feature = "parquet")]
        let count = count.map_or_else(|| column_count(file, args), |count| Ok(Some(count)))?;
        match count {
            Some(count) => stored += count,
            None => files.push(file.to_path_buf()),
        }
    }
    if !files.is_empty() {
        Reading::of(&files, &args.read.past_damage(), &mut diagnostics)
            .encode(Arc::new(Nothing))
            .visit_games(|_| {
                games += 1;
                Ok(Visited::Taken)
            })
            .items(|_| Ok(ControlFlow::Continue(())))?;
    }
    let count = stored + diagnostics.tally.records + games;
    if args.json {
        print_line(serde_json::to_string(&json::Count { count })?)?
    } else {
        print_line(count)?
    }
    if are_games {
        note_games(count, diagnostics.games_read());
    }
    if let Some(filter) = args.read.wanted.filter.as_ref().filter(|_| args.explain) {
        diagnostics.explain(filter);
    }
    diagnostics.finish()
}

/// Records that are only counted.
struct Nothing;

impl Encode for Nothing {
    fn encode(&self, _: &EpdRecord, _: &Place, _: &mut Vec<u8>) -> error::Result<()> {
        Ok(())
    }

    fn encode_plain(&self, _: &PlainRecord<'_>, _: &mut Vec<u8>) -> bool {
        true
    }
}

/// The number of records that is stored in an archive or a sharded archive, if all records are counted. The
/// number is checked by decoding a few records.
fn stored_count(file: &Path, args: &Args) -> anyhow::Result<Option<u64>> {
    let ReadArgs { wanted, form, streams, .. } = &args.read;
    if form.from.is_some_and(|from| from != FileFormat::Epa) {
        return Ok(None);
    }
    let library = streams.library(file)?;
    if wanted.filter.is_some() {
        return Ok(None);
    }
    // If the records read are damaged, or the end of the file is missing, the sound records are counted one by one.
    let is_sound = |archive: &Archive| Damage::or_none(archive.verify_samples());
    match library {
        Some(CollectionFile::Shards(shards)) => {
            for shard in shards.shards()? {
                let Ok(archive) = shards.open_cut(shard)? else { return Ok(None) };
                let sound = is_sound(&archive);
                if sound.map_err(|error| shards.failed(&shard.file, error))?.is_none() {
                    return Ok(None);
                }
            }
            Ok(Some(shards.manifest().records()))
        }
        Some(CollectionFile::Archive(local)) => {
            obeyed::check_opened(file, FileFormat::Epa)?;
            let archive = local.cut_archive()?;
            let sound = is_sound(&archive).map_err(|error| local.failed(error))?;
            Ok(sound.map(|()| archive.len()))
        }
        _ => Ok(None),
    }
}

/// The number of records in a Parquet file, if its columns are enough to count them.
#[cfg(feature = "parquet")]
fn column_count(file: &Path, args: &Args) -> anyhow::Result<Option<u64>> {
    if args.explain {
        return Ok(None);
    }
    let filter = args.read.wanted.filter.as_ref();
    let options = args.read.source_options(false);
    let Some(count) = count_by_columns(file, filter, &options)? else { return Ok(None) };
    obeyed::check_opened(file, FileFormat::Parquet)?;
    Ok(Some(count))
}
