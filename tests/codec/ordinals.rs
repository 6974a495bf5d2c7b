//! Move ordinals: the vectors, and counting compared with sorting SANs.

use std::collections::BTreeMap;

use epdb_chess::codec::ordinal;
use epdb_chess::model::Position;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::text::san;
use proptest::prelude::*;

use crate::positions::{anything, fen, playouts, rows};

/// All legal moves sorted by written SAN with marks: the definition.
fn by_definition(playable: &Playable) -> Vec<(Vec<u8>, Move)> {
    let mut moves: Vec<_> = playable
        .legal_moves()
        .into_iter()
        .map(|mv| (san::format(playable, mv).as_bytes().to_vec(), mv))
        .collect();
    moves.sort();
    moves
}

fn assert_counted_as_defined(position: &Position) {
    let Ok(playable) = Playable::new(position) else { return };
    let moves = by_definition(&playable);
    for (place, (_, mv)) in (0..).zip(&moves) {
        assert_eq!(ordinal::ordinal(&playable, *mv), Some(place), "{position:?} {mv:?}");
        assert_eq!(ordinal::move_at(&playable, place), Some(*mv), "{position:?} {place}");
    }
    let legal: Vec<Move> = moves.into_iter().map(|(_, mv)| mv).collect();
    assert_eq!(ordinal::list(&playable), legal);
    assert_eq!(usize::from(ordinal::count(&playable)), legal.len());
    assert_eq!(ordinal::move_at(&playable, legal.len() as u16), None);
    assert_eq!(ordinal::move_at(&playable, u16::MAX), None);
}

/// Every move that can be expressed, legal or not.
fn assert_only_legal_moves_have_ordinals(position: &Position) {
    use epdb_chess::model::{Bitboard, Role};
    let Ok(playable) = Playable::new(position) else { return };
    let promotions = [None].into_iter().chain(Role::ALL.map(Some));
    for promotion in promotions {
        for from in Bitboard::ALL {
            for to in Bitboard::ALL {
                let mv = Move { from, to, promotion };
                assert_eq!(
                    ordinal::ordinal(&playable, mv).is_some(),
                    playable.is_legal(mv),
                    "{position:?} {mv:?}"
                );
            }
        }
    }
}

#[test]
fn pgc_05_ordinals_of_the_vector() {
    for row in rows("move_ordinals.tsv") {
        let playable = Playable::new(&fen(&row[3])).expect(&row[3]);
        let moves: BTreeMap<Vec<u8>, Move> = by_definition(&playable).into_iter().collect();
        let mv = moves[row[5].as_bytes()];
        let place = row[6].parse().expect("an ordinal");
        assert_eq!(ordinal::ordinal(&playable, mv), Some(place), "{}", row[0]);
        assert_eq!(ordinal::move_at(&playable, place), Some(mv), "{}", row[0]);
        assert_eq!(ordinal::count(&playable).to_string(), row[7], "{}", row[0]);
    }
}

#[test]
fn pgc_07_lists_of_the_vector() {
    for row in rows("move_lists.tsv") {
        let playable = Playable::new(&fen(&row[3])).expect(&row[3]);
        let sans: Vec<String> = ordinal::list(&playable)
            .into_iter()
            .map(|mv| san::format(&playable, mv).to_string())
            .collect();
        assert_eq!(sans.join(" "), row[5], "{}", row[0]);
        assert_counted_as_defined(playable.position());
        assert_only_legal_moves_have_ordinals(playable.position());
    }
}

#[test]
fn pgc_10_ordinals_over_255() {
    for row in rows("pgc_over255.tsv") {
        let playable = Playable::new(&fen(&row[1])).expect(&row[1]);
        let index: u16 = row[3].parse().expect("an index");
        let mv = ordinal::move_at(&playable, index).expect(&row[0]);
        assert_eq!(san::format(&playable, mv).to_string(), row[2]);
        assert_eq!(u8::try_from(index).is_ok(), row[4] == "OK");
        assert_counted_as_defined(playable.position());
    }
}

#[test]
fn boards_that_no_game_has_are_counted_too() {
    for text in [
        // Three checkers, four, and a double check by two pawns.
        "4k3/8/8/8/1b2r2b/8/3P1P2/4K3 w - - 0 1",
        "4k3/8/3n4/8/1b2K2r/8/8/4r2b w - - 0 1",
        "4k3/8/8/3p1p2/4K3/8/8/8 w - - 0 1",
        // More than sixteen pieces of a side, all of one kind sharing squares.
        "nnnnnnnk/nnnnnnnn/8/8/8/8/NNNNNNNN/NNNNNNNK w - - 0 1",
        "rrrrrrrk/8/8/8/8/8/8/QQQQQQQK b - - 0 1",
        "kr6/rr6/8/BBBBBBBB/8/BBBBBBBB/8/KBBBBBBB w - - 0 1",
        // En passant squares that no double step can have left.
        "4k3/8/8/3P4/8/8/8/4K3 w - e6 0 1",
        "4k3/4p3/8/3Pp3/8/8/8/4K3 w - e6 0 1",
        "4k3/8/4n3/3Pp3/8/8/8/4K3 w - e6 0 1",
        // En passant beside a push to the same square's file, from both sides, and pinned.
        "4k3/8/8/2PpP3/8/8/8/4K3 w - d6 0 1",
        "8/8/8/KPp4r/8/8/8/4k3 w - c6 0 1",
        // Pawns on every rank, promotions by push and by both captures.
        "1n1n1n2/P1P1P1P1/7k/8/8/8/1P1P1P1P/K7 w - - 0 1",
        "k7/8/8/8/8/8/p1p1p2p/1N1N1NNK b - - 0 1",
    ] {
        let position = fen(text);
        assert!(Playable::new(&position).is_ok(), "{text}");
        assert_counted_as_defined(&position);
        assert_only_legal_moves_have_ordinals(&position);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn playouts_are_counted_as_defined(positions in playouts()) {
        positions.iter().for_each(assert_counted_as_defined);
        positions.last().iter().for_each(|last| assert_only_legal_moves_have_ordinals(last));
    }

    #[test]
    fn arbitrary_boards_are_counted_as_defined(position in anything()) {
        assert_counted_as_defined(&position);
    }
}
