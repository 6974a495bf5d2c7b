//! Coding of values that are not in a dictionary: ranks square by square, other columns byte by
//! byte.

use super::mirror::{LAST_RANK, VACATED};
use crate::adaptive::{BitCoder, IntegerModel, decode_count, encode_count};
use crate::columns::{RANKS, is_rank};
use crate::rans::{Interval, RansDecoder, starts, starts_up_to};

/// Number of codes of a square.
const CODES: usize = VACATED as usize + 1;
/// Number of contexts of a square: the code of the previous square, or the edge of the board.
const BEFORE: usize = CODES + 1;
/// Number of kinds of ranks with separate distributions: first rank, last rank, all others.
const KINDS: usize = 3;

/// Counts of pairs of codes in the ranks that are spelled out.
#[derive(Clone, Debug)]
pub(super) struct Counts(Vec<[u32; CODES]>);

impl Default for Counts {
    fn default() -> Counts {
        Counts(vec![[0; CODES]; KINDS * BEFORE])
    }
}

impl Counts {
    /// Counts a value that will be spelled out.
    pub(super) fn add(&mut self, column: usize, value: u32) {
        if is_rank(column) {
            for (before, code) in steps(value) {
                self.0[kind(column) * BEFORE + before][code] += 1;
            }
        }
    }

    /// Makes all counts positive, so that every rank can be spelled out.
    pub(super) fn open(&mut self) {
        self.0.iter_mut().flatten().for_each(|count| *count += 1);
    }

    /// Rounds the counts to those that the file can store.
    pub(super) fn round(&mut self) {
        self.0.iter_mut().flatten().for_each(|count| *count = decode_count(encode_count(*count)));
    }

    pub(super) fn code(&self, coder: &mut impl BitCoder) -> Counts {
        let mut numbers: Vec<IntegerModel> = vec![IntegerModel::default(); KINDS];
        let code = |(place, row): (usize, &[u32; CODES])| {
            let numbers = &mut numbers[place / BEFORE];
            row.map(|count| decode_count(numbers.code(coder, encode_count(count).into()) as u32))
        };
        Counts(self.0.iter().enumerate().map(code).collect())
    }
}

/// Distributions for values written in full: starts of the intervals of codes, padded to
/// [`STARTS`].
#[derive(Debug)]
pub(super) struct Spelling(Vec<[u16; STARTS]>);

const STARTS: usize = (CODES + 1).next_multiple_of(4);

impl Spelling {
    pub(super) fn new(counts: &Counts) -> Spelling {
        Spelling(counts.0.iter().map(|counts| starts(counts)).collect())
    }

    pub(super) fn encode(&self, column: usize, value: u32, out: &mut Vec<Interval>) {
        if !is_rank(column) {
            out.extend(value.to_le_bytes().map(Interval::byte));
            return;
        }
        for (before, code) in steps(value) {
            let starts = &self.0[kind(column) * BEFORE + before];
            let start = starts[code];
            out.push(Interval { start, freq: starts[code + 1] - start });
        }
    }

    pub(super) fn decode(&self, column: usize, decoder: &mut RansDecoder) -> u32 {
        if !is_rank(column) {
            return u32::from_le_bytes(std::array::from_fn(|_| decoder.byte()));
        }
        let mut rank = 0;
        let mut before = CODES;
        for file in 0..8 {
            let starts = &self.0[kind(column) * BEFORE + before];
            let slot = decoder.slot();
            let code = starts_up_to(starts, slot).saturating_sub(1);
            decoder.pass(Interval { start: starts[code], freq: starts[code + 1] - starts[code] });
            rank |= (code as u32) << (4 * file);
            before = code;
        }
        rank
    }
}

/// The codes of a rank as pairs: the code of the previous square, and that of the square.
fn steps(value: u32) -> impl Iterator<Item = (usize, usize)> {
    let code = move |file: u32| ((value >> (4 * file) & 15) as usize).min(CODES - 1);
    (0..8).map(move |file| (if file == 0 { CODES } else { code(file - 1) }, code(file)))
}

fn kind(column: usize) -> usize {
    match column {
        RANKS => 0,
        LAST_RANK => 1,
        _ => 2,
    }
}
