//! Places of the codes of the back ranks among the codes of a board.

/// Distances between codes, in bits; White's rank, then Black's.
pub(super) struct BackRanks {
    /// From the first code of the rank to that of the piece on e.
    pub(super) to_e: [u32; 2],
    /// From the first code of the rank to that of the piece on h.
    pub(super) to_h: [u32; 2],
    /// From the first code of all to that of Black's rank.
    pub(super) last: u32,
}

impl BackRanks {
    /// Of this many pieces, 1 to 32, on these squares.
    #[inline(always)]
    pub(super) fn new(occupied: u64, count: u32) -> BackRanks {
        let [first, last] =
            [occupied, occupied >> 56].map(|squares| SHIFTS[usize::from(squares as u8)]);
        let of_last_rank = u32::from(last[1]) + (occupied >> 63) as u32 * 4;
        BackRanks {
            to_e: [first[0].into(), last[0].into()],
            to_h: [first[1].into(), last[1].into()],
            last: count.wrapping_mul(4).wrapping_sub(of_last_rank).min(124),
        }
    }
}

/// The lowest bit of each code.
const ONES: u32 = u32::MAX / 15;

/// The codes of the pieces on one back rank.
pub(super) struct BackRank {
    codes: u32,
    /// A 1 at the bottom of each.
    ones: u32,
    /// A 1 at the bottom of those on the a and h files.
    pub(super) edges: u32,
}

impl BackRank {
    /// White's rank, then Black's, whose codes begin this many bits up.
    pub(super) fn both(occupied: u64, codes: u128, last: u32) -> [BackRank; 2] {
        [(occupied, codes), (occupied >> 56, codes >> last)].map(|(files, codes)| {
            let len = 4 * (files as u8).count_ones();
            let ones = ONES & ((1u64 << len) - 1) as u32;
            BackRank { codes: codes as u32, ones, edges: edges(files as u8, 4) }
        })
    }

    /// A 1 at the bottom of each code that is this one.
    pub(super) const fn each(&self, code: u8) -> u32 {
        let differs = self.codes ^ (ONES * code as u32);
        let differs = differs | differs >> 2;
        !(differs | differs >> 1) & self.ones
    }
}

/// Of rooks beside a king the outermost one on the king's side and on the queen's, 0 where there is
/// none. `None` if there is not one king.
pub(super) fn outermost(rooks: u32, king: u32) -> Option<[u32; 2]> {
    let before = king.checked_sub(1).filter(|before| king & before == 0)?;
    let of_king_side = (rooks & !before).checked_ilog2().map_or(0, |shift| 1 << shift);
    let of_queen_side = rooks & before & (rooks & before).wrapping_neg();
    Some([of_king_side, of_queen_side])
}

/// The bottoms of the codes, of this many bits each, of the pieces on the a and h files.
pub(super) const fn edges(files: u8, bits: u32) -> u32 {
    let on_h = (files >> 7) as u32;
    (files & 1) as u32 | on_h << (bits * files.count_ones().saturating_sub(1))
}

/// Of the rooks beside a king those that rights mean, bit 0 the king's side, bit 1 the queen's: the
/// outermost ones. `None` when there is not one king, or it is one of those at the edges, or no rook for
/// a right.
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

/// The shifts to e and h by the set of occupied files. A table, as not every machine that the crate
/// is compiled for counts bits in one instruction.
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
