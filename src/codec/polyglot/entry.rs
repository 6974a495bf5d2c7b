//! Entries: a move of a position, with its weight.

use std::cmp::{Ordering, Reverse};

use byteorder::{BigEndian, ByteOrder};

use super::book_move::BookMove;

/// The bytes of an entry.
pub const ENTRY_LEN: usize = 16;

/// A move of a position, with its weight.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The [key](crate::codec::key::polyglot_key) of the position.
    pub key: u64,
    /// The move.
    pub mv: BookMove,
    /// How often it is played beside the other moves of the position; 0 means never.
    pub weight: u16,
    /// What an engine has learned, in a form of its own; mostly 0.
    pub learn: u32,
}

impl Entry {
    /// The entry of these bytes; any are taken.
    pub fn of_bytes(bytes: &[u8; ENTRY_LEN]) -> Entry {
        Entry {
            key: BigEndian::read_u64(&bytes[..8]),
            mv: BookMove::from_bits(BigEndian::read_u16(&bytes[8..10])),
            weight: BigEndian::read_u16(&bytes[10..12]),
            learn: BigEndian::read_u32(&bytes[12..]),
        }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> [u8; ENTRY_LEN] {
        let mut bytes = [0; ENTRY_LEN];
        BigEndian::write_u64(&mut bytes[..8], self.key);
        BigEndian::write_u16(&mut bytes[8..10], self.mv.bits());
        BigEndian::write_u16(&mut bytes[10..12], self.weight);
        BigEndian::write_u32(&mut bytes[12..], self.learn);
        bytes
    }

    /// The order of Polyglot's books: by key, then the largest weight first. Of equal weights, which
    /// Polyglot leaves in any order, the move of the smaller bits stands first.
    pub fn book_order(&self, other: &Entry) -> Ordering {
        let rank = |entry: &Entry| (entry.key, Reverse(entry.weight), entry.mv, entry.learn);
        rank(self).cmp(&rank(other))
    }
}
