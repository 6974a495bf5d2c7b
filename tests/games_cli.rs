//! Games on the command line: between text and bytes, to positions, in archival order, explained.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod desk;

use desk::Desk;

const GAMES: &str = "[Event \"b\"]\n[Date \"1992.11.04\"]\n[ECO \"C20\"]\n\n1. e4! {best} e5 (1... c5 2. Nf3) 2. Nf3 1-0\n\n\
[Event \"a\"]\n[Date \"1992.??.??\"]\n\n1.d4 d5 *\n";
const FIRST: &str = "[Event \"b\"]\n[Site \"?\"]\n[Date \"1992.11.04\"]\n[Round \"?\"]\n[White \"?\"]\n\
[Black \"?\"]\n[Result \"1-0\"]\n[ECO \"C20\"]\n\n1. e4 $1 {best} 1... e5 (1... c5 2. Nf3) 2. Nf3 1-0\n\n";
const SECOND: &str = "[Event \"a\"]\n[Site \"?\"]\n[Date \"1992.??.??\"]\n[Round \"?\"]\n[White \"?\"]\n\
[Black \"?\"]\n[Result \"*\"]\n\n1. d4 d5 *\n\n";

/// A desk with a file `g.pgn` of two games.
fn desk() -> Desk {
    Desk::with("g.pgn", GAMES)
}

/// PGC-24, PGC-25.
#[test]
fn games_go_to_bytes_and_back() {
    let desk = desk();
    let done = desk.run(&["convert", "g.pgn", "out.pgn"]);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    assert_eq!(desk.text("out.pgn"), format!("{FIRST}{SECOND}"));
    assert_eq!(desk.run(&["convert", "g.pgn", "g.pgc", "--ext"]).status, 0);
    let back = desk.run(&["convert", "g.pgc", "-", "--to", "pgn"]);
    assert_eq!((back.status, back.out), (0, format!("{FIRST}{SECOND}")));

    let refused = desk.run(&["convert", "g.pgn", "r.pgc", "--rejects", "r.pgn"]);
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("g.pgn:1:1: error[E-PGC-COMMENT]"), "{}", refused.err);
    assert!(GAMES.starts_with(&desk.text("r.pgn")) && desk.text("r.pgn").contains("{best}"));
    assert_eq!(desk.run(&["count", "r.pgc"]).out, "1\n");
    let lossy = desk.run(&["convert", "g.pgn", "l.pgc", "--lossy"]);
    assert_eq!((lossy.status, lossy.err.as_str()), (0, "epdb: 1 comment left out\n"));
    assert_eq!(desk.run(&["count", "l.pgc"]).out, "2\n");
    assert_eq!(desk.run_with(&["convert", "-", "-", "--to", "pgn"], GAMES).out, back_text());
}

fn back_text() -> String {
    format!("{FIRST}{SECOND}")
}

/// PGN-49, KIT-03.
#[test]
fn tfgg_writes_the_reduced_export_format() {
    let desk = desk();
    let done = desk.run(&["tfgg", "g.pgn"]);
    assert!(done.out.contains("[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 1-0\n\n"), "{}", done.out);
    assert!(done.err.contains("1 tag left out") && done.err.contains("1 variation left out"));
    assert_eq!(desk.run(&["convert", "g.pgn", "-", "--to", "pgn", "--reduced"]).out, done.out);
}

/// COL-01.
#[test]
fn sort_is_in_archival_order() {
    let desk = desk();
    assert_eq!(desk.run(&["sort", "g.pgn"]).out, format!("{SECOND}{FIRST}"));
    assert_eq!(desk.run(&["sort", "g.pgn", "-o", "s.pgc", "--ext"]).status, 0);
    let sorted = desk.run(&["convert", "s.pgc", "-", "--to", "pgn"]).out;
    assert_eq!(sorted, format!("{SECOND}{FIRST}"));
}

#[test]
fn positions_come_out_of_games() {
    let desk = desk();
    desk.run(&["convert", "g.pgn", "g.pgc", "--ext"]);
    for source in ["g.pgn", "g.pgc"] {
        let done = desk.run(&["convert", source, "-", "--to", "epd", "--positions", "final"]);
        let wanted = "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - fmvn 2; hmvc 1;\n\
rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq d6 fmvn 2; hmvc 0;\n";
        assert_eq!((done.status, done.out.as_str()), (0, wanted), "{source}: {}", done.err);
    }
    let done =
        desk.run(&["normalize", "g.pgn", "--positions", "1..1", "--openings", "--game-tags"]);
    assert_eq!(
        done.out.lines().next().unwrap(),
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 eco \"C20\"; fmvn 1; hmvc 0; \
         ptp Event \"b\" Date \"1992.11.04\" Result \"1-0\" ECO \"C20\"; sm e5;"
    );
    assert_eq!(desk.run(&["normalize", "g.pgn"]).out.lines().count(), 7);
    assert_eq!(desk.run(&["count", "g.pgn"]).out, "2\n");
    assert_eq!(desk.run(&["count", "g.pgn", "--positions", "all"]).out, "7\n");
    assert_eq!(desk.run(&["import", "g.epdb", "g.pgn", "g.pgc"]).status, 0);
    assert_eq!(desk.run(&["count", "g.epdb"]).out, "14\n");
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    assert_eq!(desk.run(&["get", "g.epdb", start]).out.lines().count(), 4);
}

/// ERR-02, PGN-47.
#[test]
fn a_bad_game_is_reported_with_its_place_and_the_next_is_read() {
    let desk = Desk::with("g.pgn", format!("1. e4 e5\n2. Ke3 *\n\n{GAMES}"));
    let done = desk.run(&["convert", "g.pgn", "out.pgn", "--rejects", "r.pgn"]);
    assert_eq!(done.status, 1);
    assert!(done.err.contains("g.pgn:2:4: error[E-MOVE-ILLEGAL]: `Ke3`"), "{}", done.err);
    assert!(done.err.contains("(ply 3)"), "{}", done.err);
    assert_eq!(desk.text("r.pgn"), "1. e4 e5\n2. Ke3 *\n\n");
    assert_eq!(desk.text("out.pgn"), format!("{FIRST}{SECOND}"));
    assert_eq!(desk.run(&["convert", "g.pgn", "out.pgn", "--allow-rejects"]).status, 0);
    // C-D19: its legal part, on request.
    let args = ["convert", "g.pgn", "cut.pgn", "--truncate-games", "--repairs", "r.tsv"];
    let cut = desk.run(&args);
    assert_eq!(cut.status, 0, "{}", cut.err);
    assert!(desk.text("cut.pgn").contains("\n\n1. e4 e5 {2. Ke3} *\n\n"));
    let told = "g.pgn\t2\tW-PGN-TRUNCATED\t2. Ke3\t{2. Ke3}\n";
    assert!(desk.text("r.tsv").contains(told), "{}", desk.text("r.tsv"));
    let positions = desk.run(&["count", "g.pgn", "--positions", "all", "--truncate-games"]);
    assert_eq!(positions.out, "10\n", "{}", positions.err);
    assert!(done.err.ends_with("\n2 games, 1 rejected\n"), "{}", done.err);
    let large = desk.run(&["count", "g.pgn", "--max-game", "10"]);
    assert_eq!(large.status, 1);
    assert!(
        large.err.contains("more than 10 bytes; --max-game takes larger ones"),
        "{}",
        large.err
    );
}

#[test]
fn bytes_are_explained_and_verified() {
    let desk = desk();
    desk.run(&["convert", "g.pgn", "g.pgc", "--ext"]);
    let done = desk.run(&["dump", "g.pgc"]);
    for line in [
        "00000024  05                                                game 1 begins",
        "tag Event \"b\"",
        "03 01 0d                                          1 move: 1. e4",
        "07 01                                             NAG $1",
        "escape \"pgcx:c:best\"",
        "08                                                variation begins",
        "2 moves: 1... c5 2. Nf3",
        "Result \"*\", 2 moves: 1. d4 d5",
    ] {
        assert!(done.out.contains(line), "{line}: {}", done.out);
    }
    assert_eq!(desk.run(&["verify", "g.pgc", "g.pgn"]).out, "g.pgc: sound\ng.pgn: sound\n");
    // A-D9, D-W2b: what no checksum means.
    desk.run(&["convert", "g.pgn", "plain.pgc", "--lossy"]);
    let done = desk.run(&["verify", "plain.pgc"]);
    let told = "plain.pgc: sound\nplain.pgc: 2 games without a checksum; PGC has none of its own, ";
    assert!(done.status == 0 && done.out.starts_with(told), "{}", done.out);
    assert_eq!(desk.run(&["verify", "--profile", "strict", "g.pgn"]).status, 1);
    let mut bytes = desk.read("g.pgc");
    let length = bytes.len();
    bytes[length - 1] = 0xff;
    desk.write("bad.pgc", &bytes);
    let done = desk.run(&["verify", "bad.pgc"]);
    assert_eq!((done.status, done.out.as_str()), (1, "bad.pgc: not sound\n"));
    let place = format!("bad.pgc:2:{0}: error[E-PGC-ORDINAL]: byte {0}:", length - 1);
    assert!(done.err.contains(&place), "{}", done.err);
    // A move that is legal too: only the checksum tells.
    bytes[length - 1] = 0x0b;
    desk.write("bad.pgc", &bytes);
    let done = desk.run(&["verify", "bad.pgc"]);
    assert_eq!((done.status, done.out.as_str()), (1, "bad.pgc: not sound\n"));
    assert!(done.err.contains("error[E-PGC-CHECKSUM]"), "{}", done.err);
}

/// The fenced blocks of a page that are marked with a word.
fn blocks<'p>(page: &'p str, mark: &str) -> Vec<&'p str> {
    let fence = format!("```{mark}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// The worked dumps of `formats/pgc.md`.
#[test]
fn dumps_of_the_format_page_are_those_of_the_program() {
    let page = include_str!("../formats/pgc.md");
    let (games, dumps) = (blocks(page, "pgn"), blocks(page, "dump"));
    assert_eq!((games.len(), dumps.len()), (4, 4));
    for (number, (game, dump)) in games.into_iter().zip(dumps).enumerate() {
        let desk = Desk::with("g.pgn", game);
        let args = ["convert", "g.pgn", "g.pgc", "--ext"];
        let args = if number == 0 { &args[..3] } else { &args };
        assert_eq!(desk.run(args).status, 0, "{game}");
        assert_eq!(desk.run(&["dump", "g.pgc"]).out, dump, "{game}");
    }
}

#[test]
fn stats_count_games() {
    let desk = desk();
    let text = desk.run(&["stats", "g.pgn"]).out;
    for (name, count) in
        [("games", 2), ("  1-0", 1), ("plies", 5), ("variations", 1), ("tag ECO", 1)]
    {
        assert!(text.contains(&format!("{name:<34}{count:>14}\n")), "{name}: {text}");
    }
    let json = desk.run(&["stats", "g.pgn", "--json"]).out;
    assert!(json.starts_with("{\"games\":2,\"white_wins\":1,"), "{json}");
    let positions = desk.run(&["stats", "g.pgn", "--positions", "all", "--json"]).out;
    assert!(positions.starts_with("{\"records\":7,"), "{positions}");
    desk.write("empty.pgn", "");
    let json = desk.run(&["stats", "empty.pgn", "--json"]).out;
    assert!(json.starts_with("{\"games\":0,"), "{json}");
    let json = desk.run(&["stats", "empty.pgn", "--positions", "all", "--json"]).out;
    assert!(json.starts_with("{\"records\":0,"), "{json}");
}

/// PGN-02, PGC-21, LNG-01.
#[test]
fn characters_and_languages_are_chosen() {
    let desk = Desk::with("g.pgn", "[White \"\u{141}\u{f3}d\"]\n\n1. Sf3 *\n");
    let german = ["--language", "german"];
    let args = |rest: &[&'static str]| [&["convert", "g.pgn"], rest, &german].concat();
    let refused = desk.run(&args(&["g.pgc"]));
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("E-PGC-CHARSET"), "{}", refused.err);
    assert_eq!(desk.run(&args(&["g.pgc", "--translit"])).status, 0);
    assert!(desk.read("g.pgc").windows(4).any(|part| part == b"\x03?\xf3d"));
    desk.run(&args(&["l.pgn", "--to-charset", "latin-1", "--translit", "--to-language", "french"]));
    let text = desk.read("l.pgn");
    assert!(text.windows(9).any(|part| part == b"\"?\xf3d\"]\n[B"));
    assert!(text.ends_with(b"1. Cf3 *\n\n"));
}

#[test]
fn wrong_usage_is_told() {
    let desk = desk();
    desk.write("a.epd", "8/8/8/8/8/8/8/8 w - -\n");
    for args in [
        &["convert", "a.epd", "a.pgn"][..],
        &["convert", "g.pgn", "a.pgn", "--positions", "all"],
        &["convert", "g.pgn", "a.epd", "--positions", "20..10"],
        &["convert", "g.pgn", "a.pgn", "--language", "klingon"],
        &["convert", "g.pgn", "a.pgc", "--ext", "--lossy"],
        &["sort", "g.pgn", "-o", "a.epd"],
        &["sort", "a.epd"],
    ] {
        let done = desk.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(!desk.path("a.pgn").exists() && !desk.path("a.pgc").exists());
    }
}
