//! Queries for lookups by position, and selections of records by their positions.

use super::identity::Identity;
use super::key::locality_of;
use super::key::position_key;
use super::packed::{self, PackedBoard};
use crate::model::{EpdRecord, Position, Setup};

/// A position to look for: its packed identity board, and the key by which the board is found.
///
/// Lookups take any value that converts to a query, such as a position. An identity that
/// [`identity::read_fields`](super::identity::read_fields) reads from text converts too, and is
/// many times faster than a position.
///
/// ```
/// use epdb_chess::codec::{identity, key, packed, query::Query};
/// use epdb_chess::model::Position;
/// let line = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
/// let query = Query::from(identity::read_fields(line).expect("a usual line"));
/// assert_eq!(query, Query::from(&Position::START));
/// let (board, key) = (packed::encode(&Position::START), key::position_key(&Position::START));
/// assert_eq!(query, Query::new(board, key));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Query {
    board: PackedBoard,
    key: u64,
}

impl Query {
    /// Makes a query from its parts. The query finds nothing unless the board is that of an
    /// identity ([`Position::identity`]) and the key is its [`position_key`].
    pub const fn new(board: PackedBoard, key: u64) -> Query {
        Query { board, key }
    }

    /// The packed identity board.
    pub const fn board(&self) -> &PackedBoard {
        &self.board
    }

    /// The position key.
    pub const fn key(&self) -> u64 {
        self.key
    }

    /// The locality key. A query that finds nothing may have a key without meaning.
    pub fn locality_key(&self) -> u64 {
        let decoded = packed::decode(self.board.as_bytes());
        decoded.map_or(0, |(position, _)| locality_of(position.board(), self.key))
    }
}

impl From<&Position> for Query {
    fn from(position: &Position) -> Query {
        let identity = position.identity();
        Query { board: packed::encode(&identity), key: position_key(&identity) }
    }
}

impl From<Identity> for Query {
    fn from(Identity { board, key, .. }: Identity) -> Query {
        Query { board, key }
    }
}

impl From<&Query> for Query {
    fn from(query: &Query) -> Query {
        *query
    }
}

/// Tells a lookup of many queries where to continue, if the visitor wants no more records of the
/// current query. It is the value of a [`ControlFlow::Break`](std::ops::ControlFlow::Break).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SkipTo {
    /// The lookup continues at the records of the next query.
    NextQuery,
    /// The lookup ends.
    End,
}

/// A selection of records. Several threads ask it at once.
pub trait Select: Sync {
    /// False if no record with this position is selected. It may be true if some are.
    fn may_take(&self, setup: &Setup) -> bool;

    /// True if a record is selected. `number` is its number in the archive, from 0.
    fn takes(&self, number: u64, record: &EpdRecord) -> bool;
}

/// The selected records of consecutive records.
#[derive(Default, Debug)]
pub struct Selected {
    /// The selected records with their numbers.
    pub records: Vec<(u64, EpdRecord)>,
    /// Number of records that were decoded.
    pub decoded: u64,
    /// Number after the last record that was looked at.
    pub end: u64,
}

impl Selected {
    /// Adds a decoded record if it is selected.
    pub fn put(&mut self, number: u64, record: EpdRecord, select: &dyn Select) {
        self.decoded += 1;
        if select.takes(number, &record) {
            self.records.push((number, record));
        }
    }
}
