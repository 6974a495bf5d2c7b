//! The games that an archive keeps because positions list them. The games are sorted by ID, in
//! blocks that are compressed with zstd.
// A block is decompressed for one game, so blocks are a compromise of size and time. Ids are hashes
// of the games, so they need not be stored, and a binary search finds a game without an index.

use std::io::{self, Write};
use std::ops::Range;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{ArchiveError, Refusal};
use super::file::bytes::is_one_frame;
use super::file::check;
use super::file::ranges::ArchiveBytes;
use super::file::sections::{Section, SectionKind};
use super::file::sink::Sink;
use epdb_base::new_file::temp_dir;
use epdb_base::spill::Sorter;
use epdb_chess::codec::item::Cursor;
use epdb_chess::codec::kept_game;
use epdb_chess::model::GameId;

/// Number of bytes of games after which a block ends.
const BLOCK_BYTES: usize = 64 << 10;
/// Compression level of zstd for blocks of games.
const LEVEL: i32 = 12;

const PART: &str = SectionKind::KeptGames.name();

/// Entry of a block in the table, which follows the blocks.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct BlockEntry {
    /// Id of the first game of the block.
    first: [u8; GameId::LEN],
    /// End of the block in the section.
    end: U64,
    /// Uncompressed length of the block.
    len: U32,
    /// CRC32C of the frame.
    check: U32,
}

/// The last bytes of the section, after the table.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tail {
    games: U64,
    blocks: U32,
    /// CRC32C of the table and the preceding fields.
    check: U32,
}

const _: () = assert!(size_of::<BlockEntry>() == 24 && size_of::<Tail>() == 16);

impl Tail {
    fn check(&self, table: &[u8]) -> u32 {
        let bytes = self.as_bytes();
        crc32c::crc32c_append(crc32c::crc32c(table), &bytes[..bytes.len() - size_of::<U32>()])
    }
}

/// Writer of games, which may come in any order and several times.
#[derive(Debug)]
pub(super) struct KeptGamesWriter(Sorter);

impl KeptGamesWriter {
    pub(super) fn new(memory_bytes: usize) -> KeptGamesWriter {
        KeptGamesWriter(Sorter::new(temp_dir(), memory_bytes))
    }

    pub(super) fn push(&mut self, game: &[u8]) -> io::Result<()> {
        self.0.push(&kept_game::id_of(game).0, game)
    }

    /// Writes the section, if there are games.
    pub(super) fn write(self, out: &mut Sink<impl Write>) -> Result<Option<Section>, ArchiveError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        out.begin();
        let start = out.offset();
        let mut sorted = self.0.finish()?;
        let mut table = Vec::new();
        let mut games = 0_u64;
        let mut last: Option<(GameId, Vec<u8>)> = None;
        // The games of the next block, and the id of the first of them.
        let mut block = Vec::new();
        let mut first = [0; GameId::LEN];
        while let Some((id, game)) = sorted.next_entry()? {
            let Some(&id) = id.first_chunk() else { continue };
            if let Some((last_id, before)) = &last
                && last_id.0 == id
            {
                kept_game::check_same(GameId(id), [before, game])?;
                continue;
            }
            last = Some((GameId(id), game.to_vec()));
            if block.is_empty() {
                first = id;
            }
            games += 1;
            block.extend_from_slice(&(game.len() as u32).to_le_bytes());
            block.extend_from_slice(game);
            if block.len() >= BLOCK_BYTES {
                table.push(put_block(first, &block, start, out)?);
                block.clear();
            }
        }
        if !block.is_empty() {
            table.push(put_block(first, &block, start, out)?);
        }
        let blocks = (table.len() as u32).into();
        let mut tail = Tail { games: games.into(), blocks, check: 0.into() };
        tail.check = tail.check(table.as_bytes()).into();
        out.put(table.as_bytes())?;
        out.put(tail.as_bytes())?;
        Ok(Some(out.end()))
    }
}

/// Writes a block of a section that began at `start`.
fn put_block(
    first: [u8; GameId::LEN],
    block: &[u8],
    start: u64,
    out: &mut Sink<impl Write>,
) -> Result<BlockEntry, ArchiveError> {
    let frame = zstd::bulk::compress(block, LEVEL)?;
    out.put(&frame)?;
    Ok(BlockEntry {
        first,
        end: (out.offset() - start).into(),
        len: (block.len() as u32).into(),
        check: crc32c::crc32c(&frame).into(),
    })
}

/// The section of an archive, open for reading.
pub(super) struct KeptGamesSection<'a> {
    file: &'a ArchiveBytes,
    blocks: Range<u64>,
    table: &'a [BlockEntry],
    games: u64,
    /// Maximum length of a block in memory, in bytes.
    memory_bytes: usize,
}

impl<'a> KeptGamesSection<'a> {
    pub(super) fn read(
        file: &'a ArchiveBytes,
        section: Section,
        memory_bytes: usize,
    ) -> Result<KeptGamesSection<'a>, ArchiveError> {
        let corrupt = || ArchiveError::corrupt(PART);
        let Range { start, end } = section.range();
        let before = |end: u64, len: u64| end.checked_sub(len).filter(|it| *it >= start);
        let tail_start = before(end, size_of::<Tail>() as u64).ok_or_else(corrupt)?;
        let tail =
            Tail::read_from_bytes(file.get(tail_start..end, PART)?).map_err(|_| corrupt())?;
        let len = u64::from(tail.blocks.get()).checked_mul(size_of::<BlockEntry>() as u64);
        let table_start = len.and_then(|len| before(tail_start, len)).ok_or_else(corrupt)?;
        let table = file.get(table_start..tail_start, PART)?;
        if !check::holds(tail.check(table), tail.check.get()) {
            return Err(corrupt());
        }
        let table = <[BlockEntry]>::ref_from_bytes(table).map_err(|_| corrupt())?;
        let blocks = start..table_start;
        let games = tail.games.get();
        let end = table.last().map(|last| last.end.get());
        if end != Some(blocks.end - blocks.start) || games == 0 {
            return Err(corrupt());
        }
        Ok(KeptGamesSection { file, blocks, table, games, memory_bytes })
    }

    pub(super) const fn len(&self) -> u64 {
        self.games
    }

    /// Reads the bytes of a game; `None` if the section does not have it. IDs are hashes of the
    /// games, and are not stored. The games are sorted by ID, so a binary search computes the
    /// hashes of only a few games.
    pub(super) fn get(&self, id: GameId) -> Result<Option<Vec<u8>>, ArchiveError> {
        let Some(nth) = self.block_of(id) else { return Ok(None) };
        let block = self.block(nth)?;
        let mut games = Vec::new();
        let mut cursor = Cursor::new(&block);
        while !cursor.rest().is_empty() {
            let game = cursor.string_4().map_err(|_| Refusal::Damaged.at(PART, nth as u64))?;
            games.push(game);
        }
        let place = games.partition_point(|game| kept_game::id_of(game) < id);
        let found = games.get(place).filter(|game| kept_game::id_of(game) == id);
        Ok(found.map(|game| game.to_vec()))
    }

    /// Receives the blocks of these games, about the first `first` together, from a remote archive.
    pub(super) fn prefetch(&self, ids: &[GameId], first: u64) -> Result<(), ArchiveError> {
        self.file.prefetch(|| {
            let in_a_block = (self.games / self.table.len().max(1) as u64).max(1);
            let first = first.div_ceil(in_a_block).min(self.table.len() as u64) as usize;
            let mut blocks: Vec<usize> = ids.iter().filter_map(|id| self.block_of(*id)).collect();
            blocks.extend(0..first);
            blocks.sort_unstable();
            blocks.dedup();
            blocks.into_iter().map(|nth| self.range_of(nth)).collect()
        })
    }

    fn block_of(&self, id: GameId) -> Option<usize> {
        self.table.partition_point(|block| block.first <= id.0).checked_sub(1)
    }

    /// Visits all games, in ascending order of their ids.
    pub(super) fn each<E: From<ArchiveError>>(
        &self,
        visit: &mut impl FnMut(GameId, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut games = 0;
        for nth in 0..self.table.len() {
            self.each_of(nth, &mut |id, game| {
                games += 1;
                visit(id, game)
            })?;
        }
        if games == self.games { Ok(()) } else { Err(ArchiveError::corrupt(PART).into()) }
    }

    /// Visits the games of a block and compares them with the table. The first game must be the one
    /// in the block's entry. All games must come before the first game of the next block.
    fn each_of<E: From<ArchiveError>>(
        &self,
        nth: usize,
        visit: &mut impl FnMut(GameId, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let damaged = || Refusal::Damaged.at(PART, nth as u64);
        let block = self.block(nth)?;
        let first = self.table.get(nth).map(|entry| entry.first);
        let next = self.table.get(nth + 1).map(|entry| entry.first);
        let mut cursor = Cursor::new(&block);
        let mut last: Option<GameId> = None;
        while !cursor.rest().is_empty() {
            let game = cursor.string_4().map_err(|_| damaged())?;
            let id = kept_game::id_of(game);
            let follows = match last {
                None => Some(id.0) == first,
                Some(last) => last < id,
            };
            last = Some(id);
            if !follows || next.is_some_and(|next| id.0 >= next) {
                return Err(damaged().into());
            }
            visit(id, game)?;
        }
        if last.is_none() { Err(damaged().into()) } else { Ok(()) }
    }

    /// The bytes of a block in the file.
    fn range_of(&self, nth: usize) -> Result<Range<u64>, ArchiveError> {
        let damaged = || Refusal::Damaged.at(PART, nth as u64);
        let end_of =
            |nth: usize| self.table.get(nth).map(|entry| entry.end.get()).ok_or_else(damaged);
        let start = if nth == 0 { 0 } else { end_of(nth - 1)? };
        let end = end_of(nth)?;
        if start > end || end > self.blocks.end - self.blocks.start {
            return Err(damaged());
        }
        Ok(self.blocks.start + start..self.blocks.start + end)
    }

    fn block(&self, nth: usize) -> Result<Vec<u8>, ArchiveError> {
        let damaged = || Refusal::Damaged.at(PART, nth as u64);
        // The bytes are copied, because zstd must not see bytes that another process may change.
        let frame = self.file.read(self.range_of(nth)?, PART)?.into_owned();
        let entry = self.table.get(nth).ok_or_else(damaged)?;
        if !check::holds(crc32c::crc32c(&frame), entry.check.get()) || !is_one_frame(&frame) {
            return Err(damaged());
        }
        let len = entry.len.get() as usize;
        if len > self.memory_bytes {
            return Err(Refusal::Memory.at(PART, nth as u64));
        }
        let block = zstd::bulk::decompress(&frame, len).map_err(|_| damaged())?;
        if block.len() == len { Ok(block) } else { Err(damaged()) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

    fn game(text: &str) -> Vec<u8> {
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        let (mut bytes, read) = (Vec::new(), reader.next_game().unwrap().unwrap());
        kept_game::encode(read.game.unwrap(), &mut bytes).unwrap();
        bytes
    }

    /// No two games with one id are known, so the id is that of the first game for both.
    #[test]
    fn two_games_with_one_id_are_an_error() {
        let games = ["1. e4 e5 1-0\n", "1. d4 d5 0-1\n"].map(game);
        let written = |games: [&Vec<u8>; 2]| {
            let writer = &mut KeptGamesWriter::new(1 << 20);
            let id = kept_game::id_of(games[0]).0;
            for game in games {
                writer.0.push(&id, game).unwrap();
            }
            let writer = std::mem::replace(writer, KeptGamesWriter::new(1 << 20));
            writer.write(&mut Sink::new(Vec::new()))
        };
        assert!(written([&games[0], &games[0]]).unwrap().is_some());
        let error = written([&games[0], &games[1]]).unwrap_err().to_string();
        let id = kept_game::id_of(&games[0]).to_string();
        assert!(error.contains(&id) && error.contains("1. e4 e5") && error.contains("1. d4 d5"));
    }
}
