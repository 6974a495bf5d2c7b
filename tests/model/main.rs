//! The rules of chess.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod rules;
