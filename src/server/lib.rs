//! An HTTP server for libraries: an opening explorer with the APIs of other explorers, and a web
//! page.
//!
//! This crate may change with every version: programs rely on the crate `epdb`, or on `epdb-chess`.
//!
//! [`ServerSettings`] name the sources and the permitted clients, and a [`Server`] serves them. A
//! server only reads its sources. An import into a store can run at the same time; the store is opened again
//! after each of its commits. A file that is replaced is opened again too.

mod answer;
mod api;
mod app;
mod base_path;
mod body;
mod chessdb;
mod cors;
mod explorer;
mod extract;
mod guard;
mod host;
mod limits;
mod listener;
mod log;
mod metrics;
mod observe;
mod page;
mod run;
mod settings;
mod signals;
pub mod site;
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
