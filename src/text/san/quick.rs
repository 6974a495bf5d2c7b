//! The usual SAN, read without preparing the position for all of its moves.

use crate::model::rules::{BACK_RANKS, Move, between, pawn_attacks, role_attacks};
use crate::model::{Color, Position, Role, Square};

/// The legal move of a text that is written as SAN demands, if it is one that can be found without
/// much ado; check and mate marks are not examined. `None` says nothing about the text: the full
/// reader decides then.
///
/// The position must be playable, its en passant square possible.
pub(crate) fn quick(position: &Position, text: &[u8]) -> Option<Move> {
    let text = match text {
        [text @ .., b'+' | b'#'] => text,
        text => text,
    };
    let mv = match text {
        [b'a'..=b'h', ..] => pawn_move(position, text)?,
        [b'N', rest @ ..] => return piece_move(position, Role::Knight, rest),
        [b'B', rest @ ..] => return piece_move(position, Role::Bishop, rest),
        [b'R', rest @ ..] => return piece_move(position, Role::Rook, rest),
        [b'Q', rest @ ..] => return piece_move(position, Role::Queen, rest),
        [b'K', rest @ ..] => return piece_move(position, Role::King, rest),
        _ => return None,
    };
    keeps_king_safe(position, mv, Role::Pawn).then_some(mv)
}

/// `e4`, `exd5`, `e8=Q`, `exd8=Q`.
fn pawn_move(position: &Position, text: &[u8]) -> Option<Move> {
    let (text, promotion) = match text {
        [text @ .., b'=', letter @ (b'N' | b'B' | b'R' | b'Q')] => {
            (text, Role::from_letter(*letter))
        }
        text => (text, None),
    };
    let board = position.board();
    let us = position.turn();
    let pawns = board.pieces(us, Role::Pawn);
    let (to, from) = match *text {
        [file, rank] => {
            let to = Square::from_ascii(&[file, rank])?;
            let one = behind(us, to.bit());
            let two = behind(us, one);
            let double_rank = if us == Color::White { 3 } else { 4 };
            let free = !board.occupied();
            let from = if pawns & one != 0 {
                one
            } else if to.rank() == double_rank && free & one != 0 {
                pawns & two
            } else {
                0
            };
            (to, if free & to.bit() != 0 { from } else { 0 })
        }
        [from_file, b'x', file, rank] => {
            let to = Square::from_ascii(&[file, rank])?;
            let file = 0x0101_0101_0101_0101 << (from_file - b'a');
            let prey = board.color(!us) & to.bit() != 0 || position.en_passant() == Some(to);
            (to, if prey { pawn_attacks(!us, to) & pawns & file } else { 0 })
        }
        _ => return None,
    };
    let promotes = to.bit() & BACK_RANKS != 0;
    let from = Square::lowest(from).filter(|_| promotes == promotion.is_some())?;
    Some(Move { from, to, promotion })
}

/// The square behind each of a set, as a side's pawns see it.
const fn behind(us: Color, set: u64) -> u64 {
    match us {
        Color::White => set >> 8,
        Color::Black => set << 8,
    }
}

/// `Nf3`, `Nbd2`, `R1e2`, `Qa6xb7`, all without the letter.
fn piece_move(position: &Position, role: Role, text: &[u8]) -> Option<Move> {
    let [from @ .., file, rank] = text else { return None };
    let to = Square::from_ascii(&[*file, *rank])?;
    let (from, captures) = match from {
        [from @ .., b'x'] => (from, true),
        from => (from, false),
    };
    let origin = match *from {
        [] => !0,
        [file @ b'a'..=b'h'] => 0x0101_0101_0101_0101 << (file - b'a'),
        [rank @ b'1'..=b'8'] => 0xff << (8 * (rank - b'1')),
        [file, rank] => Square::from_ascii(&[file, rank])?.bit(),
        _ => return None,
    };
    let board = position.board();
    let us = position.turn();
    if board.color(us) & to.bit() != 0 || captures != (board.color(!us) & to.bit() != 0) {
        return None;
    }
    let candidates = role_attacks(role, to, board.occupied()) & board.pieces(us, role) & origin;
    let mut legal = Square::each(candidates)
        .map(|from| Move { from, to, promotion: None })
        .filter(|mv| keeps_king_safe(position, *mv, role));
    let mv = legal.next()?;
    legal.next().is_none().then_some(mv)
}

/// Whether the own king is not attacked after a move that is no castling.
fn keeps_king_safe(position: &Position, mv: Move, role: Role) -> bool {
    let board = position.board();
    let us = position.turn();
    let king = if role == Role::King { Some(mv.to) } else { board.king(us) };
    let Some(king) = king else { return false };
    let mut captured = mv.to.bit();
    if role == Role::Pawn && position.en_passant() == Some(mv.to) {
        captured |= behind(us, mv.to.bit());
    }
    let occupied = board.occupied() & !captured & !mv.from.bit() | mv.to.bit();
    let them = board.color(!us) & !captured;
    let of = |role| them & board.role(role);
    let steps = role_attacks(Role::Knight, king, 0) & of(Role::Knight)
        | pawn_attacks(us, king) & of(Role::Pawn)
        | role_attacks(Role::King, king, 0) & of(Role::King);
    // Few pieces stand on lines with the king, so each is looked at.
    let queens = of(Role::Queen);
    let sliders = role_attacks(Role::Rook, king, 0) & (of(Role::Rook) | queens)
        | role_attacks(Role::Bishop, king, 0) & (of(Role::Bishop) | queens);
    steps == 0 && Square::each(sliders).all(|from| between(king, from) & occupied != 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::rules::Playable;
    use crate::text::{Profile, fen, san};

    /// What is found quickly is what the full reader finds, in each position of the vectors for all
    /// its moves and for those of the other positions; and nearly all legal moves are.
    #[test]
    fn what_is_found_is_what_the_full_reader_finds() {
        let rows: Vec<Vec<&str>> = include_str!("../../../tests/vectors/move_lists.tsv")
            .lines()
            .skip(1)
            .map(|line| line.split('\t').collect())
            .collect();
        let texts: std::collections::BTreeSet<&str> =
            rows.iter().flat_map(|row| row[5].split(' ')).collect();
        let (mut found, mut legal, mut refused) = (0, 0, 0);
        for row in &rows {
            let record = fen::parse(row[3].as_bytes(), Profile::Lenient).unwrap();
            let Ok(playable) = Playable::new(record.position()) else { continue };
            for text in &texts {
                let full = san::find(&playable, text.as_bytes(), Profile::Standard);
                match quick(playable.position(), text.as_bytes()) {
                    Some(mv) => {
                        assert_eq!(full.map(|full| full.mv), Ok(mv), "{text} in {}", row[3]);
                        found += 1;
                    }
                    None => refused += usize::from(full.is_err()),
                }
            }
            legal += row[5].split(' ').filter(|text| !text.starts_with('O')).count();
            for text in row[5].split(' ').filter(|text| !text.starts_with('O')) {
                assert!(quick(playable.position(), text.as_bytes()).is_some(), "{text} {}", row[3]);
            }
        }
        assert!(found >= legal && refused > legal, "{found} {legal} {refused}");
    }
}
