//! Inputs of the fuzz targets for requests and for names of sources.

use crate::scratch::Scratch;
use crate::seed_files::feed;
use crate::server::Running;

#[path = "../fuzz/address.rs"]
mod address;
#[path = "../fuzz/http.rs"]
mod invariants;

#[test]
fn seeds_of_questions() {
    let scratch = Scratch::new();
    scratch.write("games.pgn", invariants::GAMES);
    let running = Running::start(&scratch, &["g=games.pgn"]);
    feed("http_query", 25, |bytes| invariants::query(running.address(), bytes));
}

#[test]
fn seeds_of_addresses() {
    feed("address", 19, address::address);
}
