//! Games behind a position: those that its records list.

use serde::Serialize;

use crate::error::Result;
use crate::library::tally::{GameFacts, Split};
use crate::model::rules::Move;
use crate::model::{
    EpdRecord, Game, GameDate, GameId, GameResult, KeptGame, KeptGames, Opcode, Position, Replay,
    San, Speed,
};
use crate::text::san;

/// The games that records of one position list: the best rated and the latest of all; `None` where none
/// lists any.
pub fn listed(records: &[EpdRecord]) -> Option<KeptGames> {
    let lists =
        records.iter().filter_map(|it| KeptGames::of_operands(it.operands(Opcode::KEPT_GAMES)?));
    lists.reduce(|all, more| all.merged(&more))
}

/// The move that a game played in a position when it was there first; `None` where it ended there, or did
/// not reach it.
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
        if replay.position().identity() == identity {
            return Some((mv, san::format(&replay.playable(), mv)));
        }
        replay.play(mv);
    }
    None
}

/// A game that reached a position.
#[derive(Clone, Debug)]
pub struct FoundGame {
    /// What it was chosen by.
    pub kept: KeptGame,
    /// What it played there when it was there first, if it went on.
    pub played: Option<(Move, San)>,
    /// The game.
    pub game: Game,
}

impl FoundGame {
    /// Those of some games of a position that its library has: `game_of` gives them.
    ///
    /// # Errors
    /// Those of `game_of`.
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

/// The value of a tag that says something.
pub fn known_tag<'a>(game: &'a Game, name: &str) -> Option<&'a str> {
    game.tag(name).filter(|value| !["", "?", "-"].contains(value))
}

/// What the name of an event on lichess.org begins with.
fn mode(event: &str) -> Option<&'static str> {
    match event.split(' ').next() {
        Some("Rated") => Some("rated"),
        Some("Casual") => Some("casual"),
        _ => None,
    }
}

/// A game in the shape in which the opening explorer of lichess.org lists games, and more. Of what
/// is not known, its fields are 0 or null, and others are left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GameObject {
    /// What it is found by.
    pub id: String,
    /// What it played in the position, as coordinates; castling as the king taking its rook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uci: Option<String>,
    /// The same in canonical SAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub san: Option<String>,
    /// `white` or `black`; null for a draw, and where it is not known.
    pub winner: Option<&'static str>,
    /// As PGN has it.
    pub result: &'static str,
    /// The class of the time control, such as `blitz`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<&'static str>,
    /// `rated` or `casual`, as the names of events on lichess.org begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    /// Who had White.
    pub white: PlayerObject,
    /// Who had Black.
    pub black: PlayerObject,
    /// The year; 0 where it is not known. Typed clients of the explorer expect a number.
    pub year: u16,
    /// Year and month, such as `2019-05`; null where it is not known.
    pub month: Option<String>,
    /// The date as PGN has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

/// Who played.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlayerObject {
    /// As the game has it.
    pub name: String,
    /// The rating; 0 where it is not known, as with [`GameObject::year`].
    pub rating: u16,
}

impl GameObject {
    /// The object of a game.
    pub fn new(found: &FoundGame) -> GameObject {
        let FoundGame { kept, played, game } = found;
        let date = kept.date;
        let (year, month, _) = date.parts();
        let facts = GameFacts::of(game, Split { speed: true, ..Split::default() });
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
