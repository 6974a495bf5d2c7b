//! Books made of tallies.

use std::path::PathBuf;

use byteorder::{ByteOrder, LittleEndian};

use super::merge::scaled_down;
use crate::codec::item::Cursor;
use crate::codec::key::polyglot_key;
use crate::codec::ordinal;
use crate::codec::polyglot::{BookMove, Entry};
use crate::codec::{packed, record};
use crate::error::Result;
use crate::library::ordered::changed;
use crate::model::rules::Playable;
use crate::model::{Color, GameCounts, Position};
use crate::spill::Sorter;

/// Which moves come into a book, and with which weights.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct MakeOptions {
    /// In how many games a move was played at least.
    pub min_games: u64,
    /// The least share of the points that the side to move made with it, 0 to 1.
    pub min_score: f64,
    /// All moves weigh 1.
    pub uniform: bool,
    /// Only positions in which this side is to move.
    pub only: Option<Color>,
}

impl Default for MakeOptions {
    /// As Polyglot: moves of at least three games that made a point.
    fn default() -> MakeOptions {
        MakeOptions { min_games: 3, min_score: 0.0, uniform: false, only: None }
    }
}

/// Makes a book. A move weighs two for each game that the side to move won and one for each that was
/// drawn or has no result, as Polyglot has it; a move of weight 0 does not come into the book. Where
/// a weight is over 65535, all weights of the position are brought down in proportion.
///
/// ```
/// use epdb::codec::record;
/// use epdb::library::book::{BookMaker, MakeOptions};
/// let line = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - \
///     tally \"reached 6, e4 +2=1-1, d4 +0=0-2\";";
/// let mut bytes = Vec::new();
/// record::encode(&epdb::parse_epd(line)?, &mut bytes)?;
/// let options = MakeOptions { min_games: 1, ..MakeOptions::default() };
/// let mut maker = BookMaker::new(options, std::env::temp_dir(), 1 << 20);
/// maker.add(&bytes)?;
/// let mut weights = Vec::new();
/// maker.finish(&mut |position| {
///     weights.extend(position.iter().map(|entry| entry.weight));
///     Ok(())
/// })?;
/// assert_eq!(weights, [5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BookMaker {
    options: MakeOptions,
    /// Moves with their games and points, by key.
    moves: Sorter,
    without_tally: u64,
}

/// A move of a key: its bits, the games, the points in halves.
type Counted = (u16, u64, u64);
const COUNTED: usize = 2 + 8 + 8;

impl BookMaker {
    /// One that uses about `memory` bytes, and beyond them a temporary file in `directory`.
    pub fn new(options: MakeOptions, directory: impl Into<PathBuf>, memory: usize) -> BookMaker {
        BookMaker { options, moves: Sorter::new(directory, memory), without_tally: 0 }
    }

    /// Takes a record in its binary form. Its moves count if it has a tally.
    ///
    /// # Errors
    /// These are not the bytes of a record, or the temporary file cannot be written.
    pub fn add(&mut self, record: &[u8]) -> Result<()> {
        let Some(tally) = record::tally_bytes(record)? else {
            self.without_tally += 1;
            return Ok(());
        };
        let (position, _) = packed::decode(record::board_of(record)?)?;
        if self.options.only.is_some_and(|only| only != position.turn()) {
            return Ok(());
        }
        let key = polyglot_key(&position).to_be_bytes();
        let Ok(playable) = Playable::new(&position) else { return Ok(()) };
        let legal = ordinal::list(&playable);
        for part in record::take_tally(&mut Cursor::new(tally))? {
            for (ordinal, counts) in part.moves {
                let Some(mv) = legal.get(usize::from(ordinal)) else { continue };
                let points = half_points(&counts, &position);
                let counted = (BookMove::from(*mv).bits(), counts.games(), points);
                self.moves.push(&key, &to_bytes(counted))?;
            }
        }
        Ok(())
    }

    /// Records that have no tally.
    pub const fn without_tally(&self) -> u64 {
        self.without_tally
    }

    /// Gives the entries of each position, in the order of a book.
    ///
    /// # Errors
    /// The temporary file cannot be read, or what `visit` says.
    pub fn finish(self, visit: &mut dyn FnMut(&mut [Entry]) -> Result<()>) -> Result<()> {
        let options = self.options;
        let mut sorted = self.moves.finish()?;
        let (mut key, mut moves) = (0, Vec::new());
        while let Some((next, payload)) = sorted.next_entry()? {
            let next = next.try_into().map(u64::from_be_bytes).map_err(|_| changed())?;
            if next != key && !moves.is_empty() {
                visit(&mut options.entries(key, &mut moves))?;
            }
            key = next;
            add_move(&mut moves, of_bytes(payload.try_into().map_err(|_| changed())?));
        }
        visit(&mut options.entries(key, &mut moves))
    }
}

/// The points that the side to move made, in halves; a game without result is a draw.
fn half_points(counts: &GameCounts, position: &Position) -> u64 {
    let won = if position.turn() == Color::White { counts.white } else { counts.black };
    2 * won + counts.draws + counts.unknown
}

fn to_bytes((bits, games, points): Counted) -> [u8; COUNTED] {
    let mut bytes = [0; COUNTED];
    LittleEndian::write_u16(&mut bytes, bits);
    LittleEndian::write_u64(&mut bytes[2..], games);
    LittleEndian::write_u64(&mut bytes[10..], points);
    bytes
}

fn of_bytes(bytes: [u8; COUNTED]) -> Counted {
    (
        LittleEndian::read_u16(&bytes),
        LittleEndian::read_u64(&bytes[2..]),
        LittleEndian::read_u64(&bytes[10..]),
    )
}

fn add_move(moves: &mut Vec<Counted>, (bits, games, points): Counted) {
    match moves.iter_mut().find(|(known, ..)| *known == bits) {
        Some((_, all_games, all_points)) => {
            *all_games += games;
            *all_points += points;
        }
        None => moves.push((bits, games, points)),
    }
}

impl MakeOptions {
    /// The entries of a position in the order of a book; its moves are forgotten.
    fn entries(&self, key: u64, moves: &mut Vec<Counted>) -> Vec<Entry> {
        moves.retain(|&(_, games, points)| {
            let score = points as f64 / (2 * games.max(1)) as f64;
            games >= self.min_games && points > 0 && score >= self.min_score
        });
        let (most, limit) = (moves.iter().map(|it| it.2).max().unwrap_or(0), u64::from(u16::MAX));
        let entry = |(bits, _, points)| {
            let weight = if most > limit { scaled_down(points, most, limit) } else { points };
            let weight = if self.uniform { 1 } else { weight as u16 };
            Entry { key, mv: BookMove::from_bits(bits), weight, learn: 0 }
        };
        let mut entries: Vec<Entry> = moves.drain(..).map(entry).collect();
        entries.sort_by(Entry::book_order);
        entries
    }
}
