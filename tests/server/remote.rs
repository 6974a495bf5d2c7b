//! Sources at addresses, and the same sources as files, pipes, sharded archives, and bases of deltas.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;

use epdb_chess::model::Position;
use epdb_chess::model::rules::Playable;
use epdb_chess::text::san;
use serde_json::Value;

use crate::scratch::Scratch;
use crate::server::Running;
use crate::sources::unnumbered;
use crate::web_server::{Fault, WebServer};

/// Number of games of the library. Its archive is much longer than the part that is received when it
/// is opened.
const GAMES: usize = 600;

/// Games of random moves, the same in every run. White is the same player in all.
fn games(count: usize, seed: u64) -> String {
    let mut text = String::new();
    let mut random = seed;
    for nth in 0..count {
        let result = ["1-0", "0-1", "1/2-1/2"][nth % 3];
        write!(text, "[White \"Ann\"]\n[Black \"B{nth}\"]\n[Date \"2020.05.01\"]\n").unwrap();
        write!(text, "[WhiteElo \"2000\"]\n[Result \"{result}\"]\n\n").unwrap();
        let mut playable = Playable::new(&Position::START).unwrap();
        for _ in 0..80 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let moves = playable.legal_moves();
            if moves.is_empty() {
                break;
            }
            let mv = moves[(random >> 32) as usize % moves.len()];
            write!(text, "{} ", san::format(&playable, mv)).unwrap();
            playable = playable.after(mv);
        }
        write!(text, "{result}\n\n").unwrap();
    }
    text
}

fn run(scratch: &Scratch, args: &[&str]) {
    let done = scratch.run(args);
    assert_eq!(done.status, 0, "{args:?}: {}", done.err);
}

/// A library in all its forms, and a delta of it. All files are on the server too.
fn library(games_count: usize) -> (Scratch, WebServer) {
    let scratch = Scratch::with("a.pgn", games(games_count, 0x9e37_79b9_7f4a_7c15));
    scratch.write("b.pgn", games(20, 1));
    let tally = ["tally", "a.pgn", "--player", "Ann", "--side", "white", "--keep-games", "2"];
    run(&scratch, &[&tally[..], &["-q", "-o", "l.epa"]].concat());
    run(&scratch, &["pack", "l.epa", "--shards", "3", "-q", "-o", "shards"]);
    run(&scratch, &["import", "d.epdb", "b.pgn", "--tally", "--base", "l.epa", "-q"]);
    let server = WebServer::start();
    server.put("/l.epa", scratch.read("l.epa"));
    for entry in fs::read_dir(scratch.path("shards")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        server.put(&format!("/shards/{name}"), fs::read(entry.path()).unwrap());
    }
    (scratch, server)
}

/// Questions of every dialect.
const QUESTIONS: [&str; 10] = [
    "/lichess?",
    "/lichess?play=e2e4,e7e5&recentGames=2&",
    "/masters?play=d2d4&topGames=2&",
    "/masters?play=g1f3,g8f6,b1c3&moves=30&",
    "/player?player=Ann&color=white&play=a2a3&",
    "/cdb.php?action=queryall&board=rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR%20w%20KQkq%20-&",
    "/cdb.php?action=queryall&json=1&board=rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR%20b%20KQkq%20-&",
    "/api/position?play=c2c4&parents=1&",
    "/api/position?play=h2h4,h7h5,h1h3&",
    "/api/position?fen=4k3/8/8/8/8/8/8/4K3%20w%20-%20-&",
];
const BATCH: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n\
    rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n\
    rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n\
    4k3/8/8/8/8/8/8/4K3 w - -\n";

/// The answer of a source to a question, without the name of the source.
fn ask(running: &Running, question: &str, source: &str) -> String {
    let got = running.get(&format!("{question}source={source}"));
    assert_eq!(got.status, 200, "{question}{source}: {}\n{}", got.text(), running.log());
    match serde_json::from_str::<Value>(got.text()) {
        Ok(Value::Object(mut answer)) => {
            answer.remove("source");
            let mut answer = Value::Object(answer);
            unnumbered(&mut answer);
            answer.to_string()
        }
        _ => got.text().to_string(),
    }
}

#[test]
fn every_dialect_answers_alike_from_every_place() {
    let (scratch, server) = library(GAMES);
    assert!(scratch.read("l.epa").len() > 2 * (64 << 10));
    let (address, manifest) = (server.at("/l.epa?token=T"), server.at("/shards/manifest.json"));
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("epdb"));
    command.args(["serve", "--listen", "127.0.0.1:0", "file=l.epa", "pipe=-"]);
    command.args([format!("http={address}"), format!("http-shards={manifest}")]);
    command.args(["shards=shards/manifest.json", "delta=l.epa+d.epdb"]);
    command
        .args([format!("http-delta={address}+d.epdb"), format!("shard-delta={manifest}+d.epdb")]);
    // More threads than processors: some lookups run on threads of the runtime.
    command.env("TOKIO_WORKER_THREADS", "4");
    let mut cat = Command::new("cat");
    let mut cat = cat.arg(scratch.path("l.epa")).stdout(Stdio::piped()).spawn().unwrap();
    let running = Running::spawn_with(&scratch, command, cat.stdout.take().unwrap().into());
    assert!(cat.wait().unwrap().success());

    for (one, others) in [
        ("file", &["pipe", "http", "shards", "http-shards"][..]),
        ("delta", &["http-delta", "shard-delta"]),
    ] {
        for question in QUESTIONS {
            let expected = ask(&running, question, one);
            for other in others {
                assert_eq!(ask(&running, question, other), expected, "{question}{other}");
            }
        }
        let batch = |source: &str| {
            let got = running.post(&format!("/api/batch?source={source}"), BATCH.as_bytes());
            assert_eq!(got.status, 200, "{source}: {}", got.text());
            got.text().to_string()
        };
        for other in others {
            assert_eq!(batch(other), batch(one), "{other}");
        }
    }

    let explored = scratch.run(&["explore", "l.epa", "e4", "--json"]);
    let explored: Value = serde_json::from_str(&explored.out).unwrap();
    let served = running.get("/lichess?play=e2e4&moves=99&source=http").json();
    assert!(explored["moves"].as_array().unwrap().len() > 5);
    for (nth, mv) in explored["moves"].as_array().unwrap().iter().enumerate() {
        for name in ["uci", "white", "draws", "black"] {
            assert_eq!(served["moves"][nth][name], mv[name], "{mv}");
        }
    }

    // Many at the same time, more than there are threads.
    thread::scope(|scope| {
        for place in 0..24 {
            let running = &running;
            scope.spawn(move || {
                let question = QUESTIONS[place % QUESTIONS.len()];
                let question = format!("{question}nth={}&", place / QUESTIONS.len());
                let source = ["http", "http-shards", "file", "pipe"][place % 4];
                assert_eq!(ask(running, &question, source), ask(running, &question, "shards"));
            });
        }
    });
    let (status, log) = running.stop();
    assert!(status.success(), "{log}");
    assert!(log.ends_with(" stopped\n"), "{log}");
    assert!(!log.contains("token"), "{log}");
}

/// A server that does not answer any more blocks neither others nor the end.
#[test]
fn a_source_that_hangs_holds_nobody_up() {
    let (scratch, server) = library(GAMES);
    scratch.write("serve.toml", "limits.stop-time = '100ms'\n");
    let http = format!("http={}", server.at("/l.epa"));
    let args = ["--config", "serve.toml", "file=l.epa", &http];
    let running = Running::start(&scratch, &args);
    for _ in 0..100 {
        server.fail("/l.epa", Fault::Silence);
    }
    thread::scope(|scope| {
        for question in QUESTIONS.iter().take(6) {
            let address = running.address().to_string();
            scope.spawn(move || {
                let path = format!("http://{address}{question}source=http");
                // An answer may need nothing that was not read when the source was opened.
                ureq::get(&path).call().ok();
            });
        }
        server.wait_for_held(2);
        assert_eq!(running.get("/healthz").text(), "ok\n");
        ask(&running, QUESTIONS[0], "file");
        running.tell(rustix::process::Signal::TERM);
        let (status, log) = running.end();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("cut off"), "{log}");
    });
}

/// Files are checked several times a second, and objects after the time that a variable sets.
#[test]
fn an_address_is_seldom_checked() {
    let (scratch, server) = library(3);
    let http = format!("http={}", server.at("/l.epa"));
    let delta = format!("delta={}+d.epdb", server.at("/l.epa"));
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("epdb"));
    command.args(["serve", "--listen", "127.0.0.1:0", "b.pgn", &http, &delta]);
    // An hour, because a slow machine may take longer than the default for this test.
    command.env("EPDB_REMOTE_CHECK", "3600");
    let running = Running::spawn(&scratch, command);
    server.requests();
    for count in 21..24 {
        scratch.write("b.pgn", games(count, 1));
        run(&scratch, &["tally", "b.pgn", "-q", "--force", "-o", "b.epa"]);
        let records = scratch.run(&["count", "b.epa"]).out;
        let records = records.split_whitespace().next().unwrap();
        running.wait_for_log(&format!("opened again source=\"b\" records={records}\n"));
    }
    run(&scratch, &["import", "d.epdb", "b.pgn", "--tally", "--base", "l.epa", "-q"]);
    running.wait_for_log("opened again source=\"delta\"");
    let requests = server.requests();
    let heads = requests.iter().filter(|request| request.method == "HEAD").count();
    assert_eq!(heads, 0, "{requests:?}");
    let metrics = running.get("/metrics").text().to_string();
    for source in ["b", "http", "delta"] {
        let line = format!("epdb_source_current{{source=\"{source}\"}} 1\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
}
