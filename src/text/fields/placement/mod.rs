//! Field 1, the placement.
//!
//! One table says what a byte of the field means and one how a rank is written ([`tables`]). Each
//! way has a safe loop over bytes and, on machines that have them, twins in vectors ([`avx512`],
//! [`lanes`]), which are chosen at run time ([`crate::simd`]); tests hold all of them against each
//! other.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod gather_scatter;
mod hash;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
pub(crate) mod lanes;
mod read;
mod tables;
mod write;

pub(crate) use gather_scatter::{gather_codes, scatter_codes};
pub(crate) use hash::{PairNumbers, hash_of_board, pair_numbers};
pub(crate) use read::read_pieces;
pub(super) use read::{diagnose, read_board};
pub(crate) use tables::ROOM;
pub(crate) use tables::{CodeBits, Letters, PieceNumbers, Pieces, piece_code, place};
#[cfg(feature = "archive")]
pub(crate) use write::write_ranks;
pub(crate) use write::{letters_of, write_letters, write_pieces};
