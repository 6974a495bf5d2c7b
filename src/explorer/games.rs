//! The games of a position that a library lists, and `/api/games`, which answers with them. They are no part of
//! the answer about the position: a reader of a library at an address receives much for each of them.

use serde::{Deserialize, Serialize};

use crate::filter::{FoundRecords, GameFilter};
use crate::line::ParsedLine;
use crate::{Explorer, Refusal, Served};
use epdb_chess::error::Result;
use epdb_chess::model::rules::Move;
use epdb_chess::model::{GameId, KeptGame, KeptGames, Position, San};
use epdb_library::explore::{CellFilter, Explored};
use epdb_library::kept_games::{FoundGame, GameObject, listed};
use epdb_library::tally::{GameFacts, Split};

#[derive(Deserialize, Debug)]
pub(crate) struct GamesQuery {
    source: Option<String>,
    fen: Option<String>,
    #[serde(default)]
    play: String,
    #[serde(flatten)]
    filter: GameFilter,
}

#[derive(Serialize, Default)]
pub(crate) struct GamesAnswer {
    top: Vec<GameObject>,
    recent: Vec<GameObject>,
    /// The reason why there are no games.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

/// The hint for sources that keep no games.
const NO_GAMES: &str = "the source keeps no games; epdb tally --keep-games makes one that does";

/// The games that a source lists for a position.
pub(crate) fn games(explorer: &Explorer, asked: &GamesQuery) -> Result<GamesAnswer, Refusal> {
    let served = explorer.source(asked.source.as_deref())?;
    let line = ParsedLine::parse(asked.fen.as_deref(), &asked.play)?;
    let position = line.end();
    let cells = asked.filter.filter()?;
    let found = FoundRecords::new(served, position, cells, &[], explorer.strict)?;
    let Some(kept) = listed(&found.records) else {
        let hint = if served.kept_games() == 0 { Some(NO_GAMES) } else { None };
        return Ok(GamesAnswer { hint, ..GamesAnswer::default() });
    };
    let games = ListedGames::find(served, &kept, position, &found.applied.of_games)?;
    let no_limit = usize::MAX;
    let recent = games.latest(no_limit, &[]);
    Ok(GamesAnswer { top: games.best(no_limit), recent, hint: None })
}

/// The listed games of a position that match the filter and that went on after the position.
#[derive(Default)]
pub(crate) struct ListedGames {
    best: Vec<GameId>,
    latest: Vec<GameId>,
    found: Vec<FoundGame>,
}

impl ListedGames {
    /// The games that the records of the position list.
    pub(crate) fn find(
        served: &Served,
        listed: &KeptGames,
        position: &Position,
        cells: &CellFilter,
    ) -> Result<ListedGames> {
        let all: Vec<&KeptGame> = listed.games().iter().collect();
        served.prefetch_games(&all);
        let mut found = FoundGame::find(&all, position, |id| served.kept_game(id))?;
        let split = Split { year: true, month: true, speed: true, rating: true };
        found.retain(|it| it.played.is_some());
        found.retain(|it| cells.is_empty() || cells.takes(&GameFacts::new(&it.game, split).cell));
        let best = listed.best().map(|kept| kept.id).collect();
        let latest = listed.latest().map(|kept| kept.id).collect();
        Ok(ListedGames { best, latest, found })
    }

    pub(crate) fn best(&self, maximum: usize) -> Vec<GameObject> {
        self.listed(&self.best).take(maximum).collect()
    }

    /// The latest games, at most `maximum`, without those in `others`.
    pub(crate) fn latest(&self, maximum: usize, others: &[GameObject]) -> Vec<GameObject> {
        let is_new = |game: &GameObject| others.iter().all(|other| other.id != game.id);
        self.listed(&self.latest).filter(is_new).take(maximum).collect()
    }

    /// The game of each move that was played in one game only.
    pub(crate) fn singles(&self, explored: &Explored) -> Vec<(Move, GameObject)> {
        let tally = explored.entry.as_ref().and_then(|entry| entry.tally.as_ref());
        if explored.rows.iter().all(|row| row.counts.games() != 1) {
            return Vec::new();
        }
        let total = tally.map(|tally| tally.total()).unwrap_or_default();
        let once = total.moves.iter().filter(|one| one.counts.games() == 1);
        let once: Vec<San> = once.map(|one| one.san).collect();
        let single = |found: &FoundGame| {
            let (mv, san) = found.played?;
            let object = GameObject { uci: None, san: None, ..GameObject::for_clients(found) };
            once.contains(&san).then_some((mv, object))
        };
        self.found.iter().filter_map(single).collect()
    }

    fn listed<'a>(&'a self, ids: &'a [GameId]) -> impl Iterator<Item = GameObject> + 'a {
        let found = |id: &GameId| self.found.iter().find(|found| found.kept.id == *id);
        ids.iter().filter_map(found).map(GameObject::for_clients)
    }
}
