//! Reading of repertoires.

use std::cell::RefCell;
use std::path::PathBuf;

use super::args::{FormArgs, ReadArgs};
use super::diagnostics::Diagnostics;
use super::source::{Reading, Visited};
use super::terminal::note;
use epdb::library::repertoire::Repertoire;
use epdb::model::{Color, Position};
use epdb::text::PositionLine;

/// Reads all lines of games, and the moves of records; of tallies, the moves played in at least
/// `min_games` games. Without a side no move is left out for its mark.
pub(crate) fn read(
    files: &[PathBuf],
    read: &ReadArgs,
    diagnostics: &mut Diagnostics,
    side: Option<Color>,
    min_games: u64,
    memory: usize,
) -> anyhow::Result<Repertoire> {
    let repertoire = RefCell::new(Repertoire::new(memory));
    Reading::of(files, read, diagnostics)
        .visit_games(|game, _| {
            repertoire.borrow_mut().add_game(game, side)?;
            Ok(Visited::Taken)
        })
        .records(|record, _, _| Ok(repertoire.borrow_mut().add_record(&record, min_games)?))?;
    let repertoire = repertoire.into_inner();
    if repertoire.moves_left_out() > 0 {
        note!("epdb: {} moves after null moves left out", repertoire.moves_left_out());
    }
    Ok(repertoire)
}

/// Position of an argument, and the moves that lead to it if the argument gives moves; the start
/// position without an argument.
pub(crate) fn root(text: Option<&str>, form: &FormArgs) -> anyhow::Result<PositionLine> {
    let Some(text) = text else { return Ok(PositionLine::new(Position::START)) };
    let line = PositionLine::parse(text.as_bytes(), &form.options())
        .map_err(|error| anyhow::anyhow!("--root:1:{error}"))?;
    line.ok_or_else(|| anyhow::anyhow!("expected a position, found {text}"))
}
