//! Squares, colours, roles and pieces.

use std::fmt;
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
    /// When one of them is more than 7; in a constant the compiler refuses it.
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

    /// The set that holds this square alone; bit 0 is a1.
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

    /// The squares of a set, lowest first.
    pub fn each(set: u64) -> impl Iterator<Item = Square> {
        let mut rest = set;
        std::iter::from_fn(move || {
            let square = Square::lowest(rest)?;
            rest &= rest - 1;
            Some(square)
        })
    }

    /// The lowest square of a set.
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

/// What names no square.
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

    /// Reads `a1` … `h8`.
    fn from_str(text: &str) -> Result<Square, SquareError> {
        Square::try_from(text.as_bytes())
    }
}

/// White or Black.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Color {
    /// Moves first in the start array; upper-case piece letters.
    White,
    /// Lower-case piece letters.
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

impl std::ops::Not for Color {
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
    /// Whose it is.
    pub color: Color,
    /// What it is.
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
