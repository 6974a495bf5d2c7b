//! Opening books of Polyglot: making, merging and summarizing them.

pub use epdb_source::{BookPosition, BookResolver, FoundBy, KnownPositions};

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use serde::Serialize;

use crate::ordered::changed;
use crate::repertoire::{Node, Repertoire};
use epdb_base::spill::Sorter;
use epdb_chess::codec::item::Cursor;
use epdb_chess::codec::key::polyglot_key;
use epdb_chess::codec::polyglot::{Book, BookMove, Entry};
use epdb_chess::codec::{ordinal, packed, record};
use epdb_chess::error::Result;
use epdb_chess::model::rules::{Playable, after};
use epdb_chess::model::{Color, GameCounts, Position};

/// Selects the moves that a book gets, and their weights.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct MakeOptions {
    /// Minimum number of games in which a move was played.
    pub min_games: u64,
    /// Minimum share of the points of the side to move, 0 to 1.
    pub min_score: f64,
    /// Whether all moves have weight 1.
    pub uniform: bool,
    /// The side to move in the positions of the book; `None` for both sides.
    pub only: Option<Color>,
}

impl Default for MakeOptions {
    /// The defaults of Polyglot: moves that were played in at least three games and scored more
    /// than 0 points.
    fn default() -> MakeOptions {
        MakeOptions { min_games: 3, min_score: 0.0, uniform: false, only: None }
    }
}

/// Makes a book. As in Polyglot, a move gets a weight of two for each game that the side to move
/// won. It gets one for each draw or game without a result. A move of weight 0 is left out. If a
/// weight is over 65535, all weights of the position are scaled down.
///
/// ```
/// use epdb_chess::codec::record;
/// use epdb_library::book::{BookMaker, MakeOptions};
/// let line = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - \
///     tally \"reached 6, e4 +2=1-1, d4 +0=0-2\";";
/// let mut bytes = Vec::new();
/// record::encode(&epdb_chess::parse_epd(line)?, &mut bytes)?;
/// let options = MakeOptions { min_games: 1, ..MakeOptions::default() };
/// let mut maker = BookMaker::new(options, std::env::temp_dir(), 1 << 20);
/// maker.add(&bytes)?;
/// let mut weights = Vec::new();
/// maker.finish(&mut |position| {
///     weights.extend(position.iter().map(|entry| entry.weight));
///     Ok(())
/// })?;
/// assert_eq!(weights, [5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BookMaker {
    options: MakeOptions,
    /// Tallies by key and board.
    tallies: Sorter,
    /// Buffer for the key of a tally.
    key: Vec<u8>,
    without_tally: u64,
}

/// A move of a position, its number of games, and its score in half points.
type Counted<M> = (M, u64, u64);

impl BookMaker {
    /// A maker that uses about `memory_bytes` of memory, and a temporary file in `directory` for
    /// the rest.
    pub fn new(
        options: MakeOptions,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> BookMaker {
        let tallies = Sorter::new(directory, memory_bytes);
        BookMaker { options, tallies, key: Vec::new(), without_tally: 0 }
    }

    /// Adds a record in its binary form. Only a record with a tally contributes moves.
    ///
    /// # Errors
    /// The bytes are not a record, or the temporary file cannot be written.
    pub fn add(&mut self, record: &[u8]) -> Result<()> {
        let Some(tally) = record::tally_bytes(record)? else {
            self.without_tally += 1;
            return Ok(());
        };
        let board = record::board_of(record)?;
        let (position, _) = packed::decode(board)?;
        if self.options.only.is_some_and(|only| only != position.turn()) {
            return Ok(());
        }
        self.key.clear();
        self.key.extend_from_slice(&polyglot_key(&position).to_be_bytes());
        self.key.extend_from_slice(board);
        Ok(self.tallies.push(&self.key, tally)?)
    }

    /// Number of records without a tally.
    pub const fn without_tally(&self) -> u64 {
        self.without_tally
    }

    /// Calls `visit` with the entries of each position, in the order of a book. Returns the number of moves
    /// that were left out because too few games have them.
    ///
    /// # Errors
    /// The temporary file cannot be read; or `visit` fails.
    pub fn finish(self, visit: &mut dyn FnMut(&mut [Entry]) -> Result<()>) -> Result<u64> {
        let options = self.options;
        let mut rare = 0;
        let mut sorted = self.tallies.finish()?;
        let mut last = Vec::new();
        let mut boards = Vec::new();
        while let Some((key, tally)) = sorted.next_entry()? {
            if key != last {
                let (number, board) = key.split_first_chunk().ok_or_else(changed)?;
                let number = u64::from_be_bytes(*number);
                if boards.last().is_some_and(|last: &CountedBoard| last.key != number) {
                    visit(&mut options.entries(&boards, &mut rare))?;
                    boards.clear();
                }
                boards.push(CountedBoard::new(number, board)?);
                last.clear();
                last.extend_from_slice(key);
            }
            boards.last_mut().ok_or_else(changed)?.add(tally)?;
        }
        visit(&mut options.entries(&boards, &mut rare))?;
        Ok(rare)
    }
}

/// A position and the moves played there, by their ordinals.
struct CountedBoard {
    key: u64,
    position: Position,
    moves: Vec<Counted<u8>>,
}

impl CountedBoard {
    fn new(key: u64, board: &[u8]) -> Result<CountedBoard> {
        let (position, _) = packed::decode(board)?;
        Ok(CountedBoard { key, position, moves: Vec::new() })
    }

    fn add(&mut self, tally: &[u8]) -> Result<()> {
        for part in record::take_tally(&mut Cursor::new(tally))? {
            for (ordinal, counts) in part.moves {
                let points = half_points(&counts, &self.position);
                add_move(&mut self.moves, (ordinal, counts.games(), points));
            }
        }
        Ok(())
    }
}

/// The score of the side to move, in half points; a game without a result counts as a draw.
fn half_points(counts: &GameCounts, position: &Position) -> u64 {
    let won = if position.turn() == Color::White { counts.white } else { counts.black };
    2 * won + counts.draws + counts.unknown
}

fn add_move<M: PartialEq>(moves: &mut Vec<Counted<M>>, (mv, games, points): Counted<M>) {
    match moves.iter_mut().find(|(known, ..)| *known == mv) {
        Some((_, all_games, all_points)) => {
            *all_games += games;
            *all_points += points;
        }
        None => moves.push((mv, games, points)),
    }
}

impl MakeOptions {
    /// The entries of the positions that share a key, in the order of a book. Adds the moves with too few
    /// games to `rare`.
    fn entries(&self, boards: &[CountedBoard], rare: &mut u64) -> Vec<Entry> {
        let mut moves: Vec<Counted<u16>> = Vec::new();
        for board in boards {
            // A move is looked up by its ordinal only if it may stay, because few moves do.
            let may_stay = |counted: &&Counted<u8>| boards.len() > 1 || self.takes(counted);
            let mut played = board.moves.iter().filter(may_stay).peekable();
            if played.peek().is_none() {
                continue;
            }
            let Ok(playable) = Playable::new(&board.position) else { continue };
            for &(number, games, points) in played {
                if let Some(mv) = ordinal::move_at(&playable, number.into()) {
                    add_move(&mut moves, (BookMove::from(mv).bits(), games, points));
                }
            }
        }
        *rare += match boards {
            [board] => self.count_rare(&board.moves),
            _ => self.count_rare(&moves),
        };
        moves.retain(|counted| self.takes(counted));
        let largest = moves.iter().map(|(.., points)| *points).max().unwrap_or(0);
        let key = boards.first().map_or(0, |board| board.key);
        let entry = |(bits, _, points)| {
            let weight = if self.uniform { 1 } else { book_weight(points, largest) };
            Entry { key, mv: BookMove::from_bits(bits), weight, learn: 0 }
        };
        let mut entries: Vec<Entry> = moves.into_iter().map(entry).collect();
        entries.sort_by(Entry::book_order);
        entries
    }

    fn count_rare<M>(&self, moves: &[Counted<M>]) -> u64 {
        moves.iter().filter(|(_, games, _)| *games < self.min_games).count() as u64
    }

    /// Whether a move comes into the book.
    fn takes<M>(&self, &(_, games, points): &Counted<M>) -> bool {
        let score = points as f64 / (2 * games.max(1)) as f64;
        games >= self.min_games && points > 0 && score >= self.min_score
    }
}

/// Treatment of a position that is in both books.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Merge {
    /// Takes the entries of the first book only.
    First,
    /// Takes the moves of both books. A move gets the sum of its weights, and the learn value from the first
    /// book that has the move. If a sum is over 65535, all weights of the position are scaled down so that
    /// the largest is 65535 and none becomes 0. The entries are in Polyglot's order.
    Add,
}

/// The merge of two books, with its counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    /// The book.
    pub book: Book,
    /// Positions in both books.
    pub shared: u64,
    /// Positions in both books whose weights were scaled down.
    pub scaled: u64,
}

/// Merges two books. If only one book has a position, its entries keep their order.
///
/// ```
/// use epdb_chess::codec::polyglot::{Book, BookMove, Entry};
/// use epdb_library::book::{Merge, merge};
/// let entry = |weight| Entry { key: 7, mv: BookMove::from_bits(0x31c), weight, learn: 0 };
/// let [first, second] = [40_000, 30_000].map(|weight| Book::from_iter([entry(weight)]));
/// assert_eq!(merge(&first, &second, Merge::First).book, first);
/// assert_eq!(merge(&first, &second, Merge::Add).book.entries()[0].weight, 65_535);
/// ```
pub fn merge(first: &Book, second: &Book, how: Merge) -> Merged {
    let mut entries = Vec::with_capacity(first.entries().len().max(second.entries().len()));
    let mut shared = 0;
    let mut scaled = 0;
    let mut ours = first.positions().peekable();
    let mut theirs = second.positions().peekable();
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

/// Adds the weights of the entries that two books have for a position, and appends the entries to
/// `sum`. Returns whether the weights were scaled down.
fn add(one: &[Entry], other: &[Entry], sum: &mut Vec<Entry>) -> bool {
    let mut moves: Vec<(Entry, u64)> = Vec::with_capacity(one.len() + other.len());
    for entry in one.iter().chain(other) {
        let weight = u64::from(entry.weight);
        match moves.iter_mut().find(|(known, _)| known.mv == entry.mv) {
            Some((_, total)) => *total += weight,
            None => moves.push((*entry, weight)),
        }
    }
    let largest = moves.iter().map(|(_, total)| *total).max().unwrap_or(0);
    let start = sum.len();
    for (entry, total) in moves {
        sum.push(Entry { weight: book_weight(total, largest), ..entry });
    }
    sum[start..].sort_by(Entry::book_order);
    largest > u16::MAX.into()
}

/// A weight as a book can hold it: scaled down if the largest weight of its position is too large for a
/// book. The result is rounded, and is 0 only if the weight is 0.
fn book_weight(weight: u64, largest: u64) -> u16 {
    let limit = u64::from(u16::MAX);
    if largest <= limit {
        return weight as u16;
    }
    ((weight * limit + largest / 2) / largest).max(weight.min(1)) as u16
}

/// The book entries of a repertoire for all positions with this side to move, in the order of a
/// book. The moves are the candidates of the repertoire. The first candidate of a position has
/// weight 2, the others have weight 1; with `uniform`, all have weight 1.
///
/// Polyglot's keys contain en passant squares without a legal capture, so a position may have
/// several keys here.
pub fn repertoire_entries(repertoire: &Repertoire, side: Color, uniform: bool) -> Vec<Entry> {
    let mut entries = Vec::new();
    let own = repertoire.nodes().filter(|node| repertoire.is_turn_of(side, *node));
    let arrivals = keys_of_arrivals(repertoire);
    for node in own {
        let by_itself = BTreeSet::from([polyglot_key(&repertoire.place(node).position)]);
        for &key in arrivals.get(&node).unwrap_or(&by_itself) {
            for (place, branch) in repertoire.candidates(node).enumerate() {
                let weight = if place == 0 && !uniform { 2 } else { 1 };
                entries.push(Entry { key, mv: BookMove::from(branch.mv), weight, learn: 0 });
            }
        }
    }
    entries.sort_by(Entry::book_order);
    entries
}

/// For each position of a repertoire, the keys that Polyglot gives it. A key contains the en
/// passant square even if no capture is legal, so the key depends on the move that leads to the
/// position.
fn keys_of_arrivals(repertoire: &Repertoire) -> BTreeMap<Node, BTreeSet<u64>> {
    let mut keys: BTreeMap<Node, BTreeSet<u64>> = BTreeMap::new();
    for node in repertoire.nodes() {
        let place = repertoire.place(node);
        for branch in &place.branches {
            let key = polyglot_key(&after(&place.position, branch.mv));
            keys.entry(branch.to).or_default().insert(key);
        }
    }
    keys
}

/// Statistics of a book. Their text in JSON is a part of what `epdb book info --json` prints.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Number of entries.
    pub entries: u64,
    /// Number of keys.
    pub positions: u64,
    /// Positions that are reached from the start array by moves of the book only.
    #[serde(rename = "reached_by_book_moves")]
    pub by_book_moves: u64,
    /// Positions that are reached from the start array only if moves outside of the book are played too.
    #[serde(rename = "reached_by_other_moves")]
    pub by_other_moves: u64,
    /// Keys whose position is unknown.
    #[serde(rename = "unknown_positions")]
    pub unknown: u64,
    /// Entries with keys whose position is unknown.
    pub unknown_entries: u64,
    /// Known positions with White to move.
    pub white_to_move: u64,
    /// The largest weight.
    pub largest_weight: u16,
    /// Entries with a weight of 0.
    pub weight_zero: u64,
    /// Entries without a move.
    pub without_move: u64,
    /// Entries of known positions with an illegal move.
    pub illegal: u64,
    /// Entries that repeat a move of their position.
    pub repeated: u64,
    /// Entries with a learn value.
    pub with_learn: u64,
    /// Entries with a smaller key than the previous entry.
    pub out_of_order: u64,
    /// Entries with a larger weight than the previous entry of the same position.
    pub weights_ascending: u64,
}

impl Summary {
    /// Counts the entries of a book. `known` has the results of the search for its positions.
    pub fn new(book: &Book, known: &KnownPositions<'_>) -> Summary {
        let mut summary = Summary {
            out_of_order: book.disorder().map_or(0, |disorder| disorder.count),
            ..Summary::default()
        };
        book.positions().for_each(|entries| summary.add_entries(entries));
        for found in known.positions() {
            match found.found_by {
                FoundBy::BookMoves => summary.by_book_moves += 1,
                FoundBy::OtherMoves => summary.by_other_moves += 1,
                FoundBy::Given => {}
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::codec::polyglot::BookMove;

    fn book(entries: &[(u64, u16, u16, u32)]) -> Book {
        let entry = |&(key, bits, weight, learn): &_| Entry {
            key,
            mv: BookMove::from_bits(bits),
            weight,
            learn,
        };
        entries.iter().map(entry).collect()
    }

    /// The second entry of key 2 is not in Polyglot's order, as happens in books of other programs.
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
