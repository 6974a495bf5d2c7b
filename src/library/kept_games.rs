//! The games that the records of a position refer to, the games that files store, and the games of a
//! file that reach a position.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Serialize;

use crate::same_game;
use crate::tally::{GameFacts, Split, kept_game_from};
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::pgc::{self, PgcEncodeOptions, PgcReader};
use epdb_chess::codec::{kept_game, record};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{
    EpdRecord, Game, GameDate, GameId, GameResult, KeptGame, KeptGames, Opcode, Position, Replay,
    San, Speed,
};
use epdb_chess::text::san;
use epdb_source::{CollectionFile, Item, Streams};

/// Merges the lists of games in the records of one position: the best rated and the latest games
/// stay. `None` if no record has a list.
pub fn listed(records: &[EpdRecord]) -> Option<KeptGames> {
    let lists =
        records.iter().filter_map(|it| KeptGames::from_operands(it.operands(Opcode::KEPT_GAMES)?));
    lists.reduce(|all, more| all.merged(&more))
}

/// The move that a game played when it first reached a position; `None` if the game ended there or
/// did not reach it.
///
/// ```
/// use epdb_library::kept_games::move_played;
/// use epdb_chess::model::Position;
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let mut reader = GameReader::new(&b"1. e4 e5 1-0"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let (_, san) = move_played(read.game.expect("a good one"), &Position::START).expect("a move");
/// assert_eq!(san.to_string(), "e4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn move_played(game: &Game, position: &Position) -> Option<(Move, San)> {
    reached(game, position)?.next
}

/// The first time that a game reached a position.
struct Reached {
    /// The move that the game played there; `None` if it ended there.
    next: Option<(Move, San)>,
}

/// Finds out whether the main line of a game reached a position.
fn reached(game: &Game, position: &Position) -> Option<Reached> {
    let identity = position.identity();
    // Comparing the boards first costs less, and nearly always decides.
    let is_there = |now: &Position| now.board() == identity.board() && now.identity() == identity;
    let mut replay = Replay::new(game.start())?;
    for mv in game.main_line() {
        if is_there(replay.position()) {
            return Some(Reached { next: Some((mv, san::format(&replay.playable(), mv))) });
        }
        replay.play(mv);
    }
    is_there(replay.position()).then_some(Reached { next: None })
}

/// The stored games of some files. Only games that records list are written.
#[derive(Default, Debug)]
pub struct KeptGamesOf {
    /// Files that store games.
    files: Vec<CollectionFile>,
    listed: HashSet<GameId>,
}

impl KeptGamesOf {
    /// Finds the files that store games. The records of these files are read later, with the same `streams`.
    ///
    /// # Errors
    /// A file cannot be opened or is damaged.
    pub fn new(files: &[impl AsRef<Path>], streams: &Streams) -> Result<KeptGamesOf> {
        let mut keeping = Vec::new();
        for file in files {
            if let Some(library) = streams.library(file)?
                && library.opened()?.kept_game_count()? > 0
            {
                keeping.push(library);
            }
        }
        Ok(KeptGamesOf { files: keeping, listed: HashSet::new() })
    }

    /// Remembers the games that a record lists.
    pub fn note(&mut self, record: &EpdRecord) {
        if self.files.is_empty() {
            return;
        }
        if let Some(kept) = record.operands(Opcode::KEPT_GAMES).and_then(KeptGames::from_operands) {
            self.listed.extend(kept.games().iter().map(|game| game.id));
        }
    }

    /// Like [`KeptGamesOf::note`], for a record in binary form.
    ///
    /// # Errors
    /// The bytes are not a record.
    pub fn note_encoded(&mut self, record: &[u8]) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        if let Some(kept) = record::kept_games_of(record)? {
            self.listed.extend(kept.games().iter().map(|game| game.id));
        }
        Ok(())
    }

    /// Passes on the listed games, file by file.
    ///
    /// # Errors
    /// A file cannot be read, or `visit` fails.
    pub fn each(&self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.files.iter().try_for_each(|file| {
            file.opened()?.each_kept_game(&mut |id, game| {
                if self.listed.contains(&id) { visit(game) } else { Ok(()) }
            })
        })
    }
}

/// A game that reached a position.
#[derive(Clone, Debug)]
pub struct FoundGame {
    /// The game in the list of the position, with the rating and the date by which it was chosen.
    pub kept: KeptGame,
    /// The move that the game played when it first reached the position; `None` if the game ended
    /// there.
    pub played: Option<(Move, San)>,
    /// The game.
    pub game: Game,
}

impl FoundGame {
    /// A game that a position lists.
    pub fn new(kept: KeptGame, game: Game, position: &Position) -> FoundGame {
        FoundGame { kept, played: move_played(&game, position), game }
    }

    /// Reads the games that a position of a library lists. `game_of` returns a game by its id. If `game_of`
    /// finds no game, the game is left out.
    ///
    /// # Errors
    /// Errors of `game_of`.
    pub fn find(
        games: &[&KeptGame],
        position: &Position,
        mut game_of: impl FnMut(GameId) -> Result<Option<Game>>,
    ) -> Result<Vec<FoundGame>> {
        let mut found = Vec::new();
        for &&kept in games {
            if let Some(game) = game_of(kept.id)? {
                found.push(FoundGame::new(kept, game, position));
            }
        }
        Ok(found)
    }
}

/// The order of the games that reached a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ListOrder {
    /// The best rated game first.
    Rating,
    /// The latest game first.
    Date,
}

impl ListOrder {
    /// All games of a list in this order.
    pub fn sorted(self, listed: &KeptGames) -> Vec<KeptGame> {
        let mut games = listed.games().to_vec();
        match self {
            // A list is in this order.
            ListOrder::Rating => {}
            ListOrder::Date => {
                games.sort_by_key(|it| (Reverse(it.date), Reverse(it.rating), it.id));
            }
        }
        games
    }

    /// Bytes that sort games of a file in this order.
    pub fn key_of(self, game: &Game) -> Vec<u8> {
        let facts = GameFacts::new(game, Split::default());
        self.key(&kept_game_from(game, &facts, &[]))
    }

    /// Bytes that sort games in this order. A missing rating or part of a date is 0, and comes last.
    fn key(self, game: &KeptGame) -> Vec<u8> {
        let rating = (!game.rating.unwrap_or(0)).to_be_bytes();
        let (year, month, day) = game.date.parts();
        let date = [&(!year).to_be_bytes()[..], &[!month, !day]].concat();
        match self {
            ListOrder::Rating => [&rating[..], &date, &game.id.0].concat(),
            ListOrder::Date => [&date[..], &rating, &game.id.0].concat(),
        }
    }
}

/// Search for the games of a file that reach a position, in bounded memory. Copies of a game, by
/// [`SameGame::Auto`](same_game::SameGame::Auto), are one game: a copy with a result counts before one without, then the longer
/// copy, then the earlier one.
#[derive(Debug)]
pub struct GameSearch {
    position: Position,
    order: ListOrder,
    /// The games that reach the position. A payload has the number of the copy, then the game.
    games: Sorter,
    /// For each game, the copy that counts.
    copies: HashMap<[u8; 16], CountedCopy>,
    /// Number of copies so far.
    read: u64,
    /// Number of copies that reach the position.
    reaching: u64,
    left_out: u64,
}

#[derive(Clone, Debug)]
struct CountedCopy {
    number: u64,
    is_finished: bool,
    plies: usize,
    reaches: bool,
}

impl GameSearch {
    /// A search that uses about `memory_bytes` of memory, and temporary files in `directory` for the
    /// rest. Additional memory holds some 60 bytes for each game of the file.
    pub fn new(
        position: &Position,
        order: ListOrder,
        directory: &Path,
        memory_bytes: usize,
    ) -> GameSearch {
        GameSearch {
            position: *position,
            order,
            games: Sorter::new(directory, memory_bytes),
            copies: HashMap::new(),
            read: 0,
            reaching: 0,
            left_out: 0,
        }
    }

    /// Takes an item of a source. Games that are rejected or cut short, and games with a move that PGC
    /// cannot encode, are left out and counted.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn take_item(&mut self, item: &Item<'_>) -> Result<()> {
        match item {
            Item::Game { is_cut_short: true, .. } | Item::Rejected { is_more: false, .. } => {
                self.left_out += 1;
                Ok(())
            }
            Item::Game { game, .. } => self.add(game),
            _ => Ok(()),
        }
    }

    fn add(&mut self, game: &Game) -> Result<()> {
        let digest = same_game::digest_of(game);
        let mut copy = CountedCopy {
            number: self.read,
            is_finished: game.result() != GameResult::Unknown,
            plies: game.plies().count(),
            reaches: false,
        };
        self.read += 1;
        let rank = |copy: &CountedCopy| (copy.is_finished, copy.plies);
        let reaches = reached(game, &self.position).is_some();
        self.reaching += u64::from(reaches);
        if self.copies.get(&digest).is_some_and(|earlier| rank(earlier) >= rank(&copy)) {
            return Ok(());
        }
        if reaches {
            let mut kept = Vec::new();
            let mut payload = copy.number.to_be_bytes().to_vec();
            let is_encoded = kept_game::encode(game, &mut kept).is_ok()
                && pgc::encode(
                    game,
                    &PgcEncodeOptions { escapes: true, ..PgcEncodeOptions::EXTENDED },
                    &mut payload,
                )
                .is_ok();
            if !is_encoded {
                self.reaching -= 1;
                self.left_out += 1;
                return Ok(());
            }
            let facts = GameFacts::new(game, Split::default());
            self.games.push(&self.order.key(&kept_game_from(game, &facts, &kept)), &payload)?;
            copy.reaches = true;
        }
        self.copies.insert(digest, copy);
        Ok(())
    }

    /// Number of games that reach the position, with each copy.
    pub const fn reaching(&self) -> u64 {
        self.reaching
    }

    /// Number of games that were left out.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Ends the file, and returns the games.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<ReachingGames> {
        let reaching = self.copies.values().filter(|copy| copy.reaches);
        let numbers = reaching.map(|copy| copy.number).collect();
        Ok(ReachingGames { position: self.position, numbers, games: self.games.finish()? })
    }
}

/// The games of a file that reach a position, in order.
#[derive(Debug)]
pub struct ReachingGames {
    position: Position,
    /// The numbers of the copies that count.
    numbers: HashSet<u64>,
    games: Sorted,
}

impl ReachingGames {
    /// Number of games, including those that were returned.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// The next game.
    ///
    /// # Errors
    /// The temporary file cannot be read, or was changed.
    pub fn next_game(&mut self) -> Result<Option<FoundGame>> {
        let changed = || Error::new("the temporary file of a sort was changed");
        while let Some((_, payload)) = self.games.next_entry()? {
            let (number, encoded) = payload.split_first_chunk().ok_or_else(changed)?;
            if !self.numbers.contains(&u64::from_be_bytes(*number)) {
                continue;
            }
            let mut reader = PgcReader::new(encoded, encoded.len());
            let read = reader.next_game().map_err(|_| changed())?.ok_or_else(changed)?;
            let game = read.game.map_err(|_| changed())?.clone();
            let mut kept = Vec::new();
            kept_game::encode(&game, &mut kept).map_err(|_| changed())?;
            let facts = GameFacts::new(&game, Split::default());
            let kept = kept_game_from(&game, &facts, &kept);
            return Ok(Some(FoundGame::new(kept, game, &self.position)));
        }
        Ok(None)
    }
}

/// The value of a tag, unless it is unknown.
pub fn known_tag<'a>(game: &'a Game, name: &str) -> Option<&'a str> {
    game.tag(name).filter(|value| !["", "?", "-"].contains(value))
}

/// The mode of a game, by the first word of the name of its event on lichess.org.
fn mode(event: &str) -> Option<&'static str> {
    match event.split(' ').next() {
        Some("Rated") => Some("rated"),
        Some("Casual") => Some("casual"),
        _ => None,
    }
}

/// A game as the opening explorer of lichess.org lists it, with more fields. Unknown values are 0
/// or null, or left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GameObject {
    /// The id of the game.
    pub id: String,
    /// The move of the game in the position, in coordinates; in castling, the king moves to the
    /// square of its rook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uci: Option<String>,
    /// The move of the game in canonical SAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub san: Option<String>,
    /// `white` or `black`; null for a draw or an unknown result.
    pub winner: Option<&'static str>,
    /// The result as in PGN.
    pub result: &'static str,
    /// The class of the time control, such as `blitz`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<&'static str>,
    /// `rated` or `casual`, by the name of the event on lichess.org.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    /// The player with White.
    pub white: PlayerObject,
    /// The player with Black.
    pub black: PlayerObject,
    /// The year; 0 if unknown, because some client programs expect a number.
    pub year: u16,
    /// Year and month, such as `2019-05`; null if unknown.
    pub month: Option<String>,
    /// The date as in PGN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

/// A player.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlayerObject {
    /// The name in the game.
    pub name: String,
    /// The rating; `None` if unknown.
    pub rating: Option<u16>,
}

impl GameObject {
    /// The object of a game that a position lists.
    pub fn new(found: &FoundGame) -> GameObject {
        let FoundGame { kept, played, game } = found;
        GameObject::from_parts(kept, *played, game)
    }

    /// Like [`GameObject::new`], for client programs that expect numbers: an unknown rating is 0.
    pub fn for_clients(found: &FoundGame) -> GameObject {
        let mut object = GameObject::new(found);
        object.white.rating.get_or_insert(0);
        object.black.rating.get_or_insert(0);
        object
    }

    /// The object of a game of a file. The id is empty if no library can keep the game, because it has a
    /// position with more than 256 moves.
    pub(crate) fn from_game(game: &Game, played: Option<(Move, San)>) -> GameObject {
        let mut encoded = Vec::new();
        let is_kept = kept_game::encode(game, &mut encoded).is_ok();
        let facts = GameFacts::new(game, Split::default());
        let kept = kept_game_from(game, &facts, &encoded);
        let object = GameObject::from_parts(&kept, played, game);
        let id = if is_kept { object.id } else { String::new() };
        GameObject { id, ..object }
    }

    fn from_parts(kept: &KeptGame, played: Option<(Move, San)>, game: &Game) -> GameObject {
        let date = kept.date;
        let (year, month, _) = date.parts();
        let facts = GameFacts::new(game, Split { speed: true, ..Split::default() });
        let player = |name: &str, elo: &str| PlayerObject {
            name: game.tag(name).unwrap_or_default().to_string(),
            rating: game.tag(elo).and_then(|elo| elo.parse().ok()).filter(|elo| *elo > 0),
        };
        GameObject {
            id: kept.id.to_string(),
            uci: played.map(|(mv, _)| mv.to_string()),
            san: played.map(|(_, san)| san.to_string()),
            winner: match game.result() {
                GameResult::WhiteWins => Some("white"),
                GameResult::BlackWins => Some("black"),
                _ => None,
            },
            result: game.result().as_str(),
            speed: facts.cell.speed.map(Speed::name),
            mode: known_tag(game, "Event").and_then(mode),
            white: player("White", "WhiteElo"),
            black: player("Black", "BlackElo"),
            year,
            month: (month > 0).then(|| format!("{year:04}-{month:02}")),
            date: (date != GameDate::default()).then(|| date.to_string()),
            event: known_tag(game, "Event").map(str::to_string),
        }
    }
}
