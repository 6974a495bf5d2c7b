//! Reading and writing files and streams of any format and compression.
//!
//! This crate may change with every version: programs rely on the crate `epdb`, or on `epdb-chess`.
//!
//! Reading: [`open`] takes text (EPD, FEN), games (PGN, PGC), streams, stores, archives, the files
//! of lichess, and opening books of Polyglot. All of them may be compressed. [`Source::records`]
//! and [`Source::items`] are iterators. [`Source::read`] calls a visitor without copying items, and
//! the command line uses it. [`Sources`] reads several files in sequence. [`SourceOptions`] are the
//! options of all of them. [`Streams`] keep a pipe open that is opened for its library and for its
//! records.
//!
//! Writing: a [`Target`] takes records or games. The file name or [`TargetOptions`] decide its
//! format. An [`Output`] takes bytes. Files appear when they are complete, or not at all.
//!
//! Books: an opening book of Polyglot has keys, but no positions. [`open_book`] reads the entries,
//! and [`BookResolver`] finds the positions. If a source is a book, both are done.
//!
//! Lookups: a [`Collection`] is an open store or archive, which is searched by position ([`Lookup`]). A
//! [`ShardedArchive`] is several archives that are read and searched as one. A [`DeltaPath`] names a
//! library and the store of the later games, which are read and searched as one.
//!
//! The format of a source is found by its first bytes, by its name, or by the options.
//! [`FileFormat`] takes the properties of all formats from one table.

mod address;
#[cfg(feature = "arrow")]
pub mod arrow;
mod binary;
mod book;
mod book_walk;
mod collection;
mod delta;
mod encoded_batch;
mod encoding;
mod format;
mod frames;
mod game_batches;
mod games;
mod gzip;
mod in_order;
mod input;
mod item;
mod items;
mod lichess;
mod lines;
mod local;
mod lookup;
mod manifest;
#[cfg(not(target_family = "wasm"))]
mod members;
mod notes;
mod open;
mod options;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_bytes;
#[cfg(feature = "parquet")]
mod parquet_check;
#[cfg(feature = "parquet")]
mod parquet_columns;
#[cfg(all(test, feature = "parquet"))]
mod parquet_tests;
mod plain_line;
#[cfg(feature = "remote")]
mod remote;
mod report;
mod shard_lists;
mod shards;
mod slices;
mod stored;
mod streams;
#[cfg(feature = "parquet")]
mod table_text;
mod target;

use std::path::Path;

pub use address::object_folder;
pub use address::{check_interval, objects_below, set_storage_options, stamp_at};
pub use address::{is_address, is_stream};
pub use book::COMMENTS;
pub use book::open_book;
pub use book_walk::{BookPosition, BookResolver, FoundBy, KnownPositions};
pub use collection::{Collection, CollectionFile, LayersFile, LibraryCounts, LibrarySummary};
pub use delta::{DeltaPath, name_of};
pub use delta::{is_folded, merged_records, other_base};
pub use encoded_batch::EncodedBatch;
pub use encoding::{TextCharset, TextEncoding, UnknownEncoding};
pub use format::{Compression, FileFormat, any_suffix, known_suffix, source_suffix};
pub use input::SlicePart;
pub use item::{
    BookFindings, EncodedRecords, Filter, GameCounter, Item, OwnedItem, Summary, VisitItem,
};
pub use items::{Inputs, Items, Sources};
pub use lines::Lines;
pub use local::Local;
pub use lookup::{
    Lookup, Match, Matches, VisitMatch, VisitOnThreads, repeat_if_replaced, visit_on_threads,
};
pub use manifest::ObjectFolder;
pub use manifest::{
    GamesFile, MAX_SHARDS, MAX_YOUNG_LAYERS, Manifest, Shard, ShardList, ShardedLibrary, YoungLayer,
};
pub use open::{Content, Source};
pub use options::{BinaryRecords, Encode, SourceOptions};
pub use output::Output;
#[cfg(feature = "parquet")]
pub use parquet::write_table;
#[cfg(feature = "parquet")]
pub use parquet_columns::{ColumnFile, ColumnReader, RowTest};
pub use plain_line::encode_canonical_line;
pub use report::{CodeFindings, ReadReport};
pub use shards::{ArchiveFolder, ShardedArchive};
pub use slices::{MAX_SLICES, Slice, SlicePlan};
pub use streams::Streams;
pub use target::{GameFormat, Target, TargetLosses, TargetOptions, refuse_fewer};

use epdb_chess::codec::tally_origin::TallyLedger;
use epdb_chess::error::Result;
use epdb_chess::model::GameId;

/// Opens a file of any format and compression, or standard input for `-`. With the feature
/// `remote`, also an address: `https://`, `http://` or `s3://`.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("epdb-open-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("a.epd");
/// std::fs::write(&path, "8/8/8/4k3/8/1K6/8/8 b - - id \"a\";\n")?;
/// for record in epdb_source::open(&path)?.records() {
///     assert_eq!(record?.position().turn(), epdb_chess::model::Color::Black);
/// }
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), epdb_chess::Error>(())
/// ```
///
/// # Errors
/// The file cannot be read, or its format is not supported. The error names it.
pub fn open(path: impl AsRef<Path>) -> Result<Source> {
    Source::open(path, &SourceOptions::default())
}

/// The origin of the tallies (counts of results) of a store or an archive, and the games that they
/// count. `None` for any other file, and for a store or an archive without an origin.
///
/// # Errors
/// A store or an archive cannot be opened or is damaged.
pub fn tally_ledger(path: impl AsRef<Path>) -> Result<Option<TallyLedger>> {
    match open(path)?.library() {
        Some(library) => library.opened()?.tally_ledger(),
        None => Ok(None),
    }
}

/// Calls `visit` with each game that a store or an archive keeps for the positions that list it, in
/// ascending order of ids. Any other file has no such game.
///
/// # Errors
/// A store or an archive cannot be opened or is damaged, or `visit` fails.
pub fn each_kept_game(
    path: impl AsRef<Path>,
    visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>,
) -> Result<()> {
    match open(path)?.library() {
        Some(library) => library.opened()?.each_kept_game(visit),
        None => Ok(()),
    }
}

/// The format of a file, found by its bytes and its name. If these show no format, the result is
/// `default`.
///
/// # Errors
/// The file cannot be read, or its format is not supported.
pub fn format_of_file(path: &Path, default: Option<FileFormat>) -> Result<FileFormat> {
    let input = input::open(path, None)?;
    Ok(FileFormat::from_source(input.name(path), &input.head, default))
}
