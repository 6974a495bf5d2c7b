//! Reading archives: opening, listing parts, restoring verbatim input, and verifying.

mod level;
mod lookup;
mod records;
mod segments;

pub use lookup::{Match, Matches};
pub use records::ArchiveRecords;

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use zerocopy::FromBytes;

use super::Level;
use super::about::About;
use super::blocks::BlockReader;
use super::damage::DamagedPart;
use super::error::{ArchiveError, Refusal};
use super::file::bytes::FileBytes;
use super::file::heads::{self, Heads};
use super::file::ranges::{ArchiveBytes, ReadRanges};
use super::file::sections::{Section, SectionEntry, SectionKind, SectionTable, at_most};
use super::file::{Checked, Footer, Header, SORTED, SegmentEntry};
use super::game_digests::{self, GameDigestsSection};
use super::kept_games::KeptGamesSection;
use super::rows::{IndexSections, RowReader};
use super::verbatim::{self, Restored, SalvagedFile};
use epdb_base::threads;
use epdb_chess::codec::kept_game;
use epdb_chess::codec::tally_origin::{GameDigest, GameSet, TallyLedger, TallyOrigin};
use epdb_chess::model::{EpdRecord, GameId};
use level::LevelReader;
use segments::Segments;

/// Default memory for reading, in bytes.
const DEFAULT_MEMORY: usize = 256 << 20;
/// Maximum number of bytes of an origin of tallies that this reader takes.
const MAX_ORIGIN: u64 = 16 << 20;
/// Minimum memory for reading, in bytes.
const MIN_MEMORY: usize = 16 << 20;

/// An archive, open for reading.
///
/// Opening reads the header, the footer and about 130 bytes for each segment of about a million
/// records. Everything else is read and checked when it is needed. An archive can be shared between
/// threads, and its file between processes.
pub struct Archive {
    bytes: ArchiveBytes,
    footer: Footer,
    sections: SectionTable,
    /// Identity that the checksums of the index and of the side data cover.
    identity: u32,
    level: LevelReader,
    /// Approximate memory for reading, in bytes.
    memory_bytes: usize,
    /// The header or the end, if it is missing or damaged.
    lost: Option<LostPart>,
    /// True if the header has the id of the footer, or after some records of each segment were compared with
    /// the index and the tables.
    has_own_records: AtomicBool,
    /// The table of the digests of games, once it was read.
    digests: OnceLock<GameDigestsSection>,
}

/// The header or the end of a file, which cannot be read.
struct LostPart {
    /// The header, the footer, or the end with the tables.
    part: DamagedPart,
    /// The bytes of the part. Of an end without tables, those that belong to no segment that was found.
    bytes: Range<u64>,
    error: ArchiveError,
}

impl LostPart {
    fn error(&self) -> ArchiveError {
        match self.error {
            ArchiveError::Corrupt { part, number } => ArchiveError::Corrupt { part, number },
            ArchiveError::Truncated(what) => ArchiveError::Truncated(what),
            _ => ArchiveError::corrupt("end of the file"),
        }
    }
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive")
            .field("level", &self.level())
            .field("records", &self.len())
            .field("memory", &self.memory_bytes)
            .finish_non_exhaustive()
    }
}

impl Archive {
    /// Opens a file.
    ///
    /// The file is mapped into memory. If another process truncates the file while it is open,
    /// reading returns [`ArchiveError::CutOff`]. For this, a handler of the signal SIGBUS is
    /// installed on Linux, Android and macOS. On other Unix systems, such a read ends this process.
    /// If another process writes into the file, checksums fail. epdb does neither of these.
    ///
    /// # Errors
    /// [`ArchiveError`] if the file cannot be read, is not an archive, has a later version, or is
    /// truncated or damaged in the parts that are read here.
    pub fn open(path: impl AsRef<Path>) -> Result<Archive, ArchiveError> {
        let bytes = ArchiveBytes::Local(Arc::new(FileBytes::open(path.as_ref())?));
        bytes.intact(Archive::new(bytes.clone()))
    }

    /// Reads an archive by ranges of bytes, from any place. Directories stay in memory, and so do
    /// the parts of the index that were searched.
    ///
    /// # Errors
    /// The errors of [`Archive::open`], and [`ArchiveError::NeedsFile`] for an archive of level fast.
    pub fn from_ranges(source: Arc<dyn ReadRanges>) -> Result<Archive, ArchiveError> {
        Archive::new(ArchiveBytes::from_ranges(source))
    }

    /// Reads an archive that is in memory.
    ///
    /// # Errors
    /// The errors of [`Archive::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Archive, ArchiveError> {
        Archive::new(ArchiveBytes::Local(Arc::new(FileBytes::Owned(bytes))))
    }

    fn new(bytes: ArchiveBytes) -> Result<Archive, ArchiveError> {
        threads::claim_global_pool();
        prefetch_ends(&bytes)?;
        let id = Header::check(&bytes)?;
        let footer = *Footer::parse(&bytes)?;
        if id.is_some_and(|id| id != footer.id) {
            return Err(ArchiveError::corrupt("header or footer, which are of two files"));
        }
        let sections = SectionTable::read(&bytes, &footer)?;
        let mut archive = Archive::of_tables(bytes, footer, sections)?;
        archive.has_own_records = AtomicBool::new(id.is_some() || archive.bytes.is_remote());
        Ok(archive)
    }

    /// An archive with this section table.
    fn of_tables(
        bytes: ArchiveBytes,
        footer: Footer,
        sections: SectionTable,
    ) -> Result<Archive, ArchiveError> {
        let has = |kind| sections.file_section(kind).is_some();
        let is_fast = has(SectionKind::RecordIndex) || has(SectionKind::RowDirectory);
        let segments = Segments::read(&bytes, &sections, is_fast)?;
        if footer.records.get() != segments.records() {
            return Err(ArchiveError::corrupt("footer"));
        }
        let is_sorted = footer.flags.get() & SORTED != 0;
        let own_index = match segments {
            Segments::Rows(_) if is_sorted => SectionKind::RowDirectory,
            Segments::Rows(_) => SectionKind::RecordIndex,
            Segments::Blocks(_) => SectionKind::BlockIndex,
        };
        let has_other_index =
            [SectionKind::BlockIndex, SectionKind::RecordIndex, SectionKind::RowDirectory]
                .into_iter()
                .any(|kind| kind != own_index && has(kind));
        let has_stray_digests = has(SectionKind::GameDigests) && !has(SectionKind::TallyOrigin);
        let has_stray_guide = has(SectionKind::RowGuide) && !has(SectionKind::RowDirectory);
        let has_stray_lists = has(SectionKind::Lists) && !has(SectionKind::RecordIndex);
        let has_half_verbatim = has(SectionKind::FileNames) != has(SectionKind::SideData);
        if has_other_index
            || has_half_verbatim
            || has_stray_digests
            || has_stray_guide
            || has_stray_lists
        {
            return Err(ArchiveError::corrupt("section table"));
        }
        let index = sections.file_section(own_index);
        Archive::of_parts(bytes, footer, sections, segments, index)
    }

    /// An archive with these tables and this index.
    fn of_parts(
        bytes: ArchiveBytes,
        footer: Footer,
        sections: SectionTable,
        segments: Segments,
        index: Option<Section>,
    ) -> Result<Archive, ArchiveError> {
        let table = sections.file_section(SectionKind::SegmentTable).unwrap_or_default();
        let identity = table.check;
        let memory_bytes = DEFAULT_MEMORY;
        let level = match segments {
            Segments::Rows(segments) => {
                let file = bytes.local().ok_or(ArchiveError::NeedsFile)?;
                if file.len() <= memory_bytes {
                    file.prefer_huge_pages();
                }
                let lists = sections.file_section(SectionKind::Lists).unwrap_or_default();
                let guide = sections.file_section(SectionKind::RowGuide);
                let index = index.map(|lines| match footer.flags.get() & SORTED {
                    0 => IndexSections::Lines { lines, lists },
                    _ => IndexSections::Directory { lines, guide },
                });
                LevelReader::Rows(RowReader::new(Arc::clone(file), segments, index, identity)?)
            }
            Segments::Blocks(segments) => {
                let file = bytes.clone();
                LevelReader::Blocks(BlockReader::new(file, segments, index, identity, memory_bytes))
            }
        };
        Ok(Archive {
            bytes,
            footer,
            sections,
            identity,
            level,
            memory_bytes,
            lost: None,
            has_own_records: AtomicBool::new(true),
            digests: OnceLock::new(),
        })
    }

    /// Opens a file for what is left of it. If its header or its footer is damaged, everything else is read.
    /// If its tables are missing or damaged, the segments are found by their heads, up to the first that is
    /// missing. The last of them may be cut off. Then reading of all records, lookups, [`Archive::salvage`] and
    /// [`Archive::verify`] report the part that is lost after what was found.
    ///
    /// # Errors
    /// The errors of [`Archive::open`], if no record is left.
    pub fn open_cut(path: impl AsRef<Path>) -> Result<Archive, ArchiveError> {
        let bytes = ArchiveBytes::Local(Arc::new(FileBytes::open(path.as_ref())?));
        let opened = Archive::new(bytes.clone());
        bytes.intact(opened.or_else(|error| Archive::of_rest(bytes.clone(), error)))
    }

    /// Opens the rest of a file that cannot be opened as a whole because of an error.
    fn of_rest(bytes: ArchiveBytes, error: ArchiveError) -> Result<Archive, ArchiveError> {
        match Header::check(&bytes) {
            Err(_) => Archive::without_header(bytes, error),
            Ok(id) if error.is_damage() => {
                let heads = Heads::find(&bytes)?;
                let end = heads.lost(&bytes);
                let table = id.map(|id| SectionTable::find(&bytes, end, id)).transpose()?;
                match table.flatten() {
                    Some((table, place)) => {
                        Archive::without_footer(bytes, heads, table, place, error)
                    }
                    None => Archive::of_heads(bytes, heads, error),
                }
            }
            Ok(_) => Err(error),
        }
    }

    /// An archive whose footer shows that the header is damaged.
    fn without_header(bytes: ArchiveBytes, error: ArchiveError) -> Result<Archive, ArchiveError> {
        let Ok(footer) = Footer::parse(&bytes) else { return Err(error) };
        let footer = *footer;
        let sections = SectionTable::read(&bytes, &footer)?;
        let lost = Some(LostPart {
            part: DamagedPart::Header,
            bytes: 0..size_of::<Header>() as u64,
            error: ArchiveError::corrupt(Header::PART),
        });
        let has_own_records = AtomicBool::new(false);
        Ok(Archive { lost, has_own_records, ..Archive::of_tables(bytes, footer, sections)? })
    }

    /// An archive whose section table is at this place, and belongs to the header.
    fn without_footer(
        bytes: ArchiveBytes,
        heads: Heads,
        sections: SectionTable,
        place: Range<u64>,
        error: ArchiveError,
    ) -> Result<Archive, ArchiveError> {
        let Ok(segments) = Segments::read(&bytes, &sections, false) else {
            return Archive::of_heads(bytes, heads, error);
        };
        let flags = match sections.file_section(SectionKind::RowDirectory) {
            Some(_) => SORTED,
            None => 0,
        };
        let count = sections.each().count() as u32;
        let table = bytes.read(place.clone(), "section table")?;
        let footer = Footer::new(place.end, segments.records(), flags, &table, count);
        let lost =
            Some(LostPart { part: DamagedPart::Footer, bytes: place.end..bytes.size(), error });
        drop(table);
        Ok(Archive { lost, ..Archive::of_tables(bytes, footer, sections)? })
    }

    fn of_heads(
        bytes: ArchiveBytes,
        heads: Heads,
        error: ArchiveError,
    ) -> Result<Archive, ArchiveError> {
        let segments = Segments::of_heads(&bytes, &heads)?;
        let records = segments.records();
        if records == 0 {
            return Err(error);
        }
        let footer = Footer::new(bytes.size(), records, 0, &[], 0);
        let lost = Some(LostPart { part: DamagedPart::End, bytes: heads.lost(&bytes), error });
        Ok(Archive { lost, ..Archive::of_parts(bytes, footer, heads.table()?, segments, None)? })
    }

    /// True if the header or the end of the file is lost; see [`Archive::open_cut`].
    pub const fn is_cut(&self) -> bool {
        self.lost.is_some()
    }

    /// Reports that the header or the end of the file is lost.
    fn whole(&self) -> Result<(), ArchiveError> {
        self.lost.as_ref().map_or(Ok(()), |lost| Err(lost.error()))
    }

    /// Sets the approximate memory for reading in bytes, not counting the results. The default is
    /// 256 MiB, and the minimum is 16 MiB. Archives that need more are refused with
    /// [`ArchiveError::MemoryExceeded`]; most archives need a few MiB.
    #[must_use]
    pub fn memory_bytes(self, memory_bytes: usize) -> Archive {
        let memory_bytes = memory_bytes.max(MIN_MEMORY);
        Archive { memory_bytes, level: self.level.with_memory(memory_bytes), ..self }
    }

    /// Number of records.
    pub fn len(&self) -> u64 {
        self.footer.records.get()
    }

    /// True if the archive has no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.size()
    }

    /// Checksum of the footer. It covers the checksums of all sections. So archives of equal size
    /// and equal fingerprint have the same content, except by chance.
    pub fn fingerprint(&self) -> u32 {
        self.footer.check()
    }

    /// True if the archive is read by ranges of bytes.
    pub const fn is_remote(&self) -> bool {
        self.bytes.is_remote()
    }

    /// The level at which the archive was packed.
    pub fn level(&self) -> Level {
        self.level.level()
    }

    /// True if positions are found without reading the whole archive.
    pub fn has_index(&self) -> bool {
        self.level.has_index()
    }

    /// True if the records are not in the order of the input.
    pub fn is_sorted(&self) -> bool {
        self.footer.flags.get() & SORTED != 0
    }

    /// Checks once that the records belong to the index and the tables, if the header has no id. If a
    /// disk lost the end of the file, the end of an older archive may be in its place. The checksums
    /// of that end are right, so only this check refuses it. Some records of each segment are read,
    /// about 16 in all. Lookups, kept games and the tally ledger make this check before their first
    /// answer.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    #[inline]
    fn verify_segments(&self) -> Result<(), ArchiveError> {
        if self.has_own_records.load(Ordering::Relaxed) {
            Ok(())
        } else {
            self.verify_segments_now()
        }
    }

    #[cold]
    fn verify_segments_now(&self) -> Result<(), ArchiveError> {
        let is_strict = false;
        self.bytes.intact(self.level.verify_segments(is_strict))?;
        self.has_own_records.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Reads some records of each segment, about 16 in all.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] if one of them is damaged. The end of the file is missing.
    pub fn verify_samples(&self) -> Result<(), ArchiveError> {
        let is_strict = true;
        self.bytes.intact(self.level.verify_segments(is_strict))?;
        self.whole()
    }

    /// Facts about the data, and the program that wrote the archive.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn about(&self) -> Result<About, ArchiveError> {
        let kind = SectionKind::About;
        let Some(section) = self.sections.file_section(kind) else { return Ok(About::default()) };
        let bytes = section.checked(&self.bytes, kind.name());
        let about = bytes
            .and_then(|bytes| About::from_bytes(&bytes).ok_or(ArchiveError::corrupt(kind.name())));
        self.bytes.intact(about)
    }

    /// True if the archive is a library: it records the origin of its tallies.
    pub fn is_library(&self) -> bool {
        self.sections.file_section(SectionKind::TallyOrigin).is_some()
    }

    /// Reads the ledger: the origin of the tallies in the records and, if the archive keeps them, the
    /// digests of the games that the tallies count. `None` if the archive is not a library.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn tally_ledger(&self) -> Result<Option<TallyLedger>, ArchiveError> {
        TallyLedger::collect(|insert| self.each_game(&mut |game| insert(game)))
    }

    /// The origin of the tallies in the records, and the number of games whose digests the archive keeps.
    /// The number is `None` if the archive keeps no digests. This takes less time than
    /// [`Archive::tally_ledger`].
    ///
    /// # Errors
    /// The errors of [`Archive::tally_ledger`].
    pub fn tally_origin(&self) -> Result<Option<(TallyOrigin, Option<u64>)>, ArchiveError> {
        if !self.is_library() {
            return Ok(None);
        }
        self.verify_segments()?;
        let Some(mut origin) = self.origin_section()? else { return Ok(None) };
        if origin.games.is_none() && self.sections.file_section(SectionKind::GameDigests).is_some()
        {
            origin.games = Some(self.sum_of_digests()?);
        }
        let games = origin.games.map(|games| games.games);
        Ok(Some((origin, games)))
    }

    /// The games whose digests the archive has, which are read for this.
    fn sum_of_digests(&self) -> Result<GameSet, ArchiveError> {
        let mut games = GameSet::default();
        self.each_game::<ArchiveError>(&mut |game| {
            games.add(game);
            Ok(())
        })?;
        Ok(games)
    }

    /// Finds a game that the tallies count, and returns its digest with the copy rank that counts. This reads
    /// the table of the digests once, and about a thousand digests.
    ///
    /// # Errors
    /// The errors of [`Archive::tally_ledger`].
    pub fn counted_game(&self, wanted: &GameDigest) -> Result<Option<GameDigest>, ArchiveError> {
        let Some(digests) = self.digests()? else { return Ok(None) };
        self.verify_segments()?;
        self.bytes.intact(digests.get(&self.bytes, wanted))
    }

    /// Visits the digests of the games that the tallies count, in ascending order. Returns the
    /// origin of the tallies, and true if the archive keeps digests. `None` if the archive is not a
    /// library.
    ///
    /// # Errors
    /// The errors of [`Archive::tally_ledger`], and errors of `visit`.
    pub fn each_game<E: From<ArchiveError>>(
        &self,
        visit: &mut impl FnMut(&GameDigest) -> Result<(), E>,
    ) -> Result<Option<(TallyOrigin, bool)>, E> {
        self.verify_segments()?;
        self.bytes.intact(self.visit_games(visit))
    }

    fn visit_games<E: From<ArchiveError>>(
        &self,
        visit: &mut impl FnMut(&GameDigest) -> Result<(), E>,
    ) -> Result<Option<(TallyOrigin, bool)>, E> {
        let Some(origin) = self.origin_section()? else { return Ok(None) };
        let digests = self.digests()?;
        digests.map(|digests| digests.each(&self.bytes, visit)).transpose()?;
        Ok(Some((origin, digests.is_some())))
    }

    /// The section of the digests of games. `None` if there is no such section.
    fn digests(&self) -> Result<Option<&GameDigestsSection>, ArchiveError> {
        let Some(section) = self.sections.file_section(SectionKind::GameDigests) else {
            return Ok(None);
        };
        if let Some(digests) = self.digests.get() {
            return Ok(Some(digests));
        }
        let digests = GameDigestsSection::read(&self.bytes, section)?;
        Ok(Some(self.digests.get_or_init(|| digests)))
    }

    fn origin_section(&self) -> Result<Option<TallyOrigin>, ArchiveError> {
        let corrupt = || ArchiveError::corrupt(SectionKind::TallyOrigin.name());
        let Some(section) = self.sections.file_section(SectionKind::TallyOrigin) else {
            return Ok(None);
        };
        at_most("bytes of an origin of tallies", section.len, MAX_ORIGIN)?;
        let bytes = section.checked(&self.bytes, SectionKind::TallyOrigin.name())?;
        let origin = TallyOrigin::from_bytes(&bytes).map_err(|_| corrupt())?;
        if let Some(GameSet { games, .. }) = origin.games {
            let digests = self.sections.file_section(SectionKind::GameDigests);
            if digests.is_none_or(|digests| Some(digests.len) != game_digests::len_of(games)) {
                return Err(corrupt());
            }
        }
        Ok(Some(origin))
    }

    /// The section of kept games; its content is not checked. `None` if there is no such section.
    fn kept_games(&self) -> Result<Option<KeptGamesSection<'_>>, ArchiveError> {
        let Some(section) = self.sections.file_section(SectionKind::KeptGames) else {
            return Ok(None);
        };
        KeptGamesSection::read(&self.bytes, section, self.memory_bytes).map(Some)
    }

    /// Number of games that the archive keeps because positions list them.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn kept_game_count(&self) -> Result<u64, ArchiveError> {
        self.verify_segments()?;
        let games = self.bytes.intact(self.kept_games())?;
        Ok(games.map_or(0, |games| games.len()))
    }

    /// Reads a game that is listed in records of positions; [`kept_game`](epdb_chess::codec::kept_game) decodes the bytes.
    /// `None` if the archive does not keep the game.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage, [`ArchiveError::MemoryExceeded`].
    pub fn kept_game(&self, id: GameId) -> Result<Option<Vec<u8>>, ArchiveError> {
        self.verify_segments()?;
        let game = self.kept_games().and_then(|games| match games {
            Some(games) => games.get(id),
            None => Ok(None),
        });
        self.bytes.intact(game)
    }

    /// Receives together what reading these games and about the first `first` ones needs, if the archive is read by
    /// ranges ([`Archive::from_ranges`]).
    ///
    /// # Errors
    /// Damage, and errors of the ranges.
    pub fn prefetch_games(&self, ids: &[GameId], first: u64) -> Result<(), ArchiveError> {
        self.kept_games()?.map_or(Ok(()), |games| games.prefetch(ids, first))
    }

    /// Visits all games that the archive keeps, in ascending order of their ids.
    ///
    /// # Errors
    /// The errors of [`Archive::kept_game`]. Errors of `visit` are passed on.
    pub fn each_kept_game<E: From<ArchiveError>>(
        &self,
        visit: &mut impl FnMut(GameId, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.verify_segments()?;
        let Some(games) = self.bytes.intact(self.kept_games())? else { return Ok(()) };
        self.bytes.intact(games.each(&mut |id, game| {
            // The game may be zeros in place of a part of the file that was cut off.
            self.bytes.intact::<_, ArchiveError>(Ok(()))?;
            visit(id, game)
        }))
    }

    /// The record with this number, counted from 0 in the order of the archive.
    ///
    /// # Errors
    /// [`ArchiveError::NoRecord`] past the end; [`ArchiveError::Corrupt`] for damage.
    pub fn record(&self, number: u64) -> Result<EpdRecord, ArchiveError> {
        self.bytes.intact(self.level.record(number))
    }
}

/// Number of bytes at the end of the position index that are received when an archive is opened.
const INDEX_END: u64 = 64 << 10;

/// Prefetches the parts that are read when an archive is opened, and by every lookup: the header, the
/// segment table, and the end of the position index, which has the places of all its parts.
fn prefetch_ends(bytes: &ArchiveBytes) -> Result<(), ArchiveError> {
    bytes.prefetch(|| {
        let footer = Footer::parse(bytes);
        let sections = footer.and_then(|footer| SectionTable::read(bytes, footer));
        let mut ranges = Vec::new();
        ranges.push(0..size_of::<Header>() as u64);
        // An error is found again, and reported, when the parts are read one by one.
        let Ok(sections) = sections else { return Ok(ranges) };
        ranges.extend(sections.file_section(SectionKind::SegmentTable).map(|it| it.range()));
        if let Some(index) = sections.file_section(SectionKind::BlockIndex) {
            let Range { start, end } = index.range();
            ranges.push(start.max(end.saturating_sub(INDEX_END))..end);
        }
        Ok(ranges)
    })
}

/// A part of the file, with its place and size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchivePart {
    /// Name of the part.
    pub name: &'static str,
    /// Number of the segment; `None` for a part of the whole file.
    pub segment: Option<u64>,
    /// Offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

impl Archive {
    /// The parts of the file, in the order of their places.
    pub fn parts(&self) -> Vec<ArchivePart> {
        let whole =
            |name, offset, len| ArchivePart { name, segment: None, offset, len: len as u64 };
        let sections = self.sections.each().map(|listed| ArchivePart {
            name: listed.kind.map_or("part that is not known", SectionKind::name),
            segment: listed.segment.map(u64::from),
            offset: listed.section.offset,
            len: listed.section.len,
        });
        let footer = self.bytes() - size_of::<Footer>() as u64;
        let table = self.footer.sections.get() as usize * size_of::<SectionEntry>();
        let ends = [
            whole("section table", footer - table as u64, table),
            whole("footer", footer, size_of::<Footer>()),
        ];
        let header = [whole("header", 0, size_of::<Header>())];
        header.into_iter().chain(sections).chain(ends).collect()
    }

    /// Returns the size in bytes of each column of the positions in the blocks, and of the operations. Empty
    /// if nothing is coded by columns. Reads all blocks.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn column_bytes(&self) -> Result<Vec<(&'static str, f64)>, ArchiveError> {
        self.bytes.intact(self.level.column_bytes())
    }
}

impl Archive {
    /// True if the input can be restored byte for byte.
    pub fn is_verbatim(&self) -> bool {
        self.sections.file_section(SectionKind::SideData).is_some()
    }

    /// The names of the files of a verbatim archive, in the order in which they were packed.
    ///
    /// # Errors
    /// [`ArchiveError::NotVerbatim`], and [`ArchiveError::Corrupt`] for damage.
    pub fn file_names(&self) -> Result<Vec<String>, ArchiveError> {
        let kind = SectionKind::FileNames;
        let Some(section) = self.sections.file_section(kind) else {
            return Err(self.whole().err().unwrap_or(ArchiveError::NotVerbatim));
        };
        let section = section.checked(&self.bytes, kind.name());
        self.bytes.intact(section.and_then(|section| verbatim::names(&section)))
    }

    /// Restores the input of a verbatim archive, piece by piece: the name of each file, then its
    /// bytes.
    ///
    /// # Errors
    /// [`ArchiveError::NotVerbatim`]; [`ArchiveError::Corrupt`] for damage. Errors of `visit` are
    /// passed on.
    pub fn restore<E: From<ArchiveError>>(
        &self,
        mut visit: impl FnMut(Restored<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (side, names, memory_bytes) = self.side_data()?;
        let text = |records, out: &mut Vec<u8>| self.text_for_side(records, out);
        let visit = |restored: Restored<'_>| {
            self.bytes.intact::<_, ArchiveError>(Ok(()))?;
            visit(restored)
        };
        let records = verbatim::restore(side, self.identity, &names, memory_bytes, text, visit);
        let records = self.bytes.intact(records)?;
        if records == self.len() { Ok(()) } else { Err(ArchiveError::corrupt("side data").into()) }
    }

    /// Does the same as [`Archive::restore`], but continues after damage. Up to 4,096 records are
    /// restored at a time. If they are damaged, all files that have a part in these records are
    /// lost.
    ///
    /// # Errors
    /// [`ArchiveError::NotVerbatim`]; [`ArchiveError::Corrupt`] if the names are damaged. Errors of
    /// `visit` are passed on.
    pub fn salvage_files<E: From<ArchiveError>>(
        &self,
        visit: impl FnMut(SalvagedFile<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (side, names, memory_bytes) = self.side_data()?;
        let text = |records, out: &mut Vec<u8>| self.text_for_side(records, out);
        let salvaged = verbatim::salvage(side, self.identity, &names, memory_bytes, text, visit);
        self.bytes.intact(salvaged)
    }

    /// The side data of a verbatim archive, the names of its files, and the memory for a script.
    /// Side data is the data from which the input is restored, a script for each group of records.
    fn side_data(&self) -> Result<(&[u8], Vec<String>, usize), ArchiveError> {
        let side = self.sections.file_section(SectionKind::SideData);
        let side = side.ok_or(ArchiveError::NotVerbatim)?.kept(&self.bytes, "side data")?;
        Ok((side, self.file_names()?, self.memory_bytes / 4))
    }

    /// Appends the canonical text of records. A verbatim archive needs it to restore its input.
    fn text_for_side(&self, records: Range<u64>, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        if records.end > self.len() {
            return Err(ArchiveError::corrupt("side data"));
        }
        let first = records.start;
        self.each_text_left(records, out, |text| {
            if text.len() <= self.memory_bytes / 4 {
                Ok(())
            } else {
                Err(Refusal::Memory.at("text of the record", first))
            }
        })
    }
}

impl Archive {
    /// Reads everything and checks every part. Each checksum must match, each record must be
    /// decodable, and the position index must lead to each record and to nothing else.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self) -> Result<(), ArchiveError> {
        self.bytes.intact(self.verify_parts())
    }

    fn verify_parts(&self) -> Result<(), ArchiveError> {
        self.whole()?;
        self.verify_gaps()?;
        self.verify_heads()?;
        for listed in self.sections.each() {
            let name = listed.kind.map_or("part that is not known", SectionKind::name);
            listed.section.verify(&self.bytes, name)?;
        }
        self.about()?;
        if let Some(origin) = self.origin_section()? {
            let games = self.sum_of_digests()?;
            if origin.games.is_some_and(|sum| sum != games) {
                return Err(ArchiveError::corrupt(SectionKind::TallyOrigin.name()));
            }
        }
        if let Some(games) = self.kept_games()? {
            games.each(&mut |_, game| match kept_game::decode(game) {
                Some(_) => Ok(()),
                None => Err(ArchiveError::corrupt(SectionKind::KeptGames.name())),
            })?;
        }
        self.level.verify_layout()?;
        if self.is_verbatim() {
            self.restore(|_| Ok::<(), ArchiveError>(()))?;
        }
        self.level.verify_records()
    }

    /// Checks that each segment head repeats the entries of the tables.
    fn verify_heads(&self) -> Result<(), ArchiveError> {
        let kind = SectionKind::SegmentHead;
        let table = self.sections.file_section(SectionKind::SegmentTable).unwrap_or_default();
        let segments = table.kept(&self.bytes, SectionKind::SegmentTable.name())?;
        for head in self.sections.each().filter(|listed| listed.kind == Some(kind)) {
            let Some(number) = head.segment else { continue };
            let corrupt = || ArchiveError::corrupt_at(kind.name(), number.into());
            let start = number as usize * size_of::<SegmentEntry>();
            let segment = segments.get(start..).ok_or_else(corrupt)?;
            let (segment, _) = SegmentEntry::read_from_prefix(segment).map_err(|_| corrupt())?;
            let own = self.sections.each().filter(|listed| listed.segment == Some(number));
            let listed: Vec<SectionEntry> = own
                .filter_map(|listed| Some((listed.kind?, listed.section)))
                .filter(|(kind, _)| heads::lists(*kind))
                .map(|(kind, section)| SectionEntry::new(kind, Some(number), section))
                .collect();
            let found = head.section.checked(&self.bytes, kind.name())?;
            if *found != heads::bytes(&segment, &listed) {
                return Err(corrupt());
            }
        }
        Ok(())
    }

    /// Checks that there are only zeros between the parts.
    fn verify_gaps(&self) -> Result<(), ArchiveError> {
        let mut end = 0;
        for part in self.parts() {
            let gap = self.bytes.read(end..part.offset, "padding")?;
            if gap.iter().any(|&byte| byte != 0) {
                return Err(ArchiveError::corrupt("padding"));
            }
            end = part.offset.saturating_add(part.len);
        }
        Ok(())
    }
}
