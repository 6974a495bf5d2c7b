//! Games in Portable Game Notation.
//!
//! [`GameReader`] reads games from files as they are found in practice. [`format()`] writes the
//! export format, exactly as the standard prescribes it.
//!
//! The crate `pgn-reader` is not used for three reasons. It drops tokens that it cannot read
//! (unknown tokens, NAGs over 255, `;` comments, `%` lines, move numbers). It ends a game at a
//! blank line. And it reports no place in the stream.

mod collation;
mod ending;
mod evaluation;
mod game_position;
mod language;
mod main_line;
mod positions;
mod read;
mod source;
mod tag_values;
pub mod tags;
mod time;
mod write;

pub(crate) use super::charset::put_latin1;
pub use super::charset::{Charset, NotLatin1, decode, from_latin1};
pub use collation::{archive_name, collation_key};
pub use evaluation::evaluation_comment;
pub use evaluation::parse_evaluation;
pub use game_position::{GamePlace, GamePosition, clock_ms, elapsed_ms, engine_score, evaluation};
pub use language::{Language, UnknownLanguage};
pub use main_line::{MainLine, RecordParts};
pub use positions::evaluations_unread;
pub use positions::{
    PositionOptions, Positions, PositionsLeftOut, final_position, game_positions, last_position,
    positions, positions_left_out,
};
pub use read::{Finding, GameRead, GameReader, PgnReadOptions};
pub use source::line_ends;
pub use tags::TagError;
pub use write::{GameLosses, PgnFormatError, PgnFormatOptions, format};
