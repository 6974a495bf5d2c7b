//! The command line as a user types it.
//!
//! - `everyday`: reading, writing, storing, finding.
//! - `text`, `games`, `store`, `archive`: special cases of a format.
//! - `tally`, `kept_games`, `explore`, `name`, `backsolve`, `openings`, `repertoire`, `book`: libraries,
//!   lines and opening books.
//! - `engines`, `client`: engines over files and in tournaments; `referee`, `tournament`: tournaments.
//! - `report`: reports of finished suites.
//! - `sources`, `other_files`: formats of other projects, and files that other programs made; `parquet`: Parquet files;
//!   `streams`: libraries through pipes and from addresses.
//! - `obeyed`: options that do not apply to a format.
//! - `clocks`: clocks and evaluations as fields.
//! - `shaping`: filter, table, join, sets, sort, edit and the like; `merging`; `registers`; `comments`; `cut_short`; `typed`.
//! - `shards`: sharded archives; `delta`: a base and its delta; `remote`: sources on web servers and in object storage.
//! - `site`: pages without a server, and the demo.
//! - `shell`: commands from a script and typed in a terminal.
//! - `targets`: outputs appear complete or not at all.
//! - `units`: whether a command works on games or on positions.
//! - `usage`: help, messages and exit statuses; `help_examples`: the examples of the help; `readme`: the README.
//! - `damaged`, `faults`, `killed`: damaged files, failing system calls, killed imports.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod archive;
mod backsolve;
mod board;
mod book;
#[path = "../support/browser.rs"]
mod browser;
mod client;
mod clocks;
mod comments;
mod cut_short;
mod damaged;
mod delta;
mod engines;
#[path = "../support/engines.rs"]
mod engines_at_hand;
mod everyday;
mod explore;
#[cfg(unix)]
mod faults;
mod games;
#[cfg(unix)]
mod help_examples;
mod kept_games;
#[cfg(unix)]
mod killed;
mod merging;
mod messages;
mod name;
mod obeyed;
mod openings;
mod other_files;
#[cfg(feature = "parquet")]
mod parquet;
#[path = "../support/random_positions.rs"]
mod random_positions;
#[cfg(unix)]
mod readme;
#[cfg(unix)]
mod referee;
#[cfg(unix)]
#[path = "../support/referee_client.rs"]
mod referee_client;
mod registers;
#[cfg(feature = "remote")]
mod remote;
mod repertoire;
mod report;
#[path = "../support/scratch.rs"]
mod scratch;
mod search;
mod shaping;
mod shards;
#[path = "../support/shared_data.rs"]
mod shared_data;
mod shell;
mod site;
#[path = "../support/skipped.rs"]
mod skipped;
mod slices;
mod sources;
mod stats;
mod store;
#[cfg(unix)]
mod streams;
mod tally;
#[cfg(unix)]
mod targets;
#[cfg(unix)]
#[path = "../support/terminal.rs"]
mod terminal;
mod text;
mod tournament;
mod typed;
mod units;
mod usage;
#[cfg(feature = "remote")]
#[path = "../support/web_server.rs"]
mod web_server;
