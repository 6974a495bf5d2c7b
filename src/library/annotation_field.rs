//! Clocks and evaluations of records: from operations, or from the comments of games.

use super::value::{EvalContext, Number, Value};
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::score::{Score, mates_in};
use epdb_chess::model::{Color, EpdRecord, Opcode, Operand};
use epdb_chess::text::{Profile, pgn, san};

/// A value about the time or the evaluation of a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AnnotationField {
    /// Seconds: see [`clock_ms`].
    Clock,
    /// Seconds: see [`elapsed_ms`].
    Elapsed,
    /// See [`evaluation`].
    Evaluation,
    /// See [`evaluation_loss`].
    EvaluationLoss,
}

/// The limit of evaluations in [`evaluation_loss`], in centipawns.
pub const MAX_LOSS_EVALUATION: i32 = 1000;

/// The time that the mover has left after its move, in milliseconds.
///
/// In a game, the move is the next one of the line. In other records, the time comes from the row of a
/// Parquet table, or else from a comment register, or else from `cc`: the time of the side to move.
pub fn clock_ms(subject: &EvalContext<'_>) -> Option<u64> {
    match subject.game {
        Some(position) => position.clock_ms(),
        None => subject
            .table_row
            .and_then(|row| u64::try_from(row.clock_ms?).ok())
            .or_else(|| from_registers(subject.record, pgn::clock_ms))
            .or_else(|| own_clock(subject.record)),
    }
}

/// The time that the mover used for its move, in milliseconds: from the game, from the row of a Parquet
/// table, or from a comment register.
pub fn elapsed_ms(subject: &EvalContext<'_>) -> Option<u64> {
    match subject.game {
        Some(position) => position.elapsed_ms(),
        None => subject
            .table_row
            .and_then(|row| u64::try_from(row.elapsed_ms?).ok())
            .or_else(|| from_registers(subject.record, pgn::elapsed_ms)),
    }
}

/// The evaluation of the position from the mover's view, as a value of `ce`. It comes from `ce`, or else from
/// `dm`, or else from the comments of the game or a comment register.
pub fn evaluation(subject: &EvalContext<'_>) -> Option<i32> {
    let EvalContext { record, game, .. } = *subject;
    let turn = record.position().turn();
    let ce = || i32::try_from(record.integer(Opcode::CE)?).ok();
    let dm = || mates_in(u32::try_from(record.integer(Opcode::DM)?).ok()?).ok();
    let in_comment = || match game {
        Some(position) => position.evaluation(turn),
        None => from_registers(record, |comment| {
            pgn::evaluation(comment, turn).or_else(|| pgn::engine_score(comment))
        }),
    };
    ce().or_else(dm).or_else(in_comment)
}

/// The evaluation before the move minus the evaluation after it, from the mover's view, in
/// centipawns and at least 0. Mates and larger evaluations count as ±[`MAX_LOSS_EVALUATION`].
///
/// The move is `sm`. The evaluation after the move comes from the comments of the game, or from the line
/// (`pv`, `pv2` and so on) that begins with the move. A move that ends the game needs no evaluation.
pub fn evaluation_loss(subject: &EvalContext<'_>) -> Option<u32> {
    let EvalContext { record, game, .. } = *subject;
    let before = limited(evaluation(subject)?)?;
    let Operand::Move { mv, .. } = record.operands(Opcode::SM)?.first()? else { return None };
    let turn = record.position().turn();
    let in_comment = game.and_then(|position| position.evaluation_after(turn));
    let after = in_comment.or_else(|| evaluation_of_line(record, *mv));
    let after = after.map_or_else(|| evaluation_of_end(record, *mv), limited)?;
    u32::try_from(before.saturating_sub(after).max(0)).ok()
}

/// An evaluation in the range of [`evaluation_loss`]; `None` for an illegal position.
fn limited(ce: i32) -> Option<i32> {
    match Score::from_ce(ce.into()).ok()? {
        Score::Centipawns(value) => Some(value.clamp(-MAX_LOSS_EVALUATION, MAX_LOSS_EVALUATION)),
        Score::Mates(_) => Some(MAX_LOSS_EVALUATION),
        Score::Mated(_) | Score::Checkmated => Some(-MAX_LOSS_EVALUATION),
        Score::Illegal => None,
    }
}

/// The evaluation of the line that begins with `mv`. The evaluation of `pv` is `ce`, the evaluation
/// of `pv2` is `ce2`, and so on.
fn evaluation_of_line(record: &EpdRecord, mv: Move) -> Option<i32> {
    let playable = Playable::new(record.position()).ok()?;
    // The moves of further lines are text, because their opcodes are not in the standard.
    let is_move = |first: &Operand| match first {
        Operand::Move { mv: first, .. } => *first == mv,
        other => san::parse(&playable, &other.text(), Profile::Lenient).is_ok_and(|it| it.mv == mv),
    };
    let number = record.operations().iter().find_map(|operation| {
        let number = operation.opcode.as_bytes().strip_prefix(b"pv")?;
        let is_line = operation.opcode == Opcode::PV || operation.opcode.is_of_further_line();
        (is_line && operation.operands.first().is_some_and(is_move)).then_some(number)
    })?;
    let opcode = Opcode::new(&[b"ce", number].concat()).ok()?;
    std::str::from_utf8(&record.text_of(opcode)?).ok()?.parse().ok()
}

/// The evaluation of a position after a move that mates or stalemates.
fn evaluation_of_end(record: &EpdRecord, mv: Move) -> Option<i32> {
    let playable = Playable::new(record.position()).ok().filter(|it| it.is_legal(mv))?;
    let after = playable.after(mv);
    if after.has_move() {
        return None;
    }
    Some(if after.is_check() { MAX_LOSS_EVALUATION } else { 0 })
}

fn from_registers<T>(record: &EpdRecord, value: impl Fn(&str) -> Option<T>) -> Option<T> {
    let mut registers = record
        .operations()
        .iter()
        .filter(|operation| (Opcode::C0..=Opcode::C9).contains(&operation.opcode));
    registers.find_map(|operation| match operation.operands.first()? {
        Operand::Str(text) => value(std::str::from_utf8(text).ok()?),
        _ => None,
    })
}

/// The time of the side to move in `cc`, whose clocks are `DDD:HH:MM:SS`.
fn own_clock(record: &EpdRecord) -> Option<u64> {
    let [white, black] = record.operands(Opcode::CC)? else { return None };
    let own = if record.position().turn() == Color::White { white } else { black };
    let text = own.text();
    let mut parts = std::str::from_utf8(&text).ok()?.split(':');
    let mut part = || parts.next()?.parse::<u64>().ok();
    let days = part()?;
    let hours = part()?;
    let minutes = part()?;
    let seconds = part()?;
    Some((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
}

impl AnnotationField {
    pub(super) fn value<'a>(self, subject: &EvalContext<'a>) -> Value<'a> {
        let number = match self {
            AnnotationField::Clock => clock_ms(subject).map(seconds),
            AnnotationField::Elapsed => elapsed_ms(subject).map(seconds),
            AnnotationField::Evaluation => evaluation(subject).map(|ce| Number::Whole(ce.into())),
            AnnotationField::EvaluationLoss => {
                evaluation_loss(subject).map(|loss| Number::Whole(loss.into()))
            }
        };
        number.map_or(Value::Missing, Value::Number)
    }
}

/// A whole number of seconds, or a fraction with all milliseconds.
fn seconds(milliseconds: u64) -> Number {
    match milliseconds % 1000 {
        0 => Number::Whole((milliseconds / 1000).into()),
        _ => Number::Fraction(milliseconds as f64 / 1000.0),
    }
}
