//! A client of a referee, for tests: `referee_client HOST PORT NAME LAST_MOVE`. It writes its number to
//! the file `NAME.pid`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/referee_client.rs"]
mod referee_client;

use std::net::TcpStream;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [host, port, name, last_move] = &args[..] else { panic!("HOST PORT NAME LAST_MOVE") };
    std::fs::write(format!("{name}.pid"), std::process::id().to_string()).unwrap();
    let stream = TcpStream::connect(format!("{host}:{port}")).expect("a referee");
    // The referee may be killed at any moment.
    referee_client::play(&stream, name, last_move.parse().unwrap()).ok();
}
