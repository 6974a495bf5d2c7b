//! The API of the opening explorer of lichess.org, for programs that can use another server.
//!
//! `/masters`, `/lichess` and `/player` return the moves played in a position, `/masters/pgn/{id}`
//! a game. `/master`, `/master/pgn/{id}`, `/personal` and `/lichess/history` are older names. A
//! query has
//! - `fen`: the start of the line, with blanks or underscores, by default the start array. `play`:
//!   moves from there in coordinates, separated by commas, with castling in either notation;
//! - `variant`: `standard`, `chess`, `chess960` or `fromPosition`; others are refused;
//! - `moves`: the maximum number of moves, by default 12;
//! - `topGames`, `recentGames`: the maximum numbers of games to list. Their limits, which are also
//!   the defaults, are 15 top games on `/masters`, and 4 top games and 8 recent games elsewhere;
//! - `since`, `until`: a year, or a month such as `2020-05`. Programs send `1952` and `3000` if
//!   nothing is selected, so these bounds are ignored;
//! - `speeds`, `ratings` (not on `/masters`), `modes` (on `/player`): words separated by commas;
//! - `history` (on `/lichess`): also the games by month, if the library is split by month;
//! - `player`, `color` (on `/player`): select the library that was tallied for this player with
//!   this colour;
//! - `source`: the name of a library.
//!
//! Empty and unknown parameters are ignored, and so is an access token. The answer is
//! [`PositionObject`](epdb_library::explore::object::PositionObject) with lists of games. If the library is
//! not split by a filter, the filter is not applied; `notSplit` and the header `X-Epdb-Not-Split` name it. Listed
//! games obey dates all the same. With `strict`, the request is refused. Errors are plain text with the status 400,
//! or 404 if a library or a game does not exist. The opening name of a position is the last name on its line.

mod answer;
mod object;
mod player;
mod query;

use self::answer::answer_query;
use self::query::{ExplorerQuery, ParsedQuery};
use super::{Answer, Explorer, Refusal, Served, parse_query};
use epdb_chess::model::GameId;
use epdb_chess::text::pgn::{self, PgnFormatOptions};

pub(crate) fn masters(explorer: &Explorer, query: &str) -> Result<Answer, Refusal> {
    let query = parse_query(query)?;
    let question = ParsedQuery::for_masters(&query)?;
    answer_query(explorer, named(explorer, &query, "masters")?, &question)?.into_json()
}

pub(crate) fn lichess(explorer: &Explorer, query: &str) -> Result<Answer, Refusal> {
    answer_lichess(explorer, &parse_query(query)?)
}

pub(crate) fn history(explorer: &Explorer, query: &str) -> Result<Answer, Refusal> {
    answer_lichess(explorer, &parse_query::<ExplorerQuery>(query)?.only_history())
}

fn answer_lichess(explorer: &Explorer, query: &ExplorerQuery) -> Result<Answer, Refusal> {
    let question = ParsedQuery::for_lichess(query)?;
    answer_query(explorer, named(explorer, query, "lichess")?, &question)?.into_json()
}

pub(crate) fn player(explorer: &Explorer, query: &str) -> Result<Answer, Refusal> {
    let query = parse_query(query)?;
    let question = ParsedQuery::for_player(&query)?;
    let mut answered = answer_query(explorer, player::library(explorer, &query)?, &question)?;
    answered.object.queue_position = Some(0);
    answered.into_json()
}

/// The source of `/masters` or `/lichess`, which `name` tells.
pub(crate) fn source<'e>(
    explorer: &'e Explorer,
    query: &str,
    name: &str,
) -> Result<&'e Served, Refusal> {
    named(explorer, &parse_query(query)?, name)
}

/// The source of `/player`.
pub(crate) fn library_of_player<'e>(
    explorer: &'e Explorer,
    query: &str,
) -> Result<&'e Served, Refusal> {
    player::library(explorer, &parse_query(query)?)
}

/// The game with this id in the named source. If no source is named, all sources are searched, the
/// source for `/masters` first.
pub(crate) fn game(explorer: &Explorer, id: &str, query: &str) -> Result<Vec<u8>, Refusal> {
    let query = parse_query(query)?;
    let missing = || Refusal::not_found(format!("no game {id}"));
    let parsed: GameId = id.parse().map_err(|_| missing())?;
    let mut sources = vec![named(explorer, &query, "masters")?];
    if query.source(explorer).is_none() {
        sources.extend(explorer.sources.iter().map(|served| &**served));
    }
    for served in sources {
        if let Some(game) = served.kept_game(parsed)? {
            let mut text = Vec::new();
            pgn::format(&game, &PgnFormatOptions::default(), &mut text)
                .map_err(|error| Refusal::not_found(error.to_string()))?;
            return Ok(text);
        }
    }
    Err(missing())
}

/// The source that the query names, else the source called `name`, else the first source.
fn named<'e>(
    explorer: &'e Explorer,
    query: &ExplorerQuery,
    name: &str,
) -> Result<&'e Served, Refusal> {
    let served = match query.source(explorer) {
        Some(named) => explorer.source(Some(named))?,
        None => match explorer.named(name) {
            Some(served) => served,
            None => explorer.source(None)?,
        },
    };
    Ok(served)
}
