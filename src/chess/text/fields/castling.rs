//! Field 3, the castling rights: parser and writer of both dialects.

use crate::model::{
    Board, Castling, CastlingDialect, Color, Position, Role, Side, Square, is_outermost,
};
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::options::{CastlingForm, Profile};
use crate::text::scan::Word;

pub(super) struct Rights {
    pub(super) castling: Castling,
    /// True if all letters of the field are file letters.
    only_files: bool,
}

impl Rights {
    /// The dialect of the castling letters, X-FEN or Shredder-FEN. A field that is the same in both
    /// dialects is X-FEN.
    pub(super) fn dialect(&self) -> CastlingDialect {
        if self.only_files { CastlingDialect::Shredder } else { CastlingDialect::XFen }
    }
}

pub(super) fn read(
    word: Word,
    board: &Board,
    profile: Profile,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Rights, Diagnostic> {
    let mut rights = Rights { castling: Castling::NONE, only_files: true };
    if matches!(word.text, b"-" | b"nil") {
        return Ok(rights);
    }
    if profile == Profile::Lenient && has_all_rights_in_other_case(word.text, board) {
        let message = format!("castling field {}; read as `KQkq`", shown(word.text));
        warnings.push(
            Diagnostic::warning(codes::W_LEN_CASTLECASE, word.column(), message)
                .with_repair(word.text, b"KQkq"),
        );
        return read(Word { text: b"KQkq", ..word }, board, profile, warnings);
    }
    check_letters(word)?;
    for (place, &letter) in word.text.iter().enumerate() {
        let letter_word = word.part(place, place + 1);
        rights.only_files &= !matches!(letter, b'K' | b'Q' | b'k' | b'q');
        let Some((color, side, file)) = find_right(board, letter) else {
            if profile != Profile::Lenient {
                let message =
                    format!("{} {}", shown(letter_word.text), why_impossible(board, letter));
                return Err(Diagnostic::error(codes::E_POS_CASTLE, letter_word.column(), message));
            }
            warnings.push(dropped(codes::W_LEN_CASTLE, letter_word, why_impossible(board, letter)));
            continue;
        };
        if rights.castling.rook(color, side).is_some() {
            let message =
                format!("{} names a second right on one side of a king", shown(letter_word.text));
            return Err(Diagnostic::error(codes::E_FEN_CASTLE, letter_word.column(), message));
        }
        rights.castling.set(color, side, Some(file));
    }
    if !warnings.is_empty() {
        drop_doubtful(word, board, &mut rights.castling, warnings);
    }
    Ok(rights)
}

/// True if the text is `KQkq` with wrong letter cases, such as `KQKq`, and the board allows all
/// four rights.
fn has_all_rights_in_other_case(text: &[u8], board: &Board) -> bool {
    text.eq_ignore_ascii_case(b"KQkq")
        && (text[0] == text[2] || text[1] == text[3])
        && b"KQkq".iter().all(|letter| find_right(board, *letter).is_some())
}

/// Keeps or drops doubtful rights, with a warning. A right is doubtful if it exists only in
/// Chess960 and the other right of the same king is impossible. It stays if the other side has a
/// right without doubt. Otherwise it is dropped, because the king has probably castled and the
/// field was not updated.
fn drop_doubtful(
    word: Word,
    board: &Board,
    castling: &mut Castling,
    warnings: &mut Vec<Diagnostic>,
) {
    let is_sound =
        |letter: &u8| find_right(board, *letter).is_some() && !is_doubtful(word, board, *letter);
    for (place, letter) in word.text.iter().enumerate() {
        let Some((color, side, file)) = find_right(board, *letter) else { continue };
        if !is_doubtful(word, board, *letter) {
            continue;
        }
        let of_other = |other: &&u8| color_of(**other) != color;
        let text = word.part(place, place + 1);
        let code = codes::W_LEN_CHESS960;
        if word.text.iter().filter(of_other).any(is_sound) {
            let message = format!(
                "castling right {} kept as one of Chess960: rook {}",
                shown(text.text),
                Square::at(file, color.back_rank())
            );
            warnings.push(Diagnostic::warning(code, text.column(), message));
        } else {
            castling.set(color, side, None);
            let why = "is a right of Chess960, and the other right of the king is impossible";
            warnings.push(dropped(code, text, why));
        }
    }
}

/// Whether a right exists only in Chess960 and another right of the same king is impossible.
fn is_doubtful(word: Word, board: &Board, letter: u8) -> bool {
    let Some((color, _, file)) = find_right(board, letter) else { return false };
    let is_impossible =
        |other: &u8| color_of(*other) == color && find_right(board, *other).is_none();
    let is_classic = board.king(color).is_some_and(|king| king.file() == 4) && is_at_edge(file);
    !is_classic && word.text.iter().any(is_impossible)
}

fn dropped(code: &'static str, letter: Word, why: &str) -> Diagnostic {
    let message = format!("castling right {} {why}; dropped", shown(letter.text));
    Diagnostic::warning(code, letter.column(), message).with_repair(letter.text, b"")
}

/// Returns the reason why a letter stands for no castling right.
fn why_impossible(board: &Board, letter: u8) -> &'static str {
    let color = color_of(letter);
    match board.king(color) {
        Some(king) if king.rank() == color.back_rank() && is_at_edge(king.file()) => {
            "is of a king on the a or h file, which never has any"
        }
        _ => "has no king and rook on their squares",
    }
}

fn check_letters(word: Word) -> Result<(), Diagnostic> {
    let refuse = |place: usize, what: String| {
        let suggestion = match word.text.to_ascii_lowercase().as_slice() {
            b"kqkq" => "; did you mean `KQkq`?",
            b"--" => "; did you mean `-`?",
            _ => "",
        };
        let message = format!("castling field {}: {what}{suggestion}", shown(word.text));
        Err(Diagnostic::error(codes::E_FEN_CASTLE, word.column() + place, message))
    };
    for (place, &letter) in word.text.iter().enumerate() {
        if !matches!(letter.to_ascii_lowercase(), b'k' | b'q' | b'a'..=b'h') {
            let found = shown(&word.text[place..=place]);
            return refuse(place, format!("{found} is not one of KQkq, A to H, a to h, `-`"));
        }
        if place == 4 {
            return refuse(place, "more than four letters".into());
        }
        if word.text[..place].contains(&letter) {
            return refuse(place, format!("`{}` is repeated", char::from(letter)));
        }
    }
    Ok(())
}

const fn color_of(letter: u8) -> Color {
    if letter.is_ascii_uppercase() { Color::White } else { Color::Black }
}

/// Whether a file is the a-file or the h-file. No king starts there, because in Chess960 too the
/// king starts between its rooks.
const fn is_at_edge(file: u8) -> bool {
    matches!(file, 0 | 7)
}

/// Finds the right that a castling letter names: its color, its side, and the file of the rook.
fn find_right(board: &Board, letter: u8) -> Option<(Color, Side, u8)> {
    let color = color_of(letter);
    let rank = color.back_rank();
    let king = board.king(color).filter(|king| king.rank() == rank)?.file();
    if is_at_edge(king) {
        return None;
    }
    let has_rook =
        |file: &u8| board.pieces(color, Role::Rook).bits() & Square::at(*file, rank).bit() != 0;
    let (side, file) = match letter.to_ascii_lowercase() {
        b'k' => (Side::King, (king + 1..8).rev().find(has_rook)?),
        b'q' => (Side::Queen, (0..king).find(has_rook)?),
        letter => {
            let file = letter.checked_sub(b'a').filter(|file| *file < 8).filter(has_rook)?;
            (if file > king { Side::King } else { Side::Queen }, file)
        }
    };
    Some((color, side, file))
}

/// The text of a castling field.
#[derive(Copy, Clone, Debug)]
pub struct CastlingText {
    letters: [u8; 4],
    len: u8,
}

impl CastlingText {
    /// The field without rights.
    pub const NONE: CastlingText = CastlingText { letters: [b'-', 0, 0, 0], len: 0 };

    /// Writes the rights of a position. [`CastlingForm::Keep`] means X-FEN here, because a position
    /// does not have the letters of its text.
    pub fn new(position: &Position, form: CastlingForm) -> CastlingText {
        let board = position.board();
        let mut text = CastlingText::NONE;
        for (color, side, file) in position.castling().iter() {
            let classic = form != CastlingForm::Shredder && is_outermost(board, color, side, file);
            text.push(color, if classic { side_letter(side) } else { b'A' + file });
        }
        text
    }

    /// Adds a right, given by its letter in upper case. A field has at most four rights.
    pub const fn push(&mut self, color: Color, letter: u8) {
        let letter = match color {
            Color::White => letter,
            Color::Black => letter.to_ascii_lowercase(),
        };
        self.letters[(self.len & 3) as usize] = letter;
        self.len += 1;
    }

    /// The text of the field.
    pub fn as_bytes(&self) -> &[u8] {
        let (all, len) = self.padded();
        all.get(..len).unwrap_or(all)
    }

    /// Returns the text in four bytes, with zeros after its end, and the length of the text.
    pub(super) const fn padded(&self) -> (&[u8; 4], usize) {
        (&self.letters, if self.len == 0 { 1 } else { self.len as usize })
    }
}

/// Returns the letter (`K` or `Q`) of the right with the outermost rook on a side.
pub const fn side_letter(side: Side) -> u8 {
    match side {
        Side::King => b'K',
        Side::Queen => b'Q',
    }
}

/// The fields for kings on e and rooks on a and h. The index is the set of rights: bits 0 to 3 are
/// `K`, `Q`, `k`, `q`.
pub static CLASSIC: [CastlingText; 16] = classic();

const fn classic() -> [CastlingText; 16] {
    let mut texts = [CastlingText::NONE; 16];
    let mut set = 0;
    while set < 16 {
        let mut right = 0;
        while right < 4 {
            if set >> right & 1 == 1 {
                texts[set].push(Color::ALL[right / 2], side_letter(Side::ALL[right % 2]));
            }
            right += 1;
        }
        set += 1;
    }
    texts
}

/// Returns the set of rights of a field of [`CLASSIC`]. `field` has the text and the blank after
/// it, the first byte lowest.
#[inline(always)]
pub(super) fn classic_set(field: u64) -> Option<u8> {
    let (word, set) = BY_SLOT[slot(field)];
    (word == field).then_some(set)
}

/// The fields of [`CLASSIC`], each with the blank after it and its set of rights. The index of a
/// field is [`slot`].
static BY_SLOT: [(u64, u8); 16] = {
    let texts = classic();
    let mut table = [(0, 0); 16];
    let mut set = 0;
    while set < 16 {
        let (letters, len) = texts[set].padded();
        let word = u32::from_le_bytes(*letters) as u64 | (b' ' as u64) << (8 * len);
        assert!(table[slot(word)].0 == 0, "two fields in one slot");
        table[slot(word)] = (word, set as u8);
        set += 1;
    }
    table
};

/// Hashes a field to four bits that differ for all sixteen fields. The factor was found by trial.
const fn slot(word: u64) -> usize {
    (word.wrapping_mul(0x41d9_1659_73d3_358d) >> 60) as usize
}
