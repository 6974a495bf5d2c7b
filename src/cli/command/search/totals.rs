//! Totals over the games of a search, as a table.

use std::io::Write;

use crate::cli::columns;
use crate::cli::terminal::note;
use epdb_library::search::{ResultsObject, TotalsObject};

/// Maximum number of groups of each kind that have their own rows.
const EACH: usize = 10;

/// Writes totals. Wins and losses are those of White, unless there is a player or a mirror image.
pub(super) fn write(totals: &TotalsObject, out: &mut impl Write) -> anyhow::Result<()> {
    let names = match totals.side {
        "white" => ["", totals.of, "White wins", "draws", "Black wins", "unknown", "White score"],
        _ => ["", totals.of, "wins", "draws", "losses", "unknown", "score"],
    };
    columns::write_columns(&names, &rows(totals), |column| column == 0, out)?;
    if totals.side == "pattern" {
        note!(
            "epdb: wins and losses are those of the side that has White's part in the expression"
        );
    }
    Ok(())
}

/// All games, then the most frequent groups of each kind in their order, and the sum of the others.
fn rows(totals: &TotalsObject) -> Vec<Vec<String>> {
    let TotalsObject { all, moves, openings, years, ratings, .. } = totals;
    let mut rows = vec![row("all", all)];
    for (kind, groups) in
        [("move", moves), ("opening", openings), ("year", years), ("rating", ratings)]
    {
        let mut games: Vec<u64> = groups.iter().map(|group| group.games).collect();
        games.sort_unstable_by(|one, other| other.cmp(one));
        let least = games.get(EACH - 1).copied().unwrap_or(0);
        let mut left = EACH;
        let (most, others): (Vec<&ResultsObject>, Vec<_>) = groups.iter().partition(|group| {
            let is_shown = group.games >= least && left > 0;
            left -= usize::from(is_shown);
            is_shown
        });
        rows.extend(most.into_iter().map(|group| row(kind, group)));
        if !others.is_empty() {
            let name = format!("({} more)", others.len());
            rows.push(row(kind, &ResultsObject::sum(name, others)));
        }
    }
    rows
}

fn row(kind: &str, group: &ResultsObject) -> Vec<String> {
    let ResultsObject { name, games, wins, draws, losses, unknown, score, .. } = group;
    let name = name.as_deref().map(|name| format!("{kind} {name}"));
    let unknown = if *unknown == 0 { String::new() } else { unknown.to_string() };
    let score = score.map(|score| format!("{score:.3}")).unwrap_or_default();
    let mut row = vec![name.unwrap_or_else(|| kind.to_string())];
    row.extend([games, wins, draws, losses].map(u64::to_string));
    row.extend([unknown, score]);
    row
}
