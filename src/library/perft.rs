//! Number of lines of legal moves (perft), the test of a move generator.

use rayon::prelude::*;

use epdb_chess::codec::ordinal;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{EpdRecord, Opcode};

/// The number of lines of `depth` legal moves; 1 at depth 0. Lines that end earlier in mate or
/// stalemate do not count.
///
/// Uses all threads of the current rayon pool. A count above 2^64 − 1 overflows. No position that
/// games can reach has such a count below depth 13.
///
/// ```
/// use epdb_library::perft::perft;
/// use epdb_chess::model::{Position, rules::Playable};
/// let start = Playable::new(&Position::START).expect("playable");
/// assert_eq!(perft(&start, 3), 8902);
/// ```
pub fn perft(playable: &Playable, depth: u32) -> u64 {
    count(playable, depth, &|| false)
}

/// The number of lines after each legal move, in the order of move ordinals; empty at depth 0.
/// `is_stopped` is called every few milliseconds; once it returns true, the result is `None`.
pub fn divide(
    playable: &Playable,
    depth: u32,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<(Move, u64)>> {
    if depth == 0 {
        return Some(Vec::new());
    }
    let moves = ordinal::list(playable);
    let count = |mv| (mv, count(&playable.after(mv), depth - 1, is_stopped));
    let counts = moves.into_par_iter().map(count).collect();
    (!is_stopped()).then_some(counts)
}

/// Counts as [`perft`] does; after a stop, the result has no meaning.
fn count(playable: &Playable, depth: u32, is_stopped: &(dyn Fn() -> bool + Sync)) -> u64 {
    match depth {
        0 => 1,
        1 => ordinal::count(playable).into(),
        2 | 3 => sequential(playable, depth),
        _ if is_stopped() => 0,
        _ => playable
            .legal_moves()
            .into_par_iter()
            .map(|mv| count(&playable.after(mv), depth - 1, is_stopped))
            .reduce(|| 0, u64::wrapping_add),
    }
}

fn sequential(playable: &Playable, depth: u32) -> u64 {
    if depth == 1 {
        return ordinal::count(playable).into();
    }
    let mut nodes = 0_u64;
    playable.each_move(|mv| {
        nodes = nodes.wrapping_add(sequential(&playable.after(mv), depth - 1));
        true
    });
    nodes
}

/// The perft counts in a record, such as `D1 20; D2 400; …`. They are pairs of depth and count, by ascending
/// depth. An operand that is not a count is left out.
pub fn expected(record: &EpdRecord) -> Vec<(u32, u64)> {
    let mut counts: Vec<_> = record
        .operations()
        .iter()
        .filter_map(|operation| {
            let depth = depth_of(operation.opcode)?;
            let text = operation.operands.first()?.text();
            Some((depth, std::str::from_utf8(&text).ok()?.parse().ok()?))
        })
        .collect();
    counts.sort_unstable();
    counts
}

fn depth_of(opcode: Opcode) -> Option<u32> {
    let digits = opcode.as_bytes().strip_prefix(b"D")?;
    if digits.starts_with(b"0") || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn counts(fen: &str, depth: u32) -> Vec<u64> {
        let record = epdb_chess::parse_epd(fen.as_bytes()).unwrap();
        let playable = Playable::new(record.position()).unwrap();
        (0..=depth).map(|depth| perft(&playable, depth)).collect()
    }

    /// Published counts: castling, promotions, en passant with discovered checks, Chess960.
    #[test]
    fn counts_agree_with_the_published_ones() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert_eq!(counts(start, 4), [1, 20, 400, 8902, 197_281]);
        let kiwipete = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
        assert_eq!(counts(kiwipete, 4), [1, 48, 2039, 97_862, 4_085_603]);
        let pins = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1";
        assert_eq!(counts(pins, 5), [1, 14, 191, 2812, 43_238, 674_624]);
        let chess960 = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9";
        assert_eq!(counts(chess960, 4), [1, 21, 528, 12_189, 326_672]);
        let stalemate = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1";
        assert_eq!(counts(stalemate, 2), [1, 0, 0]);
    }

    #[test]
    fn dividing_gives_the_count_by_move_in_ordinal_order() {
        let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - -").unwrap();
        let playable = Playable::new(record.position()).unwrap();
        let divided = divide(&playable, 3, &|| false).unwrap();
        assert_eq!(divided.iter().map(|(_, nodes)| nodes).sum::<u64>(), perft(&playable, 3));
        let moves: Vec<_> = divided.into_iter().map(|(mv, _)| mv).collect();
        assert_eq!(moves, ordinal::list(&playable));
        assert_eq!(divide(&playable, 0, &|| false), Some(Vec::new()));
        assert_eq!(divide(&playable, 9, &|| true), None);
    }

    #[test]
    fn counts_of_a_record_are_its_private_d_opcodes() {
        let record = epdb_chess::parse_epd(
            b"4k3/8/8/8/8/8/8/4K3 w - - D2 25; D1 5; D0 1; D01 5; D10 7; D3 x; Dx 4;",
        );
        assert_eq!(expected(&record.unwrap()), [(1, 5), (2, 25), (10, 7)]);
    }
}
