//! The rules of chess compared with shakmaty: legal moves, marks and successors on random legal playouts.
//!
//! Standard chess and Chess960.

use std::collections::BTreeMap;

use epdb_chess::model::Position;
use epdb_chess::model::rules::{Legality, Move, Playable, legality};
use epdb_chess::text::san;
use proptest::prelude::*;
use shakmaty::{CastlingMode, Chess, FromSetup, Position as _, san::SanPlus};

fn position(chess: &Chess) -> Position {
    Position::try_from(chess).expect("a legal position")
}

fn our_move(theirs: shakmaty::Move) -> Move {
    Move::try_from(&theirs).expect("no drops in chess")
}

fn assert_agrees(chess: &Chess) {
    let ours = Playable::new(&position(chess)).expect("playable");
    let expected: BTreeMap<Move, String> = chess
        .legal_moves()
        .iter()
        .map(|&mv| (our_move(mv), SanPlus::from_move(chess.clone(), mv).to_string()))
        .collect();
    let found: BTreeMap<Move, String> =
        ours.legal_moves().iter().map(|&mv| (mv, san::format(&ours, mv).to_string())).collect();
    assert_eq!(found, expected);
    assert!(found.keys().all(|&mv| ours.is_legal(mv)));
    assert_eq!(ours.has_move(), !expected.is_empty());
    assert_eq!(
        position(chess).identity().en_passant().is_some(),
        chess.legal_ep_square().is_some()
    );
}

fn play(mut chess: Chess, choices: &[u16]) {
    let mut ours = Playable::new(&position(&chess)).expect("playable");
    for &choice in choices {
        assert_agrees(&chess);
        let moves = chess.legal_moves();
        if moves.is_empty() {
            break;
        }
        let mv = moves[usize::from(choice) % moves.len()];
        ours = ours.after(our_move(mv));
        chess.play_unchecked(mv);
        assert_eq!(ours.position(), &position(&chess));
    }
}

fn chess960(index: u16) -> Chess {
    // Direct derivation from the number: bishops, queen, knights, then rook, king, rook.
    let (rest, light) = (index / 4, index % 4);
    let (rest, dark) = (rest / 4, rest % 4);
    let (knights, queen) = (rest / 6, rest % 6);
    let mut files = [' '; 8];
    files[usize::from(light) * 2 + 1] = 'b';
    files[usize::from(dark) * 2] = 'b';
    let mut place = |nth: usize, letter: char| {
        let free = (0..8).filter(|&file| files[file] == ' ').nth(nth).expect("a free file");
        files[free] = letter;
    };
    place(usize::from(queen), 'q');
    let pairs = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)];
    let (first, second) = pairs[usize::from(knights)];
    place(first, 'n');
    place(second, 'n');
    for letter in ['r', 'k', 'r'] {
        place(0, letter);
    }
    let back: String = files.iter().collect();
    let fen = format!("{back}/pppppppp/8/8/8/8/PPPPPPPP/{} w KQkq - 0 1", back.to_uppercase());
    let setup = fen.parse::<shakmaty::fen::Fen>().expect("a FEN").into_setup();
    Chess::from_setup(setup, CastlingMode::Chess960).expect("a legal array")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_playouts_agree_with_shakmaty(choices in prop::collection::vec(any::<u16>(), 1..120)) {
        play(Chess::default(), &choices);
    }

    #[test]
    fn chess960_playouts_agree_with_shakmaty(
        index in 0u16..960,
        choices in prop::collection::vec(any::<u16>(), 1..120),
    ) {
        play(chess960(index), &choices);
    }

    #[test]
    fn rare_boards_agree_with_shakmaty(pieces in prop::collection::vec((0u8..64, 0usize..12), 2..40), white in any::<bool>()) {
        let mut board = shakmaty::Board::empty();
        let kings = [(pieces[0].0, true), (pieces[1].0, false)];
        for &(place, kind) in &pieces[2..] {
            let role = shakmaty::Role::ALL[kind % 5];
            let color = shakmaty::Color::from_white(kind < 6);
            board.set_piece_at(shakmaty::Square::new(place.into()), role.of(color));
        }
        for (place, white) in kings {
            board.set_piece_at(shakmaty::Square::new(place.into()), shakmaty::Role::King.of(shakmaty::Color::from_white(white)));
        }
        let mut setup = shakmaty::Setup::empty();
        setup.board = board;
        setup.turn = shakmaty::Color::from_white(white);
        let chess = Chess::from_setup(setup, CastlingMode::Chess960)
            .or_else(shakmaty::PositionError::ignore_too_much_material)
            .or_else(shakmaty::PositionError::ignore_impossible_check);
        if let Ok(chess) = chess {
            assert_agrees(&chess);
        }
    }
}

/// A running clock beside an en passant square is a flag of the record, not of its position.
#[test]
fn a_clock_that_runs_after_a_double_step_is_flagged() {
    let flags = |line: &[u8]| epdb_chess::parse_epd(line).expect("a record").legality();
    let stepped = b"4k3/8/8/8/4P3/8/8/4K3 b - e3 3 1";
    assert!(flags(stepped).contains(Legality::CLOCK_BESIDE_EP));
    assert!(legality(epdb_chess::parse_epd(stepped).expect("a record").position()).is_legal());
    assert!(flags(b"4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1").is_legal());
    assert!(flags(b"4k3/8/8/8/4P3/8/8/4K3 b - - 3 1").is_legal());
}
