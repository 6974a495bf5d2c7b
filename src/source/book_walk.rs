//! Search for the positions of a book. A book has only the keys of positions. So the search makes
//! moves from the start array, and from positions that the caller offers.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use epdb_chess::codec::key::polyglot_key;
use epdb_chess::codec::polyglot::{Book, BookMove, Entry};
use epdb_chess::model::Position;
use epdb_chess::model::rules::{Move, Playable, after};

/// The search that found a position of a book.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FoundBy {
    /// The position was reached from the start array by moves of the book alone.
    BookMoves,
    /// The position was reached from the start array by moves of the book and by other moves. A move that
    /// is not in the book is made only if it leads to a position of the book. This finds the positions of
    /// a book that has moves for only one side.
    OtherMoves,
    /// The position was offered by the caller, or reached from an offered position.
    Given,
}

/// A position of a book.
#[derive(Copy, Clone, Debug)]
pub struct BookPosition<'b> {
    /// The position.
    pub position: Position,
    /// The search that found the position.
    pub found_by: FoundBy,
    /// The entries of the position, in the order of the book.
    pub entries: &'b [Entry],
}

impl BookPosition<'_> {
    /// Key of the position.
    pub fn key(&self) -> u64 {
        self.entries.first().map_or_else(|| polyglot_key(&self.position), |entry| entry.key)
    }
}

/// Finds the positions of a book.
///
/// ```
/// use epdb_chess::codec::polyglot::{Book, Entry};
/// use epdb_chess::codec::{key::polyglot_key, polyglot::BookMove};
/// use epdb_source::{BookResolver, FoundBy};
/// use epdb_chess::model::{Position, rules::Move};
///
/// let mv: Move = "e2e4".parse()?;
/// let key = polyglot_key(&Position::START);
/// let book: Book = [Entry { key, mv: BookMove::from(mv), weight: 1, learn: 0 }].into_iter().collect();
/// let known = BookResolver::new(&book).finish();
/// assert_eq!(known.positions()[0].found_by, FoundBy::BookMoves);
/// assert_eq!(known.unknown().count(), 0);
/// # Ok::<(), epdb_chess::model::rules::MoveTextError>(())
/// ```
#[derive(Debug)]
pub struct BookResolver<'b> {
    book: &'b Book,
    found: Vec<BookPosition<'b>>,
    /// The keys of the found positions.
    keys: HashSet<u64>,
    /// Positions after a move of the book that are not in the book.
    outside: Vec<Position>,
    outside_keys: HashSet<u64>,
    given: HashMap<u64, Position>,
    /// The keys of `given` in order.
    order: Vec<u64>,
}

/// The positions of a book that were found.
#[derive(Debug)]
pub struct KnownPositions<'b> {
    book: &'b Book,
    found: Vec<BookPosition<'b>>,
    keys: HashSet<u64>,
}

impl<'b> BookResolver<'b> {
    /// Starts with no positions.
    pub fn new(book: &'b Book) -> BookResolver<'b> {
        BookResolver {
            book,
            found: Vec::new(),
            keys: HashSet::new(),
            outside: Vec::new(),
            outside_keys: HashSet::new(),
            given: HashMap::new(),
            order: Vec::new(),
        }
    }

    /// Offers a position that may be in the book.
    pub fn offer(&mut self, position: &Position) {
        let key = polyglot_key(position);
        if !self.given.contains_key(&key) && self.entries_of(key, position).is_some() {
            self.given.insert(key, *position);
            self.order.push(key);
        }
    }

    /// Searches from the start array, then from the offered positions. The order of the result
    /// depends only on the book and on the order of the offers.
    pub fn finish(mut self) -> KnownPositions<'b> {
        self.take(polyglot_key(&Position::START), &Position::START, FoundBy::BookMoves);
        self.follow_book_moves(0, FoundBy::BookMoves);
        self.follow_all_moves(0, 0, FoundBy::OtherMoves);
        let found = self.found.len();
        let outside = self.outside.len();
        for key in std::mem::take(&mut self.order) {
            let position = self.given[&key];
            self.take(key, &position, FoundBy::Given);
        }
        self.follow_book_moves(found, FoundBy::Given);
        self.follow_all_moves(found, outside, FoundBy::Given);
        KnownPositions { book: self.book, found: self.found, keys: self.keys }
    }

    /// Follows moves of the book from the found positions. `from` is the index of the first
    /// position to start from.
    fn follow_book_moves(&mut self, mut from: usize, found_by: FoundBy) {
        while from < self.found.len() {
            let reached: Vec<Vec<Reached>> =
                self.found[from..].par_iter().map(after_book_moves).collect();
            from = self.found.len();
            for Reached { key, position } in reached.into_iter().flatten() {
                self.take(key, &position, found_by);
            }
        }
    }

    /// Follows all moves from the found positions and from the positions outside the book. `found`
    /// and `outside` are the indices of the first position of each kind.
    fn follow_all_moves(&mut self, mut found: usize, mut outside: usize, found_by: FoundBy) {
        while (found, outside) != (self.found.len(), self.outside.len()) {
            let inside = self.found[found..].iter().map(|it| it.position);
            let from: Vec<Position> =
                inside.chain(self.outside[outside..].iter().copied()).collect();
            found = self.found.len();
            outside = self.outside.len();
            let reached: Vec<Vec<Reached>> =
                from.par_iter().map(|position| self.unknown_after(position)).collect();
            for Reached { key, position } in reached.into_iter().flatten() {
                self.take(key, &position, found_by);
            }
            self.follow_book_moves(found, found_by);
        }
    }

    /// The positions of the book that are one move after `position` and were not found before.
    fn unknown_after(&self, position: &Position) -> Vec<Reached> {
        let Ok(playable) = Playable::new(position) else { return Vec::new() };
        let mut reached = Vec::new();
        playable.each_move(|mv| {
            let it = Reached::by(&playable, mv);
            if !self.keys.contains(&it.key) && !self.book.entries_of(it.key).is_empty() {
                reached.push(it);
            }
            true
        });
        reached
    }

    /// Adds a position that is not known yet: to the found positions, or to the positions outside
    /// the book.
    fn take(&mut self, key: u64, position: &Position, found_by: FoundBy) {
        if self.keys.contains(&key) {
            return;
        }
        if let Some(entries) = self.entries_of(key, position) {
            self.keys.insert(key);
            self.found.push(BookPosition { position: *position, found_by, entries });
        } else if self.outside_keys.insert(key) {
            self.outside.push(*position);
        }
    }

    /// The entries of a position. `None` if the book has no entry of the key. `None` also if no
    /// move of the entries is legal, because the key then belongs to another position.
    fn entries_of(&self, key: u64, position: &Position) -> Option<&'b [Entry]> {
        let entries = self.book.entries_of(key);
        if entries.is_empty() {
            return None;
        }
        let playable = Playable::new(position).ok()?;
        let fits =
            |entry: &Entry| entry.mv == BookMove::NONE || entry.mv.legal_in(&playable).is_some();
        entries.iter().any(fits).then_some(entries)
    }
}

/// The position after a move.
struct Reached {
    key: u64,
    position: Position,
}

impl Reached {
    fn by(playable: &Playable, mv: Move) -> Reached {
        let position = after(playable.position(), mv);
        Reached { key: polyglot_key(&position), position }
    }
}

/// The positions after the moves of a position of the book. A move that has several entries is
/// followed only once.
fn after_book_moves(from: &BookPosition<'_>) -> Vec<Reached> {
    let Ok(playable) = Playable::new(&from.position) else { return Vec::new() };
    let mut seen = HashSet::new();
    let moves = from.entries.iter().map(|entry| entry.mv).filter(|&mv| seen.insert(mv));
    moves.filter_map(|mv| mv.legal_in(&playable)).map(|mv| Reached::by(&playable, mv)).collect()
}

impl<'b> KnownPositions<'b> {
    /// The positions in the order in which they were found. Positions that were reached by moves of
    /// the book alone come first, and among these the positions after the fewest moves.
    pub fn positions(&self) -> &[BookPosition<'b>] {
        &self.found
    }

    /// The entries of each key whose position was not found, in ascending order of the keys.
    pub fn unknown(&self) -> impl Iterator<Item = &'b [Entry]> {
        self.book.positions().filter(|entries| !self.keys.contains(&entries[0].key))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::text::{Profile, san};

    fn position(fen: &str) -> Position {
        *epdb_chess::parse_epd(fen.as_bytes()).unwrap().position()
    }

    /// A book with an entry for each marked move, as in `!e4`, of these lines.
    fn book(start: &Position, lines: &[&str]) -> Book {
        let mut entries = Vec::new();
        for line in lines {
            let mut playable = Playable::new(start).unwrap();
            for word in line.split(' ') {
                let text = word.trim_start_matches('!');
                let mv = san::parse(&playable, text.as_bytes(), Profile::Lenient).unwrap().mv;
                if text != word {
                    let key = polyglot_key(playable.position());
                    entries.push(Entry { key, mv: BookMove::from(mv), weight: 1, learn: 0 });
                }
                playable = playable.after(mv);
            }
        }
        entries.into_iter().collect()
    }

    fn ways(known: &KnownPositions<'_>) -> Vec<FoundBy> {
        known.positions().iter().map(|it| it.found_by).collect()
    }

    #[test]
    fn moves_of_the_book_come_first_then_others_then_what_is_given() {
        let book = book(
            &Position::START,
            &[
                "!e4 !c5 !Nf3",
                "d4 !d5 c4 !e6",
                "!e4 e5 Nc3 Nc6 f4 !exf4",
                "!e4 e5 Nc3 Nc6 f4 exf4 !Nf3",
            ],
        );
        let known = BookResolver::new(&book).finish();
        let expected = [[FoundBy::BookMoves; 3].as_slice(), &[FoundBy::OtherMoves; 2]].concat();
        assert_eq!(ways(&known), expected);
        assert_eq!(known.positions()[0].position, Position::START);
        assert_eq!(known.unknown().count(), 2, "the line is left for more than one move");

        let mut walk = BookResolver::new(&book);
        let vienna = "r1bqkbnr/pppp1ppp/2n5/4p3/4PP2/2N5/PPPP2PP/R1BQKBNR b KQkq -";
        walk.offer(&position(vienna));
        walk.offer(&position("4k3/8/8/8/8/8/8/4K3 w - -"));
        let known = walk.finish();
        assert_eq!(ways(&known)[5..], [FoundBy::Given; 2]);
        assert_eq!(known.unknown().count(), 0);
        let keys_fit = |it: &BookPosition<'_>| it.key() == polyglot_key(&it.position);
        assert!(known.positions().iter().all(keys_fit));
    }

    /// The pawn on b5 is pinned, so it may not capture on c6. Polyglot counts the en passant square
    /// nevertheless.
    #[test]
    fn a_neighbour_that_may_not_capture_is_in_the_key() {
        let start = position("8/2p5/8/KP5r/8/8/8/4k3 b - -");
        let book = book(&start, &["!c5 !Ka6"]);
        let mut walk = BookResolver::new(&book);
        walk.offer(&start);
        let known = walk.finish();
        assert_eq!(known.positions()[1].key(), 0x3d66_5cc1_f5da_1059);
        assert_eq!(known.unknown().count(), 0);
    }

    /// A castling right with either rook of the king's side gives the same key, but only one of the
    /// rooks can castle here.
    #[test]
    fn a_position_in_which_no_move_fits_is_another_one() {
        let inner = position("4k3/8/8/8/8/8/8/3K2RR w G -");
        let outer = position("4k3/8/8/8/8/8/8/3K2RR w H -");
        let key = polyglot_key(&inner);
        assert_eq!(key, polyglot_key(&outer));
        let mv = BookMove::from("d1g1".parse::<Move>().unwrap());
        let book: Book = [Entry { key, mv, weight: 1, learn: 0 }].into_iter().collect();
        for (given, is_known) in [(&inner, true), (&outer, false)] {
            let mut walk = BookResolver::new(&book);
            walk.offer(given);
            assert_eq!(walk.finish().positions().len(), usize::from(is_known));
        }
    }

    #[test]
    fn an_entry_that_is_said_many_times_is_one_move() {
        let once = book(&Position::START, &["!e4 !e5"]);
        let many: Book = once.entries().iter().flat_map(|entry| vec![*entry; 10_000]).collect();
        let known = BookResolver::new(&many).finish();
        assert_eq!(ways(&known), [FoundBy::BookMoves; 2]);
        assert_eq!(known.positions()[1].entries.len(), 10_000);
    }
}
