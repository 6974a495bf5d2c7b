//! Kept games on the command line: stored by `tally`, shown by `games`, copied with their records.

use crate::scratch::Scratch;

/// Two games meet by different ways; ratings, dates and players are known of some.
const GAMES: &str = "[Event \"Cup\"]\n[Date \"1992.11.04\"]\n[White \"Ann\"]\n[Black \"Eve\"]\n[WhiteElo \"2400\"]\n[BlackElo \"2500\"]\n\n1. e4 {why} e5 (1... c5) 2. Nf3 1-0\n\n\
[Event \"?\"]\n[Date \"2001.??.??\"]\n[White \"Bob\"]\n[Black \"Dan\"]\n[WhiteElo \"2600\"]\n[BlackElo \"2500\"]\n\n1. Nf3 e5 2. e4 Nc6 0-1\n\n";
const MORE: &str = "[White \"Cy\"]\n[Date \"2020.05.??\"]\n\n1. e4 c5 1/2-1/2\n\n\
[White \"Flo\"]\n[WhiteElo \"2000\"]\n[BlackElo \"2001\"]\n\n1. e4 d5 *\n\n";
const MET: &str = "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq -";

fn scratch() -> Scratch {
    let scratch = Scratch::with("g.pgn", GAMES);
    scratch.write("h.pgn", MORE);
    scratch
}

/// The players of White that are shown, in their order.
fn white(scratch: &Scratch, args: &[&str]) -> Vec<String> {
    let done = scratch.run(&[&["games"], args, &["--tsv"]].concat());
    assert_eq!(done.status, 0, "{}", done.err);
    done.out.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn games_that_reached_a_position_are_shown_from_stores_and_archives() {
    let scratch = scratch();
    for library in ["l.epdb", "l.epa"] {
        let done = scratch.run(&["tally", "g.pgn", "h.pgn", "-o", library, "--keep-games", "2"]);
        assert_eq!(done.status, 0, "{}", done.err);
        assert_eq!(white(&scratch, &[library]), ["Bob", "Ann"], "{library}");
        assert_eq!(white(&scratch, &[library, "--sort", "date"]), ["Cy", "Bob"]);
        assert_eq!(white(&scratch, &[library, "e4"]), ["Ann", "Flo"]);
        assert_eq!(white(&scratch, &[library, "e4", "--sort", "date", "-n", "1"]), ["Cy"]);
        let done = scratch.run(&["games", library, MET, "--tsv"]);
        let rows: Vec<Vec<&str>> =
            done.out.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(
            rows[0][..8].join(" "),
            "white white_elo black black_elo result date event move"
        );
        assert_eq!(rows[1][..8], ["Bob", "2600", "Dan", "2500", "0-1", "2001.??.??", "", "Nc6"]);
        assert_eq!(rows[2][..8], ["Ann", "2400", "Eve", "2500", "1-0", "1992.11.04", "Cup", ""]);
        let shown = scratch.run(&["games", library, MET]).out;
        assert!(shown.starts_with("white  white_elo  black  black_elo  result"), "{shown}");
        assert!(shown.contains("\nAnn         2400  Eve         2500  1-0"), "{shown}");
        assert_eq!(scratch.run(&["verify", library]).status, 0);
        let stats = scratch.run(&["stats", library]).out;
        assert!(stats.contains("--keep-games 2"), "{stats}");
        let kept = stats.lines().find(|line| line.starts_with("  kept games "));
        assert!(kept.is_some_and(|line| line.ends_with(" 4")), "{stats}");
    }
    let none = scratch.run(&["games", "l.epa", "a4"]);
    assert_eq!((none.status, none.out.as_str()), (1, ""));
    assert!(none.err.contains("position not found"), "{}", none.err);
}

#[test]
fn objects_have_the_shape_of_the_lichess_explorer() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "l.epa", "--keep-games", "1"]);
    let out = scratch.run(&["games", "l.epa", "e4", "e5", "Nf3", "--json"]).out;
    let [object, totals] = &out.lines().collect::<Vec<_>>()[..] else { panic!("{out}") };
    let [object, totals]: [serde_json::Value; 2] =
        [object, totals].map(|line| serde_json::from_str(line).unwrap());
    let id = object["id"].as_str().unwrap();
    assert_eq!(id.len(), 16);
    let wanted = serde_json::json!({
        "id": id, "uci": "b8c6", "san": "Nc6", "winner": "black", "result": "0-1",
        "white": {"name": "Bob", "rating": 2600}, "black": {"name": "Dan", "rating": 2500},
        "year": 2001, "month": null, "date": "2001.??.??",
    });
    assert_eq!(object, wanted);
    assert_eq!((&totals["of"], &totals["moves"][0]["name"]), (&"games".into(), &"Nc6".into()));
}

#[test]
fn games_come_out_as_games() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "l.epdb", "--keep-games", "5"]);
    let done = scratch.run(&["games", "l.epdb", "-o", "hits.pgn"]);
    assert_eq!((done.status, done.out.as_str()), (0, ""), "{}", done.err);
    assert!(done.err.contains("hits.pgn: 2 games"), "{}", done.err);
    let text = scratch.text("hits.pgn");
    // Tags and moves, neither comments nor variations.
    assert!(text.starts_with("[Event \"?\"]\n"), "{text}");
    assert!(text.contains("1. e4 e5 2. Nf3 1-0\n"), "{text}");
    assert_eq!(scratch.run(&["games", "l.epdb", "-o", "-"]).out, text);
    assert_eq!(scratch.run(&["games", "l.epdb", "-o", "hits.pgc"]).status, 0);
    assert_eq!(scratch.run(&["cat", "--games", "hits.pgc"]).out, text);
    assert_eq!(scratch.run(&["games", "l.epdb", "-o", "hits.epd"]).status, 2);
}

/// Games of one player each, with ratings from 2001 on.
fn many(games: usize) -> String {
    let game = |n: usize| {
        format!(
            "[White \"W{n}\"]\n[Date \"{}.01.01\"]\n[WhiteElo \"{}\"]\n[BlackElo \"{}\"]\n\n1. e4 {{n}} e5 (1... c5) *\n\n",
            3000 - n,
            2000 + n,
            2000 + n
        )
    };
    (1..=games).map(game).collect()
}

/// `-o` writes all games, unless `-n` limits them; then the message says how many there are.
#[test]
fn all_games_are_written_unless_a_limit_is_given() {
    let scratch = Scratch::with("g.pgn", many(123));
    let cut = "[White \"Cut\"]\n\n1. e4 e5 2. Ke5 *\n\n";
    scratch.write("cut.pgn", many(12) + cut);
    scratch.write("rejected.pgn", many(12) + "[White \"Bad\"]\n\n1. e5 *\n\n");
    scratch.write("both.pgn", many(12) + cut + "[White \"Bad\"]\n\n1. e5 *\n\n");
    scratch.run(&["tally", "g.pgn", "-o", "l.epa", "--keep-games", "20"]);
    let cut_left = "1 game that cannot be read completely is left out";
    for (source, options, status, said, written) in [
        ("g.pgn", &[][..], 0, "o.pgn: 123 games\n", 123),
        ("g.pgn", &["-n", "5"], 0, "o.pgn: 5 of 123 games\n", 5),
        ("g.pgn", &["-n", "500"], 0, "o.pgn: 123 games\n", 123),
        ("g.pgn", &["--memory", "1K"], 0, "o.pgn: 123 games\n", 123),
        ("l.epa", &[], 0, "o.pgn: 40 of 123 games\n", 40),
        ("l.epa", &["-n", "5"], 0, "o.pgn: 5 of 123 games\n", 5),
        ("cut.pgn", &[], 1, cut_left, 12),
        ("rejected.pgn", &[], 1, cut_left, 12),
        ("both.pgn", &[], 1, "2 games that cannot be read completely are left out", 12),
    ] {
        let args = [&["games", source, "e4", "-o", "o.pgn"], options].concat();
        let done = scratch.run(&args);
        assert_eq!(done.status, status, "{args:?}: {}", done.err);
        assert!(done.err.contains(said), "{args:?}: {}", done.err);
        assert_eq!(scratch.text("o.pgn").matches("[White ").count(), written, "{args:?}");
    }
    for sort in ["rating", "date"] {
        let first = if sort == "rating" { "W123" } else { "W1" };
        for options in [&[][..], &["--memory", "1K"]] {
            let shown = white(&scratch, &[&["g.pgn", "e4", "--sort", sort], options].concat());
            assert_eq!((shown.len(), shown[0].as_str()), (10, first), "{sort}");
        }
        let written = scratch.run(&["games", "g.pgn", "e4", "--sort", sort, "-o", "-"]).out;
        assert!(written.contains(&format!("[White \"{first}\"]")), "{written}");
        assert!(written.contains("1. e4 {n} 1... e5 (1... c5) *"), "{written}");
    }
    // On the screen and in the shell too.
    let shown = scratch.run(&["games", "both.pgn", "e4"]);
    let (list, totals) = shown.out.split_once("\n\n").unwrap();
    assert_eq!((shown.status, list.lines().count()), (1, 11), "{}", shown.err);
    assert!(
        totals.contains("\nall") && shown.err.contains("12 games reach the position"),
        "{totals}"
    );
    let shell = scratch.run(&["shell", "-c", "e4", "-c", "games both.pgn"]);
    assert!(
        shell.err.contains("2 games that cannot be read completely are left out"),
        "{}",
        shell.err
    );
    let none = scratch.run(&["games", "g.pgn", "d4", "-o", "none.pgn"]);
    assert_eq!((none.status, scratch.names().contains(&"none.pgn".to_string())), (1, false));
}

/// Of copies of a game the finished one counts, then the longer one.
#[test]
fn copies_of_a_game_are_found_once() {
    let copy = |result: &str, moves: &str| {
        format!(
            "[Site \"https://lichess.org/abcdefgh\"]\n[Result \"{result}\"]\n\n{moves} {result}\n\n"
        )
    };
    let short = copy("*", "1. e4 e5");
    let long = copy("*", "1. e4 e5 2. Nf3 Nc6");
    let whole = copy("1-0", "1. e4 e5 2. Nf3 Nc6 3. Bb5");
    for text in [
        short.clone() + &long + &whole,
        whole.clone() + &short + &long,
        long.clone() + &whole + &short,
    ] {
        let scratch = Scratch::with("g.pgn", text);
        let done = scratch.run(&["games", "g.pgn", "e4", "e5", "-o", "-"]);
        assert!(done.out.ends_with("1. e4 e5 2. Nf3 Nc6 3. Bb5 1-0\n\n"), "{}", done.out);
        assert_eq!(done.out.matches("[Site").count(), 1);
    }
}

#[test]
fn the_order_of_files_memory_and_batches_make_no_difference() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "h.pgn", "-o", "a.epdb", "--keep-games", "1"]);
    let more: [&[&str]; 3] = [
        &["tally", "h.pgn", "g.pgn", "h.pgn", "-o", "b.epdb", "--keep-games", "1"],
        &["tally", "h.pgn", "g.pgn", "-o", "c.epdb", "--keep-games", "1", "--memory", "1K"],
        &["import", "d.epdb", "h.pgn", "g.pgn", "--tally", "--keep-games", "1"],
    ];
    let export = |library: &str| scratch.run(&["export", library, "--sort", "key"]).out;
    let all = export("a.epdb");
    assert!(all.contains("kept_games \"keep 1, "), "{all}");
    for (args, library) in more.iter().zip(["b.epdb", "c.epdb", "d.epdb"]) {
        let done = scratch.run(args);
        assert_eq!(done.status, 0, "{}", done.err);
        assert_eq!(export(library), all, "{library}");
        assert_eq!(white(&scratch, &[library, "--sort", "date"]), ["Cy"], "{library}");
        assert_eq!(scratch.run(&["verify", library]).status, 0, "{library}");
    }
    // A library keeps how it was built.
    let other = scratch.run(&["import", "d.epdb", "g.pgn", "--tally", "--keep-games", "2"]);
    assert_eq!(other.status, 2);
    assert!(other.err.contains("--keep-games 1"), "{}", other.err);
}

#[test]
fn games_go_along_with_the_positions_that_list_them() {
    let scratch = scratch();
    for (games, library) in [("g.pgn", "g.epa"), ("h.pgn", "h.epdb")] {
        scratch.run(&["tally", games, "-o", library, "--keep-games", "1"]);
    }
    scratch.run(&["tally", "g.pgn", "h.pgn", "-o", "all.epdb", "--keep-games", "1"]);
    let all = scratch.run(&["export", "all.epdb", "--sort", "key"]).out;
    let sorted = |text: &str| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    let ways: [&[&[&str]]; 4] = [
        &[&["union", "g.epa", "h.epdb", "-o", "u.epa"]],
        &[
            &["convert", "g.epa", "u.epdb"],
            &["import", "u.epdb", "h.epdb", "--on-duplicate", "merge"],
        ],
        &[&["union", "h.epdb", "g.epa", "-o", "u.epa"], &["pack", "u.epa", "-o", "v.epa"]],
        &[
            &["union", "h.epdb", "g.epa", "-o", "u.epa"],
            &["sort", "u.epa", "--by", "fen", "-o", "v.epa"],
        ],
    ];
    for steps in ways {
        for step in steps {
            let done = scratch.run(step);
            assert_eq!(done.status, 0, "{step:?}: {}", done.err);
        }
        let last = steps.last().unwrap();
        let library = if last[0] == "import" { last[1] } else { last[last.len() - 1] };
        let text = scratch.run(&["cat", library]).out;
        assert_eq!(sorted(&text), sorted(&all), "{steps:?}");
        assert_eq!(white(&scratch, &[library]), ["Bob"], "{steps:?}");
        assert_eq!(white(&scratch, &[library, "--sort", "date"]), ["Cy"], "{steps:?}");
        assert_eq!(white(&scratch, &[library, "e4", "c5"]), ["Cy"], "{steps:?}");
        assert_eq!(scratch.run(&["verify", library]).status, 0);
        scratch.names().iter().filter(|name| name.starts_with(['u', 'v'])).for_each(|name| {
            std::fs::remove_file(scratch.path(name)).unwrap();
        });
    }
    // Only what the records list that are written.
    let one = ["filter", "all.epdb", "--where", "reached == 2", "-o", "one.epa"];
    assert_eq!(scratch.run(&one).status, 0);
    let stats = scratch.run(&["stats", "one.epa", "--json"]).out;
    assert!(stats.contains("\"kept_games\":1}"), "{stats}");
    assert_eq!(white(&scratch, &["one.epa", MET]), ["Bob"]);
}

#[test]
fn outputs_that_cannot_hold_games_report_it() {
    let scratch = scratch();
    let done = scratch.run(&["tally", "g.pgn", "-o", "l.epd", "--keep-games", "1"]);
    assert_eq!(done.status, 0);
    assert!(done.err.contains("nor can it store the games"), "{}", done.err);
    scratch.run(&["pack", "l.epd", "-o", "l.epa"]);
    let done = scratch.run(&["games", "l.epa"]);
    assert_eq!(done.status, 1);
    let why = "1 game listed but missing from the library: it was copied without its games";
    assert!(done.err.contains(why), "{}", done.err);
    // Records of the copy without games, beside another library.
    scratch.run(&["tally", "h.pgn", "-o", "h.epa", "--keep-games", "1"]);
    scratch.run(&["union", "h.epa", "l.epd", "-o", "m.epa", "--allow-mixed"]);
    let done = scratch.run(&["games", "m.epa"]);
    assert!(
        done.status == 1 && done.err.contains("`epdb verify m.epa` says which"),
        "{}",
        done.err
    );
    scratch.run(&["tally", "g.pgn", "-o", "n.epa"]);
    let done = scratch.run(&["games", "n.epa"]);
    assert_eq!(done.status, 1);
    assert!(
        done.err.contains("stores no games of this position (tally --keep-games)"),
        "{}",
        done.err
    );
    for wrong in ["0", "101", "x"] {
        let done = scratch.run(&["tally", "g.pgn", "-o", "w.epa", "--keep-games", wrong]);
        assert_eq!(done.status, 2, "{wrong}");
    }
    assert_eq!(white(&scratch, &["g.pgn"]), ["Bob", "Ann"]);
}

#[test]
fn games_without_digests_and_duplicates_are_kept_once() {
    let scratch = scratch();
    let again =
        ["tally", "g.pgn", "g.pgn", "-o", "l.epa", "--keep-games", "5", "--keep-duplicates"];
    assert_eq!(scratch.run(&again).status, 0);
    assert_eq!(white(&scratch, &["l.epa"]), ["Bob", "Ann"]);
    let none = ["tally", "g.pgn", "-o", "n.epa", "--keep-games", "5", "--no-digests"];
    assert_eq!(scratch.run(&none).status, 0);
    assert_eq!(white(&scratch, &["n.epa"]), ["Bob", "Ann"]);
}

#[test]
fn invalid_lists_are_refused_or_kept_as_noop() {
    let scratch = scratch();
    let line = "8/8/8/4k3/8/1K6/8/8 b - - kept_games \"none\";\n";
    scratch.write("b.epd", line);
    assert_eq!(scratch.run(&["normalize", "b.epd", "--profile", "strict"]).status, 1);
    let text = "8/8/8/4k3/8/1K6/8/8 b - - kept_games \"keep 1, - ????.??.?? 0123456789abcdef, \
                2500 2020.01.?? 0000000000000001\";\n";
    scratch.write("c.epd", text);
    let canonical = "kept_games \"keep 1, 2500 2020.01.?? 0000000000000001\";";
    assert!(scratch.run(&["normalize", "c.epd"]).out.contains(canonical));
}

#[test]
fn explaining_how_a_book_is_made_from_games() {
    let scratch = Scratch::new();
    scratch.write("g.pgn", "1. e4 e5 *\n");
    let done = scratch.run(&["convert", "g.pgn", "g.bin"]);
    assert!(done.err.contains("`epdb book make`") && done.status == 2, "{}", done.err);
}

/// The pages of a store that contain a text, and the used ones.
fn pages_with(bytes: &[u8], text: &[u8]) -> (Vec<usize>, Vec<usize>) {
    const PAGE: usize = 4096;
    let page = |at: &usize| &bytes[*at..(*at + PAGE).min(bytes.len())];
    let used =
        (PAGE..bytes.len()).step_by(PAGE).filter(|at| page(at).iter().any(|&byte| byte != 0));
    let used: Vec<usize> = used.collect();
    let holds = |at: &&usize| page(at).windows(text.len()).any(|part| part == text);
    (used.iter().filter(holds).copied().collect(), used)
}

#[test]
fn no_copy_of_a_damaged_library_lacks_games_in_silence() {
    let scratch = scratch();
    let tally = ["tally", "g.pgn", "h.pgn", "-o", "l.epdb", "--keep-games", "2"];
    assert_eq!(scratch.run(&tally).status, 0);
    let sound = scratch.read("l.epdb");
    let (pages, used) = pages_with(&sound, b"Flo");
    assert!(!pages.is_empty());
    let mut refused = 0;
    for &to in &pages {
        for &from in used.iter().filter(|&&from| from != to) {
            let mut bytes = sound.clone();
            bytes.copy_within(from..from + 4096, to);
            scratch.write("x.epdb", bytes);
            for command in [
                &["pack", "x.epdb", "-o", "o.epa"][..],
                &["convert", "x.epdb", "o.epa"],
                &["union", "x.epdb", "-o", "o.epa"],
                &["filter", "x.epdb", "--where", "pieces > 0", "-o", "o.epa"],
                &["sort", "x.epdb", "--by", "fen", "-o", "o.epa"],
            ] {
                let done = scratch.run(command);
                if done.status == 0 {
                    let stats = scratch.run(&["stats", "o.epa", "--json"]).out;
                    let what = format!("{command:?}, the page at {from} doubled at {to}");
                    assert!(stats.contains("\"kept_games\":4}"), "{what}: {stats}");
                    std::fs::remove_file(scratch.path("o.epa")).unwrap();
                } else {
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0);
}

/// Text and streams hold the records of a library, but neither its origin nor its games. This is
/// said.
#[test]
fn what_a_library_loses_is_said() {
    let scratch = scratch();
    for library in ["l.epa", "l.epdb"] {
        let made = scratch.run(&["tally", "g.pgn", "h.pgn", "-o", library, "--keep-games", "2"]);
        assert_eq!(made.status, 0, "{}", made.err);
        for args in [
            &["export", library, "-o", "out.epd"][..],
            &["convert", library, "out.epd"],
            &["convert", library, "out.epb"],
            &["filter", library, "--where", "pieces > 1", "-o", "out.epd"],
            &["sort", "--by", "ce", library, "-o", "out.epd"],
            &["dedupe", library, "-o", "out.epb"],
            &["export", library, "--sort", "import", "-o", "out.epd.gz"],
        ] {
            let done = scratch.run(args);
            assert_eq!(done.status, 0, "{args:?}: {}", done.err);
            let said = format!(
                "{library}: only the records of the library are written; only .epa and .epdb also hold how it was made, the digests of its 4 games, 4 kept games"
            );
            assert!(done.err.contains(&said), "{args:?}: {}", done.err);
            let written = args.iter().rfind(|arg| arg.starts_with("out.")).unwrap();
            // All forms of records keep the lists, as other records do.
            let text = scratch.run(&["normalize", written]).out;
            assert!(text.contains(" tally ") && text.contains("kept_games"), "{args:?}: {text}");
            std::fs::remove_file(scratch.path(written)).unwrap();
        }
        // Another library holds all of it.
        let done = scratch.run(&["convert", library, "out.epa", "--force"]);
        assert!(!done.err.contains("only the records"), "{}", done.err);
        let stats = scratch.run(&["stats", "out.epa"]).out;
        assert!(
            stats.lines().any(|line| line.starts_with("  kept games ") && line.ends_with(" 4"))
        );
        std::fs::remove_file(scratch.path("out.epa")).unwrap();
    }
    // Other records are not changed, and nothing is said.
    let line =
        "4k3/8/8/8/8/8/4P3/4K3 w - - kept_games \"keep 1, 2701 2019.05.?? 0123456789abcdef\";\n";
    scratch.write("a.epd", line);
    let done = scratch.run(&["export", "a.epd"]);
    assert!(done.out.contains("kept_games") && done.err.is_empty(), "{} {}", done.out, done.err);
}

/// Commands that change other operations than the tallies write the library with its games and its facts.
#[test]
fn commands_that_keep_all_records_keep_the_games() {
    let scratch = scratch();
    scratch.write("names.tsv", "eco\tname\tpgn\nB00\tKing's pawn\t1. e4\n");
    scratch.write("more.epd", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - ce 30;\n");
    let tally =
        ["tally", "g.pgn", "-o", "l.epa", "--keep-games", "2", "--about", "licence=CC0-1.0"];
    assert_eq!(scratch.run(&tally).status, 0);
    for command in [
        &["classify", "--openings", "names.tsv", "l.epa"][..],
        &["normalize", "l.epa"],
        &["join", "l.epa", "more.epd", "--take", "ce"],
    ] {
        let done = scratch.run(&[command, &["-o", "out.epa", "--force"]].concat());
        assert_eq!(done.status, 0, "{command:?}: {}", done.err);
        assert_eq!(white(&scratch, &["out.epa"]), ["Bob", "Ann"], "{command:?}");
        assert!(scratch.run(&["stats", "out.epa"]).out.contains("licence: CC0-1.0"), "{command:?}");
    }
}
