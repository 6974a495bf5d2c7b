//! The games with ids of sites that count, and their moves.
//!
//! Copies of such a game may have different moves, and a digest has no moves. So the moves stay
//! here until it is known that no other copy counts instead.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::facts::GameFacts;
use crate::ordered::changed;
use crate::same_game::{move_from_bytes, ply_bytes};
use epdb_base::new_file::ScratchFile;
use epdb_chess::codec::packed;
use epdb_chess::codec::tally_origin::GameDigest;
use epdb_chess::error::Result;
use epdb_chess::model::rules::Move;
use epdb_chess::model::{Game, GameId, Start};

/// A list of games in the order in which they were counted. It is in memory up to a limit; the rest
/// is in a temporary file.
#[derive(Debug)]
pub(super) struct CountedLog {
    directory: PathBuf,
    memory_bytes: usize,
    bytes: Vec<u8>,
    file: Option<ScratchFile>,
}

#[derive(Debug)]
pub(super) struct LoggedGame {
    /// Its index among all games that were counted.
    pub(super) number: u64,
    /// The index of its source.
    pub(super) source: usize,
    /// Its id in the lists of kept games.
    pub(super) kept: Option<GameId>,
    pub(super) facts: GameFacts,
    pub(super) start: Start,
    pub(super) moves: Vec<Move>,
}

/// Length of the head of an entry: its length and its digest.
const HEAD: usize = LEN + size_of::<GameDigest>();
/// Number of bytes of the length of a game.
const LEN: usize = size_of::<u32>();

impl CountedLog {
    pub(super) fn new(directory: &Path, memory_bytes: usize) -> CountedLog {
        CountedLog { directory: directory.into(), memory_bytes, bytes: Vec::new(), file: None }
    }

    pub(super) fn push(
        &mut self,
        digest: &GameDigest,
        number: u64,
        source: usize,
        kept: Option<GameId>,
        facts: &GameFacts,
        game: &Game,
    ) -> Result<()> {
        let start = self.bytes.len();
        // The length follows when the game is complete.
        self.bytes.extend_from_slice(&[0; LEN]);
        self.bytes.extend_from_slice(digest);
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self.bytes.extend_from_slice(&(source as u32).to_le_bytes());
        self.bytes.push(kept.is_some().into());
        self.bytes.extend_from_slice(&kept.unwrap_or_default().0);
        self.bytes.extend_from_slice(&facts.to_bytes());
        self.bytes.extend_from_slice(packed::encode(&game.start().position).as_bytes());
        game.main_line().for_each(|mv| self.bytes.extend_from_slice(&ply_bytes(Some(mv))));
        let len = (self.bytes.len() - start - HEAD) as u32;
        self.bytes[start..start + LEN].copy_from_slice(&len.to_le_bytes());
        if self.bytes.len() > self.memory_bytes {
            let file = match &mut self.file {
                Some(file) => file,
                None => self.file.insert(ScratchFile::create(&self.directory)?),
            };
            file.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Passes each game to `visit` for which `is_wanted` returns true. The list is unchanged.
    pub(super) fn each(
        &mut self,
        is_wanted: impl Fn(&GameDigest) -> bool,
        visit: &mut dyn FnMut(&GameDigest, LoggedGame) -> Result<()>,
    ) -> Result<()> {
        let mut entry = Vec::new();
        let mut read = |input: &mut dyn Read| -> Result<()> {
            let mut head = [0; HEAD];
            while read_head(input, &mut head)? {
                let (len, digest) = head.split_at(LEN);
                let len = u32::from_le_bytes(len.try_into().map_err(|_| changed())?);
                let digest = digest.try_into().map_err(|_| changed())?;
                entry.resize(len as usize, 0);
                input.read_exact(&mut entry)?;
                if is_wanted(digest) {
                    visit(digest, LoggedGame::decode(&entry).ok_or_else(changed)?)?;
                }
            }
            Ok(())
        };
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
            read(&mut BufReader::new(&mut *file))?;
            file.seek(SeekFrom::End(0))?;
        }
        read(&mut &self.bytes[..])
    }

    pub(super) fn clear(&mut self) {
        self.bytes = Vec::new();
        self.file = None;
    }
}

/// Reads the head of an entry; false at the end of the input.
fn read_head(input: &mut dyn Read, head: &mut [u8; HEAD]) -> io::Result<bool> {
    if input.read(&mut head[..1])? == 0 {
        return Ok(false);
    }
    input.read_exact(&mut head[1..])?;
    Ok(true)
}

impl LoggedGame {
    fn decode(bytes: &[u8]) -> Option<LoggedGame> {
        let (number, bytes) = bytes.split_first_chunk()?;
        let (source, bytes) = bytes.split_first_chunk()?;
        let (has_kept, bytes) = bytes.split_first()?;
        let (kept, bytes) = bytes.split_first_chunk()?;
        let (facts, bytes) = bytes.split_first_chunk()?;
        let (position, len) = packed::decode(bytes).ok()?;
        let (moves, []) = bytes.get(len..)?.as_chunks() else { return None };
        Some(LoggedGame {
            number: u64::from_le_bytes(*number),
            source: u32::from_le_bytes(*source) as usize,
            kept: (*has_kept != 0).then_some(GameId(*kept)),
            facts: GameFacts::from_bytes(*facts)?,
            // The counters of the first position change no tally.
            start: Start { position, counters: Start::ARRAY.counters },
            moves: moves.iter().map(|mv| move_from_bytes(*mv)).collect::<Option<_>>()?,
        })
    }
}
