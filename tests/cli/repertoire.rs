//! Repertoires: reports, input and output.

use crate::scratch::Scratch;

const SAMPLE: &str = include_str!("../samples/repertoire.pgn");
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";

/// A small repertoire for White.
const LINES: &str = "1. e4 {always} e5 (1... c5 2. Nf3 (2. c3) (2. Qh5 $4 Nf6)) 2. Nf3 $14 *\n";

fn scratch() -> Scratch {
    let scratch = Scratch::with("sample.pgn", SAMPLE);
    scratch.write("lines.pgn", LINES);
    scratch
}

/// The movetext of a file with one game.
fn movetext(pgn: &str) -> String {
    let text = pgn.split_once("\n\n").unwrap().1;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_repertoire_is_reported() {
    let scratch = scratch();
    let done = scratch.run(&["repertoire", "lines.pgn", "--side", "white"]);
    let expected = "9 positions, 7 reached, 2 only by moves marked as bad\n\
        1 move marked as bad, 2 positions behind it only\n\n\
        More than one candidate: 1 position\n  1. e4 c5: Nf3 c3\n\n\
        Lines that end without an evaluation: 2\n  1. e4 c5 2. Nf3\n  1. e4 c5 2. c3\n\n\
        Not reached: 0 positions\n";
    assert_eq!((done.status, done.out.as_str()), (0, expected), "{}", done.err);
    // Black's own candidate is one; what Black may meet are several.
    let black = scratch.run(&["repertoire", "lines.pgn", "--side", "black", "-n", "0"]);
    let part = "More than one candidate: 1 position\n  and 1 more\n";
    assert!(black.out.contains(part), "{}", black.out);
    let piped = scratch.run_with(&["repertoire", "--side", "white", "--from", "pgn"], LINES);
    assert_eq!((piped.out.as_str(), piped.status), (expected, 0));
}

#[test]
fn a_repertoire_goes_through_any_format_and_comes_back() {
    let scratch = scratch();
    let straight = scratch.run(&["convert", "sample.pgn", "straight.pgn", "--tree"]);
    assert_eq!(straight.status, 0, "{}", straight.err);
    let note = "epdb: a tree of 65 moves; 1 reference to positions elsewhere in it\n";
    assert!(straight.err.ends_with(note), "{}", straight.err);
    let straight = movetext(&scratch.text("straight.pgn"));
    for name in ["r.epd", "r.epb", "r.epa", "r.epdb"] {
        let done = scratch.run(&["repertoire", "sample.pgn", "--side", "white", "-o", name]);
        assert_eq!((done.status, done.out.as_str()), (0, ""), "{}", done.err);
        assert!(done.err.contains("epdb: 65 positions, 1 move marked as bad\n"), "{}", done.err);
        let tree = scratch.run(&["-q", "convert", name, "tree.pgn", "--tree"]);
        assert_eq!((tree.status, tree.err.as_str()), (0, ""));
        assert_eq!(movetext(&scratch.text("tree.pgn")), straight, "{name}");
        let report =
            |name: &str| scratch.run(&["repertoire", name, "--side", "white", "--tsv"]).out;
        let sorted = |text: String| {
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(report(name)), sorted(report("sample.pgn")), "{name}");
    }
    let records = scratch.run(&["repertoire", "lines.pgn", "--side", "white", "--to", "epd"]);
    let first: Vec<&str> = records.out.lines().take(2).collect();
    let expected = [format!("{START} bm e4;"), format!("{E4} c0 \"always\"; replies e5 c5;")];
    assert_eq!(first, expected);
    let third = records.out.lines().find(|line| line.contains("2p5")).unwrap();
    assert!(third.ends_with("w KQkq - am Qh5; bm Nf3 c3; glyphs Qh5$4; pm Nf3;"), "{third}");
}

#[test]
fn trees_are_cut_and_rooted() {
    let scratch = scratch();
    let tree = |args: &[&str]| {
        let done = scratch.run(&[&["convert", "lines.pgn", "t.pgn", "--tree"], args].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        movetext(&scratch.text("t.pgn"))
    };
    let whole = "1. e4 {always} 1... e5 (1... c5 2. Nf3 (2. c3) (2. Qh5 $4 2... Nf6)) 2. Nf3 $14 *";
    assert_eq!(tree(&[]), whole);
    assert_eq!(tree(&["--depth", "2"]), "1. e4 {always} 1... e5 (1... c5) *");
    assert_eq!(tree(&["--root", "e4 c5"]), "1. Nf3 (1. c3) (1. Qh5 $4 1... Nf6) *");
    assert!(scratch.text("t.pgn").contains("[SetUp \"1\"]"), "{}", scratch.text("t.pgn"));
    let other = scratch.run(&["convert", "lines.pgn", "t.pgn", "--tree", "--root", "d4"]);
    assert_eq!(other.status, 2);
    assert!(other.err.contains("the position is not in the repertoire"), "{}", other.err);
    for wrong in [&["t.epd", "--tree"][..], &["t.pgn", "--depth", "3"], &["t.pgn", "--once"]] {
        let done = scratch.run(&[&["convert", "lines.pgn"], wrong].concat());
        assert_eq!(done.status, 2, "{wrong:?}");
    }
    scratch.run(&["-q", "convert", "lines.pgn", "t.pgc", "--tree", "--ext"]);
    assert_eq!(scratch.run(&["-q", "convert", "t.pgc", "t.pgn"]).status, 0);
    assert_eq!(movetext(&scratch.text("t.pgn")), whole);
}

#[test]
fn moves_after_a_transposition_are_written_once_or_each_time() {
    let scratch = scratch();
    let pgn = "1. d4 (1. c4 d5 2. d4 e6) 1... d5 2. c4 e6 *\n";
    scratch.write("a.pgn", pgn);
    scratch.run(&["convert", "a.pgn", "b.pgn", "--tree"]);
    assert_eq!(movetext(&scratch.text("b.pgn")), pgn.trim());
    scratch.run(&["convert", "a.pgn", "b.pgn", "--tree", "--once"]);
    let once = "1. d4 (1. c4 d5 2. d4 {as after 1. d4 d5 2. c4}) 1... d5 2. c4 e6 *";
    assert_eq!(movetext(&scratch.text("b.pgn")), once);
    // Such a comment is understood when it is read again.
    scratch.run(&["convert", "b.pgn", "c.pgn", "--tree", "--once"]);
    assert_eq!(movetext(&scratch.text("c.pgn")), once);
}

/// Games of a library: the most played moves first, a move that was played too rarely not at all.
#[test]
fn a_library_becomes_a_tree() {
    let scratch = Scratch::with("games.pgn", "1. e4 e5 * 1. d4 * 1. d4 d5 * 1. d4 Nf6 *\n");
    let done = scratch.run(&["tally", "games.pgn", "-o", "lib.epa"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let tree = |args: &[&str]| {
        let done = scratch.run(&[&["convert", "lib.epa", "t.pgn", "--tree"], args].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        movetext(&scratch.text("t.pgn"))
    };
    assert_eq!(tree(&[]), "1. d4 (1. e4 e5) 1... Nf6 (1... d5) *");
    assert_eq!(tree(&["--min-games", "2"]), "1. d4 *");
}

#[test]
fn moves_of_a_library_without_an_answer_are_reported() {
    let scratch = scratch();
    let games = "1. e4 c5 1-0 1. e4 c6 1-0 1. e4 c6 0-1 1. e4 e5 2. Nf3 Nc6 *\n";
    scratch.write("games.pgn", games);
    for name in ["lib.epa", "lib.epdb", "lib.epd"] {
        scratch.run(&["tally", "games.pgn", "-o", name]);
        let call = ["repertoire", "lines.pgn", "--side", "white", "--against", name];
        let done = scratch.run(&call);
        let part = "\nWithout an answer: 1 move; 50.0 % of games are covered, if White plays all candidates equally often\n\
                    \x20   games    share  line\n\
                    \x20       2   50.0 %  1. e4 c6\n";
        assert!(done.out.contains(part) && done.status == 0, "{}", done.out);
        let tsv = scratch.run(&[&call[..], &["--tsv"]].concat()).out;
        let row = format!("unanswered\t2\t0.5000\t1\t1. e4\tc6\te5 c5\t\t{E4}\t");
        assert!(tsv.lines().any(|line| line == row), "{tsv}");
    }
    let none =
        ["repertoire", "lines.pgn", "--side", "black", "--against", "lib.epa", "--root", "c4"];
    let none = scratch.run(&none);
    assert!(none.out.contains("the library has none of the positions"), "{}", none.out);
    assert!(none.err.contains("the repertoire does not have the position"), "{}", none.err);
}

#[test]
fn games_that_leave_are_reported() {
    let scratch = scratch();
    let game = |white: &str, moves: &str| format!("[White \"{white}\"]\n\n{moves}\n\n");
    let games = [game("Me", "1. e4 e5 2. Nc3 *"), game("You", "1. d4 *"), game("I", "1. e4 c6 *")];
    scratch.write("games.pgn", games.concat());
    let call = ["repertoire", "lines.pgn", "--side", "white", "--games", "games.pgn"];
    let done = scratch.run(&call);
    assert!(done.out.contains("Games: 3; 0 end within the repertoire"), "{}", done.out);
    assert!(done.out.contains("        1  1. d4 (not e4)\n"), "{}", done.out);
    let json = scratch.run(&[&call[..], &["--player", "Me;I", "--json"]].concat()).out;
    let rows: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&rows[0]["part"], &rows[0]["games"]), (&"summary".into(), &2.into()));
    let departures: Vec<_> = rows.iter().filter(|row| !row["first"].is_null()).collect();
    assert_eq!(departures.len(), 2);
    assert_eq!(
        *departures[0],
        serde_json::json!({
            "part": "own-move", "games": 1, "ply": 2, "line": "1. e4 e5", "move": "Nc3",
            "moves": ["Nf3"], "first": "games.pgn:1",
            "fen": "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -"
        })
    );
    assert_eq!(departures[1]["part"], "other-move");
    assert_eq!(scratch.run(&[&call[..], &["-o", "x.epd"]].concat()).status, 2);
    let player = ["repertoire", "lines.pgn", "--side", "white", "--player", "Me"];
    assert_eq!(scratch.run(&player).status, 2);
}

#[test]
fn a_line_that_cannot_be_played_is_rejected_and_the_rest_taken() {
    let scratch = scratch();
    let variation = "1. e4 e5 (1... c5 2. Nf6 d6) *";
    let cut = scratch
        .run_with(&["repertoire", "--side", "white", "--from", "pgn", "--to", "epd"], variation);
    assert!(cut.err.contains("W-PGN-VARIATION") && cut.status == 0, "{}", cut.err);
    assert_eq!(cut.out.lines().count(), 4);
    assert!(cut.out.contains(" - c0 \"2. Nf6 d6\";"), "{}", cut.out);
    let bad = "[Event \"bad\"]\n\n1. e4 e5 (1... c5) 2. Nf6 *\n\n";
    scratch.write("bad.pgn", format!("{bad}[Event \"good\"]\n\n{LINES}"));
    let done = scratch.run(&["repertoire", "bad.pgn", "--side", "white", "--rejects", "r.pgn"]);
    assert_eq!(done.status, 1, "{}", done.err);
    assert!(
        done.out.starts_with("9 positions, 7 reached, 2 only by moves marked as bad\n"),
        "{}",
        done.out
    );
    assert!(scratch.text("r.pgn").contains("Nf6"), "{}", scratch.text("r.pgn"));
    scratch.write("empty.pgn", "");
    let empty = scratch.run(&["repertoire", "empty.pgn", "--side", "white"]);
    assert!(
        empty.out.starts_with("0 positions, 0 reached\n") && empty.status == 0,
        "{}",
        empty.out
    );
    let records = scratch.run(&["repertoire", "empty.pgn", "--side", "white", "-o", "e.epd"]);
    assert_eq!((records.status, scratch.text("e.epd").as_str()), (0, ""));
    assert_eq!(scratch.run(&["convert", "empty.pgn", "t.pgn", "--tree"]).status, 2);
    assert!(!scratch.names().contains(&"t.pgn".to_string()));
    let small = ["repertoire", "sample.pgn", "--side", "white", "--memory", "4K", "-o", "s.epd"];
    let small = scratch.run(&small);
    assert!(
        small.err.contains("does not fit into the memory") && small.status == 2,
        "{}",
        small.err
    );
    assert!(!scratch.names().contains(&"s.epd".to_string()));
}

#[test]
fn a_book_has_the_own_candidates_only() {
    let scratch = scratch();
    let make = ["book", "make", "--repertoire", "lines.pgn", "--side", "white", "-o", "w.bin"];
    let done = scratch.run(&make);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("epdb: 4 entries of 9 positions"), "{}", done.err);
    let list = |args: &[&str]| {
        let tsv = scratch.run(&[&["book", "list", "w.bin", "--tsv"], args].concat()).out;
        let row = |line: &str| line.split('\t').skip(4).take(2).collect::<Vec<_>>().join(" ");
        let mut rows: Vec<String> = tsv.lines().skip(1).map(row).collect();
        rows.sort();
        rows
    };
    assert_eq!(list(&[]), ["Nf3 2", "Nf3 2", "c3 1", "e4 2"]);
    scratch.run(&[&make[..], &["--uniform"]].concat());
    assert_eq!(list(&[]), ["Nf3 1", "Nf3 1", "c3 1", "e4 1"]);
    scratch.run(&["-q", "repertoire", "lines.pgn", "--side", "white", "-o", "lines.epd"]);
    let of_records = scratch.read("w.bin");
    scratch.run(&[
        "book",
        "make",
        "--repertoire",
        "lines.epd",
        "--side",
        "white",
        "--uniform",
        "-o",
        "w.bin",
    ]);
    assert_eq!(scratch.read("w.bin"), of_records);
    for wrong in [&["--min-games", "2"][..], &["--only-white"], &["--max-ply", "3"]] {
        assert_eq!(scratch.run(&[&make[..], wrong].concat()).status, 2, "{wrong:?}");
    }
    assert_eq!(
        scratch.run(&["book", "make", "--repertoire", "lines.pgn", "-o", "x.bin"]).status,
        2
    );
}

/// Polyglot has an en passant square in its key also where no capture is legal.
#[test]
fn a_book_is_found_by_the_keys_of_polyglot() {
    let scratch = Scratch::with("a.pgn", "1. e4 d6 2. e5 f5 3. exf6 (3. d4) *\n");
    // The pawn on e5 is pinned: it cannot capture although it is next to the pawn.
    let pinned =
        "[SetUp \"1\"]\n[FEN \"4k3/3pr3/8/4P3/8/8/8/4K3 b - - 0 1\"]\n\n1... d5 2. Kd2 *\n";
    scratch.write("b.pgn", pinned);
    let make = ["book", "make", "--repertoire", "a.pgn", "b.pgn", "--side", "white", "-o", "w.bin"];
    assert_eq!(scratch.run(&make).status, 0);
    let list = ["book", "list", "w.bin", "--source", "b.pgn", "--tsv"];
    let listed = scratch.run(&list);
    assert_eq!(listed.status, 0, "{}", listed.err);
    assert!(
        listed.out.contains("\texf6\t2\t") && listed.out.contains("\tKd2\t2\t"),
        "{}",
        listed.out
    );
}

#[test]
fn operations_that_a_repertoire_has_no_place_for_are_counted() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let text = format!("{start} bm e4; c0 \"main\"; ce 20; hmvc 0; id \"x\";\n");
    let done = Scratch::with("r.epd", text).run(&[
        "repertoire",
        "r.epd",
        "--side",
        "white",
        "--to",
        "epd",
    ]);
    assert!(done.out.starts_with(&format!("{start} bm e4; c0 \"main\"; ce 20;\n")), "{}", done.out);
    assert!(done.err.contains("epdb: 2 other operations left out\n"), "{}", done.err);
}

/// Lines are reported from the beginning of the moves of `--root`.
#[test]
fn lines_continue_from_the_moves_of_the_root() {
    let scratch = Scratch::with("r.pgn", "1. e4 c5 (1... e5 2. Nf3) 2. Nf3 (2. c3 d5) 2... d6 *\n");
    let args = ["repertoire", "r.pgn", "--side", "white", "--root", "e4 c5", "--tsv"];
    let done = scratch.run(&args);
    let first = "choice\t\t\t2\t1. e4 c5\t\tNf3 c3\t";
    assert!(done.out.lines().nth(1).unwrap().starts_with(first), "{}", done.out);
    assert!(done.out.contains("\t1. e4 c5 2. Nf3 d6\t"), "{}", done.out);
    let refused = scratch.run(&[&args[..6], &["-o", "r.epd"]].concat());
    assert_eq!(refused.status, 2, "{}", refused.err);
}

/// A study of lichess: names, orientation, shapes, glyphs, a set-up position.
const STUDY: &str = "[Event \"Study: Open\"]
[Site \"?\"]
[Date \"2026.11.26\"]
[Round \"?\"]
[White \"?\"]
[Black \"?\"]
[Result \"*\"]
[ChapterName \"Open\"]
[Orientation \"white\"]

{The \"first\" chapter} {[%cal Ge2e4]} 1. e4 $1 1... e5 (1... c5 $5 2. Nf3 $6 (2. c3 $3)) 2. Nf3
{[%csl Gd4,Re5][%cal Gf3e5] the 'point'} 2... Nc6 $6 3. Bb5 $13 *

[Event \"Study: Ending\"]
[Site \"?\"]
[Date \"2026.11.26\"]
[Round \"?\"]
[White \"?\"]
[Black \"?\"]
[Result \"*\"]
[ChapterName \"Ending\"]
[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 3 40\"]
[Orientation \"white\"]
[SetUp \"1\"]

40. Kd2 {[%csl Gd2]} 40... Kd7 (40... Kf7 $2) 41. Kd3 *

[Event \"Study: Again\"]
[Site \"?\"]
[Date \"2026.11.26\"]
[Round \"?\"]
[White \"?\"]
[Black \"?\"]
[Result \"*\"]
[ChapterName \"Again\"]
[Orientation \"white\"]

{The third} 1. d4 d5 *

";

#[test]
fn a_study_comes_back_chapter_by_chapter() {
    let scratch = Scratch::with("study.pgn", STUDY);
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    let tree = ["study.pgn", "straight.pgn", "--tree", "--chapters"];
    let straight = scratch.run(&[&["convert"], &tree[..]].concat());
    assert_eq!(straight.status, 0, "{}", straight.err);
    let note = "epdb: 3 chapters of 14 moves; 0 references to positions elsewhere in it\n";
    assert!(straight.err.ends_with(note), "{}", straight.err);
    assert_eq!(words(&scratch.text("straight.pgn")), words(STUDY));
    for name in ["r.epd", "r.epb", "r.epa", "r.epdb"] {
        let done = scratch.run(&["repertoire", "study.pgn", "--chapters", "-o", name]);
        assert_eq!((done.status, done.out.as_str()), (0, ""), "{name}: {}", done.err);
        assert!(done.err.contains("epdb: 17 positions, 1 move marked as bad\n"), "{}", done.err);
        let back = scratch.run(&["convert", name, "back.pgn", "--tree", "--chapters"]);
        assert_eq!(back.status, 0, "{name}: {}", back.err);
        assert_eq!(words(&scratch.text("back.pgn")), words(STUDY), "{name}");
    }
    let bare = scratch.run(&["repertoire", "study.pgn", "--chapters"]);
    assert!(bare.status == 2 && bare.err.contains("--chapters is for records"), "{}", bare.err);
    let root = ["convert", "r.epd", "back.pgn", "--tree", "--chapters", "--root", "e4"];
    assert_eq!(scratch.run(&root).status, 2);
    scratch.write("plain.epd", format!("{START} bm e4;\n"));
    let plain = scratch.run(&["convert", "plain.epd", "back.pgn", "--tree", "--chapters"]);
    assert!(plain.status == 2 && plain.err.contains("has no chapter"), "{}", plain.err);
}

#[test]
fn the_side_is_that_of_the_orientation() {
    let scratch = Scratch::with("study.pgn", STUDY);
    let named = scratch.run(&["repertoire", "study.pgn", "--side", "white"]);
    let tagged = scratch.run(&["repertoire", "study.pgn"]);
    assert_eq!((tagged.status, tagged.out.as_str()), (0, named.out.as_str()), "{}", tagged.err);
    let black = STUDY.replacen("\"white\"", "\"black\"", 1);
    scratch.write("both.pgn", &black);
    let both = scratch.run(&["repertoire", "both.pgn"]);
    let message = "both.pgn:14 is for White and both.pgn:1 is for Black";
    assert!(both.status == 2 && both.err.contains(message), "{}", both.err);
    let chapters = scratch.run(&["repertoire", "both.pgn", "--chapters", "--to", "epd"]);
    assert_eq!(chapters.status, 0, "{}", chapters.err);
    let first = chapters.out.lines().next().unwrap();
    assert!(first.contains("replies e4;") && first.contains("Orientation \"black\""), "{first}");
    scratch.write("none.pgn", LINES);
    for call in [&["none.pgn"][..], &["none.pgn", "--chapters", "--to", "epd"]] {
        let none = scratch.run(&[&["repertoire"], call].concat());
        assert!(none.status == 2 && none.err.contains("Orientation tag"), "{}", none.err);
    }
    let mixed = scratch.run(&["repertoire", "study.pgn", "none.pgn"]);
    let message = "study.pgn:1 has an Orientation tag and none.pgn:1 has none";
    assert!(mixed.status == 2 && mixed.err.contains(message), "{}", mixed.err);
}

#[test]
fn set_up_chapters_are_reported_from_their_own_start() {
    let scratch = Scratch::with("study.pgn", STUDY);
    let done = scratch.run(&["repertoire", "study.pgn"]);
    let begin = "16 positions, 15 reached, 1 only by moves marked as bad\n5 positions reached only from 1 set-up position of games\n";
    assert!(done.out.starts_with(begin), "{}", done.out);
    assert!(done.out.contains("\nNot reached: 0 positions\n"), "{}", done.out);
    let leaf = "  1. Kd2 Kf7 from 4k3/8/8/8/8/8/4P3/4K3 w - -\n";
    assert!(done.out.contains(leaf), "{}", done.out);
    // Records know the set-up position too.
    scratch.run(&["repertoire", "study.pgn", "-o", "r.epd"]);
    let records = scratch.run(&["repertoire", "r.epd", "--side", "white"]);
    assert!(records.out.starts_with(begin), "{}", records.out);
    let rooted = scratch.run(&["repertoire", "study.pgn", "--root", "e4"]);
    assert!(rooted.out.contains("Not reached: "), "{}", rooted.out);
    let tree = scratch.run(&["convert", "study.pgn", "t.pgn", "--tree"]);
    let note = "epdb: the tree leaves out lines from 1 set-up position: --chapters keeps them\n";
    assert!(tree.err.contains(note), "{}", tree.err);
}

// README: `repertoire LINES`
#[test]
fn lines_and_cards_are_written_for_trainers() {
    let scratch = scratch();
    let games = "1. e4 c5 1-0 1. e4 c6 1-0 1. e4 c6 0-1 1. e4 e5 2. Nf3 Nc6 *\n";
    scratch.write("games.pgn", games);
    scratch.run(&["tally", "games.pgn", "-o", "lib.epa"]);
    let call = ["repertoire", "lines.pgn", "--side", "white"];
    let training = ["--against", "lib.epa", "--training", "t.pgn", "--cards", "c.tsv"];
    let done = scratch.run(&[&call[..], &training].concat());
    assert_eq!((done.status, done.out.as_str()), (0, ""), "{}", done.err);
    assert!(done.err.contains("t.pgn: 3 lines of play, 50.0 % of the games\n"), "{}", done.err);
    let text = scratch.text("t.pgn");
    let games: Vec<String> = text.split("[Event ").skip(1).map(movetext).collect();
    let expected = [
        "{1 in 4 games; 25.0 % are covered so far} 1. e4 {always} 1... e5 2. Nf3 $14 *",
        "{1 in 8 games; 37.5 % are covered so far} 1. e4 {always} 1... c5 2. Nf3 *",
        "{1 in 8 games; 50.0 % are covered so far} 1. e4 {always} 1... c5 2. c3 *",
    ];
    assert_eq!(games, expected);
    assert!(text.starts_with("[Event \"Line 1 of 3\"]\n"), "{text}");
    assert!(text.contains("[Orientation \"white\"]\n"), "{text}");
    let cards = scratch.text("c.tsv");
    let lines: Vec<&str> = cards.lines().collect();
    assert_eq!(
        lines[..6],
        [
            "#separator:tab",
            "#html:false",
            "#columns:FEN\tAnswer\tLine\tComment\tID\tTags",
            "#guid column:5",
            "#tags column:6",
            &format!("{START} 0 1\te4\t\talways\tepdb-463b96181691fc9c\twhite"),
        ]
    );
    assert!(lines[6..].iter().any(|line| line.contains("\tNf3 or c3\t1. e4 c5\t\t")), "{cards}");
    assert_eq!(lines.len(), 5 + 3, "{cards}");
    // Ids stay if the repertoire grows, and comments have no commands.
    let more = LINES
        .replace("{always}", "{\"best\" [%csl Ge4] by test} d5 (1... e6 2. d4)")
        .replace("e5 (1... c5", "(1... e5) (1... c5")
        .replace(") 2. Nf3 $14", ") 2. exd5");
    scratch.write("lines.pgn", more);
    let again = scratch.run(&[&call[..], &["--cards", "c.tsv"]].concat());
    assert_eq!(again.status, 0, "{}", again.err);
    let again = scratch.text("c.tsv");
    let first =
        format!("{START} 0 1\te4\t\t\"\"\"best\"\" by test\"\tepdb-463b96181691fc9c\twhite");
    assert_eq!(again.lines().nth(5), Some(first.as_str()), "{again}");
    let alone = scratch.run(&[&call[..], &["--training", "t.pgn"]].concat());
    assert_eq!(alone.status, 2, "{}", alone.err);
}

#[test]
fn a_book_of_a_study_is_for_its_side() {
    let scratch = Scratch::with("w.pgn", "[Orientation \"white\"]\n\n1. e4 e5 2. Nf3 *\n");
    scratch.write("b.pgn", "[Orientation \"black\"]\n\n1. d4 d5 *\n");
    for (study, side) in [("w.pgn", "white"), ("b.pgn", "black")] {
        for (book, more) in [("tagged.bin", &[][..]), ("named.bin", &["--side", side])] {
            let make = ["book", "make", "--repertoire", study, "-o", book];
            let done = scratch.run(&[&make[..], more].concat());
            assert_eq!(done.status, 0, "{}", done.err);
        }
        assert_eq!(scratch.read("tagged.bin"), scratch.read("named.bin"));
        assert!(!scratch.read("tagged.bin").is_empty());
    }
    let both = scratch.run(&["book", "make", "--repertoire", "w.pgn", "b.pgn", "-o", "x.bin"]);
    assert!(both.status == 2 && both.err.contains("name the side"), "{}", both.err);
    scratch.run(&["repertoire", "w.pgn", "--chapters", "-o", "r.epd"]);
    let one = scratch.run(&["convert", "r.epd", "one.pgn", "--chapters"]);
    let two = scratch.run(&["convert", "r.epd", "two.pgn", "--tree", "--chapters"]);
    assert_eq!((one.status, two.status), (0, 0), "{} {}", one.err, two.err);
    assert_eq!(scratch.text("one.pgn"), scratch.text("two.pgn"));
    let depth = scratch.run(&["convert", "r.epd", "d.pgn", "--chapters", "--depth", "1"]);
    assert_eq!(depth.status, 0, "{}", depth.err);
    let alone = scratch.run(&["convert", "r.epd", "d.pgn", "--depth", "1"]);
    assert_eq!(alone.status, 2);
}

/// A position stores its comments once, so a tree shows them once: in the first line to the position.
#[test]
fn comments_are_not_copied_to_transpositions() {
    let pgn = "[Event \"?\"]\n\n1. d4 d5 (1... Nf6 {Indian} 2. c4 e6 3. Nc3 d5 {QGD} 4. Nf3 {main}) 2. c4 e6 \
               3. Nc3 Nf6 4. Nf3 Be7 {solid} *\n";
    let scratch = Scratch::with("study.pgn", pgn);
    let made = scratch.run(&["repertoire", "study.pgn", "--side", "white", "-o", "r.epd"]);
    assert_eq!(made.status, 0, "{}", made.err);
    for (source, tree) in
        [("r.epd", "--tree"), ("study.pgn", "--tree"), ("study.pgn", "--chapters")]
    {
        let done = scratch.run(&["convert", source, "tree.pgn", tree]);
        assert_eq!(done.status, 0, "{}", done.err);
        let text = scratch.text("tree.pgn");
        for comment in ["{Indian}", "{QGD}", "{main}", "{solid}"] {
            assert_eq!(text.matches(comment).count(), 1, "{source} {tree} {comment}: {text}");
        }
    }
}
