//! Squares and sets of squares, colours, roles and pieces.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitXor, Not, Sub};
use std::str::FromStr;

/// One of the 64 squares, numbered rank by rank: a1 = 0, b1 = 1, … h8 = 63.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Square(u8);

impl Square {
    /// The square with this number, 0 to 63.
    pub const fn new(index: u8) -> Option<Square> {
        if index < 64 { Some(Square(index)) } else { None }
    }

    /// The square on a file and a rank, each 0 to 7.
    ///
    /// # Panics
    /// If one of them is more than 7. In a constant, this is an error of the compiler.
    #[inline]
    pub const fn at(file: u8, rank: u8) -> Square {
        assert!(file < 8 && rank < 8, "a file and a rank are 0 to 7");
        Square(rank * 8 + file)
    }

    /// The number of the square, 0 to 63.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The file, 0 (a) to 7 (h).
    pub const fn file(self) -> u8 {
        self.0 & 7
    }

    /// The rank, 0 (first) to 7 (eighth).
    pub const fn rank(self) -> u8 {
        self.0 >> 3
    }

    /// The bit of the square in a set of squares; bit 0 is a1.
    #[inline(always)]
    pub const fn bit(self) -> u64 {
        1 << self.0
    }

    /// Reads `a1` … `h8` (lower case, exactly two bytes).
    pub fn from_ascii(text: &[u8]) -> Option<Square> {
        match *text {
            [file @ b'a'..=b'h', rank @ b'1'..=b'8'] => Some(Square::at(file - b'a', rank - b'1')),
            _ => None,
        }
    }

    /// The two bytes of the square's name, such as `*b"e4"`.
    pub const fn to_ascii(self) -> [u8; 2] {
        [b'a' + self.file(), b'1' + self.rank()]
    }

    /// The squares of a set of bits, lowest first.
    #[inline(always)]
    pub fn each(set: u64) -> Squares {
        Bitboard(set).into_iter()
    }

    /// The lowest square of a set of bits.
    #[inline(always)]
    pub const fn lowest(set: u64) -> Option<Square> {
        Square::new(set.trailing_zeros() as u8)
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [file, rank] = self.to_ascii();
        write!(f, "{}{}", char::from(file), char::from(rank))
    }
}

impl fmt::Debug for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error of a text or number that is not a square.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a square is `a1` to `h8`, or 0 to 63")]
pub struct SquareError;

impl TryFrom<u8> for Square {
    type Error = SquareError;

    /// The square with this number, 0 to 63.
    fn try_from(index: u8) -> Result<Square, SquareError> {
        Square::new(index).ok_or(SquareError)
    }
}

impl TryFrom<&[u8]> for Square {
    type Error = SquareError;

    fn try_from(text: &[u8]) -> Result<Square, SquareError> {
        Square::from_ascii(text).ok_or(SquareError)
    }
}

impl FromStr for Square {
    type Err = SquareError;

    /// Reads the name of a square, `a1` to `h8`.
    fn from_str(text: &str) -> Result<Square, SquareError> {
        Square::try_from(text.as_bytes())
    }
}

/// A set of squares, one bit each: bit 0 is a1, bit 1 is b1, bit 63 is h8.
///
/// Sets combine by `&`, `|`, `^`, `!` and `-`, and iterate over their squares from a1 to h8. `From`
/// converts from and to `u64`, the form of other libraries.
///
/// ```
/// use epdb_chess::model::{Bitboard, Color, Position, Role, Square};
/// let board = *Position::START.board();
/// let knights = board.color(Color::White) & board.role(Role::Knight);
/// assert_eq!(knights.into_iter().map(|square| square.to_string()).collect::<Vec<_>>(), ["b1", "g1"]);
/// assert_eq!((knights.count(), u64::from(knights)), (2, 0x42));
/// assert!(knights.contains(Square::at(1, 0)) && (knights - board.occupied()).is_empty());
/// assert_eq!(knights, ["b1", "g1"].iter().flat_map(|name| name.parse::<Square>()).collect());
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Bitboard(pub u64);

impl Bitboard {
    /// The set without squares.
    pub const EMPTY: Bitboard = Bitboard(0);

    /// The set of all 64 squares.
    pub const ALL: Bitboard = Bitboard(!0);

    /// The bits of the set, a1 the lowest.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Number of squares.
    #[inline(always)]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// True if the set has no square.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if the set has this square.
    #[inline(always)]
    pub const fn contains(self, square: Square) -> bool {
        self.0 & square.bit() != 0
    }

    /// The lowest square.
    #[inline(always)]
    pub const fn first(self) -> Option<Square> {
        Square::lowest(self.0)
    }
}

impl fmt::Debug for Bitboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}

impl From<u64> for Bitboard {
    #[inline(always)]
    fn from(bits: u64) -> Bitboard {
        Bitboard(bits)
    }
}

impl From<Bitboard> for u64 {
    #[inline(always)]
    fn from(set: Bitboard) -> u64 {
        set.0
    }
}

impl From<Square> for Bitboard {
    #[inline(always)]
    fn from(square: Square) -> Bitboard {
        Bitboard(square.bit())
    }
}

macro_rules! operators {
    ($($name:ident $function:ident |$first:ident, $second:ident| $result:expr;)*) => {$(
        impl $name for Bitboard {
            type Output = Bitboard;

            #[inline(always)]
            fn $function(self, other: Bitboard) -> Bitboard {
                let ($first, $second) = (self.0, other.0);
                Bitboard($result)
            }
        }
    )*};
}

operators! {
    BitAnd bitand |a, b| a & b;
    BitOr bitor |a, b| a | b;
    BitXor bitxor |a, b| a ^ b;
    Sub sub |a, b| a & !b;
}

impl Not for Bitboard {
    type Output = Bitboard;

    #[inline(always)]
    fn not(self) -> Bitboard {
        Bitboard(!self.0)
    }
}

/// Iterator over the squares of a [`Bitboard`], from a1 to h8.
#[derive(Clone, Debug)]
pub struct Squares(u64);

impl Iterator for Squares {
    type Item = Square;

    #[inline(always)]
    fn next(&mut self) -> Option<Square> {
        let square = Square::lowest(self.0)?;
        self.0 &= self.0 - 1;
        Some(square)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.count_ones() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Squares {}

impl IntoIterator for Bitboard {
    type Item = Square;
    type IntoIter = Squares;

    #[inline(always)]
    fn into_iter(self) -> Squares {
        Squares(self.0)
    }
}

impl FromIterator<Square> for Bitboard {
    fn from_iter<I: IntoIterator<Item = Square>>(squares: I) -> Bitboard {
        Bitboard(squares.into_iter().fold(0, |set, square| set | square.bit()))
    }
}

/// White or Black.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Color {
    /// White, with upper-case piece letters in FEN. White moves first in the start array.
    White,
    /// Black, with lower-case piece letters in FEN.
    Black,
}

impl Color {
    /// White, then Black.
    pub const ALL: [Color; 2] = [Color::White, Color::Black];

    /// The index of the rank, 0 to 7, on which this side's pieces start.
    pub const fn back_rank(self) -> u8 {
        match self {
            Color::White => 0,
            Color::Black => 7,
        }
    }
}

impl Not for Color {
    type Output = Color;

    fn not(self) -> Color {
        match self {
            Color::White => Color::Black,
            Color::Black => Color::White,
        }
    }
}

/// A kind of piece: pawn, knight, bishop, rook, queen or king.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// Pawn.
    Pawn,
    /// Knight.
    Knight,
    /// Bishop.
    Bishop,
    /// Rook.
    Rook,
    /// Queen.
    Queen,
    /// King.
    King,
}

impl Role {
    /// All six roles, pawn first, king last.
    pub const ALL: [Role; 6] =
        [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King];

    /// The English letter of the role in upper case: `P N B R Q K`.
    pub const fn letter(self) -> u8 {
        b"PNBRQK"[self as usize]
    }

    /// The role of an upper-case English letter.
    pub const fn from_letter(letter: u8) -> Option<Role> {
        match letter {
            b'P' => Some(Role::Pawn),
            b'N' => Some(Role::Knight),
            b'B' => Some(Role::Bishop),
            b'R' => Some(Role::Rook),
            b'Q' => Some(Role::Queen),
            b'K' => Some(Role::King),
            _ => None,
        }
    }
}

/// A piece of one colour.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Piece {
    /// The side of the piece.
    pub color: Color,
    /// The role of the piece.
    pub role: Role,
}

impl Piece {
    /// The letter in FEN placements: upper case White, lower case Black.
    pub const fn letter(self) -> u8 {
        match self.color {
            Color::White => self.role.letter(),
            Color::Black => self.role.letter().to_ascii_lowercase(),
        }
    }

    /// The piece of a FEN letter.
    pub const fn from_letter(letter: u8) -> Option<Piece> {
        let color = if letter.is_ascii_uppercase() { Color::White } else { Color::Black };
        match Role::from_letter(letter.to_ascii_uppercase()) {
            Some(role) => Some(Piece { color, role }),
            None => None,
        }
    }
}
