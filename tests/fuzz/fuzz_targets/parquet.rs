//! Any bytes as a Parquet file.
#![no_main]

#[path = "../tables.rs"]
mod tables;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tables::parquet(bytes));
