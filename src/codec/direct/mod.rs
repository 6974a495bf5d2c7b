//! The straight way between the four fields of a line and the packed identity board with its key,
//! without a [`Position`](crate::model::Position) in between: the hot path of lookups.
//!
//! It knows what nearly all lines look like: at most 32 men, `KQkq` with kings on e and rooks on
//! a and h, one blank between fields. For anything else it says so, and the text reader, which
//! also makes the diagnostics, has the word.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod placement;
mod write;

use super::error::DecodeError;
use super::key::{NUMBERS, position_key};
use super::packed::{BLACK_KING, CASTLING_ROOK, KING_TO_MOVE, PackedBoard, code, pack, unpack};
use crate::model::{Color, Counters, Piece, Role, Side, Square, en_passant_rank};
use crate::text::fields::counters::push_number;
use crate::text::{CastlingForm, Diagnostic, EnPassantForm, Profile, fen};
use placement::Placement;

/// The identity of the position at the start of a line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The packed identity board.
    pub board: PackedBoard,
    /// Its position key.
    pub key: u64,
    /// The length of the four fields in bytes; at the end of the line or before a blank.
    pub len: usize,
}

/// Reads the first four fields of an EPD or FEN line; what is behind them is not looked at.
///
/// `None` does not mean that the line is wrong, only that it is unusual. What is accepted is
/// exactly what every profile of the text reader makes of the line.
///
/// ```
/// use epdb::codec::{direct, key, packed};
/// use epdb::model::Position;
/// let line = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
/// let identity = direct::read_fields(line).expect("a usual line");
/// assert_eq!(identity.board, packed::pack(&Position::START));
/// assert_eq!(identity.key, key::position_key(&Position::START));
/// assert_eq!(identity.len, 52);
/// ```
pub fn read_fields(line: &[u8]) -> Option<Identity> {
    read_behind(line, Placement::read(line)?)
}

/// The packed identity board and the position key of any line that the lenient reader takes as a
/// record: the straight way where it leads, the text reader elsewhere. What stands behind the four
/// fields of a usual line is not looked at.
///
/// # Errors
/// What the text reader says.
///
/// ```
/// use epdb::codec::direct;
/// let usual = direct::identity(b"4k2r/8/8/8/8/8/8/4K3 b k - bm O-O;")?;
/// let shredder = direct::identity(b"4k2r/8/8/8/8/8/8/4K3 b h - 5 39")?;
/// assert_eq!(usual, shredder);
/// # Ok::<(), epdb::text::Diagnostic>(())
/// ```
pub fn identity(line: &[u8]) -> Result<(PackedBoard, u64), Diagnostic> {
    if let Some(identity) = read_fields(line) {
        return Ok((identity.board, identity.key));
    }
    let record = fen::read(line, Profile::Lenient)?;
    let identity = record.position().identity();
    Ok((pack(&identity), position_key(&identity)))
}

/// Appends the four fields of the packed board at the start of these bytes in canonical form
/// (C960-07), with the en passant square if the board has one.
///
/// # Errors
/// [`DecodeError`] when the bytes are no packed board; that they are one is not proved by success.
///
/// ```
/// use epdb::{codec::{direct, packed}, model::Position};
/// let mut text = Vec::new();
/// direct::write_fields(packed::pack(&Position::START).as_bytes(), &mut text)?;
/// assert_eq!(text, b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -");
/// # Ok::<(), epdb::codec::error::DecodeError>(())
/// ```
pub fn write_fields(board: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    if !write::usual_fields(board, out) {
        let (position, _) = unpack(board)?;
        fen::write_fields(&position, CastlingForm::XFen, EnPassantForm::Keep, out);
    }
    Ok(())
}

/// Appends the canonical line (NRM-14) of a record without operations: its packed identity board,
/// the file of an en passant square that is not part of the identity, the counters.
pub(crate) fn write_plain(
    board: &[u8],
    en_passant: Option<u8>,
    counters: Option<Counters>,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let start = out.len();
    write_fields(board, out)?;
    if let Some(file) = en_passant {
        let is_white = out[start..].windows(3).any(|bytes| bytes == b" w ");
        out.pop();
        out.extend_from_slice(&[b'a' + file, if is_white { b'6' } else { b'3' }]);
    }
    if let Some(Counters { halfmove_clock, fullmove_number }) = counters {
        for number in [halfmove_clock, fullmove_number] {
            out.push(b' ');
            push_number(number, out);
        }
    }
    Ok(())
}

/// What stands behind the placement, at most sixteen bytes of it: the three fields with their
/// blanks are eleven. Behind the end of the line there are zeros.
struct Tail(u128);

impl Tail {
    fn new(line: &[u8], at: usize) -> Option<Tail> {
        let rest = line.get(at..)?;
        let tail = match rest.first_chunk() {
            Some(bytes) => u128::from_le_bytes(*bytes),
            // A placement with a man in it has at least sixteen bytes itself.
            None => u128::from_le_bytes(*line.last_chunk()?) >> (8 * (16 - rest.len())),
        };
        Some(Tail(tail))
    }

    fn byte(&self, at: u32) -> u8 {
        (self.0 >> (at * 8)) as u8
    }
}

/// The rights of a castling field.
#[derive(Copy, Clone)]
struct Rights {
    /// The field, the first byte lowest.
    word: u32,
    /// `K`, `Q`, `k`, `q` from bit 0 on.
    set: u8,
}

/// The sixteen castling fields, each at its place by [`slot`].
static CASTLING: [Rights; 16] = {
    let mut table = [Rights { word: 0, set: 0 }; 16];
    let mut set = 0;
    while set < 16 {
        let mut word = 0;
        let mut right = 4;
        while right > 0 {
            right -= 1;
            if set >> right & 1 == 1 {
                word = word << 8 | b"KQkq"[right] as u32;
            }
        }
        let word = if set == 0 { b'-' as u32 } else { word };
        assert!(table[slot(word)].word == 0, "two fields in one slot");
        table[slot(word)] = Rights { word, set: set as u8 };
        set += 1;
    }
    table
};

/// Four bits that differ for all sixteen fields; the factor was found by trying.
const fn slot(word: u32) -> usize {
    (word.wrapping_mul(0x3079_4435) >> 28) as usize
}

/// Puts what the three fields say into codes and key.
fn read_behind(line: &[u8], mut men: Placement) -> Option<Identity> {
    let tail = Tail::new(line, men.len)?;
    let turn = match tail.byte(1) {
        b'w' => Color::White,
        b'b' => Color::Black,
        _ => return None,
    };
    let castling = (tail.0 >> 24) as u64;
    let blank = first_blank(castling);
    if blank > 32 {
        return None;
    }
    let word = (castling & ((1 << blank) - 1)) as u32;
    let rights = CASTLING[slot(word)];
    if tail.byte(0) != b' ' || tail.byte(2) != b' ' || rights.word != word {
        return None;
    }
    men.give_rights(Color::White, rights.set & 3)?;
    men.give_rights(Color::Black, rights.set >> 2)?;

    let at = 4 + blank / 8;
    let (en_passant, end) = match tail.byte(at) {
        b'-' => (None, at + 1),
        file @ b'a'..=b'h' if tail.byte(at + 1) == b'1' + en_passant_rank(turn) => {
            (Some(Square::at(file - b'a', en_passant_rank(turn))), at + 2)
        }
        _ => return None,
    };
    let len = men.len + end as usize;
    if tail.byte(end) != b' ' && line.len() != len {
        return None;
    }

    men.key ^= [NUMBERS.white_to_move, 0][turn as usize];
    if turn == Color::Black {
        let kings = men.each_equal(BLACK_KING);
        men.codes |= kings * u128::from(BLACK_KING ^ KING_TO_MOVE);
        if kings == 0 {
            return None;
        }
    }
    let board = PackedBoard::plain(men.occupied, men.codes.to_le_bytes());
    match en_passant.filter(|target| men.pawn_beside(*target, turn)) {
        None => Some(Identity { board, key: men.key, len }),
        Some(target) => {
            let (board, key) = with_en_passant(&board, target)?;
            Some(Identity { board, key, len })
        }
    }
}

/// The bits before the first blank in eight bytes, 64 when there is none.
const fn first_blank(bytes: u64) -> u32 {
    const ONES: u64 = u64::MAX / 255;
    let differ = bytes ^ (ONES * b' ' as u64);
    // The lowest byte that is zero is found exactly.
    let zero = differ.wrapping_sub(ONES) & !differ & ONES << 7;
    zero.trailing_zeros() & !7
}

/// Asks the rules whether a pawn that stands ready may capture.
#[cold]
fn with_en_passant(board: &PackedBoard, target: Square) -> Option<(PackedBoard, u64)> {
    let (position, _) = unpack(board.as_bytes()).ok()?;
    let identity = position.with_en_passant(Some(target)).ok()?.identity();
    Some((pack(&identity), position_key(&identity)))
}

impl Placement {
    /// The code of the man on a square.
    fn code_at(&self, square: Square) -> Option<u8> {
        let is_there = self.occupied & square.bit() != 0;
        is_there.then(|| (self.codes >> self.shift_of(square)) as u8 & 15)
    }

    /// How far the code of a man on a square is from the bottom, in bits.
    fn shift_of(&self, square: Square) -> u32 {
        (self.occupied & (square.bit() - 1)).count_ones() * 4
    }

    /// A 1 at the bottom of each nibble that is this code, which must not be 0.
    fn each_equal(&self, code: u8) -> u128 {
        const ONES: u128 = u128::MAX / 15;
        let differ = self.codes ^ (ONES * u128::from(code));
        let differ = differ | differ >> 2;
        !(differ | differ >> 1) & ONES
    }

    /// Rights of the one king on e: bit 0 with the rook on h, bit 1 with the rook on a. `None`
    /// when king and rook are not there.
    fn give_rights(&mut self, color: Color, rights: u8) -> Option<()> {
        if rights == 0 {
            return Some(());
        }
        let rook_code = code(Piece { color, role: Role::Rook });
        let king_code = code(Piece { color, role: Role::King });
        let first = Square::at(0, color.back_rank());
        // The men of the back rank are eight nibbles at most.
        let base = self.shift_of(first).min(124);
        let back_rank = (self.codes >> base) as u32;
        let files = (self.occupied >> first.index()) as u8;
        let stands = |file: u8, code: u8| {
            let shift = (files & ((1 << file) - 1)).count_ones() * 4;
            (files >> file & 1 == 1 && (back_rank >> shift) as u8 & 15 == code).then_some(shift)
        };
        stands(4, king_code)?;
        if self.each_equal(king_code).count_ones() != 1 {
            return None;
        }
        for (bit, side, file) in [(1, Side::King, 7), (2, Side::Queen, 0)] {
            if rights & bit != 0 {
                let marked = u128::from(rook_code ^ (CASTLING_ROOK + color as u8));
                self.codes ^= marked << (base + stands(file, rook_code)?);
                self.key ^= NUMBERS.castling[color as usize][side as usize];
            }
        }
        Some(())
    }

    /// Whether a pawn of the side to move stands where it could capture on the target.
    fn pawn_beside(&self, target: Square, turn: Color) -> bool {
        let pawn = code(Piece { color: turn, role: Role::Pawn });
        let rank = if turn == Color::White { 4 } else { 3 };
        let is_pawn = |file| self.code_at(Square::at(file, rank)) == Some(pawn);
        target.file() > 0 && is_pawn(target.file() - 1)
            || target.file() < 7 && is_pawn(target.file() + 1)
    }
}
