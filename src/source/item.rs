//! What sources give.

use std::ops::ControlFlow;

use crate::error::{At, Error, Place, Result};
use crate::model::{EpdRecord, Game};
use crate::text::Diagnostic;

/// What a source gives, as it is handed on while the source is read.
///
/// What a diagnostic is about comes right behind it: the record or game that a warning is about, or
/// what was rejected because of an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A record.
    Record {
        /// The record itself.
        record: EpdRecord,
        /// Where it came from.
        place: &'a Place,
        /// The bytes it was read from: a line with its end, a binary record, a part of the bytes
        /// of a game. Empty where they are nowhere as such, as in an archive.
        raw: &'a [u8],
        /// The game that it is a position of.
        game: Option<&'a Game>,
    },
    /// Records of one line each, without others between them, that were encoded as
    /// [`SourceOptions::encode`](super::SourceOptions::encode) asks.
    Encoded {
        /// What they were encoded as.
        records: EncodedRecords<'a>,
        /// Where the first came from.
        place: &'a Place,
        /// The bytes they were read from, as with [`Item::Record`].
        raw: &'a [u8],
    },
    /// A game that is taken as such.
    Game {
        /// The game itself.
        game: &'a Game,
        /// Where it came from.
        place: &'a Place,
        /// The bytes it was read from.
        raw: &'a [u8],
        /// Whether it ends before a move that cannot be made.
        is_cut_short: bool,
    },
    /// A game that ends before a move that cannot be made, and is taken as its positions: they come
    /// next, with the bytes of the game.
    CutShort {
        /// The bytes of the game, which are those of its positions.
        raw: &'a [u8],
        /// Where it is.
        place: &'a Place,
    },
    /// Something that the filter leaves out.
    LeftOut {
        /// The record; `None` when it is a game.
        record: Option<EpdRecord>,
        /// Where it came from.
        place: &'a Place,
        /// The bytes it was read from, as with [`Item::Record`].
        raw: &'a [u8],
    },
    /// A line or a game that was rejected.
    Rejected {
        /// Its bytes, line end included.
        raw: &'a [u8],
        /// Where it is.
        place: &'a Place,
        /// Whether these are more bytes of the one before: what is over the limit comes in pieces.
        is_more: bool,
        /// Whether it would have been taken as a game.
        is_game: bool,
    },
    /// What is no record.
    Skipped {
        /// Its bytes, line end included.
        raw: &'a [u8],
        /// Whether it is of games: one of which no position is taken, or what follows the last one; else
        /// it is a blank line, a comment, or the header of a table.
        is_game: bool,
        /// Where it is, if it is a comment or a blank line between records: it belongs to the next one.
        aside: Option<&'a Place>,
    },
    /// What was repaired or is doubtful, or why something is rejected.
    Diagnostic {
        /// The finding.
        diagnostic: &'a Diagnostic,
        /// Where: the line, or in a binary source the game.
        place: &'a Place,
    },
    /// Nothing of the source: what comes next has to be waited for, so somebody may be waiting for
    /// what was made of the items before.
    Waiting,
}

/// Encoded records, one behind the other.
#[derive(Copy, Clone, Debug)]
pub struct EncodedRecords<'a> {
    /// Where they begin in these bytes, and where each ends.
    pub(super) bytes: &'a [u8],
    pub(super) start: usize,
    pub(super) ends: &'a [usize],
}

impl<'a> EncodedRecords<'a> {
    /// Records that end at these places of the bytes, which ascend.
    pub const fn new(bytes: &'a [u8], ends: &'a [usize]) -> EncodedRecords<'a> {
        EncodedRecords { bytes, start: 0, ends }
    }

    /// The number of records.
    pub const fn count(&self) -> usize {
        self.ends.len()
    }

    /// The number of bytes of all.
    #[cfg(feature = "library")]
    pub(crate) fn total_len(&self) -> usize {
        self.ends.last().map_or(0, |end| end - self.start)
    }

    /// The bytes of each.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let EncodedRecords { bytes, mut start, ends } = *self;
        ends.iter().map(move |end| &bytes[std::mem::replace(&mut start, *end)..*end])
    }

    /// The same records, so many at a time.
    pub(crate) fn chunks(&self, most: usize) -> impl Iterator<Item = EncodedRecords<'a>> + use<'a> {
        let EncodedRecords { bytes, mut start, ends } = *self;
        ends.chunks(most).map(move |ends| {
            let end = ends.last().copied().unwrap_or(start);
            EncodedRecords { bytes, start: std::mem::replace(&mut start, end), ends }
        })
    }
}

impl Item<'_> {
    /// The bytes of the source that the item was made of; those of all items together are the source.
    pub const fn raw(&self) -> &[u8] {
        match self {
            Item::Record { raw, .. }
            | Item::Encoded { raw, .. }
            | Item::Game { raw, .. }
            | Item::LeftOut { raw, .. }
            | Item::Rejected { raw, .. }
            | Item::Skipped { raw, .. } => raw,
            Item::CutShort { .. } | Item::Diagnostic { .. } | Item::Waiting => &[],
        }
    }
}

/// Takes the items of a source in order; [`ControlFlow::Break`] ends the reading. After a diagnostic
/// reading goes on in any case: the item that the diagnostic is about follows.
pub type VisitItem<'v, E> = dyn FnMut(Item<'_>) -> Result<ControlFlow<()>, E> + 'v;

/// What reading a source found beside its items.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Whoever took the items wanted no more of them.
    pub was_stopped: bool,
    /// Positions of variations that were left out.
    pub variation_positions: u64,
    /// Positions behind null moves that were left out.
    pub null_move_positions: u64,
    /// Games in PGC without a checksum.
    pub unchecked_games: u64,
    /// Evaluations in comments of games that could not be read.
    pub unread_evaluations: u64,
    /// What was found of opening books.
    pub book: BookFindings,
}

impl Summary {
    /// Nothing was found before no more was wanted.
    pub(super) fn stopped() -> Summary {
        Summary { was_stopped: true, ..Summary::default() }
    }

    /// Adds the counts of the next source.
    pub(super) fn add(&mut self, next: &Summary) {
        self.was_stopped = next.was_stopped;
        self.variation_positions += next.variation_positions;
        self.null_move_positions += next.null_move_positions;
        self.unchecked_games += next.unchecked_games;
        self.unread_evaluations += next.unread_evaluations;
        self.book.add(&next.book);
    }
}

/// What was found of opening books beside their positions.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct BookFindings {
    /// Entries whose position is not known.
    pub unknown_entries: u64,
    /// Entries with a move that is not legal in their position.
    pub illegal_entries: u64,
    /// Entries that stand out of order.
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

/// What a source gives, to keep.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OwnedItem {
    /// A record.
    Record {
        /// The record itself.
        record: EpdRecord,
        /// Where it came from.
        place: Place,
    },
    /// A game.
    Game {
        /// The game itself.
        game: Box<Game>,
        /// Where it came from.
        place: Place,
        /// Whether it ends before a move that cannot be made.
        is_cut_short: bool,
    },
    /// A line or a game that was rejected.
    Rejected {
        /// Its bytes, line end included; of what is over the limit only the first.
        raw: Vec<u8>,
        /// Where it is.
        place: Place,
        /// Why; `None` when a warning was reason enough.
        diagnostic: Option<Diagnostic>,
    },
    /// What was repaired or is doubtful in what comes next.
    Warning {
        /// The finding.
        diagnostic: Diagnostic,
        /// Where it is.
        place: Place,
    },
}

impl OwnedItem {
    /// Where it is.
    pub const fn place(&self) -> &Place {
        match self {
            OwnedItem::Record { place, .. }
            | OwnedItem::Game { place, .. }
            | OwnedItem::Rejected { place, .. }
            | OwnedItem::Warning { place, .. } => place,
        }
    }

    /// The record; what was rejected is an error. `None` for games and warnings.
    ///
    /// # Errors
    /// Why a line or a game was rejected.
    pub fn into_record(self) -> Option<Result<EpdRecord>> {
        match self {
            OwnedItem::Record { record, .. } => Some(Ok(record)),
            OwnedItem::Rejected { place, diagnostic: Some(diagnostic), .. } => {
                let at = match place.at {
                    At::Line(line) => At::Column { line, column: diagnostic.column },
                    at => at,
                };
                Some(Err(Error::from(diagnostic).at(Place { at, ..place })))
            }
            OwnedItem::Rejected { place, diagnostic: None, .. } => {
                Some(Err(Error::new("rejected for its warnings").at(place)))
            }
            OwnedItem::Game { .. } | OwnedItem::Warning { .. } => None,
        }
    }
}
