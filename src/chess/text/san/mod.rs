//! Standard Algebraic Notation: parser and writer of moves.

mod move_pattern;
mod notations;
mod odd;
mod quick;
mod read;
mod write;

pub use move_pattern::{MovePattern, captured};
pub use notations::fitting;
pub(crate) use notations::is_note;
pub(crate) use odd::{castling_of_circles, is_mark, without_notes};
pub use odd::{circles, odd, usual};
pub(crate) use quick::Situation;
pub use quick::Token;
pub(crate) use quick::quick;
pub use read::find;
pub use read::{MoveError, SanRead, parse};
pub use write::{format, uci, without_marks, write_uci};

/// Returns the texts of moves, sorted.
#[cfg(test)]
fn sorted(
    playable: &crate::model::rules::Playable,
    moves: impl IntoIterator<Item = crate::model::rules::Move>,
) -> Vec<String> {
    let mut moves: Vec<String> =
        moves.into_iter().map(|mv| format(playable, mv).to_string()).collect();
    moves.sort();
    moves
}
