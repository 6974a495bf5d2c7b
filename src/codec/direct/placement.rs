//! The first field of a usual line, as occupancy, codes and key.

use std::sync::LazyLock;

use super::super::key::NUMBERS;
use super::super::packed::code;
use crate::model::Piece;

/// What the placement field says; no castling right, no double step and White to move yet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Placement {
    /// The occupied squares.
    pub(super) occupied: u64,
    /// A code of four bits for each man in the order of squares, the first at the bottom.
    pub(super) codes: u128,
    /// The numbers of all men.
    pub(super) key: u64,
    /// Bytes of the field.
    pub(super) len: usize,
}

/// The longest placement field: 64 men and seven solidi.
const MAX_LEN: usize = 71;
/// The most men of a packed board in its plain form.
const MAX_MEN: usize = 32;

/// What a byte of the field does. All of it is arithmetic, because which bytes follow each other
/// cannot be foretold and a wrong guess costs more than the work.
#[derive(Copy, Clone)]
struct Step {
    /// Code of the man, or [`NO_MAN`].
    code: u8,
    /// Squares it covers.
    squares: u8,
    is_man: u8,
    is_solidus: u8,
    /// 1 for a digit, 2 for a byte that has no place in the field: refused are a 2, and a 1 behind
    /// a 1.
    doubt: u8,
}

const NO_MAN: u8 = 12;

const STEPS: [Step; 256] = {
    let other = Step { code: NO_MAN, squares: 0, is_man: 0, is_solidus: 0, doubt: 2 };
    let mut steps = [other; 256];
    let mut byte = 0;
    while byte < 256 {
        if let Some(piece) = Piece::from_letter(byte as u8) {
            steps[byte] = Step { code: code(piece), squares: 1, is_man: 1, doubt: 0, ..other };
        }
        byte += 1;
    }
    let mut run = 1;
    while run <= 8 {
        steps[b'0' as usize + run] = Step { squares: run as u8, doubt: 1, ..other };
        run += 1;
    }
    steps[b'/' as usize] = Step { is_solidus: 1, doubt: 0, ..other };
    steps
};

/// The numbers of men by code and place in reading order; none for [`NO_MAN`].
static MEN_AS_READ: LazyLock<[[u64; 64]; 13]> = LazyLock::new(|| {
    let mut numbers = [[0; 64]; 13];
    for (code, men) in NUMBERS.pieces.iter().enumerate() {
        for place in 0..64 {
            numbers[code][place] = men[place ^ 56];
        }
    }
    numbers
});

impl Placement {
    /// Reads up to the first blank; `None` when there is none, or the field is not in canonical
    /// form, or has no men or more than 32.
    pub(super) fn read(line: &[u8]) -> Option<Placement> {
        #[cfg(target_arch = "x86_64")]
        if let Some(placement) = super::avx512::read(line) {
            return Some(placement);
        }
        Placement::read_bytewise(line)
    }

    /// The way that every machine can go.
    pub(super) fn read_bytewise(line: &[u8]) -> Option<Placement> {
        let numbers = &*MEN_AS_READ;
        let mut codes = [0; MAX_LEN + 9];
        let mut ends = [0; 8];
        let (mut men, mut rank, mut place) = (0, 0, 0);
        let mut occupied = 0u64;
        let mut key = 0;
        let (mut doubt, mut doubt_before) = (0, 0);
        let mut len = 0;
        for &byte in line.iter().take(MAX_LEN + 1) {
            if byte == b' ' {
                break;
            }
            let step = STEPS[usize::from(byte)];
            codes[men] = step.code;
            men += usize::from(step.is_man);
            occupied |= u64::from(step.is_man) << (place & 63);
            key ^= numbers[usize::from(step.code)][place & 63];
            place += usize::from(step.squares);
            ends[rank & 7] = men;
            rank += usize::from(step.is_solidus);
            doubt |= step.doubt & (doubt_before | 2);
            doubt |= u8::from(place != rank * 8) & step.is_solidus;
            doubt_before = step.doubt;
            len += 1;
        }
        let ends_here = line.get(len) == Some(&b' ');
        if doubt != 0 || !ends_here || place != 64 || rank != 7 || men == 0 || men > MAX_MEN {
            return None;
        }
        ends[7] = men;
        let codes = in_square_order(&codes, &ends);
        Some(Placement { occupied: occupied.swap_bytes(), codes, key, len })
    }
}

/// Turns codes from reading order, the eighth rank first, to the order of squares, and packs them.
fn in_square_order(read: &[u8; MAX_LEN + 9], ends: &[usize; 8]) -> u128 {
    let mut ordered = [0u8; MAX_MEN + 8];
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

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use proptest::prelude::*;

    use super::super::avx512;
    use super::*;

    /// Both ways say the same, but for fields that are too long for one vector.
    fn assert_twins(line: &[u8]) {
        let vectors = avx512::read(line);
        if vectors.is_some() {
            assert_eq!(vectors, Placement::read_bytewise(line), "{}", line.escape_ascii());
        }
    }

    fn assert_both_read(line: &[u8]) {
        assert_twins(line);
        let bytewise = Placement::read_bytewise(line);
        if avx512::is_supported() && bytewise.is_some_and(|placement| placement.len < 64) {
            assert!(avx512::read(line).is_some(), "{}", line.escape_ascii());
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
            assert!(Placement::read(format!("{field} w - -").as_bytes()).is_some());
        }
    }
}
