//! Invariants of arbitrary requests to a server, for the fuzz target and for tests with `seeds`.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A library of these games is served.
pub(super) const GAMES: &str = "[White \"A\"]\n[Black \"B\"]\n[WhiteElo \"2400\"]\n[Date \"2024.05.01\"]\n\
    [Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 1-0\n\n[White \"B\"]\n[Black \"A\"]\n[Date \"????.??.??\"]\n\
    [Result \"1/2-1/2\"]\n\n1. d4 d5 1/2-1/2\n\n[FEN \"4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1\"]\n[SetUp \"1\"]\n\
    [Result \"*\"]\n\n1. O-O O-O *\n";
/// Longer than any answer takes.
const BOUND: Duration = Duration::from_secs(20);

/// Any bytes as path and query: an answer, and none that blames the server.
pub(super) fn query(address: &str, bytes: &[u8]) {
    let answer = ask(address, &target(bytes)).expect("the server is there");
    let head = answer.strip_prefix(b"HTTP/1.0 ").and_then(|rest| rest.get(..3));
    let status: u16 = head.and_then(|word| str::from_utf8(word).ok()?.parse().ok()).unwrap_or(0);
    assert!((200..500).contains(&status), "{}", String::from_utf8_lossy(&answer));
}

/// A request target: a slash first, and what no target can have as its percent-encoding.
fn target(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"/").unwrap_or(bytes);
    bytes.iter().fold("/".into(), |target, byte| match byte {
        b'#' | 0..=b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{'..=b'}' | 0x7f.. => {
            format!("{target}%{byte:02X}")
        }
        _ => target + &char::from(*byte).to_string(),
    })
}

/// All that comes back. A server that has read enough may end the connection before the rest is sent.
fn ask(address: &str, target: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(BOUND))?;
    stream.write_all(format!("GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).ok();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error),
        _ => Ok(answer),
    }
}
