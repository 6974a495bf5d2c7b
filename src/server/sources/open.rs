//! How a file becomes a source that is served.

use super::served::Served;
use crate::error::Result;
use crate::server::settings::SourceSpec;
use crate::source::{self, OpenLookup};

/// Opens a file in about so many bytes of memory.
pub(super) fn open(spec: &SourceSpec, memory: usize) -> Result<Served> {
    let lookup = OpenLookup::open(&spec.path, memory)?;
    let origin = source::tally_ledger(&spec.path)?.map(|ledger| ledger.origin);
    Ok(Served { name: spec.name.clone(), lookup, origin })
}
