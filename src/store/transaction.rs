//! Transactions: how they begin, and what of the store's header is believed.

use std::fs;
use std::path::Path;

use redb::{Database, ReadTransaction, ReadableTableMetadata, WriteTransaction};

use super::error::{Fault, Result};
use super::schema::{self, Access, Meta, RowCounts, StoreHeader};

/// Begins a transaction whose commit survives everything, and after which a store that was not
/// closed is opened at once, for reading only too.
pub(super) fn begin_write(database: &Database) -> Result<WriteTransaction> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(redb::Durability::Immediate)?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

pub(super) fn read_header(transaction: &ReadTransaction, access: Access) -> Result<StoreHeader> {
    match transaction.open_table(schema::META) {
        Err(redb::TableError::TableDoesNotExist(_)) => Err(Fault::NoMeta),
        table => StoreHeader::read(&table?, access),
    }
}

/// Holds what the meta row says against the tables' numbers of rows and the length of the file.
pub(super) fn check_claims(transaction: &ReadTransaction, meta: &Meta, path: &Path) -> Result<()> {
    let file_bytes = fs::metadata(path).map_err(redb::StorageError::Io)?.len();
    let rows = RowCounts {
        blocks: transaction.open_table(schema::BLOCKS)?.len()?,
        chunks: transaction.open_table(schema::CROWDED)?.len()?,
        imports: transaction.open_table(schema::IMPORTS)?.len()?,
    };
    meta.check_claims(&rows, file_bytes)
}
