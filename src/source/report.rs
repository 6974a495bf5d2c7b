//! Counts of what was read and what was left out, for callers that do not print diagnostics.

use std::collections::BTreeMap;

use super::item::{Item, Summary, rejection};
use epdb_chess::error::{Error, Place};
use epdb_chess::text::{Diagnostic, Severity};

/// Counts of what was read from sources, and of what was left out.
///
/// ```
/// use std::ops::ControlFlow;
/// use epdb_source::{ReadReport, Source, SourceOptions};
/// let lines = b"8/8/8/4k3/8/1K6/8/8 b - - bm Kf9; ce 0;\nno position\n";
/// let mut report = ReadReport::default();
/// let source = Source::from_bytes("a.epd", lines, &SourceOptions::default())?;
/// source.read(&mut |item| {
///     report.take(&item);
///     Ok::<_, epdb_chess::Error>(ControlFlow::Continue(()))
/// })?;
/// assert_eq!(report.rejected, 1);
/// # Ok::<(), epdb_chess::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct ReadReport {
    /// Number of lines and games that were rejected.
    pub rejected: u64,
    /// Number of games that end before an illegal move.
    pub cut_short: u64,
    /// Number of records and games that the filter excludes.
    pub left_out: u64,
    /// Diagnostics by code.
    pub findings: BTreeMap<&'static str, CodeFindings>,
    /// Counts of sources that were read to the end.
    pub summary: Summary,
    reason: Reason,
}

/// The diagnostics with one code.
#[derive(Clone, Debug)]
pub struct CodeFindings {
    /// Their number.
    pub count: u64,
    /// The first one.
    pub first: Diagnostic,
    /// The place of the first one.
    pub place: Place,
}

impl ReadReport {
    /// Counts an item. Returns the error of a line or a game that is rejected.
    pub fn take(&mut self, item: &Item<'_>) -> Option<Error> {
        self.reason.note(item);
        match item {
            Item::Diagnostic { diagnostic, place } => {
                let found = self.findings.entry(diagnostic.code).or_insert_with(|| CodeFindings {
                    count: 0,
                    first: (*diagnostic).clone(),
                    place: (*place).clone(),
                });
                found.count += u64::from(diagnostic.findings);
            }
            Item::Rejected { is_more: false, place, .. } => {
                self.rejected += 1;
                return Some(rejection((*place).clone(), self.reason.take()));
            }
            Item::Game { is_cut_short: true, .. } | Item::CutShort { .. } => self.cut_short += 1,
            Item::LeftOut { .. } => self.left_out += 1,
            Item::LeftOutMany { count, .. } => self.left_out += count,
            _ => {}
        }
        None
    }

    /// Adds the summary of a source that was read.
    pub fn add_summary(&mut self, summary: &Summary) {
        self.summary.add(summary);
    }
}

/// The reason of the next rejection. This is the error that comes before the rejected line or game. If
/// warnings are denied, there may be no error. Then it is the first warning.
#[derive(Clone, Default, Debug)]
pub(super) struct Reason(Option<Diagnostic>);

impl Reason {
    pub(super) fn note(&mut self, item: &Item<'_>) {
        match item {
            Item::Diagnostic { diagnostic, .. } => {
                if self.0.is_none() || diagnostic.severity == Severity::Error {
                    self.0 = Some((*diagnostic).clone());
                }
            }
            Item::Rejected { .. } | Item::Waiting => {}
            _ => self.0 = None,
        }
    }

    pub(super) fn take(&mut self) -> Option<Diagnostic> {
        self.0.take()
    }
}
