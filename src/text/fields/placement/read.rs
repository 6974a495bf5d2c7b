//! Placements read.

use super::tables::{BAD, LONGEST, PieceNumbers, Pieces, SIGNS};
use crate::model::Board;
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::scan::Word;

/// The most pieces of [`Pieces`].
const MOST_PIECES: usize = 32;

/// Reads the canonical placement before the first blank of a line. `None` when there is no blank,
/// when the field is in another form, and when there are no pieces or more than 32.
///
/// The hash is made here because the codes and squares of all pieces are at hand, in registers.
#[inline(always)]
pub(crate) fn read_pieces(line: &[u8], numbers: &PieceNumbers) -> Option<Pieces> {
    #[cfg(target_arch = "x86_64")]
    if let Some(pieces) = super::avx512::read(line, numbers) {
        return Some(pieces);
    }
    read_bytewise(line, numbers)
}

/// The way that every machine can go.
#[inline(never)]
fn read_bytewise(line: &[u8], numbers: &PieceNumbers) -> Option<Pieces> {
    let mut codes = [0; LONGEST + 9];
    let mut ends = [0; 8];
    let (mut pieces, mut rank, mut place) = (0, 0usize, 0);
    let mut occupied = 0u64;
    let mut hash = 0;
    let (mut doubt, mut doubt_before) = (0, 0);
    let mut len = 0;
    for &byte in line.iter().take(LONGEST + 1) {
        if byte == b' ' {
            break;
        }
        let sign = SIGNS[usize::from(byte)];
        codes[pieces] = sign.code;
        pieces += usize::from(sign.is_piece);
        occupied |= u64::from(sign.is_piece) << (place & 63);
        hash ^= numbers[usize::from(sign.code)][(place ^ 56) & 63];
        place += usize::from(sign.squares);
        ends[rank & 7] = pieces;
        rank = rank.wrapping_add_signed(-isize::from(sign.solidus));
        doubt |= sign.doubt & (doubt_before | BAD);
        doubt |= u8::from(place != rank * 8) & sign.solidus as u8;
        doubt_before = sign.doubt;
        len += 1;
    }
    let ends_here = line.get(len) == Some(&b' ');
    let count_fits = (1..=MOST_PIECES).contains(&pieces);
    if doubt != 0 || !ends_here || place != 64 || rank != 7 || !count_fits {
        return None;
    }
    ends[7] = pieces;
    let codes = in_square_order(&codes, &ends);
    Some(Pieces { occupied: occupied.swap_bytes(), codes, hash, len })
}

/// Turns codes from reading order, the eighth rank first, to the order of squares, and packs them.
fn in_square_order(read: &[u8; LONGEST + 9], ends: &[usize; 8]) -> u128 {
    let mut ordered = [0u8; MOST_PIECES + 8];
    let mut at = 0;
    for rank in (0..8).rev() {
        let start = if rank == 0 { 0 } else { ends[rank - 1] };
        // Eight codes are copied whatever the rank has; the next rank overwrites the rest.
        ordered[at..at + 8].copy_from_slice(&read[start..start + 8]);
        at += ends[rank] - start;
    }
    ordered[at..].fill(0);
    let mut packed = [0; 16];
    for (pair, byte) in ordered.chunks_exact(2).zip(&mut packed) {
        *byte = pair[0] | pair[1] << 4;
    }
    u128::from_le_bytes(packed)
}

/// Reads a placement of any number of pieces; digits may stand side by side. `None` when anything
/// is wrong.
///
/// There are no branches, as pieces and runs follow each other in no order that a processor could
/// foresee: what is no piece goes to a thirteenth set, and faults are gathered until the end.
pub(crate) fn read_board(text: &[u8]) -> Option<Board> {
    if text.len() > LONGEST {
        return None;
    }
    let mut sets = [0u64; 16];
    let (mut square, mut ranks, mut bad) = (0u32, 0u32, 0u32);
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

/// What is wrong with a placement that [`read_board`] does not take.
pub(crate) fn diagnose(word: Word) -> Diagnostic {
    let ranks = word.text.split(|&byte| byte == b'/').count();
    if ranks == 1 {
        let message = format!("{} is no placement of eight ranks", shown(word.text));
        return Diagnostic::error(codes::E_FEN_RANKS, word.column(), message);
    }
    if ranks != 8 {
        let message = format!("the placement has {ranks} ranks instead of 8");
        return Diagnostic::error(codes::E_FEN_RANKS, word.column(), message);
    }
    let bad = |byte: &u8| SIGNS[usize::from(*byte)].doubt == BAD;
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

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use proptest::prelude::*;

    use super::super::avx512;
    use super::*;

    /// Numbers that differ by piece and square.
    static NUMBERS: PieceNumbers = {
        let mut numbers = [[0; 64]; 13];
        let mut at = 0;
        while at < 12 * 64 {
            numbers[at / 64][at % 64] = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            at += 1;
        }
        numbers
    };

    /// Both ways say the same, but for fields that are too long for one vector.
    fn assert_twins(line: &[u8]) {
        let vectors = avx512::read(line, &NUMBERS);
        if vectors.is_some() {
            assert_eq!(vectors, read_bytewise(line, &NUMBERS), "{}", line.escape_ascii());
        }
    }

    fn assert_both_read(line: &[u8]) {
        assert_twins(line);
        let bytewise = read_bytewise(line, &NUMBERS);
        if avx512::is_supported() && bytewise.is_some_and(|pieces| pieces.len < 64) {
            assert!(avx512::read(line, &NUMBERS).is_some(), "{}", line.escape_ascii());
        }
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
            assert_both_read(format!("{field}{tail}").as_bytes());
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
            assert_both_read(&line);
        }

        #[test]
        fn characters_of_the_field(line in "[pPnNkK1-8/]{0,70} ?") {
            assert_both_read(line.as_bytes());
        }

        #[test]
        fn any_bytes(line in prop::collection::vec(any::<u8>(), 0..100)) {
            assert_both_read(&line);
        }
    }

    /// Other people's books, where they are at hand.
    #[test]
    fn shared_books() {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
        let data = std::env::var("EPDB_SHARED_DATA").unwrap_or_else(|_| beside.to_owned());
        let books = std::fs::read_dir(std::path::Path::new(&data).join("books"));
        for book in books.into_iter().flatten().flatten() {
            let text = std::fs::read(book.path()).unwrap_or_default();
            text.split(|&byte| byte == b'\n').for_each(assert_both_read);
        }
    }

    #[test]
    fn lines_of_any_length() {
        let line = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1; and much behind it";
        (0..line.len()).for_each(|len| assert_both_read(&line[..len]));
        // 63 and 64 bytes: at the end of the vector and beyond it.
        for field in [
            "p1p1p1p1/1p1p1p1p/p1p1p1p1/1p1p1p1p/P1P1P1P1/1P1P1P1P/P1P1P1P1/8",
            "p1p1p1p1/1p1p1p1p/p1p1p1p1/1p1p1p1p/P1P1P1P1/1P1P1P1P/P1P1P1P1/7K",
            "p1p1p1p1/1p1p1p1p/p1p1p1p1/1p1p1p1p/P1P1P1P1/1P1P1P1P/P1P1P1P1/K6K",
        ] {
            assert_both_read(format!("{field} w - -").as_bytes());
            assert!(read_pieces(format!("{field} w - -").as_bytes(), &NUMBERS).is_some());
        }
    }
}
