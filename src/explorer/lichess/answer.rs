//! Answers explorer queries.

use super::object::{self, ExplorerObject};
use super::query::ParsedQuery;
use crate::filter::{AppliedFilter, FoundRecords};
use crate::games::ListedGames;
use crate::served::MAX_RECORDS;
use crate::{Answer, Explorer, Refusal, Served};
use epdb_library::explore::object::{PositionObject, Shown};
use epdb_library::explore::{self, ExploreOptions, Explored};
use epdb_library::kept_games;

/// An answer, and the parts of the query that were not applied.
pub(super) struct ExplorerAnswer {
    pub(super) object: ExplorerObject,
    applied: AppliedFilter,
    /// True if the position has more records than were read.
    is_cut: bool,
}

impl ExplorerAnswer {
    pub(super) fn into_json(self) -> Result<Answer, Refusal> {
        let answer = Answer::new(&self.object)?;
        let cut_after = self.is_cut.then_some(MAX_RECORDS);
        Ok(Answer { not_split: self.applied.not_split, cut_after, ..answer })
    }
}

pub(super) fn answer_query(
    explorer: &Explorer,
    served: &Served,
    question: &ParsedQuery,
) -> Result<ExplorerAnswer, Refusal> {
    let position = question.line.end();
    explore::prefetch(served.lookup(), position);
    let cells = question.cells.clone();
    let mut found =
        FoundRecords::new(served, position, cells, &question.not_split, explorer.strict)?;
    let options = ExploreOptions { limit: Some(question.moves), ..Default::default() };
    let explored = found.explore(served, position, options)?;
    let FoundRecords { records, applied, is_cut, .. } = found;
    // Only names on the line are used: names of parent positions would take thousands of lookups.
    let opening = explorer.names.last_on_line(&question.line);
    let shown = Shown { opening, ..Shown::new(&explored, &explorer.names) };
    let mut object = ExplorerObject::new(PositionObject::new(&shown));
    let listed = if question.wants_games() { kept_games::listed(&records) } else { None };
    let cells = &applied.of_games;
    let games = listed.map(|listed| ListedGames::find(served, &listed, position, cells));
    add_games(&mut object, &games.transpose()?.unwrap_or_default(), question, &explored);
    if question.history {
        let tally = explored.entry.as_ref().and_then(|entry| entry.tally.as_ref());
        object.history = tally.and_then(|tally| object::by_month(tally, &applied.filter));
    }
    object.not_split.clone_from(&applied.not_split);
    Ok(ExplorerAnswer { object, applied, is_cut })
}

/// Adds the games that the library lists for the position.
fn add_games(
    object: &mut ExplorerObject,
    games: &ListedGames,
    question: &ParsedQuery,
    explored: &Explored,
) {
    object.top_games = question.top.map(|maximum| games.best(maximum));
    let others = object.top_games.as_deref().unwrap_or_default();
    object.recent_games = question.recent.map(|maximum| games.latest(maximum, others));
    if question.single_games {
        let singles = games.singles(explored);
        for (row, shown) in explored.rows.iter().zip(&mut object.position.moves) {
            let single = singles.iter().find(|(mv, _)| *mv == row.mv && row.counts.games() == 1);
            shown.game = single.map(|(_, game)| game.clone());
        }
    }
}
