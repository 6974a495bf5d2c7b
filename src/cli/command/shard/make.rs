//! `epdb shard make` and `epdb shard split`: records into a sharded archive.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::cli::args::{ForceArgs, FormArgs, MemoryArgs, ReadArgs};
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::progress::Writing;
use crate::cli::source::{self, Reading};
use crate::cli::terminal::{many, note};
use crate::cli::values::word_of;
use crate::cli::{ledgers, places, values};
use epdb::archive::Level;
use epdb::library::shards::{MANIFEST, ShardBuilder, ShardOptions};
use epdb::library::tally::ledger::LedgerSum;
use epdb::source::{MAX_SHARDS, Manifest, is_address, name_of};

/// Pack files into a sharded archive
///
/// The records are packed as by `epdb pack`, but divided by their pawns and kings, so that most positions of a
/// game are in one shard. Each shard has about equally many records, in the order of the input. The manifest is
/// written last, so a sharded archive appears only when it is complete.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb shard make book.epd --shards 8 -o book
  epdb shard make library.epdb --shards 64 --level fast -o fast")]
pub(crate) struct Args {
    /// Files to pack; none, or `-`, is standard input
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: ShardArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// The sharded archive to write.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct ShardArgs {
    /// Folder, or s3://BUCKET/PREFIX; its manifest.json appears when all shards are complete
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Number of shards; fewer if too many records have the same pawns and kings
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SHARDS)))]
    shards: u32,
    /// Choose between fast access and small archives: fast or default [default: default, or the level
    /// of the archive that is split]
    #[arg(long, value_parser = word_of::<Level>(), value_name = "LEVEL", hide_possible_values = true)]
    level: Option<Level>,
    /// Pack this many records into a block; see `epdb help pack`
    #[arg(long, value_name = "RECORDS", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    block: Option<u32>,
    #[command(flatten)]
    _force: ForceArgs,
}

/// True if a file is named like a shard, `3-of-8-`, or like the games, `games-`: then come sixteen digits of its
/// hash, and `.epa`.
fn is_name_of_shard(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let Some((name, hash)) = name.strip_suffix(".epa").and_then(|name| name.rsplit_once('-'))
    else {
        return false;
    };
    let is_shard =
        name.split_once("-of-").is_some_and(|(one, all)| is_number(one) && is_number(all));
    (is_shard || name == "games")
        && hash.len() == 16
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// More records than this take seconds to be sorted and packed.
const MANY_RECORDS: u64 = 300_000;

impl ShardArgs {
    /// Options of the builder. If no level was given, `level` is used. Refuses a folder that has a manifest,
    /// unless `--force` is given.
    pub(super) fn options(
        &self,
        level: Level,
        memory: &MemoryArgs,
        form: &FormArgs,
    ) -> anyhow::Result<ShardOptions> {
        values::start_threads(form.threads)?;
        let options = ShardOptions::new(self.shards)
            .level(self.level.unwrap_or(level))
            .block_records(self.block)
            .memory_bytes(memory.memory_bytes);
        let manifest = self.manifest();
        if !is_address(&self.output) {
            places::claim(&manifest)?;
            return Ok(options);
        }
        let options = options.at_address(&self.output)?;
        anyhow::ensure!(
            !options.replaces() || places::is_forced(),
            Usage(format!("{} already exists: --force replaces it", manifest.display()))
        );
        Ok(options)
    }

    /// The path of the manifest.
    pub(super) fn manifest(&self) -> PathBuf {
        self.output.join(MANIFEST)
    }

    /// Refuses an address, into which no delta is folded.
    pub(super) fn require_folder(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            !is_address(&self.output),
            Usage("--delta writes into a folder on this machine: upload it afterwards".into())
        );
        Ok(())
    }

    /// Packs the records of files, with the games that these files keep.
    pub(super) fn pack(
        &self,
        files: &[PathBuf],
        read: &ReadArgs,
        options: ShardOptions,
        ledger: Option<LedgerSum>,
    ) -> anyhow::Result<Outcome> {
        let mut diagnostics = Diagnostics::new(&read.form)?;
        diagnostics.comments().follow(CommentOrder::Drop);
        let mut builder = ShardBuilder::new(options, std::env::temp_dir());
        Reading::of(files, read, &mut diagnostics)
            .records(|record, _, _| Ok(builder.push(&record)?))?;
        for file in source::or_stdin(files) {
            if let Some(library) = read.streams.library(file)? {
                library.opened()?.each_kept_game(&mut |_, game| builder.keep_game(game))?;
            }
        }
        let writing = Writing::new("packing", diagnostics.tally.records > MANY_RECORDS);
        let written = builder.finish(&self.output, ledger)?;
        drop(writing);
        let records = many(written.records(), "record");
        let shards = many(written.shards().len() as u64, "shard");
        note!("{}: {records} in {shards}", self.output.display());
        self.note_unused(&written);
        diagnostics.finish()
    }

    /// Reports files of shards and games in the folder that the new manifest does not list. They stay, because
    /// programs may still be reading them.
    fn note_unused(&self, written: &Manifest) {
        let Ok(files) = fs::read_dir(&self.output) else { return };
        let mut unused = 0;
        let mut bytes = 0;
        for file in files.flatten() {
            let name = file.file_name();
            let mut listed = written.shards().iter().map(|shard| &shard.file);
            let games = written.library().map(|library| &library.games.file);
            let is_listed = listed.any(|file| name == file.as_str())
                || games.is_some_and(|file| name == file.as_str());
            if is_listed || !name.to_str().is_some_and(is_name_of_shard) {
                continue;
            }
            unused += 1;
            bytes += file.metadata().map_or(0, |found| found.len());
        }
        if unused > 0 {
            let (folder, shards) = (self.output.display(), many(unused, "file"));
            note!(
                "{folder}: {shards} of earlier manifests ({bytes} bytes): remove them when no program reads them"
            );
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let options = args.output.options(Level::Default, &args.memory, &args.read.form)?;
    let ledger = ledgers::of_records(&args.files, &args.read, true)?;
    args.output.pack(&args.files, &args.read, options, ledger)
}

/// Write a sharded archive with another number of shards
///
/// The records, the games and the origin of a library stay the same. The number of shards may be
/// larger or smaller than before.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb shard split library/manifest.json --shards 64 -o more")]
pub(crate) struct SplitArgs {
    /// Manifest of a sharded archive
    #[arg(value_name = "MANIFEST")]
    file: PathBuf,
    #[command(flatten)]
    output: ShardArgs,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(super) fn split(args: &SplitArgs) -> anyhow::Result<Outcome> {
    let shards = source::sharded(&args.file)?.with_context(|| {
        format!("{} is not the manifest of a sharded archive", name_of(&args.file))
    })?;
    let first = shards.manifest().shards().first();
    let first = first.map(|shard| shards.open(shard)).transpose()?;
    let level = first.map_or(Level::Default, |archive| archive.level());
    let options = args.output.options(level, &args.memory, &args.form)?;
    let (files, read) = ([args.file.clone()], ReadArgs::all(&args.form));
    let ledger = ledgers::of_records(&files, &read, true)?;
    args.output.pack(&files, &read, options, ledger)
}
