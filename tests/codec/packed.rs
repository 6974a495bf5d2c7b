//! Packed boards have one encoding each; position keys.

use epdb_chess::codec::{key, packed};
use epdb_chess::model::{Color, Position};
use proptest::prelude::*;

use crate::positions::{anything, fen, playouts, rows};

fn assert_round_trip(position: &Position) {
    let board = packed::encode(position);
    let len = board.as_bytes().len();
    assert_eq!(packed::decode(board.as_bytes()), Ok((*position, len)));
    assert_eq!(packed::len_of(board.as_bytes()), Ok(len));
    for short in 0..len {
        assert!(packed::decode(&board.as_bytes()[..short]).is_err());
    }
    let mut followed = board.as_bytes().to_vec();
    followed.push(0x5a);
    assert_eq!(packed::decode(&followed), Ok((*position, len)));
}

#[test]
fn men_and_bytes() {
    let sizes = [
        ("8/8/8/8/8/8/8/K7 w - -", 9),
        ("8/8/8/8/8/8/8/Kk6 b - -", 9),
        ("4k3/8/8/8/8/8/4P3/4K3 w - -", 10),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq -", 24),
        // Escape: no pieces, 33 pieces, Black to move without a king, no pawn before the square.
        ("8/8/8/8/8/8/8/8 w - -", 41),
        ("rnbqkbnr/pppppppp/8/8/8/P7/PPPPPPPP/RNBQKBNR w KQkq -", 41),
        ("8/8/8/8/8/8/8/K7 b - -", 41),
        ("4k3/8/8/3P4/8/8/8/4K3 w - e6", 41),
    ];
    for (text, len) in sizes {
        let position = fen(text);
        assert_eq!(packed::encode(&position).as_bytes().len(), len, "{text}");
        assert_round_trip(&position);
    }
}

/// Identity: counters, dialect and a superfluous en passant square are not part of it.
#[test]
fn sto_01_identity_of_dialects_and_en_passant() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w";
    assert_eq!(fen(&format!("{start} KQkq - 0 1")), fen(&format!("{start} HAha - 7 9")));
    let same = |a: &str, b: &str| {
        let (a, b) = (fen(a).identity(), fen(b).identity());
        assert_eq!(packed::encode(&a), packed::encode(&b));
        assert_eq!(key::position_key(&a), key::position_key(&b));
    };
    let e4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq";
    same(&format!("{e4} e3"), &format!("{e4} -"));
    // The capturing pawn is pinned along the rank.
    same("8/8/8/KPp4r/8/8/8/4k3 w - c6", "8/8/8/KPp4r/8/8/8/4k3 w - -");
    let legal = fen("8/8/8/KPp5/8/8/8/4k3 w - c6");
    assert_eq!(legal.identity(), legal);
    assert_ne!(key::position_key(&legal), key::position_key(&fen("8/8/8/KPp5/8/8/8/4k3 w - -")));
}

#[test]
fn polyglot_keys_of_the_peers() {
    let mut seen = 0;
    for row in rows("peer_cases.tsv").iter().filter(|row| row[0] == "polyglot_key") {
        let position = fen(&row[1]);
        assert_eq!(format!("{:016x}", key::polyglot_key(&position)), row[2], "{}", row[1]);
        assert_eq!(key::polyglot_key(&position), key::position_key(&position), "{}", row[1]);
        seen += 1;
    }
    assert_eq!(seen, 9);
}

/// Positions in which Polyglot's rule and ours differ: the neighbour cannot capture.
#[test]
fn polyglot_counts_a_pinned_neighbour() {
    let pinned = fen("8/8/8/KPp4r/8/8/8/4k3 w - c6");
    assert_ne!(key::polyglot_key(&pinned), key::position_key(&pinned));
    let without = fen("8/8/8/KPp4r/8/8/8/4k3 w - -");
    assert_eq!(key::position_key(&pinned), key::position_key(&without));
    assert_eq!(key::polyglot_key(&without), key::position_key(&without));
    // No double step can have left this square.
    let bad = fen("4k3/8/4n3/3Pp3/8/8/8/4K3 w - e6");
    assert_eq!(key::polyglot_key(&bad), key::position_key(&bad));
}

/// Polyglot has one key for a right to the king side, whichever rook holds it.
#[test]
fn inner_and_outer_rook_share_a_key_but_not_a_board() {
    let inner = fen("rn2k1r1/ppp1pp1p/3p2p1/5bn1/P7/2N2B2/1PPPPP2/2BNK1RR w Gkq - 4 11");
    let outer = fen("rn2k1r1/ppp1pp1p/3p2p1/5bn1/P7/2N2B2/1PPPPP2/2BNK1RR w Kkq - 4 11");
    assert_eq!(key::position_key(&inner), key::position_key(&outer));
    assert_ne!(packed::encode(&inner), packed::encode(&outer));
}

proptest! {
    #[test]
    fn any_position_has_one_encoding(position in anything()) {
        assert_round_trip(&position);
        assert_round_trip(&position.identity());
    }

    #[test]
    fn positions_of_games_take_the_plain_form(positions in playouts()) {
        for position in positions {
            assert_round_trip(&position);
            let pieces = position.board().occupied().count() as usize;
            assert_eq!(packed::encode(&position).as_bytes().len(), 8 + pieces.div_ceil(2));
        }
    }

    #[test]
    fn accepted_bytes_are_what_pack_writes(
        occupied in prop_oneof![any::<u64>(), Just(0), any::<(u64, u64)>().prop_map(|(a, b)| a & b)],
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let bytes = [occupied.to_le_bytes().as_slice(), &tail].concat();
        if let Ok((position, len)) = packed::decode(&bytes) {
            let board = packed::encode(&position);
            prop_assert_eq!(board.as_bytes(), &bytes[..len]);
        }
    }

    #[test]
    fn changed_bytes_are_refused_or_canonical(
        position in anything(),
        place in any::<prop::sample::Index>(),
        change in 1u8..,
    ) {
        let mut bytes = packed::encode(&position).as_bytes().to_vec();
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        if let Ok((other, len)) = packed::decode(&bytes) {
            let board = packed::encode(&other);
            prop_assert_eq!(board.as_bytes(), &bytes[..len]);
            prop_assert_ne!(other, position);
        }
    }

    #[test]
    fn the_key_is_that_of_the_identity(position in anything()) {
        prop_assert_eq!(key::position_key(&position), key::position_key(&position.identity()));
        let other_turn = if position.turn() == Color::White { Color::Black } else { Color::White };
        let bare = position.with_en_passant(None).unwrap();
        let other = Position::new(*bare.board(), other_turn, *bare.castling(), None).unwrap();
        prop_assert_ne!(key::position_key(&bare), key::position_key(&other));
        let board = packed::encode(&position.identity());
        prop_assert_eq!(key::board_key(board.as_bytes()), Ok(key::position_key(&position)));
    }
}
