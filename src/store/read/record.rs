//! Records as the store has them.

use std::path::Path;

use crate::codec::record;
use crate::model::EpdRecord;
use crate::store::error::{StoreError, damaged};

type Result<T> = std::result::Result<T, StoreError>;

/// A record of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredRecord {
    /// Its place among all records ever imported, from 0.
    pub import_number: u64,
    /// The record.
    pub record: EpdRecord,
}

/// A record of a store, not decoded: that is done when it is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct EncodedRecord<'a> {
    import_number: u64,
    bytes: &'a [u8],
    /// The store, for messages.
    path: &'a Path,
}

impl<'a> EncodedRecord<'a> {
    pub(super) const fn new(import_number: u64, bytes: &'a [u8], path: &'a Path) -> Self {
        EncodedRecord { import_number, bytes, path }
    }

    /// Its place among all records ever imported, from 0.
    pub const fn number(&self) -> u64 {
        self.import_number
    }

    /// The bytes of [`crate::codec::record`].
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The record.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the bytes, whose checksum was right, are none.
    pub fn record(&self) -> Result<EpdRecord> {
        match record::decode(self.bytes) {
            Ok((decoded, len)) if len == self.bytes.len() => Ok(decoded),
            Ok(_) => Err(self.damaged("bytes follow the record".into())),
            Err(error) => Err(self.damaged(error.to_string())),
        }
    }

    /// Appends the canonical text, without line end; mostly no record is made for it.
    ///
    /// # Errors
    /// As [`EncodedRecord::record`].
    pub fn write_text(&self, out: &mut Vec<u8>) -> Result<()> {
        record::write_text(self.bytes, out).map_err(|error| self.damaged(error.to_string()))
    }

    pub(super) fn decode(&self) -> Result<StoredRecord> {
        Ok(StoredRecord { import_number: self.import_number, record: self.record()? })
    }

    fn damaged(&self, what: String) -> StoreError {
        damaged(format!("record {}", self.import_number), what).into_error(self.path)
    }
}
