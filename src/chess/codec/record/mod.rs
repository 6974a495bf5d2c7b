//! Binary EPD records: a marker, the packed identity board, and everything else that the record
//! has. The format is `formats/epd_record.md`.

mod add;
mod decode;
mod encode;
mod kept;
mod operands;
mod tally;
mod walk;

pub use add::add_tallied;
pub use add::{put_tallied, put_tallied_games, put_tallied_short};
pub use decode::decode_unspelled;
pub use decode::{decode, kept_games_of, write_text};
pub use encode::{PlainRecord, encode, encode_plain};
pub use kept::{put_kept_games, take_kept_games};
pub use operands::MAX_LEN;
pub use tally::{OrdinalTally, put_counts, put_one_game, put_tally, take_tally};
pub use walk::is_board_with_operations;
pub use walk::tally_bytes;
pub use walk::{Part, board_of, len_of, walk};
