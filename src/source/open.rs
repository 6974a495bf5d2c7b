//! Opening a source of any format.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::address::is_address;
use super::collection::{Collection, CollectionFile, LayersFile, no_collection};
use super::delta::{DeltaPath, name_of};
use super::encoding::TextEncoding;
use super::format::{FileFormat, Foreign, begins_opening_table, is_binary};
use super::game_batches::Extent;
use super::input::{self, Input, SlicePart};
use super::item::{Item, Summary, VisitItem};
use super::lichess::scored;
use super::lines::LineKind;
use super::lines::{self, Lines};
use super::local::Local;
use super::notes::Notes;
use super::options::Encode;
use super::options::SourceOptions;
#[cfg(feature = "parquet")]
use super::parquet;
use super::shards::ShardedArchive;
#[cfg(feature = "parquet")]
use super::table_text::Shape;
#[cfg(not(feature = "parquet"))]
use super::target::without_parquet;
use super::{binary, book, games};
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::text::{Diagnostic, Profile, codes};

/// An open source of a known format.
pub struct Source {
    pub(super) name: Arc<str>,
    content: Content,
    is_file: bool,
    may_block: bool,
    /// The part of the file that is read.
    extent: Extent,
    /// Whether the first line names the columns of a table of openings.
    is_opening_table: bool,
    /// The path of a file that can be read again, and the file.
    file: Option<(PathBuf, File)>,
    encoding: Option<&'static str>,
    notes: Notes,
    options: SourceOptions,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The content of a source.
pub enum Content {
    /// Lines of EPD or FEN, or of the files of lichess.
    Lines(Lines),
    /// An opening book of Polyglot.
    Book(Box<dyn Read + Send>),
    /// A stream of binary records.
    Stream(Box<dyn Read + Send>),
    /// Games in PGN.
    Pgn(Box<dyn Read + Send>),
    /// Games in PGC.
    Pgc(Box<dyn Read + Send>),
    /// A store, an archive, a sharded archive, or a base and its delta.
    Collection(CollectionFile),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Content::Lines(_) => "Lines",
            Content::Book(_) => "Book",
            Content::Stream(_) => "Stream",
            Content::Pgn(_) => "Pgn",
            Content::Pgc(_) => "Pgc",
            Content::Collection(_) => "Collection",
        })
    }
}

impl Source {
    /// Opens a file or an address of any format and compression, standard input for `-`, or a base
    /// and its delta ([`DeltaPath`]).
    ///
    /// # Errors
    /// The file cannot be read, or its format is not supported. The error names it.
    pub fn open(path: impl AsRef<Path>, options: &SourceOptions) -> Result<Source> {
        let path = path.as_ref();
        if let Some(pair) = DeltaPath::parse(path) {
            return Source::from_delta(path, pair, options);
        }
        let count = options.bytes_read.as_ref();
        let (input, local) = if options.regular_files {
            (input::open_regular(path, count)?, None)
        } else if let Some(streams) = &options.streams {
            streams.open(path, count)?
        } else {
            (input::open(path, count)?, None)
        };
        Source::from_input(path, input, local, options)
    }

    fn from_delta(name: &Path, pair: DeltaPath, options: &SourceOptions) -> Result<Source> {
        options.check_filter(FileFormat::Epdb)?;
        let layers = match &options.streams {
            Some(streams) => streams.layers(name, pair)?,
            None => LayersFile::new(name, pair)?,
        };
        let content = Content::Collection(CollectionFile::Layers(layers));
        Ok(Source::new(name, content, options))
    }

    /// A source of this content that was made by this program, not read from a file.
    fn new(name: &Path, content: Content, options: &SourceOptions) -> Source {
        Source {
            name: name_of(name).into(),
            content,
            is_file: false,
            may_block: false,
            extent: Extent::default(),
            is_opening_table: false,
            file: None,
            encoding: None,
            notes: Notes::default(),
            options: options.clone(),
        }
    }

    pub(super) fn open_part(
        path: &Path,
        part: &SlicePart,
        options: &SourceOptions,
    ) -> Result<Source> {
        let head = input::open(path, None)?;
        if head.encoding.is_some() || options.encoding.is_some() {
            let advice = "convert it to UTF-8 and plan again";
            let message = format!("{} is cut into slices by its bytes: {advice}", name_of(path));
            return Err(Error::new(message));
        }
        let format = FileFormat::from_source(head.name(path), &head.head, options.format);
        let is_games = format == FileFormat::Pgn;
        let mut input = input::of_part(path, head, part, options.bytes_read.as_ref())?;
        if !is_games && let Some(length) = part.length {
            input.bytes = Box::new(input.bytes.take(length));
        }
        let mut source = Source::from_input(path, input, None, options)?;
        if let Content::Lines(lines) = &mut source.content {
            lines.reader().set_first_line(part.line);
        }
        source.extent = Extent { line: part.line, length: part.length, ..Extent::default() };
        Ok(source)
    }

    /// Reads from a reader as if it were a file with this name, whose suffix may decide the format.
    ///
    /// # Errors
    /// The errors of [`Source::open`].
    pub fn from_reader(
        name: &str,
        reader: impl Read + Send + 'static,
        options: &SourceOptions,
    ) -> Result<Source> {
        let may_wait = false;
        let is_named_file = false;
        let input = input::of_reader(Path::new(name), Box::new(reader), may_wait, is_named_file)?;
        Source::from_input(Path::new(name), Input { is_file: false, ..input }, None, options)
    }

    /// Reads bytes as if they were a file with this name, whose suffix may decide the format.
    ///
    /// ```
    /// use epdb_source::{Source, SourceOptions};
    /// let text = "8/8/8/4k3/8/1K6/8/8 b - - id \"a\";\nno position\n";
    /// let source = Source::from_bytes("a.epd", text, &SourceOptions::default())?;
    /// let records: Vec<_> = source.records().collect();
    /// assert!(records[0].is_ok());
    /// assert!(records[1].as_ref().is_err_and(|error| error.to_string().starts_with("a.epd:2:")));
    /// # Ok::<(), epdb_chess::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Source::open`].
    pub fn from_bytes(
        name: &str,
        bytes: impl Into<Vec<u8>>,
        options: &SourceOptions,
    ) -> Result<Source> {
        Source::from_reader(name, io::Cursor::new(bytes.into()), options)
    }

    /// Finds the format of a file that [`Source::open`] would open. Only the first bytes are read.
    ///
    /// # Errors
    /// The errors of [`Source::open`] that the first bytes show.
    pub fn check(path: impl AsRef<Path>, options: &SourceOptions) -> Result<FileFormat> {
        let path = path.as_ref();
        Source::examine(path, input::open(path, None)?, options).map(|(_, format, _)| format)
    }

    /// Finds the format of an input, and refuses an input that cannot be read. Also returns true for a
    /// table of openings.
    fn examine(
        path: &Path,
        input: Input,
        options: &SourceOptions,
    ) -> Result<(Input, FileFormat, bool)> {
        let format = FileFormat::from_source(input.name(path), &input.head, options.format);
        let is_lines = matches!(format, FileFormat::Epd | FileFormat::Fen);
        if let Some(said) = options.format
            && said != format
            && said.suffix() != format.suffix()
            && !(is_lines && matches!(said, FileFormat::Epd | FileFormat::Fen))
        {
            let path = name_of(path);
            let found = format.description();
            let said = said.description();
            return Err(Error::new(format!("{path} is {found} by its first bytes, not {said}")));
        }
        if format == FileFormat::EvaluationTable
            && options.text.score_view.is_none()
            && scored::needs_view(&input.start)
        {
            let path = name_of(path);
            return Err(Error::new(format!(
                "{path} does not say from whose view its evaluations are: give --score-view white or --score-view \
                 mover"
            )));
        }
        if is_lines && let Some(foreign) = Foreign::from_text(&input.head) {
            return Err(foreign.refused(path));
        }
        options.check_filter(format)?;
        let is_opening_table = is_lines && begins_opening_table(&input.head);
        let input = match options.encoding {
            Some(encoding) if format.is_text() && input.encoding.is_none() => {
                input.decoded(encoding).map_err(|error| input::cannot_read(path, error))?
            }
            _ => input,
        };
        if format.is_text() && is_binary(&input.head) {
            if let Some(foreign) = Foreign::from_name(path) {
                return Err(foreign.refused(path));
            }
            return Err(Error::new(format!("{} is binary data, not text", name_of(path))));
        }
        Ok((input, format, is_opening_table))
    }

    /// A source whose first bytes were examined. `local` is the store or the archive, if it is open already.
    fn from_input(
        path: &Path,
        mut input: Input,
        local: Option<Local>,
        options: &SourceOptions,
    ) -> Result<Source> {
        let file = input.file.take().map(|file| (path.to_path_buf(), file));
        let (input, format, is_opening_table) = Source::examine(path, input, options)?;
        let is_file = input.is_file;
        let encoding = input.encoding;
        let may_block = input.ready.is_some();
        let notes = input.notes.clone();
        let lines = |input, kind| Content::Lines(Lines::new(input, kind, options));
        let local_of = |input| match local {
            Some(local) => Ok(local),
            None => Local::new(path, input),
        };
        let examined = input.head.len() as u64;
        let content = match format {
            FileFormat::Epd => lines(input, LineKind::Epd),
            FileFormat::Fen => lines(input, LineKind::Fen),
            FileFormat::LichessEvaluations => lines(input, LineKind::Evaluation),
            FileFormat::LichessPuzzles => lines(input, LineKind::Puzzle),
            FileFormat::EvaluationTable => lines(input, LineKind::EvaluationTable),
            FileFormat::Polyglot => Content::Book(input.bytes),
            FileFormat::Epb => Content::Stream(input.bytes),
            FileFormat::Epdb => Content::Collection(CollectionFile::Store(local_of(input)?)),
            FileFormat::Pgn => Content::Pgn(input.bytes),
            FileFormat::Pgc => Content::Pgc(input.bytes),
            FileFormat::Epa => Content::Collection(CollectionFile::Archive(local_of(input)?)),
            FileFormat::Shards => {
                Content::Collection(CollectionFile::of_shards(ShardedArchive::new(path, input)?))
            }
            _ => return Source::from_parquet(path, input, file, options),
        };
        // The bytes that were examined are not counted: the records of a store or an archive count
        // for all of its bytes.
        if is_file
            && matches!(content, Content::Collection(_))
            && let Some(count) = &options.bytes_read
        {
            count.fetch_sub(examined, Ordering::Relaxed);
        }
        let source = Source::new(path, content, options);
        Ok(Source { is_file, may_block, is_opening_table, file, encoding, notes, ..source })
    }

    /// Opens a Parquet file. It is read as text, such as EPD lines, that is made from its rows.
    #[cfg(feature = "parquet")]
    fn from_parquet(
        path: &Path,
        input: Input,
        file: Option<(PathBuf, File)>,
        options: &SourceOptions,
    ) -> Result<Source> {
        let text = parquet::open(path, input, options)?;
        let input = input::of_text(text.read);
        let lines = |input, kind| Content::Lines(Lines::new(input, kind, options));
        let content = match text.shape {
            Shape::Records => lines(input, LineKind::Row),
            Shape::Moves => lines(input, LineKind::Epd),
            Shape::Evaluations => lines(input, LineKind::Evaluation),
            Shape::Puzzles => lines(input, LineKind::Puzzle),
            Shape::Games | Shape::LichessGames => Content::Pgn(input.bytes),
        };
        Ok(Source { file, ..Source::new(path, content, options) })
    }

    #[cfg(not(feature = "parquet"))]
    fn from_parquet(
        path: &Path,
        _: Input,
        _: Option<(PathBuf, File)>,
        _: &SourceOptions,
    ) -> Result<Source> {
        Err(without_parquet().in_source(name_of(path)))
    }

    /// The name of the source.
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The format; FEN counts as EPD.
    pub const fn format(&self) -> FileFormat {
        match &self.content {
            Content::Lines(lines) => lines.kind().format(),
            Content::Book(_) => FileFormat::Polyglot,
            Content::Stream(_) => FileFormat::Epb,
            Content::Pgn(_) => FileFormat::Pgn,
            Content::Pgc(_) => FileFormat::Pgc,
            Content::Collection(collection) => collection.format(),
        }
    }

    /// Whether the source is an uncompressed file, which can be opened again by its name.
    pub const fn is_file(&self) -> bool {
        self.is_file
    }

    /// The encoding of a text that is converted to UTF-8.
    pub const fn encoding(&self) -> Option<&'static str> {
        self.encoding
    }

    /// Whether the source is a table of names of openings, which has no records.
    pub const fn is_opening_table(&self) -> bool {
        self.is_opening_table
    }

    /// Calls `read` with all bytes of a file, decompressed and in UTF-8, and rewinds the file. The
    /// bytes at an address are copied into a temporary file. `None` for a source that can be read
    /// only once.
    ///
    /// # Errors
    /// The bytes cannot be read again, or cannot be copied.
    pub fn read_bytes_first<R>(
        &mut self,
        read: impl FnOnce(Box<dyn Read + Send>) -> R,
    ) -> Result<Option<R>> {
        let (path, mut file) = match self.file.take() {
            Some(file) => file,
            None if is_address(Path::new(&*self.name)) => {
                let path = PathBuf::from(&*self.name);
                if self.library().is_some() {
                    return Ok(Some(read(input::open(&path, None)?.bytes)));
                }
                let copy = input::copy_of_address(&path)?;
                (path, copy)
            }
            None => return Ok(None),
        };
        let failed =
            |error| Error::new(format!("cannot read {} again", name_of(&path))).because(error);
        file.rewind().map_err(failed)?;
        let handle = file.try_clone().map_err(failed)?;
        let result = read(input::of_file(&path, handle, None)?.bytes);
        file.rewind().map_err(failed)?;
        match self.content {
            Content::Collection(_) => {
                self.file = Some((path, file));
            }
            _ => {
                let count = self.options.bytes_read.clone();
                let input = input::of_file(&path, file, count.as_ref())?;
                *self = Source::from_input(&path, input, None, &self.options.clone())?;
            }
        }
        Ok(Some(result))
    }

    /// The file of a store or an archive.
    pub const fn local(&self) -> Option<&Local> {
        match &self.content {
            Content::Collection(CollectionFile::Store(local) | CollectionFile::Archive(local)) => {
                Some(local)
            }
            _ => None,
        }
    }

    /// The source as a library; `None` if it is neither a store, an archive, a sharded archive, nor a base and
    /// its delta.
    pub fn library(&self) -> Option<CollectionFile> {
        match &self.content {
            Content::Collection(library) => Some(library.clone()),
            _ => None,
        }
    }

    /// Opens the collection that the source is. Lookups use about `memory_bytes`. With
    /// [`SourceOptions::skip_damage`], an archive without its end is opened for what is left of it, and
    /// lookups report the missing end after the records that they find.
    ///
    /// # Errors
    /// The errors of [`Collection::open`].
    pub fn into_collection(self, memory_bytes: usize) -> Result<Collection> {
        match self.content {
            Content::Collection(library) if self.options.skip_damage => {
                library.open_cut(memory_bytes)
            }
            Content::Collection(library) => library.open(memory_bytes),
            _ => Err(no_collection(Path::new(&*self.name))),
        }
    }

    /// The same source with an encoder: `encode` is called for each line, on the thread that reads
    /// the line. All records that the filter excludes are passed on.
    pub fn encoded_as(self, encode: Arc<dyn Encode>) -> Source {
        let options = SourceOptions { encode: Some(encode), keep_left_out: true, ..self.options };
        Source { options, ..self }
    }

    /// The content, for callers that read it themselves.
    pub fn into_content(self) -> Content {
        self.content
    }

    /// The lines of a text, for callers that read them themselves. A warning about the encoding of
    /// the text goes to `visit`.
    ///
    /// # Errors
    /// The source is not text, or its encoding is not allowed in this profile.
    pub fn into_lines<E: From<Error>>(self, visit: &mut VisitItem<'_, E>) -> Result<Lines, E> {
        self.report_encoding(visit)?;
        let name = self.name;
        match self.content {
            Content::Lines(lines) if lines.kind().format() == FileFormat::Epd => Ok(lines),
            _ => Err(Error::new(format!("{name} is not text: export or convert it first")).into()),
        }
    }

    /// Calls `visit` with all items of the source. Lines are read on all threads.
    ///
    /// # Errors
    /// The source is damaged or cannot be read, or `visit` fails. Rejected lines and games are
    /// items.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use epdb_source::{Item, Source, SourceOptions};
    /// let source = Source::from_bytes("a.fen", "8/8/8/4k3/8/1K6/8/8 b - -\n\n", &SourceOptions::default())?;
    /// let (mut records, mut skipped) = (0, 0);
    /// source.read(&mut |item| {
    ///     match item {
    ///         Item::Record { .. } => records += 1,
    ///         Item::Skipped { .. } => skipped += 1,
    ///         _ => {}
    ///     }
    ///     Ok::<_, epdb_chess::Error>(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!((records, skipped), (1, 1));
    /// # Ok::<(), epdb_chess::Error>(())
    /// ```
    pub fn read<E: From<Error>>(self, visit: &mut VisitItem<'_, E>) -> Result<Summary, E> {
        self.report_encoding(visit)?;
        let notes = self.notes.clone();
        let name = Arc::clone(&self.name);
        let deny_warnings = self.options.deny_warnings;
        let summary = self.read_content(visit)?;
        for (at, warning) in notes.take() {
            let place = Place::new(Arc::clone(&name), at);
            // Nothing follows that a visitor could stop.
            let _ = visit(Item::Diagnostic { diagnostic: &warning, place: &place })?;
            if deny_warnings {
                return Err(Error::new(warning.message).at(place).into());
            }
        }
        Ok(summary)
    }

    fn read_content<E: From<Error>>(self, visit: &mut VisitItem<'_, E>) -> Result<Summary, E> {
        let Source { name, content, options, is_opening_table, may_block, extent, .. } = self;
        if is_opening_table {
            let what = "is a table of openings, not of positions: `--openings` reads it";
            return Err(Error::new(format!("{name} {what}")).into());
        }
        match content {
            Content::Lines(lines) => lines::read(lines, name, &options, visit),
            Content::Book(input) => book::read(input, name, &options, visit),
            Content::Pgn(input) => games::read_pgn(input, may_block, extent, name, &options, visit),
            Content::Pgc(input) => games::read_pgc(input, may_block, name, &options, visit),
            Content::Stream(input) => binary::read_stream(input, name, &options, visit),
            Content::Collection(collection) => binary::read(collection, &options, visit),
        }
    }

    /// The same source, but its records are not encoded.
    pub(super) fn without_encoding(self) -> Source {
        Source { options: self.options.without_encoding(), ..self }
    }

    /// Warns of text in UTF-16 if the options do not name this encoding. Only the lenient profile
    /// reads such text.
    fn report_encoding<E: From<Error>>(&self, visit: &mut VisitItem<'_, E>) -> Result<(), E> {
        let declared = self.options.encoding.map(TextEncoding::name);
        let Some(encoding) = self.encoding.filter(|it| declared != Some(*it)) else {
            return Ok(());
        };
        let is_lenient = self.options.text.profile == Profile::Lenient;
        if is_lenient {
            let message = format!("text in {encoding}; read, and written in UTF-8");
            let diagnostic = &Diagnostic::warning(codes::W_LEN_UTF16, 1, message);
            let _ = visit(Item::Diagnostic { diagnostic, place: &self.place(At::Line(1)) })?;
        }
        if is_lenient && !self.options.deny_warnings {
            return Ok(());
        }
        Err(Error::new(format!(
            "{} is text in {encoding}, which is read with a warning in the lenient profile: \
             `iconv -f {encoding} -t UTF-8` makes it readable",
            self.name
        ))
        .into())
    }

    fn place(&self, at: At) -> Place {
        Place::new(Arc::clone(&self.name), at)
    }
}
