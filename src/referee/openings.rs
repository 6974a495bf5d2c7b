//! From where games begin.

use super::settings::OpeningsSource;
use crate::error::Result;
use crate::model::Start;
use crate::model::rules::Move;

/// From where a game begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The position before the first move.
    pub start: Start,
    /// The moves that are made for the players.
    pub moves: Vec<Move>,
    /// What it is called, if it has a name.
    pub label: Option<String>,
}

/// Reads as many openings as are wanted, fewer where there are fewer.
///
/// # Errors
/// The source cannot be read, has something that is no position or game, or nothing at all.
pub fn read(source: &OpeningsSource, seed: u64, wanted: usize) -> Result<Vec<Opening>> {
    let _ = (source, seed, wanted);
    todo!("being written")
}
