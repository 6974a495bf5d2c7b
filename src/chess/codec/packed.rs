//! Packed boards: the four fields of a position in 9 to 24 bytes, or in 41 bytes for unusual boards
//! (the escape form). The format is `formats/chess.md`.
//!
//! An *identity board* is the packed board of [`Position::identity`]: it has an en passant square
//! only if a capture there is legal.

use std::fmt;

use byteorder::{ByteOrder, LittleEndian};
use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use super::error::{DecodeError, DecodeErrorKind};
use crate::model::{
    Bitboard, Board, Castling, Color, Piece, Position, Role, Setup, Side, Square, en_passant_rank,
};
use crate::simd::{InstructionSet, Kernel};
use crate::text::fields::{CodeBits, gather_codes, piece_code, scatter_codes};

/// Length of the longest packed boards, those in the escape form, in bytes.
pub const MAX_LEN: usize = OCCUPANCY + ESCAPE_CODES + 1;

/// Size in bytes of the set of occupied squares.
pub const OCCUPANCY: usize = 8;
/// Size in bytes of the codes of all 64 squares in the escape form.
const ESCAPE_CODES: usize = 32;
/// Maximum number of pieces in the plain form.
const PLAIN_PIECES: u32 = 32;
/// Maximum length of the plain form in bytes.
pub const PLAIN_MAX: usize = OCCUPANCY + PLAIN_PIECES as usize / 2;

/// Code in the plain form: a pawn that just made a double step over the en passant square.
pub const DOUBLE_STEP: u8 = 12;
/// Code of a white rook with a castling right. A black rook with a right has the next code.
pub(crate) const CASTLING_ROOK: u8 = 13;
/// Code in the plain form: each black king if Black is to move.
pub(crate) const KING_TO_MOVE: u8 = 15;
/// Code of a black king, except in the plain form if Black is to move ([`KING_TO_MOVE`]).
pub(crate) const BLACK_KING: u8 = 10;
/// Code of a white king.
pub const WHITE_KING: u8 = 11;
/// Code of a black rook without a castling right.
pub(crate) const BLACK_ROOK: u8 = piece_code(Piece { color: Color::Black, role: Role::Rook });
/// Code of a white rook without a castling right.
pub(crate) const WHITE_ROOK: u8 = piece_code(Piece { color: Color::White, role: Role::Rook });
/// Code in the escape form: a square without a piece.
const EMPTY: u8 = 12;

/// One packed board, as a value of fixed capacity. Two packed boards are equal exactly if the four
/// fields are equal.
///
/// ```
/// use epdb_chess::{codec::packed, model::Position};
/// let board = packed::encode(&Position::START);
/// assert_eq!(board.as_bytes().len(), 24);
/// assert_eq!(packed::decode(board.as_bytes())?, (Position::START, 24));
/// # Ok::<(), epdb_chess::codec::error::DecodeError>(())
/// ```
// Made and copied in whole words, because the processor stalls if a copied part overlaps bytes that
// were just written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, FromBytes)]
#[repr(C, align(8))]
pub struct PackedBoard {
    /// The bytes of the board, zeros after them, and the length in the last byte.
    bytes: [u8; ROOM],
}

/// Size in bytes of a [`PackedBoard`]: six words of eight bytes.
const ROOM: usize = 48;
const LEN: usize = ROOM - 1;
const _: () = assert!(MAX_LEN <= LEN);

impl PackedBoard {
    /// The bytes of the packed board.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    #[inline]
    fn len(&self) -> usize {
        usize::from(self.bytes[LEN]).min(MAX_LEN)
    }

    /// The bytes of the plain form with zeros after them; `None` for the escape form.
    #[inline]
    pub fn as_plain(&self) -> Option<&[u8; PLAIN_MAX]> {
        if self.len() <= PLAIN_MAX { self.bytes.first_chunk() } else { None }
    }

    /// Makes the plain form of a board with `count` pieces. `codes` has four bits for each piece,
    /// the first in the lowest bits, and zeros after the last piece.
    #[inline(always)]
    pub fn plain(occupied: u64, count: u32, codes: u128) -> PackedBoard {
        let len = (plain_len(count) as u64) << (8 * (LEN % 8));
        let words = [occupied, codes as u64, (codes >> 64) as u64, 0, 0, len];
        PackedBoard { bytes: zerocopy::transmute!(words.map(U64::new)) }
    }
}

impl AsRef<[u8]> for PackedBoard {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for PackedBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackedBoard(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// Packs the four fields of any position. The en passant square is packed even if no capture is
/// legal. For hashing and comparison, encode [`Position::identity`] instead.
#[inline(always)]
pub fn encode(position: &Position) -> PackedBoard {
    pack_plain(position).unwrap_or_else(|| pack_escape(position))
}

#[inline(always)]
fn pack_plain(position: &Position) -> Option<PackedBoard> {
    let (occupied, codes) = plain_parts(position, &code_bits(position.board()))?;
    Some(PackedBoard::plain(occupied, occupied.count_ones(), codes))
}

/// Returns the occupied squares and the codes of the plain form; `None` if the position has no
/// plain form. `codes` are the `code_bits` of the board.
#[inline(always)]
pub fn plain_parts(position: &Position, codes: &CodeBits) -> Option<(u64, u128)> {
    let board = position.board();
    let occupied = board.occupied().bits();
    if occupied == 0 || occupied.count_ones() > PLAIN_PIECES {
        return None;
    }
    let mut codes = with_rights(position, codes.clone());
    if position.turn() == Color::Black {
        let kings = board.pieces(Color::Black, Role::King).bits();
        if kings == 0 {
            return None;
        }
        codes.put(kings, KING_TO_MOVE);
    }
    if let Some(target) = position.en_passant() {
        let pawn = double_stepped(target);
        if !board.pieces(!position.turn(), Role::Pawn).contains(pawn) {
            return None;
        }
        codes.put(pawn.bit(), DOUBLE_STEP);
    }
    Some((occupied, gather_codes(&codes, InstructionSet::fastest())))
}

#[cold]
fn pack_escape(position: &Position) -> PackedBoard {
    let mut bytes = [0; ROOM];
    let codes = with_rights(position, code_bits(position.board()));
    for (byte, square) in bytes[OCCUPANCY..][..ESCAPE_CODES].iter_mut().zip((0..).step_by(2)) {
        *byte = codes.code(square) | codes.code(square + 1) << 4;
    }
    let en_passant = position.en_passant().map_or(0, |target| target.file() + 1);
    bytes[MAX_LEN - 1] = en_passant << 1 | position.turn() as u8;
    bytes[LEN] = MAX_LEN as u8;
    PackedBoard { bytes }
}

/// Sets the codes of rooks with a castling right. These codes are the same in the plain form and in
/// the escape form.
#[inline(always)]
fn with_rights(position: &Position, mut codes: CodeBits) -> CodeBits {
    if !position.castling().is_empty() {
        for color in Color::ALL {
            let files = Side::ALL.map(|side| position.castling().rook(color, side));
            let rooks = files.map(|file| file.map_or(0, |file| 1 << (file & 7)));
            let on_rank = (rooks[0] | rooks[1]) << (8 * color.back_rank());
            codes.put(on_rank, CASTLING_ROOK + color as u8);
        }
    }
    codes
}

/// Returns the code of the piece on each square, and [`EMPTY`] for an empty square.
///
/// The six sets of roles and two sets of colours are combined to one set for each bit of the codes.
/// A loop over the twelve sets of pieces would have twelve inner loops, and the processor could not
/// predict where they end.
#[inline(always)]
pub(super) fn code_bits(board: &Board) -> CodeBits {
    let of = |role| board.role(role).bits();
    let occupied = board.occupied().bits();
    let kings = of(Role::King);
    let rooks = of(Role::Rook);
    let bits = [
        board.color(Color::White).bits(),
        of(Role::Knight) | rooks | kings,
        of(Role::Bishop) | rooks | !occupied,
        of(Role::Queen) | kings | !occupied,
    ];
    CodeBits { occupied, bits }
}

/// Returns the square of the pawn that stepped over an en passant square.
fn double_stepped(target: Square) -> Square {
    Square::at(target.file(), if target.rank() == 2 { 3 } else { 4 })
}

/// Returns the length of the packed board at the start of the bytes. The content of the board is
/// not checked.
///
/// # Errors
/// [`DecodeErrorKind::Truncated`] if the bytes end before the board does.
pub fn len_of(bytes: &[u8]) -> Result<usize, DecodeError> {
    let occupied = bytes.get(..OCCUPANCY).map(LittleEndian::read_u64).ok_or(truncated(bytes))?;
    let len = match occupied {
        0 => MAX_LEN,
        _ => plain_len(occupied.count_ones()),
    };
    if bytes.len() < len { Err(truncated(bytes)) } else { Ok(len) }
}

/// Length of the plain form of a board with this number of pieces.
pub const fn plain_len(count: u32) -> usize {
    OCCUPANCY + (count as usize).div_ceil(2)
}

const fn truncated(bytes: &[u8]) -> DecodeError {
    DecodeError::new(bytes.len(), DecodeErrorKind::Truncated("a packed board"))
}

/// Reads the packed board at the start of the bytes. Returns the position and the length of the
/// board; bytes after it are ignored. Success does not prove that the position is legal, nor that
/// its en passant square belongs to an identity board.
///
/// # Errors
/// [`DecodeError`] for all bytes that [`encode`] does not write.
pub fn decode(bytes: &[u8]) -> Result<(Position, usize), DecodeError> {
    let len = len_of(bytes)?;
    let occupied = LittleEndian::read_u64(bytes);
    let position = match occupied {
        0 => unpack_escape(&bytes[..len])?,
        _ => unpack_plain(occupied, &bytes[..len])?,
    };
    Ok((position, len))
}

/// Reads pieces, side to move and castling rights of the packed board at the start of the bytes.
/// This is several times faster than [`decode`], because the castling rights are not checked.
///
/// # Errors
/// [`DecodeError`] for most bytes that [`encode`] does not write.
#[inline]
pub fn setup_of(bytes: &[u8]) -> Result<Setup, DecodeError> {
    match InstructionSet::fastest().run(PlainSetup(bytes)) {
        Some(setup) => Ok(setup),
        None => decode(bytes).map(|(position, _)| Setup::from(&position)),
    }
}

/// Reads the setup of the plain form.
struct PlainSetup<'b>(&'b [u8]);

impl Kernel for PlainSetup<'_> {
    /// `None` for the escape form, and for bytes that are not valid.
    type Output = Option<Setup>;

    #[inline(always)]
    fn run(self) -> Option<Setup> {
        let (occupied, codes) = self.0.split_first_chunk()?;
        let occupied = u64::from_le_bytes(*occupied);
        let count = occupied.count_ones();
        if !(1..=PLAIN_PIECES).contains(&count) || self.0.len() < plain_len(count) {
            return None;
        }
        let codes = PlainCodes::new(occupied, codes);
        if codes.first_wrong().is_some() { None } else { Some(codes.setup()) }
    }
}

fn unpack_plain(occupied: u64, bytes: &[u8]) -> Result<Position, DecodeError> {
    let count = occupied.count_ones();
    if count > PLAIN_PIECES {
        let limit = PLAIN_PIECES.into();
        let kind = DecodeErrorKind::LimitExceeded { what: "pieces", found: count.into(), limit };
        return Err(DecodeError::new(0, kind));
    }
    let nibble = |nth: usize| bytes[OCCUPANCY + nth / 2] >> (nth % 2 * 4) & 15;
    if count % 2 == 1 && nibble(count as usize) != 0 {
        return Err(non_canonical(bytes.len() - 1, "the nibble behind the last piece is 0"));
    }
    let codes = PlainCodes::new(occupied, &bytes[OCCUPANCY..]);
    if let Some(wrong) = codes.first_wrong() {
        let before = occupied & (wrong.bit() - 1);
        let offset = OCCUPANCY + before.count_ones() as usize / 2;
        let is_pawn = codes.double_steps & wrong.bit() != 0;
        let what = if is_pawn {
            "pawn that just made a double step"
        } else {
            "code of a king of the side to move"
        };
        return Err(corrupt(offset, what));
    }
    let target = |pawn: Square| Square::at(pawn.file(), en_passant_rank(codes.turn));
    let en_passant = Square::lowest(codes.double_steps).map(target);
    position(codes.board(), codes.turn, codes.castling_rooks, en_passant)
}

/// The codes of a plain form as sets of squares. They may contradict each other; see `first_wrong`.
#[derive(Debug)]
pub struct PlainCodes {
    /// The side to move.
    pub turn: Color,
    /// Pawns that just made a double step.
    pub double_steps: u64,
    /// White's rooks with a castling right, and Black's.
    pub(crate) castling_rooks: [u64; 2],
    /// Black's kings with the code for White to move.
    waiting_kings: u64,
    roles: [u64; 6],
    white: u64,
}

impl PlainCodes {
    /// Splits codes that are in the order of squares. Each byte has two codes. Codes beyond the
    /// maximum number of pieces are ignored.
    #[inline(always)]
    pub fn new(occupied: u64, codes: &[u8]) -> PlainCodes {
        let mut padded = [0; PLAIN_PIECES as usize / 2];
        padded.iter_mut().zip(codes).for_each(|(byte, pair)| *byte = *pair);
        let codes = u128::from_le_bytes(padded);
        let CodeBits { bits: [a, b, c, d], .. } =
            scatter_codes(occupied, codes, InstructionSet::fastest());
        // Codes from 12 also mark a pawn after a double step, a rook with a castling right, or a
        // black king if Black is to move.
        let special = d & c;
        let double_steps = special & !b & !a;
        let king_to_move = special & b & a;
        let turn = if king_to_move != 0 { Color::Black } else { Color::White };
        let white_steps = if turn == Color::Black { double_steps } else { 0 };
        let [low, high] = [occupied & !d, d & !c];
        PlainCodes {
            turn,
            double_steps,
            castling_rooks: [special & a & !b, special & !a & b],
            waiting_kings: high & b & !a,
            roles: [
                low & !c & !b | double_steps,
                low & !c & b,
                low & c & !b,
                low & c & b | special & (a ^ b),
                high & !b,
                high & b | king_to_move,
            ],
            white: a & !king_to_move | white_steps,
        }
    }

    /// Returns the piece placement.
    #[inline(always)]
    pub fn board(&self) -> Board {
        Board::from_roles(self.roles, self.white)
    }

    /// Returns the pieces, the side to move and the rooks with a castling right.
    #[inline(always)]
    pub fn setup(&self) -> Setup {
        let [white, black] = self.castling_rooks;
        Setup { board: self.board(), turn: self.turn, castling_rooks: Bitboard(white | black) }
    }

    /// Returns the first square whose code contradicts the others: a pawn after a double step on
    /// another rank, a second such pawn, or a black king that waits if Black is to move.
    #[inline(always)]
    fn first_wrong(&self) -> Option<Square> {
        let steps = self.double_steps;
        let double_step_rank = double_stepped(Square::at(0, en_passant_rank(self.turn))).rank();
        let on_other_rank = steps & !(0xff << (8 * double_step_rank));
        let all_but_first = steps & steps.wrapping_sub(1);
        let kings = if self.turn == Color::Black { self.waiting_kings } else { 0 };
        Square::lowest(on_other_rank | all_but_first | kings)
    }
}

fn unpack_escape(bytes: &[u8]) -> Result<Position, DecodeError> {
    let last = MAX_LEN - 1;
    let mut sets = [0; 12];
    let mut castling_rooks = [0; 2];
    for nth in 0..64u8 {
        let offset = OCCUPANCY + usize::from(nth / 2);
        let square = Square::at(nth % 8, nth / 8);
        let code = match bytes[offset] >> (nth % 2 * 4) & 15 {
            EMPTY => continue,
            KING_TO_MOVE => return Err(corrupt(offset, "code of the escape form")),
            code @ CASTLING_ROOK.. => {
                let color = usize::from(code - CASTLING_ROOK);
                castling_rooks[color] |= square.bit();
                [WHITE_ROOK, BLACK_ROOK][color]
            }
            code => code,
        };
        // White's codes are odd.
        sets[usize::from(code / 2 + 6 * (1 - code % 2))] |= square.bit();
    }
    let turn = if bytes[last] & 1 == 0 { Color::White } else { Color::Black };
    let en_passant = match bytes[last] >> 1 {
        0 => None,
        file @ 1..=8 => Some(Square::at(file - 1, en_passant_rank(turn))),
        _ => return Err(corrupt(last, "en passant file")),
    };
    let position = position(Board::from_sets(&sets), turn, castling_rooks, en_passant)?;
    if pack_plain(&position).is_some() {
        return Err(non_canonical(0, "the plain form says this board"));
    }
    Ok(position)
}

/// Makes the position of a board on which these rooks (White's, then Black's) have castling rights.
fn position(
    board: Board,
    turn: Color,
    castling_rooks: [u64; 2],
    en_passant: Option<Square>,
) -> Result<Position, DecodeError> {
    let no_right = corrupt(OCCUPANCY, "rook that may castle");
    let mut castling = Castling::NONE;
    for color in Color::ALL {
        for rook in Square::each(castling_rooks[color as usize]) {
            let king = board.king(color).ok_or_else(|| no_right.clone())?;
            let side = if rook.file() > king.file() { Side::King } else { Side::Queen };
            if rook.rank() != color.back_rank() || castling.rook(color, side).is_some() {
                return Err(no_right);
            }
            castling.set(color, side, Some(rook.file()));
        }
    }
    Position::new(board, turn, castling, en_passant).map_err(|_| no_right)
}

const fn corrupt(offset: usize, what: &'static str) -> DecodeError {
    DecodeError::new(offset, DecodeErrorKind::Corrupt(what))
}

const fn non_canonical(offset: usize, what: &'static str) -> DecodeError {
    DecodeError::new(offset, DecodeErrorKind::NonCanonical(what))
}
