//! Which squares a piece attacks, and the lines between squares.

use shakmaty::{Bitboard, attacks};

use crate::model::board::Board;
use crate::model::square::{Color, Role, Square};

/// The squares of a colour's pieces that attack a square, when these squares are occupied.
#[inline]
pub fn attackers(board: &Board, square: Square, by: Color, occupied: u64) -> u64 {
    let queens = board.role(Role::Queen);
    board.color(by)
        & ((role_attacks(Role::Rook, square, occupied) & (board.role(Role::Rook) | queens))
            | (role_attacks(Role::Bishop, square, occupied) & (board.role(Role::Bishop) | queens))
            | (role_attacks(Role::Knight, square, occupied) & board.role(Role::Knight))
            | (king_attacks(square) & board.role(Role::King))
            | (pawn_attacks(!by, square) & board.role(Role::Pawn)))
}

/// The squares attacked by a piece other than a pawn from a square, when these squares are occupied.
#[inline]
pub fn role_attacks(role: Role, from: Square, occupied: u64) -> u64 {
    let (from, occupied) = (shakmaty::Square::from(from), Bitboard(occupied));
    match role {
        Role::Knight => attacks::knight_attacks(from).0,
        Role::Bishop => attacks::bishop_attacks(from, occupied).0,
        Role::Rook => attacks::rook_attacks(from, occupied).0,
        Role::Queen => attacks::queen_attacks(from, occupied).0,
        Role::King => attacks::king_attacks(from).0,
        Role::Pawn => 0,
    }
}

/// The squares a pawn of this colour attacks from a square.
#[inline]
pub fn pawn_attacks(color: Color, from: Square) -> u64 {
    attacks::pawn_attacks(color.into(), from.into()).0
}

/// The squares strictly between two squares of one line; none for others.
#[inline]
pub fn between(a: Square, b: Square) -> u64 {
    attacks::between(a.into(), b.into()).0
}

/// The whole rank, file or diagonal through two squares; none when they share none.
#[inline]
pub fn line(a: Square, b: Square) -> u64 {
    attacks::ray(a.into(), b.into()).0
}

/// The squares a king attacks from a square.
#[inline]
pub(super) fn king_attacks(from: Square) -> u64 {
    role_attacks(Role::King, from, 0)
}

/// The pieces of a colour that may only move along the line through its king.
#[inline]
pub(super) fn pinned(board: &Board, king: Square, us: Color) -> u64 {
    let queens = board.role(Role::Queen);
    let snipers = board.color(!us)
        & ((role_attacks(Role::Rook, king, 0) & (board.role(Role::Rook) | queens))
            | (role_attacks(Role::Bishop, king, 0) & (board.role(Role::Bishop) | queens)));
    Square::each(snipers)
        .map(|sniper| between(king, sniper) & board.occupied())
        .filter(|blockers| blockers.count_ones() == 1)
        .fold(0, |pinned, blocker| pinned | (blocker & board.color(us)))
}

/// Both back ranks, where no pawn may stand.
pub const BACK_RANKS: u64 = 0xff00_0000_0000_00ff;
