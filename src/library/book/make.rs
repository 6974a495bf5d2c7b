//! Books made of tallies.

use std::path::PathBuf;

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
    /// Tallies by key and board.
    tallies: Sorter,
    /// That of the last, kept for its memory.
    key: Vec<u8>,
    without_tally: u64,
}

/// A move of a position: what tells it from others, the games, the points in halves.
type Counted<M> = (M, u64, u64);

impl BookMaker {
    /// One that uses about `memory` bytes, and beyond them a temporary file in `directory`.
    pub fn new(options: MakeOptions, directory: impl Into<PathBuf>, memory: usize) -> BookMaker {
        let tallies = Sorter::new(directory, memory);
        BookMaker { options, tallies, key: Vec::new(), without_tally: 0 }
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
        let board = record::board_of(record)?;
        let (position, _) = packed::decode(board)?;
        if self.options.only.is_some_and(|only| only != position.turn()) {
            return Ok(());
        }
        self.key.clear();
        self.key.extend_from_slice(&polyglot_key(&position).to_be_bytes());
        self.key.extend_from_slice(board);
        Ok(self.tallies.push(&self.key, tally)?)
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
        let mut sorted = self.tallies.finish()?;
        let (mut last, mut boards) = (Vec::new(), Vec::new());
        while let Some((key, tally)) = sorted.next_entry()? {
            if key != last {
                let (number, board) = key.split_first_chunk().ok_or_else(changed)?;
                let number = u64::from_be_bytes(*number);
                if boards.last().is_some_and(|last: &CountedBoard| last.key != number) {
                    visit(&mut options.entries(&boards))?;
                    boards.clear();
                }
                boards.push(CountedBoard::new(number, board)?);
                last.clear();
                last.extend_from_slice(key);
            }
            boards.last_mut().ok_or_else(changed)?.add(tally)?;
        }
        visit(&mut options.entries(&boards))
    }
}

/// A position and what was played there, by the ordinals.
struct CountedBoard {
    key: u64,
    position: Position,
    moves: Vec<Counted<u8>>,
}

impl CountedBoard {
    fn new(key: u64, board: &[u8]) -> Result<CountedBoard> {
        let (position, _) = packed::decode(board)?;
        Ok(CountedBoard { key, position, moves: Vec::new() })
    }

    fn add(&mut self, tally: &[u8]) -> Result<()> {
        for part in record::take_tally(&mut Cursor::new(tally))? {
            for (ordinal, counts) in part.moves {
                let points = half_points(&counts, &self.position);
                add_move(&mut self.moves, (ordinal, counts.games(), points));
            }
        }
        Ok(())
    }
}

/// The points that the side to move made, in halves; a game without result is a draw.
fn half_points(counts: &GameCounts, position: &Position) -> u64 {
    let won = if position.turn() == Color::White { counts.white } else { counts.black };
    2 * won + counts.draws + counts.unknown
}

fn add_move<M: PartialEq>(moves: &mut Vec<Counted<M>>, (mv, games, points): Counted<M>) {
    match moves.iter_mut().find(|(known, ..)| *known == mv) {
        Some((_, all_games, all_points)) => {
            *all_games += games;
            *all_points += points;
        }
        None => moves.push((mv, games, points)),
    }
}

impl MakeOptions {
    /// The entries of the positions of one key in the order of a book.
    fn entries(&self, boards: &[CountedBoard]) -> Vec<Entry> {
        let mut moves: Vec<Counted<u16>> = Vec::new();
        for board in boards {
            // Mostly few of the moves stay: only these are worth being looked for.
            let may_stay = |counted: &&Counted<u8>| boards.len() > 1 || self.takes(counted);
            let mut played = board.moves.iter().filter(may_stay).peekable();
            if played.peek().is_none() {
                continue;
            }
            let Ok(playable) = Playable::new(&board.position) else { continue };
            for &(number, games, points) in played {
                if let Some(mv) = ordinal::move_at(&playable, number.into()) {
                    add_move(&mut moves, (BookMove::from(mv).bits(), games, points));
                }
            }
        }
        moves.retain(|counted| self.takes(counted));
        let (most, limit) = (moves.iter().map(|it| it.2).max().unwrap_or(0), u64::from(u16::MAX));
        let key = boards.first().map_or(0, |board| board.key);
        let entry = |(bits, _, points)| {
            let weight = if most > limit { scaled_down(points, most, limit) } else { points };
            let weight = if self.uniform { 1 } else { weight as u16 };
            Entry { key, mv: BookMove::from_bits(bits), weight, learn: 0 }
        };
        let mut entries: Vec<Entry> = moves.into_iter().map(entry).collect();
        entries.sort_by(Entry::book_order);
        entries
    }

    /// Whether a move comes into the book.
    fn takes<M>(&self, &(_, games, points): &Counted<M>) -> bool {
        let score = points as f64 / (2 * games.max(1)) as f64;
        games >= self.min_games && points > 0 && score >= self.min_score
    }
}
