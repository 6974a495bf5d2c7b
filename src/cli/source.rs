//! Where records come from: text, compressed text, binary streams, stores and archives, mixed as the user
//! likes. Lines are read by several threads and handed on in the order of the input.

use std::io::{self, BufReader, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use rayon::prelude::*;

use crate::codec::{record, stream};
use crate::model::{EpdRecord, Game};
use crate::text::epd::{Line, read_line};
use crate::text::lines::{self, LineReader, Next};
use crate::text::{Diagnostic, Profile, ReadOptions, codes, fen};

use super::args::ReadArgs;
use super::diagnostics::{Diagnostics, Place};
use super::file_format::{FileFormat, Foreign};
use super::games::{self, Take, VisitGame};
use super::input::{self, Local};
use super::perft_blocks::{Block, BlockLine};
use super::progress::Progress;
use super::query;
use super::read_ahead::Ready;

/// What reading a store may take beside the work that is done with its records.
const STORE_MEMORY: usize = 64 << 20;

/// What a source yields.
pub(crate) enum Item<'a> {
    /// A record.
    Record {
        /// The record itself.
        record: EpdRecord,
        /// Where it came from.
        place: &'a Place,
        /// The bytes it was read from, line end included.
        raw: &'a [u8],
        /// The game that it is a position of.
        game: Option<&'a Game>,
    },
    /// A record that `--where` leaves out: the bytes it was read from.
    LeftOut(&'a [u8]),
    /// A line that was rejected, line end included; a line over the limit comes in pieces.
    Rejected(&'a [u8]),
    /// A blank line or a comment, line end included.
    Skipped(&'a [u8]),
    /// Nothing of the source: what comes next has to be waited for, so somebody may be waiting for
    /// what was made of the items before.
    Waiting,
}

impl Item<'_> {
    /// The bytes of the source that the item was made of.
    pub(crate) fn raw(&self) -> &[u8] {
        match self {
            Item::Record { raw, .. }
            | Item::LeftOut(raw)
            | Item::Rejected(raw)
            | Item::Skipped(raw) => raw,
            Item::Waiting => &[],
        }
    }
}

/// Takes the items of sources in order; false ends the reading.
pub(crate) type Visit<'v> = dyn FnMut(Item<'_>) -> anyhow::Result<bool> + 'v;

/// Reads all records of all sources; none at all means standard input.
///
/// # Errors
/// A source that cannot be opened or is damaged, and what `visit` returns. Lines that cannot be
/// read are no errors: they go to `diagnostics`.
pub(crate) fn read(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut Visit<'_>,
) -> anyhow::Result<()> {
    read_all(paths, args, diagnostics, visit, None)
}

/// [`read`], but games come as games unless `--positions` was said.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_with_games(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut Visit<'_>,
    visit_game: &mut VisitGame<'_>,
) -> anyhow::Result<()> {
    let visit_game = args.form.games.positions.is_none().then_some(visit_game);
    read_all(paths, args, diagnostics, visit, visit_game)
}

fn read_all(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut Visit<'_>,
    mut visit_game: Option<&mut VisitGame<'_>>,
) -> anyhow::Result<()> {
    diagnostics.watch(args.wanted.filter.as_ref());
    let paths = or_stdin(paths);
    let mut progress = Progress::new(total_size(&paths));
    for path in paths {
        let source = Source::open(path, args.form.from, &progress)?;
        let take = match &mut visit_game {
            Some(visit_game) => Take::Games(&mut **visit_game),
            None => Take::Positions,
        };
        if !source.read(args, diagnostics, &mut progress, visit, take)? {
            break;
        }
    }
    Ok(())
}

/// The paths, or standard input when there is none.
pub(crate) fn or_stdin(paths: &[PathBuf]) -> Vec<&Path> {
    match paths {
        [] => vec![Path::new("-")],
        paths => paths.iter().map(PathBuf::as_path).collect(),
    }
}

/// The format of a source.
pub(crate) fn format_of(path: &Path, from: Option<FileFormat>) -> anyhow::Result<FileFormat> {
    if path == Path::new("-") {
        return Ok(from.unwrap_or(FileFormat::Epd));
    }
    Ok(Source::open(path, from, &Progress::new(None))?.format())
}

/// Opens a source that must be text.
pub(crate) fn open_text(
    path: &Path,
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Text> {
    let source = Source::open(path, None, &Progress::new(None))?;
    source.report_encoding(args, diagnostics)?;
    match source.content {
        Content::Text(text) => Ok(text),
        _ => anyhow::bail!("{} is not text: export or convert it first", path.display()),
    }
}

/// Whether the bytes of a source are not those that are read from it, compression aside.
pub(crate) fn is_transcoded(path: &Path) -> anyhow::Result<bool> {
    Ok(path != Path::new("-") && Source::open(path, None, &Progress::new(None))?.encoding.is_some())
}

fn total_size(paths: &[&Path]) -> Option<u64> {
    paths
        .iter()
        .map(|path| path.metadata().ok().filter(|found| found.is_file()).map(|found| found.len()))
        .sum()
}

/// An opened source, its format known.
pub(crate) struct Source {
    /// As the user named it.
    pub(crate) name: Arc<str>,
    pub(crate) content: Content,
    /// Whether it can be opened again.
    pub(crate) is_file: bool,
    /// The encoding of a text that is not in UTF-8 or Latin-1.
    encoding: Option<&'static str>,
}

/// What a source is.
pub(crate) enum Content {
    Text(Text),
    Stream(Box<dyn Read + Send>),
    Store(Local),
    Pgn(Box<dyn Read + Send>),
    Pgc(Box<dyn Read + Send>),
    Archive(Local),
}

/// Lines of text.
pub(crate) struct Text {
    pub(crate) input: Box<dyn Read + Send>,
    /// Whether there is more, where that may have to be waited for.
    pub(crate) ready: Option<Ready>,
    /// Whether they are FEN and nothing else.
    pub(crate) is_fen: bool,
}

impl Text {
    /// Reads on as long as that needs no waiting, until a line is there; says whether one, or the
    /// end, is.
    ///
    /// # Errors
    /// What the input reports.
    pub(crate) fn has_line(
        lines: &mut LineReader<Box<dyn Read + Send>>,
        ready: Option<&Ready>,
    ) -> io::Result<bool> {
        let Some(ready) = ready else { return Ok(true) };
        while !lines.is_waiting() && ready.is_ready() {
            lines.read_more()?;
        }
        Ok(lines.is_waiting())
    }
}

impl Source {
    /// Opens a file, standard input for `-`, or a position in the place of a file.
    ///
    /// # Errors
    /// When it cannot be read, with its name.
    pub(crate) fn open(
        path: &Path,
        from: Option<FileFormat>,
        progress: &Progress,
    ) -> anyhow::Result<Source> {
        if query::is_position(path.as_os_str()) {
            return Source::position(&path.to_string_lossy());
        }
        let name: Arc<str> = path.to_string_lossy().into();
        let input = input::open(path, progress)?;
        let (is_file, encoding) = (input.is_file, input.encoding);
        let expected = FileFormat::of_name(path).or(from);
        let format = match FileFormat::of_bytes(&input.start) {
            FileFormat::Epd => expected.unwrap_or_else(|| FileFormat::of_first_byte(&input.start)),
            found => found,
        };
        if matches!(format, FileFormat::Epd | FileFormat::Fen)
            && let Some(foreign) = Foreign::of_text(&input.start, path)
        {
            return Err(foreign.refused(path));
        }
        let content = match format {
            FileFormat::Epd | FileFormat::Fen => {
                let is_fen = format == FileFormat::Fen;
                Content::Text(Text { input: input.bytes, ready: input.ready, is_fen })
            }
            FileFormat::Epb => Content::Stream(input.bytes),
            FileFormat::Epdb => Content::Store(Local::of(path, input)?),
            FileFormat::Pgn => Content::Pgn(input.bytes),
            FileFormat::Pgc => Content::Pgc(input.bytes),
            FileFormat::Epa => Content::Archive(Local::of(path, input)?),
        };
        Ok(Source { name, content, is_file, encoding })
    }

    /// A position that stands where a file could stand.
    fn position(text: &str) -> anyhow::Result<Source> {
        if let Err(error) = query::parse(text.as_bytes(), &ReadOptions::new(Profile::Lenient)) {
            anyhow::bail!(
                "cannot read {text}: there is no such file, and it is no position ({})",
                error.message
            );
        }
        let input = Box::new(io::Cursor::new(text.as_bytes().to_vec()));
        let content = Content::Text(Text { input, ready: None, is_fen: false });
        Ok(Source { name: "FEN".into(), content, is_file: true, encoding: None })
    }

    /// The format of the source.
    pub(crate) fn format(&self) -> FileFormat {
        match self.content {
            Content::Text(_) => FileFormat::Epd,
            Content::Stream(_) => FileFormat::Epb,
            Content::Store(_) => FileFormat::Epdb,
            Content::Pgn(_) => FileFormat::Pgn,
            Content::Pgc(_) => FileFormat::Pgc,
            Content::Archive(_) => FileFormat::Epa,
        }
    }

    /// Warns of a text that is in UTF-16; only the lenient profile takes it.
    fn report_encoding(
        &self,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<()> {
        let Some(encoding) = self.encoding else { return Ok(()) };
        let message = format!("text in {encoding}; read, and written in UTF-8");
        let warning = Diagnostic::warning(codes::W_LEN_UTF16, 1, message);
        let place = Place { file: self.name.clone(), line: 1 };
        let takes = args.form.options().profile == Profile::Lenient
            && diagnostics.warnings(&place, &[warning])?;
        anyhow::ensure!(
            takes,
            "{} is text in {encoding}, which is read with a warning in the lenient profile: \
             `iconv -f {encoding} -t UTF-8` makes it readable",
            self.name
        );
        Ok(())
    }

    /// Hands all items of the source to `visit`; false when it wants no more.
    pub(crate) fn read(
        self,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
        progress: &mut Progress,
        visit: &mut Visit<'_>,
        take: Take<'_, '_>,
    ) -> anyhow::Result<bool> {
        self.report_encoding(args, diagnostics)?;
        let mut place = Place { file: self.name, line: 0 };
        match self.content {
            Content::Text(Text { input, ready, is_fen }) => {
                let limit =
                    args.form.max_line.unwrap_or(lines::default_limit(args.form.options().profile));
                let lines = LineReader::new(input, limit);
                let mut reader =
                    TextSource { lines, ready, limit, is_fen, place, block: None, id: None };
                reader.read(args, diagnostics, progress, visit)
            }
            Content::Pgn(input) => {
                games::read_pgn(input, place, args, diagnostics, progress, visit, take)
            }
            Content::Pgc(input) => {
                games::read_pgc(input, place, args, diagnostics, progress, visit, take)
            }
            Content::Stream(input) => {
                let mut records = stream::Reader::new(BufReader::new(input));
                while let Some(raw) =
                    records.next_encoded().with_context(|| place.file.to_string())?
                {
                    place.line += 1;
                    progress.record();
                    let (record, _) = record::decode(raw).with_context(|| place.of_record())?;
                    let taken = args.wanted.takes(&record, &place);
                    if !hand_on_record(record, taken, raw, &place, diagnostics, visit)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Content::Archive(local) => {
                let failed = || local.name().to_string();
                let archive = local.archive()?;
                let mut raw = Vec::new();
                for record in archive.iter(0..archive.len()) {
                    let record = record.with_context(failed)?;
                    place.line += 1;
                    raw.clear();
                    record::encode(&record, &mut raw).with_context(|| place.of_record())?;
                    progress.record();
                    let taken = args.wanted.takes(&record, &place);
                    if !hand_on_record(record, taken, &raw, &place, diagnostics, visit)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Content::Store(local) => {
                let store = local.store(STORE_MEMORY)?;
                let reader = store.reader().map_err(|error| local.failed(error))?;
                let mut records = reader.by_import();
                while let Some(stored) = records.next_encoded() {
                    let raw = stored.map_err(|error| local.failed(error))?.bytes();
                    place.line += 1;
                    progress.record();
                    let (record, _) = record::decode(raw).with_context(|| place.of_record())?;
                    let taken = args.wanted.takes(&record, &place);
                    if !hand_on_record(record, taken, raw, &place, diagnostics, visit)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }
}

/// How many lines are read at a time, and how many bytes of them at the most.
const BATCH_LINES: usize = 8192;
const BATCH_BYTES: usize = 1 << 20;

/// Lines on their way from a text to records.
struct TextSource {
    lines: LineReader<Box<dyn Read + Send>>,
    ready: Option<Ready>,
    limit: usize,
    /// Whether lines are FEN and nothing else.
    is_fen: bool,
    place: Place,
    /// The record that perft counts of the next lines belong to.
    block: Option<Block>,
    /// The line `id NAME` that was read last, and its number, if nothing came behind it.
    id: Option<(u64, Vec<u8>)>,
}

/// A line of a batch: where its bytes are.
struct BatchLine {
    number: u64,
    text: Range<usize>,
    raw: Range<usize>,
}

/// What the reader made of a line.
struct ReadLine {
    result: Result<Line, Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// Whether `--where` takes the record, if it is one.
    taken: bool,
}

impl TextSource {
    fn read(
        &mut self,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
        progress: &mut Progress,
        visit: &mut Visit<'_>,
    ) -> anyhow::Result<bool> {
        let (mut bytes, mut batch) = (Vec::new(), Vec::new());
        loop {
            let stop = self.fill(&mut bytes, &mut batch);
            let results = read_batch(&bytes, &batch, &self.place.file, self.is_fen, args);
            for (line, result) in batch.iter().zip(results) {
                self.place.line = line.number;
                progress.record();
                let raw = &bytes[line.raw.clone()];
                let goes_on = match args.form.perft {
                    true => self.gather(result, raw, args, diagnostics, visit)?,
                    false => hand_on(result, raw, &self.place, diagnostics, visit)?,
                };
                if !goes_on {
                    return Ok(false);
                }
            }
            let Place { file, line } = &self.place;
            match stop.with_context(|| format!("{file}:{}: cannot read on", line + 1))? {
                Stop::Full => {}
                Stop::End => return self.end_block(false, args, diagnostics, visit),
                Stop::Waiting => {
                    if !visit(Item::Waiting)? {
                        return Ok(false);
                    }
                }
                Stop::LongLine(number) => {
                    if !self.end_block(false, args, diagnostics, visit)? {
                        return Ok(false);
                    }
                    self.reject_long_line(number, diagnostics, visit)?;
                }
            }
        }
    }

    /// Hands a line on, or keeps it with its block: positions whose name and perft counts stand on
    /// lines of their own.
    fn gather(
        &mut self,
        line: ReadLine,
        raw: &[u8],
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
        visit: &mut Visit<'_>,
    ) -> anyhow::Result<bool> {
        let number = self.place.line;
        let kind = BlockLine::of(raw);
        if let (Some(BlockLine::Count(opcode, nodes)), Some(block)) = (&kind, &mut self.block)
            && block.add(*opcode, nodes)
        {
            block.raw.extend_from_slice(raw);
            return Ok(true);
        }
        let may_stand = !args.form.deny_warnings || line.warnings.is_empty();
        let begins = may_stand && kind == Some(BlockLine::Position) && line.result.is_ok();
        if !self.end_block(begins, args, diagnostics, visit)? {
            return Ok(false);
        }
        match (kind, line.result) {
            (Some(BlockLine::Id(_)), _) => self.id = Some((number, raw.to_vec())),
            (_, Ok(Line::Record(record))) if begins => {
                diagnostics.warnings(&self.place, &line.warnings)?;
                self.block = Some(Block::new(record, number, self.id.take(), raw));
            }
            (_, result) => {
                let line = ReadLine { result, ..line };
                return hand_on(line, raw, &self.place, diagnostics, visit);
            }
        }
        Ok(true)
    }

    /// Hands on what is left of a block; of one that has no position yet only if none comes.
    fn end_block(
        &mut self,
        position_comes: bool,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
        visit: &mut Visit<'_>,
    ) -> anyhow::Result<bool> {
        let number = self.place.line;
        let mut goes_on = true;
        if let Some(Block { record, line, raw }) = self.block.take() {
            self.place.line = line;
            let taken = args.wanted.takes(&record, &self.place);
            goes_on = hand_on_record(record, taken, &raw, &self.place, diagnostics, visit)?;
        }
        if let Some((line, raw)) = self.id.take_if(|_| !position_comes) {
            self.place.line = line;
            let mut warnings = Vec::new();
            let result = read_line(raw.trim_ascii_end(), &args.form.options(), &mut warnings);
            let line = ReadLine { result, warnings, taken: true };
            goes_on = goes_on && hand_on(line, &raw, &self.place, diagnostics, visit)?;
        }
        self.place.line = number;
        Ok(goes_on)
    }

    /// Takes the next lines, until there are enough, the input ends, a line is too long, or more
    /// would have to be waited for.
    fn fill(&mut self, bytes: &mut Vec<u8>, batch: &mut Vec<BatchLine>) -> io::Result<Stop> {
        bytes.clear();
        batch.clear();
        while batch.len() < BATCH_LINES && bytes.len() < BATCH_BYTES {
            if !batch.is_empty() && !Text::has_line(&mut self.lines, self.ready.as_ref())? {
                return Ok(Stop::Waiting);
            }
            match self.lines.next_line()? {
                None => return Ok(Stop::End),
                Some(Next::TooLong { number, .. }) => return Ok(Stop::LongLine(number)),
                Some(Next::Line(line)) => {
                    let start = bytes.len();
                    bytes.extend_from_slice(line.raw);
                    let text = start..start + line.text.len();
                    batch.push(BatchLine { number: line.number, text, raw: start..bytes.len() });
                }
            }
        }
        Ok(Stop::Full)
    }

    /// Reports a line over the limit and hands its bytes on in pieces.
    fn reject_long_line(
        &mut self,
        number: u64,
        diagnostics: &mut Diagnostics,
        visit: &mut Visit<'_>,
    ) -> anyhow::Result<()> {
        self.place.line = number;
        diagnostics.error(&self.place, &lines::too_long(self.limit))?;
        diagnostics.tally.rejected += 1;
        let mut sink = LongLine::new(diagnostics, visit);
        let copied = self.lines.copy_long_line(&mut sink);
        sink.finish(copied.map(drop))
    }
}

/// Why a batch ended.
enum Stop {
    Full,
    End,
    Waiting,
    LongLine(u64),
}

/// Reads the lines of a batch on all threads; the results are in the order of the lines.
fn read_batch(
    bytes: &[u8],
    batch: &[BatchLine],
    file: &Arc<str>,
    is_fen: bool,
    args: &ReadArgs,
) -> Vec<ReadLine> {
    let options = args.form.options();
    let read_line = match is_fen && !options.labels && !options.perft {
        true => fen::read_line,
        false => read_line,
    };
    let read = |line: &BatchLine| {
        let mut warnings = Vec::new();
        let result = read_line(&bytes[line.text.clone()], &options, &mut warnings);
        let taken = match (&args.wanted.filter, &result) {
            (Some(_), Ok(Line::Record(record))) => {
                args.wanted.takes(record, &Place { file: file.clone(), line: line.number })
            }
            _ => true,
        };
        ReadLine { result, warnings, taken }
    };
    batch.par_iter().with_min_len(64).map(read).collect()
}

/// Counts what became of a line and hands its item on.
fn hand_on(
    line: ReadLine,
    raw: &[u8],
    place: &Place,
    diagnostics: &mut Diagnostics,
    visit: &mut Visit<'_>,
) -> anyhow::Result<bool> {
    let may_stand = diagnostics.warnings(place, &line.warnings)?;
    match line.result {
        Ok(Line::Record(record)) if may_stand => {
            hand_on_record(record, line.taken, raw, place, diagnostics, visit)
        }
        Ok(Line::Blank | Line::Comment) if may_stand => {
            diagnostics.tally.skipped += 1;
            visit(Item::Skipped(raw))
        }
        result => {
            if let Err(error) = result {
                diagnostics.error(place, &error)?;
            }
            diagnostics.rejected(raw)?;
            visit(Item::Rejected(raw))
        }
    }
}

/// Counts a record and hands it on, or what is left of it if it is not taken.
pub(super) fn hand_on_record(
    record: EpdRecord,
    taken: bool,
    raw: &[u8],
    place: &Place,
    diagnostics: &mut Diagnostics,
    visit: &mut Visit<'_>,
) -> anyhow::Result<bool> {
    hand_on_of_game(record, None, taken, raw, place, diagnostics, visit)
}

/// [`hand_on_record`] for a position of a game.
pub(super) fn hand_on_of_game(
    record: EpdRecord,
    game: Option<&Game>,
    taken: bool,
    raw: &[u8],
    place: &Place,
    diagnostics: &mut Diagnostics,
    visit: &mut Visit<'_>,
) -> anyhow::Result<bool> {
    if !taken {
        diagnostics.tally.left_out += 1;
        return visit(Item::LeftOut(raw));
    }
    diagnostics.tally.records += 1;
    visit(Item::Record { record, place, raw, game })
}

/// Whether `--where` takes what is on a line; it leaves out what is no record.
pub(crate) fn holds(line: &[u8], place: &Place, args: &ReadArgs) -> bool {
    args.wanted.filter.is_none()
        || matches!(
            read_line(line, &args.form.options(), &mut Vec::new()),
            Ok(Line::Record(record)) if args.wanted.takes(&record, place)
        )
}

/// Takes the pieces of a line, or of a game, over the limit.
pub(super) struct LongLine<'a, 'v> {
    diagnostics: &'a mut Diagnostics,
    visit: &'a mut Visit<'v>,
    failure: Option<anyhow::Error>,
}

impl<'a, 'v> LongLine<'a, 'v> {
    pub(super) fn new(diagnostics: &'a mut Diagnostics, visit: &'a mut Visit<'v>) -> Self {
        LongLine { diagnostics, visit, failure: None }
    }

    /// What became of the copying.
    pub(super) fn finish(self, copied: io::Result<()>) -> anyhow::Result<()> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(copied?),
        }
    }
}

impl Write for LongLine<'_, '_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.diagnostics.keep_reject(piece)?;
        match (self.visit)(Item::Rejected(piece)) {
            Ok(_) => Ok(piece.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
