//! Books made of two.

use std::cmp::Ordering;

use crate::codec::polyglot::{Book, Entry};

/// What becomes of a position that both books have.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Merge {
    /// It has the entries that the first book gives it, and none of the second's.
    First,
    /// It has the moves of both, each with the sum of its weights and the learning of the first book
    /// that has it. Where a sum is over 65535, all weights of the position are brought down in
    /// proportion, so that the largest is 65535 and none becomes 0. The order is Polyglot's.
    Add,
}

/// A book made of two, and what became of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    /// The book.
    pub book: Book,
    /// Positions that both have.
    pub shared: u64,
    /// Of these, positions whose weights were brought down.
    pub scaled: u64,
}

/// Merges two books. A position that only one has keeps its entries as they are, in their order.
///
/// ```
/// use epdb::codec::polyglot::{Book, BookMove, Entry};
/// use epdb::library::book::{Merge, merge};
/// let entry = |weight| Entry { key: 7, mv: BookMove::from_bits(0x31c), weight, learn: 0 };
/// let [first, second] = [40_000, 30_000].map(|weight| Book::from_iter([entry(weight)]));
/// assert_eq!(merge(&first, &second, Merge::First).book, first);
/// assert_eq!(merge(&first, &second, Merge::Add).book.entries()[0].weight, 65_535);
/// ```
pub fn merge(first: &Book, second: &Book, how: Merge) -> Merged {
    let mut entries = Vec::with_capacity(first.entries().len().max(second.entries().len()));
    let (mut shared, mut scaled) = (0, 0);
    let (mut ours, mut theirs) = (first.positions().peekable(), second.positions().peekable());
    while let (Some(one), Some(other)) = (ours.peek(), theirs.peek()) {
        match one[0].key.cmp(&other[0].key) {
            Ordering::Less => entries.extend(ours.next().into_iter().flatten()),
            Ordering::Greater => entries.extend(theirs.next().into_iter().flatten()),
            Ordering::Equal => {
                shared += 1;
                match how {
                    Merge::First => entries.extend_from_slice(one),
                    Merge::Add => scaled += u64::from(add(one, other, &mut entries)),
                }
                ours.next();
                theirs.next();
            }
        }
    }
    entries.extend(ours.chain(theirs).flatten());
    Merged { book: entries.into_iter().collect(), shared, scaled }
}

/// Appends the sum of the entries of a position, and says whether the weights were brought down.
fn add(one: &[Entry], other: &[Entry], sum: &mut Vec<Entry>) -> bool {
    let mut moves: Vec<(Entry, u64)> = Vec::with_capacity(one.len() + other.len());
    for entry in one.iter().chain(other) {
        let weight = u64::from(entry.weight);
        match moves.iter_mut().find(|(known, _)| known.mv == entry.mv) {
            Some((_, total)) => *total += weight,
            None => moves.push((*entry, weight)),
        }
    }
    let most = moves.iter().map(|(_, total)| *total).max().unwrap_or(0);
    let limit = u64::from(u16::MAX);
    let start = sum.len();
    sum.extend(moves.into_iter().map(|(entry, total)| {
        let scaled = if most > limit { scaled_down(total, most, limit) } else { total };
        Entry { weight: scaled as u16, ..entry }
    }));
    sum[start..].sort_by(Entry::book_order);
    most > limit
}

/// A weight as a share of the limit, to the nearest number; 0 only if it is 0.
pub(super) fn scaled_down(weight: u64, most: u64, limit: u64) -> u64 {
    ((weight * limit + most / 2) / most).max(weight.min(1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::codec::polyglot::BookMove;

    fn book(entries: &[(u64, u16, u16, u32)]) -> Book {
        let entry = |&(key, bits, weight, learn): &_| Entry {
            key,
            mv: BookMove::from_bits(bits),
            weight,
            learn,
        };
        entries.iter().map(entry).collect()
    }

    /// The second entry of key 2 is out of Polyglot's order, as in books of others.
    const FIRST: [(u64, u16, u16, u32); 4] =
        [(1, 10, 5, 0), (2, 20, 1, 9), (2, 10, 3, 0), (5, 10, 0, 0)];
    const SECOND: [(u64, u16, u16, u32); 4] =
        [(2, 20, 4, 8), (2, 30, 3, 7), (3, 10, 1, 0), (9, 10, 1, 0)];

    #[test]
    fn the_first_book_wins_whole_positions() {
        let merged = merge(&book(&FIRST), &book(&SECOND), Merge::First);
        let mut expected = FIRST.to_vec();
        expected.extend(&SECOND[2..]);
        assert_eq!((merged.book, merged.shared, merged.scaled), (book(&expected), 1, 0));
        let first = book(&FIRST);
        assert_eq!(merge(&first, &first, Merge::First).book, first);
        assert_eq!(merge(&first, &Book::default(), Merge::Add).book, first);
        assert_eq!(merge(&Book::default(), &first, Merge::Add).book, first);
    }

    #[test]
    fn weights_are_added_and_ordered() {
        let merged = merge(&book(&FIRST), &book(&SECOND), Merge::Add);
        let expected = [
            (1, 10, 5, 0),
            (2, 20, 5, 9),
            (2, 10, 3, 0),
            (2, 30, 3, 7),
            (3, 10, 1, 0),
            (5, 10, 0, 0),
            (9, 10, 1, 0),
        ];
        assert_eq!((merged.book, merged.shared, merged.scaled), (book(&expected), 1, 0));
    }

    #[test]
    fn sums_over_the_limit_are_brought_down_in_proportion() {
        let first = book(&[(1, 10, 65_535, 0), (1, 20, 65_535, 0), (1, 30, 1, 0), (1, 40, 0, 0)]);
        let second = book(&[(1, 10, 65_535, 0), (1, 50, 32_768, 0)]);
        let merged = merge(&first, &second, Merge::Add);
        let expected = [
            (1, 10, 65_535, 0),
            (1, 20, 32_768, 0),
            (1, 50, 16_384, 0),
            (1, 30, 1, 0),
            (1, 40, 0, 0),
        ];
        assert_eq!((merged.book, merged.scaled), (book(&expected), 1));
        // A move that one book has many times counts each time.
        let many = book(&vec![(1, 10, u16::MAX, 0); 70_000]);
        assert_eq!(merge(&many, &many, Merge::Add).book, book(&[(1, 10, u16::MAX, 0)]));
    }
}
