//! Any bytes as PGC.
#![no_main]

#[allow(dead_code)]
#[path = "../games.rs"]
mod games;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| games::pgc(bytes));
