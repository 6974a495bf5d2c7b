//! Times in comments of games, in milliseconds.

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads the time in the last command with this name in a comment, such as `[%clk 0:03:00]` or
/// `[%emt 2.5]`. The time may have hours and minutes before the seconds, or only minutes before
/// them, or neither. The seconds may have a fraction. `None` if there is no such command, or if its
/// time is not valid.
pub(super) fn command_ms(comment: &str, command: &str) -> Option<u64> {
    let (_, after) = comment.rsplit_once(command)?;
    let after = after.strip_prefix([' ', '\t', '\n', '\r'])?;
    let (time, _) = after.split_once(']')?;
    let (before, seconds) = match time.trim().rsplit_once(':') {
        Some((before, seconds)) => (Some(before), seconds),
        None => (None, time.trim()),
    };
    if before.is_some_and(|before| before.matches(':').count() > 1) {
        return None;
    }
    let mut minutes = 0;
    for part in before.into_iter().flat_map(|before| before.split(':')) {
        minutes = 60 * minutes + small_number(part)?;
    }
    Some(60_000 * minutes + decimal_ms(seconds)?)
}

/// Reads the time of an engine that a text begins with: the word `1.2s` or `15ms`.
pub(super) fn leading_time_ms(text: &str) -> Option<u64> {
    let end = text.find(|sign: char| sign.is_whitespace() || sign == ',').unwrap_or(text.len());
    let word = &text[..end];
    match word.strip_suffix("ms") {
        Some(milliseconds) => decimal_ms(milliseconds).map(|thousand| thousand.div_ceil(1000)),
        None => decimal_ms(word.strip_suffix('s')?),
    }
}

/// Reads the increment of a time control of one period, `180+2` or `180`, in milliseconds.
pub(super) fn increment_ms(time_control: &str) -> Option<u64> {
    let (base, increment) = time_control.split_once('+').unwrap_or((time_control, "0"));
    decimal_ms(base).and(decimal_ms(increment))
}

/// Reads the time of a time control that gives each move the same time, `1/86400`, in milliseconds.
pub(super) fn time_of_each_move_ms(time_control: &str) -> Option<u64> {
    decimal_ms(time_control.strip_prefix("1/")?)
}

/// Reads the time that chess.com writes after a move in tenths of a second, `[%timestamp 25]`.
pub(super) fn timestamp_ms(comment: &str) -> Option<u64> {
    let (_, after) = comment.rsplit_once("[%timestamp ")?;
    let (tenths, _) = after.split_once(']')?;
    let tenths: u64 = Some(tenths.trim()).filter(|tenths| is_number(tenths))?.parse().ok()?;
    tenths.checked_mul(100)
}

/// Reads a number of seconds such as `12` or `1.25`.
fn decimal_ms(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let seconds: f64 = seconds.parse().ok()?;
    Some((seconds * 1000.0).round() as u64)
}

/// Reads a whole number of at most six digits.
fn small_number(text: &str) -> Option<u64> {
    (is_number(text) && text.len() <= 6).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_commands() {
        for (comment, milliseconds) in [
            ("[%clk 0:03:00]", Some(180_000)),
            ("[%clk 1:59:58.9]", Some(7_198_900)),
            ("[%eval 0.1] [%clk 0:00:02.5] good", Some(2_500)),
            ("[%clk 0:00:09][%clk 0:00:07.125]", Some(7_125)),
            ("[%clk 03:00]", Some(180_000)),
            ("[%clk 2.434]", Some(2_434)),
            ("[%clk\n 100:00:00 ]", Some(360_000_000)),
            ("[%clk 0:00:00.0004]", Some(0)),
            ("[%clk -0:00:01]", None),
            ("[%clk 1:0:03:00]", None),
            ("[%clk 0:03:00", None),
            ("[%clk]", None),
            ("[%clk :03]", None),
            ("[%clk 0:03:]", None),
            ("[%clk 0:x:03]", None),
            ("[%clk 99999999:03:00]", None),
            ("[%clock 0:03:00]", None),
            ("0:03:00", None),
        ] {
            assert_eq!(command_ms(comment, "[%clk"), milliseconds, "{comment}");
        }
    }

    #[test]
    fn times_of_engines() {
        for (text, milliseconds) in [
            ("1.2s", Some(1_200)),
            ("0.050s, n=12345", Some(50)),
            ("20ms more", Some(20)),
            ("60s", Some(60_000)),
            ("1.2", None),
            ("s", None),
            ("1.2.3s", None),
            ("-1.2s", None),
            (" 1.2s", None),
        ] {
            assert_eq!(leading_time_ms(text), milliseconds, "{text}");
        }
    }

    #[test]
    fn times_of_each_move_and_of_chess_com() {
        for (control, milliseconds) in
            [("1/86400", Some(86_400_000)), ("1/3600+5", None), ("40/7200", None), ("1/", None)]
        {
            assert_eq!(time_of_each_move_ms(control), milliseconds, "{control}");
        }
        for (comment, milliseconds) in [
            ("[%clk 0:02:59.1][%timestamp 9]", Some(900)),
            ("[%timestamp 0]", Some(0)),
            ("[%timestamp -1]", None),
            ("[%timestamp 1.5]", None),
            ("[%timestamp]", None),
        ] {
            assert_eq!(timestamp_ms(comment), milliseconds, "{comment}");
        }
    }

    #[test]
    fn increments_of_one_period() {
        for (control, milliseconds) in [
            ("180+2", Some(2_000)),
            ("10+0.1", Some(100)),
            ("600", Some(0)),
            ("40/7200", None),
            ("40/7200:3600", None),
            ("*180", None),
            ("-", None),
            ("?", None),
            ("", None),
        ] {
            assert_eq!(increment_ms(control), milliseconds, "{control}");
        }
    }
}
