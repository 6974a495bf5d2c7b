//! The file of finished games.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::new_file::{NewFile, cannot_write};
use crate::referee::arbiter::FinishedGame;
use crate::referee::game_record::to_game;
use crate::referee::settings::Tournament;
use crate::text::pgn::{self, PgnFormatOptions};

/// The PGN file of a tournament: the finished games of its log, in that order.
#[derive(Debug)]
pub(super) struct GameFile {
    path: PathBuf,
}

impl GameFile {
    /// Writes the games that are over, in place of whatever there is.
    pub(super) fn rewrite(tournament: &Tournament, games: &[FinishedGame]) -> Result<GameFile> {
        let path = tournament.pgn.clone();
        let unwritten = |error| cannot_write(&path, error);
        let file = NewFile::create(&path).map_err(unwritten)?;
        let mut out = BufWriter::new(file.file());
        for game in games {
            out.write_all(&game_text(tournament, game)?).map_err(unwritten)?;
        }
        out.flush().map_err(unwritten)?;
        drop(out);
        file.finish().map_err(unwritten)?;
        Ok(GameFile { path })
    }

    /// Adds a game that is over and brings it to the disk.
    pub(super) fn add(&self, tournament: &Tournament, game: &FinishedGame) -> Result<()> {
        let text = game_text(tournament, game)?;
        let file = OpenOptions::new().append(true).create(true).open(&self.path);
        let written = file.and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_data()
        });
        Ok(written.map_err(|error| cannot_write(&self.path, error))?)
    }
}

/// A game as it stands in the file.
fn game_text(tournament: &Tournament, game: &FinishedGame) -> Result<Vec<u8>> {
    let FinishedGame { pairing, opening, moves, outcome, reason, date } = game;
    let game = to_game(tournament, pairing, opening, moves, outcome, date, reason)
        .map_err(|error| Error::new(format!("game {}", pairing.game)).because(error))?;
    let mut text = Vec::new();
    pgn::format(&game, &PgnFormatOptions::default(), &mut text)
        .map_err(|error| Error::new(format!("game {}", pairing.game)).because(error))?;
    Ok(text)
}
