//! The bytes of an archive. It is a file on this machine, or it is read from elsewhere by ranges of
//! bytes.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use elsa::sync::FrozenMap;

use super::bytes::FileBytes;
use crate::error::ArchiveError;

/// Reads ranges of an archive that is not on this machine.
///
/// ```
/// use epdb_archive::{Archive, ArchiveWriter, PackOptions, ReadRanges};
/// use std::{io, ops::Range, sync::Arc};
///
/// #[derive(Debug)]
/// struct Bytes(Vec<u8>);
///
/// impl ReadRanges for Bytes {
///     fn size(&self) -> u64 {
///         self.0.len() as u64
///     }
///
///     fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
///         let read = |range: &Range<u64>| self.0[range.start as usize..range.end as usize].to_vec();
///         Ok(ranges.iter().map(read).collect())
///     }
///
///     fn prefetch(&self, _: &[Range<u64>]) -> io::Result<()> {
///         Ok(())
///     }
/// }
///
/// let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
/// writer.push(&epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
/// let archive = Archive::from_ranges(Arc::new(Bytes(writer.finish()?)))?;
/// assert_eq!(archive.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReadRanges: fmt::Debug + Send + Sync {
    /// Size of the archive in bytes.
    fn size(&self) -> u64;

    /// Reads ranges, and returns them in the same order. They may overlap, and none ends after the
    /// end of the archive. Each result has the length of its range.
    ///
    /// # Errors
    /// A range cannot be read, or the archive was replaced.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>>;

    /// If this reader has a cache, reads ranges into it. [`ReadRanges::read_ranges`] will be called
    /// for them soon.
    ///
    /// # Errors
    /// The errors of [`ReadRanges::read_ranges`].
    fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()>;
}

#[derive(Clone)]
pub(crate) enum ArchiveBytes {
    /// A file on this machine, or bytes in memory.
    Local(Arc<FileBytes>),
    Remote(Arc<RemoteBytes>),
}

/// The bytes of an archive that is read by ranges.
pub(crate) struct RemoteBytes {
    source: Arc<dyn ReadRanges>,
    /// Ranges that stay in memory, such as directories and parts of indexes. The keys are start and
    /// end of a range.
    kept: FrozenMap<(u64, u64), Box<[u8]>>,
}

impl RemoteBytes {
    /// Reads one range, whose end is not after the archive.
    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut read = self.source.read_ranges(std::slice::from_ref(&range))?;
        read.pop().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl ArchiveBytes {
    pub(crate) fn from_ranges(source: Arc<dyn ReadRanges>) -> ArchiveBytes {
        ArchiveBytes::Remote(Arc::new(RemoteBytes { source, kept: FrozenMap::new() }))
    }

    pub(crate) const fn is_remote(&self) -> bool {
        matches!(self, ArchiveBytes::Remote(_))
    }

    /// The file, if it is on this machine.
    pub(crate) const fn local(&self) -> Option<&Arc<FileBytes>> {
        match self {
            ArchiveBytes::Local(bytes) => Some(bytes),
            ArchiveBytes::Remote(_) => None,
        }
    }

    /// The result of reading the archive, or an error if its file was cut off meanwhile.
    #[inline]
    pub(crate) fn intact<T, E: From<ArchiveError>>(&self, result: Result<T, E>) -> Result<T, E> {
        match self {
            ArchiveBytes::Local(file) => file.intact(result),
            ArchiveBytes::Remote(_) => result,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            ArchiveBytes::Local(bytes) => bytes.len() as u64,
            ArchiveBytes::Remote(remote) => remote.source.size(),
        }
    }

    /// The bytes of a range. They stay in memory, so use this function for small parts that are
    /// read often.
    ///
    /// # Errors
    /// The range is not in the archive (the error names `part`), or reading fails.
    #[inline]
    pub(crate) fn get(&self, range: Range<u64>, part: &'static str) -> Result<&[u8], ArchiveError> {
        match self {
            ArchiveBytes::Local(bytes) => local(bytes, &range, part),
            ArchiveBytes::Remote(remote) => {
                let key = (range.start, range.end);
                if let Some(bytes) = remote.kept.get(&key) {
                    return Ok(bytes);
                }
                self.check(&range, part)?;
                Ok(remote.kept.insert(key, remote.read(range)?.into()))
            }
        }
    }

    /// The bytes of a range, which are not kept.
    ///
    /// # Errors
    /// The errors of [`ArchiveBytes::get`].
    pub(crate) fn read(
        &self,
        range: Range<u64>,
        part: &'static str,
    ) -> Result<Cow<'_, [u8]>, ArchiveError> {
        match self {
            ArchiveBytes::Local(bytes) => local(bytes, &range, part).map(Cow::Borrowed),
            ArchiveBytes::Remote(remote) => {
                self.check(&range, part)?;
                Ok(Cow::Owned(remote.read(range)?))
            }
        }
    }

    /// The bytes of ranges, which are read together and not kept.
    ///
    /// # Errors
    /// The errors of [`ArchiveBytes::get`].
    pub(crate) fn read_all(
        &self,
        ranges: &[Range<u64>],
        part: &'static str,
    ) -> Result<Vec<Cow<'_, [u8]>>, ArchiveError> {
        match self {
            ArchiveBytes::Local(bytes) => {
                let borrowed = |range| local(bytes, range, part).map(Cow::Borrowed);
                ranges.iter().map(borrowed).collect()
            }
            ArchiveBytes::Remote(remote) => {
                ranges.iter().try_for_each(|range| self.check(range, part))?;
                Ok(remote.source.read_ranges(ranges)?.into_iter().map(Cow::Owned).collect())
            }
        }
    }

    /// Prefetches ranges that will be read one by one, so that they are received together. This
    /// does nothing for a file on this machine.
    ///
    /// # Errors
    /// Errors of `ranges` and of reading.
    pub(crate) fn prefetch(
        &self,
        ranges: impl FnOnce() -> Result<Vec<Range<u64>>, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let ArchiveBytes::Remote(remote) = self else { return Ok(()) };
        let mut ranges = ranges()?;
        ranges.retain(|range| {
            let is_inside = range.start <= range.end && range.end <= self.size();
            is_inside && remote.kept.get(&(range.start, range.end)).is_none()
        });
        Ok(remote.source.prefetch(&ranges)?)
    }

    fn check(&self, range: &Range<u64>, part: &'static str) -> Result<(), ArchiveError> {
        if range.start <= range.end && range.end <= self.size() {
            Ok(())
        } else {
            Err(ArchiveError::corrupt(part))
        }
    }
}

#[inline]
fn local<'a>(
    bytes: &'a FileBytes,
    range: &Range<u64>,
    part: &'static str,
) -> Result<&'a [u8], ArchiveError> {
    let range = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    range.and_then(|(start, end)| bytes.get(start..end)).ok_or(ArchiveError::corrupt(part))
}

/// Pages in which archives are received from elsewhere.
pub mod pages {
    use std::ops::Range;

    /// Size of a page in bytes.
    pub const PAGE: u64 = 16 << 10;
    /// Maximum number of bytes between two ranges that one request receives together.
    // A first exploration of an archive of 7.5 MB takes at most 23 requests with 64 KiB, 14 with 128 KiB, 8 with
    // 256 KiB and 6 with 512 KiB. It receives at most 3.6, 4.6, 4.7 and 5.1 MB.
    pub const GAP: u64 = 256 << 10;
    /// Maximum size in bytes of a request.
    pub const MAX_REQUEST: u64 = 8 << 20;

    /// The numbers of the pages that have a range.
    pub fn pages_of(range: &Range<u64>) -> Range<u64> {
        if range.is_empty() { 0..0 } else { range.start / PAGE..range.end.div_ceil(PAGE) }
    }

    /// Joins ascending page numbers into ranges. A range may also have other pages between them, at
    /// most `gap` consecutive ones.
    pub fn runs(numbers: &[u64], gap: u64) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for number in numbers {
            let is_near = |run: &&mut Range<u64>| {
                number - run.end <= gap && (number + 1 - run.start) * PAGE <= MAX_REQUEST
            };
            match runs.last_mut().filter(is_near) {
                Some(run) => run.end = number + 1,
                None => runs.push(*number..number + 1),
            }
        }
        runs
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn near_pages_are_received_together() {
            assert_eq!(runs(&[], 4), []);
            assert_eq!(runs(&[3, 4, 9, 15], 4), [3..10, 15..16]);
            assert_eq!(runs(&[3, 4, 9, 15], 0), [3..5, 9..10, 15..16]);
            let all: Vec<u64> = (0..1000).collect();
            assert_eq!(runs(&all, 4), [0..512, 512..1000]);
        }
    }
}
