//! What the pieces on a board are enough for.

use crate::model::board::Board;
use crate::model::square::{Color, Role, Square};

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

/// True if a side could mate by some series of legal moves, as far as the material of both sides says:
/// FIDE 6.9 and 7.5.5 draw a game that its opponent would lose otherwise. Blocked positions are not
/// looked at.
///
/// A lone king cannot mate. A knight alone needs a piece of the opponent other than a queen that takes a
/// square from the king. Bishops on squares of one colour need a knight, a pawn, or a bishop on the other
/// colour.
///
/// ```
/// use epdb::model::{Color, Position, rules::can_mate};
/// let can = |fen: &str| fen.parse().map(|it: Position| can_mate(it.board(), Color::White));
/// assert!(!can("4k3/8/8/8/8/8/8/Q3K3 w - -").map(|can| !can)?);
/// assert!(!can("q3k3/8/8/8/8/8/8/4K3 w - -")? && !can("r3k3/8/8/8/8/8/8/2B1K3 w - -")?);
/// assert!(can("r3k3/8/8/8/8/8/8/1N2K3 w - -")? && !can("q3k3/8/8/8/8/8/8/1N2K3 w - -")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn can_mate(board: &Board, side: Color) -> bool {
    let [pawn, knight, bishop, queen, king] =
        [Role::Pawn, Role::Knight, Role::Bishop, Role::Queen, Role::King]
            .map(|role| board.role(role));
    let (own, other) = (board.color(side) & !king, board.color(!side) & !king);
    if own & !(knight | bishop) != 0 {
        return true;
    }
    if own & knight != 0 {
        return own.count_ones() > 1 || other & !queen != 0;
    }
    let is_dark = |square: Square| (square.file() + square.rank()) & 1 == 0;
    let dark = Square::each(bishop).filter(|square| is_dark(*square)).count() as u32;
    let is_of_one_colour = dark == 0 || dark == bishop.count_ones();
    own != 0 && (!is_of_one_colour || (knight | pawn) != 0)
}
