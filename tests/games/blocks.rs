//! Tags of a game: repeated ones, the begin of the next game, text between them.

use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

use super::found::lenient;

const ROSTER: [&str; 7] = ["Event", "Site", "Date", "Round", "White", "Black", "Result"];

/// The tags of a game, each with its own value, without a blank line.
fn roster() -> String {
    ROSTER.iter().map(|name| tag(name, "a")).collect()
}

fn tag(name: &str, value: &str) -> String {
    let value = match (name, value) {
        ("Result", _) => "*",
        ("Date", _) => "2000.01.01",
        _ => value,
    };
    format!("[{name} \"{value}\"]\n")
}

/// The numbers below `count` in an order that depends on `seed`.
fn order(count: usize, seed: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = seed as u64;
    for last in (1..count).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (state >> 33) as usize % (last + 1));
    }
    order
}

#[test]
fn a_tag_that_is_twice_in_a_block_is_of_one_game_in_any_order() {
    for twice in [&ROSTER[..], &["ECO", "FEN"]].concat() {
        for seed in 0..30 {
            let names = [&ROSTER[..], &["WhiteElo", "ECO", "Annotator", twice]].concat();
            let order = order(names.len(), seed);
            let mut values = ["first", "second"].into_iter();
            let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
            let block = order.iter().map(|&at| match names[at] {
                "FEN" => tag("FEN", fen),
                "WhiteElo" => tag("WhiteElo", "2000"),
                name if name == twice => tag(name, values.next().unwrap_or("third")),
                name => tag(name, "a"),
            });
            let block: String = block.collect();
            let games = lenient(&format!("{block}\n1. e4 e5 *\n\n{}\n1. d4 *\n", roster()));
            assert_eq!(games.len(), 2, "{block}: {games:?}");
            assert!(games[0].0.ends_with("] 1. e4 e5 *"), "{block}: {games:?}");
            let is_repeated = names.iter().filter(|name| **name == twice).count() > 1;
            let told: Vec<&str> =
                games[0].1.iter().filter_map(|told| told.split(' ').next()).collect();
            assert_eq!(told, if is_repeated { vec!["W-PGN-TAGDUP"] } else { vec![] }, "{block}");
            if is_repeated && !matches!(twice, "Result" | "Date") {
                assert!(games[0].0.contains(&format!("[{twice} first]")), "{block}: {games:?}");
            }
        }
    }
}

#[test]
fn the_next_game_begins_behind_a_blank_line_or_moves_or_a_whole_roster() {
    let whole = roster();
    for (text, games) in [
        // A whole roster, then `Event` and another tag of the roster.
        (format!("{whole}[Event \"b\"]\n[Site \"b\"]\n\n1. e4 *\n"), 2),
        (
            format!(
                "{whole}[ECO \"A00\"]\n[Event \"b\"]\n[ECO \"B00\"]\n[White \"b\"]\n\n1. e4 *\n"
            ),
            2,
        ),
        (format!("{whole}[Event \"b\"] [Site \"b\"]\n\n1. e4 *\n"), 2),
        (format!("{whole}[Event \"b\"]\n; a comment\n[Site \"b\"]\n\n1. e4 *\n"), 2),
        (whole.repeat(5), 5),
        // No other tag of the roster follows.
        (format!("{whole}[Event \"b\"]\n\n1. e4 *\n"), 1),
        (format!("{whole}[Event \"b\"]\n[ECO \"B00\"]\n\n1. e4 *\n"), 1),
        (format!("{whole}[Event \"b\"]\n[Event \"c\"]\n1. e4 *\n"), 1),
        (format!("{whole}[Site \"b\"]\n[Event \"c\"]\n\n1. e4 *\n"), 1),
        // The roster is not whole.
        ("[Event \"a\"]\n[Site \"a\"]\n[Event \"b\"]\n[White \"b\"]\n\n1. e4 *\n".to_owned(), 1),
        // A blank line.
        ("[Event \"a\"]\n\n[Event \"b\"]\n\n1. e4 *\n".to_owned(), 2),
        ("[White \"a\"]\n\n[White \"b\"]\n\n1. e4 *\n".to_owned(), 2),
        ("[White \"a\"]\n\n[Black \"b\"]\n\n1. e4 *\n".to_owned(), 1),
        // Moves.
        ("[Event \"a\"]\n1. e4\n[Event \"b\"]\n1. d4 *\n".to_owned(), 2),
        ("[White \"a\"]\n1. e4\n[Black \"b\"]\n1. d4 *\n".to_owned(), 2),
    ] {
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let read = lenient(&text);
            assert_eq!(read.len(), games, "{text}: {read:?}");
        }
    }
}

#[test]
fn text_between_tags_is_a_comment() {
    for (text, games) in [
        (
            "[Event \"a\"]\n[Site \"s\"]\nsome text\n[White \"w\"]\n\n1. e4 *\n",
            &["[Event a] [Site s] [White w] [Result *] {some text} 1. e4 *"][..],
        ),
        (
            "[Event \"a\"]\r\nsome\r\n- more -\r\n\r\n[White \"w\"]\r\n\r\n1. e4 *\r\n",
            &["[Event a] [White w] [Result *] {some - more -} 1. e4 *"],
        ),
        (
            "[Event \"a\"]\n  caf\u{e9} 2000  \n[White \"w\"]\n1. e4 *\n",
            &["[Event a] [White w] [Result *] {caf\u{e9} 2000} 1. e4 *"],
        ),
        // Movetext, or the next game.
        (
            "[Event \"a\"]\n1. e4 *\n[White \"w\"]\n1. d4 *\n",
            &["[Event a] [Result *] 1. e4 *", "[White w] [Result *] 1. d4 *"],
        ),
        (
            "[Event \"a\"]\ne4 e5\n[White \"w\"]\n*\n",
            &["[Event a] [Result *] 1. e4 e5 *", "[White w] [Result *] *"],
        ),
        (
            "[Event \"a\"]\nsome text\n[Event \"b\"]\n\n1. d4 *\n",
            &["E-MOVE-SYNTAX 2:1", "[Event b] [Result *] 1. d4 *"],
        ),
        (
            "[White \"a\"]\nsome text\n[White \"b\"]\n\n1. d4 *\n",
            &["E-MOVE-SYNTAX 2:1", "[White b] [Result *] 1. d4 *"],
        ),
    ] {
        let read = lenient(text);
        let shown: Vec<&str> = read.iter().map(|(game, _)| game.as_str()).collect();
        assert_eq!(shown, games, "{text}: {read:?}");
        if games.len() == 1 {
            assert!(read[0].1[0].starts_with("W-PGN-TAG "), "{read:?}");
        }
    }
}

/// Each of these takes minutes if every tag looks through the rest of its line.
#[test]
fn many_tags_in_a_line_take_linear_time() {
    const SIZE: usize = 1 << 20;
    let whole = ROSTER.map(|name| format!("[{name}  \"a\"]")).concat();
    for piece in [
        "[Event \"".to_owned(),
        "[Event \"a\"".to_owned(),
        "[Event \"a\" x".to_owned(),
        "[Event 'a' ".to_owned(),
        "[Event a] ".to_owned(),
        "[x][".to_owned(),
        whole,
        "[Event \"a\"]".to_owned(),
    ] {
        for end in ["", "\"]", "]\n", "\n\n1. e4 *\n"] {
            let text = piece.repeat(SIZE / piece.len()) + end;
            let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
            let mut bytes = 0;
            while let Some(read) = reader.next_game().unwrap() {
                bytes += read.raw.len();
            }
            assert_eq!(bytes + reader.rest().len(), text.len(), "{piece}");
        }
    }
    let stray = format!("1. e4 {}*", "[ ".repeat(SIZE / 2));
    let mut reader = GameReader::new(stray.as_bytes(), PgnReadOptions::default());
    assert!(reader.next_game().unwrap().unwrap().game.is_err());
}
