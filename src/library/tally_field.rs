//! Values of the tally of a record.

use super::value::EvalContext;
use super::value::{Number, Value};
use epdb_chess::model::{EpdRecord, GameCounts, Opcode, Ratings, Tally, TallyPart};

/// A value of a tally, or of one of its moves.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TallyField {
    /// The move in SAN, or else that of `sm`.
    Move,
    /// Games that reached the position.
    Reached,
    /// Games in which a move was played in the position.
    Games,
    /// Games that White won.
    White,
    /// Drawn games.
    Draws,
    /// Games that Black won.
    Black,
    /// The share of White's points, 0 to 1.
    Score,
    /// The mean rating of the side to move.
    Elo,
    /// The mean rating of the other side.
    Opponents,
    /// The first and the last year.
    Years,
}

/// The sum of all games of the tally of a record.
pub fn tally_of(record: &EpdRecord) -> Option<TallyPart> {
    Some(Tally::from_operands(record.operands(Opcode::TALLY)?)?.total())
}

/// The games of the move that the context is about, or of all moves of the tally.
pub(super) fn counts_of(subject: &EvalContext<'_>) -> Option<GameCounts> {
    match subject.move_tally {
        Some(one) => Some(one.counts),
        None => tally_of(subject.record).map(|part| part.counts()),
    }
}

impl TallyField {
    pub(super) const fn is_text(self) -> bool {
        matches!(self, TallyField::Move | TallyField::Years)
    }

    pub(super) fn value<'a>(self, subject: &EvalContext<'a>) -> Value<'a> {
        let of_counts =
            |value: fn(GameCounts) -> Value<'a>| counts_of(subject).map_or(Value::Missing, value);
        match self {
            TallyField::Move => match (subject.move_tally, subject.record.operands(Opcode::SM)) {
                (Some(one), _) => Value::text_of(one.san.as_bytes().to_vec()),
                (None, Some([supplied])) => Value::text_of(supplied.text()),
                (None, _) => Value::Missing,
            },
            TallyField::Reached => {
                tally_of(subject.record).map_or(Value::Missing, |part| whole(part.reached))
            }
            TallyField::Games => of_counts(|counts| whole(counts.games())),
            TallyField::White => of_counts(|counts| whole(counts.white)),
            TallyField::Draws => of_counts(|counts| whole(counts.draws)),
            TallyField::Black => of_counts(|counts| whole(counts.black)),
            TallyField::Score => of_counts(|counts| {
                let score = counts.score_of_white().map(Number::rounded);
                score.map_or(Value::Missing, Value::Number)
            }),
            TallyField::Elo => of_counts(|counts| mean(counts.elo)),
            TallyField::Opponents => of_counts(|counts| mean(counts.opponents)),
            TallyField::Years => of_counts(|counts| counts.years.map_or(Value::Missing, years)),
        }
    }
}

fn whole(count: u64) -> Value<'static> {
    Value::whole(count.into())
}

fn mean(ratings: Ratings) -> Value<'static> {
    ratings.mean().map_or(Value::Missing, |mean| Value::whole(mean.round() as i128))
}

fn years((first, last): (u16, u16)) -> Value<'static> {
    let text = if first == last { first.to_string() } else { format!("{first}-{last}") };
    Value::text_of(text.into_bytes())
}
