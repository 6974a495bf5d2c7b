//! Games as files of other people have them: the rows of SPEC section 17 that speak of PGN, each
//! with what is kept, what is told, and what stood there before.

use epdb::text::Profile;
use epdb::text::pgn::{self, GameReader, PgnFormatOptions, PgnReadOptions};

use super::read_game;

const TRUNCATE: PgnReadOptions = PgnReadOptions::new()
    .profile(Profile::Lenient)
    .language(pgn::Language::ENGLISH)
    .charset(None)
    .limit(1 << 20)
    .truncate(true);

/// A game that was read: tags that were given, movetext in one line, and `CODE before > after` of
/// each repair; or the code and place of its error.
fn read(text: &[u8], options: &PgnReadOptions) -> Vec<(String, Vec<String>)> {
    let mut reader = GameReader::new(text, options.clone());
    let (mut games, mut raw) = (Vec::new(), Vec::new());
    while let Some(read) = reader.next_game().unwrap() {
        raw.extend_from_slice(read.raw);
        let repairs = read.warnings.iter().map(|warning| {
            let code = warning.diagnostic.code;
            let Some(repair) = &warning.diagnostic.repair else { return code.to_owned() };
            let [before, after] =
                [&repair.before, &repair.after].map(|bytes| String::from_utf8_lossy(bytes));
            format!("{code} {before} > {after}")
        });
        let repairs = repairs.collect();
        games.push(match read.game {
            Ok(game) => {
                let mut out = Vec::new();
                pgn::format(game, &PgnFormatOptions::default(), &mut out).unwrap();
                let out = String::from_utf8(out).unwrap();
                let (_, movetext) = out.split_once("\n\n").unwrap();
                let given = game.tags().filter(|(name, _)| game.has_tag(name));
                let tags: String =
                    given.map(|(name, value)| format!("[{name} {value}] ")).collect();
                assert_eq!(&read_game(&super::export(game, pgn::Charset::Utf8)), game);
                (tags + movetext.replace('\n', " ").trim(), repairs)
            }
            Err(error) => {
                let place = format!("{}:{}", error.line, error.diagnostic.column);
                (format!("{} {place}", error.diagnostic.code), repairs)
            }
        });
    }
    assert_eq!(raw, text, "no byte is lost");
    games
}

fn lenient(text: &str) -> Vec<(String, Vec<String>)> {
    read(text.as_bytes(), &PgnReadOptions::default())
}

/// One game without given tags but its result, with its repairs.
fn assert_game(text: &str, movetext: &str, repairs: &[&str]) {
    let games = lenient(text);
    assert_eq!(games.len(), 1, "{text}: {games:?}");
    let (game, told) = &games[0];
    let (_, game) = game.split_once("] ").unwrap();
    assert_eq!(game, movetext, "{text}");
    assert_eq!(told, repairs, "{text}");
}

/// B-D13.
#[test]
fn commas_between_moves_are_dropped() {
    assert_game("1. e4 e5, 2. Nf3 *", "1. e4 e5 2. Nf3 *", &["W-LEN-COMMA , > "]);
    assert_game("1. e4, e5 , *", "1. e4 e5 *", &["W-LEN-COMMA , > "; 2]);
}

/// B-D12.
#[test]
fn a_marker_that_is_glued_to_a_move_is_split() {
    let mate = "1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7";
    for (glued, split, result) in [
        ("Qxf71-0", "Qxf7 1-0", "1-0"),
        ("Qxf7#1-0", "Qxf7# 1-0", "1-0"),
        ("Qxf7+1/2-1/2", "Qxf7+ 1/2-1/2", "1/2-1/2"),
        ("Qxf71/2", "Qxf7 1/2", "1/2-1/2"),
    ] {
        let text = mate.replace("Qxf7", glued);
        let told = format!("W-PGN-GLUED {glued} > {split}");
        let mut repairs = vec![told.as_str()];
        if glued.ends_with("71/2") {
            repairs.push("W-PGN-RESULT 1/2 > 1/2-1/2");
        }
        assert_game(&text, &format!("{mate}# {result}"), &repairs);
    }
    let castled = "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. 0-00-1";
    let told = ["W-PGN-GLUED 0-00-1 > 0-0 0-1"];
    assert_game(castled, "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. O-O 0-1", &told);
    // Where the rest is no move either, the game is refused, and the next one is read.
    let games = lenient("1. e4 e5 2. Qxf71-0\n1. d4 *");
    assert_eq!((games.len(), games[0].0.as_str()), (2, "E-MOVE-SYNTAX 1:13"));
}

/// SPEC section 17: Latin-1 is told, unless it was declared.
#[test]
fn latin1_is_told() {
    let text = b"[White \"M\xfcller\"]\n\n1. e4 {\xe9 \xc3} ;\xe8\n*";
    let games = read(text, &PgnReadOptions::default());
    let (game, told) = &games[0];
    assert_eq!(game, "[White M\u{fc}ller] [Result *] 1. e4 {\u{e9} \u{c3}} {\u{e8}} *");
    let wanted = [
        "W-LEN-LATIN1 M\u{fffd}ller > M\u{fc}ller",
        "W-LEN-LATIN1 \u{fffd} \u{fffd} > \u{e9} \u{c3}",
        "W-LEN-LATIN1 \u{fffd} > \u{e8}",
    ];
    assert_eq!(told, &wanted);
    for options in [
        PgnReadOptions::new().charset(Some(pgn::Charset::Latin1)),
        PgnReadOptions::new().profile(Profile::Standard),
    ] {
        assert!(read(text, &options)[0].1.is_empty());
    }
}

/// B-D11: a variation that cannot be played to its end.
#[test]
fn the_rest_of_a_variation_becomes_a_comment() {
    for (text, movetext, repair) in [
        (
            "1. e4 e5 (1... c5 2. Nf3 Ke5 3. d4) 2. Nf3 *",
            "1. e4 e5 (1... c5 2. Nf3 {Ke5 3. d4}) 2. Nf3 *",
            "Ke5 3. d4 > {Ke5 3. d4}",
        ),
        // The number of the move belongs to what is kept; inner comments stay comments.
        (
            "1. e4 (1. d4 d5 2. Ke3 $1 {why} (2. c4) Nf6) e5 *",
            "1. e4 (1. d4 d5 {2. Ke3 $1} {why} {(2. c4) Nf6}) 1... e5 *",
            "2. Ke3 $1 {why} (2. c4) Nf6 > {2. Ke3 $1} {why} {(2. c4) Nf6}",
        ),
        ("1. e4 ( 1. e5 ) e5 *", "1. e4 {1. e5} 1... e5 *", "1. e5 > {1. e5}"),
        (
            "1. e4 (1. Nf3 Nf6 2. Nc3 Nc6 3. Nb5 e6 4. Nd4 1-0) *",
            "1. e4 (1. Nf3 Nf6 2. Nc3 Nc6 3. Nb5 e6 {4. Nd4 1-0}) *",
            "4. Nd4 1-0 > {4. Nd4 1-0}",
        ),
        // A variation inside another.
        (
            "1. e4 (1. d4 (1. c4 c4 (1... e5)) d5) *",
            "1. e4 (1. d4 (1. c4 {c4 (1... e5)}) 1... d5) *",
            "c4 (1... e5) > {c4 (1... e5)}",
        ),
        ("1. e4 (1. d4 < d5) *", "1. e4 (1. d4 {< d5}) *", "< d5 > {< d5}"),
        (
            "1. e4 (1. d4 d4\n%x\n2. c4) *",
            "1. e4 (1. d4 {d4} {2. c4}) *",
            "d4\n%x\n2. c4 > {d4} {2. c4}",
        ),
    ] {
        assert_game(text, movetext, &[&format!("W-PGN-VARIATION {repair}")]);
    }
    // The game ends in it.
    let told = ["W-PGN-VARIATION d4 > {d4}", "W-PGN-RAV  > )"];
    assert_game("1. e4 (1. d4 d4 1-0", "1. e4 (1. d4 {d4}) 1-0", &told);
    let games = lenient("1. e4 (1. d4 d4\n\n[Event \"x\"]\n\n1. d4 *");
    assert_eq!(games[0].0, "[Result *] 1. e4 (1. d4 {d4}) *");
    assert_eq!(games[1].0, "[Event x] [Result *] 1. d4 *");
    let standard = PgnReadOptions::new().profile(Profile::Standard);
    assert_eq!(read(b"1. e4 (1. d4 d4) *", &standard)[0].0, "E-MOVE-ILLEGAL 1:14");
}

/// C-D19: without `truncate` such a game is refused whole; with it nothing of it is lost.
#[test]
fn a_game_can_be_cut_before_a_move_that_cannot_be_made() {
    for (text, movetext, repair) in [
        ("1. e4 e5 2. Ke3 Nf6 0-1", "1. e4 e5 {2. Ke3 Nf6} 0-1", "2. Ke3 Nf6 > {2. Ke3 Nf6}"),
        (
            "1. e4 Ke5 2. d4 (2. c4 1-0) {good} d5 1/2-1/2",
            "1. e4 {Ke5 2. d4 (2. c4 1-0)} {good} {d5} 1/2-1/2",
            "Ke5 2. d4 (2. c4 1-0) {good} d5 > {Ke5 2. d4 (2. c4 1-0)} {good} {d5}",
        ),
        ("1. e5 Nf6*", "{1. e5 Nf6} *", "1. e5 Nf6 > {1. e5 Nf6}"),
        ("1. e5 e4) Qxf71-0", "{1. e5 e4) Qxf7} 1-0", "1. e5 e4) Qxf7 > {1. e5 e4) Qxf7}"),
    ] {
        assert!(lenient(text)[0].0.starts_with("E-MOVE"), "{text}");
        let games = read(format!("{text}\n\n1. d4 *").as_bytes(), &TRUNCATE);
        assert_eq!(games.len(), 2, "{text}");
        assert!(games[0].0.ends_with(&format!("] {movetext}")), "{}", games[0].0);
        assert_eq!(games[0].1[0], format!("W-PGN-TRUNCATED {repair}"));
    }
    // What cannot be set up has no legal part.
    assert!(read(b"[FEN \"x\"]\n\n1. e4 *", &TRUNCATE)[0].0.starts_with("E-PGN-SETUP"));
    // The position where it was cut proves nothing.
    let text = "[Result \"0-1\"]\n\n1. f3 e5 2. g4 Qh4# 3. Kf2 1-0";
    assert!(read(text.as_bytes(), &TRUNCATE)[0].0.ends_with("{3. Kf2} 1-0"));
}

/// B-D14.
#[test]
fn the_final_position_decides_between_tag_and_marker() {
    let mate = "1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7#";
    let stalemate = "[FEN \"7k/8/6K1/8/8/8/5Q2/8 w - - 0 1\"]\n";
    for (tags, moves, result, repairs) in [
        ("[Result \"1-0\"]", format!("{mate} 0-1"), "1-0", &["0-1 > 1-0"][..]),
        ("[Result \"0-1\"]", format!("{mate} 1-0"), "1-0", &["0-1 > 1-0"]),
        ("[Result \"0-1\"]", format!("{mate} 1/2-1/2"), "1-0", &["0-1 > 1-0", "1/2-1/2 > 1-0"]),
        ("[Result \"1-0\"]", "1. e4 0-1".to_owned(), "0-1", &["1-0 > 0-1"]),
        (
            "[Result \"1-0\"]",
            format!("{stalemate}\n1. Qf7 0-1"),
            "1/2-1/2",
            &["1-0 > 1/2-1/2", "0-1 > 1/2-1/2"],
        ),
        // `*` says nothing.
        ("[Result \"1-0\"]", "1. e4 *".to_owned(), "1-0", &["* > 1-0"]),
        ("[Result \"*\"]", "1. e4 0-1".to_owned(), "0-1", &["* > 0-1"]),
        // Where they agree, they are believed.
        ("[Result \"0-1\"]", format!("{mate} 0-1"), "0-1", &[]),
    ] {
        let (head, moves) = match moves.split_once("\n\n") {
            Some((fen, moves)) => (format!("{tags}\n{fen}"), moves.to_owned()),
            None => (tags.to_owned(), moves),
        };
        let games = lenient(&format!("{head}\n\n{moves}"));
        let (game, told) = &games[0];
        assert!(game.ends_with(&format!(" {result}")), "{tags} {moves}: {game}");
        assert!(game.contains(&format!("[Result {result}]")), "{game}");
        let wanted: Vec<_> = repairs.iter().map(|it| format!("W-PGN-RESULT {it}")).collect();
        assert_eq!(told, &wanted, "{tags} {moves}");
    }
}

/// B-D3.
#[test]
fn a_second_tag_section_is_a_second_game() {
    let exports =
        |text: &str| -> Vec<String> { lenient(text).into_iter().map(|(game, _)| game).collect() };
    let text =
        "[Event \"a\"]\n[White \"A\"]\n[Result \"1-0\"]\n\n[White \"B\"]\n[Result \"0-1\"]\n";
    let wanted = ["[Event a] [White A] [Result 1-0] 1-0", "[White B] [Result 0-1] 0-1"];
    assert_eq!(exports(text), wanted);
    assert_eq!(exports(&text.replace('\n', "\r\n")), wanted);
    assert_eq!(exports(&text.replace("\n\n", "\n")), wanted, "a tag of the seven comes again");
    assert_eq!(exports(&text.replace("\n\n", "\n \t\n")), wanted);
    let commented = text.replace("\n\n", "\n{x}\n\n");
    assert_eq!(exports(&commented), ["[Event a] [White A] [Result 1-0] {x} 1-0", wanted[1]]);
    // ChessBase's blank line behind the first tag.
    let text = "[Event \"a\"]\n\n[White \"A\"]\n[Result \"1-0\"]\n\n1. e4 1-0";
    assert_eq!(exports(text), ["[Event a] [White A] [Result 1-0] 1. e4 1-0"]);
    // No blank line between tags.
    assert_eq!(exports("[Event \"a\"]\n{x\n\ny}\n[ECO \"A\"]\n*").len(), 1);
    assert_eq!(exports("[Event \"a\"]\n%\n[ECO \"A\"]\n\n{x}\n\n*").len(), 1);
    // A game that is refused for a tag does not take the next one with it.
    let text = "[Event]\n[White \"A\"]\n\n[White \"B\"]\n*";
    assert_eq!(exports(text), ["E-PGN-TAG 1:1", "[White B] [Result *] *"]);
    assert_eq!(exports(&text.replace("\n\n", "\n")).len(), 2);
}

/// B-D5.
#[test]
fn a_comment_behind_the_marker_is_of_the_game_before() {
    let text = "[Event \"a\"]\n[Result \"*\"]\n\n1. e4 *\n\n{ about a }\n\n[Event \"b\"]\n\
[Result \"*\"]\n\n1. d4 * ; about b\n%escape\n{more}\n";
    let games: Vec<_> = lenient(text).into_iter().map(|(game, _)| game).collect();
    let wanted =
        ["[Event a] [Result *] 1. e4 {about a} *", "[Event b] [Result *] 1. d4 {about b} {more} *"];
    assert_eq!(games, wanted);
    // It does not become a game when the game is refused.
    let games = lenient("1. e5 * {x}\n;y\n");
    assert_eq!((games.len(), games[0].0.as_str()), (1, "E-MOVE-ILLEGAL 1:4"));
    // One that is not closed is no part of a good game.
    let games = lenient("1. e4 *\n{open");
    assert_eq!(games[0].0, "[Result *] 1. e4 *");
    assert_eq!(games[1].0, "E-PGN-TOKEN 2:1");
}

/// B-D6.
#[test]
fn games_of_other_variants_are_refused() {
    let code = |variant: &str| {
        let games = lenient(&format!("[Variant \"{variant}\"]\n\n1. e4 *"));
        games[0].0.clone()
    };
    for variant in ["Antichess", "Atomic", "Crazyhouse", "crazyhouse960", "3-check", "Horde"] {
        assert_eq!(code(variant), "E-PGN-VARIANT 3:1", "{variant}");
    }
    for variant in [
        "Standard",
        "chess 960",
        "Chess960",
        "chess-960",
        "Fischerandom",
        "Fischer Random",
        "Fischer-Random Chess",
        "FRC",
        "Freestyle",
        "From Position",
        "Regular",
        "?",
        "",
    ] {
        assert_eq!(code(variant), format!("[Result *] [Variant {variant}] 1. e4 *"), "{variant}");
    }
    let bytes = b"\x05\x02\x07Variant\x09Antichess\x03\x01\x0d\x06";
    let mut reader = epdb::codec::pgc::PgcReader::new(&bytes[..], 1 << 20);
    let error = reader.next_game().unwrap().unwrap().game.unwrap_err();
    assert_eq!(error.kind.code(), "E-PGN-VARIANT");
}

/// B-D10.
#[test]
fn control_bytes_in_comments_are_told() {
    assert_game("1. e4 {att\x06ck} *", "1. e4 {att ck} *", &["W-LEN-CTRL att\x06ck > att ck"]);
    assert_game("1. e4 ;a\x7f\n*", "1. e4 {a} *", &["W-LEN-CTRL a\x7f > a "]);
    assert_game(
        "1. e4 {\x1ba\n\tb\x0c} *",
        "1. e4 {a b} *",
        &["W-LEN-CTRL \x1ba\n\tb\x0c >  a\n\tb\x0c"],
    );
    assert_game("1. e4 {a\n\tb\r\nc} *", "1. e4 {a b c} *", &[]);
    let games = lenient("1. e4 {abc\x06} *");
    let mut reader = GameReader::new(&b"1. e4 {abc\x06} *"[..], PgnReadOptions::default());
    let place = reader.next_game().unwrap().unwrap().warnings[0].diagnostic.column;
    assert_eq!((games.len(), place), (1, 11));
}

/// C: long lines of movetext, as Lichess writes them, are nothing to talk of; the standard's own
/// profile tells of them.
#[test]
fn long_lines_are_read_in_silence() {
    let text = format!("{}*", "Nf3 Nf6 Ng1 Ng8 ".repeat(40));
    assert!(lenient(&text)[0].1.is_empty());
    let standard = PgnReadOptions::new().profile(Profile::Standard);
    assert_eq!(read(text.as_bytes(), &standard)[0].1, ["W-PGN-LINELEN"]);
}
