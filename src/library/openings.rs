//! Results of games by opening, for example of a match in which each opening is played with both
//! colours.
//!
//! The opening of a game with a `FEN` tag is its start position. The opening of another game is the
//! last position of its main line that the book has, or if the book has none of them, the start
//! position of the game.
//!
//! ```
//! use epdb::library::openings::Openings;
//! use epdb::text::pgn::{GameReader, PgnReadOptions};
//!
//! let pgn = b"[White \"A\"] [Black \"B\"] 1. e4 1-0 [White \"B\"] [Black \"A\"] 1. e4 1/2-1/2";
//! let mut openings = Openings::new(1 << 20);
//! let mut reader = GameReader::new(&pgn[..], PgnReadOptions::default());
//! while let Some(read) = reader.next_game()? {
//!     openings.add_game(&read.game.expect("a good game"))?;
//! }
//! let opening = &openings.all()[0];
//! assert_eq!((opening.games(), opening.draw_rate()), (2, Some(0.5)));
//! assert_eq!(opening.pairs, [0, 0, 0, 1, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashMapExt};

use super::value::Number;
use crate::codec::packed::{self, PackedBoard};
use crate::error::{Error, Result};
use crate::model::{Game, GameResult, Position, Replay, SEVEN_TAG_ROSTER, UNKNOWN_TAG_VALUES};

/// An opening with the results of its games.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The identity of the position.
    pub position: Position,
    /// Games that White won.
    pub wins: u64,
    /// Drawn games.
    pub draws: u64,
    /// Games that Black won.
    pub losses: u64,
    /// Games without a result.
    pub unknown: u64,
    /// Numbers of pairs of games in which the player whose name is first in byte order scored 0, ½,
    /// 1, 1½ and 2 points.
    pub pairs: [u64; 5],
}

impl Opening {
    /// Names of the numbers in [`Opening::row`].
    pub const COLUMNS: [&str; 13] = [
        "games",
        "pairs",
        "wins",
        "draws",
        "losses",
        "unknown",
        "score",
        "draw_rate",
        "p0",
        "p1",
        "p2",
        "p3",
        "p4",
    ];

    fn new(position: Position) -> Opening {
        Opening { position, wins: 0, draws: 0, losses: 0, unknown: 0, pairs: [0; 5] }
    }

    /// Number of games.
    pub const fn games(&self) -> u64 {
        self.with_result() + self.unknown
    }

    const fn with_result(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// Number of pairs.
    pub fn pair_count(&self) -> u64 {
        self.pairs.iter().sum()
    }

    /// White's share of the points, 0 to 1; `None` without a result.
    pub fn score(&self) -> Option<f64> {
        self.share(self.wins as f64 + self.draws as f64 / 2.0)
    }

    /// The share of draws, 0 to 1; `None` without a result.
    pub fn draw_rate(&self) -> Option<f64> {
        self.share(self.draws as f64)
    }

    fn share(&self, part: f64) -> Option<f64> {
        let all = self.with_result();
        (all > 0).then(|| part / all as f64)
    }

    /// The numbers of the opening, in the order of [`Opening::COLUMNS`].
    pub fn row(&self) -> [Option<Number>; 13] {
        let whole = |count: u64| Some(Number::Whole(count.into()));
        let [p0, p1, p2, p3, p4] = self.pairs.map(whole);
        [
            whole(self.games()),
            whole(self.pair_count()),
            whole(self.wins),
            whole(self.draws),
            whole(self.losses),
            whole(self.unknown),
            self.score().map(Number::Fraction),
            self.draw_rate().map(Number::Fraction),
            p0,
            p1,
            p2,
            p3,
            p4,
        ]
    }
}

/// Index of an opening, in order of insertion.
type Index = u32;

/// Games of an opening between two players that have no counterpart with the colours swapped so far.
#[derive(Clone, Debug)]
struct Singles {
    /// Whether the player whose name is first had White.
    first_had_white: bool,
    /// Half points of that player in the earliest game.
    half_points: u8,
    /// The same for the other games, in their order.
    others: VecDeque<u8>,
}

/// Openings with the results of their games: those of a book in its order, then the others in the order
/// of their first games.
#[derive(Clone, Debug)]
pub struct Openings {
    index: HashMap<PackedBoard, Index>,
    all: Vec<Opening>,
    /// Number of openings of the book.
    of_book: usize,
    /// The smallest number of pieces in a position of the book. After fewer pieces, no position of a
    /// game is in the book.
    fewest_pieces: u32,
    /// Start position of the last game, with its opening.
    last_start: Option<(Position, Index)>,
    players: HashMap<String, u32>,
    singles: HashMap<(Index, u32, u32), Singles>,
    bytes: usize,
    memory_bytes: usize,
}

/// Memory of an opening with its index entry, in bytes.
const OPENING_BYTES: usize = size_of::<Opening>() + 2 * size_of::<(PackedBoard, Index)>();
/// Memory of a game without a counterpart, in bytes.
const SINGLE_BYTES: usize = 2 * size_of::<((Index, u32, u32), Singles)>() + 8;

impl Openings {
    /// A list without openings, which uses at most about `memory_bytes`.
    pub fn new(memory_bytes: usize) -> Openings {
        Openings {
            index: HashMap::new(),
            all: Vec::new(),
            of_book: 0,
            fewest_pieces: u32::MAX,
            last_start: None,
            players: HashMap::new(),
            singles: HashMap::new(),
            bytes: 0,
            memory_bytes,
        }
    }

    /// Adds a position of the book, before the first game. Returns the index of its opening.
    ///
    /// # Errors
    /// The openings do not fit into memory.
    pub fn add_book(&mut self, position: &Position) -> Result<usize> {
        let index = self.add(position)?;
        self.of_book = self.all.len();
        self.fewest_pieces = self.fewest_pieces.min(position.board().occupied().count());
        Ok(index as usize)
    }

    /// Adds a game. The game makes a pair with an earlier game of the same opening and the same two
    /// players with the colours swapped: with the first such game that is in no pair.
    ///
    /// # Errors
    /// The openings do not fit into memory.
    pub fn add_game(&mut self, game: &Game) -> Result<()> {
        let of_book = if game.has_tag("FEN") { None } else { self.last_of_book(game) };
        let start = &game.start().position;
        let opening = match (of_book, self.last_start) {
            (Some(index), _) => index,
            // The games of a pair follow each other.
            (None, Some((last, index))) if last == *start => index,
            (None, _) => {
                let index = self.add(start)?;
                self.last_start = Some((*start, index));
                index
            }
        };
        let counts = &mut self.all[opening as usize];
        let (white_has, count) = match game.result() {
            GameResult::WhiteWins => (2, &mut counts.wins),
            GameResult::Draw => (1, &mut counts.draws),
            GameResult::BlackWins => (0, &mut counts.losses),
            GameResult::Unknown => {
                counts.unknown += 1;
                return Ok(());
            }
        };
        *count += 1;
        self.pair(opening, game, white_has)
    }

    /// Openings of the book in its order, then the others.
    pub fn all(&self) -> &[Opening] {
        &self.all
    }

    /// Number of openings of the book, which come first.
    pub const fn of_book(&self) -> usize {
        self.of_book
    }

    fn last_of_book(&self, game: &Game) -> Option<Index> {
        if self.of_book == 0 {
            return None;
        }
        let mut replay = Replay::new(game.start())?;
        let mut last = self.find(replay.position());
        for mv in game.main_line() {
            replay.play(mv);
            if replay.position().board().occupied().count() < self.fewest_pieces {
                break;
            }
            last = self.find(replay.position()).or(last);
        }
        last.filter(|&index| (index as usize) < self.of_book)
    }

    fn find(&self, position: &Position) -> Option<Index> {
        self.index.get(&packed::encode(&position.identity())).copied()
    }

    /// Returns the index of an opening, after adding the opening if it is new.
    fn add(&mut self, position: &Position) -> Result<Index> {
        let position = position.identity();
        let board = packed::encode(&position);
        if let Some(index) = self.index.get(&board) {
            return Ok(*index);
        }
        self.take_memory(OPENING_BYTES)?;
        let index = self.all.len() as Index;
        self.index.insert(board, index);
        self.all.push(Opening::new(position));
        Ok(index)
    }

    /// Counts the pair that a game completes, or keeps the game as the first one of a pair. Games
    /// of a player against itself, and of unknown players, make no pairs.
    fn pair(&mut self, opening: Index, game: &Game, white_has: u8) -> Result<()> {
        let tag = |place: usize| game.tag(SEVEN_TAG_ROSTER[place]).unwrap_or_default();
        let (white, black) = (tag(WHITE), tag(BLACK));
        if white == black || [white, black].contains(&UNKNOWN_TAG_VALUES[WHITE]) {
            return Ok(());
        }
        let is_first_white = white < black;
        let (first, second) = if is_first_white { (white, black) } else { (black, white) };
        let first_has = if is_first_white { white_has } else { 2 - white_has };
        let key = (opening, self.player(first)?, self.player(second)?);
        let mut entry = match self.singles.entry(key) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => {
                entry.insert(Singles {
                    first_had_white: is_first_white,
                    half_points: first_has,
                    others: VecDeque::new(),
                });
                return self.take_memory(SINGLE_BYTES);
            }
        };
        let singles = entry.get_mut();
        if singles.first_had_white == is_first_white {
            singles.others.push_back(first_has);
            return self.take_memory(1);
        }
        self.all[opening as usize].pairs[usize::from(singles.half_points + first_has)] += 1;
        match singles.others.pop_front() {
            Some(next) => singles.half_points = next,
            None => {
                entry.remove();
                self.bytes = self.bytes.saturating_sub(SINGLE_BYTES);
            }
        }
        Ok(())
    }

    fn player(&mut self, name: &str) -> Result<u32> {
        if let Some(number) = self.players.get(name) {
            return Ok(*number);
        }
        self.take_memory(2 * size_of::<(String, u32)>() + name.len())?;
        let number = self.players.len() as u32;
        self.players.insert(name.to_string(), number);
        Ok(number)
    }

    fn take_memory(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        if self.bytes <= self.memory_bytes && self.all.len() < Index::MAX as usize {
            return Ok(());
        }
        let (openings, megabytes) = (self.all.len(), self.memory_bytes >> 20);
        Err(Error::new(format!(
            "the openings do not fit the memory: {openings} openings take {megabytes}M"
        )))
    }
}

/// Places of the players in [`SEVEN_TAG_ROSTER`].
const WHITE: usize = 4;
const BLACK: usize = 5;
