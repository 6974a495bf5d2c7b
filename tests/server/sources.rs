//! Served data follows changes of its files.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use crate::libraries::{GAMES, games_library, suite};
use crate::scratch::Scratch;
use crate::server::Running;
#[cfg(feature = "remote")]
use crate::web_server::WebServer;

pub(crate) const LINE: &str = "/api/position?fen=4k3/8/8/8/8/8/4P3/4K3_w_-_-";

/// Takes the numbers of records out of an answer: shards number them anew.
pub(crate) fn unnumbered(answer: &mut serde_json::Value) {
    for record in answer["records"].as_array_mut().into_iter().flatten() {
        record["number"] = 0.into();
    }
}

#[test]
fn replaced_files_are_reloaded() {
    let scratch = games_library();
    scratch.write("suite.epd", suite());
    let running = Running::start(&scratch, &["games.epa", "mine=games.pgn", "suite.epd"]);
    let games = GAMES.replace("1. e4 c5", "1. d4 c5");
    let games = games.replace("2. Nf3 d6", "2. d5 d6").replace("2. Nf3 Nc6", "2. d5 e6");
    scratch.write("new.pgn", &games);
    assert_eq!(scratch.run(&["tally", "new.pgn", "-o", "new.epa"]).status, 0);
    for (new, old) in [("new.epa", "games.epa"), ("new.pgn", "games.pgn")] {
        fs::rename(scratch.path(new), scratch.path(old)).unwrap();
    }
    scratch.write("suite.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"other\";\n".repeat(7));
    for name in ["games", "mine"] {
        running.wait_for_log(&format!("opened again source=\"{name}\""));
        let position = running.get(&format!("/api/position?source={name}")).json();
        assert_eq!(position["moves"][0]["san"], "d4");
    }
    running.wait_for_log("opened again source=\"suite\" records=7\n");
    assert_eq!(running.get(&format!("{LINE}&source=suite")).json()["recordCount"], 7);
}

/// The same, but the sharded library is on another server, which also imitates S3.
#[cfg(feature = "remote")]
#[test]
fn a_sharded_library_at_an_address_is_served_and_opened_again() {
    let scratch = games_library();
    let server = WebServer::start();
    let make = |library: &str| {
        let make = ["pack", library, "--shards", "3", "--force", "-o", "sharded"];
        assert_eq!(scratch.run(&make).status, 0);
        let mut names: Vec<_> = fs::read_dir(scratch.path("sharded")).unwrap().flatten().collect();
        names.sort_by_key(|entry| entry.file_name() == "manifest.json");
        for entry in names {
            let path = format!("/bucket/sharded/{}", entry.file_name().to_str().unwrap());
            server.put(&path, fs::read(entry.path()).unwrap());
        }
    };
    make("games.epa");
    let http = format!("http={}", server.at("/bucket/sharded/manifest.json"));
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("epdb"));
    command.args(["serve", "--listen", "127.0.0.1:0", "local=sharded/manifest.json", &http]);
    command.arg("s3=s3://bucket/sharded/manifest.json").envs([
        ("EPDB_REMOTE_CHECK", "0"),
        ("AWS_ENDPOINT_URL", server.base.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ]);
    let running = Running::spawn(&scratch, command);
    for path in ["/api/position?", "/api/position?play=e2e4,c7c5&"] {
        let [local, http, s3] = ["local", "http", "s3"].map(|source| {
            let mut answer = running.get(&format!("{path}source={source}")).json();
            answer["source"] = "".into();
            answer
        });
        assert_eq!([&http, &s3], [&local, &local], "{path}");
    }
    scratch.write("new.pgn", "[White \"Zoe\"]\n[Result \"1-0\"]\n\n1. a3 1-0\n\n");
    assert_eq!(scratch.run(&["tally", "new.pgn", "-o", "new.epa"]).status, 0);
    make("new.epa");
    for source in ["http", "s3"] {
        running.wait_for_log(&format!("opened again source=\"{source}\""));
        let position = running.get(&format!("/api/position?source={source}")).json();
        assert_eq!(position["moves"][0]["san"], "a3");
    }
}

/// A sharded library is served like the archive that it was made of; a new manifest is noticed.
#[test]
fn a_sharded_library_is_served_and_opened_again() {
    let scratch = games_library();
    let make = |library: &str| {
        let make = ["pack", library, "--shards", "3", "--force", "-o", "sharded"];
        let done = scratch.run(&make);
        assert_eq!(done.status, 0, "{}", done.err);
    };
    make("games.epa");
    let pack = ["pack", "games.epa", "-o", "one.epa", "--level", "fast", "--sorted"];
    assert_eq!(scratch.run(&pack).status, 0);
    let running = Running::start(&scratch, &["one.epa", "shards=sharded/manifest.json"]);
    for path in
        ["/api/position?", "/api/position?play=e2e4,c7c5&", "/masters?play=e2e4&topGames=3&"]
    {
        let [one, sharded] = ["one", "shards"].map(|source| {
            let mut answer = running.get(&format!("{path}source={source}")).json();
            answer["source"] = "".into();
            unnumbered(&mut answer);
            answer
        });
        assert_eq!(one, sharded, "{path}");
    }
    let sources = running.get("/api/sources").json();
    let formats: Vec<_> = (0..2).map(|nth| sources[nth]["format"].clone()).collect();
    assert_eq!(formats, ["archive", "shards"]);
    scratch.write("new.pgn", "[White \"Zoe\"]\n[Result \"1-0\"]\n\n1. a3 1-0\n\n");
    assert_eq!(scratch.run(&["tally", "new.pgn", "-o", "new.epa"]).status, 0);
    make("new.epa");
    running.wait_for_log("opened again source=\"shards\" records=2\n");
    let position = running.get("/api/position?source=shards").json();
    assert_eq!(position["moves"][0]["san"], "a3");
}

/// A file that cannot be opened is reported, and the old one is still served.
#[test]
fn a_file_that_is_broken_later_is_served_as_before() {
    let scratch = games_library();
    let running = Running::start(&scratch, &["games.epa"]);
    scratch.write("broken", &scratch.read("games.epa")[..1000]);
    fs::rename(scratch.path("broken"), scratch.path("games.epa")).unwrap();
    running.wait_for_log("served as before");
    assert_eq!(running.get("/api/position").json()["found"], true);
    fs::remove_file(scratch.path("games.epa")).unwrap();
    assert_eq!(running.get("/api/position").json()["found"], true);
}

/// Requests that read a file which was cut off fail; others are answered.
#[test]
fn a_file_that_is_cut_off_fails_alone() {
    let scratch = Scratch::with("suite.epd", suite().repeat(1000));
    scratch.write("other.epd", suite());
    for level in ["fast", "default"] {
        let pack = ["pack", "suite.epd", "-o", "cut.epa", "--level", level];
        assert_eq!(scratch.run(&pack).status, 0);
        let whole = scratch.read("cut.epa");
        let running = Running::start(&scratch, &["cut.epa", "other.epd"]);
        let file = fs::OpenOptions::new().write(true).open(scratch.path("cut.epa")).unwrap();
        file.set_len(0).unwrap();
        assert_eq!(running.get(LINE).status, 500);
        running.wait_for_log("cut.epa: the file was cut off at byte 0 while it was open");
        assert_eq!(running.get(&format!("{LINE}&source=other")).json()["recordCount"], 1);
        scratch.write("new.epa", &whole);
        fs::rename(scratch.path("new.epa"), scratch.path("cut.epa")).unwrap();
        running.wait_for_log("opened again source=\"cut\"");
        assert_eq!(running.get(LINE).json()["recordCount"], 1000);
        assert!(running.stop().0.success());
    }
}

/// Unreadable lines of a file are reported with their place, and the rest is served.
#[test]
fn rejected_lines_are_reported() {
    let scratch = Scratch::with("suite.epd", suite() + "no position\n");
    let running = Running::start(&scratch, &["suite.epd"]);
    assert_eq!(running.get("/api/sources").json()[0]["records"], 3);
    assert!(running.log().contains("suite.epd:4:1: error[E-EPD-FIELDS]"), "{}", running.log());
}

#[test]
fn unservable_files_are_refused_at_the_start() {
    let scratch = Scratch::with("a.epd", suite());
    scratch.write("b.xyz", "x");
    assert_eq!(scratch.run(&["import", "long.epdb", "a.epd"]).status, 0);
    let mut store = std::fs::read(scratch.path("long.epdb")).unwrap();
    store.extend([0; 5000]);
    std::fs::write(scratch.path("long.epdb"), store).unwrap();
    let cases = [
        (vec!["a.epd", "a.epd"], "two sources are named a"),
        (vec!["a.epd", "a=b.epd"], "two sources are named a, a.epd and b.epd"),
        (vec!["a=-", "b=-"], "standard input can be read only once"),
        (vec!["-"], "standard input has no name to be asked by: say NAME=FILE"),
        (vec!["b.xyz"], "say NAME=FILE"),
        (vec!["b.xyz"], "b.xyz: its name tells no format"),
        (vec!["b c.epd"], "to be asked by: say NAME=FILE"),
        (vec!["none.bin"], "none.bin: No such file"),
        (vec!["long.epdb"], "long.epdb: damaged: the file: its length"),
        (vec!["none.epa"], "none.epa"),
        (vec![], "name a source"),
    ];
    for (args, said) in cases {
        let done = scratch.run(&[vec!["serve", "--listen", "127.0.0.1:0"], args].concat());
        assert_eq!(done.status, 2, "{}", done.err);
        assert!(done.err.contains(said), "{}", done.err);
    }
}

/// A store stays free, whatever the server does with it.
#[test]
fn no_copy_of_a_store_is_left() {
    let scratch = Scratch::with("suite.epd", suite());
    assert_eq!(scratch.run(&["import", "suite.epdb", "suite.epd"]).status, 0);
    let running = Running::start(&scratch, &["suite.epdb"]);
    assert_eq!(running.get(LINE).json()["recordCount"], 1);
    assert!(running.stop().0.success());
    assert_eq!(scratch.names(), ["suite.epd", "suite.epdb"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_named() {
    let scratch = games_library();
    scratch.write("suite.epd", suite().repeat(2000));
    assert_eq!(scratch.run(&["import", "suite.epdb", "suite.epd"]).status, 0);
    fs::create_dir(scratch.path("temporary")).unwrap();
    // A store that was not closed is copied.
    let mut store = scratch.read("suite.epdb");
    store[9] |= 2;
    scratch.write("suite.epdb", store);
    for source in ["suite.epd", "suite.epdb", "games.pgn"] {
        // No file may be longer than a few bytes.
        let serve = "ulimit -f 1; exec \"$0\" serve \"$1\" --listen 127.0.0.1:0";
        let mut command = Command::new("sh");
        command.args(["-c", serve]).arg(assert_cmd::cargo::cargo_bin("epdb")).arg(source);
        command.current_dir(scratch.path("")).env("TMPDIR", scratch.path("temporary"));
        let done = command.output().unwrap();
        let err = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{source}: {err}");
        assert!(err.contains("temporary"), "{source}: {err}");
    }
}

/// Makes a file of which no end comes, and puts it in a place.
#[cfg(unix)]
fn put_endless(scratch: &Scratch, place: &str) {
    let made = Command::new("mkfifo").arg(scratch.path("endless")).status().unwrap();
    assert!(made.success());
    fs::rename(scratch.path("endless"), scratch.path(place)).unwrap();
}

#[cfg(unix)]
#[test]
fn no_file_waits_for_another() {
    let scratch = Scratch::with("slow.epd", suite());
    scratch.write("suite.epd", suite());
    let running = Running::start(&scratch, &["slow.epd", "suite.epd"]);
    put_endless(&scratch, "slow.epd");
    // Whoever looks at one after the other is at the first when both were seen twice.
    for count in [7, 8] {
        scratch.write("suite.new", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"other\";\n".repeat(count));
        fs::rename(scratch.path("suite.new"), scratch.path("suite.epd")).unwrap();
        running.wait_for_log(&format!("opened again source=\"suite\" records={count}\n"));
        let position = running.get(&format!("{LINE}&source=suite")).json();
        assert_eq!(position["recordCount"], count);
    }
    assert_eq!(running.get(LINE).json()["recordCount"], 1);
}

/// A pipe is refused, at the start, in place of a file, and in new settings. Nothing waits for it.
#[cfg(unix)]
#[test]
fn pipes_are_refused() {
    use rustix::process::Signal;
    let scratch = Scratch::with("suite.epd", suite());
    let stores = ["pipe.epd", "pipe.pgn", "pipe.epa", "pipe.epdb", "pipe.bin", "pipe.epb"];
    for name in stores {
        put_endless(&scratch, name);
        let done = scratch.run(&["serve", "--listen", "127.0.0.1:0", name]);
        assert_eq!(done.status, 2, "{}", done.err);
        let said = format!("{name} is a pipe or a device, and cannot be opened again");
        assert!(done.err.contains(&said), "{}", done.err);
    }
    for name in stores {
        let file = format!("a{}", &name[4..]);
        match &name[4..] {
            ".epd" => scratch.write(&file, suite()),
            ".pgn" => scratch.write(&file, GAMES),
            ".epdb" => assert_eq!(scratch.run(&["import", &file, "suite.epd"]).status, 0),
            ".bin" => continue,
            _ => assert_eq!(scratch.run(&["convert", "suite.epd", &file]).status, 0),
        }
        let settings =
            |sources: &str| scratch.write("serve.toml", format!("sources = [{sources}]"));
        settings(&format!("'{file}'"));
        let running = Running::start(&scratch, &["--config", "serve.toml"]);
        put_endless(&scratch, &file);
        running.wait_for_log("cannot be opened again: served as before");
        assert!(running.log().contains(&format!("{file} is a pipe")), "{}", running.log());

        settings(&format!("'suite.epd', '{name}'"));
        running.tell(Signal::HUP);
        running.wait_for_log("not reloaded: all is served as before");
        assert!(running.log().contains(&format!("{name} is a pipe")), "{}", running.log());
        settings("'suite.epd'");
        running.tell(Signal::HUP);
        running.wait_for_log(" reloaded\n");
        assert_eq!(running.get(LINE).json()["recordCount"], 1);
        let (status, log) = running.stop();
        assert!(status.success(), "{log}");
        fs::remove_file(scratch.path(&file)).unwrap();
    }
}

/// A file that could not be opened when it changed, and settings without sources, are no success.
#[cfg(unix)]
#[test]
fn failed_reloads_are_not_logged_as_reloads() {
    let scratch = games_library();
    scratch.write("serve.toml", "sources = ['games.epa']\n");
    let running = Running::start(&scratch, &["--config", "serve.toml"]);
    scratch.write("broken", &scratch.read("games.epa")[..1000]);
    fs::rename(scratch.path("broken"), scratch.path("games.epa")).unwrap();
    running.wait_for_log("served as before");
    for (settings, said) in
        [("sources = ['games.epa']\n", "not reloaded"), ("sources = []\n", "no source is named")]
    {
        scratch.write("serve.toml", settings);
        running.tell(rustix::process::Signal::HUP);
        running.wait_for_log(said);
        assert_eq!(running.get("/api/position").json()["found"], true);
    }
    let log = running.stop().1;
    assert!(!log.contains(" reloaded\n"), "{log}");
}

#[cfg(unix)]
#[test]
fn a_used_address_is_reported_before_a_source_is_opened() {
    let scratch = Scratch::new();
    put_endless(&scratch, "games.pgn");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let by_name = address.replace("127.0.0.1", "localhost");
    scratch.write("serve.toml", format!("listen = '{by_name}'\n"));
    for words in [["--listen", &address], ["--listen", &by_name], ["--config", "serve.toml"]] {
        let done = scratch.run(&[&["serve", "games.pgn"], &words[..]].concat());
        assert_eq!(done.status, 2, "{}", done.err);
        let taken = format!("{address}: ");
        assert!(done.err.contains(&taken), "{}", done.err);
        assert!(done.err.contains("; --listen takes another port"), "{}", done.err);
    }
}

/// A server that was killed leaves its copies, whatever is served next.
#[test]
fn copies_that_were_left_are_removed_at_the_start() {
    let scratch = games_library();
    let temporary = Scratch::new();
    for folder in [&scratch, &temporary] {
        folder.write(".epdb-copy-Left12.part", "left");
    }
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("epdb"));
    command.args(["serve", "games.epa", "--listen", "127.0.0.1:0"]);
    command.env("TMPDIR", temporary.path("")).env("TMP", temporary.path(""));
    let _running = Running::spawn(&scratch, command);
    assert_eq!(scratch.names(), ["games.epa", "games.pgn"]);
    assert_eq!(temporary.names(), [""; 0]);
}
