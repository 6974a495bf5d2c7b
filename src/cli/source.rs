//! Reading of the sources in the arguments. Items are counted, and diagnostics are reported.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::args::ReadArgs;
use super::comments::Comments;
use super::diagnostics::Diagnostics;
use super::outcome::{print_error, usage};
use super::progress::Progress;
use super::terminal::{many, note};
use super::{obeyed, places, signals, values};
use epdb_chess::error::Place;
use epdb_chess::model::{EpdRecord, Game};
use epdb_chess::text::epd::parse_line;
use epdb_chess::text::pgn::GamePosition;
use epdb_chess::text::{Diagnostic, ParseOptions, Profile};
use epdb_library::question;
use epdb_source::{
    DeltaPath, Encode, EncodedRecords, FileFormat, Filter, Inputs, Item, Lines, Source,
    SourceOptions, Summary, is_address, is_stream, name_of,
};

/// A callback that takes games in order.
type VisitGame<'v> = dyn FnMut(SourceGame<'_>) -> anyhow::Result<Visited> + 'v;

#[derive(Copy, Clone)]
pub(crate) struct SourceGame<'g> {
    pub(crate) game: &'g Game,
    pub(crate) place: &'g Place,
    /// The bytes of the encoder. `None` if no thread encoded the game while reading.
    pub(crate) encoded: Option<&'g [u8]>,
}

/// Result of visiting a game.
pub(crate) enum Visited {
    /// The game was used; continue.
    Taken,
    /// The game was used; stop.
    TakenLast,
    /// The game cannot be used, for this reason.
    Refused(Diagnostic),
}

/// A source that is open, and the progress of its reading.
pub(crate) struct OpenSource {
    pub(crate) source: Source,
    path: PathBuf,
    progress: Progress,
}

impl OpenSource {
    /// Opens a source.
    ///
    /// # Errors
    /// The errors of [`open`].
    pub(crate) fn open(path: &Path, options: SourceOptions) -> anyhow::Result<OpenSource> {
        let progress = Progress::new(total_size(std::slice::from_ref(&path.to_path_buf())));
        let options = SourceOptions { bytes_read: Some(Arc::clone(progress.bytes())), ..options };
        Ok(OpenSource { source: open(path, &options)?, path: path.to_path_buf(), progress })
    }

    /// Calls `read` with the source and a callback that counts and reports items. `read` is a function of the
    /// library.
    ///
    /// # Errors
    ///
    /// The errors of `read`.
    pub(crate) fn read<T>(
        self,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
        read: impl FnOnce(Source, &mut NoteItem<'_>) -> anyhow::Result<(T, Summary)>,
    ) -> anyhow::Result<T> {
        let OpenSource { source, path, mut progress } = self;
        let mut counter = Counter::new(args, diagnostics, &mut progress, None);
        counter
            .count_source(&path, |counter| read(source, &mut |item| counter.note(item).map(drop)))
    }
}

pub(crate) type NoteItem<'n> = dyn FnMut(&Item<'_>) -> anyhow::Result<()> + 'n;

/// One or more sources to be read, and the options of reading. Items are counted, diagnostics
/// reported, and comments passed to the output.
#[must_use]
pub(crate) struct Reading<'r> {
    sources: Sources,
    args: &'r ReadArgs,
    diagnostics: &'r mut Diagnostics,
    progress: Progress,
    encode: Option<Arc<dyn Encode>>,
    filter: Option<Arc<dyn Filter>>,
    takes_games: bool,
    visit_game: Option<Box<VisitGame<'r>>>,
}

enum Sources {
    /// The sources that the arguments of a command name; no files for standard input.
    Inputs(Inputs),
    Open(Box<Source>, PathBuf),
}

impl<'r> Reading<'r> {
    /// Reads files, or a slice.
    pub(crate) fn of(
        inputs: impl Into<Inputs>,
        args: &'r ReadArgs,
        diagnostics: &'r mut Diagnostics,
    ) -> Reading<'r> {
        let inputs = inputs.into();
        let progress = Progress::new(match &inputs {
            Inputs::Files(paths) => total_size(paths),
            // A slice has no size in compressed bytes.
            Inputs::Slice(_) => None,
        });
        Reading::new(Sources::Inputs(inputs), progress, args, diagnostics)
    }

    /// Reads an open source, with the options with which it was opened.
    pub(crate) fn of_open(
        opened: OpenSource,
        args: &'r ReadArgs,
        diagnostics: &'r mut Diagnostics,
    ) -> Reading<'r> {
        let OpenSource { source, path, progress } = opened;
        Reading::new(Sources::Open(Box::new(source), path), progress, args, diagnostics)
    }

    fn new(
        sources: Sources,
        progress: Progress,
        args: &'r ReadArgs,
        diagnostics: &'r mut Diagnostics,
    ) -> Reading<'r> {
        Reading {
            sources,
            args,
            diagnostics,
            progress,
            encode: None,
            filter: None,
            takes_games: false,
            visit_game: None,
        }
    }

    /// Reads without a progress bar, because the command shows its own.
    pub(crate) fn without_progress(self) -> Reading<'r> {
        Reading { progress: Progress::hidden(), ..self }
    }

    /// Passes records in encoded form if all threads can encode them, otherwise as records. Games
    /// are passed with their encoded bytes if all threads can encode them.
    pub(crate) fn encode(self, encode: Arc<dyn Encode>) -> Reading<'r> {
        Reading { encode: Some(encode), ..self }
    }

    /// Reads with this filter instead of that of the arguments.
    pub(crate) fn filter(self, filter: Arc<dyn Filter>) -> Reading<'r> {
        Reading { filter: Some(filter), ..self }
    }

    /// Passes games as items instead of their positions, unless `--positions` was given.
    pub(crate) fn games_as_items(self) -> Reading<'r> {
        Reading { takes_games: self.args.form.games.positions.is_none(), ..self }
    }

    /// Passes games to `visit`, instead of their positions to the visitor of items, unless
    /// `--positions` was given.
    pub(crate) fn visit_games(
        self,
        visit: impl FnMut(SourceGame<'_>) -> anyhow::Result<Visited> + 'r,
    ) -> Reading<'r> {
        let reading = self.games_as_items();
        let visit_game = reading.takes_games.then(|| Box::new(visit) as Box<VisitGame<'r>>);
        Reading { visit_game, ..reading }
    }

    /// Passes the items to `visit` in order; [`ControlFlow::Break`] ends the reading. Diagnostics, and games
    /// that have a visitor of their own, are not passed.
    ///
    /// # Errors
    /// A source cannot be opened or is damaged, or `visit` fails. Lines that cannot be read are
    /// reported, and are not errors.
    pub(crate) fn items(
        self,
        mut visit: impl FnMut(Item<'_>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        let Reading { sources, args, diagnostics, mut progress, .. } = self;
        if self.visit_game.is_some()
            && let Some(name) = args.form.games.of_positions()
        {
            return Err(usage(format!(
                "--{name} is for positions of games, but games are processed as games here: use --positions too"
            )));
        }
        let mut options = args.source_options(self.takes_games);
        options.encode = self.encode;
        options.filter = self.filter.or(options.filter);
        options.bytes_read = Some(Arc::clone(progress.bytes()));
        let mut counter = Counter::new(args, diagnostics, &mut progress, self.visit_game);
        match sources {
            Sources::Open(source, path) => counter.read(&path, *source, &mut visit).map(drop),
            Sources::Inputs(Inputs::Files(paths)) => {
                for path in or_stdin(&paths) {
                    if counter.read(path, open(path, &options)?, &mut visit)?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Sources::Inputs(Inputs::Slice(slice)) => {
                for part in slice.parts() {
                    let source = slice.open(part, &options)?;
                    obeyed::check_opened(slice.path(part), source.format())?;
                    let read = counter.read(slice.path(part), source, &mut visit);
                    if read.with_context(|| slice.name(part))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Passes each record to `visit`, with its place and its game.
    ///
    /// # Errors
    /// The errors of [`Reading::items`].
    pub(crate) fn records(
        self,
        mut visit: impl FnMut(EpdRecord, &Place, Option<GamePosition<'_>>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.items(|item| {
            if let Item::Record { record, place, game, .. } = item {
                visit(record, place, game)?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Passes the records to `visit` in encoded form, one or more at a time, with the place of the
    /// first one.
    ///
    /// # Errors
    /// The errors of [`Reading::items`]. Also fails if a record cannot be encoded.
    pub(crate) fn encoded_records(
        self,
        encode: &Arc<dyn Encode>,
        mut visit: impl FnMut(EncodedRecords<'_>, &Place) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut encoded = Vec::new();
        self.encode(Arc::clone(encode)).items(|item| {
            match item {
                Item::Encoded { records, place, .. } => visit(records, place)?,
                Item::Record { record, place, .. } => {
                    encoded.clear();
                    encode.encode(&record, place, &mut encoded)?;
                    visit(EncodedRecords::new(&encoded, &[encoded.len()]), place)?;
                }
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Passes each game to `visit`.
    ///
    /// # Errors
    /// The errors of [`Reading::items`]. Also fails if the source has positions instead of games.
    pub(crate) fn games(
        self,
        visit: impl FnMut(SourceGame<'_>) -> anyhow::Result<Visited> + 'r,
    ) -> anyhow::Result<()> {
        self.check_games()?;
        self.visit_games(visit).items(|item| match item {
            Item::Record { place, .. }
            | Item::Encoded { place, .. }
            | Item::LeftOut { place, .. }
            | Item::LeftOutMany { place, .. } => Err(NoGames(Arc::clone(&place.source)).into()),
            _ => Ok(ControlFlow::Continue(())),
        })
    }

    /// Passes all items of games to `visit`, with the games that were left out.
    ///
    /// # Errors
    /// The errors of [`Reading::games`].
    pub(crate) fn all_games(
        self,
        mut visit: impl FnMut(Item<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.check_games()?;
        self.games_as_items().items(|item| match item {
            Item::Record { place, .. }
            | Item::LeftOut { record: Some(_), place, .. }
            | Item::LeftOutMany { place, .. } => Err(NoGames(Arc::clone(&place.source)).into()),
            item => visit(item).map(ControlFlow::Continue),
        })
    }

    fn check_games(&self) -> anyhow::Result<()> {
        anyhow::ensure!(self.args.form.games.positions.is_none(), WHOLE);
        Ok(())
    }
}

/// The name of a file without its folder; `stdin` for standard input.
pub(crate) fn file_name(path: &Path) -> String {
    if path == Path::new("-") {
        "stdin".to_string()
    } else {
        let name = name_of(path);
        let file = Path::new(&*name).file_name();
        file.map_or(name.clone(), |file| file.to_string_lossy()).into_owned()
    }
}

const WHOLE: &str = "--positions is for an output of positions, not of games";

/// A source has positions where games are needed.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{0} has positions, and games are needed here: give files of games (.pgn or .pgc), or write the games that a \
     library keeps first: `epdb search {0} --where 'plies > 0' -o FILE.pgn`"
)]
struct NoGames(Arc<str>);

pub(crate) fn or_stdin(paths: &[PathBuf]) -> Vec<&Path> {
    match paths {
        [] => vec![Path::new("-")],
        paths => paths.iter().map(PathBuf::as_path).collect(),
    }
}

/// Whether games come in: all sources have games, and no option asks for their positions.
///
/// # Errors
/// A source cannot be opened. Also fails if some sources have games and others have records.
pub(crate) fn are_games(files: &[PathBuf], read: &ReadArgs) -> anyhow::Result<bool> {
    if read.form.games.positions.is_some() {
        return Ok(false);
    }
    let mut games = None;
    let mut records = None;
    for path in or_stdin(files) {
        let has_games = source_format(path, read)?.is_of_games();
        let found = if has_games { &mut games } else { &mut records };
        found.get_or_insert(path);
    }
    if let (Some(games), Some(records)) = (games, records) {
        let games = name_of(games);
        let records = name_of(records);
        return Err(usage(format!(
            "{games} has games and {records} has records: --positions reads the positions of the games"
        )));
    }
    Ok(games.is_some())
}

/// The format of a source that is read later.
pub(crate) fn source_format(path: &Path, read: &ReadArgs) -> anyhow::Result<FileFormat> {
    let said = read.form.from;
    let is_typed = path == Path::new("-")
        && (io::stdin().is_terminal() || STDIN_HAS_COMMANDS.load(Ordering::Relaxed));
    if is_typed || values::is_position(path.as_os_str()) {
        return Ok(said.unwrap_or(FileFormat::Epd));
    }
    let format = read.streams.format(path, said)?;
    // The columns of a Parquet file show whether it has games. A stream cannot be opened again.
    if format.is_parquet() && !is_stream(path) {
        return Ok(Source::open(path, &read.source_options(true))?.format());
    }
    Ok(format)
}

/// The files that can be read, in their order, after all other files were reported. `check` refuses files
/// that the command does not take.
///
/// # Errors
/// Some files cannot be read, and `keep_going` is false. The error is that of the last of them.
pub(crate) fn readable(
    paths: &[PathBuf],
    options: &SourceOptions,
    keep_going: bool,
    check: &dyn Fn(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut taken = Vec::new();
    let mut refused = Vec::new();
    for path in paths {
        match check_file(path, options, check) {
            Ok(()) => taken.push(path.clone()),
            Err(error) => refused.push(error),
        }
    }
    if !keep_going && let Some(last) = refused.pop() {
        refused.iter().for_each(print_error);
        return Err(last);
    }
    refused.iter().for_each(print_error);
    if !refused.is_empty() {
        let count = many(refused.len() as u64, "file");
        note!("epdb: {count} left out, {} read", taken.len());
    }
    anyhow::ensure!(!taken.is_empty() || paths.is_empty(), "none of the files can be read");
    Ok(taken)
}

/// Refuses a file that cannot be read. Pipes and addresses are not examined, because they would be
/// opened twice.
fn check_file(
    path: &Path,
    options: &SourceOptions,
    check: &dyn Fn(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if is_stream(path)
        || is_address(path)
        || values::is_position(path.as_os_str())
        || DeltaPath::parse(path).is_some()
    {
        return Ok(());
    }
    Source::check(path, options)?;
    check(path)
}

/// Estimated number of records in those sources that are files, and the bytes of these files.
pub(crate) fn expected(paths: &[PathBuf]) -> (usize, usize) {
    const USUAL_LINE: usize = 64;
    let len = |path: &PathBuf| path.metadata().map_or(0, |found| found.len());
    let bytes = usize::try_from(paths.iter().map(len).sum::<u64>()).unwrap_or(usize::MAX);
    (bytes / USUAL_LINE, bytes)
}

fn total_size(paths: &[PathBuf]) -> Option<u64> {
    or_stdin(paths)
        .iter()
        .map(|path| path.metadata().ok().filter(|found| found.is_file()).map(|found| found.len()))
        .sum()
}

#[cfg(windows)]
pub(crate) const END_OF_INPUT: &str = "Ctrl-Z and Enter";
#[cfg(not(windows))]
pub(crate) const END_OF_INPUT: &str = "Ctrl-D";

/// Whether the commands of a shell are read from standard input.
static STDIN_HAS_COMMANDS: AtomicBool = AtomicBool::new(false);

/// The error if a source is standard input, from which the commands of a shell are read.
pub(crate) const NO_STDIN: &str = "standard input is used for commands: name a file";

/// Refuses standard input as a source from now on, because commands are read from it.
pub(crate) fn keep_stdin_for_commands() {
    STDIN_HAS_COMMANDS.store(true, Ordering::Relaxed);
}

/// Opens a file, standard input if the path is `-`, or a position that is given instead of a file.
///
/// # Errors
/// The source cannot be read; the error has its name.
pub(crate) fn open(path: &Path, options: &SourceOptions) -> anyhow::Result<Source> {
    if values::is_position(path.as_os_str()) {
        return open_position(&path.to_string_lossy(), options);
    }
    let is_stdin = path == Path::new("-");
    anyhow::ensure!(!is_stdin || !STDIN_HAS_COMMANDS.load(Ordering::Relaxed), NO_STDIN);
    if is_stdin && io::stdin().is_terminal() {
        note!("epdb: reading positions from standard input; end with {END_OF_INPUT}");
    }
    let source = Source::open(path, options)?;
    let format = source.format();
    obeyed::check_opened(path, format)?;
    // A sharded archive may replace itself, after all of its records were read.
    let holds_records = format.is_written() || format == FileFormat::Shards;
    if !holds_records || format.is_of_games() {
        places::note_not_records(path, format)?;
    }
    let named = FileFormat::from_name(path);
    if format.is_of_games()
        && options.reads_positions()
        && matches!(named, Some(FileFormat::Epd | FileFormat::Fen))
        && places::is_first_time(path)
    {
        note!("epdb: {} holds games: their positions are read", name_of(path));
    }
    Ok(source)
}

/// Opens a position that is given instead of a file.
fn open_position(text: &str, options: &SourceOptions) -> anyhow::Result<Source> {
    let lenient = ParseOptions::new(Profile::Lenient);
    let line = match (
        parse_line(text.as_bytes(), &lenient, &mut Vec::new()),
        question::parse(text.as_bytes(), &lenient),
    ) {
        (Ok(_), _) => text.to_string(),
        (Err(_), Ok(position)) => position.map(|it| it.to_string()).unwrap_or_default(),
        (Err(_), Err(error)) => anyhow::bail!(
            "cannot read {text}: there is no such file, and it is not a position ({})",
            error.message
        ),
    };
    Ok(Source::from_bytes(
        "position",
        line,
        &SourceOptions { format: Some(FileFormat::Epd), ..options.clone() },
    )?)
}

/// Opens a source with no option except its format, if the format is known.
pub(crate) fn open_any(path: &Path, from: Option<FileFormat>) -> anyhow::Result<Source> {
    open(path, &SourceOptions { format: from, ..Default::default() })
}

/// Opens a source that must be text; lines longer than `limit` bytes are reported as too long.
pub(crate) fn open_lines(
    path: &Path,
    limit: usize,
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Lines> {
    let options = SourceOptions {
        text: args.form.options(),
        deny_warnings: args.form.deny_warnings,
        encoding: args.form.encoding(),
        max_line: Some(limit),
        ..Default::default()
    };
    open(path, &options)?.into_lines(&mut |item| {
        if let Item::Diagnostic { diagnostic, place } = item {
            diagnostics.report(place, diagnostic)?;
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Counter of items, which reports diagnostics and passes games to their visitor.
struct Counter<'r> {
    diagnostics: &'r mut Diagnostics,
    progress: &'r mut Progress,
    visit_game: Option<Box<VisitGame<'r>>>,
    comments: Comments,
    /// True if the last item that --where excluded is a game.
    leaves_out_games: bool,
    /// The place of the last game of the source that had a position.
    last_game: Option<u64>,
    /// Options for parsing lines of text.
    form: ParseOptions,
}

impl<'r> Counter<'r> {
    fn new(
        args: &ReadArgs,
        diagnostics: &'r mut Diagnostics,
        progress: &'r mut Progress,
        visit_game: Option<Box<VisitGame<'r>>>,
    ) -> Counter<'r> {
        diagnostics.watch(args.wanted.filter.as_ref());
        let comments = diagnostics.comments().clone();
        let form = args.form.options();
        Counter {
            diagnostics,
            progress,
            visit_game,
            comments,
            leaves_out_games: false,
            last_game: None,
            form,
        }
    }

    /// Calls `read` with the items of the source at `path`.
    fn count_source<T>(
        &mut self,
        path: &Path,
        read: impl FnOnce(&mut Counter<'r>) -> anyhow::Result<(T, Summary)>,
    ) -> anyhow::Result<T> {
        self.diagnostics.begin_source();
        self.last_game = None;
        let left_out = self.diagnostics.tally.left_out;
        let (result, summary) = read(self)?;
        self.comments.end_source();
        let left_out = self.diagnostics.tally.left_out - left_out;
        places::note_left_out(
            path,
            left_out,
            if self.leaves_out_games { "game" } else { "record" },
        )?;
        self.add(&summary);
        Ok(result)
    }

    /// Reads a source to its end, unless a visitor stops.
    fn read(
        &mut self,
        path: &Path,
        source: Source,
        visit: &mut impl FnMut(Item<'_>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<ControlFlow<()>> {
        self.count_source(path, |counter| {
            let summary = source.read(&mut |item| counter.take(item, visit))?;
            let flow = if summary.was_stopped {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            };
            Ok((flow, summary))
        })
    }

    /// Counts and reports an item, and passes it to its visitor.
    fn take(
        &mut self,
        item: Item<'_>,
        visit: &mut impl FnMut(Item<'_>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<ControlFlow<()>> {
        signals::check_interrupt()?;
        if let Item::Game { game, place, raw, is_cut_short, encoded } = item
            && self.visit_game.is_some()
        {
            self.progress.record();
            return self.take_game(SourceGame { game, place, encoded }, raw, is_cut_short);
        }
        if !self.note(&item)? {
            return Ok(ControlFlow::Continue(()));
        }
        let is_record = matches!(item, Item::Record { .. });
        let flow = visit(item);
        if is_record {
            self.comments.behind();
        }
        flow
    }

    /// Counts and reports an item; returns false if no visitor takes it.
    fn note(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        self.comments.before(item, &self.form);
        let tally = &mut self.diagnostics.tally;
        match item {
            Item::Diagnostic { diagnostic, place } => {
                self.diagnostics.report(place, diagnostic)?;
                return Ok(false);
            }
            Item::CutShort { raw, .. } => {
                self.diagnostics.cut_short(raw)?;
                return Ok(false);
            }
            Item::Game { game, raw, is_cut_short, .. } => {
                if *is_cut_short {
                    self.diagnostics.cut_short(raw)?
                } else {
                    tally.games += 1
                }
                self.diagnostics.note_players(game);
            }
            Item::Record { game, place, .. } => {
                tally.records += 1;
                if game.is_some() {
                    tally.game_positions += 1;
                    let number = Some(place.number());
                    tally.games_as_positions += u64::from(self.last_game != number);
                    self.last_game = number;
                }
            }
            Item::Encoded { records, .. } => {
                tally.records += records.count() as u64;
                self.progress.records(records.count() as u64 - 1);
            }
            Item::LeftOut { record, .. } => {
                tally.left_out += 1;
                tally.left_out_games += u64::from(record.is_none());
                self.leaves_out_games = record.is_none();
            }
            Item::LeftOutMany { count, decoded, .. } => {
                tally.left_out += count;
                tally.left_out_unread += count - decoded;
                self.leaves_out_games = false;
                self.progress.records(*count - 1);
            }
            Item::Damaged { damage, place } => {
                self.diagnostics.damaged(&place.source, damage)?;
                return Ok(false);
            }
            Item::Skipped { raw, is_game: true, .. } if raw.contains(&b'%') => {
                places::note_dropped(["% lines after the last game left out".into()])?;
            }
            Item::Skipped { is_game, .. } => tally.skipped += u64::from(!is_game),
            Item::Rejected { raw, is_more, is_game, .. } => {
                tally.rejected += u64::from(!is_more);
                tally.rejected_games += u64::from(!is_more && *is_game);
                self.diagnostics.keep_reject(raw)?;
            }
            _ => {}
        }
        if let Item::LeftOut { record: None, .. } = item
            && self.visit_game.is_some()
        {
            return Ok(false);
        }
        self.progress.record();
        Ok(true)
    }

    fn add(&mut self, summary: &Summary) {
        let tally = &mut self.diagnostics.tally;
        tally.of_variations += summary.variation_positions;
        tally.behind_null_moves += summary.null_move_positions;
        tally.unchecked_games += summary.unchecked_games;
        tally.unread_evaluations += summary.unread_evaluations;
        tally.book.add(&summary.book);
    }

    fn take_game(
        &mut self,
        game: SourceGame<'_>,
        raw: &[u8],
        is_cut_short: bool,
    ) -> anyhow::Result<ControlFlow<()>> {
        let Some(visit_game) = &mut self.visit_game else { return Ok(ControlFlow::Continue(())) };
        self.diagnostics.note_players(game.game);
        let flow = match visit_game(game)? {
            Visited::Taken => ControlFlow::Continue(()),
            Visited::TakenLast => ControlFlow::Break(()),
            Visited::Refused(refusal) => {
                self.diagnostics.error(game.place, &refusal)?;
                self.diagnostics.rejected(raw)?;
                self.diagnostics.tally.rejected_games += 1;
                return Ok(ControlFlow::Continue(()));
            }
        };
        if is_cut_short {
            self.diagnostics.cut_short(raw)?
        } else {
            self.diagnostics.tally.games += 1
        }
        Ok(flow)
    }
}
