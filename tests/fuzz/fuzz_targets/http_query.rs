//! Any bytes as path and query, for a server that runs beside.
#![no_main]

#[path = "../http.rs"]
mod http;

use std::fs;
use std::sync::LazyLock;
use std::thread;

use epdb_server::{Server, ServerSettings};
use libfuzzer_sys::fuzz_target;

static ADDRESS: LazyLock<String> = LazyLock::new(|| {
    let games = std::env::temp_dir().join(format!("epdb-served-{}.pgn", std::process::id()));
    fs::write(&games, http::GAMES).expect("a temporary file can be written");
    let settings = || {
        let text = format!("listen = '127.0.0.1:0'\nsources = ['g={}']", games.display());
        ServerSettings::from_toml("settings", &text).expect("settings")
    };
    let server = Server::open(settings(), |_| {}).expect("a server");
    let address = server.address().to_string();
    thread::spawn(move || server.run(|| Err(epdb_chess::Error::new("reloading is not supported"))));
    address
});

fuzz_target!(|bytes: &[u8]| http::query(&ADDRESS, bytes));
