//! Chess positions with annotations (EPD, FEN) and games (PGN) as compact binary records, in files
//! that are searched by position; and tools for engines, tournaments and opening explorers on top
//! of them.
//!
//! A line of EPD or FEN becomes a record, and a record a canonical line:
//!
//! ```
//! use epdb::model::Opcode;
//!
//! let record = epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - id \"a\"; bm Ke6 Ke4;")?;
//! assert_eq!(record.text_of(Opcode::ID), Some(b"a".to_vec()));
//! assert_eq!(epdb::format_epd(&record), b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4 Ke6; id \"a\";");
//! # Ok::<(), epdb::text::Diagnostic>(())
//! ```
//!
//! [`source::open`] reads a file of any format, and [`source::Target`] writes one. Here the positions of a game
//! become an archive:
//!
//! ```
//! use epdb::source::{Source, SourceOptions, Target};
//! use epdb::text::pgn::PositionOptions;
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::write(folder.path().join("games.pgn"), "1. e4 e5 2. Nf3 *\n")?;
//! let options = SourceOptions { positions: Some(PositionOptions::default()), ..Default::default() };
//! let mut target = Target::create(folder.path().join("positions.epa"))?;
//! for record in Source::open(folder.path().join("games.pgn"), &options)?.records() {
//!     target.write(&record?)?;
//! }
//! target.finish()?;
//! # assert_eq!(epdb::source::open(folder.path().join("positions.epa"))?.records().count(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`source::Collection`] finds the records of a position in a store, an archive or a sharded archive:
//!
//! ```
//! use epdb::source::{Collection, Lookup, Target};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("suite.epa");
//! # let mut target = Target::create(&path)?;
//! # target.write(&epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4;")?)?;
//! # target.finish()?;
//! let suite = Collection::open(&path, 64 << 20)?;
//! let asked = epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - 17 93")?;
//! for found in suite.matches(&asked.position().into()) {
//!     let (_number, record) = found?;
//!     assert_eq!(epdb::format_epd(&record), b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4;");
//! }
//! # assert_eq!(suite.matches(&asked.position().into()).count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Crates, from the lowest layer up
//!
//! Each crate is a folder of `src`. This crate has what other programs need of them, and `src/facade.txt` lists
//! it. Programs may rely on this crate and on `epdb-chess`, which can be used alone: it has neither a database nor
//! a compressor, and more of chess than this crate. The others may change with every version. A crate imports
//! those above it in the table.
//!
//! | Crate | Contents | Here | Feature |
//! |---|---|---|---|
//! | `epdb-chess` | values: positions, moves, records, opcodes, tallies, games; the rules of chess; merging two records | [`model`] | |
//! | | FEN, EPD, SAN and PGN: parsers, writers, profiles, diagnostics with line and column | [`text`] | |
//! | | bytes: packed boards, position keys, move ordinals, records, streams, games (PGC), Polyglot books | [`codec`] | |
//! | | the error type, and places in sources | [`error`] | |
//! | `epdb-base` | no chess: files that appear complete or not at all; mapped files; sorting of data larger than memory; work on other threads | | |
//! | `epdb-store` | `.epdb`: a growing file of records by position; resumable imports, verification | [`store`] | `store` |
//! | `epdb-archive` | `.epa`: an immutable, memory-mapped file of records; entropy coders, their models, position indexes | [`archive`] | `source` |
//! | `epdb-source` | any file or stream as records or games, compressed or not, and back; lookups by position; sharded archives as one source; tables of Apache Arrow | [`source`] | `source` |
//! | `epdb-library` | operations on records: fields, expressions, sets, joins, tallies of games, opening names, repertoires | [`library`] | `library` |
//! | `epdb-engine` | UCI engines as child processes: search, analysis, test suites with a journal, reports | [`engine`] | `engine` |
//! | `epdb-explorer` | the answers of opening explorers, for the server and for browsers | | `server` |
//! | `epdb-wasm` | the explorer in WebAssembly, for pages without a server; `reader.js` loads it | | |
//! | `epdb-server` | HTTP: the APIs of opening explorers, an API for records, a page | [`server`] | `server` |
//! | `epdb-referee` | engine tournaments across machines: pairings, clocks, adjudication, standings, log, protocol | | `referee` |
//! | the program | `src/main.rs` and `src/cli`: reads arguments, calls the crates, prints | | `cli` |
//!
//! The features `arrow` (tables), `serde` (values as serde data), `shakmaty` (conversions), `syzygy` (tablebases
//! for the referee), `parquet` and `remote` (sources on web servers and in object storage) extend these modules.
//! A feature turns on what it needs: `library` has `source` and `store` with it.
//!
//! Examples of items that come from another crate name that crate: `epdb_library::expression` is
//! `epdb::library::expression` here. `.github/CONTRIBUTING.md` names the files for common changes.
//!
//! # Terms
//!
//! - *Record*: a position with its operations, as on a line of EPD. *Operation*: an opcode and its
//!   operands.
//! - *Identity* of a position: placement, side to move, castling rights, and the en passant square
//!   if a capture there is legal. Positions are compared and found by identity.
//! - *Key*: the 64-bit Polyglot hash of a position. Two positions may share one.
//! - *Move ordinal*: the index of a move in the list of legal moves, in ASCII order of their SAN.
//! - *Tally*: counts of games, results and ratings by move; the operand of the opcode `tally`.
//! - *Stream* (`.epb`): records in checksummed *frames*, in any order.
//! - *Store* (`.epdb`): records in *blocks* by key. An *overflow* position has more records than
//!   fit into a block. The *journal* lists the imported sources and the progress of each.
//! - *Archive* (`.epa`): records in *segments*. A segment has *rows* (level fast) or *blocks*
//!   compressed with a *model* (level default).
//! - *Shard*: an archive with the records of a range of keys. A *manifest* lists the shards of a
//!   *sharded archive* (`source::ShardedArchive`; `library::shards` writes them).
//! - *Import number*, *record number*: the index of a record in the order of import.

/// The examples of the guide run as tests.
#[cfg(doctest)]
#[doc = include_str!("guide/programs.md")]
struct Readme;

#[doc(inline)]
pub use epdb_chess::{Error, format_epd, parse_epd};

/// The error of functions that work with files, and places in sources.
pub mod error {
    #[doc(inline)]
    pub use epdb_chess::error::{Error, ErrorKind, Place, Result};
}

/// Values: positions, moves, records, opcodes, tallies and games.
pub mod model {
    #[doc(inline)]
    pub use epdb_chess::model::{
        CastlingDialect, Color, Counters, Element, EpdRecord, Game, GameCounts, GameNode,
        GameResult, MoveTally, Opcode, Operand, Operation, Piece, Position, PositionError, Role,
        San, SanError, Square, Start, Tally, TallyPart,
    };

    /// Merging two records of one position.
    pub mod merge {
        #[doc(inline)]
        pub use epdb_chess::model::merge::{BestMoves, MergeRules, Merged, Prefer, merge};
    }

    /// The rules of chess: legal moves, and the position after a move.
    pub mod rules {
        #[doc(inline)]
        pub use epdb_chess::model::rules::{Move, NotPlayable, Playable, after, line};
    }
}

/// FEN, EPD, SAN and PGN: parsers, writers, profiles, and diagnostics with line and column.
pub mod text {
    #[doc(inline)]
    pub use epdb_chess::text::{
        CastlingForm, Compat, CounterForm, Diagnostic, EnPassantForm, Format, FormatOptions,
        MateTargets, ParseOptions, Profile, Repair, ScoreView, Setting, Severity,
    };

    /// Lines of EPD.
    pub mod epd {
        #[doc(inline)]
        pub use epdb_chess::text::epd::{Line, Losses, format, parse_line};
    }

    /// Lines of FEN.
    pub mod fen {
        #[doc(inline)]
        pub use epdb_chess::text::fen::{format_fields, parse, parse_line};
    }

    /// Games of PGN.
    pub mod pgn {
        #[doc(inline)]
        pub use epdb_chess::text::pgn::{
            Charset, Finding, GameLosses, GameRead, GameReader, Language, PgnFormatError,
            PgnFormatOptions, PgnReadOptions, PositionOptions, Positions, format, positions,
        };
    }
}

/// Bytes: packed boards, position keys, move ordinals, records, streams, games (PGC) and Polyglot
/// books.
pub mod codec {
    /// 64-bit hashes of positions.
    pub mod key {
        #[doc(inline)]
        pub use epdb_chess::codec::key::position_key;
    }

    /// Games in PGC.
    pub mod pgc {
        #[doc(inline)]
        pub use epdb_chess::codec::pgc::{
            PgcEncodeError, PgcEncodeOptions, PgcError, PgcErrorKind, PgcRead, PgcReader, encode,
        };
    }
}

/// Stores: growing files of records, found by position.
#[cfg(feature = "store")]
pub mod store {
    #[doc(inline)]
    pub use epdb_store::{
        ImportCounts, ImportInfo, ImportOptions, ImportReport, ImportState, Importer, Matches,
        OnDuplicate, Reader, Same, Store, StoreError, StoreOptions, StoreStats, StoredRecord,
        VerifyFinding, verify,
    };
}

/// Options of archives, which are immutable files of records. [`source`] reads, writes and searches
/// them.
#[cfg(feature = "source")]
pub mod archive {
    #[doc(inline)]
    pub use epdb_archive::{Level, PackOptions};
}

/// Files and streams of any format and compression, read, written, and searched by position.
#[cfg(feature = "source")]
pub mod source {
    #[doc(inline)]
    pub use epdb_chess::codec::query::Query;
    #[doc(inline)]
    pub use epdb_source::{
        Collection, FileFormat, Inputs, Item, Items, Lookup, Match, Matches, OwnedItem, ReadReport,
        Source, SourceOptions, Sources, Summary, Target, TargetLosses, TargetOptions, TextCharset,
        TextEncoding, VisitItem, VisitMatch, open,
    };
}

/// Operations on records and games: expressions, tallies and explorers.
#[cfg(feature = "library")]
pub mod library {
    /// Moves of positions with their games and results.
    pub mod explore {
        #[doc(inline)]
        pub use epdb_library::explore::{
            CellFilter, Entry, ExploreOptions, Explored, MoveRow, SortBy, YearMonth, explore,
        };
    }

    /// Conditions on records and games, as in `--where`, which `epdb help where` describes.
    ///
    /// A source applies a condition as it is read:
    ///
    /// ```
    /// use epdb::library::expression::Expression;
    /// use epdb::source::{Source, SourceOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("suite.epd");
    /// # std::fs::write(&path, "8/8/8/4k3/8/1K6/8/8 b - - id \"bare\";\n4k3/8/8/8/8/8/4P3/4K3 w - -\n")?;
    /// let filter = Expression::parse("pieces <= 2 and has(id)")?;
    /// let options = SourceOptions { filter: Some(std::sync::Arc::new(filter)), ..Default::default() };
    /// assert_eq!(Source::open(&path, &options)?.records().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub mod expression {
        #[doc(inline)]
        pub use epdb_library::expression::{Expression, ExpressionError};
    }

    /// Tables of Apache Arrow from any source.
    #[cfg(feature = "arrow")]
    pub mod scan {
        #[doc(inline)]
        pub use epdb_library::scan::{Rows, Scan, ScanOptions};
    }
}

/// UCI engines as child processes.
#[cfg(feature = "engine")]
pub mod engine {
    #[doc(inline)]
    pub use epdb_engine::{
        Answer, Bound, Engine, EngineError, EngineErrorKind, EngineSpec, Identity, Info, Limits,
    };
}

/// A server of libraries over HTTP.
#[cfg(feature = "server")]
pub mod server {
    #[doc(inline)]
    pub use epdb_server::{
        BasePath, HostName, Limits, LogLevel, Origin, Server, ServerSettings, SourceSpec,
    };
}
