//! The games that positions list, out of a snapshot of a store.

use redb::ReadableTableMetadata;

use super::reader::Reader;
use crate::model::GameId;
use crate::store::error::{StoreError, guarded};
use crate::store::kept_games::{check, key_of};

impl Reader {
    /// How many games are kept for the positions that list them.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn kept_game_count(&self) -> Result<u64, StoreError> {
        guarded(self.path(), || match self.kept_games() {
            Some(table) => Ok(table.len()?),
            None => Ok(0),
        })
    }

    /// A game that positions list, as [`kept_game`](crate::codec::kept_game) decodes it; `None` where it is not kept.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn kept_game(&self, id: GameId) -> Result<Option<Vec<u8>>, StoreError> {
        guarded(self.path(), || {
            let Some(table) = self.kept_games() else { return Ok(None) };
            let Some(row) = table.get(key_of(id))? else { return Ok(None) };
            check(key_of(id), row.value())?;
            Ok(Some(row.value().to_vec()))
        })
    }

    /// Hands on all games that are kept, their ids ascending.
    ///
    /// # Errors
    /// As [`Reader::kept_game`], and what `visit` says.
    pub fn each_kept_game<E: From<StoreError>>(
        &self,
        visit: &mut impl FnMut(GameId, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut visited = Ok(());
        guarded(self.path(), || {
            let Some(table) = self.kept_games() else { return Ok(()) };
            for row in table.range::<u64>(..)? {
                let (key, game) = row?;
                check(key.value(), game.value())?;
                visited = visit(GameId(key.value().to_be_bytes()), game.value());
                if visited.is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        visited
    }
}
