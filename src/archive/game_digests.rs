//! The digests of the games that the tallies of a library count, in ascending order.
// A group is read for one game, so groups are a compromise: a table for 10^8 games has 1.6 MB, and a
// group of another machine 16 kB.

use std::io::Write;
use std::ops::Range;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{ArchiveError, Refusal};
use super::file::check;
use super::file::ranges::ArchiveBytes;
use super::file::sections::{Section, SectionKind};
use super::file::sink::Sink;
use epdb_base::spill::Sorted;
use epdb_chess::codec::tally_origin::{GameDigest, GameSet, ascending, hash_of};

/// Number of digests of each group except the last.
const GROUP: u64 = 1024;
/// Number of groups that are in memory at once while all digests are visited.
const VISITED_AT_ONCE: usize = 64;

const PART: &str = SectionKind::GameDigests.name();

/// Entry of a group in the table, which follows the digests.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct GroupEntry {
    /// Hash of the first digest.
    first: [u8; 12],
    /// CRC32C of the digests.
    check: U32,
}

/// The last bytes of the section, after the table.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tail {
    games: U64,
    /// CRC32C of the table and the number of games.
    check: U32,
}

const _: () = assert!(size_of::<GroupEntry>() == 16 && size_of::<Tail>() == 12);

impl Tail {
    fn of(table: &[GroupEntry], games: u64) -> Tail {
        let games = U64::from(games);
        let check = crc32c::crc32c_append(crc32c::crc32c(table.as_bytes()), games.as_bytes());
        Tail { games, check: check.into() }
    }
}

/// Writes the section with the digests that are the keys of `sorted`.
pub(super) fn write(
    mut sorted: Sorted,
    out: &mut Sink<impl Write>,
) -> Result<(Section, GameSet), ArchiveError> {
    out.begin();
    let mut table = Vec::new();
    let mut group = Vec::new();
    let mut games = GameSet::default();
    while let Some((digest, _)) = sorted.next_entry()? {
        let Some(digest) = digest.first_chunk() else { continue };
        games.add(digest);
        group.push(*digest);
        if group.len() as u64 == GROUP {
            table.extend(entry_of(&group));
            out.put(group.as_bytes())?;
            group.clear();
        }
    }
    table.extend(entry_of(&group));
    out.put(group.as_bytes())?;
    out.put(table.as_bytes())?;
    out.put(Tail::of(&table, games.games).as_bytes())?;
    Ok((out.end(), games))
}

/// The entry of a group; `None` if it is empty.
fn entry_of(group: &[GameDigest]) -> Option<GroupEntry> {
    let first = *hash_of(group.first()?).first_chunk()?;
    Some(GroupEntry { first, check: crc32c::crc32c(group.as_bytes()).into() })
}

/// The digests of an archive; only the table of their groups is in memory.
#[derive(Debug)]
pub(super) struct GameDigestsSection {
    /// Offset of the digests in the file.
    start: u64,
    table: Vec<GroupEntry>,
    games: u64,
}

impl GameDigestsSection {
    pub(super) fn read(
        file: &ArchiveBytes,
        section: Section,
    ) -> Result<GameDigestsSection, ArchiveError> {
        let corrupt = || ArchiveError::corrupt(PART);
        let Range { start, end } = section.range();
        let tail_start = end.checked_sub(size_of::<Tail>() as u64).ok_or_else(corrupt)?;
        let tail = file.read(tail_start..end, PART)?;
        let tail = Tail::read_from_bytes(&tail).map_err(|_| corrupt())?;
        let games = tail.games.get();
        if len_of(games) != Some(section.len) {
            return Err(corrupt());
        }
        let table = file.read(start + games * size_of::<GameDigest>() as u64..tail_start, PART)?;
        let table = <[GroupEntry]>::ref_from_bytes(&table).map_err(|_| corrupt())?.to_vec();
        if !check::holds(Tail::of(&table, games).check.get(), tail.check.get()) {
            return Err(corrupt());
        }
        Ok(GameDigestsSection { start, table, games })
    }

    pub(super) fn get(
        &self,
        file: &ArchiveBytes,
        wanted: &GameDigest,
    ) -> Result<Option<GameDigest>, ArchiveError> {
        let hash = hash_of(wanted);
        let after = self.table.partition_point(|group| group.first[..] <= *hash);
        let Some(nth) = after.checked_sub(1) else { return Ok(None) };
        let bytes = file.read(self.range_of(nth..after), PART)?;
        let group = self.group(nth, &bytes)?;
        let found = group.binary_search_by_key(&hash, |digest| hash_of(digest));
        Ok(found.ok().map(|place| group[place]))
    }

    pub(super) fn each<E: From<ArchiveError>>(
        &self,
        file: &ArchiveBytes,
        visit: &mut impl FnMut(&GameDigest) -> Result<(), E>,
    ) -> Result<(), E> {
        let groups = self.table.len();
        for start in (0..groups).step_by(VISITED_AT_ONCE) {
            let places = start..groups.min(start + VISITED_AT_ONCE);
            let bytes = file.read(self.range_of(places.clone()), PART)?;
            let group_bytes = GROUP as usize * size_of::<GameDigest>();
            for (nth, group) in places.zip(bytes.chunks(group_bytes)) {
                self.group(nth, group)?.iter().try_for_each(&mut *visit)?;
            }
        }
        Ok(())
    }

    /// The bytes of some groups in the file.
    fn range_of(&self, groups: Range<usize>) -> Range<u64> {
        let place = |group: usize| {
            self.start + self.games.min(group as u64 * GROUP) * size_of::<GameDigest>() as u64
        };
        place(groups.start)..place(groups.end)
    }

    /// The digests of a group, checked against its entry and that of the next group.
    fn group<'a>(&self, nth: usize, bytes: &'a [u8]) -> Result<&'a [GameDigest], ArchiveError> {
        let damaged = || Refusal::Damaged.at(PART, nth as u64);
        let entry = self.table.get(nth).ok_or_else(damaged)?;
        let digests = ascending(bytes).ok_or_else(damaged)?;
        let first = digests.first().map(hash_of);
        let last = digests.last().map(hash_of);
        let next = self.table.get(nth + 1).map(|next| &next.first[..]);
        let is_sound = check::holds(crc32c::crc32c(bytes), entry.check.get())
            && first == Some(&entry.first[..])
            && next.is_none_or(|next| last < Some(next));
        if is_sound { Ok(digests) } else { Err(damaged()) }
    }
}

/// Number of bytes of the section for this number of games.
pub(super) fn len_of(games: u64) -> Option<u64> {
    let entries = games.checked_add(games.div_ceil(GROUP))?;
    entries.checked_mul(size_of::<GameDigest>() as u64)?.checked_add(size_of::<Tail>() as u64)
}
