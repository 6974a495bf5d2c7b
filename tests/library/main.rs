//! Collections of positions: sets, edits, registers, repertoires, libraries.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod backsolve;
mod census;
mod kept_games;
mod kit;
mod publish;
mod registers;
mod repertoire;
mod run_file;
mod same_game;
#[path = "../support/shared_data.rs"]
mod shared_data;
#[path = "../support/skipped.rs"]
mod skipped;

use epdb_chess::model::Game;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

/// The games of a text, all of which are good.
fn games(pgn: &str) -> Vec<Game> {
    let mut reader = GameReader::new(pgn.as_bytes(), PgnReadOptions::default());
    let mut games = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        games.push(read.game.unwrap().clone());
    }
    games
}
