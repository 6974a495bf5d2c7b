//! What is wrong with a position.

use super::attacks::{BACK_RANKS, attackers, line};
use super::en_passant::en_passant_is_possible;
use crate::model::position::Position;
use crate::model::square::{Color, Role, Square};

/// What is wrong with a position, as a set of flags.
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
    /// A side has more promoted pieces than pawns that are gone.
    pub const TOO_MANY_PROMOTED: Legality = Legality(1 << 6);
    /// The side that is not to move stands in check.
    pub const OPPOSITE_CHECK: Legality = Legality(1 << 7);
    /// A castling right without its king or rook. A [`Position`] never has one.
    pub const BAD_CASTLING: Legality = Legality(1 << 8);
    /// An en passant square that no double step can have left.
    pub const BAD_EP: Legality = Legality(1 << 9);
    /// A check that no single move can have given.
    pub const IMPOSSIBLE_CHECK: Legality = Legality(1 << 10);

    /// A halfmove clock other than 0 beside an en passant square. Only a record can tell, see
    /// [`EpdRecord::legality`](crate::model::EpdRecord::legality).
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
    let count = |color, role| board.pieces(color, role).count_ones();

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
        flags.set_if(board.color(color).count_ones() > 16, Legality::TOO_MANY_PIECES);
        flags.set_if(promoted > 8u32.saturating_sub(pawns), Legality::TOO_MANY_PROMOTED);
    }
    flags.set_if(board.role(Role::Pawn) & BACK_RANKS != 0, Legality::PAWN_ON_BACKRANK);
    flags.set_if(!en_passant_is_possible(position), Legality::BAD_EP);
    let their_kings = Square::each(board.pieces(!us, Role::King));
    let attacked = |king, by| attackers(board, king, by, board.occupied());
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
    let steppers = board.role(Role::Pawn) | board.role(Role::Knight);
    let (Some(first), last) = (Square::lowest(checkers), 63 - checkers.leading_zeros().min(63))
    else {
        return false;
    };
    let last = Square::new(last as u8).unwrap_or(first);
    let two = first != last;
    if (checkers & steppers).count_ones() > 1 {
        return true;
    }
    match position.en_passant().filter(|_| en_passant_is_possible(position)) {
        // The pawn that stepped is the only checker, or its step opened one line.
        Some(target) => {
            let us = position.turn();
            let (pawn, origin) = match us {
                Color::White => (target.bit() >> 8, target.bit() << 8),
                Color::Black => (target.bit() << 8, target.bit() >> 8),
            };
            let before = (board.occupied() & !pawn) | origin;
            two || (first.bit() != pawn && attackers(board, king, !us, before) != 0)
        }
        None => two && (checkers.count_ones() > 2 || line(first, king) & last.bit() != 0),
    }
}
