//! The queries of the explorer API.

use serde::Deserialize;

use crate::filter::{GameFilter, given, words};
use crate::line::ParsedLine;
use crate::{Explorer, Refusal};
use epdb_chess::model::Color;
use epdb_chess::model::rules::Move;
use epdb_chess::text::PositionLine;
use epdb_library::explore::CellFilter;

/// The query parameters. Those that a path does not support are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ExplorerQuery {
    source: Option<String>,
    variant: Option<String>,
    fen: Option<String>,
    play: Option<String>,
    moves: Option<String>,
    top_games: Option<String>,
    recent_games: Option<String>,
    history: Option<String>,
    player: Option<String>,
    color: Option<String>,
    modes: Option<String>,
    #[serde(flatten)]
    games: GameFilter,
}

/// Names of client programs of lichess.org. These programs send their name in the parameter that names a
/// source here.
const ASKING: [&str; 5] = ["analysis", "fishnet", "opening", "openingCrawler", "mobile"];
/// The accepted values of `variant`.
const VARIANTS: [&str; 4] = ["standard", "chess", "chess960", "fromPosition"];
/// Default number of moves.
const MOVES: usize = 12;
/// Maximum numbers of top games and of recent games.
const TOP_OF_MASTERS: usize = 15;
const TOP: usize = 4;
const RECENT: usize = 8;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ParsedQuery {
    pub(super) line: PositionLine,
    /// Maximum number of moves.
    pub(super) moves: usize,
    pub(super) cells: CellFilter,
    /// Query parameters that no library supports.
    pub(super) not_split: Vec<&'static str>,
    /// Maximum number of the best games; `None` for no list.
    pub(super) top: Option<usize>,
    /// Maximum number of the latest games.
    pub(super) recent: Option<usize>,
    /// Whether the answer has the game of each move that was played in only one game.
    pub(super) single_games: bool,
    /// Whether the games are counted by month.
    pub(super) history: bool,
}

impl ParsedQuery {
    pub(super) fn for_masters(query: &ExplorerQuery) -> Result<ParsedQuery, Refusal> {
        let GameFilter { since, until, .. } = query.games.clone();
        let games = GameFilter { since, until, ..GameFilter::default() };
        let top = number("topGames", &query.top_games, usize::MAX)?.min(TOP_OF_MASTERS);
        Ok(ParsedQuery { top: Some(top), ..ParsedQuery::new(query, &games, MOVES)? })
    }

    pub(super) fn for_lichess(query: &ExplorerQuery) -> Result<ParsedQuery, Refusal> {
        let top = number("topGames", &query.top_games, TOP)?.min(TOP);
        let recent = number("recentGames", &query.recent_games, RECENT)?.min(RECENT);
        Ok(ParsedQuery {
            top: Some(top),
            recent: Some(recent),
            single_games: top > 0 || recent > 0,
            history: flag("history", &query.history)?,
            ..ParsedQuery::new(query, &query.games, MOVES)?
        })
    }

    pub(super) fn for_player(query: &ExplorerQuery) -> Result<ParsedQuery, Refusal> {
        let GameFilter { since, until, speeds, .. } = query.games.clone();
        let games = GameFilter { since, until, speeds, ratings: None };
        let recent = number("recentGames", &query.recent_games, usize::MAX)?.min(RECENT);
        let not_split = if query.asks_modes()? { vec!["modes"] } else { Vec::new() };
        let question = ParsedQuery::new(query, &games, usize::MAX)?;
        Ok(ParsedQuery { recent: Some(recent), not_split, ..question })
    }

    fn new(
        query: &ExplorerQuery,
        games: &GameFilter,
        moves: usize,
    ) -> Result<ParsedQuery, Refusal> {
        query.check_variant()?;
        let cells = games.filter()?;
        Ok(ParsedQuery {
            line: query.line()?,
            moves: number("moves", &query.moves, moves)?,
            cells,
            not_split: Vec::new(),
            top: None,
            recent: None,
            single_games: true,
            history: false,
        })
    }

    pub(super) fn wants_games(&self) -> bool {
        let lists = [self.top, self.recent].into_iter().flatten();
        self.single_games || lists.max().unwrap_or_default() > 0
    }
}

impl ExplorerQuery {
    /// The name of a source. Names of client programs do not count, unless a source has such a
    /// name.
    pub(super) fn source(&self, explorer: &Explorer) -> Option<&str> {
        let is_name = |name: &&str| !ASKING.contains(name) || explorer.named(name).is_some();
        given(&self.source).filter(is_name)
    }

    pub(super) fn player(&self) -> Result<(&str, Color), Refusal> {
        let missing = |name| move || bad_request(format_args!("{name} is missing"));
        let player = given(&self.player).ok_or_else(missing("player"))?;
        match given(&self.color).ok_or_else(missing("color"))? {
            "white" | "w" => Ok((player, Color::White)),
            "black" | "b" => Ok((player, Color::Black)),
            other => Err(bad_request(format_args!("color: {other} is neither white nor black"))),
        }
    }

    /// Requests only the games by month.
    pub(super) fn only_history(self) -> ExplorerQuery {
        let text = |text: &str| Some(text.to_string());
        ExplorerQuery {
            moves: text("0"),
            top_games: text("0"),
            recent_games: text("0"),
            history: text("true"),
            ..self
        }
    }

    /// Whether only rated or only casual games are requested.
    fn asks_modes(&self) -> Result<bool, Refusal> {
        const MODES: [&str; 2] = ["rated", "casual"];
        if let Some(wrong) = words(&self.modes).find(|mode| !MODES.contains(mode)) {
            return Err(bad_request(format_args!("modes: {wrong} is neither rated nor casual")));
        }
        let is_asked = |mode| words(&self.modes).any(|word| word == mode);
        Ok(is_asked(MODES[0]) != is_asked(MODES[1]))
    }

    fn check_variant(&self) -> Result<(), Refusal> {
        if let Some(name) = given(&self.variant)
            && !VARIANTS.contains(&name)
        {
            let names = VARIANTS.join(", ");
            return Err(bad_request(format_args!("variant: {name}: libraries have {names}")));
        }
        Ok(())
    }

    fn line(&self) -> Result<PositionLine, Refusal> {
        for word in words(&self.play) {
            let wrong = |error| bad_request(format_args!("play: {word}: {error}"));
            word.parse::<Move>().map_err(wrong)?;
        }
        let play: Vec<&str> = words(&self.play).collect();
        let line = ParsedLine::parse(given(&self.fen), &play.join(","))?;
        line.playable()?;
        Ok(line.line().clone())
    }
}

fn bad_request(why: impl std::fmt::Display) -> Refusal {
    Refusal::bad_request(format!("bad request: {why}"))
}

fn number(name: &str, text: &Option<String>, default: usize) -> Result<usize, Refusal> {
    let Some(text) = given(text) else { return Ok(default) };
    text.parse().map_err(|_| bad_request(format_args!("{name}: a number is expected")))
}

fn flag(name: &str, text: &Option<String>) -> Result<bool, Refusal> {
    match given(text).map(str::to_ascii_lowercase).as_deref() {
        None | Some("no" | "false" | "off" | "0") => Ok(false),
        Some("yes" | "true" | "on" | "1") => Ok(true),
        Some(other) => Err(bad_request(format_args!("{name}: {other} is neither true nor false"))),
    }
}
