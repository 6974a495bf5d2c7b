//! The answers of the opening explorer: what the server sends, and what a page without a server computes in the
//! browser.
//!
//! An [`Explorer`] has the sources. A [`Question`] is one of the paths of the server; it reads the query of an
//! address, and its [`Answer`] is JSON.

mod explorer;
mod filter;
mod games;
mod lichess;
mod line;
mod position;
mod query;
mod question;
mod record;
mod refusal;
#[cfg(feature = "search")]
mod search;
mod served;
mod sources;

pub use explorer::{Answer, Explorer};
pub use line::ParsedLine;
pub use query::parse_query;
pub use question::Question;
pub use refusal::Refusal;
pub use served::Served;
pub use sources::{SourceObject, sources};

/// The parts of a page without a server: the crate `epdb-wasm`, which `.ci/wasm` builds, and its other half.
#[cfg(not(target_family = "wasm"))]
pub mod reader {
    /// The explorer in WebAssembly, compressed with gzip, which browsers unpack.
    pub const WASM: &[u8] = include_bytes!("explorer.wasm.gz");
    /// The same, for a page that counts games.
    pub const TALLY_WASM: &[u8] = include_bytes!("tally.wasm.gz");
    /// The built-in model of archives, which the page sends when a library needs it.
    pub use epdb_archive::SHIPPED_MODEL;
    /// The names of openings, a table that is compressed with zstd.
    pub use epdb_library::names::BUILT_IN as OPENINGS;
    /// The module of JavaScript that loads both.
    pub const SCRIPT: &str = include_str!("reader.js");
}
