//! Help that fits on a screen, quiet runs, names and places in errors, standard input of any kind, terminals.

use crate::scratch::Scratch;
use crate::skipped::skipped;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// The groups of commands with the names of these, as a page lists them.
fn groups(scratch: &Scratch, page: &[&str]) -> Vec<(String, Vec<String>)> {
    let page = scratch.run(page).out;
    let list = page.split("\n\n").find(|part| part.starts_with("Explore:")).unwrap();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for line in list.lines().filter(|line| !line.starts_with("   ")) {
        match line.strip_prefix("  ").and_then(|entry| entry.split_whitespace().next()) {
            Some(name) => groups.last_mut().unwrap().1.push(name.into()),
            None => groups.push((line.trim_end_matches(':').into(), Vec::new())),
        }
    }
    groups
}

/// The names of all commands.
fn commands(scratch: &Scratch) -> Vec<String> {
    groups(scratch, &["help", "all"]).into_iter().flat_map(|(_, names)| names).collect()
}

/// The first page, the manual and the guide have the same groups with the same commands.
#[test]
fn commands_are_listed_in_groups() {
    let scratch = Scratch::new();
    let first = groups(&scratch, &["help"]);
    let groups = groups(&scratch, &["help", "all"]);
    assert_eq!((&groups[..8], groups.len()), (&first[..], 9), "{groups:?}");
    let shown: usize = first.iter().map(|(_, names)| names.len()).sum();
    assert!((30..=38).contains(&shown), "{first:?}");
    assert_eq!(scratch.run(&["help"]).out, scratch.run(&["--help"]).out);
    assert_eq!(scratch.run(&["man", "."]).status, 0);
    let manual = scratch.text("epdb.1");
    let guide = include_str!("../../src/guide/commands.md");
    let table = guide.split("\n## Commands\n").nth(1).unwrap().split("\n\n").next().unwrap();
    for (heading, names) in &groups {
        let begins = |section: &&str| section.lines().next().unwrap().trim_matches('"') == heading;
        let section = manual.split(".SH ").skip(1).find(begins);
        let section = section.unwrap_or_else(|| panic!("{heading} is not in {manual}"));
        assert_eq!(section.matches(".TP").count(), names.len(), "{heading}");
        let rows = table.split(&format!("| **{heading}** | |\n")).nth(1).unwrap();
        let rows = rows.split("| **").next().unwrap();
        for name in names.iter().filter(|name| *name != "serve" || cfg!(feature = "server")) {
            assert!(section.contains(&format!("epdb\\-{name}(1)")), "{name} in {section}");
            let is_shown =
                rows.contains(&format!("`{name}`")) || rows.contains(&format!("`{name} "));
            assert!(is_shown, "{name} is not in the guide under {heading}");
        }
    }
}

/// Without a command, the program names all commands on one screen.
#[test]
fn the_program_alone_fits_on_a_screen() {
    let scratch = Scratch::new();
    let alone = scratch.run(&[]);
    assert_eq!((alone.status, alone.out.as_str()), (2, ""));
    assert!(alone.err.lines().count() <= 24, "{}", alone.err);
    assert!(alone.err.lines().all(|line| line.len() <= 80), "{}", alone.err);
    let words: Vec<&str> = alone.err.split_whitespace().collect();
    for (_, names) in groups(&scratch, &["help"]) {
        let is_named = |name: &String| words.contains(&name.as_str());
        assert!(names.iter().all(is_named), "{names:?} are not on the page:\n{}", alone.err);
    }
}

/// Words that users of other programs try work, and are not listed.
#[test]
fn commands_are_known_by_other_words() {
    let scratch = Scratch::with("a.epd", format!("{START} id x;\n{START} id y;\n"));
    let shown = commands(&scratch);
    let completions = scratch.run(&["completions", "fish"]).out;
    for (word, command) in [
        ("normalise", "normalize"),
        ("merge", "union"),
        ("info", "stats"),
        ("validate", "verify"),
        ("find", "get"),
        ("analyse", "analyze"),
        ("cat", "export"),
        ("head", "sample"),
        ("shuffle", "sort"),
        ("name", "classify"),
        ("games", "search"),
        ("unpack", "export"),
    ] {
        let page = scratch.run(&["help", word]);
        assert_eq!((page.status, page.out), (0, scratch.run(&["help", command]).out), "{word}");
        assert!(!shown.contains(&word.to_string()), "{word}");
        let offer = |name: &str| format!("needs_command\" -f -a \"{name}\"");
        let offered = [word, command].map(|name| completions.contains(&offer(name)));
        assert_eq!(offered, [false, true], "{word}");
    }
    for calls in [
        [&["info", "a.epd"][..], &["stats", "a.epd"]],
        [&["merge", "a.epd"], &["union", "a.epd"]],
        [&["head", "a.epd"], &["sample", "--first", "a.epd"]],
        [&["shuffle", "--seed", "7", "a.epd"], &["sort", "--random", "--seed", "7", "a.epd"]],
    ] {
        let [one, other] = calls.map(|call| scratch.run(call));
        assert_eq!((one.status, one.out), (other.status, other.out), "{calls:?}");
    }
    let first = scratch.run(&["head", "-1", "a.epd"]);
    assert_eq!((first.status, first.out.lines().count()), (0, 1), "{}", first.err);
    assert_eq!(first.out, scratch.run(&["head", "-n", "1", "a.epd"]).out);
    let near = scratch.run(&["normalyze", "a.epd"]);
    assert_eq!(near.status, 2);
    assert!(near.err.contains("'normalize'"), "{}", near.err);
}

/// Options that have another name now are known by the old one too, which no page lists.
#[test]
fn options_are_known_by_their_old_names() {
    let scratch = Scratch::with("a.epd", format!("{START} id x;\n{START} id y;\n"));
    let limited = [["head", "--number"], ["sample", "--number"], ["explore", "--moves"]];
    for [command, old] in limited {
        let [one, other, short] = [old, "--limit", "-n"].map(|option| {
            let done = scratch.run(&[command, "a.epd", option, "1"]);
            (done.status, done.out, done.err)
        });
        assert!(one == other && other == short, "{command}: {one:?} {other:?} {short:?}");
    }
    for [command, old, new] in [
        ["head", "--number", "--limit"],
        ["sample", "--number", "--limit"],
        ["explore", "--moves", "--limit"],
        ["games", "--most", "--limit"],
        ["report", "--lines", "--limit"],
        ["repertoire", "--lines", "--limit"],
        ["games", "--top", "--sort"],
        ["export", "--order", "--sort"],
    ] {
        let page = scratch.run(&["help", command]).out;
        assert_eq!((page.contains(old), page.contains(new)), (false, true), "{page}");
        let done = scratch.run(&[command, old]);
        assert!(done.err.contains("a value is required"), "{command} {old}: {}", done.err);
    }
}

/// `--color` is about the terminal in each command; of a player it is an old name of `--side`.
#[test]
fn colors_are_of_the_terminal_and_sides_of_players() {
    let scratch = Scratch::with("a.epd", format!("{START} id x;\n"));
    let has_colors = |call: &[&str]| scratch.run(call).out.contains("\u{1b}[");
    let board = ["shell", "a.epd", "-c", "next", "-c", "board"];
    for call in [&["help", "sort"][..], &["sort", "-h"], &["help"], &board] {
        assert!(!has_colors(call), "{call:?}");
        assert!(has_colors(&[call, &["--color", "always"]].concat()), "{call:?}");
        assert!(has_colors(&[&["--color=always"], call].concat()), "{call:?}");
        assert!(!has_colors(&[&["--color", "never"], call].concat()), "{call:?}");
    }
    let wrong = scratch.run(&["sort", "--color", "white", "a.epd"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.err.contains("always"), "{}", wrong.err);

    let game = |white: &str, black: &str, first: &str| {
        format!("[White \"{white}\"]\n[Black \"{black}\"]\n[Result \"1-0\"]\n\n1. {first} 1-0\n\n")
    };
    scratch.write("g.pgn", game("Ann", "Bob", "e4") + &game("Bob", "Ann", "d4"));
    let tally = |option: &str| {
        let call =
            ["tally", "g.pgn", "-o", "t.epdb", "--force", "--player", "Ann", option, "white"];
        let done = scratch.run(&call);
        assert_eq!(done.status, 0, "{}", done.err);
        (done.err, scratch.read("t.epdb"))
    };
    let (old, new) = (tally("--color"), tally("--side"));
    assert_eq!(old.1, new.1);
    let note = "epdb: --color white is --side white now; --color is about the terminal\n";
    assert_eq!(old.0, note.to_string() + &new.0);
    let lone = scratch.run(&["tally", "g.pgn", "-o", "u.epdb", "--side", "white"]);
    assert_eq!(lone.status, 2);
    assert!(lone.err.contains("--player"), "{}", lone.err);
    let book = ["book", "make", "g.pgn", "-o", "b.bin", "--min-games", "1", "--side", "white"];
    assert_eq!(scratch.run(&[&book[..], &["--player", "Ann"]].concat()).status, 0);
    assert_eq!(scratch.run(&[&book[..], &["--repertoire"]].concat()).status, 2);
    let book = ["book", "make", "g.pgn", "-o", "b.bin", "--side", "white", "--repertoire"];
    assert_eq!(scratch.run(&book).status, 0);
    assert_eq!(scratch.run(&[&book[..], &["--player", "Ann"]].concat()).status, 2);
}

/// One command writes the text of any source, alone or with others, also from standard input.
#[test]
fn export_writes_the_text_of_any_source() {
    let text = format!("{START} id \"x\";\n{START} id \"y\";\n");
    let scratch = Scratch::with("a.epd", &text);
    for name in ["a.epb", "a.epdb", "a.epa", "a.epd.zst"] {
        assert_eq!(scratch.run(&["convert", "a.epd", name]).status, 0);
    }
    for name in ["a.epd", "a.epb", "a.epdb", "a.epa", "a.epd.zst"] {
        for command in ["export", "cat", "unpack"] {
            let done = scratch.run(&[command, name]);
            assert_eq!((done.status, &done.out, done.err.as_str()), (0, &text, ""), "{name}");
        }
        assert_eq!(scratch.run_with(&["export"], scratch.read(name)).out, text, "{name}");
        let twice = scratch.run(&["export", name, "a.epd"]).out;
        assert_eq!(twice, text.repeat(2), "{name}");
        let some = scratch.run(&["export", name, "--where", "id == \"y\""]).out;
        assert_eq!(some, text.lines().nth(1).unwrap().to_string() + "\n", "{name}");
        let rejects = scratch.run(&["export", name, "--rejects", "r.txt"]);
        assert_eq!((rejects.status, rejects.out), (0, text.clone()), "{name}");
        assert_eq!(scratch.text("r.txt"), "", "{name}");
    }
    scratch.write("g.pgn", "[White \"Ann\"]\n[Result \"*\"]\n\n1. e4 *\n\n");
    assert_eq!(scratch.run(&["export", "g.pgn", "--positions"]).out.lines().count(), 2);
    assert!(scratch.run(&["export", "g.pgn"]).out.contains("[White \"Ann\"]"));
    for wrong in [
        &["export", "a.epd", "--range", "0..1"][..],
        &["export", "a.epdb", "--verbatim"],
        &["export", "a.epd", "--sort", "key"],
        &["export", "a.epa", "a.epa", "--range", "0..1"],
        &["export", "a.epdb", "--sort", "key", "-o", "b.pgn"],
    ] {
        let done = scratch.run(wrong);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{wrong:?}: {}", done.err);
    }
}

#[test]
fn every_page_of_help_fits_and_has_an_example() {
    let scratch = Scratch::new();
    for command in commands(&scratch) {
        for call in [[command.as_str(), "--help"], [command.as_str(), "-h"], ["help", &command]] {
            let page = scratch.run(&call);
            let lines = page.out.lines().count();
            assert_eq!(page.status, 0, "{call:?}");
            assert!(lines <= 60, "{call:?} has {lines} lines");
            assert!(page.out.contains("Example"), "{call:?} has no example");
        }
    }
    assert!(scratch.run(&["help"]).out.lines().count() <= 85);
}

/// Options left out of a command's page are named there, explained on another page, and work.
#[test]
fn shared_options_have_their_page() {
    let scratch = Scratch::with("a.epd", format!("{START} id x;\n"));
    let own = scratch.run(&["help", "head"]).out;
    let all = scratch.run(&["help", "options"]);
    assert_eq!(all.status, 0);
    for option in ["--profile", "--rejects", "--positions", "--counters", "--to", "--where"] {
        assert!(own.contains(option), "{option} is not named by help head:\n{own}");
        let explained = all.out.lines().any(|line| line.trim_start().starts_with(option));
        assert!(explained, "{option} is not on the page of options:\n{}", all.out);
    }
    assert!(!own.contains("Reject every line that has a warning"), "{own}");
    assert_eq!(scratch.run(&["head", "a.epd", "--deny-warnings"]).status, 1);
    assert!(scratch.run(&["completions", "fish"]).out.contains("deny-warnings"));
}

/// Every option at the foot of a command's page is explained on the page that the foot names.
#[test]
fn options_at_the_foot_of_a_page_are_explained() {
    let scratch = Scratch::new();
    let all = scratch.run(&["help", "options"]).out;
    let explained: Vec<&str> = all
        .lines()
        .filter(|line| line.trim_start().starts_with("-"))
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
        .filter_map(|word| word.split('[').next())
        .collect();
    let books = ["make", "list", "merge", "info"].map(|name| format!("book {name}"));
    let shards = ["merge", "clean"].map(|name| format!("shard {name}"));
    let mut count = 0;
    let others = books.into_iter().chain(shards).chain(["pfms".into()]);
    for command in commands(&scratch).into_iter().chain(others) {
        let words: Vec<&str> = ["help"].into_iter().chain(command.split(' ')).collect();
        let page = scratch.run(&words).out;
        let foot = page.split_once("Shared options").map_or("", |(_, foot)| foot);
        for option in foot.split_whitespace().filter(|word| word.starts_with("--")) {
            assert!(
                explained.contains(&option),
                "{command}: {option} is not on the page of options"
            );
            count += 1;
        }
    }
    assert!(count > 500, "{count}");
}

#[test]
fn pages_are_found_by_name_and_similar_names_are_suggested() {
    let scratch = Scratch::new();
    assert!(scratch.run(&["help", "where"]).out.contains("has(bm)"));
    let wrong = scratch.run(&["help", "normalyze"]);
    assert_eq!((wrong.status, wrong.out.as_str()), (2, ""));
    assert!(wrong.err.contains("is it `normalize`?"), "{}", wrong.err);
    for word in ["format", "formats", "archive", "store", "engines"] {
        let wrong = scratch.run(&["help", word]);
        assert_eq!(wrong.status, 2, "{word}");
        let pages: Vec<&str> =
            wrong.err.split('`').filter_map(|it| it.strip_prefix("epdb help ")).collect();
        assert!(pages.len() > 1, "{word}: {}", wrong.err);
        for page in pages {
            assert_eq!(scratch.run(&["help", page]).status, 0, "{word}: {page}");
        }
    }
    let grouped = scratch.run(&["stats", "a.pgn", "--group-by", "ECO"]);
    assert!(grouped.err.contains("epdb table --group-by ECO --agg"), "{}", grouped.err);
    let reverse = scratch.run(&["sort", "--reverse", "--by", "id"]);
    assert!(
        reverse.status == 2 && reverse.err.contains("\n  tip: a minus sign"),
        "{}",
        reverse.err
    );
    for (option, tip) in [("-n", "epdb sample --first"), ("--order-by", "epdb sort")] {
        let done = scratch.run(&["table", "--columns", "id", option, "5"]);
        assert!(done.status == 2 && done.err.contains(tip), "{option}: {}", done.err);
    }
    let unknown = scratch.run(&["count", "--treads", "2"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.err.contains("--threads"), "{}", unknown.err);
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["man", "nowhere"]).status, 2);
    assert_eq!(scratch.run(&["man", "."]).status, 0);
    let names = scratch.names();
    assert!(names.contains(&"epdb.1".to_string()), "{names:?}");
    for command in commands(&scratch) {
        let page = scratch.text(&format!("epdb-{command}.1"));
        assert!(page.starts_with(".ie") || page.contains(".TH"), "{command}");
    }
    let normalize = scratch.text("epdb-normalize.1");
    assert!(normalize.contains("rejects") && normalize.contains("Example"), "{normalize}");
}

#[test]
fn quiet_runs_print_errors_only() {
    let scratch = Scratch::with("a.epd", format!("{START} id x;\nnonsense\n"));
    let loud = scratch.run(&["normalize", "a.epd"]);
    for call in [["-q", "normalize", "a.epd"], ["normalize", "a.epd", "--quiet"]] {
        let quiet = scratch.run(&call);
        assert_eq!((&quiet.out, quiet.status), (&loud.out, 1));
        let lines: Vec<&str> = quiet.err.lines().collect();
        assert_eq!(lines.len(), 1, "{}", quiet.err);
        assert!(lines[0].starts_with("a.epd:2:") && lines[0].contains("error["), "{}", quiet.err);
    }
    scratch.write("b.epd", format!("{START}\n"));
    for call in [
        &["import", "s.epdb", "b.epd"][..],
        &["diff", "b.epd", "b.epd"],
        &["split", "b.epd", "--lines", "1", "-o", "part-%d.epd"],
        &["join", "b.epd", "b.epd", "--take", "id"],
    ] {
        let quiet = scratch.run(&[call, &["-q"]].concat());
        assert_eq!(quiet.err, "", "{call:?}");
    }
    let failed = scratch.run(&["-q", "count", "missing.epd"]);
    assert_eq!(failed.status, 2);
    assert!(failed.err.contains("missing.epd"), "{}", failed.err);
}

#[test]
fn damage_of_compressed_text_is_reported_with_file_and_line() {
    let scratch = Scratch::with("a.epd", format!("{START}\n"));
    let line =
        |number: u32| format!("{START} id \"{}\";\n", u64::from(number) * 7_919_317 % 1_000_003);
    scratch.write("b.epd", (0..5_000).map(line).collect::<String>());
    for (name, format) in [("b.epd.gz", "gzip"), ("b.epd.zst", "zstd")] {
        assert_eq!(scratch.run(&["normalize", "b.epd", "-o", name]).status, 0);
        let whole = scratch.read(name);
        scratch.write(name, &whole[..whole.len() / 2]);
        for call in
            [&["dedupe", "a.epd", name, "a.epd"][..], &["count", name], &["get", name, START]]
        {
            let done = scratch.run(call);
            assert_eq!(done.status, 2, "{call:?}");
            let start = format!("epdb: error: {name}:");
            let last = done.err.lines().last().unwrap();
            assert!(last.starts_with(&start), "{call:?}: {}", done.err);
            assert!(last.contains(format) && last.contains("cannot read on"), "{}", done.err);
        }
    }
}

#[test]
fn each_error_is_reported_once() {
    let scratch = Scratch::with("a.epd", format!("{START} id \"x\";\n").repeat(3_000));
    scratch.run(&["convert", "a.epd", "a.epb"]);
    let whole = scratch.read("a.epb");
    scratch.write("a.epb", &whole[..whole.len() - 40]);
    let done = scratch.run(&["dedupe", "a.epb"]);
    assert_eq!(done.status, 2);
    assert_eq!(done.err.matches("inside a frame").count(), 1, "{}", done.err);
    assert!(done.err.contains("a.epb: frame ") && done.err.contains("byte "), "{}", done.err);
}

#[test]
fn verify_names_each_file_and_continues() {
    let scratch = Scratch::with("good.epd", format!("{START}\n"));
    scratch.write("empty.epdb", "");
    scratch.write("bad.epd", "nonsense\n");
    for (from, to) in [("good.epd", "cut.epb"), ("good.epd", "cut.epa")] {
        assert_eq!(scratch.run(&["convert", from, to]).status, 0);
        let bytes = scratch.read(to);
        scratch.write(to, &bytes[..bytes.len() - 5]);
    }
    scratch.run(&["normalize", "good.epd", "-o", "cut.epd.gz"]);
    let bytes = scratch.read("cut.epd.gz");
    scratch.write("cut.epd.gz", &bytes[..bytes.len() - 12]);
    let verdicts = |out: &str| -> Vec<String> {
        let ends = [": no damage found", ": damaged", ": not checked"];
        out.lines()
            .map(|line| line.strip_suffix(", 1 not read").unwrap_or(line))
            .filter(|line| ends.iter().any(|end| line.ends_with(end)))
            .map(String::from)
            .collect()
    };
    let damaged = ["empty.epdb", "cut.epb", "cut.epa", "cut.epd.gz", "bad.epd"];
    let done = scratch.run(&[&["verify"], &damaged[..], &["good.epd"]].concat());
    let mut expected: Vec<String> = damaged.iter().map(|name| format!("{name}: damaged")).collect();
    expected.push("good.epd: no damage found".into());
    assert_eq!((verdicts(&done.out), done.status), (expected, 1), "{} {}", done.out, done.err);
    let done = scratch.run(&["verify", "missing.epd", "cut.epb", "good.epd"]);
    let expected = ["missing.epd: not checked", "cut.epb: damaged", "good.epd: no damage found"];
    assert_eq!((verdicts(&done.out), done.status), (expected.map(String::from).to_vec(), 2));
    assert_eq!(done.err.matches("missing.epd").count(), 1, "{}", done.err);
    for name in damaged {
        assert_eq!(scratch.run(&["verify", name]).status, 1, "{name}");
    }
}

#[test]
fn an_argument_that_names_a_file_is_a_file() {
    let scratch = Scratch::with("with space.epd", format!("{START} bm e4;\n"));
    scratch.run(&["convert", "with space.epd", "with space.epb"]);
    scratch.run(&["import", "with space.epdb", "with space.epd"]);
    let line = format!("{START} bm e4;\n");
    for source in ["with space.epd", "with space.epb", "with space.epdb"] {
        let done = scratch.run(&["get", source, START]);
        assert_eq!((done.out, done.status), (line.clone(), 0), "{source}: {}", done.err);
    }
    let missing = scratch.run(&["get", "no such file.epdb", START]);
    assert!(missing.err.contains("no file no such file.epdb"), "{}", missing.err);
    assert!(scratch.run(&["dump", "with space.epb"]).out.starts_with("record 1: "));
    assert!(scratch.run(&["perft", "--depth", "1", "with space.epd"]).out.contains("\t1\t20"));
    let played = scratch.run(&["play", "--moves", "e4", "with space.epd"]);
    assert!(played.out.starts_with("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b"));
}

/// A position may be given in place of a file.
#[test]
fn a_position_may_stand_where_a_file_stands() {
    let scratch = Scratch::new();
    let played = scratch.run(&["play", "--moves", "e4", START]);
    assert!(
        played.out.starts_with("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b"),
        "{}",
        played.err
    );
    assert_eq!(scratch.run(&["count", START]).out, "1\n");
    let wrong = scratch.run(&["count", "no such file.epd"]);
    assert_eq!((wrong.status, wrong.out.as_str()), (2, ""));
    assert!(
        wrong.err.contains("no such file.epd") && wrong.err.contains("not a position"),
        "{}",
        wrong.err
    );
}

#[test]
fn stores_and_archives_are_read_from_standard_input() {
    let scratch =
        Scratch::with("a.epd", format!("{START} bm e4;\n8/8/8/4k3/8/1K6/8/8 b - - id \"x\";\n"));
    let text = scratch.text("a.epd");
    scratch.write("a.pgn", "[Event \"x\"]\n[Result \"*\"]\n\n1. e4 e5 *\n");
    scratch.run(&["import", "a.epdb", "a.epd"]);
    scratch.run(&["convert", "a.epd", "a.epb"]);
    scratch.run(&["pack", "a.epd", "-o", "a.epa"]);
    scratch.run(&["convert", "a.pgn", "a.pgc"]);
    for name in ["a.epdb", "a.epb", "a.epa"] {
        let bytes = scratch.read(name);
        let piped = |call: &[&str]| scratch.run_with(call, bytes.clone());
        assert_eq!(piped(&["count"]).out, "2\n", "{name}");
        assert_eq!(piped(&["normalize"]).out, text, "{name}");
        assert_eq!(piped(&["get", "-", START]).out, format!("{START} bm e4;\n"), "{name}");
        assert_eq!(piped(&["verify", "-"]).out, "-: no damage found\n", "{name}");
        assert!(piped(&["dump", "-"]).out.contains("records") || name == "a.epb", "{name}");
    }
    assert_eq!(scratch.run_with(&["export", "-"], scratch.read("a.epdb")).out, text);
    assert_eq!(scratch.run_with(&["unpack", "-"], scratch.read("a.epa")).out, text);
    for name in ["a.pgn", "a.pgc"] {
        assert_eq!(scratch.run_with(&["count"], scratch.read(name)).out, "1\n", "{name}");
    }
    let mut bytes = scratch.read("a.epdb");
    bytes.truncate(bytes.len() / 2);
    let damaged = scratch.run_with(&["count"], bytes);
    assert_eq!(damaged.status, 2);
    assert!(damaged.err.starts_with("epdb: error: -: "), "{}", damaged.err);
    assert_eq!(damaged.err.lines().count(), 1, "{}", damaged.err);
}

#[test]
fn get_takes_its_questions_from_files() {
    let scratch =
        Scratch::with("a.epd", format!("{START} bm e4;\n8/8/8/4k3/8/1K6/8/8 b - - id \"x\";\n"));
    scratch.run(&["import", "a.epdb", "a.epd"]);
    scratch.write("q1.fen", "8/8/8/4k3/8/1K6/8/8 b - - 0 1\n\n4k3/8/8/8/8/8/8/4K2R w K - 0 1\n");
    scratch.write("q 2.fen", format!("{START} 0 1\n"));
    let done = scratch.run(&["get", "a.epdb", "--tag", "-f", "q1.fen", "-f", "q 2.fen"]);
    let tagged = format!("1\t8/8/8/4k3/8/1K6/8/8 b - - id \"x\";\n4\t{START} bm e4;\n");
    assert_eq!((done.out, done.status), (tagged, 1), "{}", done.err);
    let missing = scratch.run(&["get", "a.epdb", "a.epd", "--missing", "-f", "q1.fen", START]);
    assert_eq!(missing.out, "4k3/8/8/8/8/8/8/4K2R w K - 0 1\n");
    let piped = scratch.run_with(&["get", "a.epdb", "-f", "-"], scratch.read("q 2.fen"));
    assert_eq!((piped.out, piped.status), (format!("{START} bm e4;\n"), 0));
    // The file of questions in the place of a source, and nothing asked.
    let wrong = scratch.run(&["get", "a.epdb", "q1.fen"]);
    assert_eq!((wrong.status, wrong.out.as_str()), (2, ""));
    assert!(wrong.err.contains("-f q1.fen"), "{}", wrong.err);
    assert_eq!(scratch.run(&["get", "a.epdb"]).status, 0, "no question is no mistake");
    let nowhere = scratch.run(&["get", "a.epdb", "-f", "missing.fen"]);
    assert_eq!(nowhere.status, 2);
    assert!(nowhere.err.contains("missing.fen"), "{}", nowhere.err);
}

#[test]
fn records_from_a_slow_pipe_are_answered_at_once() {
    use std::io::{BufRead, BufReader, Write};

    let scratch = Scratch::new();
    let calls = [
        &["normalize"][..],
        &["filter", "--where", "has(bm)"],
        &["play", "--op", "bm"],
        &["purge", "id"],
        &["table", "--template", "{fen}"],
        &["head"],
    ];
    for call in calls {
        let mut child = scratch.spawn(call);
        let mut asking = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..3 {
            writeln!(asking, "{START} bm e4;").unwrap();
            let mut line = String::new();
            answers.read_line(&mut line).unwrap();
            assert!(line.starts_with("rnbqkbnr/pppppppp/8/8/"), "{call:?}: {line}");
        }
        drop(asking);
        assert!(child.wait().unwrap().success());
    }
}

/// Runs a command of a shell on a terminal of its own, with what is typed there, and gives what
/// the terminal shows; `None` where there is no `script` to make one.
#[cfg(target_os = "linux")]
pub(crate) fn on_a_terminal(
    scratch: &Scratch,
    command: &str,
    typed: &str,
) -> Option<(String, i32)> {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let epdb = assert_cmd::cargo::cargo_bin("epdb");
    let path = format!("{}:{}", epdb.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut child = Command::new("script")
        .args(["-q", "-e", "-c", command, "/dev/null"])
        .current_dir(scratch.path(""))
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    Some((String::from_utf8_lossy(&done.stdout).into_owned(), done.status.code().unwrap()))
}

/// Pages of help go through a pager on a terminal, and only there.
#[cfg(target_os = "linux")]
#[test]
fn long_pages_are_shown_in_a_pager_on_a_terminal() {
    let scratch = Scratch::new();
    let shown = |variables: &str, call: &str| {
        on_a_terminal(&scratch, &format!("TERM=xterm {variables} epdb {call}"), "")
    };
    let Some((through, status)) = shown("PAGER='tr a-z A-Z'", "help moves") else {
        skipped("there is no `script`");
        return;
    };
    assert!(through.contains("LIST THE LEGAL MOVES") && status == 0, "{through}");
    for call in ["moves -h", "--help", "help codes"] {
        let (through, _) = shown("PAGER='tr a-z A-Z'", call).unwrap();
        assert_eq!(through, through.to_uppercase(), "{call}");
    }
    for pager in ["PAGER=", "PAGER=cat", "PAGER=./none", "TERM=dumb PAGER='tr a-z A-Z'"] {
        let (direct, status) = shown(pager, "help moves").unwrap();
        assert!(direct.contains("List the legal moves") && status == 0, "{pager}: {direct}");
    }
    let (left, status) = shown("PAGER=true", "help codes").unwrap();
    assert_eq!((left.as_str(), status), ("", 0));
    let (version, _) = shown("PAGER='tr a-z A-Z'", "--version").unwrap();
    assert!(version.starts_with("epdb "), "{version}");
    let piped = "PAGER='tr a-z A-Z' epdb help moves | cat";
    assert!(on_a_terminal(&scratch, piped, "").unwrap().0.contains("List the legal moves"));
}

/// An empty result is a success; something that was named and is missing is not.
#[test]
fn exit_statuses_follow_one_rule() {
    let scratch = Scratch::with("a.epd", format!("{START} id \"x\";\n"));
    scratch.write("b.epd", format!("{START} id \"y\";\n"));
    scratch.write("bad.epd", "junk\n");
    scratch.write("repaired.epd", format!("{START} id x;\n"));
    scratch.write("cut.pgn", "1. e4 e5 2. Ke5 *\n\n");
    scratch.write("g.pgn", "1. e4 e5 *\n\n");
    scratch.write("perft.epd", format!("{START} ;D1 21\n"));
    scratch.run(&["tally", "g.pgn", "-o", "lib.epa", "--keep-games", "1"]);
    let done = [
        "normalize repaired.epd",
        "filter a.epd --where pieces==3",
        "games lib.epa e4",
        "head -n 0 a.epd",
        "intersect a.epd bad.epd --allow-rejects",
        "table a.epd --columns bm",
        "diff a.epd a.epd",
        "dedupe a.epd b.epd",
        "count cut.pgn --truncate-games",
    ];
    let different = [
        "normalize bad.epd",
        "count bad.epd",
        "count cut.pgn",
        "verify bad.epd",
        "get a.epd d4",
        "explore lib.epa d4",
        "games lib.epa d4",
        "diff a.epd b.epd",
        "dedupe a.epd b.epd --deny-conflicts",
        "book make lib.epa -o empty.bin --min-games 9",
        "perft perft.epd -d 1",
        "play --moves Ke5 a.epd",
        "report a.epd --min-solved 100%",
    ];
    let failed = [
        "normalize none.epd",
        "normalize --unknown",
        "filter a.epd --where ==",
        "moves e5",
        "explore lib.epa e5",
        "head -n x a.epd",
        "convert a.epd lib.epa",
        "help nothing",
    ];
    for (status, calls) in [(0, &done[..]), (1, &different), (2, &failed)] {
        for call in calls {
            let done = scratch.run(&call.split(' ').collect::<Vec<_>>());
            assert_eq!(done.status, status, "{call}: {}", done.err);
        }
    }
    let rule = scratch.run(&["help"]).out.replace('\n', " ");
    let stated = "Exit status: 0 done (also with repairs or an empty result), 1 something was rejected, \
                  damaged, missing or different, 2 the command failed.";
    assert!(rule.contains(stated), "{rule}");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_nothing_waits_in_silence_and_no_binary_is_shown() {
    let scratch = Scratch::with("a.epd", format!("{START} bm e4;\n"));
    scratch.run(&["import", "a.epdb", "a.epd"]);
    let hint = "reading positions from standard input; end with Ctrl-D";
    for command in ["epdb count", "epdb normalize", "epdb get a.epdb"] {
        let Some((shown, status)) = on_a_terminal(&scratch, command, &format!("{START}\n\x04"))
        else {
            skipped("there is no `script`");
            return;
        };
        assert!(shown.contains(hint) && status == 0, "{command}: {shown}");
    }
    let (shown, _) = on_a_terminal(&scratch, "epdb -q count", "\x04").unwrap();
    assert!(!shown.contains(hint), "{shown}");
    let (shown, status) = on_a_terminal(&scratch, "epdb get a.epdb a.epd", "").unwrap();
    assert!(shown.contains("-f a.epd") && status == 2, "{shown}");
    for command in
        ["epdb normalize a.epd --to epb", "epdb convert a.epd - --to epa", "epdb pack a.epd -o -"]
    {
        let (shown, status) = on_a_terminal(&scratch, command, "").unwrap();
        assert!(shown.contains("terminal") && shown.contains("-o FILE"), "{command}: {shown}");
        assert_eq!(status, 2, "{command}");
    }
    assert_eq!(scratch.run(&["normalize", "a.epd", "--to", "epb"]).status, 0, "a pipe takes them");
}

#[test]
fn a_call_without_a_command_shows_the_help() {
    for args in [&[][..], &["book"]] {
        let done = Scratch::new().run(args);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{args:?}");
        assert!(!done.err.contains("error:"), "{args:?}: {}", done.err);
        assert!(done.err.contains("Usage: epdb"), "{args:?}: {}", done.err);
    }
}

#[test]
fn a_format_of_standard_output_is_asked_for() {
    let done = Scratch::with("a.epd", "").run(&["convert", "a.epd", "-"]);
    assert!(done.status == 2 && done.err.contains("such as --to epd"), "{}", done.err);
}
