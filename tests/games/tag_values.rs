//! Invalid values of tags.

use epdb_chess::model::{GameBuilder, is_tag_name};
use epdb_chess::text::Profile;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

use super::found::{lenient, read};

/// A game without a valid FEN starts from the start array if its moves are legal there.
#[test]
fn a_fen_that_is_not_known() {
    for tags in [
        "[FEN \"?\"]\n[SetUp \"1\"]",
        "[FEN \"\"]",
        "[FEN \"-\"]\n[SetUp \"0\"]",
        "[FEN \" * \"]",
        "[SetUp \"1\"]",
    ] {
        let games = lenient(&format!("{tags}\n[Variant \"Chess960\"]\n\n1. e4 e5 1-0"));
        assert_eq!(games[0].0, "[Result 1-0] [Variant Chess960] 1. e4 e5 1-0", "{tags}");
        assert_eq!(games[0].1, ["W-PGN-SETUP"], "{tags}");
        let games = lenient(&format!("{tags}\n\n1. Nb3 e5 1-0\n\n[Event \"x\"]\n\n1. d4 *"));
        assert!(games[0].0.starts_with("E-PGN-SETUP "), "{games:?}");
        assert_eq!(games.len(), 2, "{games:?}");
        let games = lenient(&format!("{tags}\n\n1. e4 e5 2. Ke3 e5 1-0"));
        assert!(games[0].0.starts_with("E-PGN-SETUP "), "{games:?}");
        let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
        let text = format!("{tags}\n\n1. e4 e5 1-0");
        assert!(read(text.as_bytes(), &standard)[0].0.starts_with("E-PGN-SETUP "), "{tags}");
    }
    let (game, told) = &lenient("[SetUp \"0\"]\n\n1. e4 *")[0];
    assert_eq!((game.as_str(), told.len()), ("[Result *] [SetUp 0] 1. e4 *", 0));
}

fn warnings(text: &str, checks_all: bool) -> Vec<String> {
    let options = PgnReadOptions { check_tags: checks_all, ..Default::default() };
    let mut reader = GameReader::new(text.as_bytes(), options);
    let read = reader.next_game().unwrap().unwrap();
    assert!(read.game.is_ok());
    read.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn invalid_dates_and_ratings_give_warnings() {
    let tags = "[Date \"31.10.2000\"]\n[WhiteElo \"1820 (FIDE)\"]\n[BlackElo \"2500?\"]";
    let found = warnings(&format!("{tags}\n\n1. e4 *"), false);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|warning| warning.contains("W-PGN-TAGVALUE")));
    assert!(found[0].contains("Date is `31.10.2000`; expected YYYY.MM.DD"), "{found:?}");
    for known in ["????.??.??", "2008.??.??", "2008.10.07", "?"] {
        let text = format!("[Date \"{known}\"]\n[WhiteElo \"-\"]\n[BlackElo \"?\"]\n\n1. e4 *");
        assert_eq!(warnings(&text, false), [""; 0]);
    }
    // All that the standard knows, on request.
    let tags = "[Round \"final\"]\n[ECO \"B9\"]\n[TimeControl \"3 min\"]\n[Termination \"A won\"]\n[Mode \"fast\"]";
    let text = format!("{tags}\n[Annotator \"x\"]\n\n1. e4 *");
    assert_eq!(warnings(&text, false), [""; 0]);
    assert_eq!(warnings(&text, true).len(), 5);
}

/// A name that readers take for a misspelling of another is refused, so that text and bytes agree.
#[test]
fn names_of_tags_are_no_misspellings() {
    for name in ["Date$", "White-Elo", "White:", "Black'"] {
        assert!(!is_tag_name(name), "{name}");
        assert!(GameBuilder::new().set_tag(name, "x").is_err());
    }
    for name in ["Dates$", "White_Elo", "x-y", "my:tag"] {
        assert!(is_tag_name(name), "{name}");
        let mut builder = GameBuilder::new();
        builder.set_tag(name, "x").unwrap();
        let game = builder.finish().unwrap();
        let text = super::export(&game, epdb_chess::text::pgn::Charset::Utf8);
        assert_eq!(super::read_game(&text), game, "{name}");
    }
    let (game, told) = &lenient("[White-Elo \"2500\"]\n[Date$ \"1990.01.01\"]\n\n1. e4 *")[0];
    assert_eq!(game, "[Date 1990.01.01] [Result *] [WhiteElo 2500] 1. e4 *");
    assert_eq!(told.len(), 2, "{told:?}");
}
