//! A server of libraries over HTTP: the explorer that programs ask in their own dialects, and a page for
//! people.
//!
//! [`ServerSettings`] say what is served and to whom, [`Server`] does it. It reads only: a store is served from a
//! copy of its last state, so that an import goes on beside it, and a file that is replaced is
//! opened anew.

mod answer;
mod api;
mod app;
mod cache;
mod chessdb;
mod explorer;
mod filter;
mod keep;
mod line;
mod listener;
mod router;
mod run;
mod settings;
mod sources;

pub use run::Server;
pub use settings::{ServerSettings, SourceSpec};
