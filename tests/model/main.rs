//! The model: the rules of chess, and what serde makes of its types.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod rules;
mod serde;
