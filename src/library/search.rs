//! The games that an expression selects, at their first matches, and what became of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::breakdown::{Breakdown, Results};
use super::expression::{Expression, ExpressionError};
use super::game_tag::{PlayerSearch, names_player};
use super::kept_games::GameObject;
use super::same_game;
use epdb_chess::error::{At, Place, Result};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{Color, EpdRecord, Game, Opcode, Position, San, Tally};
use epdb_chess::text::pgn::{GamePosition, MainLine};
use epdb_chess::text::san;
use epdb_source::{Encode, Filter};

/// The position of a game at which an expression is true for the first time.
///
/// ```
/// use epdb_chess::error::{At, Place};
/// use epdb_library::search::GameMatch;
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let mut reader = GameReader::new(&b"1. e4 c5 2. Nf3 1-0"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let game = read.game.expect("a good one");
/// let place = Place::new("games.pgn", At::Game(1));
/// let expression: epdb_library::expression::Expression = "on('p', 'c5')".parse()?;
/// let found = GameMatch::at(game, expression.first_match(game, &place).expect("a match"));
/// assert_eq!((found.ply, found.move_text()), (2, "2. Nf3".to_string()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GameMatch {
    /// Number of plies before the position.
    pub ply: u32,
    /// The position.
    pub position: Position,
    /// Plies since the last pawn move or capture.
    pub halfmove_clock: u32,
    /// The number of the next move.
    pub move_number: u32,
    /// The next move; `None` at the last position.
    pub played: Option<(Move, San)>,
}

impl GameMatch {
    /// The position after a number of plies.
    pub fn at(game: &Game, ply: u32) -> GameMatch {
        let line = MainLine::at(game, ply);
        let played = line.played();
        let played = played.map(|(mv, playable)| (mv, san::format(&playable, mv)));
        let (halfmove_clock, move_number) = line.counters();
        GameMatch {
            ply: line.ply(),
            position: *line.position(),
            halfmove_clock,
            move_number,
            played,
        }
    }

    /// The next move with its number, as in `12. Nf3` and `12... Nc6`; empty at the last position.
    pub fn move_text(&self) -> String {
        let Some((_, san)) = self.played else { return String::new() };
        let dots = if self.position.turn() == Color::White { "." } else { "..." };
        format!("{}{dots} {san}", self.move_number)
    }
}

/// Finds the first match of each game on the threads that read the games. Records are read as usual.
#[derive(Clone, Debug)]
pub struct Matching(pub Expression);

impl Matching {
    /// The ply of the first match. `encoded` is what a thread found while it read the game.
    pub fn ply(&self, game: &Game, place: &Place, encoded: Option<&[u8]>) -> Option<u32> {
        let found = encoded.and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        found.or_else(|| self.0.first_match(game, place))
    }
}

impl Encode for Matching {
    fn encode(&self, _: &EpdRecord, _: &Place, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn takes_plain(&self) -> bool {
        false
    }

    fn only_plain(&self) -> bool {
        true
    }

    /// Appends the ply. Games are not encoded while they are read if the filter needs their places.
    fn encode_game(&self, game: &Game, out: &mut Vec<u8>) -> bool {
        let ply = self.0.first_match(game, &Place::new("", At::Whole));
        out.extend_from_slice(&ply.unwrap_or_default().to_le_bytes());
        ply.is_some()
    }
}

/// A player whose games are searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Player {
    /// The name in one or more spellings.
    pub names: Vec<String>,
    /// The colour of the player in these games; `None` for either.
    pub side: Option<Color>,
}

impl Player {
    /// The expression that is true for the games of the player; if `own` is given, for which it is true.
    ///
    /// # Errors
    /// The name has quotation marks of both kinds.
    pub fn of(&self, own: Option<&Expression>) -> std::result::Result<Expression, ExpressionError> {
        let quoted = |name: &String| {
            if name.contains('\'') { format!("\"{name}\"") } else { format!("'{name}'") }
        };
        let names = self.names.iter().map(quoted).collect::<Vec<_>>().join(", ");
        let has = |tag: &str| format!("{tag} in [{names}]");
        let own = own.map(|own| format!("({}) && ", own.text())).unwrap_or_default();
        Expression::parse(&match self.side {
            Some(Color::White) => format!("{own}{}", has("White")),
            Some(Color::Black) => format!("{own}{}", has("Black")),
            None => format!("{own}({} || {})", has("White"), has("Black")),
        })
    }

    /// The colour of the player in a game.
    pub fn side_in(&self, game: &Game) -> Color {
        let value = game.tag("White").unwrap_or_default();
        let is_player = |name: &String| names_player(value.as_bytes(), name.as_bytes());
        let has_white = self.side != Some(Color::Black) && self.names.iter().any(is_player);
        if has_white { Color::White } else { Color::Black }
    }
}

/// The filter of a search for the games of a player, which looks for the names of the player in all games.
#[derive(Debug)]
pub struct PlayerFilter {
    expression: Expression,
    search: Mutex<PlayerSearch>,
}

impl PlayerFilter {
    /// The filter of an expression.
    pub fn new(expression: Expression, search: PlayerSearch) -> PlayerFilter {
        PlayerFilter { expression, search: Mutex::new(search) }
    }

    /// The names so far.
    pub fn names(&self) -> MutexGuard<'_, PlayerSearch> {
        self.search.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filter for PlayerFilter {
    fn takes(&self, record: &EpdRecord, game: Option<GamePosition<'_>>, place: &Place) -> bool {
        self.expression.takes(record, game, place)
    }

    fn takes_game(&self, game: &Game, place: &Place) -> bool {
        self.names().add(game);
        self.expression.takes_game(game, place)
    }

    fn needs_place(&self) -> bool {
        self.expression.needs_place()
    }

    fn check(&self, of_games: bool) -> Result<()> {
        self.expression.check(of_games)
    }
}

/// The expression without the mirror images of `flipcolor`; `None` if it has none.
///
/// ```
/// use epdb_library::search::as_written;
/// let knights = "flipcolor(on('N', 'e5')) and pieces > 20".parse()?;
/// assert_eq!(as_written(&knights).expect("a flip").text(), "(on('N', 'e5')) and pieces > 20");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn as_written(expression: &Expression) -> Option<Expression> {
    const FLIP: &str = "flipcolor";
    let is_flipped = expression.text().contains(FLIP);
    is_flipped.then(|| Expression::parse(&expression.text().replace(FLIP, "")).ok())?
}

/// Totals over the matches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Results by year, rating and opening. If a side is not White's, `white` counts its wins.
    pub games: Breakdown,
    /// Results by the next move.
    pub next_moves: BTreeMap<String, Results>,
    /// Number of games of which another copy was counted before.
    pub copies: u64,
    /// The games that were counted, by a hash.
    counted: HashSet<[u8; 16]>,
}

impl Totals {
    /// Counts a game from the point of view of a side, with the move that it plays next.
    pub fn add_game(&mut self, game: &Game, played: Option<&(Move, San)>, side: Color) {
        let results = self.games.add_tags(game, side);
        self.copies += u64::from(!self.counted.insert(same_game::digest_of(game)));
        if let Some((_, san)) = played {
            self.next_moves.entry(san.to_string()).or_default().add(results);
        }
    }

    /// Counts the games that reached the position of a record, by its tally. Returns their number.
    pub fn add_visits(&mut self, record: &EpdRecord) -> u64 {
        let tally = record.operands(Opcode::TALLY).and_then(Tally::from_operands);
        let Some(tally) = tally else { return 0 };
        for part in tally.parts() {
            for one in &part.moves {
                let results = Results::from(&one.counts);
                self.games.add_visits(&part.cell, results);
                self.next_moves.entry(one.san.to_string()).or_default().add(results);
            }
        }
        tally.parts().iter().map(|part| part.reached).sum()
    }
}

/// A game with its first match, as it is printed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MatchObject {
    /// Number of plies before the position.
    pub ply: u32,
    /// The next move with its number; empty at the end of the game.
    #[serde(rename = "move")]
    pub played: String,
    /// The position.
    pub fen: String,
    /// The game.
    #[serde(flatten)]
    pub game: GameObject,
}

impl MatchObject {
    /// The object of a game.
    pub fn new(game: &Game, found: &GameMatch) -> MatchObject {
        MatchObject {
            ply: found.ply,
            played: found.move_text(),
            fen: format!("{} {} {}", found.position, found.halfmove_clock, found.move_number),
            game: GameObject::from_game(game, found.played),
        }
    }
}

/// Results of games with something in common, as it is printed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ResultsObject {
    /// A move, an opening, a year or a rating group. Absent for all games.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All games.
    pub games: u64,
    /// Won games.
    pub wins: u64,
    /// Drawn games.
    pub draws: u64,
    /// Lost games.
    pub losses: u64,
    /// Games with an unknown result.
    pub unknown: u64,
    /// A point for each won game, and half a point for each drawn game.
    pub points: f64,
    /// The points divided by the number of games with a result; null without such games.
    pub score: Option<f64>,
}

impl ResultsObject {
    fn new(name: Option<String>, results: &Results) -> ResultsObject {
        let Results { white: wins, draws, black: losses, unknown } = *results;
        let points = wins as f64 + draws as f64 / 2.0;
        let known = results.known();
        let score = (known > 0).then(|| (points / known as f64 * 1e4).round() / 1e4);
        ResultsObject { name, games: results.games(), wins, draws, losses, unknown, points, score }
    }

    /// The sum of some groups.
    pub fn sum<'a>(
        name: String,
        groups: impl IntoIterator<Item = &'a ResultsObject>,
    ) -> ResultsObject {
        let mut results = Results::default();
        for ResultsObject { wins: white, draws, losses: black, unknown, .. } in groups {
            let (white, draws, black, unknown) = (*white, *draws, *black, *unknown);
            results.add(Results { white, draws, black, unknown });
        }
        ResultsObject::new(Some(name), &results)
    }
}

/// Totals as they are printed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TotalsObject {
    /// `games`, or `visits` of a library without games.
    pub of: &'static str,
    /// The side whose wins are counted: `white`, `player`, or `pattern`, the side that has White's part in an
    /// expression with `flipcolor`.
    pub side: &'static str,
    /// Number of games that were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched: Option<u64>,
    /// Number of games that the sources count: more than `searched`, if a library keeps only some of its games, and
    /// more than `games`, if some end in the position of a library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// Number of games of which another copy is counted too.
    pub copies: u64,
    /// All matches.
    #[serde(flatten)]
    pub all: ResultsObject,
    /// By next move, most games first.
    pub moves: Vec<ResultsObject>,
    /// By opening, most games first.
    pub openings: Vec<ResultsObject>,
    /// By year. If some games have a year, the others are `undated`.
    pub years: Vec<ResultsObject>,
    /// By rating group, which is named by its lower bound. If some games have ratings, the others are `unrated`.
    pub ratings: Vec<ResultsObject>,
}

impl TotalsObject {
    /// The object of some totals.
    pub fn new(of: &'static str, side: &'static str, totals: &Totals) -> TotalsObject {
        let Breakdown { all, results_by_year, results_by_rating, openings, .. } = &totals.games;
        let most_first = |mut rows: Vec<ResultsObject>| {
            rows.sort_by_key(|row| Reverse(row.games));
            rows
        };
        let moves = totals.next_moves.iter();
        let moves = moves.map(|(san, it)| ResultsObject::new(Some(san.clone()), it)).collect();
        let openings = openings.iter();
        let openings =
            openings.map(|(name, it)| ResultsObject::new(Some(name.clone()), &it.counts)).collect();
        TotalsObject {
            of,
            side,
            searched: None,
            counted: None,
            copies: totals.copies,
            all: ResultsObject::new(None, all),
            moves: most_first(moves),
            openings: most_first(openings),
            years: by_number(results_by_year, all, "undated"),
            ratings: by_number(results_by_rating, all, "unrated"),
        }
    }
}

/// A row for each number, and one for the games without a number.
fn by_number(groups: &BTreeMap<u16, Results>, all: &Results, others: &str) -> Vec<ResultsObject> {
    let mut rest = *all;
    let mut rows = Vec::new();
    for (number, results) in groups {
        rest.white -= results.white;
        rest.draws -= results.draws;
        rest.black -= results.black;
        rest.unknown -= results.unknown;
        rows.push(ResultsObject::new(Some(number.to_string()), results));
    }
    if !rows.is_empty() && rest.games() > 0 {
        rows.push(ResultsObject::new(Some(others.to_string()), &rest));
    }
    rows
}
