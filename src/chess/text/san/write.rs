//! Writer of moves.

use crate::model::rules::{Move, Playable};
use crate::model::{Position, Role, San, Side, Square};

/// Writes the canonical SAN of a legal move, with check and mate marks.
///
/// For a move that is not legal in the position, the result looks like SAN but has no meaning.
///
/// ```
/// use epdb_chess::model::{Position, Square, rules::{Move, Playable}};
/// let start = Playable::new(&Position::START).expect("playable");
/// let mv = Move { from: Square::at(6, 0), to: Square::at(5, 2), promotion: None };
/// assert_eq!(epdb_chess::text::san::format(&start, mv).as_bytes(), b"Nf3");
/// ```
pub fn format(playable: &Playable, mv: Move) -> San {
    play(playable, mv).0
}

/// Returns the canonical SAN of a legal move, and the position after it.
pub(super) fn play(playable: &Playable, mv: Move) -> (San, Playable) {
    let mut text = SanText::default();
    write_unmarked(playable, mv, &mut text);
    let after = playable.after(mv);
    if after.is_check() {
        text.push(if after.has_move() { b'+' } else { b'#' });
    }
    (text.finish(), after)
}

/// Writes a move in the form of UCI engines: `e2e4`, `a7a8q`. Castling is `e1g1` if all kings and
/// rooks with rights are on their squares of the start array. Otherwise castling is written as the
/// king taking its rook ([`crate::model::Position::is_chess960`]).
///
/// ```
/// use epdb_chess::model::{Position, rules::Playable};
/// use epdb_chess::text::{Profile, san};
/// let start = Playable::new(&Position::START).expect("playable");
/// let read = san::parse(&start, b"Nf3", Profile::Strict)?;
/// assert_eq!(san::uci(&start, read.mv), "g1f3");
/// # Ok::<(), san::MoveError>(())
/// ```
pub fn uci(playable: &Playable, mv: Move) -> String {
    let mut text = Vec::with_capacity(5);
    write_uci(playable.position(), mv, &mut text);
    text.into_iter().map(char::from).collect()
}

/// Appends the text of [`uci`] for a legal move of a position.
pub fn write_uci(position: &Position, mv: Move, out: &mut Vec<u8>) {
    let us = position.turn();
    let mut to = mv.to;
    // Only a king that castles moves to a square of its own side.
    if position.board().color(us).contains(to) && !position.is_chess960() {
        let side = if to.file() > mv.from.file() { Side::King } else { Side::Queen };
        to = side.targets(us).0;
    }
    out.extend_from_slice(&mv.from.to_ascii());
    out.extend_from_slice(&to.to_ascii());
    out.extend(mv.promotion.map(|role| role.letter().to_ascii_lowercase()));
}

/// Writes the SAN of a legal move without check and mate marks. Move ordinals are the places of
/// legal moves that are sorted by this text.
pub fn without_marks(playable: &Playable, mv: Move) -> San {
    let mut text = SanText::default();
    write_unmarked(playable, mv, &mut text);
    text.finish()
}

fn write_unmarked(playable: &Playable, mv: Move, text: &mut SanText) {
    let board = playable.position().board();
    let role = board.role_at(mv.from).unwrap_or(Role::Pawn);
    if let Some(side) = playable.castling_side(mv) {
        let castling: &[u8] = if side == Side::King { b"O-O" } else { b"O-O-O" };
        castling.iter().for_each(|&byte| text.push(byte));
        return;
    }
    let [from_file, from_rank] = mv.from.to_ascii();
    let captures = playable.is_capture(mv);
    if role == Role::Pawn {
        if captures {
            text.push(from_file);
        }
    } else {
        text.push(role.letter());
        let rivals = playable.origins(role, mv.to).bits() & !mv.from.bit();
        if role != Role::King && rivals != 0 {
            let same_file = rivals & file_set(mv.from) != 0;
            let same_rank = rivals & rank_set(mv.from) != 0;
            if !same_file || same_rank {
                text.push(from_file);
            }
            if same_file {
                text.push(from_rank);
            }
        }
    }
    if captures {
        text.push(b'x');
    }
    mv.to.to_ascii().into_iter().for_each(|byte| text.push(byte));
    if let Some(promoted) = mv.promotion {
        text.push(b'=');
        text.push(promoted.letter());
    }
}

pub(super) const fn file_set(square: Square) -> u64 {
    0x0101_0101_0101_0101 << square.file()
}

pub(super) const fn rank_set(square: Square) -> u64 {
    0xff << (square.rank() * 8)
}

#[derive(Default)]
struct SanText {
    bytes: [u8; 7],
    len: usize,
}

impl SanText {
    /// Appends a byte. Canonical SAN never exceeds seven bytes; more bytes are dropped.
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    fn finish(self) -> San {
        San::from_parts(self.bytes, self.len)
    }
}
