//! The rules of chess: legal moves, positions after moves, and reasons why a position is illegal.
//!
//! Legal moves are counted and listed as sets of destination squares, for two reasons. Move
//! ordinals (the numbers of moves in the order of their SAN) need the sets, and a position of the
//! format may have more than 256 moves. Tests compare the answers of this module with those of
//! shakmaty. The feature `shakmaty` converts from and to its types.

mod attacks;
#[cfg(feature = "shakmaty")]
mod conversions;
mod legality;
mod playable;

pub(crate) use attacks::{BACK_RANKS, aligned_sliders, attackers, pseudo_attacks, ray_beyond};
pub use attacks::{between, line, pawn_attacks, role_attacks};
#[cfg(feature = "shakmaty")]
pub use conversions::PieceDrop;
pub use legality::en_passant_is_possible;
pub use legality::is_plainly_legal;
pub use legality::{Legality, legality};
pub use legality::{can_mate, is_insufficient_material};
pub use playable::PROMOTIONS;
pub(crate) use playable::castling_rook;
pub use playable::{Move, MoveTextError};
pub use playable::{NotPlayable, Playable, after, en_passant_is_legal, is_zeroing};
pub(in crate::model) use playable::{after_null_move, play, play_piece};
