//! Signals: stop, and reload of the settings.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use rustix::process::Signal;

use crate::raw::{chunk, connect, exchange, open_batch, read_until, rest, status};
use crate::scratch::Scratch;
use crate::server::Running;

fn game(moves: &str) -> String {
    format!("[White \"A\"]\n[Black \"B\"]\n[Result \"1-0\"]\n\n{moves} 1-0\n")
}

fn library() -> Scratch {
    let scratch = Scratch::with("one.pgn", game("1. e4 c5"));
    scratch.write("two.pgn", game("1. d4 d5 2. c4"));
    scratch.run(&["tally", "one.pgn", "-o", "one.epa"]);
    scratch.run(&["tally", "two.pgn", "-o", "two.epa"]);
    scratch
}

/// Asks until the answer has what is awaited.
fn until(running: &Running, awaited: &str) -> String {
    for _ in 0..100_000 {
        let text = running.get("/metrics").text().to_string();
        if text.contains(awaited) {
            return text;
        }
    }
    panic!("never {awaited}:\n{}", running.log());
}

#[test]
fn hang_up_reads_the_settings_again() {
    let scratch = library();
    scratch.write("serve.toml", "sources = ['one.epa']\n");
    let running = Running::start(&scratch, &["--config", "serve.toml"]);
    until(&running, "epdb_source_records{source=\"one\"} 3\n");

    scratch.write("serve.toml", "sources = ['other=two.epa', 'one.epa']\n");
    running.tell(Signal::HUP);
    let text = until(&running, "epdb_source_records{source=\"other\"} 4\n");
    assert!(text.contains("epdb_source_records{source=\"one\"} 3\n"), "{text}");

    for (settings, number) in
        [("sources = [\n'none.epa']\n", 1), ("sources = []\nnonsense = 1\n", 2)]
    {
        scratch.write("serve.toml", settings);
        running.tell(Signal::HUP);
        until(&running, &format!("epdb_reloads_total{{result=\"failed\"}} {number}\n"));
        until(&running, "epdb_source_records{source=\"other\"} 4\n");
    }
    let (status, log) = running.stop();
    assert!(status.success(), "{log}");
    assert!(log.contains("none.epa"), "{log}");
    assert!(log.contains("serve.toml:2:1: unknown field"), "{log}");
}

#[test]
fn idle_connections_do_not_hold_it_up() {
    let scratch = library();
    for signal in [Signal::TERM, Signal::INT] {
        let running = Running::start(&scratch, &["one.epa"]);
        let mut idle = connect(&running);
        idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = [0; 12];
        idle.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        let half = TcpStream::connect(running.address()).unwrap();
        running.tell(signal);
        assert!(rest(&mut idle).ends_with(b"\r\n\r\nok\n"));
        let (status, log) = running.end();
        assert_eq!(status.code(), Some(0), "{log}");
        drop(half);
    }
}

const QUESTION: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n";

/// A batch of which one question was answered, and nobody else is served any more.
fn told_to_stop(running: &Running) -> TcpStream {
    let mut batch = open_batch(running);
    batch.write_all(chunk(QUESTION).as_bytes()).unwrap();
    read_until(&mut batch, "{\"line\":1,");
    running.tell(Signal::TERM);
    while TcpStream::connect(running.address()).is_ok() {}
    batch
}

#[test]
fn an_open_answer_comes_to_its_end() {
    let scratch = library();
    let running = Running::start(&scratch, &["one.epa"]);
    let mut batch = told_to_stop(&running);
    batch.write_all((chunk(QUESTION) + &chunk("")).as_bytes()).unwrap();
    let text = String::from_utf8(rest(&mut batch)).unwrap();
    assert!(text.contains("{\"line\":2,") && text.ends_with("\r\n0\r\n\r\n"), "{text}");
    let (status, log) = running.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.ends_with(" stopped\n"), "{log}");
}

#[test]
fn a_second_signal_does_not_wait() {
    let scratch = library();
    scratch.write("serve.toml", "limits.stop-time = '1h'\n");
    let running = Running::start(&scratch, &["one.epa", "--config", "serve.toml"]);
    let mut batch = told_to_stop(&running);
    running.tell(Signal::TERM);
    assert!(!rest(&mut batch).ends_with(b"0\r\n\r\n"));
    let (status, log) = running.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("stopped at once"), "{log}");
}

#[test]
fn answers_without_an_end_are_cut_in_time() {
    let scratch = library();
    scratch.write("serve.toml", "limits.stop-time = '100ms'\n");
    let running = Running::start(&scratch, &["one.epa", "--config", "serve.toml"]);
    let mut batch = told_to_stop(&running);
    assert!(!rest(&mut batch).ends_with(b"0\r\n\r\n"));
    let (status, log) = running.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("cut off"), "{log}");
}

/// If the system is out of files, connections wait, and the server continues.
#[test]
fn it_outlives_a_lack_of_files() {
    let scratch = library();
    let epdb = assert_cmd::cargo::cargo_bin("epdb");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 40; exec \"$0\" serve one.epa --listen 127.0.0.1:0"]).arg(epdb);
    let running = Running::spawn(&scratch, command);
    let mut many: Vec<TcpStream> = (0..100).map(|_| connect(&running)).collect();
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    many[0].write_all(request).unwrap();
    let mut first = [0; 12];
    many[0].read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    running.wait_for_log("no connection can be had");
    drop(many);
    assert_eq!(status(&exchange(&running, request)), Some(200));
    let counted = running.get("/metrics").text().to_string();
    let failures = counted.split("epdb_accept_failures_total ").nth(1).unwrap();
    let failures: u32 = failures.lines().next().unwrap().parse().unwrap();
    assert!((1..10_000).contains(&failures), "it does not ask on and on: {failures}");
    let (status, log) = running.stop();
    assert!(status.success());
    assert!(log.contains("no connection can be had"), "{log}");
}
