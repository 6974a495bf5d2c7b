//! The codec: packed boards, keys, ordinals, records, streams, goldens.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod boards;
mod ordinals;
mod packed;
mod record;
