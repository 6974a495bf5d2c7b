//! The store: records are read as they were written and found by position, with every rule for duplicates.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod duplicates;
mod golden;
mod growth;
mod kept_games;
mod ledger;
mod resume;
mod runs;
#[path = "../support/samples.rs"]
mod samples;
mod seeds;
mod sharing;
