//! Typographic characters where syntax is expected, and odd spellings of results.

use epdb_chess::model::GameResult;
use epdb_chess::text::Profile;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

use super::found::{assert_game, lenient, read};

/// Blanks of all kinds separate tokens, characters without width are dropped.
#[test]
fn typographic_blanks_are_blanks() {
    for blank in ["\u{a0}", "\u{2009}", "\u{202f}", "\u{3000}", "\u{2000}"] {
        let text = format!("1.{blank}e4 e5 2.{blank}Nf3{blank}Nc6{blank}*");
        let told = format!("W-PGN-UNICODE {blank} >  ");
        assert_game(&text, "1. e4 e5 2. Nf3 Nc6 *", &[told.as_str(); 4]);
    }
    for nothing in ["\u{200b}", "\u{feff}", "\u{ad}", "\u{2060}", "\u{200e}"] {
        let text = format!("1{nothing}. e{nothing}4 {nothing}e5 2. Nf3 Nc{nothing}6 *");
        let (game, told) = &lenient(&text)[0];
        assert!(game.ends_with("1. e4 e5 2. Nf3 Nc6 *"), "{game}");
        let is_mark = nothing == "\u{feff}";
        assert!(is_mark || told.iter().all(|told| told.starts_with("W-PGN-UNICODE")), "{told:?}");
        assert_eq!(told.len(), if is_mark { 2 } else { 4 }, "{nothing:?} {told:?}");
    }
    // In Windows-1252 too.
    let games = read(b"1.\xa0e4 1\x85\xa0e5 2. O\x96O *", &PgnReadOptions::default());
    assert!(games[0].0.contains("1. e4 e5 {2. O\u{2013}O} *") || games[0].0.starts_with("E-"));
}

#[test]
fn hyphens_crosses_and_periods_are_read_as_ascii() {
    for dash in ["\u{2013}", "\u{2014}", "\u{2010}", "\u{2011}", "\u{2012}", "\u{2212}"] {
        let text =
            format!("1.e4 e5 2.Nf3 Nf6 3.Bc4 Bc5 4.0{dash}0 O{dash}O 5.d2{dash}d3 d6 1{dash}0");
        let told = [
            format!("W-PGN-UNICODE 0{dash}0 > 0-0"),
            format!("W-PGN-UNICODE O{dash}O > O-O"),
            format!("W-PGN-UNICODE d2{dash}d3 > d2-d3"),
            format!("W-PGN-RESULT 1{dash}0 > 1-0"),
        ];
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        assert_game(&text, "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4. O-O O-O 5. d3 d6 1-0", &told);
    }
    let queen =
        "1. d4 d5 2. Nc3 Nc6 3. Bf4 Bf5 4. Qd2 Qd7 5. O\u{2013}O\u{2013}O 0\u{2011}0\u{2011}0 *";
    assert!(lenient(queen)[0].0.ends_with("4. Qd2 Qd7 5. O-O-O O-O-O *"), "{:?}", lenient(queen));
    let told = [
        "W-PGN-UNICODE \u{2026} > ...",
        "W-PGN-UNICODE \u{2026} > ...",
        "W-PGN-UNICODE e4\u{d7}d5 > e4xd5",
    ];
    assert_game("1.e4 1\u{2026}d5 2. \u{2026} e4\u{d7}d5 *", "1. e4 d5 2. exd5 *", &told);
    let minus = "1. e4 +\u{2212} 1... e5 +\u{2013} *";
    assert_game(
        minus,
        "1. e4 $18 1... e5 $18 *",
        &["W-PGN-NAG +\u{2212} > $18", "W-PGN-NAG +\u{2013} > $18"],
    );
    // Comments and tag values are not touched.
    let same = "[White \"A \u{2013} B\u{a0}\u{2026}\"]\n\n1. e4 {a\u{a0}\u{2013}\u{2026} \u{201c}b\u{201d}} *";
    assert_eq!(lenient(same)[0].1, [""; 0]);
    for profile in [Profile::Standard, Profile::Strict] {
        let options = PgnReadOptions { profile, ..Default::default() };
        let games = read("1. e4 1\u{2026} e5 *".as_bytes(), &options);
        assert_eq!(games[0].0, "E-PGN-TOKEN 1:8");
    }
}

#[test]
fn messages_name_characters_without_a_shape() {
    for (text, name) in [
        ("1. Qf\u{ad}9 *", "U+00AD"),
        ("1. Qf\u{200b}9 *", "U+200B"),
        ("[Date \"1990\u{a0}\"]\n\n1. e4 *", "`1990U+00A0`"),
        ("1.\u{2003}e4 *", "U+2003"),
    ] {
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        let read = reader.next_game().unwrap().unwrap();
        let mut messages: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
        messages.extend(read.game.err().map(|error| error.to_string()));
        let all = messages.join("\n");
        assert!(all.contains(name), "{all}");
        assert!(all.is_ascii(), "{all}");
    }
}

/// Markup of web pages between moves is dropped; in comments it stays.
#[test]
fn markup_between_moves_is_dropped() {
    let told = ["W-PGN-TOKEN <br /> >  ", "W-PGN-TOKEN &nbsp; >  ", "W-PGN-TOKEN </p> >  "];
    let text = "1. e4<br />e5&nbsp;2. Nf3 {a<br />b&nbsp;c} Nc6 </p> *";
    assert_game(text, "1. e4 e5 2. Nf3 {a<br />b&nbsp;c} 2... Nc6 *", &told);
    let (game, _) = &lenient("1. e4 <b class=x> *")[0];
    assert!(game.contains("{<b class=x>}") || game.starts_with("E-PGN-TOKEN"), "{game}");
}

/// Other spellings of results are read, in the movetext and in the tag, and end the game.
#[test]
fn results_in_other_spellings() {
    for (result, spellings) in [
        (
            "1-0",
            &["1:0", "1 : 0", "+--", "+:-", "1-O", "1-0 ff", "1-0ff", "1\u{2013}0", "1.0-0.0"][..],
        ),
        ("0-1", &["0:1", "--+", "-:+", "O-1", "0-1 (forfeit)", "0\u{2014}1", "0-1."]),
        ("1/2-1/2", &["0.5-0.5", "\u{bd}:\u{bd}", "1/2", "\u{bd}", "1/2 - 1/2", "=-=", "0,5:0,5"]),
    ] {
        for spelling in spellings {
            let told = format!("W-PGN-RESULT {spelling} > {result}");
            assert_game(&format!("1. e4 e5 {spelling}"), &format!("1. e4 e5 {result}"), &[&told]);
            let next = format!("1. e4 e5 2. Nf3 {spelling}\n\n[Event \"x\"]\n\n1. d4 *");
            let games = lenient(&next);
            assert_eq!(games.len(), 2, "{games:?}");
            assert!(games[0].0.ends_with(&format!("2. Nf3 {result}")), "{games:?}");
            let tagged = format!("[Result \"{spelling}\"]\n\n1. e4 e5 *");
            let (game, told) = &lenient(&tagged)[0];
            assert_eq!(game, &format!("[Result {result}] 1. e4 e5 {result}"));
            let wanted = [
                format!("W-PGN-RESULT {spelling} > {result}"),
                format!("W-PGN-RESULT * > {result}"),
            ];
            assert_eq!(told, &wanted);
            let both = format!("[Result \"{spelling}\"]\n\n1. e4 e5 {spelling}");
            assert_eq!(lenient(&both)[0].1.len(), 2, "{both}");
            let refused = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
            let text = format!("1. e4 e5 {spelling}");
            assert!(read(text.as_bytes(), &refused)[0].0.starts_with("E-"), "{text}");
        }
    }
    // Signs in place of a NAG and move numbers are no results.
    let told = ["W-PGN-NAG +- > $18", "W-PGN-NAG -+ > $19", "W-PGN-NAG = > $10"];
    assert_game("1. e4 +- 1... e5 -+ 2. Nf3 = *", "1. e4 $18 1... e5 $19 2. Nf3 $10 *", &told);
    assert_game("1 e4 e5 2 Nf3 *", "1. e4 e5 2. Nf3 *", &[]);
    let (game, _) = &lenient("[Result \"Draw\"]\n\n1. e4 e5 *")[0];
    assert_eq!(game, "[Result 1/2-1/2] 1. e4 e5 1/2-1/2");
}

/// `0-0` is a result where nothing of the game follows and castling is not legal, or the tag says it.
#[test]
fn a_loss_for_both_is_kept() {
    let result = |text: &str| {
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        let read = reader.next_game().unwrap().unwrap();
        let game = read.game.unwrap();
        (game.main_line().count(), game.termination_marker(), game.result())
    };
    let lost = |plies| (plies, "0-0", GameResult::Unknown);
    for (text, plies) in [
        ("1. e4 e5 0-0", 2),
        ("1. e4 e5 0 - 0 {neither came}\n", 2),
        ("1. e4 e5 0\u{2013}0\n\n1. d4 *", 2),
        ("[Event \"a\"]\n\n0-0\n\n[Event \"b\"]\n\n*", 0),
        ("1. e4 e5 0:0", 2),
        ("1. e4 -:-", 1),
        ("[Result \"0-0\"]\n\n1. e4 e5", 2),
        ("[Result \"0-0\"]\n\n1. e4 e5 *", 2),
        ("[Result \"-:-\"]\n\n*", 0),
        ("[Result \"0-0\"]\n\n1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 0-0", 6),
    ] {
        assert_eq!(result(text), lost(plies), "{text}");
        let (game, told) = &lenient(text)[0];
        assert!(game.starts_with("[") && game.contains("[Result 0-0]"), "{game}");
        let (_, movetext) = game.rsplit_once("] ").unwrap();
        assert!(movetext.contains("0-0"), "{movetext}");
        let is_told = told.iter().any(|told| told.starts_with("W-PGN-RESULT"));
        assert!(is_told, "{text}: {told:?}");
    }
    // The output is read again with only the warning of doubt.
    let (game, told) = &lenient("[Result \"0-0\"]\n\n1. e4 e5 0-0")[0];
    assert_eq!(
        (game.as_str(), &told[..]),
        ("[Result 0-0] 1. e4 e5 0-0", &["W-PGN-RESULT".to_owned()][..])
    );
    // Castling.
    let castling = "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. 0-0";
    let count = |text: &str| (result(text).0, result(text).1);
    assert_eq!(count(castling), (7, "*"));
    assert_eq!(count(&format!("{castling} 0-0 1-0")), (8, "1-0"));
    assert_eq!(count(&format!("{castling} 0-0 0-0")), (8, "0-0"));
    assert_eq!(count(&format!("{castling} (4. 0-0) *")), (7, "*"));
    let refused = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
    assert_eq!(read(b"1. e4 e5 0:0", &refused)[0].0, "E-PGN-RESULT 1:10");
}
