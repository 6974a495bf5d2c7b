//! What `explore` shows.

use crate::library::explore::{Explored, ParentRow};
use crate::library::names::{Names, OpeningName};

/// All that is shown of a position.
pub(super) struct Shown {
    pub(super) explored: Explored,
    pub(super) parents: Option<Vec<ParentRow>>,
    pub(super) names: Names,
    /// The name of the position, or the nearest one.
    pub(super) opening: Option<OpeningName>,
    /// What another library knows of it.
    pub(super) other: Option<Explored>,
}
