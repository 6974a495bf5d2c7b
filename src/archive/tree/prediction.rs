//! Prediction of a row from previous rows of its block. Either a move leads from the previous row
//! to the row, or the row shares its first columns with the base. The base is the last earlier row
//! to which no move led. Moves are good for games; shared columns are good for sorted lists and
//! opening books.

use rayon::prelude::*;

use crate::columns::{COLUMNS, EN_PASSANT, FORM, Row};
use crate::move_links;
use crate::rans::{Interval, RansDecoder, SCALE, starts};
use epdb_chess::codec::ordinal;
use epdb_chess::model::Position;
use epdb_chess::model::rules::{Move, Playable, after};

/// Number of prediction modes: a number of shared columns from 0 on, or one of four kinds of moves.
pub(super) const MODES: usize = COLUMNS + 5;
/// First mode of moves. In this mode, a double step sets the en passant square.
const MOVE: usize = COLUMNS + 1;
/// Number that is added to the mode of a move if a double step sets no en passant square.
const BARE: usize = 1;
/// Number that is added to the mode of a move if one of the two rows has operations and the other
/// has none. For example, the last position of a game usually has none.
const CHANGING: usize = 2;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum PredictionMode {
    /// The row shares this number of leading columns with the last row to which no move led.
    Columns(usize),
    /// A move leads from the previous row to this one.
    Move(PredictedMove),
}

impl PredictionMode {
    /// Number in the format.
    pub(super) const fn number(self) -> usize {
        match self {
            PredictionMode::Columns(count) => count,
            PredictionMode::Move(predicted) => MOVE + predicted.kind.number(),
        }
    }
}

/// The move that leads from a row to the next row.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Step {
    pub mv: Move,
    /// `None` if other columns of the next row do not follow from the move.
    predicted: Option<PredictedMove>,
}

impl Step {
    /// The step from a row to another; `None` if no move leads there.
    pub(super) fn between(before: &Row, row: &Row) -> Option<Step> {
        let (playable, mv) = move_links::step(before, row)?;
        Some(Step { mv, predicted: PredictedMove::new(before, row, &playable, mv) })
    }

    /// The ordinal of the move, if the move predicts the next row.
    pub(crate) fn ordinal(&self) -> Option<u16> {
        self.predicted.map(|predicted| predicted.ordinal)
    }
}

/// The step from each row to the next; `None` for the last row.
pub(crate) fn steps(rows: &[Row]) -> Vec<Option<Step>> {
    let step = |place: usize| Step::between(&rows[place], rows.get(place + 1)?);
    (0..rows.len()).into_par_iter().map(step).collect()
}

/// The prediction modes of the rows of a block; `None` for the first row. `step` returns the step from
/// the row at a place to the next.
pub(super) fn modes(
    rows: &[Row],
    step: impl Fn(usize) -> Option<Step>,
) -> impl Iterator<Item = Option<PredictionMode>> {
    // The last row to which no move led.
    let mut base = Row::default();
    rows.iter().enumerate().map(move |(place, row)| {
        let predicted = |last| step(last).and_then(|step| step.predicted);
        let mode = place.checked_sub(1).map(|last| match predicted(last) {
            Some(predicted) => PredictionMode::Move(predicted),
            None => PredictionMode::Columns(base.in_common(row)),
        });
        if !matches!(mode, Some(PredictionMode::Move(_))) {
            base = *row;
        }
        mode
    })
}

/// A legal move of a position, given by its ordinal.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct PredictedMove {
    ordinal: u16,
    count: u16,
    kind: MoveKind,
}

/// Properties of the row after a move: those that follow neither from the position nor from the move.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct MoveKind {
    /// True if a double step sets no en passant square.
    drops_en_passant: bool,
    /// True if one of the two rows has operations and the other has none.
    is_changing: bool,
}

impl MoveKind {
    const fn number(self) -> usize {
        (if self.drops_en_passant { BARE } else { 0 })
            + (if self.is_changing { CHANGING } else { 0 })
    }

    const fn from_number(number: usize) -> MoveKind {
        MoveKind { drops_en_passant: number & BARE != 0, is_changing: number & CHANGING != 0 }
    }
}

impl PredictedMove {
    /// The prediction of a row by the legal move that leads to it from the row before. `None` if
    /// other columns of the row do not follow from the move.
    fn new(before: &Row, row: &Row, playable: &Playable, mv: Move) -> Option<PredictedMove> {
        let is_changing = before.0[FORM] != row.0[FORM];
        let kind = MoveKind { drops_en_passant: row.0[EN_PASSANT] == 0, is_changing };
        if next(before, playable.position(), mv, kind).0 != *row {
            return None;
        }
        let is_double = after(playable.position(), mv).en_passant().is_some();
        Some(PredictedMove {
            ordinal: ordinal::ordinal(playable, mv)?,
            count: Some(ordinal::count(playable)).filter(|&count| u32::from(count) <= SCALE)?,
            kind: MoveKind { drops_en_passant: is_double && kind.drops_en_passant, is_changing },
        })
    }

    /// The interval of the move. All legal moves are equally likely.
    pub(super) fn interval(self) -> Interval {
        let start_of = |ordinal: u16| u32::from(ordinal) * SCALE / u32::from(self.count.max(1));
        let start = start_of(self.ordinal);
        Interval { start: start as u16, freq: (start_of(self.ordinal + 1) - start) as u16 }
    }

    /// Returns the move whose interval contains a slot, among `count` moves.
    fn at(slot: u16, count: u16, kind: MoveKind) -> PredictedMove {
        let ordinal = ((u32::from(slot) + 1) * u32::from(count)).saturating_sub(1) / SCALE;
        PredictedMove { ordinal: ordinal as u16, count, kind }
    }
}

/// Returns the row and the position after a move.
fn next(row: &Row, position: &Position, mv: Move, kind: MoveKind) -> (Row, Position) {
    let mut next = after(position, mv);
    if kind.drops_en_passant {
        next = next.with_en_passant(None).unwrap_or(next);
    }
    let mut row = row.after(position, mv, &next);
    if kind.is_changing {
        row.change_operations();
    }
    (row, next)
}

#[derive(Debug)]
pub(super) struct PredictionModes([u16; MODES + 1]);

impl PredictionModes {
    pub(super) fn new(counts: &[u32; MODES]) -> PredictionModes {
        PredictionModes(starts(counts))
    }

    pub(super) fn interval(&self, mode: PredictionMode) -> Interval {
        self.interval_of(mode.number())
    }

    fn interval_of(&self, number: usize) -> Interval {
        Interval { start: self.0[number], freq: self.0[number + 1] - self.0[number] }
    }

    fn decode(&self, decoder: &mut RansDecoder) -> usize {
        let slot = decoder.slot();
        // All starts are compared, because a branch would be unpredictable.
        let number = self.0[1..MODES].iter().filter(|&&start| start <= slot).count();
        decoder.pass(self.interval_of(number));
        number
    }
}

/// The previous rows of a block, while decoding.
#[derive(Default)]
pub(super) struct DecodeHistory {
    last: Row,
    /// The move that led to the last row, and the position after this move; `None` if no move led
    /// to the last row.
    step: Option<(Move, Position)>,
}

impl DecodeHistory {
    /// Adds a row to which no move led.
    pub(super) fn restart(&mut self, row: &Row) {
        self.last = *row;
        self.step = None;
    }

    /// The last row, and the move that led to it, if there was one.
    pub(super) fn last(&self) -> (Row, Option<Move>) {
        (self.last, self.step.map(|(mv, _)| mv))
    }

    /// Decodes the prediction of the next row. Returns the number of shared columns. `None` if a
    /// move leads to the row; then [`DecodeHistory::last`] has the row.
    pub(super) fn next(
        &mut self,
        modes: &PredictionModes,
        decoder: &mut RansDecoder,
    ) -> Option<usize> {
        match modes.decode(decoder) {
            count @ 0..=COLUMNS => Some(count),
            number => {
                // If damaged bytes name an impossible move, the checksum of the block will not
                // match.
                if self.go_on(MoveKind::from_number(number - MOVE), decoder).is_none() {
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
        self.last = row;
        self.step = Some((mv, position));
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
                let predicted = PredictedMove::at(slot, count, MoveKind::from_number(0));
                let Interval { start, freq } = predicted.interval();
                assert!(start <= slot && slot - start < freq, "{slot} of {count}");
                assert!(predicted.ordinal < count);
            }
        }
    }
}
