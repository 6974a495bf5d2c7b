//! The sharded archive that `epdb pack --shards` and `epdb shard merge` write.

use std::path::PathBuf;

use crate::cli::args::{ForceArgs, FormArgs, MemoryArgs, ReadArgs};
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::job::CommandSink;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::terminal::{many, note};
use crate::cli::values::word_of;
use crate::cli::{ledgers, places, values};
use epdb_archive::Level;
use epdb_library::expression::Expression;
use epdb_library::jobs::{ShardsJob, WrittenShards};
use epdb_library::shards::{MANIFEST, ShardOptions};
use epdb_library::tally::ledger::Allowed;
use epdb_source::{MAX_SHARDS, is_address};

/// The sharded archive to write.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ShardArgs {
    /// Folder, or s3://BUCKET/PREFIX; its manifest.json appears when all shards are complete
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Number of shards; fewer if too many records have the same pawns and kings
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SHARDS)))]
    shards: u32,
    /// Choose between fast access and small archives
    #[arg(long, value_parser = word_of::<Level>(), default_value = "default", value_name = "LEVEL")]
    level: Level,
    /// Pack this many records into a block; see `epdb help pack`
    #[arg(long, value_name = "RECORDS", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    block: Option<u32>,
    #[command(flatten)]
    _force: ForceArgs,
}

/// More records than this take seconds to be sorted and packed.
const MANY_RECORDS: u64 = 300_000;

impl ShardArgs {
    /// The folder `output`, with about this many shards.
    pub(crate) fn new(output: PathBuf, shards: u32, level: Level, block: Option<u32>) -> ShardArgs {
        ShardArgs { output, shards, level, block, _force: ForceArgs::default() }
    }

    /// Options of the builder. Refuses a folder that has a manifest, unless `--force` is given.
    pub(crate) fn options(
        &self,
        memory: &MemoryArgs,
        form: &FormArgs,
    ) -> anyhow::Result<ShardOptions> {
        values::start_threads(form.threads)?;
        let options = ShardOptions {
            level: self.level,
            block_records: self.block,
            memory_bytes: memory.memory_bytes,
            ..ShardOptions::new(self.shards)
        };
        let manifest = self.manifest();
        if !is_address(&self.output) {
            places::claim(&manifest)?;
            return Ok(options);
        }
        let options = options.at_address(&self.output)?;
        anyhow::ensure!(
            !options.has_manifest() || places::is_forced(),
            Usage(format!("{} already exists: --force replaces it", manifest.display()))
        );
        Ok(options)
    }

    /// A job that adds libraries, or joins archives.
    pub(super) fn merging(
        &self,
        files: Vec<PathBuf>,
        read: &ReadArgs,
        options: ShardOptions,
        filter: Option<Expression>,
        allowed: Allowed,
    ) -> anyhow::Result<ShardsJob> {
        let folder = self.output.clone();
        let streams = read.streams.clone();
        let job = ShardsJob::merging(files, folder, options, streams, filter, allowed);
        job.map_err(ledgers::explained)
    }

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
}

/// Writes a sharded archive, and reports it.
pub(crate) fn write(job: ShardsJob, read: &ReadArgs) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&read.form)?;
    diagnostics.comments().follow(CommentOrder::Drop);
    let folder = job.folder.display().to_string();
    let sink = &mut CommandSink::new(read, &mut diagnostics, "packing", MANY_RECORDS);
    let WrittenShards { manifest, unlisted } = job.run(sink)?;
    if unlisted.removed > 0 {
        let files = many(unlisted.removed, "file");
        note!("{folder}: {files} of earlier manifests removed ({} bytes)", unlisted.bytes);
    }
    let records = many(manifest.records(), "record");
    let shards = many(manifest.shard_count(), "shard");
    note!("{folder}: {records} in {shards}");
    if unlisted.kept > 0 {
        let files = many(unlisted.kept, "file");
        note!(
            "{folder}: {files} of earlier manifests may still be read: `epdb shard clean` removes them later"
        );
    }
    diagnostics.finish()
}
