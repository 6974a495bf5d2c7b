//! Sources on web servers and in object storage.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use epdb_chess::model::{EpdRecord, Position};

use crate::random_positions::positions;
use crate::scratch::{Done, Scratch};
use crate::skipped::skipped;
use crate::web_server::{Fault, Framing, WebServer};

const GAMES: &str = "[White \"A\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 1-0\n\n";

/// Text of 20,000 records, about 1 MB.
fn records() -> String {
    let line = |number| format!("8/8/8/4k3/8/1K6/8/8 b - - id \"{number}\";\n");
    (0..20_000).map(line).collect()
}

/// A server with the text as `/a.epd`, plain and compressed.
fn server() -> (Scratch, WebServer) {
    let scratch = Scratch::with("a.epd", records());
    let server = WebServer::start();
    for name in ["a.epd", "a.epd.zst", "a.epb", "a.epa", "a.epdb"] {
        if name != "a.epd" {
            assert_eq!(scratch.run(&["convert", "a.epd", name]).status, 0);
        }
        server.put(&format!("/{name}"), scratch.read(name));
    }
    (scratch, server)
}

/// Runs epdb with the variables of an S3 at the server.
fn run_in_s3(scratch: &Scratch, server: &str, args: &[&str]) -> Done {
    run_in_s3_with(scratch, server, args, &[])
}

/// The same, with more variables.
fn run_in_s3_with(scratch: &Scratch, server: &str, args: &[&str], more: &[(&str, &str)]) -> Done {
    let environment = [
        ("AWS_ENDPOINT_URL", server),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "token"),
    ];
    scratch.run_in(args, &[&environment[..], more].concat())
}

fn counted(done: &Done) -> &str {
    assert_eq!(done.status, 0, "{}", done.err);
    done.out.trim()
}

#[test]
fn every_format_is_read_at_an_address() {
    let (scratch, server) = server();
    for name in ["a.epd", "a.epd.zst", "a.epb", "a.epa", "a.epdb"] {
        let address = server.at(&format!("/{name}"));
        assert_eq!(counted(&scratch.run(&["count", &address])), "20000", "{name}");
    }
    server.put("/games.pgn", GAMES);
    let done = scratch.run(&["convert", &server.at("/games.pgn?download=true"), "games.pgc"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(counted(&scratch.run(&["count", "games.pgc"])), "1");
}

#[test]
fn redirects_of_web_servers_are_followed() {
    let (scratch, server) = server();
    let other = WebServer::start();
    other.redirect("/resolve/main/a.epd", &server.at("/a.epd?signature=1"));
    let done = scratch.run(&["count", &other.at("/resolve/main/a.epd")]);
    assert_eq!(counted(&done), "20000");
    other.redirect("/circle", &other.at("/circle"));
    let done = scratch.run(&["count", &other.at("/circle")]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("redirect"), "{}", done.err);
}

#[test]
fn credentials_never_follow_a_redirect() {
    let (scratch, server) = server();
    let other = WebServer::start();
    other.put("/bucket/b.epd", "8/8/8/4k3/8/1K6/8/8 b - -\n");
    assert_eq!(counted(&run_in_s3(&scratch, &other.base, &["count", "s3://bucket/b.epd"])), "1");
    let signed = other.requests();
    assert!(signed.iter().all(|request| request.headers.contains_key("authorization")));
    assert!(signed.iter().all(|request| request.headers.contains_key("x-amz-security-token")));

    other.redirect("/bucket/a.epd", &server.at("/a.epd"));
    let done = run_in_s3(&scratch, &other.base, &["count", "s3://bucket/a.epd"]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("s3://bucket/a.epd"), "{}", done.err);
    assert!(done.err.contains("302"), "{}", done.err);
    assert_eq!(server.requests().len(), 0);

    let done = scratch.run(&["count", "http://user:secret@127.0.0.1:1/a.epd"]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("with a user name or a password is not accepted"), "{}", done.err);
}

#[test]
fn folders_and_patterns_in_s3_name_their_objects() {
    let (scratch, server) = (Scratch::new(), WebServer::start());
    for name in ["games/1.pgn", "games/2.pgn", "games/old/3.pgn", "games/.4.pgn", "games2/5.pgn"] {
        server.put(&format!("/bucket/{name}"), GAMES);
    }
    server.put("/bucket/games/readme.txt", "no games");
    for (name, games) in [
        ("s3://bucket/games/", "3"),
        ("s3://bucket/games/*.pgn", "2"),
        ("s3://bucket/games/**/*.pgn", "3"),
        ("s3://bucket/**/*.pgn", "4"),
        ("s3://bucket/games*/5.pgn", "1"),
    ] {
        let done = run_in_s3(&scratch, &server.base, &["count", name]);
        assert_eq!(counted(&done), games, "{name}: {}", done.err);
    }
    let done = run_in_s3(&scratch, &server.base, &["count", "s3://bucket/games/"]);
    assert!(done.err.contains("1 file of other formats is not read"), "{}", done.err);
    for (name, message) in [
        ("s3://bucket/none/*.pgn", "no file matches s3://bucket/none/*.pgn"),
        ("s3://bucket/none/", "is a folder without a file that epdb reads"),
    ] {
        let done = run_in_s3(&scratch, &server.base, &["count", name]);
        assert_eq!(done.status, 2, "{name}: {}", done.err);
        assert!(done.err.contains(message), "{}", done.err);
    }
}

/// The folder of a sharded archive is read once, through its manifest.
#[test]
fn a_library_in_a_folder_in_s3_is_counted_once() {
    let (scratch, server) = (Scratch::with("a.epd", records()), WebServer::start());
    let pack = ["pack", "a.epd", "--shards", "4", "-o", "s3://bucket/all/library"];
    let done = run_in_s3(&scratch, &server.base, &pack);
    assert_eq!(done.status, 0, "{}", done.err);
    server.put("/bucket/all/b.epd", "8/8/8/4k3/8/1K6/8/8 b - -\n");
    let done = run_in_s3(&scratch, &server.base, &["count", "s3://bucket/all/"]);
    assert_eq!(counted(&done), "20001");
}

fn run_in_hub(scratch: &Scratch, server: &WebServer, args: &[&str]) -> Done {
    scratch.run_in(args, &[("HF_ENDPOINT", &server.base), ("HF_TOKEN", "secret")])
}

#[test]
fn datasets_are_read_and_their_token_stays_with_their_server() {
    let (scratch, server) = server();
    let hub = WebServer::start();
    hub.put("/datasets/o/n/resolve/main/b.epd", "8/8/8/4k3/8/1K6/8/8 b - -\n");
    hub.redirect("/datasets/o/n/resolve/v1/a.epa", &server.at("/a.epa"));
    assert_eq!(counted(&run_in_hub(&scratch, &hub, &["count", "hf://datasets/o/n/b.epd"])), "1");
    let at_v1 = "hf://datasets/o/n@v1/a.epa";
    assert_eq!(counted(&run_in_hub(&scratch, &hub, &["count", at_v1])), "20000");
    let authorized = |request: &crate::web_server::Request| {
        request.headers.get("authorization").is_some_and(|it| it == "Bearer secret")
    };
    let (asked, redirected) = (hub.requests(), server.requests());
    assert!(asked.len() > 2 && asked.iter().all(authorized), "{asked:?}");
    assert!(!redirected.is_empty(), "{redirected:?}");
    assert!(redirected.iter().all(|it| !it.headers.contains_key("authorization")));

    hub.fail("/datasets/o/n/resolve/main/b.epd", Fault::Status(401));
    let done = run_in_hub(&scratch, &hub, &["count", "hf://datasets/o/n/b.epd"]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("hf://datasets/o/n/b.epd: there is no such dataset"), "{}", done.err);
    assert!(!done.err.contains("secret"), "{}", done.err);
    let done = run_in_hub(&scratch, &hub, &["count", "hf://spaces/o/n/b.epd"]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("hf://datasets/OWNER/NAME/FILE is expected"), "{}", done.err);
}

#[test]
fn folders_and_patterns_of_datasets_name_their_files() {
    let (scratch, hub) = (Scratch::new(), WebServer::start());
    for name in ["d/year=2023/0.pgn", "d/year=2024/0.pgn", "d/year=2024/1.pgn", "e/0.pgn"] {
        hub.put(&format!("/datasets/o/n/resolve/main/{name}"), GAMES);
    }
    hub.put("/datasets/o/n/resolve/main/README.md", "a dataset");
    for (name, games) in [
        ("hf://datasets/o/n/d/year=2024/*.pgn", "2"),
        ("hf://datasets/o/n/d/*/0.pgn", "2"),
        ("hf://datasets/o/n/**/*.pgn", "4"),
        ("hf://datasets/o/n/d/", "3"),
        ("hf://datasets/o/n/", "4"),
    ] {
        let done = run_in_hub(&scratch, &hub, &["count", name]);
        assert_eq!(counted(&done), games, "{name}: {}", done.err);
    }
}

/// Every place that shows or stores the name of a source.
#[test]
fn no_output_has_the_query_or_the_password_of_an_address() {
    let (scratch, server) = server();
    let other = WebServer::start();
    server.put("/games.pgn", GAMES);
    scratch.write("l.pgn", GAMES);
    let tally = ["tally", "l.pgn", "--keep-games", "2", "-q", "--force", "-o", "l.epa"];
    assert_eq!(scratch.run(&tally).status, 0);
    server.put("/l.epa", scratch.read("l.epa"));
    other.redirect("/moved.pgn", &server.at("/games.pgn?signature=SECRET"));
    other.redirect("/gone.pgn", &server.at("/none.pgn?signature=SECRET"));
    let base = &server.base;
    let host = base.strip_prefix("http://").unwrap();
    let games = format!("{base}/games.pgn?token=SECRET&X-Amz-Signature=SECRET");
    let library = format!("{base}/l.epa?token=SECRET#SECRET");
    let text = format!("{base}/a.epd?token=SECRET");
    let none = format!("{base}/none.epd?token=SECRET");
    let password = format!("http://user:SECRET@{host}/a.epd");
    let broken = format!("http://user:SECRET/SECRET@{host}/a.epd");
    let ftp = format!("ftp://user:SECRET@{host}/a.epd?SECRET");
    let sum = format!("{library}+d.epdb");
    let import = ["import", "d.epdb", "l.pgn", "--tally", "-q"];
    assert_eq!(scratch.run(&import).status, 0);
    let (moved, gone) = (other.at("/moved.pgn"), other.at("/gone.pgn"));
    let target = format!("{base}/out.epd?token=SECRET");
    let not_bucket = "s3://user:SECRET@bucket/a.epd".to_string();
    let e4 = ["e4", "e5"];
    for args in [
        &["count", &games][..],
        &["count", &games, &text, &library],
        &["stats", &games, "--json"],
        &["stats", &library],
        &["verify", &text],
        &["verify", &library, "--json"],
        &["tally", &games, "-o", "t.epa"],
        &["stats", "t.epa"],
        &["stats", "t.epa", "--json"],
        &["import", "s.epdb", &text],
        &["import", "s.epdb", &text],
        &["import", "g.epdb", &games, "--tally", "--json"],
        &["stats", "s.epdb", "g.epdb"],
        &["verify", "s.epdb", "g.epdb", "t.epa"],
        &["pack", &text, "-o", "p.epa"],
        &["convert", &library, "c.epdb"],
        &["pack", &text, "--shards", "2", "-o", "shards"],
        &["shard", "plan", "--slices", "2", "-o", "plan.json", &games],
        &["explore", &library, e4[0], e4[1]],
        &["explore", &library, "e4", "c5", "c4", "c6"],
        &["explore", &games, "e4"],
        &["get", &library, POSITION],
        &["get", &games, POSITION],
        &["explore", &sum, "e4"],
        &["games", &library, "e4"],
        &["dump", &text],
        &["dump", &library],
        &["diff", &text, &library],
        &["union", &library, &library, "-o", "u.epa"],
        &["book", "list", &text],
        &["book", "info", &text],
        &["serve", &none],
        &["serve", &library, &library],
        &["serve", &format!("{base}/l?token=SECRET")],
        &["count", &none],
        &["count", &password],
        &["count", &broken],
        &["count", &ftp],
        &["count", &not_bucket],
        &["serve", &format!("x={password}")],
        &["count", &moved],
        &["count", &gone],
        &["convert", "a.epd", &target],
        &["normalize", &text, "--rejects", &ftp],
    ] {
        let done = scratch.run(args);
        for text in [&done.out, &done.err] {
            assert!(!text.contains("SECRET"), "{args:?}: {text}");
        }
        assert!(done.status <= 2, "{args:?}: {}", done.err);
    }
    for name in ["t.epa", "s.epdb", "g.epdb", "p.epa", "c.epdb", "u.epa", "shards/manifest.json"] {
        let Ok(bytes) = std::fs::read(scratch.path(name)) else { continue };
        assert!(!bytes.windows(6).any(|bytes| bytes == b"SECRET"), "{name}");
    }
    assert!(scratch.run(&["stats", "t.epa"]).out.contains("/games.pgn"));
    for request in [server.requests(), other.requests()].concat() {
        assert!(!request.headers.contains_key("referer"), "{request:?}");
    }
}

#[test]
fn content_is_read_without_its_length() {
    let (scratch, server) = server();
    server.put("/games.pgn", GAMES);
    server.frame_by(Framing::Chunks);
    for name in ["a.epd", "a.epd.zst", "a.epb", "a.epa", "a.epdb"] {
        let done = scratch.run(&["count", &server.at(&format!("/{name}"))]);
        assert_eq!(counted(&done), "20000", "{name}");
    }
    assert_eq!(counted(&scratch.run(&["count", &server.at("/games.pgn")])), "1");

    // The first request is for the first bytes, the second one for all.
    server.fail("/a.epd", Fault::None);
    server.fail("/a.epd", Fault::Cut(200_000));
    let done = scratch.run(&["count", &server.at("/a.epd")]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("broke at byte 200000"), "{}", done.err);
    assert!(done.err.contains("the server gives no length"), "{}", done.err);

    server.frame_by(Framing::End);
    let done = scratch.run(&["count", &server.at("/a.epd")]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("does not say where the content ends"), "{}", done.err);
}

#[test]
fn an_empty_object_has_no_records() {
    let (scratch, server) = server();
    server.put("/empty.epd", "");
    assert_eq!(counted(&scratch.run(&["count", &server.at("/empty.epd")])), "0");
    let ranges = |request: &crate::web_server::Request| request.headers.get("range").cloned();
    let ranges: Vec<_> = server.requests().iter().map(ranges).collect();
    assert_eq!(ranges, [Some("bytes=0-65535".to_string()), None]);
}

#[test]
fn an_answer_without_content_is_an_error() {
    let (scratch, server) = server();
    for status in [202, 204, 205] {
        server.fail("/a.epd", Fault::Status(status));
        let done = scratch.run(&["count", &server.at("/a.epd")]);
        assert_eq!(done.status, 2, "{status}: {}", done.out);
        assert!(done.err.contains(&format!("the server answered {status} ")), "{}", done.err);
    }
}

#[test]
fn a_date_that_is_not_valid_is_ignored() {
    let (scratch, server) = server();
    for date in ["yesterday", "Fri, 31 Feb 2026 00:00:00 GMT", "\u{e9}", ""] {
        server.modified(date);
        for name in ["a.epd", "a.epa"] {
            let done = scratch.run(&["count", &server.at(&format!("/{name}"))]);
            assert_eq!(counted(&done), "20000", "{date}");
        }
    }
}

/// Credentials of the machine are requested only if the user wants that.
#[test]
fn the_machine_is_not_asked_for_credentials() {
    let (scratch, _) = server();
    let metadata = WebServer::start();
    metadata.put("/latest/api/token", "token");
    let endpoint = ("AWS_METADATA_ENDPOINT", metadata.base.as_str());
    let relative = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/none");
    let full = metadata.at("/credentials");
    let full = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", full.as_str());
    for environment in [
        &[][..],
        &[full],
        &[relative],
        &[full, ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "a.epd")],
        &[("AWS_WEB_IDENTITY_TOKEN_FILE", "a.epd")],
        &[("AWS_SKIP_SIGNATURE", "false")],
        &[("EPDB_REMOTE_INSTANCE_CREDENTIALS", "false")],
    ] {
        let environment = [&[endpoint][..], environment].concat();
        let done = scratch.run_in(&["count", "s3://bucket/a.epd"], &environment);
        assert_eq!(done.status, 2, "{environment:?}: {}", done.err);
        assert!(done.err.contains("set AWS_ACCESS_KEY_ID"), "{environment:?}: {}", done.err);
        assert!(metadata.requests().is_empty(), "{environment:?}");
    }
    let allowed = ("EPDB_REMOTE_INSTANCE_CREDENTIALS", "true");
    let done = scratch.run_in(&["count", "s3://bucket/a.epd"], &[endpoint, allowed]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(!metadata.requests().is_empty(), "{}", done.err);
}

#[test]
fn variables_with_other_values_are_refused() {
    let (scratch, server) = server();
    for (name, value) in [
        ("EPDB_REMOTE_TIMEOUT", "18446744073709551615"),
        ("EPDB_REMOTE_TIMEOUT", "0"),
        ("EPDB_REMOTE_CACHE", "64M"),
        ("EPDB_REMOTE_GAP", "abc"),
        ("EPDB_REMOTE_PART", ""),
        ("EPDB_REMOTE_CHECK", "-1"),
        ("EPDB_REMOTE_INSTANCE_CREDENTIALS", "1"),
    ] {
        let done = scratch.run_in(&["count", &server.at("/a.epd")], &[(name, value)]);
        assert_eq!(done.status, 2, "{name}={value}");
        assert!(done.err.contains(&format!("{name} is `{value}`")), "{}", done.err);
    }
}

#[test]
fn failed_requests_are_repeated() {
    let (scratch, server) = server();
    server.fail("/a.epd", Fault::Status(503));
    server.fail("/a.epd", Fault::Status(500));
    assert_eq!(counted(&scratch.run(&["count", &server.at("/a.epd")])), "20000");
    // The third request gets the first bytes, and the fourth one the rest.
    assert_eq!(server.requests().len(), 4);
    server.fail("/a.epd", Fault::Silence);
    let done = scratch.run_in(&["count", &server.at("/a.epd")], &[("EPDB_REMOTE_TIMEOUT", "1")]);
    assert_eq!(counted(&done), "20000");
    let done = scratch.run(&["count", &server.at("/none.epd")]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("/none.epd: the server has no such object"), "{}", done.err);
}

#[test]
fn a_broken_connection_goes_on_at_its_byte() {
    let (scratch, server) = server();
    for cut in [0, 100_000, 300_000] {
        server.fail("/a.epd", Fault::Cut(cut));
    }
    let done = scratch.run(&["normalize", &server.at("/a.epd")]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.out == records());
    let ranges = |request: &crate::web_server::Request| request.headers.get("range").cloned();
    let ranges: Vec<_> = server.requests().iter().map(ranges).collect();
    let starts = |range: &Option<String>, start: &str| {
        range.as_ref().is_some_and(|range| range.starts_with(&format!("bytes={start}-")))
    };
    assert_eq!(ranges.len(), 4);
    assert!(starts(&ranges[0], "0") && starts(&ranges[1], "0"), "{ranges:?}");
    assert!(starts(&ranges[2], "65536") && starts(&ranges[3], "365536"), "{ranges:?}");
}

#[test]
fn an_object_that_is_replaced_while_it_is_read_is_an_error() {
    let (scratch, server) = server();
    server.fail("/a.epd", Fault::Cut(100_000));
    let other = records().replace("4k3", "3k4");
    server.fail("/a.epd", Fault::Replace(other.into()));
    let done = scratch.run(&["count", &server.at("/a.epd")]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("the object was replaced while it was read"), "{}", done.err);

    server.without_tags();
    server.fail("/a.epd", Fault::None);
    server.fail("/a.epd", Fault::Cut(100_000));
    let done = scratch.run(&["count", &server.at("/a.epd")]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("broke at byte 100000"), "{}", done.err);
    assert!(done.err.contains("the server gives no ETag"), "{}", done.err);
}

#[test]
fn addresses_are_read_and_never_written() {
    let (scratch, server) = server();
    for to in ["b.epd", "b.epdb", "b.epa", "b.pgn"] {
        let done = scratch.run(&["convert", "a.epd", &server.at(&format!("/{to}"))]);
        assert_ne!(done.status, 0);
        assert!(done.err.contains("write a file and upload it"), "{}", done.err);
    }
    let plan = ["shard", "plan", "--slices", "2", "-o", "plan.json", &server.at("/a.epd")];
    let done = scratch.run(&plan);
    assert_ne!(done.status, 0);
    assert!(done.err.contains("an address cannot be cut into slices"), "{}", done.err);
}

const POSITION: &str = "8/8/8/4k3/8/1K6/8/8 b - -";

/// Positions that differ in the place of a knight and in the side to move.
fn knights() -> String {
    let mut text = String::new();
    for (place, turn) in (0..40).flat_map(|place| [(place, 'w'), (place, 'b')]) {
        let blanks = |count| if count == 0 { String::new() } else { format!("{count}") };
        let row = format!("{}N{}", blanks(place % 8), blanks(7 - place % 8));
        let ranks: Vec<&str> =
            (0..5).map(|rank| if rank == place / 8 { &row } else { "8" }).collect();
        text += &format!("k7/8/{}/7K {turn} - - id \"{place}\";\n", ranks.join("/"));
    }
    text
}

#[test]
fn a_lookup_at_an_address_is_that_of_the_file() {
    let (scratch, server) = server();
    for name in ["a.epa", "a.epdb"] {
        let (address, path) = (server.at(&format!("/{name}")), name);
        let local = scratch.run(&["get", path, POSITION]);
        let remote = scratch.run(&["get", &address, POSITION]);
        assert_eq!((remote.status, remote.out), (0, local.out), "{}", remote.err);
    }
    let exported = scratch.run(&["export", &server.at("/a.epa")]);
    assert_eq!(exported.status, 0, "{}", exported.err);
    assert!(exported.out == scratch.run(&["export", "a.epa"]).out);
}

/// Everything that is done with sharded archives in object storage.
fn in_object_storage(run: &dyn Fn(&[&str]) -> Done, paths: &dyn Fn() -> Vec<String>) {
    let make = ["pack", "k.epd", "--shards", "3", "-o", "s3://bucket/knights"];
    let done = run(&make);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("s3://bucket/knights: 80 records in 3 shards"), "{}", done.err);
    let manifest = "s3://bucket/knights/manifest.json";
    let stored = paths();
    assert_eq!(stored.len(), 4, "{stored:?}");
    let exported = run(&["export", manifest]);
    assert_eq!(exported.status, 0, "{}", exported.err);
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&exported.out), lines(&knights()));
    let done = run(&["get", manifest, "k7/8/8/N7/8/8/8/7K b - -"]);
    assert!(done.status == 0 && done.out.contains("id \"8\";"), "{} {}", done.out, done.err);
    let done = run(&["shard", "verify", manifest]);
    assert_eq!(done.status, 0, "{}", done.err);

    // A manifest is replaced only on request. Shards with the same content are stored once.
    let done = run(&make);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("already exists: --force replaces it"), "{}", done.err);
    assert_eq!(run(&[&make[..], &["--force"]].concat()).status, 0);
    assert_eq!(paths(), stored);
    let done =
        run(&["shard", "merge", manifest, "more.epd", "--shards", "2", "--force", "-o", make[5]]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(paths().len(), 6);
    assert_eq!(counted(&run(&["count", manifest])), "81");
    let fold = ["shard", "merge", "k.epd", "--delta", "d.epdb", "--shards", "2", "--force"];
    let done = run(&[&fold[..], &["-o", make[5]]].concat());
    assert_eq!(done.status, 2);
    assert!(done.err.contains("--delta writes into a folder"), "{}", done.err);
}

#[test]
fn sharded_archives_are_written_to_object_storage() {
    let scratch = Scratch::with("k.epd", knights());
    scratch.write("more.epd", format!("{POSITION}\n"));
    let server = WebServer::start();
    in_object_storage(&|args| run_in_s3(&scratch, &server.base, args), &|| server.paths());
    let done = scratch.run(&["pack", "k.epd", "--shards", "2", "-o", &server.at("/b")]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("a web server is only read"), "{}", done.err);
}

/// moto, which imitates the S3 of Amazon; it ends with the test.
struct Moto {
    process: Child,
    base: String,
}

impl Moto {
    /// `None` if there is no moto; the test is then skipped.
    fn start() -> Option<Moto> {
        let mut command = Command::new("moto_server");
        command.args(["-H", "127.0.0.1", "-p", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let Ok(mut process) = command.spawn() else {
            skipped("no moto_server: `pip install 'moto[server,s3]'`");
            return None;
        };
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let base = lines.find_map(|line| {
            let line = line.ok()?;
            line.split("Running on ").nth(1).map(|base| base.trim().to_string())
        });
        // The rest of its messages must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        let Some(base) = base else {
            process.kill().ok();
            skipped("moto_server does not start");
            return None;
        };
        ureq::put(format!("{base}/bucket")).send_empty().unwrap();
        Some(Moto { process, base })
    }

    /// The keys of the bucket.
    fn paths(&self) -> Vec<String> {
        let address = format!("{}/bucket?list-type=2", self.base);
        let listed = ureq::get(address).call().unwrap().body_mut().read_to_string().unwrap();
        let key = |part: &str| part.split("</Key>").next().unwrap().to_string();
        listed.split("<Key>").skip(1).map(key).collect()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn sharded_archives_are_written_to_the_s3_of_moto() {
    let Some(moto) = Moto::start() else { return };
    let scratch = Scratch::with("k.epd", knights());
    scratch.write("more.epd", format!("{POSITION}\n"));
    in_object_storage(&|args| run_in_s3(&scratch, &moto.base, args), &|| moto.paths());
}

#[test]
fn a_hundred_thousand_lookups_through_faults_of_moto_are_the_local_ones() {
    let Some(moto) = Moto::start() else { return };
    let scratch = Scratch::new();
    let positions = positions(100_000);
    let line = |(number, position): (usize, &Position)| {
        let line = epdb_chess::format_epd(&EpdRecord::new(*position));
        format!("{} id \"{number}\";\n", String::from_utf8(line).unwrap())
    };
    let lines: Vec<String> = positions.iter().enumerate().map(line).collect();
    scratch.write("records.epd", lines[..60_000].concat());
    scratch.write("find.epd", lines.concat());
    let manifest = "s3://bucket/a/manifest.json";
    for to in ["s3://bucket/a", "local"] {
        let make = ["pack", "records.epd", "--shards", "4", "-o", to];
        let done = run_in_s3(&scratch, &moto.base, &make);
        assert_eq!(done.status, 0, "{}", done.err);
    }
    let local = scratch.run(&["get", "local/manifest.json", "-f", "find.epd", "--tag"]);
    assert_eq!(local.status, 1, "{}", local.err);

    let proxy = WebServer::before(&moto.base);
    let paths = moto.paths().into_iter().filter(|path| path.ends_with(".epa"));
    let paths: Vec<String> = paths.map(|path| format!("/bucket/{path}")).collect();
    let get = ["get", manifest, "-f", "find.epd", "--tag"];
    let get = || run_in_s3_with(&scratch, &proxy.base, &get, &[("EPDB_REMOTE_TIMEOUT", "1")]);
    let done = get();
    assert!(done.status == 1 && done.out == local.out, "{}", done.err);
    let requests = proxy.requests();
    let bytes: usize = requests.iter().map(|request| request.sent).sum();
    println!("100,000 lookups in one batch: {bytes} bytes in {} requests", requests.len());

    for (path, place) in paths.iter().zip(0..) {
        (0..place).for_each(|_| proxy.fail(path, Fault::None));
        for fault in [Fault::Status(503), Fault::Cut(100), Fault::Status(500)] {
            proxy.fail(path, fault);
        }
    }
    proxy.fail(&paths[1], Fault::Silence);
    let done = get();
    assert!(done.status == 1 && done.out == local.out, "{}", done.err);

    // Another object in the place of a shard, before and after it was opened.
    let other = paths[1].replace("/bucket/a/", "local/");
    for requests_before in 0..3 {
        let (path, other) = (&paths[0], scratch.read(&other));
        (0..requests_before).for_each(|_| proxy.fail(path, Fault::None));
        proxy.fail(path, Fault::Replace(other));
        let done = get();
        match done.status {
            // The shard was read before it was replaced.
            1 if requests_before > 0 && done.out == local.out => {}
            // The other shards answer, and it is said which answers may be missing.
            1 => {
                assert!(done.err.contains("replaced"), "{requests_before}: {}", done.err);
                assert!(done.err.contains("it is not known"), "{requests_before}: {}", done.err);
                let known: HashSet<&str> = local.out.lines().collect();
                let answered: Vec<&str> = done.out.lines().collect();
                assert!(answered.len() > 1_000 && answered.len() < known.len());
                assert!(answered.iter().all(|line| known.contains(line)), "{requests_before}");
            }
            _ => {
                assert!(done.err.contains("replaced"), "{requests_before}: {}", done.err);
                assert!(done.status == 2 && done.out.is_empty(), "{requests_before}");
            }
        }
        proxy.remove(path);
    }
}

#[test]
fn damage_at_an_address_is_found_as_in_the_file() {
    let (scratch, server) = server();
    let whole = scratch.read("a.epa");
    for place in (0..whole.len()).step_by(whole.len() / 10) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        scratch.write("b.epa", &bytes);
        server.put("/b.epa", bytes);
        let [local, remote] =
            ["b.epa", &server.at("/b.epa")].map(|name| scratch.run(&["verify", name]));
        assert_eq!((local.status, remote.status), (1, 1), "byte {place}: {}", remote.err);
        // A file without its end is read from its front, an object at an address is not.
        let is_of_front =
            |line: &str| line.contains(": end of the file") || line.ends_with("no record is lost");
        let local: Vec<_> = local.out.lines().filter(|line| !is_of_front(line)).collect();
        let remote = remote.out.replace(&server.at("/b.epa"), "b.epa");
        let remote: Vec<_> = remote.lines().filter(|line| !is_of_front(line)).collect();
        assert_eq!(remote, local, "byte {place}");
    }
    let done = scratch.run(&["verify", &server.at("/a.epa")]);
    assert!(done.status == 0 && done.out.contains("no damage found"), "{} {}", done.out, done.err);
}

#[test]
fn a_long_shard_is_written_in_parts() {
    let scratch = Scratch::with("a.epd", records());
    let server = WebServer::start();
    let make = ["pack", "a.epd", "--shards", "1", "-o", "s3://bucket/a", "--force"];
    let run = || run_in_s3_with(&scratch, &server.base, &make, &[("EPDB_REMOTE_PART", "64")]);
    assert_eq!(run().status, 0);
    let requests = server.requests();
    let parts = requests.iter().filter(|request| request.path.contains("partNumber=")).count();
    assert!(parts > 2, "{parts} parts");
    assert_eq!(counted(&run_in_s3(&scratch, &server.base, &["count", MANIFEST_OF_A])), "20000");
    let paths = server.paths();
    let [shard] = &paths.iter().filter(|path| path.ends_with(".epa")).collect::<Vec<_>>()[..]
    else {
        panic!("{paths:?}")
    };
    let content = server.get(shard).unwrap();

    // The same shard is not sent again.
    server.requests();
    assert_eq!(run().status, 0);
    assert!(!server.requests().iter().any(|request| request.path.contains("partNumber=")));

    // An upload that fails leaves no object and no part, and the manifest stays.
    server.remove(shard);
    let manifest = server.get("/bucket/a/manifest.json");
    for fault in [Fault::None, Fault::None, Fault::None, Fault::Status(400)] {
        server.fail(shard, fault);
    }
    let done = run();
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("s3://bucket/a/1-of-1-"), "{}", done.err);
    assert_eq!((server.get(shard), server.uploads()), (None, 0));
    assert_eq!(server.get("/bucket/a/manifest.json"), manifest);

    // An upload that was interrupted before its end is no object, and does not disturb the next one.
    ureq::post(server.at(&format!("{shard}?uploads"))).send_empty().unwrap();
    ureq::put(server.at(&format!("{shard}?partNumber=1&uploadId=1"))).send("x").unwrap();
    assert_eq!((server.get(shard), server.uploads()), (None, 1));
    assert_eq!(run().status, 0);
    assert_eq!((server.get(shard), server.uploads()), (Some(content), 0));
}

const MANIFEST_OF_A: &str = "s3://bucket/a/manifest.json";

#[test]
fn a_manifest_that_another_command_replaced_stays() {
    let scratch = Scratch::with("k.epd", knights());
    let server = WebServer::start();
    let make = ["pack", "k.epd", "--shards", "1", "-o", "s3://bucket/k", "--force"];
    assert_eq!(run_in_s3(&scratch, &server.base, &make).status, 0);
    // The next request for the manifest reads its version; the one after it stores another.
    server.fail("/bucket/k/manifest.json", Fault::Status(503));
    server.replace_before_put("/bucket/k/manifest.json", "other");
    let done = run_in_s3(&scratch, &server.base, &make);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("another command has written the manifest"), "{}", done.err);
    assert_eq!(server.get("/bucket/k/manifest.json").unwrap(), b"other");
}

/// Whether shards can be written is known before any input is read.
#[test]
fn a_bucket_that_cannot_be_written_is_noticed_first() {
    let scratch = Scratch::new();
    for (status, what) in [(404, "the bucket does not exist"), (403, "access is denied")] {
        for command in ["make", "merge"] {
            let server = WebServer::start();
            server.fail("/none/k/manifest.json", Fault::Status(404));
            server.fail("/none/k/manifest.json", Fault::Status(status));
            let args = ["shard", command, "missing.epd", "--shards", "1", "-o", "s3://none/k"];
            let done = run_in_s3(&scratch, &server.base, &args);
            assert_eq!((done.status, &*done.out), (2, ""), "{}", done.err);
            let place = "epdb: error: s3://none/k/manifest.json: ";
            assert!(done.err.starts_with(&format!("{place}{what}")), "{}", done.err);
        }
    }
}

#[test]
fn credentials_come_from_the_environment() {
    let scratch = Scratch::new();
    let done = scratch.run(&["count", "s3://bucket/a.epd"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("set AWS_ACCESS_KEY_ID"), "{}", done.err);
    let done = scratch.run(&["count", "s3://bucket"]);
    assert!(done.err.contains("s3://BUCKET/KEY is expected"), "{}", done.err);
}
