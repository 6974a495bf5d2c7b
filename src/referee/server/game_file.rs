//! The file of finished games.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::library::names::{Names, Naming};
use crate::new_file::{NewFile, cannot_write};
use crate::referee::arbiter::FinishedGame;
use crate::referee::game_record::to_game;
use crate::referee::settings::Tournament;
use crate::text::pgn::{self, PgnFormatOptions};

/// The PGN file of a tournament: the finished games of its log, in that order.
#[derive(Debug)]
pub(super) struct GameFile {
    path: PathBuf,
    /// Names of openings, none unless the tournament says where they are.
    names: Names,
}

impl GameFile {
    /// Writes the games that are over, in place of those that there are.
    ///
    /// # Errors
    /// The file has other games than the log, which would be lost, or it cannot be written.
    pub(super) fn rewrite(tournament: &Tournament, games: &[FinishedGame]) -> Result<GameFile> {
        let mut names = Names::new();
        tournament.eco.iter().try_for_each(|file| names.add_file(file))?;
        let path = tournament.pgn.clone();
        if path.is_file() {
            keep_other_games(&path, tournament, games, &names)?;
        }
        let unwritten = |error| cannot_write(&path, error);
        let file = NewFile::create(&path).map_err(unwritten)?;
        let mut out = BufWriter::new(file.file());
        for game in games {
            out.write_all(&game_text(tournament, game, &names)?).map_err(unwritten)?;
        }
        out.flush().map_err(unwritten)?;
        drop(out);
        file.finish().map_err(unwritten)?;
        Ok(GameFile { path, names })
    }

    /// Adds a game that is over and brings it to the disk.
    pub(super) fn add(&self, tournament: &Tournament, game: &FinishedGame) -> Result<()> {
        let text = game_text(tournament, game, &self.names)?;
        let file = OpenOptions::new().append(true).create(true).open(&self.path);
        let written = file.and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_data()
        });
        Ok(written.map_err(|error| cannot_write(&self.path, error))?)
    }
}

/// Refuses where a file is not a beginning of these games: a game is noted in the log before it is
/// added to the file.
fn keep_other_games(
    path: &Path,
    tournament: &Tournament,
    games: &[FinishedGame],
    names: &Names,
) -> Result<()> {
    let unread = |error| cannot_read(path, error);
    let mut file = BufReader::new(File::open(path).map_err(unread)?);
    for game in games {
        let expected = game_text(tournament, game, names)?;
        let mut found = Vec::new();
        file.by_ref().take(expected.len() as u64).read_to_end(&mut found).map_err(unread)?;
        if !expected.starts_with(&found) {
            return Err(other_games(path, &format!("game {} is another", game.pairing.game)));
        }
        if found.len() < expected.len() {
            return Ok(());
        }
    }
    match file.read(&mut [0]).map_err(unread)? {
        0 => Ok(()),
        _ => Err(other_games(path, &format!("it has more than the {} of the log", games.len()))),
    }
}

fn other_games(path: &Path, how: &str) -> Error {
    Error::new(format!(
        "the file has games that the log of the tournament does not have: {how}. It stays as it is; \
         move it away, or name another file"
    ))
    .in_source(path.display().to_string())
}

fn cannot_read(path: &Path, error: io::Error) -> Error {
    Error::new("cannot read the games").because(error).in_source(path.display().to_string())
}

/// A game as it stands in the file.
fn game_text(tournament: &Tournament, game: &FinishedGame, names: &Names) -> Result<Vec<u8>> {
    let FinishedGame { pairing, opening, moves, outcome, reason, date } = game;
    let failed = |error| Error::new(format!("game {}", pairing.game)).because(error);
    let mut game =
        to_game(tournament, pairing, opening, moves, outcome, date, reason).map_err(failed)?;
    if let Some(name) = names.of_game(&game)
        && let Some(named) = Naming::default().name_game(&game, name).map_err(failed)?
    {
        game = named;
    }
    let mut text = Vec::new();
    pgn::format(&game, &PgnFormatOptions::default(), &mut text)
        .map_err(|error| Error::new(format!("game {}", pairing.game)).because(error))?;
    Ok(text)
}
