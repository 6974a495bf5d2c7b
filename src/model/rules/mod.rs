//! The rules of chess: which moves are legal, what a move leads to, what is wrong with a position.
//!
//! Attack tables come from shakmaty. Legal moves are counted and listed here as sets of
//! destination squares, because move ordinals need the sets and because positions of the format may
//! have more than the 256 moves that shakmaty's move list holds. Tests hold every answer of this
//! room against shakmaty's.

mod attacks;
mod conversions;
mod en_passant;
mod legality;
mod material;
mod mv;
#[cfg(feature = "source")]
mod plain;
mod playable;

pub use attacks::{
    BACK_RANKS, aligned_sliders, attackers, between, beyond, line, pawn_attacks, reach,
    role_attacks,
};
pub use conversions::PieceDrop;
pub use en_passant::en_passant_is_possible;
pub use legality::{Legality, legality};
pub use material::{can_mate, is_bare};
pub use mv::{Move, MoveTextError, PROMOTIONS};
#[cfg(feature = "source")]
pub(crate) use plain::is_plainly_legal;
pub(crate) use playable::castling_rook;
pub use playable::{NotPlayable, Playable, after, en_passant_is_legal, is_zeroing};
pub(in crate::model) use playable::{after_null_move, play, play_piece};
