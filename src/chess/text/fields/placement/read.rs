//! Parser of placements.

use super::tables::{
    BAD, MAX_LEN, MAX_PIECES, NO_PIECE, PieceNumbers, Pieces, RANKS, SIGNS, signs,
};
use crate::model::Board;
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::scan::Word;

/// The effect of a byte of text on the board of [`read_pieces`].
#[derive(Copy, Clone)]
struct Step {
    /// The mark that the byte puts on its square.
    mark: u8,
    /// Number of squares from this byte to the next one.
    width: u8,
}

/// Flag of a square that has a piece. The code of the piece plus 1 is added to the flag.
const PIECE: u8 = 0x10;
const SOLIDUS: u8 = 0x40;
/// The mark of a byte that no placement has.
const NO_SIGN: u8 = 0x80;

static STEPS: [Step; 256] = {
    let signs = signs();
    let mut steps = [Step { mark: NO_SIGN, width: 1 }; 256];
    let mut byte = 0;
    while byte < 256 {
        let sign = signs[byte];
        if sign.code != NO_PIECE {
            steps[byte] = Step { mark: PIECE | (sign.code + 1), width: 1 };
        } else if sign.solidus != 0 {
            steps[byte] = Step { mark: SOLIDUS, width: BESIDE };
        } else if sign.doubt != BAD {
            steps[byte] = Step { mark: 0, width: sign.squares };
        }
        byte += 1;
    }
    steps
};

/// Number of extra squares after each rank on the board of [`read_pieces`]. The solidus takes the
/// first of them.
const BESIDE: u8 = 8;
/// Number of squares of a rank, including the extra squares after it.
const RANK: usize = 8 + BESIDE as usize;

/// Reads the canonical placement before the first blank of a line. `None` if there is no blank, if
/// the field has another form, or if there are no pieces or more than 32.
///
/// This is the portable implementation. It puts the characters on a board with extra squares and
/// checks the result there. A processor cannot predict the sequence of characters, so no branch
/// depends on a single character. The hash is computed here because the codes and squares of all
/// pieces are at hand.
#[inline]
pub(crate) fn read_pieces(line: &[u8], numbers: &PieceNumbers) -> Option<Pieces> {
    let mut board = [0; 8 * RANK];
    let mut at = 0;
    let mut len = 0;
    let field = line.get(..=MAX_LEN).unwrap_or(line);
    loop {
        let byte = *field.get(len)?;
        if byte == b' ' {
            break;
        }
        let Step { mark, width } = STEPS[usize::from(byte)];
        board[at % board.len()] = mark;
        at += usize::from(width);
        len += 1;
    }
    if at != 7 * RANK + 8 {
        return None;
    }

    let mut occupied = 0;
    let mut marks = 0;
    let mut solidi = SOLIDUS;
    let mut canonical_len = 7;
    for (nth, rank) in board.chunks_exact(RANK).enumerate() {
        let squares = rank.first_chunk().map_or(0, |squares| u64::from_le_bytes(*squares));
        marks |= squares;
        solidi &= if nth < 7 { rank[8] } else { SOLIDUS };
        let files = files_of(squares);
        canonical_len += usize::from(RANKS[usize::from(files)].len);
        occupied = occupied << 8 | u64::from(files);
    }
    let strange = marks & (u64::MAX / 255 * u64::from(SOLIDUS | NO_SIGN));
    // Adjacent digits make the field longer than necessary.
    if strange != 0 || solidi != SOLIDUS || len != canonical_len {
        return None;
    }
    let count = occupied.count_ones();
    if count == 0 || count > MAX_PIECES {
        return None;
    }
    let (codes, hash) = gather(occupied, &board, numbers);
    Some(Pieces { occupied, count, codes, hash, len })
}

/// Returns the set of the files with a piece, from the marks of eight squares.
const fn files_of(marks: u64) -> u8 {
    let pieces = marks >> PIECE.trailing_zeros() & (u64::MAX / 255);
    // The multiplication moves the bit of each piece to the highest byte, at the bit of its file.
    (pieces.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Returns the codes in the order of squares, and the hash. `board` has the eighth rank first.
#[inline]
fn gather(occupied: u64, board: &[u8; 8 * RANK], numbers: &PieceNumbers) -> (u128, u64) {
    // As in `place`, codes count from 1 at first.
    let mut codes = [0; MAX_PIECES as usize];
    let mut rest = occupied;
    let mut hash = 0;
    for code in &mut codes {
        if rest == 0 {
            break;
        }
        let square = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let from_eighth = square ^ 56;
        *code = board[(from_eighth + (from_eighth & 56)) % board.len()] & 15;
        hash ^= numbers[square << 4 | usize::from(*code)];
    }
    let mut packed = [0; 16];
    for (pair, byte) in codes.chunks_exact(2).zip(&mut packed) {
        *byte = pair[0] | pair[1] << 4;
    }
    let ones = (u128::MAX / 15).wrapping_shr(128 - 4 * occupied.count_ones());
    (u128::from_le_bytes(packed).wrapping_sub(ones), hash)
}

/// Reads a placement of any number of pieces; adjacent digits are allowed. `None` if the text has a
/// fault.
///
/// There are no branches, because a processor cannot predict the sequence of pieces and digits.
/// Bytes other than pieces go to a thirteenth set, and faults are collected until the end.
pub(crate) fn read_board(text: &[u8]) -> Option<Board> {
    if text.len() > MAX_LEN {
        return None;
    }
    let mut sets = [0u64; 16];
    let mut square = 0u32;
    let mut ranks = 0u32;
    let mut bad = 0u32;
    for &byte in text {
        let sign = SIGNS[usize::from(byte)];
        let solidus = i32::from(sign.solidus) as u32;
        bad |= u32::from(sign.doubt & BAD) | (square & !solidus & !63);
        sets[usize::from(sign.code & 15)] |= 1 << ((square ^ 56) & 63);
        ranks += solidus & 1;
        bad |= (square ^ (ranks * 8)) & solidus;
        square += u32::from(sign.squares);
    }
    if bad != 0 || square != 64 || ranks != 7 {
        return None;
    }
    let [bp, p, bn, n, bb, b, br, r, bq, q, bk, k, ..] = sets;
    Some(Board::from_sets(&[p, n, b, r, q, k, bp, bn, bb, br, bq, bk]))
}

/// Makes the error for a placement that [`read_board`] refuses.
pub(crate) fn diagnose(word: Word) -> Diagnostic {
    let ranks = word.text.split(|&byte| byte == b'/').count();
    if ranks == 1 {
        let message = format!("{} is not a placement of eight ranks", shown(word.text));
        return Diagnostic::error(codes::E_FEN_RANKS, word.column(), message);
    }
    if ranks != 8 {
        let message = format!("the placement has {ranks} ranks instead of 8");
        return Diagnostic::error(codes::E_FEN_RANKS, word.column(), message);
    }
    let bad = |byte: &u8| SIGNS[usize::from(*byte)].doubt == BAD;
    if let Some(place) = word.text.iter().position(bad) {
        let message = format!(
            "{} is neither a piece letter (PNBRQK, pnbrqk) nor a digit 1 to 8",
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
    let message = format!("{} is not a placement", shown(word.text));
    Diagnostic::error(codes::E_FEN_RANKS, word.column(), message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tables::{piece_code, place};
    use super::*;
    use crate::simd::{InstructionSet, with_instructions};

    /// Numbers that differ by piece and square.
    static NUMBERS: PieceNumbers = {
        let mut numbers = [0; 1024];
        let mut at = 0;
        while at < 12 * 64 {
            numbers[place(at % 64, (at / 64) as u8)] =
                (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            at += 1;
        }
        numbers
    };

    /// Reads the field by the reader that makes the diagnostics, and then goes through it square by
    /// square.
    fn plainly(line: &[u8]) -> Option<Pieces> {
        let len = line.iter().position(|&byte| byte == b' ')?;
        let field = &line[..len];
        let board = read_board(field)?;
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let count = board.occupied().count();
        if field.windows(2).any(|two| two.iter().all(is_digit)) || !(1..=32).contains(&count) {
            return None;
        }
        let mut pieces =
            Pieces { occupied: board.occupied().bits(), count, codes: 0, hash: 0, len };
        for (nth, square) in board.occupied().into_iter().enumerate() {
            let code = piece_code(board.piece_at(square)?);
            pieces.codes |= u128::from(code) << (nth * 4);
            pieces.hash ^= NUMBERS[place(square.index(), code)];
        }
        Some(pieces)
    }

    /// Checks that all implementations agree. Those with vectors may fall back to the portable one only if
    /// the line is too short or a field is too long.
    fn assert_same(line: &[u8]) {
        let pieces = plainly(line);
        assert_eq!(read_pieces(line, &NUMBERS), pieces, "{}", line.escape_ascii());
        for &set in InstructionSet::supported() {
            let shown = || format!("{}: {}", set.name(), line.escape_ascii());
            let vectors = read_in_vectors(line, set);
            let is_usual = |pieces: &Pieces| pieces.len < 64 && line.len() >= pieces.len + 7;
            let may_leave =
                set == InstructionSet::PORTABLE || !pieces.is_some_and(|pieces| is_usual(&pieces));
            assert!(vectors == pieces || vectors.is_none() && may_leave, "{}", shown());
        }
    }

    #[allow(unsafe_code)]
    fn read_in_vectors(line: &[u8], instructions: InstructionSet) -> Option<Pieces> {
        with_instructions!(
            instructions,
            // SAFETY: a set of this level is made only where its instructions are detected.
            avx512(GATHERS) => unsafe { super::super::avx512::read_packed::<GATHERS>(line, &NUMBERS) },
            // SAFETY: as above.
            lanes => unsafe { super::super::lanes::read(line, &NUMBERS) },
            portable => None,
        )
    }

    fn ranks() -> impl Strategy<Value = String> {
        let rank = prop::collection::vec(prop::sample::select(b"pPnNbBrRqQkK........".to_vec()), 8);
        prop::collection::vec(rank, 8).prop_map(|ranks| {
            let text: Vec<String> = ranks.into_iter().map(|rank| rank_text(&rank)).collect();
            text.join("/")
        })
    }

    fn rank_text(rank: &[u8]) -> String {
        let mut text = String::from_utf8(rank.to_vec()).unwrap_or_default();
        for run in (1..=8).rev() {
            text = text.replace(&".".repeat(run), &run.to_string());
        }
        text
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn boards(field in ranks(), tail in "( .*)?") {
            assert_same(format!("{field}{tail}").as_bytes());
        }

        #[test]
        fn changed_boards(
            field in ranks(),
            place in any::<prop::sample::Index>(),
            byte in prop_oneof![any::<u8>(), prop::sample::select(b"pPkK0123456789/ ".to_vec())],
            insert in any::<bool>(),
        ) {
            let mut line = format!("{field} w - -").into_bytes();
            let place = place.index(line.len());
            if insert {
                line.insert(place, byte);
            } else {
                line[place] = byte;
            }
            assert_same(&line);
        }

        #[test]
        fn characters_of_the_field(line in "[pPnNkK1-8/]{0,70} ?") {
            assert_same(line.as_bytes());
        }

        #[test]
        fn any_bytes(line in prop::collection::vec(any::<u8>(), 0..100)) {
            assert_same(&line);
        }
    }

    /// Reads the opening books in the folder of shared data, if it exists.
    #[test]
    fn shared_books() {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
        let data = std::env::var("EPDB_SHARED_DATA").unwrap_or_else(|_| beside.to_owned());
        let books = std::fs::read_dir(std::path::Path::new(&data).join("books"));
        if books.is_err() {
            crate::skipped::skipped("no books among other people's files");
        }
        for book in books.into_iter().flatten().flatten() {
            let text = std::fs::read(book.path()).unwrap_or_default();
            text.split(|&byte| byte == b'\n').step_by(9).for_each(assert_same);
        }
    }

    #[test]
    fn lines_of_any_length() {
        let line = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1; and much behind it";
        (0..line.len()).for_each(|len| assert_same(&line[..len]));
        // Fields of 63 and 64 bytes, at the end of the vector and beyond it.
        for field in [
            "p1p1p1p1/1p1p1p1p/p1p1p1p1/1p1p1p1p/P1P1P1P1/1P1P1P1P/P1P1P1P1/8",
            "p1p1p1p1/1p1p1p1p/p1p1p1p1/1p1p1p1p/P1P1P1P1/1P1P1P1P/P1P1P1P1/7K",
            "p1p1p1p1/1p1p1p1p/p1p1p1p1/1p1p1p1p/P1P1P1P1/1P1P1P1P/P1P1P1P1/K6K",
        ] {
            assert_same(format!("{field} w - -").as_bytes());
            assert!(plainly(format!("{field} w - -").as_bytes()).is_some());
        }
    }
}
