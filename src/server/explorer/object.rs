//! The answer as JSON.

use serde::Serialize;

use crate::library::explore::object::{PositionObject, Results};
use crate::library::kept_games::GameObject;

/// What is known of a position, and games that reached it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplorerObject {
    #[serde(flatten)]
    pub(super) position: PositionObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recent_games: Option<Vec<GameObject>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_games: Option<Vec<GameObject>>,
    /// How many players must be counted before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queue_position: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<Vec<MonthObject>>,
}

/// The games of a month.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct MonthObject {
    /// Such as `2019-05`.
    pub(super) month: String,
    #[serde(flatten)]
    pub(super) results: Results,
}

impl ExplorerObject {
    /// Without games.
    pub(super) const fn new(position: PositionObject) -> ExplorerObject {
        let (recent_games, top_games, queue_position, history) = (None, None, None, None);
        ExplorerObject { position, recent_games, top_games, queue_position, history }
    }
}
