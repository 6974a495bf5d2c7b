//! The name of a position that has none of its own.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::{Names, OpeningName};
use crate::error::{Error, Result};
use crate::library::explore::{Ask, CellFilter, parents_of};
use crate::model::Position;
use crate::text::PositionLine;

/// So many moves back a name is looked for, and among so many positions each time.
const MOST_MOVES: usize = 16;
const MOST_POSITIONS: usize = 16;

impl Names {
    /// The name of the last position on a line that has one.
    pub fn last_on_line(&self, line: &PositionLine) -> Option<&OpeningName> {
        let positions = (0..=line.moves().len()).rev().filter_map(|moves| line.position(moves));
        positions.filter_map(|position| self.get(position)).next()
    }

    /// The name of the position at the end of a line: its own, else that of the last position on the
    /// line that has one, else that of the nearest one from which moves of a library lead here: of several
    /// the one that most games came from, then the first code.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn nearest<E: From<Error>>(
        &self,
        line: &PositionLine,
        cells: &CellFilter,
        ask: &mut Ask<'_, E>,
    ) -> Result<Option<&OpeningName>, E> {
        match self.last_on_line(line) {
            Some(name) => Ok(Some(name)),
            None => self.nearest_parent(line.end(), cells, ask),
        }
    }

    fn nearest_parent<E: From<Error>>(
        &self,
        position: &Position,
        cells: &CellFilter,
        ask: &mut Ask<'_, E>,
    ) -> Result<Option<&OpeningName>, E> {
        let mut positions = vec![*position];
        let mut seen: HashSet<Position> = positions.iter().map(Position::identity).collect();
        for _ in 0..MOST_MOVES {
            let mut rows = parents_of(&positions, cells, ask)?;
            rows.retain(|row| row.counts.games() > 0);
            let named = rows.iter().filter_map(|row| Some((row, self.get(&row.position)?)));
            let nearest = named
                .min_by_key(|(row, name)| (Reverse(row.counts.games()), name.eco(), name.name()));
            if let Some((_, name)) = nearest {
                return Ok(Some(name));
            }
            rows.retain(|row| seen.insert(row.position.identity()));
            rows.sort_by_key(|row| Reverse(row.counts.games()));
            positions = rows.iter().take(MOST_POSITIONS).map(|row| row.position).collect();
        }
        Ok(None)
    }
}
