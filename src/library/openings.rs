//! Results of games by opening, for example of a match in which each opening is played with both
//! colours.
//!
//! The opening of a game with a `FEN` tag is its start position. The opening of any other game is the last
//! position of its main line that is in the book. If no position is in the book, the opening is the start
//! position of the game.
//!
//! ```
//! use epdb_library::openings::Openings;
//! use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
//!
//! let pgn = b"[White \"A\"] [Black \"B\"] 1. e4 1-0 [White \"B\"] [Black \"A\"] 1. e4 1/2-1/2";
//! let mut openings = Openings::new(1 << 20);
//! let mut reader = GameReader::new(&pgn[..], PgnReadOptions::default());
//! while let Some(read) = reader.next_game()? {
//!     openings.add_game(&read.game.expect("a good game"))?;
//! }
//! let all = openings.all();
//! let opening = &all[0];
//! assert_eq!((opening.games(), opening.draw_rate()), (2, Some(0.5)));
//! assert_eq!(opening.pairs, [0, 0, 0, 1, 0]);
//! let results = openings.match_results().expect("two players");
//! assert_eq!((results.players, results.games), (["A", "B"], [0, 1, 1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{VecDeque, hash_map};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt};

use super::value::{Number, Value};
use epdb_chess::codec::packed::{self, PackedBoard};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{Game, GameResult, Position, Replay, UNKNOWN_TAG_VALUES};

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
    /// Numbers of pairs of games in which the first player scored 0, ½, 1, 1½ and 2 points. The first of two
    /// players is the one who is named first in the games, White before Black.
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
    pub fn row(&self) -> [Value<'static>; 13] {
        let whole = |count: u64| Value::whole(count.into());
        let fraction = |part: Option<f64>| {
            part.map_or(Value::Missing, |part| Value::Number(Number::Fraction(part)))
        };
        let [p0, p1, p2, p3, p4] = self.pairs.map(whole);
        [
            whole(self.games()),
            whole(self.pair_count()),
            whole(self.wins),
            whole(self.draws),
            whole(self.losses),
            whole(self.unknown),
            fraction(self.score()),
            fraction(self.draw_rate()),
            p0,
            p1,
            p2,
            p3,
            p4,
        ]
    }
}

/// The results of a match of two players, from the point of view of the first one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MatchResults<'o> {
    /// The first player, who has White in the first game, and the opponent.
    pub players: [&'o str; 2],
    /// Games that the first player lost, drew and won.
    pub games: [u64; 3],
    /// Numbers of pairs of games with 0, ½, 1, 1½ and 2 points.
    pub pairs: [u64; 5],
}

impl MatchResults<'_> {
    /// The numbers of pairs or, if there are no pairs, of games: for each score, the lowest first.
    pub fn counts(&self) -> &[u64] {
        if self.pairs == [0; 5] { &self.games } else { &self.pairs }
    }
}

/// Index of an opening, in order of insertion.
type Index = u32;

/// An opening and two players, the first player first.
type Pairing = (Index, u32, u32);

/// A game for which no game with swapped colours was found so far.
#[derive(Copy, Clone, Debug)]
struct Single {
    /// Whether the first player had White.
    first_had_white: bool,
    /// Half points of the first player.
    half_points: u8,
}

/// Games of a pairing, all with the same colours.
#[derive(Clone, Debug)]
struct Singles {
    earliest: Single,
    /// Half points of the later games, in their order.
    others: VecDeque<u8>,
}

/// An opening as it is found and counted. There are many openings, and games refer to them in
/// random order. So an entry is small, and has everything that counting a game touches.
#[derive(Clone, Debug)]
struct Entry {
    board: PackedBoard,
    wins: u64,
    draws: u64,
    losses: u64,
    unknown: u64,
    pairs: [u64; 5],
}

/// Openings with the results of their games. The openings of a book come first, in the order of the
/// book; the other openings follow in the order of their first games.
#[derive(Clone, Debug)]
pub struct Openings {
    /// The index of each opening by the hash of its board. If the hash of a board is taken, the
    /// next free hash is used.
    index: HashMap<u64, Index>,
    hasher: RandomState,
    entries: Vec<Entry>,
    /// The identity of the position of each opening.
    positions: Vec<Position>,
    /// Number of openings of the book.
    of_book: usize,
    /// The smallest number of pieces in a position of the book. Once a game has fewer pieces, none
    /// of its later positions is in the book.
    fewest_pieces: u32,
    /// Start position of the last game that reached no position of the book, with its opening.
    previous_start: Option<(Position, Index)>,
    players: HashMap<String, u32>,
    /// Games in which the player with the smaller number has 0, ½ and 1 points.
    games_of_first: [u64; 3],
    /// Names of White and Black in the last game, with their numbers.
    last_players: Option<([String; 2], [u32; 2])>,
    singles: HashMap<Pairing, Singles>,
    /// The last game, if it is the only unpaired game of its pairing. The game with swapped colours usually
    /// follows.
    last_single: Option<(Pairing, Single)>,
    bytes: usize,
    memory_bytes: usize,
}

/// Memory of an opening with its index entry, in bytes.
const OPENING_BYTES: usize = size_of::<Opening>()
    + size_of::<Entry>()
    + size_of::<Position>()
    + 2 * size_of::<(u64, Index)>();
/// Memory of a game without a counterpart, in bytes.
const SINGLE_BYTES: usize = 2 * size_of::<(Pairing, Singles)>() + 8;

impl Openings {
    /// A list without openings, which uses at most about `memory_bytes`.
    pub fn new(memory_bytes: usize) -> Openings {
        Openings {
            index: HashMap::new(),
            hasher: RandomState::default(),
            entries: Vec::new(),
            positions: Vec::new(),
            of_book: 0,
            fewest_pieces: u32::MAX,
            previous_start: None,
            players: HashMap::new(),
            games_of_first: [0; 3],
            last_players: None,
            singles: HashMap::new(),
            last_single: None,
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
        self.of_book = self.entries.len();
        self.fewest_pieces = self.fewest_pieces.min(position.board().occupied().count());
        Ok(index as usize)
    }

    /// Adds a game. The game makes a pair with the first unpaired game of the same opening and the same
    /// players with swapped colours.
    ///
    /// # Errors
    /// The openings do not fit into memory.
    pub fn add_game(&mut self, game: &Game) -> Result<()> {
        let opening = match self.last_book_position(game) {
            Some(index) => index,
            None => self.opening_of_start(game.start().position)?,
        };
        let players = self.players_of(game)?;
        let counts = &mut self.entries[opening as usize];
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
        match players {
            Some(players) => self.pair(opening, players, white_has),
            None => Ok(()),
        }
    }

    fn opening_of_start(&mut self, start: Position) -> Result<Index> {
        // The games of a pair follow each other.
        if let Some((previous, index)) = self.previous_start
            && previous == start
        {
            return Ok(index);
        }
        let index = self.add(&start)?;
        self.previous_start = Some((start, index));
        Ok(index)
    }

    /// The openings of the book in the order of the book, then the other openings.
    pub fn all(&self) -> Vec<Opening> {
        let opening = |(entry, &position): (&Entry, &Position)| {
            let Entry { wins, draws, losses, unknown, pairs, .. } = *entry;
            Opening { position, wins, draws, losses, unknown, pairs }
        };
        self.entries.iter().zip(&self.positions).map(opening).collect()
    }

    /// The results of a match. `None` if the games have more or fewer than two players.
    pub fn match_results(&self) -> Option<MatchResults<'_>> {
        let mut pairs = [0; 5];
        for entry in &self.entries {
            pairs.iter_mut().zip(entry.pairs).for_each(|(sum, count)| *sum += count);
        }
        Some(MatchResults { players: self.players_of_match()?, games: self.games_of_first, pairs })
    }

    /// The two players of a match. Pairs are counted by the points of the first player, who has White in the
    /// first game. `None` if the games have more or fewer than two players.
    pub fn players_of_match(&self) -> Option<[&str; 2]> {
        let mut names: Vec<(&String, &u32)> = self.players.iter().collect();
        names.sort_unstable_by_key(|(_, number)| **number);
        let names: Vec<&str> = names.into_iter().map(|(name, _)| name.as_str()).collect();
        names.try_into().ok()
    }

    /// Number of openings of the book, which come first.
    pub const fn of_book(&self) -> usize {
        self.of_book
    }

    /// The last position of a game that the book has.
    fn last_book_position(&self, game: &Game) -> Option<Index> {
        if self.of_book == 0 || game.has_tag("FEN") {
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
        self.place(&packed::encode(&position.identity())).ok()
    }

    /// The index of an opening. If the opening is new, the error is the hash under which it can be added.
    fn place(&self, board: &PackedBoard) -> std::result::Result<Index, u64> {
        let mut hash = self.hasher.hash_one(board);
        loop {
            match self.index.get(&hash) {
                None => return Err(hash),
                Some(&index) if self.entries[index as usize].board == *board => return Ok(index),
                Some(_) => hash = hash.wrapping_add(1),
            }
        }
    }

    /// Returns the index of an opening, after adding the opening if it is new.
    fn add(&mut self, position: &Position) -> Result<Index> {
        let position = position.identity();
        let board = packed::encode(&position);
        let hash = match self.place(&board) {
            Ok(index) => return Ok(index),
            Err(hash) => hash,
        };
        self.take_memory(OPENING_BYTES)?;
        let index = self.entries.len() as Index;
        self.index.insert(hash, index);
        self.entries.push(Entry { board, wins: 0, draws: 0, losses: 0, unknown: 0, pairs: [0; 5] });
        self.positions.push(position);
        Ok(index)
    }

    /// Numbers of White and Black. `None` for a game of a player against itself, and for unknown
    /// players: such games make no pairs.
    fn players_of(&mut self, game: &Game) -> Result<Option<[u32; 2]>> {
        let names = [game.roster_tag(WHITE), game.roster_tag(BLACK)];
        if names[0] == names[1] || names.contains(&UNKNOWN_TAG_VALUES[WHITE]) {
            return Ok(None);
        }
        self.players(names).map(Some)
    }

    /// Counts the pair that a game completes, or keeps the game as the first one of a pair.
    fn pair(&mut self, opening: Index, players: [u32; 2], white_has: u8) -> Result<()> {
        let [white, black] = players;
        let first_had_white = white < black;
        let half_points = if first_had_white { white_has } else { 2 - white_has };
        self.games_of_first[usize::from(half_points)] += 1;
        let first = white.min(black);
        let second = white.max(black);
        let pairing = (opening, first, second);
        let single = Single { first_had_white, half_points };
        if let Some((last, earlier)) = self.last_single.take() {
            if last == pairing && earlier.first_had_white != first_had_white {
                self.count_pair(opening, earlier.half_points + half_points);
                self.bytes = self.bytes.saturating_sub(SINGLE_BYTES);
                return Ok(());
            }
            self.singles.insert(last, Singles { earliest: earlier, others: VecDeque::new() });
        }
        let hash_map::Entry::Occupied(mut entry) = self.singles.entry(pairing) else {
            self.last_single = Some((pairing, single));
            return self.take_memory(SINGLE_BYTES);
        };
        let Singles { earliest, others } = entry.get_mut();
        if earliest.first_had_white == first_had_white {
            others.push_back(half_points);
            return self.take_memory(1);
        }
        let points = earliest.half_points + half_points;
        match others.pop_front() {
            Some(next) => earliest.half_points = next,
            None => {
                entry.remove();
                self.bytes = self.bytes.saturating_sub(SINGLE_BYTES);
            }
        }
        self.count_pair(opening, points);
        Ok(())
    }

    fn count_pair(&mut self, opening: Index, half_points: u8) {
        self.entries[opening as usize].pairs[usize::from(half_points)] += 1;
    }

    /// Numbers of two players.
    fn players(&mut self, names: [&str; 2]) -> Result<[u32; 2]> {
        if let Some((last, numbers)) = &self.last_players
            && *last == names
        {
            return Ok(*numbers);
        }
        let numbers = [self.player(names[0])?, self.player(names[1])?];
        let (last, last_numbers) = self.last_players.get_or_insert_default();
        for (last, name) in last.iter_mut().zip(names) {
            last.clear();
            last.push_str(name);
        }
        *last_numbers = numbers;
        Ok(numbers)
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
        if self.bytes <= self.memory_bytes && self.entries.len() < Index::MAX as usize {
            return Ok(());
        }
        let openings = self.entries.len();
        let megabytes = self.memory_bytes >> 20;
        Err(Error::new(format!(
            "the openings do not fit into the memory: {openings} openings take {megabytes}M"
        )))
    }
}

/// Index of the tag `White` in [`SEVEN_TAG_ROSTER`](epdb_chess::model::SEVEN_TAG_ROSTER). The next
/// constant is the index of `Black`.
const WHITE: usize = 4;
const BLACK: usize = 5;
