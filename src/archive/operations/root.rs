//! The position of the operations of a record.

use std::cell::OnceCell;

use crate::archive::row::Row;
use crate::model::Position;
use crate::model::rules::Playable;

/// The position of a record, or its row.
#[derive(Copy, Clone)]
pub(in crate::archive) enum PositionOf {
    Position(Position),
    Row(Row),
}

impl PositionOf {
    /// The position with its legal moves, if it is playable.
    pub(super) fn playable(&self) -> Option<Playable> {
        match self {
            PositionOf::Position(position) => Playable::new(position).ok(),
            PositionOf::Row(row) => Playable::new(&row.position()?).ok(),
        }
    }
}

/// The position of a record with its legal moves, made on demand: most skipped records need none.
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
