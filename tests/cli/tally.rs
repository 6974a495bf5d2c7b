//! Libraries on the command line: made from games in every format, merged, and read.

use crate::scratch::Scratch;
use crate::shared_data::shared_data;

/// The second game comes to the position of the first by another way; the third repeats a position
/// and then plays something else in it; the fourth is the first once more.
const GAMES: &str = "[Date \"1992.11.04\"]\n[White \"Ann\"]\n[WhiteElo \"2400\"]\n[BlackElo \"?\"]\n\n1. e4 e5 2. Nf3 1-0\n\n\
[Date \"2001.??.??\"]\n[White \"Bob\"]\n[WhiteElo \"\"]\n[BlackElo \"2500\"]\n\n1. Nf3 e5 2. e4 0-1\n\n\
[Date \"????.??.??\"]\n[TimeControl \"180+2\"]\n\n1. Nf3 Nf6 2. Ng1 Ng8 3. e4 *\n\n\
[Date \"1992.11.04\"]\n[White \"Ann\"]\n[WhiteElo \"2400\"]\n\n1. e4 e5 2. Nf3 1-0\n\n";
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const MET: &str = "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq -";

fn scratch() -> Scratch {
    Scratch::with("g.pgn", GAMES)
}

/// The line of a position.
fn line<'a>(text: &'a str, position: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(position)).unwrap_or_default()
}

/// The counts of a library would seem to have the games of records that stand beside them. The messages name
/// commands that add the games.
#[test]
fn records_are_not_written_beside_those_of_a_library() {
    let scratch = Scratch::with("a.pgn", "1. e4 e5 1-0\n");
    scratch.write("b.pgn", "1. d4 d5 0-1\n");
    scratch.write("b.epd", "4k3/8/8/8/8/8/4P3/4K3 w - -\n");
    assert_eq!(scratch.run(&["tally", "a.pgn", "-o", "a.epa", "--max-ply", "9"]).status, 0);
    let adding = "`epdb tally b.pgn --max-ply 9 --same-game auto -o added.epa` and `epdb union a.epa added.epa";
    for (command, more, message) in [
        ("pack", &["a.epa", "b.pgn", "-o", "o.epa"][..], adding),
        ("pack", &["b.pgn", "a.epa", "--shards", "2", "-o", "o"], adding),
        ("export", &["a.epa", "b.pgn", "-o", "o.epd"], adding),
        ("normalize", &["a.epa", "b.pgn", "-o", "o.epa"], adding),
        ("sort", &["a.epa", "b.pgn", "--positions", "--by", "epd"], adding),
        ("tally", &["a.epa", "b.pgn", "-o", "o.epa"], adding),
        ("import", &["a.epa", "b.pgn"], adding),
        ("union", &["a.epa", "b.pgn", "-o", "o.epa"], "count its games first, with `epdb tally`"),
        ("pack", &["a.epa", "b.epd", "-o", "o.epa"], "`epdb union a.epa b.epd --allow-mixed`"),
        ("filter", &["a.epa", "b.epd", "--where", "pieces > 1"], "--allow-mixed"),
    ] {
        let done = scratch.run(&[&[command], more].concat());
        let is_refused = done.status == 2 && done.err.contains(message) && done.out.is_empty();
        assert!(is_refused, "{command} {more:?}: {}", done.err);
    }
    let names = scratch.names();
    assert!(names.iter().all(|name| !name.starts_with('o')), "{names:?}");
    for command in [
        "tally b.pgn --max-ply 9 --same-game auto -o added.epa",
        "union a.epa added.epa -o sum.epa",
        "import added.epdb b.pgn --tally --base a.epa",
        "pack a.epa+added.epdb -o NEW.epa",
    ] {
        let done = scratch.run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(done.status, 0, "{command}: {}", done.err);
    }
    for library in ["sum.epa", "NEW.epa"] {
        let moves = scratch.run(&["explore", library, "--tsv"]).out;
        assert!(moves.contains("e4\t") && moves.contains("d4\t"), "{library}: {moves}");
    }
}

#[test]
fn positions_have_their_moves_and_number_of_games() {
    let scratch = scratch();
    let done = scratch.run(&["tally", "g.pgn", "-o", "l.epd"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(
        done.err.contains("3 games counted, 1 duplicate; 11 plies, 8 positions"),
        "{}",
        done.err
    );
    let text = scratch.text("l.epd");
    let start = format!(
        "{START} tally \"reached 3, Nf3 +0=0-1*1 opp 2500/1 2001, e4 +1=0-0*1 elo 2400/1 1992\";"
    );
    assert_eq!(line(&text, START), start);
    assert_eq!(line(&text, MET), format!("{MET} tally \"reached 2\";"));
    let repeats =
        scratch.run(&["tally", "g.pgn", "-o", "r.epd", "--count-repeats", "--keep-duplicates"]);
    assert!(repeats.err.contains("4 games counted; 14 plies"), "{}", repeats.err);
    assert!(line(&scratch.text("r.epd"), START).contains("\"reached 5, e4 +2=0-0*1 "));
}

#[test]
fn every_format_holds_the_same_library() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "l.epd"]);
    let text = scratch.text("l.epd");
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for (name, back) in [("l.epb", "cat"), ("l.epdb", "export"), ("l.epa", "unpack")] {
        let done = scratch.run(&["tally", "g.pgn", "-o", name]);
        assert_eq!(done.status, 0, "{}", done.err);
        assert_eq!(sorted(&scratch.run(&[back, name]).out), sorted(&text), "{name}");
        assert_eq!(scratch.run(&["get", name, MET]).out.trim_end(), line(&text, MET), "{name}");
        assert_eq!(scratch.run(&["verify", name]).status, 0, "{name}");
    }
    assert_eq!(scratch.run(&["normalize", "l.epd"]).out, text);
    assert_eq!(scratch.run(&["tally", "g.pgn", "-o", "l.pgn"]).status, 2);
}

#[test]
fn little_memory_and_another_order_of_files_make_no_difference() {
    let scratch = scratch();
    scratch.write("h.pgn", "1. d4 d5 1/2-1/2\n\n1. e4 c5 0-1\n");
    scratch.run(&["tally", "g.pgn", "h.pgn", "-o", "a.epd"]);
    scratch.run(&["tally", "h.pgn", "g.pgn", "h.pgn", "-o", "b.epd", "--memory", "1K"]);
    assert_eq!(scratch.text("a.epd"), scratch.text("b.epd"));
    let names = scratch.names();
    assert!(!names.iter().any(|name| name.contains("tmp")), "{names:?}");
}

/// A game whose copies tell other ratings and time controls.
fn copy(white: &str, black: &str, time: &str) -> String {
    format!(
        "[White \"A\"]\n[Date \"2024.01.01\"]\n[Result \"1-0\"]\n[WhiteElo \"{white}\"]\n\
         [BlackElo \"{black}\"]\n[TimeControl \"{time}\"]\n\n1. e4 e5 2. Nf3 Nf6 3. Ng1 Ng8 4. d4 1-0\n\n"
    )
}

#[test]
fn the_most_complete_copy_of_a_game_counts_in_any_order() {
    let copies = [
        copy("", "2400", "180+0"),
        copy("2500", "2300", "60+0"),
        copy("2500", "2400", "?"),
        copy("2500", "2400", "180+2"),
    ];
    let other = "[Date \"2020.01.01\"]\n[WhiteElo \"2000\"]\n[BlackElo \"1000\"]\n\n1. e4 c5 *\n\n";
    let scratch = scratch();
    for (nth, text) in copies.iter().map(String::as_str).chain([other]).enumerate() {
        scratch.write(&format!("{nth}.pgn"), text.repeat(2));
    }
    let orders =
        [[0, 1, 2, 3, 4], [3, 2, 1, 0, 4], [4, 2, 3, 0, 1], [1, 4, 3, 0, 2], [2, 0, 4, 1, 3]];
    let files =
        |order: &[usize]| -> Vec<String> { order.iter().map(|nth| format!("{nth}.pgn")).collect() };
    for by in [&[][..], &["--by", "year,speed"], &["--by", "rating,year,speed"]] {
        let export = |target: &str, more: &[&str], files: &[String]| {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let done = scratch.run(&[&["tally", "-o", target], by, more, &files].concat());
            assert_eq!(done.status, 0, "{}", done.err);
            // An archive has the order of the games.
            let mut lines: Vec<String> =
                scratch.run(&["cat", target]).out.lines().map(|line| format!("{line}\n")).collect();
            if target.ends_with("epdb") {
                lines = vec![scratch.run(&["export", target, "--sort", "key"]).out];
            }
            std::fs::remove_file(scratch.path(target)).unwrap();
            lines.sort_unstable();
            lines.concat()
        };
        let best = export("best.epdb", &[], &files(&[3, 4]));
        let sorted = export("best.epa", &[], &files(&[3, 4]));
        assert!(!best.contains("tally_less") && best.contains("elo 2500/1"), "{best}");
        for order in orders {
            for (target, more) in
                [("o.epdb", &[][..]), ("p.epdb", &["--memory", "64K"]), ("o.epa", &[])]
            {
                let same = if target == "o.epa" { &sorted } else { &best };
                assert_eq!(export(target, more, &files(&order)), *same, "{order:?} {target}");
            }
            // One by one, the last of them twice.
            for file in files(&order).iter().chain(&files(&order[4..])) {
                let call = ["import", "one.epdb", file, "--tally"];
                let done = scratch.run(&[&call, by].concat());
                assert_eq!(done.status, 0, "{}", done.err);
            }
            let one = scratch.run(&["export", "one.epdb", "--sort", "key"]).out;
            assert_eq!(one, best, "{order:?} one by one");
            std::fs::remove_file(scratch.path("one.epdb")).unwrap();
        }
    }
}

#[test]
fn games_are_split_and_filtered() {
    let scratch = scratch();
    let args = ["tally", "g.pgn", "-o", "l.epd", "--by", "year,speed"];
    assert_eq!(scratch.run(&args).status, 0);
    let text = scratch.text("l.epd");
    let start = format!(
        "{START} tally \"[blitz] reached 1, Nf3 +0=0-0*1, e4 +0=0-0*1, [1992] reached 1, e4 +1=0-0 \
         elo 2400/1 1992, [2001] reached 1, Nf3 +0=0-1 opp 2500/1 2001\";"
    );
    assert_eq!(line(&text, START), start);
    for (more, reached) in [
        (["--player", "Ann"], "reached 1, e4 +1"),
        (["--where", "year == 2001"], "reached 1, Nf3 +0=0-1 "),
        (["--max-ply", "0"], "reached 3\""),
    ] {
        let done = scratch.run(&[&["tally", "g.pgn", "-o", "l.epd"], &more[..]].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        let text = scratch.text("l.epd");
        assert!(line(&text, START).contains(reached), "{more:?}: {}", line(&text, START));
    }
}

/// Names with colons between them are those of players in consultation.
#[test]
fn a_game_in_consultation_is_of_each_player() {
    let scratch = Scratch::new();
    let game = "[White \"Smith, John Q.:Jones, Bob\"]\n[Black \"Roe\"]\n\n1. e4 *\n\n";
    scratch.write("g.pgn", format!("{game}[White \"Jones\"]\n\n1. d4 *\n"));
    for name in ["Jones, Bob", "Smith, John Q.", "Smith, John Q.:Jones, Bob", "Roe"] {
        let done = scratch.run(&["tally", "g.pgn", "-o", "l.epd", "--player", name]);
        assert_eq!(done.status, 0, "{}", done.err);
        let text = scratch.text("l.epd");
        assert!(line(&text, START).contains("reached 1, e4"), "{name}: {text}");
        if name != "Roe" {
            let filter = format!("White == \"{name}\"");
            let count = scratch.run(&["count", "g.pgn", "--positions=final", "--where", &filter]);
            assert_eq!(count.out.trim(), "1", "{filter}: {}", count.err);
            let lines = ["repertoire", "lines.pgn", "--side", "white", "--games", "g.pgn"];
            scratch.write("lines.pgn", "1. c4 *\n");
            let found = scratch.run(&[&lines[..], &["--player", name]].concat());
            assert!(found.out.contains("e4") && !found.out.contains("d4"), "{}", found.out);
        }
    }
    let done = scratch.run(&["tally", "g.pgn", "-o", "l.epd", "--player", "Smith"]);
    assert!(!scratch.text("l.epd").contains("e4"), "{}", done.err);
}

/// Values of tags that the standard does not have are warned of, and the file has no damage.
#[test]
fn verify_looks_at_values_of_tags() {
    let scratch = Scratch::new();
    scratch.write("g.pgn", "[Round \"final\"]\n[TimeControl \"3 min\"]\n\n1. e4 *\n");
    let done = scratch.run(&["verify", "g.pgn"]);
    assert_eq!((done.out.as_str(), done.status), ("g.pgn: no damage found, 2 warnings\n", 0));
    assert!(
        done.err.contains("warning[W-PGN-TAGVALUE]: TimeControl is `3 min`; expected"),
        "{}",
        done.err
    );
    assert!(done.err.contains("Round is `final`"), "{}", done.err);
    assert!(!scratch.run(&["count", "g.pgn"]).err.contains("TAGVALUE"));
}

#[test]
fn tallies_of_one_position_add() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "l.epd"]);
    for _ in 0..2 {
        let done =
            scratch.run(&["import", "s.epdb", "l.epd", "--again", "--on-duplicate", "merge"]);
        assert_eq!(done.status, 0, "{}", done.err);
    }
    let found = scratch.run(&["get", "s.epdb", START]).out;
    let united = scratch.run(&["union", "l.epd", "l.epd"]).out;
    assert_eq!(line(&united, START), found.trim_end());
    assert!(united.contains(&format!("{MET} tally \"reached 4\";")), "{united}");
    let spilled = scratch.run(&["union", "l.epd", "l.epd", "--memory", "1K"]).out;
    assert_eq!(spilled, united);
    let once = scratch.run(&["dedupe", "l.epd", "l.epd", "--by", "record"]).out;
    assert_eq!(once, scratch.text("l.epd"));
    let both = "tally \"reached 6, Nf3 +0=0-2*2 opp 2500/2 2001, e4 +2=0-0*2 elo 2400/2 1992\";";
    assert_eq!(found.trim_end(), format!("{START} {both}"));
}

#[test]
fn a_table_has_a_row_a_move() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "l.epd"]);
    let columns = "move,games,reached,white,draws,black,score,elo,opp,years";
    let asked =
        ["table", "l.epd", "--rows", "moves", "--where", "reached == 3", "--columns", columns];
    let expected = format!(
        "{}\nNf3\t2\t3\t0\t0\t1\t0.0\t\t2500\t2001\ne4\t2\t3\t1\t0\t0\t1.0\t2400\t\t1992\n",
        columns.replace(',', "\t")
    );
    assert_eq!(scratch.run(&asked).out, expected);
    assert_eq!(scratch.run(&["filter", "l.epd", "--where", "games >= 2"]).out.lines().count(), 2);
}

#[test]
fn invalid_tallies_are_refused_or_kept_as_noop() {
    let scratch = Scratch::with("a.epd", format!("{START} tally \"reached 1, e5 +1=0-0\";\n"));
    let strict = scratch.run(&["normalize", "a.epd", "--profile", "strict"]);
    assert_eq!(strict.status, 1);
    assert!(strict.err.contains("E-EPD-TYPE") && strict.err.contains("not e5"), "{}", strict.err);
    let lenient = scratch.run(&["normalize", "a.epd"]);
    assert_eq!(lenient.out, format!("{START} noop \"tally 'reached 1, e5 +1=0-0'\";\n"));
}

#[test]
fn a_book_is_made_of_games_and_of_libraries() {
    let scratch = scratch();
    let made = scratch.run(&["make-book", "-pgn", "g.pgn", "-bin", "b.bin", "-min-game", "1"]);
    assert_eq!(made.status, 0, "{}", made.err);
    let list = scratch.run(&["book", "list", "b.bin", "--tsv"]).out;
    assert!(list.contains("\te4\t5\t"), "{list}");
    scratch.run(&["tally", "g.pgn", "-o", "l.epa", "--keep-duplicates", "--count-repeats"]);
    let made = scratch.run(&["book", "make", "l.epa", "-o", "c.bin", "--min-games", "1"]);
    assert_eq!(made.status, 0, "{}", made.err);
    assert_eq!(scratch.read("b.bin"), scratch.read("c.bin"));
}

/// More games; the second is one of [`GAMES`].
const MORE: &str = "1. d4 d5 1/2-1/2\n\n[Date \"1992.11.04\"]\n[White \"Ann\"]\n\
[WhiteElo \"2400\"]\n\n1. e4 e5 2. Nf3 1-0\n\n";

#[test]
fn games_are_counted_into_a_library_once() {
    let scratch = scratch();
    scratch.write("m.pgn", MORE);
    scratch.run(&["tally", "g.pgn", "m.pgn", "-o", "at-once.epdb"]);
    let export = |store: &str| scratch.run(&["export", store, "--sort", "key"]).out;
    for (first, second) in [("g.pgn", "m.pgn"), ("m.pgn", "g.pgn")] {
        let store = format!("{}.epdb", &first[..1]);
        let done = scratch.run(&["import", &store, first, "--tally"]);
        assert_eq!(done.status, 0, "{}", done.err);
        let done = scratch.run(&["import", &store, second, first, "--tally", "--again"]);
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(done.err.contains(" duplicates ("), "{}", done.err);
        assert_eq!(export(&store), export("at-once.epdb"));
        assert_eq!(scratch.run(&["verify", &store]).status, 0);
    }
    let again = scratch.run(&["import", "g.epdb", "m.pgn", "--tally"]);
    assert!(again.err.contains("already imported"), "{}", again.err);
    let json = scratch.run(&["import", "g.epdb", "m.pgn", "--tally", "--again", "--json"]).out;
    assert!(json.contains("\"games\":0,\"duplicate_games\":2"), "{json}");
    let stats = scratch.run(&["stats", "g.epdb"]).out;
    assert!(stats.contains("built with --same-game auto\n"), "{stats}");
    let counted = format!("source m.pgn\n{:<34}{:>14}\n", "    games", 1);
    assert!(stats.contains(&counted), "{stats}");
    let json = scratch.run(&["stats", "g.epdb", "--json"]).out;
    assert!(json.contains("\"digests\":4,\"sources\":[{\"name\":\"g.pgn\",\"games\":3"), "{json}");
}

#[test]
fn different_libraries_are_added_only_on_request() {
    let scratch = scratch();
    scratch.write("m.pgn", MORE);
    scratch.write("n.pgn", "1. c4 *\n\n");
    for (games, library, more) in [
        ("g.pgn", "g.epa", &[][..]),
        ("m.pgn", "m.epdb", &[]),
        ("n.pgn", "n.epdb", &[]),
        ("n.pgn", "short.epa", &["--max-ply", "4"]),
        ("n.pgn", "silent.epa", &["--no-digests"]),
        ("n.pgn", "n.epd", &[]),
    ] {
        let done = scratch.run(&[&["tally", games, "-o", library], more].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        let has_place = !library.ends_with(".epd");
        assert_eq!(done.err.contains("cannot store how"), !has_place, "{}", done.err);
    }
    assert_eq!(scratch.run(&["union", "g.epa", "n.epdb", "-o", "sum.epa"]).status, 0);
    assert!(scratch.run(&["stats", "sum.epa"]).out.contains("source n.pgn"));
    scratch.run(&["filter", "g.epa", "--where", "games >= 2", "-o", "pruned.epa"]);
    assert!(scratch.run(&["stats", "pruned.epa"]).out.contains("pruned: --where games >= 2"));
    for (library, what, option) in [
        ("m.epdb", "shares 1 game with the library before", "--allow-overlap"),
        ("short.epa", "built with `--max-ply 4 --same-game auto`", "--allow-mixed"),
        ("pruned.epa", "pruned (--where games >= 2)", "--allow-mixed"),
        ("silent.epa", "without the digests of its games", "--allow-overlap"),
        ("n.epd", "does not record how its tallies were made", "--allow-mixed"),
    ] {
        let first = if library == "pruned.epa" { "n.epdb" } else { "g.epa" };
        let refused = scratch.run(&["union", first, library, "-o", "u.epa"]);
        assert_eq!(refused.status, 2, "{library}: {}", refused.err);
        let says = refused.err.contains(what) && refused.err.contains(option);
        assert!(says, "{library}: {}", refused.err);
        let done = scratch.run(&["union", first, library, "-o", "u.epa", option, "--force"]);
        assert_eq!(done.status, 0, "{library}: {}", done.err);
    }
    scratch.run(&["import", "s.epdb", "g.epa"]);
    assert!(scratch.run(&["stats", "s.epdb"]).out.contains("digests of games"));
    for (args, what) in [
        (&["import", "s.epdb", "m.epdb", "--on-duplicate", "merge"][..], "shares 1 game"),
        (&["import", "s.epdb", "n.epd", "--on-duplicate", "merge"], "does not record"),
        (&["import", "s.epdb", "n.pgn", "--tally", "--max-ply", "4"], "counts with `--max-ply 4"),
        (&["import", "s.epdb", "n.pgn", "--tally", "--same-game", "moves"], "--same-game auto"),
        (&["import", "s.epdb", "n.pgn", "--max-ply", "4"], "need --tally"),
        (&["import", "s.epdb", "n.epd", "--tally"], "positions are not games"),
        (&["import", "s.epdb", "n.epdb", "--on-duplicate", "skip"], "would be lost"),
        (&["import", "s.epdb", "n.epdb", "--same", "record"], "--same needs"),
    ] {
        let refused = scratch.run(args);
        assert_eq!(refused.status, 2, "{args:?}: {}", refused.err);
        assert!(refused.err.contains(what), "{args:?}: {}", refused.err);
    }
    assert_eq!(scratch.run(&["import", "s.epdb", "n.pgn", "--tally"]).status, 0);
    scratch.run(&["convert", "s.epdb", "c.epa"]);
    scratch.run(&["export", "s.epdb", "-o", "e.epa"]);
    let digests = |file: &str| {
        let stats = scratch.run(&["stats", file]).out;
        stats.lines().find(|line| line.contains("digests of games")).unwrap_or_default().to_string()
    };
    assert_eq!(digests("c.epa"), digests("s.epdb"));
    assert_eq!(digests("e.epa"), digests("s.epdb"));
}

#[test]
fn games_that_are_left_out_are_counted_as_such() {
    let scratch = scratch();
    let filter = ["--where", "year == 2001"];
    let done = scratch.run(&[&["tally", "g.pgn", "-o", "l.epa"], &filter[..]].concat());
    assert!(done.err.contains("1 game counted, 3 left out; "), "{}", done.err);
    let import = [&["import", "s.epdb", "g.pgn", "--tally", "--json"], &filter[..]].concat();
    let done = scratch.run(&import);
    assert!(done.out.contains("\"games_left_out\":3"), "{} {}", done.out, done.err);
    for library in ["l.epa", "s.epdb"] {
        let stats = scratch.run(&["stats", library, "--json"]).out;
        let source = "{\"name\":\"g.pgn\",\"games\":1,\"duplicates\":0,\"left_out\":3}";
        assert!(stats.contains(source), "{library}: {stats}");
    }
    for option in [&["--bm", "union"][..], &["--add", "ce"], &["--keep-moves"], &["--game-tags"]] {
        let done = scratch.run(&[&["import", "s.epdb", "g.pgn", "--tally"], option].concat());
        assert_eq!(done.status, 2, "{option:?}");
        assert!(done.err.contains("cannot be used with"), "{}", done.err);
    }
}

#[test]
fn equal_settings_make_equal_libraries() {
    let scratch = scratch();
    scratch.write("n.pgn", "[White \"Ann\"]\n\n1. c4 *\n\n");
    for (first, second) in [
        (&["--player", "Ann;Bob"][..], &["--player", " Bob ;Ann;Ann"][..]),
        (&["--by", "month"], &["--by", "year,month"]),
    ] {
        let library = format!("{}.epdb", &first[0][2..]);
        scratch.run(&[&["tally", "g.pgn", "-o", &library], first].concat());
        let done = scratch.run(&[&["import", &library, "n.pgn", "--tally"], second].concat());
        assert_eq!(done.status, 0, "{}", done.err);
    }
}

/// A library with less than its sources is pruned.
#[test]
fn a_filtered_library_is_marked() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "l.epdb"]);
    scratch.run(&["dedupe", "l.epdb", "--by", "board", "-o", "board.epa"]);
    let done = scratch.run(&["export", "l.epdb", "--min-games", "2", "-o", "often.epa"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let positions = scratch.run(&["table", "often.epa", "--columns", "games"]).out;
    assert_eq!(positions, "games\n4\n2\n");
    let both = ["export", "l.epdb", "--min-games", "2", "--where", "white == 1 || white == 9"];
    assert_eq!(line(&scratch.run(&both).out, START).lines().count(), 1);
    assert_eq!(scratch.run(&both).out.lines().count(), 1);
    for (library, pruned) in [("board.epa", "--by board"), ("often.epa", "--where games >= 2")] {
        let stats = scratch.run(&["stats", library]).out;
        assert!(stats.contains(&format!("pruned: {pruned}\n")), "{stats}");
        let done = scratch.run(&["union", library, "l.epdb"]);
        assert!(done.err.contains("pruned"), "{}", done.err);
    }
}

#[test]
fn an_existing_library_decides_how_games_are_added() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "l.epdb"]);
    let done = scratch.run(&["tally", "g.pgn", "-o", "l.epdb"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("`epdb import l.epdb GAMES --tally` adds games"), "{}", done.err);
    scratch.run(&["tally", "g.pgn", "-o", "l.epa"]);
    let done = scratch.run(&["import", "l.epa", "g.pgn", "--tally"]);
    assert_eq!(done.status, 2);
    assert!(
        done.err.contains(
            "games can be added only to a store: `epdb import NEW.epdb FILE --tally --base "
        ),
        "{}",
        done.err
    );
}

/// Games of nine plies and of twenty, with tags of their own.
fn short_game(tags: &str) -> String {
    format!("{tags}[Date \"2024.01.01\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bc4 1-0\n\n")
}

fn long_game(tags: &str) -> String {
    let moves = (0..5).map(|nth| format!("{}. Nf3 Nf6 {}. Ng1 Ng8 ", 2 * nth + 1, 2 * nth + 2));
    let moves: String = moves.collect();
    format!("{tags}[Date \"2024.01.01\"]\n[Result \"1-0\"]\n\n{moves}1-0\n\n")
}

/// The summary of the games of a file, counted by a rule.
fn summary(scratch: &Scratch, games: &[String], rule: &str) -> String {
    scratch.write("same.pgn", games.concat());
    let done = scratch.run(&["tally", "same.pgn", "-o", "same.epb", "--same-game", rule]);
    assert_eq!(done.status, 0, "{}", done.err);
    let summary = done.err.lines().find_map(|line| line.split_once(" plies"));
    let summary = summary.and_then(|(line, _)| line.strip_prefix("same.epb: ")?.rsplit_once("; "));
    summary.expect("a summary").0.to_string()
}

#[test]
fn short_games_of_others_are_other_games() {
    let scratch = Scratch::new();
    let players = |nth: usize| format!("[White \"W{nth}\"]\n[Black \"B{nth}\"]\n");
    let games: Vec<String> = (0..20).map(|nth| short_game(&players(nth))).collect();
    assert_eq!(summary(&scratch, &games, "auto"), "20 games counted");
    let moves = "1 game counted, 19 duplicates (19 with other names or rounds)";
    assert_eq!(summary(&scratch, &games, "moves"), moves);
    for tag in ["[Round \"2\"]\n", "[UTCTime \"12:00:00\"]\n"] {
        let games = [short_game(&players(0)), short_game(&(players(0) + tag))];
        assert_eq!(summary(&scratch, &games, "auto"), "2 games counted", "{tag}");
    }
    let games: Vec<String> = (0..20).map(|nth| long_game(&players(nth))).collect();
    assert_eq!(summary(&scratch, &games, "auto"), moves);
    let games = [long_game(&players(0)), long_game(&players(0))];
    assert_eq!(summary(&scratch, &games, "auto"), "1 game counted, 1 duplicate");
}

#[test]
fn games_with_other_ids_are_other_games() {
    let scratch = Scratch::new();
    let lichess = "[Site \"https://lichess.org/abcdefgh\"]\n";
    for (other, counted) in [
        ("[GameId \"abcdefgh\"]\n", "1 game counted, 1 duplicate"),
        ("[Site \"https://lichess.org/abcdefgh/black#3\"]\n", "1 game counted, 1 duplicate"),
        ("[Site \"https://lichess.org/abcdefgi\"]\n", "2 games counted"),
        ("[GameId \"4711\"]\n", "2 games counted"),
        ("[Link \"https://www.chess.com/game/live/1\"]\n", "2 games counted"),
        ("[Site \"https://lichess.org\"]\n", "2 games counted"),
        ("", "2 games counted"),
    ] {
        for game in [short_game, long_game] {
            let games = [game(lichess), game(other)];
            assert_eq!(summary(&scratch, &games, "auto"), counted, "{other}");
        }
    }
    let games = [long_game(lichess), long_game(""), long_game("[GameId \"7\"]\n")];
    let moves = "1 game counted, 2 duplicates (2 with other ids)";
    assert_eq!(summary(&scratch, &games, "moves"), moves);
}

#[test]
fn a_game_of_a_site_counts_once_whatever_else_its_copies_say() {
    let scratch = Scratch::new();
    let id = "[GameId \"abcdefgh\"]\n[WhiteElo \"2000\"]\n[BlackElo \"2000\"]\n";
    let copy = format!("[Round \"3\"]\n{}", id.replace("2000", "2500"));
    // The copy is longer, so it counts with its moves and ratings.
    let games = [short_game(id), long_game(&copy)];
    let counted = "1 game counted, 1 duplicate (1 with other names or rounds, 1 with other \
                   moves, dates or results)";
    assert_eq!(summary(&scratch, &games, "auto"), counted);
    let start = scratch.run(&["get", "same.epb", START]).out;
    assert!(start.contains("\"reached 1, Nf3 +1=0-0 elo 2500/1 opp 2500/1 2024\""), "{start}");
    // Numbers of collections are not ids of sites: they stand for a game together with its moves.
    let games = [short_game("[GameId \"1\"]\n"), long_game("[GameId \"1\"]\n")];
    assert_eq!(summary(&scratch, &games, "auto"), "2 games counted");
}

#[test]
fn an_import_reports_what_it_compares() {
    let scratch = Scratch::new();
    let games = ["A", "B", "A"].map(|name| long_game(&format!("[White \"{name}\"]\n")));
    scratch.write("a.pgn", games.concat());
    scratch.write("b.pgn", games[..2].concat());
    let done = scratch.run(&["import", "l.epdb", "a.pgn", "--tally"]);
    let counted = "1 game counted, 2 duplicates (1 with other names or rounds); ";
    assert!(done.err.contains(counted), "{}", done.err);
    let done = scratch.run(&["import", "l.epdb", "b.pgn", "--tally"]);
    let counted = "0 games counted, 2 duplicates (2 by an earlier import, not compared); ";
    assert!(done.err.contains(counted), "{}", done.err);
    let done = scratch.run(&["import", "l.epdb", "a.pgn", "--tally", "--again", "--json"]);
    let merged = "\"merged_games\":{\"other_names\":0,\"other_ids\":0,\"other_moves\":0,\
                  \"not_compared\":3}";
    assert!(done.out.contains(merged), "{}", done.out);
}

#[test]
fn every_game_of_a_dump_counts() {
    let dump = "pgn/niklasf+shakmaty/pgn-reader/benches/lichess_db_1000k.pgn";
    let Some(dump) = shared_data(dump) else { return };
    let scratch = Scratch::new();
    let done = scratch.run(&["tally", dump.to_str().unwrap(), "-o", "l.epb", "--max-ply", "1"]);
    assert!(done.err.contains("438 games counted; "), "{}", done.err);
}

#[test]
fn libraries_share_games_by_the_rule_that_they_were_built_by() {
    let scratch = Scratch::new();
    for (name, tags) in [
        ("a", "[White \"Ann\"]\n[Site \"https://lichess.org/abcdefgh\"]\n"),
        ("b", "[White \"Bob\"]\n[Site \"https://lichess.org/abcdefgi\"]\n"),
        ("c", "[White \"Ann\"]\n[GameId \"abcdefgh\"]\n"),
    ] {
        scratch.write("g.pgn", short_game(tags));
        for (rule, suffix) in [("auto", "epa"), ("moves", "moves.epa")] {
            let library = format!("{name}.{suffix}");
            let call = ["tally", "g.pgn", "-o", &library, "--keep-games", "3", "--same-game", rule];
            assert_eq!(scratch.run(&call).status, 0);
        }
    }
    for (first, second, refusal) in [
        ("a.epa", "b.epa", None),
        ("a.epa", "c.epa", Some("shares 1 game with the library before")),
        ("a.moves.epa", "b.moves.epa", Some("shares 1 game with the library before")),
        ("a.epa", "b.moves.epa", Some("built with `--same-game moves --keep-games 3`")),
    ] {
        let done = scratch.run(&["union", first, second, "-o", "u.epa"]);
        assert_eq!(done.status, if refusal.is_some() { 2 } else { 0 }, "{}", done.err);
        assert!(done.err.contains(refusal.unwrap_or_default()), "{first} {second}: {}", done.err);
    }
    let players = scratch.run(&["games", "u.epa", "--tsv"]).out;
    assert!(players.contains("\nAnn\t") && players.contains("\nBob\t"), "{players}");
}

#[test]
fn statistics_of_a_library_are_what_it_stores_unless_all_is_counted() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 1-0\n\n1. e4 c5 0-1\n");
    for library in ["g.epdb", "g.epa"] {
        assert_eq!(scratch.run(&["tally", "g.pgn", "-o", library]).status, 0);
        let stats = scratch.run(&["stats", library]).out;
        let first: Vec<&str> = stats.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(first, ["positions", "4"], "{stats}");
        assert!(stats.contains("built with") && !stats.contains("unique"), "{stats}");
        let json = scratch.run(&["stats", library, "--json"]).out;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["records"], &json["libraries"][0]["file"]), (&4.into(), &library.into()));
        assert!(json.get("unique_positions").is_none());
        let census = scratch.run(&["stats", library, "--census"]).out;
        assert!(census.contains("unique positions") && census.contains("built with"), "{census}");
        let some = scratch.run(&["stats", library, "--where", "games > 1"]).out;
        assert!(some.contains("unique positions"), "{some}");
    }
}

#[test]
fn reports_are_json_objects_if_asked() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 1-0\n\n1. e4 c5 0-1\n\n1. e4 e5 1-0\n");
    let object = |args: &[&str]| -> serde_json::Value {
        let done = scratch.run(args);
        serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.err))
    };
    let tally = object(&["tally", "g.pgn", "-o", "g.epa", "--json"]);
    assert_eq!((&tally["games"], &tally["duplicate_games"]), (&2.into(), &1.into()));
    assert_eq!((&tally["plies"], &tally["positions"]), (&4.into(), &4.into()));
    assert_eq!(object(&["count", "g.epa", "--json"])["count"], 4);
    assert_eq!(object(&["count", "g.pgn", "--json"])["count"], 3);
    let book = object(&["book", "make", "g.pgn", "-o", "g.bin", "--min-games", "1", "--json"]);
    assert_eq!((&book["entries"], &book["positions"]), (&2.into(), &2.into()));
    let good = object(&["verify", "g.epa", "--json"]);
    assert_eq!((&good["file"], &good["verdict"]), (&"g.epa".into(), &"no damage found".into()));
    let mut bytes = scratch.read("g.epa");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    scratch.write("bad.epa", bytes);
    let bad = object(&["verify", "bad.epa", "--json"]);
    assert_eq!(bad["verdict"], "damaged");
    assert!(bad["findings"].as_array().is_some_and(|found| !found.is_empty()));
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - pv e4;\n\
                 rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - ce 30;\n";
    scratch.write("b.epd", start);
    let solved = object(&["backsolve", "b.epd", "--dry-run", "--json"]);
    assert_eq!((&solved["records"], &solved["solved"]), (&2.into(), &1.into()), "{solved}");
}

#[test]
fn games_are_not_added_to_a_library_as_positions() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "l.epdb"]);
    scratch.run(&["tally", "g.pgn", "-o", "l.epa"]);
    scratch.run(&["convert", "g.pgn", "n.pgc"]);
    let before = scratch.run(&["export", "l.epdb"]).out;
    for (games, more) in [("g.pgn", &[][..]), ("n.pgc", &[]), ("g.pgn", &["--game-tags"])] {
        let refused = scratch.run(&[&["import", "l.epdb", games], more].concat());
        assert_eq!(refused.status, 2, "{games}: {}", refused.err);
        let text = "l.epdb is a library: give --tally to count the games of ";
        assert!(refused.err.contains(text), "{}", refused.err);
    }
    let stdin = ["import", "l.epdb", "-", "--from", "pgn"];
    assert_eq!(scratch.run_with(&stdin, "1. e4 *\n\n").status, 2);
    // The first file makes the library.
    assert_eq!(scratch.run(&["import", "new.epdb", "l.epa", "g.pgn"]).status, 2);
    assert_eq!(scratch.run(&["export", "l.epdb"]).out, before);
    assert_eq!(scratch.run(&["import", "l.epdb", "g.pgn", "--positions=final"]).status, 0);
    // Records are added as to any store.
    scratch.write("more.epd", "8/8/8/4k3/8/1K6/8/8 b - - id \"a\";\n");
    assert_eq!(scratch.run(&["import", "l.epdb", "more.epd"]).status, 0);
    let again = scratch.run(&["import", "l.epdb", "more.epd", "--profile", "strict"]);
    let text = "was imported as more.epd with other settings (with --profile lenient); it is";
    assert!(again.err.contains(text), "{}", again.err);
    let counted = scratch.run(&["import", "l.epdb", "g.pgn", "--tally", "--again"]);
    let text = "was imported as g.pgn with other settings (with --positions final, without --same-game auto --tally); it is";
    assert!(counted.err.contains(text), "{}", counted.err);
    // Nothing is said to be imported again before it is refused.
    let refused = scratch.run(&["import", "l.epdb", "g.pgn", "--tally", "--max-ply", "1"]);
    assert_eq!(refused.status, 2, "{}", refused.err);
    assert!(refused.err.contains("give the options that it was built with"), "{}", refused.err);
    assert!(!refused.err.contains("imported again"), "{}", refused.err);
}

#[test]
fn games_are_counted_with_the_options_of_the_library() {
    let scratch = scratch();
    scratch.write("m.pgn", MORE);
    for (number, options) in [
        &["--by", "year", "--keep-games", "2", "--max-ply", "3"][..],
        &["--by", "month,rating", "--same-game", "moves"],
        &["--player", "Ann;Carlsen, M", "--side", "white", "--standard-only"],
        &["--keep-duplicates", "--count-repeats"],
        &["--where", "year == 1992 || games > 1", "--truncate-games", "--deny-warnings"],
    ]
    .iter()
    .enumerate()
    {
        let (library, whole) = (format!("{number}.epdb"), format!("{number}-whole.epdb"));
        scratch.run(&[&["tally", "g.pgn", "m.pgn", "-o", &whole], *options].concat());
        scratch.run(&[&["tally", "g.pgn", "-o", &library], *options].concat());
        let done = scratch.run(&["import", &library, "m.pgn", "--tally"]);
        assert_eq!(done.status, 0, "{options:?}: {}", done.err);
        let export = |library: &str| scratch.run(&["export", library, "--sort", "key"]).out;
        assert_eq!(export(&library), export(&whole), "{options:?}");
        let again = scratch.run(&[&["import", &library, "m.pgn", "--tally"], *options].concat());
        assert!(again.err.contains("already imported"), "{options:?}: {}", again.err);
    }
    for options in [
        &["--by", "month"][..],
        &["--max-ply", "9"],
        &["--keep-games", "1"],
        &["--same-game", "moves"],
        &["--standard-only"],
        &["--where", "year > 0"],
    ] {
        let refused = scratch.run(&[&["import", "0.epdb", "m.pgn", "--tally"], options].concat());
        assert_eq!(refused.status, 2, "{options:?}: {}", refused.err);
        assert!(
            refused.err.contains("0.epdb: built with `--by year --max-ply 3"),
            "{}",
            refused.err
        );
    }
    let auto = ["import", "1.epdb", "m.pgn", "--tally", "--same-game", "auto"];
    assert_eq!(scratch.run(&auto).status, 2);
    let part = ["import", "0.epdb", "m.pgn", "--tally", "--again", "--keep-games", "2"];
    assert_eq!(scratch.run(&part).status, 0);
}

#[test]
fn games_that_libraries_share_are_reported() {
    let scratch = scratch();
    scratch.write("m.pgn", MORE);
    for (games, library) in [("g.pgn", "g.epa"), ("m.pgn", "m.epdb")] {
        scratch.run(&["tally", games, "-o", library]);
    }
    let refused = scratch.run(&["union", "g.epa", "m.epdb", "-o", "u.epa"]);
    assert!(refused.err.contains("`epdb import STORE GAMES --tally`"), "{}", refused.err);
    let done = scratch.run(&["union", "g.epa", "m.epdb", "-o", "u.epa", "--allow-overlap"]);
    let text = "m.epdb: 1 game of the libraries before it counted again";
    assert!(done.err.contains(text), "{}", done.err);
    let count = |library: &str| {
        let stats = scratch.run(&["stats", library]).out;
        let row = stats.lines().find(|line| line.contains("games counted more than once"));
        row.map(|row| row.split_whitespace().last().unwrap().to_string())
    };
    assert_eq!((count("u.epa").as_deref(), count("g.epa")), (Some("1"), None));
    let json = scratch.run(&["stats", "u.epa", "--json"]).out;
    assert!(json.contains("\"repeated_games\":1,"), "{json}");
    scratch.run(&["convert", "g.epa", "s.epdb"]);
    let import = ["import", "s.epdb", "m.epdb", "--on-duplicate", "merge", "--allow-overlap"];
    assert_eq!(scratch.run(&import).status, 0);
    assert_eq!(count("s.epdb").as_deref(), Some("1"));
}

/// A game of lichess.org with these moves and this result.
fn game_of_site(id: &str, moves: &str, result: &str, tags: &str) -> String {
    format!(
        "[Event \"e\"]\n[Site \"https://lichess.org/{id}\"]\n[Date \"2024.01.01\"]\n\
         [White \"W\"]\n[Black \"B\"]\n[Result \"{result}\"]\n{tags}\n{moves} {result}\n\n"
    )
}

/// Copies of one game, from the worst to the best.
fn copies_of_a_site() -> [String; 5] {
    let long = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4";
    [
        game_of_site("abcdefgh", "1. e4 e5 2. Nf3", "*", "[Annotator \"x\"]\n"),
        game_of_site("abcdefgh", &format!("{long} Nf6"), "*", ""),
        game_of_site("abcdefgh", "1. e4 e5 2. Nf3 Nc6 3. Bc4", "1-0", "[WhiteElo \"2500\"]\n"),
        game_of_site("abcdefgh", long, "1-0", ""),
        game_of_site("abcdefgh", long, "1-0", "[WhiteElo \"2400\"]\n"),
    ]
}

/// The records of a library by their keys.
fn sorted_records(scratch: &Scratch, name: &str) -> String {
    let done = scratch.run(&["export", name, "--sort", "key"]);
    assert_eq!(done.status, 0, "{}", done.err);
    done.out
}

#[test]
fn the_finished_and_longest_copy_of_a_game_with_an_id_counts_in_any_order() {
    let scratch = Scratch::new();
    let copies = copies_of_a_site();
    for (nth, copy) in copies.iter().enumerate() {
        // Other games reach the same positions.
        let other = format!(
            "[Date \"2024.01.01\"]\n[Round \"{nth}\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bc4 0-1\n\n"
        );
        scratch.write(&format!("{nth}.pgn"), format!("{copy}{other}{copy}"));
    }
    let orders =
        [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [3, 4, 0, 2, 1], [1, 3, 0, 4, 2]];
    for best in [4, 3, 2, 1] {
        let mut wanted: Option<String> = None;
        let mut kept_wanted: Option<(String, Vec<Vec<u8>>)> = None;
        for order in orders {
            let files: Vec<String> =
                order.iter().filter(|nth| **nth <= best).map(|nth| format!("{nth}.pgn")).collect();
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            for more in [&[][..], &["--memory", "1K"], &["--keep-games", "9", "--by", "year"]] {
                let call = [&["tally", "-o", "all.epdb", "--force"], more, &files].concat();
                let done = scratch.run(&call);
                assert_eq!(done.status, 0, "{}", done.err);
                let records = sorted_records(&scratch, "all.epdb");
                assert!(done.err.contains(&format!("{} games counted", best + 2)), "{}", done.err);
                if more.len() > 2 {
                    let mut games = Vec::new();
                    let keep = &mut |_, game: &[u8]| {
                        games.push(game.to_vec());
                        Ok(())
                    };
                    epdb_source::each_kept_game(scratch.path("all.epdb"), keep).unwrap();
                    assert_eq!(games.len(), best + 2, "{order:?}");
                    let kept = (records, games);
                    assert!(kept == *kept_wanted.get_or_insert_with(|| kept.clone()), "{order:?}");
                    continue;
                }
                let wanted = wanted.get_or_insert_with(|| records.clone());
                assert_eq!(records, *wanted, "{order:?} {more:?}");
            }
        }
        let records = wanted.unwrap();
        // Alone, the best copy gives the same.
        let alone: Vec<String> = (0..=best)
            .map(|nth| {
                format!(
                    "[Date \"2024.01.01\"]\n[Round \"{nth}\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bc4 0-1\n\n"
                )
            })
            .collect();
        scratch.write("alone.pgn", alone.concat() + &copies[best]);
        assert_eq!(scratch.run(&["tally", "alone.pgn", "-o", "alone.epdb", "--force"]).status, 0);
        assert_eq!(records, sorted_records(&scratch, "alone.epdb"), "{best}");
    }
}

#[test]
fn a_later_import_names_and_saves_the_finished_games_that_it_leaves_out() {
    let scratch = Scratch::new();
    let [short, unfinished, other, long, _] = copies_of_a_site();
    scratch.write("a.pgn", &unfinished);
    scratch.write("b.pgn", format!("{short}{long}{}", long_game("")));
    assert_eq!(scratch.run(&["import", "l.epdb", "a.pgn", "--tally"]).status, 0);
    let before = sorted_records(&scratch, "l.epdb");
    let call = ["import", "l.epdb", "b.pgn", "--tally", "--rejects", "left.pgn"];
    let done = scratch.run(&call);
    assert_eq!(done.status, 1, "{}", done.err);
    assert!(done.err.contains("b.pgn:11:1: error[E-PGN-COPY]: "), "{}", done.err);
    assert!(done.err.contains("1 game counted, 2 duplicates"), "{}", done.err);
    assert_eq!(scratch.text("left.pgn"), long);
    assert_ne!(before, sorted_records(&scratch, "l.epdb"));
    // The old copy counts as before: nothing was subtracted.
    scratch.write("c.pgn", unfinished + &long_game(""));
    scratch.run(&["tally", "c.pgn", "-o", "c.epdb"]);
    assert_eq!(sorted_records(&scratch, "c.epdb"), sorted_records(&scratch, "l.epdb"));
    // A shorter finished copy is an ordinary duplicate of a longer one.
    scratch.write("d.pgn", &long);
    scratch.write("e.pgn", &other);
    assert_eq!(scratch.run(&["import", "m.epdb", "d.pgn", "--tally"]).status, 0);
    let done = scratch.run(&["import", "m.epdb", "e.pgn", "--tally"]);
    assert_eq!(done.status, 0, "{}", done.err);
    // It can be allowed.
    let done = scratch.run(&["import", "n.epdb", "e.pgn", "--tally"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let done = scratch.run(&["import", "n.epdb", "d.pgn", "--tally", "--allow-rejects"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("E-PGN-COPY"), "{}", done.err);
}
