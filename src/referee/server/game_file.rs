//! The file of finished games.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::arbiter::{Arbiter, FinishedGame};
use crate::game_record::to_game;
use crate::pairing::Pairing;
use crate::settings::Tournament;
use epdb_base::new_file::{NewFile, cannot_write};
use epdb_chess::error::{Error, Result};
use epdb_chess::text::pgn::{self, PgnFormatOptions};
use epdb_library::names::{Names, Naming};

/// The PGN file of a tournament: the finished games of its log, in the order of the log.
#[derive(Debug)]
pub(super) struct GameFile {
    path: PathBuf,
    /// Names of openings; empty if the tournament has no files of names.
    names: Names,
}

impl GameFile {
    /// Replaces the file by a file with all games that are over.
    ///
    /// # Errors
    /// The file has games that are not in the log and would be lost, or the file cannot be written.
    pub(super) fn rewrite(tournament: &Tournament, games: &[FinishedGame]) -> Result<GameFile> {
        let mut names = Names::new();
        tournament.eco.iter().try_for_each(|file| names.add_file(file))?;
        let path = tournament.pgn.clone();
        let mut known = KnownGames::open(&path)?;
        let unwritten = |error| cannot_write(&path, error);
        let file = NewFile::create(&path).map_err(unwritten)?;
        let mut out = BufWriter::new(file.file());
        for game in games {
            let text = game_text(tournament, game, &names)?;
            known.check(&text, || format!("game {} is another", game.pairing.game))?;
            out.write_all(&text).map_err(unwritten)?;
        }
        known.check(&[], || format!("it has more than the {} of the log", games.len()))?;
        out.flush().map_err(unwritten)?;
        drop(out);
        file.finish().map_err(unwritten)?;
        Ok(GameFile { path, names })
    }

    /// Appends a game that is over, and syncs the file to the disk.
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

/// The games that a file has already. They must be the first games of the log, because a game is
/// logged before it is added to the file.
struct KnownGames {
    path: PathBuf,
    file: Option<BufReader<File>>,
}

impl KnownGames {
    fn open(path: &Path) -> Result<KnownGames> {
        let file = path.is_file().then(|| File::open(path)).transpose();
        let file = file.map_err(|error| cannot_read(path, error))?.map(BufReader::new);
        Ok(KnownGames { path: path.to_path_buf(), file })
    }

    /// Checks that the rest of the file begins with this text, or that this text begins with the rest of the
    /// file. If the text is empty, the rest must be empty too.
    fn check(&mut self, text: &[u8], how: impl FnOnce() -> String) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut found = Vec::new();
        // One byte shows that the file has more than the empty text.
        let read = file.take(text.len().max(1) as u64).read_to_end(&mut found);
        read.map_err(|error| cannot_read(&self.path, error))?;
        if text.starts_with(&found) {
            return Ok(());
        }
        Err(Error::new(format!(
            "the file has games that the log of the tournament does not have: {}. It stays as it is; move \
             it away, or name another file",
            how()
        ))
        .in_source(self.path.display().to_string()))
    }
}

fn cannot_read(path: &Path, error: io::Error) -> Error {
    Error::new("cannot read the games").because(error).in_source(path.display().to_string())
}

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

/// The score of a match of two players. With more players, only the table shows scores.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Score {
    /// Twice the points, by player.
    halves: [u32; 2],
    games: usize,
}

impl Score {
    pub(super) fn new(games: &[FinishedGame]) -> Score {
        let mut score = Score::default();
        games.iter().for_each(|game| score.add(game));
        score
    }

    pub(super) fn add(&mut self, game: &FinishedGame) {
        let [white, black] = Pairing::half_points(game.outcome.result);
        for (player, halves) in [(game.pairing.white, white), (game.pairing.black, black)] {
            if let Some(sum) = self.halves.get_mut(player) {
                *sum += halves;
            }
        }
        self.games += 1;
    }

    /// A line with the score and the number of games that are over.
    pub(super) fn line(&self, arbiter: &Arbiter) -> String {
        let Tournament { players, .. } = arbiter.tournament();
        let all = arbiter.finished().len() + arbiter.to_come().size_hint().0;
        let played = format!("{} of {all} games", self.games);
        let [one, other] = self.halves.map(|halves| f64::from(halves) / 2.0);
        match players.as_slice() {
            [first, second] => {
                format!("{} {one} - {other} {}, {played}", first.name, second.name)
            }
            _ => played,
        }
    }
}
