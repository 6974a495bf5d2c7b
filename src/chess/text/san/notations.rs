//! Moves in descriptive and in numeric notation: `N-KB3`, `PxP e.p.`, `R(1)-Q1`, `5254`.

use super::read::find;
use super::write::{file_set, rank_set};
use crate::model::rules::{Move, Playable};
use crate::model::{Color, Role, Side, Square};
use crate::text::Profile;

/// Returns the legal moves that a text may mean. The text is read as English descriptive notation,
/// as numeric notation (ICCF), or as SAN with a note such as `ch` after it. `None` if the text has
/// none of these forms.
///
/// If several moves fit, notes of check, mate and en passant select among them. The king's bishop
/// is recognised by the color of its squares. The king's knight and the king's rook are those
/// nearest to the h-file.
pub fn fitting(playable: &Playable, text: &[u8]) -> Option<Vec<Move>> {
    let (body, notes) = split_notes(text);
    if let Ok(found) = find(playable, body, Profile::Lenient) {
        return if found.false_capture { None } else { Some(vec![found.mv]) };
    }
    let mut moves = numeric(playable, body).or_else(|| descriptive(playable, body))?;
    if moves.len() > 1 {
        moves.retain(|&mv| notes.iter().all(|note| note.agrees(playable, mv)));
    }
    Some(moves)
}

/// A note after a move.
#[derive(Copy, Clone)]
enum Note {
    Check,
    Mate,
    EnPassant,
    Nothing,
}

const NOTES: [(&[u8], Note); 11] = [
    (b"+", Note::Check),
    (b"CH", Note::Check),
    (b"DIS", Note::Check),
    (b"DBL", Note::Check),
    (b"#", Note::Mate),
    (b"MATE", Note::Mate),
    (b"EP", Note::EnPassant),
    (b"E.P", Note::EnPassant),
    (b".", Note::Nothing),
    (b"!", Note::Nothing),
    (b"?", Note::Nothing),
];

impl Note {
    fn agrees(self, playable: &Playable, mv: Move) -> bool {
        match self {
            Note::Check => playable.after(mv).is_check(),
            Note::Mate => playable.after(mv).is_checkmate(),
            Note::EnPassant => playable.is_en_passant(mv),
            Note::Nothing => true,
        }
    }
}

/// Whether a text consists of notes: `ch`, `dis.`, `dbl.ch.`, `mate`.
pub(crate) fn is_note(text: &[u8]) -> bool {
    !text.is_empty() && split_notes(text).0.is_empty()
}

fn split_notes(text: &[u8]) -> (&[u8], Vec<Note>) {
    let mut body = text;
    let mut notes = Vec::new();
    while let Some((rest, note)) =
        NOTES.iter().find_map(|(mark, note)| Some((without_end(body, mark)?, *note)))
    {
        body = rest;
        notes.push(note);
    }
    (body, notes)
}

/// The text before a mark at its end; `None` if it has another end.
fn without_end<'t>(text: &'t [u8], mark: &[u8]) -> Option<&'t [u8]> {
    let (rest, end) = text.split_at(text.len().checked_sub(mark.len())?);
    if end.eq_ignore_ascii_case(mark) { Some(rest) } else { None }
}

/// Reads numeric notation: a digit for each file and rank, and a digit for a promotion. Castling is
/// written as the move of the king.
fn numeric(playable: &Playable, text: &[u8]) -> Option<Vec<Move>> {
    let (squares, promotion) = match text {
        [squares @ .., digit] if text.len() == 5 => (squares, Some(promoted(*digit)?)),
        _ => (text, None),
    };
    let [from_file, from_rank, file, rank] = *squares else { return None };
    let from = Square::at(from_one(from_file)?, from_one(from_rank)?);
    let to = Square::at(from_one(file)?, from_one(rank)?);
    let turn = playable.position().turn();
    let lands = |mv: Move| playable.castling_side(mv).map_or(mv.to, |side| side.targets(turn).0);
    let mut moves = playable.legal_moves();
    moves.retain(|&mv| {
        mv.from == from && lands(mv) == to && (promotion.is_none() || mv.promotion == promotion)
    });
    Some(moves)
}

fn promoted(digit: u8) -> Option<Role> {
    match digit {
        b'1' => Some(Role::Queen),
        b'2' => Some(Role::Rook),
        b'3' => Some(Role::Bishop),
        b'4' => Some(Role::Knight),
        _ => None,
    }
}

/// Converts a digit from 1 to 8 to a number from 0 to 7.
fn from_one(digit: u8) -> Option<u8> {
    digit.checked_sub(b'1').filter(|number| *number < 8)
}

/// Reads descriptive notation except castling: a piece, then `-` and a square, or `x` and a piece.
fn descriptive(playable: &Playable, text: &[u8]) -> Option<Vec<Move>> {
    let text = with_one_spelling(text);
    let (text, promotion) = split_promotion(&text);
    let join = text.iter().position(|byte| matches!(byte, b'-' | b'X'))?;
    let mover = &text[..join];
    let target = &text[join + 1..];
    let captures = text[join] == b'X';
    let position = playable.position();
    let from = pieces(playable, position.turn(), mover)?;
    let to = if captures {
        pieces(playable, !position.turn(), target)?
    } else if target.len() > 1 {
        squares(position.turn(), target)?
    } else {
        return None;
    };
    let mut moves = playable.legal_moves();
    moves.retain(|&mv| {
        from & mv.from.bit() != 0
            && to & mv.to.bit() != 0
            && captures == playable.is_capture(mv)
            && playable.castling_side(mv).is_none()
            && (promotion.is_none() || mv.promotion == promotion)
    });
    Some(moves)
}

/// Normalises the spelling: capital letters, `N` for `Kt`, and `X` for a colon.
fn with_one_spelling(text: &[u8]) -> Vec<u8> {
    let mut spelled: Vec<u8> = Vec::with_capacity(text.len());
    for byte in text.to_ascii_uppercase() {
        match (spelled.last_mut(), byte) {
            (Some(last @ b'K'), b'T') => *last = b'N',
            (_, b':') => spelled.push(b'X'),
            _ => spelled.push(byte),
        }
    }
    spelled
}

/// Splits a move such as `P-K8=Q`, `P-K8(Q)`, `P-K8/Q` or `P-K8Q` into `P-K8` and the role of the
/// promotion. The role is `None` for other moves.
fn split_promotion(text: &[u8]) -> (&[u8], Option<Role>) {
    let (body, letter) = match text {
        [body @ .., b'(', letter, b')'] | [body @ .., b'=' | b'/', letter] => (body, letter),
        [body @ .., letter] if matches!(body, [.., b'1'..=b'8']) => (body, letter),
        _ => return (text, None),
    };
    match letter {
        b'N' | b'B' | b'R' | b'Q' => (body, Role::from_letter(*letter)),
        _ => (text, None),
    }
}

/// Returns the squares of the pieces of a color that a text may mean: `P`, `KBP`, `QR`, `R(1)`,
/// `N/KB3`. A pawn that can be captured en passant counts as standing on the en passant square.
fn pieces(playable: &Playable, color: Color, text: &[u8]) -> Option<u64> {
    let position = playable.position();
    let (name, place) = split_place(text);
    let (letter, owner) = name.split_last()?;
    let role = Role::from_letter(*letter)?;
    let all = position.board().pieces(color, role).bits();
    let named = match role {
        Role::Pawn if color == position.turn() => all & files(owner)?,
        Role::Pawn => {
            let passed = playable.en_passant().map_or(0, |(_, target)| target.bit());
            (all | passed) & files(owner)?
        }
        _ => owned(all, role, color, owner)?,
    };
    match place {
        Some(place) => Some(named & squares(position.turn(), place)?),
        None => Some(named),
    }
}

/// Splits a text such as `R(1)` or `R/1` into the piece `R` and its place `1`. The place is `None`
/// for a text such as `R`.
fn split_place(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let (text, sign) = match text {
        [text @ .., b')'] => (text, b'('),
        _ => (text, b'/'),
    };
    match text.iter().position(|&byte| byte == sign) {
        Some(place) => (&text[..place], Some(&text[place + 1..])),
        None => (text, None),
    }
}

/// Selects from the pieces of a role those of the king's side or the queen's side. `owner` is `K`,
/// `Q`, or empty for all.
fn owned(all: u64, role: Role, color: Color, owner: &[u8]) -> Option<u64> {
    let side = match owner {
        b"" => return Some(all),
        b"K" => Side::King,
        b"Q" => Side::Queen,
        _ => return None,
    };
    match role {
        Role::Bishop if (side == Side::Queen) == (color == Color::White) => {
            Some(all & DARK_SQUARES)
        }
        Role::Bishop => Some(all & !DARK_SQUARES),
        Role::Knight | Role::Rook => {
            let files = Square::each(all).map(Square::file);
            let nearest = if side == Side::King { files.max() } else { files.min() };
            Some(nearest.map_or(0, |file| all & file_set(Square::at(file, 0))))
        }
        _ => None,
    }
}

const DARK_SQUARES: u64 = 0xaa55_aa55_aa55_aa55;

/// The names of the files in descriptive notation, from the a-file to the h-file.
const FILE_NAMES: [&[u8]; 8] = [b"QR", b"QN", b"QB", b"Q", b"K", b"KB", b"KN", b"KR"];

/// Returns the squares of all files that a name may mean. `R` means the files `QR` and `KR`; an
/// empty name means all files.
fn files(name: &[u8]) -> Option<u64> {
    let named = (0..8).zip(FILE_NAMES).filter(|(_, known)| known.ends_with(name));
    let squares = named.fold(0, |set, (file, _)| set | file_set(Square::at(file, 0)));
    (squares != 0).then_some(squares)
}

/// Returns the squares that a text may mean, from the view of one side: `K4`, `B3`, `1`.
fn squares(view: Color, text: &[u8]) -> Option<u64> {
    let (rank, file) = text.split_last()?;
    let rank = from_one(*rank)?.abs_diff(view.back_rank());
    Some(files(file)? & rank_set(Square::at(0, rank)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::model::Position;
    use crate::text::san;

    #[track_caller]
    fn means(fen: &str, text: &str, wanted: &[&str]) {
        let playable = Playable::new(&fen.parse().unwrap()).unwrap();
        let moves = fitting(&playable, text.as_bytes()).unwrap();
        assert_eq!(san::sorted(&playable, moves), wanted, "{text}");
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

    #[test]
    fn squares_are_seen_from_the_mover() {
        means(START, "P-K4", &["e4"]);
        means(START, "p-q3", &["d3"]);
        means(START, "N-KB3", &["Nf3"]);
        means(START, "Kt-QB3", &["Nc3"]);
        means(START, "N-B3", &["Nc3", "Nf3"]);
        means(START, "KN-B3", &["Nf3"]);
        means(START, "B-N5", &[]);
        let black = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
        means(black, "P-K4", &["e5"]);
        means(black, "N-KB3!?", &["Nf6"]);
    }

    #[test]
    fn captures_name_the_piece() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq -";
        means(fen, "NxP", &["Nxe5"]);
        means(fen, "BxP", &["Bxf7+"]);
        means(fen, "BxBPch", &["Bxf7+"]);
        means(fen, "B:KBP+", &["Bxf7+"]);
        means(fen, "BxP/K5", &[]);
        let pawns = "4k3/1p6/p1p5/1P6/8/8/8/4K3 w - -";
        means(pawns, "PxP", &["bxa6", "bxc6"]);
        means(pawns, "PxBP", &["bxc6"]);
        means(pawns, "NPxP/QR6", &["bxa6"]);
        let passed = "4k3/8/8/3pP1p1/5P2/8/8/4K3 w - d6";
        means(passed, "PxP", &["exd6", "fxg5"]);
        means(passed, "PxP e.p.".replace(' ', "").as_str(), &["exd6"]);
        means(passed, "KPxPep", &["exd6"]);
        means(passed, "PxP/Q6", &["exd6"]);
        means(passed, "P-Q6", &[]);
    }

    #[test]
    fn the_piece_that_moves_is_named_by_place_or_owner() {
        let rooks = "4k3/8/8/8/R7/8/6K1/R4R2 w - -";
        means(rooks, "R-Q1", &["Rad1", "Rfd1"]);
        means(rooks, "KR-Q1", &["Rfd1"]);
        means(rooks, "R(R1)-Q1", &["Rad1"]);
        means(rooks, "R/KB1-Q1", &["Rfd1"]);
        means(rooks, "R-K1ch", &["Rae1+", "Rfe1+"]);
        means(rooks, "R-K4+", &["Re4+"]);
        means("4k3/8/8/R7/8/8/6K1/R7 w - -", "R(1)-R3", &["R1a3"]);
        means("4k3/8/8/R7/8/8/6K1/R7 w - -", "QR-R3", &["R1a3", "R5a3"]);
        let bishops = "4k3/8/4B3/8/6B1/8/8/4K3 w - -";
        means(bishops, "B-B5", &["Bef5", "Bgf5"]);
        means("4k3/8/8/8/3BB3/8/8/4K3 w - -", "QB-B6", &["Bf6"]);
        means("4k3/8/8/8/3BB3/8/8/4K3 w - -", "KB-B6", &["Bc6+"]);
    }

    #[test]
    fn notes_choose_among_several_moves() {
        means("6rk/6pp/8/1N4N1/8/8/8/4K3 w - -", "N-B7mate", &["Nf7#"]);
        means("k7/8/8/8/8/8/8/1N3N1K w - -", "N-Q2", &["Nbd2", "Nfd2"]);
        means("2k5/8/8/8/4N3/8/8/4K3 w - -", "N-B6", &["Nf6"]);
        means("2k5/8/8/8/4N3/8/8/4K3 w - -", "N-B2ch", &["Nf2"]);
        means("4k3/8/8/1N4N1/8/8/8/4K3 w - -", "N-B7", &["Nc7+", "Nf7"]);
        means("4k3/8/8/1N4N1/8/8/8/4K3 w - -", "N-B7ch", &["Nc7+"]);
        means("r3k2r/8/8/8/8/8/8/R3K2R w KQkq -", "O-Och", &["O-O"]);
        means("4k3/8/8/8/8/8/8/R3K3 w - -", "Ra8mate", &["Ra8+"]);
    }

    #[test]
    fn promotions_and_digits() {
        let pawn = "6k1/4P3/8/8/8/8/8/4K3 w - -";
        for text in ["P-K8(Q)", "P-K8=Q", "P-K8/Q", "P-K8Q", "P-K8(Q)ch", "57581"] {
            means(pawn, text, &["e8=Q+"]);
        }
        means(pawn, "P-K8=Kt", &["e8=N"]);
        means(pawn, "P-K8", &["e8=B", "e8=N", "e8=Q+", "e8=R+"]);
        means(pawn, "5758", &["e8=B", "e8=N", "e8=Q+", "e8=R+"]);
        means(pawn, "57584", &["e8=N"]);
        means(START, "5254", &["e4"]);
        means(START, "52541", &[]);
        means("r3k2r/8/8/8/8/8/8/R3K2R b KQkq -", "5878", &["O-O"]);
        means("r3k2r/8/8/8/8/8/8/R3K2R b KQkq -", "5838", &["O-O-O"]);
    }

    #[test]
    fn what_has_no_such_form() {
        let playable = Playable::new(&Position::START).unwrap();
        for text in
            ["", "ch", "x", "-", "P-", "PxN1", "N-B9", "PP-K4", "QQ-K4", "P-4", "5959", "525"]
        {
            assert_eq!(fitting(&playable, text.as_bytes()), None, "{text}");
        }
        assert!(is_note(b"dis.ch.") && is_note(b"mate") && !is_note(b"Nf3ch") && !is_note(b""));
    }

    fn square_name(view: Color, square: Square) -> String {
        let file = std::str::from_utf8(FILE_NAMES[usize::from(square.file())]).unwrap();
        let rank = if view == Color::White { square.rank() + 1 } else { 8 - square.rank() };
        format!("{file}{rank}")
    }

    /// Writes a move with both squares in full, and as briefly as possible.
    fn written(playable: &Playable, mv: Move) -> (String, String) {
        let position = playable.position();
        let view = position.turn();
        let letter = |square| position.board().role_at(square).unwrap_or(Role::Pawn).letter();
        let piece = char::from(letter(mv.from));
        let prey = char::from(letter(mv.to));
        let from = square_name(view, mv.from);
        let to = square_name(view, mv.to);
        let short = &to[to.len() - 2..];
        let promotion =
            mv.promotion.map_or(String::new(), |role| format!("={}", char::from(role.letter())));
        if playable.is_capture(mv) {
            (
                format!("{piece}({from})x{prey}({to}){promotion}"),
                format!("{piece}x{prey}{promotion}"),
            )
        } else {
            (format!("{piece}/{from}-{to}{promotion}"), format!("{piece}-{short}{promotion}"))
        }
    }

    fn playable_after(choices: Vec<u16>) -> Playable {
        let start = Playable::new(&Position::START).unwrap();
        choices.into_iter().fold(start, |playable, choice| {
            let moves = playable.legal_moves();
            match moves.len() {
                0 => playable,
                count => playable.after(moves[usize::from(choice) % count]),
            }
        })
    }

    proptest! {
        /// A full text is read as its move. A short text is read as all moves that have this text.
        /// If the text has a note of check, only the moves that give check remain.
        #[test]
        fn what_is_written_comes_back(choices in prop::collection::vec(any::<u16>(), 0..200)) {
            let playable = playable_after(choices);
            let moves = playable.legal_moves();
            let digits = |square: Square| format!("{}{}", square.file() + 1, square.rank() + 1);
            let all: Vec<(Move, String, String)> = moves
                .into_iter()
                .filter(|&mv| playable.castling_side(mv).is_none())
                .map(|mv| (mv, written(&playable, mv)))
                .map(|(mv, (full, short))| (mv, full, short))
                .collect();
            for (mv, full, short) in &all {
                let other = full.replace('N', "Kt").to_lowercase();
                prop_assert_eq!(fitting(&playable, full.as_bytes()), Some(vec![*mv]), "{}", full);
                prop_assert_eq!(fitting(&playable, other.as_bytes()), Some(vec![*mv]), "{}", other);
                // If the piece of a promotion is left out, all promotions are meant.
                let is_meant = |text: &str| {
                    text.strip_prefix(short.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
                };
                let mut alike: Vec<Move> =
                    all.iter().filter(|(.., text)| is_meant(text)).map(|(mv, ..)| *mv).collect();
                let found = |text: &str| {
                    let mut moves = fitting(&playable, text.as_bytes()).unwrap();
                    moves.sort();
                    moves
                };
                alike.sort();
                prop_assert_eq!(found(short), &alike[..], "{}", short);
                if alike.len() > 1 {
                    alike.retain(|&mv| playable.after(mv).is_check());
                }
                prop_assert_eq!(found(&format!("{short}ch.")), alike, "{}", short);
                if mv.promotion.is_none() {
                    let numeric = digits(mv.from) + &digits(mv.to);
                    prop_assert_eq!(found(&numeric), [*mv], "{}", numeric);
                }
            }
        }

        #[test]
        fn any_text_is_read_without_panic(
            text in prop::collection::vec(
                prop::sample::select(b"PNBRQKkt-x()/=12345678.che+#O\xe2".to_vec()),
                0..12,
            ),
        ) {
            let playable = Playable::new(&Position::START).unwrap();
            let moves = fitting(&playable, &text).unwrap_or_default();
            prop_assert!(moves.iter().all(|&mv| playable.is_legal(mv)));
        }
    }
}
