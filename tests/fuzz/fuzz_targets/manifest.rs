//! Any bytes as the text of a manifest.
#![no_main]

#[path = "../manifest.rs"]
mod manifest;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| manifest::manifest(bytes));
