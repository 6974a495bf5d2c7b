//! What a query asks.

use serde::Deserialize;

use crate::library::explore::CellFilter;
use crate::model::Color;
use crate::model::rules::Move;
use crate::server::answer::Refusal;
use crate::server::app::App;
use crate::server::filter::{AskedGames, given, words};
use crate::server::line::AskedLine;
use crate::text::PositionLine;

/// The words of a query. Those that a path does not know are never read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Asked {
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
    games: AskedGames,
}

/// What lichess.org calls the programs that ask, where we have the name of a source.
const ASKING: [&str; 5] = ["analysis", "fishnet", "opening", "openingCrawler", "mobile"];
/// Names of what libraries hold.
const VARIANTS: [&str; 4] = ["standard", "chess", "chess960", "fromPosition"];
/// So many moves where it is not said.
const MOVES: usize = 12;
/// So many games at most.
const TOP_OF_MASTERS: usize = 15;
const TOP: usize = 4;
const RECENT: usize = 8;

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    /// The position, and how it was reached.
    pub(super) line: PositionLine,
    /// At most so many moves.
    pub(super) moves: usize,
    /// Which games count.
    pub(super) cells: CellFilter,
    /// Words of the query that no library can do.
    pub(super) not_split: Vec<&'static str>,
    /// At most so many of the best games; no list of them where there is none.
    pub(super) top: Option<usize>,
    /// At most so many of the latest.
    pub(super) recent: Option<usize>,
    /// Whether a move that was played once comes with its game.
    pub(super) single_games: bool,
    /// Whether the games are counted by month.
    pub(super) history: bool,
}

impl Question {
    pub(super) fn of_masters(asked: &Asked) -> Result<Question, Refusal> {
        let AskedGames { since, until, .. } = asked.games.clone();
        let games = AskedGames { since, until, ..AskedGames::default() };
        let top = number("topGames", &asked.top_games, usize::MAX)?.min(TOP_OF_MASTERS);
        Ok(Question { top: Some(top), ..Question::new(asked, &games, MOVES)? })
    }

    pub(super) fn of_lichess(asked: &Asked) -> Result<Question, Refusal> {
        let top = number("topGames", &asked.top_games, usize::MAX)?.min(TOP);
        let recent = number("recentGames", &asked.recent_games, usize::MAX)?.min(RECENT);
        Ok(Question {
            top: Some(top),
            recent: Some(recent),
            single_games: top > 0 || recent > 0,
            history: flag("history", &asked.history)?,
            ..Question::new(asked, &asked.games, MOVES)?
        })
    }

    pub(super) fn of_player(asked: &Asked) -> Result<Question, Refusal> {
        let AskedGames { since, until, speeds, .. } = asked.games.clone();
        let games = AskedGames { since, until, speeds, ratings: None };
        let recent = number("recentGames", &asked.recent_games, usize::MAX)?.min(RECENT);
        let not_split = if asked.asks_modes()? { vec!["modes"] } else { Vec::new() };
        let question = Question::new(asked, &games, usize::MAX)?;
        Ok(Question { recent: Some(recent), not_split, ..question })
    }

    fn new(asked: &Asked, games: &AskedGames, moves: usize) -> Result<Question, Refusal> {
        asked.check_variant()?;
        let cells = games.filter()?;
        Ok(Question {
            line: asked.line()?,
            moves: number("moves", &asked.moves, moves)?,
            cells,
            not_split: Vec::new(),
            top: None,
            recent: None,
            single_games: true,
            history: false,
        })
    }

    /// Whether an answer has games.
    pub(super) fn wants_games(&self) -> bool {
        let lists = [self.top, self.recent].into_iter().flatten();
        self.single_games || lists.max().unwrap_or_default() > 0
    }
}

impl Asked {
    /// The name of a source; words that say who asks are none, unless a source is named so.
    pub(super) fn source(&self, app: &App) -> Option<&str> {
        let is_name = |name: &&str| !ASKING.contains(name) || app.sources.get(name).is_some();
        given(&self.source).filter(is_name)
    }

    /// Whose games, and with which color.
    pub(super) fn player(&self) -> Result<(&str, Color), Refusal> {
        let missing = |name| move || bad_request(format_args!("{name} is missing"));
        let player = given(&self.player).ok_or_else(missing("player"))?;
        match given(&self.color).ok_or_else(missing("color"))? {
            "white" | "w" => Ok((player, Color::White)),
            "black" | "b" => Ok((player, Color::Black)),
            other => Err(bad_request(format_args!("color: {other} is neither white nor black"))),
        }
    }

    /// Nothing but the games by month.
    pub(super) fn only_history(self) -> Asked {
        let text = |text: &str| Some(text.to_string());
        let (moves, top_games, recent_games) = (text("0"), text("0"), text("0"));
        Asked { moves, top_games, recent_games, history: text("true"), ..self }
    }

    /// Whether rated or casual games are asked for, and not both.
    fn asks_modes(&self) -> Result<bool, Refusal> {
        const MODES: [&str; 2] = ["rated", "casual"];
        if let Some(wrong) = words(&self.modes).find(|mode| !MODES.contains(mode)) {
            return Err(bad_request(format_args!("modes: {wrong} is neither rated nor casual")));
        }
        let is_asked = |mode| words(&self.modes).any(|word| word == mode);
        Ok(is_asked(MODES[0]) != is_asked(MODES[1]))
    }

    fn check_variant(&self) -> Result<(), Refusal> {
        match given(&self.variant).filter(|name| !VARIANTS.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let names = VARIANTS.join(", ");
                Err(bad_request(format_args!("variant: {name}: libraries have {names}")))
            }
        }
    }

    fn line(&self) -> Result<PositionLine, Refusal> {
        for word in words(&self.play) {
            let wrong = |error| bad_request(format_args!("play: {word}: {error}"));
            word.parse::<Move>().map_err(wrong)?;
        }
        let play: Vec<&str> = words(&self.play).collect();
        let line = AskedLine::parse(given(&self.fen), &play.join(","))?;
        line.playable()?;
        Ok(line.line().clone())
    }
}

fn bad_request(why: impl std::fmt::Display) -> Refusal {
    Refusal::bad_request(format!("bad request: {why}"))
}

fn number(name: &str, text: &Option<String>, default: usize) -> Result<usize, Refusal> {
    let wrong = |_| bad_request(format_args!("{name}: a number is expected"));
    given(text).map_or(Ok(default), |text| text.parse().map_err(wrong))
}

fn flag(name: &str, text: &Option<String>) -> Result<bool, Refusal> {
    match given(text).map(str::to_ascii_lowercase).as_deref() {
        None | Some("no" | "false" | "off" | "0") => Ok(false),
        Some("yes" | "true" | "on" | "1") => Ok(true),
        Some(other) => Err(bad_request(format_args!("{name}: {other} is neither true nor false"))),
    }
}
