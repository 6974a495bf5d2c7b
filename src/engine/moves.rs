//! Reads the moves of engines.

use epdb_chess::model::Operand;
use epdb_chess::model::rules::Playable;
use epdb_chess::text::{Profile, san};

pub(super) struct MoveRead {
    pub(super) operand: Operand,
    pub(super) after: Playable,
}

/// Parses a legal move in coordinates. Castling may be written as a king move of two squares, or as
/// the king taking its rook.
pub(super) fn read_move(playable: &Playable, word: &str) -> Option<MoveRead> {
    if !word.is_ascii() || !matches!(word.len(), 4 | 5) {
        return None;
    }
    let read = san::parse(playable, word.as_bytes(), Profile::Lenient).ok()?;
    // SAN may have four letters too.
    if !word.as_bytes().starts_with(&read.mv.from.to_ascii()) {
        return None;
    }
    let operand = Operand::Move { mv: read.mv, san: read.san };
    Some(MoveRead { operand, after: read.after })
}

pub(super) struct ParsedLine {
    pub(super) moves: Vec<Operand>,
    /// The position after the last move.
    pub(super) end: Playable,
    /// The first illegal move, which ends the line.
    pub(super) illegal: Option<String>,
}

/// Parses a line up to its first illegal move.
pub(super) fn read_line(start: &Playable, words: &[String]) -> ParsedLine {
    let mut line = ParsedLine { moves: Vec::new(), end: *start, illegal: None };
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
        let record = epdb_chess::parse_epd(fen.as_bytes()).unwrap();
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
    fn a_line_ends_before_an_illegal_move() {
        let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - -").unwrap();
        let start = Playable::new(record.position()).unwrap();
        let line = read_line(&start, &["e2e4", "e8e7", "e4e6", "e7e8"].map(String::from));
        assert_eq!((line.moves.len(), line.illegal.as_deref()), (2, Some("e4e6")));
    }
}
