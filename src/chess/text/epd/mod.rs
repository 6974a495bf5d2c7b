//! Parser and canonical writer of EPD lines (`formats/epd_text.md`).

mod python_chess;
mod read;
mod write;

pub use read::{Line, TallyError, parse_line, parse_tally};
pub(super) use read::{Raw, is_promotion, is_word_before_position, split_operands, string_end};
pub use write::{Losses, format};
