//! Lookups by position.

use std::fmt;
use std::ops::ControlFlow;

use super::Archive;
use super::level::LevelReader;
use crate::blocks::{BlockMatch, BlockMatches};
use crate::error::ArchiveError;
use crate::file::ranges::ArchiveBytes;
use crate::rows::{RowMatches, RowRef};
use epdb_base::threads;
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::{FormatOptions, epd};

impl Archive {
    /// Returns all records of a position, ascending by number. They are found one at a time, so the
    /// first record takes the same time even if there are many. Positions are compared, not only
    /// their keys.
    ///
    /// ```
    /// use epdb_archive::{Archive, ArchiveWriter, PackOptions};
    /// use epdb_chess::model::Position;
    /// # let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
    /// # for clock in 0..3 {
    /// #     let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    /// #     writer.push(&epdb_chess::parse_epd(format!("{fen} {clock} 1").as_bytes())?)?;
    /// # }
    /// let archive = Archive::from_bytes(writer.finish()?)?;
    /// for found in archive.matches(&Position::START) {
    ///     let found = found?;
    ///     println!("{}: {}", found.number(), found.record()?.operations().len());
    /// }
    /// let first = archive.matches(&Position::START).next().transpose()?;
    /// assert_eq!(first.map(|found| found.number()), Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn matches(&self, query: impl Into<Query>) -> Matches<'_> {
        let query = query.into();
        let matches = self.verify_segments().and_then(|()| match &self.level {
            LevelReader::Rows(rows) => rows.matches(&query).map(LevelMatches::Rows),
            LevelReader::Blocks(blocks) => {
                blocks.matches(&query).map(|matches| LevelMatches::Blocks(Box::new(matches)))
            }
        });
        let matches = matches.unwrap_or_else(|error| LevelMatches::Ended(Some(error)));
        Matches { matches, bytes: &self.bytes, lost: self.whole().err() }
    }

    /// Looks up many positions. Calls `visit` with the index of a query and with one of its
    /// records. The records of a query come in ascending order. The order of queries is
    /// unspecified, because it follows the blocks of the archive. So each block is decoded only
    /// once. Several threads may search one archive at the same time.
    ///
    /// ```
    /// use epdb_archive::{Archive, ArchiveError, ArchiveWriter, PackOptions};
    /// use std::ops::ControlFlow;
    /// use epdb_chess::codec::query::Query;
    /// use epdb_chess::{codec::identity, model::Position};
    /// # let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
    /// # writer.push(&epdb_chess::parse_epd(b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")?)?;
    /// # writer.push(&epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";")?)?;
    /// let archive = Archive::from_bytes(writer.finish()?)?;
    /// // Positions, or whatever else becomes a `Query`: text need not become positions first.
    /// let positions = [Position::START];
    /// let lines = [b"4k3/8/8/8/8/8/4P3/4K3 w - - 3 40"];
    /// let identities = lines.iter().filter_map(|line| identity::read_fields(*line));
    /// let queries = positions.iter().map(Query::from).chain(identities.map(Query::from));
    /// let mut found = Vec::new();
    /// archive.get_batch(queries, |query, record| {
    ///     found.push((query, record.number(), epdb_chess::format_epd(&record.record()?)));
    ///     Ok::<_, ArchiveError>(ControlFlow::Continue(()))
    /// })?;
    /// found.sort();
    /// assert_eq!(found[1], (1, 1, b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage. Errors of `visit` end the search and are passed on.
    pub fn get_batch<Q: Into<Query>, E: From<ArchiveError>>(
        &self,
        queries: impl IntoIterator<Item = Q>,
        mut visit: impl FnMut(usize, Match<'_>) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<(), E> {
        self.verify_segments()?;
        let queries = queries.into_iter().map(Q::into);
        self.bytes.intact(match &self.level {
            LevelReader::Rows(rows) => {
                rows.get_batch(queries, &mut |place, row| visit(place, Match(LevelMatch::Row(row))))
            }
            LevelReader::Blocks(blocks) => blocks.get_batch(queries, &mut |place, found| {
                visit(place, Match(LevelMatch::Block(found)))
            }),
        })?;
        Ok(self.whole()?)
    }
}

impl Archive {
    /// Looks up many positions on all threads. Calls `visit` with the index of a query and with one of its
    /// records. Several threads call it at once, and the records come in no order.
    ///
    /// # Errors
    /// The errors of [`Archive::get_batch`].
    pub fn visit_batch<E: From<ArchiveError> + Send>(
        &self,
        queries: &[Query],
        visit: impl Fn(usize, Match<'_>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.verify_segments()?;
        self.bytes.intact(match &self.level {
            LevelReader::Rows(rows) => threads::each_part(queries, |first, queries| {
                rows.get_batch(queries.iter().copied(), &mut |place, row| {
                    visit(first + place, Match(LevelMatch::Row(row))).map(ControlFlow::Continue)
                })
            }),
            LevelReader::Blocks(blocks) => blocks.visit_batch(queries, &|place, found| {
                visit(place, Match(LevelMatch::Block(found)))
            }),
        })?;
        Ok(self.whole()?)
    }

    /// Receives what lookups of these positions read, with few requests, if the archive is read by ranges
    /// ([`Archive::from_ranges`]). The lookups then answer at once.
    ///
    /// # Errors
    /// Damage, and errors of the ranges.
    pub fn prefetch(&self, queries: &[Query]) -> Result<(), ArchiveError> {
        match &self.level {
            LevelReader::Rows(_) => Ok(()),
            LevelReader::Blocks(blocks) => blocks.prefetch(queries),
        }
    }
}

/// The records of a position; see [`Archive::matches`]. After an error there are no more records.
pub struct Matches<'a> {
    matches: LevelMatches<'a>,
    bytes: &'a ArchiveBytes,
    /// The error after the last match, if the header or the end of the file is lost.
    lost: Option<ArchiveError>,
}

impl fmt::Debug for Matches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matches").finish_non_exhaustive()
    }
}

enum LevelMatches<'a> {
    Rows(RowMatches<'a>),
    /// Matches in blocks. They are boxed, because a `BlockMatches` is much larger than a
    /// `RowMatches`.
    Blocks(Box<BlockMatches<'a>>),
    Ended(Option<ArchiveError>),
}

impl<'a> Iterator for Matches<'a> {
    type Item = Result<Match<'a>, ArchiveError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.matches {
            LevelMatches::Rows(rows) => rows.next().map(|next| next.map(LevelMatch::Row)),
            LevelMatches::Blocks(blocks) => blocks.next().map(|next| next.map(LevelMatch::Block)),
            LevelMatches::Ended(error) => Some(Err(error.take()?)),
        };
        // The end counts as an answer too.
        let next = match self.bytes.intact(next.transpose()) {
            Ok(None) => match self.lost.take() {
                Some(lost) => Err(lost),
                None => Ok(None),
            },
            next => next,
        };
        if next.is_err() {
            self.matches = LevelMatches::Ended(None);
        }
        next.transpose().map(|next| next.map(Match))
    }
}

/// A record that was found. It is decoded on demand.
pub struct Match<'a>(LevelMatch<'a>);

impl fmt::Debug for Match<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Match").field("number", &self.number()).finish_non_exhaustive()
    }
}

enum LevelMatch<'a> {
    Row(RowRef<'a>),
    Block(BlockMatch),
}

impl Match<'_> {
    /// The number of the record, counted from 0 in the order of the archive.
    #[inline]
    pub fn number(&self) -> u64 {
        match &self.0 {
            LevelMatch::Row(row) => row.number(),
            LevelMatch::Block(found) => found.number(),
        }
    }

    /// The record.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn record(&self) -> Result<EpdRecord, ArchiveError> {
        match &self.0 {
            LevelMatch::Row(row) => row.record(),
            LevelMatch::Block(found) => found.record(),
        }
    }

    /// The bytes of the record as [`codec::record`](epdb_chess::codec::record) encodes it, if the
    /// archive stores them. The checksum of the bytes was checked, but they were not decoded.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn bytes(&self) -> Result<Option<Vec<u8>>, ArchiveError> {
        match &self.0 {
            LevelMatch::Row(row) => row.bytes(),
            LevelMatch::Block(_) => Ok(None),
        }
    }

    /// Appends the text of the record, without line end. Canonical text is usually made without
    /// decoding the whole record.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    #[inline]
    pub fn write_text(
        &self,
        options: &FormatOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ArchiveError> {
        if *options != FormatOptions::default() {
            epd::format(&self.record()?, options, out);
            return Ok(());
        }
        match &self.0 {
            LevelMatch::Row(row) => row.write_text(out),
            LevelMatch::Block(found) => found.write_text(out),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Mutex;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::{ArchiveWriter, PackOptions};
    use epdb_chess::model::Position;

    const BLOCKS: usize = 50;

    /// An archive of level default; each block has six records of the start position. With these
    /// castling letters its positions are coded by a model, not as text.
    fn archive(index: bool) -> Archive {
        let options = PackOptions { index, block_records: Some(8), ..Default::default() };
        let mut writer = ArchiveWriter::new(Vec::new(), options).unwrap();
        for number in 0..BLOCKS * 8 {
            let line = match number % 4 {
                0 => format!("4k3/8/8/8/8/8/4P3/4K3 w - - id \"{number}\";"),
                _ => format!("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - 0 {number}"),
            };
            writer.push(&epdb_chess::parse_epd(line.as_bytes()).unwrap()).unwrap();
        }
        let archive = Archive::from_bytes(writer.finish().unwrap()).unwrap();
        archive.verify_segments().unwrap();
        decoded(&archive);
        archive
    }

    fn decoded(archive: &Archive) -> usize {
        match &archive.level {
            LevelReader::Rows(_) => 0,
            LevelReader::Blocks(blocks) => blocks.decoded.swap(0, Ordering::Relaxed),
        }
    }

    /// To find the first record, one block is decoded, even if many blocks have records of the
    /// position.
    #[test]
    fn the_first_match_decodes_one_block() {
        for index in [true, false] {
            let archive = archive(index);
            let first = archive.matches(&Position::START).next().unwrap().unwrap();
            assert_eq!((first.number(), first.record().unwrap().counters().1), (1, Some(1)));
            assert_eq!(decoded(&archive), 1);
            assert!(archive.matches(&Position::START).next().is_some());
            assert_eq!(decoded(&archive), 0, "it is kept");
            assert_eq!(archive.matches(&Position::START).count(), BLOCKS * 6);
            assert_eq!(decoded(&archive), BLOCKS - 1);
        }
    }

    /// After the first request, the records of a block are made when the block is decoded.
    #[test]
    fn records_with_operations_are_those_that_were_packed() {
        let line = |number| match number % 4 {
            0 => format!("4k3/8/8/8/8/8/4P3/4K3 w - - id \"{number}\";"),
            _ => format!("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - id \"{number}\";"),
        };
        let mut writer = ArchiveWriter::new(
            Vec::new(),
            PackOptions { block_records: Some(8), ..Default::default() },
        )
        .unwrap();
        for number in 0..BLOCKS * 8 {
            writer.push(&epdb_chess::parse_epd(line(number).as_bytes()).unwrap()).unwrap();
        }
        let archive = Archive::from_bytes(writer.finish().unwrap()).unwrap();
        let text = |found: &Match<'_>| {
            let mut text = Vec::new();
            found.write_text(&FormatOptions::default(), &mut text).unwrap();
            (found.number() as usize, String::from_utf8(text).unwrap())
        };
        let packed = |number: usize| {
            let record = epdb_chess::parse_epd(line(number).as_bytes()).unwrap();
            (number, String::from_utf8(epdb_chess::format_epd(&record)).unwrap())
        };
        let expected: Vec<_> =
            (0..BLOCKS * 8).filter(|number| number % 4 > 0).map(packed).collect();
        let one_by_one = archive.matches(&Position::START).map(|found| text(&found.unwrap()));
        assert!(one_by_one.eq(expected.iter().cloned()));
        let other = epdb_chess::parse_epd(line(0).as_bytes()).unwrap();
        let mut batch = Vec::new();
        let visit = |place, found: Match<'_>| {
            batch.push((place, text(&found)));
            Ok::<ControlFlow<SkipTo>, ArchiveError>(ControlFlow::Continue(()))
        };
        archive.get_batch(&[Position::START, *other.position()], visit).unwrap();
        let place = |number| usize::from(number % 4 == 0);
        assert!(batch.into_iter().eq((0..BLOCKS * 8).map(|it| (place(it), packed(it)))));
    }

    /// Lists of blocks that do not fit into memory together are sorted in parts. The same records are found, on one
    /// thread and on all.
    #[test]
    fn queries_with_more_blocks_than_fit_into_memory_find_all_records() {
        let archive = archive(true);
        let archive = Archive { level: archive.level.with_memory(1 << 16), ..archive };
        let queries = vec![Query::from(&Position::START); 40];
        let expected: Vec<u64> = (0..BLOCKS as u64 * 8).filter(|number| number % 4 > 0).collect();
        let mut found = vec![Vec::new(); queries.len()];
        let visit = |query: usize, record: Match<'_>| {
            found[query].push(record.number());
            Ok::<ControlFlow<SkipTo>, ArchiveError>(ControlFlow::Continue(()))
        };
        archive.get_batch(&queries, visit).unwrap();
        assert!(found.iter().all(|found| *found == expected));
        let found: Vec<Mutex<Vec<u64>>> = queries.iter().map(|_| Mutex::default()).collect();
        let visit = |query: usize, record: Match<'_>| {
            found[query].lock().unwrap().push(record.number());
            Ok::<(), ArchiveError>(())
        };
        archive.visit_batch(&queries, visit).unwrap();
        for found in found {
            let mut found = found.into_inner().unwrap();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
    }

    /// If a visitor wants only one record of each of many queries, one block is decoded, because
    /// the first block is kept.
    #[test]
    fn the_first_matches_of_many_queries_decode_one_block() {
        let other = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - -").unwrap();
        let queries = [Position::START, *other.position()];
        for index in [true, false] {
            let archive = archive(index);
            for (wanted, blocks) in [
                (ControlFlow::Break(SkipTo::NextQuery), 1),
                (ControlFlow::Continue(()), BLOCKS - 1),
            ] {
                let visit = |_, _: Match<'_>| Ok::<ControlFlow<SkipTo>, ArchiveError>(wanted);
                archive.get_batch(&queries, visit).unwrap();
                assert_eq!(decoded(&archive), blocks);
            }
        }
    }
}
