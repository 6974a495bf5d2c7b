//! Prediction of a row from the rows before it in its block: by the move that leads to it from the
//! row before, or by the first columns that it has in common with the last row that no move led
//! to. Games are the first kind, sorted lists and books that go over an opening the second.

use crate::archive::chain;
use crate::archive::rans::{Interval, RansDecoder, SCALE, normalise};
use crate::archive::row::{COLUMNS, EN_PASSANT, FORM, Row};
use crate::codec::ordinal;
use crate::model::Position;
use crate::model::rules::{Move, Playable, after};

/// How many modes there are: numbers of columns, and the four kinds of moves.
pub(super) const MODES: usize = COLUMNS + 5;
/// A move, with an en passant square after a double step.
const MOVE: usize = COLUMNS + 1;
/// What is added for a move after which there is none.
const BARE: usize = 1;
/// What is added for a move to a row that has operations where the one before has none, or the
/// other way round: the last position of a game mostly has none.
const CHANGING: usize = 2;

/// How a row is predicted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum PredictionMode {
    /// So many first columns are those of the last row that no move led to.
    Columns(usize),
    /// A move leads from the row before to this one.
    Move(PredictedMove),
}

impl PredictionMode {
    /// The number of the format.
    pub(super) const fn number(self) -> usize {
        match self {
            PredictionMode::Columns(count) => count,
            PredictionMode::Move(predicted) => MOVE + predicted.kind.number(),
        }
    }
}

/// The rows of a block that is encoded, as far as the next is predicted from them.
#[derive(Default)]
pub(super) struct EncodeHistory {
    last: Option<Row>,
    /// The last row that no move led to.
    base: Row,
}

impl EncodeHistory {
    /// Goes on to the next row and says how it is predicted; the first row is not.
    pub(super) fn next(&mut self, row: &Row) -> Option<PredictionMode> {
        let mode = self.last.map(|last| match PredictedMove::between(&last, row) {
            Some(predicted) => PredictionMode::Move(predicted),
            None => PredictionMode::Columns(self.base.in_common(row)),
        });
        if !matches!(mode, Some(PredictionMode::Move(_))) {
            self.base = *row;
        }
        self.last = Some(*row);
        mode
    }
}

/// A legal move of a position, by its ordinal.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct PredictedMove {
    ordinal: u16,
    /// How many legal moves there are.
    count: u16,
    kind: MoveKind,
}

/// What the row after a move has beside the position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct MoveKind {
    /// Whether a double step leaves no en passant square.
    is_bare: bool,
    /// Whether one of the two rows has operations, and the other none.
    is_changing: bool,
}

impl MoveKind {
    const fn number(self) -> usize {
        (if self.is_bare { BARE } else { 0 }) + (if self.is_changing { CHANGING } else { 0 })
    }

    const fn of_number(number: usize) -> MoveKind {
        MoveKind { is_bare: number & BARE != 0, is_changing: number & CHANGING != 0 }
    }
}

impl PredictedMove {
    /// The move that leads from a row to another, if there is one.
    fn between(before: &Row, row: &Row) -> Option<PredictedMove> {
        let (playable, mv) = chain::step(before, row)?;
        let is_changing = before.0[FORM] != row.0[FORM];
        let kind = MoveKind { is_bare: row.0[EN_PASSANT] == 0, is_changing };
        if next(before, playable.position(), mv, kind).0 != *row {
            return None;
        }
        let is_double = after(playable.position(), mv).en_passant().is_some();
        Some(PredictedMove {
            ordinal: ordinal::ordinal(&playable, mv)?,
            count: Some(ordinal::count(&playable)).filter(|&count| u32::from(count) <= SCALE)?,
            kind: MoveKind { is_bare: is_double && kind.is_bare, is_changing },
        })
    }

    /// All legal moves are as likely.
    pub(super) fn interval(self) -> Interval {
        let start = |ordinal: u16| u32::from(ordinal) * SCALE / u32::from(self.count.max(1));
        let (start, end) = (start(self.ordinal), start(self.ordinal + 1));
        Interval { start: start as u16, freq: (end - start) as u16 }
    }

    /// The move among so many in whose interval a slot lies.
    fn at(slot: u16, count: u16, kind: MoveKind) -> PredictedMove {
        let ordinal = ((u32::from(slot) + 1) * u32::from(count)).saturating_sub(1) / SCALE;
        PredictedMove { ordinal: ordinal as u16, count, kind }
    }
}

/// The row and position after a move.
fn next(row: &Row, position: &Position, mv: Move, kind: MoveKind) -> (Row, Position) {
    let mut next = after(position, mv);
    if kind.is_bare {
        next = next.with_en_passant(None).unwrap_or(next);
    }
    let mut row = row.after(position, mv, &next);
    if kind.is_changing {
        row.change_operations();
    }
    (row, next)
}

/// The distribution of modes.
#[derive(Debug)]
pub(super) struct PredictionModes([u16; MODES + 1]);

impl PredictionModes {
    pub(super) fn new(counts: &[u32; MODES]) -> PredictionModes {
        let mut starts = [SCALE as u16; MODES + 1];
        let mut start = 0;
        for (place, freq) in starts.iter_mut().zip(normalise(counts)) {
            *place = start;
            start += freq;
        }
        PredictionModes(starts)
    }

    pub(super) fn interval(&self, mode: PredictionMode) -> Interval {
        self.interval_of(mode.number())
    }

    fn interval_of(&self, number: usize) -> Interval {
        Interval { start: self.0[number], freq: self.0[number + 1] - self.0[number] }
    }

    fn decode(&self, decoder: &mut RansDecoder) -> usize {
        let slot = decoder.slot();
        // All are compared: which one it is cannot be guessed.
        let number = self.0[1..MODES].iter().filter(|&&start| start <= slot).count();
        decoder.pass(self.interval_of(number));
        number
    }
}

/// The rows of a block that is decoded, as far as the next is predicted from them.
#[derive(Default)]
pub(super) struct DecodeHistory {
    last: Row,
    /// The move that led to the last row, if one did, and the position after it.
    step: Option<(Move, Position)>,
}

impl DecodeHistory {
    /// Takes a row that no move led to.
    pub(super) fn restart(&mut self, row: &Row) {
        self.last = *row;
        self.step = None;
    }

    /// The last row, and the move that led to it.
    pub(super) fn last(&self) -> (Row, Option<Move>) {
        (self.last, self.step.map(|(mv, _)| mv))
    }

    /// Reads how the next row is predicted: by so many columns, or, when a move led to it, `None`,
    /// and the row is [`DecodeHistory::last`].
    pub(super) fn next(
        &mut self,
        modes: &PredictionModes,
        decoder: &mut RansDecoder,
    ) -> Option<usize> {
        match modes.decode(decoder) {
            count @ 0..=COLUMNS => Some(count),
            number => {
                // Where damaged bytes ask for a move of none, the check of the block says so.
                if self.go_on(MoveKind::of_number(number - MOVE), decoder).is_none() {
                    self.restart(&Row::default());
                }
                None
            }
        }
    }

    fn go_on(&mut self, kind: MoveKind, decoder: &mut RansDecoder) -> Option<()> {
        let position = self.step.map(|(_, position)| position).or_else(|| self.last.position())?;
        let playable = Playable::new(&position).ok()?;
        let mv = ordinal::pick(&playable, |count| {
            if count == 0 || u32::from(count) > SCALE {
                return None;
            }
            let predicted = PredictedMove::at(decoder.slot(), count, kind);
            decoder.pass(predicted.interval());
            Some(predicted.ordinal)
        })?;
        let (row, position) = next(&self.last, playable.position(), mv, kind);
        (self.last, self.step) = (row, Some((mv, position)));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_gives_the_move_in_whose_interval_it_lies() {
        for count in (1..300).chain([SCALE as u16]) {
            for slot in 0..SCALE as u16 {
                let predicted = PredictedMove::at(slot, count, MoveKind::of_number(0));
                let Interval { start, freq } = predicted.interval();
                assert!(start <= slot && slot - start < freq, "{slot} of {count}");
                assert!(predicted.ordinal < count);
            }
        }
    }
}
