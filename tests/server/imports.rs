//! Stores are served in place, while other processes write to them.

use std::fs;
use std::io::Write;
use std::num::NonZeroU64;
use std::process::Child;
use std::time::{Duration, Instant};

use epdb_store::{ImportOptions, OnDuplicate, Store, StoreOptions};

use crate::libraries::{GAMES, games_library, suite};
use crate::scratch::Scratch;
use crate::server::Running;
use crate::sources::{LINE, unnumbered};

/// Longer than anything here takes on any machine.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn an_import_runs_next_to_the_server_and_appears() {
    let scratch = Scratch::with("suite.epd", suite());
    assert_eq!(scratch.run(&["import", "suite.epdb", "suite.epd"]).status, 0);
    let running = Running::start(&scratch, &["suite.epdb"]);
    assert_eq!(running.get(LINE).json()["recordCount"], 1);
    scratch.write("more.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"more\";\n");
    let done = scratch.run(&["import", "suite.epdb", "more.epd"]);
    assert_eq!(done.status, 0, "{}", done.err);
    running.wait_for_log("opened again source=\"suite\" records=4\n");
    assert_eq!(running.get(LINE).json()["recordCount"], 2);
}

/// A library and a delta are served like the library of all games, while games are imported into the
/// delta and after the delta was folded into the library.
#[test]
fn a_library_and_its_delta_are_served_as_one() {
    let scratch = games_library();
    let run = |args: &[&str]| {
        let done = scratch.run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    };
    run(&["pack", "games.epa", "--shards", "2", "-o", "sharded"]);
    let games = |name: &str, moves: &str| {
        let game = format!("[White \"{name}\"]\n[Result \"1-0\"]\n\n{moves} 1-0\n\n");
        scratch.write(&format!("{name}.pgn"), format!("{GAMES}{game}"));
    };
    games("Ann", "1. e4 c5 2. a3");
    games("Zoe", "1. a3");
    let base = "sharded/manifest.json";
    let import = |games: &str| run(&["import", "d.epdb", games, "--tally", "--base", base]);
    let rebuild = |files: &[&str]| {
        let options = ["--by", "month", "--keep-games", "3"];
        run(&[&["tally"], files, &["-o", "new.epdb"], &options[..]].concat());
        fs::rename(scratch.path("new.epdb"), scratch.path("all.epdb")).unwrap();
    };
    import("Ann.pgn");
    rebuild(&["games.pgn", "Ann.pgn"]);
    let running = Running::start(&scratch, &["all.epdb", &format!("sum={base}+d.epdb")]);
    let compare = || {
        for path in [
            "/api/position?",
            "/api/position?play=e2e4,c7c5&",
            "/masters?play=e2e4&topGames=9&",
            "/lichess?play=e2e4&recentGames=9&",
            "/lichess?",
        ] {
            let [all, sum] = ["all", "sum"].map(|source| {
                let mut answer = running.get(&format!("{path}source={source}")).json();
                answer["source"] = "".into();
                unnumbered(&mut answer);
                answer
            });
            assert_eq!(all, sum, "{path}");
        }
        let fens = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n";
        let [all, sum] = ["all", "sum"].map(|source| {
            running.post(&format!("/api/batch?source={source}"), fens.as_bytes()).body
        });
        assert_eq!(all, sum);
    };
    compare();
    import("Zoe.pgn");
    let records = |file: &str| -> u64 {
        scratch.run(&["count", file]).out.split_whitespace().next().unwrap().parse().unwrap()
    };
    let wait_for = |records: u64| {
        running.wait_for_log(&format!("opened again source=\"sum\" records={records}\n"));
    };
    wait_for(records(base) + records("d.epdb"));
    rebuild(&["games.pgn", "Ann.pgn", "Zoe.pgn"]);
    running.wait_for_log("opened again source=\"all\"");
    compare();
    // Another library is not the base of this delta.
    let other = scratch.run(&["serve", "all.epdb+d.epdb", "--listen", "127.0.0.1:0"]);
    assert_eq!(other.status, 2, "{}", other.err);
    assert!(other.err.contains("d.epdb: is the delta of a library"), "{}", other.err);
    let fold = ["shard", "merge", base, "--delta", "d.epdb", "--shards", "2", "-o", "sharded"];
    run(&[&fold[..], &["--force"]].concat());
    wait_for(records(base));
    compare();
}

/// Begins an import that goes on until it is given the rest.
fn import_without_an_end(scratch: &Scratch) -> Child {
    let mut importer = scratch.spawn(&["import", "suite.epdb", "-"]);
    importer.stdin.as_mut().unwrap().write_all(suite().as_bytes()).unwrap();
    let end = Instant::now() + LONG;
    // The flag that redb sets while a process has the file open for writing.
    while scratch.read("suite.epdb")[9] & 2 == 0 {
        assert!(Instant::now() < end, "it never opens the store");
    }
    importer
}

/// Served is what was committed last, whether its importer still lives or not. The store is free for the next
/// importer.
#[test]
fn a_store_is_served_that_an_importer_has_open_or_left_open() {
    let scratch = Scratch::with("suite.epd", suite());
    assert_eq!(scratch.run(&["import", "suite.epdb", "suite.epd"]).status, 0);
    let before = Running::start(&scratch, &["suite.epdb"]);
    let mut importer = import_without_an_end(&scratch);
    let meanwhile = Running::start(&scratch, &["suite.epdb"]);
    assert_eq!(meanwhile.get(LINE).json()["recordCount"], 1);
    importer.kill().unwrap();
    importer.wait().unwrap();
    let after = Running::start(&scratch, &["suite.epdb"]);
    for running in [&before, &meanwhile, &after] {
        assert_eq!(running.get(LINE).json()["recordCount"], 1);
    }
    scratch.write("more.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"more\";\n");
    let done = scratch.run(&["import", "suite.epdb", "more.epd"]);
    assert_eq!(done.status, 0, "{}", done.err);
    for running in [before, meanwhile, after] {
        running.wait_for_log("opened again source=\"suite\" records=4\n");
        assert_eq!(running.get(LINE).json()["recordCount"], 2);
        assert!(running.stop().0.success());
    }
    assert_eq!(scratch.names(), ["more.epd", "suite.epd", "suite.epdb"]);
}

/// A server sees the commits of an import that goes on, and does not make the file grow: the importer reuses the
/// space of the commits before.
// README: Others read while one imports
#[test]
fn commits_of_a_running_import_are_served() {
    const LINES: usize = 3000;
    const ROUNDS: usize = 12;
    let scratch = Scratch::new();
    let record = |number: usize| {
        let square = |rank: usize| ["p7", "1p6", "2p5", "3p4", "4p3", "5p2", "6p1", "7p"][rank % 8];
        let [a, b, c, d] = [number, number / 8, number / 64, number / 512].map(square);
        let line = format!("4k3/{a}/{b}/{c}/{d}/8/4P3/4K3 w - - id \"{number}\";");
        epdb_chess::parse_epd(line.as_bytes()).unwrap()
    };
    let options = StoreOptions { memory_bytes: 1 << 20, ..Default::default() };
    let sizes = [false, true].map(|is_served| {
        let name = format!("{is_served}.epdb");
        let store = Store::create(scratch.path(&name), &options).unwrap();
        let running = is_served.then(|| Running::start(&scratch, &[&name]));
        // Each round replaces all records and adds one.
        let replace = ImportOptions {
            on_duplicate: OnDuplicate::Replace,
            commit_every: NonZeroU64::new(1000),
            ..Default::default()
        };
        for round in 1..=ROUNDS {
            let mut importer = store.importer(&format!("{round}"), &replace).unwrap();
            (0..LINES + round).for_each(|number| importer.push(&record(number)).unwrap());
            importer.finish().unwrap();
            let records = LINES + round;
            if let Some(running) = &running {
                running.wait_for_log(&format!("opened again source=\"true\" records={records}\n"));
                let fen = record(records - 1).position().to_string().replace(' ', "_");
                let answer = running.get(&format!("/api/position?fen={fen}")).json();
                assert_eq!(answer["recordCount"], 1, "{answer}");
            }
        }
        fs::metadata(scratch.path(&name)).unwrap().len()
    });
    assert!(sizes[1] <= 4 * sizes[0], "{sizes:?}");
}
