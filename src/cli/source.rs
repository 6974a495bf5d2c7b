//! Reading of the sources in the arguments: items are counted, and diagnostics reported.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::ReadArgs;
use super::diagnostics::Diagnostics;
use super::outcome::Usage;
use super::progress::Progress;
use super::terminal::note;
use super::{obeyed, values};
use epdb::error::Place;
use epdb::library::question;
use epdb::model::Game;
use epdb::source::{
    Encode, EncodedRecords, FileFormat, Item, Lines, Source, SourceOptions, Summary,
};
use epdb::text::epd::{Line, parse_line};
use epdb::text::{Diagnostic, ParseOptions, Profile};

/// Takes the items of sources in order; [`ControlFlow::Break`] ends the reading. Diagnostics and games are not
/// among them.
pub(crate) type VisitItem<'v> = dyn FnMut(Item<'_>) -> anyhow::Result<ControlFlow<()>> + 'v;

/// Takes games in order.
pub(crate) type VisitGame<'v> = dyn FnMut(&Game, &Place) -> anyhow::Result<Visited> + 'v;

/// Result of visiting a game.
pub(crate) enum Visited {
    /// The game was used; continue.
    Taken,
    /// The game was used; stop.
    TakenLast,
    /// The game cannot be used, for this reason.
    Refused(Diagnostic),
}

/// Reads all records of all sources; none at all means standard input.
///
/// # Errors
/// A source that cannot be opened or is damaged, and what `visit` returns. Lines that cannot be
/// read are no errors: they go to `diagnostics`.
pub(crate) fn read(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut VisitItem<'_>,
) -> anyhow::Result<()> {
    let mut progress = Progress::new(total_size(paths));
    Reading::new(diagnostics, &mut progress, visit, None).read_all(paths, args, None)
}

/// [`read`] for a command that shows its own progress.
///
/// # Errors
/// As there.
pub(crate) fn read_unseen(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut VisitItem<'_>,
) -> anyhow::Result<()> {
    let mut progress = Progress::hidden();
    Reading::new(diagnostics, &mut progress, visit, None).read_all(paths, args, None)
}

/// [`read`] for records as they are encoded, where that can be done on all threads, and as records
/// elsewhere.
///
/// # Errors
/// As [`read`], and a record cannot be encoded.
pub(crate) fn read_encoded(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    encode: Arc<dyn Encode>,
    mut visit: impl FnMut(Item<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut progress = Progress::new(total_size(paths));
    let mut visit = |item: Item<'_>| visit(item).map(ControlFlow::Continue);
    Reading::new(diagnostics, &mut progress, &mut visit, None).read_all(paths, args, Some(encode))
}

/// [`read_encoded`], but every record is encoded.
///
/// # Errors
/// As there.
pub(crate) fn read_all_encoded(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    encode: &Arc<dyn Encode>,
    mut visit: impl FnMut(EncodedRecords<'_>, &Place) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut encoded = Vec::new();
    read_encoded(paths, args, diagnostics, Arc::clone(encode), |item| match item {
        Item::Encoded { records, place, .. } => visit(records, place),
        Item::Record { record, place, .. } => {
            encoded.clear();
            encode.encode(&record, place, &mut encoded)?;
            visit(EncodedRecords::new(&encoded, &[encoded.len()]), place)
        }
        _ => Ok(()),
    })
}

/// [`read_with_games`] for records as they are encoded, as with [`read_encoded`].
///
/// # Errors
/// As there.
pub(crate) fn read_encoded_with_games(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    encode: Arc<dyn Encode>,
    visit: &mut VisitItem<'_>,
    visit_game: &mut VisitGame<'_>,
) -> anyhow::Result<()> {
    let mut progress = Progress::new(total_size(paths));
    let visit_game = args.form.games.positions.is_none().then_some(visit_game);
    Reading::new(diagnostics, &mut progress, visit, visit_game).read_all(paths, args, Some(encode))
}

/// [`read`], but games come as games unless `--positions` was said.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_with_games(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut VisitItem<'_>,
    visit_game: &mut VisitGame<'_>,
) -> anyhow::Result<()> {
    let mut progress = Progress::new(total_size(paths));
    let visit_game = args.form.games.positions.is_none().then_some(visit_game);
    Reading::new(diagnostics, &mut progress, visit, visit_game).read_all(paths, args, None)
}

/// [`read_with_games`], but games are items too: whoever counts the bytes of a source sees all of them.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_items(
    paths: &[PathBuf],
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut VisitItem<'_>,
) -> anyhow::Result<()> {
    let mut progress = Progress::new(total_size(paths));
    let options = args.source_options(args.form.games.positions.is_none());
    Reading::new(diagnostics, &mut progress, visit, None).read_with(paths, args, options)
}

/// Reads an open source. Games are items only if the source was opened so; `visit_game` receives
/// them.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_open(
    source: Source,
    diagnostics: &mut Diagnostics,
    visit: &mut VisitItem<'_>,
    visit_game: Option<&mut VisitGame<'_>>,
) -> anyhow::Result<()> {
    let mut progress = Progress::new(None);
    Reading::new(diagnostics, &mut progress, visit, visit_game).read(source).map(drop)
}

/// An open source that the library reads.
pub(crate) struct OpenedSource {
    pub(crate) source: Source,
    progress: Progress,
}

impl OpenedSource {
    /// Opens a source of which games come as games, if `takes_games`.
    ///
    /// # Errors
    /// As [`open`].
    pub(crate) fn open(
        path: &Path,
        args: &ReadArgs,
        takes_games: bool,
    ) -> anyhow::Result<OpenedSource> {
        let progress = Progress::new(total_size(std::slice::from_ref(&path.to_path_buf())));
        let options = args.source_options(takes_games).count_bytes(Arc::clone(progress.bytes()));
        Ok(OpenedSource { source: open(path, &options)?, progress })
    }

    /// Calls `read` with the source and a callback that counts and reports its items.
    ///
    /// # Errors
    ///
    /// As for `read`.
    pub(crate) fn read<T>(
        mut self,
        args: &ReadArgs,
        diagnostics: &mut Diagnostics,
        read: impl FnOnce(Source, &mut NoteItem<'_>) -> anyhow::Result<(T, Summary)>,
    ) -> anyhow::Result<T> {
        diagnostics.watch(args.wanted.filter.as_ref());
        let mut no_visit = |_: Item<'_>| Ok(ControlFlow::Continue(()));
        let (comments, form) = (diagnostics.comments().clone(), args.form.options());
        let mut reading = Reading::new(diagnostics, &mut self.progress, &mut no_visit, None);
        comments.begin_source();
        let (result, summary) = read(self.source, &mut |item| {
            comments.before(item, &form);
            reading.note(item)?;
            comments.behind();
            Ok(())
        })?;
        comments.end_source();
        reading.add(&summary);
        Ok(result)
    }
}

/// Counts and reports an item.
pub(crate) type NoteItem<'n> = dyn FnMut(&Item<'_>) -> anyhow::Result<()> + 'n;

/// The paths, or standard input if there are no paths.
pub(crate) fn or_stdin(paths: &[PathBuf]) -> Vec<&Path> {
    match paths {
        [] => vec![Path::new("-")],
        paths => paths.iter().map(PathBuf::as_path).collect(),
    }
}

/// Estimated number of records in the files among some sources, and for text their bytes.
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

/// Opens a file, standard input for `-`, or a position in the place of a file.
///
/// # Errors
/// When it cannot be read, with its name.
pub(crate) fn open(path: &Path, options: &SourceOptions) -> anyhow::Result<Source> {
    if values::is_position(path.as_os_str()) {
        return open_position(&path.to_string_lossy(), options);
    }
    if path == Path::new("-") && io::stdin().is_terminal() {
        note!("epdb: reading positions from standard input; end with {END_OF_INPUT}");
    }
    let source = Source::open(path, options)?;
    obeyed::check_opened(path, source.format())?;
    Ok(source)
}

/// Opens a position given in place of a file.
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
    Ok(Source::from_bytes("FEN", line, &options.clone().format(FileFormat::Epd))?)
}

/// Opens a source with a known or unknown format and no other options.
pub(crate) fn open_any(path: &Path, from: Option<FileFormat>) -> anyhow::Result<Source> {
    let options = SourceOptions::new();
    open(path, &from.map_or(options.clone(), |format| options.format(format)))
}

/// The format of a source.
pub(crate) fn format_of(path: &Path, from: Option<FileFormat>) -> anyhow::Result<FileFormat> {
    if path == Path::new("-") {
        return Ok(from.unwrap_or(FileFormat::Epd));
    }
    Ok(open_any(path, from)?.format())
}

/// Opens a source that must be text; lines longer than `limit` bytes are reported as too long.
pub(crate) fn open_lines(
    path: &Path,
    limit: usize,
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Lines> {
    let options = SourceOptions::new()
        .text(args.form.options())
        .deny_warnings(args.form.deny_warnings)
        .encoding(args.form.encoding())
        .max_line(limit);
    open(path, &options)?.into_lines(&mut |item| {
        if let Item::Diagnostic { diagnostic, place } = item {
            diagnostics.report(place, diagnostic)?;
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Whether `--where` is true for a line; false for lines that are not records.
pub(crate) fn holds(line: &[u8], place: &Place, args: &ReadArgs) -> bool {
    args.wanted.filter.is_none()
        || matches!(
            parse_line(line, &args.form.options(), &mut Vec::new()),
            Ok(Line::Record(record)) if args.wanted.takes(&record, place)
        )
}

/// State of reading: the visitors of items and games.
struct Reading<'r, 'd, 'v, 'g> {
    diagnostics: &'d mut Diagnostics,
    progress: &'r mut Progress,
    visit: &'r mut VisitItem<'v>,
    visit_game: Option<&'r mut VisitGame<'g>>,
    /// Form of the lines of a text.
    form: ParseOptions,
}

impl<'r, 'd, 'v, 'g> Reading<'r, 'd, 'v, 'g> {
    fn new(
        diagnostics: &'d mut Diagnostics,
        progress: &'r mut Progress,
        visit: &'r mut VisitItem<'v>,
        visit_game: Option<&'r mut VisitGame<'g>>,
    ) -> Reading<'r, 'd, 'v, 'g> {
        Reading { diagnostics, progress, visit, visit_game, form: ParseOptions::default() }
    }

    fn read_all(
        self,
        paths: &[PathBuf],
        args: &ReadArgs,
        encode: Option<Arc<dyn Encode>>,
    ) -> anyhow::Result<()> {
        let mut options = args.source_options(self.visit_game.is_some());
        if let Some(encode) = encode {
            options = options.encode(encode);
        }
        self.read_with(paths, args, options)
    }

    fn read_with(
        mut self,
        paths: &[PathBuf],
        args: &ReadArgs,
        options: SourceOptions,
    ) -> anyhow::Result<()> {
        if self.visit_game.is_some()
            && let Some(name) = args.form.games.of_positions()
        {
            return Err(Usage(format!(
                "--{name} is for positions of games, but games are processed as games here: use --positions too, such as --positions all"
            ))
            .into());
        }
        self.diagnostics.watch(args.wanted.filter.as_ref());
        self.form = args.form.options();
        let options = options.count_bytes(Arc::clone(self.progress.bytes()));
        for path in or_stdin(paths) {
            if self.read(open(path, &options)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Reads a source, unless a visitor has stopped.
    fn read(&mut self, source: Source) -> anyhow::Result<ControlFlow<()>> {
        let comments = self.diagnostics.comments().clone();
        comments.begin_source();
        let summary = source.read(&mut |item| {
            let is_record = matches!(item, Item::Record { .. });
            comments.before(&item, &self.form);
            let flow = self.take(item);
            if is_record {
                comments.behind();
            }
            flow
        })?;
        comments.end_source();
        self.add(&summary);
        Ok(match summary.was_stopped {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    /// Counts and reports an item, and passes it to its visitor.
    fn take(&mut self, item: Item<'_>) -> anyhow::Result<ControlFlow<()>> {
        if let Item::Game { game, place, raw, is_cut_short } = item
            && self.visit_game.is_some()
        {
            self.progress.record();
            return self.take_game(game, place, raw, is_cut_short);
        }
        if !self.note(&item)? {
            return Ok(ControlFlow::Continue(()));
        }
        (self.visit)(item)
    }

    /// Counts and reports an item; returns false if no visitor takes it.
    fn note(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
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
            Item::Game { raw, is_cut_short: true, .. } => self.diagnostics.cut_short(raw)?,
            Item::Game { .. } => tally.games += 1,
            Item::Record { .. } => tally.records += 1,
            Item::Encoded { records, .. } => {
                tally.records += records.count() as u64;
                self.progress.records(records.count() as u64 - 1);
            }
            Item::LeftOut { .. } => tally.left_out += 1,
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

    /// Adds the summary of a whole source.
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
        game: &Game,
        place: &Place,
        raw: &[u8],
        is_cut_short: bool,
    ) -> anyhow::Result<ControlFlow<()>> {
        let Some(visit_game) = &mut self.visit_game else { return Ok(ControlFlow::Continue(())) };
        let flow = match visit_game(game, place)? {
            Visited::Taken => ControlFlow::Continue(()),
            Visited::TakenLast => ControlFlow::Break(()),
            Visited::Refused(refusal) => {
                self.diagnostics.error(place, &refusal)?;
                self.diagnostics.rejected(raw)?;
                self.diagnostics.tally.rejected_games += 1;
                return Ok(ControlFlow::Continue(()));
            }
        };
        match is_cut_short {
            true => self.diagnostics.cut_short(raw)?,
            false => self.diagnostics.tally.games += 1,
        }
        Ok(flow)
    }
}
