//! Requests that lookups in object storage need.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::pages::{GAP, MAX_REQUEST, PAGE, pages_of, runs};
use crate::archive::{Archive, ReadRanges};
use crate::error::Result;

/// Number of lookups that are measured.
const MEASURED: u64 = 64;

/// Requests that a lookup in an archive in object storage needs.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct LookupCosts {
    /// Number of requests for opening an archive.
    pub opening: f64,
    /// Number of requests for a lookup that shares no page with another.
    pub requests: f64,
    /// Size of these requests together.
    pub bytes: f64,
}

impl LookupCosts {
    /// Counts the requests of lookups of records that are spread over an archive. No server is needed.
    ///
    /// # Errors
    /// The file cannot be read, or it is no archive of level default or max.
    pub fn measure(archive: &Path) -> Result<LookupCosts> {
        let reader =
            Arc::new(CountingReader { bytes: std::fs::read(archive)?, pages: Mutex::default() });
        let open = || Archive::from_ranges(Arc::clone(&reader) as _);
        let mut costs = LookupCosts::default();
        let archive = open()?;
        let measured = archive.len().min(MEASURED);
        for nth in 0..measured {
            let record = archive.record(nth * archive.len() / measured)?;
            reader.take_pages();
            let archive = open()?;
            let opening = reader.take_pages();
            for found in archive.matches(record.position()) {
                found?.record()?;
            }
            let pages = reader.take_pages();
            let received: Vec<u64> = pages.difference(&opening).copied().collect();
            let opening: Vec<u64> = opening.into_iter().collect();
            costs.opening += runs(&opening, GAP / PAGE).len() as f64 / measured as f64;
            costs.requests += runs(&received, GAP / PAGE).len() as f64 / measured as f64;
            costs.bytes += (received.len() as u64 * PAGE) as f64 / measured as f64;
        }
        // A small sample is received when it is opened, a large library is not.
        let (requests, bytes) = (costs.requests.max(1.0), costs.bytes.max(PAGE as f64));
        Ok(LookupCosts { requests, bytes, ..costs })
    }

    /// Predicts the requests of one batch of lookups in a sharded archive. Requests that are near each
    /// other in a file become one.
    pub fn of_batch(&self, lookups: f64, shards: f64, bytes: f64) -> f64 {
        const MANIFEST: f64 = 1.0;
        let requests = lookups * self.requests;
        let near = (lookups * self.bytes + requests * GAP as f64) / bytes.max(1.0);
        let apart = requests * (-near).exp();
        let together = bytes * (1.0 - (-near).exp()) / MAX_REQUEST as f64;
        MANIFEST + self.opening * shards.min(lookups) + apart.max(together)
    }
}

/// An archive in memory that notes the pages that are read.
#[derive(Debug)]
struct CountingReader {
    bytes: Vec<u8>,
    pages: Mutex<BTreeSet<u64>>,
}

impl CountingReader {
    fn take_pages(&self) -> BTreeSet<u64> {
        std::mem::take(&mut *self.pages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ReadRanges for CountingReader {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.extend(ranges.iter().flat_map(pages_of));
        let read = |range: &Range<u64>| {
            let bytes = self.bytes.get(range.start as usize..range.end as usize);
            bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        };
        ranges.iter().map(read).collect()
    }

    fn prefetch(&self, _: &[Range<u64>]) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_in_a_large_archive_share_no_request() {
        let costs = LookupCosts { opening: 3.0, requests: 5.0, bytes: 500_000.0 };
        assert_eq!(costs.of_batch(1000.0, 4.0, 1e15).round(), 1.0 + 12.0 + 5000.0);
        assert_eq!(costs.of_batch(10.0, 64.0, 1e15).round(), 1.0 + 30.0 + 50.0);
    }

    #[test]
    fn a_small_archive_is_received_by_the_largest_requests() {
        let costs = LookupCosts { opening: 3.0, requests: 5.0, bytes: 500_000.0 };
        assert_eq!(costs.of_batch(1e6, 1.0, 80.0 * f64::from(1 << 20)).round(), 1.0 + 3.0 + 10.0);
    }
}
