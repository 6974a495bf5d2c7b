//! The store that is written.

use epdb::new_file::NewFile;
use epdb::store::{Store, StoreOptions};

/// The store that is written. A new one gets its name with its first commit.
pub(super) struct OpenStore {
    pub(super) store: Store,
    pub(super) new: Option<NewFile>,
}

/// Gives a new store its name.
pub(super) fn publish(new: &mut Option<NewFile>) -> anyhow::Result<()> {
    let options = StoreOptions::new();
    Ok(new.take().map_or(Ok(()), |new| Store::publish(new, &options))?)
}
