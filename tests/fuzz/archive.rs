//! Invariants of reading arbitrary bytes as an archive, for the fuzz target and for tests with `seeds`.
//!
//! No panic, no endless loop, and no memory beyond the limits of `formats/notes/writers.md`, in every way of reading.
//! Fuzzing treats all checksums as valid.

use std::ops::ControlFlow;

use epdb_archive::{Archive, ArchiveError};
use epdb_chess::codec::query::SkipTo;
use epdb_chess::model::GameId;
use epdb_chess::text::{FormatOptions, epd};

/// Records that are read one by one.
const FEW: u64 = 40;
/// More records than this are not read all.
const MANY: u64 = 1 << 12;

/// Bytes as an archive.
pub(crate) fn archive(bytes: &[u8]) {
    let Ok(archive) = Archive::from_bytes(bytes.to_vec()) else { return };
    archive.parts();
    let few = archive.len().min(FEW);
    for number in (0..few).chain([archive.len().saturating_sub(1), archive.len()]) {
        let Ok(record) = archive.record(number) else { continue };
        let mut line = Vec::new();
        epd::format(&record, &FormatOptions::default(), &mut line);
        archive.matches(record.position()).take_while(Result::is_ok).for_each(drop);
        let queries = [record.position(), record.position()];
        let _ = archive.get_batch(queries, |_, found| {
            found.write_text(&FormatOptions::default(), &mut line)?;
            found.record()?;
            Ok::<ControlFlow<SkipTo>, ArchiveError>(ControlFlow::Continue(()))
        });
    }
    let _ = archive.write_text(0..few, &mut Vec::new());
    if archive.len() <= MANY {
        let _ = archive.column_bytes();
        let _ = archive.restore(|_| Ok::<(), ArchiveError>(()));
        let _ = archive.kept_game(GameId::default());
        let _ = archive.each_kept_game(&mut |_, _| Ok::<(), ArchiveError>(()));
        let _ = archive.verify();
        archive.iter(0..archive.len()).take_while(Result::is_ok).for_each(drop);
    }
}
