//! What is in a book.

use std::collections::HashSet;

use crate::codec::polyglot::{Book, BookMove, Entry};
use crate::model::Color;
use crate::model::rules::Playable;
use crate::source::{KnownPositions, Way};

/// What is in a book.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// All entries.
    pub entries: u64,
    /// The keys among them.
    pub positions: u64,
    /// Positions that moves of the book alone lead to from the start array.
    pub by_book_moves: u64,
    /// Positions that need other moves between.
    pub by_other_moves: u64,
    /// Positions that were found only because they were given.
    pub given: u64,
    /// Positions that were not found.
    pub unknown: u64,
    /// Entries of these.
    pub unknown_entries: u64,
    /// Positions with White to move, of those that were found.
    pub white_to_move: u64,
    /// Entries without a move.
    pub without_move: u64,
    /// Entries whose move is illegal in their position, of those that were found.
    pub illegal: u64,
    /// Entries that say a move of their position again.
    pub repeated: u64,
    /// Entries with a weight of 0.
    pub weight_zero: u64,
    /// The largest weight.
    pub largest_weight: u16,
    /// Entries of a larger weight than the one before them has, in one position.
    pub weights_ascending: u64,
    /// Entries whose learning is not 0.
    pub with_learn: u64,
    /// Entries of a smaller key than the one before them has in the file.
    pub out_of_order: u64,
}

impl Summary {
    /// Counts a book, whose positions were looked for.
    pub fn new(book: &Book, known: &KnownPositions<'_>) -> Summary {
        let mut summary = Summary {
            out_of_order: book.disorder().map_or(0, |disorder| disorder.count),
            ..Summary::default()
        };
        book.positions().for_each(|entries| summary.add_entries(entries));
        for found in known.positions() {
            match found.way {
                Way::BookMoves => summary.by_book_moves += 1,
                Way::OtherMoves => summary.by_other_moves += 1,
                Way::Given => summary.given += 1,
            }
            summary.white_to_move += u64::from(found.position.turn() == Color::White);
            let Ok(playable) = Playable::new(&found.position) else { continue };
            let is_illegal = |entry: &&Entry| {
                entry.mv != BookMove::NONE && entry.mv.legal_in(&playable).is_none()
            };
            summary.illegal += found.entries.iter().filter(is_illegal).count() as u64;
        }
        for entries in known.unknown() {
            summary.unknown += 1;
            summary.unknown_entries += entries.len() as u64;
        }
        summary
    }

    fn add_entries(&mut self, entries: &[Entry]) {
        let count =
            |is: fn(&Entry) -> bool| entries.iter().filter(|entry| is(entry)).count() as u64;
        self.entries += entries.len() as u64;
        self.positions += 1;
        self.without_move += count(|entry| entry.mv == BookMove::NONE);
        self.weight_zero += count(|entry| entry.weight == 0);
        self.with_learn += count(|entry| entry.learn != 0);
        let ascending = entries.windows(2).filter(|pair| pair[0].weight < pair[1].weight);
        self.weights_ascending += ascending.count() as u64;
        let moves: HashSet<BookMove> = entries.iter().map(|entry| entry.mv).collect();
        self.repeated += (entries.len() - moves.len()) as u64;
        let largest = entries.iter().map(|entry| entry.weight).max();
        self.largest_weight = self.largest_weight.max(largest.unwrap_or(0));
    }
}
