//! The straight way between the fields of a line and the packed identity board with its key,
//! without a [`Position`](crate::model::Position) in between: the hot path of lookups.
//!
//! It knows what nearly all lines look like: at most 32 pieces, `KQkq` of the outermost rooks, one
//! blank between fields. For anything else it says so, and the text reader, which also makes the
//! diagnostics, has the word.

mod back_ranks;
mod read;
mod write;

pub use read::{Identity, of_line, read_fields};
pub use write::write_fields;
pub(crate) use write::write_line;
#[doc(hidden)]
pub use {crate::text::fields::InstructionSet, read::read_fields_with, write::write_fields_with};
