//! Moves.

use crate::model::square::{Role, Square};

/// A move of a playable position.
///
/// Castling is said as the king taking its own rook (`e1h1`), which no other move can be
/// (C960-11).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move {
    /// The square the piece leaves.
    pub from: Square,
    /// The square it goes to; for castling the square of the rook.
    pub to: Square,
    /// What a pawn on its last rank becomes.
    pub promotion: Option<Role>,
}

/// The four roles of a promotion in the order of their letters: `B N Q R`.
pub const PROMOTIONS: [Role; 4] = [Role::Bishop, Role::Knight, Role::Queen, Role::Rook];
