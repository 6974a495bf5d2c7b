//! Positions of the back ranks' piece codes among all piece codes of a board. A code has four bits.
//! The codes are in the order of the occupied squares.

/// Distances between codes, in bits. The first number of each pair is for White's back rank, the
/// second for Black's.
pub(super) struct BackRanks {
    /// Distances from the first code of the rank to the code of the piece on the e-file.
    pub(super) to_e: [u32; 2],
    /// Distances from the first code of the rank to the code of the piece on the h-file.
    pub(super) to_h: [u32; 2],
    /// Distance from the first code of the board to the first code of Black's back rank.
    pub(super) last: u32,
}

impl BackRanks {
    /// Computes the distances for a board with `count` pieces, 1 to 32.
    #[inline(always)]
    pub(super) fn new(occupied: u64, count: u32) -> BackRanks {
        let [[white_e, white_h], [black_e, black_h]] =
            [occupied, occupied >> 56].map(|squares| SHIFTS[usize::from(squares as u8)]);
        let bits_of_h8 = (occupied >> 63) as u32 * 4;
        let bits_of_last_rank = u32::from(black_h) + bits_of_h8;
        BackRanks {
            to_e: [white_e.into(), black_e.into()],
            to_h: [white_h.into(), black_h.into()],
            // At most 124, because a code of 128 bits is shifted by it, also if the rank is empty.
            last: count.wrapping_mul(4).wrapping_sub(bits_of_last_rank).min(124),
        }
    }
}

/// The lowest bit of each code.
const ONES: u32 = u32::MAX / 15;

/// The four-bit codes of the pieces on one back rank.
pub(super) struct BackRank {
    codes: u32,
    /// The lowest bit of each code.
    ones: u32,
    /// The lowest bits of the codes on the a and h files.
    pub(super) edges: u32,
}

impl BackRank {
    /// Takes the codes of White's back rank and of Black's. Black's codes begin at bit `last`.
    pub(super) fn both(occupied: u64, codes: u128, last: u32) -> [BackRank; 2] {
        [(occupied, codes), (occupied >> 56, codes >> last)].map(|(files, codes)| {
            let len = 4 * (files as u8).count_ones();
            let ones = ONES & ((1u64 << len) - 1) as u32;
            BackRank { codes: codes as u32, ones, edges: edges(files as u8, 4) }
        })
    }

    /// Returns a mask that has the lowest bit of each code that is equal to `code`.
    pub(super) const fn each(&self, code: u8) -> u32 {
        let differs = self.codes ^ (ONES * code as u32);
        let differs = differs | differs >> 2;
        !(differs | differs >> 1) & self.ones
    }
}

/// Selects two rooks from those on the king's rank: the outermost rook on the king's side, and the
/// outermost rook on the queen's side. Each piece is given by one bit. The result is 0 for a side
/// without a rook. `None` if there is not exactly one king.
pub(super) fn outermost(rooks: u32, king: u32) -> Option<[u32; 2]> {
    let before = king.checked_sub(1).filter(|before| king & before == 0)?;
    let of_king_side = (rooks & !before).checked_ilog2().map_or(0, |shift| 1 << shift);
    let of_queen_side = rooks & before & (rooks & before).wrapping_neg();
    Some([of_king_side, of_queen_side])
}

/// Returns a mask of the lowest bits of the codes of pieces on the a-file and the h-file. Each code
/// has `bits` bits.
pub(super) const fn edges(files: u8, bits: u32) -> u32 {
    let on_h = (files >> 7) as u32;
    (files & 1) as u32 | on_h << (bits * files.count_ones().saturating_sub(1))
}

/// Selects the rooks that have the rights. They are the outermost rooks on their side of the king.
/// In `rights`, bit 0 is the king's side and bit 1 the queen's side. `None` if there is not exactly
/// one king, if the king is on an edge, or if the rook for a right is missing.
#[inline(always)]
pub(super) fn with_rights(rights: u8, rooks: u32, king: u32, edges: u32) -> Option<u32> {
    if rights == 0 {
        return Some(0);
    }
    if king & edges != 0 {
        return None;
    }
    let [of_king_side, of_queen_side] = outermost(rooks, king)?;
    let [has_k, has_q] = [rights & 1, rights >> 1].map(u32::from);
    let is_there = (of_king_side != 0 || has_k == 0) & (of_queen_side != 0 || has_q == 0);
    is_there.then_some((of_king_side * has_k) | (of_queen_side * has_q))
}

/// The distances to the e-file and to the h-file, in bits. The index is the set of occupied files.
/// This is a table, because not every processor counts bits in one instruction.
static SHIFTS: [[u8; 2]; 256] = {
    let mut shifts = [[0; 2]; 256];
    let mut files = 0usize;
    while files < 256 {
        let [before_e, before_h] = [(files & 0x0f).count_ones(), (files & 0x7f).count_ones()];
        shifts[files] = [before_e as u8 * 4, before_h as u8 * 4];
        files += 1;
    }
    shifts
};
