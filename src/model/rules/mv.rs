//! Moves.

use std::fmt;
use std::str::FromStr;

use crate::model::square::{Role, Square};

/// A move of a playable position.
///
/// Castling is said as the king taking its own rook (`e1h1`), which no other move can be.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move {
    /// The square the piece leaves.
    pub from: Square,
    /// The square it goes to; for castling the square of the rook.
    pub to: Square,
    /// Role of the promoted pawn.
    pub promotion: Option<Role>,
}

/// The four roles of a promotion in the order of their letters: `B N Q R`.
pub const PROMOTIONS: [Role; 4] = [Role::Bishop, Role::Knight, Role::Queen, Role::Rook];

impl fmt::Display for Move {
    /// The squares, and the letter of a promotion: `e2e4`, `a7a8q`, `e1h1` for castling.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.from, self.to)?;
        match self.promotion {
            Some(role) => write!(f, "{}", char::from(role.letter().to_ascii_lowercase())),
            None => Ok(()),
        }
    }
}

/// Error of a text that is not a move in coordinates.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a move in coordinates is two squares, and the letter n, b, r or q of a promotion")]
pub struct MoveTextError;

impl FromStr for Move {
    type Err = MoveTextError;

    /// Reads what [`Move`] is displayed as. Whether it is legal is a question of a position.
    ///
    /// ```
    /// use epdb::model::rules::Move;
    /// let mv: Move = "e7e8q".parse()?;
    /// assert_eq!((mv.from.to_string(), mv.to_string()), ("e7".into(), "e7e8q".into()));
    /// # Ok::<(), epdb::model::rules::MoveTextError>(())
    /// ```
    fn from_str(text: &str) -> Result<Move, MoveTextError> {
        let (&[a, b, c, d, ref rest @ ..], true) = (text.as_bytes(), text.len() < 6) else {
            return Err(MoveTextError);
        };
        let square = |name: [u8; 2]| Square::from_ascii(&name).ok_or(MoveTextError);
        let promotion = match *rest {
            [] => None,
            [letter @ (b'n' | b'b' | b'r' | b'q')] => {
                Role::from_letter(letter.to_ascii_uppercase())
            }
            _ => return Err(MoveTextError),
        };
        Ok(Move { from: square([a, b])?, to: square([c, d])?, promotion })
    }
}
