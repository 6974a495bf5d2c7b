//! A base and its delta answer like one library of all games: also while the delta is written, while it
//! is folded into the base, and after a fold was killed.

use std::fs;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use epdb_archive::{Archive, ArchiveError, ArchiveWriter, PackOptions};
use epdb_chess::codec::tally_origin::GameSet;

use crate::scratch::Scratch;

/// A small generator of its own, so that the run is the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

const FIRST: [&str; 4] = ["1. e4 e5", "1. d4 d5", "1. Nf3 d5", "1. e4 c5"];
const SECOND: [&str; 3] = ["2. Nc3 Nf6", "2. g3 Nc6", "2. a3 a6"];
const RESULTS: [&str; 4] = ["1-0", "0-1", "1/2-1/2", "*"];

/// A game of two players with these ratings.
fn game(random: &mut Random, number: usize, elo: Option<usize>) -> String {
    let elo = elo.map_or(String::new(), |elo| {
        format!("[WhiteElo \"{elo}\"]\n[BlackElo \"{}\"]\n", elo + 10)
    });
    let (year, day) = (1990 + random.below(30), 1 + random.below(28));
    let result = RESULTS[random.below(4)];
    let (first, second) = (FIRST[random.below(4)], SECOND[random.below(3)]);
    format!(
        "[Event \"Cup\"]\n[Date \"{year}.05.{day:02}\"]\n[White \"A{number}\"]\n\
         [Black \"B{number}\"]\n{elo}[Result \"{result}\"]\n\n{first} {second} {result}\n\n"
    )
}

const OPTIONS: [&str; 4] = ["--by", "year,rating", "--keep-games", "3"];

/// Games of a base and of days after it, which repeat games; some copies have ratings that the first
/// copies lack.
fn days(random: &mut Random) -> [String; 4] {
    let plain: Vec<(String, String)> = (0..60)
        .map(|number| {
            let seed = random.below(1 << 30) as u64 + 1;
            let of = |elo| game(&mut Random(seed), number, elo);
            (of(None), of(Some(1500 + number * 10)))
        })
        .collect();
    let mut days: [String; 4] = Default::default();
    for (number, (bare, rated)) in plain.iter().enumerate() {
        let day = number % 4;
        days[day] += if number % 3 == 0 { bare } else { rated };
        // A copy on this or a later day.
        days[day + random.below(4 - day)] += if number % 5 < 2 { bare } else { rated };
    }
    days
}

/// `base.epa` of the first day, a sharded archive of it in `base`, and files of games for all days.
fn library() -> Scratch {
    let scratch = Scratch::new();
    for (number, day) in days(&mut Random(7)).iter().enumerate() {
        scratch.write(&format!("{number}.pgn"), day);
    }
    run(&scratch, &[&["tally", "0.pgn", "-o", "base.epa"], &OPTIONS[..]].concat());
    run(&scratch, &["pack", "base.epa", "--shards", "3", "-o", "base"]);
    scratch
}

fn run(scratch: &Scratch, args: &[&str]) -> String {
    let done = scratch.run(args);
    assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    done.out
}

/// Imports the games of a day; again if a fold is just giving the delta its other name, or has just made the
/// store of that name. The error then says to try again, and nothing was added.
fn import(scratch: &Scratch, day: usize, base: &str) {
    let games = format!("{day}.pgn");
    let import = ["import", "today.epdb", &games, "--tally", "--base", base];
    let done = loop {
        let done = scratch.run(&import);
        let waits = ["another process uses this store", "another process created it"];
        if !waits.iter().any(|reason| done.err.contains(reason)) {
            break done;
        }
    };
    assert_eq!(done.status, 0, "{}", done.err);
}

const FOLD: [&str; 10] = [
    "shard",
    "merge",
    "base/manifest.json",
    "--delta",
    "today.epdb",
    "--shards",
    "3",
    "-o",
    "base",
    "--force",
];
const SHARDED: &str = "base/manifest.json";

/// Compares a library with the library of the games of these days.
fn check(scratch: &Scratch, library: &str, days: usize) {
    let names: Vec<String> = (0..days).map(|day| format!("{day}.pgn")).collect();
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    let rebuilt = format!("rebuilt{days}.epdb");
    let answers = |library: &str, positions: &str| {
        [
            run(scratch, &["get", library, "-f", positions]),
            run(scratch, &["explore", library, "e4", "--json"]),
            run(scratch, &["games", library, "e4", "--json"]),
        ]
    };
    let [positions, expected] = ["epd", "txt"].map(|suffix| format!("{rebuilt}.{suffix}"));
    if !scratch.path(&rebuilt).exists() {
        run(scratch, &[&["tally"], &files[..], &["-o", &rebuilt], &OPTIONS[..]].concat());
        scratch.write(&positions, run(scratch, &["export", &rebuilt]));
        scratch.write(&expected, answers(&rebuilt, &positions).concat());
    }
    let found = answers(library, &positions).concat();
    assert_eq!(found, scratch.text(&expected), "{library}, {days} days");
}

#[test]
fn a_base_and_its_delta_answer_like_one_library() {
    let scratch = library();
    for base in ["base.epa", SHARDED] {
        let sum = format!("{base}+today.epdb");
        for days in 2..5 {
            import(&scratch, days - 1, base);
            check(&scratch, &sum, days);
        }
        let done = scratch.run(&["import", "today.epdb", "1.pgn", "--tally", "--base", base]);
        assert!(done.err.contains("already imported"), "{}", done.err);
        fs::remove_file(scratch.path("today.epdb")).unwrap();
    }
}

/// Whatever step a fold was killed after, base and delta answer right, and the same command completes
/// the fold.
#[test]
fn a_fold_can_be_interrupted_after_each_step() {
    let scratch = library();
    let sum = format!("{SHARDED}+today.epdb");
    import(&scratch, 1, SHARDED);
    fs::copy(scratch.path("today.epdb"), scratch.path("kept.epdb")).unwrap();

    // Before the manifest is written.
    fs::rename(scratch.path("today.epdb"), scratch.path("today.epdb.folding")).unwrap();
    check(&scratch, &sum, 2);
    import(&scratch, 2, SHARDED);
    check(&scratch, &sum, 3);
    run(&scratch, &FOLD);
    assert!(!scratch.path("today.epdb.folding").exists());
    check(&scratch, SHARDED, 2);
    check(&scratch, &sum, 3);

    // After the manifest was written.
    fs::copy(scratch.path("kept.epdb"), scratch.path("today.epdb.folding")).unwrap();
    check(&scratch, &sum, 3);
    import(&scratch, 3, SHARDED);
    check(&scratch, &sum, 4);
    let done = scratch.run(&FOLD);
    assert!(done.err.contains("has the games of the interrupted fold already"), "{}", done.err);
    check(&scratch, SHARDED, 2);
    check(&scratch, &sum, 4);
    run(&scratch, &FOLD);
    check(&scratch, SHARDED, 4);
    check(&scratch, &sum, 4);
    assert!(scratch.run(&FOLD).err.contains("nothing to do"));
}

/// A fold that was killed before it had made the empty store is completed, and there is a delta again.
#[test]
fn a_delta_that_was_folded_is_still_there() {
    let scratch = library();
    let sum = format!("{SHARDED}+today.epdb");
    import(&scratch, 1, SHARDED);
    fs::rename(scratch.path("today.epdb"), scratch.path("today.epdb.folding")).unwrap();
    run(&scratch, &FOLD);
    check(&scratch, SHARDED, 2);
    check(&scratch, &sum, 2);
}

/// An import into the delta runs while the fold is killed and repeated.
#[test]
fn imports_go_on_while_a_fold_is_killed_and_repeated() {
    let scratch = library();
    let sum = format!("{SHARDED}+today.epdb");
    import(&scratch, 1, SHARDED);
    let is_there = |name: &str| Path::new(&scratch.path(name)).exists();
    let mut fold = scratch.spawn(&FOLD);
    while !is_there("today.epdb.folding") && fold.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    import(&scratch, 2, SHARDED);
    check(&scratch, &sum, 3);
    fold.kill().unwrap();
    fold.wait().unwrap();
    check(&scratch, &sum, 3);
    let mut fold = scratch.spawn(&FOLD);
    import(&scratch, 3, SHARDED);
    check(&scratch, &sum, 4);
    fold.wait().unwrap();
    check(&scratch, &sum, 4);
    let ends = (0..4).any(|_| scratch.run(&FOLD).err.contains("nothing to do"));
    assert!(ends);
    check(&scratch, SHARDED, 4);
    check(&scratch, &sum, 4);
}

#[test]
fn games_are_not_counted_twice_without_a_message() {
    let scratch = library();
    let wrong = scratch.run(&["import", "today.epdb", "1.pgn", "--base", SHARDED]);
    assert!(wrong.err.contains("--tally"), "{}", wrong.err);
    let other = ["import", "other.epdb", "1.pgn", "--tally", "--max-ply", "2", "--base", SHARDED];
    let other = scratch.run(&other);
    assert!(other.err.contains("base/manifest.json: built with"), "{}", other.err);
    // A library of its own may count the same games.
    run(&scratch, &[&["import", "today.epdb", "0.pgn", "1.pgn", "--tally"], &OPTIONS[..]].concat());
    for args in [&FOLD[..], &["import", "today.epdb", "2.pgn", "--tally", "--base", SHARDED]] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}");
        assert!(done.err.contains("today.epdb: is a library of its own"), "{}", done.err);
    }
    assert!(scratch.path("today.epdb").exists());
    fs::remove_file(scratch.path("today.epdb")).unwrap();
    import(&scratch, 1, SHARDED);
    run(&scratch, &["pack", "base.epa", "--shards", "1", "-o", "another"]);
    let other = [&FOLD[..8], &["another", "--force"]].concat();
    let done = scratch.run(&other);
    assert!(done.status != 0 && done.err.contains("is not the base"), "{}", done.err);
}

/// A base and its delta are refused everywhere if the delta was not counted against this base.
#[test]
fn a_delta_of_another_base_is_refused() {
    let scratch = library();
    import(&scratch, 1, "base.epa");
    run(&scratch, &["convert", "base.epa", "base.epdb"]);
    run(&scratch, &["convert", "base.epa", "same.epa"]);
    let all = [&["tally", "0.pgn", "1.pgn", "-o", "all.epa"], &OPTIONS[..]].concat();
    run(&scratch, &all);
    run(&scratch, &["pack", "all.epa", "--shards", "2", "-o", "all"]);
    run(&scratch, &[&["tally", "2.pgn", "-o", "other.epa"], &OPTIONS[..]].concat());
    fs::copy(scratch.path("today.epdb"), scratch.path("copy.epdb")).unwrap();
    fs::hard_link(scratch.path("today.epdb"), scratch.path("linked.epdb")).unwrap();
    // Other files with the games of the base are the base.
    for base in ["base.epa", SHARDED, "base.epdb", "same.epa"] {
        check(&scratch, &format!("{base}+today.epdb"), 2);
    }
    let twice = "names one file twice";
    let other = "is the delta of a";
    let cases = [
        ("all.epa+today.epdb", other),
        ("all/manifest.json+today.epdb", other),
        ("other.epa+today.epdb", other),
        ("base.epa+today.epdb+today.epdb", twice),
        ("base.epa+today.epdb+linked.epdb", twice),
        ("base.epa+today.epdb+copy.epdb", other),
        ("today.epdb+today.epdb", twice),
        ("./today.epdb+today.epdb", twice),
        ("today.epdb+copy.epdb", other),
        ("base.epa+base.epdb", "is a library of its own, not the delta of base.epa"),
        ("base.epdb+base.epdb", twice),
    ];
    for (source, reason) in cases {
        for command in
            [&["explore", source, "e4"][..], &["get", source, "startpos"], &["games", source]]
        {
            let done = scratch.run(command);
            assert_eq!((done.status, done.out.as_str()), (2, ""), "{command:?}: {}", done.err);
            assert!(done.err.contains(reason), "{command:?}: {}", done.err);
        }
        for command in ["export", "stats"] {
            let done = scratch.run(&[command, source]);
            assert_eq!(
                (done.status, done.out.as_str()),
                (2, ""),
                "{command} {source}: {}",
                done.err
            );
        }
    }
    // Nor are games counted into it, or the delta folded into another base.
    let import = ["import", "today.epdb", "2.pgn", "--tally"];
    let based = |base| scratch.run(&[&import[..], &["--base", base]].concat());
    for base in ["all.epa", "all/manifest.json", "other.epa"] {
        let done = based(base);
        assert_eq!(done.status, 2, "{base}");
        assert!(done.err.contains("today.epdb: is the delta of a"), "{}", done.err);
        let fold = ["shard", "merge", base, "--delta", "today.epdb", "--shards", "2", "-o", "new"];
        let done = scratch.run(&fold);
        assert_eq!(done.status, 2, "{base}");
        let is_named = done.err.contains("today.epdb: is the delta of a")
            || done.err.contains("today.epdb: the base has all of its games already");
        assert!(is_named, "{}", done.err);
        assert!(!scratch.path("new").exists() && scratch.path("today.epdb").exists());
    }
    let unbased = scratch.run(&import);
    assert_eq!(unbased.status, 2);
    assert!(unbased.err.contains("today.epdb: is the delta of a library"), "{}", unbased.err);
    for sum in [
        &["union", "base.epa", "today.epdb", "-o", "sum.epa"][..],
        &["import", "base.epdb", "today.epdb"],
    ] {
        let done = scratch.run(sum);
        assert_eq!(done.status, 2, "{sum:?}: {}", done.err);
        assert!(done.err.contains("can only be added to that library"), "{}", done.err);
    }
    let done = based("same.epa");
    assert_eq!(done.status, 0, "{}", done.err);
    check(&scratch, "base.epa+today.epdb", 3);
}

/// The games of a large base are not loaded to count one game into a delta: the memory does not suffice for them.
#[cfg(target_os = "linux")]
#[test]
fn a_game_is_counted_without_loading_the_games_of_the_base() {
    let scratch = library();
    let base = Archive::open(scratch.path("base.epa")).unwrap();
    let mut ledger = base.tally_ledger().unwrap().unwrap();
    let games = ledger.games.get_or_insert_default();
    for number in 0..2_000_000_u64 {
        let mut digest = [0; 16];
        digest[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        games.insert(digest);
    }
    let mut set = GameSet::default();
    games.iter().for_each(|game| set.add(&game));
    ledger.origin.games = Some(set);
    let file = BufWriter::new(fs::File::create(scratch.path("large.epa")).unwrap());
    let mut writer = ArchiveWriter::new(file, PackOptions::default()).unwrap();
    writer.set_tally_ledger(ledger);
    let copied = base.each_record(0..base.len(), |record| {
        writer.push(&record)?;
        Ok::<_, ArchiveError>(ControlFlow::Continue(()))
    });
    assert!(copied.unwrap().is_continue());
    writer.finish().unwrap().flush().unwrap();
    let with_little_memory = |command: &str| {
        let line = format!("ulimit -d 40000; exec \"$epdb\" {command} --memory 16M --threads 1");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("epdb", env!("CARGO_BIN_EXE_epdb"));
        shell.current_dir(scratch.path("")).output().unwrap()
    };
    let done = with_little_memory("import today.epdb 1.pgn --tally --base large.epa");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // A store has all games in one row.
    assert!(!with_little_memory("convert large.epa large.epdb").status.success());
}

/// A base that grows is another base, and a fold gives the delta that follows the base with its games.
#[test]
fn a_delta_stays_valid_after_a_fold() {
    let scratch = library();
    let sum = format!("{SHARDED}+today.epdb");
    import(&scratch, 1, SHARDED);
    run(&scratch, &["pack", "base.epa", "--shards", "2", "-o", "kept"]);
    let done = scratch.run(&FOLD);
    assert!(
        done.err.contains("base: 4 files of earlier manifests may still be read"),
        "{}",
        done.err
    );
    check(&scratch, &sum, 2);
    import(&scratch, 2, SHARDED);
    check(&scratch, &sum, 3);
    let done = scratch.run(&["explore", "kept/manifest.json+today.epdb", "e4"]);
    assert_eq!((done.status, done.out.as_str()), (2, ""), "{}", done.err);
    run(&scratch, &FOLD);
    check(&scratch, SHARDED, 3);
    // An empty delta is folded into a new folder: the base is written alone.
    let fold = ["shard", "merge", SHARDED, "--delta", "today.epdb", "--shards", "4", "-o", "new"];
    run(&scratch, &fold);
    check(&scratch, "new/manifest.json", 3);
    check(&scratch, "new/manifest.json+today.epdb", 3);
}

/// The table of a delta alone has the games of the delta; the games that it takes off its base are not
/// printed as text below it.
#[test]
fn a_delta_alone_shows_its_own_games() {
    let scratch = library();
    (1..4).for_each(|day| import(&scratch, day, SHARDED));
    assert!(run(&scratch, &["export", "today.epdb"]).contains("tally_less"));
    for source in ["today.epdb", "base/manifest.json+today.epdb"] {
        let table = run(&scratch, &["explore", source]);
        assert!(!table.contains("tally_less"), "{table}");
    }
}

/// A folder may have a `+` in its name.
/// A file with the name of the pair would hide both.
#[test]
fn no_file_gets_the_name_of_a_base_and_its_delta() {
    let scratch = library();
    import(&scratch, 1, "base.epa");
    for arguments in [
        ["import", "base.epa+today.epdb", "1.pgn", "--tally"],
        ["import", "base.epa+none.epdb", "1.pgn", "--tally"],
        ["tally", "1.pgn", "-o", "base.epa+today.epdb"],
        ["convert", "base.epa", "base.epa+none.epdb", "--force"],
    ] {
        let done = scratch.run(&arguments);
        assert_eq!(done.status, 2, "{arguments:?}: {}", done.err);
        assert!(done.err.contains("stands for base.epa and its delta"), "{}", done.err);
        assert!(!scratch.path("base.epa+today.epdb").exists());
    }
}

#[test]
fn folders_of_deltas_may_have_a_plus() {
    let scratch = library();
    fs::create_dir(scratch.path("a+b.epdb+c")).unwrap();
    for (base, delta) in
        [("base.epa", "a+b.epdb+c/day.epdb"), ("a+b.epdb+c/base.epa", "today.epdb")]
    {
        if base != "base.epa" {
            fs::copy(scratch.path("base.epa"), scratch.path(base)).unwrap();
        }
        run(&scratch, &["import", delta, "1.pgn", "--tally", "--base", base]);
        check(&scratch, &format!("{base}+{delta}"), 2);
    }
}

/// The caller decides how many records it needs, and each record has its own number.
#[test]
fn lookups_in_a_base_and_its_delta_stop() {
    use epdb_source::{Collection, Lookup};
    use std::ops::ControlFlow;

    let line = "4k3/8/8/8/8/8/4P3/4K3 w - -";
    let lines = |from: usize| {
        (from..from + 300).map(|it| format!("{line} id \"{it}\";\n")).collect::<String>()
    };
    let scratch = Scratch::with("a.epd", lines(0));
    scratch.write("b.epd", lines(300));
    run(&scratch, &["pack", "a.epd", "-o", "a.epa"]);
    run(&scratch, &["import", "b.epdb", "b.epd"]);
    let both = Collection::open(pair(&scratch, "a.epa", "b.epdb"), 64 << 20).unwrap();
    let query = query(line);
    let text = |record: &epdb_chess::model::EpdRecord| {
        String::from_utf8(epdb_chess::format_epd(record)).unwrap()
    };
    for wanted in [1, 2, 299, 300, 301, 600] {
        let mut seen = 0_u64;
        both.get_batch(&[query, query], &mut |place, found| {
            if place == 0 {
                assert_eq!(found.number(), seen);
                let expected = format!("{line} id \"{seen}\";");
                assert_eq!(text(&found.record().unwrap()), expected);
                seen += 1;
            }
            let is_enough = place == 1 || seen == wanted;
            Ok(if is_enough {
                ControlFlow::Break(epdb_chess::codec::query::SkipTo::NextQuery)
            } else {
                ControlFlow::Continue(())
            })
        })
        .unwrap();
        assert_eq!(seen, wanted);
    }
    for number in [0, 299, 300, 599] {
        let record = both.record(number).unwrap().unwrap();
        assert_eq!(text(&record), format!("{line} id \"{number}\";"));
    }
    assert_eq!(both.record(600).unwrap(), None);
}

/// A source that stays open reads a base again that a fold has replaced.
#[test]
fn an_open_delta_survives_a_fold() {
    use epdb_source::{Collection, Lookup, repeat_if_replaced};

    let scratch = library();
    import(&scratch, 1, SHARDED);
    let both = Collection::open(pair(&scratch, SHARDED, "today.epdb"), 64 << 20).unwrap();
    let positions = run(&scratch, &["export", SHARDED]);
    scratch.write("positions", &positions);
    let queries: Vec<_> = positions.lines().map(query).collect();
    let before = run(&scratch, &["shard", "list", SHARDED, "--json"]);
    run(&scratch, &FOLD);
    for line in before.lines() {
        let shard: serde_json::Value = serde_json::from_str(line).unwrap();
        fs::remove_file(scratch.path("base").join(shard["file"].as_str().unwrap())).ok();
    }
    let found = repeat_if_replaced(&both, || both.records(&queries, &|_| false)).unwrap();
    let expected: Vec<String> =
        run(&scratch, &["get", SHARDED, "-f", "positions"]).lines().map(String::from).collect();
    let text = |record: &_| String::from_utf8(epdb_chess::format_epd(record)).unwrap();
    let found: Vec<String> = found.concat().iter().map(text).collect();
    assert_eq!(found, expected);
}

/// The name of a base and its delta, from any folder.
fn pair(scratch: &Scratch, base: &str, delta: &str) -> String {
    format!("{}+{}", scratch.path(base).display(), scratch.path(delta).display())
}

/// The position of a line.
fn query(line: &str) -> epdb_chess::codec::query::Query {
    epdb_chess::parse_epd(line.as_bytes()).unwrap().position().into()
}

/// Records of a store and of an archive that are not libraries are all found, those of the base first.
#[test]
fn records_of_both_are_found() {
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - -";
    let scratch = Scratch::with("a.epd", format!("{line} id \"a\";\n"));
    scratch.write("b.epd", format!("{line} id \"b\";\n{line} id \"c\";\n"));
    run(&scratch, &["pack", "a.epd", "-o", "a.epa"]);
    run(&scratch, &["import", "b.epdb", "b.epd"]);
    let found = run(&scratch, &["get", "a.epa+b.epdb", line]);
    assert_eq!(found, ["a", "b", "c"].map(|id| format!("{line} id \"{id}\";\n")).concat());
    let first = run(&scratch, &["get", "a.epa+b.epdb", line, "--first"]);
    assert_eq!(first, format!("{line} id \"a\";\n"));
    assert_eq!(run(&scratch, &["export", "a.epa+b.epdb"]), found);
    let refused = scratch.run(&["verify", "a.epa+b.epdb"]);
    let said = "verify each file by itself";
    assert!(refused.status != 0 && refused.err.contains(said), "{}", refused.err);
    let library = "0.pgn";
    scratch.write(library, days(&mut Random(7))[0].clone());
    run(&scratch, &["import", "games.epdb", library, "--tally"]);
    let mixed = scratch.run(&["get", "a.epa+games.epdb", line]);
    assert!(mixed.err.contains("the base a.epa is not a library"), "{}", mixed.err);
}
