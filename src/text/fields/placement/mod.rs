//! Field 1, the placement.
//!
//! One table says what a byte of the field means and one how a rank is written ([`tables`]). Each
//! way has a safe loop over bytes and, on machines that have them, a twin in vectors
//! ([`avx512`]); tests hold each pair against each other.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod read;
mod tables;
mod write;

pub(crate) use read::read_pieces;
pub(super) use read::{diagnose, read_board};
pub(super) use tables::ROOM;
pub(crate) use tables::{Letters, PieceNumbers, Pieces, piece_code};
pub(crate) use write::{letters_of, write_letters, write_pieces};
