//! Contexts of a column: the symbols of earlier columns, and the pieces on the ranks that were
//! coded before.

use crate::columns::{COLUMNS, RANK_ORDER, RANKS, is_rank, occupied};

/// The symbol of a value that is not in its column's dictionary.
pub(super) const ESCAPE: u16 = u16::MAX;

/// Number of bits of the values of contexts.
pub(super) const CONTEXT_BITS: u32 = 28;

/// A value that is known before a column is coded. The numbers of contexts are part of the format.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Context {
    /// The symbol of an earlier column.
    Column(u8),
    /// Counts of the white or black pieces of each kind on the ranks that were already coded.
    Pieces(Side),
    /// Files with a white or black pawn on the ranks that were already coded.
    Pawns(Side),
    /// Pieces and pawns of one colour, as one value.
    Material(Side),
    BothPawns,
    /// Pieces of both colours, as one value.
    BothPieces,
    /// Occupied squares of the first or the last rank.
    BackRank(Side),
}

/// White or Black, as an index.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Side {
    White,
    Black,
}

impl Context {
    /// Number in the format.
    pub(super) const fn number(self) -> u8 {
        match self {
            Context::Column(column) => column,
            Context::Pieces(side) => 16 + side as u8,
            Context::Pawns(side) => 18 + side as u8,
            Context::Material(side) => 20 + side as u8,
            Context::BothPawns => 22,
            Context::BothPieces => 23,
            Context::BackRank(side) => 24 + side as u8,
        }
    }

    /// The context with a number; `None` if the format does not have it.
    pub(super) fn from_number(number: u8) -> Option<Context> {
        let side = if number.is_multiple_of(2) { Side::White } else { Side::Black };
        Some(match number {
            0..16 if usize::from(number) < COLUMNS => Context::Column(number),
            16 | 17 => Context::Pieces(side),
            18 | 19 => Context::Pawns(side),
            20 | 21 => Context::Material(side),
            22 => Context::BothPawns,
            23 => Context::BothPieces,
            24 | 25 => Context::BackRank(side),
            _ => return None,
        })
    }
}

/// Number of bits of a piece count: three bits each for knights, bishops, rooks and queens, and the
/// highest bit for kings. A count that overflows carries into the next kind; encoder and decoder
/// both do this.
pub(super) const PIECE_BITS: u32 = 13;
const PIECE_MASK: u16 = (1 << PIECE_BITS) - 1;

/// State of the row that is being coded.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct ContextState {
    /// The symbols of the columns that were already coded.
    pub(super) symbols: [u16; COLUMNS],
    pub(super) pieces: PieceState,
}

impl ContextState {
    /// Adds the value of a column and its symbol.
    pub(super) fn update(&mut self, column: usize, symbol: u16, value: u32) {
        self.symbols[column] = symbol;
        let gain = if is_rank(column) { Gain::from_rank(value) } else { Gain::default() };
        self.pieces.add(column, gain);
    }

    /// The value of a context, of at most [`CONTEXT_BITS`] bits.
    pub(super) fn value(&self, context: Context) -> u32 {
        match context {
            Context::Column(column) => self.symbols[usize::from(column) % COLUMNS].into(),
            _ => self.pieces.value(context),
        }
    }
}

/// State of the pieces of a row.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct PieceState {
    /// Piece counts of White and of Black.
    counts: [u16; 2],
    /// Pawn files, White's in the low byte.
    pawns: u16,
    /// Occupied squares of the back ranks.
    back_ranks: [u8; 2],
}

impl PieceState {
    /// Adds the pieces of a column, if it is a rank.
    #[inline]
    pub(super) fn add(&mut self, column: usize, gain: Gain) {
        if !is_rank(column) {
            return;
        }
        for (count, more) in self.counts.iter_mut().zip(gain.counts) {
            *count = count.wrapping_add(more);
        }
        self.pawns |= gain.pawns;
        match RANK_ORDER[column - RANKS] {
            0 => self.back_ranks[0] = gain.occupied,
            7 => self.back_ranks[1] = gain.occupied,
            _ => {}
        }
    }

    /// The value of a context that is not a column; 0 for a column.
    pub(super) fn value(&self, context: Context) -> u32 {
        // The mask drops what several kings add above the bit for kings.
        let pieces = |side: Side| u32::from(self.counts[side as usize] & PIECE_MASK);
        // A byte for each side: the files with pawns.
        let pawns = |side: Side| u32::from(self.pawns >> (8 * side as u16) & 0xff);
        match context {
            Context::Column(_) => 0,
            Context::Pieces(side) => pieces(side),
            Context::Pawns(side) => pawns(side),
            Context::Material(side) => pieces(side) << 8 | pawns(side),
            Context::BothPawns => self.pawns.into(),
            Context::BothPieces => pieces(Side::White) << PIECE_BITS | pieces(Side::Black),
            Context::BackRank(side) => self.back_ranks[side as usize].into(),
        }
    }
}

/// Pieces that a rank adds to a [`PieceState`].
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Gain {
    /// Piece counts of White and of Black.
    pub(super) counts: [u16; 2],
    /// Pawn files, White's in the low byte.
    pub(super) pawns: u16,
    occupied: u8,
}

impl Gain {
    /// The pieces of the rank with this value.
    pub(super) fn from_rank(value: u32) -> Gain {
        let mut gain = Gain { occupied: occupied(value), ..Gain::default() };
        for (place, byte) in value.to_le_bytes().into_iter().enumerate() {
            let pair = &PAIRS[usize::from(byte)];
            gain.counts[0] += pair.counts[0];
            gain.counts[1] += pair.counts[1];
            gain.pawns |= pair.pawns << (2 * place);
        }
        gain
    }
}

/// The pieces that two neighbouring squares add to a [`Gain`]. The codes of the two squares are one
/// byte of a rank.
#[derive(Copy, Clone)]
struct Pair {
    counts: [u16; 2],
    pawns: u16,
}

static PAIRS: [Pair; 256] = pairs();

const fn pairs() -> [Pair; 256] {
    let mut table = [Pair { counts: [0; 2], pawns: 0 }; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut place = 0;
        while place < 2 {
            let code = byte >> (4 * place) & 15;
            let (white, kind) = if code <= 6 { (true, code) } else { (false, code - 6) };
            match kind {
                1 => table[byte].pawns |= 1 << (place + if white { 0 } else { 8 }),
                2..=6 => table[byte].counts[!white as usize] += 1 << (3 * (kind - 2)),
                _ => {}
            }
            place += 1;
        }
        byte += 1;
    }
    table
}
