//! What keepers of collections do with positions.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod backsolve;
mod census;
mod kept_games;
mod repertoire;
#[path = "../support/shared_data.rs"]
mod shared_data;
