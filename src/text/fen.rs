//! The four fields that FEN and EPD share, and FEN records (`formats/epd_text.md`).

use super::codes;
use super::diagnostic::{Diagnostic, shown};
use super::epd::{self, Line};
use super::options::{CastlingForm, EnPassantForm, Format, Profile, ReadOptions, WriteOptions};
use super::scan::Word;
use crate::model::rules::{en_passant_is_legal, en_passant_is_possible, pawn_attacks};
use crate::model::{
    Board, Castling, CastlingDialect, Color, Counters, EpdRecord, Piece, Position, Role, Side,
    Square, en_passant_rank, is_outermost,
};

/// Reads one FEN record.
///
/// `Strict` and `Standard` take exactly six fields. `Lenient` takes whatever is a record there
/// ([`epd::read_line`]), so also four fields and operations; its warnings are dropped, and who
/// wants them reads the text as a line.
///
/// # Errors
/// The first thing that is wrong, with its column.
///
/// ```
/// use epdb::text::{Profile, fen};
/// let record = fen::read(b"4k3/8/8/8/8/8/4P3/4K3 w - - 5 39", Profile::Standard)?;
/// assert_eq!(record.counters(), (Some(5), Some(39)));
/// # Ok::<(), epdb::text::Diagnostic>(())
/// ```
pub fn read(text: &[u8], profile: Profile) -> Result<EpdRecord, Diagnostic> {
    if profile == Profile::Lenient {
        return match epd::read_line(text, &ReadOptions::new(profile), &mut Vec::new())? {
            Line::Record(record) => Ok(record),
            Line::Blank | Line::Comment => {
                Err(Diagnostic::error(codes::E_EPD_FIELDS, 1, "no position in a blank or comment"))
            }
        };
    }
    let record = read_six_fields(text, profile)?;
    if profile == Profile::Strict {
        let options = WriteOptions { format: Format::Fen, ..WriteOptions::default() };
        let mut canonical = Vec::with_capacity(text.len());
        epd::write(&record, &options, &mut canonical);
        refuse_other_than(&canonical, text, codes::E_FEN_NONCANON)?;
    }
    Ok(record)
}

/// Reads one line of a file of FEN records, without its line end: six fields and nothing else; in
/// the lenient profile as [`epd::read_line`] does.
///
/// # Errors
/// Why the profile does not take the line, with the column.
///
/// ```
/// use epdb::text::{Profile, ReadOptions, fen};
/// let options = ReadOptions::new(Profile::Standard);
/// let error = fen::read_line(b"4k3/8/8/8/8/8/4P3/4K3 w - - x 39", &options, &mut Vec::new());
/// assert_eq!(error.unwrap_err().code, "E-FEN-HMVC");
/// ```
pub fn read_line(
    line: &[u8],
    options: &ReadOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let is_blank = Word { at: 0, text: line }.trimmed().text.is_empty();
    if is_blank || options.profile == Profile::Lenient {
        return epd::read_line(line, options, warnings);
    }
    let record = read(line, options.profile)?;
    warnings.extend(epd::illegal_position(record.position(), 0));
    Ok(Line::Record(record))
}

/// The error of the strict profile when a text is not its own canonical form.
pub(super) fn refuse_other_than(
    canonical: &[u8],
    text: &[u8],
    code: &'static str,
) -> Result<(), Diagnostic> {
    if canonical == text {
        return Ok(());
    }
    let same = canonical.iter().zip(text).take_while(|(a, b)| a == b).count();
    let wanted = match canonical.get(same..) {
        Some([]) | None => "the end of the line".into(),
        Some(rest) => shown(rest),
    };
    let message = format!("not canonical: expected {wanted} here");
    Err(Diagnostic::error(code, same + 1, message))
}

fn read_six_fields(text: &[u8], profile: Profile) -> Result<EpdRecord, Diagnostic> {
    super::epd::refuse_control_bytes(text)?;
    let mut rest = Word { at: 0, text };
    let mut fields = [Word { at: 0, text: &[] }; 6];
    let mut count = 0;
    loop {
        let (word, behind) = rest.split_word();
        if word.text.is_empty() {
            break;
        }
        if let Some(field) = fields.get_mut(count) {
            *field = word;
        }
        count += 1;
        rest = behind;
    }
    if count != 6 {
        let message = format!("{count} fields; a FEN has six");
        return Err(Diagnostic::error(codes::E_FEN_FIELDS, 1, message));
    }
    let [placement, turn, castling, en_passant, clock, number] = fields;
    let (position, dialect) =
        read_fields([placement, turn, castling, en_passant], profile, &mut Vec::new())?;
    let mut record = EpdRecord::new(position);
    record.set_dialect(dialect);
    record.set_fen_counters(Some(read_counters(clock, number)?));
    Ok(record)
}

/// Reads fields 5 and 6.
pub(super) fn read_counters(clock: Word, number: Word) -> Result<Counters, Diagnostic> {
    let halfmove_clock = decimal(clock.text).ok_or_else(|| {
        let message = format!(
            "the halfmove clock must be an integer from 0 to {}, not {}",
            u32::MAX,
            shown(clock.text)
        );
        Diagnostic::error(codes::E_FEN_HMVC, clock.column(), message)
    })?;
    let fullmove_number = decimal(number.text).filter(|&value| value > 0).ok_or_else(|| {
        let message = format!(
            "the fullmove number must be an integer from 1 to {}, not {}",
            u32::MAX,
            shown(number.text)
        );
        Diagnostic::error(codes::E_FEN_FMVN, number.column(), message)
    })?;
    Ok(Counters { halfmove_clock, fullmove_number })
}

fn decimal(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |value, &digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// Reads the four fields of a position.
pub(super) fn read_fields(
    [placement, turn, castling, en_passant]: [Word; 4],
    profile: Profile,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Position, CastlingDialect), Diagnostic> {
    let board =
        read_placement(placement.text).ok_or_else(|| what_is_wrong_with_placement(placement))?;
    let turn = read_turn(turn)?;
    let rights = read_castling(castling, &board, profile, warnings)?;
    let target = read_en_passant(en_passant, turn, profile, warnings)?;
    let mut position = Position::new(board, turn, rights.castling, target).map_err(|error| {
        // Both fields have been checked, so this is never met.
        Diagnostic::error(codes::E_POS_CASTLE, castling.column(), error.to_string())
    })?;
    if profile == Profile::Lenient && !en_passant_is_possible(&position) {
        warnings.push(dropped_square(en_passant, "no double step can have passed over it"));
        position = position.with_en_passant(None).unwrap_or(position);
    }
    let dialect = rights.dialect();
    Ok((position, dialect))
}

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
fn read_placement(text: &[u8]) -> Option<Board> {
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

fn what_is_wrong_with_placement(word: Word) -> Diagnostic {
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

fn read_turn(word: Word) -> Result<Color, Diagnostic> {
    match word.text {
        b"w" | b"W" => Ok(Color::White),
        b"b" | b"B" => Ok(Color::Black),
        other => {
            let message = format!("the side to move must be `w` or `b`, not {}", shown(other));
            Err(Diagnostic::error(codes::E_FEN_COLOR, word.column(), message))
        }
    }
}

/// The rights of a castling field, and whether only file letters were met.
struct Rights {
    castling: Castling,
    only_files: bool,
}

impl Rights {
    /// Which letters these are. Where both dialects write the same, the record says X-FEN.
    fn dialect(&self) -> CastlingDialect {
        if self.only_files { CastlingDialect::Shredder } else { CastlingDialect::XFen }
    }
}

fn read_castling(
    word: Word,
    board: &Board,
    profile: Profile,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Rights, Diagnostic> {
    let mut rights = Rights { castling: Castling::NONE, only_files: true };
    if matches!(word.text, b"-" | b"nil") {
        return Ok(rights);
    }
    check_castling_letters(word)?;
    let told = warnings.len();
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
    if warnings.len() > told {
        report_chess960(word, board, &rights.castling, warnings);
    }
    Ok(rights)
}

/// Tells of rights that only Chess960 has and that stand in a field beside rights of the same side
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

fn check_castling_letters(word: Word) -> Result<(), Diagnostic> {
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

/// The side and the rook's file that a castling letter in lower case names (C960-03, C960-05).
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

fn read_en_passant(
    word: Word,
    turn: Color,
    profile: Profile,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Square>, Diagnostic> {
    if matches!(word.text, b"-" | b"nil") {
        return Ok(None);
    }
    let rank = en_passant_rank(turn) + 1;
    let Some(square) = Square::from_ascii(word.text) else {
        let lower = word.text.to_ascii_lowercase();
        let hint = match Square::from_ascii(&lower) {
            Some(square) => format!("did you mean `{square}`?"),
            None => "is a field missing?".into(),
        };
        let message = format!(
            "the en passant field must be `-` or a square of rank {rank}, not {}; {hint}",
            shown(word.text)
        );
        return Err(Diagnostic::error(codes::E_FEN_EP, word.column(), message));
    };
    if square.rank() == en_passant_rank(turn) {
        return Ok(Some(square));
    }
    if profile == Profile::Lenient {
        warnings.push(dropped_square(word, &format!("it is not on rank {rank}")));
        return Ok(None);
    }
    let message = format!("the en passant square must be on rank {rank}, not {square}");
    Err(Diagnostic::error(codes::E_FEN_EP, word.column(), message))
}

fn dropped_square(word: Word, why: &str) -> Diagnostic {
    let message = format!("en passant square {} dropped: {why}", shown(word.text));
    Diagnostic::warning(codes::W_LEN_EP, word.column(), message).with_repair(word.text, b"-")
}

/// Appends the four fields of a position (C960-06, C960-07). [`CastlingForm::Keep`] is the matter
/// of records and written as X-FEN here.
///
/// ```
/// use epdb::model::Position;
/// use epdb::text::{CastlingForm, EnPassantForm, fen};
/// let mut out = Vec::new();
/// fen::write_fields(&Position::START, CastlingForm::Shredder, EnPassantForm::Keep, &mut out);
/// assert_eq!(out, b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha -");
/// ```
pub fn write_fields(
    position: &Position,
    castling: CastlingForm,
    en_passant: EnPassantForm,
    out: &mut Vec<u8>,
) {
    write_placement(position.board(), out);
    out.extend_from_slice(if position.turn() == Color::White { b" w " } else { b" b " });
    write_castling(position, castling, out);
    out.push(b' ');
    match shown_en_passant(position, en_passant) {
        Some(square) => out.extend_from_slice(&square.to_ascii()),
        None => out.push(b'-'),
    }
}

/// The en passant square that a form prints.
pub(super) fn shown_en_passant(position: &Position, form: EnPassantForm) -> Option<Square> {
    let target = position.en_passant()?;
    let us = position.turn();
    let shows = match form {
        EnPassantForm::Keep => true,
        EnPassantForm::Legal => en_passant_is_legal(position),
        EnPassantForm::Pseudo => {
            pawn_attacks(!us, target) & position.board().pieces(us, Role::Pawn) != 0
        }
    };
    shows.then_some(target)
}

fn write_placement(board: &Board, out: &mut Vec<u8>) {
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

/// Appends the castling field.
pub(crate) fn write_castling(position: &Position, form: CastlingForm, out: &mut Vec<u8>) {
    let board = position.board();
    if position.castling().is_empty() {
        out.push(b'-');
    }
    for (color, side, file) in position.castling().iter() {
        let classic = form != CastlingForm::Shredder && is_outermost(board, color, side, file);
        let letter = match side {
            Side::King if classic => b'K',
            Side::Queen if classic => b'Q',
            _ => b'A' + file,
        };
        out.push(if color == Color::White { letter } else { letter.to_ascii_lowercase() });
    }
}
