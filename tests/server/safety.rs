//! Hostile, broken and careless clients: each is refused or cut off, and no other client notices.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;

use crate::raw::{ask, chunk, connect, exchange, is_hung, open_batch, read_until, rest, status};
use crate::scratch::Scratch;
use crate::server::Running;

const GAMES: &str = "[White \"A\"]\n[Black \"B\"]\n[Result \"1-0\"]\n\n1. e4 c5 2. Nf3 1-0\n";

const QUESTION: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n";

fn library() -> Scratch {
    let scratch = Scratch::with("games.pgn", GAMES);
    scratch.run(&["tally", "games.pgn", "-o", "games.epa"]);
    scratch
}

/// A server of it with settings beside the options.
fn start(scratch: &Scratch, settings: &str, options: &[&str]) -> Running {
    scratch.write("serve.toml", settings);
    let args = ["masters=games.epa", "--config", "serve.toml"];
    Running::start(scratch, &[&args, options].concat())
}

fn assert_well(running: &Running) {
    assert_eq!(running.get("/healthz").text(), "ok\n");
}

/// Slow bodies of one address have a few places, and keep neither its other questions out nor other bodies
/// once they end.
#[test]
fn slow_bodies_keep_nobody_else_out() {
    let scratch = library();
    let limits = "[limits]\nconnections = 4\nbodies-of-address = 2\n";
    let running = start(&scratch, limits, &[]);
    let mut slow: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut batch = open_batch(&running);
            batch.write_all(chunk(QUESTION).as_bytes()).unwrap();
            read_until(&mut batch, "reached");
            batch
        })
        .collect();
    for _ in 0..8 {
        let refused = running.post("/api/batch", QUESTION.as_bytes());
        assert_eq!(refused.status, 429, "{}", refused.text());
        assert!(refused.text().contains("limits.bodies-of-address"), "{}", refused.text());
    }
    assert_well(&running);
    let mut one = slow.remove(0);
    one.write_all(b"0\r\n\r\n").unwrap();
    read_until(&mut one, "0\r\n\r\n");
    assert_eq!(running.post("/api/batch", QUESTION.as_bytes()).status, 200);
}

/// Requests, and the statuses that they may get; 0 for none, where the server only closes.
fn crafted() -> Vec<(Vec<u8>, &'static [u16])> {
    let long = |count: usize| "a".repeat(count);
    let own = "Host: localhost\r\n";
    let get = |headers: &str| format!("GET /healthz HTTP/1.1\r\n{headers}\r\n");
    let own_and = |more: &str| get(&format!("{own}{more}"));
    let many: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    let smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let text: Vec<(String, &'static [u16])> = vec![
        (get(""), &[400]),
        ("GET /healthz HTTP/1.0\r\n\r\n".into(), &[400]),
        (get("Host: localhost\r\nHost: localhost\r\n"), &[400]),
        (get("Host: \r\n"), &[400]),
        (get("Host: local host\r\n"), &[400]),
        (get("Host: user@localhost\r\n"), &[400]),
        (get("Host: localhost:99999\r\n"), &[400]),
        (get("Host: localhost:\r\n"), &[400]),
        (get("Host: evil.example\r\n"), &[421]),
        (get("Host: localhost.evil.example\r\n"), &[421]),
        (get("Host: 127.0.0.1.evil.example\r\n"), &[421]),
        (get("Host: 192.168.0.1\r\n"), &[421]),
        (format!("GET http://evil.example/healthz HTTP/1.1\r\n{own}\r\n"), &[421]),
        (own_and("Content-Length: 5\r\n") + "hello", &[400]),
        (own_and("Content-Length: -1\r\n"), &[400]),
        (own_and("Content-Length: five\r\n"), &[400]),
        (own_and("Content-Length: 99999999999999999999\r\n"), &[400]),
        (own_and("Content-Length: 1\r\nContent-Length: 2\r\n") + "ab", &[400]),
        (
            own_and("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n" + smuggled,
            &[400],
        ),
        (
            own_and("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n") + "0\r\n\r\n" + smuggled,
            &[400],
        ),
        (own_and("Transfer-Encoding: chunked, gzip\r\n") + smuggled, &[400]),
        (own_and("Transfer-Encoding: chunked\r\n") + "fffffffffffffffff\r\n", &[400]),
        (format!("POST /healthz HTTP/1.0\r\n{own}Transfer-Encoding: chunked\r\n\r\n"), &[400]),
        (own_and("X : y\r\n"), &[400]),
        (own_and("X: y\r\n z\r\n"), &[400]),
        (own_and("X: \0\r\n"), &[400]),
        (own_and("no colon\r\n"), &[400]),
        (own_and(&many), &[431]),
        (own_and(&format!("X: {}\r\n", long(100_000))), &[431]),
        (format!("GET /{} HTTP/1.1\r\n{own}\r\n", long(40_000)), &[414]),
        (format!("GET /{} HTTP/1.1\r\n{own}\r\n", long(1_000_000)), &[431, 0]),
        (format!("GET /healthz\0 HTTP/1.1\r\n{own}\r\n"), &[400]),
        (format!("GET /a b HTTP/1.1\r\n{own}\r\n"), &[400]),
        (format!("GET healthz HTTP/1.1\r\n{own}\r\n"), &[400, 421]),
        (format!("GET /healthz HTTP/3.0\r\n{own}\r\n"), &[400]),
        (format!("GET /healthz\r\n{own}\r\n"), &[400]),
        (format!("G\u{e4}T /healthz HTTP/1.1\r\n{own}\r\n"), &[400]),
        (format!("GET /../../etc/passwd HTTP/1.1\r\n{own}\r\n"), &[404]),
        (format!("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n{own}\r\n"), &[404]),
        (format!("GET /masters?fen=%zz HTTP/1.1\r\n{own}\r\n"), &[400]),
        (format!("GET /masters?fen=%ff%fe HTTP/1.1\r\n{own}\r\n"), &[400]),
        (format!("GET /masters?play=%00 HTTP/1.1\r\n{own}\r\n"), &[400]),
        (format!("DELETE /healthz HTTP/1.1\r\n{own}\r\n"), &[405]),
        (format!("PROPFIND /nowhere HTTP/1.1\r\n{own}\r\n"), &[405]),
        (format!("OPTIONS * HTTP/1.1\r\n{own}\r\n"), &[405]),
        (format!("CONNECT localhost:80 HTTP/1.1\r\n{own}\r\n"), &[405]),
        (format!("POST /healthz HTTP/1.1\r\n{own}Content-Length: 9999999999\r\n\r\n"), &[413]),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(), &[400, 0]),
        ("\r\n\r\n\r\n".into(), &[0]),
        ("GET /healthz HTTP/1.1\r\nHost: loc".into(), &[400, 0]),
    ];
    let mut all: Vec<(Vec<u8>, &[u16])> =
        text.into_iter().map(|(text, expected)| (text.into_bytes(), expected)).collect();
    // The beginning of TLS, text that is no UTF-8, and nothing at all.
    all.push((b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), &[400]));
    all.push((b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), &[400, 404]));
    all.push((vec![0; 100_000], &[400, 0]));
    all.push((Vec::new(), &[0]));
    all
}

#[test]
fn malformed_requests_get_their_status() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    for (request, expected) in crafted() {
        let answer = exchange(&running, &request);
        let shown = String::from_utf8_lossy(&request[..request.len().min(200)]).into_owned();
        let found = status(&answer).unwrap_or(0);
        assert!(expected.contains(&found), "{found} for {shown}");
        let answers = answer.windows(9).filter(|part| part == b"HTTP/1.1 ").count();
        assert!(answers <= 1, "{answers} answers for {shown}");
        assert_well(&running);
    }
    let (status, log) = running.stop();
    assert!(status.success() && !log.contains("ERROR"), "{log}");
}

/// A sound request with some bytes lost, changed, doubled or put in.
fn damaged(next: &mut impl FnMut() -> usize) -> Vec<u8> {
    const SOUND: &[u8] = b"GET /masters?play=e2e4,c7c5&fen=rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR%20w%20KQkq%20-%200%201 \
        HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nAccept-Encoding: gzip, zstd\r\n\
        Authorization: Bearer x\r\nConnection: close\r\n\r\n";
    const PARTS: [&[u8]; 10] = [
        b"\0",
        b"\r\n",
        b"\n",
        b"%",
        b"%00",
        b"\xff",
        b":",
        b" ",
        b"Content-Length: 7\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ];
    let mut request = SOUND.to_vec();
    for _ in 0..=next() % 4 {
        let place = next() % request.len();
        match next() % 5 {
            0 => drop(request.remove(place)),
            1 => request[place] = next() as u8,
            2 => request.truncate(place.max(1)),
            3 => drop(request.splice(place..place, PARTS[next() % PARTS.len()].iter().copied())),
            _ => {
                let end = (place + next() % 40).min(request.len());
                let part = request[place..end].to_vec();
                drop(request.splice(place..place, part));
            }
        }
    }
    request
}

#[test]
fn a_thousand_damaged_requests_harm_nobody() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    let mut seed = 20_261_123u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 16) as usize
    };
    let mut refused = 0;
    for number in 0..1_000 {
        let request = damaged(&mut next);
        let found = status(&exchange(&running, &request));
        let shown = String::from_utf8_lossy(&request);
        assert!(found.is_none_or(|found| found < 500), "{found:?} for {shown}");
        refused += usize::from(found.is_none_or(|found| found >= 400));
        if number % 50 == 0 {
            assert_well(&running);
        }
    }
    assert!(refused > 500, "{refused} were refused: the damage is too small");
    let (status, log) = running.stop();
    assert!(status.success() && !log.contains("ERROR"), "{log}");
}

#[test]
fn slow_heads_are_cut_and_others_are_served_meanwhile() {
    let scratch = library();
    let running = start(&scratch, "[limits]\nhead-time = '300ms'\n", &[]);
    let mut slow: Vec<TcpStream> = (0..100).map(|_| connect(&running)).collect();
    for (number, stream) in slow.iter_mut().enumerate() {
        let head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
        stream.write_all(&head[..number % head.len()]).unwrap();
    }
    assert_well(&running);
    for stream in &mut slow {
        assert_eq!(status(&rest(stream)), None, "closed without an answer");
    }
    assert_well(&running);
}

#[test]
fn idle_connections_are_closed() {
    let scratch = library();
    let running = start(&scratch, "[limits]\nhead-time = '300ms'\n", &[]);
    let mut stream = connect(&running);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(status(&rest(&mut stream)), Some(200), "and then the end");
}

#[test]
fn more_connections_than_there_are_places_wait_for_one() {
    let scratch = library();
    let running = start(&scratch, "[limits]\nconnections = 2\nhead-time = '300ms'\n", &[]);
    let idle = [connect(&running), connect(&running)];
    assert_well(&running);
    drop(idle);
}

#[test]
fn a_client_that_reads_no_answers_is_cut_off() {
    let scratch = library();
    let running = start(&scratch, "[limits]\nwrite-time = '300ms'\n", &[]);
    let requests = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    let questions = chunk(&QUESTION.repeat(1_000));
    for (mut stream, more) in [(connect(&running), requests), (open_batch(&running), questions)] {
        let error = loop {
            if let Err(error) = stream.write_all(more.as_bytes()) {
                break error;
            }
        };
        assert!(!is_hung(error.kind()), "never cut");
        let is_cut = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind());
        assert!(is_cut, "{error}");
        assert_well(&running);
    }
    let text = running.get("/metrics").text().to_string();
    assert!(text.contains("epdb_cut_answers_total 1\n"), "{text}");
}

#[test]
fn a_body_that_stops_coming_is_cut() {
    let scratch = library();
    let running = start(&scratch, "limits.body-time = '300ms'\n", &[]);
    let mut stream = open_batch(&running);
    stream.write_all(chunk(QUESTION).as_bytes()).unwrap();
    read_until(&mut stream, "{\"line\":1,");
    let end = rest(&mut stream);
    assert!(!end.ends_with(b"0\r\n\r\n"), "it does not look complete");
    assert_well(&running);
}

#[test]
fn lines_are_sent_when_they_are_answered_whoever_takes_what() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    let mut stream = open_batch(&running);
    for number in 1..4 {
        stream.write_all(chunk(QUESTION).as_bytes()).unwrap();
        read_until(&mut stream, &format!("{{\"line\":{number},"));
    }
}

#[test]
fn disconnected_clients_leave_nothing() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    for _ in 0..200 {
        let mut stream = connect(&running);
        stream.write_all(b"GET /masters HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    }
    // The only one that is left asks, as soon as the others are seen to be gone.
    let is_alone = || running.get("/metrics").text().contains("\nepdb_connections 1\n");
    assert!((0..100_000).any(|_| is_alone()));
}

#[test]
fn it_is_called_by_its_own_names() {
    let scratch = library();
    let options = ["--allow-host", "chess.example", "--allow-host", "other.example:8080"];
    let running = start(&scratch, "allow-host = ['third.example']", &options);
    for (host, expected) in [
        ("localhost", "200"),
        ("LOCALHOST:9002", "200"),
        ("127.0.0.1", "200"),
        ("127.8.9.1:80", "200"),
        ("[::1]:9002", "200"),
        ("[::ffff:127.0.0.1]", "200"),
        ("chess.example", "200"),
        ("Chess.Example:443", "200"),
        ("other.example:8080", "200"),
        ("third.example", "200"),
        ("other.example", "421"),
        ("other.example:8081", "421"),
        ("sub.chess.example", "421"),
        ("10.0.0.1", "421"),
        ("[2001:db8::1]", "421"),
    ] {
        let answer = ask(&running, &["GET /healthz HTTP/1.1", &format!("Host: {host}")]);
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{host}: {answer}");
    }
    let refused = ask(&running, &["GET /healthz HTTP/1.1", "Host: evil.example"]);
    assert!(refused.ends_with("--allow-host evil.example adds it\n"), "{refused}");
    let absolute =
        ask(&running, &["GET http://chess.example/healthz HTTP/1.1", "Host: evil.example"]);
    assert!(absolute.starts_with("HTTP/1.1 200 "), "{absolute}");
}

/// Whoever is bound to the network has addresses that he does not know; a name is what rebinding needs.
#[test]
fn a_server_of_the_network_is_called_by_addresses() {
    let scratch = library();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("epdb"));
    command.args(["serve", "games.epa", "--listen", "0.0.0.0:0"]);
    let running = Running::spawn(&scratch, command);
    for (host, expected) in [
        ("192.168.0.7:9002", "200"),
        ("[2001:db8::1]", "200"),
        ("localhost", "200"),
        ("evil.example", "421"),
    ] {
        let answer = ask(&running, &["GET /healthz HTTP/1.1", &format!("Host: {host}")]);
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{host}: {answer}");
    }
    assert!(running.stop().1.contains("anybody who can reach"));
}

#[test]
fn other_pages_need_permission() {
    let scratch = library();
    let origin = ("Origin", "https://lichess.org");
    let allowed = "access-control-allow-origin";
    let closed = start(&scratch, "", &[]);
    assert_eq!(closed.get_with("/masters", &[origin]).header(allowed), None);
    let own = ["OPTIONS /masters HTTP/1.1", "Host: localhost", "Origin: https://lichess.org"];
    assert!(ask(&closed, &own).starts_with("HTTP/1.1 405 "));

    let some =
        start(&scratch, "cors = ['http://localhost:9663']", &["--cors", "https://lichess.org"]);
    for origin in ["https://lichess.org", "http://localhost:9663"] {
        let got = some.get_with("/masters", &[("Origin", origin)]);
        assert_eq!(got.header(allowed), Some(origin));
    }
    let stranger = some.get_with("/masters", &[("Origin", "https://evil.example")]);
    assert_eq!(stranger.header(allowed), None);
    let preflight = [
        "OPTIONS /masters HTTP/1.1",
        "Host: localhost",
        "Origin: https://lichess.org",
        "Access-Control-Request-Method: GET",
        "Access-Control-Request-Headers: authorization",
    ];
    let answer = ask(&some, &preflight);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("access-control-allow-headers: authorization\r\n"), "{answer}");
    assert!(answer.contains("access-control-allow-origin: https://lichess.org\r\n"), "{answer}");

    let any = start(&scratch, "", &["--cors", "*"]);
    assert_eq!(any.get_with("/masters", &[origin]).header(allowed), Some("*"));
    let refused = any.get_with("/nowhere", &[origin]);
    assert_eq!((refused.status, refused.header(allowed)), (404, Some("*")), "a page can read why");
}

#[test]
fn answers_are_read_only_plain_and_marked() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    let got = running.get("/masters");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(got.header(name), Some(value));
    }
    assert!(got.header("content-security-policy").is_some());
    let head = ask(&running, &["HEAD /masters HTTP/1.1", "Host: localhost"]);
    let (head, body) = head.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", got.body.len())), "{head}");
    assert_eq!(body, "");
    for (request, status, says) in [
        ("GET /nowhere HTTP/1.1", "404", "there is no such path\n"),
        ("PUT /masters HTTP/1.1", "405", "by POST\n"),
        ("POST /masters HTTP/1.1", "405", "by POST\n"),
    ] {
        let answer = ask(&running, &[request, "Host: localhost", "Content-Length: 0"]);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("content-type: text/plain; charset=utf-8\r\n"), "{answer}");
        assert!(answer.ends_with(says), "{answer}");
    }
    let answer = ask(&running, &["DELETE /masters HTTP/1.1", "Host: localhost"]);
    assert!(answer.contains("allow: GET,HEAD\r\n"), "{answer}");
}

#[test]
fn large_answers_are_compressed_for_clients_that_accept_it() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    running.get("/masters");
    for (accepted, encoding) in [("gzip", Some("gzip")), ("zstd", Some("zstd")), ("br", None)] {
        let got = running.get_with("/metrics", &[("Accept-Encoding", accepted)]);
        assert_eq!(got.header("content-encoding"), encoding, "{accepted}");
    }
    let small = running.get_with("/healthz", &[("Accept-Encoding", "gzip")]);
    assert_eq!(small.header("content-encoding"), None);
}

#[test]
fn all_paths_begin_with_the_base_path() {
    let scratch = library();
    let running = start(&scratch, "", &["--base-path", "/chess/explorer/"]);
    assert!(running.base.ends_with("/chess/explorer"), "{}", running.base);
    assert_well(&running);
    assert_eq!(running.get("/masters").status, 200);
    let outside = ask(&running, &["GET /healthz HTTP/1.1", "Host: localhost"]);
    assert!(outside.starts_with("HTTP/1.1 404 "), "{outside}");
    let bare = ask(&running, &["GET /chess/explorer HTTP/1.1", "Host: localhost"]);
    assert!(
        bare.starts_with("HTTP/1.1 308 ") && bare.contains("location: /chess/explorer/\r\n"),
        "{bare}"
    );
}

#[test]
fn events_are_logged_and_counted() {
    let scratch = library();
    let running = start(&scratch, "", &["--log-level", "debug"]);
    running.get("/masters?play=e2e4");
    running.get("/nowhere?x=%1b[2J%0aERROR");
    let counted = running.get("/metrics").text().to_string();
    for line in [
        "epdb_requests_total{route=\"/masters\",status=\"200\"} 1",
        "epdb_requests_total{route=\"none\",status=\"404\"} 1",
        "epdb_request_seconds_count{route=\"/masters\"} 1",
        "epdb_source_records{source=\"masters\"} 4",
        "epdb_cut_answers_total 0",
        "# EOF",
    ] {
        assert!(counted.lines().any(|it| it == line), "{line} is not in\n{counted}");
    }
    let (_, log) = running.stop();
    let line = log.lines().find(|line| line.contains("play=e2e4")).unwrap();
    assert!(
        line.contains("DEBUG") && line.contains("status=200") && line.contains("bytes="),
        "{line}"
    );
    assert!(log.lines().all(|line| !line.starts_with("ERROR")), "{log}");
    assert!(log.ends_with("stopped\n"), "{log}");
}

#[test]
fn the_log_may_be_json() {
    let scratch = library();
    let running = start(&scratch, "log-json = true\nlog-level = 'debug'", &[]);
    assert_well(&running);
    let base = running.base.clone();
    let (_, log) = running.stop();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |message: &str| lines.iter().find(|line| line["message"] == message);
    assert!(said(&format!("listening at {base}/")).is_some(), "{log}");
    let answered = said("answered").unwrap();
    assert_eq!(answered["status"], 200);
    assert_eq!(answered["request"], "GET /healthz");
    assert!(said("stopped").is_some());
}

/// A client with a request takes the place of an idle one; others keep theirs.
#[test]
fn idle_connections_make_room() {
    let scratch = library();
    let running = start(&scratch, "[limits]\nconnections = 2\nhead-time = '1h'\n", &[]);
    let question = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut first = connect(&running);
    first.write_all(&question[..30]).unwrap();
    let mut second = connect(&running);
    assert_eq!(status(&exchange(&running, question)), Some(200));
    assert_eq!(rest(&mut first), b"", "it waited longest");
    second.write_all(question).unwrap();
    assert_eq!(status(&rest(&mut second)), Some(200));
}

#[test]
fn a_body_that_drips_is_cut() {
    let scratch = library();
    let limits = "[limits]\nbody-time = '300ms'\nbody-rate = 1_000_000_000_000\n";
    let running = start(&scratch, limits, &[]);
    let mut stream = open_batch(&running);
    stream.set_nodelay(true).unwrap();
    let begun = std::time::Instant::now();
    while stream.write_all(chunk("8").as_bytes()).is_ok() {
        assert!(begun.elapsed().as_secs() < 60, "never cut");
        assert_well(&running);
    }
}

#[test]
fn a_body_has_a_size_and_a_batch_lines() {
    let scratch = library();
    let limits = "[limits]\nbody-size = 1_000\nbatch-lines = 3\n";
    let running = start(&scratch, limits, &[]);
    let told = running.post("/api/batch", &[b'x'; 1_001]);
    assert_eq!(told.status, 413);
    assert!(told.text().contains("limits.body-size"), "{}", told.text());
    let mut stream = open_batch(&running);
    stream.write_all(chunk(QUESTION).as_bytes()).unwrap();
    read_until(&mut stream, "{\"line\":1,");
    stream.write_all(chunk(&"x".repeat(1_000)).as_bytes()).unwrap();
    let end = String::from_utf8(rest(&mut stream)).unwrap();
    assert!(
        end.contains("{\"line\":2,\"fen\":\"\",\"error\":\"the body has more than 1000"),
        "{end}"
    );
    let lines = running.post("/api/batch", QUESTION.repeat(5).as_bytes());
    let lines: Vec<&str> = lines.text().lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[3].contains("a batch has at most 3 lines"), "{}", lines[3]);
}

#[test]
fn a_client_that_expects_100_continue_gets_it() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    let mut stream = connect(&running);
    let head = format!(
        "POST /api/batch HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        QUESTION.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let word = read_until(&mut stream, "\r\n\r\n");
    assert!(word.starts_with("HTTP/1.1 100 "), "{word}");
    stream.write_all(QUESTION.as_bytes()).unwrap();
    read_until(&mut stream, "{\"line\":1,");
}

#[test]
fn pages_of_strangers_send_no_batches() {
    let scratch = library();
    let running = start(&scratch, "", &["--cors", "https://lichess.org"]);
    let own = format!("Origin: http://{}", running.address());
    let host = format!("Host: {}", running.address());
    for (origin, expected) in [
        (own.as_str(), "200"),
        ("Origin: https://lichess.org", "200"),
        ("Origin: https://evil.example", "403"),
        ("Origin: null", "403"),
    ] {
        let lines = ["POST /api/batch HTTP/1.1", host.as_str(), origin, "Content-Length: 0"];
        let answer = ask(&running, &lines);
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{origin}: {answer}");
        assert!(expected == "200" || answer.contains("--cors"), "{answer}");
    }
}

#[test]
fn refusals_are_one_line_of_the_servers_own() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    for (path, says) in [
        ("/masters?fen=a&fen=b", "the address cannot be read: duplicate field `fen`\n"),
        ("/masters/pgn/%ff", "the address cannot be read: "),
        ("/masters?source=a%0ab", "no source is named a\\nb"),
        ("/player?player=O%27Brien&color=white", "--player 'O'\\''Brien' --side"),
    ] {
        let got = running.get(path);
        assert!(got.text().contains(says), "{path}: {}", got.text());
        assert!(got.text().ends_with('\n') && got.text().lines().count() == 1, "{}", got.text());
    }
}

/// Positions with long records are asked for many times: their answers are not made all at once.
#[cfg(target_os = "linux")]
#[test]
fn large_answers_are_made_when_they_are_taken() {
    let long = "long ".repeat(4_000);
    let scratch = Scratch::with("long.epd", format!("{} id \"{long}\";\n", QUESTION.trim()));
    let running = Running::start(&scratch, &["long.epd"]);
    let mut stream = open_batch(&running);
    stream.write_all((chunk(&QUESTION.repeat(2_400)) + &chunk("")).as_bytes()).unwrap();
    let mut begin = [0; 4096];
    assert!(std::io::Read::read(&mut stream, &mut begin).unwrap() > 0);
    read_until(&mut stream, "{\"line\":2,");
    let state = std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
    let peak = state.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 64 << 10, "{kilobytes} kB");
}

/// The received part of a compressed answer, in chunks.
fn uncompressed(answer: &[u8]) -> String {
    let head = memchr::memmem::find(answer, b"\r\n\r\n").map_or(answer.len(), |end| end + 4);
    let (mut rest, mut bytes) = (&answer[head..], Vec::new());
    while let Some(end) = memchr::memmem::find(rest, b"\r\n") {
        let size = usize::from_str_radix(str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        let data = &rest[end + 2..];
        bytes.extend_from_slice(&data[..size.min(data.len())]);
        rest = data.get(size + 2..).unwrap_or_default();
    }
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*bytes), &mut text).ok();
    String::from_utf8(text).unwrap()
}

#[test]
fn compressed_lines_are_sent_when_they_are_answered() {
    let scratch = library();
    let running = start(&scratch, "", &[]);
    let mut stream = connect(&running);
    let head = "POST /api/batch HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    for number in 1..4 {
        stream.write_all(chunk(QUESTION).as_bytes()).unwrap();
        while !uncompressed(&answer).contains(&format!("{{\"line\":{number},")) {
            let count = std::io::Read::read(&mut stream, &mut buffer).unwrap();
            assert!(count > 0, "the end came before line {number}");
            answer.extend_from_slice(&buffer[..count]);
        }
    }
}
