//! Any bytes as a row of a store: block, bucket, chunk, meta row and line of the journal.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| epdb_store::any_row(bytes));
