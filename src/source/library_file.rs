//! The ledger and the kept games of a store or an archive.

use super::local::Local;
use crate::archive::ArchiveError;
use crate::codec::tally_origin::TallyLedger;
use crate::error::{Error, Result};
use crate::model::GameId;

/// A store or an archive, whose ledger and games are read without its records.
#[derive(Clone, Debug)]
pub(crate) enum LibraryFile {
    Store(Local),
    Archive(Local),
}

/// The memory of a store that is opened for its ledger or its games, in bytes.
const MEMORY: usize = 1 << 20;

impl LibraryFile {
    /// The origin of the tallies and the games that they count; `None` if the file does not have it.
    ///
    /// # Errors
    /// The file cannot be opened or is damaged.
    pub(crate) fn tally_ledger(&self) -> Result<Option<TallyLedger>> {
        match self {
            LibraryFile::Store(local) => {
                let store = local.store(MEMORY)?;
                store.tally_ledger().map_err(|error| local.failed(error))
            }
            LibraryFile::Archive(local) => {
                let ledger = local.archive()?.tally_ledger();
                ledger.map_err(|error| local.failed(error).in_source(local.name()))
            }
        }
    }

    /// The number of games that it keeps.
    ///
    /// # Errors
    /// As [`LibraryFile::tally_ledger`].
    pub(super) fn kept_game_count(&self) -> Result<u64> {
        match self {
            LibraryFile::Store(local) => {
                let store = local.store(MEMORY)?;
                let reader = store.reader().map_err(|error| local.failed(error))?;
                reader.kept_game_count().map_err(|error| local.failed(error))
            }
            LibraryFile::Archive(local) => {
                let count = local.archive()?.kept_game_count();
                count.map_err(|error| local.failed(error).in_source(local.name()))
            }
        }
    }

    /// Calls `visit` with each game that it keeps for the positions that list the game, the ids ascending.
    ///
    /// # Errors
    /// As [`LibraryFile::tally_ledger`], and those of `visit`.
    pub(crate) fn each_kept_game(
        &self,
        visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        match self {
            LibraryFile::Store(local) => {
                let store = local.store(MEMORY)?;
                let reader = store.reader().map_err(|error| local.failed(error))?;
                reader.each_kept_game(&mut |id, game| visit(id, game))
            }
            LibraryFile::Archive(local) => {
                let read = local
                    .archive()?
                    .each_kept_game(&mut |id, game| visit(id, game).map_err(VisitError::Visit));
                read.map_err(|error| match error {
                    VisitError::Archive(error) => local.failed(error).in_source(local.name()),
                    VisitError::Visit(error) => error,
                })
            }
        }
    }
}

/// An error of the archive, or of whoever takes its games.
enum VisitError {
    Archive(ArchiveError),
    Visit(Error),
}

impl From<ArchiveError> for VisitError {
    fn from(error: ArchiveError) -> VisitError {
        VisitError::Archive(error)
    }
}
