//! The cost of a request over HTTP: `cargo bench --bench server [-- LIBRARY]`.
//!
//! The server is a process of its own on loopback. Clients request positions of lines drawn from the library,
//! each move as often as it was played. There are 1, 8 and 64 clients, and each sends its next request when it has
//! an answer. *Once* requests each position a single time from a fresh server, *again* requests few positions
//! repeatedly. For comparison, a plain handler of axum returns the same answers as bytes. Then come batches
//! compared with `epdb get -f`, and the memory of the server over a million requests (`EPDB_REQUESTS` sets the
//! number).
//!
//! Without a library it is made from the games in `../shared/data/pgn_large` (`EPDB_SHARED_DATA` names another
//! folder), or else from random games.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use epdb_chess::codec::ordinal;
use epdb_chess::model::Position;
use epdb_chess::model::rules::Playable;
use epdb_chess::text::{ParseOptions, PositionLine, Profile, san};
use serde_json::Value;

#[path = "../tests/support/shared_data.rs"]
mod shared_data;
#[path = "../tests/support/skipped.rs"]
mod skipped;

/// Positions that are asked for.
const POSITIONS: usize = 10_000;
/// This many of them are requested repeatedly.
const REPEATED: usize = 200;
/// Half-moves of a line.
const PLIES: usize = 40;
const CLIENTS: [usize; 3] = [1, 8, 64];
const PATHS: [&str; 2] = ["/masters", "/api/position"];
const RANDOM_GAMES: usize = 20_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let library = given.map_or_else(|| library(folder.path()), PathBuf::from);
    let library = fs::canonicalize(library).expect("a library");
    let lines = lines(&library);
    println!("{}: {} positions of {PLIES} half-moves", library.display(), lines.len());
    for path in PATHS {
        questions(&library, path, &lines);
    }
    batches(&library, &lines, folder.path());
    memory(&library, &lines);
}

/// One request repeatedly, by several clients.
fn questions(library: &Path, path: &str, lines: &[String]) {
    let asked: Vec<String> = lines.iter().map(|line| format!("{path}?play={line}")).collect();
    let repeated: Vec<String> =
        asked.iter().step_by(asked.len() / REPEATED).cycle().take(asked.len()).cloned().collect();
    let answers = {
        let server = Server::start(library);
        let mut client = Client::new(&server.address);
        asked.iter().map(|one| (one.clone(), client.get(one))).collect()
    };
    let plain = plain(answers);
    println!(
        "\n{:<34} {:>8} {:>11} {:>9} {:>9} {:>7}",
        path, "clients", "requests/s", "p50 us", "p99 us", "p99 to"
    );
    for clients in CLIENTS {
        let theirs = load(&plain, &asked, clients);
        let once = load(&Server::start(library).address, &asked, clients);
        let server = Server::start(library);
        load(&server.address, &repeated[..REPEATED], 1);
        let again = load(&server.address, &repeated, clients);
        print("a plain handler, the same bytes", clients, &theirs, &theirs);
        print("each position once", clients, &once, &theirs);
        print("few positions again and again", clients, &again, &theirs);
    }
}

fn print(name: &str, clients: usize, load: &Load, plain: &Load) {
    let Load { rate, p50, p99 } = load;
    let ratio = p99 / plain.p99;
    println!("{name:<34} {clients:>8} {rate:>11.0} {p50:>9.0} {p99:>9.0} {ratio:>6.2}x");
}

/// Results of a load: requests per second, and microseconds.
struct Load {
    rate: f64,
    p50: f64,
    p99: f64,
}

/// Requests each path once, shared among several clients.
fn load(address: &str, paths: &[String], clients: usize) -> Load {
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    let ask = || {
        let mut client = Client::new(address);
        let mut times = Vec::with_capacity(paths.len());
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            let asked = Instant::now();
            client.get(path);
            times.push(asked.elapsed());
        }
        times
    };
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a client")).collect()
    });
    let rate = paths.len() as f64 / begin.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    Load { rate, p50: at(0.5), p99: at(0.99) }
}

/// A connection that stays.
struct Client {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Client {
    fn new(address: &str) -> Client {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        Client { stream: BufReader::with_capacity(1 << 16, stream), host: address.to_string() }
    }

    fn get(&mut self, path: &str) -> Vec<u8> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        self.stream.get_mut().write_all(request.as_bytes()).expect("a question");
        let length = self.head().expect("a length");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("an answer");
        body
    }

    /// Reads a head that must say 200, and gives the length where it has one.
    fn head(&mut self) -> Option<usize> {
        let mut line = String::new();
        let mut length = None;
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("an answer");
            assert!(!line.starts_with("HTTP") || line.starts_with("HTTP/1.1 200 "), "{line}");
            match line.trim_end().split_once(": ") {
                Some(("content-length", number)) => length = number.parse().ok(),
                Some(_) => {}
                None if line == "\r\n" => return length,
                None => {}
            }
        }
    }
}

/// A server of a library, as a process of its own.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(library: &Path) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epdb"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-json"]);
        command.arg(format!("masters={}", library.display()));
        let mut child = command.stderr(Stdio::piped()).spawn().expect("a server");
        let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let rest = line.split("listening at http://").nth(1)?;
            Some(rest.split('/').next()?.to_string())
        });
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Server { child, address: address.expect("an address") }
    }

    /// Megabytes of its memory, if the system reports them.
    fn resident(&self) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A handler of axum that has all answers as bytes.
fn plain(answers: HashMap<String, Vec<u8>>) -> String {
    let answers: HashMap<String, axum::body::Bytes> =
        answers.into_iter().map(|(path, bytes)| (path, bytes.into())).collect();
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.expect("threads").block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("an address");
            sender.send(listener.local_addr().expect("an address")).expect("who asks");
            let answer = async |State(all): State<Arc<HashMap<String, axum::body::Bytes>>>,
                                request: Request| {
                let path = request.uri().path_and_query().expect("a path").as_str();
                ([("content-type", "application/json")], all[path].clone())
            };
            let router = Router::new().fallback(answer).with_state(Arc::new(answers));
            axum::serve(listener, router).await.expect("a listener");
        });
    });
    receiver.recv().expect("an address").to_string()
}

/// All positions as one batch, and by `epdb get`.
fn batches(library: &Path, lines: &[String], folder: &Path) {
    let fens: String = lines.iter().map(|line| format!("{}\n", position(line))).collect();
    let fens = &fens.repeat(10);
    let count = fens.lines().count() as f64;
    let file = folder.join("questions.fen");
    fs::write(&file, fens).expect("a file");
    let server = Server::start(library);
    let batch = best(|| {
        let mut client = Client::new(&server.address);
        let (host, length) = (&client.host, fens.len());
        let head = format!(
            "POST /api/batch HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let mut writer = client.stream.get_ref().try_clone().expect("a connection");
        thread::scope(|scope| {
            scope.spawn(move || writer.write_all((head + fens).as_bytes()).expect("questions"));
            client.head();
            // Chunks have lines of their own, which do not begin as objects do.
            let objects = client
                .stream
                .by_ref()
                .lines()
                .filter(|line| line.as_ref().expect("an answer").starts_with('{'));
            assert_eq!(objects.count() as f64, count);
        });
    });
    let get = best(|| {
        let mut get = Command::new(env!("CARGO_BIN_EXE_epdb"));
        get.arg("get").arg(library).arg("-f").arg(&file);
        get.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("epdb get");
    });
    println!("\n{:<34} {:>11}", "batches", "positions/s");
    println!("{:<34} {:>11.0}", "epdb get -f", count / get);
    println!("{:<34} {:>11.0} {:>6.2}x", "POST /api/batch", count / batch, get / batch);
}

/// The seconds of the best of three rounds.
fn best(mut work: impl FnMut()) -> f64 {
    let mut round = || {
        let begin = Instant::now();
        work();
        begin.elapsed().as_secs_f64()
    };
    (0..3).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Memory of the server under continuous requests.
fn memory(library: &Path, lines: &[String]) {
    let requests = std::env::var("EPDB_REQUESTS").ok().and_then(|text| text.parse().ok());
    let requests = requests.unwrap_or(1_000_000usize);
    let paths: Vec<String> = (0..requests / 10)
        .map(|number| format!("{}?play={}", PATHS[number % 2], lines[number / 2 % lines.len()]))
        .collect();
    let server = Server::start(library);
    println!("\n{:>12} {:>22}", "requests", "MB that are not files");
    for tenth in 0..=10 {
        if tenth > 0 {
            load(&server.address, &paths, 8);
        }
        match server.resident() {
            Some(resident) => println!("{:>12} {resident:>22.1}", tenth * paths.len()),
            None => return println!("{:>12} the system does not tell", ""),
        }
    }
}

/// Lines of a library, each move drawn as often as it was played.
fn lines(library: &Path) -> Vec<String> {
    let server = Server::start(library);
    let mut client = Client::new(&server.address);
    let mut moves_of: HashMap<String, Vec<(String, u64)>> = HashMap::new();
    let mut lines = HashSet::new();
    let mut order = Vec::new();
    let mut seed = 7;
    for _ in 0..POSITIONS * 10 {
        let mut line = String::new();
        for _ in 0..PLIES {
            let moves = moves_of
                .entry(line.clone())
                .or_insert_with(|| moves(&client.get(&format!("/masters?play={line}"))));
            let Some(played) = drawn(moves, &mut seed) else { break };
            line = format!("{line},{played}").trim_start_matches(',').to_string();
            if lines.insert(line.clone()) {
                order.push(line.clone());
            }
            if order.len() == POSITIONS {
                return order;
            }
        }
    }
    order
}

/// The moves of an answer, and how often each was played.
fn moves(answer: &[u8]) -> Vec<(String, u64)> {
    let answer: Value = serde_json::from_slice(answer).expect("an object");
    let played = |it: &Value| {
        let games = ["white", "draws", "black"].iter().filter_map(|name| it[name].as_u64()).sum();
        Some((it["uci"].as_str()?.to_string(), games))
    };
    answer["moves"].as_array().into_iter().flatten().filter_map(played).collect()
}

fn drawn<'m>(moves: &'m [(String, u64)], seed: &mut u64) -> Option<&'m str> {
    let all: u64 = moves.iter().map(|(_, games)| games).sum();
    let mut place = random(seed).checked_rem(all)?;
    let found = moves.iter().find(|(_, games)| {
        let is_here = place < *games;
        place = place.saturating_sub(*games);
        is_here
    });
    found.map(|(played, _)| played.as_str())
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed >> 16
}

fn position(line: &str) -> String {
    let text = format!("{} moves {}", Position::START, line.replace(',', " "));
    let line = PositionLine::parse(text.as_bytes(), &ParseOptions::new(Profile::Lenient));
    line.expect("a line").expect("a position").end().to_string()
}

/// A library of the games at hand.
fn library(folder: &Path) -> PathBuf {
    let games = shared_data::shared_files("pgn_large").into_iter().next();
    let games = games.unwrap_or_else(|| random_games(folder));
    let library = folder.join("library.epa");
    let mut tally = Command::new(env!("CARGO_BIN_EXE_epdb"));
    tally.arg("tally").arg(games).arg("-o").arg(&library).args(["--keep-games", "4", "-q"]);
    assert!(tally.status().expect("epdb tally").success());
    library
}

fn random_games(folder: &Path) -> PathBuf {
    let mut text = String::new();
    let mut seed = 1995;
    for _ in 0..RANDOM_GAMES {
        text += "[White \"A\"]\n[Black \"B\"]\n[Result \"1-0\"]\n\n";
        let mut now = Playable::new(&Position::START).expect("playable");
        for _ in 0..PLIES {
            let moves = ordinal::list(&now);
            let choice = random(&mut seed) as usize % moves.len().max(1);
            let Some(&played) = moves.get(choice) else { break };
            text += &format!("{} ", san::format(&now, played));
            now = now.after(played);
        }
        text += "1-0\n\n";
    }
    let file = folder.join("games.pgn");
    fs::write(&file, text).expect("a file");
    file
}
