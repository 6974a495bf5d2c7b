//! Field 1, the placement.
//!
//! One table has the meaning of each byte of the field, another has the shape of each rank
//! ([`tables`]). The parser and the writer each have a safe loop over bytes. On processors with
//! vector instructions, [`avx512`] or [`lanes`] does the same work; [`crate::simd`] chooses at run
//! time. Tests compare all implementations.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod gather_scatter;
mod hash;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
pub mod lanes;
mod read;
mod tables;
mod write;

pub(crate) use gather_scatter::{gather_codes, scatter_codes};
pub(crate) use hash::{PairNumbers, hash_of_board, pair_numbers};
pub(crate) use read::read_pieces;
pub(super) use read::{diagnose, read_board};
pub(crate) use tables::ROOM;
pub(crate) use tables::{CodeBits, PieceNumbers};
pub use tables::{Letters, Pieces, piece_code, place};
pub(crate) use write::write_ranks;
pub(crate) use write::{letters_of, write_letters, write_pieces};
