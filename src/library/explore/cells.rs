//! Selections of the games of a tally.

use std::cmp::Ordering;
use std::str::FromStr;

use crate::tally::RATING_GROUPS;
use epdb_chess::model::{Cell, Speed, Tally};

/// A selection of games by the properties that split tallies (counts of results). If a property is selected,
/// games with an unknown value of this property are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CellFilter {
    /// The first month or year.
    pub since: Option<YearMonth>,
    /// The last month or year.
    pub until: Option<YearMonth>,
    /// Classes of time controls; empty for all.
    pub speeds: Vec<Speed>,
    /// Groups of mean ratings, each given by its lower bound; empty for all.
    pub ratings: Vec<u16>,
}

/// A year, or a month of a year.
///
/// ```
/// use epdb_library::explore::YearMonth;
/// assert_eq!("2020-05".parse(), Ok(YearMonth { year: 2020, month: Some(5) }));
/// assert!("May".parse::<YearMonth>().is_err());
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct YearMonth {
    /// The year.
    pub year: u16,
    /// The month, 1 to 12; `None` for the whole year.
    pub month: Option<u8>,
}

/// The error for text that is neither a year nor a month.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a year such as 2020, or a month such as 2020-05")]
pub struct YearMonthError;

impl FromStr for YearMonth {
    type Err = YearMonthError;

    fn from_str(text: &str) -> Result<YearMonth, YearMonthError> {
        let (year, month) = match text.split_once('-') {
            Some((year, month)) => (year, Some(month)),
            None => (text, None),
        };
        let month = month.map(str::parse).transpose().map_err(|_| YearMonthError)?;
        let year = year.parse().map_err(|_| YearMonthError)?;
        let cell = Cell { year: Some(year), month, ..Cell::default() };
        if cell.is_valid() { Ok(YearMonth { year, month }) } else { Err(YearMonthError) }
    }
}

impl CellFilter {
    /// Whether all games are selected.
    pub fn is_empty(&self) -> bool {
        *self == CellFilter::default()
    }

    /// Whether the games of a cell are selected.
    pub fn takes(&self, cell: &Cell) -> bool {
        let is_since = |bound| order(cell, bound).is_some_and(Ordering::is_ge);
        let is_until = |bound| order(cell, bound).is_some_and(Ordering::is_le);
        self.since.is_none_or(is_since)
            && self.until.is_none_or(is_until)
            && (self.speeds.is_empty() || cell.speed.is_some_and(|it| self.speeds.contains(&it)))
            && (self.ratings.is_empty() || cell.rating.is_some_and(|it| self.ratings.contains(&it)))
    }

    /// Returns a selected property by which the tally is not split, named as in `tally --by`; `None` if the
    /// tally is split by all selected properties.
    pub fn not_told_apart(&self, tally: &Tally) -> Option<&'static str> {
        let is_split_by = |name: &str| {
            let mut kinds = KINDS.iter().filter(|(kind, _)| *kind == name);
            kinds.any(|(_, has)| tally.parts().iter().any(|part| has(&part.cell)))
        };
        self.asks_by().find(|name| !is_split_by(name))
    }

    /// The selected properties, named as in `tally --by`.
    pub fn asks_by(&self) -> impl Iterator<Item = &'static str> + use<> {
        let bounds = [self.since, self.until];
        let asked = [
            bounds.iter().any(Option::is_some),
            bounds.iter().flatten().any(|bound| bound.month.is_some()),
            !self.speeds.is_empty(),
            !self.ratings.is_empty(),
        ];
        KINDS.iter().zip(asked).filter(|(_, is_asked)| *is_asked).map(|((name, _), _)| *name)
    }
}

/// Each property, named as in `tally --by`, and the test whether a cell (a part of a tally) has it.
const KINDS: [(&str, Has); 4] = [
    ("year", |cell| cell.year.is_some()),
    ("month", |cell| cell.month.is_some()),
    ("speed", |cell| cell.speed.is_some()),
    ("rating", |cell| cell.rating.is_some()),
];

type Has = fn(&Cell) -> bool;

/// Parses the lower bound of a group of mean ratings.
///
/// # Errors
/// There is no such group; the error lists the groups.
pub fn parse_rating_group(text: &str) -> Result<u16, String> {
    let rating = text.parse().ok().filter(|rating| RATING_GROUPS.contains(rating));
    let names = RATING_GROUPS.map(|group| group.to_string()).join(", ");
    rating.ok_or_else(|| format!("groups of ratings begin at {names}"))
}

/// The time of the games of a cell compared with a bound; `None` if the cell does not tell.
fn order(cell: &Cell, bound: YearMonth) -> Option<Ordering> {
    let by_year = cell.year?.cmp(&bound.year);
    match bound.month {
        Some(month) if by_year.is_eq() => Some(cell.month?.cmp(&month)),
        _ => Some(by_year),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn cell(text: &str) -> Cell {
        let tally = Tally::from_text(format!("[{text}] reached 1").as_bytes(), |_| None).unwrap();
        tally.parts()[0].cell
    }

    #[test]
    fn months_and_years_bound_what_is_taken() {
        let month = |text: &str| Some(text.parse().unwrap());
        let filter =
            CellFilter { since: month("2019-05"), until: month("2021"), ..CellFilter::default() };
        for taken in ["2019-05", "2019-12", "2020", "2020-01", "2021-12", "2021"] {
            assert!(filter.takes(&cell(taken)), "{taken}");
        }
        for left in ["2019", "2019-04", "2018-12", "2022", "blitz"] {
            assert!(!filter.takes(&cell(left)), "{left}");
        }
        for wrong in ["20-05-01", "2020-13", "0", "2020-", "x"] {
            assert_eq!(wrong.parse::<YearMonth>(), Err(YearMonthError), "{wrong}");
        }
    }

    #[test]
    fn what_a_tally_keeps_together_is_told() {
        let tally =
            Tally::from_text(b"[2020 blitz] reached 2, [2020] reached 1", |_| None).unwrap();
        let by = |speeds: &[Speed], ratings: &[u16]| {
            let filter = CellFilter {
                since: Some("2020".parse().unwrap()),
                speeds: speeds.to_vec(),
                ratings: ratings.to_vec(),
                ..CellFilter::default()
            };
            (filter.not_told_apart(&tally), tally.total_of(|cell| filter.takes(cell)).reached)
        };
        assert_eq!(by(&[], &[]), (None, 3));
        assert_eq!(by(&[Speed::Blitz], &[]), (None, 2));
        assert_eq!(by(&[Speed::Blitz], &[1600]).0, Some("rating"));
        assert_eq!(parse_rating_group("1600"), Ok(1600));
        assert!(parse_rating_group("1700").unwrap_err().contains("1600, 1800"));
    }
}
