//! Any bytes as a plan of slices.
#![no_main]

#[path = "../manifests.rs"]
#[allow(dead_code)]
mod manifests;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| manifests::plan(bytes));
