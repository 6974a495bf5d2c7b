//! The games of a store that positions list. Each row proves itself: its key is the hash of its value.

use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata, WriteTransaction};

use super::error::{Result, StoreError, damaged, guarded};
use super::read::Reader;
use super::schema::KEPT_GAMES;
use crate::codec::kept_game;
use crate::model::GameId;

/// The games on their way into a store.
#[derive(Debug, Default)]
pub(super) struct NewGames {
    games: Vec<Vec<u8>>,
    bytes: usize,
}

impl NewGames {
    pub(super) fn push(&mut self, game: &[u8]) {
        self.bytes += game.len() + size_of::<Vec<u8>>();
        self.games.push(game.to_vec());
    }

    /// About how many bytes of memory they take.
    pub(super) const fn memory(&self) -> usize {
        self.bytes
    }

    /// Writes them with the records of a commit.
    pub(super) fn write(&self, transaction: &WriteTransaction) -> Result<()> {
        if self.games.is_empty() {
            return Ok(());
        }
        let mut table = transaction.open_table(KEPT_GAMES)?;
        for game in &self.games {
            table.insert(key_of(kept_game::id_of(game)), game.as_slice())?;
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        *self = NewGames::default();
    }
}

/// The table of the games.
pub(super) type KeptGamesTable = ReadOnlyTable<u64, &'static [u8]>;

/// Opens the table, if there is one.
pub(super) fn open(transaction: &ReadTransaction) -> Result<Option<KeptGamesTable>> {
    match transaction.open_table(KEPT_GAMES) {
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        table => Ok(Some(table?)),
    }
}

impl Reader {
    /// How many games are kept for the positions that list them.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn kept_game_count(&self) -> std::result::Result<u64, StoreError> {
        guarded(self.path(), || match self.kept_games() {
            Some(table) => Ok(table.len()?),
            None => Ok(0),
        })
    }

    /// A game that positions list, as [`kept_game`] decodes it; `None` where it is not kept.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn kept_game(&self, id: GameId) -> std::result::Result<Option<Vec<u8>>, StoreError> {
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
        visit: &mut dyn FnMut(GameId, &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
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

/// Checks all games.
pub(super) fn verify(transaction: &ReadTransaction) -> Result<()> {
    let Some(table) = open(transaction)? else { return Ok(()) };
    for row in table.range::<u64>(..)? {
        let (key, game) = row?;
        check(key.value(), game.value())?;
        if kept_game::decode(game.value()).is_none() {
            return Err(damaged(place(key.value()), "it is no game"));
        }
    }
    Ok(())
}

fn check(key: u64, game: &[u8]) -> Result<()> {
    if key_of(kept_game::id_of(game)) == key {
        return Ok(());
    }
    Err(damaged(place(key), "its bytes are not those that its id stands for"))
}

fn place(key: u64) -> String {
    format!("kept game {}", GameId(key.to_be_bytes()))
}

/// Ids ascend as their keys do.
const fn key_of(id: GameId) -> u64 {
    u64::from_be_bytes(id.0)
}
