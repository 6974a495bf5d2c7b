//! Items of sources.

use std::ops::ControlFlow;

use epdb_archive::Damage;
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::model::{Color, EpdRecord, Game, Opcode, Setup};
use epdb_chess::text::pgn::GamePosition;
use epdb_chess::text::{Diagnostic, Severity};

/// A filter of records and games. Several threads call it at once.
pub trait Filter: Send + Sync {
    /// True if a record is taken. If the position is from a game, `game` is its place in the game.
    fn takes(&self, record: &EpdRecord, game: Option<GamePosition<'_>>, place: &Place) -> bool;

    /// Whether a game is taken.
    fn takes_game(&self, game: &Game, place: &Place) -> bool;

    /// False if [`Filter::takes_game`] does not look at the place.
    fn needs_place(&self) -> bool {
        true
    }

    /// Checks that the filter can select games, or records.
    ///
    /// # Errors
    /// It cannot, for the reason of the error.
    fn check(&self, of_games: bool) -> Result<()> {
        let _ = of_games;
        Ok(())
    }

    /// True if [`Filter::judge`] can decide about some positions. It is then called before records are
    /// decoded.
    fn judges_positions(&self) -> bool {
        false
    }

    /// True if each record with this position is taken, false if none is. `None` if that depends on the
    /// rest of the record.
    fn judge(&self, setup: &Setup) -> Option<bool> {
        let _ = setup;
        None
    }
}

/// An item of a source.
///
/// A diagnostic comes right before its subject: the record or game with the warning, or the line or
/// game that is rejected.
#[derive(Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A record.
    Record {
        /// The record itself.
        record: EpdRecord,
        /// Place in the source.
        place: &'a Place,
        /// Bytes of the source: a line with its end, a binary record, or a part of the bytes of a
        /// game. Empty for an archive, which has no bytes for a record.
        raw: &'a [u8],
        /// The place of the position in its game, if any.
        game: Option<GamePosition<'a>>,
    },
    /// Records of consecutive lines, encoded by
    /// [`SourceOptions::encode`](super::SourceOptions::encode).
    Encoded {
        /// The encoded records.
        records: EncodedRecords<'a>,
        /// Place of the first record.
        place: &'a Place,
        /// Bytes of the source, as with [`Item::Record`].
        raw: &'a [u8],
    },
    /// A game.
    Game {
        /// The game itself.
        game: &'a Game,
        /// Place in the source.
        place: &'a Place,
        /// Bytes of the source.
        raw: &'a [u8],
        /// Whether the game ends before a move that cannot be made.
        is_cut_short: bool,
        /// Bytes of the game that [`SourceOptions::encode`](super::SourceOptions::encode) made.
        /// `None` if no thread encoded the game while reading.
        encoded: Option<&'a [u8]>,
    },
    /// A game that was cut short before an illegal move or by an open comment or variation. This item occurs only if
    /// positions of games are read. The next items are the positions of the game.
    CutShort {
        /// Bytes of the game. The items of its positions have these bytes too.
        raw: &'a [u8],
        /// Place in the source.
        place: &'a Place,
    },
    /// A record or game that the filter excludes.
    LeftOut {
        /// The record; `None` for a game.
        record: Option<EpdRecord>,
        /// Place in the source.
        place: &'a Place,
        /// Bytes of the source, as with [`Item::Record`].
        raw: &'a [u8],
    },
    /// Records that the filter excludes. Most of them were not decoded, because their positions exclude them.
    LeftOutMany {
        /// Number of records.
        count: u64,
        /// Number of those records that were decoded.
        decoded: u64,
        /// Place in the source of the last one.
        place: &'a Place,
        /// Bytes of the source, as with [`Item::Record`].
        raw: &'a [u8],
    },
    /// A rejected line or game.
    Rejected {
        /// Bytes of the source, line end included.
        raw: &'a [u8],
        /// Place in the source.
        place: &'a Place,
        /// True if this item continues the line or game of the previous item. A line or game that is
        /// longer than the limit is passed in several items.
        is_more: bool,
        /// True if the rejected text is from a source of games.
        is_game: bool,
    },
    /// Bytes without a record.
    Skipped {
        /// Bytes of the source, line end included.
        raw: &'a [u8],
        /// True if the bytes are from games: a game without a selected position, or the text after
        /// the last game. Otherwise the bytes are a blank line, a comment, or the header of a
        /// table.
        is_game: bool,
        /// Place of a comment or blank line between records, which belongs to the next record.
        aside: Option<&'a Place>,
    },
    /// A repair, a doubt, or the reason for a rejection.
    Diagnostic {
        /// The finding.
        diagnostic: &'a Diagnostic,
        /// The line, or the game of a binary source.
        place: &'a Place,
    },
    /// A damaged part of an archive or a stream, if [`SourceOptions::skip_damage`](super::SourceOptions::skip_damage)
    /// is set. Its records are lost.
    Damaged {
        /// The damaged part and its records.
        damage: &'a Damage,
        /// Place of the first lost record.
        place: &'a Place,
    },
    /// The next item may block, so a visitor should now write the records that it has. This item
    /// has no bytes of the source.
    Waiting,
}

/// Encoded records in sequence.
#[derive(Copy, Clone, Debug)]
pub struct EncodedRecords<'a> {
    /// The bytes of all records.
    pub(super) bytes: &'a [u8],
    /// Start of the first record.
    pub(super) start: usize,
    /// End of each record.
    pub(super) ends: &'a [usize],
}

impl<'a> EncodedRecords<'a> {
    /// Records that are stored one after the other from the start of `bytes`. `ends` has the end of
    /// each record, ascending.
    pub const fn new(bytes: &'a [u8], ends: &'a [usize]) -> EncodedRecords<'a> {
        EncodedRecords { bytes, start: 0, ends }
    }

    /// The number of records.
    pub const fn count(&self) -> usize {
        self.ends.len()
    }

    /// Size in bytes of all records.
    pub fn total_len(&self) -> usize {
        self.ends.last().map_or(0, |end| end - self.start)
    }

    /// Bytes of each record.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let EncodedRecords { bytes, mut start, ends } = *self;
        ends.iter().map(move |&end| {
            let record = &bytes[start..end];
            start = end;
            record
        })
    }

    /// The same records, at most `max_records` at a time.
    pub fn chunks(&self, max_records: usize) -> impl Iterator<Item = EncodedRecords<'a>> + use<'a> {
        let EncodedRecords { bytes, mut start, ends } = *self;
        ends.chunks(max_records).map(move |ends| {
            let chunk = EncodedRecords { bytes, start, ends };
            start = ends.last().copied().unwrap_or(start);
            chunk
        })
    }
}

impl Item<'_> {
    /// Bytes of the source for the item; the bytes of all items together are the source.
    pub const fn raw(&self) -> &[u8] {
        match self {
            Item::Record { raw, .. }
            | Item::Encoded { raw, .. }
            | Item::Game { raw, .. }
            | Item::LeftOut { raw, .. }
            | Item::LeftOutMany { raw, .. }
            | Item::Rejected { raw, .. }
            | Item::Skipped { raw, .. } => raw,
            Item::CutShort { .. }
            | Item::Diagnostic { .. }
            | Item::Damaged { .. }
            | Item::Waiting => &[],
        }
    }
}

/// Takes the items of a source in order; [`ControlFlow::Break`] ends the reading. A break after a
/// diagnostic has no effect, because the item that the diagnostic describes follows.
pub type VisitItem<'v, E> = dyn FnMut(Item<'_>) -> Result<ControlFlow<()>, E> + 'v;

/// Counts of a source that its items do not show.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Whether the visitor stopped the reading.
    pub was_stopped: bool,
    /// Positions of variations, which were excluded.
    pub variation_positions: u64,
    /// Positions after null moves, which were excluded.
    pub null_move_positions: u64,
    /// Games in PGC without a checksum.
    pub unchecked_games: u64,
    /// Invalid evaluations in comments of games.
    pub unread_evaluations: u64,
    /// Counts of opening books.
    pub book: BookFindings,
}

impl Summary {
    /// The summary of a source whose visitor stopped at the first item.
    pub(super) fn stopped() -> Summary {
        Summary { was_stopped: true, ..Summary::default() }
    }

    pub(super) fn add(&mut self, next: &Summary) {
        self.was_stopped = next.was_stopped;
        self.variation_positions += next.variation_positions;
        self.null_move_positions += next.null_move_positions;
        self.unchecked_games += next.unchecked_games;
        self.unread_evaluations += next.unread_evaluations;
        self.book.add(&next.book);
    }
}

/// Counts of opening books besides their positions.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct BookFindings {
    /// Entries of unknown positions.
    pub unknown_entries: u64,
    /// Entries with illegal moves.
    pub illegal_entries: u64,
    /// Entries out of order.
    pub disordered_entries: u64,
}

impl BookFindings {
    /// Adds the counts of another book.
    pub fn add(&mut self, other: &BookFindings) {
        self.unknown_entries += other.unknown_entries;
        self.illegal_entries += other.illegal_entries;
        self.disordered_entries += other.disordered_entries;
    }
}

/// An owned item of a source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OwnedItem {
    /// A record.
    Record {
        /// The record itself.
        record: EpdRecord,
        /// Place in the source.
        place: Place,
    },
    /// A game.
    Game {
        /// The game itself.
        game: Box<Game>,
        /// Place in the source.
        place: Place,
        /// Whether the game ends before a move that cannot be made.
        is_cut_short: bool,
    },
    /// A rejected line or game.
    Rejected {
        /// Bytes of the source, line end included; only the first piece of a line or game over the
        /// limit.
        raw: Vec<u8>,
        /// Place in the source.
        place: Place,
        /// The reason for the rejection: an error or, if warnings are denied, the first warning.
        diagnostic: Option<Diagnostic>,
    },
    /// A repair or a doubt about the next item.
    Warning {
        /// The finding.
        diagnostic: Diagnostic,
        /// Place in the source.
        place: Place,
    },
}

impl OwnedItem {
    /// Place in the source.
    pub const fn place(&self) -> &Place {
        match self {
            OwnedItem::Record { place, .. }
            | OwnedItem::Game { place, .. }
            | OwnedItem::Rejected { place, .. }
            | OwnedItem::Warning { place, .. } => place,
        }
    }

    /// The record, or the reason for a rejection. `None` for games and warnings.
    ///
    /// # Errors
    /// The reason why a line or a game was rejected.
    pub fn into_record(self) -> Option<Result<EpdRecord>> {
        match self {
            OwnedItem::Record { record, .. } => Some(Ok(record)),
            OwnedItem::Rejected { place, diagnostic, .. } => {
                Some(Err(rejection(place, diagnostic)))
            }
            OwnedItem::Game { .. } | OwnedItem::Warning { .. } => None,
        }
    }
}

pub(super) fn rejection(place: Place, reason: Option<Diagnostic>) -> Error {
    let Some(diagnostic) = reason else { return Error::new("rejected").at(place) };
    let at = match place.at {
        At::Line(line) => At::Column { line, column: diagnostic.column },
        at => at,
    };
    let is_denied = diagnostic.severity == Severity::Warning;
    let mut error = Error::from(diagnostic);
    if is_denied {
        error = Error::new("rejected because warnings are denied").because(error);
    }
    error.at(Place { at, ..place })
}

/// Numbers the games of positions. A game has the place of its first line, and its positions come in
/// the order of play.
#[derive(Clone, Debug, Default)]
pub struct GameCounter {
    /// The place and the ply of the last position.
    last: Option<(Place, (i128, Color))>,
    games: u64,
}

impl GameCounter {
    /// A counter whose first game has this number.
    pub const fn starting_at(first: u64) -> GameCounter {
        GameCounter { last: None, games: first }
    }

    /// The number of the game of the next position.
    pub fn count(&mut self, record: &EpdRecord, place: &Place) -> u64 {
        let number = record.integer(Opcode::FMVN).unwrap_or(0);
        let ply = (number, record.position().turn());
        match &mut self.last {
            Some((last, before)) if last == place && ply > *before => *before = ply,
            last => {
                *last = Some((place.clone(), ply));
                self.games += 1;
            }
        }
        self.games - 1
    }
}
