//! Moves in odd spellings: with a blank inside, without one between two, in odd notations.
//!
//! A move that can be read in exactly one way is read, with a warning; anything else ends the game.

use epdb_chess::model::Game;
use epdb_chess::text::Profile;
use epdb_chess::text::pgn::{Language, PgnReadOptions};

use super::found::read_games;

/// The movetext of each game, in one line, and what it was repaired to: `CODE before > after`.
fn read_with(text: &str, options: PgnReadOptions) -> Vec<(String, Vec<String>)> {
    let shown = |game: Result<(Game, String), (&str, String)>| match game {
        Ok((_, movetext)) => movetext,
        Err((code, _)) => code.to_owned(),
    };
    let games = read_games(text.as_bytes(), &options).into_iter();
    games.map(|(game, repairs)| (shown(game), repairs)).collect()
}

fn read(text: &str) -> Vec<(String, Vec<String>)> {
    read_with(text, PgnReadOptions::default())
}

/// One game, and its repairs of these codes.
#[track_caller]
fn assert_read(text: &str, movetext: &str, repairs: &[&str]) {
    let games = read(text);
    assert_eq!(games.len(), 1, "{text}: {games:?}");
    assert_eq!(games[0].0, movetext, "{text}: {:?}", games[0].1);
    assert_eq!(games[0].1, repairs, "{text}");
}

/// One game that ends before a text.
#[track_caller]
fn assert_cut(text: &str, movetext: &str) {
    let games = read(text);
    assert_eq!((games.len(), games[0].0.as_str()), (1, movetext), "{text}: {:?}", games[0].1);
    assert!(games[0].1[0].starts_with("W-PGN-TRUNCATED"), "{text}: {:?}", games[0].1);
}

#[test]
fn a_blank_inside_a_move_is_taken_out() {
    for (text, movetext, repair) in [
        ("1. e4 e5 2. N f3 Nc6 *", "1. e4 e5 2. Nf3 Nc6 *", "N f3 > Nf3"),
        ("1. N f3 *", "1. Nf3 *", "N f3 > Nf3"),
        ("1. e4 e5 2. N\nf3 *", "1. e4 e5 2. Nf3 *", "N\nf3 > Nf3"),
        ("1. e4 e5 2. N\r\nf3 *", "1. e4 e5 2. Nf3 *", "N\r\nf3 > Nf3"),
        ("1. e4 e5 2.N f3! *", "1. e4 e5 2. Nf3 $1 *", "N f3 > Nf3"),
        ("1. e4 e5 2. Nf 3 *", "1. e4 e5 2. Nf3 *", "Nf 3 > Nf3"),
        ("1. e4 e5 2. Nf3 2... N c6 *", "1. e4 e5 2. Nf3 Nc6 *", "N c6 > Nc6"),
        ("1. e4 e5 2. B b5 *", "1. e4 e5 2. Bb5 *", "B b5 > Bb5"),
        ("1. e4 e5 2. Nf3 Nc6 3. Bb5 B b4 *", "1. e4 e5 2. Nf3 Nc6 3. Bb5 Bb4 *", "B b4 > Bb4"),
        ("1. d4 e5 2. Nf3 exd4 3. N xd4 *", "1. d4 e5 2. Nf3 exd4 3. Nxd4 *", "N xd4 > Nxd4"),
        ("1. d4 e5 2. Nf3 exd4 3. N x d4 *", "1. d4 e5 2. Nf3 exd4 3. Nxd4 *", "N x d4 > Nxd4"),
        ("1. d4 d5 2. Nf3 Nf6 3. Nb d2 *", "1. d4 d5 2. Nf3 Nf6 3. Nbd2 *", "Nb d2 > Nbd2"),
        ("1. d4 d5 2. Nf3 Nf6 3. N b d2 *", "1. d4 d5 2. Nf3 Nf6 3. Nbd2 *", "N b d2 > Nbd2"),
        ("1. e 4 *", "1. e4 *", "e 4 > e4"),
        ("1. e2 e4 *", "1. e4 *", "e2 e4 > e4"),
        ("1. e2 - e4 *", "1. e4 *", "e2 - e4 > e4"),
        ("1. e4 d5 2. e xd5 *", "1. e4 d5 2. exd5 *", "e xd5 > exd5"),
        ("1. e4 e5 (1... c5 2. N f3) *", "1. e4 e5 (1... c5 2. Nf3) *", "N f3 > Nf3"),
        ("1. e4 e5 2. N f3", "1. e4 e5 2. Nf3 *", "N f3 > Nf3"),
        ("1. e4 f5 2. Q h5+ *", "1. e4 f5 2. Qh5+ *", "Q h5+ > Qh5+"),
        ("[FEN \"7k/4P3/8/8/8/8/8/4K3 w - - 0 1\"]\n\n1. e8 = Q *", "1. e8=Q+ *", "e8 = Q > e8=Q+"),
    ] {
        let told = format!("W-PGN-SPLIT {repair}");
        let games = read(text);
        assert_eq!((games.len(), games[0].0.as_str()), (1, movetext), "{text}: {games:?}");
        assert_eq!(games[0].1[0], told, "{text}");
    }
}

/// A sign of novelty or diagram stays one where it cannot be the piece of the next move.
#[test]
fn a_letter_is_a_sign_where_it_can_be_nothing_else() {
    for text in [
        "1. e4 N e5 *",
        "1. e4 e5 N 2. Nf3 *",
        "1. e4 e5 2. Nf3 N Nc6 *",
        "1. e4 D e5 *",
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O N Be7 *",
        "1. e4 N {new} e5 *",
        "1. e4 N 1... Nf6 *",
        "1. e4 N *",
        "1. e4 e5 (1... c5 N) 2. Nf3 *",
    ] {
        let games = read(text);
        assert_eq!(games[0].1.len(), 1, "{text}: {games:?}");
        assert!(games[0].1[0].starts_with("W-PGN-NAG"), "{text}: {games:?}");
    }
}

/// If several moves fit, or none, nothing is guessed.
#[test]
fn ambiguous_text_is_not_a_move() {
    assert_cut("1. e4 e5 2. Nf3 N c6 3. Bb5 N f6 *", "1. e4 e5 2. Nf3 {N c6 3. Bb5 N f6} *");
    assert_cut("1. e4 e5 2. Nf3 N f6 *", "1. e4 e5 2. Nf3 {N f6} *");
    assert_cut("1. e4 e5 2. N h4 *", "1. e4 e5 {2. N h4} *");
    assert_cut("1. e4 e5 2. N g4 *", "1. e4 e5 {2. N g4} *");
    assert_cut("1. e4 e5 2. R f3 *", "1. e4 e5 {2. R f3} *");
    // A blank line and a comment end what may belong together, and so does a number.
    assert_cut("1. e4 e5 2. B\n\nb5 *", "1. e4 e5 {2. B b5} *");
    assert_cut("1. e4 e5 2. B {x} b5 *", "1. e4 e5 {2. B} {x} {b5} *");
    assert_cut("1. e4 e5 2. Nf 3. d4 *", "1. e4 e5 {2. Nf 3. d4} *");
    assert_cut("1. d4 d5 2. Nf3 Nf6 3. N d2 *", "1. d4 d5 2. Nf3 Nf6 {3. N d2} *");
    let games = read("1. e4 e5 (1... c5 2. Nf3 N f6 3. d4) 2. d4 *");
    assert_eq!(games[0].0, "1. e4 e5 (1... c5 2. Nf3 {N f6 3. d4}) 2. d4 *");
    assert!(games[0].1[0].starts_with("W-PGN-VARIATION"), "{games:?}");
}

#[test]
fn castling_in_circles_is_castling() {
    let begin = "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5";
    for (castling, count) in [
        ("4.00 00", 2),
        ("4. 00 00", 2),
        ("4.OO OO", 2),
        ("4.oo 0O", 2),
        ("4. 0 0 0 0", 2),
        ("4. 0 0 4... 0 0", 2),
        ("4. O O\nO O", 2),
        ("4. 0 - 0 0- 0", 2),
        ("4.O-O 00", 1),
        ("4. 00! 0-0", 1),
        ("4. {c} 00 {d} 00", 2),
        ("4. 00. 00.", 2),
    ] {
        let games = read(&format!("{begin} {castling} 5. d3 d6 *"));
        assert_eq!(games.len(), 1, "{castling}: {games:?}");
        let movetext = games[0].0.replace(" $1 4...", "").replace(" {c}", "");
        let movetext = movetext.replace(" {d} 4...", "");
        assert_eq!(movetext, format!("{begin} 4. O-O O-O 5. d3 d6 *"), "{castling}: {games:?}");
        assert_eq!(games[0].1.len(), count, "{castling}: {games:?}");
        let is_told =
            |told: &String| told.starts_with("W-LEN-SPELLING") || told.starts_with("W-PGN-SPLIT");
        assert!(games[0].1.iter().all(is_told), "{castling}: {games:?}");
    }
    let set_up = "[FEN \"r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1\"]\n\n";
    for (castling, wanted) in [
        ("1. 000 000", "1. O-O-O O-O-O"),
        ("1. 0 0 0 000", "1. O-O-O O-O-O"),
        ("1. 0 0 0 0 0 0", "1. O-O-O O-O-O"),
        ("1. 00 0", "1. O-O-O"),
        ("1. O-O -O", "1. O-O-O"),
        ("1. 0-0 -0 O-O -O", "1. O-O-O O-O-O"),
        ("1. O-O --", "1. O-O --"),
        ("1. O-O -/+ O-O", "1. O-O $17 1... O-O"),
        ("1. 00 000", "1. O-O O-O-O"),
        ("1. 000 00", "1. O-O-O O-O"),
        ("1. OOO+", "1. O-O-O"),
        ("1. 0-00", "1. O-O-O"),
    ] {
        let games = read(&format!("{set_up}{castling} *"));
        assert_eq!(games[0].0, format!("{wanted} *"), "{castling}: {games:?}");
    }
    // Five circles are two castlings in one of two orders.
    assert_eq!(read(&format!("{set_up}1. 0 0 0 0 0 *"))[0].0, "E-MOVE-AMBIG");
    // Chess960: the king of f1 goes to g1 or to c1.
    let fischer = "[Variant \"Chess960\"]\n[FEN \"4k3/8/8/8/8/8/8/R4K1R w HA - 0 1\"]\n\n";
    assert_eq!(read(&format!("{fischer}1. 00 *"))[0].0, "1. O-O *");
    assert_eq!(read(&format!("{fischer}1. 000 *"))[0].0, "1. O-O-O *");
}

#[test]
fn castling_that_is_illegal_is_no_number_either() {
    assert_cut("1. e4 e5 2. 00 00 3. d3 *", "1. e4 e5 {2. 00 00 3. d3} *");
    assert_cut(
        "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4. 000 *",
        "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 {4. 000} *",
    );
    assert_cut("1. e4 e5 2. 0 Nf3 *", "1. e4 e5 {2. 0 Nf3} *");
    assert_read("1. e4 0000 2. d4 *", "1. e4 -- 2. d4 *", &[]);
    assert_read("0. e4 e5 *", "1. e4 e5 *", &["W-PGN-MOVENUM 0 > 1"]);
}

#[test]
fn odd_notations_are_read_where_one_legal_move_fits() {
    for (text, movetext, repair) in [
        ("1. e4 a6 2. e5 f5 3. xf6 *", "1. e4 a6 2. e5 f5 3. exf6 *", "xf6 > exf6"),
        ("1. f3 e5 2. g4 Qh4mate 0-1", "1. f3 e5 2. g4 Qh4# 0-1", "Qh4mate > Qh4#"),
        ("1. f3 e5 2. g4 Qh4\u{2021} 0-1", "1. f3 e5 2. g4 Qh4# 0-1", "Qh4\u{2021} > Qh4#"),
        ("1. e4 f5 2. Qh5ch g6 *", "1. e4 f5 2. Qh5+ g6 *", "Qh5ch > Qh5+"),
        ("1. e4 f5 2. Qh5ch. g6 *", "1. e4 f5 2. Qh5+ g6 *", "Qh5ch > Qh5+"),
        ("1. e4 f5 2. Qh5\u{2020} g6 *", "1. e4 f5 2. Qh5+ g6 *", "Qh5\u{2020} > Qh5+"),
        ("1. ee4 *", "1. e4 *", "ee4 > e4"),
        ("1. e4 d5 2. eexd5 *", "1. e4 d5 2. exd5 *", "eexd5 > exd5"),
        ("1. NNf3 *", "1. Nf3 *", "NNf3 > Nf3"),
        ("1. e4 d5 2. Bb5+ c6 3. Bcx6+ *", "1. e4 d5 2. Bb5+ c6 3. Bxc6+ *", "Bcx6+ > Bxc6+"),
        ("[FEN \"4k3/8/8/8/R7/8/8/4K3 w - - 0 1\"]\n\n1. ae4+ *", "1. Re4+ *", "ae4+ > Re4+"),
        (
            "[FEN \"3nk3/4P3/8/8/8/8/8/4K3 w - - 0 1\"]\n\n1. xd8=Q *",
            "1. exd8=Q+ *",
            "xd8=Q > exd8=Q+",
        ),
    ] {
        let games = read(text);
        assert_eq!((games.len(), games[0].0.as_str()), (1, movetext), "{text}: {games:?}");
        assert_eq!(games[0].1[0], format!("W-LEN-SPELLING {repair}"), "{text}");
    }
    assert_read(
        "1. e4 f5 2. Qh5ch g6 3. Qxg6 dbl.ch. hxg6 *",
        "1. e4 f5 2. Qh5+ g6 3. Qxg6+ hxg6 *",
        &["W-LEN-SPELLING Qh5ch > Qh5+", "W-LEN-DETACHED dbl > ", "W-LEN-DETACHED ch > "],
    );
    // Nothing that fits, or more than one move.
    assert_eq!(read("1. ae4 ae5 *")[0].0, "E-MOVE-ILLEGAL");
    let pawns = "[FEN \"4k3/8/5n2/4P1P1/8/8/8/4K3 w - - 0 1\"]\n\n1. xf6 *";
    assert_eq!(read(pawns)[0].0, "E-MOVE-AMBIG");
    assert_cut("1. e4 e5 2. Sf3 *", "1. e4 e5 {2. Sf3} *");
    let german =
        PgnReadOptions { language: "German".parse::<Language>().unwrap(), ..Default::default() };
    let games = read_with("1. e4 e5 2. S f3 Sc6 3. Lb5 D f6 *", german);
    assert_eq!(games[0].0, "1. e4 e5 2. Nf3 Nc6 3. Bb5 {D f6} *");
    for profile in [Profile::Standard, Profile::Strict] {
        for text in ["1. ee4 *", "1. N f3 *", "1. e4e5 *", "1. f3 e5 2. g4 Qh4mate 0-1"] {
            let read = read_with(text, PgnReadOptions { profile, ..Default::default() });
            assert!(read[0].0.starts_with("E-"), "{text}: {read:?}");
        }
    }
}

#[test]
fn two_moves_without_a_blank_are_two() {
    assert_read(
        "1.e4e5 2.Nf3Nc6 3.Bb5a6 *",
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 *",
        &["W-PGN-PAIR e4e5 > e4 e5", "W-PGN-PAIR Nf3Nc6 > Nf3 Nc6", "W-PGN-PAIR Bb5a6 > Bb5 a6"],
    );
    assert_read(
        "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4. O-OO-O *",
        "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4. O-O O-O *",
        &["W-PGN-PAIR O-OO-O > O-O O-O"],
    );
    assert_read("1. e2e4 e7e5 *", "1. e4 e5 *", &[]);
    assert_cut("1. e4 e5 2. Nf3Nf3 *", "1. e4 e5 {2. Nf3Nf3} *");
}

#[test]
fn numbers_that_begin_again_after_a_blank_line_begin_a_game() {
    let texts = |text: &str| read(text).into_iter().map(|(game, _)| game).collect::<Vec<_>>();
    for line_end in ["\n", "\r\n"] {
        let text = "1. e4 e5 2. Nf3 {a}\n\n1. d4 {b}\n\n\n1.c4c5 2.Nc3\n\n1. Nf3 1-0\n";
        let text = text.replace('\n', line_end);
        assert_eq!(
            texts(&text),
            ["1. e4 e5 2. Nf3 {a} *", "1. d4 {b} *", "1. c4 c5 2. Nc3 *", "1. Nf3 1-0"]
        );
        let told = &read(&text)[0].1;
        assert_eq!(told[0], "W-PGN-NEXT");
        assert!(told[1].starts_with("W-PGN-RESULT"), "{told:?}");
    }
    // It may also follow a game that is cut short or refused.
    assert_eq!(texts("1. e4 Ke5 2. d4\n\n1. d4 d5 *"), ["1. e4 {Ke5 2. d4} *", "1. d4 d5 *"]);
    assert_eq!(texts("1. e5 e4 2. d4\n\n1. d4 d5 *"), ["E-MOVE-ILLEGAL", "1. d4 d5 *"]);
    // The same game goes on.
    for text in [
        "1. e4\n\n1... e5 *",
        "1. e4 e5\n1. Nf3 Nc6 *",
        "1. e4\n\n1. e5 *",
        "1. e4 e5 2. Nf3 Nc6 3. d4 exd4\n\n1. Nxd4 *",
        "1. e4 (\n\n1. d4 d5) e5 *",
    ] {
        assert_eq!(texts(text).len(), 1, "{text}: {:?}", texts(text));
    }
    let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
    assert_eq!(read_with("1. e4 *\n", standard)[0].0, "1. e4 *");
}
