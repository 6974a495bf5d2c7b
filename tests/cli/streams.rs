//! A library that comes through a pipe, a FIFO or from an address is the library of the file: its copies have
//! the same ledger and the same kept games, it counts once, and the same things are refused.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::scratch::{Done, Scratch};
#[cfg(feature = "remote")]
use crate::web_server::WebServer;

/// Games of players with this name.
fn games(player: &str) -> String {
    let lines =
        ["1. e4 e5 2. Nf3", "1. e4 c5 2. Nf3 d6", "1. d4 d5", "1. Nf3 d5 2. d4", "1. c4 e5"];
    let game = |(number, moves): (usize, &&str)| {
        format!(
            "[Event \"Cup\"]\n[Date \"200{number}.05.01\"]\n[White \"{player}\"]\n[Black \"B{number}\"]\n\
             [WhiteElo \"2{number}00\"]\n[Result \"1-0\"]\n\n{moves} 1-0\n\n"
        )
    };
    lines.iter().enumerate().map(game).collect()
}

/// The libraries `l.epa` and `l.epdb` with five games, `other.epa` with five others, and `delta.epdb`.
fn libraries() -> Scratch {
    let scratch = Scratch::new();
    for (name, player) in [("l", "Ann"), ("other", "Eve"), ("later", "Cy")] {
        scratch.write(&format!("{name}.pgn"), games(player));
    }
    let tally = ["-q", "--keep-games", "2", "--by", "year"];
    for (games, library) in [("l.pgn", "l.epa"), ("l.pgn", "l.epdb"), ("other.pgn", "other.epa")] {
        run(&scratch, &[&["tally", games, "-o", library], &tally[..]].concat());
    }
    run(&scratch, &["import", "delta.epdb", "later.pgn", "--tally", "--base", "l.epa"]);
    run(&scratch, &["pack", "l.epa", "--shards", "2", "-o", "sharded"]);
    scratch
}

fn run(scratch: &Scratch, args: &[&str]) -> Done {
    let done = scratch.run(args);
    assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    done
}

/// The commands. `SRC` is the library, `TWICE` its second mention, and `OUT` what is written: a file or a
/// folder.
const COMMANDS: [&[&str]; 29] = [
    &["union", "SRC", "other.epa", "-o", "OUT.epa"],
    &["union", "SRC", "TWICE", "-o", "OUT.epa"],
    &["union", "SRC", "TWICE", "-o", "OUT.epa", "--allow-overlap"],
    &["union", "other.epa", "SRC", "l.pgn", "-o", "OUT.epa", "--allow-mixed", "--allow-overlap"],
    &["union", "SRC", "plain.epd", "-o", "OUT.epa"],
    &["dedupe", "SRC", "-o", "OUT.epa"],
    &["shard", "merge", "SRC", "other.epa", "--shards", "2", "-o", "OUT"],
    &["shard", "merge", "SRC", "TWICE", "--shards", "2", "-o", "OUT"],
    &["pack", "SRC", "--shards", "2", "-o", "OUT"],
    &["convert", "SRC", "OUT.epa"],
    &["convert", "SRC", "OUT.epb"],
    &["convert", "SRC", "OUT.epdb"],
    &["pack", "SRC", "-o", "OUT.epa"],
    &["pack", "SRC", "--level", "fast", "--sorted", "-o", "OUT.epa"],
    &["import", "OUT.epdb", "SRC"],
    &["sort", "--by", "position", "SRC", "-o", "OUT.epa"],
    &["filter", "--where", "pieces > 3", "SRC", "-o", "OUT.epa"],
    &["filter", "--where", "pieces > 3", "SRC"],
    &["shuffle", "SRC", "-o", "OUT.epa"],
    &["export", "SRC", "--sort", "key", "-o", "OUT.epa"],
    &["export", "SRC", "-o", "OUT.epd"],
    &["export", "SRC", "-o", "OUT.epa"],
    &["export", "SRC", "--range", "2..5", "-o", "OUT.epa"],
    &["stats", "SRC", "--json"],
    &["stats", "SRC", "--census", "--json"],
    &["games", "SRC", "--tsv"],
    &["games", "SRC", "e4", "-o", "OUT.pgn"],
    &["explore", "SRC", "e4"],
    &["get", "SRC", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"],
];

/// What a command printed and wrote, with `SRC` for the name of the source.
#[derive(PartialEq, Eq, Debug)]
struct Seen {
    status: i32,
    out: String,
    err: String,
    /// The files that it wrote. For a store, which has the name of the source in it, its records and what it
    /// says about itself.
    files: Vec<(String, Vec<u8>)>,
}

impl Seen {
    /// True for the same result, whatever name the source has; or if both are refused, the pipe because it is
    /// one.
    fn is_like(&self, other: &Seen) -> bool {
        let without_name =
            |seen: &Seen| seen.err.replace("SRC2", "SRC").replace(" from -,", " from SRC,");
        let is_refused = |seen: &Seen| seen.status == 2 && seen.files.is_empty();
        is_refused(self) && is_refused(other) && self.err.contains("not a pipe")
            || (self.status, &self.out, &self.files) == (other.status, &other.out, &other.files)
                && without_name(self) == without_name(other)
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { status, out, err, files } = self;
        let sizes: Vec<_> = files.iter().map(|(name, bytes)| (name, bytes.len())).collect();
        write!(f, "{status} {out:?} {err:?} {sizes:?}")
    }
}

/// How a source reaches a command.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Way {
    File,
    /// A file that is compressed.
    Compressed,
    /// The second mention is another FIFO.
    Fifo,
    /// Standard input, a pipe. The second mention is a FIFO.
    Pipe,
    /// Standard input, a file.
    Redirected,
    #[cfg(feature = "remote")]
    Http,
}

impl Way {
    /// The ways by which a library reaches a command. The ways that differ little take every fourth command.
    fn of_command(number: usize, command: &[&str]) -> Vec<Way> {
        let mut ways = vec![Way::Fifo];
        if !command.contains(&"TWICE") {
            ways.push(Way::Pipe);
        }
        #[cfg(feature = "remote")]
        ways.push(Way::Http);
        if number.is_multiple_of(4) {
            ways.push(Way::Redirected);
            // Its size is that of its file.
            if command[0] != "stats" {
                ways.push(Way::Compressed);
            }
        }
        ways
    }
}

/// Makes a FIFO from which one reader gets the bytes of a file.
fn fifo(scratch: &Scratch, name: &str, file: &str) -> String {
    let place = scratch.path(name);
    fs::remove_file(&place).ok();
    assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
    let bytes = scratch.read(file);
    // Waits for a reader, who need not come, and need not read all.
    std::thread::spawn(move || fs::write(place, bytes));
    name.to_string()
}

/// Runs a command on a library.
fn see(scratch: &Scratch, base: &str, way: Way, library: &str, command: &[&str]) -> Seen {
    let mut first = library.to_string();
    let mut second = library.to_string();
    let is_twice = command.contains(&"TWICE");
    match way {
        Way::File => {}
        Way::Compressed => {
            let packed = zstd::encode_all(&scratch.read(library)[..], 1).unwrap();
            first = format!("z-{library}.zst");
            second = first.clone();
            scratch.write(&first, packed);
        }
        Way::Fifo => first = fifo(scratch, "fifo", library),
        Way::Pipe | Way::Redirected => first = "-".into(),
        #[cfg(feature = "remote")]
        Way::Http => {
            first = format!("{base}/{library}");
            second = first.clone();
        }
    }
    if is_twice && way == Way::Fifo {
        second = fifo(scratch, "fifo2", library);
    }
    let _ = base;
    let folder = scratch.path("out");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir(&folder).unwrap();
    let args: Vec<String> = command
        .iter()
        .map(|word| match *word {
            "SRC" => first.clone(),
            "TWICE" => second.clone(),
            word => word.replace("OUT", "out/o"),
        })
        .collect();
    let mut program = Command::new(env!("CARGO_BIN_EXE_epdb"));
    program.args(&args).current_dir(scratch.path("")).stderr(Stdio::piped()).stdout(Stdio::piped());
    let input = match way {
        Way::Pipe => Stdio::piped(),
        Way::Redirected => fs::File::open(scratch.path(library)).unwrap().into(),
        _ => Stdio::null(),
    };
    let mut child = program.stdin(input).spawn().unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        let bytes = scratch.read(library);
        std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &bytes));
    }
    let done = child.wait_with_output().unwrap();
    let plain = |bytes: &[u8]| {
        let mut text = String::from_utf8(bytes.to_vec()).unwrap();
        for name in [&first, &second] {
            text = match name.as_str() {
                "-" => text
                    .replace("-: ", "SRC: ")
                    .replace("\"-\"", "\"SRC\"")
                    .replace(" - keeps", " SRC keeps"),
                name => text.replace(name, "SRC"),
            };
        }
        text
    };
    let mut files = Vec::new();
    list(scratch, &folder, &mut files);
    Seen {
        status: done.status.code().unwrap(),
        out: plain(&done.stdout),
        err: plain(&done.stderr),
        files,
    }
}

/// The files of a folder by name. Of a store, the records, the summary and the games.
fn list(scratch: &Scratch, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap().to_str().unwrap().to_string();
        if entry.is_dir() {
            list(scratch, &entry, files);
        } else if name.ends_with(".epdb") {
            let store = entry.to_str().unwrap();
            for args in [&["export", store][..], &["stats", store], &["games", store, "--tsv"]] {
                let out = run(scratch, args).out;
                // The size of a store depends on the name that it keeps.
                let lines =
                    out.lines().filter(|line| !line.contains("bytes") && !line.contains("file"));
                files.push((args[0].to_string(), lines.collect::<String>().into_bytes()));
            }
        } else {
            files.push((name, fs::read(&entry).unwrap()));
        }
    }
}

#[test]
fn a_library_is_the_same_whichever_way_it_came() {
    let scratch = libraries();
    scratch.write("plain.epd", "8/8/8/4k3/8/1K6/8/8 b - - id \"a\";\n");
    #[cfg(feature = "remote")]
    let server = WebServer::start();
    #[cfg_attr(not(feature = "remote"), allow(unused_mut))]
    let mut base = String::new();
    #[cfg(feature = "remote")]
    {
        base += &server.base;
        for library in ["l.epa", "l.epdb"] {
            server.put(&format!("/{library}"), scratch.read(library));
        }
    }
    let mut wrong = Vec::new();
    for (number, command) in COMMANDS.iter().enumerate() {
        let expected = see(&scratch, &base, Way::File, "l.epa", command);
        assert!(!expected.err.contains("No such file"), "{command:?}: {}", expected.err);
        for way in Way::of_command(number, command) {
            let seen = see(&scratch, &base, way, "l.epa", command);
            if !seen.is_like(&expected) {
                wrong.push(format!("{way:?} {command:?}\n  {seen}\n  {expected}"));
            }
        }
    }
    // Stores come by the same ways, so a few commands are enough.
    for command in COMMANDS.iter().step_by(5) {
        let expected = see(&scratch, &base, Way::File, "l.epdb", command);
        for way in Way::of_command(1, command) {
            let seen = see(&scratch, &base, way, "l.epdb", command);
            if !seen.is_like(&expected) {
                wrong.push(format!("store: {way:?} {command:?}\n  {seen}\n  {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_table_of_evaluations_is_packed_with_its_view() {
    let scratch = Scratch::with("a.csv", "FEN,Evaluation\n8/8/8/4k3/8/1K6/8/8 b - - 0 1,+30\n");
    for command in [&["pack", "a.csv", "-o", "a.epa"][..], &["convert", "a.csv", "b.epa"]] {
        run(&scratch, &[command, &["--score-view", "white"]].concat());
    }
    for archive in ["a.epa", "b.epa"] {
        assert_eq!(
            run(&scratch, &["export", archive]).out,
            "8/8/8/4k3/8/1K6/8/8 b - - ce -30; fmvn 1; hmvc 0;\n"
        );
    }
}

/// What a library says about itself, without sizes and without its name; its records in any order; its games.
fn meaning(scratch: &Scratch, library: &str) -> [String; 3] {
    let kept =
        ["positions", "digests", "kept_games", "settings", "pruned", "mixed", "games", "records"];
    let stats = run(scratch, &["stats", library, "--json"]).out;
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    let of_library = &stats["libraries"][0];
    let stats = kept.map(|name| format!("{name} {}", of_library[name]));
    let records = run(scratch, &["export", library]).out;
    let mut lines: Vec<&str> = records.lines().collect();
    lines.sort_unstable();
    let games = run(scratch, &["games", library, "--tsv"]).out;
    [stats.join("\n"), lines.join("\n"), games]
}

#[test]
fn a_sharded_archive_has_the_copies_of_its_library() {
    let scratch = libraries();
    let base = String::new();
    let manifest = "sharded/manifest.json";
    #[cfg(feature = "remote")]
    let server = WebServer::start();
    #[cfg_attr(not(feature = "remote"), allow(unused_mut))]
    let mut ways = vec![(manifest.to_string(), Way::File)];
    #[cfg(feature = "remote")]
    {
        for file in fs::read_dir(scratch.path("sharded")).unwrap() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            server.put(&format!("/sharded/{name}"), fs::read(file.path()).unwrap());
        }
        ways.push((server.at("/sharded/manifest.json"), Way::File));
    }
    // A number or an order is that of the records in the shards.
    let is_of_order =
        |command: &&&[&str]| command.contains(&"--range") || command.contains(&"--sort");
    for command in COMMANDS.iter().filter(|command| !is_of_order(command)) {
        let file = see(&scratch, &base, Way::File, "l.epa", command);
        let of_file = written(&scratch, command, file.status);
        for (name, way) in &ways {
            let shards = see(&scratch, &base, *way, name, command);
            assert_eq!(shards.status, file.status, "{name} {command:?}: {}", shards.err);
            if file.status == 2 {
                assert_eq!(shards.err, file.err, "{name} {command:?}");
            }
            if ["explore", "get", "games"].contains(&command[0]) {
                assert_eq!(shards, file, "{name} {command:?}");
            }
            assert_eq!(written(&scratch, command, shards.status), of_file, "{name} {command:?}");
        }
    }
    // Its records are read from the folder of the manifest, so it does not come through a pipe.
    for command in COMMANDS.iter().filter(|command| !command.contains(&"TWICE")).step_by(4) {
        for way in [Way::Fifo, Way::Pipe] {
            let seen = see(&scratch, &base, way, manifest, command);
            let what = "a manifest is read from its folder, which has the shards: name the file";
            assert!(seen.status == 2 && seen.err.contains(what), "{command:?}: {}", seen.err);
            assert!(seen.files.is_empty(), "{command:?}");
        }
    }
    #[cfg(feature = "remote")]
    {
        let split = ["pack", &server.at("/sharded/manifest.json"), "--shards", "3", "-o", "three"];
        run(&scratch, &split);
        assert_eq!(meaning(&scratch, "three/manifest.json"), meaning(&scratch, manifest));
        let done = scratch.run(&["pack", &server.at("/none"), "--shards", "3", "-o", "none"]);
        assert!(done.status == 2 && done.err.contains("no such object"), "{}", done.err);
    }
}

/// What the library means that a command wrote; `None` if it wrote none.
fn written(scratch: &Scratch, command: &[&str], status: i32) -> Option<[String; 3]> {
    let out = command.iter().find(|word| word.starts_with("OUT"))?.replace("OUT", "out/o");
    let name =
        if Path::new(&out).extension().is_none() { format!("{out}/manifest.json") } else { out };
    let is_library = status == 0 && [".epa", ".epdb", ".json"].iter().any(|it| name.ends_with(it));
    (is_library && scratch.path(&name).exists()).then(|| meaning(scratch, &name))
}

#[test]
fn a_base_with_its_delta_is_read_like_one_library() {
    let scratch = libraries();
    scratch.write("plain.epd", "8/8/8/4k3/8/1K6/8/8 b - - id \"a\";\n");
    let tally = ["-q", "--keep-games", "2", "--by", "year", "-o", "all.epa"];
    run(&scratch, &[&["tally", "l.pgn", "later.pgn"], &tally[..]].concat());
    let mut wrong = Vec::new();
    for command in COMMANDS {
        let all = see(&scratch, "", Way::File, "all.epa", command);
        let sum = see(&scratch, "", Way::File, "l.epa+delta.epdb", command);
        // What needs one file is refused, and files of other sizes have other sizes.
        let is_refused = sum.status == 2 && sum.err.contains("not one file");
        let without_bytes = |seen: &Seen| {
            let (before, after) = seen.out.split_once("\"file_bytes_per_record\":")?;
            Some((before.to_string(), after.split_once(',')?.1.to_string()))
        };
        let is_like = sum.is_like(&all)
            || is_refused && ["--range", "key"].iter().any(|word| command.contains(word))
            || command[0] == "stats" && without_bytes(&sum) == without_bytes(&all);
        if !is_like {
            wrong.push(format!("{command:?}\n  {sum}\n  {all}"));
        }
    }
    assert!(wrong.is_empty(), "{} cells differ:\n{}", wrong.len(), wrong.join("\n"));
    // The order of records is that of the base.
    for base in ["l.epdb", "sharded/manifest.json"] {
        let sum = format!("{base}+delta.epdb");
        run(&scratch, &["convert", &sum, "sum.epa", "--force"]);
        assert_eq!(meaning(&scratch, "sum.epa"), meaning(&scratch, "all.epa"), "{base}");
        for command in ["explore", "games"] {
            let answers =
                [&sum, "all.epa"].map(|source| run(&scratch, &[command, source, "e4"]).out);
            assert_eq!(answers[0], answers[1], "{command} {base}");
        }
    }
    // A base is opened more than once.
    fifo(&scratch, "base", "l.epa");
    for base in ["base", "-"] {
        let done = scratch.run(&["explore", "--", &format!("{base}+delta.epdb")]);
        let what = "the base of a delta is read more than once: name a file, not a pipe";
        assert!(done.status == 2 && done.err.contains(what), "{}", done.err);
        let fold =
            ["shard", "merge", base, "--delta", "delta.epdb", "--shards", "2", "-o", "folded"];
        let done = scratch.run(&fold);
        assert!(done.status == 2 && done.err.contains(what), "{}", done.err);
    }
}

#[cfg(feature = "remote")]
#[test]
fn a_delta_is_folded_into_a_base_at_an_address() {
    let scratch = libraries();
    let server = WebServer::start();
    server.put("/l.epa", scratch.read("l.epa"));
    run(
        &scratch,
        &[
            "tally",
            "l.pgn",
            "later.pgn",
            "-q",
            "--keep-games",
            "2",
            "--by",
            "year",
            "-o",
            "all.epa",
        ],
    );
    let fold = [
        "shard",
        "merge",
        &server.at("/l.epa"),
        "--delta",
        "delta.epdb",
        "--shards",
        "2",
        "-o",
        "folded",
    ];
    run(&scratch, &fold);
    assert_eq!(meaning(&scratch, "folded/manifest.json"), meaning(&scratch, "all.epa"));
    // Another library than the base is not replaced.
    run(
        &scratch,
        &["import", "delta.epdb", "other.pgn", "--tally", "--base", "folded/manifest.json"],
    );
    let done = scratch.run(&[&fold[..], &["--force"]].concat());
    assert!(done.status == 2 && done.err.contains("is not the base"), "{}", done.err);
}

#[test]
fn a_shard_that_is_a_pipe_is_refused() {
    let scratch = libraries();
    let shards = fs::read_dir(scratch.path("sharded")).unwrap().map(|it| it.unwrap().path());
    let shards: Vec<_> = shards.filter(|it| it.extension().is_some_and(|it| it == "epa")).collect();
    for shard in &shards {
        fs::remove_file(shard).unwrap();
        assert!(Command::new("mkfifo").arg(shard).status().unwrap().success());
    }
    let manifest = "sharded/manifest.json";
    for command in [
        &["count", manifest][..],
        &["export", manifest],
        &["shard", "verify", manifest],
        &["explore", manifest],
        &["games", manifest],
        &["pack", manifest, "-o", "o.epa"],
        &["union", manifest, "other.epa", "-o", "o.epa"],
        &["import", "o.epdb", manifest],
        &["pack", manifest, "--shards", "3", "-o", "o"],
    ] {
        let done = scratch.run(command);
        assert!(done.status > 0, "{command:?}");
        let said = done.out + &done.err;
        assert!(said.contains("it is a pipe or a device, not a file"), "{command:?}: {said}");
        let is_named = said.contains("-of-2-") || said.contains("shard games-");
        assert!(is_named, "{command:?}: {said}");
    }
}

#[cfg(feature = "remote")]
#[test]
fn bytes_that_were_imported_are_recognised_from_any_place() {
    let scratch = libraries();
    let text: String =
        (0..300).map(|number| format!("8/8/8/4k3/8/1K6/8/8 b - - id \"{number}\";\n")).collect();
    scratch.write("a.epd", &text);
    for name in ["a.epb", "a.epa", "a.epdb"] {
        run(&scratch, &["convert", "a.epd", name]);
    }
    #[cfg(feature = "parquet")]
    run(&scratch, &["convert", "a.epd", "a.parquet"]);
    scratch.write("a.epd.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
    let server = WebServer::start();
    let sources: [(&str, &[&str]); 8] = [
        ("a.epd", &[]),
        ("a.epd.zst", &[]),
        ("a.epb", &[]),
        ("a.epa", &[]),
        ("a.epdb", &[]),
        #[cfg(feature = "parquet")]
        ("a.parquet", &[]),
        ("l.pgn", &["--positions=all"]),
        ("l.pgn", &["--tally"]),
    ];
    for (name, options) in sources {
        for path in ["/first/", "/second/"] {
            server.put(&format!("{path}{name}"), scratch.read(name));
        }
        let (first, second) =
            (server.at(&format!("/first/{name}")), server.at(&format!("/second/{name}")));
        let import = |source: &str| {
            run(&scratch, &[&["import", "x.epdb", source, "-q"], options].concat());
            let done = run(&scratch, &[&["import", "x.epdb", source], options].concat());
            (done.err, run(&scratch, &["count", "x.epdb"]).out)
        };
        fs::remove_file(scratch.path("x.epdb")).ok();
        let (_, expected) = import(name);
        for order in [[&*first, &*first], [&*first, &*second], [name, &*first], [&*first, name]] {
            fs::remove_file(scratch.path("x.epdb")).ok();
            for source in order {
                let (said, count) = import(source);
                assert!(said.contains("nothing to do"), "{order:?} {options:?}: {said}");
                assert_eq!(count, expected, "{order:?} {options:?}");
            }
        }
        // Other bytes are another source.
        if name == "a.epd" {
            server.put("/first/a.epd", text.replace("id", "c0"));
            let (_, count) = import(&first);
            assert_eq!(count.trim(), "600");
        }
    }
}
