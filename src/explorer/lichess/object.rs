//! The answer as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use epdb_chess::model::{GameCounts, Tally};
use epdb_library::explore::CellFilter;
use epdb_library::explore::object::{PositionObject, Results};
use epdb_library::kept_games::GameObject;

/// The data of a position, and games that reached it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplorerObject {
    #[serde(flatten)]
    pub(super) position: PositionObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recent_games: Option<Vec<GameObject>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_games: Option<Vec<GameObject>>,
    /// Number of players that are counted before this player.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queue_position: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<Vec<MonthObject>>,
    /// The filters that are not applied, because the library is not split by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_split: Vec<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct MonthObject {
    /// The month, such as `2019-05`.
    pub(super) month: String,
    #[serde(flatten)]
    pub(super) results: Results,
}

impl ExplorerObject {
    /// An answer without games.
    pub(super) const fn new(position: PositionObject) -> ExplorerObject {
        ExplorerObject {
            position,
            recent_games: None,
            top_games: None,
            queue_position: None,
            history: None,
            not_split: Vec::new(),
        }
    }
}

/// The games of a position by month, from the first month with games to the last; `None` if the
/// tally is not split by month.
pub(super) fn by_month(tally: &Tally, cells: &CellFilter) -> Option<Vec<MonthObject>> {
    let mut months: BTreeMap<u32, GameCounts> = BTreeMap::new();
    let mut has_months = false;
    for part in tally.parts() {
        let (Some(year), Some(month)) = (part.cell.year, part.cell.month) else { continue };
        has_months = true;
        if cells.takes(&part.cell) {
            let sum = months.entry(number(year, month)).or_default();
            *sum = sum.plus(&part.counts()).unwrap_or(*sum);
        }
    }
    if !has_months {
        return None;
    }
    let first = months.keys().next().copied().unwrap_or_default();
    let last = months.keys().next_back().copied();
    let all = last.into_iter().flat_map(|last| first..=last);
    Some(all.map(|month| object(month, months.get(&month))).collect())
}

/// Months since the year 0.
fn number(year: u16, month: u8) -> u32 {
    u32::from(year) * 12 + u32::from(month) - 1
}

fn object(month: u32, counts: Option<&GameCounts>) -> MonthObject {
    let results = Results::new(&counts.copied().unwrap_or_default());
    MonthObject { month: format!("{:04}-{:02}", month / 12, month % 12 + 1), results }
}
