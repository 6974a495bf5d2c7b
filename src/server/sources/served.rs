//! A source as it was when it was opened.

use crate::codec::query::Query;
use crate::codec::tally_origin::TallyOrigin;
use crate::error::Result;
use crate::library::explore;
use crate::model::EpdRecord;
use crate::source::OpenLookup;

/// A source as it was when it was opened.
#[derive(Debug)]
pub(in crate::server) struct Served {
    pub(super) name: String,
    pub(super) lookup: OpenLookup,
    pub(super) origin: Option<TallyOrigin>,
}

impl Served {
    /// What it is asked by.
    pub(in crate::server) fn name(&self) -> &str {
        &self.name
    }

    /// The store or archive that has its records.
    pub(in crate::server) const fn lookup(&self) -> &OpenLookup {
        &self.lookup
    }

    /// How its tallies came to be, where it says so.
    pub(in crate::server) const fn origin(&self) -> Option<&TallyOrigin> {
        self.origin.as_ref()
    }

    /// All records of positions.
    pub(in crate::server) fn records(&self, queries: &[Query]) -> Result<Vec<Vec<EpdRecord>>> {
        explore::records_of(&self.lookup, queries)
    }
}
