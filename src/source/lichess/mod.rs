//! What lichess publishes beside games: evaluated positions and puzzles, one a line. What becomes of
//! their parts is said in `formats/sources.md`.

pub(super) mod evaluation;
mod part;
pub(super) mod puzzle;
