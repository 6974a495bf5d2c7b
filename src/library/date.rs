//! Dates whose parts may be missing.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::{Duration, UNIX_EPOCH};

/// Formats a time in seconds since 1970 as `YYYY.MM.DD HH:MM:SS` in UTC. Times after the year 9999
/// become its last second.
///
/// ```
/// use epdb_library::date::utc;
/// assert_eq!(utc(817_344_000), "1995.11.26 00:00:00");
/// assert_eq!(utc(u64::MAX), "9999.12.31 23:59:59");
/// ```
pub fn utc(seconds: u64) -> String {
    const LAST: u64 = 253_402_300_799;
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
    let text = humantime::format_rfc3339_seconds(time).to_string();
    format!("{} {}", text[..10].replace('-', "."), &text[11..19])
}

/// A range of days. It is one day, or several days if parts of the date are missing.
///
/// ```
/// use epdb_library::date::Date;
/// let date = Date::parse(b"1992.11.??").expect("a date");
/// assert_eq!(date, Date::parse(b"1992.11").expect("a date"));
/// assert_eq!((date.year(), date.month(), date.day()), (Some(1992), Some(11), None));
/// // A part is known only if the parts before it are known.
/// let date = Date::parse(b"20??.04.30").expect("a date");
/// assert_eq!((date.year(), date.month(), date.day()), (None, None, None));
/// assert_eq!(Date::parse(b"soon"), None);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Date {
    /// The first and the last possible day. A day is the number YYYYMMDD, so that later days are
    /// larger.
    days: RangeInclusive<u32>,
}

impl Date {
    /// Parses `YYYY.MM.DD`, `YYYY.MM` or `YYYY`, also with `-` or `/`; any digit may be `?`.
    pub fn parse(text: &[u8]) -> Option<Date> {
        let text = std::str::from_utf8(text).ok()?;
        let separator = text.chars().find(|c| matches!(c, '.' | '-' | '/')).unwrap_or('.');
        let mut parts = text.split(separator);
        let year = part(parts.next()?, 4..=4, 0..=9999)?;
        let month = part(parts.next().unwrap_or("??"), 1..=2, 1..=12)?;
        let days = days_in_month(*year.end(), *month.end());
        let day = part(parts.next().unwrap_or("??"), 1..=2, 1..=days)?;
        if parts.next().is_some() {
            return None;
        }
        let number = |[year, month, day]: [u32; 3]| (year * 100 + month) * 100 + day;
        let first = number([*year.start(), *month.start(), *day.start()]);
        let last = number([*year.end(), *month.end(), *day.end()]);
        Some(Date { days: first..=last })
    }

    /// Parses the value of a tag for expressions. If only its year can be read, as in `2011.19.11`, the date is this
    /// year. The tallies of libraries take such a value for no date, which their format prescribes.
    pub fn from_tag(text: &[u8]) -> Option<Date> {
        let year = || match text.split_at_checked(4)? {
            (year, [b'.' | b'-' | b'/', ..]) => Date::parse(year).filter(|it| it.year().is_some()),
            _ => None,
        };
        Date::parse(text).or_else(year)
    }

    /// The year, if it is known.
    pub fn year(&self) -> Option<u32> {
        let first = self.first() / 10_000;
        let last = self.last() / 10_000;
        (first == last).then_some(first)
    }

    /// The month, 1 to 12, if it is known and the year is known.
    pub fn month(&self) -> Option<u32> {
        let first = self.first() / 100;
        let last = self.last() / 100;
        (first == last).then_some(first % 100)
    }

    /// The day of the month, if it is known and the month and the year are known.
    pub fn day(&self) -> Option<u32> {
        (self.first() == self.last()).then_some(self.first() % 100)
    }

    /// Year, month and day in eight digits, for names of files of games; 0 replaces `?` and unknown
    /// parts.
    ///
    /// ```
    /// use epdb_library::date::Date;
    /// assert_eq!(Date::archive_digits(b"1993.4.??"), "19930400");
    /// assert_eq!(Date::archive_digits(b"199?"), "19900000");
    /// assert_eq!(Date::archive_digits(b"2011.19.11"), "20110000");
    /// assert_eq!(Date::archive_digits(b"soon"), "00000000");
    /// ```
    pub fn archive_digits(text: &[u8]) -> String {
        let text = match std::str::from_utf8(text) {
            Ok(date) if Date::parse(text).is_some() => date.replace('?', "0"),
            Ok(date) if Date::from_tag(text).is_some() => date[..4].to_owned(),
            _ => String::new(),
        };
        let mut parts = text.split(['.', '-', '/']);
        let mut next = || parts.next().unwrap_or_default();
        format!("{:0>4}{:0>2}{:0>2}", next(), next(), next())
    }

    /// The first possible day, as a number that is larger for later days.
    pub const fn first(&self) -> u32 {
        *self.days.start()
    }

    /// The last possible day, as a number like the result of [`Date::first`].
    pub const fn last(&self) -> u32 {
        *self.days.end()
    }

    /// Whether the day is known.
    pub(super) const fn is_one_day(&self) -> bool {
        self.first() == self.last()
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |day: u32| format!("{:04}.{:02}.{:02}", day / 10_000, day / 100 % 100, day % 100);
        if self.is_one_day() {
            f.write_str(&shown(self.first()))
        } else {
            write!(f, "{} to {}", shown(self.first()), shown(self.last()))
        }
    }
}

/// Number of days of a month in the Gregorian calendar.
const fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The possible values of a part of a date.
fn part(
    text: &str,
    lengths: RangeInclusive<usize>,
    values: RangeInclusive<u32>,
) -> Option<RangeInclusive<u32>> {
    let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'?';
    if !lengths.contains(&text.len()) || !text.bytes().all(is_part) {
        return None;
    }
    let first = text.replace('?', "0").parse::<u32>().ok()?.max(*values.start());
    let last = text.replace('?', "9").parse::<u32>().ok()?.min(*values.end());
    (first <= last).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn dates_say_what_is_missing() {
        for (text, shown) in [
            ("1992.11.04", "1992.11.04"),
            ("1992-11-4", "1992.11.04"),
            ("1992.??.??", "1992.01.01 to 1992.12.31"),
            ("1992", "1992.01.01 to 1992.12.31"),
            ("199?.??.??", "1990.01.01 to 1999.12.31"),
            ("1992.1?.3?", "1992.10.30 to 1992.12.31"),
            ("1992.02.??", "1992.02.01 to 1992.02.29"),
            ("1900.02", "1900.02.01 to 1900.02.28"),
        ] {
            assert_eq!(Date::parse(text.as_bytes()).unwrap().to_string(), shown);
        }
        for text in [
            "",
            "92",
            "1992.13",
            "1992.00.01",
            "1992.1.1.1",
            "1992.11.",
            "1992.11.31",
            "x992",
            "4.11.1992",
        ] {
            assert_eq!(Date::parse(text.as_bytes()), None, "{text}");
        }
        for (text, year) in [
            ("2011.19.11", Some(2011)),
            ("2023-02-29", Some(2023)),
            ("2008.Oct.7", Some(2008)),
            ("201?.13.01", None),
            ("20111119", None),
            ("4.11.1992", None),
        ] {
            let date = Date::from_tag(text.as_bytes());
            assert_eq!(date.as_ref().and_then(Date::year), year, "{text}");
            assert_eq!(date.and_then(|date| date.month()), None, "{text}");
        }
    }
}
