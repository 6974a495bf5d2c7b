//! Raw bytes over TCP, for requests that no well-behaved client sends.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::server::Running;

/// Longer than anything here takes: whoever is not answered by then hangs.
const BOUND: Duration = Duration::from_secs(60);

/// A connection to a server.
pub(crate) fn connect(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.address()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream.set_write_timeout(Some(BOUND)).unwrap();
    stream
}

/// All that still comes until the server closes. A server that closes on bytes it did not read resets.
pub(crate) fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return all,
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) if is_hung(error.kind()) => panic!("neither answered nor closed"),
            Err(_) => return all,
        }
    }
}

/// Whether the bound was reached.
pub(crate) fn is_hung(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The answer to exactly these bytes.
pub(crate) fn exchange(running: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(running);
    // A server that has read enough does not take the rest.
    stream.write_all(bytes).ok();
    stream.shutdown(Shutdown::Write).ok();
    rest(&mut stream)
}

/// The status of the first answer; `None` where there was none.
pub(crate) fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.strip_prefix(b"HTTP/1.1 ").or(answer.strip_prefix(b"HTTP/1.0 "))?;
    str::from_utf8(line.get(..3)?).ok()?.parse().ok()
}

/// The answer to a head of these lines.
pub(crate) fn ask(running: &Running, lines: &[&str]) -> String {
    let head = lines.join("\r\n") + "\r\nConnection: close\r\n\r\n";
    String::from_utf8(exchange(running, head.as_bytes())).unwrap()
}

/// Begins a batch of questions; they follow as chunks.
pub(crate) fn open_batch(running: &Running) -> TcpStream {
    let mut stream = connect(running);
    let head = "POST /api/batch HTTP/1.1\r\nHost: localhost\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// A piece of a body; the empty one is its end.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Reads until a text has arrived.
pub(crate) fn read_until(stream: &mut TcpStream, awaited: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.contains(awaited) {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the end came before {awaited}: {text}");
        text += str::from_utf8(&buffer[..count]).unwrap();
    }
    text
}
