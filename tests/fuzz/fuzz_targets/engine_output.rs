//! Any bytes as what an engine writes.
#![no_main]

#[path = "../engine.rs"]
mod engine;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| engine::engine_output(bytes));
