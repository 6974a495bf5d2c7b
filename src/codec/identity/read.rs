//! From the four fields of a line to its identity.

use crate::codec::key::{NUMBERS, position_key};
use crate::codec::packed::{self, BLACK_KING, CASTLING_ROOK, KING_TO_MOVE, PackedBoard};
use crate::model::{Color, Piece, Role, Side, Square};
use crate::text::fields::{
    InstructionSet, Pieces, UsualFields, piece_code, read_pieces, read_usual,
};
use crate::text::{Diagnostic, Profile, fen};

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
/// use epdb::codec::{identity, key, packed};
/// use epdb::model::Position;
/// let line = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
/// let identity = identity::read_fields(line).expect("a usual line");
/// assert_eq!(identity.board, packed::encode(&Position::START));
/// assert_eq!(identity.key, key::position_key(&Position::START));
/// assert_eq!(identity.len, 52);
/// ```
pub fn read_fields(line: &[u8]) -> Option<Identity> {
    read(InstructionSet::fastest(), line)
}

/// As [`read_fields`], with these instructions instead of the fastest: for tests and benchmarks.
#[doc(hidden)]
pub fn read_fields_with(instructions: InstructionSet, line: &[u8]) -> Option<Identity> {
    read(instructions, line)
}

#[inline(always)]
fn read(instructions: InstructionSet, line: &[u8]) -> Option<Identity> {
    let mut pieces = read_pieces(line, &NUMBERS.pieces, instructions)?;
    let fields = read_usual(line, pieces.len)?;
    identify(&mut pieces, &fields)
}

/// The packed identity board and the position key of any line that the lenient reader takes as a
/// record: the straight way where it leads, the text reader elsewhere. What stands behind the four
/// fields of a usual line is not looked at.
///
/// # Errors
/// What the text reader says.
///
/// ```
/// use epdb::codec::identity;
/// let usual = identity::of_line(b"4k2r/8/8/8/8/8/8/4K3 b k - bm O-O;")?;
/// let shredder = identity::of_line(b"4k2r/8/8/8/8/8/8/4K3 b h - 5 39")?;
/// assert_eq!(usual, shredder);
/// # Ok::<(), epdb::text::Diagnostic>(())
/// ```
pub fn of_line(line: &[u8]) -> Result<(PackedBoard, u64), Diagnostic> {
    if let Some(identity) = read_fields(line) {
        return Ok((identity.board, identity.key));
    }
    let record = fen::parse(line, Profile::Lenient)?;
    let identity = record.position().identity();
    Ok((packed::encode(&identity), position_key(&identity)))
}

/// Puts what the three fields behind the placement say into codes and key.
#[inline]
fn identify(pieces: &mut Pieces, fields: &UsualFields) -> Option<Identity> {
    let UsualFields { turn, castling, en_passant, end: len } = *fields;
    give_rights(pieces, Color::White, castling & 3)?;
    give_rights(pieces, Color::Black, castling >> 2)?;
    pieces.hash ^= [NUMBERS.white_to_move, 0][turn as usize];
    if turn == Color::Black {
        let kings = each_equal(pieces, BLACK_KING);
        pieces.codes |= kings * u128::from(BLACK_KING ^ KING_TO_MOVE);
        if kings == 0 {
            return None;
        }
    }
    let board = PackedBoard::plain(pieces.occupied, pieces.codes.to_le_bytes());
    match en_passant.filter(|target| pawn_beside(pieces, *target, turn)) {
        None => Some(Identity { board, key: pieces.hash, len }),
        Some(target) => {
            let (board, key) = with_en_passant(&board, target)?;
            Some(Identity { board, key, len })
        }
    }
}

/// Asks the rules whether a pawn that stands ready may capture.
#[cold]
fn with_en_passant(board: &PackedBoard, target: Square) -> Option<(PackedBoard, u64)> {
    let (position, _) = packed::decode(board.as_bytes()).ok()?;
    let identity = position.with_en_passant(Some(target)).ok()?.identity();
    Some((packed::encode(&identity), position_key(&identity)))
}

/// The code of the piece on a square.
fn code_at(pieces: &Pieces, square: Square) -> Option<u8> {
    let is_there = pieces.occupied & square.bit() != 0;
    is_there.then(|| (pieces.codes >> shift_of(pieces, square)) as u8 & 15)
}

/// How far the code of a piece on a square is from the bottom, in bits.
fn shift_of(pieces: &Pieces, square: Square) -> u32 {
    (pieces.occupied & (square.bit() - 1)).count_ones() * 4
}

/// A 1 at the bottom of each nibble that is this code, which must not be 0.
fn each_equal(pieces: &Pieces, code: u8) -> u128 {
    const ONES: u128 = u128::MAX / 15;
    let differ = pieces.codes ^ (ONES * u128::from(code));
    let differ = differ | differ >> 2;
    !(differ | differ >> 1) & ONES
}

/// Rights of the one king on e: bit 0 with the rook on h, bit 1 with the rook on a. `None`
/// when king and rook are not there.
///
/// Inlined, so that the pieces stay in registers: copied from where they were just written in
/// halves, they would be waited for.
#[inline(always)]
fn give_rights(pieces: &mut Pieces, color: Color, rights: u8) -> Option<()> {
    if rights == 0 {
        return Some(());
    }
    let rook_code = piece_code(Piece { color, role: Role::Rook });
    let king_code = piece_code(Piece { color, role: Role::King });
    let first = Square::at(0, color.back_rank());
    // The pieces of the back rank are eight nibbles at most.
    let base = shift_of(pieces, first).min(124);
    let back_rank = (pieces.codes >> base) as u32;
    let files = (pieces.occupied >> first.index()) as u8;
    let stands = |file: u8, code: u8| {
        let shift = (files & ((1 << file) - 1)).count_ones() * 4;
        (files >> file & 1 == 1 && (back_rank >> shift) as u8 & 15 == code).then_some(shift)
    };
    stands(4, king_code)?;
    if each_equal(pieces, king_code).count_ones() != 1 {
        return None;
    }
    for (bit, side, file) in [(1, Side::King, 7), (2, Side::Queen, 0)] {
        if rights & bit != 0 {
            let marked = u128::from(rook_code ^ (CASTLING_ROOK + color as u8));
            pieces.codes ^= marked << (base + stands(file, rook_code)?);
            pieces.hash ^= NUMBERS.castling[color as usize][side as usize];
        }
    }
    Some(())
}

/// Whether a pawn of the side to move stands where it could capture on the target.
fn pawn_beside(pieces: &Pieces, target: Square, turn: Color) -> bool {
    let pawn = piece_code(Piece { color: turn, role: Role::Pawn });
    let rank = if turn == Color::White { 4 } else { 3 };
    let is_pawn = |file| code_at(pieces, Square::at(file, rank)) == Some(pawn);
    target.file() > 0 && is_pawn(target.file() - 1)
        || target.file() < 7 && is_pawn(target.file() + 1)
}
