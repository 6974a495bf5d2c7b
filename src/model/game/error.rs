//! What the parts of a game may not be.

use super::tags::MAX_TAGS;

/// The most variations that may be open at once. Each needs some 200 bytes while a game is read
/// or written.
pub const MAX_VARIATION_DEPTH: usize = 65_535;

/// Why a piece of movetext cannot stand where it was put.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Moves from a position in which none can be generated.
    #[error("no move can be made from the position that the game starts from")]
    NotPlayable,
    /// A move that is not legal in the position that was reached.
    #[error("the move is not legal here")]
    Illegal,
    /// A null move of a side that is in check.
    #[error("no null move can be made in check")]
    NullMoveInCheck,
    /// A NAG before the first move of a line.
    #[error("a NAG before any move of its line")]
    NagPlace,
    /// A variation before the first move of a line.
    #[error("a variation before any move of its line")]
    VariationPlace,
    /// The end of a variation that never began.
    #[error("the end of a variation that never began")]
    VariationEnd,
    /// A variation without a move.
    #[error("a variation without a move")]
    VariationEmpty,
    /// The game ends inside a variation.
    #[error("the game ends inside a variation")]
    VariationOpen,
    /// More than [`MAX_VARIATION_DEPTH`] variations inside each other.
    #[error("more than {MAX_VARIATION_DEPTH} variations inside each other")]
    TooDeep,
    /// A tag name that is none, see [`is_tag_name`](super::is_tag_name).
    #[error("no name of a tag")]
    TagName,
    /// More than [`MAX_TAGS`] tags beside the roster.
    #[error("more than {MAX_TAGS} tags")]
    TooManyTags,
    /// A control character in the value of a tag, or a line end in an escape.
    #[error("a control character in a text")]
    ControlCharacter,
    /// More than 2^32 - 1 moves, annotations or bytes of text.
    #[error("the game is too large")]
    TooLarge,
}
