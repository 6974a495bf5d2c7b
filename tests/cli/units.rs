//! Games or positions: what the commands work on (`epdb help units`).

use crate::scratch::{Done, Scratch};

/// Two games, two other files of one game and of no record, two records, and a table of openings.
fn scratch() -> Scratch {
    let scratch =
        Scratch::with("g.pgn", "[White \"a\"]\n\n1. e4 e5 *\n\n[White \"b\"]\n\n1. d4 *\n");
    scratch.write("other.pgn", "[White \"b\"]\n\n1. d4 *\n");
    scratch
        .write("a.epd", "7k/8/8/8/8/8/8/K7 w - - id \"a\";\n7k/8/8/8/8/8/8/K7 b - - id \"b\";\n");
    scratch.write("other.epd", "7k/8/8/8/8/8/8/K7 b - -\n");
    scratch.write("names.tsv", "eco\tname\tpgn\nC20\tOpen Game\t1. e4 e5\n");
    scratch
}

/// What follows the name of a command and its source.
fn rest_of(command: &str, kind: &str) -> Vec<String> {
    let other = format!("other.{kind}");
    let rest = match command {
        "table" => "--columns result,pieces",
        "filter" | "filter --count" => "--where pieces>=2",
        "sample" => "-n 2",
        "sort" => "--by fen",
        "split" => "--lines 9 -o part-%d",
        "intersect" | "subtract" => &other,
        _ => "",
    };
    rest.split_whitespace().map(String::from).collect()
}

/// The unit in which a run says that it worked.
fn unit(done: &Done) -> &'static str {
    let said = format!("{}{}", done.out, done.err);
    let is_of_games = [" game ", " game\n", " games"].iter().any(|it| said.contains(it))
        || said.starts_with("games");
    match (is_of_games, said.contains(" positions of ") || said.contains(" position of ")) {
        (_, true) => "positions",
        (true, false) => "games",
        (false, false) => "records",
    }
}

/// The form of a first line.
fn form(line: &str) -> &'static str {
    match line {
        _ if line.starts_with("[Event ") => "as PGN",
        _ if epdb_chess::parse_epd(line.as_bytes()).is_ok() => "as EPD",
        _ if line.parse::<u64>().is_ok() => "a number",
        _ => "a table",
    }
}

/// Each row of the table on the page is what the command does.
#[test]
fn the_page_about_units_says_what_the_commands_do() {
    let scratch = scratch();
    let page = scratch.run(&["help", "units"]).out;
    let table = page.split("\nCommand ").nth(1).unwrap().split("\n\n").next().unwrap();
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert_eq!(rows.len(), 15, "{table}");
    for row in rows {
        let mut cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let command = cells.next().unwrap();
        for (source, kind) in [("g.pgn", "pgn"), ("g.pgn --positions", "pgn"), ("a.epd", "epd")] {
            let mut args: Vec<&str> = command.split(' ').chain(source.split(' ')).collect();
            let rest = rest_of(command, kind);
            args.extend(rest.iter().map(String::as_str));
            let done = scratch.run(&args);
            assert_eq!(done.status, 0, "{args:?}: {}", done.err);
            let out = match command {
                "split" => scratch.text("part-1"),
                _ => done.out.clone(),
            };
            let found = format!("{}, {}", unit(&done), form(out.lines().next().unwrap()));
            assert_eq!(Some(&*found), cells.next(), "{args:?}: {}{}", done.out, done.err);
        }
        assert_eq!(cells.next(), None, "{row}");
    }
}

/// The summary says how many games were used, out of those that were read, and how many positions of
/// how many games.
#[test]
fn the_summary_names_the_unit() {
    let scratch = scratch();
    for (args, said) in [
        ("count g.pgn", "2 games"),
        ("count g.pgn --where plies==1", "1 of 2 games"),
        ("count g.pgn --positions", "5 positions of 2 games"),
        ("count - --positions=final", "2 positions of 2 games"),
        ("filter - --where plies==1 --count", "1 of 2 games"),
        ("filter g.pgn --where plies==1 --invert", "1 of 2 games"),
        ("filter g.pgn other.pgn --positions --where ply==1 --count", "3 positions of 3 games"),
        ("head -n 1 -", "1 game"),
        ("head -n 1 --to epd -", "1 position of 1 game"),
        ("sample -n 1 g.pgn", "1 of 2 games"),
        ("cat g.pgn -o o.pgn", "2 games"),
        ("cat g.pgn -o o.epd", "5 positions of 2 games"),
        ("subtract g.pgn other.pgn other.pgn", "1 of 2 games"),
        ("intersect g.pgn g.pgn other.pgn", "1 of 2 games"),
        ("intersect g.pgn other.pgn --by moves --memory 1K", "1 of 2 games"),
        ("subtract g.pgn other.pgn -o o.epd", "7 positions of 3 games"),
        ("union g.pgn other.pgn --positions", "7 positions of 3 games"),
        ("table --columns fen --positions=0 g.pgn", "2 positions of 2 games"),
        ("stats g.pgn --positions", "5 positions of 2 games"),
        ("convert g.pgn o.epd", "5 positions of 2 games"),
        ("count --positions final g.pgn", "--positions final is --positions=final now"),
    ] {
        let done = scratch.run_with(&args.split(' ').collect::<Vec<_>>(), scratch.read("g.pgn"));
        assert!(done.err.contains(&format!("epdb: {said}\n")), "{args}: {}", done.err);
        assert_eq!(done.status, 0, "{args}: {}", done.err);
    }
    // The summary of warnings, if nothing is selected.
    scratch.write("odd.pgn", "[White \"a\"]\n[White \"a\"]\n\n1. e4 *\n");
    for (unit, said) in [("", "0 games, 0 rejected, 1 left"), ("--positions", "0 records, ")] {
        let args = ["count", "odd.pgn", "--where", "plies == 9", unit];
        let done = scratch.run(&args[..args.len() - usize::from(unit.is_empty())]);
        assert!(done.err.contains(&format!("\n{said}")), "{unit}: {}", done.err);
    }
    assert_eq!(scratch.run(&["-q", "head", "g.pgn"]).err, "");
    let left = scratch.run(&["subtract", "g.pgn", "other.pgn"]).out;
    assert!(left.contains("[White \"a\"]") && !left.contains("[White \"b\"]"), "{left}");
}

/// Neither unit is right for games and records together, so nothing is done. The message has a way out.
#[test]
fn games_and_records_together_are_refused() {
    let scratch = scratch();
    for args in ["count", "head", "sort --by fen", "union", "subtract", "table --columns fen"] {
        let args: Vec<&str> = args.split(' ').chain(["a.epd", "g.pgn"]).collect();
        let done = scratch.run(&args);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{args:?}");
        let said =
            "g.pgn has games and a.epd has records: --positions reads the positions of the games";
        assert!(done.err.contains(said), "{args:?}: {}", done.err);
        let done = scratch.run(&[&args[..], &["--positions"]].concat());
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
        assert_eq!(unit(&done), "positions", "{args:?}");
    }
}

/// `count`, `filter --count` and `stats` select the same games and positions: ten tests of a position, each
/// of one position of a game, of the last one, the first one, all and none.
#[test]
fn commands_agree_on_what_an_expression_selects() {
    let games = "[White \"Ann\"]\n[WhiteElo \"2700\"]\n[Date \"2001.05.04\"]\n\n1. e4 e5 2. Qh5 Ke7 3. Qxe5# 1-0\n\n\
                 [White \"Bob\"]\n\n1. d4 d5 2. c4 dxc4 3. e3 b5 1/2-1/2\n\n\
                 [White \"Ann\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n[White \"Cy\"]\n\n*\n";
    let scratch = Scratch::with("g.pgn", games);
    let number = |line: &str| line.split_whitespace().last().unwrap().parse::<u64>().unwrap();
    let select = |unit: &[&str], expression: &str| {
        let [count, filter, stats] = ["count", "filter --count", "stats"].map(|command| {
            let args: Vec<&str> =
                command.split(' ').chain(["g.pgn", "--where", expression]).collect();
            let done = scratch.run(&[&args[..], unit].concat());
            assert_eq!(done.status, 0, "{args:?}: {}", done.err);
            number(done.out.lines().next().unwrap())
        });
        assert_eq!((count, count), (filter, stats), "{unit:?} {expression}");
        count
    };
    for (test, positions) in [
        ("check", 2),
        ("mate", 2),
        ("pieces < 32", 4),
        ("stm == 'b'", 8),
        ("ply >= 4", 6),
        ("on('P', 'e4')", 5),
        ("board('8/8/8/7Q/8/8/8/8')", 2),
        ("WhiteElo >= 2700", 6),
        ("White == 'Ann'", 11),
        ("passed", 0),
    ] {
        let [once, last, first, all, never] = ["T", "last(T)", "first(T)", "all(T)", "never(T)"]
            .map(|form| select(&[], &form.replace('T', test)));
        assert_eq!(select(&["--positions"], test), positions, "{test}");
        assert_eq!((once + never, once >= last.max(first).max(all)), (4, true), "{test}");
    }
}
