//! Moves in odd notations: `Qh4mate`, `00`, `xf6`, `ee4`. They are read if exactly one legal move
//! fits.

use super::read::{Leading, Pattern, find};
use crate::model::Role;
use crate::model::rules::{Move, Playable};
use crate::text::Profile;

/// Returns the legal moves that a text may mean, for a text that is not a move in a usual notation:
///
/// - a doubled letter (`NNf3`), or a capture with its `x` inside the square (`Bcx3`);
/// - a capture by a pawn without its file (`xf6`), or a pawn move with its file (`ee4`);
/// - a file and a square (`ae4`): a move of any piece on that file that can go to the square.
pub fn odd(playable: &Playable, text: &[u8]) -> Vec<Move> {
    let mut moves = by_file_and_square(playable, text).unwrap_or_default();
    moves.extend(respelled(text).iter().filter_map(|text| usual(playable, text)));
    moves.extend(usual(playable, text));
    moves.sort_unstable();
    moves.dedup();
    moves
}

/// Finds the move of a text in a usual notation. `None` if the text has a fault.
pub fn usual(playable: &Playable, text: &[u8]) -> Option<Move> {
    let found = find(playable, text, Profile::Lenient).ok()?;
    (!found.false_capture).then_some(found.mv)
}

/// Finds the castling move of circles (`0`, `O` or `o`), with or without hyphens. Two circles mean
/// the king's side, three the queen's side.
pub(crate) fn castling_of_circles(playable: &Playable, text: &[u8]) -> Option<Move> {
    let text = without_notes(text);
    match circles(text)? {
        2 => usual(playable, b"O-O"),
        3 => usual(playable, b"O-O-O"),
        _ => None,
    }
}

/// Number of circles (`0`, `O` or `o`) in a text; `None` if it has other characters than circles
/// and hyphens.
pub fn circles(text: &[u8]) -> Option<usize> {
    let is_circle = |byte: &u8| matches!(byte, b'0' | b'O' | b'o');
    let is_of_circles = text.iter().all(|byte| is_circle(byte) || *byte == b'-');
    is_of_circles.then(|| text.iter().filter(|byte| is_circle(byte)).count())
}

/// Notes after moves for check and mate; `‡` and `†` also in Windows-1252.
const NOTES: [&[u8]; 16] = [
    b"+",
    b"#",
    "\u{2020}".as_bytes(),
    "\u{2021}".as_bytes(),
    b"\x86",
    b"\x87",
    "\u{d7}".as_bytes(),
    b"x",
    b"checkmate",
    b"mate",
    b"check",
    b"disc",
    b"dis",
    b"double",
    b"dbl",
    b"ch",
];

/// Removes the notes at the end of a text. Letters may have either case.
pub(crate) fn without_notes(mut text: &[u8]) -> &[u8] {
    let before = |text: &[u8], note: &[u8]| {
        let end = text.len().checked_sub(note.len())?;
        text[end..].eq_ignore_ascii_case(note).then_some(end)
    };
    while let Some(end) = NOTES.iter().find_map(|note| before(text, note)) {
        text = &text[..end];
    }
    text
}

/// Whether a text consists of notes. A single `x` is none, because it is likely a capture.
pub(crate) fn is_mark(text: &[u8]) -> bool {
    let is_capture = matches!(text.first(), None | Some(b'x' | b'X'));
    !is_capture && without_notes(text).is_empty()
}

/// Respells a text: without the second of two equal letters, or with `x` before the square.
fn respelled(text: &[u8]) -> Option<Vec<u8>> {
    match text {
        [first, second, ..] if first == second && first.is_ascii_alphabetic() => {
            Some(text[1..].to_vec())
        }
        [piece, file @ b'a'..=b'h', b'x', rank @ b'1'..=b'8'] if piece.is_ascii_uppercase() => {
            Some(vec![*piece, b'x', *file, *rank])
        }
        _ => None,
    }
}

/// Returns the moves that fit a square with a file or an `x` before it, or both.
fn by_file_and_square(playable: &Playable, text: &[u8]) -> Option<Vec<Move>> {
    let pattern = Pattern::read(text, Leading::File)?;
    let Pattern { from_file, from_rank: None, hyphen: false, captures, .. } = pattern else {
        return None;
    };
    if from_file.is_none() && !captures {
        return None;
    }
    let board = playable.position().board();
    let is_pawn = |mv: &Move| board.role_at(mv.from) == Some(Role::Pawn);
    // Without a piece letter it is a pawn move, unless no pawn can come from that file.
    let pawns_only = from_file.is_none_or(|file| file == pattern.to.file());
    let mut moves = playable.legal_moves();
    moves.retain(|mv| {
        mv.to == pattern.to
            && mv.promotion == pattern.promotion
            && from_file.is_none_or(|file| file == mv.from.file())
            && (!pawns_only || is_pawn(mv))
            && (!captures || playable.is_capture(*mv))
            && playable.castling_side(*mv).is_none()
    });
    Some(moves)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::text::san;

    #[track_caller]
    fn means(fen: &str, text: &str, wanted: &[&str]) {
        let playable = Playable::new(&fen.parse().unwrap()).unwrap();
        let moves = odd(&playable, without_notes(text.as_bytes()));
        assert_eq!(san::sorted(&playable, moves), wanted, "{text}");
    }

    #[test]
    fn notes_files_and_captures() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
        for (text, wanted) in [
            ("ee4", &["e4"][..]),
            ("NNf3", &["Nf3"]),
            ("e4ch", &["e4"]),
            ("ae4", &[]),
            ("ge4", &[]),
            ("xe4", &[]),
            ("Ze4", &[]),
            ("gf3", &["Nf3"]),
        ] {
            means(start, text, wanted);
        }
        let passed = "4k3/8/8/4Pp2/8/8/8/4K3 w - f6";
        means(passed, "xf6", &["exf6"]);
        means(passed, "eexf6dbl", &["exf6"]);
        let two = "4k3/8/5n2/4P1P1/8/8/8/4K3 w - -";
        means(two, "xf6", &["exf6", "gxf6"]);
        let rooks = "4k3/8/8/8/R6R/8/8/4K3 w - -";
        means(rooks, "ae4", &["Rae4+"]);
        means(rooks, "he4\u{2021}", &["Rhe4+"]);
        means("4k3/8/8/8/4n3/8/R7/4K3 w - -", "axe4", &[]);
        let pawn = "3nk3/4P3/8/8/8/8/8/4K3 w - -";
        means(pawn, "xd8", &[]);
        means(pawn, "xd8=Q", &["exd8=Q+"]);
        means("4k3/8/8/8/2n5/8/B7/4K3 w - -", "Bcx4", &["Bxc4"]);
        means("6k1/8/8/8/8/8/8/R3K3 w - -", "Ra8mate", &["Ra8+"]);
    }

    #[test]
    fn circles_and_marks() {
        for (text, count) in [("00", Some(2)), ("O-O-o", Some(3)), ("-", Some(0)), ("0-1", None)] {
            assert_eq!(circles(text.as_bytes()), count, "{text}");
        }
        let playable = Playable::new(&"r3k3/8/8/8/8/8/8/4K2R w K -".parse().unwrap()).unwrap();
        let castling = |text: &str| castling_of_circles(&playable, text.as_bytes()).is_some();
        assert!(castling("00") && castling("OO+") && castling("0O#") && castling("0-0ch"));
        assert!(!castling("000") && !castling("0") && !castling("0000") && !castling("e4"));
        assert!(
            is_mark(b"ch")
                && is_mark(b"DBL")
                && !is_mark(b"")
                && !is_mark(b"x")
                && !is_mark(b"Nch")
        );
    }
}
