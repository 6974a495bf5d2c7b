//! Comments as people write them: with braces in them, never closed, with lines that begin with `%`.

use epdb_chess::text::Profile;
use epdb_chess::text::pgn::PgnReadOptions;

use super::found::{assert_game, lenient, read};

/// In the lenient profile a `%` line in a comment is text of it; in the others an escape as a whole.
#[test]
fn percent_lines_in_comments() {
    let text = "1. e4 {about 50\n%% of the games} e5 2. Nf3 *";
    assert_game(text, "1. e4 {about 50 %% of the games} 1... e5 2. Nf3 *", &[]);
    assert_game("1. e4 {a\r\n%x } e5 *", "1. e4 {a %x} 1... e5 *", &[]);
    let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
    let games = read(b"1. e4 {a\n%esc } here\nb} e5 *", &standard);
    assert_eq!(games[0].0, "[Result *] 1. e4 {a b} 1... e5 *");
    for text in ["1. e4 {a\n%esc } e5 *", "1. e4 {a\n%esc }\n\n[Event \"x\"]\n\n*"] {
        assert_eq!(read(text.as_bytes(), &standard)[0].0, "E-PGN-TOKEN 1:7", "{text}");
    }
    // A `%` inside of a line of a comment does not begin an escape.
    assert_eq!(read(b"1. e4 {%a } e5 *", &standard)[0].0, "[Result *] 1. e4 {%a} 1... e5 *");
}

#[test]
fn braces_in_comments_are_kept() {
    for (text, comment) in [
        ("1. e4 {a {b} c} e5 *", "a {b} c"),
        ("1. e4 {see {A} and {B}} e5 *", "see {A} and {B}"),
        ("1. e4 {[pgn] 1. e4 {x} e5 [/pgn]} e5 *", "[pgn] 1. e4 {x} e5 [/pgn]"),
        ("1. e4 {{a} {{b}}} e5 *", "{a} {{b}}"),
        ("1. e4 {a {b\nc}\nd} e5 *", "a {b c} d"),
        ("1. e4 {he said \\\"no\\} not yet} e5 *", "he said \\\"no\\} not yet"),
    ] {
        let (game, told) = &lenient(text)[0];
        let wanted = format!("[Result *] 1. e4 ;{comment} 1... e5 *");
        assert_eq!((game, told.as_slice()), (&wanted, &["W-PGN-COMMENT".to_owned()][..]), "{text}");
    }
    // Braces that are not closed are text, as the standard has it.
    for (text, movetext) in [
        ("1. e4 {see { } e5 2. Nf3 {good} *", "1. e4 ;see { 1... e5 2. Nf3 {good} *"),
        ("1. e4 {C:\\} e5 *", "1. e4 ;C:\\ 1... e5 *"),
        ("1. e4 {C:\\} e5 {x} *", "1. e4 ;C:\\ 1... e5 {x} *"),
        ("1. e4 {a { b} e5 *\n\n[Event \"x\"]\n\n1. d4 {c} } *", "1. e4 ;a { b 1... e5 *"),
    ] {
        let (game, told) = &lenient(text)[0];
        assert_eq!((game.as_str(), told.len()), (&*format!("[Result *] {movetext}"), 0), "{text}");
    }
    let many = format!("1. e4 {{{}}} e5 *", "{".repeat(200_000));
    assert_eq!(lenient(&many)[0].1, [""; 0]);
}

#[test]
fn a_comment_that_is_not_closed_costs_no_game() {
    let told = ["W-PGN-TRUNCATED", "W-PGN-RESULT  > *"];
    assert_game("1. e4 {never closed e5\n", "1. e4 {never closed e5} *", &told);
    let games =
        lenient("1. e4 {open e5 1-0\n\n[Event \"2\"]\n\n1. d4 d5 *\n\n[Event \"3\"]\n\n1. c4 *");
    assert_eq!(games.len(), 3, "{games:?}");
    assert_eq!(games[0].0, "[Result *] 1. e4 {open e5 1-0} *");
    assert!(games[1].0.ends_with("1. d4 d5 *") && games[1].1.is_empty(), "{games:?}");
    let games = lenient("[Result \"1-0\"]\n\n1. e4 1-0 {open");
    assert_eq!(games, [("[Result 1-0] 1. e4 {open} 1-0".into(), vec!["W-PGN-COMMENT".into()])]);
    assert_eq!(lenient("1. e4 (1. d4 {open")[0].0, "[Result *] 1. e4 (1. d4 {open}) *");
    assert_eq!(lenient("{x")[0].0, "[Result *] {x} *");
    for profile in [Profile::Standard, Profile::Strict] {
        let options = PgnReadOptions { profile, ..Default::default() };
        assert_eq!(read(b"1. e4 {never closed e5\n", &options)[0].0, "E-PGN-TOKEN 1:7");
    }
}
