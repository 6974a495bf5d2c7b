//! The games that the records of a position refer to, and the games that files store.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::Serialize;

use crate::codec::record;
use crate::error::Result;
use crate::library::tally::{GameFacts, Split};
use crate::model::rules::Move;
use crate::model::{
    EpdRecord, Game, GameDate, GameId, GameResult, KeptGame, KeptGames, Opcode, Position, Replay,
    San, Speed,
};
use crate::source;
use crate::text::san;

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
/// use epdb::library::kept_games::move_played;
/// use epdb::model::Position;
/// use epdb::text::pgn::{GameReader, PgnReadOptions};
/// let mut reader = GameReader::new(&b"1. e4 e5 1-0"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let (_, san) = move_played(read.game.expect("a good one"), &Position::START).expect("a move");
/// assert_eq!(san.to_string(), "e4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn move_played(game: &Game, position: &Position) -> Option<(Move, San)> {
    let identity = position.identity();
    let mut replay = Replay::new(game.start())?;
    for mv in game.main_line() {
        let now = replay.position();
        // Comparing the boards first costs less, and nearly always decides.
        if now.board() == identity.board() && now.identity() == identity {
            return Some((mv, san::format(&replay.playable(), mv)));
        }
        replay.play(mv);
    }
    None
}

/// The stored games of some files. Only games that records list are written.
#[derive(Default, Debug)]
pub struct KeptGamesOf {
    /// Files that store games.
    files: Vec<PathBuf>,
    listed: HashSet<GameId>,
}

impl KeptGamesOf {
    /// Finds the files that store games. Only regular files are checked.
    ///
    /// # Errors
    /// A file cannot be opened or is damaged.
    pub fn new(files: &[PathBuf]) -> Result<KeptGamesOf> {
        let mut keeping = Vec::new();
        for file in files.iter().filter(|file| file.is_file()) {
            if source::library_counts(file)?.kept_games > 0 {
                keeping.push(file.clone());
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
            source::each_kept_game(file, &mut |id, game| {
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
                found.push(FoundGame { kept, played: move_played(&game, position), game });
            }
        }
        Ok(found)
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
    /// The rating; 0 if unknown, like [`GameObject::year`].
    pub rating: u16,
}

impl GameObject {
    /// The object of a game.
    pub fn new(found: &FoundGame) -> GameObject {
        let FoundGame { kept, played, game } = found;
        let date = kept.date;
        let (year, month, _) = date.parts();
        let facts = GameFacts::new(game, Split { speed: true, ..Split::default() });
        let player = |name: &str, elo: &str| PlayerObject {
            name: game.tag(name).unwrap_or_default().to_string(),
            rating: game.tag(elo).and_then(|elo| elo.parse().ok()).unwrap_or_default(),
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
