//! Chess positions with annotations (EPD, FEN) and games (PGN) as compact binary records, in files
//! that are searched by position; and tools for engines, tournaments and opening explorers on top
//! of them.
//!
//! Start with [`parse_epd`] and [`format_epd`] for one line, [`source::Source`] and
//! [`source::Target`] for files of any format, [`source::Lookup`] for records by position, and
//! [`model`] for positions and moves.
//!
//! # Modules, from the lowest layer up
//!
//! Each crate is a folder of `src`, and this crate is their facade. A crate imports those above it in
//! the table. Programs may rely on this crate and on `epdb-chess`, which can be used alone: it has neither
//! a database nor a compressor. The others may change with every version.
//!
//! | Crate | Modules | Contents | Feature |
//! |---|---|---|---|
//! | `epdb-chess` | [`error`] | the error type, and places in sources | |
//! | | [`model`] | values: positions, moves, records, opcodes, tallies, games; the rules of chess; merging two records | |
//! | | [`text`] | FEN, EPD, SAN and PGN: parsers, writers, profiles, diagnostics with line and column | |
//! | | [`codec`] | bytes: packed boards, position keys, move ordinals, records, streams, games (PGC), Polyglot books | |
//! | `epdb-base` | [`new_file`], [`spill`] | no chess: files that appear complete or not at all; mapped files; sorting of data larger than memory; work on other threads | |
//! | `epdb-store` | [`store`] | `.epdb`: a growing file of records by position; resumable imports, verification | `store` |
//! | `epdb-archive` | [`archive`] | `.epa`: an immutable, memory-mapped file of records; entropy coders, their models, position indexes | `archive` |
//! | `epdb-source` | [`source`] | any file or stream as records or games, compressed or not, and back; lookups by position; sharded archives as one source | `source` |
//! | | `arrow` | columns of Apache Arrow: tables of records, games and moves, and records from such tables | `arrow` |
//! | `epdb-library` | [`library`] | operations on records: fields, expressions, sets, joins, tallies of games, opening names, repertoires | `library` |
//! | `epdb-engine` | [`engine`] | UCI engines as child processes: search, analysis, test suites with a journal | `engine` |
//! | | [`report`] | statistics and an HTML page about finished test suites | `engine` |
//! | `epdb-explorer` | [`explorer`] | the answers of opening explorers, for the server and for browsers | `server` |
//! | `epdb-wasm` | | the explorer in WebAssembly, for pages without a server; `reader.js` loads it | |
//! | `epdb-server` | [`server`] | HTTP: the APIs of opening explorers, an API for records, a page | `server` |
//! | `epdb-referee` | [`referee`] | engine tournaments across machines: pairings, clocks, adjudication, standings, log, protocol | `referee` |
//! | the program | `cli` | reads arguments, calls the library, prints; `src/main.rs` | `cli` |
//!
//! The features `serde` (values as serde data), `shakmaty` (conversions), `syzygy` (tablebases for
//! the referee), `parquet` and `remote` (sources on web servers and in object storage) add no module.
//!
//! # Files for common changes
//!
//! Each list has the files to change, most important first. `.github/CONTRIBUTING.md` adds tests,
//! pages and details, and more kinds of changes. Pages under `formats/` specify each format to the
//! byte.
//!
//! - **A new opcode**: a row in `src/chess/model/opcode.rs`; its number in `formats/epd_record.md`, its
//!   operands in `formats/epd_text.md`, both in the registry of `formats/README.md`, and a sample
//!   in `formats/golden/epd_record.json`. Rules across opcodes are in
//!   `src/chess/text/epd/read/consistency.rs`, the merging of two records in `src/chess/model/merge.rs`. Only a
//!   new kind of operands (beyond integers, moves, strings and the like) touches parsers and
//!   codecs: `src/chess/text/epd/read/operands.rs`, `src/chess/text/epd/write.rs` and `src/chess/codec/record`.
//! - **A new column of `epdb table`**: `src/library/field.rs`. The same field works in `--where`
//!   and `sort`, and `epdb help where` lists it. Fields made of game tags are in
//!   `src/library/game_tag.rs`.
//! - **A new dialect of the explorer**, for clients of another service: a module like
//!   `src/server/chessdb/mod.rs`, with `routes()` and its handlers, which call `src/library/explore`;
//!   then `src/server/lib.rs` and `src/server/run.rs`, which merges the routes. A question that pages
//!   without a server ask too is in `src/explorer/lib.rs`. Paths are documented in
//!   `src/server/api/openapi.json`.
//! - **A new section of the archive**: its kind in `src/archive/file/sections.rs`; its bytes in a
//!   file next to `src/archive/blocks/index.rs` (level default) or
//!   `src/archive/rows/index.rs` (level fast); `src/archive/writer.rs` writes it, and
//!   `src/archive/coded_blocks.rs` makes it if it belongs to a segment of blocks;
//!   `src/archive/reader/mod.rs` opens a section of the file, `src/archive/reader/segments.rs`
//!   opens a section of a segment. A lookup that needs it is in `src/archive/blocks/lookup.rs` or
//!   `src/archive/rows/reader.rs`. `Archive::verify` in `src/archive/reader/mod.rs` checks it. Its
//!   page is `formats/archive.md`, with the pages that it names.
//! - **A new source format**: name, suffix and first bytes in `src/source/format.rs`; its parser
//!   next to `src/source/lichess`; `src/source/lines.rs` if each line is a record; then one match
//!   arm each in `src/source/open.rs` (read) and `src/source/target.rs` (write or refuse). Its page
//!   is `formats/notes/sources.md`; options that apply to it are in `src/cli/obeyed.rs`.
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

#[cfg(feature = "archive")]
pub use epdb_archive as archive;
#[cfg(any(feature = "store", feature = "archive"))]
pub use epdb_base::{new_file, spill};
pub use epdb_chess::{Error, codec, error, format_epd, model, parse_epd, text};
#[cfg(feature = "engine")]
pub use epdb_engine as engine;
#[cfg(feature = "engine")]
pub use epdb_engine::report;
#[cfg(feature = "server")]
pub use epdb_explorer as explorer;
#[cfg(feature = "library")]
pub use epdb_library as library;
#[cfg(feature = "referee")]
pub use epdb_referee as referee;
#[cfg(feature = "server")]
pub use epdb_server as server;
#[cfg(feature = "source")]
pub use epdb_source as source;
#[cfg(feature = "arrow")]
pub use epdb_source::arrow;
#[cfg(feature = "store")]
pub use epdb_store as store;
