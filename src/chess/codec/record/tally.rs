//! Encoding and decoding of tallies: the short form of the operand of `tally`.

use std::cell::LazyCell;

use super::super::error::{DecodeError, DecodeErrorKind};
use super::super::item::{Cursor, fold_sign, unfold_sign};
use super::super::ordinal;
use super::operands::Moves;
use crate::model::rules::Move;
use crate::model::rules::Playable;
use crate::model::{
    Cell, GameCounts, MAX_GAMES, MoveTally, Opcode, Operand, Ratings, San, Speed, Tally, TallyPart,
};
use crate::text::{epd, san};

/// A part of a tally whose moves are given by their ordinals, as [`put_tally`] writes it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OrdinalTally {
    /// The group of the games that are counted.
    pub cell: Cell,
    /// Number of games that reached the position.
    pub reached: u64,
    /// The move ordinals with their counts. The most played move is first; equally often played
    /// moves are in ascending order.
    pub moves: Vec<(u8, GameCounts)>,
}

/// Bit of the first byte of a part: the cell has a year. The next constants are its other bits.
const YEAR: u8 = 1;
const MONTH: u8 = 2;
const SPEED: u8 = 4;
const RATING: u8 = 8;
const MORE_PARTS: u8 = 16;
const MOVES_SHIFT: u32 = 5;
/// A part with at least this number of moves also has a second number: the number of its moves
/// minus this constant.
const MANY_MOVES: usize = 7;

/// Values of the low two bits of a move's byte: the result of a single game, or that four counts
/// follow.
const WHITE_WON: u8 = 0;
const DRAW: u8 = 1;
const BLACK_WON: u8 = 2;
const FOUR_COUNTS: u8 = 3;
const ELO_SHIFT: u32 = 2;
const OPPONENTS_SHIFT: u32 = 4;
const YEARS_SHIFT: u32 = 6;
/// Value of a two-bit field that codes the number of rated players: 0. [`ALL`] means the number of
/// all games, and [`SOME`] means that the number follows. The field of the years has the same
/// values: no years, a single year, or a first year and a difference to the last one.
const NONE: u8 = 0;
const ALL: u8 = 1;
const SOME: u8 = 2;

/// Years are coded as differences from this year.
const EPOCH: i64 = 2000;

/// Appends the operand of `tally` in its short form. The cells of the parts must ascend.
pub fn put_tally<'p>(parts: impl IntoIterator<Item = &'p OrdinalTally>, out: &mut Vec<u8>) {
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        put_part(part, parts.peek().is_some(), out);
    }
}

fn put_part(part: &OrdinalTally, has_more: bool, out: &mut Vec<u8>) {
    let OrdinalTally { cell, reached, moves } = part;
    let games: u64 = moves.iter().map(|(_, counts)| counts.games()).sum();
    put_head(cell, moves.len(), *reached as i64 - games as i64, has_more, out);
    for (ordinal, counts) in moves {
        out.push(*ordinal);
        put_counts(counts, out);
    }
}

/// Appends a tally with a single part, in which at most one game played a move. `played` has the
/// ordinal of the move and its counts, as [`put_counts`] appends them for that game.
pub fn put_one_game(cell: &Cell, reached: u64, played: Option<(u8, &[u8])>, out: &mut Vec<u8>) {
    let games = usize::from(played.is_some());
    let has_more = false;
    put_head(cell, games, reached as i64 - games as i64, has_more, out);
    if let Some((ordinal, counts)) = played {
        out.push(ordinal);
        out.extend_from_slice(counts);
    }
}

/// Appends the data before the moves of a part. `beyond` is a difference: the games that reached
/// the position, minus the games in which a move was played there.
fn put_head(cell: &Cell, moves: usize, beyond: i64, has_more: bool, out: &mut Vec<u8>) {
    let bit_if = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    out.push(
        bit_if(cell.year.is_some(), YEAR)
            | bit_if(cell.month.is_some(), MONTH)
            | bit_if(cell.speed.is_some(), SPEED)
            | bit_if(cell.rating.is_some(), RATING)
            | bit_if(has_more, MORE_PARTS)
            | (moves.min(MANY_MOVES) as u8) << MOVES_SHIFT,
    );
    if let Some(year) = cell.year {
        put_year(year, out);
    }
    out.extend(cell.month);
    out.extend(cell.speed.map(|speed| speed as u8));
    if let Some(rating) = cell.rating {
        put_number(rating.into(), out);
    }
    if let Some(more) = moves.checked_sub(MANY_MOVES) {
        put_number(more as u64, out);
    }
    put_signed(beyond, out);
}

/// Appends the counts of a move.
pub fn put_counts(counts: &GameCounts, out: &mut Vec<u8>) {
    let GameCounts { white, draws, black, unknown, elo, opponents, years } = *counts;
    let result = result_of(counts);
    let games = counts.games();
    let form_of = |ratings: Ratings| match ratings.games {
        0 => NONE,
        rated if rated == games => ALL,
        _ => SOME,
    };
    let form_of_years = match years {
        None => NONE,
        Some((first, last)) if first == last => ALL,
        Some(_) => SOME,
    };
    out.push(
        result
            | form_of(elo) << ELO_SHIFT
            | form_of(opponents) << OPPONENTS_SHIFT
            | form_of_years << YEARS_SHIFT,
    );
    if result == FOUR_COUNTS {
        [white, draws, black, unknown].into_iter().for_each(|count| put_number(count, out));
    }
    for ratings in [elo, opponents] {
        if form_of(ratings) == SOME {
            put_number(ratings.games, out);
        }
        if form_of(ratings) != NONE {
            put_number(ratings.sum, out);
        }
    }
    if let Some((first, last)) = years {
        put_year(first, out);
        if first != last {
            put_number((last - first).into(), out);
        }
    }
}

/// Returns the result if there is only one game and its result is known, otherwise [`FOUR_COUNTS`].
const fn result_of(counts: &GameCounts) -> u8 {
    match (counts.white, counts.draws, counts.black, counts.unknown) {
        (1, 0, 0, 0) => WHITE_WON,
        (0, 1, 0, 0) => DRAW,
        (0, 0, 1, 0) => BLACK_WON,
        _ => FOUR_COUNTS,
    }
}

fn put_year(year: u16, out: &mut Vec<u8>) {
    put_signed(i64::from(year) - EPOCH, out);
}

fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_number(fold_sign(value), out);
}

/// Appends a number in groups of seven bits, one group in each byte, the lowest group first. The
/// high bit is set in all bytes but the last.
fn put_number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Converts a tally to its short form.
///
/// # Errors
/// The first move that is not legal in the position, that has an ordinal above 255, or whose text
/// is not its SAN.
pub(super) fn encode(tally: &Tally, root: Option<&Playable>) -> Result<Vec<u8>, San> {
    let mut moves = Moves::new(root, Opcode::SM.standard());
    let mut ordinal = |one: &MoveTally| {
        let ordinal = moves.play_text(one.mv, one.san.as_bytes());
        let narrow = ordinal.and_then(|ordinal| u8::try_from(ordinal).ok());
        Ok((narrow.ok_or(one.san)?, one.counts))
    };
    let part = |part: &TallyPart| {
        let moves = part.moves.iter().map(&mut ordinal).collect::<Result<Vec<_>, San>>()?;
        Ok(OrdinalTally { cell: part.cell, reached: part.reached, moves })
    };
    let parts = tally.parts().iter().map(part).collect::<Result<Vec<_>, San>>()?;
    let mut bytes = Vec::new();
    put_tally(&parts, &mut bytes);
    Ok(bytes)
}

/// Converts a string to the short form of a tally, if the string is a canonical tally. Only records
/// made by programs have tallies as strings.
pub(super) fn encode_text(text: &[u8], root: Option<&Playable>) -> Option<Vec<u8>> {
    let tally = epd::parse_tally(root, text).ok().filter(|tally| tally.to_text() == text)?;
    encode(&tally, root).ok()
}

/// Whether the moves of a tally get their SAN.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum TallyMoves {
    Spelled,
    /// They get none. One of the legal moves may be known, with its ordinal.
    Unspelled {
        known: Option<(u16, Move)>,
    },
}

impl TallyMoves {
    /// The known move, if it has this ordinal.
    fn known(self, ordinal: u8) -> Option<Move> {
        let TallyMoves::Unspelled { known: Some((known, mv)) } = self else { return None };
        (known == u16::from(ordinal)).then_some(mv)
    }
}

/// Reads the short form. `root`, the record's position, is not asked for if all moves are known.
pub(super) fn decode(
    cursor: &mut Cursor,
    root: &LazyCell<Option<Playable>, impl FnOnce() -> Option<Playable>>,
    moves: TallyMoves,
) -> Result<Operand, DecodeError> {
    let start = cursor.clone();
    let move_of = |ordinal: u8, counts| {
        if let Some(mv) = moves.known(ordinal) {
            return Ok(MoveTally { mv, san: San::NONE, counts });
        }
        let illegal = |legal| DecodeErrorKind::Ordinal { ordinal: ordinal.into(), legal };
        let root = root.as_ref().ok_or(illegal(0))?;
        let mv = ordinal::move_at(root, ordinal.into());
        let mv = mv.ok_or_else(|| illegal(ordinal::count(root)))?;
        let san = match moves {
            TallyMoves::Spelled => san::format(root, mv),
            TallyMoves::Unspelled { .. } => San::NONE,
        };
        Ok(MoveTally { mv, san, counts })
    };
    let parts = parts(cursor, move_of, |cell, reached, moves| TallyPart { cell, reached, moves })?;
    let tally = match moves {
        TallyMoves::Spelled => Tally::new(parts),
        // Without texts the moves cannot be sorted again. They need not be, because their order has
        // been checked.
        TallyMoves::Unspelled { .. } => Tally::from_sorted(parts),
    };
    let none = start.error(DecodeErrorKind::Corrupt("tally"));
    Ok(Operand::tally(tally.ok_or(none)?))
}

/// Skips the short form.
pub(super) fn skip(cursor: &mut Cursor) -> Result<(), DecodeError> {
    while part(cursor, |_, _| Ok(()))?.has_more {}
    Ok(())
}

/// Reads the operand of `tally` in its short form, without the position.
///
/// # Errors
/// [`DecodeError`] for all bytes that [`put_tally`] does not write.
pub fn take_tally(cursor: &mut Cursor) -> Result<Vec<OrdinalTally>, DecodeError> {
    let part = |cell, reached, moves| OrdinalTally { cell, reached, moves };
    parts(cursor, |ordinal, counts| Ok((ordinal, counts)), part)
}

/// Reads the parts of a tally. `move_of` makes a move. `part_of` makes a part from its cell, from
/// the number of games that reached the position, and from its moves.
fn parts<M, P>(
    cursor: &mut Cursor,
    move_of: impl Fn(u8, GameCounts) -> Result<M, DecodeErrorKind>,
    part_of: impl Fn(Cell, u64, Vec<M>) -> P,
) -> Result<Vec<P>, DecodeError> {
    let mut parts = Vec::with_capacity(1);
    let mut last = None;
    loop {
        let start = cursor.clone();
        let Part { cell, reached, moves, has_more } = part(cursor, &move_of)?;
        if last.is_some_and(|last| last >= cell) {
            let why = "the cells of a tally ascend";
            return Err(start.error(DecodeErrorKind::NonCanonical(why)));
        }
        last = Some(cell);
        parts.push(part_of(cell, reached, moves));
        if !has_more {
            return Ok(parts);
        }
    }
}

/// A part of a tally as it is read.
struct Part<M> {
    cell: Cell,
    reached: u64,
    moves: Vec<M>,
    /// Whether another part follows.
    has_more: bool,
}

fn part<M>(
    cursor: &mut Cursor,
    move_of: impl Fn(u8, GameCounts) -> Result<M, DecodeErrorKind>,
) -> Result<Part<M>, DecodeError> {
    let start = cursor.clone();
    let corrupt = |what| start.error(DecodeErrorKind::Corrupt(what));
    let head = cursor.int_1()?;
    let has_more = head & MORE_PARTS != 0;
    let cell = cell(cursor, head)?.ok_or_else(|| corrupt("cell of a tally"))?;
    let mut count = usize::from(head >> MOVES_SHIFT);
    if count == MANY_MOVES {
        let more = number(cursor)?;
        if more > 0xff {
            return Err(corrupt("number of moves of a tally"));
        }
        count += more as usize;
    }
    let beyond = signed(cursor)?;
    // A move takes at least two bytes.
    let mut moves = Vec::with_capacity(count.min(cursor.rest().len() / 2));
    let mut is_counted = [false; 256];
    let mut games = 0_u64;
    let mut last = None;
    for _ in 0..count {
        let place = cursor.clone();
        let ordinal = cursor.int_1()?;
        let counts = counts(cursor)?;
        games += counts.games();
        let key = (u64::MAX - counts.games(), ordinal);
        if last.is_some_and(|last| last >= key) {
            let why = "moves stand from the one played most";
            return Err(place.error(DecodeErrorKind::NonCanonical(why)));
        }
        last = Some(key);
        if is_counted[usize::from(ordinal)] {
            return Err(place.error(DecodeErrorKind::NonCanonical("a move stands once")));
        }
        is_counted[usize::from(ordinal)] = true;
        moves.push(move_of(ordinal, counts).map_err(|kind| start.error(kind))?);
    }
    let reached = games.checked_add_signed(beyond).filter(|&reached| reached <= MAX_GAMES);
    let reached = reached.ok_or_else(|| corrupt("count of games"))?;
    if reached == 0 && moves.is_empty() {
        return Err(corrupt("tally"));
    }
    Ok(Part { cell, reached, moves, has_more })
}

/// Reads the cell of a part, whose first byte is `head`. `None` if no tally can have this cell.
fn cell(cursor: &mut Cursor, head: u8) -> Result<Option<Cell>, DecodeError> {
    let has = |bit: u8| head & bit != 0;
    let mut cell = Cell::default();
    if has(YEAR) {
        cell.year = Some(year(cursor)?);
    }
    if has(MONTH) {
        cell.month = Some(cursor.int_1()?);
    }
    if has(SPEED) {
        let Some(speed) = Speed::ALL.get(usize::from(cursor.int_1()?)) else { return Ok(None) };
        cell.speed = Some(*speed);
    }
    if has(RATING) {
        cell.rating = Some(small(cursor)?);
    }
    Ok(Some(cell).filter(Cell::is_valid))
}

fn counts(cursor: &mut Cursor) -> Result<GameCounts, DecodeError> {
    let start = cursor.clone();
    let corrupt = || start.error(DecodeErrorKind::Corrupt("set of counts"));
    let forms = cursor.int_1()?;
    let mut counts = GameCounts::default();
    // False if the counts have a shorter form.
    let mut is_shortest = true;
    match forms & 3 {
        WHITE_WON => counts.white = 1,
        DRAW => counts.draws = 1,
        BLACK_WON => counts.black = 1,
        _ => {
            counts.white = games(cursor)?;
            counts.draws = games(cursor)?;
            counts.black = games(cursor)?;
            counts.unknown = games(cursor)?;
            is_shortest = result_of(&counts) == FOUR_COUNTS;
        }
    }
    let all = counts.games();
    for (ratings, shift) in [(&mut counts.elo, ELO_SHIFT), (&mut counts.opponents, OPPONENTS_SHIFT)]
    {
        let form = forms >> shift & 3;
        ratings.games = match form {
            NONE => continue,
            ALL => all,
            SOME => games(cursor)?,
            _ => return Err(corrupt()),
        };
        is_shortest &= ratings.games != 0 && (form == ALL || ratings.games != all);
        ratings.sum = number(cursor)?;
    }
    counts.years = match forms >> YEARS_SHIFT {
        NONE => None,
        ALL => year(cursor).map(|year| Some((year, year)))?,
        SOME => {
            let first = year(cursor)?;
            let more = small(cursor)?;
            is_shortest &= more > 0;
            Some((first, first.checked_add(more).ok_or_else(corrupt)?))
        }
        _ => return Err(corrupt()),
    };
    if !counts.is_valid() || all == 0 {
        return Err(corrupt());
    }
    if !is_shortest {
        let why = "the shortest form of counts is taken";
        return Err(start.error(DecodeErrorKind::NonCanonical(why)));
    }
    Ok(counts)
}

fn games(cursor: &mut Cursor) -> Result<u64, DecodeError> {
    let start = cursor.clone();
    match number(cursor)? {
        games if games <= MAX_GAMES => Ok(games),
        _ => Err(start.error(DecodeErrorKind::Corrupt("count of games"))),
    }
}

fn year(cursor: &mut Cursor) -> Result<u16, DecodeError> {
    let start = cursor.clone();
    let year = signed(cursor)?.checked_add(EPOCH).and_then(|year| u16::try_from(year).ok());
    year.ok_or_else(|| start.error(DecodeErrorKind::Corrupt("year")))
}

fn small(cursor: &mut Cursor) -> Result<u16, DecodeError> {
    let start = cursor.clone();
    let number = number(cursor)?;
    u16::try_from(number).map_err(|_| start.error(DecodeErrorKind::Corrupt("number")))
}

fn signed(cursor: &mut Cursor) -> Result<i64, DecodeError> {
    number(cursor).map(unfold_sign)
}

fn number(cursor: &mut Cursor) -> Result<u64, DecodeError> {
    let start = cursor.clone();
    let mut value = 0_u64;
    let mut shift = 0;
    loop {
        let byte = cursor.int_1()?;
        let bits = u64::from(byte & 0x7f);
        if shift > 63 || bits << shift >> shift != bits {
            return Err(start.error(DecodeErrorKind::Corrupt("number")));
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            if byte == 0 && shift > 0 {
                let why = "numbers are as short as can be";
                return Err(start.error(DecodeErrorKind::NonCanonical(why)));
            }
            return Ok(value);
        }
        shift += 7;
    }
}
