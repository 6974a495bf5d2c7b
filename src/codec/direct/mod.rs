//! The straight way between the four fields of a line and the packed identity board with its key,
//! without a [`Position`](crate::model::Position) in between: the hot path of lookups.
//!
//! It knows what nearly all lines look like: at most 32 men, `KQkq` with kings on e and rooks on
//! a and h, one blank between fields. For anything else it says so, and the text reader, which
//! also makes the diagnostics, has the word.

mod placement;
mod write;

use super::error::DecodeError;
use super::key::{NUMBERS, position_key};
use super::packed::{
    BLACK_KING, CASTLING_ROOK, KING_TO_MOVE, PackedBoard, WHITE_KING, code, pack, unpack,
};
use crate::model::{Color, Piece, Role, Side, Square, en_passant_rank};
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
    let placement = Placement::read(line)?;
    Fields { line, at: placement.len, men: placement }.read()
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

/// Goes over the fields behind the placement and changes the codes and the key by what they say.
struct Fields<'a> {
    line: &'a [u8],
    at: usize,
    men: Placement,
}

impl Fields<'_> {
    fn read(mut self) -> Option<Identity> {
        let turn = self.turn()?;
        self.castling()?;
        let en_passant = self.en_passant(turn)?;
        if !matches!(self.line.get(self.at), None | Some(b' ')) {
            return None;
        }
        if turn == Color::Black {
            self.mark_kings()?;
        }
        let board = PackedBoard::plain(self.men.occupied, self.men.codes.to_le_bytes());
        match en_passant.filter(|target| self.men.pawn_beside(*target, turn)) {
            None => Some(Identity { board, key: self.men.key, len: self.at }),
            Some(target) => self.with_en_passant(&board, target),
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.line.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn blank(&mut self) -> Option<()> {
        (self.next()? == b' ').then_some(())
    }

    fn turn(&mut self) -> Option<Color> {
        self.blank()?;
        let turn = match self.next()? {
            b'w' => Color::White,
            b'b' => Color::Black,
            _ => return None,
        };
        if turn == Color::White {
            self.men.key ^= NUMBERS.white_to_move;
        }
        self.blank()?;
        Some(turn)
    }

    /// Castling letters in FEN order, the space behind them included.
    fn castling(&mut self) -> Option<()> {
        let start = self.at;
        for (letter, color, side) in [
            (b'K', Color::White, Side::King),
            (b'Q', Color::White, Side::Queen),
            (b'k', Color::Black, Side::King),
            (b'q', Color::Black, Side::Queen),
        ] {
            if self.line.get(self.at) == Some(&letter) {
                self.at += 1;
                self.men.give_right(color, side)?;
            }
        }
        if self.at == start && self.next()? != b'-' {
            return None;
        }
        self.blank()
    }

    fn en_passant(&mut self, turn: Color) -> Option<Option<Square>> {
        let file = match self.next()? {
            b'-' => return Some(None),
            file @ b'a'..=b'h' => file - b'a',
            _ => return None,
        };
        let rank = en_passant_rank(turn);
        (self.next()? == b'1' + rank).then(|| Some(Square::at(file, rank)))
    }

    /// Black to move: each black king says so.
    fn mark_kings(&mut self) -> Option<()> {
        let kings = self.men.each_equal(BLACK_KING);
        self.men.codes |= kings * u128::from(BLACK_KING ^ KING_TO_MOVE);
        (kings != 0).then_some(())
    }

    /// Asks the rules whether a pawn that stands ready may capture.
    #[cold]
    fn with_en_passant(&self, board: &PackedBoard, target: Square) -> Option<Identity> {
        let (position, _) = unpack(board.as_bytes()).ok()?;
        let identity = position.with_en_passant(Some(target)).ok()?.identity();
        Some(Identity { board: pack(&identity), key: position_key(&identity), len: self.at })
    }
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

    /// A right of the one king on e with the rook on a or h; `None` when they are not there.
    fn give_right(&mut self, color: Color, side: Side) -> Option<()> {
        let rank = color.back_rank();
        let king_code = if color == Color::White { WHITE_KING } else { BLACK_KING };
        let rook_code = code(Piece { color, role: Role::Rook });
        let rook = Square::at(if side == Side::King { 7 } else { 0 }, rank);
        let fits = self.code_at(Square::at(4, rank)) == Some(king_code)
            && self.code_at(rook) == Some(rook_code)
            && self.each_equal(king_code).count_ones() == 1;
        if !fits {
            return None;
        }
        let marked = CASTLING_ROOK + color as u8;
        self.codes ^= u128::from(rook_code ^ marked) << self.shift_of(rook);
        self.key ^= NUMBERS.castling[color as usize][side as usize];
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
