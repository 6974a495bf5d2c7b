//! Where the codes of the pieces on the back ranks are among those of a board.

/// How far codes are from one another, in bits; White's rank, then Black's.
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
    pub(super) fn of(occupied: u64, count: u32) -> BackRanks {
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
