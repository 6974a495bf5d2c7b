//! The codec: packed boards, keys, ordinals, records and streams.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod boards;
mod direct;
mod golden;
mod items;
mod ordinals;
mod packed;
mod record;
mod records;
#[path = "../golden/mod.rs"]
mod samples;
mod seeds;
mod stream;
