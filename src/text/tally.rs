//! Parser of the text of a tally with the moves of its position.

use super::{Profile, san};
use crate::model::rules::Playable;
use crate::model::{San, Tally};

/// The reason why a text is not a tally of a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TallyError {
    /// The text does not have the form of a tally, or a count is impossible.
    #[error("no tally such as \"reached 3, e4 +1=0-1, d4 +0=1-0\"")]
    Form,
    /// The text is not the canonical SAN of a legal move.
    #[error("{0} is not the canonical SAN of a legal move")]
    Move(San),
}

/// Parses the string of `tally` (`formats/epd_text.md`, section 3). Its moves must be legal in the
/// position, so a position that is not playable has no tally with moves.
///
/// # Errors
/// [`TallyError`] with the reason.
pub fn parse(root: Option<&Playable>, text: &[u8]) -> Result<Tally, TallyError> {
    let mut illegal = None;
    let tally = Tally::from_text(text, |name| {
        let read = root.and_then(|root| san::parse(root, name.as_bytes(), Profile::Strict).ok());
        let mv = read.filter(|read| read.san == *name).map(|read| read.mv);
        illegal = illegal.or(Some(*name).filter(|_| mv.is_none()));
        mv
    });
    tally.ok_or_else(|| illegal.map_or(TallyError::Form, TallyError::Move))
}
