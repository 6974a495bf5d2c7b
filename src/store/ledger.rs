//! The ledger: the origin of the tallies of a store, and the digests of the games that they count.

use redb::{ReadTransaction, ReadableTable, Table, WriteTransaction};
use zerocopy::byteorder::little_endian::{U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{Result, StoreError, damaged, guarded};
use super::read::Reader;
use super::schema::{
    self, BLOCK_PAGE_BYTES, BLOCK_PAGE_OVERHEAD, Digest, GAME_DIGESTS, Meta, ORIGIN_KEY, holds,
};
use epdb_chess::codec::tally_origin::{
    GameCounter, GameDigest, GameDigests, TallyLedger, TallyOrigin,
};

/// Maximum number of digests in a row.
const ROW_DIGESTS: usize = (BLOCK_PAGE_BYTES - BLOCK_PAGE_OVERHEAD) / size_of::<GameDigest>();

/// The bytes before the origin in its row.
#[derive(Copy, Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct OriginHead {
    /// 1 where the digests of the games are kept, else 0.
    keeps_games: u8,
    rows: U64,
    rows_digest: U128,
}

const ROW: &str = "the origin of tallies";
const GAMES: &str = "the digests of games";
const OUT_OF_ORDER: &str = "they are out of order";

impl Reader {
    /// The origin of the tallies of the store, and the games that these tallies count, if they are
    /// known.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn tally_ledger(&self) -> std::result::Result<Option<TallyLedger>, StoreError> {
        guarded(self.path(), || read(self.transaction()?, self.meta()))
    }

    /// The origin of the tallies of the store, with the set of the games whose digests the store has,
    /// and the number of these games, if any. This takes less time than [`Reader::tally_ledger`].
    ///
    /// # Errors
    /// The errors of [`Reader::tally_ledger`].
    pub fn tally_origin(
        &self,
    ) -> std::result::Result<Option<(TallyOrigin, Option<u64>)>, StoreError> {
        guarded(self.path(), || {
            let mut games = GameCounter::default();
            let add = &mut |row: &[u8]| games.add_bytes(row);
            let read = read_rows(self.transaction()?, self.meta(), add)?;
            let Some((mut origin, keeps_games)) = read else { return Ok(None) };
            let games = games.finish().ok_or_else(|| damaged(GAMES, OUT_OF_ORDER))?;
            origin.games = keeps_games.then_some(games);
            let count = origin.games.map(|games| games.games);
            Ok(Some((origin, count)))
        })
    }
}

pub(super) fn read(transaction: &ReadTransaction, meta: &Meta) -> Result<Option<TallyLedger>> {
    let mut games = GameDigests::default();
    let read = read_rows(transaction, meta, &mut |row| games.add_bytes(row))?;
    Ok(read
        .map(|(origin, keeps_games)| TallyLedger { origin, games: keeps_games.then_some(games) }))
}

/// Reads the origin, and calls `add` with each row of digests. `add` returns false if a row is out
/// of order. Returns the origin, and true if the store keeps digests.
fn read_rows(
    transaction: &ReadTransaction,
    meta: &Meta,
    add: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Option<(TallyOrigin, bool)>> {
    let table = transaction.open_table(schema::META)?;
    let Some((head, origin)) = read_origin(&table, meta)? else { return Ok(None) };
    if head.keeps_games == 0 {
        return Ok(Some((origin, false)));
    }
    let mut digest = Digest::default();
    let mut rows = 0_u64;
    for row in transaction.open_table(GAME_DIGESTS)?.range::<u64>(..)? {
        let (number, bytes) = row?;
        if number.value() != rows || bytes.value().is_empty() || !add(bytes.value()) {
            return Err(damaged(GAMES, OUT_OF_ORDER));
        }
        digest.add(Digest::from_game_digests(rows, bytes.value()));
        rows += 1;
    }
    if rows != head.rows.get() || digest.0 != head.rows_digest.get() {
        return Err(damaged(GAMES, "they are not those that the store records"));
    }
    Ok(Some((origin, true)))
}

fn read_origin(
    table: &impl ReadableTable<&'static str, &'static [u8]>,
    meta: &Meta,
) -> Result<Option<(OriginHead, TallyOrigin)>> {
    let Some(row) = table.get(ORIGIN_KEY)? else {
        return if meta.origin_crc == 0 { Ok(None) } else { Err(damaged(ROW, "it is missing")) };
    };
    if !holds(crc32c::crc32c(row.value()), meta.origin_crc) {
        return Err(damaged(ROW, "its checksum does not match"));
    }
    let corrupt = |_| damaged(ROW, "it is too short");
    let (head, origin) = OriginHead::read_from_prefix(row.value()).map_err(corrupt)?;
    let is_sound = match head.keeps_games {
        0 => head.rows.get() == 0 && head.rows_digest.get() == 0,
        flag => flag == 1,
    };
    if !is_sound {
        return Err(damaged(ROW, "its fields on digests contradict each other"));
    }
    let origin = TallyOrigin::from_bytes(origin);
    Ok(Some((head, origin.map_err(|error| damaged(ROW, error.to_string()))?)))
}

/// Change, in a commit, of the origin of tallies and the digests of the counted games.
#[derive(Clone, Debug)]
pub(super) struct LedgerChange {
    pub(super) origin: TallyOrigin,
    /// Digests of games that the store does not have yet. `None` means that the store keeps no
    /// digests, or no longer keeps them.
    pub(super) new_games: Option<Vec<GameDigest>>,
}

impl LedgerChange {
    /// Writes the change in the transaction of a commit and updates the meta row.
    pub(super) fn write(
        self,
        transaction: &WriteTransaction,
        table: &mut Table<'_, &'static str, &'static [u8]>,
        meta: &mut Meta,
    ) -> Result<()> {
        let head = read_origin(table, meta)?.map(|(head, _)| head);
        let mut rows = head.map_or(0, |head| head.rows.get());
        let mut digest = Digest(head.map_or(0, |head| head.rows_digest.get()));
        let keeps_games = self.new_games.is_some();
        match self.new_games {
            Some(new_games) => append(transaction, new_games, &mut rows, &mut digest)?,
            None => {
                transaction.delete_table(GAME_DIGESTS)?;
                rows = 0;
                digest = Digest::default();
            }
        }
        let head = OriginHead {
            keeps_games: u8::from(keeps_games),
            rows: rows.into(),
            rows_digest: digest.0.into(),
        };
        // The rows of digests change with each commit, so a store does not repeat their sum.
        let origin = TallyOrigin { games: None, ..self.origin };
        let row = [head.as_bytes(), &origin.to_bytes()].concat();
        meta.origin_crc = crc32c::crc32c(&row);
        table.insert(ORIGIN_KEY, row.as_slice())?;
        Ok(())
    }
}

/// Appends digests. The last row is filled up before a new row begins.
fn append(
    transaction: &WriteTransaction,
    new_games: Vec<GameDigest>,
    rows: &mut u64,
    digest: &mut Digest,
) -> Result<()> {
    let mut table = transaction.open_table(GAME_DIGESTS)?;
    let mut games = GameDigests::default();
    if let Some(last) = rows.checked_sub(1) {
        let row = table.get(last)?.ok_or_else(|| damaged(GAMES, "a row is missing"))?;
        if row.value().len() < ROW_DIGESTS * size_of::<GameDigest>() {
            digest.remove(Digest::from_game_digests(last, row.value()));
            games.add_bytes(row.value());
            *rows = last;
        }
    }
    for game in new_games {
        games.insert(game);
    }
    for bytes in games.to_bytes().chunks(ROW_DIGESTS * size_of::<GameDigest>()) {
        digest.add(Digest::from_game_digests(*rows, bytes));
        table.insert(*rows, bytes)?;
        *rows += 1;
    }
    Ok(())
}
