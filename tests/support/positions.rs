//! Positions to test with.

use epdb_chess::model::rules::Playable;
use epdb_chess::model::{
    Board, Castling, Color, Piece, Position, Role, Side, Square, may_hold_right,
};
use proptest::prelude::*;

/// The position of a FEN, in any dialect of castling letters.
pub(crate) fn fen(text: &str) -> Position {
    let setup = shakmaty::fen::Fen::from_ascii(text.as_bytes()).expect(text).into_setup();
    Position::try_from(&setup).expect(text)
}

/// The rows of a test vector without its first line, split at tabs.
pub(crate) fn rows(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect(name);
    let fields = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines().skip(1).map(fields).collect()
}

/// Positions of random games from the start array or from a Chess960 array with random rooks.
pub(crate) fn playouts() -> impl Strategy<Value = Vec<Position>> {
    let back_rank = Just([0, 1, 2, 3, 4, 5, 6, 7]).prop_shuffle();
    let starts = prop_oneof![Just(Position::START), back_rank.prop_map(chess960)];
    (starts, prop::collection::vec(any::<u16>(), 1..150)).prop_map(|(start, choices)| {
        let mut playable = Playable::new(&start).expect("playable");
        let mut positions = vec![start];
        for choice in choices {
            let moves = playable.legal_moves();
            if moves.is_empty() {
                break;
            }
            playable = playable.after(moves[usize::from(choice) % moves.len()]);
            positions.push(*playable.position());
        }
        positions
    })
}

/// An array with the king anywhere between two rooks, both sides alike.
fn chess960(mut files: [u8; 8]) -> Position {
    files[..3].sort_unstable();
    let roles = [Role::Rook, Role::King, Role::Rook, Role::Queen, Role::Bishop, Role::Bishop];
    let mut board = Board::EMPTY;
    let mut castling = Castling::NONE;
    for color in Color::ALL {
        let rank = color.back_rank();
        for (nth, &file) in files.iter().enumerate() {
            let role = roles.get(nth).copied().unwrap_or(Role::Knight);
            board.put(Square::at(file, rank), Some(Piece { color, role }));
            let pawns = Square::at(file, rank.abs_diff(1));
            board.put(pawns, Some(Piece { color, role: Role::Pawn }));
        }
        castling.set(color, Side::Queen, Some(files[0]));
        castling.set(color, Side::King, Some(files[2]));
    }
    Position::new(board, Color::White, castling, None).expect("an array")
}

/// Any position that can be said: from the empty board to 64 pieces, with whatever rights the pieces
/// allow and any en passant square.
pub(crate) fn anything() -> impl Strategy<Value = Position> {
    let few = prop::collection::vec((0u8..64, 0usize..12), 0..34);
    let many = prop::collection::vec((0u8..64, 0usize..12), 34..200);
    let kings = prop_oneof![
        Just(Vec::new()),
        (0u8..8, 0u8..8).prop_map(|(white, black)| vec![(white, 10), (56 + black, 11)]),
        (0u8..64, 0u8..64).prop_map(|(white, black)| vec![(white, 10), (black, 11)]),
    ];
    let pieces = (prop_oneof![3 => few, 1 => many], kings);
    (pieces, any::<bool>(), any::<u32>(), prop::option::of(0u8..8)).prop_map(
        |((pieces, kings), white, rights, en_passant)| {
            let mut board = Board::EMPTY;
            // The last two kinds are kings, which are rare in the first list.
            for (square, kind) in pieces.into_iter().chain(kings) {
                let color = Color::ALL[kind % 2];
                let role = Role::ALL[kind / 2];
                board.put(Square::new(square).expect("a square"), Some(Piece { color, role }));
            }
            let mut castling = Castling::NONE;
            for (nth, (color, side)) in Color::ALL
                .into_iter()
                .flat_map(|color| Side::ALL.map(|side| (color, side)))
                .enumerate()
            {
                let file = (rights >> (nth * 4) & 15) as u8;
                let fitting = (0..8u8)
                    .map(|step| (file + step) % 8)
                    .find(|&file| may_hold_right(&board, color, side, file));
                castling.set(color, side, fitting.filter(|_| file < 8));
            }
            let turn = if white { Color::White } else { Color::Black };
            let target =
                en_passant.map(|file| Square::at(file, epdb_chess::model::en_passant_rank(turn)));
            Position::new(board, turn, castling, target).expect("rights that fit")
        },
    )
}

/// The four fields as text, rook files as castling letters where `shredder` is said or a right is
/// not of the outermost rook on its side of the king.
pub(crate) fn fields(position: &Position, shredder: bool) -> String {
    let rank_text = |rank| {
        let mut text = String::new();
        let mut run = 0;
        for file in 0..=8 {
            let piece =
                if file < 8 { position.board().piece_at(Square::at(file, rank)) } else { None };
            if run > 0 && (piece.is_some() || file == 8) {
                text += &run.to_string();
                run = 0;
            }
            match piece {
                Some(piece) => text.push(piece.letter().into()),
                None => run += 1,
            }
        }
        text
    };
    let ranks: Vec<String> = (0..8).rev().map(rank_text).collect();
    let letter = |(color, side, file): (Color, Side, u8)| {
        let mut beyond = if side == Side::King { file + 1..8 } else { 0..file };
        let rook = Some(Piece { color, role: Role::Rook });
        let on_rank = |file| position.board().piece_at(Square::at(file, color.back_rank()));
        let letter = match side {
            _ if shredder || beyond.any(|file| on_rank(file) == rook) => b'a' + file,
            Side::King => b'k',
            Side::Queen => b'q',
        };
        char::from(if color == Color::White { letter.to_ascii_uppercase() } else { letter })
    };
    let castling: String = position.castling().iter().map(letter).collect();
    format!(
        "{} {} {} {}",
        ranks.join("/"),
        if position.turn() == Color::White { "w" } else { "b" },
        if castling.is_empty() { "-" } else { &castling },
        position.en_passant().map_or("-".to_owned(), |square| square.to_string()),
    )
}
