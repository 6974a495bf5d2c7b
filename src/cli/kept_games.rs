//! Stored games of sources, copied into a library that is written in one piece.

use std::collections::HashSet;
use std::path::PathBuf;

use epdb::codec::record;
use epdb::error::Result;
use epdb::model::{EpdRecord, GameId, KeptGames, Opcode};
use epdb::source;

/// Stored games of some files. The games that records list are written.
#[derive(Default)]
pub(crate) struct KeptGamesOf {
    /// Files that store games.
    files: Vec<PathBuf>,
    listed: HashSet<GameId>,
}

impl KeptGamesOf {
    /// Finds the files that store games. Only regular files are checked.
    pub(crate) fn new(files: &[PathBuf]) -> Result<KeptGamesOf> {
        let mut keeping = Vec::new();
        for file in files.iter().filter(|file| file.is_file()) {
            if source::library_counts(file)?.kept_games > 0 {
                keeping.push(file.clone());
            }
        }
        Ok(KeptGamesOf { files: keeping, listed: HashSet::new() })
    }

    /// Notes the games that a record lists.
    pub(crate) fn note(&mut self, record: &EpdRecord) {
        if self.files.is_empty() {
            return;
        }
        if let Some(kept) = record.operands(Opcode::KEPT_GAMES).and_then(KeptGames::from_operands) {
            self.listed.extend(kept.games().iter().map(|game| game.id));
        }
    }

    /// Like [`KeptGamesOf::note`], for a record in binary form.
    pub(crate) fn note_encoded(&mut self, record: &[u8]) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        if let Some(kept) = record::kept_games_of(record)? {
            self.listed.extend(kept.games().iter().map(|game| game.id));
        }
        Ok(())
    }

    /// Passes on the listed games, file by file.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.files.iter().try_for_each(|file| {
            source::each_kept_game(file, &mut |id, game| {
                if self.listed.contains(&id) { visit(game) } else { Ok(()) }
            })
        })
    }
}
