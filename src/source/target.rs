//! Writing of records and games in any format.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use super::delta::name_of;
use super::encoded_batch::{EncodedBatch, PartText};
use super::format::FileFormat;
use super::output::Output;
#[cfg(feature = "parquet")]
use super::parquet::ParquetTarget;
use epdb_archive::{About, ArchiveWriter, PackOptions, SortedSizes};
use epdb_base::new_file::NewFile;
use epdb_chess::codec::pgc::{self, PgcEncodeOptions};
use epdb_chess::codec::tally_origin::TallyLedger;
use epdb_chess::codec::{record, stream};
#[cfg(not(feature = "parquet"))]
use epdb_chess::error::ErrorKind;
use epdb_chess::error::{Error, Place, Result};
use epdb_chess::model::{EpdRecord, Game};
use epdb_chess::text::epd::{self, Losses};
use epdb_chess::text::lines::SPEC_LINE_LIMIT;
use epdb_chess::text::pgn::{self, Charset, GameLosses, GamePosition, PgnFormatOptions};
use epdb_chess::text::{CounterForm, Diagnostic, Format, FormatOptions};
use epdb_store::{Checkpoint, ImportOptions, Importer, Store, StoreOptions};

/// Options of targets.
///
/// ```
/// use epdb_source::{FileFormat, TargetOptions};
/// use epdb_chess::text::pgn::PgnFormatOptions;
/// let options = TargetOptions {
///     format: Some(FileFormat::Pgn),
///     pgn: PgnFormatOptions { reduced: true, ..Default::default() },
///     ..Default::default()
/// };
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct TargetOptions {
    /// The format. If it is `None`, the suffix of the name decides.
    pub format: Option<FileFormat>,
    /// Options of lines of text.
    pub text: Option<FormatOptions>,
    /// Options of PGN.
    pub pgn: PgnFormatOptions,
    /// Options of PGC.
    pub pgc: PgcEncodeOptions,
    /// Options of archives.
    pub archive: PackOptions,
    /// The approximate memory for writing a store or a Parquet file.
    pub store_memory_bytes: Option<usize>,
    /// True if a store may replace an existing file.
    pub replace: bool,
    /// An archive with fewer records is not finished.
    pub at_least: u64,
    /// True if the records are written in the order of their position keys. A Parquet file then states it.
    pub sorted_by_key: bool,
}

/// The format of games.
#[derive(Clone, Debug)]
pub enum GameFormat {
    /// Games in PGN, written with these options.
    Pgn(PgnFormatOptions),
    /// Games in PGC, written with these options.
    Pgc(PgcEncodeOptions),
    /// A Parquet table of games in this format. A game that is passed as bytes is in PGC.
    Table(FileFormat),
}

impl GameFormat {
    /// The file format.
    pub const fn file_format(&self) -> FileFormat {
        match self {
            GameFormat::Pgn(_) => FileFormat::Pgn,
            GameFormat::Pgc(_) => FileFormat::Pgc,
            GameFormat::Table(format) => *format,
        }
    }

    /// True if the format can express every game. False if it may refuse a game.
    pub fn takes_every_game(&self) -> bool {
        match self {
            GameFormat::Pgn(options) => {
                options.charset == Charset::Utf8 && !options.ascii && !options.reduced
            }
            GameFormat::Pgc(_) | GameFormat::Table(_) => false,
        }
    }

    /// Appends a game.
    ///
    /// # Errors
    /// The format cannot express the game. Then nothing is appended.
    pub fn append(&self, game: &Game, out: &mut Vec<u8>) -> Result<GameLosses, Diagnostic> {
        match self {
            GameFormat::Pgn(options) => pgn::format(game, options, out)
                .map_err(|error| Diagnostic::error(error.code(), 1, error.to_string())),
            GameFormat::Pgc(options) => append_pgc(game, options, out),
            GameFormat::Table(_) => append_pgc(game, &PgcEncodeOptions::default(), out),
        }
    }
}

fn append_pgc(
    game: &Game,
    options: &PgcEncodeOptions,
    out: &mut Vec<u8>,
) -> Result<GameLosses, Diagnostic> {
    pgc::encode(game, options, out)
        .map_err(|error| Diagnostic::error(error.code(), 1, error.to_string()))
}

/// Losses of a target whose format cannot express everything.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct TargetLosses {
    /// Losses of records.
    pub records: Losses,
    /// Losses of games.
    pub games: GameLosses,
    /// Sizes of a sorted archive; see [`Packed::sorted_sizes`](epdb_archive::Packed::sorted_sizes).
    pub sorted_sizes: Option<SortedSizes>,
}

/// A destination of records or games, in any format. The file is complete after [`Target::finish`],
/// and does not exist before.
///
/// ```
/// use epdb_source::Target;
/// # let folder = std::env::temp_dir().join(format!("epdb-target-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let record = epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - id \"a\";")?;
/// for name in ["a.epd", "a.fen.zst", "a.epb", "a.epdb", "a.epa"] {
///     let path = folder.join(name);
///     let mut target = Target::create(&path)?;
///     target.write(&record)?;
///     target.finish()?;
///     let read = epdb_source::open(&path)?.records().collect::<epdb_chess::error::Result<Vec<_>>>()?;
///     assert_eq!(read[0].position(), record.position());
/// }
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), epdb_chess::Error>(())
/// ```
pub struct Target {
    kind: Kind,
    lost: TargetLosses,
    /// Buffer for a record or a game.
    bytes: Vec<u8>,
}

enum Kind {
    Text {
        output: Output,
        options: FormatOptions,
    },
    Stream(stream::Writer<Output>),
    Archive {
        writer: Box<ArchiveWriter<Output>>,
        /// An archive with fewer records is not finished.
        at_least: u64,
    },
    Store(Box<StoreTarget>),
    Games {
        output: Output,
        format: GameFormat,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetTarget>),
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            Kind::Text { .. } => "Text",
            Kind::Stream(_) => "Stream",
            Kind::Archive { .. } => "Archive",
            Kind::Store(_) => "Store",
            Kind::Games { .. } => "Games",
            #[cfg(feature = "parquet")]
            Kind::Parquet(_) => "Parquet",
        };
        let lost = &self.lost;
        f.debug_struct("Target").field("kind", &kind).field("lost", lost).finish_non_exhaustive()
    }
}

/// Writes canonical lines. The last line may lack its end. Counters become operations if the
/// options ask for that.
fn write_lines(output: &mut Output, options: &FormatOptions, lines: &[u8]) -> io::Result<()> {
    if options.counters == CounterForm::Keep {
        return output.write_all(lines);
    }
    let mut written = 0;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', lines).chain([lines.len()]) {
        if let Some((fields, clock, number)) = split_counters(&lines[start..end]) {
            output.write_all(&lines[written..start + fields])?;
            output.write_all(&[b" fmvn ", number, b"; hmvc ", clock, b";"].concat())?;
            written = end;
        }
        start = (end + 1).min(lines.len());
    }
    output.write_all(&lines[written..])
}

/// For a line that ends in two counters: the length of the first four fields, and the counters.
/// `None` for other lines. Only a line without operations ends in counters.
fn split_counters(line: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let word_before = |end: usize| {
        let digits = line[..end].iter().rev().take_while(|byte| byte.is_ascii_digit());
        let start = end - digits.count();
        (start < end && line[..start].ends_with(b" ")).then_some(start)
    };
    let number = word_before(line.len())?;
    let clock = word_before(number - 1)?;
    Some((clock - 1, &line[clock..number - 1], &line[number..]))
}

impl Target {
    /// Begins a file; its name decides format and compression. An existing file is replaced when the new one is
    /// complete; a store is kept, unless [`TargetOptions::replace`] says otherwise.
    ///
    /// # Errors
    /// The name has no format, or the file cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Target> {
        Target::create_with(path, &TargetOptions::default())
    }

    /// Like [`Target::create`], with options.
    ///
    /// # Errors
    /// The errors of [`Target::create`]. Also fails if the name contradicts the format.
    pub fn create_with(path: impl AsRef<Path>, options: &TargetOptions) -> Result<Target> {
        let path = path.as_ref();
        let format = options.format.or_else(|| FileFormat::from_name(path));
        let format = format.ok_or_else(|| {
            Error::new(format!("cannot tell the format from the name {}", name_of(path)))
        })?;
        format.check_name(path)?;
        if format == FileFormat::Epdb {
            let kind = Kind::Store(Box::new(StoreTarget::create(path, options)?));
            return Ok(Target::from_kind(kind));
        }
        Target::new(Output::create(path)?, format, options)
    }

    /// Writes to an [`Output`].
    ///
    /// # Errors
    /// A store cannot be written to an output, or the options of an archive are invalid.
    pub fn new(output: Output, format: FileFormat, options: &TargetOptions) -> Result<Target> {
        Ok(Target::from_kind(match format {
            FileFormat::Epd | FileFormat::Fen => {
                let form = if format == FileFormat::Fen { Format::Fen } else { Format::Epd };
                let default = FormatOptions { format: form, ..Default::default() };
                Kind::Text { output, options: options.text.unwrap_or(default) }
            }
            FileFormat::Epb => Kind::Stream(stream::Writer::new(output)),
            FileFormat::Epa => {
                let writer = Box::new(ArchiveWriter::new(output, options.archive.clone())?);
                Kind::Archive { writer, at_least: options.at_least }
            }
            FileFormat::Pgn => Kind::Games { output, format: GameFormat::Pgn(options.pgn) },
            FileFormat::Pgc => Kind::Games { output, format: GameFormat::Pgc(options.pgc) },
            FileFormat::Epdb => return Err(Error::new("a store needs a file of its own")),
            format if !format.is_written() => {
                let what = format.description();
                return Err(Error::new(format!("{what}: this format can only be read")));
            }
            _ => parquet(output, format, options)?,
        }))
    }

    fn from_kind(kind: Kind) -> Target {
        Target { kind, lost: TargetLosses::default(), bytes: Vec::new() }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// The output fails or takes only games, or the record cannot be encoded.
    pub fn write(&mut self, record: &EpdRecord) -> Result<()> {
        match &mut self.kind {
            Kind::Text { .. } => self.write_line(record, b"\n"),
            Kind::Stream(stream) => Ok(stream.write(record)?),
            Kind::Archive { writer, .. } => Ok(writer.push(record)?),
            Kind::Store(store) => Ok(store.importer.push(record)?),
            #[cfg(feature = "parquet")]
            Kind::Parquet(parquet) => {
                self.lost.records += parquet.write(record, None)?;
                Ok(())
            }
            Kind::Games { .. } => {
                Err(Error::new("cannot write positions as games: .pgn and .pgc are for games"))
            }
        }
    }

    /// Writes a record that may be a position of a game. A table of records has columns about the
    /// game. For any other target, this function does the same as [`Target::write`].
    ///
    /// # Errors
    /// The errors of [`Target::write`].
    pub fn write_position(
        &mut self,
        record: &EpdRecord,
        game: Option<GamePosition<'_>>,
        place: &Place,
    ) -> Result<()> {
        match &mut self.kind {
            #[cfg(feature = "parquet")]
            Kind::Parquet(parquet) => {
                self.lost.records += parquet.write(record, Some((place, game)))?;
                Ok(())
            }
            _ => {
                let _ = (place, game);
                self.write(record)
            }
        }
    }

    /// Writes a record in its binary form ([`record::encode`]).
    ///
    /// # Errors
    /// The errors of [`Target::write`]. Also fails if the bytes are not a record.
    pub fn write_encoded(&mut self, bytes: &[u8]) -> Result<()> {
        if let Kind::Archive { writer, .. } = &mut self.kind {
            return Ok(writer.push_encoded(bytes)?);
        }
        if !self.is_canonical_text() {
            return self.write(&record::decode(bytes)?.0);
        }
        self.bytes.clear();
        record::write_text(bytes, &mut self.bytes)?;
        self.bytes.push(b'\n');
        let line = std::mem::take(&mut self.bytes);
        let written = self.write_canonical_lines(&line);
        self.bytes = line;
        written
    }

    /// Writes records in their binary form in order. The bytes must be those that the codec wrote.
    ///
    /// # Errors
    /// The errors of [`Target::write_encoded`].
    pub fn write_batch(&mut self, batch: &EncodedBatch) -> Result<()> {
        if self.is_canonical_text() {
            let mut texts = Vec::new();
            batch.write_texts(&mut texts);
            return self.write_texts(&texts);
        }
        if let Kind::Stream(stream) = &mut self.kind {
            return batch.write_to(stream);
        }
        if let Kind::Store(store) = &mut self.kind {
            return batch.each_keyed(&mut |key, record| {
                Ok(store.importer.push_keyed(key, record, Checkpoint::START)?)
            });
        }
        batch.each(&mut |record| match &mut self.kind {
            Kind::Archive { writer, .. } => Ok(writer.push_encoded(record)?),
            _ => self.write(&record::decode(record)?.0),
        })
    }

    /// Calls [`Target::write_batch`] for each batch that `fill` fills, until `fill` leaves a batch
    /// empty. While a batch is formatted, the previous batch is written and the next batch is
    /// filled.
    ///
    /// # Errors
    /// The errors of [`Target::write_encoded`]. Errors of `fill` are passed on.
    pub fn write_all_encoded(
        &mut self,
        mut fill: impl FnMut(&mut EncodedBatch) -> Result<()>,
    ) -> Result<()> {
        let mut batch = EncodedBatch::default();
        let mut next = EncodedBatch::default();
        let mut texts = Vec::new();
        let mut texts_before = Vec::new();
        let is_canonical_text = self.is_canonical_text();
        fill(&mut batch)?;
        while !batch.is_empty() {
            next.clear();
            if is_canonical_text && !batch.is_small() {
                let mut written = Ok(());
                rayon::in_place_scope(|scope| {
                    scope.spawn(|_| batch.write_texts(&mut texts));
                    written = self.write_texts(&texts_before).and_then(|()| fill(&mut next));
                });
                written?;
            } else {
                self.write_texts(&texts_before)?;
                texts.clear();
                self.write_batch(&batch)?;
                fill(&mut next)?;
            }
            std::mem::swap(&mut batch, &mut next);
            std::mem::swap(&mut texts, &mut texts_before);
        }
        self.write_texts(&texts_before)
    }

    fn write_texts(&mut self, texts: &[PartText]) -> Result<()> {
        let Kind::Text { output, options } = &mut self.kind else { return Ok(()) };
        for PartText { lines, long_lines, error } in texts {
            write_lines(output, options, lines)?;
            self.lost.records.long_lines += long_lines;
            if let Some(error) = error {
                return Err(error.clone().into());
            }
        }
        Ok(())
    }

    /// Writes a record as a line of text with this line end.
    ///
    /// # Errors
    /// The output is not text, or fails.
    pub fn write_line(&mut self, record: &EpdRecord, line_end: &[u8]) -> Result<()> {
        let Kind::Text { output, options } = &mut self.kind else {
            return Err(Error::new("the output is not text"));
        };
        self.bytes.clear();
        self.lost.records += epd::format(record, options, &mut self.bytes);
        self.bytes.extend_from_slice(line_end);
        Ok(output.write_all(&self.bytes)?)
    }

    /// Writes canonical lines with their ends to a target that takes canonical lines. The counters become
    /// operations if the target writes counters as operations. A line longer than [`SPEC_LINE_LIMIT`] must be alone.
    ///
    /// # Errors
    /// The output fails, or does not take canonical text.
    pub fn write_canonical_lines(&mut self, lines: &[u8]) -> Result<()> {
        match &mut self.kind {
            Kind::Text { output, options } if options.has_canonical_operations() => {
                let first = memchr::memchr(b'\n', lines).unwrap_or(lines.len());
                self.lost.records.long_lines += u64::from(first > SPEC_LINE_LIMIT);
                Ok(write_lines(output, options, lines)?)
            }
            _ => Err(Error::new("the output is not canonical text")),
        }
    }

    /// Writes a game.
    ///
    /// # Errors
    /// The output fails or does not take games, or the format cannot express the game.
    pub fn write_game(&mut self, game: &Game) -> Result<()> {
        #[cfg(feature = "parquet")]
        if let Kind::Parquet(parquet) = &mut self.kind {
            self.lost.games += parquet.write_game(game)?;
            return Ok(());
        }
        let Kind::Games { output, format } = &mut self.kind else {
            return Err(Error::new(
                "cannot write games as positions: read their positions, or write .pgn or .pgc",
            ));
        };
        self.bytes.clear();
        self.lost.games += format.append(game, &mut self.bytes)?;
        Ok(output.write_all(&self.bytes)?)
    }

    /// Whether the target takes canonical lines.
    pub fn is_canonical_text(&self) -> bool {
        matches!(&self.kind, Kind::Text { options, .. } if options.has_canonical_operations())
    }

    /// The output of a target of text, to write between records; `None` for other targets.
    pub const fn text_output(&mut self) -> Option<&mut Output> {
        match &mut self.kind {
            Kind::Text { output, .. } => Some(output),
            _ => None,
        }
    }

    /// Whether the format has a place for the origin of tallies.
    pub const fn keeps_tally_ledger(&self) -> bool {
        matches!(self.kind, Kind::Archive { .. } | Kind::Store(_))
    }

    /// Sets the origin of the tallies, if the format has a place for it.
    ///
    /// # Errors
    /// The output fails.
    pub fn set_tally_ledger(&mut self, ledger: TallyLedger) -> Result<()> {
        match &mut self.kind {
            Kind::Archive { writer, .. } => writer.set_tally_ledger(ledger),
            Kind::Store(store) => {
                let games = ledger.games.map(|games| games.iter().collect());
                store.importer.set_tally_origin(ledger.origin, games);
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a game that positions list, if the format has a place for such games. The bytes are
    /// those that [`kept_game`](epdb_chess::codec::kept_game) encodes. Repeated games are ignored.
    ///
    /// # Errors
    /// The output fails.
    pub fn keep_game(&mut self, game: &[u8]) -> Result<()> {
        match &mut self.kind {
            Kind::Archive { writer, .. } => writer.keep_game(game)?,
            Kind::Store(store) => store.importer.keep_game(game)?,
            _ => {}
        }
        Ok(())
    }

    /// Sets facts about the data, which only an archive has.
    pub fn set_about(&mut self, about: About) {
        if let Kind::Archive { writer, .. } = &mut self.kind {
            writer.set_about(about);
        }
    }

    /// The losses so far.
    #[doc(hidden)]
    pub const fn losses(&self) -> &TargetLosses {
        &self.lost
    }

    /// Completes the file and returns the losses.
    ///
    /// # Errors
    /// The output fails. Then no file appears.
    pub fn finish(mut self) -> Result<TargetLosses> {
        match self.kind {
            Kind::Text { output, .. } | Kind::Games { output, .. } => output.finish()?,
            Kind::Stream(stream) => stream.finish()?.finish()?,
            Kind::Archive { writer, at_least } => {
                refuse_fewer(writer.len(), at_least)?;
                let packed = writer.finish_packed()?;
                self.lost.sorted_sizes = packed.sorted_sizes;
                packed.out.finish_with_first(&packed.header)?;
            }
            Kind::Store(store) => store.finish()?,
            #[cfg(feature = "parquet")]
            Kind::Parquet(parquet) => parquet.finish()?,
        }
        Ok(self.lost)
    }
}

/// Refuses to replace an archive by one with fewer records.
///
/// # Errors
/// The new archive has fewer records than `before`.
pub fn refuse_fewer(records: u64, before: u64) -> Result<()> {
    if records >= before {
        return Ok(());
    }
    let what = format!("the archive there has {before} records, and the new one {records}");
    Err(Error::new(format!("{what}: give --force, or name another file")))
}

#[cfg(feature = "parquet")]
fn parquet(output: Output, format: FileFormat, options: &TargetOptions) -> Result<Kind> {
    let TargetOptions { store_memory_bytes, sorted_by_key, .. } = *options;
    let target = ParquetTarget::new(output, format, store_memory_bytes, sorted_by_key)?;
    Ok(Kind::Parquet(Box::new(target)))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: Output, _: FileFormat, _: &TargetOptions) -> Result<Kind> {
    Err(without_parquet())
}

/// The error of a program that was built without Parquet.
#[cfg(not(feature = "parquet"))]
pub(super) fn without_parquet() -> Error {
    Error::new(
        "this epdb was built without Parquet: `cargo install epdb --features parquet` builds one with it",
    )
    .with_kind(ErrorKind::Unsupported)
}

/// A store that is being written. Its file appears when it is complete.
struct StoreTarget {
    importer: Importer<Store>,
    /// The file to be created. It is dropped after the store that is open in it.
    new: NewFile,
    options: StoreOptions,
}

impl StoreTarget {
    /// Creates a store. It replaces an existing file only if the options allow that.
    fn create(path: &Path, options: &TargetOptions) -> Result<StoreTarget> {
        let mut stores = StoreOptions { replace: options.replace, ..Default::default() };
        if let Some(memory_bytes) = options.store_memory_bytes {
            stores.memory_bytes = memory_bytes;
        }
        let new = NewFile::create(path)?;
        let importer =
            Store::create_in(&new, &stores)?.into_importer("-", &ImportOptions::default())?;
        Ok(StoreTarget { importer, new, options: stores })
    }

    fn finish(self) -> Result<()> {
        let store = self.importer.into_store()?;
        // Without the lock of the open store, another process would take the new file for abandoned.
        Store::publish(self.new, &self.options)?;
        Ok(store.close()?)
    }
}
