//! Position keys: the 64-bit Polyglot Zobrist hash of the identity board. The format is `formats/position_key.md`.
//!
//! Two positions may share a key. Equal keys never mean equal positions: compare packed boards.

use std::sync::LazyLock;

use byteorder::{ByteOrder, LittleEndian};
use shakmaty::zobrist::{Zobrist64, ZobristValue};

use super::error::DecodeError;
use super::packed;
use crate::model::rules::{en_passant_is_legal, en_passant_is_possible, pawn_attacks};
use crate::model::{Color, Piece, Position, Role, Side, Square};
use crate::text::fields::{PieceNumbers, piece_code};

/// Polyglot's numbers, laid out for the codes of packed boards.
pub(crate) struct Numbers {
    /// By code of the piece, 0 to 11, and square; a last row of zeros for what is no piece.
    pub(crate) pieces: PieceNumbers,
    /// By colour and side.
    pub(crate) castling: [[u64; 2]; 2],
    /// By file.
    pub(crate) en_passant: [u64; 8],
    /// When White is to move.
    pub(crate) white_to_move: u64,
}

pub(crate) static NUMBERS: LazyLock<Numbers> = LazyLock::new(Numbers::collect);

impl Numbers {
    fn collect() -> Numbers {
        let mut numbers = Numbers {
            pieces: [[0; 64]; 13],
            castling: [[0; 2]; 2],
            en_passant: [0; 8],
            white_to_move: Zobrist64::zobrist_for_white_turn().0,
        };
        for color in Color::ALL {
            let their_color: shakmaty::Color = color.into();
            for role in Role::ALL {
                let row = &mut numbers.pieces[usize::from(piece_code(Piece { color, role }))];
                let their_role: shakmaty::Role = role.into();
                for (place, number) in (0..).zip(row) {
                    let square = shakmaty::Square::new(place);
                    *number = Zobrist64::zobrist_for_piece(square, their_role.of(their_color)).0;
                }
            }
            for side in Side::ALL {
                numbers.castling[color as usize][side as usize] =
                    Zobrist64::zobrist_for_castling_right(their_color, side.into()).0;
            }
        }
        for (file, number) in shakmaty::File::ALL.into_iter().zip(&mut numbers.en_passant) {
            *number = Zobrist64::zobrist_for_en_passant_file(file).0;
        }
        numbers
    }
}

/// The position key: the Polyglot hash of the identity of a position, so that two records of one
/// position have one key whatever their counters, dialect or superfluous en passant square say.
///
/// ```
/// use epdb::{codec::key, model::Position};
/// assert_eq!(key::position_key(&Position::START), 0x463b_9618_1691_fc9c);
/// ```
pub fn position_key(position: &Position) -> u64 {
    let is_legal = |_: &Square| en_passant_is_legal(position);
    hash(position, position.en_passant().filter(is_legal))
}

/// The position key of a packed identity board, without a position in between. Of a board that is
/// no identity board it counts an en passant square all the same, and bytes that are no packed
/// board give an error or a number without meaning.
///
/// # Errors
/// [`DecodeError`] when the bytes end before the board does, or its escape form is damaged.
///
/// ```
/// use epdb::{codec::{key, packed}, model::Position};
/// let board = packed::encode(&Position::START);
/// assert_eq!(key::board_key(board.as_bytes())?, key::position_key(&Position::START));
/// # Ok::<(), epdb::codec::error::DecodeError>(())
/// ```
pub fn board_key(board: &[u8]) -> Result<u64, DecodeError> {
    let len = packed::len_of(board)?;
    let (occupied, codes) = board[..len].split_at(packed::OCCUPANCY);
    match LittleEndian::read_u64(occupied) {
        0 => packed::decode(board).map(|(position, _)| hash(&position, position.en_passant())),
        occupied => Ok(hash_plain(occupied, codes)),
    }
}

/// The hash of the plain form of a packed board.
fn hash_plain(occupied: u64, codes: &[u8]) -> u64 {
    let numbers = &*NUMBERS;
    let plain = |color, role| usize::from(piece_code(Piece { color, role }));
    let (mut key, mut turn) = (0, Color::White);
    let mut kings = [0; 2];
    let mut castling_rooks = 0;
    for (nth, square) in Square::each(occupied).enumerate() {
        let code = codes[nth / 2] >> (nth % 2 * 4) & 15;
        let piece = match code {
            packed::DOUBLE_STEP => {
                key ^= numbers.en_passant[usize::from(square.file())];
                let color = if square.rank() < 4 { Color::White } else { Color::Black };
                plain(color, Role::Pawn)
            }
            packed::KING_TO_MOVE => {
                turn = Color::Black;
                kings[Color::Black as usize] = square.index();
                plain(Color::Black, Role::King)
            }
            packed::BLACK_KING | packed::WHITE_KING => {
                let color = if code == packed::WHITE_KING { Color::White } else { Color::Black };
                kings[color as usize] = square.index();
                usize::from(code)
            }
            packed::CASTLING_ROOK..packed::KING_TO_MOVE => {
                castling_rooks |= square.bit();
                plain(Color::ALL[usize::from(code - packed::CASTLING_ROOK)], Role::Rook)
            }
            code => usize::from(code),
        };
        key ^= numbers.pieces[piece][square.index()];
    }
    for rook in Square::each(castling_rooks) {
        let color = if rook.rank() < 4 { Color::White } else { Color::Black };
        let side = if rook.index() > kings[color as usize] { Side::King } else { Side::Queen };
        key ^= numbers.castling[color as usize][side as usize];
    }
    if turn == Color::White { key ^ numbers.white_to_move } else { key }
}

/// The key under Polyglot's own en passant rule, for Polyglot books: the file counts when a pawn
/// of the side to move stands beside the pawn that just made a double step, even if capturing is
/// not legal. A square that no double step can have left does not count.
pub fn polyglot_key(position: &Position) -> u64 {
    let us = position.turn();
    let counts = |target: &Square| {
        en_passant_is_possible(position)
            && pawn_attacks(!us, *target) & position.board().pieces(us, Role::Pawn) != 0
    };
    hash(position, position.en_passant().filter(counts))
}

fn hash(position: &Position, en_passant: Option<Square>) -> u64 {
    let numbers = &*NUMBERS;
    let mut key = 0;
    for color in Color::ALL {
        for role in Role::ALL {
            let row = &numbers.pieces[usize::from(piece_code(Piece { color, role }))];
            for square in Square::each(position.board().pieces(color, role)) {
                key ^= row[square.index()];
            }
        }
    }
    for (color, side, _) in position.castling().iter() {
        key ^= numbers.castling[color as usize][side as usize];
    }
    if let Some(target) = en_passant {
        key ^= numbers.en_passant[usize::from(target.file())];
    }
    if position.turn() == Color::White {
        key ^= numbers.white_to_move;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table beside the format page is the one that keys are made of.
    #[test]
    fn the_published_table_is_the_one_in_use() {
        let numbers = &*NUMBERS;
        let pieces = numbers.pieces.iter().take(12).flatten();
        let castling = numbers.castling.iter().flatten();
        let all = pieces.chain(castling).chain(&numbers.en_passant).chain([&numbers.white_to_move]);
        let table: String = all.map(|number| format!("{number:016x}\n")).collect();
        assert_eq!(table, include_str!("../../formats/data/polyglot_random64.txt"));
    }
}
