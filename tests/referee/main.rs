//! The referee and its clients.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod client;
