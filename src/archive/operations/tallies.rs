//! Coding of tallies, which count the games of a position by their next moves. Most positions of a
//! library occur in only one game. The previous record usually has the previous position of the
//! same game. So both records have the same counts, seen from opposite sides.

use std::cmp::Ordering;

use super::cost::cost_of_tally;
use super::lazy_text::Root;
use crate::adaptive::{BitCoder, BitModel, BitModels, IntegerModel, SmallSymbolModel};
use epdb_chess::codec::item::{fold_sign, unfold_sign};
use epdb_chess::codec::ordinal;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{
    Cell, GameCounts, MoveTally, Operand, Ratings, San, Speed, Tally, TallyPart,
};
use epdb_chess::text::san;

/// The moves that lead from the previous row to a record's row, and from there to the next row.
#[derive(Copy, Clone)]
pub(super) struct Relation {
    /// The move that leads from the previous row to this one.
    pub(super) from_last: Option<Move>,
    /// The move that leads from this row to the next one.
    pub(super) to_next: Option<Move>,
}

/// The models of tallies, and the last tally.
#[derive(Clone)]
pub(super) struct TallyModel {
    parts: IntegerModel,
    is_known_cell: BitModel,
    has: [BitModel; 4],
    cell: [IntegerModel; 4],
    moves: IntegerModel,
    beyond: IntegerModel,
    is_next: [BitModel; 2],
    is_rest: [BitModel; 2],
    is_single: BitModel,
    result: SmallSymbolModel,
    counts: [IntegerModel; 4],
    rated: [SmallSymbolModel; 2],
    rated_games: [IntegerModel; 2],
    sums: [IntegerModel; 2],
    are_same_years: BitModel,
    years: SmallSymbolModel,
    first: IntegerModel,
    span: IntegerModel,
    /// Parts of the last tally. Their moves have no SAN.
    last: Vec<TallyPart>,
    /// Buffer for the games in the previous tally that reached the position of the next tally.
    led: Vec<(Cell, GameCounts)>,
    /// The rating by which the next rating is predicted.
    rating: u64,
    /// The year by which the next year is predicted.
    year: u16,
}

/// Initial prediction of ratings.
const RATING: u64 = 2000;
/// Initial prediction of years.
const YEAR: u16 = 2000;

const NONE: u32 = 0;
const ALL: u32 = 1;
const SOME: u32 = 2;

impl TallyModel {
    pub(super) fn new() -> TallyModel {
        let integers = || [IntegerModel::default(), IntegerModel::default()];
        let four = || std::array::from_fn(|_| IntegerModel::default());
        TallyModel {
            parts: IntegerModel::default(),
            is_known_cell: BitModel::default(),
            has: [BitModel::default(); 4],
            cell: four(),
            moves: IntegerModel::default(),
            beyond: IntegerModel::default(),
            is_next: [BitModel::default(); 2],
            is_rest: [BitModel::default(); 2],
            is_single: BitModel::default(),
            result: SmallSymbolModel::default(),
            counts: four(),
            rated: [SmallSymbolModel::default(); 2],
            rated_games: integers(),
            sums: integers(),
            are_same_years: BitModel::default(),
            years: SmallSymbolModel::default(),
            first: IntegerModel::default(),
            span: IntegerModel::default(),
            last: Vec::new(),
            led: Vec::new(),
            rating: RATING,
            year: YEAR,
        }
    }

    pub(super) fn restart(&mut self) {
        self.last.clear();
        (self.rating, self.year) = (RATING, YEAR);
    }

    /// Codes a tally. A decoder gets `None` in place of the parts. The decoder refuses a tally
    /// whose decoding costs more than `max_cost`.
    pub(super) fn code(
        &mut self,
        coder: &mut impl BitCoder,
        root: &Root,
        relation: Relation,
        given: Option<&[TallyPart]>,
        max_cost: usize,
    ) -> Option<&[TallyPart]> {
        let mut parts = std::mem::take(&mut self.last);
        // The games of the last tally that reach this one.
        let mut led = std::mem::take(&mut self.led);
        led.clear();
        if let Some(mv) = relation.from_last {
            led.extend(parts.iter().filter_map(|part| seen_after(part, mv)));
        }
        parts.clear();
        let count = given.map_or(0, |given| given.len().saturating_sub(1));
        let count = self.parts.code(coder, count as u64).checked_add(1)?;
        for nth in 0..usize::try_from(count).ok()? {
            let given = given.and_then(|given| given.get(nth));
            let part = self.part(coder, root, relation, &led, nth, given)?;
            let ascends = parts.last().is_none_or(|last| last.cell < part.cell);
            parts.push(part);
            if !ascends || cost_of_tally(&parts) > max_cost || coder.is_exhausted() {
                return None;
            }
        }
        self.last = parts;
        self.led = led;
        Some(&self.last)
    }

    fn part(
        &mut self,
        coder: &mut impl BitCoder,
        root: &Root,
        relation: Relation,
        led: &[(Cell, GameCounts)],
        nth: usize,
        given: Option<&TallyPart>,
    ) -> Option<TallyPart> {
        let known = led.get(nth).map(|(cell, _)| *cell);
        let is_given = given.is_some_and(|given| Some(given.cell) == known);
        let is_known = known.is_some() && coder.adaptive_bit(is_given, &mut self.is_known_cell);
        let cell = match known {
            Some(cell) if is_known => cell,
            _ => self.cell(coder, given.map_or_else(Cell::default, |given| given.cell))?,
        };
        let led = led.iter().find(|(other, _)| *other == cell).map(|(_, counts)| *counts);
        let given_moves = given.map_or(&[][..], |given| &given.moves);
        let count = self.moves.code(coder, given_moves.len() as u64);
        let mut next = relation.to_next;
        let mut rest = led;
        let mut moves: Vec<MoveTally> = Vec::new();
        for nth in 0..usize::try_from(count).ok()? {
            let (given_move, given_counts) =
                given_moves.get(nth).map(|one| (one.mv, one.counts)).unzip();
            let is_next = next.is_some()
                && coder.adaptive_bit(given_move == next, &mut self.is_next[nth.min(1)]);
            let mv = match next {
                Some(next) if is_next => next,
                _ => code_move(coder, root.get()?, &moves, given_move)?,
            };
            if next == Some(mv) {
                next = None;
            }
            let counts = self.counts(coder, nth, led, rest, given_counts)?;
            rest = rest.and_then(|rest| minus(rest, &counts));
            moves.push(MoveTally { mv, san: San::NONE, counts });
        }
        let games = moves.iter().try_fold(0_u64, |sum, it| sum.checked_add(it.counts.games()))?;
        // A given tally is in order.
        if given.is_none() && !are_in_order(root.get()?, &moves) {
            return None;
        }
        let beyond = given.map_or(0, |given| given.reached as i64 - games as i64);
        let beyond = unfold_sign(self.beyond.code(coder, fold_sign(beyond)));
        let reached = games.checked_add_signed(beyond)?;
        let is_empty = reached == 0 && moves.is_empty();
        (!is_empty).then_some(TallyPart { cell, reached, moves })
    }

    fn cell(&mut self, coder: &mut impl BitCoder, given: Cell) -> Option<Cell> {
        let given = [
            given.year.map(u64::from),
            given.month.map(u64::from),
            given.speed.map(|speed| speed as u64),
            given.rating.map(u64::from),
        ];
        let mut read = [None; 4];
        for (nth, given) in given.into_iter().enumerate() {
            if coder.adaptive_bit(given.is_some(), &mut self.has[nth]) {
                read[nth] = Some(self.cell[nth].code(coder, given.unwrap_or(0)));
            }
        }
        let [year, month, speed, rating] = read;
        let small = |value: Option<u64>| value.map(u16::try_from).transpose().ok();
        let speed = speed.map(|speed| Speed::ALL.get(usize::try_from(speed).ok()?));
        let cell = Cell {
            year: small(year)?,
            month: month.map(u8::try_from).transpose().ok()?,
            speed: match speed {
                None => None,
                Some(speed) => Some(*speed?),
            },
            rating: small(rating)?,
        };
        cell.is_valid().then_some(cell)
    }

    /// Codes the counts of a move. `led` has the counts of the move that led to this position.
    /// `rest` is `led` minus the counts of the moves that were already coded.
    fn counts(
        &mut self,
        coder: &mut impl BitCoder,
        nth: usize,
        led: Option<GameCounts>,
        rest: Option<GameCounts>,
        given: Option<GameCounts>,
    ) -> Option<GameCounts> {
        let given = given.unwrap_or_default();
        let rest = rest.filter(|rest| rest.games() > 0);
        let without_years = |counts: GameCounts| GameCounts { years: None, ..counts };
        let is_given = rest.map(without_years) == Some(without_years(given));
        let is_rest = rest.is_some() && coder.adaptive_bit(is_given, &mut self.is_rest[nth.min(1)]);
        let mut counts = match rest {
            Some(rest) if is_rest => rest,
            _ => self.new_counts(coder, &given)?,
        };
        counts.years = self.years(coder, led.and_then(|led| led.years), given.years)?;
        (counts.is_valid() && counts.games() > 0).then_some(counts)
    }

    fn new_counts(&mut self, coder: &mut impl BitCoder, given: &GameCounts) -> Option<GameCounts> {
        let mut counts = GameCounts::default();
        let results = [given.white, given.draws, given.black, given.unknown];
        let mut read = [0; 4];
        if coder.adaptive_bit(given.games() == 1, &mut self.is_single) {
            let result = results.iter().position(|&count| count > 0).unwrap_or(0);
            let result = self.result.code(coder, result as u32) as usize;
            *read.get_mut(result)? = 1;
        } else {
            for ((read, given), model) in read.iter_mut().zip(results).zip(&mut self.counts) {
                *read = model.code(coder, given);
            }
        }
        [counts.white, counts.draws, counts.black, counts.unknown] = read;
        // Ratings are decoded only if the number of games is valid.
        if !counts.is_valid() {
            return None;
        }
        let games = counts.games();
        counts.elo = self.ratings(coder, 0, self.rating, games, given.elo)?;
        let expected = counts.elo.sum.checked_div(counts.elo.games).unwrap_or(self.rating);
        counts.opponents = self.ratings(coder, 1, expected, games, given.opponents)?;
        self.rating =
            counts.opponents.sum.checked_div(counts.opponents.games).unwrap_or(self.rating);
        Some(counts)
    }

    /// Codes the ratings of a side: 0 for the side to move, 1 for the other. `expected` is the
    /// predicted mean, and `all` the number of games.
    fn ratings(
        &mut self,
        coder: &mut impl BitCoder,
        side: usize,
        expected: u64,
        all: u64,
        given: Ratings,
    ) -> Option<Ratings> {
        let how_many = match given.games {
            0 => NONE,
            games if games == all => ALL,
            _ => SOME,
        };
        let games = match self.rated[side].code(coder, how_many) {
            NONE => return Some(Ratings::default()),
            ALL => all,
            SOME => match self.rated_games[side].code(coder, given.games) {
                0 => return None,
                games => games,
            },
            _ => return None,
        };
        let expected = expected.checked_mul(games).filter(|&sum| i64::try_from(sum).is_ok())?;
        let beyond = fold_sign(given.sum as i64 - expected as i64);
        let beyond = unfold_sign(self.sums[side].code(coder, beyond));
        Some(Ratings { games, sum: expected.checked_add_signed(beyond)? })
    }

    fn years(
        &mut self,
        coder: &mut impl BitCoder,
        led: Option<(u16, u16)>,
        given: Option<(u16, u16)>,
    ) -> Option<Option<(u16, u16)>> {
        if led.is_some() && coder.adaptive_bit(led == given, &mut self.are_same_years) {
            return Some(led);
        }
        let how_many = match given {
            None => NONE,
            Some((first, last)) if first == last => ALL,
            Some(_) => SOME,
        };
        let how_many = self.years.code(coder, how_many);
        if how_many == NONE {
            return Some(None);
        }
        let (first, last) = given.unwrap_or_default();
        let beyond = fold_sign(i64::from(first) - i64::from(self.year));
        let beyond = unfold_sign(self.first.code(coder, beyond));
        let first = u16::try_from(i64::from(self.year).checked_add(beyond)?).ok()?;
        let last = match how_many {
            ALL => first,
            SOME => {
                let span = self.span.code(coder, u64::from(last.saturating_sub(first)));
                let span = u16::try_from(span).ok().filter(|&span| span > 0)?;
                first.checked_add(span)?
            }
            _ => return None,
        };
        self.year = last;
        Some(Some((first, last)))
    }
}

/// Returns the games of a part that continued with a move, from the other side's view. `None` if
/// the part does not have the move.
fn seen_after(part: &TallyPart, mv: Move) -> Option<(Cell, GameCounts)> {
    let counts = part.moves.iter().find(|one| one.mv == mv)?.counts;
    let seen = GameCounts { elo: counts.opponents, opponents: counts.elo, ..counts };
    Some((part.cell, seen))
}

/// True if moves are sorted as in a record: by number of games, then by ordinal.
fn are_in_order(root: &Playable, moves: &[MoveTally]) -> bool {
    moves.is_sorted_by(|one, next| {
        let ordinal = |one: &MoveTally| ordinal::ordinal(root, one.mv);
        match one.counts.games().cmp(&next.counts.games()) {
            Ordering::Equal => ordinal(one) < ordinal(next),
            order => order == Ordering::Greater,
        }
    })
}

/// Codes a legal move that was not counted yet.
fn code_move(
    coder: &mut impl BitCoder,
    root: &Playable,
    counted: &[MoveTally],
    given: Option<Move>,
) -> Option<Move> {
    let ordinal = |mv| ordinal::ordinal(root, mv);
    let mut counted: Vec<u16> = counted.iter().filter_map(|it| ordinal(it.mv)).collect();
    counted.sort_unstable();
    let given = given.and_then(ordinal).unwrap_or(0);
    let before = counted.iter().filter(|&&other| other < given).count();
    let legal = u32::from(ordinal::count(root)).checked_sub(counted.len() as u32)?;
    let place = coder.uniform(u32::from(given) - before as u32, legal)?;
    // Each counted move that is not after this place moves it on by one.
    let mut found = place;
    for other in counted {
        found += u32::from(u32::from(other) <= found);
    }
    ordinal::move_at(root, found as u16)
}

/// The difference of counts, without years.
fn minus(all: GameCounts, part: &GameCounts) -> Option<GameCounts> {
    let ratings = |all: Ratings, part: Ratings| {
        let games = all.games.checked_sub(part.games)?;
        Some(Ratings { games, sum: all.sum.checked_sub(part.sum)? })
    };
    Some(GameCounts {
        white: all.white.checked_sub(part.white)?,
        draws: all.draws.checked_sub(part.draws)?,
        black: all.black.checked_sub(part.black)?,
        unknown: all.unknown.checked_sub(part.unknown)?,
        elo: ratings(all.elo, part.elo)?,
        opponents: ratings(all.opponents, part.opponents)?,
        years: None,
    })
}

/// Makes the operand of a tally, with the SANs of its moves.
pub(super) fn operand(root: &Playable, parts: &[TallyPart]) -> Option<Operand> {
    let mut parts = parts.to_vec();
    for one in parts.iter_mut().flat_map(|part| &mut part.moves) {
        one.san = san::format(root, one.mv);
    }
    Tally::new(parts).map(Operand::tally)
}

impl BitModels for TallyModel {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        self.parts.each_model(visit);
        visit(&mut self.is_known_cell);
        self.has.iter_mut().for_each(&mut *visit);
        self.cell.iter_mut().for_each(|model| model.each_model(visit));
        self.moves.each_model(visit);
        self.beyond.each_model(visit);
        self.is_next.iter_mut().for_each(&mut *visit);
        self.is_rest.iter_mut().for_each(&mut *visit);
        visit(&mut self.is_single);
        self.result.each_model(visit);
        self.counts.iter_mut().for_each(|model| model.each_model(visit));
        for side in 0..2 {
            self.rated[side].each_model(visit);
            self.rated_games[side].each_model(visit);
            self.sums[side].each_model(visit);
        }
        visit(&mut self.are_same_years);
        self.years.each_model(visit);
        self.first.each_model(visit);
        self.span.each_model(visit);
    }
}
