//! Any file or stream, of any format and compression, as records and games in order, and the way
//! back.
//!
//! Reading: [`open`] takes whatever there is, text (EPD, FEN) and games (PGN, PGC) plain or
//! compressed, streams, stores and archives, what lichess publishes, and opening books of Polyglot.
//! [`Source::records`] and [`Source::items`] are iterators; [`Source::read`] hands items on without
//! copying them, which is what the command line does. [`Sources`] are several, one after the other; [`SourceOptions`] say how all of it is read.
//!
//! Writing: a [`Target`] takes records or games and writes them in the format that its name, or
//! [`TargetOptions`], decide; an [`Output`] takes bytes. Files appear when they are complete, or not
//! at all.
//!
//! Opening books of Polyglot hold keys and no positions: [`Walk`] looks for these, as a source does,
//! and [`open_book`] reads the entries.
//!
//! Looking up: [`OpenLookup`] opens a store or an archive, and both answer as any [`Lookup`] does.
//!
//! A format is known by the first bytes of a source, by its name, or by what the options say:
//! everything that is known of formats stands in one table, behind [`FileFormat`].

mod binary;
mod book;
mod book_walk;
mod encoded_batch;
mod encoding;
mod format;
mod games;
mod input;
mod item;
mod items;
mod lichess;
mod line_kind;
mod lines;
mod local;
mod lookup;
mod open;
mod options;
mod output;
mod perft_blocks;
mod plain_line;
mod read_ahead;
mod store_target;
mod target;

use std::io::Read;
use std::path::Path;

pub use book::open_book;
pub use book_walk::{BookPosition, KnownPositions, Walk, Way};
pub use encoded_batch::EncodedBatch;
pub use encoding::{TextEncoding, UnknownEncoding};
pub use format::{Compression, FileFormat};
pub use item::{BookFindings, EncodedRecords, Item, OwnedItem, Summary, VisitItem};
pub use items::{Items, Sources};
pub use lines::Lines;
pub use local::Local;
pub use lookup::{Lookup, Match, Matches, OpenLookup, VisitMatch};
pub use open::{Content, Source};
pub use options::{BinaryRecords, Encode, Filter, SourceOptions};
pub use output::Output;
#[cfg(feature = "library")]
pub(crate) use plain_line::encode_canonical_line;
pub use target::{GameFormat, Lost, Target, TargetOptions};

use crate::archive::ArchiveError;
use crate::codec::tally_origin::TallyLedger;
use crate::error::{Error, Result};
use crate::model::GameId;

/// Opens a file of any format and compression, or standard input for `-`.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("epdb-open-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("a.epd");
/// std::fs::write(&path, "8/8/8/4k3/8/1K6/8/8 b - - id \"a\";\n")?;
/// for record in epdb::source::open(&path)?.records() {
///     assert_eq!(record?.position().turn(), epdb::model::Color::Black);
/// }
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), epdb::Error>(())
/// ```
///
/// # Errors
/// It cannot be read, or is of a format that is not read. The error names it.
pub fn open(path: impl AsRef<Path>) -> Result<Source> {
    Source::open(path, &SourceOptions::new())
}

/// How the tallies of a library came to be, and which games they count; `None` where that was not
/// kept, as in every text.
///
/// # Errors
/// A store or an archive cannot be opened or is damaged.
pub fn tally_ledger(path: impl AsRef<Path>) -> Result<Option<TallyLedger>> {
    open_library(path)?.map_or(Ok(None), |library| library.tally_ledger())
}

/// A store or an archive, opened to be asked for little; `None` for anything else.
fn open_library(path: impl AsRef<Path>) -> Result<Option<OpenLookup>> {
    let source = open(path)?;
    let is_library = matches!(source.format(), FileFormat::Epdb | FileFormat::Epa);
    is_library.then(|| OpenLookup::new(source, LIBRARY_MEMORY)).transpose()
}

/// Hands on all games that a library keeps for the positions that list them, their ids ascending; what is
/// no library has none.
///
/// # Errors
/// A store or an archive cannot be opened or is damaged, and what `visit` says.
pub fn each_kept_game(
    path: impl AsRef<Path>,
    visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>,
) -> Result<()> {
    match open(path)?.into_content() {
        Content::Store(local) => {
            let store = local.store(LIBRARY_MEMORY)?;
            let reader = store.reader().map_err(|error| local.failed(error))?;
            reader.each_kept_game(&mut |id, game| visit(id, game))
        }
        Content::Archive(local) => {
            let read = local
                .archive()?
                .each_kept_game(&mut |id, game| visit(id, game).map_err(Stop::Visit));
            read.map_err(|stop| match stop {
                Stop::Read(error) => local.failed(error).in_source(local.name()),
                Stop::Visit(error) => error,
            })
        }
        _ => Ok(()),
    }
}

/// Why not all games came.
enum Stop {
    Read(ArchiveError),
    Visit(Error),
}

impl From<ArchiveError> for Stop {
    fn from(error: ArchiveError) -> Stop {
        Stop::Read(error)
    }
}

/// How many games a library keeps.
///
/// # Errors
/// As [`tally_ledger`].
pub fn kept_game_count(path: impl AsRef<Path>) -> Result<u64> {
    open_library(path)?.map_or(Ok(0), |library| library.kept_game_count())
}

/// What a store may take to be asked for little, in bytes.
const LIBRARY_MEMORY: usize = 1 << 20;

/// The format of a file, or the one that is `said` where neither its bytes nor its name tells it.
///
/// # Errors
/// The file cannot be read, or has a format that is not read.
pub fn format_of_file(path: &Path, said: Option<FileFormat>) -> Result<FileFormat> {
    let input = input::open(path, None)?;
    Ok(FileFormat::of_source(path, &input.start, said))
}

/// The bytes of a file, or of standard input for `-`: decompressed, and UTF-16 as UTF-8.
///
/// # Errors
/// As [`open`].
pub fn open_bytes(path: impl AsRef<Path>) -> Result<Box<dyn Read + Send>> {
    Ok(input::open(path.as_ref(), None)?.bytes)
}
