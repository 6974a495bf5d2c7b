//! Parser and writer of the placement field in vectors of 32 bytes, four ranks of eight bytes each.
//!
//! This file is the same for all processors; `avx2` and `neon` have the individual vector
//! operations. As in `avx512`, the first rank is the lowest lane, and the prefix
//! sums of the characters' widths give the file of each piece. These processors have no instruction
//! that compresses a vector, so a table of shuffles moves the pieces of each rank together. The
//! writer does the same as the loop over bytes, with one shuffle for each rank. No vector is passed
//! to a function of the standard library, because the library is not compiled for vectors of this
//! size.
//!
//! Three safe functions do the same: `read_pieces` in `read`, `pieces_bytewise` in `write`, and
//! `letters_bytewise` in `write`. `cargo bench --bench codec` shows the gain.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
use avx2 as vector;
#[cfg(target_arch = "aarch64")]
use neon as vector;

use self::vector::{
    Half, Vector, above, add, add_2, add_4, and, at_most, below_lowest, bytes_of, case_bit,
    codes_of, equal, from_words, half_of, high_nibbles, load, load_half, lookup, lookup_half,
    low_word, mask, nibbles, or, or_half, splat, store, store_places, sub, sums_of_lanes, times_16,
    with_high_bytes, xor,
};
use super::tables::{
    CodeBits, FIRST_RUN, Letters, MAX_PIECES, PLACES, PieceNumbers, Pieces, ROOM, RankText,
    hash_of_places, ranks, signs,
};

/// The letters of pieces in lower case. The slot of a letter is its low nibble xor its high nibble,
/// which is different for all six. Other slots are 0, which is not a letter.
static LETTERS: [u8; 16] = {
    let mut slots = [0; 16];
    let mut role = 0;
    while role < ROLES.len() {
        assert!(slots[slot(ROLES[role])] == 0, "two letters in one slot");
        slots[slot(ROLES[role])] = ROLES[role];
        role += 1;
    }
    slots
};

/// The codes of Black's pieces plus 1, each in the slot of its letter. The indices of
/// [`PieceNumbers`] also have codes plus 1.
static CODES: [u8; 16] = {
    let mut slots = [0; 16];
    let mut role = 0;
    while role < ROLES.len() {
        slots[slot(ROLES[role])] = signs()[ROLES[role] as usize].code + 1;
        role += 1;
    }
    slots
};

const ROLES: &[u8; 6] = b"pnbrqk";

const fn slot(letter: u8) -> usize {
    (letter ^ letter >> 4) as usize & 15
}

/// The bit of each file.
static BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

/// For each set of characters of a rank, a shuffle that moves the places of these characters
/// together, followed by zeros. A place has two bytes.
static MOVED_TOGETHER: [[u8; 16]; 256] = {
    let mut shuffles = [[0x80; 16]; 256];
    let mut set = 0;
    while set < 256 {
        let mut from = 0;
        let mut to = 0;
        while from < 8 {
            if set >> from & 1 == 1 {
                shuffles[set][to] = from * 2;
                shuffles[set][to + 1] = from * 2 + 1;
                to += 2;
            }
            from += 1;
        }
        set += 1;
    }
    shuffles
};

/// For each set of files, a shuffle that moves the codes of the pieces to these files, with zeros
/// between them.
static MOVED_APART: [[u8; 8]; 256] = {
    let mut shuffles = [[0x80; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let mut file = 0;
        let mut nth = 0;
        while file < 8 {
            if set >> file & 1 == 1 {
                shuffles[set][file] = nth;
                nth += 1;
            }
            file += 1;
        }
        set += 1;
    }
    shuffles
};

/// Vectors by which a rank is written, indexed by the set of the rank's occupied files.
struct Shapes {
    /// Shuffles that move the letters to their places in the text.
    letters: [[u8; 16]; 256],
    /// The digits at their places in the text of the rank, and the solidus after them.
    others: [[u8; 16]; 256],
    /// Lengths of the text of the rank, with the solidus.
    lens: [u8; 256],
}

/// The [`Shapes`] for letters that are in the order of the pieces of a rank.
static BY_PIECE: Shapes = Shapes::new(false);
/// The [`Shapes`] for letters that are at the indices of their files.
static BY_FILE: Shapes = Shapes::new(true);

impl Shapes {
    const fn new(by_file: bool) -> Shapes {
        let ranks = ranks();
        let mut shapes =
            Shapes { letters: [[0x80; 16]; 256], others: [[0; 16]; 256], lens: [0; 256] };
        let mut files = 0;
        while files < 256 {
            let RankText { by_file: files_of_signs, by_piece, len } = ranks[files];
            let signs = if by_file { files_of_signs } else { by_piece };
            let len = len as usize;
            let mut at = 0;
            while at < len {
                if signs[at] < FIRST_RUN {
                    shapes.letters[files][at] = signs[at];
                } else {
                    shapes.others[files][at] = b'1' + signs[at] - FIRST_RUN;
                }
                at += 1;
            }
            shapes.others[files][len] = b'/';
            shapes.lens[files] = len as u8 + 1;
            files += 1;
        }
        shapes
    }
}

/// Reads the placement up to the first blank. `None` if the line is shorter than 32 bytes, or if
/// the blank is not among the first 64. Also `None` if the field does not have the usual form.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
#[inline]
pub(crate) fn read(line: &[u8], numbers: &PieceNumbers) -> Option<Pieces> {
    let (len, words) = split(line)?;
    let [a, b, c, d, e, f, g, h] = words;
    let texts = [from_words([a, b, c, d]), from_words([e, f, g, h])];

    let mut pieces = [splat(0); 2];
    let mut bits = [splat(0); 2];
    let mut places = [splat(0); 2];
    let mut bad = splat(0);
    let mut signs = 0;
    let one = splat(1);
    for (half, text) in texts.into_iter().enumerate() {
        // A solidus or a blank ends a rank; no other character of a usual line is as low. Bytes
        // after it do not count.
        let there = below_lowest(at_most(text, splat(b'/')));
        let lower = or(text, splat(0x20));
        let slot = and(xor(lower, high_nibbles(lower)), splat(15));
        pieces[half] = and(equal(lookup(&LETTERS, slot), lower), there);
        let code = add(lookup(&CODES, slot), xor(case_bit(text), one));
        let run = sub(text, splat(b'1'));
        let runs = and(at_most(run, splat(7)), there);

        // The sums of the widths of the characters; each rank must end at eight.
        let widths = or(and(runs, add(run, one)), and(pieces[half], one));
        let sums = add_4(add_2(add(widths, above(widths))));
        let off = and(xor(sums, splat(8)), from_words([0xff << 56; 4]));
        bad = or(bad, or(off, and(runs, above(runs))));
        signs += mask(or(runs, pieces[half])).count_ones();

        let files = sub(sums, one);
        bits[half] = and(lookup(&BITS, files), pieces[half]);
        places[half] = or(times_16(files), and(code, splat(15)));
    }

    let pieces = u64::from(mask(pieces[0])) | u64::from(mask(pieces[1])) << 32;
    let count = pieces.count_ones();
    let is_bad = mask(equal(bad, splat(0))) != u32::MAX || signs + 7 != len;
    if is_bad || count == 0 || count > MAX_PIECES {
        return None;
    }
    let places = together(pieces, places)?;
    Some(Pieces {
        count,
        occupied: sums_of_lanes(bits[0], bits[1]),
        codes: codes_of(&places),
        hash: hash(numbers, &places),
        len: len as usize,
    })
}

/// Combines the numbers at the places by exclusive or. This function is not compiled for vectors:
/// loads whose addresses come from a vector would start later.
#[inline(never)]
fn hash(numbers: &PieceNumbers, places: &[u16; PLACES]) -> u64 {
    hash_of_places(numbers, &places[..MAX_PIECES as usize])
}

/// Splits a line into its ranks. Returns the length of the field and the first eight bytes of each
/// rank, beginning with rank 1, the last in the text. Bytes after the end of the line are zeros.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
#[inline]
fn split(line: &[u8]) -> Option<(u32, [u64; 8])> {
    // Two vectors, which overlap if the line is shorter than both.
    let second = line.len().checked_sub(32)?.min(32);
    let low = load(line.first_chunk()?);
    let high = load(line.get(second..)?.first_chunk()?);
    let all = |byte: u8| {
        let [low, high] = [mask(equal(low, splat(byte))), mask(equal(high, splat(byte)))];
        u64::from(low) | u64::from(high) << second
    };
    let len = all(b' ').trailing_zeros();
    let mut solidi = all(b'/') & 1u64.checked_shl(len)?.wrapping_sub(1);
    if solidi.count_ones() != 7 {
        return None;
    }
    let last_word = line.len() - 8;
    let word = |at: usize| Some(u64::from_le_bytes(*line.get(at..)?.first_chunk()?));
    let mut words = [0; 8];
    let mut start = 0;
    for rank in (1..8).rev() {
        if start > last_word {
            return None;
        }
        words[rank] = word(start)?;
        start = solidi.trailing_zeros() as usize + 1;
        solidi &= solidi.wrapping_sub(1);
    }
    let at = start.min(last_word);
    words[0] = word(at)? >> (((start - at) * 8) & 63);
    Some((len, words))
}

/// Moves the places of at most 32 pieces together, in the order of squares. `places` has the part
/// of each place within its rank, one byte for each character; the lane of the byte is the rank.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
#[inline]
fn together(pieces: u64, places: [Vector; 2]) -> Option<[u16; PLACES]> {
    let odd_ranks = from_words([0, u64::MAX / 255 * 128, 0, u64::MAX / 255 * 128]);
    let [low, high] = places;
    let [a, b, c, d] = with_high_bytes(or(low, odd_ranks), [0, 1]);
    let [e, f, g, h] = with_high_bytes(or(high, odd_ranks), [2, 3]);
    let mut together = [0; PLACES];
    let mut rest = pieces;
    let mut at = 0;
    for rank in [a, b, c, d, e, f, g, h] {
        let set = usize::from(rest as u8);
        let shuffle = load_half(&MOVED_TOGETHER[set]);
        let room = together.get_mut(at..)?.first_chunk_mut()?;
        store_places(room, lookup_half(rank, shuffle));
        at += set.count_ones() as usize;
        rest >>= 8;
    }
    Some(together)
}

/// Puts codes on the occupied squares. The codes are in the order of the squares.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn scatter_codes(occupied: u64, codes: u128) -> CodeBits {
    let mut in_order = [0; MAX_PIECES as usize + 8];
    store(&mut in_order, nibbles(load_half(&codes.to_le_bytes())));
    let mut ranks = [0; 8];
    let mut before = 0;
    for (rank, files) in ranks.iter_mut().zip(occupied.to_le_bytes()) {
        let codes = in_order.get(before..).and_then(<[u8]>::first_chunk);
        let codes = codes.map_or(0, |codes| u64::from_le_bytes(*codes));
        let shuffle = u64::from_le_bytes(MOVED_APART[usize::from(files)]);
        *rank = low_word(lookup_half(half_of(codes, 0), half_of(shuffle, 0)));
        before += files.count_ones() as usize;
    }
    let [a, b, c, d, e, f, g, h] = ranks;
    let [low, high] = [from_words([a, b, c, d]), from_words([e, f, g, h])];
    let squares = |bit: u8| {
        let bit = splat(bit);
        let [low, high] = [mask(equal(and(low, bit), bit)), mask(equal(and(high, bit), bit))];
        u64::from(low) | u64::from(high) << 32
    };
    CodeBits { occupied, bits: [squares(1), squares(2), squares(4), squares(8)] }
}

/// Gathers the codes of at most 32 pieces in the order of their squares, one by one. `pext` and
/// `pdep` are not used, because they are slow on many processors whose largest vectors have this
/// size.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn gather_codes(board: &CodeBits) -> u128 {
    board.each()
}

/// The codes of at most 32 pieces in the order of squares, a byte for each.
#[derive(Copy, Clone)]
pub(crate) struct Codes(Vector);

impl Codes {
    /// Unpacks codes of four bits, the first in the lowest bits.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    #[inline]
    pub(crate) fn new(codes: u128) -> Codes {
        Codes(nibbles(load_half(&codes.to_le_bytes())))
    }

    /// Returns the set of the pieces that have this code, as bits in the order of the pieces.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    #[inline]
    pub(crate) fn places(self, code: u8) -> u32 {
        mask(equal(self.0, splat(code)))
    }
}

/// Writes the placement of at most 32 pieces to the start of the text. Returns its length.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
#[inline]
pub(crate) fn write_pieces(
    occupied: u64,
    Codes(codes): Codes,
    letters: &Letters,
    text: &mut [u8; ROOM],
) -> usize {
    let mut in_order = [0; MAX_PIECES as usize + 8];
    store(&mut in_order, lookup(&letters.codes, codes));
    let mut before = occupied.count_ones() as usize;
    let mut at = 0;
    for files in occupied.to_be_bytes() {
        before -= files.count_ones() as usize;
        // If all 32 pieces are before a rank, the rank has none.
        let letters = &in_order[before % MAX_PIECES as usize..][..8];
        at = write_rank(word(letters), &BY_PIECE, files, at, text);
    }
    at - 1
}

/// Does the same as [`write_pieces`], for bytes with two codes each.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn write_packed(
    occupied: u64,
    codes: &[u8; 16],
    letters: &Letters,
    text: &mut [u8; ROOM],
) -> usize {
    write_pieces(occupied, Codes::new(u128::from_le_bytes(*codes)), letters, text)
}

/// Writes a placement, given by the letter on each square (0 if it is empty), to the start of the
/// text. Returns its length.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn write_letters(occupied: u64, letters: &[u8; 64], text: &mut [u8; ROOM]) -> usize {
    let mut at = 0;
    for (files, letters) in occupied.to_be_bytes().into_iter().zip(letters.chunks_exact(8).rev()) {
        at = write_rank(word(letters), &BY_FILE, files, at, text);
    }
    at - 1
}

/// Writes the placement of eight ranks of codes to the start of the text. Each byte has two codes.
/// Returns the length of the text.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn write_ranks(
    occupied: u64,
    ranks: &[[u8; 16]; 2],
    letters: &Letters,
    text: &mut [u8; ROOM],
) -> usize {
    let mut by_square = [0; 64];
    for (half, codes) in by_square.as_chunks_mut::<32>().0.iter_mut().zip(ranks) {
        let mut room = [0; 40];
        store(&mut room, lookup(&letters.codes, nibbles(load_half(codes))));
        half.copy_from_slice(&room[..32]);
    }
    write_letters(occupied, &by_square, text)
}

/// Makes a vector of 16 bytes with eight bytes in its low half.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
#[inline]
fn word(bytes: &[u8]) -> Half {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    half_of(u64::from_le_bytes(word), 0)
}

/// Writes a rank and the solidus after it. Returns the place after the solidus.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
#[inline]
fn write_rank(
    letters: Half,
    shapes: &Shapes,
    files: u8,
    at: usize,
    text: &mut [u8; ROOM],
) -> usize {
    let files = usize::from(files);
    let letters = lookup_half(letters, load_half(&shapes.letters[files]));
    let rank = bytes_of(or_half(letters, load_half(&shapes.others[files])));
    // Seven ranks have no more than 63 bytes.
    let at = at % 64;
    text[at..at + 16].copy_from_slice(&rank);
    at + usize::from(shapes.lens[files])
}
