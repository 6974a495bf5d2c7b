//! The table of games that the positions of a store list. The key of each row is the hash of its
//! value, which is the game. A row of the meta table holds the number and the digest of the games.

use std::sync::{Mutex, PoisonError};

use redb::{
    ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, Table, WriteTransaction,
};
use zerocopy::byteorder::little_endian::{U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{Result, damaged};
use super::schema::{Digest, KEPT_GAMES, KEPT_GAMES_KEY, META, holds};
use epdb_chess::codec::kept_game;
use epdb_chess::model::GameId;

/// Games that the next commit writes.
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

    /// Approximate memory in bytes.
    pub(super) const fn memory_used(&self) -> usize {
        self.bytes
    }

    /// Writes the games that the store does not have yet, in the transaction of a commit.
    pub(super) fn write(
        &self,
        transaction: &WriteTransaction,
        meta: &mut Table<'_, &'static str, &'static [u8]>,
    ) -> Result<()> {
        if self.games.is_empty() {
            return Ok(());
        }
        let mut announced = GamesSummary::read(meta)?;
        let mut table = transaction.open_table(KEPT_GAMES)?;
        for game in &self.games {
            let id = kept_game::id_of(game);
            let key = key_of(id);
            if let Some(kept) = table.get(key)? {
                kept_game::check_same(id, [kept.value(), game])?;
                continue;
            }
            table.insert(key, game.as_slice())?;
            announced.add(key, game);
        }
        announced.write(meta)
    }

    pub(super) fn clear(&mut self) {
        *self = NewGames::default();
    }
}

/// Number and digest of all games, as stored in the meta table.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct GamesSummary {
    games: u64,
    digest: Digest,
}

/// The bytes of [`GamesSummary`] in its row of the meta table.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct SummaryRow {
    games: U64,
    digest: U128,
    /// CRC32C of the preceding bytes.
    check: U32,
}

const ROW: &str = "the row of kept games";

impl SummaryRow {
    fn crc(&self) -> u32 {
        let bytes = self.as_bytes();
        crc32c::crc32c(&bytes[..bytes.len() - size_of::<U32>()])
    }
}

impl GamesSummary {
    fn read(meta: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<GamesSummary> {
        let Some(row) = meta.get(KEPT_GAMES_KEY)? else { return Ok(GamesSummary::default()) };
        let read = SummaryRow::read_from_bytes(row.value()).ok();
        match read.filter(|row| holds(row.crc(), row.check.get())) {
            Some(row) => {
                Ok(GamesSummary { games: row.games.get(), digest: Digest(row.digest.get()) })
            }
            None => Err(damaged(ROW, "its checksum does not match")),
        }
    }

    fn add(&mut self, key: u64, game: &[u8]) {
        self.games += 1;
        self.digest.add(Digest::from_kept_game(key, game));
    }

    fn write(self, meta: &mut Table<'_, &'static str, &'static [u8]>) -> Result<()> {
        let games = self.games.into();
        let digest = self.digest.0.into();
        let mut row = SummaryRow { games, digest, check: 0.into() };
        row.check = row.crc().into();
        meta.insert(KEPT_GAMES_KEY, row.as_bytes())?;
        Ok(())
    }
}

pub(super) struct KeptGames {
    meta: ReadOnlyTable<&'static str, &'static [u8]>,
    table: Option<ReadOnlyTable<u64, &'static [u8]>>,
    /// True once all games were compared with the summary and matched. The lock is held during the
    /// comparison. So only one reader compares, even if several readers miss a game at the same
    /// time.
    is_whole: Mutex<bool>,
}

impl KeptGames {
    /// Opens the tables; nothing is read yet.
    pub(super) fn open(transaction: &ReadTransaction) -> Result<KeptGames> {
        let table = match transaction.open_table(KEPT_GAMES) {
            Err(redb::TableError::TableDoesNotExist(_)) => None,
            table => Some(table?),
        };
        let meta = transaction.open_table(META)?;
        Ok(KeptGames { meta, table, is_whole: Mutex::new(false) })
    }

    pub(super) fn count(&self) -> Result<u64> {
        let announced = GamesSummary::read(&self.meta)?.games;
        let found = self.table.as_ref().map_or(Ok(0), |table| table.len())?;
        if found == announced {
            return Ok(found);
        }
        Err(damaged(ROW, format!("games recorded: {announced}, found: {found}")))
    }

    /// The bytes of a game, or `None` if the store does not have the game. If rows are missing from
    /// the table, the result is an error instead of `None`.
    pub(super) fn get(&self, id: GameId) -> Result<Option<Vec<u8>>> {
        if let Some(table) = &self.table
            && let Some(row) = table.get(key_of(id))?
        {
            check(key_of(id), row.value())?;
            return Ok(Some(row.value().to_vec()));
        }
        let mut is_whole = self.is_whole.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_whole {
            self.verify(|_| true)?;
            *is_whole = true;
        }
        Ok(None)
    }

    /// Compares all games with the summary, and looks up each one: a wrong key in a page that leads to it
    /// hides a game from lookups, and not from a scan. `is_game` checks the bytes of a game.
    fn verify(&self, is_game: impl Fn(&[u8]) -> bool) -> Result<()> {
        let mut checked = Ok(());
        self.each(&mut |id, game| {
            checked = self.verify_game(id, is_game(game));
            checked.is_ok()
        })?;
        checked
    }

    fn verify_game(&self, id: GameId, is_game: bool) -> Result<()> {
        let key = key_of(id);
        let Some(table) = &self.table else { return Ok(()) };
        if table.get(key)?.is_none() {
            return Err(damaged(place(key), "a wrong key hides it from lookups"));
        }
        if is_game { Ok(()) } else { Err(damaged(place(key), "it is not a game")) }
    }

    /// Calls `visit` with each game, in the order of their IDs, until `visit` returns false. At the
    /// end the games are compared with the summary.
    pub(super) fn each(&self, visit: &mut dyn FnMut(GameId, &[u8]) -> bool) -> Result<()> {
        let announced = GamesSummary::read(&self.meta)?;
        let mut found = GamesSummary::default();
        if let Some(table) = &self.table {
            for row in table.range::<u64>(..)? {
                let (key, game) = row?;
                check(key.value(), game.value())?;
                found.add(key.value(), game.value());
                if !visit(GameId(key.value().to_be_bytes()), game.value()) {
                    return Ok(());
                }
            }
        }
        if found == announced {
            Ok(())
        } else {
            Err(damaged(ROW, "the games are not those that the store records"))
        }
    }
}

pub(super) fn verify(transaction: &ReadTransaction) -> Result<()> {
    KeptGames::open(transaction)?.verify(|game| kept_game::decode(game).is_some())
}

/// Refuses a game whose hash is not its key.
fn check(key: u64, game: &[u8]) -> Result<()> {
    if key_of(kept_game::id_of(game)) == key {
        return Ok(());
    }
    Err(damaged(place(key), "its bytes do not match its id"))
}

fn place(key: u64) -> String {
    format!("kept game {}", GameId(key.to_be_bytes()))
}

/// The key of a game. Keys have the same order as ids.
const fn key_of(id: GameId) -> u64 {
    u64::from_be_bytes(id.0)
}
