//! A *base* and its *delta*. The base is a library that does not change. The delta is a store of the games
//! that came later. Both together answer like one library of all games.
//!
//! `epdb shard merge --delta` folds a delta into its base. First the delta gets another name
//! ([`DeltaPath::folding`]), and an empty store gets the name of the delta. Then the base gets all
//! games, and the file with the other name is removed. Until then there are two deltas.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use epdb_base::new_file::without_secrets;
use epdb_chess::codec::record;
use epdb_chess::codec::tally_origin::{DeltaOrigin, GameSet};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::merge::{MergeRules, Merged, merge};

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
    /// use epdb_source::DeltaPath;
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
        let text = name.to_str().filter(|text| text.ends_with(".epdb"))?;
        if name.exists() {
            return None;
        }
        // Folders may have a `+` in their names, so each one is tried, the last one first.
        let mut pairs = text.rmatch_indices('+').map(|(place, _)| DeltaPath {
            base: text[..place].into(),
            delta: text[place + 1..].into(),
        });
        pairs.find(|DeltaPath { base, delta }| {
            let is_there = delta.is_file() || DeltaPath::folding(delta).is_file();
            is_there && !base.as_os_str().is_empty()
        })
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

    /// The files of the base, which may itself be a base and its delta, and then
    /// `DeltaPath::deltas`. The last file is the one that changes.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = DeltaPath::files_of(&self.base);
        files.extend(self.deltas());
        files
    }

    /// The files that may have the records of a source of this name.
    pub fn files_of(name: &Path) -> Vec<PathBuf> {
        match DeltaPath::parse(name) {
            None => vec![name.to_path_buf()],
            Some(pair) => pair.files(),
        }
    }
}

/// The name of a source in messages, logs and files: its path, or its address without user name,
/// password, query and fragment. These parts may be secrets, such as the signature of a presigned
/// address.
///
/// ```
/// use epdb_source::name_of;
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

/// The error for a delta that was counted against another library than `base`.
pub fn other_base(delta: GameSet, base: GameSet) -> Error {
    let games = |set: GameSet| match set.games {
        1 => "1 game".to_string(),
        count => format!("{count} games"),
    };
    Error::new(if delta.games == base.games {
        format!("is the delta of another library of {}", games(delta))
    } else {
        format!(
            "is the delta of a library of {}, and the base has {}: games would count twice or be missing",
            games(delta),
            games(base)
        )
    })
}

/// True if a base has the games of a delta that is being folded into it; false if it has none of
/// them yet.
///
/// # Errors
/// The delta was counted against another base.
pub fn is_folded(base: GameSet, folding: DeltaOrigin) -> Result<bool> {
    match base {
        base if base == folding.both => Ok(true),
        base if base == folding.base => Ok(false),
        base => Err(other_base(folding.base, base)),
    }
}

/// Merges two records of a position in their binary form; `None` if they contradict each other.
pub fn merged_records(one: &[u8], other: &[u8]) -> Result<Option<Vec<u8>>> {
    if let Some(sum) = record::add_tallied(one, other) {
        return Ok(Some(sum));
    }
    let one = record::decode(one)?.0;
    let other = record::decode(other)?.0;
    let Merged::One(merged) = merge(&one, &other, &MergeRules::default()) else { return Ok(None) };
    let mut bytes = Vec::new();
    record::encode(&merged, &mut bytes)?;
    Ok(Some(bytes))
}
