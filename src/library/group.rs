//! Records grouped by fields, with aggregates of each group.
//!
//! ```
//! use epdb_library::field::Field;
//! use epdb_library::group::{Aggregate, Groups};
//! use epdb_library::value::EvalContext;
//! let what = vec![Aggregate::parse("count")?, Aggregate::parse("max(ce)")?];
//! let mut groups = Groups::new(vec![Field::parse("stm")?], what, std::env::temp_dir(), 1 << 20);
//! for line in ["8/8/8/4k3/8/1K6/8/8 b - - ce 3;", "8/8/8/4k3/8/2K5/8/8 b - - ce 5;"] {
//!     groups.add(&EvalContext::from_record(&epdb_chess::parse_epd(line.as_bytes())?))?;
//! }
//! let mut rows = Vec::new();
//! groups.finish(|values| {
//!     rows.push(values.iter().map(|value| value.text()).collect::<Vec<_>>());
//!     Ok::<(), epdb_chess::Error>(())
//! })?;
//! assert_eq!(rows, [[b"b", b"2", b"5"]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::PathBuf;

use foldhash::{HashMap, HashMapExt};

use super::field::{BuiltinField, Field};
use super::order::push_value;
use super::ordered::{Grouped, GroupedEntry};
use super::tally_field::counts_of;
use super::value::EvalContext;
use super::value::{Number, Value, parse_key};
use epdb_base::spill::Sorter;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::GameCounts;
use epdb_chess::model::score::Score;

/// An aggregate of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// The number of records, moves or games.
    Count,
    /// The number of games: the games that a tally counts, and one for each record without a tally.
    Games,
    /// The number of games that White won.
    White,
    /// The number of drawn games.
    Draws,
    /// The number of games that Black won.
    Black,
    /// White's share of the points in games with a known result.
    Score,
    /// The sum of a field, without mates: a mate is no number of centipawns.
    Sum(Field),
    /// The minimum of a field.
    Min(Field),
    /// The maximum of a field.
    Max(Field),
    /// The mean of a field, without mates.
    Mean(Field),
}

impl Aggregate {
    /// Parses `count`, `games`, `white`, `draws`, `black`, `score`, or `sum`, `min`, `max` or `mean` of a field, as in
    /// `mean(ce)`.
    ///
    /// # Errors
    /// The mistake, as text.
    pub fn parse(text: &str) -> Result<Aggregate, String> {
        let text = text.trim();
        match text {
            "count" => return Ok(Aggregate::Count),
            "games" => return Ok(Aggregate::Games),
            "white" => return Ok(Aggregate::White),
            "draws" => return Ok(Aggregate::Draws),
            "black" => return Ok(Aggregate::Black),
            "score" => return Ok(Aggregate::Score),
            _ => {}
        }
        let unknown = || {
            format!(
                "`{text}`: expected count, games, white, draws, black, score, sum(FIELD), min(FIELD), \
                 max(FIELD) or mean(FIELD)"
            )
        };
        let call = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let (name, field) = call.ok_or_else(unknown)?;
        let aggregate: fn(Field) -> Aggregate = match name.trim() {
            "sum" => Aggregate::Sum,
            "min" => Aggregate::Min,
            "max" => Aggregate::Max,
            "mean" => Aggregate::Mean,
            _ => return Err(unknown()),
        };
        Field::parse(field.trim()).map(aggregate)
    }

    /// The field, if the aggregate has one.
    pub const fn field(&self) -> Option<&Field> {
        match self {
            Aggregate::Count
            | Aggregate::Games
            | Aggregate::White
            | Aggregate::Draws
            | Aggregate::Black
            | Aggregate::Score => None,
            Aggregate::Sum(field)
            | Aggregate::Min(field)
            | Aggregate::Max(field)
            | Aggregate::Mean(field) => Some(field),
        }
    }

    /// Whether the aggregate depends on the position, not only on the game.
    pub fn is_of_record(&self) -> bool {
        self.field().is_some_and(Field::is_of_record)
    }

    /// The part of a record in the aggregate; `None` for a mate, which does not count.
    fn sum_of(&self, subject: &EvalContext<'_>) -> Option<Sum> {
        Some(match self {
            Aggregate::Count => Sum { count: 1, ..Sum::default() },
            Aggregate::Games => {
                let games = counts_of(subject).map_or(1, |counts| counts.games());
                Sum { count: games, ..Sum::default() }
            }
            Aggregate::White => Sum { count: results(subject).white, ..Sum::default() },
            Aggregate::Draws => Sum { count: results(subject).draws, ..Sum::default() },
            Aggregate::Black => Sum { count: results(subject).black, ..Sum::default() },
            Aggregate::Score => {
                let GameCounts { white, draws, black, .. } = results(subject);
                let half_points = 2 * i128::from(white) + i128::from(draws);
                Sum { count: white + draws + black, whole: half_points, ..Sum::default() }
            }
            Aggregate::Min(field) | Aggregate::Max(field) => {
                field.value(subject).number().map_or(Sum::default(), Sum::new)
            }
            Aggregate::Sum(field) | Aggregate::Mean(field) => match field.value(subject).number() {
                Some(number) if field.is_score() && is_mate(number) => return None,
                number => number.map_or(Sum::default(), Sum::new),
            },
        })
    }

    fn value(&self, sum: &Sum) -> Value<'static> {
        let number = match self {
            Aggregate::Count
            | Aggregate::Games
            | Aggregate::White
            | Aggregate::Draws
            | Aggregate::Black => Some(Number::Whole(sum.count.into())),
            Aggregate::Score => {
                sum.mean().map(|half_points| half_points / 2.0).map(Number::rounded)
            }
            Aggregate::Sum(_) => sum.total(),
            Aggregate::Min(_) => sum.minimum,
            Aggregate::Max(_) => sum.maximum,
            Aggregate::Mean(_) => sum.mean().map(Number::rounded),
        };
        number.map_or(Value::Missing, Value::Number)
    }
}

fn is_mate(ce: Number) -> bool {
    match ce {
        Number::Whole(ce) => !matches!(Score::from_ce(ce), Ok(Score::Centipawns(_))),
        Number::Fraction(_) => false,
    }
}

/// The results of the games that a tally counts, or of one game.
fn results(subject: &EvalContext<'_>) -> GameCounts {
    if let Some(counts) = counts_of(subject) {
        return counts;
    }
    let mut counts = GameCounts::default();
    match Field::BuiltinField(BuiltinField::Result).value(subject).number().map(Number::as_f64) {
        Some(1.0) => counts.white = 1,
        Some(0.5) => counts.draws = 1,
        Some(0.0) => counts.black = 1,
        _ => counts.unknown = 1,
    }
    counts
}

/// Sums of numbers. The sums of two parts can be added.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
struct Sum {
    count: u64,
    whole: i128,
    fraction: f64,
    minimum: Option<Number>,
    maximum: Option<Number>,
}

const SUM_BYTES: usize = 8 + 16 + 8 + 2 * NUMBER_BYTES;
const NUMBER_BYTES: usize = 1 + 16;

impl Sum {
    fn new(number: Number) -> Sum {
        let (whole, fraction) = match number {
            Number::Whole(whole) => (whole, 0.0),
            Number::Fraction(fraction) => (0, fraction),
        };
        Sum { count: 1, whole, fraction, minimum: Some(number), maximum: Some(number) }
    }

    fn add(&mut self, other: &Sum) {
        self.count = self.count.saturating_add(other.count);
        self.whole = self.whole.saturating_add(other.whole);
        self.fraction += other.fraction;
        self.minimum = preferred(self.minimum, other.minimum, Ordering::Less);
        self.maximum = preferred(self.maximum, other.maximum, Ordering::Greater);
    }

    fn total(&self) -> Option<Number> {
        let has_fraction =
            [self.minimum, self.maximum].iter().any(|it| matches!(it, Some(Number::Fraction(_))))
                || self.fraction != 0.0;
        if self.count == 0 {
            None
        } else if has_fraction {
            Some(Number::Fraction(self.whole as f64 + self.fraction))
        } else {
            Some(Number::Whole(self.whole))
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.whole as f64 + self.fraction) / self.count as f64)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.whole.to_le_bytes());
        out.extend_from_slice(&self.fraction.to_bits().to_le_bytes());
        for number in [self.minimum, self.maximum] {
            let (kind, bits) = match number {
                None => (0, 0),
                Some(Number::Whole(whole)) => (1, whole as u128),
                Some(Number::Fraction(fraction)) => (2, u128::from(fraction.to_bits())),
            };
            out.push(kind);
            out.extend_from_slice(&bits.to_le_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Option<Sum> {
        let (count, rest) = bytes.split_first_chunk()?;
        let (whole, rest) = rest.split_first_chunk()?;
        let (fraction, rest) = rest.split_first_chunk()?;
        let number = |bytes: &[u8]| {
            let (kind, bits) = bytes.split_first()?;
            let bits = u128::from_le_bytes(*bits.first_chunk()?);
            match kind {
                1 => Some(Number::Whole(bits as i128)),
                2 => Some(Number::Fraction(f64::from_bits(bits as u64))),
                _ => None,
            }
        };
        let (minimum, maximum) = rest.split_at_checked(NUMBER_BYTES)?;
        Some(Sum {
            count: u64::from_le_bytes(*count),
            whole: i128::from_le_bytes(*whole),
            fraction: f64::from_bits(u64::from_le_bytes(*fraction)),
            minimum: number(minimum),
            maximum: number(maximum),
        })
    }
}

/// Groups of records, in bounded memory.
#[derive(Debug)]
pub struct Groups {
    by: Vec<Field>,
    what: Vec<Aggregate>,
    /// Aggregates by the values of the fields.
    sums: HashMap<Vec<u8>, Vec<Sum>>,
    mates: u64,
    memory_bytes: usize,
    used: usize,
    /// Sums that did not fit into memory. Their keys sort in the order of the values of the fields.
    sorter: Sorter,
}

/// Memory of a group besides its values and sums, in bytes.
const GROUP_MEMORY: usize = 128;

impl Groups {
    /// Groups of records that have the same values of the fields `by`, with the aggregates `what`.
    /// The groups use about `memory_bytes` of memory, and a temporary file in `directory` for the
    /// rest.
    pub fn new(
        by: Vec<Field>,
        what: Vec<Aggregate>,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> Groups {
        let sorter = Sorter::new(directory, memory_bytes / 2);
        let memory_bytes = memory_bytes / 2;
        Groups { by, what, sums: HashMap::new(), mates: 0, memory_bytes, used: 0, sorter }
    }

    /// Number of records, moves or games with a mate that does not count in a sum or mean.
    pub const fn mates(&self) -> u64 {
        self.mates
    }

    /// Adds a record, a move or a game.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, subject: &EvalContext<'_>) -> Result<()> {
        let mut group = Vec::new();
        for field in &self.by {
            put_value(&field.value(subject), &mut group);
        }
        let parts: Vec<_> = self.what.iter().map(|what| what.sum_of(subject)).collect();
        self.mates += u64::from(parts.contains(&None));
        let new: Vec<Sum> = parts.into_iter().map(Option::unwrap_or_default).collect();
        if let Some(sums) = self.sums.get_mut(&group) {
            sums.iter_mut().zip(&new).for_each(|(sum, new)| sum.add(new));
            return Ok(());
        }
        let cost = GROUP_MEMORY + group.len() + self.what.len() * size_of::<Sum>();
        if self.used + cost > self.memory_bytes {
            self.spill()?;
        }
        self.used += cost;
        self.sums.insert(group, new);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let mut key = Vec::new();
        let mut payload = Vec::new();
        for (group, sums) in self.sums.drain() {
            key.clear();
            for value in values(&group) {
                push_value(&value, &mut key);
            }
            key.extend_from_slice(&group);
            payload.clear();
            sums.iter().for_each(|sum| sum.put(&mut payload));
            payload.extend_from_slice(&group);
            self.sorter.push(&key, &payload)?;
        }
        self.used = 0;
        Ok(())
    }

    /// Calls `visit` with a row for each group: the values of the fields, then the aggregates. The
    /// rows are in the order of the values.
    ///
    /// # Errors
    /// `visit` fails, or the temporary file cannot be created, written or read.
    pub fn finish<E: From<Error>>(
        mut self,
        mut visit: impl FnMut(&[Value<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.spill()?;
        let Groups { what, sorter, .. } = self;
        let mut entries = Grouped::new(sorter.finish().map_err(Error::from)?, 0);
        let mut open: Option<(Vec<u8>, Vec<Sum>)> = None;
        let mut close = |(group, sums): (Vec<u8>, Vec<Sum>)| {
            let mut row = values(&group);
            row.extend(what.iter().zip(&sums).map(|(what, sum)| what.value(sum)));
            visit(&row)
        };
        while let Some(GroupedEntry { begins, payload, .. }) = entries.next_entry()? {
            let (sums, group) = split(payload, what.len())?;
            match &mut open {
                Some((_, all)) if !begins => {
                    all.iter_mut().zip(&sums).for_each(|(sum, new)| sum.add(new));
                }
                _ => {
                    if let Some(complete) = open.replace((group.to_vec(), sums)) {
                        close(complete)?;
                    }
                }
            }
        }
        match open {
            Some(last) => close(last),
            None => Ok(()),
        }
    }
}

/// `other` if it compares as `wanted` with `one`, or else the first number that there is.
fn preferred(one: Option<Number>, other: Option<Number>, wanted: Ordering) -> Option<Number> {
    match (one, other) {
        (Some(one), Some(other)) if other.compare(one) == wanted => Some(other),
        (one, other) => one.or(other),
    }
}

/// The sums and the values of a group from the temporary file.
fn split(payload: &[u8], sums: usize) -> Result<(Vec<Sum>, &[u8])> {
    let changed = || Error::new("the temporary file of groups was changed");
    let (bytes, group) = payload.split_at_checked(sums * SUM_BYTES).ok_or_else(changed)?;
    let sums: Option<_> = bytes.chunks_exact(SUM_BYTES).map(Sum::read).collect();
    Ok((sums.ok_or_else(changed)?, group))
}

const MISSING: u8 = 0;
const FLAG: u8 = 1;
const NUMBER: u8 = 2;
const TEXT: u8 = 3;
const KEY: u8 = 4;

/// Appends the type, the length and the text of a value.
fn put_value(value: &Value<'_>, out: &mut Vec<u8>) {
    let kind = match (value, value.number()) {
        (Value::Missing, _) => MISSING,
        (Value::Flag(_), _) => FLAG,
        (Value::Key(_), _) => KEY,
        (_, Some(_)) => NUMBER,
        _ => TEXT,
    };
    let text = value.text();
    out.push(kind);
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(&text);
}

/// The values that [`put_value`] appended.
fn values(mut bytes: &[u8]) -> Vec<Value<'_>> {
    let mut values = Vec::new();
    while let Some(([kind, len @ ..], rest)) = bytes.split_first_chunk::<5>() {
        let Some((text, rest)) = rest.split_at_checked(u32::from_le_bytes(*len) as usize) else {
            break;
        };
        values.push(match *kind {
            MISSING => Value::Missing,
            FLAG => Value::Flag(text == b"true"),
            NUMBER => Value::Word(Cow::Borrowed(text)),
            KEY => parse_key(text).map_or(Value::Missing, Value::Key),
            _ => Value::Text(Cow::Borrowed(text)),
        });
        bytes = rest;
    }
    values
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const ASKED: &str = "count,games,score,sum(ce),min(ce),max(op(x)),mean(op(x))";

    fn rows(by: &str, lines: &[String], memory_bytes: usize) -> Vec<String> {
        let by = by.split(',').map(|name| Field::parse(name).unwrap()).collect();
        let what = ASKED.split(',').map(|what| Aggregate::parse(what).unwrap()).collect();
        let mut groups = Groups::new(by, what, std::env::temp_dir(), memory_bytes);
        for line in lines {
            let record =
                epdb_chess::parse_epd(format!("4k3/8/8/8/8/8/8/4K3 w - - {line}").as_bytes());
            groups.add(&EvalContext::from_record(&record.unwrap())).unwrap();
        }
        let mut rows = Vec::new();
        let finished = groups.finish(|values| {
            let text = |value: &Value<'_>| String::from_utf8(value.text()).unwrap();
            rows.push(values.iter().map(text).collect::<Vec<_>>().join(" "));
            Ok::<(), Error>(())
        });
        finished.unwrap();
        rows
    }

    #[test]
    fn groups_come_to_what_their_records_say() {
        let lines = [
            "eco \"B90\"; ce 10; c9 \"1-0\"; x 0.5;",
            "eco \"A00\"; ce -5; c9 \"0-1\";",
            "eco \"B90\"; ce 30; c9 \"1/2-1/2\"; x 2;",
            "eco \"B90\"; x good;",
            "x 7;",
        ];
        let rows = rows("eco", &lines.map(String::from), 1 << 20);
        let wanted = ["A00 1 1 0.0 -5 -5  ", "B90 3 3 0.75 40 10 2 1.25", " 1 1    7 7.0"];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn mates_are_the_largest_scores_and_no_part_of_sums() {
        let what = ["sum(ce)", "mean(ce:white)", "max(eval)", "min(ce2)", "mean(ce2)"];
        let what = what.map(|what| Aggregate::parse(what).unwrap()).into();
        let mut groups = Groups::new(Vec::new(), what, std::env::temp_dir(), 1 << 20);
        for operations in ["ce 100; ce2 -32760;", "ce 32766;", "ce -32767; ce2 50;", "dm 3;"] {
            let line = format!("4k3/8/8/8/8/8/8/4K3 b - - {operations}");
            let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
            groups.add(&EvalContext::from_record(&record)).unwrap();
        }
        assert_eq!(groups.mates(), 3);
        let finished = groups.finish(|values| {
            let numbers: Vec<_> = values.iter().map(|value| value.number().unwrap()).collect();
            let shown = numbers.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(shown, ["100", "-100.0", "32766", "-32760", "50.0"]);
            Ok::<(), Error>(())
        });
        finished.unwrap();
    }

    #[test]
    fn memory_makes_no_difference() {
        let line = |n: u32| format!("id \"g{}\"; ce {}; x {};", n * 7 % 500, n % 90, n % 13);
        let lines: Vec<String> = (0..4000).map(line).collect();
        let all = rows("id,stm", &lines, 1 << 24);
        assert_eq!(all.len(), 500);
        assert!(all[0].starts_with("g0 w 8 8 ") && all[10].starts_with("g10 w "), "{}", all[10]);
        assert_eq!(rows("id,stm", &lines, 1 << 14), all);
    }

    #[test]
    fn what_is_asked_is_told_by_name() {
        for wrong in ["", "median(ce)", "sum", "sum(", "sum()", "mean(materiel)"] {
            assert!(Aggregate::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Aggregate::parse(" sum( pieces )").unwrap().field(),
            Field::parse("pieces").ok().as_ref()
        );
    }
}
