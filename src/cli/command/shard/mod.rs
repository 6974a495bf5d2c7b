//! `epdb shard`: sharded archives.

mod merge;
pub(crate) mod output;
mod slices;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Subcommand;
use serde::Serialize;

use crate::cli::command::{pack, verify};
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::terminal::{many, note};
use epdb_library::shards::{GRACE, Unlisted, remove_unlisted};
use epdb_source::{CollectionFile, Manifest, Shard, ShardedArchive, YoungLayer, name_of, open};

/// Merge and check sharded archives, and cut files into slices for several machines
///
/// A sharded archive is a folder with a manifest (manifest.json) and the archives that it lists. The
/// manifest is a source like any archive: `epdb get`, `explore`, `export`, `serve` and all other
/// commands read all shards, and find a position in the shard that has its pawns and kings. So each archive of a
/// large collection stays small enough to be copied and kept in memory, and a game needs only a few of them.
///
/// A plan cuts files into slices. `epdb tally` and `epdb pack` read a slice into an archive, on any machine, and
/// `epdb shard merge` merges these archives.
#[derive(clap::Args, Clone, Debug)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  epdb pack book.epd --shards 8 -o book
  epdb shard merge 2023.epa 2024.epa --shards 8 -o both
  epdb shard list library/manifest.json
  epdb explore library/manifest.json e4 c5
  epdb shard plan games.pgn --slices 4 -o plan.json
  epdb tally --plan plan.json --slice 3/4 --unique-games -o 3.epa")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    Merge(Box<merge::Args>),
    /// Earlier names of `pack --shards`.
    #[command(hide = true, alias = "split", mut_arg("shards", |arg| arg.required(true)))]
    Make(Box<pack::Args>),
    #[command(about = "Check sharded archives: the hash of every shard, every checksum and record")]
    Verify(verify::Args),
    List(ListArgs),
    Clean(CleanArgs),
    Plan(slices::PlanArgs),
    Games(Box<slices::GamesArgs>),
    Copies(slices::CopiesArgs),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Plan(args) => slices::plan(args),
        Command::Games(args) => slices::games(args),
        Command::Copies(args) => slices::copies(args),
        Command::Make(args) => pack::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Verify(args) => verify::run(args),
        Command::List(args) => list(args),
        Command::Clean(args) => clean(args),
    }
}

/// List the shards of sharded archives: keys, records, bytes, file
///
/// The list is that of the manifest; `epdb shard verify` compares it with the files.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb shard list library/manifest.json")]
pub(crate) struct ListArgs {
    /// Manifests of sharded archives
    #[arg(required = true, value_name = "MANIFEST")]
    files: Vec<PathBuf>,
    /// Print one JSON object per shard, with the fields manifest, first_key, last_key, file, records,
    /// bytes and blake3. The keys of a young layer are null
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed<'a> {
    manifest: &'a str,
    first_key: Option<String>,
    last_key: Option<String>,
    file: &'a str,
    records: u64,
    bytes: u64,
    blake3: &'a str,
}

impl<'s> Listed<'s> {
    /// The shards and then the young layers.
    fn files(shards: &'s ShardedArchive) -> epdb_chess::error::Result<Vec<Listed<'s>>> {
        let manifest = shards.name();
        let of_shard = |shard: &'s Shard| Listed {
            manifest,
            first_key: Some(format!("{:016x}", shard.first_key)),
            last_key: Some(format!("{:016x}", shard.last_key)),
            file: &shard.file,
            records: shard.records,
            bytes: shard.bytes,
            blake3: &shard.blake3,
        };
        let of_layer = |layer: &'s YoungLayer| Listed {
            manifest,
            first_key: None,
            last_key: None,
            file: &layer.file,
            records: layer.records,
            bytes: layer.bytes,
            blake3: &layer.blake3,
        };
        let mut files: Vec<Listed<'s>> = shards.shards()?.into_iter().map(of_shard).collect();
        files.extend(shards.manifest().young_layers().iter().map(of_layer));
        Ok(files)
    }
}

fn list(args: &ListArgs) -> anyhow::Result<Outcome> {
    let mut out = open_output(None)?;
    for path in &args.files {
        let library = open(path)?.library();
        let Some(shards) = library.as_ref().and_then(CollectionFile::manifest) else {
            bail!("{} is not the manifest of a sharded archive", name_of(path));
        };
        let listed = Listed::files(shards)?;
        if args.json {
            listed.iter().try_for_each(|listed| json::line(&mut out, listed))?;
            continue;
        }
        writeln!(out, "{}: {}", shards.name(), summary(shards.manifest()))?;
        writeln!(
            out,
            "{:<16}  {:<16}  {:>14}  {:>16}  file",
            "first key", "last key", "records", "bytes"
        )?;
        for Listed { first_key, last_key, file, records, bytes, .. } in listed {
            let first = first_key.as_deref().unwrap_or("young layer");
            let last = last_key.as_deref().unwrap_or_default();
            writeln!(out, "{first:<16}  {last:<16}  {records:>14}  {bytes:>16}  {file}")?;
        }
    }
    out.finish()?;
    Ok(Outcome::Done)
}

fn summary(manifest: &Manifest) -> String {
    let shards = many(manifest.shard_count(), "shard");
    let young = manifest.young_layers().iter().map(|layer| layer.records).sum::<u64>();
    let records = many(manifest.records() + young, "record");
    let whole = format!("{records} in {shards}, {} bytes", manifest.bytes());
    match manifest.library() {
        None => whole,
        Some(library) => {
            let games = many(library.origin.games(), "game");
            format!("{whole}; a library of {games}, `{}`", library.origin.settings)
        }
    }
}

/// Remove shards that the manifest of their folder does not list
///
/// Writing a sharded archive again leaves the shards of the earlier manifest, because programs may still read
/// them. They are removed when the manifest and the file are older than a day, by this command and whenever a
/// sharded archive is written to the folder.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb shard clean library")]
pub(crate) struct CleanArgs {
    /// Folders of sharded archives
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Remove shards that were left out of the manifest at least N hours ago. With 0, no other program may
    /// read or write the folder
    #[arg(long, value_name = "N", default_value_t = GRACE.as_secs() / 3600)]
    hours: u64,
}

fn clean(args: &CleanArgs) -> anyhow::Result<Outcome> {
    let grace = Duration::from_secs(args.hours.saturating_mul(3600));
    for folder in &args.folders {
        let Unlisted { removed, bytes, kept } = remove_unlisted(folder, grace)?;
        let folder = folder.display();
        let files = many(removed, "file");
        note!("{folder}: {files} removed ({bytes} bytes), {kept} kept because they are too new");
    }
    Ok(Outcome::Done)
}
