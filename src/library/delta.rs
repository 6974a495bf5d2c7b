//! Deltas: stores with the games that a library does not have yet.
//!
//! A library that does not change, the *base*, and its delta answer as one library
//! ([`DeltaPath`]). Games are counted into the delta by [`GameCounting::base`], so that each game
//! counts once. A [`Fold`] adds the games of the delta to the base.
//!
//! [`GameCounting::base`]: super::import::GameCounting::base

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use epdb_base::new_file::NewFile;
use epdb_chess::codec::tally_origin::{DeltaOrigin, GameDigest, GameDigests, GameSet, TallyOrigin};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::{Error, ErrorKind, Result};
use epdb_source::{Collection, DeltaPath, is_folded, name_of, open, other_base, tally_ledger};
use epdb_store::{Store, StoreError, StoreOptions};

/// The library that is the base of a delta.
pub struct DeltaBase {
    pub(super) name: String,
    pub(super) origin: TallyOrigin,
    /// The games of the base; `None` if they are not known.
    games: Option<Collection>,
    /// The games of the part of the delta that is being folded.
    folding: GameDigests,
    /// The games of the base and of that part.
    set: GameSet,
}

impl fmt::Debug for DeltaBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaBase").field("name", &self.name).finish_non_exhaustive()
    }
}

impl DeltaBase {
    /// Opens a base. The games that count already are those of the base, and those of the part of the
    /// delta that is being folded. The store of the delta must be open for writing, so that no fold
    /// begins meanwhile. Searches for games use about `memory_bytes`.
    ///
    /// # Errors
    /// The base is not a library, or cannot be read. The part that is being folded belongs to
    /// another base.
    pub fn read(base: &Path, delta: &Path, memory_bytes: usize) -> Result<DeltaBase> {
        // The part that is being folded may be added to the base at any time, so it is read first.
        let path = DeltaPath::folding(delta);
        let folding = if path.exists() { tally_ledger(&path)? } else { None };
        let name = name_of(base).into_owned();
        let no_library = || Error::new("not a library of tallies").in_source(name.clone());
        let library = open(base)?.library().ok_or_else(no_library)?.open(memory_bytes)?;
        let origin = library.tally_origin()?.ok_or_else(no_library)?;
        let mut set = origin.games.unwrap_or_default();
        if let Some(folding) = &folding {
            let folded = marks(&path, &folding.origin)?;
            is_folded(set, folded).map_err(|error| in_file(error, &path))?;
            set = folded.both;
        }
        Ok(DeltaBase {
            games: origin.games.is_some().then_some(library),
            name,
            origin,
            folding: folding.and_then(|folding| folding.games).unwrap_or_default(),
            set,
        })
    }

    /// The settings with which games are counted, as the library stores them.
    pub fn settings(&self) -> &TallySettings {
        &self.origin.settings
    }

    /// True if it is known which games the base counts.
    pub(super) const fn has_games(&self) -> bool {
        self.games.is_some()
    }

    /// The copy rank with which a game counts; `None` if it does not count.
    pub(super) fn copy_rank(&self, game: &GameDigest) -> Result<Option<u32>> {
        let Some(games) = &self.games else { return Ok(None) };
        Ok(games.copy_rank(game)?.max(self.folding.copy_rank(game)))
    }

    /// The origin of a delta to which games are added. `ledger` is its ledger so far.
    ///
    /// # Errors
    /// The delta was counted against another base, or is a library of its own.
    pub(super) fn origin_of(
        &self,
        delta: &TallyOrigin,
        has_games: bool,
        store: &Path,
    ) -> Result<DeltaOrigin> {
        if !has_games {
            return Ok(DeltaOrigin { base: self.set, both: self.set });
        }
        let origin = marks(store, delta)?;
        if origin.base == self.set {
            Ok(origin)
        } else {
            Err(in_file(other_base(origin.base, self.set), store))
        }
    }
}

/// The games of a delta and of its base.
fn marks(delta: &Path, origin: &TallyOrigin) -> Result<DeltaOrigin> {
    let what =
        "is a library of its own, and not a delta: give `--base` to each import into a delta";
    origin.delta.ok_or_else(|| in_file(Error::new(what), delta))
}

fn in_file(error: Error, path: &Path) -> Error {
    error.in_source(name_of(path))
}

/// The first step of adding a delta to its base.
#[derive(Debug)]
pub enum FoldStep {
    /// The delta has no games.
    Nothing,
    /// An earlier fold was interrupted after it had added the games to the base. It is complete now.
    Completed,
    /// The games have to be added.
    Fold(Fold),
}

/// The fold of a delta into its base. The delta gets another name, [`Fold::path`]. An empty store
/// gets the name of the delta, and imports add games to this store meanwhile.
///
/// A fold that is interrupted is continued by the next one. At all times the base and the delta
/// together count each game once. The manifest of a sharded archive is replaced as a whole, so the
/// base has all games of [`Fold::path`] or none of them.
#[derive(Debug)]
pub struct Fold {
    path: PathBuf,
    origin: DeltaOrigin,
}

/// Maximum number of attempts to begin a fold while another one changes the files.
const MAX_TRIES: usize = 100;

impl Fold {
    /// Begins or continues to fold a delta into a base. `target` is the library that is written.
    ///
    /// # Errors
    /// One of the files is not a library that says which games it counts. The delta was counted
    /// against another base, or `target` is another library than the base. The delta is being written.
    pub fn begin(base: &Path, delta: &Path, target: &Path) -> Result<FoldStep> {
        let mut tried = 0;
        loop {
            let begun = Fold::try_begin(base, delta, target);
            tried += 1;
            match begun {
                // Between two steps of another fold, the delta has neither of its names.
                Err(error) if error.kind() == ErrorKind::NotFound && tried < MAX_TRIES => {
                    if !delta.exists() && !DeltaPath::folding(delta).exists() && tried > 1 {
                        return Err(error);
                    }
                    std::thread::yield_now();
                }
                begun => return begun,
            }
        }
    }

    fn try_begin(base: &Path, delta: &Path, target: &Path) -> Result<FoldStep> {
        let path = DeltaPath::folding(delta);
        if path.exists() {
            // The earlier fold may have ended before it had made the empty store.
            if !delta.exists() {
                publish_empty(empty_store(delta)?)?;
            }
            let fold = Fold { origin: marks(&path, &origin_of(&path)?)?, path };
            if fold.is_in(target)? {
                fold.finish()?;
                return Ok(FoldStep::Completed);
            }
            refuse_other_target(base, target)?;
            fold.refuse_folded(base)?;
            return Ok(FoldStep::Fold(fold));
        }
        refuse_other_target(base, target)?;
        let store = Store::open(delta, &StoreOptions::default())?;
        let Some((origin, games)) = store.reader()?.tally_origin()? else {
            if store.reader()?.is_empty() {
                return Ok(FoldStep::Nothing);
            }
            let what = "only a delta that is a library of tallies is folded into its base";
            return Err(in_file(Error::new(what), delta));
        };
        if games.ok_or_else(|| without_games(delta))? == 0 {
            return Ok(FoldStep::Nothing);
        }
        let fold = Fold { path: delta.to_path_buf(), origin: marks(delta, &origin)? };
        fold.refuse_folded(base)?;
        let empty = empty_store(delta)?;
        // The store is locked until it has the other name, so no import writes to it afterwards.
        fs::rename(delta, &path)?;
        publish_empty(empty)?;
        store.close()?;
        Ok(FoldStep::Fold(Fold { path, ..fold }))
    }

    /// The store with the games that are added to the base.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if a library has the games of the base and of the delta. False if there is no such file.
    ///
    /// # Errors
    /// The file is not a library, or cannot be read.
    pub fn is_in(&self, library: &Path) -> Result<bool> {
        Ok(library.exists() && games_of(library)? == self.origin.both)
    }

    /// Checks the games of the base and of the delta, which were added up.
    ///
    /// # Errors
    /// They are not the games of this fold.
    pub fn check(&self, sum: &TallyOrigin) -> Result<()> {
        if sum.games == Some(self.origin.both) {
            return Ok(());
        }
        let what =
            "the games of the base and of the delta do not add up: damaged, or changed meanwhile";
        Err(in_file(Error::new(what), &self.path))
    }

    /// Refuses a base that has the games already, and a base of another delta.
    fn refuse_folded(&self, base: &Path) -> Result<()> {
        let what = "the base has all of its games already";
        match is_folded(games_of(base)?, self.origin) {
            Ok(false) => Ok(()),
            Ok(true) => Err(in_file(Error::new(what), &self.path)),
            Err(error) => Err(in_file(error, &self.path)),
        }
    }

    /// Ends the fold, after the base has the games.
    ///
    /// # Errors
    /// The store cannot be removed.
    pub fn finish(self) -> Result<()> {
        match fs::remove_file(&self.path) {
            // Another command ended the same fold.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => Ok(removed?),
        }
    }
}

/// An empty store that will get the name of a delta.
fn empty_store(delta: &Path) -> Result<(NewFile, Store)> {
    let new = NewFile::create(delta)?;
    let store = Store::create_in(&new, &StoreOptions { replace: true, ..Default::default() })?;
    new.prepare()?;
    Ok((new, store))
}

/// Gives an empty store the name of the delta, unless an import was faster.
fn publish_empty((new, store): (NewFile, Store)) -> Result<()> {
    match Store::publish(new, &StoreOptions::default()) {
        Err(StoreError::CreatedMeanwhile { .. }) => {}
        published => published?,
    }
    Ok(store.close()?)
}

/// Refuses to replace another library than the base.
fn refuse_other_target(base: &Path, target: &Path) -> Result<()> {
    // A base at an address has no path.
    let is_base = || {
        fs::canonicalize(base).is_ok_and(|base| fs::canonicalize(target).is_ok_and(|it| it == base))
    };
    if !target.exists() || is_base() {
        return Ok(());
    }
    let base = name_of(base);
    let target = target.display();
    Err(Error::new(format!("{target} exists and is not the base {base}: name another folder")))
}

fn origin_of(library: &Path) -> Result<TallyOrigin> {
    let no_library = || in_file(Error::new("not a library"), library);
    let origin = open(library)?.library().ok_or_else(no_library)?.opened()?.tally_origin()?;
    origin.ok_or_else(no_library)
}

fn games_of(library: &Path) -> Result<GameSet> {
    origin_of(library)?.games.ok_or_else(|| without_games(library))
}

fn without_games(library: &Path) -> Error {
    in_file(Error::new("does not record which games it counts"), library)
}
