//! Fast path for usual SAN. It does not prepare move generation for the position.

use crate::model::rules::{
    BACK_RANKS, Move, aligned_sliders, attackers, between, castling_rook, pawn_attacks,
    pseudo_attacks, ray_beyond,
};
use crate::model::{Color, Position, Role, Side, Square};

/// A token of at most seven bytes, the length of the longest SAN.
#[derive(Copy, Clone, Debug)]
pub struct Token {
    /// The bytes of the text, with its last byte in the highest byte.
    bytes: u64,
    first: u8,
    len: u8,
}

impl Token {
    /// Takes the text before the first blank or control byte; `None` if the eight bytes have none.
    #[inline]
    pub(crate) fn before_blank(text: [u8; 8]) -> Option<Token> {
        const ONES: u64 = u64::MAX / 255;
        let bytes = u64::from_le_bytes(text);
        // Sets the top bit of each byte below 0x21. Only the lowest bit that is set is reliable,
        // because the subtraction borrows from higher bytes.
        let ends = bytes.wrapping_sub(ONES * 0x21) & !bytes & (ONES << 7);
        if ends == 0 {
            return None;
        }
        Some(Token::from_bytes(bytes, (ends.trailing_zeros() / 8) as u8))
    }

    /// Takes a whole text; `None` if it has more than seven bytes.
    pub(crate) fn new(text: &[u8]) -> Option<Token> {
        let len = u8::try_from(text.len()).ok().filter(|len| *len < 8)?;
        let mut bytes = [0; 8];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Token::from_bytes(u64::from_le_bytes(bytes), len))
    }

    /// Takes the lowest `len` bytes, at most seven.
    #[inline]
    const fn from_bytes(bytes: u64, len: u8) -> Token {
        // Two shifts, because with 0 bytes a single shift would be by all 64 bits.
        Token { bytes: bytes << 8 << (56 - 8 * len as u32), first: bytes as u8, len }
    }

    /// Size in bytes of the token.
    #[inline]
    pub(crate) const fn len(self) -> usize {
        self.len as usize
    }

    /// One of the last seven bytes, counted from 1 at the end; 0 if the token is shorter.
    #[inline]
    const fn byte_at_end(self, place: u32) -> u8 {
        (self.bytes >> (64 - 8 * place)) as u8
    }

    /// True if the token is this text, which must not be empty.
    #[inline]
    fn is(self, text: &[u8]) -> bool {
        Token::new(text).is_some_and(|text| text.bytes == self.bytes && text.len == self.len)
    }

    /// Removes the last `count` bytes. The token must be longer.
    #[inline]
    const fn without(self, count: u8) -> Token {
        Token { bytes: self.bytes << (8 * count), len: self.len - count, ..self }
    }
}

/// A position, with the fact whether the side to move may be in check.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Situation<'p> {
    /// A playable position. An en passant square, if any, was passed by a possible double step.
    pub(crate) position: &'p Position,
    /// False only if the side to move is certainly not in check.
    pub(crate) may_be_check: bool,
}

/// Finds the legal move of a text in exact SAN, if it can be found quickly. Returns the move and
/// the role of its piece (`None` for castling). Check and mate marks are not checked. If the result
/// is `None`, the text may still be a move, so the full reader must decide.
#[inline]
pub(crate) fn quick(situation: Situation<'_>, token: Token) -> Option<(Move, Option<Role>)> {
    if token.len < 2 {
        return None;
    }
    let token = token.without(u8::from(matches!(token.byte_at_end(1), b'+' | b'#')));
    if token.first.wrapping_sub(b'a') < 8 {
        return Some((pawn_move(situation, token)?, Some(Role::Pawn)));
    }
    match PIECES[usize::from(token.first)] {
        Some(role) => Some((piece_move(situation, role, token)?, Some(role))),
        None => Some((castling(situation, token)?, None)),
    }
}

/// Roles by their letters: a table, because a branch on the letter cannot be predicted.
static PIECES: [Option<Role>; 256] = pieces();

const fn pieces() -> [Option<Role>; 256] {
    let mut table = [None; 256];
    let mut number = Role::Knight as usize;
    while number < Role::ALL.len() {
        let role = Role::ALL[number];
        table[role.letter() as usize] = Some(role);
        number += 1;
    }
    table
}

/// Reads `O-O` and `O-O-O`.
fn castling(situation: Situation<'_>, token: Token) -> Option<Move> {
    let side = if token.is(b"O-O") {
        Side::King
    } else if token.is(b"O-O-O") {
        Side::Queen
    } else {
        return None;
    };
    let Situation { position, may_be_check } = situation;
    let board = position.board();
    let us = position.turn();
    let king = board.king(us)?;
    if may_be_check && attackers(board, king, !us, board.occupied().bits()) != 0 {
        return None;
    }
    let rook = castling_rook(position, king, side)?;
    Some(Move { from: king, to: rook, promotion: None })
}

#[inline]
fn square_at_end(token: Token) -> Option<Square> {
    let file = token.byte_at_end(2).wrapping_sub(b'a');
    let rank = token.byte_at_end(1).wrapping_sub(b'1');
    if file | rank < 8 { Some(Square::at(file & 7, rank & 7)) } else { None }
}

/// Reads `e4`, `exd5`, `e8=Q`, `exd8=Q`.
fn pawn_move(situation: Situation<'_>, token: Token) -> Option<Move> {
    let (token, promotion) = match token.byte_at_end(2) {
        b'=' if matches!(token.len, 4 | 6) => {
            let role = PIECES[usize::from(token.byte_at_end(1))];
            (token.without(2), Some(role.filter(|role| *role != Role::King)?))
        }
        _ => (token, None),
    };
    let to = square_at_end(token)?;
    let position = situation.position;
    let from = match token.len {
        2 => origin_of_step(position, to),
        4 if token.byte_at_end(3) == b'x' => origin_of_capture(position, token.byte_at_end(4), to),
        _ => return None,
    };
    let promotes = to.bit() & BACK_RANKS != 0;
    if promotes != promotion.is_some() {
        return None;
    }
    let mv = Move { from: Square::lowest(from)?, to, promotion };
    keeps_king_safe(situation, mv, Role::Pawn).then_some(mv)
}

/// A bitboard with the pawn that can step to a square, or an empty one.
fn origin_of_step(position: &Position, to: Square) -> u64 {
    const SECOND_RANKS: u64 = 0x00ff_0000_0000_ff00;
    let board = position.board();
    let us = position.turn();
    let free = !board.occupied().bits();
    let one = behind(us, free & to.bit());
    // The square behind a pawn is no origin, because that pawn is in the way.
    let two = behind(us, free & one) & SECOND_RANKS;
    board.pieces(us, Role::Pawn).bits() & (one | two)
}

/// A bitboard with the pawn on a file that can capture on a square, or an empty one.
fn origin_of_capture(position: &Position, file_letter: u8, to: Square) -> u64 {
    let board = position.board();
    let us = position.turn();
    if !board.color(!us).contains(to) && position.en_passant() != Some(to) {
        return 0;
    }
    pawn_attacks(!us, to) & board.pieces(us, Role::Pawn).bits() & file_set(file_letter)
}

/// The squares of a file from `a` to `h`.
const fn file_set(letter: u8) -> u64 {
    0x0101_0101_0101_0101 << (letter.wrapping_sub(b'a') & 7)
}

/// Moves each square of a set one rank back, as a side's pawns see it.
const fn behind(us: Color, set: u64) -> u64 {
    match us {
        Color::White => set >> 8,
        Color::Black => set << 8,
    }
}

/// Reads `Nf3`, `Nbd2`, `R1e2`, `Qa6xb7`.
#[inline]
fn piece_move(situation: Situation<'_>, role: Role, token: Token) -> Option<Move> {
    let to = square_at_end(token)?;
    let captures = token.byte_at_end(3) == b'x';
    // The text between the piece letter and the destination or its `x`.
    let origin = match token.len.checked_sub(3 + u8::from(captures))? {
        0 => !0,
        count => origin_set(token.without(2 + u8::from(captures)), count)?,
    };
    let position = situation.position;
    let board = position.board();
    let us = position.turn();
    if board.color(us).contains(to) || captures != board.color(!us).contains(to) {
        return None;
    }
    let occupied = board.occupied().bits();
    let mut legal = None;
    for from in Square::each(pseudo_attacks(role, to) & board.pieces(us, role).bits() & origin) {
        let mv = Move { from, to, promotion: None };
        if between(to, from) & occupied != 0 || !keeps_king_safe(situation, mv, role) {
            continue;
        }
        if legal.is_some() {
            return None;
        }
        legal = Some(mv);
    }
    legal
}

/// The squares that the last `count` bytes of a token mean: a file, a rank, or one square.
fn origin_set(token: Token, count: u8) -> Option<u64> {
    match (count, token.byte_at_end(1)) {
        (1, file @ b'a'..=b'h') => Some(file_set(file)),
        (1, rank @ b'1'..=b'8') => Some(0xff << (8 * (rank - b'1'))),
        (2, _) => square_at_end(token).map(Square::bit),
        _ => None,
    }
}

/// Whether the mover's own king is not attacked after a move other than castling.
#[inline(always)]
fn keeps_king_safe(situation: Situation<'_>, mv: Move, role: Role) -> bool {
    let Situation { position, may_be_check } = situation;
    let board = position.board();
    let kings = board.pieces(position.turn(), Role::King).bits();
    let may_capture_en_passant = role == Role::Pawn && position.en_passant() == Some(mv.to);
    match Square::lowest(kings) {
        Some(king) if !may_be_check && role != Role::King && !may_capture_en_passant => {
            // A king that is not in check can only be exposed along a line.
            let sliders = aligned_sliders(board, !position.turn(), king);
            sliders & ray_beyond(king, mv.from) == 0 || is_line_closed(position, mv, king)
        }
        _ => is_king_safe_after(position, mv, role),
    }
}

/// Whether no enemy slider attacks the king along a line after a move of another piece.
fn is_line_closed(position: &Position, mv: Move, king: Square) -> bool {
    let board = position.board();
    let occupied = board.occupied().bits() & !mv.from.bit() | mv.to.bit();
    let sliders = aligned_sliders(board, !position.turn(), king) & !mv.to.bit();
    Square::each(sliders).all(|slider| between(king, slider) & occupied != 0)
}

/// Whether the mover's own king is not attacked after a move other than castling, if the side may
/// be in check before it.
fn is_king_safe_after(position: &Position, mv: Move, role: Role) -> bool {
    let board = position.board();
    let us = position.turn();
    let king = if role == Role::King { Some(mv.to) } else { board.king(us) };
    let Some(king) = king else { return false };
    let mut captured = mv.to.bit();
    if role == Role::Pawn && position.en_passant() == Some(mv.to) {
        captured |= behind(us, mv.to.bit());
    }
    let occupied = board.occupied().bits() & !captured & !mv.from.bit() | mv.to.bit();
    let them = board.color(!us).bits() & !captured;
    let of = |role| them & board.role(role).bits();
    let steps = pseudo_attacks(Role::Knight, king) & of(Role::Knight)
        | pawn_attacks(us, king) & of(Role::Pawn)
        | pseudo_attacks(Role::King, king) & of(Role::King);
    // Few pieces stand on a line with the king, so each of them is examined.
    let queens = of(Role::Queen);
    let sliders = pseudo_attacks(Role::Rook, king) & (of(Role::Rook) | queens)
        | pseudo_attacks(Role::Bishop, king) & (of(Role::Bishop) | queens);
    steps == 0 && Square::each(sliders).all(|from| between(king, from) & occupied != 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::model::GameBuilder;
    use crate::model::rules::Playable;
    use crate::text::{Profile, fen, san};

    fn found_quickly(playable: &Playable, text: &str) -> Option<Move> {
        let (mv, role) = found_with_role(playable, text)?;
        let board = playable.position().board();
        assert_eq!(role, board.role_at(mv.from).filter(|_| !text.starts_with('O')), "{text}");
        Some(mv)
    }

    fn found_with_role(playable: &Playable, text: &str) -> Option<(Move, Option<Role>)> {
        let position = playable.position();
        let may_be_check = playable.is_check();
        let token = Token::new(text.as_bytes())?;
        let found = quick(Situation { position, may_be_check }, token);
        assert_eq!(found, quick(Situation { position, may_be_check: true }, token), "{text}");
        let mut spaced = [b' '; 8];
        spaced[..text.len()].copy_from_slice(text.as_bytes());
        let token = Token::before_blank(spaced)?;
        assert_eq!(found, quick(Situation { position, may_be_check }, token), "{text}");
        found
    }

    #[test]
    fn tokens_end_before_blanks_and_control_bytes() {
        let len = |text: &[u8; 8]| Token::before_blank(*text).map(Token::len);
        for end in 0..=b' ' {
            assert_eq!(len(&[b'N', b'f', b'3', end, 0xff, end, 0, b'!']), Some(3), "{end}");
        }
        assert_eq!(len(b" Nf3 Nf6"), Some(0));
        assert_eq!(len(b"\x80!\xff~ \n\x00 "), Some(4));
        assert_eq!(len(b"Qa1xb2+ "), Some(7));
        assert_eq!(len(b"Qa1xb2+!"), None);
        assert!(Token::new(b"Qa1xb2+!").is_none() && Token::new(&[b'e'; 300]).is_none());
        let empty = Token::new(b"");
        assert_eq!(empty.map(Token::len), Some(0));
    }

    /// Texts that are nearly SAN are left to the full reader.
    #[test]
    fn what_is_not_quite_san_is_left_alone() {
        let playable = Playable::new(&Position::START).unwrap();
        for text in [
            "", "+", "#", "e", "e4++", "e4+#", "N", "Nf", "f3", "xf3", "Nxf3", "exf3", "Nf9",
            "Ni3", "e4=Q", "e2e4", "Ng1-f3", "Nfg3", "O-O", "O-O-", "O-O-O", "O", "OO", "0-0",
            "e9", "e0", "N+f3", "=Q", "e=Q", "Pe4",
        ] {
            let found = found_quickly(&playable, text);
            assert_eq!(found.is_some(), text == "f3", "{text}");
        }
    }

    /// In each position of the vectors, the fast path is tried with the moves of all positions. It
    /// finds the same moves as the full reader, and all legal moves.
    #[test]
    fn what_is_found_is_what_the_full_reader_finds() {
        let rows: Vec<Vec<&str>> = include_str!("../../../../tests/vectors/move_lists.tsv")
            .lines()
            .skip(1)
            .map(|line| line.split('\t').collect())
            .collect();
        let texts: std::collections::BTreeSet<&str> =
            rows.iter().flat_map(|row| row[5].split(' ')).collect();
        let mut found = 0;
        let mut legal = 0;
        let mut refused = 0;
        for row in &rows {
            let record = fen::parse(row[3].as_bytes(), Profile::Lenient).unwrap();
            let Ok(playable) = Playable::new(record.position()) else { continue };
            for text in &texts {
                let full = san::find(&playable, text.as_bytes(), Profile::Standard);
                match found_quickly(&playable, text) {
                    Some(mv) => {
                        assert_eq!(full.map(|full| full.mv), Ok(mv), "{text} in {}", row[3]);
                        found += 1;
                    }
                    None => refused += usize::from(full.is_err()),
                }
            }
            legal += row[5].split(' ').count();
            for text in row[5].split(' ') {
                assert!(found_quickly(&playable, text).is_some(), "{text} {}", row[3]);
            }
        }
        assert!(found >= legal && refused > legal, "{found} {legal} {refused}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// In any game, the fast path finds every legal move by its SAN. Playing that move gives
        /// the same position as the rules do.
        #[test]
        fn games_made_of_what_is_found_follow_the_rules(
            choices in proptest::collection::vec(any::<usize>(), 1..150),
        ) {
            let mut builder = GameBuilder::new();
            let mut playable = Playable::new(&Position::START).unwrap();
            for choice in choices {
                let replay = builder.replay().unwrap();
                prop_assert_eq!(replay.position(), playable.position());
                prop_assert!(replay.may_be_check() || !playable.is_check());
                let moves = playable.legal_moves();
                for mv in &moves {
                    let text = san::format(&playable, *mv);
                    let text = std::str::from_utf8(text.as_bytes()).unwrap();
                    prop_assert_eq!(found_quickly(&playable, text), Some(*mv));
                }
                let Some(mv) = moves.get(choice % moves.len().max(1)) else { break };
                let role = playable.position().board().role_at(mv.from);
                let castles = playable.castling_side(*mv).is_some();
                builder.put_move(*mv, role.filter(|_| !castles)).unwrap();
                playable = playable.after(*mv);
            }
        }
    }
}
