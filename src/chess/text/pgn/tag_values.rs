//! Forms of the values of standard tags.

use super::time::is_number;

/// Whether the values of a tag become fields of records and games, such as dates and ratings.
pub(super) fn is_field(name: &str) -> bool {
    matches!(name, "Date" | "UTCDate" | "WhiteElo" | "BlackElo")
}

/// Returns the form that a tag's value should have, if the value has another form. Values that mean
/// "unknown" are always accepted. So is every value of a tag that has no prescribed form.
pub(super) fn expected(name: &str, value: &str) -> Option<&'static str> {
    let form = form_of_tag(name)?;
    let is_unknown = matches!(value, "" | "?" | "-");
    (!is_unknown && !(form.is_right)(value)).then_some(form.expected)
}

/// The form that values of a tag should have.
struct Form {
    expected: &'static str,
    is_right: fn(&str) -> bool,
}

fn form_of_tag(name: &str) -> Option<Form> {
    let (expected, is_right): (_, fn(&str) -> bool) = match name {
        "Date" | "EventDate" | "SourceDate" | "UTCDate" => {
            ("YYYY.MM.DD, with ? for digits that are not known", is_date)
        }
        "Time" | "UTCTime" => ("HH:MM:SS, with ? for digits that are not known", is_time),
        "WhiteElo" | "BlackElo" | "WhiteUSCF" | "BlackUSCF" => {
            ("a number of at most four digits", |value| is_number(value) && value.len() <= 4)
        }
        "Round" => ("numbers with periods between them, such as 3 or 4.1", |value| {
            value.split('.').all(|part| is_number(part) || part == "?")
        }),
        "Board" | "PlyCount" => ("a number", is_number),
        "ECO" => ("a letter from A to E and two digits, such as B90 or B90/02", is_eco),
        "TimeControl" => ("?, -, or periods such as 40/7200:3600, 180+2, *60", |value| {
            value.split(':').all(is_period)
        }),
        "Termination" => (
            "abandoned, adjudication, death, emergency, normal, rules infraction, time forfeit, or \
             unterminated",
            |value| TERMINATIONS.iter().any(|known| known.eq_ignore_ascii_case(value)),
        ),
        "Mode" => {
            ("OTB, PM, EM, ICS, or TC", |value| ["OTB", "PM", "EM", "ICS", "TC"].contains(&value))
        }
        "SetUp" => ("0 or 1", |value| matches!(value, "0" | "1")),
        "WhiteType" | "BlackType" => {
            ("human or program", |value| matches!(value, "human" | "program"))
        }
        _ => return None,
    };
    Some(Form { expected, is_right })
}

const TERMINATIONS: [&str; 8] = [
    "abandoned",
    "adjudication",
    "death",
    "emergency",
    "normal",
    "rules infraction",
    "time forfeit",
    "unterminated",
];

/// Whether a text has `length` digits, or `?` instead of digits. Without `?`, the number must also
/// be in range.
fn is_part(text: &str, length: usize, least: u32, most: u32) -> bool {
    text.len() == length
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'?')
        && text.parse().map_or(true, |number: u32| (least..=most).contains(&number))
}

fn is_date(value: &str) -> bool {
    let parts: Vec<&str> = value.split('.').collect();
    let [year, month, day] = parts[..] else { return false };
    is_part(year, 4, 0, 9999) && is_part(month, 2, 1, 12) && is_part(day, 2, 1, 31)
}

fn is_time(value: &str) -> bool {
    let parts: Vec<&str> = value.split(':').collect();
    let [hour, minute, second] = parts[..] else { return false };
    is_part(hour, 2, 0, 23) && is_part(minute, 2, 0, 59) && is_part(second, 2, 0, 59)
}

fn is_eco(value: &str) -> bool {
    let (code, detail) = split(value, '/');
    let is_code = matches!(code.as_bytes(), [b'A'..=b'E', digits @ ..] if digits.len() == 2)
        && is_number(&code[1..]);
    is_code && detail.is_none_or(|detail| is_number(detail) && detail.len() == 2)
}

/// Whether a text is one period of a time control: moves and seconds, seconds with an increment, or
/// a sandclock.
fn is_period(period: &str) -> bool {
    if matches!(period, "?" | "-") {
        return true;
    }
    if let Some(seconds) = period.strip_prefix('*') {
        return is_number(seconds);
    }
    let (has_moves, time) = match period.split_once('/') {
        Some((moves, time)) => (is_number(moves), time),
        None => (true, period),
    };
    let (base, increment) = split(time, '+');
    let is_seconds = |text: &str| {
        let (whole, part) = split(text, '.');
        is_number(whole) && part.is_none_or(is_number)
    };
    has_moves && is_seconds(base) && increment.is_none_or(is_seconds)
}

/// Splits a text at the first sign of this kind; the second part is `None` if there is none.
fn split(text: &str, sign: char) -> (&str, Option<&str>) {
    match text.split_once(sign) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_forms_of_the_standard() {
        for (name, right, wrong) in [
            (
                "Date",
                &["2000.10.31", "????.??.??", "2008.??.??", "?", ""][..],
                &["31.10.2000", "2008.Oct.7", "10/31/2000", "2000-10-31", "2011", "2000.13.45"][..],
            ),
            ("UTCTime", &["23:59:59", "12:??:??"], &["24:00:00", "12:00", "noon"]),
            ("WhiteElo", &["2500", "0", "-", "?"], &["2,500", "+2500", "2500?", " 2500 ", "10000"]),
            ("Round", &["3", "3.1", "?", "-", "1.?"], &["final", "3,1", "R3"]),
            ("ECO", &["B90", "B90/02"], &["B9", "F00", "b90", "B90a", "\u{e9}90"]),
            (
                "TimeControl",
                &["40/7200:3600", "180+2", "*60", "300", "1+0.05", "40/5400+30:1800+30", "-"],
                &["3 min", "180+", "/60", "40/", "60|5"],
            ),
            ("Termination", &["normal", "Time forfeit"], &["A won by checkmate"]),
            ("SetUp", &["0", "1"], &["2", "yes"]),
            ("Mode", &["OTB"], &["blitz"]),
            ("Annotator", &["anything"], &[]),
        ] {
            for value in right {
                assert_eq!(expected(name, value), None, "{name} {value}");
            }
            for value in wrong {
                assert!(expected(name, value).is_some(), "{name} {value}");
            }
        }
    }
}
