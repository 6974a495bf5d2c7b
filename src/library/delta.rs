//! Deltas: stores with the games that a library does not have yet.
//!
//! A library that does not change, the *base*, and its delta answer as one library
//! ([`DeltaPath`]). Games are counted into the delta by [`GameCounting::base`], so that each game
//! counts once. A [`Fold`] adds the games of the delta to the base.
//!
//! [`GameCounting::base`]: super::import::GameCounting::base

use std::fs;
use std::path::{Path, PathBuf};

use crate::codec::tally_origin::{GameDigests, TallyLedger};
use crate::error::{Error, Result};
use crate::source::{DeltaPath, each_game, is_folded, name_of, tally_ledger};
use crate::store::{Store, StoreError, StoreOptions};

/// The library that is the base of a delta.
#[derive(Clone, Debug)]
pub struct DeltaBase {
    pub(super) name: String,
    pub(super) ledger: TallyLedger,
}

impl DeltaBase {
    /// Reads the settings of a base, and the games that count already: those of the base, and those
    /// of the part of the delta that is being folded. The store of the delta must be open for
    /// writing, so that no fold begins meanwhile.
    ///
    /// # Errors
    /// The base is not a library, or cannot be read.
    pub fn read(base: &Path, delta: &Path) -> Result<DeltaBase> {
        // The part that is being folded may be added to the base at any time, so it is read first.
        let folding = folding_ledger(delta)?;
        let name = name_of(base).into_owned();
        let no_library = || Error::new("not a library of tallies").in_source(name.clone());
        let mut ledger = tally_ledger(base)?.ok_or_else(no_library)?;
        let folding = folding.and_then(|folding| folding.games);
        if let (Some(games), Some(folding)) = (&mut ledger.games, folding) {
            games.extend(&folding);
        }
        Ok(DeltaBase { name, ledger })
    }

    /// The settings with which games are counted, as the library stores them.
    pub fn settings(&self) -> &str {
        &self.ledger.origin.settings
    }
}

/// The ledger of the part of a delta that is being folded.
fn folding_ledger(delta: &Path) -> Result<Option<TallyLedger>> {
    let folding = DeltaPath::folding(delta);
    match folding.exists() {
        true => tally_ledger(folding),
        false => Ok(None),
    }
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
}

impl Fold {
    /// Begins or continues to fold a delta into a base. `target` is the library that is written.
    ///
    /// # Errors
    /// One of the files is not a library that says which games it counts. The base has some of the
    /// games of the delta, or `target` is another library than the base. The delta is being written.
    pub fn begin(base: &Path, delta: &Path, target: &Path) -> Result<FoldStep> {
        let path = DeltaPath::folding(delta);
        if let Some(folding) = folding_ledger(delta)? {
            let games = games_of(&path, folding)?;
            if target.exists() && has_games(target, &games)? {
                Fold { path }.finish()?;
                return Ok(FoldStep::Completed);
            }
            refuse_other_target(base, target)?;
            return Ok(FoldStep::Fold(Fold { path }));
        }
        refuse_other_target(base, target)?;
        let store = Store::open(delta, &StoreOptions::new())?;
        let Some(ledger) = store.tally_ledger()? else {
            let is_empty = store.reader()?.is_empty();
            let what = "only a delta that is a library of tallies is folded into its base";
            return match is_empty {
                true => Ok(FoldStep::Nothing),
                false => Err(Error::new(what).in_source(delta.display().to_string())),
            };
        };
        let games = games_of(delta, ledger)?;
        if games.is_empty() {
            return Ok(FoldStep::Nothing);
        }
        if has_games(base, &games)? {
            let what =
                "the base counts all of its games: give `--base` to each import into a delta";
            return Err(Error::new(what).in_source(delta.display().to_string()));
        }
        // The store is locked until it has the other name, so no import writes to it afterwards.
        fs::rename(delta, &path)?;
        match Store::create(delta, &StoreOptions::new()) {
            // An import was faster.
            Err(StoreError::Exists { .. } | StoreError::CreatedMeanwhile { .. }) => {}
            created => created?.close()?,
        }
        store.close()?;
        Ok(FoldStep::Fold(Fold { path }))
    }

    /// The store with the games that are added to the base.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the fold, after the base has the games.
    ///
    /// # Errors
    /// The store cannot be removed.
    pub fn finish(self) -> Result<()> {
        Ok(fs::remove_file(&self.path)?)
    }
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
    let (base, target) = (name_of(base), target.display());
    Err(Error::new(format!("{target} exists and is not the base {base}: name another folder")))
}

/// True if a library counts all of these games, false if it counts none of them.
fn has_games(library: &Path, games: &GameDigests) -> Result<bool> {
    is_folded(games, |visit| match each_game(library, visit)? {
        Some((_, true)) => Ok(()),
        Some((_, false)) => Err(without_games(library)),
        None => Err(Error::new("not a library").in_source(name_of(library))),
    })
}

fn games_of(library: &Path, ledger: TallyLedger) -> Result<GameDigests> {
    ledger.games.ok_or_else(|| without_games(library))
}

fn without_games(library: &Path) -> Error {
    let what = "does not record which games it counts";
    Error::new(what).in_source(name_of(library))
}
