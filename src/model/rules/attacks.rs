//! Which squares a piece attacks, and the lines between squares.

use shakmaty::{Bitboard, attacks};

use crate::model::board::Board;
use crate::model::square::{Color, Role, Square};

/// The squares of a colour's pieces that attack a square, when these squares are occupied.
#[inline]
pub fn attackers(board: &Board, square: Square, by: Color, occupied: u64) -> u64 {
    let queens = board.role(Role::Queen);
    board.color(by)
        & ((role_attacks(Role::Rook, square, occupied) & (board.role(Role::Rook) | queens))
            | (role_attacks(Role::Bishop, square, occupied) & (board.role(Role::Bishop) | queens))
            | (role_attacks(Role::Knight, square, occupied) & board.role(Role::Knight))
            | (king_attacks(square) & board.role(Role::King))
            | (pawn_attacks(!by, square) & board.role(Role::Pawn)))
}

/// The squares attacked by a piece other than a pawn from a square, when these squares are occupied.
#[inline]
pub fn role_attacks(role: Role, from: Square, occupied: u64) -> u64 {
    let (from, occupied) = (shakmaty::Square::from(from), Bitboard(occupied));
    match role {
        Role::Knight => attacks::knight_attacks(from).0,
        Role::Bishop => attacks::bishop_attacks(from, occupied).0,
        Role::Rook => attacks::rook_attacks(from, occupied).0,
        Role::Queen => attacks::queen_attacks(from, occupied).0,
        Role::King => attacks::king_attacks(from).0,
        Role::Pawn => 0,
    }
}

/// The squares a pawn of this colour attacks from a square.
#[inline]
pub fn pawn_attacks(color: Color, from: Square) -> u64 {
    attacks::pawn_attacks(color.into(), from.into()).0
}

/// The squares strictly between two squares of one line; none for others.
#[inline]
pub fn between(a: Square, b: Square) -> u64 {
    BETWEEN[a.index()][b.index()]
}

/// The squares beyond the second of two squares of one line, as seen from the first; none for others.
#[inline]
pub fn beyond(from: Square, through: Square) -> u64 {
    BEYOND[from.index()][through.index()]
}

/// The squares that a piece other than a pawn attacks from a square of an empty board.
#[inline]
pub fn reach(role: Role, from: Square) -> u64 {
    REACH[role as usize][from.index()]
}

/// The whole rank, file or diagonal through two squares; none when they share none.
#[inline]
pub fn line(a: Square, b: Square) -> u64 {
    attacks::ray(a.into(), b.into()).0
}

/// The squares a king attacks from a square.
#[inline]
pub(super) fn king_attacks(from: Square) -> u64 {
    reach(Role::King, from)
}

/// The bishops, rooks and queens of a colour that would attack a square of an empty board.
#[inline]
pub fn aligned_sliders(board: &Board, by: Color, square: Square) -> u64 {
    let queens = board.role(Role::Queen);
    board.color(by)
        & (reach(Role::Rook, square) & (board.role(Role::Rook) | queens)
            | reach(Role::Bishop, square) & (board.role(Role::Bishop) | queens))
}

/// Whether a colour's pieces attack a square, when these squares are occupied: [`attackers`] finds
/// more in more steps.
#[inline]
pub(super) fn is_attacked(board: &Board, square: Square, by: Color, occupied: u64) -> bool {
    let close = reach(Role::Knight, square) & board.role(Role::Knight)
        | reach(Role::King, square) & board.role(Role::King)
        | pawn_attacks(!by, square) & board.role(Role::Pawn);
    close & board.color(by) != 0 || sliders_attack(board, square, by, occupied)
}

/// Whether a colour's bishops, rooks or queens attack a square, when these squares are occupied.
#[inline(always)]
pub(super) fn sliders_attack(board: &Board, square: Square, by: Color, occupied: u64) -> bool {
    let is_open = |slider| between(square, slider) & occupied == 0;
    Square::each(aligned_sliders(board, by, square)).any(is_open)
}

/// The squares that a colour's pawns, knights and kings attack.
#[inline(always)]
pub(super) fn leaper_attacks(board: &Board, by: Color) -> u64 {
    const A_FILE: u64 = u64::MAX / 255;
    let pawns = board.pieces(by, Role::Pawn);
    let (left, right) = (pawns & !A_FILE, pawns & !(A_FILE << 7));
    let of_pawns = match by {
        Color::White => left << 7 | right << 9,
        Color::Black => left >> 9 | right >> 7,
    };
    let mut attacked = of_pawns;
    for role in [Role::Knight, Role::King] {
        for from in Square::each(board.pieces(by, role)) {
            attacked |= reach(role, from);
        }
    }
    attacked
}

/// The pieces of a colour that may only move along the line through its king.
#[inline]
pub(super) fn pinned(board: &Board, king: Square, us: Color) -> u64 {
    Square::each(aligned_sliders(board, !us, king))
        .map(|sniper| between(king, sniper) & board.occupied())
        .filter(|blockers| blockers.count_ones() == 1)
        .fold(0, |pinned, blocker| pinned | (blocker & board.color(us)))
}

/// Both back ranks, where no pawn may stand.
pub const BACK_RANKS: u64 = 0xff00_0000_0000_00ff;

/// Files and ranks of a step: first those of rooks, then those of bishops.
const DIRECTIONS: [(i8, i8); 8] =
    [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)];
const JUMPS: [(i8, i8); 8] =
    [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// By role and square. These few kilobytes stay in the nearest cache, where tables for any
/// occupancy do not.
static REACH: [[u64; 64]; 6] = reaches();
static BETWEEN: [[u64; 64]; 64] = all_between();
static BEYOND: [[u64; 64]; 64] = all_beyond();

/// The square one step away, if it is on the board.
const fn step(from: u8, (files, ranks): (i8, i8)) -> Option<u8> {
    let (file, rank) = ((from & 7) as i8 + files, (from >> 3) as i8 + ranks);
    if file < 0 || file > 7 || rank < 0 || rank > 7 {
        return None;
    }
    Some((rank * 8 + file) as u8)
}

const fn reaches() -> [[u64; 64]; 6] {
    let mut table = [[0; 64]; 6];
    let mut from = 0;
    while from < 64 {
        let mut number = 0;
        while number < 8 {
            let slider = if number < 4 { Role::Rook } else { Role::Bishop };
            let mut next = step(from, DIRECTIONS[number]);
            if let Some(to) = next {
                table[Role::King as usize][from as usize] |= 1 << to;
            }
            while let Some(to) = next {
                table[slider as usize][from as usize] |= 1 << to;
                table[Role::Queen as usize][from as usize] |= 1 << to;
                next = step(to, DIRECTIONS[number]);
            }
            if let Some(to) = step(from, JUMPS[number]) {
                table[Role::Knight as usize][from as usize] |= 1 << to;
            }
            number += 1;
        }
        from += 1;
    }
    table
}

const fn all_between() -> [[u64; 64]; 64] {
    let mut table = [[0; 64]; 64];
    let mut from = 0;
    while from < 64 {
        let mut number = 0;
        while number < 8 {
            let mut passed = 0;
            let mut next = step(from, DIRECTIONS[number]);
            while let Some(to) = next {
                table[from as usize][to as usize] = passed;
                passed |= 1 << to;
                next = step(to, DIRECTIONS[number]);
            }
            number += 1;
        }
        from += 1;
    }
    table
}

const fn all_beyond() -> [[u64; 64]; 64] {
    let mut table = [[0; 64]; 64];
    let mut from = 0;
    while from < 64 {
        let mut number = 0;
        while number < 8 {
            let mut through = step(from, DIRECTIONS[number]);
            while let Some(passed) = through {
                let mut next = step(passed, DIRECTIONS[number]);
                through = next;
                while let Some(to) = next {
                    table[from as usize][passed as usize] |= 1 << to;
                    next = step(to, DIRECTIONS[number]);
                }
            }
            number += 1;
        }
        from += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_those_of_attacks_on_an_empty_board() {
        for from in Square::each(u64::MAX) {
            for role in Role::ALL {
                assert_eq!(reach(role, from), role_attacks(role, from, 0), "{role:?} {from}");
            }
            for to in Square::each(u64::MAX) {
                let theirs = attacks::between(from.into(), to.into()).0;
                assert_eq!(between(from, to), theirs, "{from} {to}");
                let is_behind = |far: &Square| between(from, *far) & to.bit() != 0;
                let far: u64 = Square::each(u64::MAX).filter(is_behind).map(Square::bit).sum();
                assert_eq!(beyond(from, to), far, "{from} {to}");
            }
        }
    }
}
