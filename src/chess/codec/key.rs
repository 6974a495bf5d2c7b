//! Position keys: the 64-bit Polyglot Zobrist hash of the identity of a position
//! ([`Position::identity`]). In the identity, the en passant square counts only if a capture there
//! is legal. The format is `formats/chess.md`.
//!
//! Two positions may share a key, so equal keys do not prove equal positions: compare packed
//! boards.

use byteorder::{ByteOrder, LittleEndian};

use super::error::DecodeError;
use super::error::EncodeError;
use super::packed::{self, PlainCodes};
use crate::model::rules::{en_passant_is_legal, en_passant_is_possible, pawn_attacks};
use crate::model::{Bitboard, Board, Color, Position, Role, Side, Square};
use crate::text::fields::CodeBits;
use crate::text::fields::{PairNumbers, PieceNumbers, hash_of_board, pair_numbers, place};

/// Maps a fraction of 2^64, such as a key, to one of `parts` ranges of equal size (Lemire's fast
/// range). Returns the number of the range, and the fraction within the range. Fractions within a
/// range keep their order.
#[inline]
pub fn fast_range(fraction: u64, parts: u64) -> (u64, u64) {
    let product = u128::from(fraction) * u128::from(parts);
    ((product >> 64) as u64, product as u64)
}

/// Polyglot's random numbers, arranged for the codes of packed boards.
#[derive(Debug)]
pub struct Numbers {
    /// The number of each piece on each square.
    pub pieces: PieceNumbers,
    pairs: PairNumbers,
    /// The combined number of each set of castling rights. Bits 0 to 3 of the index are `K`, `Q`,
    /// `k`, `q`.
    pub castling: [u64; 16],
    /// The number of each en passant file.
    pub en_passant: [u64; 8],
    /// The number that counts if White is to move.
    pub white_to_move: u64,
}

/// The numbers of Polyglot.
#[cfg(not(target_family = "wasm"))]
pub static NUMBERS: Numbers = Numbers::read(PUBLISHED);
/// The numbers of Polyglot. A program that browsers download makes them when they are needed, because they are five
/// times as large as their text.
#[cfg(target_family = "wasm")]
pub static NUMBERS: std::sync::LazyLock<Numbers> =
    std::sync::LazyLock::new(|| Numbers::read(PUBLISHED));

/// The numbers, one on each line, as sixteen hexadecimal digits. They are in this order: pieces by
/// code and square, castling rights, en passant files, the side to move.
const PUBLISHED: &[u8] = include_bytes!("polyglot_random64.txt");

impl Numbers {
    const fn read(table: &[u8]) -> Numbers {
        let mut numbers = Numbers {
            pieces: [0; 1024],
            pairs: pair_numbers(&[0; 1024]),
            castling: [0; 16],
            en_passant: [0; 8],
            white_to_move: number(table, 780),
        };
        let mut nth = 0;
        while nth < 12 * 64 {
            numbers.pieces[place(nth % 64, (nth / 64) as u8)] = number(table, nth);
            nth += 1;
        }
        numbers.pairs = pair_numbers(&numbers.pieces);
        nth = 0;
        while nth < 16 * 4 {
            if (nth / 4) >> (nth % 4) & 1 == 1 {
                numbers.castling[nth / 4] ^= number(table, 12 * 64 + nth % 4);
            }
            nth += 1;
        }
        nth = 0;
        while nth < 8 {
            numbers.en_passant[nth] = number(table, 12 * 64 + 4 + nth);
            nth += 1;
        }
        numbers
    }
}

/// Reads the number in a line of the table. Lines count from 0.
const fn number(table: &[u8], line: usize) -> u64 {
    let mut number = 0;
    let mut at = 0;
    while at < 16 {
        let digit = match table[line * 17 + at] {
            digit @ b'0'..=b'9' => digit - b'0',
            digit @ b'a'..=b'f' => digit - b'a' + 10,
            _ => panic!("a hexadecimal digit"),
        };
        number = number << 4 | digit as u64;
        at += 1;
    }
    number
}

/// Returns the position key: the Polyglot hash of the identity of a position. So all records of a
/// position have the same key, even if their counters, dialects or superfluous en passant squares
/// differ.
///
/// ```
/// use epdb_chess::{codec::key, model::Position};
/// assert_eq!(key::position_key(&Position::START), 0x463b_9618_1691_fc9c);
/// ```
pub fn position_key(position: &Position) -> u64 {
    let is_legal = |_: &Square| en_passant_is_legal(position);
    hash(position, position.en_passant().filter(is_legal))
}

/// Computes the position key from a packed identity board, without making a position. If the board
/// is not an identity board, its en passant square counts too. Bytes that are not a packed board
/// give an error or a number without meaning.
///
/// # Errors
/// [`DecodeError`] if the bytes end before the board does, or if its escape form is damaged.
///
/// ```
/// use epdb_chess::{codec::{key, packed}, model::Position};
/// let board = packed::encode(&Position::START);
/// assert_eq!(key::board_key(board.as_bytes())?, key::position_key(&Position::START));
/// # Ok::<(), epdb_chess::codec::error::DecodeError>(())
/// ```
pub fn board_key(board: &[u8]) -> Result<u64, DecodeError> {
    let len = packed::len_of(board)?;
    let (occupied, codes) = board[..len].split_at(packed::OCCUPANCY);
    match LittleEndian::read_u64(occupied) {
        // No square is occupied: the escape form.
        0 => packed::decode(board).map(|(position, _)| hash(&position, position.en_passant())),
        occupied => Ok(hash_plain(occupied, codes)),
    }
}

/// Returns the locality key of a position, which divides positions so that those of one game stay together. It is an
/// order by pawns and kings, and no hash: many positions share a key. Positions with the same pawns and kings have keys that differ only in
/// the lowest four bits. So the ranges of these keys have the positions of whole lines of play, and only few
/// moves of a position lead to another range.
///
/// ```
/// use epdb_chess::{codec::key::locality_key, model::Position};
/// assert_eq!(locality_key(&Position::START), 0x2492_49db_6db6_13c4);
/// ```
pub fn locality_key(position: &Position) -> u64 {
    locality_of(position.board(), position_key(position))
}

pub(super) fn locality_of(board: &Board, position_key: u64) -> u64 {
    let colors = [Color::White, Color::Black];
    let pawns = colors.map(|color| pawns_by_file(board.pieces(color, Role::Pawn)));
    let kings = colors.map(|color| board.king(color).map_or(0, |king| king.index() as u64));
    pawns[0] << 40 | pawns[1] << 16 | kings[0] << 10 | kings[1] << 4 | position_key >> 60
}

/// Three bits for each file, file a first: 0 for no pawn, the rank less one of a single pawn, 7 for several.
fn pawns_by_file(pawns: Bitboard) -> u64 {
    (0..8).fold(0, |all, file| {
        let own = pawns.bits() & 0x0101_0101_0101_0101 << file;
        let code = match own.count_ones() {
            0 => 0,
            1 => u64::from(own.trailing_zeros() / 8),
            _ => 7,
        };
        all << 3 | code
    })
}

/// Returns the [`position_key`] of a record in its binary form.
///
/// # Errors
/// The bytes are not a record.
pub fn record_key(record: &[u8]) -> Result<u64, EncodeError> {
    super::record::board_of(record).and_then(board_key).map_err(|_| EncodeError::NoRecord)
}

/// Computes the hash of a packed board in plain form.
fn hash_plain(occupied: u64, codes: &[u8]) -> u64 {
    let plain = PlainCodes::new(occupied, codes);
    let board = plain.board();
    let mut rights = 0;
    for (color, rooks) in Color::ALL.into_iter().zip(plain.castling_rooks) {
        for rook in Square::each(rooks) {
            let is_queen_side = board.king(color).is_some_and(|king| rook.file() < king.file());
            rights |= 1 << (2 * color as usize + usize::from(is_queen_side));
        }
    }
    let en_passant = Square::lowest(plain.double_steps).map(Square::file);
    let pieces = hash_of_board(&packed::code_bits(&board), &NUMBERS.pairs);
    pieces ^ hash_beside_board(rights, en_passant, plain.turn)
}

/// Returns the key by Polyglot's own en passant rule, for Polyglot books. The en passant file
/// counts if a pawn of the side to move stands next to the pawn that just made a double step. The
/// capture need not be legal. A square that cannot result from a double step does not count.
pub fn polyglot_key(position: &Position) -> u64 {
    hash(position, polyglot_en_passant(position))
}

/// Returns the position without its en passant square, if the square does not count for Polyglot.
pub fn with_polyglot_en_passant(position: &Position) -> Position {
    position.with_en_passant(polyglot_en_passant(position)).unwrap_or(*position)
}

fn polyglot_en_passant(position: &Position) -> Option<Square> {
    let us = position.turn();
    position.en_passant().filter(|target| {
        en_passant_is_possible(position)
            && pawn_attacks(!us, *target) & position.board().pieces(us, Role::Pawn).bits() != 0
    })
}

/// Computes the keys of the successive positions of a line. Each position differs from the previous
/// position in few squares, so only the changed squares are hashed.
#[derive(Debug)]
pub struct LineKeys {
    board: CodeBits,
    /// The hash of the pieces on the board: their numbers, combined by xor.
    hash: u64,
}

impl Default for LineKeys {
    /// An empty board, which comes before the first position.
    fn default() -> LineKeys {
        LineKeys { board: packed::code_bits(&Board::EMPTY), hash: 0 }
    }
}

impl LineKeys {
    /// The codes of the board of the last position.
    #[inline(always)]
    pub const fn board(&self) -> &CodeBits {
        &self.board
    }

    /// Returns the key of the next position. Its en passant square always counts, so the position
    /// must be an identity.
    #[inline(always)]
    pub fn next(&mut self, position: &Position) -> u64 {
        let board = packed::code_bits(position.board());
        let mut changed = 0;
        for (now, before) in board.bits.iter().zip(self.board.bits) {
            changed |= now ^ before;
        }
        // Xor takes out the number of the piece before, and puts in that of the piece now. The
        // number of an empty square is 0.
        for square in Square::each(changed) {
            for codes in [&self.board, &board] {
                let code = codes.code(square.index() as u32);
                self.hash ^= NUMBERS.pieces[place(square.index(), code)];
            }
        }
        self.board = board;
        self.hash ^ hash_of_state(position, position.en_passant())
    }
}

#[inline]
fn hash(position: &Position, en_passant: Option<Square>) -> u64 {
    let board = packed::code_bits(position.board());
    hash_of_board(&board, &NUMBERS.pairs) ^ hash_of_state(position, en_passant)
}

/// Combines the numbers of a position, except those of its pieces.
#[inline(always)]
fn hash_of_state(position: &Position, en_passant: Option<Square>) -> u64 {
    let mut rights = 0;
    if !position.castling().is_empty() {
        for (nth, color) in Color::ALL.into_iter().enumerate() {
            for (side, castles) in Side::ALL.into_iter().enumerate() {
                let has_right = position.castling().rook(color, castles).is_some();
                rights |= usize::from(has_right) << (nth * 2 + side);
            }
        }
    }
    hash_beside_board(rights, en_passant.map(Square::file), position.turn())
}

/// Combines the numbers of a set of rights, an en passant file and the side to move.
#[inline(always)]
fn hash_beside_board(rights: usize, en_passant: Option<u8>, turn: Color) -> u64 {
    let en_passant = en_passant.map_or(0, |file| NUMBERS.en_passant[usize::from(file & 7)]);
    let all_bits_if_white = u64::from(turn == Color::White).wrapping_neg();
    NUMBERS.castling[rights & 15] ^ en_passant ^ NUMBERS.white_to_move & all_bits_if_white
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use shakmaty::zobrist::{Zobrist64, ZobristValue};

    use super::*;
    use crate::model::Piece;
    use crate::text::fields::piece_code;

    /// Lines with castling, captures en passant and promotions, one after another. The first
    /// position of a line differs very much from the last position of the previous line.
    #[test]
    fn keys_of_lines_are_those_of_their_positions() {
        use crate::model::rules::{Playable, after};
        let mut keys = LineKeys::default();
        let mut walk = 1_u64;
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
            "r3k2r/pPppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPpP/R3K2R w KQkq -",
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf -",
            "nnnnknnn/pppppppp/nnnnnnnn/8/8/NNNNNNNN/PPPPPPPP/NNNNKNNN w - -",
        ] {
            let mut position = *crate::parse_epd(fen.as_bytes()).unwrap().position();
            for _ in 0..120 {
                let identity = position.identity();
                assert_eq!(keys.next(&identity), position_key(&identity), "{position}");
                let moves = Playable::new(&position).unwrap().legal_moves();
                walk = walk.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let Some(&mv) = moves.get((walk >> 33) as usize % moves.len().max(1)) else {
                    break;
                };
                position = after(&position, mv);
            }
        }
    }

    #[test]
    fn the_published_table_is_polyglots() {
        for color in Color::ALL {
            let their_color: shakmaty::Color = color.into();
            for role in Role::ALL {
                let code = piece_code(Piece { color, role });
                let their_role: shakmaty::Role = role.into();
                let piece = their_role.of(their_color);
                for square in shakmaty::Square::ALL {
                    let number = NUMBERS.pieces[place(square.into(), code)];
                    assert_eq!(number, Zobrist64::zobrist_for_piece(square, piece).0);
                }
            }
            for side in Side::ALL {
                let theirs = Zobrist64::zobrist_for_castling_right(their_color, side.into()).0;
                let right = 1 << (2 * color as usize + side as usize);
                assert_eq!(NUMBERS.castling[right], theirs);
            }
        }
        for (file, number) in shakmaty::File::ALL.into_iter().zip(NUMBERS.en_passant) {
            assert_eq!(number, Zobrist64::zobrist_for_en_passant_file(file).0);
        }
        assert_eq!(NUMBERS.white_to_move, Zobrist64::zobrist_for_white_turn().0);
        for (set, number) in NUMBERS.castling.into_iter().enumerate() {
            let rights = (0..4).filter(|right| set >> right & 1 == 1);
            let one_by_one = rights.map(|right| NUMBERS.castling[1 << right]);
            assert_eq!(number, one_by_one.fold(0, |all, number| all ^ number));
        }
        let no_pieces = (0..64).flat_map(|square| (12..16).map(move |code| place(square, code)));
        assert!(no_pieces.into_iter().all(|place| NUMBERS.pieces[place] == 0));
    }
}
