//! Games that are read as games, and their output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use epdb_chess::codec::pgc::PgcReader;
use epdb_chess::error::{self, Place};
use epdb_chess::model::{EpdRecord, Game};
use epdb_chess::text::Diagnostic;
use epdb_chess::text::pgn::GameLosses;
use epdb_library::sets::Ordered;
use epdb_source::{Encode, FileFormat, GameFormat, Output, Target, TargetOptions};

use super::args::{GameWriteArgs, ReadArgs};
use super::diagnostics::Diagnostics;
use super::obeyed;
use super::outcome::Outcome;
use super::output::{open_output_of, open_target};
use super::places;
use super::source::{Reading, SourceGame, Visited, are_games};
use super::terminal::{many, note};

/// Game format of the arguments; `None` if the output format holds no games.
pub(crate) fn game_format(format: FileFormat, args: &GameWriteArgs) -> Option<GameFormat> {
    match format {
        FileFormat::Pgn => Some(GameFormat::Pgn(args.pgn())),
        FileFormat::Pgc => Some(GameFormat::Pgc(args.pgc())),
        FileFormat::ParquetGames | FileFormat::ParquetLichessGames => {
            Some(GameFormat::Table(format))
        }
        _ => None,
    }
}

pub(crate) struct GameOutput {
    output: Sink,
    format: GameFormat,
    pub(crate) written: u64,
    losses: GameLosses,
    bytes: Vec<u8>,
}

enum Sink {
    /// Takes encoded games.
    Bytes(Output),
    /// Takes games into a table.
    Table(Target),
}

impl GameOutput {
    /// Opens the output; standard output by default.
    pub(crate) fn open(path: Option<&Path>, format: GameFormat) -> anyhow::Result<GameOutput> {
        let output = match &format {
            GameFormat::Table(table) => {
                Sink::Table(open_target(path, *table, &TargetOptions::default())?)
            }
            _ => Sink::Bytes(open_output_of(path, format.file_format())?),
        };
        let (written, losses, bytes) = Default::default();
        Ok(GameOutput { output, format, written, losses, bytes })
    }

    /// Writes a game, or returns the reason why it cannot be written.
    pub(crate) fn write(&mut self, game: &Game) -> anyhow::Result<Visited> {
        let output = match &mut self.output {
            Sink::Bytes(output) => output,
            Sink::Table(target) => {
                target.write_game(game)?;
                self.written += 1;
                return Ok(Visited::Taken);
            }
        };
        self.bytes.clear();
        match self.format.append(game, &mut self.bytes) {
            Ok(losses) => {
                self.written += 1;
                self.losses += losses;
                output.write_all(&self.bytes)?;
                Ok(Visited::Taken)
            }
            Err(refusal) => Ok(Visited::Refused(refusal)),
        }
    }

    /// Writes a game as it was read, or returns the reason why it cannot be written.
    pub(crate) fn write_unchanged(&mut self, read: SourceGame<'_>) -> anyhow::Result<Visited> {
        match read.encoded {
            Some(encoded) => self.write_encoded(encoded).map(|()| Visited::Taken),
            None => self.write(read.game),
        }
    }

    /// Writes a game that [`encode`] prepared.
    pub(crate) fn write_encoded(&mut self, encoded: &[u8]) -> anyhow::Result<()> {
        let (losses, bytes) = split_losses(encoded)?;
        self.written += 1;
        self.losses += losses;
        match &mut self.output {
            Sink::Bytes(output) => Ok(output.write_all(bytes)?),
            Sink::Table(target) => Ok(target.write_game(&decoded(bytes)?)?),
        }
    }

    /// Completes the output and reports the omissions.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if let Sink::Table(target) = &self.output {
            self.losses += target.losses().games;
        }
        places::note_dropped(left_out(&self.losses))?;
        match self.output {
            Sink::Bytes(output) => output.finish()?,
            Sink::Table(target) => drop(target.finish()?),
        }
        report_losses(&self.losses);
        Ok(())
    }
}

/// A game that [`encode`] prepared for a table.
fn decoded(bytes: &[u8]) -> anyhow::Result<Game> {
    let mut reader = PgcReader::new(bytes, bytes.len());
    let read = reader.next_game()?.context("the temporary file of a sort was changed")?;
    Ok(read.game?.clone())
}

/// Appends the counts of the losses of a game, then the encoded game; or returns the reason why the
/// game cannot be written.
fn encode(game: &Game, format: &GameFormat, out: &mut Vec<u8>) -> Result<(), Diagnostic> {
    let start = out.len();
    out.resize(start + LOSSES, 0);
    let GameLosses { tags, comments, nags, variations, escapes, characters } =
        format.append(game, out)?;
    let counts = [tags, comments, nags, variations, escapes, characters];
    for (place, count) in out[start..].chunks_exact_mut(size_of::<u64>()).zip(counts) {
        place.copy_from_slice(&count.to_le_bytes());
    }
    Ok(())
}

/// Appends the bytes of a game as [`encode`] does, unless the thread that read it has encoded it.
pub(crate) fn append(
    read: SourceGame<'_>,
    format: &GameFormat,
    out: &mut Vec<u8>,
) -> Result<(), Diagnostic> {
    match read.encoded {
        Some(encoded) => {
            out.extend_from_slice(encoded);
            Ok(())
        }
        None => encode(read.game, format, out),
    }
}

/// Encodes games on the threads that read them.
pub(crate) struct GameEncode(pub(crate) GameFormat);

impl Encode for GameEncode {
    /// Appends nothing, because sources of records are refused.
    fn encode(&self, _: &EpdRecord, _: &Place, _: &mut Vec<u8>) -> error::Result<()> {
        Ok(())
    }

    /// Encodes the game. A table takes the game itself. A refusal is reported when the game is
    /// encoded again.
    fn encode_game(&self, game: &Game, out: &mut Vec<u8>) -> bool {
        !matches!(self.0, GameFormat::Table(_)) && encode(game, &self.0, out).is_ok()
    }
}

/// Size in bytes of the [`GameLosses`] before an encoded game: six counts.
const LOSSES: usize = 6 * size_of::<u64>();

fn split_losses(encoded: &[u8]) -> anyhow::Result<(GameLosses, &[u8])> {
    let changed = "the temporary file of a sort was changed";
    let (counts, bytes) = encoded.split_at_checked(LOSSES).context(changed)?;
    let mut counts = counts.as_chunks().0.iter().map(|count| u64::from_le_bytes(*count));
    let mut next = || counts.next().unwrap_or_default();
    let losses = GameLosses {
        tags: next(),
        comments: next(),
        nags: next(),
        variations: next(),
        escapes: next(),
        characters: next(),
    };
    Ok((losses, bytes))
}

/// Options for games: whether they are processed as games, and how they are written.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Writing games")]
pub(crate) struct GamesArgs {
    /// Process games as games, as if the output were PGN
    #[arg(long, hide = true)]
    games: bool,
    #[command(flatten)]
    write: GameWriteArgs,
}

impl GamesArgs {
    /// Format of games; `None` if records are written. The output decides or, if its format is not said,
    /// the input.
    pub(crate) fn format(
        &self,
        files: &[PathBuf],
        read: &ReadArgs,
        to: Option<FileFormat>,
    ) -> anyhow::Result<Option<GameFormat>> {
        let to = match to {
            None if self.games || are_games(files, read)? => {
                obeyed::check_written(FileFormat::Pgn)?;
                Some(FileFormat::Pgn)
            }
            to => to,
        };
        let format = to.and_then(|to| game_format(to, &self.write));
        anyhow::ensure!(
            format.is_some() || !self.games,
            "--games writes games: the output must be .pgn, .pgc, or .parquet with --schema games"
        );
        Ok(format)
    }
}

/// Input files, output and format of games.
pub(crate) struct GamePipe<'a> {
    files: &'a [PathBuf],
    read: &'a ReadArgs,
    pub(crate) format: GameFormat,
    output: Option<&'a Path>,
    /// True if the threads that read the games encode them. False if a game is encoded when it is
    /// written.
    encodes_all: bool,
    /// Whether the number of games is reported at the end.
    counts_games: bool,
}

impl<'a> GamePipe<'a> {
    pub(crate) fn new(
        files: &'a [PathBuf],
        read: &'a ReadArgs,
        format: GameFormat,
        output: Option<&'a Path>,
    ) -> GamePipe<'a> {
        GamePipe { files, read, format, output, encodes_all: true, counts_games: false }
    }

    /// The same pipe; at the end, the number of games is reported.
    pub(crate) fn counting(self) -> GamePipe<'a> {
        GamePipe { counts_games: true, ..self }
    }

    /// The same pipe for a command that writes few of the games. If the format can express every
    /// game, a game is encoded only when it is written. Otherwise all games are encoded while they
    /// are read, and a game that the format refuses is found then.
    pub(crate) fn of_few(self) -> GamePipe<'a> {
        GamePipe { encodes_all: !self.format.takes_every_game(), ..self }
    }

    fn reading<'r>(&self, diagnostics: &'r mut Diagnostics) -> Reading<'r>
    where
        'a: 'r,
    {
        let reading = Reading::of(self.files, self.read, diagnostics);
        if self.encodes_all {
            reading.encode(Arc::new(GameEncode(self.format.clone())))
        } else {
            reading
        }
    }

    /// Passes each game to `step` with the output.
    pub(crate) fn run(
        self,
        mut step: impl FnMut(SourceGame<'_>, &mut GameOutput) -> anyhow::Result<Visited>,
    ) -> anyhow::Result<Outcome> {
        let mut diagnostics = Diagnostics::new(&self.read.form)?;
        let mut output = GameOutput::open(self.output, self.format.clone())?;
        self.reading(&mut diagnostics).games(|read| step(read, &mut output))?;
        let read = diagnostics.games_read();
        self.finish(output, read, diagnostics)
    }

    /// Passes each game and its encoded bytes to `collect`, then writes the games of `result`.
    pub(crate) fn collect<T>(
        self,
        mut all: T,
        mut collect: impl FnMut(&mut T, SourceGame<'_>, GameBytes<'_>) -> anyhow::Result<()>,
        result: impl FnOnce(T, &mut Diagnostics) -> anyhow::Result<Ordered>,
    ) -> anyhow::Result<Outcome> {
        let mut diagnostics = Diagnostics::new(&self.read.form)?;
        let mut output = GameOutput::open(self.output, self.format.clone())?;
        let format = &self.format;
        let mut buffer = Vec::new();
        self.reading(&mut diagnostics).games(|read| {
            buffer.clear();
            if self.encodes_all
                && let Err(refusal) = append(read, format, &mut buffer)
            {
                return Ok(Visited::Refused(refusal));
            }
            collect(&mut all, read, GameBytes { read, format, buffer: &mut buffer })?;
            Ok(Visited::Taken)
        })?;
        let read = diagnostics.games_read();
        let mut games = result(all, &mut diagnostics)?;
        while let Some(bytes) = games.next_encoded()? {
            output.write_encoded(bytes)?;
        }
        self.finish(output, read, diagnostics)
    }

    fn finish(
        self,
        output: GameOutput,
        read: u64,
        diagnostics: Diagnostics,
    ) -> anyhow::Result<Outcome> {
        let written = output.written;
        output.finish()?;
        if self.counts_games {
            note_games(written, read);
        }
        diagnostics.finish()
    }
}

/// Reports the number of games that were used, out of those that were read.
pub(crate) fn note_games(used: u64, read: u64) {
    let share = if used == read { String::new() } else { format!("{used} of ") };
    note!("epdb: {share}{}", many(read, "game"));
}

/// The bytes of a game for [`GameOutput::write_encoded`].
pub(crate) struct GameBytes<'g> {
    read: SourceGame<'g>,
    format: &'g GameFormat,
    /// The bytes; empty if the game is not encoded yet.
    buffer: &'g mut Vec<u8>,
}

impl<'g> GameBytes<'g> {
    /// Returns the bytes, and encodes the game before if that was not done yet.
    ///
    /// # Errors
    /// The format cannot express the game.
    pub(crate) fn get(self) -> error::Result<&'g [u8]> {
        if self.buffer.is_empty() {
            append(self.read, self.format, self.buffer)?;
        }
        Ok(self.buffer)
    }
}

pub(crate) fn report_losses(losses: &GameLosses) {
    left_out(losses).iter().for_each(|what| note!("epdb: {what}"));
}

/// The omissions in games, as text.
fn left_out(losses: &GameLosses) -> Vec<String> {
    let GameLosses { tags, comments, nags, variations, escapes, characters } = *losses;
    let counts = [
        (tags, "tag", "left out"),
        (comments, "comment", "left out"),
        (nags, "NAG", "left out"),
        (variations, "variation", "left out"),
        (escapes, "% line", "left out"),
        (characters, "character", "written as ?"),
    ];
    let some = counts.into_iter().filter(|(count, ..)| *count > 0);
    some.map(|(count, what, fate)| format!("{} {fate}", many(count, what))).collect()
}
