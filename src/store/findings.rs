//! What verifying finds.

use super::error::{Fault, Result, StoreError};

/// Something that is not as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyFinding {
    /// Where: the table, and in it the block or key.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl std::fmt::Display for VerifyFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// So many findings are enough to know.
const ENOUGH: usize = 1000;

/// Findings, up to a number that is enough.
#[derive(Default)]
pub(super) struct VerifyFindings {
    pub(super) list: Vec<VerifyFinding>,
}

impl VerifyFindings {
    pub(super) fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.list.len() < ENOUGH {
            self.list.push(VerifyFinding { place: place.into(), what: what.into() });
        }
    }

    /// Takes damage that kept a check from going on; any other fault is an error.
    pub(super) fn add_fault(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Damaged { place, what } => {
                self.add(place, what);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Takes what a check found, and damage that kept it from finding more.
    pub(super) fn absorb(
        &mut self,
        checked: std::result::Result<VerifyFindings, StoreError>,
    ) -> std::result::Result<(), StoreError> {
        match checked {
            Ok(findings) => {
                findings.list.into_iter().for_each(|found| self.add(found.place, found.what));
                Ok(())
            }
            Err(StoreError::Damaged { place, what, .. }) => {
                self.add(place, what);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
