//! A board with the side to move, castling rights and the en passant target square.

use std::fmt;

use super::board::Board;
use super::square::{Bitboard, Color, Piece, Role, Square};

/// The two sides of a king to which it may castle.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// The h-side, `O-O`, the letter `K`.
    King,
    /// The a-side, `O-O-O`, the letter `Q`.
    Queen,
}

impl Side {
    /// King side, then queen side: the order of FEN.
    pub const ALL: [Side; 2] = [Side::King, Side::Queen];

    /// Squares of king and rook after castling to this side, from any start squares:
    /// files g and f, or c and d.
    pub const fn targets(self, color: Color) -> (Square, Square) {
        let rank = color.back_rank();
        match self {
            Side::King => (Square::at(6, rank), Square::at(5, rank)),
            Side::Queen => (Square::at(2, rank), Square::at(3, rank)),
        }
    }
}

/// For each colour and side: the file of the rook that may castle, if there is one.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Castling {
    /// For each colour and side: the file of the rook, or [`Castling::NO_ROOK`]. Every move reads
    /// all four bytes, so they are read as one word.
    rooks: [u8; 4],
}

impl Castling {
    /// No castling right.
    pub const NONE: Castling = Castling { rooks: [Castling::NO_ROOK; 4] };

    const NO_ROOK: u8 = u8::MAX;
    /// The value that is kept for all numbers above 7, which are not files.
    const NO_FILE: u8 = 8;

    /// The file, 0 to 7, of the rook with which a colour may castle to a side.
    pub const fn rook(&self, color: Color, side: Side) -> Option<u8> {
        match self.rooks[2 * color as usize + side as usize] {
            Castling::NO_ROOK => None,
            file => Some(file),
        }
    }

    /// Sets the file of the rook of a castling right; `None` removes the castling right.
    pub const fn set(&mut self, color: Color, side: Side, rook_file: Option<u8>) {
        self.rooks[2 * color as usize + side as usize] = match rook_file {
            None => Castling::NO_ROOK,
            Some(file @ 0..8) => file,
            Some(_) => Castling::NO_FILE,
        };
    }

    /// Whether neither side may castle.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        u32::from_le_bytes(self.rooks) == u32::MAX
    }

    /// The rights in FEN order: White first, king side first.
    pub fn iter(&self) -> impl Iterator<Item = (Color, Side, u8)> + '_ {
        Color::ALL.into_iter().flat_map(move |color| {
            Side::ALL
                .into_iter()
                .filter_map(move |side| Some((color, side, self.rook(color, side)?)))
        })
    }

    /// The squares of all rooks that may castle.
    pub fn rook_set(&self) -> Bitboard {
        let on_board = self.iter().filter(|(.., file)| *file < 8);
        on_board.map(|(color, _, file)| Square::at(file, color.back_rank())).collect()
    }
}

impl Default for Castling {
    fn default() -> Castling {
        Castling::NONE
    }
}

impl fmt::Debug for Castling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Reason why a [`Position`] cannot be made.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PositionError {
    /// A castling right without its king or its rook (E-POS-CASTLE).
    #[error("a castling right has no king and rook on its back rank")]
    Castling {
        /// The side that has the right.
        color: Color,
        /// The side of the king where the rook is.
        side: Side,
    },
    /// An en passant square whose rank does not fit the side to move (E-FEN-EP).
    #[error("the en passant square does not fit the side to move")]
    EnPassant,
}

/// A position as in the first four fields of FEN. It need not be legal, but every value can be
/// written and stored:
///
/// - a colour with a castling right has exactly one king, on its back rank; its rook is on the
///   named file of this rank, on the named side of the king;
/// - the en passant square is on rank 6 when White is to move, on rank 3 when Black is.
///
/// Two values are equal if the four fields are equal. Stores and archives compare positions by
/// [`Position::identity`] instead.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    board: Board,
    turn: Color,
    castling: Castling,
    en_passant: Option<Square>,
}

impl Position {
    /// The start array, White to move, all rights.
    pub const START: Position = start_array();

    /// Puts the four fields together.
    ///
    /// # Errors
    /// [`PositionError`] when a castling right or the en passant square breaks the rules of
    /// [`Position`].
    pub fn new(
        board: Board,
        turn: Color,
        castling: Castling,
        en_passant: Option<Square>,
    ) -> Result<Position, PositionError> {
        for (color, side, file) in castling.iter() {
            if !may_hold_right(&board, color, side, file) {
                return Err(PositionError::Castling { color, side });
            }
        }
        if en_passant.is_some_and(|square| square.rank() != en_passant_rank(turn)) {
            return Err(PositionError::EnPassant);
        }
        Ok(Position { board, turn, castling, en_passant })
    }

    /// Mutable access to placement, side to move, castling rights and en passant square. The caller
    /// must keep the rules of [`Position`].
    pub(super) const fn parts_mut(
        &mut self,
    ) -> (&mut Board, &mut Color, &mut Castling, &mut Option<Square>) {
        (&mut self.board, &mut self.turn, &mut self.castling, &mut self.en_passant)
    }

    /// The placement.
    pub const fn board(&self) -> &Board {
        &self.board
    }

    /// The side to move.
    pub const fn turn(&self) -> Color {
        self.turn
    }

    /// The castling rights.
    pub const fn castling(&self) -> &Castling {
        &self.castling
    }

    /// The en passant target square as it was given.
    pub const fn en_passant(&self) -> Option<Square> {
        self.en_passant
    }

    /// The same position with another en passant square, `None` for `-`.
    ///
    /// # Errors
    /// [`PositionError::EnPassant`] when the rank does not fit the side to move.
    pub fn with_en_passant(self, en_passant: Option<Square>) -> Result<Position, PositionError> {
        Position::new(self.board, self.turn, self.castling, en_passant)
    }

    /// The same position with `-` in place of an en passant square.
    pub(super) const fn without_en_passant(self) -> Position {
        Position { en_passant: None, ..self }
    }

    /// Whether a king with a castling right is not on the e file, or a rook with a castling right
    /// is not on the a or h file. Only such positions need Chess960 notation for castling moves.
    pub fn is_chess960(&self) -> bool {
        self.castling.iter().any(|(color, side, file)| {
            let home = if side == Side::King { 7 } else { 0 };
            file != home || self.board.king(color).is_none_or(|king| king.file() != 4)
        })
    }
}

/// The rank, 0 to 7, of an en passant square when this side is to move.
pub const fn en_passant_rank(turn: Color) -> u8 {
    match turn {
        Color::White => 5,
        Color::Black => 2,
    }
}

/// Whether a colour could have a castling right with the rook on this file.
#[inline]
pub fn may_hold_right(board: &Board, color: Color, side: Side, rook_file: u8) -> bool {
    if rook_file > 7 {
        return false;
    }
    let rank = color.back_rank();
    let rook = Square::at(rook_file, rank).bit();
    board.king(color).is_some_and(|king| {
        king.rank() == rank
            && !matches!(king.file(), 0 | 7)
            && board.pieces(color, Role::Rook).bits() & rook != 0
            && (rook_file > king.file()) == (side == Side::King)
    })
}

/// Whether the rook on this file is the outermost rook of its colour on that side of the back rank.
/// Its right is then `K` or `Q` in X-FEN.
pub(crate) fn is_outermost(board: &Board, color: Color, side: Side, rook_file: u8) -> bool {
    let beyond = match side {
        Side::King => 0xff_u64 << (rook_file & 7) << 1 & 0xff,
        Side::Queen => (1 << (rook_file & 7)) - 1,
    };
    board.pieces(color, Role::Rook).bits() & (beyond << (color.back_rank() * 8)) == 0
}

const fn start_array() -> Position {
    const BACK: [Role; 8] = [
        Role::Rook,
        Role::Knight,
        Role::Bishop,
        Role::Queen,
        Role::King,
        Role::Bishop,
        Role::Knight,
        Role::Rook,
    ];
    const fn piece(color: Color, role: Role) -> Option<Piece> {
        Some(Piece { color, role })
    }
    let mut board = Board::EMPTY;
    let mut file = 0;
    while file < 8 {
        board.put(Square::at(file, 0), piece(Color::White, BACK[file as usize]));
        board.put(Square::at(file, 1), piece(Color::White, Role::Pawn));
        board.put(Square::at(file, 6), piece(Color::Black, Role::Pawn));
        board.put(Square::at(file, 7), piece(Color::Black, BACK[file as usize]));
        file += 1;
    }
    let castling = Castling { rooks: [7, 0, 7, 0] };
    Position { board, turn: Color::White, castling, en_passant: None }
}

/// The pieces, the side to move and the castling rights: all of a position except its en passant
/// square. Unlike a [`Position`], it may have rights that no position has.
///
/// ```
/// use epdb_chess::model::{Color, Position, Setup, Side};
/// let setup = Setup::from(&Position::START);
/// assert!(setup.may_castle(Color::Black, Side::Queen));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The placement of pieces.
    pub board: Board,
    /// The side to move.
    pub turn: Color,
    /// The rooks of both sides that may castle.
    pub castling_rooks: Bitboard,
}

impl Setup {
    /// True if a side has the castling right with the rook on this side of its king.
    pub fn may_castle(&self, color: Color, side: Side) -> bool {
        let Some(king) = self.board.king(color) else { return false };
        let rooks = (self.castling_rooks & self.board.color(color)).bits();
        let below = king.bit() - 1;
        match side {
            Side::King => rooks & !below != 0,
            Side::Queen => rooks & below != 0,
        }
    }
}

impl From<&Position> for Setup {
    fn from(position: &Position) -> Setup {
        let castling_rooks = position.castling().rook_set();
        Setup { board: *position.board(), turn: position.turn(), castling_rooks }
    }
}
