//! A *base* and its *delta*. The base is a library that does not change. The delta is a store of the games
//! that came later. Both together answer like one library of all games.
//!
//! `epdb shard merge --delta` folds a delta into its base. First the delta gets another name
//! ([`DeltaPath::folding`]), and an empty store gets the name of the delta. Then the base gets all
//! games, and the file with the other name is removed. Until then there are two deltas.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::codec::record;
use crate::codec::tally_origin::{GameDigest, GameDigests};
use crate::error::{Error, Result};
use crate::model::merge::{MergeRules, Merged, merge};
use crate::new_file::without_secrets;

/// A base and a delta that are read as one source, spelled `BASE+DELTA.epdb`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeltaPath {
    /// An archive, the manifest of a sharded archive, or a store.
    pub base: PathBuf,
    /// The store of the later records.
    pub delta: PathBuf,
}

impl DeltaPath {
    /// The base and the delta that a name spells; `None` for any other name, and if there is no such
    /// delta. If a file has the whole name, the name means this file, and the result is `None`.
    ///
    /// ```
    /// use epdb::source::DeltaPath;
    /// # let folder = tempfile::tempdir()?;
    /// let delta = folder.path().join("today.epdb");
    /// let name = format!("library/manifest.json+{}", delta.display());
    /// assert_eq!(DeltaPath::parse(&name), None);
    /// std::fs::write(&delta, b"")?;
    /// assert_eq!(DeltaPath::parse(&name).map(|it| it.delta), Some(delta));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn parse(name: impl AsRef<Path>) -> Option<DeltaPath> {
        let name = name.as_ref();
        let (base, delta) = name.to_str()?.rsplit_once('+')?;
        let pair = DeltaPath { base: base.into(), delta: delta.into() };
        let is_spelled = !base.is_empty() && delta.ends_with(".epdb");
        let is_there = || pair.deltas().iter().any(|file| file.is_file());
        (is_spelled && !name.exists() && is_there()).then_some(pair)
    }

    /// The name of a delta while it is folded into its base.
    pub fn folding(delta: &Path) -> PathBuf {
        let mut name = delta.as_os_str().to_owned();
        name.push(".folding");
        name.into()
    }

    /// The delta that is being folded, and the delta. At least one of these files exists.
    pub(super) fn deltas(&self) -> [PathBuf; 2] {
        [DeltaPath::folding(&self.delta), self.delta.clone()]
    }

    /// The files that may have the records of a source of this name. The last file is the one that
    /// changes.
    #[cfg(feature = "server")]
    pub(crate) fn files(name: &Path) -> Vec<PathBuf> {
        match DeltaPath::parse(name) {
            None => vec![name.to_path_buf()],
            Some(pair) => [pair.base.clone()].into_iter().chain(pair.deltas()).collect(),
        }
    }
}

/// The error of a base and its delta that are read as a whole.
pub(super) fn only_searched(name: &str) -> Error {
    let what = "a base and its delta are searched by position: to read all records, read each, or fold the \
                delta into the base with `epdb shard merge --delta`";
    Error::new(what).in_source(name.to_string())
}

/// The name of a source in messages, logs and files: its path, or its address without user name,
/// password, query and fragment. These parts may be secrets, such as the signature of a presigned
/// address.
///
/// ```
/// use epdb::source::name_of;
/// use std::path::Path;
/// let address = Path::new("https://user:password@example.org/games.pgn?token=secret");
/// assert_eq!(name_of(address), "https://example.org/games.pgn");
/// assert_eq!(name_of(Path::new("why?.pgn")), "why?.pgn");
/// ```
pub fn name_of(source: &Path) -> Cow<'_, str> {
    let name = source.to_string_lossy();
    if !name.contains("://") {
        return name;
    }
    match DeltaPath::parse(source) {
        Some(DeltaPath { base, delta }) => {
            format!("{}+{}", without_secrets(&base.to_string_lossy()), delta.display()).into()
        }
        None => without_secrets(&name).into(),
    }
}

/// True if the base counts all games of a delta; false if it counts none of them. A game that the
/// delta has with a higher copy rank counts as another game. `each_game` visits the games of the
/// base, which are not kept in memory.
///
/// # Errors
/// The base counts some of the games; errors of `each_game`.
pub(crate) fn is_folded(
    delta: &GameDigests,
    each_game: impl FnOnce(&mut dyn FnMut(&GameDigest) -> Result<()>) -> Result<()>,
) -> Result<bool> {
    let mut counted = 0;
    each_game(&mut |game| {
        counted += usize::from(delta.contains_up_to(game));
        Ok(())
    })?;
    match counted {
        0 => Ok(false),
        all if all == delta.len() => Ok(true),
        some => Err(Error::new(format!(
            "{some} of the {} games of the delta count in the base too: give `--base` to each \
             `epdb import` into a delta",
            delta.len()
        ))),
    }
}

/// Merges two records of a position in their binary form; `None` if they contradict each other.
pub(crate) fn merged_records(one: &[u8], other: &[u8]) -> Result<Option<Vec<u8>>> {
    if let Some(sum) = record::add_tallied(one, other) {
        return Ok(Some(sum));
    }
    let (one, other) = (record::decode(one)?.0, record::decode(other)?.0);
    let Merged::One(merged) = merge(&one, &other, &MergeRules::default()) else { return Ok(None) };
    let mut bytes = Vec::new();
    record::encode(&merged, &mut bytes)?;
    Ok(Some(bytes))
}
