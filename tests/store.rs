//! The store: what goes in comes out, found by position, whatever the rule for duplicates.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "store/common.rs"]
mod common;
#[path = "store/duplicates.rs"]
mod duplicates;
#[path = "store/golden.rs"]
mod golden;
#[path = "store/growth.rs"]
mod growth;
#[path = "store/resume.rs"]
mod resume;
#[path = "golden/mod.rs"]
mod samples;
#[path = "store/seeds.rs"]
mod seeds;
#[path = "store/sharing.rs"]
mod sharing;
