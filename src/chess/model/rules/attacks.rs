//! Attacks of pieces, and lines between squares.

use crate::model::board::Board;
use crate::model::square::{Color, Role, Square};

/// The squares of a colour's pieces that attack a square, given the set of occupied squares.
#[inline]
pub(crate) fn attackers(board: &Board, square: Square, by: Color, occupied: u64) -> u64 {
    let queens = board.role(Role::Queen).bits();
    board.color(by).bits()
        & ((role_attacks(Role::Rook, square, occupied) & (board.role(Role::Rook).bits() | queens))
            | (role_attacks(Role::Bishop, square, occupied)
                & (board.role(Role::Bishop).bits() | queens))
            | (role_attacks(Role::Knight, square, occupied) & board.role(Role::Knight).bits())
            | (king_attacks(square) & board.role(Role::King).bits())
            | (pawn_attacks(!by, square) & board.role(Role::Pawn).bits()))
}

/// The squares that a piece other than a pawn attacks from a square, given the set of occupied
/// squares.
#[inline(always)]
pub fn role_attacks(role: Role, from: Square, occupied: u64) -> u64 {
    match role {
        Role::Knight | Role::King => pseudo_attacks(role, from),
        Role::Bishop => bishop_attacks(from, occupied),
        Role::Rook => rook_attacks(from, occupied),
        Role::Queen => bishop_attacks(from, occupied) | rook_attacks(from, occupied),
        Role::Pawn => 0,
    }
}

#[inline(always)]
fn bishop_attacks(from: Square, occupied: u64) -> u64 {
    let Lines { diagonals: [rising, falling], .. } = LINES[from.index() & 63];
    along(rising, from, occupied) | along(falling, from, occupied)
}

#[inline(always)]
fn rook_attacks(from: Square, occupied: u64) -> u64 {
    let rank = 8 * from.rank();
    let inner = (occupied >> (rank + 1)) as usize & 63;
    let on_rank = u64::from(ON_RANK[usize::from(from.file() & 7)][inner]) << rank;
    along(LINES[from.index() & 63].file, from, occupied) | on_rank
}

/// The squares attacked from a square along a file or diagonal. Among the occupied squares of the
/// line, subtracting the bit of the square flips the bits above it up to the first occupied one.
/// The same subtraction in the reversed set flips the bits below.
#[inline(always)]
fn along(line: u64, from: Square, occupied: u64) -> u64 {
    let blockers = occupied & line;
    let above = blockers.wrapping_sub(from.bit());
    let below = blockers.swap_bytes().wrapping_sub(from.bit().swap_bytes()).swap_bytes();
    (above ^ below) & line
}

/// The squares that all sliders attack together. `straight` has the rooks and queens, `diagonal`
/// the bishops and queens.
///
/// All eight directions are computed at once, in vectors of four if the processor has them. No
/// branch depends on the number of sliders or on how far they reach.
#[inline(always)]
pub(super) fn slider_attacks(straight: u64, diagonal: u64, occupied: u64) -> u64 {
    const STEPS: [u32; 4] = [1, 8, 7, 9];
    // Each mask leaves out the squares where a step would end after going around the edge.
    const UP: [u64; 4] = [!A_FILE, !0, !(A_FILE << 7), !A_FILE];
    const DOWN: [u64; 4] = [!(A_FILE << 7), !0, !A_FILE, !(A_FILE << 7)];
    let sliders = [straight, straight, diagonal, diagonal];
    let mut up = sliders;
    let mut down = sliders;
    let mut free_up = UP;
    let mut free_down = DOWN;
    for lane in 0..4 {
        free_up[lane] &= !occupied;
        free_down[lane] &= !occupied;
    }
    for doubled in [1, 2, 4] {
        for lane in 0..4 {
            let step = STEPS[lane] * doubled;
            up[lane] |= free_up[lane] & up[lane] << step;
            free_up[lane] &= free_up[lane] << step;
            down[lane] |= free_down[lane] & down[lane] >> step;
            free_down[lane] &= free_down[lane] >> step;
        }
    }
    let mut attacked = [0; 4];
    for lane in 0..4 {
        attacked[lane] =
            up[lane] << STEPS[lane] & UP[lane] | down[lane] >> STEPS[lane] & DOWN[lane];
    }
    attacked[0] | attacked[1] | attacked[2] | attacked[3]
}

/// The squares a pawn of this colour attacks from a square.
#[inline]
pub fn pawn_attacks(color: Color, from: Square) -> u64 {
    PAWN_ATTACKS[color as usize][from.index() & 63]
}

/// The squares strictly between two squares that share a rank, file or diagonal; none for other
/// squares.
#[inline(always)]
pub fn between(a: Square, b: Square) -> u64 {
    BETWEEN[a.index() & 63][b.index() & 63]
}

/// The squares beyond `through`, as seen from `from`; none if the two share no rank, file or
/// diagonal.
#[inline]
pub(crate) fn ray_beyond(from: Square, through: Square) -> u64 {
    BEYOND[from.index() & 63][through.index() & 63]
}

/// The squares that a piece other than a pawn attacks from a square of an empty board.
#[inline(always)]
pub(crate) fn pseudo_attacks(role: Role, from: Square) -> u64 {
    REACH[role as usize][from.index() & 63]
}

/// The whole rank, file or diagonal through two squares; none when they share none.
#[inline]
pub fn line(a: Square, b: Square) -> u64 {
    LINE[a.index() & 63][b.index() & 63]
}

#[inline]
pub(super) fn king_attacks(from: Square) -> u64 {
    pseudo_attacks(Role::King, from)
}

/// The bishops, rooks and queens of a colour that would attack a square if nothing stood between.
#[inline(always)]
pub(crate) fn aligned_sliders(board: &Board, by: Color, square: Square) -> u64 {
    let queens = board.role(Role::Queen).bits();
    board.color(by).bits()
        & (pseudo_attacks(Role::Rook, square) & (board.role(Role::Rook).bits() | queens)
            | pseudo_attacks(Role::Bishop, square) & (board.role(Role::Bishop).bits() | queens))
}

/// Whether a colour's pieces attack a square, given the set of occupied squares. [`attackers`]
/// finds all of these pieces, in more steps.
#[inline(always)]
pub(super) fn is_attacked(board: &Board, square: Square, by: Color, occupied: u64) -> bool {
    let close = pseudo_attacks(Role::Knight, square) & board.role(Role::Knight).bits()
        | pseudo_attacks(Role::King, square) & board.role(Role::King).bits()
        | pawn_attacks(!by, square) & board.role(Role::Pawn).bits();
    close & board.color(by).bits() != 0 || sliders_attack(board, square, by, occupied)
}

/// Whether a colour's bishops, rooks or queens attack a square, given the set of occupied squares.
#[inline(always)]
pub(super) fn sliders_attack(board: &Board, square: Square, by: Color, occupied: u64) -> bool {
    let is_open = |slider| between(square, slider) & occupied == 0;
    Square::each(aligned_sliders(board, by, square)).any(is_open)
}

/// The squares that a colour's pawns, knights and kings attack.
#[inline(always)]
pub(super) fn leaper_attacks(board: &Board, by: Color) -> u64 {
    let pawns = board.pieces(by, Role::Pawn).bits();
    let left = pawns & !A_FILE;
    let right = pawns & !(A_FILE << 7);
    let of_pawns = match by {
        Color::White => left << 7 | right << 9,
        Color::Black => left >> 9 | right >> 7,
    };
    let mut attacked = of_pawns | knights_attack(board.pieces(by, Role::Knight).bits());
    for from in board.pieces(by, Role::King) {
        attacked |= king_attacks(from);
    }
    attacked
}

/// The squares that all of these knights attack. No branch depends on their number.
#[inline(always)]
const fn knights_attack(knights: u64) -> u64 {
    const B_FILE: u64 = A_FILE << 1;
    const G_FILE: u64 = A_FILE << 6;
    const H_FILE: u64 = A_FILE << 7;
    let one_file = (knights & !A_FILE) >> 1 | (knights & !H_FILE) << 1;
    let two_files = (knights & !(A_FILE | B_FILE)) >> 2 | (knights & !(G_FILE | H_FILE)) << 2;
    one_file << 16 | one_file >> 16 | two_files << 8 | two_files >> 8
}

/// The pieces of a colour that may only move along the line through its king.
#[inline(always)]
pub(super) fn pinned(board: &Board, king: Square, us: Color) -> u64 {
    let mut pinned = 0;
    for sniper in Square::each(aligned_sliders(board, !us, king)) {
        let blockers = between(king, sniper) & board.occupied().bits();
        if blockers & blockers.wrapping_sub(1) == 0 {
            pinned |= blockers & board.color(us).bits();
        }
    }
    pinned
}

/// Both back ranks, where no pawn may stand.
pub(crate) const BACK_RANKS: u64 = 0xff00_0000_0000_00ff;

/// Steps in files and ranks: first the directions of rooks, then those of bishops.
const DIRECTIONS: [(i8, i8); 8] =
    [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)];
const JUMPS: [(i8, i8); 8] =
    [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

const A_FILE: u64 = u64::MAX / 255;

/// The file and diagonals through a square, without the square itself.
#[derive(Copy, Clone)]
struct Lines {
    file: u64,
    diagonals: [u64; 2],
}

static LINES: [Lines; 64] = all_lines();
/// Squares that a rook attacks on its rank, for each file and each occupancy of the inner six
/// squares.
static ON_RANK: [[u8; 64]; 8] = on_rank();

/// Attacks on an empty board, by role and square. These few kilobytes stay in the fastest cache;
/// tables for every occupancy would not.
static REACH: [[u64; 64]; 6] = reaches();
static BETWEEN: [[u64; 64]; 64] = all_between();
static BEYOND: [[u64; 64]; 64] = all_beyond();
static LINE: [[u64; 64]; 64] = all_through_two();
/// The squares that a pawn attacks, by its colour and its square.
static PAWN_ATTACKS: [[u64; 64]; 2] = all_pawn_attacks();

/// The square one step away, if it is on the board.
const fn step(from: u8, (files, ranks): (i8, i8)) -> Option<u8> {
    let file = (from & 7) as i8 + files;
    let rank = (from >> 3) as i8 + ranks;
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

const fn all_lines() -> [Lines; 64] {
    let mut table = [Lines { file: 0, diagonals: [0; 2] }; 64];
    let mut from = 0;
    while from < 64 {
        let lines = &mut table[from as usize];
        lines.file = ray(from, DIRECTIONS[2]) | ray(from, DIRECTIONS[3]);
        lines.diagonals[0] = ray(from, DIRECTIONS[4]) | ray(from, DIRECTIONS[7]);
        lines.diagonals[1] = ray(from, DIRECTIONS[5]) | ray(from, DIRECTIONS[6]);
        from += 1;
    }
    table
}

/// The squares in a direction up to the edge.
const fn ray(from: u8, direction: (i8, i8)) -> u64 {
    let mut squares = 0;
    let mut next = step(from, direction);
    while let Some(to) = next {
        squares |= 1 << to;
        next = step(to, direction);
    }
    squares
}

const fn on_rank() -> [[u8; 64]; 8] {
    let mut table = [[0; 64]; 8];
    let mut place = 0;
    while place < 8 * 64 {
        let file = place / 64;
        let occupied = (place % 64) << 1;
        let mut number = 0;
        while number < 2 {
            let mut next = step(file as u8, DIRECTIONS[number]);
            while let Some(to) = next {
                table[file][place % 64] |= 1 << to;
                next = if occupied >> to & 1 == 1 { None } else { step(to, DIRECTIONS[number]) };
            }
            number += 1;
        }
        place += 1;
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
            let mut next = step(from, DIRECTIONS[number]);
            while let Some(passed) = next {
                table[from as usize][passed as usize] = ray(passed, DIRECTIONS[number]);
                next = step(passed, DIRECTIONS[number]);
            }
            number += 1;
        }
        from += 1;
    }
    table
}

const fn all_through_two() -> [[u64; 64]; 64] {
    let mut table = [[0; 64]; 64];
    let mut from = 0;
    while from < 64 {
        let mut number = 0;
        while number < 8 {
            let (files, ranks) = DIRECTIONS[number];
            let ahead = ray(from, (files, ranks));
            let line = ahead | ray(from, (-files, -ranks)) | 1 << from;
            let mut to = 0;
            while to < 64 {
                if ahead >> to & 1 == 1 {
                    table[from as usize][to] = line;
                }
                to += 1;
            }
            number += 1;
        }
        from += 1;
    }
    table
}

const fn all_pawn_attacks() -> [[u64; 64]; 2] {
    let mut table = [[0; 64]; 2];
    let mut from = 0;
    while from < 64 {
        let mut files = -1;
        while files <= 1 {
            if let Some(to) = step(from, (files, 1)) {
                table[Color::White as usize][from as usize] |= 1 << to;
            }
            if let Some(to) = step(from, (files, -1)) {
                table[Color::Black as usize][from as usize] |= 1 << to;
            }
            files += 2;
        }
        from += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::{Bitboard, attacks};

    use super::*;

    proptest! {
        #[test]
        fn sliders_attack_as_shakmatys_do(
            occupied in any::<(u64, u64)>().prop_map(|(a, b)| a & b),
            sliders in any::<[u64; 4]>(),
        ) {
            let theirs = |role, from: Square| {
                let from = shakmaty::Square::from(from);
                let occupied = Bitboard(occupied);
                attacks::attacks(from, shakmaty::Role::from(role).of(shakmaty::Color::White), occupied).0
            };
            for from in Square::each(u64::MAX) {
                for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King] {
                    prop_assert_eq!(role_attacks(role, from, occupied), theirs(role, from));
                }
            }
            let [a, b, c, d] = sliders.map(|set| set & occupied);
            let all = |role, set| Square::each(set).fold(0, |all, from| all | theirs(role, from));
            let together = all(Role::Rook, a & b) | all(Role::Bishop, c & d);
            prop_assert_eq!(slider_attacks(a & b, c & d, occupied), together);
        }
    }

    #[test]
    fn pawns_attack_as_shakmatys_do() {
        for color in [Color::White, Color::Black] {
            for from in Square::each(u64::MAX) {
                let theirs = attacks::pawn_attacks(color.into(), from.into()).0;
                assert_eq!(pawn_attacks(color, from), theirs, "{color:?} {from}");
            }
        }
    }

    #[test]
    fn the_tables_are_those_of_attacks_on_an_empty_board() {
        for from in Square::each(u64::MAX) {
            for role in Role::ALL {
                assert_eq!(
                    pseudo_attacks(role, from),
                    role_attacks(role, from, 0),
                    "{role:?} {from}"
                );
            }
            for to in Square::each(u64::MAX) {
                let theirs = attacks::between(from.into(), to.into()).0;
                assert_eq!(between(from, to), theirs, "{from} {to}");
                let theirs = attacks::ray(from.into(), to.into()).0;
                assert_eq!(line(from, to), theirs, "{from} {to}");
                let is_behind = |far: &Square| between(from, *far) & to.bit() != 0;
                let far: u64 = Square::each(u64::MAX).filter(is_behind).map(Square::bit).sum();
                assert_eq!(ray_beyond(from, to), far, "{from} {to}");
            }
        }
    }
}
