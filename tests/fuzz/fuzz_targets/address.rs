//! Any bytes as names of sources and settings of the server.
#![no_main]

#[path = "../address.rs"]
mod address;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| address::address(bytes));
