//! `/api/search`: the kept games that reach a position for which an expression is true, and what became of them.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::{Explorer, Refusal};
use epdb_chess::codec::kept_game;
use epdb_chess::error::{At, Error, Place};
use epdb_chess::model::Color;
use epdb_library::expression::Expression;
use epdb_library::search::{GameMatch, MatchObject, Totals, TotalsObject};

/// Maximum number of games that are searched, which limits the time.
const MAX_SEARCHED: u64 = 100_000;
/// Maximum number of games that are listed.
const MAX_LISTED: usize = 50;

#[derive(Deserialize, Debug)]
pub(crate) struct SearchQuery {
    source: Option<String>,
    /// The expression.
    #[serde(default, rename = "where")]
    filter: String,
}

/// The games, of which those with the best rated players are listed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchAnswer {
    source: String,
    /// Number of games that were searched.
    searched: u64,
    /// Number of games that the source keeps.
    kept_games: u64,
    /// Number of games that the source counts, if known; those that it does not keep are not searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_games: Option<u64>,
    totals: TotalsObject,
    games: Vec<MatchObject>,
}

pub(crate) fn search(explorer: &Explorer, query: &SearchQuery) -> Result<SearchAnswer, Refusal> {
    let served = explorer.source(query.source.as_deref())?;
    let expression = Expression::parse(&query.filter);
    let expression = expression.map_err(|error| Refusal::bad_request(error.to_string()))?;
    let place = Place::new("", At::Whole);
    let mut searched = 0;
    let mut totals = Totals::default();
    let mut games = Vec::new();
    served.lookup().prefetch_games(&[], MAX_SEARCHED);
    let read = served.lookup().each_kept_game(&mut |_, bytes| {
        if searched == MAX_SEARCHED {
            return Err(Error::new("enough games were searched"));
        }
        let Some(game) = kept_game::decode(bytes) else { return Ok(()) };
        searched += 1;
        if let Some(ply) = expression.first_match(&game, &place) {
            let found = GameMatch::at(&game, ply);
            totals.add_game(&game, found.played.as_ref(), Color::White);
            games.push(MatchObject::new(&game, &found));
            if games.len() == 2 * MAX_LISTED {
                keep_best(&mut games);
            }
        }
        Ok(())
    });
    if searched < MAX_SEARCHED {
        read?;
    }
    keep_best(&mut games);
    Ok(SearchAnswer {
        source: served.name().to_string(),
        searched,
        kept_games: served.kept_games(),
        counted_games: served.origin().map(|origin| origin.games()),
        totals: TotalsObject::new("games", "white", &totals),
        games,
    })
}

fn keep_best(games: &mut Vec<MatchObject>) {
    let rating = |MatchObject { game, .. }: &MatchObject| {
        game.white.rating.unwrap_or(0) + game.black.rating.unwrap_or(0)
    };
    games.sort_by_key(|game| (Reverse(rating(game)), Reverse(game.game.year)));
    games.truncate(MAX_LISTED);
}
