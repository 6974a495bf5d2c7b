//! The sources that are served, by name: each as it was when it last changed.

mod open;
mod served;

use std::sync::{Arc, PoisonError, RwLock};

use super::settings::SourceSpec;
use crate::error::{Error, Result};

pub(super) use served::Served;

/// The sources that are served.
#[derive(Debug)]
pub(super) struct Sources {
    all: RwLock<Vec<Arc<Served>>>,
}

impl Sources {
    /// Opens all in about so many bytes of memory together.
    pub(super) fn open(specs: &[SourceSpec], memory: usize) -> Result<Sources> {
        for (place, spec) in specs.iter().enumerate() {
            if specs[..place].iter().any(|other| other.name == spec.name) {
                let name = &spec.name;
                return Err(Error::new(format!("two sources are named {name}: say NAME=FILE")));
            }
        }
        let memory = memory / specs.len().max(1);
        let all = specs.iter().map(|spec| Ok(Arc::new(open::open(spec, memory)?)));
        Ok(Sources { all: RwLock::new(all.collect::<Result<_>>()?) })
    }

    /// All, in the order in which they were named.
    pub(super) fn all(&self) -> Vec<Arc<Served>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The one of a name.
    pub(super) fn get(&self, name: &str) -> Option<Arc<Served>> {
        self.all().into_iter().find(|served| served.name() == name)
    }

    /// The one that is meant where none is named.
    pub(super) fn first(&self) -> Option<Arc<Served>> {
        self.all().into_iter().next()
    }
}
