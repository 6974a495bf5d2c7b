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
//! let mut openings = Openings::new(1 << 20, None);
//! let mut reader = GameReader::new(&pgn[..], PgnReadOptions::default());
//! while let Some(read) = reader.next_game()? {
//!     openings.add_game(&read.game.expect("a good game"))?;
//! }
//! let found = openings.finish();
//! let opening = &found.openings[0];
//! assert_eq!((opening.games(), opening.draw_rate()), (2, Some(0.5)));
//! assert_eq!(opening.pairs, [0, 0, 0, 1, 0]);
//! let results = found.results.expect("two players");
//! assert_eq!(results.players, ["A", "B"]);
//! assert_eq!(results.games, [0, 1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::forfeits::Forfeits;
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
    /// players is the first player of the games ([`Openings::finish`]), otherwise the first one by alphabet.
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchResults {
    /// The first player and the opponent.
    pub players: [String; 2],
    /// Games that the first player lost, drew and won.
    pub games: [u64; 3],
    /// Numbers of pairs of games with 0, ½, 1, 1½ and 2 points.
    pub pairs: [u64; 5],
}

impl MatchResults {
    /// The numbers of pairs or, if there are no pairs, of games: for each score, the lowest first.
    pub fn counts(&self) -> &[u64] {
        if self.pairs == [0; 5] { &self.games } else { &self.pairs }
    }
}

/// Index of an opening, in order of insertion.
type Index = u32;

/// Results of games by opening, and of a match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpeningResults {
    /// The openings of the book in the order of the book, then the other openings.
    pub openings: Vec<Opening>,
    /// Number of openings of the book.
    pub of_book: usize,
    /// The results of a match; `None` if the games have more or fewer than two players.
    pub results: Option<MatchResults>,
    /// The players who lost games for another reason than the rules of chess.
    pub forfeits: BTreeMap<String, Forfeits>,
    /// Number of games with the tags and moves of an earlier one.
    pub copies: u64,
}

/// The first three numbers of a tag `Round` such as `12.3`.
type Round = [u32; 3];

/// Games without a number come last.
const NO_ROUND: Round = [u32::MAX; 3];

fn round_of(game: &Game) -> Round {
    let mut round = NO_ROUND;
    for (number, text) in round.iter_mut().zip(game.roster_tag(ROUND).split('.')) {
        let Ok(read) = text.trim().parse() else { break };
        *number = read;
    }
    if round != NO_ROUND {
        // In `1` and `1.1`, the shorter one comes first.
        round.iter_mut().filter(|number| **number == u32::MAX).for_each(|number| *number = 0);
    }
    round
}

/// A game with a result between two known players.
#[derive(Copy, Clone, Debug)]
struct PlayedGame {
    opening: Index,
    white: u32,
    black: u32,
    round: Round,
    /// Half points of White.
    white_has: u8,
}

impl PlayedGame {
    /// The opening and the players, the first player first.
    fn pairing(&self) -> (Index, u32, u32) {
        (self.opening, self.white.min(self.black), self.white.max(self.black))
    }

    fn half_points_of_first(&self) -> usize {
        usize::from(if self.white < self.black { self.white_has } else { 2 - self.white_has })
    }
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
    forfeits: Vec<Forfeits>,
    /// Names of White and Black in the last game, with their numbers.
    last_players: Option<([String; 2], [u32; 2])>,
    games: Vec<PlayedGame>,
    /// Hashes of the tags and moves of `games`.
    seen: HashSet<u64>,
    /// The player whose games count; `None` for all games.
    player: Option<String>,
    /// The first player, with the round of the game that says so.
    first: Option<(Round, String)>,
    bytes: usize,
    memory_bytes: usize,
}

/// Memory of an opening with its index entry, in bytes.
const OPENING_BYTES: usize = size_of::<Opening>()
    + size_of::<Entry>()
    + size_of::<Position>()
    + 2 * size_of::<(u64, Index)>();
/// Memory of a game, in bytes.
const GAME_BYTES: usize = 2 * size_of::<PlayedGame>() + 2 * size_of::<u64>();

impl Openings {
    /// A list without openings, which uses at most about `memory_bytes`. If a player is given, only the games of
    /// this player count.
    pub fn new(memory_bytes: usize, player: Option<String>) -> Openings {
        Openings {
            index: HashMap::new(),
            hasher: RandomState::default(),
            entries: Vec::new(),
            positions: Vec::new(),
            of_book: 0,
            fewest_pieces: u32::MAX,
            previous_start: None,
            players: HashMap::new(),
            forfeits: Vec::new(),
            last_players: None,
            games: Vec::new(),
            seen: HashSet::new(),
            player,
            first: None,
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

    /// Adds a game.
    ///
    /// # Errors
    /// The openings do not fit into memory.
    pub fn add_game(&mut self, game: &Game) -> Result<()> {
        let names = [game.roster_tag(WHITE), game.roster_tag(BLACK)];
        if self.player.as_deref().is_some_and(|player| !names.contains(&player)) {
            return Ok(());
        }
        let round = round_of(game);
        let opening = match self.last_book_position(game) {
            Some(index) => index,
            None => self.opening_of_start(game.start().position)?,
        };
        let players = self.players_of(names, round)?;
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
        let Some([white, black]) = players else { return Ok(()) };
        if white_has != 1
            && let Some(termination) = game.tag("Termination")
        {
            let loser = if white_has == 0 { white } else { black };
            self.forfeits[loser as usize].add(termination);
        }
        self.games.push(PlayedGame { opening, white, black, round, white_has });
        self.seen.insert(self.hash_of(game));
        self.take_memory(GAME_BYTES)
    }

    /// Hash of the tags and moves of a game. Engines repeat games of one opening, but not their tag `Round`.
    fn hash_of(&self, game: &Game) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        game.tags().for_each(|tag| tag.hash(&mut hasher));
        game.plies().for_each(|ply| ply.hash(&mut hasher));
        hasher.finish()
    }

    /// Keeps White of the game with the lowest round. Equal rounds are decided by name, so that the order of the
    /// games does not matter.
    fn find_first(&mut self, round: Round, white: &str) {
        let is_earlier = |(earliest, first): &(Round, String)| {
            round < *earliest || (round == *earliest && round != NO_ROUND && white < first.as_str())
        };
        if self.first.as_ref().is_none_or(is_earlier) {
            self.first = Some((round, white.to_string()));
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

    /// Makes pairs: two games of one opening between the same players with swapped colours, in the order of
    /// their rounds.
    ///
    /// The first player of all games is the requested one, otherwise White of the game with the lowest number in
    /// its tag `Round`. Without such a tag, the first player is White of the first game.
    pub fn finish(mut self) -> OpeningResults {
        let opening = |(entry, &position): (&Entry, &Position)| {
            let Entry { wins, draws, losses, unknown, .. } = *entry;
            Opening { position, wins, draws, losses, unknown, pairs: [0; 5] }
        };
        let mut openings: Vec<Opening> =
            self.entries.iter().zip(&self.positions).map(opening).collect();
        let forfeits = self.players.iter().map(|(name, number)| {
            let forfeits = self.forfeits[*number as usize];
            (name.clone(), forfeits)
        });
        let forfeits = forfeits.filter(|(_, forfeits)| !forfeits.is_empty()).collect();
        let names = self.number_by_rank();
        let copies = (self.games.len() - self.seen.len()) as u64;
        self.games.sort_by_key(|game| (game.pairing(), game.round));
        for games in self.games.chunk_by(|one, next| one.pairing() == next.pairing()) {
            let (as_white, as_black): (Vec<PlayedGame>, Vec<PlayedGame>) =
                games.iter().partition(|game| game.white < game.black);
            for (one, other) in as_white.into_iter().zip(as_black) {
                let half_points = one.half_points_of_first() + other.half_points_of_first();
                openings[one.opening as usize].pairs[half_points] += 1;
            }
        }
        let results = names.try_into().ok().map(|players| self.match_results(players, &openings));
        OpeningResults { openings, of_book: self.of_book, results, forfeits, copies }
    }

    /// Numbers the players of the games again: the first player, then all others by name. Returns the names.
    fn number_by_rank(&mut self) -> Vec<String> {
        let mut names: Vec<String> = self.players.keys().cloned().collect();
        let first = self.player.take().or(self.first.take().map(|(_, name)| name));
        names.sort_unstable();
        if let Some(place) = names.iter().position(|name| Some(name) == first.as_ref()) {
            names[..=place].rotate_right(1);
        }
        let mut ranks = vec![0; names.len()];
        for (rank, name) in names.iter().enumerate() {
            ranks[self.players[name] as usize] = rank as u32;
        }
        for game in &mut self.games {
            game.white = ranks[game.white as usize];
            game.black = ranks[game.black as usize];
        }
        names
    }

    fn match_results(&self, players: [String; 2], openings: &[Opening]) -> MatchResults {
        let mut games = [0; 3];
        for game in &self.games {
            games[game.half_points_of_first()] += 1;
        }
        let mut pairs = [0; 5];
        for opening in openings {
            pairs.iter_mut().zip(opening.pairs).for_each(|(sum, count)| *sum += count);
        }
        MatchResults { players, games, pairs }
    }

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
        self.entries.push(Entry { board, wins: 0, draws: 0, losses: 0, unknown: 0 });
        self.positions.push(position);
        Ok(index)
    }

    /// Numbers of White and Black. `None` for a game of a player against itself, and for unknown
    /// players: such games make no pairs.
    fn players_of(&mut self, names: [&str; 2], round: Round) -> Result<Option<[u32; 2]>> {
        if names[0] == names[1] || names.contains(&UNKNOWN_TAG_VALUES[WHITE]) {
            return Ok(None);
        }
        self.find_first(round, names[0]);
        self.players(names).map(Some)
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
        self.take_memory(2 * size_of::<(String, u32, Forfeits)>() + name.len())?;
        let number = self.players.len() as u32;
        self.players.insert(name.to_string(), number);
        self.forfeits.push(Forfeits::default());
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

/// Indexes of the tags `Round`, `White` and `Black` in
/// [`SEVEN_TAG_ROSTER`](epdb_chess::model::SEVEN_TAG_ROSTER).
const ROUND: usize = 3;
const WHITE: usize = 4;
const BLACK: usize = 5;
