//! Field 3, the castling rights: read and written in both dialects.

use crate::model::{
    Board, Castling, CastlingDialect, Color, Position, Role, Side, Square, is_outermost,
};
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::options::{CastlingForm, Profile};
use crate::text::scan::Word;

/// The rights of a castling field, and whether only file letters were met.
pub(super) struct Rights {
    pub(super) castling: Castling,
    only_files: bool,
}

impl Rights {
    /// Which letters these are. Where both dialects write the same, the record says X-FEN.
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
    check_letters(word)?;
    let before = warnings.len();
    for (place, &letter) in word.text.iter().enumerate() {
        let letter_word = word.part(place, place + 1);
        rights.only_files &= !matches!(letter, b'K' | b'Q' | b'k' | b'q');
        let color = if letter.is_ascii_uppercase() { Color::White } else { Color::Black };
        let Some((side, file)) = find_right(board, color, letter.to_ascii_lowercase()) else {
            if profile != Profile::Lenient {
                let message =
                    format!("{} has no king and rook on their squares", shown(letter_word.text));
                return Err(Diagnostic::error(codes::E_POS_CASTLE, letter_word.column(), message));
            }
            let message = format!(
                "castling right {} has no king and rook on their squares; dropped",
                shown(letter_word.text)
            );
            warnings.push(
                Diagnostic::warning(codes::W_LEN_CASTLE, letter_word.column(), message)
                    .with_repair(letter_word.text, b""),
            );
            continue;
        };
        if rights.castling.rook(color, side).is_some() {
            let message =
                format!("{} names a second right on one side of a king", shown(letter_word.text));
            return Err(Diagnostic::error(codes::E_FEN_CASTLE, letter_word.column(), message));
        }
        rights.castling.set(color, side, Some(file));
    }
    if warnings.len() > before {
        report_chess960(word, board, &rights.castling, warnings);
    }
    Ok(rights)
}

/// Reports rights that only Chess960 has and that stand in a field beside rights of the same side
/// without king and rook: it is likely that the side has castled.
fn report_chess960(word: Word, board: &Board, castling: &Castling, warnings: &mut Vec<Diagnostic>) {
    for (place, &letter) in word.text.iter().enumerate() {
        let color = if letter.is_ascii_uppercase() { Color::White } else { Color::Black };
        let right = |letter: u8| find_right(board, color, letter.to_ascii_lowercase());
        let is_dropped = |other: &u8| {
            other.is_ascii_uppercase() == letter.is_ascii_uppercase() && right(*other).is_none()
        };
        let (Some((side, file)), Some(king)) = (right(letter), board.king(color)) else { continue };
        let classic = king.file() == 4 && matches!(file, 0 | 7);
        if classic || castling.rook(color, side) != Some(file) || !word.text.iter().any(is_dropped)
        {
            continue;
        }
        let letter = word.part(place, place + 1);
        let rook = Square::at(file, color.back_rank());
        let message = format!(
            "castling right {} kept as one of Chess960: king {king}, rook {rook}",
            shown(letter.text)
        );
        warnings.push(Diagnostic::warning(codes::W_LEN_CHESS960, letter.column(), message));
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
            return refuse(place, format!("{found} is none of KQkq, A to H, a to h, `-`"));
        }
        if place == 4 {
            return refuse(place, "more than four letters".into());
        }
        if word.text[..place].contains(&letter) {
            return refuse(place, format!("`{}` stands twice", char::from(letter)));
        }
    }
    Ok(())
}

/// The side and the rook's file that a castling letter in lower case names.
fn find_right(board: &Board, color: Color, letter: u8) -> Option<(Side, u8)> {
    let rank = color.back_rank();
    let king = board.king(color).filter(|king| king.rank() == rank)?.file();
    let has_rook = |file: &u8| board.pieces(color, Role::Rook) & Square::at(*file, rank).bit() != 0;
    match letter {
        b'k' => (king + 1..8).rev().find(has_rook).map(|file| (Side::King, file)),
        b'q' => (0..king).find(has_rook).map(|file| (Side::Queen, file)),
        _ => {
            let file = letter.checked_sub(b'a').filter(|file| *file < 8).filter(has_rook)?;
            Some((if file > king { Side::King } else { Side::Queen }, file))
        }
    }
}

/// The text of the field.
#[derive(Copy, Clone)]
pub(crate) struct CastlingText {
    letters: [u8; 4],
    len: u8,
}

impl CastlingText {
    /// No right.
    pub(crate) const NONE: CastlingText = CastlingText { letters: [b'-', 0, 0, 0], len: 0 };

    /// The rights of a position. [`CastlingForm::Keep`] is the matter of records
    /// and X-FEN here.
    pub(crate) fn of(position: &Position, form: CastlingForm) -> CastlingText {
        let board = position.board();
        let mut text = CastlingText::NONE;
        for (color, side, file) in position.castling().iter() {
            let classic = form != CastlingForm::Shredder && is_outermost(board, color, side, file);
            text.push(color, if classic { side_letter(side) } else { b'A' + file });
        }
        text
    }

    /// Adds a right, of four at most, by its letter in upper case.
    pub(crate) const fn push(&mut self, color: Color, letter: u8) {
        let letter = match color {
            Color::White => letter,
            Color::Black => letter.to_ascii_lowercase(),
        };
        self.letters[(self.len & 3) as usize] = letter;
        self.len += 1;
    }

    /// What is written.
    #[cfg(feature = "library")]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        let (all, len) = self.padded();
        all.get(..len).unwrap_or(all)
    }

    /// What is written, with zeros behind it, and its length.
    pub(super) const fn padded(&self) -> (&[u8; 4], usize) {
        (&self.letters, if self.len == 0 { 1 } else { self.len as usize })
    }
}

/// The letter of a right of the outermost rook.
pub(crate) const fn side_letter(side: Side) -> u8 {
    match side {
        Side::King => b'K',
        Side::Queen => b'Q',
    }
}

/// The fields of rights with kings on e and rooks on a and h, by their set: `K`, `Q`, `k`, `q` from
/// bit 0 on.
pub(crate) static CLASSIC: [CastlingText; 16] = classic();

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

/// The set of the rights of a field of [`CLASSIC`] and the blank behind it, the first byte lowest.
#[inline(always)]
pub(super) fn classic_set(field: u64) -> Option<u8> {
    let (word, set) = BY_SLOT[slot(field)];
    (word == field).then_some(set)
}

/// The fields of [`CLASSIC`] with the blank and their sets, each at its place by [`slot`].
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

/// Four bits that differ for all sixteen fields; the factor was found by trying.
const fn slot(word: u64) -> usize {
    (word.wrapping_mul(0x41d9_1659_73d3_358d) >> 60) as usize
}
