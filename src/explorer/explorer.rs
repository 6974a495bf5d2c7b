//! The sources of the explorer, and its answers.

use std::sync::Arc;

use serde::Serialize;

use crate::{Refusal, Served};
use epdb_chess::error::Error;
use epdb_library::names::Names;

/// The sources of the answers, in one state.
#[derive(Clone, Debug)]
pub struct Explorer {
    /// The sources; the first is the default.
    pub sources: Vec<Arc<Served>>,
    /// The version of the sources, which increases with each change.
    pub changes: u64,
    /// Names of openings.
    pub names: Arc<Names>,
    /// True if a filter by which a library is not split is refused.
    pub strict: bool,
}

/// An answer, and the parts of the query that were not applied.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer as JSON.
    pub json: String,
    /// Filters that were not applied because the library is not split by them.
    pub not_split: Vec<&'static str>,
    /// The number of records that were read, if the position has more of them.
    pub cut_after: Option<usize>,
}

impl Answer {
    pub(crate) fn new(value: &impl Serialize) -> Result<Answer, Refusal> {
        let json = serde_json::to_string(value).map_err(Error::from_cause)?;
        Ok(Answer { json, not_split: Vec::new(), cut_after: None })
    }
}

impl Explorer {
    /// The source with this name, or the first source if no name is given.
    ///
    /// # Errors
    /// There is no such source.
    pub fn source(&self, name: Option<&str>) -> Result<&Arc<Served>, Refusal> {
        let Some(name) = name else {
            return self
                .sources
                .first()
                .ok_or_else(|| Refusal::NotFound("there is no source".into()));
        };
        self.named(name).ok_or_else(|| {
            let names: Vec<&str> = self.sources.iter().map(|it| it.name()).collect();
            Refusal::NotFound(format!("no source is named {name}: there are {}", names.join(", ")))
        })
    }

    /// The source with this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Served>> {
        self.sources.iter().find(|served| served.name() == name)
    }
}
