//! Standard Algebraic Notation: parser and writer of moves.

mod move_pattern;
mod notations;
mod odd;
mod quick;
mod read;
mod write;

pub use move_pattern::{MovePattern, captured};
pub(crate) use notations::{fitting, is_note};
pub(crate) use odd::{castling_of_circles, circles, is_mark, odd, usual, without_notes};
pub(crate) use quick::{Situation, Token, quick};
pub(crate) use read::find;
pub use read::{MoveError, SanRead, parse};
pub use write::{format, uci, without_marks};

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
