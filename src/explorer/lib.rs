//! The answers of the opening explorer: what the server sends, and what a page without a server computes in the
//! browser.
//!
//! An [`Explorer`] has the sources. A [`Question`] is one of the paths of the server; it reads the query of an
//! address, and its [`Answer`] is JSON.

mod filter;
mod games;
mod lichess;
mod line;
mod position;
mod query;
mod record;
mod refusal;
#[cfg(feature = "search")]
mod search;
mod served;
mod sources;

use std::sync::Arc;

use serde::Serialize;

use epdb_chess::error::Error;
use epdb_library::names::Names;

pub use line::ParsedLine;
pub use query::parse_query;
pub use refusal::Refusal;
pub use served::Served;
pub use sources::{SourceObject, sources};

/// The parts of a page without a server: the crate `epdb-wasm`, which `.ci/wasm` builds, and its other half.
#[cfg(not(target_family = "wasm"))]
pub mod reader {
    /// The explorer in WebAssembly, compressed with zstd.
    pub const WASM: &[u8] = include_bytes!("../wasm/explorer.wasm.zst");
    /// The same, for a page that counts games, compressed with zstd.
    pub const TALLY_WASM: &[u8] = include_bytes!("../wasm/tally.wasm.zst");
    /// The built-in model of archives, which the page sends when a library needs it.
    pub use epdb_archive::SHIPPED_MODEL;
    /// The module of JavaScript that loads both.
    pub const SCRIPT: &str = include_str!("../wasm/reader.js");
}

/// The sources of the answers, in one state.
#[derive(Clone, Debug)]
pub struct Explorer {
    /// The sources; the first is the default.
    pub sources: Vec<Arc<Served>>,
    /// The version of the sources, which increases with each change.
    pub changes: u64,
    /// Names of openings.
    pub names: Arc<Names>,
    /// True if a filter by which a library is not split is refused.
    pub strict: bool,
}

/// A question: a path of the server.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// `/api/sources`: the sources.
    Sources,
    /// `/api/position`: everything that a source knows of a position, and the legal moves.
    Position,
    /// `/api/line`: typed moves as a line.
    Line,
    /// `/api/record`: a record by number.
    Record,
    /// `/api/game`: a stored game by id.
    Game,
    /// `/api/search`: games by an expression.
    #[cfg(feature = "search")]
    Search,
    /// `/masters`: the moves of a position, as lichess.org sends them.
    Masters,
    /// `/lichess`: the same with more filters.
    Lichess,
    /// `/lichess/history`: the games of a position by month.
    History,
    /// `/player`: the moves of a position in the library of a player.
    Player,
}

/// An answer, and the parts of the query that were not applied.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer as JSON.
    pub json: String,
    /// Filters that were not applied because the library is not split by them.
    pub not_split: Vec<&'static str>,
    /// The number of records that were read, if the position has more of them.
    pub cut_after: Option<usize>,
}

impl Question {
    /// The question at the path `/api/NAME` or `/NAME` of the server.
    pub fn named(name: &str) -> Option<Question> {
        Some(match name {
            "sources" => Question::Sources,
            "position" => Question::Position,
            "line" => Question::Line,
            "record" => Question::Record,
            "game" => Question::Game,
            #[cfg(feature = "search")]
            "search" => Question::Search,
            "masters" => Question::Masters,
            "lichess" => Question::Lichess,
            "lichess/history" => Question::History,
            "player" => Question::Player,
            _ => return None,
        })
    }

    /// Answers the query of an address.
    ///
    /// # Errors
    /// The query is not valid, asks for something that does not exist, or a source cannot be read.
    pub fn answer(self, explorer: &Explorer, query: &str) -> Result<Answer, Refusal> {
        match self {
            Question::Sources => Answer::new(&sources::sources(explorer)),
            Question::Position => Answer::new(&position::position(explorer, parse_query(query)?)?),
            Question::Line => Answer::new(&record::line(&parse_query(query)?)?),
            Question::Record => Answer::new(&record::record(explorer, &parse_query(query)?)?),
            Question::Game => Answer::new(&record::game(explorer, &parse_query(query)?)?),
            #[cfg(feature = "search")]
            Question::Search => Answer::new(&search::search(explorer, &parse_query(query)?)?),
            Question::Masters => lichess::masters(explorer, query),
            Question::Lichess => lichess::lichess(explorer, query),
            Question::History => lichess::history(explorer, query),
            Question::Player => lichess::player(explorer, query),
        }
    }
}

impl Answer {
    fn new(value: &impl Serialize) -> Result<Answer, Refusal> {
        let json = serde_json::to_string(value).map_err(Error::from_cause)?;
        Ok(Answer { json, not_split: Vec::new(), cut_after: None })
    }
}

impl Explorer {
    /// The source with this name, or the first source if no name is given.
    ///
    /// # Errors
    /// There is no such source.
    pub fn source(&self, name: Option<&str>) -> Result<&Arc<Served>, Refusal> {
        let Some(name) = name else {
            return self
                .sources
                .first()
                .ok_or_else(|| Refusal::NotFound("there is no source".into()));
        };
        self.named(name).ok_or_else(|| {
            let names: Vec<&str> = self.sources.iter().map(|it| it.name()).collect();
            Refusal::NotFound(format!("no source is named {name}: there are {}", names.join(", ")))
        })
    }

    /// The source with this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Served>> {
        self.sources.iter().find(|served| served.name() == name)
    }

    /// True if lookups are short: every source has an index and is on this machine.
    pub fn is_quick(&self) -> bool {
        let is_quick =
            |served: &Arc<Served>| served.lookup().has_index() && !served.lookup().is_remote();
        self.sources.iter().all(is_quick)
    }

    /// The game with this id in PGN: of the named source, else of the source for `/masters`, else of any.
    ///
    /// # Errors
    /// There is no such game, or a source cannot be read.
    pub fn pgn_of_game(&self, id: &str, query: &str) -> Result<Vec<u8>, Refusal> {
        lichess::game(self, id, query)
    }
}
