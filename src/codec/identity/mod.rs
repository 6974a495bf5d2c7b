//! The straight way between the fields of a line and the packed identity board with its key,
//! without a [`Position`](crate::model::Position) in between: the hot path of lookups.
//!
//! It knows what nearly all lines look like: at most 32 pieces, `KQkq` of the outermost rooks, one
//! blank between fields. For anything else it says so, and the text reader, which also makes the
//! diagnostics, has the word.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod back_ranks;
mod dispatch;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
mod lanes;
mod read;
mod write;

#[cfg(feature = "source")]
pub(crate) use dispatch::read_board;
pub(crate) use dispatch::write_line;
pub use dispatch::{of_line, read_fields, write_fields};
pub use read::Identity;
#[doc(hidden)]
pub use {
    crate::simd::InstructionSet,
    dispatch::{read_board_with, read_fields_with, write_fields_with},
};
