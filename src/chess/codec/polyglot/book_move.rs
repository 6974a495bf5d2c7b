//! Moves in 16 bits.

use std::fmt;

use crate::model::rules::{Move, Playable};
use crate::model::{Role, Side, Square};

/// A move in the form of books: two squares and a promotion in 16 bits. Castling is the king taking
/// its own rook, as in [`Move`]. The bits do not say to which position the move belongs.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BookMove(u16);

/// The roles of the promotion numbers 1 to 4.
const PROMOTED: [Role; 4] = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

impl BookMove {
    /// No move. Such an entry has only learning data and a weight.
    pub const NONE: BookMove = BookMove(0);

    /// Makes a move from its bits. Any bits are accepted.
    pub const fn from_bits(bits: u16) -> BookMove {
        BookMove(bits)
    }

    /// The bits of the move: five numbers of three bits each. From bit 0 on they are file and rank
    /// of the destination, file and rank of the origin, and the promotion.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The move in coordinates; `None` if no piece on any board can move like this.
    pub fn coordinates(self) -> Option<Move> {
        let Move { from, to, .. } = self.squares();
        let files = from.file().abs_diff(to.file());
        let ranks = from.rank().abs_diff(to.rank());
        let number = usize::from(self.0 >> 12);
        let promotion = PROMOTED.get(number.wrapping_sub(1)).copied();
        let is_move = match promotion {
            Some(_) => files <= 1 && matches!((from.rank(), to.rank()), (6, 7) | (1, 0)),
            None => {
                let is_line = files == 0 || ranks == 0 || files == ranks;
                number == 0 && from != to && (is_line || files + ranks == 3)
            }
        };
        is_move.then_some(Move { from, to, promotion })
    }

    /// Returns the move if it is legal in a position. Castling written as a two-square move of the
    /// king is accepted too, unless the same two squares are another legal move.
    pub fn legal_in(self, playable: &Playable) -> Option<Move> {
        let mv = self.coordinates()?;
        if playable.is_legal(mv) {
            return Some(mv);
        }
        let turn = playable.position().turn();
        let is_step = mv.from == playable.king() && mv.from.file().abs_diff(mv.to.file()) == 2;
        let castles = |side: &Side| is_step && side.targets(turn).0 == mv.to;
        let side = Side::ALL.into_iter().find(castles)?;
        playable.castling(side).map(|rook| Move { to: rook, ..mv })
    }

    fn squares(self) -> Move {
        let square = |bits: u16| Square::at((bits & 7) as u8, (bits >> 3 & 7) as u8);
        Move { from: square(self.0 >> 6), to: square(self.0), promotion: None }
    }
}

impl From<Move> for BookMove {
    fn from(mv: Move) -> BookMove {
        let place = |role| PROMOTED.iter().position(|&promoted| promoted == role);
        let promotion = mv.promotion.and_then(place).map_or(0, |place| place as u16 + 1);
        BookMove((mv.to.index() | mv.from.index() << 6) as u16 | promotion << 12)
    }
}

impl fmt::Display for BookMove {
    /// Writes coordinates, as for a [`Move`]. No move is `0000`. A move that no piece can make is
    /// written as its bits in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.coordinates() {
            Some(mv) => mv.fmt(f),
            None if *self == BookMove::NONE => f.write_str("0000"),
            None => write!(f, "{:#06x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Every move that can be legal in some position has bits, and these bits are read as that
    /// move.
    #[test]
    fn bits_are_moves_and_moves_are_bits() {
        let mut count = 0;
        for bits in 0..=u16::MAX {
            let Some(mv) = BookMove::from_bits(bits).coordinates() else { continue };
            count += 1;
            assert_eq!(BookMove::from(mv).bits(), bits);
            assert_eq!(BookMove::from_bits(bits).to_string().parse(), Ok(mv));
        }
        // Moves of queens and of knights on an empty board, and 22 promotions of each side to four
        // roles.
        assert_eq!(count, 1456 + 336 + 2 * 22 * 4);
        assert_eq!(BookMove::from_bits(0).to_string(), "0000");
        for (bits, text) in
            [(0x031c, "e2e4"), (0x1346, "f2g1n"), (0x0107, "e1h1"), (0x7fff, "0x7fff")]
        {
            assert_eq!(BookMove::from_bits(bits).to_string(), text);
        }
    }

    fn legal(fen: &str, mv: &str) -> Option<String> {
        let record = crate::parse_epd(fen.as_bytes()).unwrap();
        let playable = Playable::new(record.position()).unwrap();
        let mv = BookMove::from(mv.parse::<Move>().unwrap());
        mv.legal_in(&playable).map(|mv| mv.to_string())
    }

    #[test]
    fn castling_is_the_king_taking_its_rook() {
        let both = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq -";
        for (written, meant) in
            [("e1h1", "e1h1"), ("e1a1", "e1a1"), ("e1g1", "e1h1"), ("e1c1", "e1a1")]
        {
            assert_eq!(legal(both, written).as_deref(), Some(meant));
        }
        assert_eq!(legal(both, "e1b1"), None);
        assert_eq!(legal("r3k2r/8/8/8/8/8/8/R3K2R w Qkq -", "e1g1"), None, "without the right");
        assert_eq!(legal("r3k2r/8/8/8/8/8/8/R3K2R b KQkq -", "e8c8").as_deref(), Some("e8a8"));
        // A rook that moves from e1 to a1 is not a king that castles.
        assert_eq!(legal("k7/8/8/8/8/8/8/4R1K1 w - -", "e1a1").as_deref(), Some("e1a1"));
        // With its rook on g1, `f1g1` is castling; if g1 is empty, it is a step of the king.
        assert_eq!(legal("4k3/8/8/8/8/8/8/5KR1 w G -", "f1g1").as_deref(), Some("f1g1"));
        assert_eq!(legal("4k3/8/8/8/8/8/8/5K1R w K -", "f1g1").as_deref(), Some("f1g1"));
    }

    #[test]
    fn promotions_name_what_the_pawn_becomes() {
        let fen = "1n2k3/P7/8/8/8/8/8/4K3 w - -";
        for mv in ["a7a8q", "a7a8n", "a7b8r", "a7b8b"] {
            assert_eq!(legal(fen, mv).as_deref(), Some(mv));
        }
        assert_eq!(legal(fen, "a7a8"), None);
        assert_eq!(legal(fen, "e1e2").as_deref(), Some("e1e2"));
    }
}
