//! The store: what goes in comes out, found by position, whatever the rule for duplicates.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod duplicates;
mod golden;
mod growth;
mod kept_games;
mod ledger;
mod resume;
#[path = "../support/samples.rs"]
mod samples;
mod seeds;
mod sharing;
