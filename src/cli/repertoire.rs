//! Reading of repertoires.

use std::cell::RefCell;
use std::path::PathBuf;

use super::args::ReadArgs;
use super::diagnostics::Diagnostics;
use super::outcome::usage;
use super::source::{Reading, SourceGame, Visited};
use super::terminal::{many, note};
use epdb_chess::error::Place;
use epdb_chess::model::{Color, EpdRecord, Game};
use epdb_library::repertoire::{Chapters, Repertoire, orientation, record_tag};

/// Reads all lines of games, and the moves of records. From tallies it takes the moves played in at
/// least `min_games` games. Marks of bad moves count for the side in `sides`.
pub(crate) fn read(
    files: &[PathBuf],
    read: &ReadArgs,
    diagnostics: &mut Diagnostics,
    sides: &mut Sides,
    min_games: u64,
    memory_bytes: usize,
) -> anyhow::Result<Repertoire> {
    let repertoire = RefCell::new(Repertoire::new(memory_bytes));
    let sides = RefCell::new(sides);
    Reading::of(files, read, diagnostics)
        .visit_games(|SourceGame { game, place, .. }| {
            let side = sides.borrow_mut().of_game(game, place);
            repertoire.borrow_mut().add_game(game, side)?;
            Ok(Visited::Taken)
        })
        .records(|record, place, _| {
            sides.borrow_mut().take_record(&record, place);
            Ok(repertoire.borrow_mut().add_record(&record, min_games)?)
        })?;
    let repertoire = repertoire.into_inner();
    report_null_moves(repertoire.moves_left_out());
    Ok(repertoire)
}

/// Like [`read`], but reads chapters: each game, or the records of each chapter, separately.
pub(crate) fn read_chapters(
    files: &[PathBuf],
    read: &ReadArgs,
    diagnostics: &mut Diagnostics,
    sides: &mut Sides,
    min_games: u64,
    memory_bytes: usize,
) -> anyhow::Result<Chapters> {
    let chapters = RefCell::new(Chapters::new(memory_bytes));
    Reading::of(files, read, diagnostics)
        .visit_games(|SourceGame { game, place, .. }| {
            chapters.borrow_mut().add_game(game, sides.of_game(game, place))?;
            Ok(Visited::Taken)
        })
        .records(|record, _, _| Ok(chapters.borrow_mut().add_record(&record, min_games)?))?;
    let chapters = chapters.into_inner();
    report_null_moves(chapters.all().map(|(_, chapter)| chapter.lines.moves_left_out()).sum());
    Ok(chapters)
}

fn report_null_moves(moves: u64) {
    if moves > 0 {
        note!("epdb: {} after null moves left out", many(moves, "move"));
    }
}

/// The sides of a repertoire: the side that was named, or the sides in `Orientation` tags.
#[derive(Default)]
pub(crate) struct Sides {
    named: Option<Color>,
    /// Whether `Orientation` tags are read.
    reads_tags: bool,
    /// Places of the first games or records for White, for Black, and without the tag.
    firsts: [Option<String>; 3],
}

impl Sides {
    /// No side: marks of bad moves are ignored.
    pub(crate) fn none() -> Sides {
        Sides::default()
    }

    /// The named side, or the side in the `Orientation` tags.
    pub(crate) fn named_or_tagged(named: Option<Color>) -> Sides {
        Sides { named, reads_tags: named.is_none(), ..Sides::default() }
    }

    fn of_game(&mut self, game: &Game, place: &Place) -> Option<Color> {
        if !self.reads_tags {
            return self.named;
        }
        let side = game.tag("Orientation").and_then(orientation);
        self.take(side, place);
        side
    }

    fn take_record(&mut self, record: &EpdRecord, place: &Place) {
        let tag = record_tag(record, "Orientation").filter(|_| self.reads_tags);
        if let Some(side) = tag.and_then(|tag| orientation(&String::from_utf8_lossy(&tag))) {
            self.take(Some(side), place);
        }
    }

    fn take(&mut self, side: Option<Color>, place: &Place) {
        let kind = match side {
            Some(Color::White) => 0,
            Some(Color::Black) => 1,
            None => 2,
        };
        self.firsts[kind].get_or_insert_with(|| place.to_string());
    }

    /// The side of all games.
    ///
    /// # Errors
    /// There is no side, or more than one.
    pub(crate) fn one(&self) -> anyhow::Result<Color> {
        if let Some(side) = self.named {
            return Ok(side);
        }
        let message = match &self.firsts {
            [Some(_), None, None] => return Ok(Color::White),
            [None, Some(_), None] => return Ok(Color::Black),
            [Some(white), Some(black), _] => format!(
                "{white} is for White and {black} is for Black (Orientation tags): name the side, as in --side white, or keep each game with --chapters"
            ),
            [Some(one), None, Some(other)] | [None, Some(one), Some(other)] => format!(
                "{one} has an Orientation tag and {other} has none: name the side, as in --side white"
            ),
            [None, None, _] => {
                "no game has an Orientation tag: name the side that the repertoire is for, as in --side white".into()
            }
        };
        Err(usage(message))
    }
}

/// Reports operations that a repertoire cannot keep.
pub(crate) fn note_other_operations(count: u64) {
    if count > 0 {
        note!("epdb: {} left out", many(count, "other operation"));
    }
}
