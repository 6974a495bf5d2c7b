//! A UCI engine that does what a script says, for tests: `scripted_engine SCRIPT`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/scripted.rs"]
mod scripted;

fn main() {
    let script = std::env::args().nth(1).map(std::fs::read_to_string);
    match script.unwrap_or_else(|| Ok(String::new())) {
        Ok(script) => scripted::play(&script),
        Err(error) => eprintln!("cannot read the script: {error}"),
    }
}
