//! Tests of one position, which look at its record only if the position does not decide.

#[cfg(feature = "parquet")]
use std::ops::RangeInclusive;

use super::board_test::BoardTest;
use super::tree::Test;
use crate::field::{BuiltinField, Field};
use crate::value::EvalContext;
use epdb_chess::model::Setup;
use epdb_chess::text::pgn::RecordParts;

#[derive(Clone, Debug)]
pub(super) struct PositionTest {
    test: Test,
    /// A test of the position that holds wherever the test holds; `None` if any position may fit.
    board: Option<BoardTest>,
    /// True if nothing but the position decides.
    is_of_board: bool,
    needs: RecordParts,
}

impl PositionTest {
    pub(super) fn new(test: Test) -> PositionTest {
        let mut fields = Vec::new();
        test.fields(&mut fields);
        let needs = fields.iter().map(needed).max().unwrap_or(RecordParts::Position);
        PositionTest { board: test.implied(), is_of_board: test.is_of_board(), needs, test }
    }

    #[cfg(feature = "parquet")]
    pub(super) fn fields(&self) -> Vec<Field> {
        let mut fields = Vec::new();
        self.test.fields(&mut fields);
        fields
    }

    /// The test that looks for these fields in [`EvalContext::row`], in this order.
    #[cfg(feature = "parquet")]
    pub(super) fn with_cells(&self, cells: &[Field]) -> PositionTest {
        let mut test = self.clone();
        test.test.each_field(&mut |field| {
            if let Some(place) = cells.iter().position(|cell| cell == field) {
                *field = Field::Column("", place);
            }
        });
        test
    }

    /// Appends the ranges that numbers of fields must have. Returns true if nothing else decides.
    #[cfg(feature = "parquet")]
    pub(super) fn ranges(&self, ranges: &mut Vec<(Field, RangeInclusive<i128>)>) -> bool {
        self.test.ranges(ranges)
    }

    /// Whether positions exclude records.
    pub(super) const fn judges(&self) -> bool {
        self.board.is_some()
    }

    /// Whether nothing but the position decides.
    pub(super) const fn is_of_board(&self) -> bool {
        self.is_of_board
    }

    /// The parts of the record that [`PositionTest::holds`] looks at.
    pub(super) const fn needs(&self) -> RecordParts {
        self.needs
    }

    /// Decides by the position alone; `None` if the rest of the record matters too.
    pub(super) fn judge(&self, setup: &Setup) -> Option<bool> {
        let holds = self.board.as_ref()?.holds(setup);
        if holds && !self.is_of_board { None } else { Some(holds) }
    }

    pub(super) fn holds(&self, subject: &EvalContext<'_>) -> bool {
        match &self.board {
            Some(board) if self.is_of_board => board.holds(&Setup::from(subject.record.position())),
            _ => self.test.holds(subject),
        }
    }
}

/// The parts of a record of a game that a field needs.
const fn needed(field: &Field) -> RecordParts {
    match field {
        Field::Tag(_) => RecordParts::Position,
        Field::BuiltinField(field) => match field {
            BuiltinField::Ply | BuiltinField::Fen | BuiltinField::Repetition => {
                RecordParts::Counters
            }
            BuiltinField::Record | BuiltinField::Annotation(_) => RecordParts::All,
            _ => RecordParts::Position,
        },
        _ => RecordParts::All,
    }
}
