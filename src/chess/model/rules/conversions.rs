//! Conversions from and to the types of shakmaty.

use shakmaty::{
    Bitboard, ByColor, ByRole, CastlingMode, CastlingSide, Chess, EnPassantMode, Setup,
};

use super::playable::Move;
use crate::model::board::Board;
use crate::model::position::{Castling, Position, PositionError, Side};
use crate::model::square::{Color, Piece, Role, Square};

impl From<Square> for shakmaty::Square {
    #[inline]
    fn from(square: Square) -> shakmaty::Square {
        shakmaty::Square::new(square.index() as u32)
    }
}

impl From<shakmaty::Square> for Square {
    fn from(square: shakmaty::Square) -> Square {
        Square::at(square.file() as u8, square.rank() as u8)
    }
}

impl From<Color> for shakmaty::Color {
    #[inline]
    fn from(color: Color) -> shakmaty::Color {
        match color {
            Color::White => shakmaty::Color::White,
            Color::Black => shakmaty::Color::Black,
        }
    }
}

impl From<shakmaty::Color> for Color {
    fn from(color: shakmaty::Color) -> Color {
        match color {
            shakmaty::Color::White => Color::White,
            shakmaty::Color::Black => Color::Black,
        }
    }
}

impl From<Role> for shakmaty::Role {
    fn from(role: Role) -> shakmaty::Role {
        shakmaty::Role::ALL[role as usize]
    }
}

impl From<shakmaty::Role> for Role {
    fn from(role: shakmaty::Role) -> Role {
        match role {
            shakmaty::Role::Pawn => Role::Pawn,
            shakmaty::Role::Knight => Role::Knight,
            shakmaty::Role::Bishop => Role::Bishop,
            shakmaty::Role::Rook => Role::Rook,
            shakmaty::Role::Queen => Role::Queen,
            shakmaty::Role::King => Role::King,
        }
    }
}

impl From<Piece> for shakmaty::Piece {
    fn from(piece: Piece) -> shakmaty::Piece {
        shakmaty::Piece { color: piece.color.into(), role: piece.role.into() }
    }
}

impl From<shakmaty::Piece> for Piece {
    fn from(piece: shakmaty::Piece) -> Piece {
        Piece { color: piece.color.into(), role: piece.role.into() }
    }
}

impl From<Side> for CastlingSide {
    fn from(side: Side) -> CastlingSide {
        CastlingSide::from_king_side(side == Side::King)
    }
}

impl From<CastlingSide> for Side {
    fn from(side: CastlingSide) -> Side {
        match side {
            CastlingSide::KingSide => Side::King,
            CastlingSide::QueenSide => Side::Queen,
        }
    }
}

impl From<&Board> for shakmaty::Board {
    fn from(board: &Board) -> shakmaty::Board {
        let roles = ByRole::new_with(|role| Bitboard(board.role(role.into()).bits()));
        let colors = ByColor::new_with(|color| Bitboard(board.color(color.into()).bits()));
        // The sets of a board never contradict each other.
        shakmaty::Board::try_from_bitboards(roles, colors).unwrap_or_default()
    }
}

impl From<&shakmaty::Board> for Board {
    fn from(board: &shakmaty::Board) -> Board {
        let mut ours = Board::EMPTY;
        for (square, piece) in board.iter() {
            ours.put(square.into(), Some(piece.into()));
        }
        ours
    }
}

impl From<&Position> for Setup {
    /// Converts a position to a setup of shakmaty. The counters are those of a game's first
    /// position.
    fn from(position: &Position) -> Setup {
        Setup {
            board: position.board().into(),
            turn: position.turn().into(),
            castling_rights: Bitboard(position.castling().rook_set().bits()),
            ep_square: position.en_passant().map(Into::into),
            ..Setup::empty()
        }
    }
}

impl TryFrom<&Setup> for Position {
    type Error = PositionError;

    /// Converts a setup of shakmaty to a position. Pockets, remaining checks, promoted pieces and
    /// counters are dropped.
    ///
    /// # Errors
    /// [`PositionError`] when a castling right has no king and rook, or the en passant square does
    /// not fit the side to move.
    fn try_from(setup: &Setup) -> Result<Position, PositionError> {
        let board = Board::from(&setup.board);
        let mut castling = Castling::NONE;
        for rook in setup.castling_rights {
            let rook = Square::from(rook);
            let color = if rook.rank() < 4 { Color::White } else { Color::Black };
            let is_king_side = board.king(color).is_some_and(|king| king.file() < rook.file());
            let side = if is_king_side { Side::King } else { Side::Queen };
            if rook.rank() != color.back_rank() || castling.rook(color, side).is_some() {
                return Err(PositionError::Castling { color, side });
            }
            castling.set(color, side, Some(rook.file()));
        }
        Position::new(board, setup.turn.into(), castling, setup.ep_square.map(Into::into))
    }
}

impl TryFrom<&Position> for Chess {
    type Error = shakmaty::PositionError<Chess>;

    /// Converts a position. The mode is Chess960, in which castling is the king taking its rook.
    /// The counters are those of a game's first position.
    ///
    /// # Errors
    /// Errors of shakmaty; its `ignore_…` methods accept unusual positions.
    fn try_from(position: &Position) -> Result<Chess, shakmaty::PositionError<Chess>> {
        <Chess as shakmaty::FromSetup>::from_setup(Setup::from(position), CastlingMode::Chess960)
    }
}

impl TryFrom<&Chess> for Position {
    type Error = PositionError;

    /// Converts a game state of shakmaty to a position. The position has an en passant square after
    /// every double step.
    ///
    /// # Errors
    /// There is no error for a position that shakmaty set up itself.
    fn try_from(chess: &Chess) -> Result<Position, PositionError> {
        Position::try_from(&shakmaty::Position::to_setup(chess, EnPassantMode::Always))
    }
}

impl From<Move> for shakmaty::uci::UciMove {
    /// Converts a move. Castling is the king taking its rook, as in Chess960.
    fn from(mv: Move) -> shakmaty::uci::UciMove {
        shakmaty::uci::UciMove::Normal {
            from: mv.from.into(),
            to: mv.to.into(),
            promotion: mv.promotion.map(Into::into),
        }
    }
}

/// Error of a move that drops a piece on the board, which chess does not have.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a piece is dropped on the board")]
pub struct PieceDrop;

impl TryFrom<&shakmaty::Move> for Move {
    type Error = PieceDrop;

    fn try_from(mv: &shakmaty::Move) -> Result<Move, PieceDrop> {
        let from = mv.from().ok_or(PieceDrop)?.into();
        Ok(Move { from, to: mv.to().into(), promotion: mv.promotion().map(Into::into) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use shakmaty::Position as _;

    use super::*;
    use crate::model::rules::Playable;

    #[test]
    fn positions_go_to_shakmaty_and_back_with_all_their_moves() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -",
            "1r2k1r1/8/8/8/8/8/8/1R2K1R1 w GBgb -",
            "8/2p5/3p4/KP5r/1R3pPk/8/4P3/8 b - g3",
            "4k3/P7/8/8/8/8/8/4K3 w - -",
        ] {
            let position: Position = fen.parse().unwrap();
            let chess = Chess::try_from(&position).unwrap();
            assert_eq!(Position::try_from(&chess), Ok(position), "{fen}");
            let mut ours = Playable::new(&position).unwrap().legal_moves();
            let theirs = chess.legal_moves();
            let mut theirs: Vec<_> = theirs.iter().map(|mv| Move::try_from(mv).unwrap()).collect();
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs, "{fen}");
            for mv in ours {
                let uci: shakmaty::uci::UciMove = mv.into();
                assert_eq!(Move::try_from(&uci.to_move(&chess).unwrap()), Ok(mv));
                assert_eq!(mv.to_string().parse(), Ok(mv));
            }
        }
    }

    #[test]
    fn rights_without_their_rook_are_refused() {
        let mut setup = Setup::from(&Position::START);
        setup.castling_rights.add(shakmaty::Square::D4);
        let refused = PositionError::Castling { color: Color::White, side: Side::Queen };
        assert_eq!(Position::try_from(&setup), Err(refused));
    }
}
