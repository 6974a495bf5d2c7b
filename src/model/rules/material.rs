//! What the pieces on a board are enough for.

use crate::model::board::Board;
use crate::model::square::{Role, Square};

/// Whether neither side can ever mate with what is on the board: a draw, whoever is to move. Beside
/// the kings there is nothing, one knight, or bishops on squares of one colour.
///
/// ```
/// use epdb::model::{Position, rules::is_bare};
/// let bishops: Position = "4kb2/8/8/8/8/8/8/2B1K3 w - -".parse()?;
/// assert!(is_bare(bishops.board()) && !is_bare(Position::START.board()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_bare(board: &Board) -> bool {
    let [king, knight, bishop] =
        [Role::King, Role::Knight, Role::Bishop].map(|role| board.role(role));
    let rest = board.occupied() & !king;
    let is_one_knight = rest == knight && knight.count_ones() <= 1;
    let is_dark = |square: Square| (square.file() + square.rank()) & 1 == 0;
    let dark = Square::each(bishop).filter(|square| is_dark(*square)).count() as u32;
    is_one_knight || rest == bishop && (dark == 0 || dark == bishop.count_ones())
}
