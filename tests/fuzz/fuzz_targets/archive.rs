//! Any bytes as an archive.
#![no_main]

#[path = "../archive.rs"]
mod archive;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| archive::archive(bytes));
