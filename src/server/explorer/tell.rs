//! What a library knows of a position.

use super::asked::Question;
use super::games::GamesHere;
use super::history;
use super::object::ExplorerObject;
use crate::codec::query::Query;
use crate::error::Error;
use crate::library::explore::object::{PositionObject, Shown};
use crate::library::explore::{Entry, ExploreOptions, Explored, explore_from};
use crate::library::kept_games;
use crate::server::answer::Refusal;
use crate::server::app::App;
use crate::server::filter::Applied;
use crate::server::sources::Served;

/// An answer, and what of the question it could not do.
pub(super) struct Told {
    pub(super) object: ExplorerObject,
    pub(super) applied: Applied,
}

/// Answers a question.
pub(super) fn tell(app: &App, served: &Served, question: &Question) -> Result<Told, Refusal> {
    let records = served.records(&[Query::from(question.line.end())])?.pop().unwrap_or_default();
    let tally = match question.cells.is_empty() {
        true => None,
        false => Entry::of(&records)?.and_then(|entry| entry.tally),
    };
    let mut applied = Applied::new(question.cells.clone(), tally.as_ref());
    applied.not_split.extend(&question.not_split);
    applied.check(app.settings.strict)?;

    let options = ExploreOptions::new().cells(applied.filter.clone()).limit(Some(question.moves));
    let ask = &mut |queries: &[Query]| served.records(queries);
    let explored = explore_from::<Error>(question.line.end(), &records, 1, &options, ask)?;
    // Only the line tells: a name through parents would take thousands of lookups.
    let opening = app.names.last_on_line(&question.line);
    let shown = Shown { opening, ..Shown::new(&explored, &app.names) };
    let mut object = ExplorerObject::new(PositionObject::new(&shown));
    let listed = kept_games::listed(&records).filter(|_| question.wants_games());
    let games =
        listed.map(|listed| GamesHere::find(served, &listed, question.line.end(), &applied.filter));
    add_games(&mut object, &games.transpose()?.unwrap_or_default(), question, &explored);
    if question.history {
        let tally = explored.entry.as_ref().and_then(|entry| entry.tally.as_ref());
        object.history = tally.and_then(|tally| history::by_month(tally, &applied.filter));
    }
    Ok(Told { object, applied })
}

/// Adds the games that the library keeps of the position.
fn add_games(
    object: &mut ExplorerObject,
    games: &GamesHere,
    question: &Question,
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
