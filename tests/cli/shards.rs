//! Sharded archives answer like one archive.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use crate::scratch::Scratch;
use crate::targets::pawns;

/// Games that meet and part.
const GAMES: &str = "[Event \"Cup\"]\n[Date \"1992.11.04\"]\n[White \"Ann\"]\n[Black \"Eve\"]\n[WhiteElo \"2400\"]\n[BlackElo \"2500\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O 1-0\n\n\
[Event \"?\"]\n[Date \"2001.??.??\"]\n[White \"Bob\"]\n[Black \"Dan\"]\n[Result \"0-1\"]\n\n1. Nf3 e5 2. e4 Nc6 3. Bc4 Bc5 4. c3 Nf6 0-1\n\n";
const MORE: &str = "[White \"Cy\"]\n[Date \"2020.05.??\"]\n[Result \"1/2-1/2\"]\n\n1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 1/2-1/2\n\n\
[White \"Flo\"]\n[WhiteElo \"2000\"]\n[BlackElo \"2001\"]\n[Result \"*\"]\n\n1. e4 e5 2. Nf3 d6 *\n\n";

/// Libraries of two files of games, each alone and both together.
fn libraries() -> Scratch {
    let scratch = Scratch::with("a.pgn", GAMES);
    scratch.write("b.pgn", MORE);
    for (library, files) in [("a.epa", "a.pgn"), ("b.epa", "b.pgn")] {
        run(&scratch, &["tally", files, "-o", library, "--keep-games", "2"]);
    }
    run(&scratch, &["tally", "a.pgn", "b.pgn", "-o", "all.epdb", "--keep-games", "2"]);
    run(&scratch, &["pack", "all.epdb", "-o", "one.epa", "--level", "fast", "--sorted"]);
    scratch
}

/// Runs a command that must succeed, and returns its output.
fn run(scratch: &Scratch, args: &[&str]) -> String {
    let done = scratch.run(args);
    assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    done.out
}

#[test]
fn a_merged_library_answers_like_the_library_of_all_games() {
    let scratch = libraries();
    let commands: [&[&str]; 7] = [
        &["export", "FILE"],
        &["explore", "FILE"],
        &["explore", "FILE", "e4", "e5"],
        &["games", "FILE", "e4", "e5"],
        &["get", "FILE", "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -"],
        &["count", "FILE"],
        &["count", "FILE", "--where", "games > 1"],
    ];
    for shards in ["1", "3", "8"] {
        let folder = format!("s{shards}");
        run(&scratch, &["shard", "merge", "a.epa", "b.epa", "--shards", shards, "-o", &folder]);
        let manifest = format!("{folder}/manifest.json");
        assert_eq!(run(&scratch, &["verify", &manifest]), format!("{manifest}: no damage found\n"));
        for command in commands {
            let of = |file: &str| {
                let args: Vec<&str> =
                    command.iter().map(|arg| if *arg == "FILE" { file } else { arg }).collect();
                run(&scratch, &args)
            };
            let (sharded, one) = (of(&manifest), of("one.epa"));
            // The order of records is that of the shards.
            match command[0] {
                "export" => assert_eq!(sorted(&sharded), sorted(&one), "{shards} shards"),
                _ => assert_eq!(sharded, one, "{shards} shards: {command:?}"),
            }
        }
    }
    // One shard has the records in the order of one library of all games.
    run(&scratch, &["tally", "a.pgn", "b.pgn", "-o", "order.epa", "--keep-games", "2"]);
    assert_eq!(
        run(&scratch, &["export", "s1/manifest.json"]),
        run(&scratch, &["export", "order.epa"])
    );
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Names and bytes of all files of a folder.
fn content(scratch: &Scratch, folder: &str) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(scratch.path(folder)).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
}

fn assert_same_content(scratch: &Scratch, one: &str, other: &str) {
    assert!(content(scratch, one) == content(scratch, other), "{one} and {other}");
}

#[test]
fn the_bytes_do_not_depend_on_the_order_of_libraries() {
    let scratch = libraries();
    for (folder, runs) in [("x", ["a.epa", "b.epa"]), ("y", ["b.epa", "a.epa"])] {
        run(&scratch, &["shard", "merge", runs[0], runs[1], "--shards", "3", "-o", folder]);
    }
    assert_same_content(&scratch, "x", "y");
    // Three shards, the games and the manifest.
    assert_eq!(content(&scratch, "x").len(), 5);
}

#[test]
fn another_number_of_shards_has_the_same_content() {
    let scratch = libraries();
    let merge = |shards, folder| {
        run(&scratch, &["shard", "merge", "a.epa", "b.epa", "--shards", shards, "-o", folder]);
    };
    merge("3", "three");
    merge("5", "five");
    // An earlier name of the command.
    run(&scratch, &["shard", "split", "three/manifest.json", "--shards", "5", "-o", "split"]);
    let export =
        |folder: &str| run(&scratch, &["export", &format!("{folder}/manifest.json"), "-q"]);
    assert_eq!(sorted(&export("split")), sorted(&export("five")));
    let games = |folder: &str| {
        let of_games =
            |(name, _): &(OsString, Vec<u8>)| name.to_string_lossy().starts_with("games-");
        content(&scratch, folder).into_iter().find(of_games)
    };
    assert!(games("split").is_some() && games("split") == games("five"));
}

/// The digests of the games come back from the shards, so shared games are known.
#[test]
fn a_sharded_library_is_packed_with_its_games_and_digests() {
    let scratch = libraries();
    run(&scratch, &["shard", "merge", "a.epa", "b.epa", "--shards", "3", "-o", "x"]);
    run(&scratch, &["pack", "x/manifest.json", "-o", "back.epa"]);
    let stored = |file: &str| {
        let lines = run(&scratch, &["stats", file]);
        // A store does not say who wrote it.
        let is_same = |line: &&str| !line.contains("a position") && !line.contains("writer:");
        let of_library = |line: &&str| line.starts_with("  ") && is_same(line);
        lines.lines().filter(of_library).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(stored("back.epa"), stored("x/manifest.json"));
    assert_eq!(stored("back.epa"), stored("all.epdb"));
    for library in ["back.epa", "x/manifest.json"] {
        let done = scratch.run(&["union", library, "b.epa", "-o", "u.epa"]);
        assert_eq!(done.status, 2, "{library}");
        assert!(done.err.contains("shares 2 games"), "{}", done.err);
    }
    let shard = run(&scratch, &["shard", "list", "x/manifest.json", "--json"]);
    let shard: serde_json::Value = serde_json::from_str(shard.lines().next().unwrap()).unwrap();
    let alone = format!("x/{}", shard["file"].as_str().unwrap());
    let done = scratch.run(&["union", &alone, "a.epa", "-o", "u.epa"]);
    assert!(done.err.contains("pruned (shard 1-of-3)"), "{}", done.err);
}

#[test]
fn rare_positions_are_left_out_after_the_tallies_were_added() {
    let scratch = libraries();
    let merge = ["shard", "merge", "a.epa", "b.epa", "--shards", "3", "--min-games", "2"];
    run(&scratch, &[&merge[..], &["-o", "x"]].concat());
    let expected = run(&scratch, &["export", "one.epa", "--min-games", "2", "-q"]);
    assert!(expected.lines().count() > 1);
    assert_eq!(sorted(&run(&scratch, &["export", "x/manifest.json", "-q"])), sorted(&expected));
    assert!(run(&scratch, &["stats", "x/manifest.json"]).contains("pruned"));
    assert_eq!(run(&scratch, &["verify", "x/manifest.json"]), "x/manifest.json: no damage found\n");
}

const SUITE: &str = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"one\";
8/8/8/4k3/8/1K6/8/8 b - - id \"two\";
4k3/8/8/8/8/8/4P3/4K3 w - - id \"again\";
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm d4 e4;
4k3/8/8/8/4P3/8/8/4K3 b - - ce -30;
";

/// Records that are not tallies stay all, in the order of the shards and of the input.
#[test]
fn commands_on_records_take_sharded_archives() {
    let scratch = Scratch::with("a.epd", SUITE);
    scratch.write("other.epd", "8/8/8/4k3/8/1K6/8/8 b - - bm Kd4;\n");
    let commands: [&[&str]; 12] = [
        &["export", "FILE"],
        &["export", "FILE", "--range", "1..4"],
        &["normalize", "FILE"],
        &["count", "FILE"],
        &["count", "FILE", "--where", "has(bm)"],
        &["get", "FILE", "8/8/8/4k3/8/1K6/8/8 b - -"],
        &["get", "FILE", "-f", "a.epd"],
        &["join", "other.epd", "FILE", "--take", "id"],
        &["subtract", "other.epd", "FILE"],
        &["diff", "FILE", "keys.epd"],
        &["table", "FILE", "--columns", "id,ce"],
        &["union", "FILE", "FILE"],
    ];
    for shards in ["1", "3", "8"] {
        for level in ["fast", "default"] {
            let folder = format!("{level}{shards}");
            let make = ["pack", "a.epd", "--shards", shards, "--level", level];
            run(&scratch, &[&make[..], &["-o", &folder]].concat());
            let manifest = format!("{folder}/manifest.json");
            run(&scratch, &["verify", &manifest]);
            run(&scratch, &["export", &manifest, "-o", "keys.epd", "--force"]);
            run(&scratch, &["pack", "keys.epd", "-o", "one.epa", "--force"]);
            // At level fast, the second record of a position is the last of its shard.
            let wanted = if level == "fast" { &commands[3..7] } else { &commands };
            for command in wanted {
                let of = |file: &str| {
                    let words = command.iter().map(|arg| if *arg == "FILE" { file } else { arg });
                    run(&scratch, &words.collect::<Vec<_>>())
                };
                assert_eq!(of(&manifest), of("one.epa"), "{folder}: {command:?}");
            }
        }
    }
}

#[test]
fn archives_without_tallies_are_joined_in_the_order_of_the_files() {
    let scratch = Scratch::with("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\";\n");
    scratch.write("b.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"b\";\n");
    for (files, expected) in [(["a.epd", "b.epd"], ["a", "b"]), (["b.epd", "a.epd"], ["b", "a"])] {
        let merge = ["shard", "merge", files[0], files[1], "--shards", "2", "--force", "-o", "x"];
        run(&scratch, &merge);
        let text = run(&scratch, &["export", "x/manifest.json"]);
        let ids: Vec<&str> = text.lines().map(|line| line.split('"').nth(1).unwrap()).collect();
        assert_eq!(ids, expected);
    }
}

/// The first shard is there, so the merge is under way when it is killed.
#[cfg(unix)]
#[test]
fn a_killed_merge_leaves_no_manifest_and_can_be_repeated() {
    let scratch = libraries();
    scratch.write("many.epd", (0..512).map(|nth| pawns(nth) + "\n").collect::<String>());
    let merge = ["shard", "merge", "many.epd", "--shards", "512"];
    let mut child = scratch.spawn(&[&merge[..], &["-o", "x"]].concat());
    let begun = || {
        let names = fs::read_dir(scratch.path("x")).into_iter().flatten().map(Result::unwrap);
        names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("1-of"))
    };
    while !begun() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!scratch.path("x/manifest.json").exists());
    let small = ["shard", "merge", "a.epa", "b.epa", "--shards", "3", "-o"];
    run(&scratch, &[&small[..], &["x"]].concat());
    run(&scratch, &[&small[..], &["y"]].concat());
    let export =
        |folder: &str| run(&scratch, &["export", &format!("{folder}/manifest.json"), "-q"]);
    assert_eq!(export("x"), export("y"));
}

/// What is left of a damaged shard, and all other shards, are still written, counted and found.
#[test]
fn records_of_other_shards_are_exported() {
    let scratch = libraries();
    scratch.write("in.epd", run(&scratch, &["export", "a.epa", "-q"]));
    run(&scratch, &["pack", "in.epd", "-o", "x", "--shards", "3"]);
    let all = run(&scratch, &["export", "x/manifest.json"]);
    let list = run(&scratch, &["shard", "list", "x/manifest.json", "--json"]);
    let shard: serde_json::Value = serde_json::from_str(list.lines().nth(1).unwrap()).unwrap();
    let path = scratch.path("x").join(shard["file"].as_str().unwrap());
    let records = shard["records"].as_u64().unwrap() as usize;
    let sound = fs::read(&path).unwrap();
    let mut of_other_magic = sound.clone();
    of_other_magic[0] ^= 1;
    for (bytes, lost, named) in [
        (Some(of_other_magic), 0, "damaged: header, bytes 0 to 31; no record is lost"),
        // The header of a shard does not have the hash of the tables.
        (Some([&sound[..], b"\n"].concat()), 0, "damaged: end of the file"),
        (Some(sound[..sound.len() - 60].to_vec()), 0, "damaged: end of the file"),
        (Some(b"another file".to_vec()), records, "not an epdb archive: its "),
        (None, records, "it is missing; "),
    ] {
        match bytes {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let left = all.lines().count() - lost;
        for args in
            [&["export"][..], &["export", "--where", "!has(bm)"], &["convert", "--to", "epd"]]
        {
            let more: &[&str] = if args[0] == "convert" { &["-"] } else { &[] };
            let done = scratch.run(&[args, &["x/manifest.json"], more].concat());
            assert!(done.status == 1 && done.err.contains(named), "{args:?}: {}", done.err);
            let mut rest = all.lines();
            assert!(done.out.lines().all(|line| rest.any(|other| other == line)));
            assert_eq!(done.out.lines().count(), left, "{args:?}: {named}");
        }
        let counted = scratch.run(&["count", "x/manifest.json"]);
        assert_eq!((counted.status, counted.out), (1, format!("{left}\n")), "{}", counted.err);
        assert_eq!(scratch.run(&["stats", "x/manifest.json"]).status, 1);
        let last = all.lines().last().unwrap();
        let found = scratch.run(&["get", "x/manifest.json", last]);
        assert!(found.out.contains(last), "{named}: {}", found.err);
    }
}

#[test]
fn faults_of_a_sharded_archive_are_named() {
    let scratch = libraries();
    run(&scratch, &["shard", "merge", "a.epa", "b.epa", "--shards", "3", "-o", "x"]);
    let list = run(&scratch, &["shard", "list", "x/manifest.json", "--json"]);
    let shard: serde_json::Value = serde_json::from_str(list.lines().nth(1).unwrap()).unwrap();
    let name = shard["file"].as_str().unwrap();
    fs::remove_file(scratch.path("x").join(name)).unwrap();
    let named = format!("x/manifest.json: shard {name}: ");
    for (command, status) in [("export", 1), ("stats", 1), ("count", 1), ("normalize", 2)] {
        let done = scratch.run(&[command, "x/manifest.json", "--where", "reached > 0"]);
        assert_eq!(done.status, status, "{command}");
        assert!(done.err.contains(&named), "{command}: {}", done.err);
    }
    let verified = scratch.run(&["shard", "verify", "x/manifest.json"]);
    assert_eq!(verified.status, 1);
    assert!(verified.out.contains(&named), "{}", verified.out);
    let text = scratch.text("x/manifest.json").replace("x", "y");
    scratch.write("x/manifest.json", text.replace("records", "record"));
    let done = scratch.run(&["export", "x/manifest.json"]);
    assert!(done.err.contains("x/manifest.json: damaged: "), "{}", done.err);
    let piped = scratch.run_with(&["export", "-"], scratch.text("x/manifest.json"));
    assert_eq!((piped.status, piped.out.as_str()), (2, ""), "it has no folder");
    assert!(piped.err.contains("a manifest is read from its folder"), "{}", piped.err);
}

/// More than 512 shards are in lists, which the commands read like the manifest. A later manifest leaves them behind
/// like shards.
#[test]
fn commands_take_sharded_archives_with_lists() {
    let scratch = Scratch::new();
    let mut lines = String::new();
    for (black, white) in (0..8).flat_map(|black| (0..48).map(move |white| (black, white))) {
        let row = |king, file| format!("{}{king}{}", "1".repeat(file), "1".repeat(7 - file));
        let mut ranks = vec!["8".to_string(); 8];
        ranks[0] = row('k', black);
        ranks[2 + white / 8] = row('K', white % 8);
        let board = ranks.join("/");
        lines += &format!("{board} w - -\n{board} b - -\n");
    }
    scratch.write("a.epd", lines);
    run(&scratch, &["pack", "a.epd", "--shards", "513", "--level", "fast", "-o", "x"]);
    run(&scratch, &["pack", "a.epd", "-o", "a.epa"]);
    let manifest = "x/manifest.json";
    let listed = run(&scratch, &["shard", "list", manifest, "--json"]);
    assert_eq!(listed.lines().count(), 513);
    let read: serde_json::Value = serde_json::from_str(&scratch.text(manifest)).unwrap();
    assert_eq!(
        (read["lists"].as_array().unwrap().len(), &read["shards"]),
        (3, &serde_json::Value::Null)
    );
    assert!(run(&scratch, &["shard", "list", manifest]).contains(": 768 records in 513 shards, "));
    assert_eq!(run(&scratch, &["count", manifest]), "768\n");
    run(&scratch, &["shard", "verify", manifest]);
    run(&scratch, &["shard", "merge", manifest, "--shards", "2", "-o", "y"]);
    let exported = run(&scratch, &["export", "a.epa"]);
    for folder in ["x", "y"] {
        let shards = run(&scratch, &["export", &format!("{folder}/manifest.json")]);
        assert_eq!(sorted(&shards), sorted(&exported));
    }

    let list = read["lists"][1]["file"].as_str().unwrap();
    let named = format!("{manifest}: shard {list}: ");
    scratch.write(
        &format!("x/{list}"),
        scratch.text(&format!("x/{list}")).replace("records", "record"),
    );
    let verified = scratch.run(&["shard", "verify", manifest]);
    assert_eq!(verified.status, 1, "{}", verified.err);
    assert!(verified.out.contains(&format!("{named}not the list of shards")), "{}", verified.out);
    fs::remove_file(scratch.path(&format!("x/{list}"))).unwrap();
    assert_eq!(scratch.run(&["shard", "verify", manifest]).status, 1);
    for command in [&["shard", "list"][..], &["count"], &["export"], &["shard", "clean"]] {
        let place = if command == ["shard", "clean"] { "x" } else { manifest };
        let done = scratch.run(&[command, &[place]].concat());
        assert_eq!(done.status, 2, "{command:?}");
        assert!(done.err.contains(&format!("{named}it is missing")), "{}", done.err);
    }

    run(&scratch, &["pack", "a.epd", "--shards", "2", "-o", "x", "--force"]);
    run(&scratch, &["shard", "clean", "x", "--hours", "0"]);
    let names = content(&scratch, "x").into_keys();
    let texts = names.filter(|name| name.to_str().unwrap().ends_with(".json"));
    assert_eq!((texts.count(), content(&scratch, "x").len()), (1, 3));
}

/// Replaces text in a manifest, and puts its check right.
fn edit_manifest(scratch: &Scratch, name: &str, edit: impl Fn(&str) -> String) {
    let text = scratch.text(name);
    let (body, _) = text.rsplit_once(",\n  \"check\"").unwrap();
    let edited = edit(body);
    assert_ne!(edited, body);
    let check = blake3::hash(edited.as_bytes()).to_hex();
    scratch.write(name, format!("{edited},\n  \"check\": \"{check}\"\n}}\n"));
}

/// What the manifest says of the games is compared with their file.
#[test]
fn the_sums_of_a_manifest_are_verified() {
    let scratch = libraries();
    run(&scratch, &["shard", "merge", "a.epa", "b.epa", "--shards", "3", "-o", "x"]);
    let manifest = "x/manifest.json";
    let sound = scratch.text(manifest);
    let library: serde_json::Value = serde_json::from_str(&sound).unwrap();
    let sum = library["library"]["digests"]["sum"].as_str().unwrap().to_string();
    let digests = format!("\"games\": 4,\n      \"sum\": \"{sum}\"");
    let whole = format!("\"digests\": {{\n      {digests}\n    }}");
    let kept = library["library"]["kept_games"].as_u64().unwrap();
    let cases = [
        (whole.clone(), "\"digests\": null".to_string(), "has 4 digests, not 0"),
        (digests.clone(), digests.replace(": 4", ": 5"), "has 4 digests, not 5"),
        (digests.clone(), digests.replace(": 4", ": 0"), "has 4 digests, not 0"),
        (sum.clone(), "0".repeat(32), "the 4 digests are not those of the manifest"),
        (format!("\"kept_games\": {kept}"), "\"kept_games\": 0".into(), "and the manifest says 0"),
        (
            format!("\"kept_games\": {kept}"),
            "\"kept_games\": 99".into(),
            "and the manifest says 99",
        ),
    ];
    for (from, to, reason) in cases {
        scratch.write(manifest, &sound);
        edit_manifest(&scratch, manifest, |body| body.replace(&from, &to));
        let done = scratch.run(&["shard", "verify", manifest]);
        assert_eq!(done.status, 1, "{to}");
        assert!(done.out.contains(reason), "{to}: {}", done.out);
    }
    // Entries that are wrong are noticed by whoever reads all shards.
    let records = library["shards"][1]["records"].as_u64().unwrap();
    let hash = library["shards"][1]["blake3"].as_str().unwrap().to_string();
    let entries = [
        (format!("\"records\": {records}"), "\"records\": 0".to_string()),
        (format!("\"records\": {records}"), format!("\"records\": {}", records + 1)),
        (hash.clone(), hash.to_uppercase()),
    ];
    for (from, to) in entries {
        scratch.write(manifest, &sound);
        edit_manifest(&scratch, manifest, |body| body.replacen(&from, &to, 1));
        for command in ["export", "count", "stats --census", "shard verify"] {
            let words: Vec<&str> = command.split(' ').chain([manifest]).collect();
            let done = scratch.run(&words);
            assert_ne!(done.status, 0, "{command} {to}: {}{}", done.out, done.err);
        }
    }
}

#[test]
fn libraries_that_share_games_are_refused() {
    let scratch = libraries();
    let merge = ["shard", "merge", "a.epa", "one.epa", "--shards", "2", "-o", "x"];
    let done = scratch.run(&merge);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("shares 2 games"), "{}", done.err);
    assert!(!scratch.path("x").exists());
    run(&scratch, &[&merge[..], &["--allow-overlap"]].concat());
    let again = scratch.run(&["shard", "merge", "a.epa", "--shards", "2", "-o", "x"]);
    assert_eq!(again.status, 2);
    assert!(again.err.contains("is a sharded archive: --force replaces it"), "{}", again.err);
}

#[test]
fn commands_run_on_the_given_number_of_threads() {
    let scratch = libraries();
    for command in
        [&["make", "a.epa"][..], &["merge", "a.epa", "b.epa"], &["split", "s-make/manifest.json"]]
    {
        let folder = format!("s-{}", command[0]);
        let more = ["--shards", "2", "--threads", "1", "-o", &folder];
        let done = scratch.run(&[&["shard"], command, &more].concat());
        assert_eq!(done.status, 0, "{command:?}: {}", done.err);
        assert!(!done.err.contains("threads are running"), "{command:?}: {}", done.err);
    }
}

/// A pipe in the place of a shard is refused; nothing waits for a writer.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_shard() {
    let scratch =
        Scratch::with("a.epd", "8/8/8/4k3/8/1K6/8/8 b - -\n4k3/8/8/8/8/8/4P3/4K3 w - -\n");
    let make = ["pack", "a.epd", "--shards", "2", "-o", "shards"];
    assert_eq!(scratch.run(&make).status, 0);
    for entry in std::fs::read_dir(scratch.path("shards")).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|suffix| suffix == "epa") {
            std::fs::remove_file(&path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        }
    }
    let manifest = "shards/manifest.json";
    for args in [
        &["export", manifest][..],
        &["get", manifest, "8/8/8/4k3/8/1K6/8/8 b - -"],
        &["shard", "verify", manifest],
        &["verify", manifest],
        &["convert", manifest, "b.epa"],
    ] {
        let done = scratch.run(args);
        assert!(done.status == 1 || done.status == 2, "{args:?}: {}", done.err);
        let said = done.out + &done.err;
        assert!(said.contains("a pipe or a device"), "{args:?}: {said}");
    }
}

/// The shards of an earlier manifest are removed when no program can be reading them any more.
#[test]
fn shards_of_earlier_manifests_are_removed_after_a_day() {
    let scratch =
        Scratch::with("a.epd", "8/8/8/4k3/8/1K6/8/8 b - -\n4k3/8/8/8/8/8/4P3/4K3 w - -\n");
    scratch.write("b.epd", "8/8/8/4k3/8/1K6/8/8 w - -\n4k3/8/8/8/8/8/3P4/4K3 w - -\n");
    let pack = |file: &str| {
        let args = ["pack", file, "--shards", "2", "-o", "x", "--force"];
        let done = scratch.run(&args);
        assert_eq!(done.status, 0, "{}", done.err);
        done.err
    };
    let shards = || content(&scratch, "x").len() - 1;
    let age = |hours: u64| {
        for file in std::fs::read_dir(scratch.path("x")).unwrap().flatten() {
            let file = std::fs::File::options().write(true).open(file.path()).unwrap();
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(hours * 3600);
            file.set_modified(then).unwrap();
        }
    };
    pack("a.epd");
    assert!(pack("b.epd").contains("2 files of earlier manifests may still be read"));
    assert_eq!(shards(), 4);
    let clean = |args: &[&str]| run(&scratch, &[&["shard", "clean", "x"], args].concat());
    clean(&[]);
    assert_eq!(shards(), 4);
    age(25);
    assert!(pack("a.epd").contains("2 files of earlier manifests removed"));
    assert_eq!(shards(), 4);
    age(23);
    clean(&[]);
    assert_eq!(shards(), 4);
    clean(&["--hours", "22"]);
    assert_eq!(shards(), 2);
    // Other files stay, and the archive is whole.
    scratch.write("x/1-of-2-notes.epa", "mine");
    clean(&["--hours", "0"]);
    assert_eq!(shards(), 3);
    run(&scratch, &["shard", "verify", "x/manifest.json"]);
    assert_eq!(scratch.run(&["shard", "clean", "no-folder"]).status, 2);
}
