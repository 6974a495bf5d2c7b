//! The model: the rules of chess, and its types in serde.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod rules;
mod serde;
