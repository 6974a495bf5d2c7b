//! Tables of placements: meanings of bytes, shapes of ranks, codes of pieces.

use crate::model::{Color, Piece};

/// Returns the code of a piece, 0 to 11: `p P n N b B r R q Q k K`.
#[inline]
pub const fn piece_code(piece: Piece) -> u8 {
    piece.role as u8 * 2 + matches!(piece.color, Color::White) as u8
}

/// The numbers from which the hash of a board is computed. There is one number for each piece on
/// each square, at the index [`place`]. For codes that are not pieces the number is 0.
pub(crate) type PieceNumbers = [u64; 1024];

/// Index in `PieceNumbers` for a piece on a square. In the index, codes count from 1, so index 0
/// means no piece.
#[inline]
pub const fn place(square: usize, code: u8) -> usize {
    (square & 63) << 4 | (code as usize + 1) & 15
}

/// Maximum number of pieces in [`Pieces`].
pub(super) const MAX_PIECES: u32 = 32;

/// Capacity for the places of all pieces, plus eight, because up to eight places are written at
/// once. A place is an index as in [`place`].
pub(super) const PLACES: usize = MAX_PIECES as usize + 8;

/// Combines the numbers at the places by exclusive or.
///
/// All numbers are loaded, even those after the last piece, because the processor could not predict
/// the end of a shorter loop.
#[inline(always)]
pub(super) fn hash_of_places(numbers: &PieceNumbers, places: &[u16]) -> u64 {
    let mut hashes = [0; 2];
    for four in places.chunks_exact(4) {
        // Four places come from one word, so one load reads them.
        let word =
            (0..).step_by(16).zip(four).fold(0, |word, (at, &place)| word | u64::from(place) << at);
        let number = |nth: u32| numbers[(word >> (16 * nth)) as usize & 1023];
        hashes[0] ^= number(0) ^ number(1);
        hashes[1] ^= number(2) ^ number(3);
    }
    hashes[0] ^ hashes[1]
}

/// The pieces of a placement, at most 32.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Pieces {
    /// The occupied squares.
    pub occupied: u64,
    /// Number of pieces.
    pub(crate) count: u32,
    /// A code of four bits for each piece in the order of squares, the first in the lowest bits.
    pub codes: u128,
    /// The numbers of all pieces (`PieceNumbers`), combined by exclusive or.
    pub hash: u64,
    /// Length of the field in bytes.
    pub(crate) len: usize,
}

/// The codes of the pieces on a board, as sets of squares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeBits {
    /// The squares with a piece.
    pub occupied: u64,
    /// For each bit of a code, the lowest bit first: the squares whose code has this bit. An empty
    /// square has a code that no piece has.
    pub bits: [u64; 4],
}

impl CodeBits {
    /// Makes a board from codes in the order of the occupied squares.
    #[inline(always)]
    pub(super) fn from_codes(occupied: u64, codes: u128) -> CodeBits {
        let mut bits = [0; 4];
        let mut rest = occupied;
        let mut codes = codes;
        while rest != 0 {
            let square = rest & rest.wrapping_neg();
            for (bit, squares) in bits.iter_mut().enumerate() {
                *squares |= square & (codes as u64 >> bit & 1).wrapping_neg();
            }
            codes >>= 4;
            rest ^= square;
        }
        CodeBits { occupied, bits }
    }

    /// Returns the codes of at most 32 pieces in the order of their squares, the first in the
    /// lowest bits.
    #[inline(always)]
    pub(super) fn each(&self) -> u128 {
        let mut codes = 0;
        let mut shift = 0;
        let mut rest = self.occupied;
        while rest != 0 {
            let code = self.code(rest.trailing_zeros());
            codes |= u128::from(code) << (shift & 127);
            shift += 4;
            rest &= rest - 1;
        }
        codes
    }

    /// Returns the code of a square.
    #[inline(always)]
    pub const fn code(&self, square: u32) -> u8 {
        let [a, b, c, d] = self.bits;
        (a >> square & 1 | (b >> square & 1) << 1 | (c >> square & 1) << 2 | (d >> square & 1) << 3)
            as u8
    }

    /// Gives all squares of a set the same code.
    #[inline(always)]
    pub(crate) fn put(&mut self, set: u64, code: u8) {
        for (bit, squares) in self.bits.iter_mut().enumerate() {
            *squares = *squares & !set | set & u64::from(code >> bit & 1).wrapping_neg();
        }
    }

    /// Returns the codes of all squares, four bits each. The word with the index `file` (0 to 3)
    /// has one byte for each rank, rank 1 in the lowest byte. Each byte has the codes of two
    /// squares of its rank: those on the files `file` and `file + 4`.
    #[inline(always)]
    pub(super) const fn words(&self) -> [u64; 4] {
        const EVEN: u64 = u64::MAX / 3;
        const LOW_PAIRS: u64 = u64::MAX / 5;
        let [a, b, c, d] = self.bits;
        // First the two low bits and the two high bits of each even and each odd square; then all
        // four bits of every fourth square.
        let [ab, cd] = [a & EVEN | (b & EVEN) << 1, c & EVEN | (d & EVEN) << 1];
        let [odd_ab, odd_cd] = [a >> 1 & EVEN | b & !EVEN, c >> 1 & EVEN | d & !EVEN];
        [
            ab & LOW_PAIRS | (cd & LOW_PAIRS) << 2,
            odd_ab & LOW_PAIRS | (odd_cd & LOW_PAIRS) << 2,
            ab >> 2 & LOW_PAIRS | cd & !LOW_PAIRS,
            odd_ab >> 2 & LOW_PAIRS | odd_cd & !LOW_PAIRS,
        ]
    }
}

/// Maximum length of a placement: a byte for each square and seven solidi (`/`).
pub(super) const MAX_LEN: usize = 71;

/// Buffer size for the longest fields and counters: 71 bytes of placement, ` w KQkq e3` and ` fmvn
/// 4294967295; hmvc 4294967295;`. There is space for writing up to 64 bytes at once.
pub(crate) const ROOM: usize = 128;

/// The meaning of a byte in a placement, as numbers for arithmetic without branches. A processor
/// cannot predict the sequence of bytes, and a wrong prediction costs more than the arithmetic.
#[derive(Copy, Clone)]
pub(super) struct Sign {
    /// The code of the piece, or [`NO_PIECE`].
    pub(super) code: u8,
    /// Number of squares that the byte represents.
    pub(super) squares: u8,
    /// All bits are set for a solidus (`/`), otherwise none.
    pub(super) solidus: i8,
    /// 0, [`DIGIT`] or [`BAD`].
    pub(super) doubt: u8,
}

pub(super) const NO_PIECE: u8 = 12;
/// Value of [`Sign::doubt`] for a digit, because canonical text has no two adjacent digits.
pub(super) const DIGIT: u8 = 1;
/// Value of [`Sign::doubt`] for a byte that cannot be in a placement.
pub(super) const BAD: u8 = 2;

pub(super) static SIGNS: [Sign; 256] = signs();

pub(super) const fn signs() -> [Sign; 256] {
    let other = Sign { code: NO_PIECE, squares: 0, solidus: 0, doubt: BAD };
    let mut signs = [other; 256];
    let mut byte = 0;
    while byte < 256 {
        if let Some(piece) = Piece::from_letter(byte as u8) {
            let code = piece_code(piece);
            signs[byte] = Sign { code, squares: 1, doubt: 0, ..other };
        }
        byte += 1;
    }
    let mut run = 1;
    while run <= 8 {
        signs[b'0' as usize + run] = Sign { squares: run as u8, doubt: DIGIT, ..other };
        run += 1;
    }
    signs[b'/' as usize] = Sign { solidus: !0, doubt: 0, ..other };
    signs
}

/// The shape of a rank in text: the content of each byte. The numbers 8 to 15 stand for one to
/// eight empty squares; lower numbers are pieces.
#[derive(Copy, Clone)]
pub(super) struct RankText {
    /// The bytes of the text, with pieces numbered by file.
    pub(super) by_file: [u8; 8],
    /// The bytes of the text. Pieces are numbered from the a-file on, without the empty squares.
    pub(super) by_piece: [u8; 8],
    pub(super) len: u8,
}

/// The number of a single empty square in a [`RankText`].
pub(super) const FIRST_RUN: u8 = 8;

/// The shapes of ranks, indexed by the set of occupied files.
pub(super) static RANKS: [RankText; 256] = ranks();

pub(super) const fn ranks() -> [RankText; 256] {
    let mut ranks = [RankText { by_file: [0; 8], by_piece: [0; 8], len: 0 }; 256];
    let mut occupied = 0;
    while occupied < 256 {
        let rank = &mut ranks[occupied];
        let mut file = 0;
        let mut pieces = 0;
        let mut run = 0;
        while file < 8 {
            let is_piece = occupied >> file & 1 == 1;
            run += !is_piece as u8;
            if run > 0 && (file == 7 || is_piece) {
                let sign = FIRST_RUN + run - 1;
                *rank = rank.with(sign, sign);
                run = 0;
            }
            if is_piece {
                *rank = rank.with(file, pieces);
                pieces += 1;
            }
            file += 1;
        }
        occupied += 1;
    }
    ranks
}

impl RankText {
    const fn with(mut self, by_file: u8, by_piece: u8) -> RankText {
        self.by_file[self.len as usize] = by_file;
        self.by_piece[self.len as usize] = by_piece;
        self.len += 1;
        self
    }
}

/// The letters of sixteen codes of four bits.
#[derive(Debug)]
pub struct Letters {
    pub(super) codes: [u8; 16],
    /// The letters of two codes that share a byte, the letter of the low four bits first.
    pub(super) pairs: [[u8; 2]; 256],
}

impl Letters {
    /// Makes the table from the letter of each code; the letter of an empty square is 0.
    pub const fn new(codes: [u8; 16]) -> Letters {
        let mut pairs = [[0; 2]; 256];
        let mut byte = 0;
        while byte < 256 {
            pairs[byte] = [codes[byte & 15], codes[byte >> 4]];
            byte += 1;
        }
        Letters { codes, pairs }
    }

    /// Returns the letter of a code.
    #[cfg(target_arch = "x86_64")]
    pub const fn of(&self, code: u8) -> u8 {
        self.codes[code as usize & 15]
    }

    /// Returns the letters by square, from bytes with two codes each.
    pub(super) fn by_square(&self, codes: &[[u8; 16]; 2]) -> [u8; 64] {
        let mut letters = [0; 64];
        for (pair, &byte) in letters.chunks_exact_mut(2).zip(codes.as_flattened()) {
            pair.copy_from_slice(&self.pairs[usize::from(byte)]);
        }
        letters
    }
}
