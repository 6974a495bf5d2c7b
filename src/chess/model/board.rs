//! Placement of pieces.

use super::square::{Bitboard, Color, Piece, Role, Square};

/// The placement of pieces: a set of squares for each colour, and one for each role.
///
/// Bit 0 of a set is a1, bit 63 is h8. Any placement can be represented, legal or not: the empty
/// board, 64 kings, pawns on the first rank.
///
/// ```
/// use epdb_chess::model::{Board, Color, Piece, Role, Square};
/// let mut board = Board::EMPTY;
/// let e1 = Square::at(4, 0);
/// board.put(e1, Some(Piece { color: Color::White, role: Role::King }));
/// assert_eq!(board.piece_at(e1).map(Piece::letter), Some(b'K'));
/// assert_eq!(board.occupied(), e1.into());
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Board {
    colors: [u64; 2],
    roles: [u64; 6],
}

impl Board {
    /// A board without pieces.
    pub const EMPTY: Board = Board { colors: [0; 2], roles: [0; 6] };

    /// Makes a board from twelve sets of squares: White's pawns, knights, bishops, rooks, queens
    /// and kings, then Black's. No square may be in two of them.
    pub const fn from_sets(sets: &[u64; 12]) -> Board {
        let [p, n, b, r, q, k, bp, bn, bb, br, bq, bk] = *sets;
        Board {
            colors: [p | n | b | r | q | k, bp | bn | bb | br | bq | bk],
            roles: [p | bp, n | bn, b | bb, r | br, q | bq, k | bk],
        }
    }

    /// Makes a board from the set of squares of each role, and a set that has all of White's pieces
    /// and none of Black's. No square may be in the sets of two roles.
    pub(crate) const fn from_roles(roles: [u64; 6], white: u64) -> Board {
        let [p, n, b, r, q, k] = roles;
        let occupied = p | n | b | r | q | k;
        Board { colors: [occupied & white, occupied & !white], roles }
    }

    /// All squares with a piece on them.
    pub const fn occupied(&self) -> Bitboard {
        Bitboard(self.colors[0] | self.colors[1])
    }

    /// The squares of one colour's pieces.
    pub const fn color(&self, color: Color) -> Bitboard {
        Bitboard(self.colors[color as usize])
    }

    /// The squares of both colours' pieces of one role.
    pub const fn role(&self, role: Role) -> Bitboard {
        Bitboard(self.roles[role as usize])
    }

    /// The squares of one colour's pieces of one role.
    pub const fn pieces(&self, color: Color, role: Role) -> Bitboard {
        Bitboard(self.colors[color as usize] & self.roles[role as usize])
    }

    /// The role of the piece on a square.
    #[inline]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        self.occupied().contains(square).then(|| self.role_on(square))
    }

    /// The role of the piece on a square; a pawn if the square is empty. There is no branch,
    /// because the processor could not predict which role it is.
    #[inline]
    pub(super) fn role_on(&self, square: Square) -> Role {
        let number: u64 =
            (1..6).map(|role| (self.roles[role] >> square.index() & 1) * role as u64).sum();
        Role::ALL.get(number as usize).copied().unwrap_or(Role::Pawn)
    }

    /// The piece on a square.
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        let role = self.role_at(square)?;
        let color =
            if self.color(Color::White).contains(square) { Color::White } else { Color::Black };
        Some(Piece { color, role })
    }

    /// The squares on which the two boards differ.
    pub fn differences(&self, other: &Board) -> u64 {
        let colors = self.colors.iter().zip(&other.colors);
        let roles = self.roles.iter().zip(&other.roles);
        colors.chain(roles).fold(0, |differ, (own, others)| differ | own ^ others)
    }

    /// Writes a changed copy of this board to `next`. The copy lacks the pieces on the squares
    /// `gone`, and has one more piece on the square `set`. All sets are written at once, because
    /// that is much faster than one after the other. They are written in place, because that is
    /// faster than copying a board.
    #[inline(always)]
    pub(super) fn replace(&self, gone: u64, set: u64, color: Color, role: Role, next: &mut Board) {
        let colors = &ONLY_COLOR[color as usize];
        let roles = &ONLY_ROLE[role as usize];
        for ((next, now), is_its) in next.colors.iter_mut().zip(self.colors).zip(colors) {
            *next = now & !gone | set & is_its;
        }
        for ((next, now), is_its) in next.roles.iter_mut().zip(self.roles).zip(roles) {
            *next = now & !gone | set & is_its;
        }
    }

    /// Puts a piece on a square, in place of any piece on it; `None` empties the square.
    pub const fn put(&mut self, square: Square, piece: Option<Piece>) {
        let keep = !square.bit();
        self.colors[0] &= keep;
        self.colors[1] &= keep;
        let mut role = 0;
        while role < 6 {
            self.roles[role] &= keep;
            role += 1;
        }
        if let Some(Piece { color, role }) = piece {
            self.colors[color as usize] |= square.bit();
            self.roles[role as usize] |= square.bit();
        }
    }

    /// The king of a colour; `None` unless the colour has exactly one king.
    pub const fn king(&self, color: Color) -> Option<Square> {
        let kings = self.pieces(color, Role::King);
        if kings.count() == 1 { kings.first() } else { None }
    }
}

const ALL_SQUARES: u64 = !0;
/// Two masks for each colour: all squares for the colour itself, no square for the other colour.
static ONLY_COLOR: [[u64; 2]; 2] = [[ALL_SQUARES, 0], [0, ALL_SQUARES]];
/// Six masks for each role: all squares for the role itself, no square for the other roles.
static ONLY_ROLE: [[u64; 6]; 6] = {
    let mut table = [[0; 6]; 6];
    let mut role = 0;
    while role < 6 {
        table[role][role] = ALL_SQUARES;
        role += 1;
    }
    table
};
