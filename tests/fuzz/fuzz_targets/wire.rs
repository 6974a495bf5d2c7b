//! Any bytes as messages between referee and client.
#![no_main]

#[allow(dead_code)]
#[path = "../referee.rs"]
mod referee;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| referee::wire(bytes));
