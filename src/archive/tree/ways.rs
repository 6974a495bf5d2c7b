//! How a row is told by the rows before it in its block: by the move that leads to it from the
//! row before, or by the first columns that it has in common with the last row that no move led
//! to. Games are the first kind, sorted lists and books that go over an opening the second.

use super::super::rans::{Decoder, SCALE, Share, normalise};
use super::super::row::{COLUMNS, EN_PASSANT, FORM, RANKS, Row, STATE};
use crate::codec::ordinal;
use crate::model::Position;
use crate::model::rules::{Move, Playable, after};

/// How many ways there are: numbers of columns, and the two kinds of moves.
pub(super) const WAYS: usize = COLUMNS + 3;
/// A move, with an en passant square after a double step.
const MOVE: usize = COLUMNS + 1;
/// A move, without.
const BARE_MOVE: usize = COLUMNS + 2;

/// One way to tell a row.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// So many first columns are those of the last row that no move led to.
    Columns(usize),
    /// A move leads from the row before to this one.
    Move(Step),
}

impl Way {
    /// The number of the format.
    pub(super) const fn number(self) -> usize {
        match self {
            Way::Columns(count) => count,
            Way::Move(Step { is_bare: false, .. }) => MOVE,
            Way::Move(Step { is_bare: true, .. }) => BARE_MOVE,
        }
    }
}

/// The rows of a block so far.
#[derive(Default)]
pub(super) struct Trail {
    last: Option<Row>,
    told: Row,
}

impl Trail {
    /// Goes on to the next row and says how it is told; the first row is told by itself.
    pub(super) fn to(&mut self, row: &Row) -> Option<Way> {
        let way = self.last.map(|last| match Step::between(&last, row) {
            Some(step) => Way::Move(step),
            None => Way::Columns(in_common(&self.told, row)),
        });
        if !matches!(way, Some(Way::Move(_))) {
            self.told = *row;
        }
        self.last = Some(*row);
        way
    }
}

/// How many first columns two rows have in common.
fn in_common(a: &Row, b: &Row) -> usize {
    a.0.iter().zip(&b.0).take_while(|(a, b)| a == b).count()
}

/// A legal move of a position, by its ordinal.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Step {
    ordinal: u16,
    /// How many legal moves there are.
    count: u16,
    /// Whether a double step leaves no en passant square.
    is_bare: bool,
}

impl Step {
    /// The move that leads from a row to another, if there is one.
    fn between(before: &Row, row: &Row) -> Option<Step> {
        let changed = changed_squares(before, row)?;
        let position = before.position()?;
        let playable = Playable::new(&position)?;
        let mut found = None;
        playable.each_move(|mv| {
            if changed & mv.from.bit() != 0 && changed & mv.to.bit() != 0 {
                let is_bare = row.0[EN_PASSANT] == 0;
                if next(before, playable.position(), mv, is_bare).0 == *row {
                    found = Some(mv);
                }
            }
            found.is_none()
        });
        let mv = found?;
        let is_double = after(playable.position(), mv).en_passant().is_some();
        Some(Step {
            ordinal: ordinal::ordinal(&playable, mv)?,
            count: Some(ordinal::count(&playable)).filter(|&count| u32::from(count) <= SCALE)?,
            is_bare: is_double && row.0[EN_PASSANT] == 0,
        })
    }

    /// All legal moves are as likely.
    pub(super) fn share(self) -> Share {
        let start = |ordinal: u16| u32::from(ordinal) * SCALE / u32::from(self.count.max(1));
        let (start, end) = (start(self.ordinal), start(self.ordinal + 1));
        Share { start: start as u16, freq: (end - start) as u16 }
    }

    /// The step among so many that a slot tells.
    fn at(slot: u16, count: u16, is_bare: bool) -> Step {
        let ordinal = ((u32::from(slot) + 1) * u32::from(count)).saturating_sub(1) / SCALE;
        Step { ordinal: ordinal as u16, count, is_bare }
    }
}

/// The squares that differ, if they may be those of one move.
fn changed_squares(before: &Row, row: &Row) -> Option<u64> {
    if (before.0[STATE] ^ row.0[STATE]) & 1 == 0 || before.0[FORM] != row.0[FORM] {
        return None;
    }
    let columns = RANKS..EN_PASSANT;
    let differ = before.0[columns.clone()].iter().zip(&row.0[columns]).map(|(a, b)| a ^ b);
    let changed = Row::squares(differ);
    (2..=4).contains(&changed.count_ones()).then_some(changed)
}

/// The row and position after a move.
fn next(row: &Row, position: &Position, mv: Move, is_bare: bool) -> (Row, Position) {
    let mut next = after(position, mv);
    if is_bare {
        next = next.with_en_passant(None).unwrap_or(next);
    }
    (row.after(position, mv, &next), next)
}

/// The distribution of ways.
#[derive(Debug)]
pub(super) struct Ways([u16; WAYS + 1]);

impl Ways {
    pub(super) fn new(counts: &[u32; WAYS]) -> Ways {
        let mut starts = [SCALE as u16; WAYS + 1];
        let mut start = 0;
        for (place, freq) in starts.iter_mut().zip(normalise(counts)) {
            *place = start;
            start += freq;
        }
        Ways(starts)
    }

    pub(super) fn share(&self, way: Way) -> Share {
        self.share_of(way.number())
    }

    fn share_of(&self, number: usize) -> Share {
        Share { start: self.0[number], freq: self.0[number + 1] - self.0[number] }
    }

    fn decode(&self, decoder: &mut Decoder) -> usize {
        let slot = decoder.slot();
        let number = self.0[1..WAYS].iter().take_while(|&&start| start <= slot).count();
        decoder.pass(self.share_of(number));
        number
    }
}

/// Follows the ways of a block that is read.
#[derive(Default)]
pub(super) struct Follower {
    last: Row,
    /// The position of the last row, where a move led to it.
    position: Option<Position>,
}

impl Follower {
    /// Takes a row that no move led to.
    pub(super) fn told(&mut self, row: &Row) {
        self.last = *row;
        self.position = None;
    }

    /// The last row.
    pub(super) fn last(&self) -> &Row {
        &self.last
    }

    /// Reads how the next row is told: by so many columns, or, when a move led to it, `None`, and
    /// the row is [`Follower::last`].
    pub(super) fn next(&mut self, ways: &Ways, decoder: &mut Decoder) -> Option<usize> {
        match ways.decode(decoder) {
            count @ 0..=COLUMNS => Some(count),
            number => {
                // Where damaged bytes tell a move of none, the check of the block says so.
                if self.go_on(number == BARE_MOVE, decoder).is_none() {
                    self.told(&Row::default());
                }
                None
            }
        }
    }

    fn go_on(&mut self, is_bare: bool, decoder: &mut Decoder) -> Option<()> {
        let position = self.position.or_else(|| self.last.position())?;
        let playable = Playable::new(&position)?;
        let count = ordinal::count(&playable);
        if count == 0 || u32::from(count) > SCALE {
            return None;
        }
        let step = Step::at(decoder.slot(), count, is_bare);
        decoder.pass(step.share());
        let mv = ordinal::move_at(&playable, step.ordinal)?;
        let (row, position) = next(&self.last, playable.position(), mv, is_bare);
        (self.last, self.position) = (row, Some(position));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_tells_the_step_whose_share_it_is_in() {
        for count in (1..300).chain([SCALE as u16]) {
            for slot in 0..SCALE as u16 {
                let step = Step::at(slot, count, false);
                let Share { start, freq } = step.share();
                assert!(start <= slot && slot - start < freq, "{slot} of {count}");
                assert!(step.ordinal < count);
            }
        }
    }
}
