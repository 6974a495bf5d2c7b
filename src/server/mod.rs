//! A server of libraries over HTTP: the explorer that programs ask in their own dialects, and a page for
//! people.
//!
//! [`ServerSettings`] say what is served and to whom, [`Server`] does it. It reads only: a store is served from a
//! copy of its last state, so that an import goes on beside it, and a file that is replaced is
//! opened anew.

mod answer;
mod api;
mod app;
mod base_path;
mod body;
mod chessdb;
mod cors;
mod explorer;
mod extract;
mod filter;
mod games;
mod guard;
mod host;
mod limits;
mod line;
mod listener;
mod log;
mod metrics;
mod observe;
mod page;
mod run;
mod settings;
mod signals;
mod sources;
mod waiting;

pub use base_path::BasePath;
pub use cors::Origin;
pub use host::HostName;
pub use limits::Limits;
pub use log::{LogLevel, log_to_stderr};
pub use run::Server;
pub use settings::parse_listen;
pub use settings::{ServerSettings, SourceSpec};
