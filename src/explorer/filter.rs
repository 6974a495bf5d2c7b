//! Filters of games, and the parts of them that a library cannot apply.

use serde::Deserialize;

use crate::{Refusal, Served};
use epdb_chess::codec::query::Query;
use epdb_chess::error::Error;
use epdb_chess::model::{EpdRecord, Position, Speed, Tally};
use epdb_library::explore::{CellFilter, Entry, ExploreOptions, Explored, YearMonth, explore_from};
use epdb_library::tally::RATING_GROUPS;

/// The filter parameters of a query. Empty parameters are ignored.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GameFilter {
    /// A year, or a month of a year.
    pub(crate) since: Option<String>,
    pub(crate) until: Option<String>,
    /// Names of [`Speed`], separated by commas.
    pub(crate) speeds: Option<String>,
    /// Ratings, separated by commas; each stands for its rating group.
    pub(crate) ratings: Option<String>,
}

/// The part of a filter that can be applied.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct AppliedFilter {
    pub(crate) filter: CellFilter,
    /// The filter of listed games. Games have dates, also in a library that is not split by them.
    pub(crate) of_games: CellFilter,
    /// The parameters that cannot be applied completely. If the library is split only by years, a
    /// month counts as its year.
    pub(crate) not_split: Vec<&'static str>,
}

impl GameFilter {
    /// The parsed filter. All speeds, or all ratings, are the same as no filter.
    ///
    /// # Errors
    /// An invalid parameter.
    pub(crate) fn filter(&self) -> Result<CellFilter, Refusal> {
        let month = |name: &str, text: &Option<String>| {
            let read = |text: &str| text.replace('/', "-").parse::<YearMonth>();
            let wrong = |error| Refusal::bad_request(format!("bad request: {name}: {error}"));
            given(text).map(read).transpose().map_err(wrong)
        };
        let speeds = words(&self.speeds).map(|word| {
            let names = Speed::ALL.map(Speed::name).join(", ");
            Speed::from_name(word)
                .ok_or(format!("bad request: speeds: {word} is not one of {names}"))
        });
        let ratings = words(&self.ratings).map(|word| {
            let rating: Option<u16> = word.parse().ok();
            rating.map(group_of).ok_or(format!("bad request: ratings: {word} is not a rating"))
        });
        Ok(CellFilter {
            since: month("since", &self.since)?,
            until: month("until", &self.until)?,
            speeds: some_of(speeds, Speed::ALL.len())?,
            ratings: some_of(ratings, RATING_GROUPS.len())?,
        })
    }
}

/// The text without blanks at its ends; `None` if there is no text or it is empty.
pub(crate) fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// The parts between commas.
pub(crate) fn words(text: &Option<String>) -> impl Iterator<Item = &str> {
    given(text).into_iter().flat_map(|text| text.split(',')).map(str::trim)
}

/// The lowest rating of the rating group to which a rating belongs.
fn group_of(rating: u16) -> u16 {
    RATING_GROUPS.into_iter().rev().find(|&least| least <= rating).unwrap_or_default()
}

/// The values without duplicates. If every one of the `all` possible values is among them, the result is
/// empty, because nothing is filtered.
fn some_of<T: PartialEq>(
    values: impl Iterator<Item = Result<T, String>>,
    all: usize,
) -> Result<Vec<T>, Refusal> {
    let mut some = Vec::new();
    for value in values {
        let value = value.map_err(Refusal::bad_request)?;
        if !some.contains(&value) {
            some.push(value);
        }
    }
    Ok(if some.len() == all { Vec::new() } else { some })
}

/// The earliest and the latest month that the explorer of lichess.org accepts. Programs send these
/// two months if the user has selected no months.
const OUTERMOST: [YearMonth; 2] =
    [YearMonth { year: 1952, month: Some(1) }, YearMonth { year: 3000, month: Some(12) }];

/// True if a bound is one that programs send to exclude nothing.
fn says_all(bound: YearMonth) -> bool {
    let is = |all: YearMonth| bound == all || bound == YearMonth { month: None, ..all };
    OUTERMOST.into_iter().any(is)
}

impl AppliedFilter {
    /// The part of a filter that can be applied. It depends on the splits of the library. If these are not
    /// stated, it depends on the splits of the position's tally. If there is no tally, the whole filter
    /// applies.
    pub(crate) fn new(
        asked: CellFilter,
        splits: &Option<Vec<&'static str>>,
        tally: Option<&Tally>,
    ) -> AppliedFilter {
        let mut applied = AppliedFilter { filter: asked, ..AppliedFilter::default() };
        let CellFilter { since, until, .. } = applied.filter;
        let lacking = |filter: &CellFilter| match splits {
            Some(splits) => filter.asks_by().find(|name| !splits.contains(name)),
            None => tally.and_then(|tally| filter.not_told_apart(tally)),
        };
        while let Some(what) = lacking(&applied.filter) {
            applied.give_up(what);
        }
        let excludes = |bound: &YearMonth| !says_all(*bound);
        applied.of_games = CellFilter {
            since: since.filter(excludes).or(applied.filter.since),
            until: until.filter(excludes).or(applied.filter.until),
            ..applied.filter.clone()
        };
        applied
    }

    /// Drops the part of the filter that `tally --by` calls `what`.
    fn give_up(&mut self, what: &str) {
        let CellFilter { since, until, speeds, ratings } = &mut self.filter;
        let bounds = [("since", since), ("until", until)];
        match what {
            "speed" => {
                speeds.clear();
                self.not_split.push("speeds");
            }
            "rating" => {
                ratings.clear();
                self.not_split.push("ratings");
            }
            _ => {
                for (name, bound) in bounds {
                    let year = bound.map(|it| YearMonth { month: None, ..it });
                    let left = if what == "month" { year } else { None };
                    if *bound != left {
                        if !bound.is_some_and(says_all) {
                            self.not_split.push(name);
                        }
                        *bound = left;
                    }
                }
            }
        }
    }

    /// If `strict` is true, refuses a filter that is not applied completely.
    ///
    /// # Errors
    /// The filter has parameters by which the library is not split.
    pub(crate) fn check(&self, strict: bool) -> Result<(), Refusal> {
        if !strict || self.not_split.is_empty() {
            return Ok(());
        }
        let what = self.not_split.join(", ");
        Err(Refusal::bad_request(format!("the library does not tell games apart by {what}")))
    }
}

/// The records of a position, and the filter that applies to them.
pub(crate) struct FoundRecords {
    pub(crate) records: Vec<EpdRecord>,
    pub(crate) numbers: Vec<u64>,
    /// Whether there are more records than were read.
    pub(crate) is_cut: bool,
    pub(crate) applied: AppliedFilter,
    /// The records as one entry; `None` if there are none.
    entry: Option<Entry>,
}

impl FoundRecords {
    /// Looks up a position. `not_split` are parameters that no library supports; with `strict` it must be empty.
    pub(crate) fn new(
        served: &Served,
        position: &Position,
        asked: CellFilter,
        not_split: &[&'static str],
        strict: bool,
    ) -> Result<FoundRecords, Refusal> {
        let (records, is_cut) = served.numbered_records(position)?;
        let (numbers, records): (Vec<u64>, Vec<EpdRecord>) = records.into_iter().unzip();
        let entry = Entry::from_records(&records)?;
        let tally = entry.as_ref().and_then(|entry| entry.tally.as_ref());
        let mut applied = AppliedFilter::new(asked, &served.splits(), tally);
        applied.not_split.extend(not_split);
        applied.check(strict)?;
        Ok(FoundRecords { records, numbers, is_cut, applied, entry })
    }

    /// Looks up what the moves of the position lead to.
    pub(crate) fn explore(
        &mut self,
        served: &Served,
        position: &Position,
        options: ExploreOptions,
    ) -> Result<Explored, Refusal> {
        let options = ExploreOptions { cells: self.applied.filter.clone(), ..options };
        let ask = &mut |queries: &[Query]| served.records(queries);
        Ok(explore_from::<Error>(position, self.entry.take(), 1, &options, ask)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn asked(since: &str, until: &str, speeds: &str, ratings: &str) -> GameFilter {
        let [since, until, speeds, ratings] =
            [since, until, speeds, ratings].map(|text| Some(text.to_string()));
        GameFilter { since, until, speeds, ratings }
    }

    #[test]
    fn all_of_a_kind_is_as_good_as_none() {
        let all = Speed::ALL.map(Speed::name).join(",");
        let filter = asked("", "", &all, "400,1000,1200,1400,1600,1800,2000,2200,2500").filter();
        assert_eq!(filter.ok(), Some(CellFilter::default()));
        assert_eq!(GameFilter::default().filter().ok(), Some(CellFilter::default()));
        let filter = asked("2019", "2020/05", "blitz,blitz", "1700,2600").filter().unwrap();
        assert_eq!(filter.since, Some("2019".parse().unwrap()));
        assert_eq!(filter.until, Some("2020-05".parse().unwrap()));
        assert_eq!((filter.speeds, filter.ratings), (vec![Speed::Blitz], vec![1600, 2500]));
    }

    #[test]
    fn words_that_say_nothing_are_refused() {
        for wrong in [
            asked("May", "", "", ""),
            asked("", "2020-13", "", ""),
            asked("", "", "fast", ""),
            asked("", "", "blitz,", ""),
            asked("", "", "", "good"),
        ] {
            assert!(wrong.filter().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_a_tally_keeps_together_is_given_up_and_named() {
        let asked = asked("2019-05", "2020", "blitz", "1600").filter().unwrap();
        let by = |text: &str| {
            let tally = Tally::from_text(text.as_bytes(), |_| None).unwrap();
            AppliedFilter::new(asked.clone(), &None, Some(&tally))
        };
        let none = by("reached 2");
        assert!(none.filter.is_empty());
        assert_eq!(none.not_split, ["since", "until", "speeds", "ratings"]);
        let dates = CellFilter { since: asked.since, until: asked.until, ..CellFilter::default() };
        assert_eq!(none.of_games, dates);
        assert!(none.check(false).is_ok() && none.check(true).is_err());
        let years = by("[2020 blitz] reached 2");
        assert_eq!(years.not_split, ["since", "ratings"]);
        assert_eq!(years.filter.since, Some("2019".parse().unwrap()));
        assert_eq!(years.filter.speeds, [Speed::Blitz]);
        assert_eq!(by("[2020-01 blitz 1600+] reached 2").not_split, [""; 0]);
        assert_eq!(AppliedFilter::new(asked.clone(), &None, None).filter, asked);
        // The split of the library counts, although the games of this position are unknown.
        let tally = Tally::from_text(b"reached 2", |_| None).unwrap();
        let splits = Some(vec!["year", "speed"]);
        let applied = AppliedFilter::new(asked.clone(), &splits, Some(&tally));
        assert_eq!(applied.not_split, ["since", "ratings"]);
        assert_eq!(tally.total_of(|cell| applied.filter.takes(cell)).reached, 0);
    }
}
