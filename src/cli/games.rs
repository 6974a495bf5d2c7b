//! Games on their way in, as games or as their positions, and on their way out.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::codec::pgc::{self, PgcErrorKind, PgcReader, PgcWriteOptions};
use crate::library::sort::Sorter;
use crate::model::Game;
use crate::text::Diagnostic;
use crate::text::pgn::{self, Finding, GameLosses, GameReader, PgnWriteOptions, positions};

use super::args::{GameWriteArgs, ReadArgs};
use super::diagnostics::{Diagnostics, Place};
use super::file_format::FileFormat;
use super::message::note;
use super::outcome::Outcome;
use super::output::{Output, open_output_of};
use super::progress::Progress;
use super::source::{self, Item, LongLine, Visit, hand_on_record};

/// Takes games in order; a game that it cannot use is refused with a reason.
pub(crate) type VisitGame<'v> = dyn FnMut(&Game) -> anyhow::Result<Option<Diagnostic>> + 'v;

/// What to do about a game that is larger than the limit.
const RAISE_LIMIT: &str = "; --max-game takes larger ones";

/// What is taken out of a source of games.
pub(crate) enum Take<'t, 'v> {
    /// The positions that the arguments name.
    Positions,
    /// The games.
    Games(&'t mut VisitGame<'v>),
}

/// Reads games in PGN; false when no more is wanted.
pub(super) fn read_pgn(
    input: Box<dyn Read + Send>,
    mut place: Place,
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    progress: &mut Progress,
    visit: &mut Visit<'_>,
    mut take: Take<'_, '_>,
) -> anyhow::Result<bool> {
    let mut reader = GameReader::new(input, args.form.pgn_options());
    while let Some(read) = reader.next_game().with_context(|| place.behind("line"))? {
        progress.record();
        let mut may_stand = true;
        for warning in read.warnings {
            place.line = warning.line;
            may_stand &= diagnostics.warnings(&place, &[with_ply(warning)])?;
        }
        place.line = read.line;
        let game = match read.game {
            Ok(game) if may_stand => Some(game),
            Ok(_) => None,
            Err(error) => {
                place.line = error.line;
                let is_long = read.raw.is_empty();
                let mut error = with_ply(&error);
                if is_long {
                    error.message += RAISE_LIMIT;
                }
                diagnostics.error(&place, &error)?;
                if is_long {
                    diagnostics.tally.rejected += 1;
                    let mut sink = LongLine::new(diagnostics, visit);
                    let copied = reader.copy_long_game(&mut sink);
                    sink.finish(copied)?;
                    continue;
                }
                None
            }
        };
        let (raw, place) = (read.raw, &place);
        if !hand_on(game, raw, place, args, diagnostics, visit, &mut take)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The diagnostic of a finding, which says the ply where there is one.
fn with_ply(finding: &Finding) -> Diagnostic {
    let mut diagnostic = finding.diagnostic.clone();
    if let Some(ply) = finding.ply {
        diagnostic.message += &format!(" (ply {ply})");
    }
    diagnostic
}

/// Reads games in PGC; false when no more is wanted.
pub(super) fn read_pgc(
    input: Box<dyn Read + Send>,
    mut place: Place,
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    progress: &mut Progress,
    visit: &mut Visit<'_>,
    mut take: Take<'_, '_>,
) -> anyhow::Result<bool> {
    let mut reader = PgcReader::new(input, args.form.games.max_game);
    while let Some(read) = reader.next_game().with_context(|| place.behind("game"))? {
        progress.record();
        place.line = read.number;
        let game = match read.game {
            Ok(game) => {
                diagnostics.tally.unchecked_games += u64::from(!read.has_checksum);
                Some(game)
            }
            Err(error) => {
                let advice = match error.kind {
                    PgcErrorKind::TooLong(_) => RAISE_LIMIT,
                    _ if error.kind.ends_the_stream() => "; what follows cannot be read",
                    _ => "",
                };
                let message = format!("byte {}: {}{advice}", error.offset, error.kind);
                let column = usize::try_from(error.offset).unwrap_or(usize::MAX);
                diagnostics
                    .error(&place, &Diagnostic::error(error.kind.code(), column, message))?;
                None
            }
        };
        if !hand_on(game, read.raw, &place, args, diagnostics, visit, &mut take)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Hands a game on, or its positions, or the bytes of one that was refused.
fn hand_on(
    game: Option<&Game>,
    raw: &[u8],
    place: &Place,
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut Visit<'_>,
    take: &mut Take<'_, '_>,
) -> anyhow::Result<bool> {
    let Some(game) = game else {
        diagnostics.rejected(raw)?;
        return visit_rejected(raw, visit, take);
    };
    match take {
        Take::Positions => hand_on_positions(game, raw, place, args, diagnostics, visit),
        Take::Games(visit_game) => {
            match visit_game(game)? {
                None => diagnostics.tally.games += 1,
                Some(refusal) => {
                    diagnostics.error(place, &refusal)?;
                    diagnostics.rejected(raw)?;
                }
            }
            Ok(true)
        }
    }
}

fn visit_rejected(raw: &[u8], visit: &mut Visit<'_>, take: &Take<'_, '_>) -> anyhow::Result<bool> {
    match take {
        Take::Positions => visit(Item::Rejected(raw)),
        Take::Games(_) => Ok(true),
    }
}

/// Every record gets a part of the bytes of its game, so that each has its own place in the source
/// and an import that was interrupted goes on in the middle of a game.
fn hand_on_positions(
    game: &Game,
    raw: &[u8],
    place: &Place,
    args: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut Visit<'_>,
) -> anyhow::Result<bool> {
    let options = args.form.games.position_options();
    let mut rest = raw;
    let mut records = positions(game, &options).peekable();
    if records.peek().is_none() {
        return visit(Item::Skipped(raw));
    }
    while let Some(record) = records.next() {
        let own = if records.peek().is_some() { rest.len().min(1) } else { rest.len() };
        let (raw, behind) = rest.split_at(own);
        rest = behind;
        let taken = args.wanted.takes(&record, place);
        if !hand_on_record(record, taken, raw, place, diagnostics, visit)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How games are written.
pub(crate) enum GameFormat {
    Pgn(PgnWriteOptions),
    Pgc(PgcWriteOptions),
}

impl GameFormat {
    /// The way that the arguments tell; `None` when the format holds no games.
    pub(crate) fn new(format: FileFormat, args: &GameWriteArgs) -> Option<GameFormat> {
        match format {
            FileFormat::Pgn => Some(GameFormat::Pgn(args.pgn())),
            FileFormat::Pgc => Some(GameFormat::Pgc(args.pgc())),
            _ => None,
        }
    }

    const fn file_format(&self) -> FileFormat {
        match self {
            GameFormat::Pgn(_) => FileFormat::Pgn,
            GameFormat::Pgc(_) => FileFormat::Pgc,
        }
    }

    /// Appends a game; what cannot be said is the reason of a refusal.
    fn append(&self, game: &Game, out: &mut Vec<u8>) -> Result<GameLosses, Diagnostic> {
        match self {
            GameFormat::Pgn(options) => pgn::write(game, options, out)
                .map_err(|error| Diagnostic::error(error.code(), 1, error.to_string())),
            GameFormat::Pgc(options) => pgc::encode(game, options, out)
                .map_err(|error| Diagnostic::error(error.code(), 1, error.to_string())),
        }
    }
}

/// Writes games.
struct GameOutput {
    output: Output,
    format: GameFormat,
    losses: GameLosses,
    bytes: Vec<u8>,
}

impl GameOutput {
    fn new(output: Output, format: GameFormat) -> GameOutput {
        GameOutput { output, format, losses: GameLosses::default(), bytes: Vec::new() }
    }

    /// Writes a game, or tells why it cannot be written.
    fn write(&mut self, game: &Game) -> io::Result<Option<Diagnostic>> {
        self.bytes.clear();
        match self.format.append(game, &mut self.bytes) {
            Ok(losses) => {
                self.losses += losses;
                self.output.write_all(&self.bytes)?;
                Ok(None)
            }
            Err(refusal) => Ok(Some(refusal)),
        }
    }

    /// Completes the output and says what was left out.
    fn finish(self) -> anyhow::Result<()> {
        self.output.finish()?;
        tell_losses(&self.losses);
        Ok(())
    }
}

/// Writes the games of files in another form, or in the same form canonically.
pub(crate) fn convert(
    files: &[PathBuf],
    read: &ReadArgs,
    format: GameFormat,
    output: Option<&Path>,
) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut output = GameOutput::new(open_output_of(output, format.file_format())?, format);
    each(files, read, &mut diagnostics, &mut |game| Ok(output.write(game)?))?;
    output.finish()?;
    diagnostics.finish()
}

/// Writes the games of files in archival order (COL-01), in bounded memory.
pub(crate) fn sort(
    files: &[PathBuf],
    read: &ReadArgs,
    memory: usize,
    format: &GameFormat,
    output: Option<&Path>,
) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut output = open_output_of(output, format.file_format())?;
    let mut sorter = Sorter::new(std::env::temp_dir(), memory);
    let (mut losses, mut bytes) = (GameLosses::default(), Vec::new());
    each(files, read, &mut diagnostics, &mut |game| {
        bytes.clear();
        match format.append(game, &mut bytes) {
            Ok(lost) => losses += lost,
            Err(refusal) => return Ok(Some(refusal)),
        }
        sorter.push(&pgn::collation_key(game), &bytes)?;
        Ok(None)
    })?;
    let mut sorted = sorter.finish()?;
    while let Some((_key, bytes)) = sorted.next_entry()? {
        output.write_all(bytes)?;
    }
    output.finish()?;
    tell_losses(&losses);
    diagnostics.finish()
}

/// Hands all games of files to `visit`; files of positions are refused.
fn each(
    files: &[PathBuf],
    read: &ReadArgs,
    diagnostics: &mut Diagnostics,
    visit: &mut VisitGame<'_>,
) -> anyhow::Result<()> {
    let whole = "games are taken whole here: --positions is for an output of positions";
    anyhow::ensure!(read.form.games.positions.is_none(), whole);
    let mut no_games = |item: Item<'_>| match item {
        Item::Record { .. } | Item::LeftOut(_) => {
            anyhow::bail!("positions are no games: the input must be .pgn or .pgc")
        }
        Item::Rejected(_) | Item::Skipped(_) | Item::Waiting => Ok(true),
    };
    source::read_with_games(files, read, diagnostics, &mut no_games, visit)
}

/// Says what was left out of games.
fn tell_losses(losses: &GameLosses) {
    let GameLosses { tags, comments, nags, variations, escapes } = *losses;
    for (count, what) in [
        (tags, "tag"),
        (comments, "comment"),
        (nags, "NAG"),
        (variations, "variation"),
        (escapes, "% line"),
    ] {
        match count {
            0 => {}
            1 => note!("epdb: 1 {what} left out"),
            _ => note!("epdb: {count} {what}s left out"),
        }
    }
}
