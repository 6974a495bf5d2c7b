//! Any bytes as a record.
#![no_main]

#[allow(dead_code)]
#[path = "../records.rs"]
mod records;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| records::record(bytes));
