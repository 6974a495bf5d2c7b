//! The server as programs and people use it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod api;
#[path = "../support/browser.rs"]
mod browser;
mod chessdb;
mod explorer;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod imports;
mod libraries;
mod openapi;
mod page;
mod raw;
#[cfg(feature = "remote")]
mod remote;
mod safety;
mod schema;
#[path = "../support/scratch.rs"]
mod scratch;
#[path = "../support/seeds.rs"]
mod seed_files;
mod seeds;
#[path = "../support/server.rs"]
mod server;
mod settings;
mod site;
#[path = "../support/skipped.rs"]
mod skipped;
mod sources;
#[cfg(unix)]
mod stop;
#[cfg(feature = "remote")]
#[path = "../support/web_server.rs"]
mod web_server;
