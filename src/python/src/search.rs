//! The function `search`: games by their positions.

use std::sync::Arc;

use epdb_chess::model::Color;
use epdb_library::expression::Expression;
use epdb_library::jobs::JobSink;
use epdb_library::search::{GameMatch, MatchObject, Matching, Player, Totals, TotalsObject};
use epdb_source::Item;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::invalid;
use crate::files::Input;
use crate::options::word;
use crate::work::{Progress, run};

/// Searches files of games. Returns totals over the games for which the expression `where` is true, and in
/// `matches` the first `limit` games with their first matching positions, as a dict. With `players`, the spellings of
/// a name, only games of this player count, and the player's points.
///
/// `searched` is the number of games that were read. The totals are `games`, `wins`, `draws`, `losses`, `unknown`, `points` and `score` of `side`, and lists with the same
/// numbers by name: `moves`, `openings`, `years` and `ratings`. `help(epdb_chess.where)` describes expressions.
#[pyfunction]
#[pyo3(signature = (
    paths, r#where, *, players = None, side = None, limit = 10, on_error = "raise", progress = None,
    **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn search<'py>(
    py: Python<'py>,
    paths: &Bound<'_, PyAny>,
    r#where: &str,
    players: Option<Vec<String>>,
    side: Option<&str>,
    limit: usize,
    on_error: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut input = Input::new(paths, on_error, options)?;
    let refused = |error| invalid(py, &format!("{where:?}: {error}"));
    let own = Expression::parse(r#where).map_err(refused)?;
    own.check_games().map_err(refused)?;
    let side = side.map(|side| word::<Color>(py, side)).transpose()?;
    let player = players.map(|names| Player { names, side });
    let expression = player.as_ref().map_or(Ok(own.clone()), |player| player.of(Some(&own)));
    let matching = Matching(expression.map_err(refused)?);
    input.options.source.filter = Some(Arc::new(matching.0.clone()));
    input.options.source.encode = Some(Arc::new(matching.clone()));
    let progress = Progress::new(progress, &input.inputs);
    let (text, findings) = run(py, &progress, |ticker| {
        let (mut sink, mut totals, mut matches) =
            (input.sink(ticker), Totals::default(), Vec::new());
        let mut searched = 0;
        sink.read_games(&input.inputs, &mut |item| {
            if matches!(item, Item::Game { .. } | Item::LeftOut { record: None, .. }) {
                searched += 1;
            }
            if let Item::Game { game, place, encoded, .. } = item
                && let Some(ply) = matching.ply(game, place, encoded)
            {
                let found = GameMatch::at(game, ply);
                let side = player.as_ref().map_or(Color::White, |player| player.side_in(game));
                totals.add_game(game, found.played.as_ref(), side);
                if matches.len() < limit {
                    matches.push(MatchObject::new(game, &found));
                }
            }
            Ok(())
        })?;
        let side = if player.is_some() { "player" } else { "white" };
        let mut object = serde_json::json!(TotalsObject {
            searched: Some(searched),
            ..TotalsObject::new("games", side, &totals)
        });
        object["matches"] = serde_json::json!(matches);
        Ok((object.to_string(), sink.findings))
    })?;
    findings.warn(py)?;
    py.import("json")?.call_method1("loads", (text,))
}
