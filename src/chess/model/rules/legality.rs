//! Legality of positions: pieces, checks, en passant squares, and material that can mate.

use super::attacks::is_attacked;
use super::attacks::{BACK_RANKS, attackers, line};
use crate::model::board::Board;
use crate::model::position::{Position, en_passant_rank};
use crate::model::square::{Color, Role, Square};

/// Reasons why a position is illegal, as a set of flags.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Legality(u16);

impl Legality {
    /// White has no king.
    pub const NO_WHITE_KING: Legality = Legality(1);
    /// Black has no king.
    pub const NO_BLACK_KING: Legality = Legality(1 << 1);
    /// A side has more than one king.
    pub const TOO_MANY_KINGS: Legality = Legality(1 << 2);
    /// A pawn stands on rank 1 or 8.
    pub const PAWN_ON_BACKRANK: Legality = Legality(1 << 3);
    /// A side has more than eight pawns.
    pub const TOO_MANY_PAWNS: Legality = Legality(1 << 4);
    /// A side has more than sixteen pieces.
    pub const TOO_MANY_PIECES: Legality = Legality(1 << 5);
    /// A side has more promoted pieces than missing pawns.
    pub const TOO_MANY_PROMOTED: Legality = Legality(1 << 6);
    /// The side that is not to move stands in check.
    pub const OPPOSITE_CHECK: Legality = Legality(1 << 7);
    /// A castling right without its king or rook. A [`Position`] never has one.
    pub const BAD_CASTLING: Legality = Legality(1 << 8);
    /// An en passant square that cannot result from a double step.
    pub const BAD_EP: Legality = Legality(1 << 9);
    /// A check that no single move can have given.
    pub const IMPOSSIBLE_CHECK: Legality = Legality(1 << 10);

    /// A halfmove clock other than 0 together with an en passant square. A position has no clock,
    /// so only [`EpdRecord::legality`](crate::model::EpdRecord::legality) finds this.
    pub const CLOCK_BESIDE_EP: Legality = Legality(1 << 11);

    const NAMES: [(Legality, &'static str); 12] = [
        (Legality::NO_WHITE_KING, "White has no king"),
        (Legality::NO_BLACK_KING, "Black has no king"),
        (Legality::TOO_MANY_KINGS, "a side has more than one king"),
        (Legality::PAWN_ON_BACKRANK, "a pawn stands on rank 1 or 8"),
        (Legality::TOO_MANY_PAWNS, "a side has more than eight pawns"),
        (Legality::TOO_MANY_PIECES, "a side has more than sixteen pieces"),
        (Legality::TOO_MANY_PROMOTED, "a side has more promoted pieces than missing pawns"),
        (Legality::OPPOSITE_CHECK, "the side not to move stands in check"),
        (Legality::BAD_CASTLING, "a castling right has no king and rook"),
        (Legality::BAD_EP, "no double step can have left the en passant square"),
        (Legality::IMPOSSIBLE_CHECK, "no single move can have given this check"),
        (Legality::CLOCK_BESIDE_EP, "the halfmove clock is not 0 after a double step"),
    ];

    /// Whether nothing is wrong.
    pub const fn is_legal(self) -> bool {
        self.0 == 0
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Legality) -> bool {
        self.0 & other.0 == other.0
    }

    /// A short English description of each flag that is set.
    pub fn reasons(self) -> impl Iterator<Item = &'static str> {
        Legality::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.contains(*flag))
            .map(|(_, name)| name)
    }

    pub(in crate::model) fn set_if(&mut self, condition: bool, flag: Legality) {
        if condition {
            self.0 |= flag.0;
        }
    }
}

/// Finds everything that is wrong with a position.
pub fn legality(position: &Position) -> Legality {
    let mut flags = Legality::default();
    let board = position.board();
    let us = position.turn();
    let count = |color, role| board.pieces(color, role).count();

    flags.set_if(count(Color::White, Role::King) == 0, Legality::NO_WHITE_KING);
    flags.set_if(count(Color::Black, Role::King) == 0, Legality::NO_BLACK_KING);
    for color in Color::ALL {
        let pawns = count(color, Role::Pawn);
        let extra = |role, normal| count(color, role).saturating_sub(normal);
        let promoted = extra(Role::Knight, 2)
            + extra(Role::Bishop, 2)
            + extra(Role::Rook, 2)
            + extra(Role::Queen, 1);
        flags.set_if(count(color, Role::King) > 1, Legality::TOO_MANY_KINGS);
        flags.set_if(pawns > 8, Legality::TOO_MANY_PAWNS);
        flags.set_if(board.color(color).count() > 16, Legality::TOO_MANY_PIECES);
        flags.set_if(promoted > 8u32.saturating_sub(pawns), Legality::TOO_MANY_PROMOTED);
    }
    flags.set_if(board.role(Role::Pawn).bits() & BACK_RANKS != 0, Legality::PAWN_ON_BACKRANK);
    flags.set_if(!en_passant_is_possible(position), Legality::BAD_EP);
    let their_kings = Square::each(board.pieces(!us, Role::King).bits());
    let attacked = |king, by| attackers(board, king, by, board.occupied().bits());
    flags.set_if(
        their_kings.into_iter().any(|king| attacked(king, us) != 0),
        Legality::OPPOSITE_CHECK,
    );
    if let Some(king) = board.king(us) {
        flags.set_if(
            is_impossible_check(position, king, attacked(king, !us)),
            Legality::IMPOSSIBLE_CHECK,
        );
    }
    flags
}

/// Whether no single move can have given this check.
fn is_impossible_check(position: &Position, king: Square, checkers: u64) -> bool {
    let board = position.board();
    let steppers = board.role(Role::Pawn).bits() | board.role(Role::Knight).bits();
    let Some(first) = Square::lowest(checkers) else { return false };
    let others = checkers & !first.bit();
    // A discovered check has at most one of them: the piece that moved.
    if (checkers & steppers).count_ones() > 1 {
        return true;
    }
    if let Some(target) = position.en_passant()
        && en_passant_is_possible(position)
    {
        // The pawn that stepped is the only checker, or its step opened one line.
        let us = position.turn();
        let (pawn, origin) = stepped_over(us, target);
        let before = (board.occupied().bits() & !pawn) | origin;
        return others != 0 || (first.bit() != pawn && attackers(board, king, !us, before) != 0);
    }
    others.count_ones() > 1 || line(first, king) & others != 0
}

/// The squares on which a pawn stands, and stood before, that stepped over an en passant square.
/// `turn` is the side to move after its step.
#[inline]
const fn stepped_over(turn: Color, target: Square) -> (u64, u64) {
    match turn {
        Color::White => (target.bit() >> 8, target.bit() << 8),
        Color::Black => (target.bit() << 8, target.bit() >> 8),
    }
}

/// Whether the en passant square can result from a double step. This square and the pawn's start
/// square must be empty, and the pawn must stand in front of the en passant square. True if there
/// is no en passant square.
#[inline]
pub fn en_passant_is_possible(position: &Position) -> bool {
    let Some(target) = position.en_passant() else { return true };
    has_stepped_over(position.board(), position.turn(), target)
}

/// Whether a double step of the side that is not to move can have gone over a square.
#[inline]
pub(super) fn has_stepped_over(board: &Board, turn: Color, target: Square) -> bool {
    let (pawn, origin) = stepped_over(turn, target);
    board.pieces(!turn, Role::Pawn).bits() & pawn != 0
        && board.occupied().bits() & (target.bit() | origin) == 0
        && target.rank() == en_passant_rank(turn)
}

/// True if neither side has the material to mate. In addition to the kings, the board has nothing,
/// one knight, or only bishops on squares of one colour. The game is then a draw.
///
/// ```
/// use epdb_chess::model::{Position, rules::is_insufficient_material};
/// let bishops: Position = "4kb2/8/8/8/8/8/8/2B1K3 w - -".parse()?;
/// assert!(is_insufficient_material(bishops.board()) && !is_insufficient_material(Position::START.board()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_insufficient_material(board: &Board) -> bool {
    let [king, knight, bishop] =
        [Role::King, Role::Knight, Role::Bishop].map(|role| board.role(role).bits());
    let rest = board.occupied().bits() & !king;
    let is_at_most_one_knight = rest == knight && knight.count_ones() <= 1;
    is_at_most_one_knight || rest == bishop && are_of_one_colour(bishop)
}

/// Whether all squares of a set are dark, or all are light.
fn are_of_one_colour(set: u64) -> bool {
    let is_dark = |square: &Square| (square.file() + square.rank()) & 1 == 0;
    let dark = Square::each(set).filter(is_dark).count() as u32;
    dark == 0 || dark == set.count_ones()
}

/// True if the material of both sides lets this side mate by some series of legal moves. If it does
/// not, a game that the opponent would otherwise lose is a draw (FIDE 6.9 and 7.5.5). Blocked
/// positions are not considered.
///
/// A lone king cannot mate. A single knight needs a piece of the opponent, other than a queen, that
/// blocks a square next to the opponent's king. Bishops on squares of one colour need a knight, a
/// pawn, or a bishop on the other colour.
///
/// ```
/// use epdb_chess::model::{Color, Position, rules::can_mate};
/// let can = |fen: &str| fen.parse().map(|it: Position| can_mate(it.board(), Color::White));
/// assert!(!can("4k3/8/8/8/8/8/8/Q3K3 w - -").map(|can| !can)?);
/// assert!(!can("q3k3/8/8/8/8/8/8/4K3 w - -")? && !can("r3k3/8/8/8/8/8/8/2B1K3 w - -")?);
/// assert!(can("r3k3/8/8/8/8/8/8/1N2K3 w - -")? && !can("q3k3/8/8/8/8/8/8/1N2K3 w - -")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn can_mate(board: &Board, side: Color) -> bool {
    let [pawn, knight, bishop, queen, king] =
        [Role::Pawn, Role::Knight, Role::Bishop, Role::Queen, Role::King]
            .map(|role| board.role(role).bits());
    let own = board.color(side).bits() & !king;
    let other = board.color(!side).bits() & !king;
    if own & !(knight | bishop) != 0 {
        return true;
    }
    if own & knight != 0 {
        return own.count_ones() > 1 || other & !queen != 0;
    }
    own != 0 && (!are_of_one_colour(bishop) || (knight | pawn) != 0)
}

/// A quick test: if true, [`legality`] would find nothing wrong; castling rights are not tested.
/// Most boards without a king in check and without promoted pieces give true. False proves nothing.
#[inline(always)]
pub fn is_plainly_legal(board: &Board, turn: Color, en_passant: Option<Square>) -> bool {
    // Not a closure for each colour: it would be compiled without the instructions of the caller.
    is_plain_side(board, Color::White)
        && is_plain_side(board, Color::Black)
        && board.role(Role::Pawn).bits() & BACK_RANKS == 0
        && en_passant.is_none_or(|target| has_stepped_over(board, turn, target))
}

/// Whether a side has a king that is not in check, and usual numbers of pieces.
#[inline(always)]
fn is_plain_side(board: &Board, color: Color) -> bool {
    let king = board.pieces(color, Role::King).bits();
    let Some(king) = Square::lowest(king) else { return false };
    has_usual_pieces(board, color) && !is_attacked(board, king, !color, board.occupied().bits())
}

/// Whether a side has at most as many pieces of each role as at the start of a game.
#[inline(always)]
fn has_usual_pieces(board: &Board, color: Color) -> bool {
    let has_at_most = |max: usize, role| {
        // Pieces are not counted, because not every target machine counts bits in one instruction.
        (0..max).fold(board.pieces(color, role).bits(), |rest, _| rest & rest.wrapping_sub(1)) == 0
    };
    (board.pieces(color, Role::Pawn).count() <= 8)
        & has_at_most(2, Role::Knight)
        & has_at_most(2, Role::Bishop)
        & has_at_most(2, Role::Rook)
        & has_at_most(1, Role::Queen)
        & has_at_most(1, Role::King)
}
