//! Opens files as sources.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, UnwindSafe, catch_unwind};
use std::path::Path;
use std::time::SystemTime;

use crate::settings::SourceSpec;
use epdb_chess::error::{Error, Result};
use epdb_chess::text::{Diagnostic, Severity, codes};
use epdb_explorer::Served;
use epdb_library::jobs;
use epdb_library::tally::TallyOptions;
use epdb_source::{Collection, Item, Source, SourceOptions, name_of};

/// Opens a file with about `memory_bytes` bytes of memory. Stores and archives are read in place. Games are
/// counted, and everything else is packed into a temporary archive.
pub(super) fn open(spec: &SourceSpec, memory_bytes: usize) -> Result<Served> {
    caught(&spec.path, || open_as_it_is(spec, memory_bytes))
}

/// Opens a source of which a store has a later commit.
pub(super) fn renew(spec: &SourceSpec, served: &Served, memory_bytes: usize) -> Result<Served> {
    let renewed = || {
        let lookup = served.lookup().renewed(memory_bytes)?;
        Served::new(&spec.name, served.format(), lookup, now())
    };
    caught(&spec.path, AssertUnwindSafe(renewed))
}

/// Catches panics, so that one bad file does not stop the watch over the others.
fn caught<T>(path: &Path, work: impl FnOnce() -> Result<T> + UnwindSafe) -> Result<T> {
    let failed = |_| {
        let name = name_of(path);
        Err(Error::new("cannot be opened: epdb failed at it, as the lines above say")
            .in_source(name))
    };
    catch_unwind(work).unwrap_or_else(failed)
}

fn open_as_it_is(spec: &SourceSpec, memory_bytes: usize) -> Result<Served> {
    let source =
        Source::open(&spec.path, &SourceOptions { regular_files: true, ..Default::default() })?;
    let format = source.format();
    let lookup = open_any(source, memory_bytes)?;
    Served::new(&spec.name, format, lookup, now())
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Opens any source. Games are counted with all splits, and kept themselves.
fn open_any(source: Source, memory_bytes: usize) -> Result<Collection> {
    jobs::open(source, TallyOptions::for_explorers(), memory_bytes, |source, take| {
        let name = source.name().to_string();
        let mut findings = Findings::default();
        source.read(&mut |item| {
            findings.note(&item);
            take(item)?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        findings.log(&name);
        Ok(())
    })
}

/// The rejected parts of a text, for the log.
#[derive(Default)]
struct Findings {
    rejected: u64,
    first: Option<String>,
}

impl Findings {
    fn note(&mut self, item: &Item<'_>) {
        match item {
            Item::Rejected { is_more: false, .. } | Item::Game { is_cut_short: true, .. } => {
                self.rejected += 1;
            }
            Item::Diagnostic { diagnostic, place } if is_reason(diagnostic) => {
                self.first.get_or_insert_with(|| format!("{place}:{diagnostic}"));
            }
            _ => {}
        }
    }

    fn log(&self, source: &str) {
        let Findings { rejected, first } = self;
        if *rejected > 0 {
            let first = first.as_deref().unwrap_or_default();
            tracing::warn!(source, rejected, first, "lines or games that cannot be served");
        }
    }
}

/// Whether a diagnostic is the reason why something is not served.
fn is_reason(finding: &Diagnostic) -> bool {
    finding.severity == Severity::Error || finding.code == codes::W_PGN_TRUNCATED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_names_the_file() {
        let caught = caught(Path::new("a.pgn"), || -> Result<()> { panic!("at a move") });
        assert!(
            caught.is_err_and(|error| error.to_string().starts_with("a.pgn: cannot be opened"))
        );
    }
}
