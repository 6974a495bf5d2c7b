//! A record with what is known about it.

use crate::error::Place;
use crate::model::{EpdRecord, Game, MoveTally};
use crate::text::{FormatOptions, pgn};

/// A record, what is known of where it came from, and how its text is to look.
#[derive(Copy, Clone, Debug)]
pub struct Subject<'a> {
    /// The record.
    pub record: &'a EpdRecord,
    /// The line, or the number of the record, in its source, from 1.
    pub line: u64,
    /// The name of its source.
    pub file: &'a str,
    /// The form of `fen`, `epd` and `record`.
    pub forms: FormatOptions,
    /// The game that the record is a position of.
    pub game: Option<&'a Game>,
    /// One move of its tally, where the subject is that.
    pub move_tally: Option<&'a MoveTally>,
}

impl<'a> Subject<'a> {
    /// A record of which nothing else is known, in canonical form.
    pub fn of(record: &'a EpdRecord) -> Subject<'a> {
        let forms = FormatOptions::default();
        Subject { record, line: 1, file: "-", forms, game: None, move_tally: None }
    }

    /// A record from a place, and the game that it is a position of.
    pub fn new(record: &'a EpdRecord, game: Option<&'a Game>, place: &'a Place) -> Subject<'a> {
        let (line, file) = (place.number(), &*place.source);
        Subject { line, file, game, ..Subject::of(record) }
    }
}

/// The record whose fields are those of a game: the position in which it ends, or where
/// positions are not asked about, the one in which it begins.
pub fn record_of_game(game: &Game, is_asked: bool) -> EpdRecord {
    match is_asked {
        true => pgn::final_position(game),
        false => EpdRecord::new(game.start().position),
    }
}
