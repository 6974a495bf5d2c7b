//! Exploration of positions in a library: the moves played there with their results, the positions
//! after them, and the positions before.
//!
//! ```
//! use epdb_archive::{Archive, ArchiveWriter, PackOptions};
//! use epdb_library::explore::{ExploreOptions, explore};
//! use epdb_source::Lookup;
//! use epdb_chess::model::Position;
//!
//! let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
//! for line in [
//!     "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - tally \"reached 3, e4 +2=1-0\";",
//!     "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - tally \"reached 5\";",
//! ] {
//!     writer.push(&epdb_chess::parse_epd(line.as_bytes())?)?;
//! }
//! let archive = Archive::from_bytes(writer.finish()?)?;
//! let ask = &mut |queries: &[_]| archive.records(queries, &|_| false);
//! let explored = explore::<epdb_chess::Error>(&Position::START, 1, &ExploreOptions::default(), ask)?;
//! let row = &explored.rows[0];
//! assert_eq!((row.san.to_string(), row.counts.games(), row.reached), ("e4".into(), 3, Some(5)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cells;
pub mod object;
mod parents;

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use rayon::prelude::*;

use epdb_chess::codec::ordinal;
use epdb_chess::codec::query::Query;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::{Move, Playable, after};
use epdb_chess::model::{
    Color, EpdRecord, GameCounts, Opcode, Operand, Operation, Position, San, Tally, TallyPart,
    score,
};
use epdb_chess::text::{Profile, san};
use epdb_source::{COMMENTS, Collection, Lookup};

pub use cells::{CellFilter, YearMonth, YearMonthError, parse_rating_group};
pub use parents::{Predecessor, predecessors};

/// Options of an exploration. The default is all moves of all games, the most played move first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExploreOptions {
    /// The selection of games.
    pub cells: CellFilter,
    /// The order of the moves.
    pub sort: SortBy,
    /// Maximum number of moves of a position.
    pub limit: Option<usize>,
    /// Minimum number of games of a move.
    pub min_games: u64,
    /// Whether to include moves that have no games but lead to positions with records. The operations of the
    /// position after each move are then included too.
    pub children: bool,
}

/// The value by which moves are ordered, the largest first. Moves with the same value are ordered
/// by games, then by weight, then by name. Moves without the value come last.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum SortBy {
    /// Games with the move.
    #[default]
    Games,
    /// The mover's share of the points.
    Score,
    /// Games that White won.
    White,
    /// Drawn games.
    Draws,
    /// Games that Black won.
    Black,
    /// The mean rating of the mover.
    Elo,
    /// The performance rating of the mover.
    Performance,
    /// Games that reached the position after the move.
    Reached,
    /// The evaluation of the position after the move, from the point of view of the mover.
    Ce,
    /// The SAN of the move, in alphabetical order.
    Name,
}

/// The records of a position, combined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// The sum of the tallies.
    pub tally: Option<Tally>,
    /// All operations except tallies and lists of kept games, in the order of the records.
    pub operations: Vec<Operation>,
}

/// An explored position.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The position.
    pub position: Position,
    /// The combined records of the position; `None` without records.
    pub entry: Option<Entry>,
    /// The selected games; `None` without a tally.
    pub games: Option<TallyPart>,
    /// The moves.
    pub rows: Vec<MoveRow>,
    /// Number of moves that have no row because of the limit or the minimum number of games.
    pub left_out: usize,
    /// Number of further rows that the limit allows.
    room: usize,
    /// The sum of the weights of all moves, if the position is from an opening book.
    pub weight: Option<u64>,
}

/// A move of a position.
#[derive(Clone, Debug)]
pub struct MoveRow {
    /// The move.
    pub mv: Move,
    /// The canonical SAN of the move.
    pub san: San,
    /// The games in which the move was played.
    pub counts: GameCounts,
    /// The weight of the move in an opening book.
    pub weight: Option<u64>,
    /// Whether the position after the move has records.
    pub has_child: bool,
    /// The operations of the position after the move, except tallies and lists of kept games. Empty
    /// unless [`ExploreOptions::children`] is set.
    pub operations: Vec<Operation>,
    /// Number of games that reached the position after the move, by any moves; `None` without a
    /// tally.
    pub reached: Option<u64>,
    /// The evaluation of the position after the move, from the point of view of the mover.
    pub ce: Option<i32>,
    /// The moves of the position after the move, if they were requested.
    pub next: Option<Explored>,
    after: Position,
}

/// A position from which a move leads to the explored position.
#[derive(Clone, Debug)]
pub struct ParentRow {
    /// The position.
    pub position: Position,
    /// The move.
    pub mv: Move,
    /// The canonical SAN of the move.
    pub san: San,
    /// The games in which the move was played in this position.
    pub counts: GameCounts,
    /// The weight of the move in an opening book.
    pub weight: Option<u64>,
    /// Number of games that reached the position; `None` without a tally.
    pub reached: Option<u64>,
}

/// A function that returns the records of each position of a request, in order.
pub type Ask<'a, E> = dyn FnMut(&[Query]) -> Result<Vec<Vec<EpdRecord>>, E> + 'a;

/// The positions that [`explore`] may request at depth 1: a position, and the positions after its
/// moves.
pub fn neighbourhood(position: &Position) -> Vec<Query> {
    let mut queries = vec![Query::from(position)];
    if let Ok(playable) = Playable::new(position) {
        let moves = playable.legal_moves().into_iter();
        queries.extend(moves.map(|mv| Query::from(&after(playable.position(), mv))));
    }
    queries
}

/// Receives what [`explore`] reads at depth 1, if the source is at an address. Of several shards, only the one
/// that has the position is asked, because moves that nobody played may lead to others.
pub fn prefetch(source: &Collection, position: &Position) {
    if !source.is_remote() {
        return;
    }
    let mut queries = neighbourhood(position);
    let part = source.part_of(&position.into());
    queries.retain(|query| source.part_of(query) == part);
    source.prefetch(&queries);
}

/// Explores a position, and the positions after its moves up to `depth` plies.
///
/// # Errors
/// `ask` fails, tallies have more games than can be counted, or a property of the selection does
/// not split the tally of the position.
pub fn explore<E: From<Error>>(
    position: &Position,
    depth: u32,
    options: &ExploreOptions,
    ask: &mut Ask<'_, E>,
) -> Result<Explored, E> {
    let records = ask(&[Query::from(position)])?.pop().unwrap_or_default();
    let entry = Entry::from_records(&records)?;
    let tally = entry.as_ref().and_then(|entry| entry.tally.as_ref());
    if let Some(what) = tally.and_then(|tally| options.cells.not_told_apart(tally)) {
        let text = format!("the library does not tell games apart by {what} (`tally --by {what}`)");
        return Err(Error::new(text).into());
    }
    explore_from(position, entry, depth, options, ask)
}

/// Like [`explore`], for a position whose entry is known. Games with an unknown property do not
/// count in a selection.
///
/// # Errors
/// `ask` fails, or tallies have more games than can be counted.
pub fn explore_from<E: From<Error>>(
    position: &Position,
    entry: Option<Entry>,
    depth: u32,
    options: &ExploreOptions,
    ask: &mut Ask<'_, E>,
) -> Result<Explored, E> {
    let mut root = Explored::new(*position, entry, options);
    let mut frontier = vec![&mut root];
    for ply in 0..depth {
        if ply > 0 {
            frontier = next_positions(frontier, options, ask)?;
        }
        ask_for_children(&mut frontier, options, ask)?;
    }
    Ok(root)
}

/// Explores many positions, whose entries are known, at depth 1. With `has_children`, the positions after all
/// their moves are requested together. Otherwise nothing is requested, and rows have neither
/// [`MoveRow::reached`] nor [`MoveRow::ce`].
///
/// # Errors
/// `ask` fails, or tallies have more games than can be counted.
pub fn explore_many<E: From<Error>>(
    positions: Vec<(Position, Option<Entry>)>,
    has_children: bool,
    options: &ExploreOptions,
    ask: &mut Ask<'_, E>,
) -> Result<Vec<Explored>, E> {
    let explored = positions.into_par_iter().map(|(position, entry)| {
        let mut explored = Explored::new(position, entry, options);
        if !has_children {
            explored.select_rows(options);
        }
        explored
    });
    let mut explored: Vec<Explored> = explored.collect();
    if has_children {
        ask_for_children(&mut explored.iter_mut().collect::<Vec<_>>(), options, ask)?;
    }
    Ok(explored)
}

/// For each position, requests the positions after its moves, and selects the moves that get a row.
fn ask_for_children<E: From<Error>>(
    explored: &mut [&mut Explored],
    options: &ExploreOptions,
    ask: &mut Ask<'_, E>,
) -> Result<(), E> {
    // Usually the rows are chosen by the games of their moves. The positions after moves without a
    // row are then not needed.
    let needs_children = options.children || options.sort.is_by_child();
    if !needs_children {
        explored.iter_mut().for_each(|one| one.select_rows(options));
    }
    let rows = explored.iter().flat_map(|one| &one.rows);
    let queries: Vec<Query> = rows.map(|row| Query::from(&row.after)).collect();
    let rows = explored.iter_mut().flat_map(|one| &mut one.rows);
    for (row, records) in rows.zip(&ask(&queries)?) {
        row.set_child(records, options)?;
    }
    if needs_children {
        explored.iter_mut().for_each(|one| one.select_rows(options));
    }
    Ok(())
}

/// For each position, requests the positions after its moves. Skips those without records.
fn next_positions<'e, E: From<Error>>(
    explored: Vec<&'e mut Explored>,
    options: &ExploreOptions,
    ask: &mut Ask<'_, E>,
) -> Result<Vec<&'e mut Explored>, E> {
    let mut rows: Vec<&'e mut MoveRow> =
        explored.into_iter().flat_map(|one| &mut one.rows).collect();
    rows.retain(|row| row.has_child);
    let queries: Vec<Query> = rows.iter().map(|row| Query::from(&row.after)).collect();
    let mut next = Vec::new();
    for (row, records) in rows.into_iter().zip(&ask(&queries)?) {
        let explored = Explored::new(row.after, Entry::from_records(records)?, options);
        next.push(row.next.insert(explored));
    }
    Ok(next)
}

/// Returns the positions of the source from which a legal move leads to `position`, the most played
/// move first. Only these options apply: the selection, `limit` and `min_games`.
///
/// # Errors
/// `ask` fails, or tallies have more games than can be counted.
pub fn parents<E: From<Error>>(
    position: &Position,
    options: &ExploreOptions,
    ask: &mut Ask<'_, E>,
) -> Result<Vec<ParentRow>, E> {
    let mut rows = parents_of(std::slice::from_ref(position), &options.cells, ask)?;
    rows.retain(|row| row.counts.games() >= options.min_games);
    rows.sort_by_cached_key(|row| {
        (Reverse(row.counts.games()), Reverse(row.reached), row.position.to_string(), row.mv)
    });
    rows.truncate(options.limit.unwrap_or(usize::MAX));
    Ok(rows)
}

/// Like [`parents`], for several positions, but without limits and in no order.
pub(super) fn parents_of<E: From<Error>>(
    positions: &[Position],
    cells: &CellFilter,
    ask: &mut Ask<'_, E>,
) -> Result<Vec<ParentRow>, E> {
    let predecessors: Vec<Predecessor> = positions.iter().flat_map(predecessors).collect();
    let queries: Vec<Query> = predecessors.iter().map(|it| Query::from(&it.position)).collect();
    let records = ask(&queries)?;
    let mut rows = Vec::new();
    for (Predecessor { position, mv }, records) in predecessors.into_iter().zip(&records) {
        let Some(entry) = Entry::from_records(records)? else { continue };
        let Ok(playable) = Playable::new(&position) else { continue };
        let san = san::format(&playable, mv);
        let games = entry.games(cells);
        let of_move = games.as_ref().and_then(|games| games.moves.iter().find(|one| one.mv == mv));
        let counts = of_move.map(|one| one.counts).unwrap_or_default();
        let reached = games.map(|games| games.reached);
        let weight = entry.weights(&playable).iter().find(|(of, _)| *of == mv).map(|(_, it)| *it);
        rows.push(ParentRow { position, mv, san, counts, weight, reached });
    }
    Ok(rows)
}

/// The performance rating of a player: the mean rating of the opponents, plus 400 · log10(score /
/// (1 - score)), but at most 800 above or below. The score is the share of the points that the
/// mover made in all games with a known result.
pub fn performance(counts: &GameCounts, mover: Color) -> Option<f64> {
    let score = score_of(counts, mover)?;
    let opponents = counts.opponents.mean()?;
    Some(opponents + (400.0 * (score / (1.0 - score)).log10()).clamp(-800.0, 800.0))
}

/// The share of the points that a side scored, 0 to 1; `None` without a known result.
pub fn score_of(counts: &GameCounts, side: Color) -> Option<f64> {
    let white = counts.score_of_white()?;
    Some(if side == Color::White { white } else { 1.0 - white })
}

impl Entry {
    /// The entry of the records of one position; `None` if there are none.
    ///
    /// # Errors
    /// The tallies have more games than can be counted.
    pub fn from_records(records: &[EpdRecord]) -> Result<Option<Entry>> {
        let mut entry = Entry::default();
        for operation in records.iter().flat_map(EpdRecord::operations) {
            let tally = match operation.opcode {
                Opcode::TALLY => Tally::from_operands(&operation.operands),
                _ => None,
            };
            let Some(tally) = tally else {
                // `crate::kept_games` lists the kept games. `TALLY_LESS` has games that a delta takes off its
                // base: they are not games of the delta, and a base and its delta have none left.
                if ![Opcode::KEPT_GAMES, Opcode::TALLY_LESS].contains(&operation.opcode) {
                    entry.operations.push(operation.clone());
                }
                continue;
            };
            match &mut entry.tally {
                Some(sum) => sum.add(tally).map_err(|error| Error::new(error.to_string()))?,
                None => entry.tally = Some(tally.clone()),
            }
        }
        Ok(if records.is_empty() { None } else { Some(entry) })
    }

    /// The moves of an opening book with their weights, from the comments of a record without
    /// tally: `c0 "e4 120, d4 80 learn 3";`. Empty if the comments have another form.
    fn weights(&self, playable: &Playable) -> Vec<(Move, u64)> {
        if self.tally.is_some() {
            return Vec::new();
        }
        let comments = self.operations.iter().filter(|it| COMMENTS.contains(&it.opcode));
        let texts = comments.flat_map(|comment| &comment.operands).map(Operand::text);
        let all = String::from_utf8(texts.collect::<Vec<Vec<u8>>>().join(&b", "[..]));
        let all = all.unwrap_or_default();
        let weight = |entry: &str| {
            let (name, weight) = entry.split_once(' ')?;
            let weight = weight.split_once(" learn ").map_or(weight, |(weight, _)| weight);
            let read = san::parse(playable, name.as_bytes(), Profile::Strict).ok()?;
            Some((read.mv, weight.parse().ok()?))
        };
        all.split(", ").map(weight).collect::<Option<_>>().unwrap_or_default()
    }

    /// The games of a selection; `None` without a tally.
    pub fn games(&self, cells: &CellFilter) -> Option<TallyPart> {
        self.tally.as_ref().map(|tally| tally.total_of(|cell| cells.takes(cell)))
    }
}

impl Explored {
    /// The sum of the counts of all moves.
    pub fn counts(&self) -> GameCounts {
        self.games.as_ref().map(TallyPart::counts).unwrap_or_default()
    }

    /// A position with all its moves, before the positions after the moves are requested.
    fn new(position: Position, entry: Option<Entry>, options: &ExploreOptions) -> Explored {
        let games = entry.as_ref().and_then(|entry| entry.games(&options.cells));
        let mut rows = Vec::new();
        let mut weights = Vec::new();
        if let Ok(playable) = Playable::new(&position) {
            weights = entry.as_ref().map(|entry| entry.weights(&playable)).unwrap_or_default();
            let weight_of = |mv| weights.iter().find(|(of, _)| *of == mv).map(|(_, it)| *it);
            let played = games.iter().flat_map(|games| &games.moves);
            let played = played.map(|one| (one.mv, one.counts));
            let counts: Vec<(Move, GameCounts)> = if options.children {
                let played: HashMap<Move, GameCounts> = played.collect();
                let counts = |mv| played.get(&mv).copied().unwrap_or_default();
                ordinal::list(&playable).into_iter().map(|mv| (mv, counts(mv))).collect()
            } else {
                let weighted = weights.iter().map(|(mv, _)| (*mv, GameCounts::default()));
                played.chain(weighted).filter(|(mv, _)| playable.is_legal(*mv)).collect()
            };
            rows.extend(counts.into_iter().map(|(mv, counts)| {
                let after = after(playable.position(), mv);
                let row = MoveRow::new(mv, san::format(&playable, mv), counts, after);
                MoveRow { weight: weight_of(mv), ..row }
            }));
        }
        let weight = weights.iter().map(|(_, weight)| *weight).reduce(u64::saturating_add);
        Explored { position, entry, games, rows, left_out: 0, room: usize::MAX, weight }
    }

    /// Removes the rows that the options exclude, and sorts the others.
    fn select_rows(&mut self, options: &ExploreOptions) {
        let mover = self.position.turn();
        let rows = &mut self.rows;
        rows.retain(|row| row.counts.games() > 0 || row.weight.is_some() || row.has_child);
        let known = rows.len();
        rows.retain(|row| row.counts.games() >= options.min_games);
        rows.sort_by(|one, other| options.sort.compare(one, other, mover));
        rows.truncate(options.limit.unwrap_or(usize::MAX));
        self.left_out = known - rows.len();
        self.room = options.limit.map_or(usize::MAX, |limit| limit - rows.len());
    }
}

impl Explored {
    /// The row of a move.
    pub fn row(&self, mv: Move) -> Option<&MoveRow> {
        self.rows.iter().find(|row| row.mv == mv)
    }

    /// `other` is the same position in another library. Returns its rows of moves that have no row here
    /// and were not played in the selected games. The rows of both libraries together do not exceed the
    /// limit.
    pub fn rows_only_in<'o>(&self, other: &'o Explored) -> impl Iterator<Item = &'o MoveRow> {
        let is_played = |san| {
            let mut played = self.games.iter().flat_map(|games| &games.moves);
            played.any(|own| own.san == san)
        };
        let is_other = move |row: &&MoveRow| self.row(row.mv).is_none() && !is_played(row.san);
        other.rows.iter().filter(is_other).take(self.room)
    }
}

impl MoveRow {
    /// The position after the move.
    pub const fn leads_to(&self) -> &Position {
        &self.after
    }

    fn new(mv: Move, san: San, counts: GameCounts, after: Position) -> MoveRow {
        MoveRow {
            mv,
            san,
            counts,
            weight: None,
            has_child: false,
            operations: Vec::new(),
            reached: None,
            ce: None,
            next: None,
            after,
        }
    }

    /// Adds the records of the position after the move.
    fn set_child(&mut self, records: &[EpdRecord], options: &ExploreOptions) -> Result<()> {
        self.has_child = !records.is_empty();
        if options.children {
            self.operations =
                Entry::from_records(records)?.map(|entry| entry.operations).unwrap_or_default();
        }
        let with_opcode = |opcode| {
            let operations = records.iter().flat_map(EpdRecord::operations);
            operations.filter(move |operation| operation.opcode == opcode)
        };
        let tallies =
            with_opcode(Opcode::TALLY).filter_map(|it| Tally::from_operands(&it.operands));
        let reached = tallies.map(|tally| {
            let parts = tally.parts().iter().filter(|part| options.cells.takes(&part.cell));
            parts.fold(0, |sum: u64, part| sum.saturating_add(part.reached))
        });
        self.reached = reached.reduce(u64::saturating_add);
        self.ce = with_opcode(Opcode::CE).next().and_then(|ce| match ce.operands.first()? {
            Operand::Integer(ce) => score::child_to_parent(i32::try_from(*ce).ok()?).ok()?,
            _ => None,
        });
        Ok(())
    }
}

impl SortBy {
    /// Whether the order depends on the records of the positions after the moves.
    pub(crate) const fn is_by_child(self) -> bool {
        matches!(self, SortBy::Reached | SortBy::Ce)
    }

    fn compare(self, one: &MoveRow, other: &MoveRow, mover: Color) -> Ordering {
        let by_name = one.san.cmp(&other.san);
        let value = |row: &MoveRow| -> Option<f64> {
            let MoveRow { counts, .. } = row;
            match self {
                SortBy::Games | SortBy::Name => None,
                SortBy::Score => score_of(counts, mover),
                SortBy::White => Some(counts.white as f64),
                SortBy::Draws => Some(counts.draws as f64),
                SortBy::Black => Some(counts.black as f64),
                SortBy::Elo => counts.elo.mean(),
                SortBy::Performance => performance(counts, mover),
                SortBy::Reached => row.reached.map(|reached| reached as f64),
                SortBy::Ce => row.ce.map(f64::from),
            }
        };
        let key = |row: &MoveRow| value(row).unwrap_or(f64::NEG_INFINITY);
        let by_games = other.counts.games().cmp(&one.counts.games());
        let by_games = by_games.then(other.weight.cmp(&one.weight));
        match self {
            SortBy::Name => by_name,
            _ => key(other).total_cmp(&key(one)).then(by_games).then(by_name),
        }
    }
}
