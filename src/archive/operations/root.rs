//! The position that the operations of a record are of.

use std::cell::OnceCell;

use crate::archive::row::Row;
use crate::model::Position;
use crate::model::rules::Playable;

/// The position of a record, or the row that it can be made of.
#[derive(Copy, Clone)]
pub(in crate::archive) enum PositionOf {
    Position(Position),
    Row(Row),
}

impl PositionOf {
    /// The position with its moves, if it has any.
    pub(super) fn playable(&self) -> Option<Playable> {
        match self {
            PositionOf::Position(position) => Playable::new(position).ok(),
            PositionOf::Row(row) => Playable::new(&row.position()?).ok(),
        }
    }
}

/// The position of a record with its moves, made when it is asked for: most records that are passed
/// need none.
pub(super) struct Root {
    position: PositionOf,
    playable: OnceCell<Option<Playable>>,
}

impl Root {
    pub(super) const fn new(position: PositionOf) -> Root {
        Root { position, playable: OnceCell::new() }
    }

    pub(super) fn get(&self) -> Option<&Playable> {
        self.playable.get_or_init(|| self.position.playable()).as_ref()
    }
}
