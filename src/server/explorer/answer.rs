//! Answers explorer queries.

use axum::http::HeaderName;
use axum::response::{IntoResponse, Response};

use super::object::{self, ExplorerObject};
use super::query::ParsedQuery;
use crate::answer::Refusal;
use crate::app::App;
use crate::filter::AppliedFilter;
use crate::filter::LookupResult;
use crate::games::ListedGames;
use crate::sources::{MAX_RECORDS, Served};
use epdb_library::explore::object::{PositionObject, Shown};
use epdb_library::explore::{ExploreOptions, Explored};
use epdb_library::kept_games;

/// An answer, and the parts of the query that were not applied.
pub(super) struct ExplorerAnswer {
    pub(super) object: ExplorerObject,
    pub(super) applied: AppliedFilter,
    /// True if the position has more records than were read.
    pub(super) is_cut: bool,
}

impl ExplorerAnswer {
    /// Adds a header that names the parts of the query that were not applied. If some records were not read,
    /// adds a header that warns of this.
    pub(super) fn named_in(&self, answer: impl IntoResponse) -> Response {
        let mut answer = self.applied.named_in(answer);
        if self.is_cut {
            answer.headers_mut().insert(RECORDS_CUT, MAX_RECORDS.into());
        }
        answer
    }
}

/// The header which warns that a position has more records than were read.
const RECORDS_CUT: HeaderName = HeaderName::from_static("x-epdb-records-cut");

/// Answers a query.
pub(super) fn answer_query(
    app: &App,
    served: &Served,
    question: &ParsedQuery,
) -> Result<ExplorerAnswer, Refusal> {
    let options = ExploreOptions { limit: Some(question.moves), ..Default::default() };
    let (position, cells) = (question.line.end(), question.cells.clone());
    let found = LookupResult::new(
        served,
        position,
        cells,
        &question.not_split,
        app.settings.strict,
        options,
    )?;
    let LookupResult { records, applied, explored, is_cut, .. } = found;
    // Only names on the line are used: names of parent positions would take thousands of lookups.
    let opening = app.names.last_on_line(&question.line);
    let shown = Shown { opening, ..Shown::new(&explored, &app.names) };
    let mut object = ExplorerObject::new(PositionObject::new(&shown));
    let listed = kept_games::listed(&records).filter(|_| question.wants_games());
    let games = listed
        .map(|listed| ListedGames::find(served, &listed, question.line.end(), &applied.filter));
    add_games(&mut object, &games.transpose()?.unwrap_or_default(), question, &explored);
    if question.history {
        let tally = explored.entry.as_ref().and_then(|entry| entry.tally.as_ref());
        object.history = tally.and_then(|tally| object::by_month(tally, &applied.filter));
    }
    Ok(ExplorerAnswer { object, applied, is_cut })
}

/// Adds the games that the library lists for the position.
fn add_games(
    object: &mut ExplorerObject,
    games: &ListedGames,
    question: &ParsedQuery,
    explored: &Explored,
) {
    let top = question.top.map(|most| games.best(most));
    let recent = question.recent.map(|most| games.latest(most, top.as_deref().unwrap_or_default()));
    (object.top_games, object.recent_games) = (top, recent);
    if question.single_games {
        let singles = games.singles(explored);
        for (row, shown) in explored.rows.iter().zip(&mut object.position.moves) {
            let single = singles.iter().find(|(mv, _)| *mv == row.mv && row.counts.games() == 1);
            shown.game = single.map(|(_, game)| game.clone());
        }
    }
}
