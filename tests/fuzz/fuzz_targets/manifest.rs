//! Any bytes as the text of a manifest.
#![no_main]

#[path = "../manifests.rs"]
#[allow(dead_code)]
mod manifests;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| manifests::manifest(bytes));
