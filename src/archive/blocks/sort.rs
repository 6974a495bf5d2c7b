//! Putting the records of a segment into the order of their boards: they take fewer bytes then, and
//! are found without an index; what the order was is kept beside them.

use rayon::prelude::*;

use super::build::{BlockSegmentBuilder, CodedSegment, Mixing};
use super::separators::board_key;
use super::{order, separators};
use crate::archive::error::ArchiveError;
use crate::archive::numbered_column::NumberedColumn;
use crate::archive::row::{COLUMNS, EN_PASSANT, FORM, RANKS, Row, STATE};

/// With more records than this it is not tried which order takes fewer bytes.
const TRIED: usize = 1 << 14;
/// Of this many pairs of records one may be joined by a move: otherwise the order is that of games,
/// which says much about the records.
const JOINED: usize = 8;

/// Where the order takes more bits a record, sorting for nothing but size is not tried.
const NEAR: usize = 12;
/// Whether sorting or flipping may help is looked at in so many records first: among more the order takes
/// more bits.
const STRETCH: usize = 1 << 15;

/// Rows are flipped where that gives one of so many one more column in common with the row before.
const FLIPPED_GAIN: usize = 2;

/// How the records of a segment are arranged.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::archive) enum Arrangement {
    /// In their order.
    Given,
    /// Sorted, and their order is kept.
    Sorted,
    /// Sorted, and numbered anew.
    Renumbered,
}

impl BlockSegmentBuilder {
    /// Codes the records for lookups by position in whichever arrangement is shorter, the index
    /// reckoned in; their order is kept.
    pub(in crate::archive) fn code_for_lookup(
        &mut self,
        block_records: u32,
        mixing: Mixing,
    ) -> Result<(CodedSegment, Arrangement), ArchiveError> {
        if !self.may_be_sorted() {
            return Ok((self.code(block_records, mixing)?, Arrangement::Given));
        }
        if self.rows().len() > TRIED {
            self.sort(Arrangement::Sorted);
            return Ok((self.code(block_records, mixing)?, Arrangement::Sorted));
        }
        let given = self.code(block_records, mixing)?;
        let mut sorted = self.clone();
        sorted.sort(Arrangement::Sorted);
        let coded = sorted.code(block_records, mixing)?;
        let blocks = self.rows().len().div_ceil(block_records as usize);
        let index = self.rows().len() * (blocks.ilog2() as usize + 4) / 8;
        let order = sorted.order_section().len();
        let separators = sorted.separators_section(block_records).len();
        if coded.len() + order + separators < given.len() + index {
            *self = sorted;
            return Ok((coded, Arrangement::Sorted));
        }
        Ok((given, Arrangement::Given))
    }

    /// Codes the records in whichever arrangement is shorter; their order is kept.
    pub(in crate::archive) fn code_for_numbers(
        &mut self,
        block_records: u32,
        mixing: Mixing,
    ) -> Result<(CodedSegment, Arrangement), ArchiveError> {
        if !self.may_be_sorted() {
            return Ok((self.code(block_records, mixing)?, Arrangement::Given));
        }
        let stretch = &self.rows()[..self.rows().len().min(STRETCH)];
        if is_flipping_worth_it(stretch) {
            self.flip();
            return Ok((self.code(block_records, mixing)?, Arrangement::Given));
        }
        if is_near(&order_of(stretch, Arrangement::Sorted)) {
            let order = order_of(self.rows(), Arrangement::Sorted);
            if is_near(&order) {
                let mut sorted = self.clone();
                sorted.rearrange(order, true);
                let order = sorted.order_section().len();
                let given = self.code(block_records, mixing)?;
                let coded = sorted.code(block_records, mixing)?;
                if coded.len() + order >= given.len() {
                    return Ok((given, Arrangement::Given));
                }
                *self = sorted;
                return Ok((coded, Arrangement::Sorted));
            }
        }
        Ok((self.code(block_records, mixing)?, Arrangement::Given))
    }

    fn may_be_sorted(&self) -> bool {
        !self.rows().iter().any(Row::has_operations) && !is_of_games(self.rows())
    }

    /// Puts the records into the order of their boards: as they came where these are equal, or, when
    /// they are numbered anew, in that of their other columns.
    pub(in crate::archive) fn sort(&mut self, arrangement: Arrangement) {
        let order = order_of(self.rows(), arrangement);
        self.rearrange(order, arrangement == Arrangement::Sorted);
    }

    /// The bytes of the order in which the records came.
    pub(in crate::archive) fn order_section(&self) -> Vec<u8> {
        order::write(self.order(), self.identity())
    }

    /// The bytes of the separators of sorted records.
    pub(in crate::archive) fn separators_section(&self, records: u32) -> Vec<u8> {
        let blocks = self.rows().chunks(records as usize);
        let ends = blocks.map(|block| (board_key(&block[0]), board_key(&block[block.len() - 1])));
        separators::write(ends, self.identity())
    }
}

/// Whether flipped rows have more columns in common with those before them, as they have in a file that
/// is in the order of its lines: these begin with the eighth rank.
fn is_flipping_worth_it(rows: &[Row]) -> bool {
    let in_common =
        |rows: &[Row]| -> usize { rows.windows(2).map(|pair| pair[0].in_common(&pair[1])).sum() };
    let flipped: Vec<Row> = rows.iter().map(Row::flipped).collect();
    in_common(&flipped) > in_common(rows) + rows.len() / FLIPPED_GAIN
}

/// The numbers of rows in another order than they came in.
fn order_of(rows: &[Row], arrangement: Arrangement) -> Vec<u32> {
    let mut columns: Vec<usize> = (STATE..EN_PASSANT).collect();
    if arrangement == Arrangement::Renumbered {
        columns.extend((FORM..STATE).chain(EN_PASSANT..COLUMNS));
    }
    let columns = columns.into_par_iter().map(|column| SortColumn::of(rows, column));
    let columns: Vec<SortColumn> = columns.collect();
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    let mut sorted = order.clone();
    // Those that are alike in a column stay in the order of the columns behind it.
    for column in columns.into_iter().rev().filter(|column| column.starts.len() > 1) {
        column.sort(&order, &mut sorted);
        std::mem::swap(&mut order, &mut sorted);
    }
    order
}

/// A column by which rows are sorted.
struct SortColumn {
    /// The number of the value of each row.
    numbers: Vec<u32>,
    /// Where the rows of each value begin when they are in the order of the column.
    starts: Vec<u32>,
}

impl SortColumn {
    fn of(rows: &[Row], column: usize) -> SortColumn {
        let NumberedColumn { values, counts, numbers } =
            NumberedColumn::of(rows.iter().map(|row| row.0[column]));
        let mut ascending: Vec<usize> = (0..values.len()).collect();
        ascending.sort_unstable_by_key(|&number| values[number]);
        let (mut starts, mut start) = (counts.clone(), 0);
        for number in ascending {
            starts[number] = start;
            start += counts[number];
        }
        SortColumn { numbers, starts }
    }

    /// Puts the numbers of rows in the order of the column.
    fn sort(mut self, order: &[u32], sorted: &mut [u32]) {
        for &row in order {
            let place = &mut self.starts[self.numbers[row as usize] as usize];
            sorted[*place as usize] = row;
            *place += 1;
        }
    }
}

/// Whether keeping the order in which records came takes few bits a record.
fn is_near(order: &[u32]) -> bool {
    order::write(order, 0).len() * 8 < order.len() * NEAR
}

/// Whether many of the rows look like the next of a game.
fn is_of_games(rows: &[Row]) -> bool {
    let is_joined = |pair: &[Row]| {
        let [row, next] = [&pair[0].0, &pair[1].0];
        let changed = || (RANKS..EN_PASSANT).filter(|&column| row[column] != next[column]).count();
        (row[STATE] ^ next[STATE]) & 1 == 1 && (1..=2).contains(&changed())
    };
    rows.windows(2).filter(|pair| is_joined(pair)).count() * JOINED > rows.len()
}
