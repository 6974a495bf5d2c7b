//! Games as other people write them: each deviation from the standard.
//!
//! Each case has the game that is kept, the warnings, and the original text of the repairs.

use epdb_chess::model::Game;
use epdb_chess::text::Profile;
use epdb_chess::text::pgn::{self, GameReader, PgnFormatOptions, PgnReadOptions};

use super::read_game;

fn truncate() -> PgnReadOptions {
    PgnReadOptions { limit: 1 << 20, truncate: Some(true), ..Default::default() }
}

/// A game with its movetext in one line, or the code and the place of its error.
type Read = Result<(Game, String), (&'static str, String)>;

/// The games of a text, each with `CODE before > after` of its repairs.
pub(super) fn read_games(text: &[u8], options: &PgnReadOptions) -> Vec<(Read, Vec<String>)> {
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
        let game = match read.game {
            Ok(game) => {
                let mut out = Vec::new();
                pgn::format(game, &PgnFormatOptions::default(), &mut out).unwrap();
                let out = String::from_utf8(out).unwrap();
                let (_, movetext) = out.split_once("\n\n").unwrap();
                Ok((game.clone(), movetext.replace('\n', " ").trim().to_owned()))
            }
            Err(error) => {
                let place = format!("{}:{}", error.line, error.diagnostic.column);
                Err((error.diagnostic.code, place))
            }
        };
        games.push((game, repairs));
    }
    assert_eq!(raw, text, "no byte is lost");
    games
}

/// A game that was read: tags that were given, movetext in one line, and `CODE before > after` of
/// each repair; or the code and place of its error.
pub(super) fn read(text: &[u8], options: &PgnReadOptions) -> Vec<(String, Vec<String>)> {
    let shown = |game: Read| match game {
        Ok((game, movetext)) => {
            let given = game.tags().filter(|(name, _)| game.has_tag(name));
            let tags: String = given.map(|(name, value)| format!("[{name} {value}] ")).collect();
            assert_eq!(read_game(&super::export(&game, pgn::Charset::Utf8)), game);
            tags + &movetext
        }
        Err((code, place)) => format!("{code} {place}"),
    };
    let games = read_games(text, options).into_iter();
    games.map(|(game, repairs)| (shown(game), repairs)).collect()
}

pub(super) fn lenient(text: &str) -> Vec<(String, Vec<String>)> {
    read(text.as_bytes(), &PgnReadOptions::default())
}

/// One game without given tags but its result, with its repairs.
pub(super) fn assert_game(text: &str, movetext: &str, repairs: &[&str]) {
    let games = lenient(text);
    assert_eq!(games.len(), 1, "{text}: {games:?}");
    let (game, told) = &games[0];
    let (_, game) = game.split_once("] ").unwrap();
    assert_eq!(game, movetext, "{text}");
    assert_eq!(told, repairs, "{text}");
}

#[test]
fn commas_between_moves_are_dropped() {
    assert_game("1. e4 e5, 2. Nf3 *", "1. e4 e5 2. Nf3 *", &["W-LEN-COMMA , > "]);
    assert_game("1. e4, e5 , *", "1. e4 e5 *", &["W-LEN-COMMA , > "; 2]);
}

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
    // If the rest is not a move either, the game ends before it, and the next one is read.
    let games = lenient("1. e4 e5 2. Qxf71-0\n1. d4 *");
    assert_eq!((games.len(), games[0].0.as_str()), (2, "[Result 1-0] 1. e4 e5 {2. Qxf7} 1-0"));
}

/// Text that is not UTF-8 is reported, unless Latin-1 was declared.
#[test]
fn text_that_is_not_utf8_is_reported() {
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
        PgnReadOptions { charset: Some(pgn::Charset::Latin1), ..Default::default() },
        PgnReadOptions { profile: Profile::Standard, ..Default::default() },
    ] {
        assert!(read(text, &options)[0].1.is_empty());
    }
}

/// A variation that cannot be played to its end.
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
        (
            "1. e4 (1. d4 d4\n%x\n2. c4) *",
            "1. e4 (1. d4 {d4} {2. c4}) *",
            "d4\n%x\n2. c4 > {d4} {2. c4}",
        ),
    ] {
        assert_game(text, movetext, &[&format!("W-PGN-VARIATION {repair}")]);
    }
    // The game ends in it.
    let told = ["W-PGN-VARIATION d4 > {d4}", "W-PGN-TRUNCATED  > )"];
    assert_game("1. e4 (1. d4 d4 1-0", "1. e4 (1. d4 {d4}) 1-0", &told);
    let games = lenient("1. e4 (1. d4 d4\n\n[Event \"x\"]\n\n1. d4 *");
    assert_eq!(games[0].0, "[Result *] 1. e4 (1. d4 {d4}) *");
    assert_eq!(games[1].0, "[Event x] [Result *] 1. d4 *");
    let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
    assert_eq!(read(b"1. e4 (1. d4 d4) *", &standard)[0].0, "E-MOVE-ILLEGAL 1:14");
}

/// The moves before are kept, and nothing of the rest is lost.
#[test]
fn a_game_is_cut_short_before_a_move_that_cannot_be_made() {
    let whole_only = PgnReadOptions { truncate: Some(false), ..Default::default() };
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
        assert!(read(text.as_bytes(), &whole_only)[0].0.starts_with("E-MOVE"), "{text}");
        let with_next = format!("{text}\n\n1. d4 *");
        let games = read(with_next.as_bytes(), &truncate());
        // Without an earlier move there is nothing to keep, unless requested.
        let first = &lenient(&with_next)[0];
        assert!(*first == games[0] || movetext.starts_with('{') && first.0.starts_with("E-MOVE"));
        assert_eq!(games.len(), 2, "{text}");
        assert!(games[0].0.ends_with(&format!("] {movetext}")), "{}", games[0].0);
        assert_eq!(games[0].1[0], format!("W-PGN-TRUNCATED {repair}"));
    }
    // An invalid start has no legal part.
    assert!(read(b"[FEN \"x\"]\n\n1. e4 *", &truncate())[0].0.starts_with("E-PGN-SETUP"));
    // The position where it was cut proves nothing.
    let text = "[Result \"0-1\"]\n\n1. f3 e5 2. g4 Qh4# 3. Kf2 1-0";
    assert!(read(text.as_bytes(), &truncate())[0].0.ends_with("{3. Kf2} 1-0"));
}

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
        // If they agree, they are accepted.
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

#[test]
fn a_second_tag_section_is_a_second_game() {
    let exports =
        |text: &str| -> Vec<String> { lenient(text).into_iter().map(|(game, _)| game).collect() };
    let text =
        "[Event \"a\"]\n[White \"A\"]\n[Result \"1-0\"]\n\n[White \"B\"]\n[Result \"0-1\"]\n";
    let wanted = ["[Event a] [White A] [Result 1-0] 1-0", "[White B] [Result 0-1] 0-1"];
    assert_eq!(exports(text), wanted);
    assert_eq!(exports(&text.replace('\n', "\r\n")), wanted);
    let one = ["[Event a] [White A] [Result 1-0] 1-0"];
    assert_eq!(exports(&text.replace("\n\n", "\n")), one, "tags of one block");
    assert_eq!(exports(&text.replace("\n\n", "\n \t\n")), wanted);
    let commented = text.replace("\n\n", "\n{x}\n\n");
    assert_eq!(exports(&commented), ["[Event a] [White A] [Result 1-0] {x} 1-0", wanted[1]]);
    // After an empty line, any tag that the game already has begins the next game, and so does `Event`.
    assert_eq!(exports("[ECO \"a\"]\n\n[ECO \"b\"]\n*").len(), 2);
    assert_eq!(exports("[White \"A\"]\n\n[Event \"b\"]\n*").len(), 2);
    // ChessBase's blank line after the first tag.
    let text = "[Event \"a\"]\n\n[White \"A\"]\n[Result \"1-0\"]\n\n1. e4 1-0";
    assert_eq!(exports(text), ["[Event a] [White A] [Result 1-0] 1. e4 1-0"]);
    // No blank line between tags.
    assert_eq!(exports("[Event \"a\"]\n{x\n\ny}\n[ECO \"A\"]\n*").len(), 1);
    assert_eq!(exports("[Event \"a\"]\n%\n[ECO \"A\"]\n\n{x}\n\n*").len(), 1);
    // A game that is refused for a tag does not take the next one with it.
    let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
    let text = "[Event]\n[White \"A\"]\n\n[White \"B\"]\n[Result \"*\"]\n*";
    let games = read(text.as_bytes(), &standard);
    assert_eq!(
        games.iter().map(|(game, _)| game.as_str()).collect::<Vec<_>>(),
        ["E-PGN-TAG 1:1", "[White B] [Result *] *"]
    );
    assert_eq!(exports(&text.replace("\n\n", "\n")).len(), 1);
}

#[test]
fn an_empty_line_among_the_tags_of_a_game_does_not_end_it() {
    let fen = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]";
    let tags = "[FEN 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1] [SetUp 1]";
    for (text, wanted) in [
        (
            format!("[Event \"a\"]\n[White \"A\"]\n[Result \"*\"]\n\n{fen}\n\n1. e4 *"),
            format!("[Event a] [White A] [Result *] {tags} 1. e4 *"),
        ),
        (
            "[Event \"a\"]\n[White \"A\"]\n[Result \"1-0\"]\n\n\n[WhiteElo \"1\"]\n\n[ECO \"A00\"]\n\n1. e4 1-0"
                .to_owned(),
            "[Event a] [White A] [Result 1-0] [ECO A00] [WhiteElo 1] 1. e4 1-0".to_owned(),
        ),
        (
            "[White \"A\"]\n\u{a0}\n[Black \"B\"]\n\n*".to_owned(),
            "[White A] [Black B] [Result *] *".to_owned(),
        ),
    ] {
        for text in [text.replace('\n', "\r\n"), text.replace('\n', "\r"), text] {
            let games = lenient(&format!("{text}\n\n[Event \"b\"]\n\n*\n"));
            let games: Vec<_> = games.into_iter().map(|(game, _)| game).collect();
            assert_eq!(games, [wanted.as_str(), "[Event b] [Result *] *"], "{text}");
        }
    }
}

#[test]
fn a_string_may_continue_in_the_next_line() {
    let fen = "k6K/8/8/8/8/8/8/7R w - - 0 15";
    for line_end in ["\n", "\r", "\r\n"] {
        for (value, joined) in [
            (format!("{fen}{line_end}"), fen),
            (fen.replacen(' ', line_end, 1), fen),
            (format!("{fen}{line_end}{line_end}"), fen),
        ] {
            let text = format!("[Event \"A\"]\n[FEN \"{value}\"]\n[Result \"1-0\"]\n\n1. Ra1+ 1-0");
            let games = lenient(&text);
            let wanted = format!("[Event A] [Result 1-0] [FEN {joined}] [SetUp 1] 15. Ra1+ 1-0");
            let repair = format!("W-PGN-STRING \"{value}\" > \"{joined}\"");
            assert_eq!(games[0], (wanted, vec![repair, "W-PGN-MOVENUM 1 > 15".to_owned()]));
            assert_eq!(games.len(), 1, "{text:?}");
            // Refused, it is still one game.
            let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
            assert_eq!(read(text.as_bytes(), &standard).len(), 1, "{text:?}");
        }
    }
    let games = lenient("[Event \"A\n  B\nC\"]\n[Site \"x\"]\n*");
    assert_eq!(games[0].0, "[Event A B C] [Site x] [Result *] *");
    // A value followed by another tag or an empty line was left open.
    let games = lenient("[Event \"A\n[Site \"x\"]\n\n1. e4 *");
    assert_eq!(games[0].0, "[Event A] [Site x] [Result *] 1. e4 *");
    let games = lenient("[Event \"A\n\n1. e4 {\"x\"] } *");
    assert_eq!(games[0].0, "[Event A] [Result *] 1. e4 {\"x\"]} *");
}

#[test]
fn a_malformed_tag_costs_that_tag_alone() {
    for (tag, kept, repairs) in [
        // Nothing can be made of it.
        ("[Site]", "", &["W-PGN-TAG [Site] > "][..]),
        ("[Site", "", &["W-PGN-TAG [Site > "]),
        ("[]", "", &["W-PGN-TAG [] > "]),
        ("[\"a\"]", "", &["W-PGN-TAG [\"a\"] > "]),
        ("[played at home]", "", &["W-PGN-TAG [played at home] > "]),
        ("[the \"old\" one]", "", &["W-PGN-TAG [the \"old\" one] > "]),
        ("[Opening by\nanybody]", "", &["W-PGN-TAG [Opening by\nanybody] > "]),
        ("[kj90trkm\"sdfsdf\"yl]", "", &["W-PGN-TAG [kj90trkm\"sdfsdf\"yl] > "]),
        // The meaning is clear.
        ("[Site A b]", "[Site A b] ", &["W-PGN-STRING A b > \"A b\""]),
        ("[Site 'A b']", "[Site A b] ", &["W-PGN-STRING 'A b' > \"A b\""]),
        ("[Site ''O'Neill'']", "[Site O'Neill] ", &["W-PGN-STRING ''O'Neill'' > \"O'Neill\""]),
        ("[Site: \"A\"]", "[Site A] ", &["W-PGN-TAG Site: > Site"]),
        ("[Site = \"A\"]", "[Site A] ", &["W-PGN-TAG Site = > Site"]),
        ("[White Elo \"1\"]", "[WhiteElo 1] ", &["W-PGN-TAG White Elo > WhiteElo"]),
        ("[White-Elo \"1\"]", "[WhiteElo 1] ", &["W-PGN-TAG White-Elo > WhiteElo"]),
        ("[White Strength \"1\"]", "", &["W-PGN-TAG [White Strength \"1\"] > "]),
        ("Site \"A\"]", "[Site A] ", &["W-PGN-TAG  > ["]),
        ("[Site \"A\"]]", "[Site A] ", &["W-PGN-TAG ] > "]),
        ("[Site \"A\" x]", "[Site A] ", &["W-PGN-TAG [Site \"A\" x] > [Site \"A\"]"]),
        ("[Site \"A\" x", "[Site A] ", &["W-PGN-TAG [Site \"A\" x > [Site \"A\"]"]),
        ("[Site \"A\")", "[Site A] ", &["W-PGN-TAG [Site \"A\") > [Site \"A\"]"]),
        // Typography.
        (
            "[Site \u{201c}A \u{2013} b\u{201d}]",
            "[Site A \u{2013} b] ",
            &["W-PGN-UNICODE \u{201c}A \u{2013} b\u{201d} > \"A \u{2013} b\""],
        ),
        ("[Site \u{201e}A\u{201c}]", "[Site A] ", &["W-PGN-UNICODE \u{201e}A\u{201c} > \"A\""]),
        ("[Site \u{ab}A\u{bb}]", "[Site A] ", &["W-PGN-UNICODE \u{ab}A\u{bb} > \"A\""]),
        ("[Site\u{a0}\"A\u{a0}b\"]", "[Site A\u{a0}b] ", &["W-PGN-UNICODE \u{a0} >  "]),
        ("[\u{200b}Site \"A\"\u{200b}]", "[Site A] ", &["W-PGN-UNICODE \u{200b} > "; 2]),
        ("[Site \"A\u{201d}]", "[Site A] ", &["W-PGN-STRING \"A\u{201d} > \"A\""]),
    ] {
        let text = format!("{tag}\n[Black \"B\"]\n\n1. e4 *\n\n[Event \"next\"]\n\n1. d4 *");
        let games = lenient(&text);
        let (site, other) = if kept.starts_with("[Site") { (kept, "") } else { ("", kept) };
        let wanted = format!("{site}[Black B] [Result *] {other}1. e4 *");
        assert_eq!(
            games[0],
            (wanted, repairs.iter().map(|it| (*it).to_owned()).collect()),
            "{tag}"
        );
        assert_eq!(games.len(), 2, "{tag}");
        // Between other tags.
        let games = lenient(&format!("[Event \"x\"]\n{text}"));
        assert_eq!(games.len(), 2, "{tag}");
        assert!(games[0].0.starts_with(&format!("[Event x] {site}[Black B]")), "{}", games[0].0);
        let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
        let games = read(text.as_bytes(), &standard);
        assert!(games[0].0.starts_with("E-PGN-"), "{tag} {games:?}");
    }
    // In Windows-1252.
    let games = read(b"[Site \x93A\x94]\xa0\n\n1. e4 *", &PgnReadOptions::default());
    assert_eq!(games[0].0, "[Site A] [Result *] 1. e4 *");
    // Text in brackets before the first tag is no game.
    assert_eq!(lenient("[about this file]\n\n[Event \"x\"]\n\n*").len(), 1);
}

#[test]
fn messages_name_characters_that_cannot_be_seen() {
    let text = "[Site \"A\"]\u{a0}\n\n1. e4 *";
    let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
    let read = reader.next_game().unwrap().unwrap();
    let message = &read.warnings[0].diagnostic.message;
    assert_eq!(message, "U+00A0 between tokens; read as a blank");
}

#[test]
fn a_comment_after_the_marker_is_of_the_game_before() {
    let text = "[Event \"a\"]\n[Result \"*\"]\n\n1. e4 *\n\n{ about a }\n\n[Event \"b\"]\n\
[Result \"*\"]\n\n1. d4 * ; about b\n%escape\n{more}\n";
    let games: Vec<_> = lenient(text).into_iter().map(|(game, _)| game).collect();
    let wanted =
        ["[Event a] [Result *] 1. e4 {about a} *", "[Event b] [Result *] 1. d4 {about b} {more} *"];
    assert_eq!(games, wanted);
    // It does not become a game when the game is refused.
    let games = lenient("1. e5 * {x}\n;y\n");
    assert_eq!((games.len(), games[0].0.as_str()), (1, "E-MOVE-ILLEGAL 1:4"));
    // One that is not closed is of the game too.
    let games = lenient("1. e4 *\n{open");
    assert_eq!((games.len(), games[0].0.as_str()), (1, "[Result *] 1. e4 {open} *"));
}

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
    let mut reader = epdb_chess::codec::pgc::PgcReader::new(&bytes[..], 1 << 20);
    let error = reader.next_game().unwrap().unwrap().game.unwrap_err();
    assert_eq!(error.kind.code(), "E-PGN-VARIANT");
}

#[test]
fn control_bytes_in_comments_are_reported() {
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
    let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
    assert_eq!(read(text.as_bytes(), &standard)[0].1, ["W-PGN-LINELEN"]);
}

/// Places of the move and of the text after it: the game keeps its tags and ends with its marker.
#[test]
fn whatever_follows_a_move_that_cannot_be_made_is_no_move_of_the_game() {
    let tags = "[White \"A\"]\n[Result \"1-0\"]\n\n";
    for (moves, kept) in [
        ("1. e4 e5 2. Ke3 1-0", "1. e4 e5 {2. Ke3} 1-0"),
        ("1. e4 e5 2. Nf3 Ke6 1-0", "1. e4 e5 2. Nf3 {Ke6} 1-0"),
        ("1. e4 e5 2. Nf3 2... Ke6 1-0", "1. e4 e5 2. Nf3 {2... Ke6} 1-0"),
        (
            "1. e4 Kd4 (1... c5 {b}) {c} 2. d4 $1 1-0",
            "1. e4 {Kd4 (1... c5} {b} {)} {c} {2. d4 $1} 1-0",
        ),
        ("1. e4 (1. Ke3 d5) Ke6 1-0", "1. e4 {1. Ke3 d5} {Ke6} 1-0"),
        ("1. e4 e5 2. Ke3", "1. e4 e5 {2. Ke3} 1-0"),
        ("1. e4 e5 2. Ke3\r\n{a}\r\n2... d5 1-0", "1. e4 e5 {2. Ke3} {a} {2... d5} 1-0"),
        (
            "1. e4 e5 2. Bc4 Nc6 3. Qf3 a6 4. Qxf7# Kxf7 1-0",
            "1. e4 e5 2. Bc4 Nc6 3. Qf3 a6 4. Qxf7# {Kxf7} 1-0",
        ),
    ] {
        let games = lenient(&format!("{tags}{moves}\n\n[White \"B\"]\n\n1. d4 *\n"));
        assert_eq!(games.len(), 2, "{moves}");
        assert_eq!(games[0].0, format!("[White A] [Result 1-0] {kept}"), "{moves}");
        assert_eq!(games[1].0, "[White B] [Result *] 1. d4 *", "{moves}");
        let cut = games[0].1.iter().filter(|told| told.starts_with("W-PGN-TRUNCATED")).count();
        assert_eq!(cut, 1, "{moves}: {:?}", games[0].1);
    }
    let black =
        "[FEN \"4k3/8/8/8/8/8/4p3/6K1 b - - 0 40\"]\n\n40... e1=Q+ 41. Kg2 Qe2+ 42. Kg9 0-1";
    assert!(lenient(black)[0].0.ends_with(" 40... e1=Q+ 41. Kg2 Qe2+ {42. Kg9} 0-1"));
    let is_cut = |text: &str| {
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        reader.next_game().unwrap().unwrap().is_cut_short
    };
    assert!(is_cut("1. e4 e5 2. Ke3 *") && !is_cut("1. e4 e5 (1... Ke6) *") && !is_cut("1. e5 *"));
}
