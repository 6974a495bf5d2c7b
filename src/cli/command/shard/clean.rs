//! `epdb shard clean`: removes the files of earlier manifests.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::outcome::Outcome;
use crate::cli::terminal::{many, note};
use epdb::library::shards::{GRACE, Unlisted, remove_unlisted};

/// Remove shards that the manifest of their folder does not list
///
/// Writing a sharded archive again leaves the shards of the earlier manifest, because programs may still read
/// them. They are removed when the manifest and the file are older than a day, by this command and whenever a
/// sharded archive is written to the folder.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb shard clean library")]
pub(crate) struct Args {
    /// Folders of sharded archives
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Remove shards that were left out of the manifest at least N hours ago. With 0, no other program may
    /// read or write the folder
    #[arg(long, value_name = "N", default_value_t = GRACE.as_secs() / 3600)]
    hours: u64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let grace = Duration::from_secs(args.hours.saturating_mul(3600));
    for folder in &args.folders {
        let Unlisted { removed, bytes, kept } = remove_unlisted(folder, grace)?;
        let (folder, files) = (folder.display(), many(removed, "file"));
        note!("{folder}: {files} removed ({bytes} bytes), {kept} kept because they are too new");
    }
    Ok(Outcome::Done)
}
