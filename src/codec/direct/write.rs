//! From a packed board to the four fields.

use byteorder::{ByteOrder, LittleEndian};

use super::super::packed::{BLACK_KING, DOUBLE_STEP, KING_TO_MOVE, WHITE_KING};

/// How a rank is written, for each set of occupied files.
#[derive(Copy, Clone)]
struct RankText {
    /// What stands at each place: 0 to 7 the man with this number, 8 to 15 a run of one to eight.
    signs: [u8; 8],
    len: u8,
}

static RANKS: [RankText; 256] = {
    let mut ranks = [RankText { signs: [0; 8], len: 0 }; 256];
    let mut occupied = 0;
    while occupied < 256 {
        let rank = &mut ranks[occupied];
        let (mut file, mut men, mut run) = (0, 0, 0);
        while file < 8 {
            let is_man = occupied >> file & 1 == 1;
            run += !is_man as u8;
            if run > 0 && (file == 7 || is_man) {
                rank.signs[rank.len as usize] = 7 + run;
                rank.len += 1;
                run = 0;
            }
            if is_man {
                rank.signs[rank.len as usize] = men;
                rank.len += 1;
                men += 1;
            }
            file += 1;
        }
        occupied += 1;
    }
    ranks
};

/// The letter of each code; a pawn of a double step has none before its rank is known.
const LETTERS: [u8; 16] = *b"pPnNbBrRqQkK?Rrk";

/// The letters of the two codes of a byte.
static PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [LETTERS[byte & 15], LETTERS[byte >> 4]];
        byte += 1;
    }
    pairs
};

/// Room for the longest text, 64 bytes of men and runs, seven solidi and ` w KQkq e3`, and for 64
/// bytes at once from any place of the first four ranks.
const ROOM: usize = 128;

/// Appends the four fields of a packed board in the plain form with classic castling rights.
///
/// False, and nothing appended, for any other. Bytes that are no packed board give text without
/// meaning or false.
pub(super) fn usual_fields(board: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((occupied, codes)) = plain(board) else { return false };
    let Some(fields) = Specials::find(occupied, u128::from_le_bytes(codes)) else { return false };
    let mut text = [0; ROOM];
    let mut at = placement(occupied, &codes, &fields, &mut text);

    let turn = if fields.black_to_move { b" b " } else { b" w " };
    text[at..at + 3].copy_from_slice(turn);
    at += 3;
    text[at..at + 4].copy_from_slice(&CASTLING[usize::from(fields.castling)].0);
    at += CASTLING[usize::from(fields.castling)].1;
    text[at] = b' ';
    text[at + 1] = b'-';
    let mut end = at + 2;
    if let Some((_, file)) = fields.double_step {
        text[at + 1] = b'a' + file;
        text[at + 2] = if fields.black_to_move { b'3' } else { b'6' };
        end = at + 3;
    }
    out.extend_from_slice(&text[..end]);
    true
}

/// Writes the placement to the start of the text and gives its length.
fn placement(occupied: u64, codes: &[u8; 16], fields: &Specials, text: &mut [u8; ROOM]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(len) = super::avx512::write(occupied, codes, &fields.letters(), text) {
        return len;
    }
    placement_bytewise(occupied, codes, fields, text)
}

/// The way that every machine can go.
fn placement_bytewise(
    occupied: u64,
    codes: &[u8; 16],
    fields: &Specials,
    text: &mut [u8; ROOM],
) -> usize {
    let mut letters = [[0; 2]; 20];
    for (pair, &byte) in letters.iter_mut().zip(codes) {
        *pair = PAIRS[usize::from(byte)];
    }
    let letters = letters.as_flattened_mut();
    if let Some((nth, _)) = fields.double_step {
        letters[nth] = fields.double_step_letter();
    }
    let mut at = 0;
    let mut before = occupied.count_ones() as usize;
    for rank in occupied.to_be_bytes() {
        let RankText { signs, len } = RANKS[usize::from(rank)];
        before -= rank.count_ones() as usize;
        // Men of this rank, then digits: one array to pick from, so that nothing is guessed.
        let mut source = *b"........12345678";
        source[..8].copy_from_slice(&letters[before..before + 8]);
        text[at..at + 8].copy_from_slice(&signs.map(|sign| source[usize::from(sign & 15)]));
        at += usize::from(len);
        text[at] = b'/';
        at += 1;
    }
    at - 1
}

/// The text of each set of rights, and its length.
static CASTLING: [([u8; 4], usize); 16] = {
    let mut texts = [([b'-', 0, 0, 0], 1); 16];
    let mut set = 1;
    while set < 16 {
        let (mut len, mut right) = (0, 0);
        while right < 4 {
            if set >> right & 1 == 1 {
                texts[set].0[len] = b"KQkq"[right];
                len += 1;
            }
            right += 1;
        }
        texts[set].1 = len;
        set += 1;
    }
    texts
};

/// Occupancy and codes of a plain board of at most 32 men.
fn plain(board: &[u8]) -> Option<(u64, [u8; 16])> {
    let occupied = board.get(..8).map(LittleEndian::read_u64)?;
    let men = occupied.count_ones() as usize;
    let stored = board.get(8..8 + men.div_ceil(2))?;
    let mut codes = [0; 16];
    codes.get_mut(..stored.len())?.copy_from_slice(stored);
    (men > 0).then_some((occupied, codes))
}

/// What the codes from 12 on say.
struct Specials {
    black_to_move: bool,
    /// `K`, `Q`, `k`, `q` from bit 0 on.
    castling: u8,
    /// The place of the pawn among the men, and its file.
    double_step: Option<(usize, u8)>,
}

impl Specials {
    /// `None` when a right is not classic.
    fn find(occupied: u64, codes: u128) -> Option<Specials> {
        const ONES: u128 = u128::MAX / 15;
        // A 1 at the bottom of each nibble: which are 12 or more, and their two low bits.
        let special = codes >> 3 & codes >> 2 & ONES;
        let (low, high) = (codes & ONES, codes >> 1 & ONES);
        let double_steps = special & !low & !high;
        let double_step = (double_steps != 0).then(|| {
            let nth = double_steps.trailing_zeros() / 4;
            (nth as usize, square_of(occupied, nth) & 7)
        });
        Some(Specials {
            black_to_move: special & low & high != 0,
            castling: classic_rights(occupied, codes, special & (low ^ high))?,
            double_step,
        })
    }
}

impl Specials {
    /// The letter of each code in this position.
    fn letters(&self) -> [u8; 16] {
        let mut letters = LETTERS;
        letters[usize::from(DOUBLE_STEP)] = self.double_step_letter();
        letters
    }

    fn double_step_letter(&self) -> u8 {
        if self.black_to_move { b'P' } else { b'p' }
    }
}

/// The set of the rights of these rooks, given as a 1 at the bottom of each one's nibble.
fn classic_rights(occupied: u64, codes: u128, rooks: u128) -> Option<u8> {
    if rooks == 0 {
        return Some(0);
    }
    // How far the code of the man on a square is from the bottom, if one is there.
    let shift = |square: u32| ((occupied & ((1 << square) - 1)).count_ones() * 4) & 127;
    let stands = |square: u32| occupied >> square & 1 == 1;
    let right = |square, bit: u32| -> u8 {
        let is_there = stands(square) && rooks >> shift(square) & 1 == 1;
        u8::from(is_there) << bit
    };
    let rights = right(7, 0) | right(0, 1) | right(63, 2) | right(56, 3);
    let king_is_home = |square, king| {
        stands(square) && [king, KING_TO_MOVE].contains(&((codes >> shift(square)) as u8 & 15))
    };
    let classic = rights.count_ones() == rooks.count_ones()
        && (rights & 3 == 0 || king_is_home(4, WHITE_KING))
        && (rights & 12 == 0 || king_is_home(60, BLACK_KING));
    classic.then_some(rights)
}

/// The square of the man at a place among the men.
fn square_of(occupied: u64, nth: u32) -> u8 {
    let mut rest = occupied;
    for _ in 0..nth {
        rest &= rest - 1;
    }
    rest.trailing_zeros() as u8
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use proptest::prelude::*;

    use super::super::avx512;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn both_ways_write_the_same(
            (a, b, few) in any::<(u64, u64, bool)>(),
            men in any::<[u8; 16]>(),
            black_to_move in any::<bool>(),
        ) {
            let mut occupied = if few { a & b } else { a };
            while occupied.count_ones() > 32 {
                occupied &= occupied - 1;
            }
            // Codes below 12, zero behind the last man.
            let count = occupied.count_ones();
            let there = u128::MAX.checked_shr(128 - count * 4).unwrap_or(0);
            let codes = men.map(|byte| (byte % 12) | ((byte / 12 % 12) << 4));
            let codes = (u128::from_le_bytes(codes) & there).to_le_bytes();
            let fields = Specials { black_to_move, castling: 0, double_step: None };
            let (mut bytewise, mut vectors) = ([0; ROOM], [0; ROOM]);
            let len = placement_bytewise(occupied, &codes, &fields, &mut bytewise);
            if let Some(found) = avx512::write(occupied, &codes, &fields.letters(), &mut vectors) {
                prop_assert_eq!(
                    vectors[..found].escape_ascii().to_string(),
                    bytewise[..len].escape_ascii().to_string()
                );
            } else {
                prop_assert!(!avx512::is_supported());
            }
        }
    }
}
