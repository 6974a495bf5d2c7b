//! The fast path between the fields of a line and the packed identity board with its key, without a
//! [`Position`](crate::model::Position): lookups spend their time here.
//!
//! It accepts usual lines: at most 32 pieces, `KQkq` of the outermost rooks, one blank between fields.
//! For other lines it returns `None`; the text reader then reads them and makes the diagnostics.

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
pub use dispatch::{parse_line, read_fields, write_fields};
pub use read::Identity;
#[doc(hidden)]
pub use {
    crate::simd::InstructionSet,
    dispatch::{read_board_with, read_fields_with, write_fields_with},
};
