//! Field 1, the placement: read and written.

use crate::model::{Board, Color, Piece, Role, Square};
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::scan::Word;

/// What a byte means in a placement.
#[derive(Copy, Clone)]
struct Meaning {
    /// The set a man belongs to: colour times six plus role; [`NO_MAN`] for all other bytes.
    set: u8,
    /// How many squares the byte stands for.
    squares: u8,
    /// Whether it is a solidus, as a mask.
    solidus: u32,
    /// Not 0 for a byte that no placement has.
    bad: u32,
}

const NO_MAN: u8 = 12;

static MEANINGS: [Meaning; 256] = meanings();

const fn meanings() -> [Meaning; 256] {
    let mut table = [Meaning { set: NO_MAN, squares: 0, solidus: 0, bad: 1 }; 256];
    let mut byte = 0;
    while byte < 256 {
        if let Some(Piece { color, role }) = Piece::from_letter(byte as u8) {
            let set = color as u8 * 6 + role as u8;
            table[byte] = Meaning { set, squares: 1, solidus: 0, bad: 0 };
        }
        byte += 1;
    }
    let mut digit = 1;
    while digit <= 8 {
        table[b'0' as usize + digit] =
            Meaning { set: NO_MAN, squares: digit as u8, solidus: 0, bad: 0 };
        digit += 1;
    }
    table[b'/' as usize] = Meaning { set: NO_MAN, squares: 0, solidus: !0, bad: 0 };
    table
}

/// The longest field 1: a byte for each square, and seven solidi.
const LONGEST_PLACEMENT: usize = 71;

/// Reads field 1; digits may stand side by side. `None` when anything is wrong.
///
/// Men and runs follow each other in no order that a processor could foresee, so the loop has no
/// branches: what is no man goes to a thirteenth set, and faults are gathered until the end.
pub(super) fn read(text: &[u8]) -> Option<Board> {
    if text.len() > LONGEST_PLACEMENT {
        return None;
    }
    let mut sets = [0u64; 16];
    let (mut square, mut ranks, mut bad) = (0u32, 0u32, 0u32);
    for &byte in text {
        let meaning = MEANINGS[usize::from(byte)];
        bad |= meaning.bad | (square & !meaning.solidus & !63);
        sets[usize::from(meaning.set & 15)] |= 1 << ((square ^ 56) & 63);
        ranks += meaning.solidus & 1;
        bad |= (square ^ (ranks * 8)) & meaning.solidus;
        square += u32::from(meaning.squares);
    }
    if bad != 0 || square != 64 || ranks != 7 {
        return None;
    }
    sets.first_chunk().map(Board::from_sets)
}

pub(super) fn what_is_wrong(word: Word) -> Diagnostic {
    let ranks = word.text.split(|&byte| byte == b'/').count();
    if ranks == 1 {
        let message = format!("{} is no placement of eight ranks", shown(word.text));
        return Diagnostic::error(codes::E_FEN_RANKS, word.column(), message);
    }
    if ranks != 8 {
        let message = format!("the placement has {ranks} ranks instead of 8");
        return Diagnostic::error(codes::E_FEN_RANKS, word.column(), message);
    }
    let bad = |byte: &u8| MEANINGS[usize::from(*byte)].bad != 0;
    if let Some(place) = word.text.iter().position(bad) {
        let message = format!(
            "{} is no piece letter (PNBRQK, pnbrqk) and no digit 1 to 8",
            shown(&word.text[place..=place])
        );
        return Diagnostic::error(codes::E_FEN_CHAR, word.column() + place, message);
    }
    let mut start = 0;
    for (number, rank) in word.text.split(|&byte| byte == b'/').enumerate() {
        let squares: usize = rank
            .iter()
            .map(|&byte| if byte.is_ascii_digit() { usize::from(byte - b'0') } else { 1 })
            .sum();
        if squares != 8 {
            let message =
                format!("rank {} ({}) has {squares} squares instead of 8", 8 - number, shown(rank));
            return Diagnostic::error(codes::E_FEN_RANKSUM, word.column() + start, message);
        }
        start += rank.len() + 1;
    }
    let message = format!("{} is no placement", shown(word.text));
    Diagnostic::error(codes::E_FEN_RANKS, word.column(), message)
}

pub(super) fn write(board: &Board, out: &mut Vec<u8>) {
    let mut letters = [0u8; 64];
    for color in Color::ALL {
        for role in Role::ALL {
            let letter = Piece { color, role }.letter();
            for square in Square::each(board.pieces(color, role)) {
                letters[square.index()] = letter;
            }
        }
    }
    for (below, rank) in letters.chunks_exact(8).rev().enumerate() {
        if below > 0 {
            out.push(b'/');
        }
        let mut empty = 0;
        for &letter in rank {
            if letter == 0 {
                empty += 1;
                continue;
            }
            if empty > 0 {
                out.push(b'0' + empty);
                empty = 0;
            }
            out.push(letter);
        }
        if empty > 0 {
            out.push(b'0' + empty);
        }
    }
}
