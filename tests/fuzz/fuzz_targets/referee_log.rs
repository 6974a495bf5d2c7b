//! Any bytes as the log of a referee.
#![no_main]

#[allow(dead_code)]
#[path = "../referee.rs"]
mod referee;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| referee::log(bytes));
