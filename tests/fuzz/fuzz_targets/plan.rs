//! Any bytes as a plan of slices.
#![no_main]

#[path = "../plan.rs"]
mod plan;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| plan::plan(bytes));
