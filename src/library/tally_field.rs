//! What the tally of a record says under a name.

use super::subject::Subject;
use super::value::{Number, Value};
use crate::model::{EpdRecord, Opcode, Operand, Ratings, Tally, TallyPart};

/// Something that a tally says: of all moves together, or of one move where a subject is of one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TallyField {
    /// The move that a subject is of, in SAN.
    Move,
    /// Games that reached the position.
    Reached,
    /// Games in which a move was played there.
    Games,
    /// Games that White won.
    White,
    /// Drawn games.
    Draws,
    /// Games that Black won.
    Black,
    /// The share of the points that White made, 0 to 1.
    Score,
    /// The mean rating of the side to move.
    Elo,
    /// The mean rating of the other side.
    Opponents,
    /// The first and the last year.
    Years,
}

/// The tally of a record, all its games together.
pub fn tally_of(record: &EpdRecord) -> Option<TallyPart> {
    match record.operands(Opcode::TALLY)? {
        [Operand::Str(text)] => Some(Tally::from_text(text)?.total()),
        _ => None,
    }
}

impl TallyField {
    pub(super) const fn is_text(self) -> bool {
        matches!(self, TallyField::Move | TallyField::Years)
    }

    pub(super) fn value<'a>(self, subject: &Subject<'a>) -> Value<'a> {
        let Some(part) = tally_of(subject.record) else { return Value::Missing };
        let whole = |count: u64| Value::whole(count.into());
        let counts = subject.move_tally.map_or_else(|| part.counts(), |one| one.counts);
        match self {
            TallyField::Move => subject
                .move_tally
                .map_or(Value::Missing, |one| Value::text_of(one.san.as_bytes().to_vec())),
            TallyField::Reached => whole(part.reached),
            TallyField::Games => whole(counts.games()),
            TallyField::White => whole(counts.white),
            TallyField::Draws => whole(counts.draws),
            TallyField::Black => whole(counts.black),
            TallyField::Score => counts.score_of_white().map_or(Value::Missing, fraction),
            TallyField::Elo => mean(counts.elo),
            TallyField::Opponents => mean(counts.opponents),
            TallyField::Years => match counts.years {
                None => Value::Missing,
                Some((first, last)) if first == last => {
                    Value::text_of(first.to_string().into_bytes())
                }
                Some((first, last)) => Value::text_of(format!("{first}-{last}").into_bytes()),
            },
        }
    }
}

fn mean(ratings: Ratings) -> Value<'static> {
    ratings.mean().map_or(Value::Missing, |mean| Value::whole(mean.round() as i128))
}

/// Of at most four decimals.
fn fraction(value: f64) -> Value<'static> {
    Value::Number(Number::Fraction((value * 1e4).round() / 1e4))
}
