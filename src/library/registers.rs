//! Values of the registers after each record of sources.

use std::sync::Arc;

use epdb_chess::error::Place;
use epdb_chess::model::registers::Registers;
use epdb_chess::model::rules::{Playable, after};
use epdb_chess::model::{Color, EpdRecord, Opcode, Operand};

/// The values of the registers after each record. All registers are null at the start of a fragment. A
/// fragment begins with each source, with each game, and with a record that has `refcom reset`. With
/// `by_continuity`, a fragment also begins with a record that no move reaches from the previous record,
/// and with a record whose fullmove number starts again at 1.
///
/// ```
/// use epdb_chess::error::{At, Place};
/// use epdb_library::registers::RunningRegisters;
/// use std::sync::Arc;
/// let mut running = RunningRegisters::new(false);
/// let name: Arc<str> = "a.epd".into();
/// for (line, text) in [(1, "c0 \"a\"; c4 \"b\";"), (2, "c3 \"d\";"), (3, "refcom reset;")] {
///     let record = epdb_chess::parse_epd(format!("4k3/8/8/8/8/8/8/4K3 w - - {text}").as_bytes())?;
///     let begins = running.take(&record, &Place::new(name.clone(), At::Line(line)), false);
///     assert_eq!(begins, line != 2);
///     assert_eq!(running.registers().comments[0].is_some(), line < 3);
/// }
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunningRegisters {
    by_continuity: bool,
    registers: Registers,
    last: Option<(EpdRecord, Place)>,
}

impl RunningRegisters {
    /// The registers before the first record: all are null. `by_continuity` adds beginnings of fragments,
    /// as described at [`RunningRegisters`].
    pub fn new(by_continuity: bool) -> RunningRegisters {
        RunningRegisters { by_continuity, ..RunningRegisters::default() }
    }

    /// Applies the next record; returns whether it begins a fragment. All places of a source must
    /// share one `Arc` as its name, and all positions of a game must have the same place.
    pub fn take(&mut self, record: &EpdRecord, place: &Place, is_of_game: bool) -> bool {
        let begins = match &self.last {
            None => true,
            Some((last, before)) => {
                !Arc::ptr_eq(&before.source, &place.source)
                    || is_of_game && before.at != place.at
                    || is_reset(record)
                    || self.by_continuity && !goes_on(last, record)
            }
        };
        if begins {
            self.registers = Registers::default();
        }
        self.registers.apply(record);
        self.last = Some((record.clone(), place.clone()));
        begins
    }

    /// The registers after the last record.
    pub const fn registers(&self) -> &Registers {
        &self.registers
    }
}

/// Whether the record is a command of a referee to forget the game.
fn is_reset(record: &EpdRecord) -> bool {
    let words = record.operands(Opcode::REFCOM).unwrap_or_default();
    matches!(words, [Operand::Token(word)] if **word == *b"reset")
}

/// Whether `next` can be the position after one move from `last`, in the same game.
fn goes_on(last: &EpdRecord, next: &EpdRecord) -> bool {
    let target = next.position().identity();
    let leads_there = |playable: &Playable| {
        let mut moves = playable.legal_moves().into_iter();
        moves.any(|mv| after(playable.position(), mv).identity() == target)
    };
    !counts_from_one(last, next) && Playable::new(last.position()).is_ok_and(|it| leads_there(&it))
}

/// Whether the fullmove number starts again at 1.
fn counts_from_one(last: &EpdRecord, next: &EpdRecord) -> bool {
    let first_of_black = last.counters().1 == Some(1) && next.position().turn() == Color::Black;
    next.counters().1 == Some(1) && last.counters().1.is_some() && !first_of_black
}
