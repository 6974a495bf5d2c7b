//! The games that positions list, out of a snapshot of a store.

use super::reader::Reader;
use crate::model::GameId;
use crate::store::error::{StoreError, guarded};

impl Reader {
    /// How many games are kept for the positions that list them.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn kept_game_count(&self) -> Result<u64, StoreError> {
        guarded(self.path(), || self.kept_games().count())
    }

    /// A game that positions list, as [`kept_game`](crate::codec::kept_game) decodes it; `None` where it is not kept.
    /// The first time that a game is not there, all games are read, so that it is not one that damage hides.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn kept_game(&self, id: GameId) -> Result<Option<Vec<u8>>, StoreError> {
        guarded(self.path(), || self.kept_games().get(id))
    }

    /// Hands on all games that are kept, their ids ascending.
    ///
    /// # Errors
    /// As [`Reader::kept_game`], and what `visit` says. [`StoreError::Damaged`] at the end where these
    /// were not all.
    pub fn each_kept_game<E: From<StoreError>>(
        &self,
        visit: &mut impl FnMut(GameId, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut visited = Ok(());
        guarded(self.path(), || {
            self.kept_games().each(&mut |id, game| {
                visited = visit(id, game);
                visited.is_ok()
            })
        })?;
        visited
    }
}
