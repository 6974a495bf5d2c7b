//! Queries by their boards, for lookups that go through all records.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::codec::packed::PackedBoard;
use crate::codec::query::{Query, SkipTo};

/// For each board, the places of the queries that ask for it.
pub(super) struct BoardMap(HashMap<PackedBoard, Vec<usize>>);

impl BoardMap {
    pub(super) fn of(queries: impl Iterator<Item = Query>) -> BoardMap {
        let mut places: HashMap<PackedBoard, Vec<usize>> = HashMap::new();
        for (place, query) in queries.enumerate() {
            places.entry(*query.board()).or_default().push(place);
        }
        BoardMap(places)
    }

    /// True if no query asks for more records.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `visit` with each query that asks for a board; false if a visit ended the search.
    pub(super) fn visit<E>(
        &mut self,
        board: &PackedBoard,
        mut visit: impl FnMut(usize) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<bool, E> {
        let Some(places) = self.0.get_mut(board) else { return Ok(true) };
        let mut kept = Vec::with_capacity(places.len());
        for &place in &*places {
            match visit(place)? {
                ControlFlow::Continue(()) => kept.push(place),
                ControlFlow::Break(SkipTo::NextQuery) => {}
                ControlFlow::Break(SkipTo::End) => return Ok(false),
            }
        }
        match kept.is_empty() {
            true => drop(self.0.remove(board)),
            false => *places = kept,
        }
        Ok(true)
    }
}
