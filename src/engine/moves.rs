//! Moves of engines, by the rules of chess.

use crate::model::Operand;
use crate::model::rules::Playable;
use crate::text::{Profile, san};

/// A move that was read.
pub(super) struct MoveRead {
    pub(super) operand: Operand,
    pub(super) after: Playable,
}

/// Reads a legal move in coordinates; castling is told in either way that engines tell it.
pub(super) fn read_move(playable: &Playable, word: &str) -> Option<MoveRead> {
    let is_coordinates = word.is_ascii() && matches!(word.len(), 4 | 5);
    let read = san::parse(playable, word.as_bytes(), Profile::Lenient).ok()?;
    let from = read.mv.from.to_ascii();
    (is_coordinates && word.as_bytes().starts_with(&from)).then_some(MoveRead {
        operand: Operand::Move { mv: read.mv, san: read.san },
        after: read.after,
    })
}

/// A line of moves.
pub(super) struct Line {
    pub(super) moves: Vec<Operand>,
    /// The position in which it ends.
    pub(super) end: Playable,
    /// The move that is not legal behind those, if there is one.
    pub(super) illegal: Option<String>,
}

/// Reads a line up to a move that is not legal.
pub(super) fn read_line(start: &Playable, words: &[String]) -> Line {
    let mut line = Line { moves: Vec::new(), end: *start, illegal: None };
    for word in words {
        let Some(MoveRead { operand, after }) = read_move(&line.end, word) else {
            line.illegal = Some(word.clone());
            break;
        };
        line.moves.push(operand);
        line.end = after;
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(fen: &str, word: &str) -> Option<String> {
        let record = crate::parse_epd(fen.as_bytes()).unwrap();
        let playable = Playable::new(record.position()).unwrap();
        let read = read_move(&playable, word)?;
        Some(String::from_utf8(read.operand.text()).unwrap())
    }

    #[test]
    fn coordinates_become_san() {
        let castling = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        assert_eq!(read(castling, "e1g1").as_deref(), Some("O-O"));
        assert_eq!(read(castling, "e1h1").as_deref(), Some("O-O"));
        assert_eq!(read(castling, "a1a8").as_deref(), Some("Rxa8+"));
        let chess960 = "4k3/8/8/8/8/8/8/5KR1 w G - 0 1";
        assert_eq!(read(chess960, "f1g1").as_deref(), Some("O-O"));
        assert_eq!(read(chess960, "f1f2").as_deref(), Some("Kf2"));
        let promotion = "8/P3k3/8/8/8/8/8/4K3 w - - 0 1";
        assert_eq!(read(promotion, "a7a8n").as_deref(), Some("a8=N"));
        for wrong in ["a7a8", "Ke2", "e1e3", "0000", "e1 e", "a7-a8q", "a8=N", "éé"] {
            assert_eq!(read(promotion, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_line_ends_before_what_is_not_legal() {
        let record = crate::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - -").unwrap();
        let start = Playable::new(record.position()).unwrap();
        let line = read_line(&start, &["e2e4", "e8e7", "e4e6", "e7e8"].map(String::from));
        assert_eq!((line.moves.len(), line.illegal.as_deref()), (2, Some("e4e6")));
    }
}
