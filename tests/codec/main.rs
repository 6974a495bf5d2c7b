//! The codec: packed boards, keys, ordinals, records and streams.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod golden;
mod identity;
mod items;
mod ordinals;
mod packed;
mod polyglot;
#[path = "../support/positions.rs"]
mod positions;
mod record;
#[path = "../support/records.rs"]
mod records;
#[path = "../support/samples.rs"]
mod samples;
#[path = "../support/seeds.rs"]
mod seed_files;
mod seeds;
#[path = "../support/shared_data.rs"]
mod shared_data;
#[path = "../support/skipped.rs"]
mod skipped;
mod stream;
