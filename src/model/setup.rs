//! The parts of a position that tests of many positions look at.

use super::{Bitboard, Board, Color, Position, Side};

/// The pieces, the side to move and the castling rights: all of a position except its en passant
/// square. Unlike a [`Position`], it may have rights that no position has.
///
/// ```
/// use epdb::model::{Color, Position, Setup, Side};
/// let setup = Setup::from(&Position::START);
/// assert!(setup.may_castle(Color::Black, Side::Queen));
/// assert_eq!(setup.with_colors_swapped().turn, Color::Black);
/// assert_eq!(setup.with_files_mirrored().with_files_mirrored(), setup);
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
    /// The same position from the other side: the ranks are mirrored and the colours swapped.
    #[must_use]
    pub const fn with_colors_swapped(&self) -> Setup {
        let turn = match self.turn {
            Color::White => Color::Black,
            Color::Black => Color::White,
        };
        let castling_rooks = Bitboard(self.castling_rooks.0.swap_bytes());
        Setup { board: self.board.with_colors_swapped(), turn, castling_rooks }
    }

    /// The mirror image in which file a becomes file h. A castling right changes its side.
    #[must_use]
    pub const fn with_files_mirrored(&self) -> Setup {
        let castling_rooks = Bitboard(self.castling_rooks.0.reverse_bits().swap_bytes());
        Setup { board: self.board.with_files_mirrored(), turn: self.turn, castling_rooks }
    }

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
