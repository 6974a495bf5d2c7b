//! Null moves: plies in which the side to move makes no move.

use epdb_chess::codec::pgc::{self, Explainer, PgcEncodeOptions, PgcReader, Records};
use epdb_chess::model::{BuildError, Element, Game, GameBuilder, Replay, Start};
use epdb_chess::text::Profile;
use epdb_chess::text::pgn::{
    self, Charset, GameReader, PgnReadOptions, PositionOptions, Positions, PositionsLeftOut,
};

use super::{export, read_game};

const EXT: PgcEncodeOptions = PgcEncodeOptions { escapes: true, ..PgcEncodeOptions::EXTENDED };

/// The movetext of the first game in one line, or the code and column of its error.
fn movetext(text: &str, profile: Profile) -> String {
    let options = PgnReadOptions { profile, ..Default::default() };
    let mut reader = GameReader::new(text.as_bytes(), options);
    match reader.next_game().unwrap().unwrap().game {
        Ok(game) => {
            let text = String::from_utf8(export(game, Charset::Utf8)).unwrap();
            text.split_once("\n\n").unwrap().1.replace('\n', " ").trim().to_owned()
        }
        Err(error) => format!("{} {}", error.diagnostic.code, error.diagnostic.column),
    }
}

fn packed(game: &Game) -> Vec<u8> {
    let mut bytes = Vec::new();
    pgc::encode(game, &EXT, &mut bytes).unwrap();
    bytes
}

/// The games of PGC bytes as movetext in one line; of those that are refused, `CODE@OFFSET`.
fn unpacked(bytes: &[u8]) -> Vec<String> {
    let mut reader = PgcReader::new(bytes, 1 << 20);
    let mut games = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        games.push(match read.game {
            Ok(game) => {
                let text = String::from_utf8(export(game, Charset::Utf8)).unwrap();
                text.split_once("\n\n").unwrap().1.replace('\n', " ").trim().to_owned()
            }
            Err(error) => format!("{}@{}", error.kind.code(), error.offset),
        });
    }
    games
}

#[test]
fn they_are_plies_of_a_game() {
    for (text, canonical) in [
        ("1. e4 -- 2. d4 *", "1. e4 -- 2. d4 *"),
        ("1. e4 Z0 2. d4 null 3. c4 pass *", "1. e4 -- 2. d4 -- 3. c4 -- *"),
        ("1. e4 NULL 2. d4 Pass 3. c4 z0 *", "1. e4 -- 2. d4 -- 3. c4 -- *"),
        ("1.e4 0000 2.d4 @@@@ 3. <> *", "1. e4 -- 2. d4 -- 3. -- *"),
        ("1. -- -- 2. -- *", "1. -- -- 2. -- *"),
        ("1. e4 --! {why} (1... e5 2. --) 2. d4 *", "1. e4 -- $1 {why} (1... e5 2. --) 2. d4 *"),
        ("1. e4 e5 (1... -- 2. d4 (2. --)) 2. Nf3 *", "1. e4 e5 (1... -- 2. d4 (2. --)) 2. Nf3 *"),
        ("1. e4 1... -- *", "1. e4 -- *"),
        ("1. e4 -- 1-0", "1. e4 -- 1-0"),
    ] {
        assert_eq!(movetext(text, Profile::Lenient), canonical, "{text}");
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        assert!(reader.next_game().unwrap().unwrap().warnings.is_empty(), "{text}");
        let game = read_game(text.as_bytes());
        assert_eq!(read_game(&export(&game, Charset::Utf8)), game, "{text}");
        for profile in [Profile::Standard, Profile::Strict] {
            let refused = movetext(&format!("[Event \"?\"]\n\n{text}"), profile);
            assert!(refused.starts_with("E-MOVE-SYNTAX"), "{text}: {refused}");
        }
    }
}

#[test]
fn a_side_in_check_cannot_make_one() {
    let in_check = "1. e4 f6 2. Qh5+ -- *";
    assert_eq!(movetext(in_check, Profile::Lenient), "1. e4 f6 2. Qh5+ {--} *");
    assert_eq!(
        movetext("1. e4 f6 2. Qh5+ (2. Nf3) g6 (2... -- 3. d4) *", Profile::Lenient),
        "1. e4 f6 2. Qh5+ (2. Nf3) 2... g6 {2... -- 3. d4} *"
    );
    let mut builder = GameBuilder::new();
    for mv in ["e2e4", "f7f6", "d1h5"] {
        builder.play(mv.parse().unwrap()).unwrap();
    }
    assert_eq!(builder.play_null_move(), Err(BuildError::NullMoveInCheck));
    // Without a legal move, but not in check, it can.
    let stalemate = "[FEN \"7k/5Q2/6K1/8/8/8/8/8 b - - 4 60\"]\n\n60... -- 61. Qf8# 1-0";
    assert_eq!(movetext(stalemate, Profile::Lenient), "60... -- 61. Qf8# 1-0");
    assert_eq!(unpacked(&packed(&read_game(stalemate.as_bytes()))), ["60... -- 61. Qf8# 1-0"]);
}

#[test]
fn position_and_counters_follow() {
    let mut replay = Replay::new(&Start::ARRAY).unwrap();
    replay.play("e2e4".parse().unwrap());
    replay.play("g8f6".parse().unwrap());
    replay.play("e4e5".parse().unwrap());
    replay.play("d7d5".parse().unwrap());
    assert!(replay.position().en_passant().is_some());
    let before = *replay.position();
    replay.play_null_move();
    assert_eq!(replay.position().en_passant(), None);
    assert_eq!(replay.position().turn(), !before.turn());
    assert_eq!(replay.position().castling(), before.castling());
    assert_eq!((replay.ply(), replay.fullmove_number(), replay.halfmove_clock()), (5, 3, 1));
    replay.play_null_move();
    assert_eq!((replay.ply(), replay.fullmove_number(), replay.halfmove_clock()), (6, 4, 2));
    assert!(replay.is_behind_null_move());
    replay.begin_variation();
    assert_eq!(replay.fullmove_number(), 3);
    assert!(replay.is_behind_null_move());
    // A capture that was possible is no longer.
    let text = "1. e4 Nf6 2. e5 d5 3. -- -- 4. exd6 *";
    assert_eq!(movetext(text, Profile::Lenient), "1. e4 Nf6 2. e5 d5 3. -- -- {4. exd6} *");
}

#[test]
fn a_game_with_one_is_another_game() {
    let with = read_game(b"1. e4 -- 2. d4 *");
    let without = read_game(b"1. e4 e5 2. d4 *");
    let short = read_game(b"1. e4 *");
    assert_ne!(with, without);
    assert_eq!((with.plies().count(), with.main_line().count()), (3, 1));
    assert!(with.main_line().eq(short.main_line()));
    assert!(with.has_null_move() && !without.has_null_move());
    assert!(read_game(b"1. e4 (1. --) *").has_null_move());
    assert_eq!(with.elements().nth(1), Some(Element::NullMove));
}

#[test]
fn the_extended_form_of_pgc_has_them() {
    for text in [
        "1. e4 -- 2. d4 *",
        "%pgcx:n:\n1. e4 -- $1 {why} (1... -- $2 2. d4 -- 3. c4) (1... e5)\n%pgcx:n:\n2. -- *",
        "[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 5 39\"]\n\n39... -- 40. -- Kd7 *",
        "{\u{141}} 1. -- {\u{141}} *",
    ] {
        let game = read_game(text.as_bytes());
        let bytes = packed(&game);
        let mut reader = PgcReader::new(&bytes[..], 1 << 20);
        assert_eq!(reader.next_game().unwrap().unwrap().game.unwrap(), &game, "{text}");
        let plain = PgcEncodeOptions { escapes: true, drop_comments: true, ..Default::default() };
        let mut none = Vec::new();
        let refused = pgc::encode(&game, &plain, &mut none).unwrap_err();
        assert_eq!((refused.code(), none.len()), ("E-PGC-NULL", 0), "{text}: {refused}");
    }
}

/// Bytes of an escape record.
fn escape(text: &[u8]) -> Vec<u8> {
    [&[10, text.len() as u8, 0], text].concat()
}

#[test]
fn their_records_stand_where_they_count() {
    let null = escape(b"pgcx:n:");
    // After 1. e4 Black has 20 moves.
    let game = |middle: &[u8]| [&[5, 3, 1, 0x0d], middle, &[6]].concat();
    let next = b"\x05\x03\x01\x0d\x06";
    for (middle, movetext) in [
        ([&null[..], &[3, 1, 20]].concat(), "1. e4 -- *"),
        ([&null[..], &[3, 2, 20, 0]].concat(), "1. e4 -- 2. Ba6 *"),
        ([&null[..], &[0, 0, 4, 1, 0, 20]].concat(), "1. e4 -- *"),
        // Other ordinals, and check.
        ([&null[..], &[3, 1, 19]].concat(), "E-PGC-ORDINAL@16"),
        ([&null[..], &[3, 1, 255]].concat(), "E-PGC-ORDINAL@16"),
        (vec![3, 1, 20], "E-PGC-ORDINAL@6"),
        // Elsewhere it is an escape.
        ([&null[..], &[3, 0, 3, 1, 0x0c]].concat(), "1. e4 %pgcx:n: e5 *"),
        ([&null[..], &[7, 1, 3, 1, 0x0c]].concat(), "1. e4 $1 %pgcx:n: 1... e5 *"),
        ([&null[..], &null[..], &[3, 1, 20]].concat(), "1. e4 %pgcx:n: -- *"),
        (
            [&null[..], &escape(b"pgcx:+:x"), &[3, 1, 0x0c]].concat(),
            "1. e4 %pgcx:n: %pgcx:+:x e5 *",
        ),
        ([&escape(b"pgcx:n:1")[..], &[3, 1, 0x0c]].concat(), "1. e4 %pgcx:n:1 e5 *"),
        ([&escape(b"pgcx:pgcx:n:")[..], &[3, 1, 0x0c]].concat(), "1. e4 %pgcx:n: e5 *"),
        (null.clone(), "1. e4 %pgcx:n: *"),
    ] {
        let bytes = [&game(&middle)[..], next].concat();
        assert_eq!(unpacked(&bytes), [movetext, "1. e4 *"], "{middle:?}");
    }
    // Before a game it is an escape of the game.
    let reduced = b"\x01\x01?\x01?\x0a????.??.??\x01?\x01?\x01?\x01*\x01\x00\x0d";
    assert_eq!(unpacked(&[&null[..], reduced].concat()), ["%pgcx:n: 1. e4 *"]);
    // A reader of the standard's records alone sees an ordinal that no move has.
    let unknown = game(&[&escape(b"other"), &[3, 2, 20, 0][..]].concat());
    assert_eq!(unpacked(&[&unknown[..], next].concat()), ["E-PGC-ORDINAL@14", "1. e4 *"]);
    // Check: 1. e4 f6 2. Qh5+ --, where g6 is the one legal move.
    let mut builder = GameBuilder::new();
    for mv in ["e2e4", "f7f6", "d1h5"] {
        builder.play(mv.parse().unwrap()).unwrap();
    }
    let mut check = Vec::new();
    pgc::encode(builder.game(), &PgcEncodeOptions::default(), &mut check).unwrap();
    let ordinals = &check[check.len() - 3..];
    let check = [&[5, 3, 3], ordinals, &null, &[3, 1, 1, 6], next].concat();
    assert_eq!(unpacked(&check), ["E-PGC-ORDINAL@18", "1. e4 *"]);
}

#[test]
fn they_are_explained() {
    let bytes = packed(&read_game(b"1. e4 (1. d4) -- 2. d4 *"));
    let mut records = Records::new(&bytes[..]);
    let mut explainer = Explainer::new();
    let mut lines = Vec::new();
    while let Some(located) = records.next_record().unwrap() {
        lines.push(explainer.meaning(&located.record));
    }
    let last = &lines[lines.len() - 3..];
    assert_eq!(last, ["escape \"pgcx:n:\"", "2 moves: 1... -- 2. d4", "game ends"]);
}

/// The positions as text, and how many were left out.
fn positions(text: &str, options: &PositionOptions) -> (Vec<String>, PositionsLeftOut) {
    let game = read_game(text.as_bytes());
    let records = pgn::positions(&game, options).map(|record| {
        let text = String::from_utf8(epdb_chess::format_epd(&record)).unwrap();
        text.split_once("fmvn ").unwrap().1.to_owned()
    });
    (records.collect(), pgn::positions_left_out(&game, options))
}

#[test]
fn positions_end_before_them() {
    let left_out =
        |of_variations, behind_null_moves| PositionsLeftOut { of_variations, behind_null_moves };
    let all = PositionOptions::default();
    let variations = PositionOptions { variations: true, ..Default::default() };
    let main_line = "1. e4 -- 2. d4 d5 *";
    let (found, left) = positions(main_line, &all);
    assert_eq!(found, ["1; hmvc 0; sm e4;", "1; hmvc 0;"]);
    assert_eq!(left, left_out(0, 3));
    // A variation that replaces a null move does not follow it; one that replaces the next move does.
    let tree = "1. e4 -- (1... e5 2. Nf3) 2. d4 (2. c4) d5 *";
    let (found, left) = positions(tree, &variations);
    let wanted = ["1; hmvc 0; sm e4;", "1; hmvc 0;", "2; hmvc 0; sm Nf3;", "2; hmvc 1;"];
    assert_eq!(found, wanted);
    assert_eq!(left, left_out(0, 4));
    assert_eq!(positions(tree, &all).1, left_out(3, 3));
    let tree = "1. e4 e5 (1... -- 2. d4) 2. Nf3 *";
    let (found, left) = positions(tree, &variations);
    assert_eq!(found.len(), 4);
    assert_eq!(left, left_out(0, 2));
    let last = |variations| PositionOptions {
        positions: Positions::Final,
        variations,
        ..Default::default()
    };
    assert_eq!(positions(main_line, &last(false)), (vec!["1; hmvc 0;".into()], left_out(0, 1)));
    let (found, left) = positions("1. e4 e5 (1... c5 2. --) 2. Nf3 *", &last(true));
    assert_eq!(found, ["2; hmvc 0;", "2; hmvc 1;"]);
    assert_eq!(left, left_out(0, 1));
    let plies = PositionOptions { positions: Positions::Plies(1..=2), ..Default::default() };
    assert_eq!(positions(main_line, &plies), (vec!["1; hmvc 0;".into()], left_out(0, 1)));
}
