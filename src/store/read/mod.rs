//! Reading: snapshots of a store, lookups by position in them, and all records in order.

mod blocks;
mod by_import;
mod by_key;
mod kept_games;
mod lookup;
mod reader;
mod record;

pub use by_import::ByImport;
pub use by_key::ByKey;
pub use lookup::Matches;
pub use reader::{Reader, StoreStats};
pub use record::{EncodedRecord, StoredRecord};
