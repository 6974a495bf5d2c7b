//! Sorting of the records of a segment by their boards. Sorted records take fewer bytes, and are
//! found without an index. Their original order is stored in a section.
// On an opening book of 242,000 records sorting saved 1.5 bytes a row, and rows were found by
// separators of 0.15 bytes. The original order took 2.25 bytes, and an index would have taken 2. So
// sorting saves bytes if it makes the index unnecessary, or if the original order is near the
// sorted one. It does not for games, because their order predicts the records.

use rayon::prelude::*;

use super::build::{BlockSegmentBuilder, CodedSegment};
use super::order;
use super::separators::{self, board_key};
use crate::columns::{COLUMNS, EN_PASSANT, FORM, RANKS, Row, STATE};
use crate::error::ArchiveError;
use crate::numbered_column::NumberedColumn;

/// Number of records up to which both arrangements are tried.
const TRIED: usize = 1 << 14;
/// Number of neighbouring pairs of records that are examined. If more than one pair looks like the
/// positions before and after a move, the records count as records of games. Such records are not
/// sorted, because their order helps to predict them.
const JOINED: usize = 8;

/// Sorting is tried only if the original order takes fewer bits for each record than this number.
const NEAR: usize = 12;
/// Number of records that are examined first for a gain by sorting or flipping. If sorting saves
/// nothing for these records, it saves nothing for the whole segment: the original order of more
/// records takes more bits for each record.
const STRETCH: usize = 1 << 15;

/// Rows are flipped if a flipped row has more columns in common with the previous row than an
/// unflipped row: on average more than 1 / `FLIPPED_GAIN` columns. A flipped row has the board
/// turned upside down and the colours exchanged.
const FLIPPED_GAIN: usize = 2;

/// Arrangement of the records of a segment.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Arrangement {
    /// The records are in the original order.
    Original,
    /// The records are sorted. The original order is stored, so they keep their numbers.
    Sorted,
    /// The records are sorted, and get new numbers in that order.
    Renumbered,
}

impl BlockSegmentBuilder {
    /// Codes the records for lookups by position, in the original or the sorted arrangement. Their
    /// numbers stay the same. Records of games, or with operations, are not sorted. If there are
    /// many other records, they are sorted. If there are few, both arrangements are tried, and the
    /// smaller one is taken. One consists of the records and the index, the other of the sorted
    /// records, the separators and the order.
    pub(crate) fn code_for_lookup(
        &mut self,
        block_records: u32,
    ) -> Result<(CodedSegment, Arrangement), ArchiveError> {
        if !self.may_be_sorted() {
            return Ok((self.code(block_records)?, Arrangement::Original));
        }
        if self.rows().len() > TRIED {
            self.sort(Arrangement::Sorted);
            return Ok((self.code(block_records)?, Arrangement::Sorted));
        }
        let given = self.code(block_records)?;
        let mut sorted = self.clone();
        sorted.sort(Arrangement::Sorted);
        let coded = sorted.code(block_records)?;
        let order = sorted.order_section().len();
        let separators = sorted.separators_section(block_records).len();
        if coded.len() + order + separators < given.len() + self.index_estimate(block_records) {
            *self = sorted;
            return Ok((coded, Arrangement::Sorted));
        }
        Ok((given, Arrangement::Original))
    }

    /// Codes the records for an archive without a position index. Flips the rows, or sorts the
    /// records, if that saves bytes. The numbers of the records stay the same.
    pub(crate) fn code_for_numbers(
        &mut self,
        block_records: u32,
    ) -> Result<(CodedSegment, Arrangement), ArchiveError> {
        if !self.may_be_sorted() {
            return Ok((self.code(block_records)?, Arrangement::Original));
        }
        let stretch = &self.rows()[..self.rows().len().min(STRETCH)];
        if is_flipping_worth_it(stretch) {
            self.flip();
            return Ok((self.code(block_records)?, Arrangement::Original));
        }
        if is_near(&order_of(stretch, Arrangement::Sorted)) {
            let order = order_of(self.rows(), Arrangement::Sorted);
            if is_near(&order) {
                let mut sorted = self.clone();
                sorted.rearrange(order, true);
                let order = sorted.order_section().len();
                let given = self.code(block_records)?;
                let coded = sorted.code(block_records)?;
                if coded.len() + order >= given.len() {
                    return Ok((given, Arrangement::Original));
                }
                *self = sorted;
                return Ok((coded, Arrangement::Sorted));
            }
        }
        Ok((self.code(block_records)?, Arrangement::Original))
    }

    /// Approximate bytes that the position index takes for the records.
    fn index_estimate(&self, block_records: u32) -> usize {
        let blocks = self.rows().len().div_ceil(block_records as usize);
        self.rows().len() * (blocks.ilog2() as usize + 4) / 8
    }

    fn may_be_sorted(&self) -> bool {
        !self.rows().iter().any(Row::has_operations) && !is_of_games(self.rows())
    }

    /// Sorts the records by their boards. Records with equal boards keep their order. But if the
    /// records are renumbered, records with equal boards are sorted by their other columns.
    pub(crate) fn sort(&mut self, arrangement: Arrangement) {
        let order = order_of(self.rows(), arrangement);
        self.rearrange(order, arrangement == Arrangement::Sorted);
    }

    pub(crate) fn order_section(&self) -> Vec<u8> {
        order::write(self.order(), self.identity())
    }

    /// The section with the separators of sorted records. An index block has `records` records.
    pub(crate) fn separators_section(&self, records: u32) -> Vec<u8> {
        let blocks = self.rows().chunks(records as usize);
        let ends = blocks.map(|block| (board_key(&block[0]), board_key(&block[block.len() - 1])));
        separators::write(ends, self.identity())
    }
}

/// True if flipped rows have more columns in common with their previous rows than unflipped rows
/// have. That is so in a sorted text file, because its lines begin with the eighth rank.
fn is_flipping_worth_it(rows: &[Row]) -> bool {
    let in_common =
        |rows: &[Row]| -> usize { rows.windows(2).map(|pair| pair[0].in_common(&pair[1])).sum() };
    let flipped: Vec<Row> = rows.iter().map(Row::flipped).collect();
    in_common(&flipped) > in_common(rows) + rows.len() / FLIPPED_GAIN
}

/// Returns the numbers of the rows in sorted order.
fn order_of(rows: &[Row], arrangement: Arrangement) -> Vec<u32> {
    let mut columns: Vec<usize> = (STATE..EN_PASSANT).collect();
    if arrangement == Arrangement::Renumbered {
        columns.extend((FORM..STATE).chain(EN_PASSANT..COLUMNS));
    }
    let columns = columns.into_par_iter().map(|column| SortColumn::new(rows, column));
    let columns: Vec<SortColumn> = columns.collect();
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    let mut sorted = order.clone();
    // This is a radix sort from the last column to the first: rows with equal values keep their
    // order.
    for column in columns.into_iter().rev().filter(|column| column.starts.len() > 1) {
        column.sort(&order, &mut sorted);
        std::mem::swap(&mut order, &mut sorted);
    }
    order
}

/// A column by which rows are sorted.
struct SortColumn {
    /// For each row the number of its value.
    numbers: Vec<u32>,
    /// For each value the number of rows with a lower one, which is where its rows begin.
    starts: Vec<u32>,
}

impl SortColumn {
    fn new(rows: &[Row], column: usize) -> SortColumn {
        let NumberedColumn { values, counts, numbers } =
            NumberedColumn::new(rows.iter().map(|row| row.0[column]));
        let mut ascending: Vec<usize> = (0..values.len()).collect();
        ascending.sort_unstable_by_key(|&number| values[number]);
        let mut starts = counts.clone();
        let mut start = 0;
        for number in ascending {
            starts[number] = start;
            start += counts[number];
        }
        SortColumn { numbers, starts }
    }

    /// Sorts the numbers of rows by the column. Rows with equal values keep the order of `order`.
    fn sort(mut self, order: &[u32], sorted: &mut [u32]) {
        for &row in order {
            let place = &mut self.starts[self.numbers[row as usize] as usize];
            sorted[*place as usize] = row;
            *place += 1;
        }
    }
}

/// True if the original order can be stored in few bits per record.
fn is_near(order: &[u32]) -> bool {
    order::write(order, 0).len() * 8 < order.len() * NEAR
}

/// True if many rows look like the position that follows the previous row in a game.
fn is_of_games(rows: &[Row]) -> bool {
    let is_joined = |pair: &[Row]| {
        let [row, next] = [&pair[0].0, &pair[1].0];
        let changed = || (RANKS..EN_PASSANT).filter(|&column| row[column] != next[column]).count();
        (row[STATE] ^ next[STATE]) & 1 == 1 && (1..=2).contains(&changed())
    };
    rows.windows(2).filter(|pair| is_joined(pair)).count() * JOINED > rows.len()
}
