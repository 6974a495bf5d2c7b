//! Engines as child processes, well-behaved or not, with a clock that the tests set.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/engines.rs"]
mod engines;
mod mate;
mod misbehaviour;
mod play;
mod search;
#[path = "../support/seeds.rs"]
mod seed_files;
mod seeds;
#[path = "../support/skipped.rs"]
mod skipped;
mod solve;
mod support;
